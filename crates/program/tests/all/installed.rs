//! Servers of this machine, installed where they are missing and that is possible, started for the test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use workload::cluster::{Cluster, Options, Spec};

/// A server until it is dropped.
pub struct Running {
    pub url: String,
    _cluster: Cluster,
}

/// Starts a server; says so where there is none.
pub fn start(name: &str) -> Option<Running> {
    let (file, package) = match name {
        "postgres" => ("/usr/lib/postgresql", "postgresql"),
        _ => ("/usr/sbin/mariadbd", "mariadb-server"),
    };
    if !Path::new(file).exists() && !install(&[package]) {
        println!("skipped: {name} is not installed, and could not be");
        return None;
    }
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let place = format!("servers-{}-{number}", std::process::id());
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(place);
    std::fs::create_dir_all(&directory).expect("a directory");
    let spec: Spec = name.parse().expect("a server");
    let options = Options {
        directory: &directory,
        search: &[],
        settings: &[],
        proxied: false,
        network_faults: false,
        progress: &|_| {},
        interrupted: &Arc::new(AtomicBool::new(false)),
    };
    let cluster = Cluster::start(&spec, &options).unwrap_or_else(|error| panic!("{error}"));
    Some(Running {
        url: cluster.urls()[0].clone(),
        _cluster: cluster,
    })
}

/// Installs Debian packages, as root; whether that worked.
pub fn install(packages: &[&str]) -> bool {
    static ONE: Mutex<()> = Mutex::new(());
    let _guard = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !Path::new("/usr/bin/apt-get").exists() {
        return false;
    }
    let policy = Path::new("/usr/sbin/policy-rc.d");
    let is_ours = !policy.exists() && std::fs::write(policy, "#!/bin/sh\nexit 101\n").is_ok();
    if is_ours {
        // Packages must not start servers of their own; ours are enough.
        run("chmod", &["755", "/usr/sbin/policy-rc.d"]);
    }
    let install = || {
        let arguments = ["install", "-y", "-q", "--no-install-recommends"];
        run("apt-get", &[&arguments, packages].concat())
    };
    let installed = install() || (run("apt-get", &["update", "-q"]) && install());
    if is_ours {
        let _ = std::fs::remove_file(policy);
    }
    installed
}

fn run(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
