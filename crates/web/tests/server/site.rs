//! A directory that is served, with a script that pretends to be the program.

use history::format::{self, Loaded, ReadOptions, Source};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use web::{Config, Limits, Server};

/// A served directory; removed in the end.
pub struct Site {
    pub place: PathBuf,
    pub address: SocketAddr,
    pub url: String,
    server: Option<Server>,
}

/// Two transactions that each read what the other overwrote.
pub const SKEW: &str = concat!(
    "{\"isolde\":\"history\",\"version\":1}\n",
    "{\"session\":0,\"txn\":1,\"start\":10,\"end\":50,\"ops\":[[\"r\",\"x\",0],[\"r\",\"y\",0],[\"w\",\"x\",1]]}\n",
    "{\"session\":1,\"txn\":2,\"start\":20,\"end\":60,\"ops\":[[\"r\",\"x\",0],[\"r\",\"y\",0],[\"w\",\"y\",2]]}\n",
    "{\"session\":1,\"txn\":3,\"start\":70,\"end\":80,\"ops\":[[\"r\",\"x\",1],[\"r\",\"y\",2]]}\n",
);

/// What `check --json` says of it, as far as the page looks.
pub const SKEW_REPORT: &str = r#"{"file":"skew.jsonl","format":"isolde","history":{"keys":2,"operations":8,"sessions":2,"transactions":3},"notes":[],"results":[{"anomalies":[],"level":"snapshot-isolation","seconds":0.1,"stages":[],"verdict":"holds"},{"anomalies":[{"count":1,"edges":[{"from":"s0t1","from_operation":"r(y, 0)","key":"y","kind":"rw","to":"s1t2","to_operation":"w(y, 2)"},{"from":"s1t2","from_operation":"r(x, 0)","key":"x","kind":"rw","to":"s0t1","to_operation":"w(x, 1)"}],"explanation":"Both read what the other overwrote.","kind":"write-skew","label":"G2-item","operations":[],"transactions":["s0t1","s1t2"]}],"level":"serializable","seconds":0.1,"stages":[],"verdict":"violated"}],"strongest":["snapshot-isolation"]}"#;

const SCRIPT: &str = r#"#!/bin/sh
for last; do :; done
case "$1 $last" in
  "run --workload=help") echo "registers  reads and writes"; exit 0 ;;
  *slow*) echo $$ > pid; echo '{"progress":{"stage":"reading","seconds":0.1,"done":5,"total":10}}' >&2; exec sleep 60 ;;
  *stubborn*) trap '' TERM; echo $$ > pid; echo '{"progress":{"stage":"waiting"}}' >&2; while :; do sleep 0.1; done ;;
  *bad*) echo "error: bad.jsonl: line 1, column 1: expected something else" >&2; exit 2 ;;
  run*) for argument; do case "$argument" in --output=*) out="${argument#--output=}" ;; esac; done
    mkdir -p "$out"
    echo '{"progress":{"stage":"running","committed":10,"aborted":1,"indeterminate":0,"faults":0,"found":[],"seconds":0.2}}' >&2
    sleep 0.3
    echo '{"progress":{"stage":"running","committed":30,"aborted":2,"indeterminate":0,"faults":1,"found":[{"level":"causal","anomaly":"lost-update"}],"seconds":0.5}}' >&2
    cp skew.jsonl "$out/history.jsonl"; cp report "$out/report.json"; cat report; exit 1 ;;
  *) echo '{"progress":{"stage":"reading","seconds":0.1,"done":5,"total":10}}' >&2; sleep 0.2; cat report; exit 1 ;;
esac
"#;

fn load(path: &Path, tell: web::Tell) -> Result<Loaded, String> {
    tell(1, 2);
    if path.ends_with("slowly-read.jsonl") {
        std::thread::sleep(std::time::Duration::from_secs(2));
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let source = Source {
        name: "file",
        bytes: &bytes,
    };
    format::read(&[source], &ReadOptions::default()).map_err(|error| error.to_string())
}

/// Serves a new directory with one history in it.
pub fn start() -> Site {
    start_with(Limits::default(), None)
}

pub fn start_with(limits: Limits, token: Option<&str>) -> Site {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let place = std::env::temp_dir().join(format!("isolde-web-{}-{number}", std::process::id()));
    let served = place.join("served");
    std::fs::create_dir_all(&served).unwrap();
    std::fs::write(served.join("skew.jsonl"), SKEW).unwrap();
    std::fs::write(served.join("report"), SKEW_REPORT).unwrap();
    std::fs::write(place.join("secret.jsonl"), SKEW).unwrap();
    let program = place.join("program.sh");
    std::fs::write(&program, SCRIPT).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let config = Config {
        directory: served,
        program,
        address: "127.0.0.1:0".parse().unwrap(),
        name: None,
        token: token.map(str::to_string),
        load: Arc::new(load),
        version: "test".to_string(),
        limits,
    };
    let server = Server::start(config).expect("it starts");
    let url = server.url().to_string();
    let host = url.trim_start_matches("http://").split('/').next().unwrap();
    Site {
        place,
        address: host.parse().unwrap(),
        url: url.clone(),
        server: Some(server),
    }
}

impl Site {
    pub fn served(&self, name: &str) -> PathBuf {
        self.place.join("served").join(name)
    }

    /// Stops the server; what it started is over then.
    pub fn stop(&mut self) {
        self.server = None;
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop();
        let _ = std::fs::remove_dir_all(&self.place);
    }
}
