//! Servers for the tests of drivers, in a temporary folder, on loopback, ended with the test.

use std::io::Write;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server that ends with this value.
pub struct Server {
    child: Child,
    folder: PathBuf,
    pub port: u16,
}

/// A port that is free now.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("isolde-test-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir(&path).expect("a temporary folder");
    path
}

fn id_of(user: &str) -> Option<u32> {
    let told = Command::new("id").args(["-u", user]).output().ok()?;
    String::from_utf8(told.stdout).ok()?.trim().parse().ok()
}

/// PostgreSQL does not run as root.
fn postgres_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    let myself = Command::new("id").arg("-u").output().expect("id");
    if myself.stdout == b"0\n" {
        let id = id_of("postgres").expect("a user postgres");
        command.uid(id).gid(id);
    }
    command.current_dir("/").stdin(Stdio::null());
    command
}

fn run(mut command: Command) {
    let output = command.output().expect("a program that runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {told}");
}

/// The folder of PostgreSQL's programs.
fn postgres_programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let found = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
    found.filter(|bin| bin.join("initdb").exists()).max()
}

/// A primary, and a replica of it; nothing if PostgreSQL is not installed.
pub fn postgres_pair() -> Option<(Server, Server)> {
    let Some(bin) = postgres_programs() else {
        println!("skipped: PostgreSQL is not installed (apt install postgresql)");
        return None;
    };
    let primary = start_postgres(&bin, "pg1", |data| {
        let mut command = postgres_command(&bin.join("initdb"));
        command
            .args(["-A", "trust", "-U", "postgres", "-D"])
            .arg(data);
        run(command);
        let rules = "local all all trust\n\
                     host all clear 127.0.0.1/32 password\n\
                     host replication all 127.0.0.1/32 trust\n\
                     host all postgres 127.0.0.1/32 trust\n\
                     host all all 127.0.0.1/32 md5\n";
        std::fs::write(data.join("pg_hba.conf"), rules).expect("pg_hba.conf");
    });
    let port = primary.port.to_string();
    let ready = || match Command::new(bin.join("pg_isready"))
        .args(["-q", "-h", "127.0.0.1", "-p", &port])
        .status()
    {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("{other:?}")),
    };
    primary.until(ready);
    let replica = start_postgres(&bin, "pg2", |data| {
        let mut command = postgres_command(&bin.join("pg_basebackup"));
        command.args([
            "-h",
            "127.0.0.1",
            "-U",
            "postgres",
            "-c",
            "fast",
            "-R",
            "-p",
        ]);
        command.arg(&port).arg("-D").arg(data);
        run(command);
    });
    Some((primary, replica))
}

fn start_postgres(bin: &Path, name: &str, fill: impl FnOnce(&Path)) -> Server {
    let folder = folder(name);
    if let Some(id) = id_of("postgres") {
        // Without being root we are the owner already.
        let _ = std::os::unix::fs::chown(&folder, Some(id), Some(id));
    }
    let data = folder.join("data");
    fill(&data);
    let port = free_port();
    let mut command = postgres_command(&bin.join("postgres"));
    command.arg("-D").arg(&data).arg("-k").arg(&folder);
    command.args([
        "-p",
        &port.to_string(),
        "-c",
        "listen_addresses=127.0.0.1",
        "-c",
        "fsync=off",
    ]);
    started(command, folder, port)
}

/// MariaDB with a database `isolde`; nothing if it is not installed.
pub fn mariadb() -> Option<Server> {
    if !Path::new("/usr/sbin/mariadbd").exists() {
        println!("skipped: MariaDB is not installed (apt install mariadb-server)");
        return None;
    }
    let folder = folder("mariadb");
    let data = folder.join("data");
    let me = String::from_utf8(Command::new("id").arg("-un").output().expect("id").stdout);
    let user = format!("--user={}", me.expect("a name").trim());
    let mut command = Command::new("mariadb-install-db");
    command
        .args(["--no-defaults", "--skip-test-db", &user])
        .arg(format!("--datadir={}", data.display()));
    run(command);
    let mut setup = std::fs::File::create(folder.join("setup.sql")).expect("a file");
    writeln!(
        setup,
        "create database isolde;\n\
         create user me@'%' identified by 'hush';\n\
         grant all on isolde.* to me@'%';\n\
         create user weak@'%' identified by 'hush';\n\
         grant select on isolde.* to weak@'%';"
    )
    .expect("written");
    let port = free_port();
    let mut command = Command::new("/usr/sbin/mariadbd");
    command
        .arg("--no-defaults")
        .arg(user)
        .arg("--bind-address=127.0.0.1");
    command
        .arg(format!("--port={port}"))
        .arg("--innodb-flush-log-at-trx-commit=0");
    for (option, file) in [
        ("datadir", "data"),
        ("socket", "sock"),
        ("pid-file", "pid"),
        ("init-file", "setup.sql"),
    ] {
        command.arg(format!("--{option}={}", folder.join(file).display()));
    }
    Some(started(command, folder, port))
}

fn started(mut command: Command, folder: PathBuf, port: u16) -> Server {
    let log = std::fs::File::create(folder.join("log")).expect("a log");
    let errors = log.try_clone().expect("a second handle");
    let child = command
        .stdout(log)
        .stderr(errors)
        .spawn()
        .expect("a server");
    Server {
        child,
        folder,
        port,
    }
}

impl Server {
    /// Its folder, where the socket is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Tries until it works, which is when the server is ready.
    pub fn until<T, E: std::fmt::Display>(&self, mut attempt: impl FnMut() -> Result<T, E>) -> T {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match attempt() {
                Ok(value) => return value,
                Err(error) if Instant::now() > deadline => {
                    let log = std::fs::read_to_string(self.folder.join("log"));
                    panic!("not ready: {error}\n{}", log.unwrap_or_default());
                }
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// The process of the server itself.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends the server by a signal.
    pub fn end_by(&mut self, name: &str) {
        signal(name, &self.child.id().to_string());
        let _ = self.child.wait();
    }
}

/// Sends a signal to a process of a server started here.
pub fn signal(name: &str, pid: &str) {
    let sent = Command::new("kill").args([name, pid]).status();
    assert!(sent.expect("kill").success(), "kill {name} {pid}");
}

/// Stops a process, and returns when all its threads have stopped.
pub fn stop(pid: &str) {
    signal("-STOP", pid);
    let state = |task: PathBuf| {
        let text = std::fs::read_to_string(task.join("stat")).unwrap_or_default();
        text.rsplit(") ")
            .next()
            .and_then(|rest| rest.chars().next())
    };
    let stopped = || {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("a process");
        let mut tasks = tasks.filter_map(|task| Some(task.ok()?.path()));
        tasks.all(|task| matches!(state(task), Some('T') | None))
    };
    while !stopped() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // By SIGQUIT PostgreSQL ends at once, but removes its shared memory.
        if let Ok(None) = self.child.try_wait() {
            self.end_by("-QUIT");
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
