//! A driver that runs: one line to its standard input, one line from its standard output, and the last of
//! what it says on its standard error.
//!
//! Input and output are one socket pair, because sockets have timeouts and pipes do not. The process
//! has a group of its own, which is killed with it, so that nothing that it started stays.

use super::command::Command;
use crate::drivers::wire::Wire;
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Lines of standard error that are kept, and bytes of each.
const ERROR_LINES_MAX: usize = 5;
const ERROR_LINE_BYTES_MAX: u64 = 300;

/// Letters of an offending line that are shown.
const SHOWN_LETTERS_MAX: usize = 200;

/// How long a driver may take to end by itself after the end of its input.
const PARTING: Duration = Duration::from_millis(100);

/// What a driver did wrong.
pub struct Trouble {
    /// Whether it broke the rules of the protocol, not only died or fell silent.
    pub breaks_rules: bool,
    /// In words, with the command and the last lines of standard error.
    pub message: String,
}

/// A running driver.
pub struct Process {
    command: Arc<Command>,
    child: Child,
    /// None once there was trouble.
    wire: Option<Wire<UnixStream>>,
    errors: Arc<Tail>,
}

impl Process {
    /// Starts a driver.
    pub fn start(command: &Arc<Command>, patience: Duration) -> std::io::Result<Process> {
        let (ours, theirs) = UnixStream::pair()?;
        let input = OwnedFd::from(theirs.try_clone()?);
        let mut child = std::process::Command::new(&command.words[0])
            .args(&command.words[1..])
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(OwnedFd::from(theirs)))
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let errors = Arc::new(Tail::default());
        let stderr = child.stderr.take();
        let mut process = Process {
            command: Arc::clone(command),
            child,
            wire: None,
            errors,
        };
        // From here on, whatever fails, the process is ended by its drop.
        process.wire = Some(Wire::new(ours, patience)?);
        if let Some(stderr) = stderr {
            let errors = Arc::clone(&process.errors);
            std::thread::Builder::new()
                .name("driver stderr".to_string())
                .stack_size(64 << 10)
                .spawn(move || errors.drain(stderr))?;
        }
        Ok(process)
    }

    /// Sends a line and waits for one.
    pub fn exchange(&mut self, request: &str) -> Result<String, Trouble> {
        let Some(wire) = self.wire.as_mut() else {
            return Err(self.trouble(false, "has ended"));
        };
        match exchange(wire, request) {
            Ok(line) => Ok(line),
            Err((breaks_rules, what)) => Err(self.trouble(breaks_rules, &what)),
        }
    }

    /// The driver did something that no driver may do: it is ended, and this is what to say about it.
    pub fn trouble(&mut self, breaks_rules: bool, what: &str) -> Trouble {
        self.end();
        let mut message = format!("driver '{}' {what}", self.command.shown());
        let last = self.errors.last_lines();
        if !last.is_empty() {
            message.push_str("; the last of its standard error: ");
            message.push_str(&last.join(" | "));
        }
        Trouble {
            breaks_rules,
            message: self.command.scrub(&message),
        }
    }

    /// A text of the driver's, without the passwords of its command.
    pub fn scrub(&self, text: &str) -> String {
        self.command.scrub(&shown(text.as_bytes()))
    }

    /// Ends the driver: the end of input first, then a signal that nothing survives.
    fn end(&mut self) {
        let Some(wire) = self.wire.take() else {
            return;
        };
        await_end(wire.stream());
        // The child was not waited for, so its number is still its own.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
        // Where there never was a wire.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Closes our end, and waits a little until all that hold the other end have closed theirs.
fn await_end(mut stream: &UnixStream) {
    let until = Instant::now() + PARTING;
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.set_read_timeout(Some(PARTING));
    let mut ignored = [0; 1024];
    while Instant::now() < until && stream.read(&mut ignored).is_ok_and(|count| count > 0) {}
}

fn exchange(wire: &mut Wire<UnixStream>, request: &str) -> Result<String, (bool, String)> {
    match wire.unasked() {
        Ok([]) => {}
        Ok(bytes) => {
            let line = shown(bytes);
            return Err((true, format!("spoke without being asked: {line}")));
        }
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            return Err((false, "has ended".to_string()));
        }
        Err(error) => return Err((false, format!("cannot be reached: {error}"))),
    }
    let answer = wire
        .send(format!("{request}\n").as_bytes())
        .and_then(|()| wire.line());
    let begun = match wire.rest() {
        [] => String::new(),
        bytes => format!(" after: {}", shown(bytes)),
    };
    let asked = shown(request.as_bytes());
    match answer {
        Ok(line) if begun.is_empty() => {
            String::from_utf8(line).map_err(|e| (true, not_utf8(e.as_bytes())))
        }
        Ok(line) => Err((
            true,
            format!(
                "said more than one line to {asked}: {}{begun}",
                shown(&line)
            ),
        )),
        Err(error) => Err((false, unanswered(&error, &asked, &begun))),
    }
}

fn unanswered(error: &std::io::Error, asked: &str, begun: &str) -> String {
    match error.kind() {
        ErrorKind::TimedOut => format!("gave {error} to {asked}{begun}"),
        ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
            format!("ended without an answer to {asked}{begun}")
        }
        _ => format!("did not answer {asked}: {error}{begun}"),
    }
}

fn not_utf8(line: &[u8]) -> String {
    format!("said what is not UTF-8: {}", shown(line))
}

/// The beginning of a line, safe to print.
pub fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN_LETTERS_MAX * 4)]);
    let text = text.trim_end();
    let mut out: String = text.chars().take(SHOWN_LETTERS_MAX).collect();
    if out.len() < text.len() || line.len() > SHOWN_LETTERS_MAX * 4 {
        out.push('…');
    }
    out.replace(char::is_control, " ")
}

/// The last lines that a driver wrote to its standard error.
#[derive(Default)]
struct Tail {
    state: Mutex<TailState>,
    changed: Condvar,
}

#[derive(Default)]
struct TailState {
    lines: VecDeque<String>,
    ended: bool,
}

impl Tail {
    fn lock(&self) -> MutexGuard<'_, TailState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads until the end, in bounded memory, so that the driver never waits for us.
    fn drain(&self, stderr: ChildStderr) {
        let mut reader = BufReader::new(stderr);
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut limited = reader.by_ref().take(ERROR_LINE_BYTES_MAX);
            match limited.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            let text = shown(&line);
            if text.trim().is_empty() {
                continue;
            }
            let mut state = self.lock();
            state.lines.push_back(text);
            if state.lines.len() > ERROR_LINES_MAX {
                state.lines.pop_front();
            }
        }
        self.lock().ended = true;
        self.changed.notify_all();
    }

    /// What there is, once the driver has closed it or soon after.
    fn last_lines(&self) -> Vec<String> {
        let state = self.lock();
        let waited = self
            .changed
            .wait_timeout_while(state, PARTING, |state| !state.ended);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.lines.iter().cloned().collect()
    }
}
