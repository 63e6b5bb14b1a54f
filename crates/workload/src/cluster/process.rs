//! Processes: what tells one from all others, and signals to one and to everything it started.
//!
//! A process id alone is no name: the system gives it away again. Here a process is its id and the
//! time it started, and signals go through a process descriptor opened before that time is
//! compared, so that none ever reaches a stranger that was given the same id.

use rustix::process::{Pid, PidfdFlags, geteuid, kill_process, pidfd_open, pidfd_send_signal};
use std::fs;
use std::time::{Duration, Instant};

/// The variable in the environment of everything started here; its value is the directory of the
/// server.
pub(super) const MARKER: &str = "ISOLDE_SERVER";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Signal {
    Interrupt,
    Quit,
    Terminate,
    Kill,
    Stop,
    Continue,
}

impl Signal {
    fn raw(self) -> rustix::process::Signal {
        match self {
            Signal::Interrupt => rustix::process::Signal::INT,
            Signal::Quit => rustix::process::Signal::QUIT,
            Signal::Terminate => rustix::process::Signal::TERM,
            Signal::Kill => rustix::process::Signal::KILL,
            Signal::Stop => rustix::process::Signal::STOP,
            Signal::Continue => rustix::process::Signal::CONT,
        }
    }
}

pub(super) fn is_root() -> bool {
    geteuid().is_root()
}

pub(super) fn user_id() -> u32 {
    geteuid().as_raw()
}

/// A process that runs or ran since the machine was booted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Identity {
    pub pid: u32,
    /// In clock ticks since the boot.
    pub start: u64,
}

impl Identity {
    /// The process that now has this id.
    pub fn of(pid: u32) -> Option<Identity> {
        let start = status(pid)?.start;
        Some(Identity { pid, start })
    }

    /// Whether it runs; one that ended and was not waited for does not.
    pub fn is_alive(self) -> bool {
        status(self.pid).is_some_and(|now| now.start == self.start && !now.is_over)
    }

    /// Sends the signal; whether there was still a process to send it to.
    pub fn send(self, signal: Signal) -> bool {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else {
            return false;
        };
        let descriptor = pidfd_open(pid, PidfdFlags::empty());
        if !self.is_alive() {
            return false;
        }
        match descriptor {
            Ok(descriptor) => pidfd_send_signal(descriptor, signal.raw()).is_ok(),
            // Kernels before 5.3 have no process descriptors.
            Err(_) => kill_process(pid, signal.raw()).is_ok(),
        }
    }
}

struct Status {
    parent: u32,
    start: u64,
    is_over: bool,
}

/// What /proc says. The name of the program stands in parentheses and may hold anything.
fn status(pid: u32) -> Option<Status> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let mut fields = text[text.rfind(')')? + 1..].split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let start = fields.nth(17)?.parse().ok()?;
    Some(Status {
        parent,
        start,
        is_over: matches!(state, "Z" | "X"),
    })
}

fn all() -> Vec<(Identity, Status)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| {
        let status = status(pid)?;
        let start = status.start;
        Some((Identity { pid, start }, status))
    })
    .filter(|(_, status)| !status.is_over)
    .collect()
}

/// Whether the process was started with the marker of this directory or one below.
fn is_marked(pid: u32, directory: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else {
        return false;
    };
    let wanted = format!("{MARKER}={directory}");
    environment
        .split(|byte| *byte == 0)
        .filter_map(|variable| variable.strip_prefix(wanted.as_bytes()))
        .any(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// The roots first, everything that descends from them, and everything marked with the directory. The
/// marker finds those whose parents have ended; descent finds those that overwrote their
/// environment to show a title, as PostgreSQL's do.
pub(super) fn family(roots: &[Identity], directory: &str) -> Vec<Identity> {
    let all = all();
    let known = |root: &&Identity| all.iter().any(|(identity, _)| identity == *root);
    let mut found: Vec<Identity> = roots.iter().filter(known).copied().collect();
    for (identity, _) in &all {
        if !found.contains(identity) && is_marked(identity.pid, directory) {
            found.push(*identity);
        }
    }
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        for (identity, status) in &all {
            if status.parent == parent.pid && !found.contains(identity) {
                found.push(*identity);
            }
        }
    }
    found
}

/// Stops a family, its roots first, until it has no new member; who was stopped.
pub(super) fn freeze(roots: &[Identity], directory: &str) -> Vec<Identity> {
    const ROUNDS_MAX: usize = 50;
    let mut stopped: Vec<Identity> = Vec::new();
    for _ in 0..ROUNDS_MAX {
        let mut is_new = false;
        for identity in family(roots, directory) {
            if !stopped.contains(&identity) && identity.send(Signal::Stop) {
                stopped.push(identity);
                is_new = true;
            }
        }
        if !is_new {
            break;
        }
    }
    stopped
}

/// Kills a family as if its machine had lost power: nobody in it does anything after the first
/// has died.
pub(super) fn kill_family(roots: &[Identity], directory: &str) {
    let members = freeze(roots, directory);
    for identity in &members {
        identity.send(Signal::Kill);
    }
    wait_for_end(&members, Duration::from_secs(5));
}

/// Whether all have ended in time.
pub(super) fn wait_for_end(members: &[Identity], timeout: Duration) -> bool {
    let deadline = Instant::now() + timeout;
    while members.iter().any(|identity| identity.is_alive()) {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}
