//! Installs the servers that tests need, once, where that is possible.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// A server, the program that shows whether it is there, and the Debian packages it comes in.
const SERVERS: &[(&str, &[&str], &str)] = &[
    (
        "postgres",
        &["/usr/lib/postgresql/*/bin/postgres"],
        "postgresql",
    ),
    ("mariadb", &["/usr/sbin/mariadbd"], "mariadb-server"),
    (
        "galera",
        &["/usr/lib/galera/libgalera_smm.so", "/usr/bin/rsync"],
        "galera-4 rsync",
    ),
    ("redis", &["/usr/bin/redis-server"], "redis-server"),
    ("etcd", &["/usr/bin/etcd"], "etcd-server"),
];

/// Whether the server can be started; says so where it cannot.
pub fn has(server: &str) -> bool {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(install_missing);
    let is_there = is_there(server);
    if !is_there {
        println!("skipped: {server} is not installed, and could not be");
    }
    is_there
}

fn is_there(server: &str) -> bool {
    let row = SERVERS
        .iter()
        .find(|row| row.0 == server)
        .expect("a known server");
    row.1.iter().all(|file| exists(file))
}

/// Whether a file is there; one part of its path may be a star.
fn exists(file: &str) -> bool {
    match file.split_once("/*/") {
        None => Path::new(file).exists(),
        Some((before, after)) => {
            let entries = std::fs::read_dir(before).into_iter().flatten().flatten();
            entries
                .map(|entry| entry.path().join(after))
                .any(|path| path.exists())
        }
    }
}

fn install_missing() {
    let missing = SERVERS.iter().filter(|row| !is_there(row.0));
    let packages: Vec<&str> = missing.flat_map(|row| row.2.split(' ')).collect();
    if packages.is_empty() || !Path::new("/usr/bin/apt-get").exists() {
        return;
    }
    // Whoever is not root cannot install; the tests say what they skip.
    let policy = Path::new("/usr/sbin/policy-rc.d");
    let is_ours = !policy.exists() && std::fs::write(policy, "#!/bin/sh\nexit 101\n").is_ok();
    if is_ours {
        // Packages must not start servers of their own; ours are enough.
        run("chmod", &["755", "/usr/sbin/policy-rc.d"]);
    }
    let install = |packages: &[&str]| {
        let arguments = ["install", "-y", "-q", "--no-install-recommends"];
        run("apt-get", &[&arguments, packages].concat())
    };
    if !install(&packages) {
        run("apt-get", &["update", "-q"]);
        install(&packages);
    }
    if is_ours {
        let _ = std::fs::remove_file(policy);
    }
}

fn run(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
