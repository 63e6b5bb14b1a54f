//! The original dbcop's file: bincode 1, little endian.
//!
//! Five 64-bit numbers (id, nodes, variables, transactions, events), three texts (info, start,
//! end), then a vector of sessions, each a vector of transactions: a vector of events and a byte
//! for success. An event is a byte for write, the variable, the value and a byte for success. A
//! vector or text is its 64-bit length and its elements. No length is trusted: a vector grows only
//! as its elements are found in the file.
//!
//! A transaction committed if it succeeded, whatever became of its events: those that did not
//! succeed did nothing, as dbcop's own verifier takes it. So writes without success are left out of
//! a committed transaction, and the value of a read without success is unknown. Sessions and
//! transactions are numbered by place, from 0.

use super::holds::{self, Numbers};
use super::keys::NumberedKeys;
use super::{Format, FormatError, Loaded, Place, WriteError, empty, too_large};
use crate::{Builder, History, Op, OpKind, Status, TxnId, ValueCode};
use std::io::Write;

/// Reads a history.
pub(super) fn read(bytes: &[u8]) -> Result<Loaded, FormatError> {
    if bytes.is_empty() {
        return Err(empty());
    }
    let mut cursor = Cursor { bytes, at: 0 };
    for what in ["id", "nodes", "variables", "transactions", "events"] {
        cursor.number(what)?;
    }
    for what in ["info", "start time", "end time"] {
        let length = cursor.length(&format!("the length of the {what}"), 1)?;
        cursor.take(length, what)?;
    }
    let mut builder = Builder::new();
    let mut keys = NumberedKeys::default();
    let mut events = Vec::new();
    let mut left_out = 0;
    let session_count = cursor.length("the number of sessions", 8)?;
    for label in 0..session_count {
        let session = builder.session(label as i64);
        let txn_count = cursor.length("the number of transactions", 9)?;
        for place in 0..txn_count {
            let start = builder.ops.len();
            let status = cursor.txn(&mut events)?;
            let is_kept = |event: &&Event| status == Status::Aborted || event.counts();
            for event in events.iter().filter(is_kept) {
                builder.ops.push(Op {
                    kind: event.kind,
                    key: keys.id(event.variable),
                    value: match event.value() {
                        Some(number) => builder.values.code_of_unsigned(number),
                        None => ValueCode::UNKNOWN,
                    },
                });
            }
            left_out += events.len() - (builder.ops.len() - start);
            builder
                .end_txn(session, place as u64, status, None, start)
                .map_err(too_large)?;
        }
    }
    if cursor.at < bytes.len() {
        let left = bytes.len() - cursor.at;
        return Err(cursor.error(format!(
            "expected the end of the file, found {left} more bytes"
        )));
    }
    builder.keys = keys.finish(&mut builder.ops);
    Ok(Loaded {
        history: builder.finish(),
        format: Format::DbcopBincode,
        notes: (left_out > 0)
            .then(|| {
                format!("{left_out} writes without success in transactions with it are left out")
            })
            .into_iter()
            .collect(),
    })
}

/// A read or write, and whether it succeeded.
struct Event {
    kind: OpKind,
    variable: u64,
    number: u64,
    success: bool,
}

impl Event {
    /// An event with nothing wrong in it.
    fn whole(bytes: &[u8; EVENT]) -> Option<Event> {
        let (&[is_write], rest) = bytes.split_first_chunk()?;
        let (&variable, rest) = rest.split_first_chunk()?;
        let (&number, rest) = rest.split_first_chunk()?;
        let is_flag = |byte: u8| byte <= 1;
        let success = rest[0];
        (is_flag(is_write) & is_flag(success)).then(|| Event {
            kind: match is_write == 1 {
                true => OpKind::Write,
                false => OpKind::Read,
            },
            variable: u64::from_le_bytes(variable),
            number: u64::from_le_bytes(number),
            success: success == 1,
        })
    }

    /// Whether it says anything about a transaction that committed.
    fn counts(&self) -> bool {
        self.success || self.kind == OpKind::Read
    }

    fn value(&self) -> Option<u64> {
        (self.success || self.kind == OpKind::Write).then_some(self.number)
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn error(&self, problem: impl Into<String>) -> FormatError {
        FormatError::new(Place::Byte(self.at as u64), problem)
    }

    fn take(&mut self, length: usize, what: &str) -> Result<&'a [u8], FormatError> {
        let end = self.at.checked_add(length);
        let Some(taken) = end.and_then(|end| self.bytes.get(self.at..end)) else {
            let left = self.bytes.len() - self.at;
            return Err(self
                .error(format!(
                    "expected {what} ({length} bytes), found {left} bytes"
                ))
                .hint("the file is cut off: copy it again"));
        };
        self.at += length;
        Ok(taken)
    }

    fn number(&mut self, what: &str) -> Result<u64, FormatError> {
        let field = self.take(8, what)?;
        Ok(field
            .iter()
            .rev()
            .fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
    }

    fn flag(&mut self, what: &str) -> Result<bool, FormatError> {
        match self.take(1, what)?[0] {
            0 => Ok(false),
            1 => Ok(true),
            other => {
                self.at -= 1;
                Err(self.error(format!("expected {what} as 0 or 1, found {other}")))
            }
        }
    }

    /// How many elements of at least `size` bytes follow.
    fn length(&mut self, what: &str, size: usize) -> Result<usize, FormatError> {
        let length = self.number(what)?;
        let room = (self.bytes.len() - self.at) / size;
        if length > room as u64 {
            self.at -= 8;
            return Err(self
                .error(format!(
                    "{what} is {length}, but the file has room for {room}"
                ))
                .hint("the file is cut off, or it is not dbcop's bincode"));
        }
        Ok(length as usize)
    }

    /// The next event, piece by piece, to tell what is wrong with it.
    fn event(&mut self) -> Result<Event, FormatError> {
        let kind = match self.flag("whether an event writes")? {
            true => OpKind::Write,
            false => OpKind::Read,
        };
        Ok(Event {
            kind,
            variable: self.number("a variable")?,
            number: self.number("a value")?,
            success: self.flag("whether an event succeeded")?,
        })
    }

    /// The events of the next transaction, and what became of it.
    fn txn(&mut self, events: &mut Vec<Event>) -> Result<Status, FormatError> {
        events.clear();
        for _ in 0..self.length("the number of events", EVENT)? {
            let rest = &self.bytes[self.at..];
            let event = match rest.first_chunk().and_then(Event::whole) {
                Some(event) => {
                    self.at += EVENT;
                    event
                }
                None => self.event()?,
            };
            events.push(event);
        }
        Ok(match self.flag("whether a transaction succeeded")? {
            true => Status::Committed,
            false => Status::Aborted,
        })
    }
}

/// The bytes of an event.
const EVENT: usize = 18;

/// Writes a history of registers. Numbers of sessions and transactions and times are not kept; a
/// read of nil becomes one of 0, as in PolySI text; an unknown read is one without success.
pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    let format = Format::DbcopBincode;
    holds::registers_or_unknown(history, format)?;
    let numbers = Numbers::new(history, format);
    let counts = [
        0,
        history.session_count(),
        history.key_count(),
        longest_session(history),
        history
            .txns()
            .iter()
            .map(|txn| txn.op_count as usize)
            .max()
            .unwrap_or(0),
    ];
    for count in counts {
        number(out, count as u64)?;
    }
    for text in ["isolde", EPOCH, EPOCH] {
        number(out, text.len() as u64)?;
        out.write_all(text.as_bytes())?;
    }
    number(out, history.session_count() as u64)?;
    for session in history.sessions() {
        let txns = history.session_txns(session);
        number(out, txns.len() as u64)?;
        for txn in txns.map(TxnId) {
            let mut bytes = Vec::new();
            number(&mut bytes, history.txn(txn).op_count.into())?;
            for (_, op) in history.txn_ops(txn) {
                let known = op.value != ValueCode::UNKNOWN;
                let value = if known {
                    numbers.number(op.key, op.value)?
                } else {
                    0
                };
                bytes.push((op.kind == OpKind::Write).into());
                number(&mut bytes, holds::key(history, op.key, format)?)?;
                number(&mut bytes, value)?;
                bytes.push(known.into());
            }
            bytes.push((history.status(txn) == Status::Committed).into());
            out.write_all(&bytes)?;
        }
    }
    Ok(())
}

/// A time that means nothing, in the form dbcop reads.
pub(super) const EPOCH: &str = "1970-01-01T00:00:00+00:00";

/// The number of transactions of the longest session.
pub(super) fn longest_session(history: &History) -> usize {
    let lengths = history.sessions().map(|s| history.session_txns(s).len());
    lengths.max().unwrap_or(0)
}

fn number(out: &mut dyn Write, number: u64) -> Result<(), WriteError> {
    Ok(out.write_all(&number.to_le_bytes())?)
}
