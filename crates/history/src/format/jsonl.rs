//! Isolde's own format for people and programs: JSON lines, one transaction a line.
//!
//! The first line is `{"isolde":"history","version":1}`; then, in session order (sessions may be
//! interleaved), lines like
//! `{"session":0,"txn":4,"status":"committed","start":1,"end":2,"ops":[["w","x",1],["r","y",null]]}`.
//! It holds everything a history holds. Only `session` is required: `status` is `committed` unless
//! said, `txn` may be missing, `start` without `end` is a transaction that never completed. An
//! operation is `[tag, key, value]`; without a value its result is unknown. A fourth element is the
//! number that the database gave the version read or written. `docs/formats.md` has
//! the grammar. Reading is one pass by hand over the bytes, without a tree.
//!
//! A recorder that wants to lose nothing writes a line with the status `started` before a transaction can
//! have any effect, and the outcome in another line with the same `session` and `txn`. Where the
//! second is missing, the transaction's outcome is unknown.

use super::codes::{Codes, key_table};
use super::edn::{Flaw, Scan};
use super::json::{Json, integer, line_end, scalar};
use super::started::{Parked, Started, put_ops, take_ops};
use super::{Format, FormatError, WriteError, cut, holds};
use crate::{Builder, History, Interval, KeyId, Op, OpKind, Status, UNLABELLED, ValueCode};
use std::io::Write;

/// The tags of operations, in both directions. A read that returned an array is a list read.
pub(super) const TAGS: [(&str, OpKind); 8] = [
    ("r", OpKind::Read),
    ("w", OpKind::Write),
    ("append", OpKind::Append),
    ("rlist", OpKind::ReadList),
    ("add", OpKind::Add),
    ("rset", OpKind::ReadSet),
    ("inc", OpKind::Increment),
    ("rcount", OpKind::ReadCounter),
];

/// The names of the outcomes.
pub(super) const STATUSES: [(&str, Status); 3] = [
    ("committed", Status::Committed),
    ("aborted", Status::Aborted),
    ("indeterminate", Status::Indeterminate),
];

/// Reads JSON lines. Of a last line that was cut off (a recorder that was killed) the whole
/// operations are kept, as `notes` say; a wrong line anywhere else is an error.
pub fn read(bytes: &[u8], notes: &mut Vec<String>) -> Result<History, FormatError> {
    let mut reader = Reader::default();
    let mut scanner = Json::at(bytes, 0);
    if bytes.starts_with(b"\xef\xbb\xbf") {
        scanner.pos = 3;
    }
    loop {
        let line_start = scanner.pos;
        match reader.line(&mut scanner) {
            Ok(true) => {}
            Ok(false) => break,
            Err(flaw) => {
                // A line that goes on to its last bracket is not cut off but wrong.
                let rest = bytes[line_start..].trim_ascii_start();
                let is_open = !rest.contains(&b'\n') && !rest.trim_ascii_end().ends_with(b"}");
                let cut = flaw.at_end || is_open;
                if !cut || reader.line_count == 0 {
                    return Err(flaw.in_text(bytes));
                }
                let kept = reader.keep_cut();
                notes.push(cut::note("the last line is cut off", kept));
                break;
            }
        }
    }
    for unfinished in reader.started.drain() {
        let ended = reader.end_unfinished(unfinished);
        ended.map_err(|flaw| flaw.in_text(bytes))?;
    }
    if reader.unfinished_count > 0 {
        let count = reader.unfinished_count;
        notes.push(format!("{count} transactions started and have no outcome"));
    }
    if reader.timed_count > 0 && reader.timed_count < reader.builder.txn_count() {
        notes.push("some transactions have no start time, so no times are used".into());
    }
    Ok(reader.finish())
}

#[derive(Default)]
struct Reader {
    builder: Builder,
    keys: Codes,
    values: Codes,
    elements: Vec<ValueCode>,
    started: Started,
    line_count: usize,
    unfinished_count: usize,
    timed_count: usize,
    /// The line that could not be read.
    bad: Option<Line>,
}

/// The fields of a line other than its operations.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub at: usize,
    pub ops_start: usize,
    pub session: Option<i64>,
    pub label: u64,
    pub status: Status,
    pub start: Option<i64>,
    pub end: Option<i64>,
    kind: LineKind,
    /// Which of [`FIELDS`] it has so far, as bits.
    fields: u16,
}

/// All fields; each may be there once.
const FIELDS: [&str; 15] = [
    "session", "txn", "status", "start", "end", "ops", "info", "event", "at", "node", "text",
    "isolde", "run", "version", "sessions",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Header,
    Txn,
    /// A transaction that is about to run.
    Started,
    /// Something that happened to the database, for people.
    Event,
}

impl Line {
    /// Takes note of a field. One that is there twice would say two things.
    #[inline]
    fn note_field(&mut self, at: usize, name: &[u8]) -> Scan<()> {
        let place = FIELDS.iter().position(|field| field.as_bytes() == name);
        let bit = place.map_or(0, |place| 1 << place);
        if self.fields & bit != 0 {
            let name = String::from_utf8_lossy(name);
            return Err(Flaw::new(at, format!("the field `{name}` is there twice"))
                .hint("was the line joined of two? Each transaction has a line of its own"));
        }
        self.fields |= bit;
        Ok(())
    }

    /// When the transaction ran, if the line says so.
    fn interval(&self) -> Scan<Option<Interval>> {
        let end = self.end.unwrap_or(Interval::NEVER);
        match self.start {
            None if self.end.is_some() => Err(Flaw::new(self.at, "an `end` without a `start`")),
            Some(start) if end < start => {
                let problem = format!("the `end` {end} is before the `start` {start}");
                Err(Flaw::new(self.at, problem).hint(
                    "are the two exchanged, or from different clocks? Record both from one clock, or neither",
                ))
            }
            start => Ok(start.map(|start| Interval { start, end })),
        }
    }
}

impl Reader {
    fn finish(mut self) -> History {
        self.builder.keys = key_table(&mut self.builder.ops.keys, &self.keys.table);
        self.builder.values = self.values.table;
        self.builder.finish()
    }

    /// Reads one line; false at the end of the text.
    fn line(&mut self, scanner: &mut Json<'_>) -> Scan<bool> {
        scanner.space()?;
        let at = scanner.pos;
        if scanner.peek().is_none() {
            return Ok(false);
        }
        if !scanner.accept(b'{')? {
            return Err(scanner
                .unexpected("`{`")
                .hint("each line is one object: {\"session\":0,\"ops\":[[\"w\",\"x\",1]]}"));
        }
        let mut line = Line {
            at,
            ops_start: self.builder.ops.len(),
            session: None,
            label: UNLABELLED,
            status: Status::Committed,
            start: None,
            end: None,
            kind: LineKind::Txn,
            fields: 0,
        };
        let done = self.rest_of_line(scanner, &mut line);
        if done.is_err() {
            self.bad = Some(line);
        }
        done.map(|()| true)
    }

    fn rest_of_line(&mut self, scanner: &mut Json<'_>, line: &mut Line) -> Scan<()> {
        while !scanner.accept(b'}')? {
            self.field(scanner, line)?;
        }
        line_end(scanner)?;
        let holds_txn = line.session.is_some() || self.builder.ops.len() > line.ops_start;
        match line.kind {
            LineKind::Txn => self.close(line)?,
            LineKind::Started => self.start(line)?,
            LineKind::Header if holds_txn => {
                return Err(
                    Flaw::new(line.at, "the header holds a transaction, too").hint(
                        "the first line names the format; each line after it is one transaction",
                    ),
                );
            }
            LineKind::Event if holds_txn => {
                return Err(Flaw::new(line.at, "an event holds a transaction, too")
                    .hint("an `event` has a line of its own"));
            }
            LineKind::Header | LineKind::Event => {}
        }
        self.line_count += 1;
        Ok(())
    }

    /// Sets a transaction aside until its outcome comes.
    fn start(&mut self, line: &Line) -> Scan<()> {
        let session = line.session.filter(|_| line.label != UNLABELLED);
        let Some(session) = session else {
            let problem = "a transaction that is `started` needs a `session` and a `txn`";
            return Err(Flaw::new(line.at, problem)
                .hint("the line with its outcome is found by these two numbers"));
        };
        let ops = take_ops(&mut self.builder, line.ops_start);
        let unfinished = self.started.park(session, (*line, ops));
        unfinished.map_or(Ok(()), |unfinished| self.end_unfinished(unfinished))
    }

    /// Makes a transaction without an outcome an indeterminate one.
    fn end_unfinished(&mut self, (line, ops): Parked) -> Scan<()> {
        let line = Line {
            ops_start: self.builder.ops.len(),
            status: Status::Indeterminate,
            end: None,
            ..line
        };
        put_ops(&mut self.builder, ops);
        self.unfinished_count += 1;
        self.end_txn(&line)
    }

    /// Makes what is left of the line that was cut off a transaction of unknown outcome, if there
    /// is enough and its start was not told; returns how many become of unknown outcome.
    fn keep_cut(&mut self) -> usize {
        let Some(mut line) = self.bad.take() else {
            return 0;
        };
        let ops_start = line.ops_start;
        // The start of the transaction tells of all its operations, the line that was cut only of some.
        let is_started = |session| self.started.holds(session, line.label);
        let is_known = line.session.is_some_and(is_started);
        if line.session.is_some() && self.builder.ops.len() > ops_start && !is_known {
            if line.status == Status::Committed {
                line.status = Status::Indeterminate;
            }
            if line.start.is_none() && self.timed_count == self.builder.txn_count() {
                // It may have begun at any time; the others keep their times.
                line.start = (self.timed_count > 0).then_some(i64::MIN);
            }
            if self.close(&line).is_ok() {
                return 1;
            }
        }
        let ops = &mut self.builder.ops;
        ops.kinds.truncate(ops_start);
        ops.keys.truncate(ops_start);
        ops.values.truncate(ops_start);
        self.builder.forget_versions(ops_start);
        usize::from(is_known)
    }

    fn field(&mut self, scanner: &mut Json<'_>, line: &mut Line) -> Scan<()> {
        let at = scanner.pos;
        if scanner.peek() != Some(b'"') {
            return Err(scanner.unexpected("a field name in quotes or `}`"));
        }
        let name = scanner.raw_string()?;
        line.note_field(at, name)?;
        scanner.colon()?;
        scanner.space()?;
        match name {
            b"session" => line.session = Some(integer(scanner, "session")?),
            b"txn" => line.label = integer(scanner, "txn")?,
            b"status" => match status(scanner)? {
                Some(status) => line.status = status,
                None => line.kind = LineKind::Started,
            },
            b"start" => line.start = Some(integer(scanner, "start")?),
            b"end" => line.end = Some(integer(scanner, "end")?),
            b"ops" => self.ops(scanner)?,
            b"info" => scanner.skip()?,
            b"event" => {
                line.kind = LineKind::Event;
                scanner.skip()?;
            }
            b"at" | b"node" | b"text" if line.kind == LineKind::Event => scanner.skip()?,
            b"isolde" if self.line_count == 0 => {
                line.kind = LineKind::Header;
                scanner.skip()?;
            }
            b"run" if self.line_count == 0 => scanner.skip()?,
            b"version" if self.line_count == 0 => version(scanner)?,
            b"sessions" if self.line_count == 0 => self.sessions(scanner)?,
            _ => return Err(misplaced_field(at, name)),
        }
        Ok(())
    }

    fn sessions(&mut self, scanner: &mut Json<'_>) -> Scan<()> {
        if !scanner.accept(b'[')? {
            return Err(scanner.unexpected("an array of session numbers"));
        }
        while !scanner.accept(b']')? {
            let label = integer(scanner, "sessions")?;
            self.builder.session(label);
        }
        Ok(())
    }

    fn ops(&mut self, scanner: &mut Json<'_>) -> Scan<()> {
        if !scanner.accept(b'[')? {
            return Err(scanner.unexpected("an array of operations"));
        }
        while !scanner.accept(b']')? {
            if scanner.peek() != Some(b'[') {
                return Err(scanner
                    .unexpected("an operation `[`")
                    .hint("an operation is like [\"w\",\"x\",1]"));
            }
            scanner.pos += 1;
            self.op(scanner)?;
        }
        Ok(())
    }

    #[inline]
    fn op(&mut self, scanner: &mut Json<'_>) -> Scan<()> {
        scanner.space()?;
        let at = scanner.pos;
        if scanner.peek() != Some(b'"') {
            return Err(scanner.unexpected("a tag in quotes, such as \"w\""));
        }
        let mut kind = match scanner.raw_string()? {
            b"r" => OpKind::Read,
            b"w" => OpKind::Write,
            tag => other_kind(at, tag)?,
        };
        scanner.space()?;
        if scanner.peek() == Some(b']') {
            return Err(scanner.unexpected("a key"));
        }
        let key = scalar(&mut self.keys, scanner)?;
        let mut value = ValueCode::UNKNOWN;
        let mut version = None;
        if !scanner.accept(b']')? {
            if scanner.peek() == Some(b'[') && (kind == OpKind::Read || kind.reads_list()) {
                kind = if kind == OpKind::Read {
                    OpKind::ReadList
                } else {
                    kind
                };
                value = self.list(scanner, kind, KeyId(key.0))?;
            } else {
                let at = scanner.pos;
                value = scalar(&mut self.values, scanner)?;
                if kind.reads_list() && value != ValueCode::NIL {
                    return Err(Flaw::new(
                        at,
                        "expected an array or null, found a single value",
                    ));
                }
            }
            if !scanner.accept(b']')? {
                version = Some(integer(scanner, "version of an operation")?);
                if !scanner.accept(b']')? {
                    return Err(scanner.unexpected("`]` after an operation"));
                }
            }
        } else if kind.is_write() {
            return Err(nothing_written(at));
        }
        let key = KeyId(key.0);
        self.builder.ops.push(Op { kind, key, value });
        if let Some(version) = version {
            self.builder.record_version(version);
        }
        Ok(())
    }

    fn list(&mut self, scanner: &mut Json<'_>, kind: OpKind, key: KeyId) -> Scan<ValueCode> {
        scanner.pos += 1;
        self.elements.clear();
        while !scanner.accept(b']')? {
            let element = scalar(&mut self.values, scanner)?;
            self.elements.push(element);
        }
        // The lists of a key are mostly prefixes of each other; sets come in any order.
        Ok(match kind {
            OpKind::ReadList => self.builder.push_list(key, &self.elements),
            _ => self.builder.lists.push(&self.elements),
        })
    }

    /// Ends a transaction. Another one that its session started before never got an outcome.
    fn close(&mut self, line: &Line) -> Scan<()> {
        let started = line.session.and_then(|session| self.started.take(session));
        let Some(unfinished) = started.filter(|(started, _)| started.label != line.label) else {
            return self.end_txn(line);
        };
        let ops = take_ops(&mut self.builder, line.ops_start);
        self.end_unfinished(unfinished)?;
        let ops_start = self.builder.ops.len();
        put_ops(&mut self.builder, ops);
        self.end_txn(&Line { ops_start, ..*line })
    }

    fn end_txn(&mut self, line: &Line) -> Scan<()> {
        let at = line.at;
        let Some(session) = line.session else {
            return Err(
                Flaw::new(at, "expected a `session` in this line, found none")
                    .hint("every transaction belongs to a session: {\"session\":0,\"ops\":[…]}"),
            );
        };
        let interval = line.interval()?;
        self.timed_count += usize::from(interval.is_some());
        let session = self.builder.session(session);
        self.builder
            .end_txn(session, line.label, line.status, interval, line.ops_start)
            .map_err(|error| Flaw::new(at, error.to_string()))
    }
}

/// The error of a field that is not known, or not in such a line.
#[cold]
fn misplaced_field(at: usize, name: &[u8]) -> Box<Flaw> {
    let name = String::from_utf8_lossy(name);
    let (problem, known) = match FIELDS.contains(&&*name) {
        true => (format!("the field `{name}` has no place in this line"), ""),
        false => (
            format!("unknown field `{name}`"),
            "this looks like Isolde's JSON lines; ",
        ),
    };
    let hint = "known are session, txn, status, start, end, ops and info (and those of headers and events)";
    Flaw::new(at, problem).hint(format!("{known}{hint}"))
}

/// The error of a write that does not say what it wrote.
#[cold]
fn nothing_written(at: usize) -> Box<Flaw> {
    Flaw::new(at, "a write without a value").hint(
        "only what a read returned may be unknown: [\"r\",\"x\"]; a write is like [\"w\",\"x\",1]",
    )
}

#[cold]
fn other_kind(at: usize, tag: &[u8]) -> Scan<OpKind> {
    let known = TAGS.iter().find(|(name, _)| name.as_bytes() == tag);
    known.map(|&(_, kind)| kind).ok_or_else(|| {
        let tag = String::from_utf8_lossy(tag);
        Flaw::new(at, format!("unknown operation `{tag}`"))
            .hint("known are r, w, append, rlist, add, rset, inc and rcount")
    })
}

/// The outcome; none of a transaction that is only `started`.
fn status(scanner: &mut Json<'_>) -> Scan<Option<Status>> {
    let at = scanner.pos;
    if scanner.peek() == Some(b'"') {
        let word = scanner.raw_string()?;
        let known = STATUSES.iter().find(|(name, _)| name.as_bytes() == word);
        if let Some(&(_, status)) = known {
            return Ok(Some(status));
        } else if word == b"started" {
            return Ok(None);
        }
        scanner.pos = at;
    }
    Err(scanner.unexpected("\"committed\", \"aborted\", \"indeterminate\" or \"started\""))
}

fn version(scanner: &mut Json<'_>) -> Scan<()> {
    let at = scanner.pos;
    match integer::<i64>(scanner, "version")? {
        1 => Ok(()),
        other => Err(
            Flaw::new(at, format!("format version {other} is not known"))
                .hint("this program reads version 1; a newer one may read this file"),
        ),
    }
}

/// Writes JSON lines, session by session.
pub fn write(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    holds::sound(history, Format::Isolde)?;
    super::jsonl_write::write(history, out)
}
