//! Viper's logs: a directory with one file `J<n>.log` a session, of JSON lines.
//!
//! A line is a transaction: `{"value": [["w", 4936, 17, true], ["r", 8398, 3, false]]}`. An operation
//! is `r`, `w`, `i` (insert) or `d` (delete), a key, a value and what Viper needs for ranges (is the
//! row there?), which is not kept: a delete writes the value that readers of the absent row
//! report. Every transaction has committed. Range queries are refused: what they did not return
//! would be lost.
//!
//! The rows that a benchmark loaded are in no log. So, as Viper does, a value that nobody wrote is
//! taken for the initial one of its key and read as nil, where the key has one such value only.

use super::codes::{Codes, key_table};
use super::edn::{Flaw, Scan};
use super::holds::{self, refuse};
use super::json::{Json, line_end, scalar};
use super::{Format, FormatError, Loaded, Place, ReadOptions, Source, WriteError, cut, sessions};
use crate::history::Ops;
use crate::{Builder, History, KeyId, Op, OpKind, SessionId, Status, TxnId, Value, ValueCode};
use std::collections::{HashMap, HashSet};
use std::io::Write;

/// Reads a history from the logs of its sessions. Of a last line that is cut off the whole operations
/// are kept, as one transaction of unknown outcome.
pub(super) fn read(sources: &[Source], options: &ReadOptions) -> Result<Loaded, FormatError> {
    let mut reader = Reader::default();
    let mut notes = Vec::new();
    let mut done = 0;
    for (label, source) in sessions::of_files(sources, 'J')? {
        let cut = reader
            .session(label, source.bytes)
            .map_err(|flaw| flaw.in_text(source.bytes).in_file(source.name))?;
        if let Some(kept) = cut {
            let stop = format!("{} is cut off", source.name);
            notes.push(cut::note(&stop, kept.into()));
        }
        done += source.bytes.len() as u64;
        (options.progress)(done);
    }
    let mut builder = reader.builder;
    let loaded_keys = take_initial(&mut builder.ops);
    if loaded_keys > 0 {
        notes.push(format!(
            "values that no log has are taken for the initial ones of their keys ({loaded_keys})"
        ));
    }
    if builder.txn_count() == 0 {
        let problem = "the logs hold no whole transaction";
        return Err(FormatError::new(Place::Whole, problem));
    }
    builder.keys = key_table(&mut builder.ops.keys, &reader.keys.table);
    builder.values = reader.values.table;
    Ok(Loaded {
        history: builder.finish(),
        format: Format::Viper,
        notes,
    })
}

#[derive(Default)]
struct Reader {
    builder: Builder,
    keys: Codes,
    values: Codes,
}

impl Reader {
    /// Reads a log; where it is cut off, says whether anything of its last line is kept.
    fn session(&mut self, label: i64, bytes: &[u8]) -> Scan<Option<bool>> {
        let session = self.builder.session(label);
        let mut scanner = Json::at(bytes, 0);
        for number in 0.. {
            scanner.space()?;
            if scanner.peek().is_none() {
                break;
            }
            let start = self.builder.ops.len();
            match self.line(&mut scanner) {
                Ok(()) => self.end(session, number, Status::Committed, start)?,
                Err(flaw) if flaw.at_end => {
                    let kept = self.builder.ops.len() > start;
                    if kept {
                        self.end(session, number, Status::Indeterminate, start)?;
                    }
                    return Ok(Some(kept));
                }
                Err(flaw) => return Err(flaw),
            }
        }
        Ok(None)
    }

    fn end(&mut self, session: SessionId, number: u64, status: Status, start: usize) -> Scan<()> {
        let ended = self.builder.end_txn(session, number, status, None, start);
        ended.map_err(|error| Flaw::new(0, error.to_string()))
    }

    fn line(&mut self, scanner: &mut Json<'_>) -> Scan<()> {
        if !scanner.accept(b'{')? {
            return Err(scanner
                .unexpected("`{`, a transaction")
                .hint("each line is one: {\"value\": [[\"w\", 1, 2, true]]}"));
        }
        while !scanner.accept(b'}')? {
            if scanner.peek() != Some(b'"') {
                return Err(scanner.unexpected("a field name in quotes or `}`"));
            }
            let name = scanner.raw_string()?;
            scanner.colon()?;
            if name != b"value" {
                scanner.skip()?;
                continue;
            }
            if !scanner.accept(b'[')? {
                return Err(scanner.unexpected("an array of operations"));
            }
            while !scanner.accept(b']')? {
                self.op(scanner)?;
            }
        }
        line_end(scanner)
    }

    fn op(&mut self, scanner: &mut Json<'_>) -> Scan<()> {
        if !scanner.accept(b'[')? {
            return Err(scanner.unexpected("an operation such as [\"w\", 1, 2, true]"));
        }
        scanner.space()?;
        let at = scanner.pos;
        if scanner.peek() != Some(b'"') {
            return Err(scanner.unexpected("\"r\" or \"w\""));
        }
        let kind = match scanner.raw_string()? {
            b"r" => OpKind::Read,
            b"w" | b"i" | b"d" => OpKind::Write,
            tag => {
                let tag = String::from_utf8_lossy(tag);
                return Err(
                    Flaw::new(at, format!("the operation `{tag}` is not read")).hint(
                        "known are r, w, i and d on single keys; a range query has no place here",
                    ),
                );
            }
        };
        let key = KeyId(scalar(&mut self.keys, scanner)?.0);
        scanner.space()?;
        let value = if scanner.bytes[scanner.pos..].starts_with(b"\"nil\"") {
            scanner.skip()?;
            ValueCode::NIL
        } else {
            scalar(&mut self.values, scanner)?
        };
        if kind == OpKind::Write && value == ValueCode::NIL {
            return Err(Flaw::new(at, "a write without a value"));
        }
        while !scanner.accept(b']')? {
            scanner.skip()?;
        }
        self.builder.ops.push(Op { kind, key, value });
        Ok(())
    }
}

/// Makes nil of the one value of a key that is read and never written; returns for how many keys.
fn take_initial(ops: &mut Ops) -> usize {
    let initial = foreign_values(ops);
    for op in 0..ops.len() {
        if initial.get(&ops.keys[op]) == Some(&Some(ops.values[op])) {
            ops.values[op] = ValueCode::NIL;
        }
    }
    initial.values().flatten().count()
}

/// By key, the value that is read and never written; none where there are several.
fn foreign_values(ops: &Ops) -> HashMap<KeyId, Option<ValueCode>> {
    let written: HashSet<(KeyId, ValueCode)> = (0..ops.len())
        .filter(|&op| ops.kinds[op].is_write())
        .map(|op| (ops.keys[op], ops.values[op]))
        .collect();
    let mut foreign: HashMap<KeyId, Option<ValueCode>> = HashMap::new();
    for (&key, &value) in ops.keys.iter().zip(&ops.values) {
        if value != ValueCode::NIL && !written.contains(&(key, value)) {
            let known = foreign.entry(key).or_insert(Some(value));
            *known = known.filter(|known| *known == value);
        }
    }
    foreign
}

/// Whether this is a line of such a log, as far as its beginning tells.
pub(super) fn is_log(bytes: &[u8]) -> bool {
    const LOOKED_AT: usize = 1 << 16;
    let head = &bytes[..bytes.len().min(LOOKED_AT)];
    let first = head.split(|&byte| byte == b'\n').next().unwrap_or(head);
    let Some(rest) = first.trim_ascii().strip_prefix(b"{") else {
        return bytes.is_empty();
    };
    let Some(rest) = rest.trim_ascii_start().strip_prefix(b"\"value\"") else {
        return false;
    };
    let has = |name: &[u8]| memchr::memmem::find(first, name).is_some();
    rest.trim_ascii_start().starts_with(b":") && !has(b"\"type\"") && !has(b"\"process\"")
}

/// The files of a directory with a history of registers, by name. Aborted transactions, numbers of
/// transactions and times are not kept by Viper.
pub(super) fn write(history: &History) -> Result<Vec<(String, Vec<u8>)>, WriteError> {
    let format = Format::Viper;
    holds::registers(history, format)?;
    holds::no_aborted(history, format)?;
    no_thin_air(history)?;
    let mut files = Vec::new();
    for session in history.sessions() {
        let mut bytes = Vec::new();
        for txn in history.session_txns(session).map(TxnId) {
            bytes.extend_from_slice(b"{\"value\": [");
            for (place, (_, op)) in history.txn_ops(txn).enumerate() {
                let comma = if place > 0 { ", " } else { "" };
                let (tag, there) = match op.kind {
                    OpKind::Write => ("w", "true"),
                    _ => ("r", "false"),
                };
                let key = number(&history.key_name(op.key))?;
                let value = match history.value(op.value) {
                    Value::Nil => "null".to_string(),
                    value => number(&value)?,
                };
                write!(bytes, "{comma}[\"{tag}\", {key}, {value}, {there}]")?;
            }
            bytes.extend_from_slice(b"]}\n");
        }
        files.push((format!("J{}.log", history.session_label(session)), bytes));
    }
    Ok(files)
}

/// Refuses a read that would become one of the initial version, because it is of the only value of its
/// key that nobody wrote. One of 0 means the initial version already.
fn no_thin_air(history: &History) -> Result<(), WriteError> {
    let initial = foreign_values(history.ops());
    for txn in history.txn_ids() {
        for (id, op) in history.txn_ops(txn) {
            let is_taken = initial.get(&op.key) == Some(&Some(op.value));
            if is_taken && !op.kind.is_write() && op.value != ValueCode::ZERO {
                let (name, text) = (history.txn_name(txn), history.op_text(id));
                let what = format!(
                    "{text} of {name}: nobody wrote that value, so it would be read back as the initial one"
                );
                return Err(refuse(Format::Viper, what));
            }
        }
    }
    Ok(())
}

fn number(value: &Value) -> Result<String, WriteError> {
    match value {
        Value::Int(number) => Ok(number.to_string()),
        value => Err(refuse(
            Format::Viper,
            format!("`{value}`: keys and values are numbers"),
        )),
    }
}
