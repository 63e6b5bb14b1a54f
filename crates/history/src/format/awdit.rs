//! AWDIT's test text: `w key value` or `r key value`, one operation a line; a line of `-` parts
//! two transactions, a line of `=` two sessions.
//!
//! The separators stand between, so a file always has one session more than it has lines of `=`,
//! and a session one transaction more than it has lines of `-`; these may be empty. Sessions and
//! transactions have no numbers: they are numbered by place, from 0. AWDIT's own files often write the
//! initial values in the first session; here it is a session like the others.

use super::holds::{self, Numbers};
use super::keys::NumberedKeys;
use super::{Format, FormatError, Loaded, Place, WriteError, cut, empty, quote, too_large};
use crate::{Builder, History, Op, OpKind, Status, TxnId};
use std::io::Write;

struct Reader {
    builder: Builder,
    keys: NumberedKeys,
    session: i64,
    place: u64,
    ops_start: usize,
    /// That of the transaction being read: indeterminate if the file stops in it.
    status: Status,
}

/// Reads a history.
pub(super) fn read(text: &[u8]) -> Result<Loaded, FormatError> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    if text.trim_ascii().is_empty() {
        return Err(empty());
    }
    let mut reader = Reader {
        builder: Builder::new(),
        keys: NumberedKeys::default(),
        session: 0,
        place: 0,
        ops_start: 0,
        status: Status::Committed,
    };
    let mut notes = Vec::new();
    let last = memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
    let mut line_start = 0;
    for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
        if let Err(error) = reader.line(line) {
            if line_start == last && error.at_end && index > 0 {
                reader.status = Status::Indeterminate;
                let stop = format!("the recording is cut off in line {}", index + 1);
                let left = reader.builder.ops.len() > reader.ops_start;
                notes.push(cut::note(&stop, left.into()));
                break;
            }
            let place = Place::of_offset(text, line_start + error.column);
            return Err(FormatError::new(place, error.problem).hint(error.hint));
        }
        line_start += line.len() + 1;
    }
    if reader.status == Status::Committed || reader.builder.ops.len() > reader.ops_start {
        reader.end_txn().map_err(too_large)?;
    }
    let Reader {
        mut builder, keys, ..
    } = reader;
    if builder.ops.is_empty() && builder.txn_count() <= 1 {
        let problem = "there is neither an operation nor a separator in the file";
        return Err(FormatError::new(Place::Whole, problem));
    }
    builder.keys = keys.finish(&mut builder.ops);
    Ok(Loaded {
        history: builder.finish(),
        format: Format::Awdit,
        notes,
    })
}

struct LineError {
    column: usize,
    problem: String,
    hint: &'static str,
    at_end: bool,
}

impl Reader {
    fn line(&mut self, line: &[u8]) -> Result<(), LineError> {
        let words = line.trim_ascii();
        let indent = line.len() - line.trim_ascii_start().len();
        let fail = |expected: &str, found: &[u8], column: usize| LineError {
            column,
            problem: format!("expected {expected}, found {}", quote(found)),
            hint: hint(words),
            at_end: found.is_empty(),
        };
        if words.is_empty() || words[0] == b'#' {
            return Ok(());
        }
        let whole = |error: crate::TooLarge| LineError {
            column: 0,
            problem: error.to_string(),
            hint: "",
            at_end: false,
        };
        if words.iter().all(|&byte| byte == b'-') {
            return self.end_txn().map_err(whole);
        }
        if words.iter().all(|&byte| byte == b'=') {
            self.end_txn().map_err(whole)?;
            self.session += 1;
            self.place = 0;
            return Ok(());
        }
        let mut fields = words
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let kind = match fields.next() {
            Some(b"r" | b"R") => OpKind::Read,
            Some(b"w" | b"W") => OpKind::Write,
            _ => return Err(fail("r, w, a line of - or a line of =", words, indent)),
        };
        let mut number = |what: &str| {
            let word = fields.next().unwrap_or(b"");
            let column = match word {
                b"" => line.trim_ascii_end().len(),
                word => word.as_ptr().addr() - line.as_ptr().addr(),
            };
            let text = std::str::from_utf8(word).unwrap_or("");
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            let number = text.parse().ok().filter(|_| digits);
            number.ok_or_else(|| fail(&format!("{what} as a number below 2^64"), word, column))
        };
        let key = self.keys.id(number("the key")?);
        let value = self.builder.values.code_of_unsigned(number("the value")?);
        if let Some(word) = fields.next() {
            let column = word.as_ptr().addr() - line.as_ptr().addr();
            return Err(fail("the end of the line", word, column));
        }
        self.builder.ops.push(Op { kind, key, value });
        Ok(())
    }

    fn end_txn(&mut self) -> Result<(), crate::TooLarge> {
        let session = self.builder.session(self.session);
        let (label, start) = (self.place, self.ops_start);
        self.place += 1;
        let ended = self
            .builder
            .end_txn(session, label, self.status, None, start);
        self.ops_start = self.builder.ops.len();
        ended
    }
}

fn hint(line: &[u8]) -> &'static str {
    if line.get(1) == Some(&b'(') {
        return "this looks like PolySI text; read it with the format text";
    }
    "one operation a line: r key value, or w key value"
}

/// Writes a history of registers without aborted transactions. Numbers of sessions and
/// transactions and times are not kept; a read of nil becomes one of 0, as in PolySI text.
pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    let format = Format::Awdit;
    holds::registers(history, format)?;
    holds::no_aborted(history, format)?;
    holds::no_empty_session(history, format)?;
    if history.op_count() == 0 && history.txn_count() <= 1 {
        return Err(holds::refuse(format, "a history without operations"));
    }
    let numbers = Numbers::new(history, format);
    let mut buffer = Vec::new();
    for session in history.sessions() {
        if session.0 > 0 {
            buffer.extend_from_slice(b"=====\n");
        }
        let txns = history.session_txns(session);
        for txn in txns.clone().map(TxnId) {
            if txn.0 > txns.start {
                buffer.extend_from_slice(b"-----\n");
            }
            for (_, op) in history.txn_ops(txn) {
                let kind = if op.kind == OpKind::Write { 'w' } else { 'r' };
                let key = holds::key(history, op.key, format)?;
                let value = numbers.number(op.key, op.value)?;
                writeln!(buffer, "{kind} {key} {value}")?;
            }
        }
        out.write_all(&buffer)?;
        buffer.clear();
    }
    Ok(())
}
