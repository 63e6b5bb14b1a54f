//! One child: the program itself, asked to check a history or to run a workload.
//!
//! What it prints on standard error as lines of JSON is its progress; what it prints on standard
//! output is its answer. It is ended when somebody cancels, when its time is over, or when it takes
//! too much memory: first asked, after a grace period killed with all that it started.

use super::signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// What to start, and within which bounds.
pub(crate) struct Order<'a> {
    /// The program.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: &'a [String],
    /// Where it works.
    pub directory: &'a Path,
    /// When it is ended, if it does not end by itself.
    pub time: Duration,
    /// How many bytes it may own.
    pub memory_bytes: u64,
    /// How long it may take to end in good order.
    pub grace: Duration,
}

/// Why a child was ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// By itself.
    Itself,
    /// Somebody did not want it any more.
    Cancelled,
    /// Its time was over.
    Time,
    /// It took too much memory.
    Memory,
}

/// What became of a child.
pub(crate) struct Outcome {
    pub ended: Ended,
    /// The exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// What it answered.
    pub answer: String,
    /// What it said besides, the last lines.
    pub remarks: Vec<String>,
}

/// An answer is cut off here.
const ANSWER_BYTES_MAX: u64 = 64 << 20;
/// A line of progress or a remark is cut off here.
const LINE_BYTES_MAX: u64 = 64 << 10;
const REMARKS_MAX: usize = 40;
const POLL: Duration = Duration::from_millis(40);

/// Runs a child to its end.
pub(crate) fn run(
    order: &Order<'_>,
    is_cancelled: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(Value),
) -> Result<Outcome, String> {
    let mut command = Command::new(order.program);
    command
        .args(order.arguments)
        .current_dir(order.directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = command
        .spawn()
        .map_err(|error| format!("{}: {error}", order.program.display()))?;
    let (said, answered) = listen(&mut child);
    let mut remarks: Vec<String> = Vec::new();
    let mut hear = |line: String| match serde_json::from_str::<Value>(&line) {
        Ok(mut value) if value.get("progress").is_some() => progress(value["progress"].take()),
        _ => {
            remarks.push(line);
            if remarks.len() > REMARKS_MAX {
                remarks.remove(0);
            }
        }
    };
    let (ended, status) = watch(order, &mut child, is_cancelled, &mut || {
        said.try_iter().for_each(&mut hear);
    })?;
    // Something that outlives the child may hold its pipes; it is not waited for long.
    let answer = answered.recv_timeout(Duration::from_secs(5));
    while let Ok(line) = said.recv_timeout(Duration::from_millis(200)) {
        hear(line);
    }
    Ok(Outcome {
        ended,
        code: status.code(),
        answer: answer.unwrap_or_default(),
        remarks,
    })
}

/// Threads that read what a child says, line by line, and what it answers, as a whole.
fn listen(child: &mut Child) -> (Receiver<String>, Receiver<String>) {
    let (say, said) = channel();
    let (answer, answered) = channel();
    if let Some(stderr) = child.stderr.take() {
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stderr);
            loop {
                let mut line = Vec::new();
                let read = (&mut reader)
                    .take(LINE_BYTES_MAX)
                    .read_until(b'\n', &mut line);
                let text = String::from_utf8_lossy(&line).trim_end().to_string();
                if !matches!(read, Ok(count) if count > 0) || say.send(text).is_err() {
                    return;
                }
            }
        });
    }
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let mut limited = stdout.take(ANSWER_BYTES_MAX);
            // What was read before an error is the answer; if it is cut off, it is no JSON.
            let _ = limited.read_to_end(&mut bytes);
            let _ = answer.send(String::from_utf8_lossy(&bytes).into_owned());
        });
    }
    (said, answered)
}

/// Waits for the end of a child, and brings it about if need be.
fn watch(
    order: &Order<'_>,
    child: &mut Child,
    is_cancelled: &dyn Fn() -> bool,
    hear: &mut dyn FnMut(),
) -> Result<(Ended, ExitStatus), String> {
    let began = Instant::now();
    let mut ended = Ended::Itself;
    let mut asked: Option<Instant> = None;
    let mut is_killed = false;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok((ended, status));
        }
        hear();
        let reason = if is_cancelled() {
            Ended::Cancelled
        } else if began.elapsed() > order.time {
            Ended::Time
        } else if own_bytes(child.id()).is_some_and(|used| used > order.memory_bytes) {
            Ended::Memory
        } else {
            Ended::Itself
        };
        if asked.is_none() && reason != Ended::Itself {
            ended = reason;
            asked = Some(Instant::now());
            signal::ask_to_end(child);
        }
        let is_over = asked.is_some_and(|asked| asked.elapsed() > order.grace);
        if is_over && !is_killed {
            signal::end(child);
            is_killed = true;
        }
        std::thread::sleep(POLL);
    }
}

/// The memory a process owns, where the system tells. Mapped files do not count.
fn own_bytes(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let mut pages = text.split_whitespace().skip(1).map(str::parse::<u64>);
    let (resident, shared) = (pages.next()?.ok()?, pages.next()?.ok()?);
    Some(resident.saturating_sub(shared) * 4096)
}
