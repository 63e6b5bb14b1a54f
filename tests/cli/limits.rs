//! `--timeout` and `--memory`: exit code 3 and a report, also where no engine asks.

use super::{Folder, Run, command, corpus, isolde};
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn a_short_timeout_gives_unknown() {
    let folder = Folder::new("timeout");
    let path = folder.path("big.jsonl");
    isolde(&["generate", "-o", &path, "--txns", "400"]).exits(0);
    let run = isolde(&["check", &path, "--timeout", "0.000001"]).exits(3);
    run.says(&["unknown   causal", "timeout of 0.000001 s"]);
    let json = isolde(&["check", &path, "--timeout", "0.000001", "--json"])
        .exits(3)
        .json();
    assert_eq!(json["results"].as_array().map(Vec::len), Some(10));
    assert_eq!(json["results"][0]["verdict"], "unknown");
    isolde(&["check", &path, "--timeout", "600", "--memory", "8"]).exits(0);
}

/// About fifty megabytes of text do not fit in fifty megabytes of memory.
#[test]
fn a_file_beyond_the_memory_limit_gives_unknown() {
    let folder = Folder::new("memory");
    let path = folder.path("big.txt");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).expect("a file"));
    for txn in 0..3_200_000 {
        writeln!(file, "w({},{txn},0,{txn})", txn % 10).expect("space for 50 MB");
    }
    drop(file);
    let started = Instant::now();
    let run = isolde(&["check", &path, "--memory", "0.04", "--json"]).exits(3);
    assert!(started.elapsed() < Duration::from_secs(20));
    let reason = run.json()["results"][0]["reason"].to_string();
    assert!(
        reason.contains("memory limit") && reason.contains("0.04 GiB allowed"),
        "{reason}"
    );
    std::fs::remove_file(&path).expect("the file goes");
}

/// Nothing that reads from a silent pipe asks about limits; the watchdog does.
#[test]
fn a_pipe_that_never_ends_gives_unknown() {
    let other = corpus("levels/serial.txt");
    for json in [false, true] {
        let mut args = vec!["check", "-", &other, "--timeout", "0.2"];
        if json {
            args.push("--json");
        }
        let mut child = command(&args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut pipe = child.stdin.take().expect("a pipe");
        pipe.write_all(b"w(1,1,0,0)\n").expect("the binary reads");
        let run = Run::of(child.wait_with_output().expect("the binary ends")).exits(3);
        drop(pipe);
        if json {
            let lines: Vec<&str> = run.out.lines().collect();
            assert_eq!(lines.len(), 2, "one object a file");
            for line in lines {
                let object: serde_json::Value = serde_json::from_str(line).expect("an object");
                assert_eq!(object["results"][9]["verdict"], "unknown");
                assert_eq!(object["strongest"], serde_json::json!([]));
            }
        } else {
            run.says(&[
                "timeout of 0.2 s (stage: reading)",
                "serial.txt",
                "not reached",
            ]);
        }
    }
}
