//! Directories and servers that live as long as a test.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that is removed with its value.
pub struct Directory(pub PathBuf);

impl Directory {
    pub fn new(name: &str) -> Directory {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("isolde-{name}-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a directory");
        Directory(path)
    }

    pub fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server that is killed with its value.
pub struct Server {
    child: Child,
    pub port: u16,
    _directory: Directory,
}

impl Server {
    /// Starts a program with the arguments that a free port and a directory give; None, with a line
    /// that says so, if it is not on this machine.
    pub fn start(
        program: &str,
        arguments: impl Fn(&[u16; 2], &Path) -> Vec<String>,
    ) -> Option<Server> {
        if !is_here(program) {
            return None;
        }
        let directory = Directory::new(program);
        let ports = [free_port(), free_port()];
        let child = Command::new(program)
            .args(arguments(&ports, &directory.0))
            .current_dir(&directory.0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect(program);
        Some(Server {
            child,
            port: ports[0],
            _directory: directory,
        })
    }

    /// Stops it without ending it.
    pub fn pause(&self) {
        let pid = self.child.id().to_string();
        let paused = Command::new("kill").args(["-STOP", &pid]).status();
        assert!(paused.is_ok_and(|status| status.success()), "kill -STOP");
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether a program starts; says so if not.
pub fn is_here(program: &str) -> bool {
    let asked = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if asked.is_err() {
        println!("skipped: {program} is not on this machine");
    }
    asked.is_ok()
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Tries again until it works, for ten seconds.
pub fn until_ready<T, E: std::fmt::Display>(mut attempt: impl FnMut() -> Result<T, E>) -> T {
    let mut last = String::new();
    for _ in 0..200 {
        match attempt() {
            Ok(value) => return value,
            Err(error) => last = error.to_string(),
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("not ready: {last}");
}
