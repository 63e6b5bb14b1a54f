//! The JSON of TimeKiller (Chronos and Aion): an array of transactions with the timestamps that the
//! database gave them.
//!
//! `[{"tid": 67, "sid": 19, "sts": {"p": 5, "l": 0}, "cts": {"p": 7, "l": 0},
//! "ops": [{"t": "w", "k": 7, "v": 2}, {"t": "r", "k": 8, "v": null}]}]`, fields in any order. A
//! timestamp is a pair of a physical and a logical part. `t` is `r`, `w` or `a` (append), or that
//! word in full; a list read has an array for `v`, and where a file has lists, a read without `v` is
//! that of an empty one. Numbers of transactions and sessions may be texts: a session that is not
//! called by a number is numbered by place. Every transaction has committed.
//!
//! Timestamps become the times at which transactions began and ended, and where some have a logical
//! part, their places in the order of all of them.

use super::codes::{Codes, key_table};
use super::edn::{Atom, Flaw, Scan};
use super::json::{Json, integer, scalar};
use super::{FormatError, empty};
use crate::{Builder, History, Interval, KeyId, Op, OpKind, Status, UNLABELLED, ValueCode};
use std::collections::{HashMap, HashSet};

const SHAPE: &str = "a transaction is {\"tid\": 1, \"sid\": 0, \"sts\": {\"p\": 5, \"l\": 0}, \
                     \"cts\": {\"p\": 7, \"l\": 0}, \"ops\": [{\"t\": \"w\", \"k\": 7, \"v\": 2}]}";

/// A hybrid logical clock: the physical part, then the logical one.
type Stamp = (i64, i64);

/// Reads a history. A file that is cut off is refused: its transactions are in no order of time, so
/// that whole ones may have read what is lost.
pub(super) fn read(bytes: &[u8], notes: &mut Vec<String>) -> Result<History, FormatError> {
    let start = if bytes.starts_with(b"\xef\xbb\xbf") {
        3
    } else {
        0
    };
    if bytes[start..].trim_ascii().is_empty() {
        return Err(empty());
    }
    let mut reader = Reader::default();
    let mut scanner = Json::at(bytes, start);
    reader.array(&mut scanner).map_err(|flaw| {
        let flaw = match flaw.at_end {
            true => flaw.hint("the file is cut off: copy it again"),
            false => flaw,
        };
        flaw.in_text(bytes)
    })?;
    Ok(reader.finish(notes))
}

#[derive(Default)]
struct Reader {
    builder: Builder,
    keys: Codes,
    values: Codes,
    elements: Vec<ValueCode>,
    sessions: Sessions,
    /// By transaction: start and commit, if it has both.
    stamps: Vec<Option<(Stamp, Stamp)>>,
}

/// The fields of a transaction other than its operations.
struct Fields {
    session: Option<i64>,
    label: u64,
    start: Option<Stamp>,
    commit: Option<Stamp>,
}

impl Reader {
    fn array(&mut self, scanner: &mut Json<'_>) -> Scan<()> {
        if !scanner.accept(b'[')? {
            return Err(scanner.unexpected("`[`, the start of the transactions"));
        }
        while !scanner.accept(b']')? {
            self.txn(scanner)?;
        }
        scanner.space()?;
        match scanner.peek() {
            None => Ok(()),
            Some(_) => Err(scanner.unexpected("nothing after the last transaction")),
        }
    }

    fn txn(&mut self, scanner: &mut Json<'_>) -> Scan<()> {
        let at = scanner.pos;
        if !scanner.accept(b'{')? {
            return Err(scanner.unexpected("`{`, a transaction, or `]`").hint(SHAPE));
        }
        let ops_start = self.builder.ops.len();
        let mut fields = Fields {
            session: None,
            label: UNLABELLED,
            start: None,
            commit: None,
        };
        while !scanner.accept(b'}')? {
            match name(scanner)? {
                b"tid" => fields.label = label(scanner)?,
                b"sid" => fields.session = Some(self.session(scanner)?),
                b"sts" => fields.start = Some(stamp(scanner)?),
                b"cts" => fields.commit = Some(stamp(scanner)?),
                b"ops" => self.ops(scanner)?,
                _ => scanner.skip()?,
            }
        }
        let Some(session) = fields.session else {
            return Err(Flaw::new(at, "a transaction without `sid`, its session").hint(SHAPE));
        };
        self.stamps.push(fields.start.zip(fields.commit));
        let session = self.builder.session(session);
        self.builder
            .end_txn(session, fields.label, Status::Committed, None, ops_start)
            .map_err(|error| Flaw::new(at, error.to_string()))
    }

    fn session(&mut self, scanner: &mut Json<'_>) -> Scan<i64> {
        let at = scanner.pos;
        match scanner.atom()? {
            Atom::Int(number) => Ok(self.sessions.label(&number.to_string())),
            Atom::Text(text) => Ok(self.sessions.label(&text)),
            _ => Err(Flaw::new(at, "expected a number or a text as `sid`")),
        }
    }

    fn ops(&mut self, scanner: &mut Json<'_>) -> Scan<()> {
        if !scanner.accept(b'[')? {
            return Err(scanner.unexpected("an array of operations"));
        }
        while !scanner.accept(b']')? {
            self.op(scanner)?;
        }
        Ok(())
    }

    fn op(&mut self, scanner: &mut Json<'_>) -> Scan<()> {
        let at = scanner.pos;
        if !scanner.accept(b'{')? {
            return Err(scanner.unexpected("`{`, an operation, or `]`").hint(SHAPE));
        }
        let (mut kind, mut key, mut value, mut is_list) = (None, None, ValueCode::NIL, false);
        while !scanner.accept(b'}')? {
            match name(scanner)? {
                b"t" => kind = Some(op_kind(scanner)?),
                b"k" => key = Some(KeyId(scalar(&mut self.keys, scanner)?.0)),
                b"v" => {
                    is_list = scanner.accept(b'[')?;
                    if is_list {
                        self.list(scanner)?;
                    } else {
                        value = scalar(&mut self.values, scanner)?;
                    }
                }
                _ => scanner.skip()?,
            }
        }
        let (Some(mut kind), Some(key)) = (kind, key) else {
            return Err(Flaw::new(at, "an operation without `t` or `k`").hint(SHAPE));
        };
        if is_list && kind == OpKind::Read {
            kind = OpKind::ReadList;
            value = self.builder.push_list(key, &self.elements);
        } else if kind.is_write() && (is_list || value == ValueCode::NIL) {
            return Err(Flaw::new(at, "a write or append without a single value"));
        }
        self.builder.ops.push(Op { kind, key, value });
        Ok(())
    }

    /// The rest of an array, as elements.
    fn list(&mut self, scanner: &mut Json<'_>) -> Scan<()> {
        self.elements.clear();
        while !scanner.accept(b']')? {
            let element = scalar(&mut self.values, scanner)?;
            self.elements.push(element);
        }
        Ok(())
    }

    fn finish(mut self, notes: &mut Vec<String>) -> History {
        let ops = &mut self.builder.ops;
        let of_list = |kind: &OpKind| matches!(kind, OpKind::Append | OpKind::ReadList);
        if ops.kinds.iter().any(of_list) {
            for (kind, value) in ops.kinds.iter_mut().zip(&ops.values) {
                if *kind == OpKind::Read && *value == ValueCode::NIL {
                    *kind = OpKind::ReadList;
                }
            }
        }
        let missing = self.stamps.iter().filter(|stamps| stamps.is_none()).count();
        let is_backward =
            |stamps: &&Option<(Stamp, Stamp)>| stamps.is_some_and(|(start, commit)| commit < start);
        let backward = self.stamps.iter().filter(is_backward).count();
        if backward > 0 {
            notes.push(format!(
                "{backward} transactions have a `cts` before their `sts`, so no times are used"
            ));
        } else if missing == 0 {
            self.builder.set_intervals(intervals(&self.stamps));
        } else if missing < self.stamps.len() {
            notes.push("some transactions have no timestamps, so no times are used".into());
        }
        self.builder.keys = key_table(&mut self.builder.ops.keys, &self.keys.table);
        self.builder.values = self.values.table;
        self.builder.finish()
    }
}

/// Numbers for sessions: their own where they are called by numbers, else the first free one.
#[derive(Default)]
struct Sessions {
    labels: HashMap<Box<str>, i64>,
    taken: HashSet<i64>,
}

impl Sessions {
    fn label(&mut self, name: &str) -> i64 {
        if let Some(&label) = self.labels.get(name) {
            return label;
        }
        let mut label = name.parse().unwrap_or(self.labels.len() as i64);
        if self.taken.contains(&label) {
            let free = (0..).find(|label| !self.taken.contains(label));
            label = free.unwrap_or(i64::MAX);
        }
        self.taken.insert(label);
        self.labels.insert(name.into(), label);
        label
    }
}

/// Timestamps as times: as they are, or by place where some have a logical part.
fn intervals(stamps: &[Option<(Stamp, Stamp)>]) -> Vec<Interval> {
    let both = || stamps.iter().flatten();
    let interval = |time: &dyn Fn(Stamp) -> i64| {
        let interval = |&(start, commit): &(Stamp, Stamp)| Interval {
            start: time(start),
            end: time(commit),
        };
        both().map(interval).collect()
    };
    let is_plain = |stamp: Stamp| stamp.1 == 0 && stamp.0 != Interval::NEVER;
    if both().all(|&(start, commit)| is_plain(start) && is_plain(commit)) {
        return interval(&|stamp| stamp.0);
    }
    let mut all: Vec<Stamp> = both().flat_map(|&(start, end)| [start, end]).collect();
    all.sort_unstable();
    all.dedup();
    interval(&|stamp| all.partition_point(|other| *other < stamp) as i64)
}

/// The name of a field, and the colon behind it.
fn name<'a>(scanner: &mut Json<'a>) -> Scan<&'a [u8]> {
    if scanner.peek() != Some(b'"') {
        return Err(scanner.unexpected("a field name in quotes or `}`"));
    }
    let name = scanner.raw_string()?;
    scanner.colon()?;
    scanner.space()?;
    Ok(name)
}

/// The number of a transaction, if it is one.
fn label(scanner: &mut Json<'_>) -> Scan<u64> {
    let number = match scanner.atom()? {
        Atom::Int(number) => u64::try_from(number).ok(),
        Atom::Text(text) => text.parse().ok(),
        _ => None,
    };
    Ok(number.unwrap_or(UNLABELLED))
}

fn stamp(scanner: &mut Json<'_>) -> Scan<Stamp> {
    if !scanner.accept(b'{')? {
        return Ok((part(scanner)?, 0));
    }
    let (mut physical, mut logical) = (None, 0);
    let at = scanner.pos;
    while !scanner.accept(b'}')? {
        match name(scanner)? {
            b"p" => physical = Some(part(scanner)?),
            b"l" => logical = part(scanner)?,
            _ => scanner.skip()?,
        }
    }
    physical
        .map(|physical| (physical, logical))
        .ok_or_else(|| Flaw::new(at, "a timestamp without `p`, its physical part"))
}

/// A part of a timestamp: a number, in quotes or not.
fn part(scanner: &mut Json<'_>) -> Scan<i64> {
    if scanner.peek() != Some(b'"') {
        return integer(scanner, "part of a timestamp");
    }
    let at = scanner.pos;
    let text = scanner.string()?;
    text.parse()
        .map_err(|_| Flaw::new(at, "expected a 64-bit number in a timestamp"))
}

fn op_kind(scanner: &mut Json<'_>) -> Scan<OpKind> {
    const WORDS: [(&str, &str, OpKind); 3] = [
        ("w", "write", OpKind::Write),
        ("r", "read", OpKind::Read),
        ("a", "append", OpKind::Append),
    ];
    let at = scanner.pos;
    if scanner.peek() == Some(b'"') {
        let word = scanner.string()?;
        let is = |name: &str| word.eq_ignore_ascii_case(name);
        if let Some(row) = WORDS.iter().find(|row| is(row.0) || is(row.1)) {
            return Ok(row.2);
        }
        scanner.pos = at;
    }
    Err(scanner.unexpected("\"r\", \"w\" or \"a\", what the operation did"))
}
