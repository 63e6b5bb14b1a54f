//! The recording of a run: JSON lines that are appended to one file, a line when a transaction starts and a
//! line with its outcome when it ends.
//!
//! A line is in the hands of the operating system before the session goes on: a start before the
//! transaction can have any effect, an outcome before the next start. So whenever this process is killed,
//! every transaction that had any effect is in the file. One call writes the outcome of a
//! transaction and the start of the next, and sessions do not wait for each other but for the file
//! system. Nothing is kept in memory.
//!
//! A line that could not be written whole (a full disk) is the last: the file ends within it, and readers
//! keep what is whole.

use crate::driver::{Answer, Error};
use crate::plan::{Action, Plan};
use crate::schema::{Cell, Schema};
use history::Status;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// A file that sessions append to.
pub struct Recording {
    file: File,
    epoch: Instant,
    broken: AtomicBool,
    problem: Mutex<Option<String>>,
    bytes: AtomicU64,
}

impl Recording {
    /// Creates the file, which must not exist; `run` is a JSON object about the run as a whole.
    pub fn create(path: &Path, run: &str) -> io::Result<Recording> {
        let mut options = OpenOptions::new();
        let file = options.append(true).create_new(true).open(path)?;
        let recording = Recording {
            file,
            epoch: Instant::now(),
            broken: AtomicBool::new(false),
            problem: Mutex::new(None),
            bytes: AtomicU64::new(0),
        };
        recording.append(&format!(
            "{{\"isolde\":\"history\",\"version\":1,\"run\":{run}}}\n"
        ));
        match recording.problem() {
            Some(problem) => Err(io::Error::other(problem)),
            None => Ok(recording),
        }
    }

    /// Nanoseconds since the recording began, by a clock that never jumps.
    pub fn now(&self) -> i64 {
        self.epoch.elapsed().as_nanos() as i64
    }

    /// How long the file is.
    pub fn len(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Why nothing more is written, if that is so.
    pub fn problem(&self) -> Option<String> {
        self.problem
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .clone()
    }

    /// Records that something happened to a node, or to all.
    pub fn event(&self, what: &str, node: Option<usize>, text: &str) {
        let mut line = String::new();
        line.push_str("{\"event\":");
        quote(what, &mut line);
        // Writing to a string cannot fail.
        let _ = write!(line, ",\"at\":{}", self.now());
        if let Some(node) = node {
            let _ = write!(line, ",\"node\":{node}");
        }
        line.push_str(",\"text\":");
        quote(text, &mut line);
        line.push_str("}\n");
        self.append(&line);
    }

    /// Appends whole lines; false if that is no longer possible.
    pub fn append(&self, lines: &str) -> bool {
        if self.broken.load(Ordering::Acquire) {
            return false;
        }
        // One call, so that lines of different sessions do not mix.
        let written = (&self.file).write(lines.as_bytes());
        let problem = match written {
            Ok(count) if count == lines.len() => {
                self.bytes.fetch_add(count as u64, Ordering::Relaxed);
                return true;
            }
            Ok(_) => "the disk is full".to_string(),
            Err(error) => error.to_string(),
        };
        self.broken.store(true, Ordering::Release);
        let mut slot = self.problem.lock().unwrap_or_else(|e| e.into_inner());
        slot.get_or_insert(problem);
        false
    }
}

/// A transaction that is under way or has ended.
pub struct Entry<'a> {
    /// Its session.
    pub session: u64,
    /// Its number in the session.
    pub txn: u64,
    /// When it started.
    pub start: i64,
    /// What it was to do.
    pub plan: &'a Plan,
}

/// What became of a transaction.
pub struct Outcome<'a> {
    /// Committed, aborted, or nobody knows.
    pub status: Status,
    /// When the client knew.
    pub end: i64,
    /// The answers to its actions, as far as it came; an action without an answer was tried and failed.
    pub answers: &'a [Option<Answer>],
    /// The version of everything it wrote.
    pub version: Option<u64>,
    /// What else is to be known of it.
    pub info: &'a [(&'static str, String)],
    /// What went wrong.
    pub error: Option<&'a Error>,
    /// The node, if there are several.
    pub node: Option<usize>,
}

/// Writes the line of a transaction that starts.
pub fn write_start(schema: &Schema, entry: &Entry<'_>, out: &mut String) {
    head(entry, Some("started"), out);
    out.push_str(",\"ops\":[");
    let mut ops = Ops {
        schema,
        out,
        is_first: true,
    };
    entry
        .plan
        .actions()
        .for_each(|action| ops.action(action, None, None));
    out.push_str("]}\n");
}

/// Writes the line of a transaction that ended. One that never ended has no end time.
pub fn write_end(schema: &Schema, entry: &Entry<'_>, outcome: &Outcome<'_>, out: &mut String) {
    let status = match outcome.status {
        Status::Committed => None,
        Status::Aborted => Some("aborted"),
        Status::Indeterminate => Some("indeterminate"),
    };
    head(entry, status, out);
    if outcome.status != Status::Indeterminate {
        // Writing to a string cannot fail.
        let _ = write!(out, ",\"end\":{}", outcome.end);
    }
    out.push_str(",\"ops\":[");
    let mut ops = Ops {
        schema,
        out,
        is_first: true,
    };
    let version = outcome.version;
    for (action, answer) in entry.plan.actions().zip(outcome.answers) {
        ops.action(action, answer.as_ref(), version);
    }
    out.push(']');
    info(entry, outcome, out);
    out.push_str("}\n");
}

fn head(entry: &Entry<'_>, status: Option<&str>, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{{\"session\":{},\"txn\":{}", entry.session, entry.txn);
    if let Some(status) = status {
        let _ = write!(out, ",\"status\":\"{status}\"");
    }
    let _ = write!(out, ",\"start\":{}", entry.start);
}

fn info(entry: &Entry<'_>, outcome: &Outcome<'_>, out: &mut String) {
    let mut fields: Vec<(&str, String)> = Vec::new();
    fields.extend(outcome.node.map(|node| ("node", node.to_string())));
    let name = entry.plan.name;
    fields.extend((!name.is_empty()).then(|| ("name", quoted(name))));
    if let Some(error) = outcome.error {
        fields.extend(error.code.iter().map(|code| ("code", quoted(code))));
        fields.push(("error", quoted(&error.message)));
    }
    let own = outcome.info.iter();
    fields.extend(own.map(|(name, text)| (*name, quoted(text))));
    if fields.is_empty() {
        return;
    }
    out.push_str(",\"info\":{");
    for (place, (name, text)) in fields.iter().enumerate() {
        let comma = if place == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(out, "{comma}\"{name}\":{text}");
    }
    out.push('}');
}

struct Ops<'a> {
    schema: &'a Schema,
    out: &'a mut String,
    is_first: bool,
}

impl Ops<'_> {
    fn action(&mut self, action: &Action, answer: Option<&Answer>, written: Option<u64>) {
        let cell = action.cell();
        match (action, answer) {
            (Action::ReadGroup(_), answer) => self.group(cell, answer),
            (Action::Read(_), Some(Answer::Value(value, version))) => {
                self.begin("r", cell);
                self.optional(*value);
                self.version(*version);
                self.end();
            }
            (Action::ReadCounter(_), Some(Answer::Value(value, _))) => {
                self.begin("rcount", cell);
                self.number(value.unwrap_or(0));
                self.end();
            }
            (Action::ReadList(_), Some(Answer::Values(values))) => {
                self.begin("rlist", cell);
                self.list(values);
                self.end();
            }
            (Action::ReadSet(_), Some(Answer::Values(values))) => {
                self.begin("rset", cell);
                self.list(values);
                self.end();
            }
            _ => {
                self.begin(tag(action), cell);
                if let Some(value) = action.value() {
                    self.number(value);
                    if matches!(action, Action::Write(..)) {
                        self.version(written);
                    }
                }
                self.end();
            }
        }
    }

    /// A read of every row of the group; rows that are not there read as nil.
    fn group(&mut self, cell: Cell, answer: Option<&Answer>) {
        for member in self.schema.group_of(cell) {
            self.begin("r", member);
            if let Some(Answer::Rows(rows)) = answer {
                let found = rows.iter().find(|(row, _)| *row == member.row);
                self.optional(found.map(|(_, value)| *value));
            }
            self.end();
        }
    }

    fn begin(&mut self, tag: &str, cell: Cell) {
        if !self.is_first {
            self.out.push(',');
        }
        self.is_first = false;
        // Writing to a string cannot fail.
        let _ = write!(self.out, "[\"{tag}\",");
        self.schema.write_key(cell, self.out);
    }

    fn end(&mut self) {
        self.out.push(']');
    }

    fn number(&mut self, value: i64) {
        // Writing to a string cannot fail.
        let _ = write!(self.out, ",{value}");
    }

    fn optional(&mut self, value: Option<i64>) {
        match value {
            Some(value) => self.number(value),
            None => self.out.push_str(",null"),
        }
    }

    fn version(&mut self, version: Option<u64>) {
        if let Some(version) = version {
            // Writing to a string cannot fail.
            let _ = write!(self.out, ",{version}");
        }
    }

    fn list(&mut self, values: &[i64]) {
        self.out.push_str(",[");
        for (place, value) in values.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            // Writing to a string cannot fail.
            let _ = write!(self.out, "{comma}{value}");
        }
        self.out.push(']');
    }
}

fn tag(action: &Action) -> &'static str {
    match action {
        Action::Read(_) | Action::ReadGroup(_) => "r",
        Action::Write(..) => "w",
        Action::ReadList(_) => "rlist",
        Action::Append(..) => "append",
        Action::ReadSet(_) => "rset",
        Action::Add(..) => "add",
        Action::ReadCounter(_) => "rcount",
        Action::Increment(..) => "inc",
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    quote(text, &mut out);
    out
}

/// Writes a text as JSON.
pub fn quote(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            other if u32::from(other) < 0x20 => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(other));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}
