//! Starting programs of a database: servers that stay, and tools that are waited for.

use super::error::Error;
use super::place::{Place, User};
use super::process::{self, Identity, MARKER, Signal};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How often a condition that is waited for is looked at.
const POLL: Duration = Duration::from_millis(20);
/// How much of a log is read to show its end.
const TAIL_BYTES: u64 = 64 * 1024;

/// How to start a program, as often as needed.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// Where it works, and what marks it as ours.
    pub directory: PathBuf,
    pub log: PathBuf,
    /// Who it runs as, if not as ourselves.
    pub user: Option<User>,
    /// The `ip` program and the network namespace to run in.
    pub namespace: Option<(PathBuf, String)>,
    /// Where it finds programs.
    pub path: OsString,
}

impl Launch {
    pub fn argument(&mut self, argument: impl Into<OsString>) -> &mut Launch {
        self.arguments.push(argument.into());
        self
    }

    pub fn arguments<A: Into<OsString>>(&mut self, all: impl IntoIterator<Item = A>) -> &mut Self {
        self.arguments.extend(all.into_iter().map(Into::into));
        self
    }

    /// The environment is not ours: servers take settings from variables.
    fn command(&self, extra: &[OsString]) -> Command {
        let mut command = match &self.namespace {
            Some((ip, name)) => {
                let mut command = Command::new(ip);
                command.args(["netns", "exec", name]).arg(&self.program);
                command
            }
            None => Command::new(&self.program),
        };
        command
            .args(&self.arguments)
            .args(extra)
            .current_dir(&self.directory)
            .env_clear()
            .env("PATH", &self.path)
            .env("LC_ALL", "C")
            .env("HOME", &self.directory)
            .env(MARKER, &self.directory)
            .stdin(Stdio::null())
            // A Ctrl-C in the terminal is ours to handle: servers are stopped in order.
            .process_group(0);
        if let Some(user) = &self.user {
            command.uid(user.id).gid(user.group);
        }
        command
    }

    fn spawn(&self, extra: &[OsString]) -> Result<Child, Error> {
        let failed = |error: io::Error| {
            Error::new(format!("cannot start {}: {error}", self.program.display()))
        };
        let log = OpenOptions::new().create(true).append(true).open(&self.log);
        let log = log.map_err(failed)?;
        let mut command = self.command(extra);
        command.stdout(log.try_clone().map_err(failed)?).stderr(log);
        command.spawn().map_err(failed)
    }

    /// Runs a tool to its end; what it printed.
    pub fn run(&self, timeout: Duration, interrupted: &AtomicBool) -> Result<String, Error> {
        let name = self.program.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let printed_from = fs::metadata(&self.log).map_or(0, |log| log.len());
        let mut child = self.spawn(&[])?;
        let root = Identity::of(child.id());
        let ended = wait_until(timeout, interrupted, || match child.try_wait() {
            Ok(Some(status)) => Ok(status),
            Ok(None) => Err("it has not ended".to_owned()),
            Err(error) => Err(error.to_string()),
        });
        let status = match ended {
            Ok(status) => status,
            Err(error) => {
                let roots: Vec<Identity> = root.into_iter().collect();
                process::kill_family(&roots, &self.directory.to_string_lossy());
                // Killed just now; waiting only takes it off the list of processes.
                let _ = child.wait();
                return Err(error.context(&name).with_log(tail(&self.log, 20)));
            }
        };
        if !status.success() {
            let error = Error::new(format!("{name} failed ({status})"));
            return Err(error.with_log(tail(&self.log, 20)));
        }
        Ok(read_from(&self.log, printed_from))
    }
}

/// Waits until the condition gives a value; the error says what it was waiting for last.
pub(super) fn wait_until<T>(
    timeout: Duration,
    interrupted: &AtomicBool,
    mut condition: impl FnMut() -> Result<T, String>,
) -> Result<T, Error> {
    let deadline = Instant::now() + timeout;
    loop {
        let reason = match condition() {
            Ok(value) => return Ok(value),
            Err(reason) => reason,
        };
        if interrupted.load(Ordering::Relaxed) {
            return Err(Error::interrupted());
        }
        if Instant::now() > deadline {
            let seconds = timeout.as_secs();
            return Err(Error::new(format!("not after {seconds} s: {reason}")));
        }
        std::thread::sleep(POLL);
    }
}

/// The first lines of a text and the last: a program that does not understand its options says so
/// and then explains all of them.
fn ends(text: &str) -> String {
    const FIRST: usize = 4;
    const LAST: usize = 20;
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= FIRST + LAST {
        return lines.join("\n");
    }
    let (first, last) = (&lines[..FIRST], &lines[lines.len() - LAST..]);
    format!("{}\n…\n{}", first.join("\n"), last.join("\n"))
}

fn read_from(path: &Path, from: u64) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// The last lines of a file.
pub(super) fn tail(path: &Path, lines: usize) -> String {
    let length = fs::metadata(path).map_or(0, |log| log.len());
    let text = read_from(path, length.saturating_sub(TAIL_BYTES));
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// A server: how to start it, and the process while it runs.
#[derive(Debug)]
pub(super) struct Server {
    pub launch: Launch,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    identity: Identity,
    /// How long the log was before.
    log_from: u64,
}

impl Server {
    pub fn new(launch: Launch) -> Server {
        Server {
            launch,
            running: Mutex::new(None),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(|held| held.into_inner())
    }

    fn marker(&self) -> String {
        self.launch.directory.to_string_lossy().into_owned()
    }

    /// Starts it and writes into the owner file that it was.
    pub fn start(&self, extra: &[OsString], place: &Place) -> Result<(), Error> {
        let mut running = self.lock();
        if let Some(known) = running.as_mut()
            && !has_ended(&mut known.child)
        {
            return Err(Error::new("it is running already"));
        }
        let log_from = fs::metadata(&self.launch.log).map_or(0, |log| log.len());
        let mut child = self.launch.spawn(extra)?;
        let Some(identity) = Identity::of(child.id()) else {
            // Without /proc nothing below works.
            let _ = child.kill();
            let _ = child.wait();
            return Err(Error::new("databases can be started on Linux only"));
        };
        *running = Some(Running {
            child,
            identity,
            log_from,
        });
        drop(running);
        place.record_server(identity).map_err(|error| {
            self.kill();
            Error::new(format!("cannot write the owner file: {error}"))
        })
    }

    pub fn is_alive(&self) -> bool {
        let mut running = self.lock();
        running
            .as_mut()
            .is_some_and(|known| !has_ended(&mut known.child))
    }

    /// How it ended, if it was started and did.
    pub fn ending(&self) -> Option<ExitStatus> {
        let mut running = self.lock();
        running.as_mut()?.child.try_wait().ok()?
    }

    /// The beginning and the end of what it logged since it was started.
    pub fn log(&self) -> String {
        let from = self.lock().as_ref().map_or(0, |known| known.log_from);
        let length = fs::metadata(&self.launch.log).map_or(0, |log| log.len());
        match length.saturating_sub(from) > TAIL_BYTES {
            true => tail(&self.launch.log, 20),
            false => ends(&read_from(&self.launch.log, from)),
        }
    }

    fn roots(&self) -> Vec<Identity> {
        let running = self.lock();
        running.iter().map(|known| known.identity).collect()
    }

    /// Signals the server's first process only.
    pub fn send(&self, signal: Signal) {
        for root in self.roots() {
            root.send(signal);
        }
    }

    /// Kills it with all it started.
    pub fn kill(&self) {
        process::kill_family(&self.roots(), &self.marker());
        self.is_alive();
    }

    /// Stops it and all it started where they are.
    pub fn pause(&self) {
        process::freeze(&self.roots(), &self.marker());
    }

    /// Lets all go on, the first process last, so that it finds nobody missing.
    pub fn resume(&self) {
        let members = process::family(&self.roots(), &self.marker());
        for identity in members.iter().rev() {
            identity.send(Signal::Continue);
        }
    }

    /// Waits for its end; whether it came in time.
    pub fn wait_for_end(&self, timeout: Duration) -> bool {
        let ended = process::wait_for_end(&self.roots(), timeout);
        self.is_alive();
        ended
    }
}

fn has_ended(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}
