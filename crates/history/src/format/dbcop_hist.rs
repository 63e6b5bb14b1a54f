//! The text of dbcop 0.2: transactions `[x:=1 y==2 z==?]`, `!` after one that did not commit,
//! a line of `-` between sessions, `//` before a comment.
//!
//! `:=` writes and `==` reads; `?` is the version of a variable nobody has written, as null is in
//! dbcop's JSON. A variable is made of letters, digits and `_`; one of digits only is read as a
//! number. A transaction may span lines. Sessions and transactions are numbered by place, from 0.

use super::holds::{self, refuse};
use super::{Format, FormatError, Loaded, Place, WriteError, cut, empty, quote, too_large};
use crate::{Builder, History, Op, OpKind, Status, TxnId, Value, ValueCode};
use std::io::Write;

/// Reads a history.
pub(super) fn read(bytes: &[u8]) -> Result<Loaded, FormatError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.trim_ascii().is_empty() {
        return Err(empty());
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let found = quote(&bytes[error.valid_up_to()..]);
        let place = Place::of_offset(bytes, error.valid_up_to());
        FormatError::new(place, format!("expected UTF-8 text, found {found}"))
    })?;
    let mut cursor = Cursor { text, at: 0 };
    let mut builder = Builder::new();
    let mut notes = Vec::new();
    let mut label = 0;
    let mut place = 0;
    let mut session = builder.session(label);
    loop {
        cursor.skip_blank();
        match cursor.peek() {
            None => break,
            Some('-') => {
                cursor.at += cursor.rest().len() - cursor.rest().trim_start_matches('-').len();
                label += 1;
                place = 0;
                session = builder.session(label);
            }
            Some('[') => {
                let start = builder.ops.len();
                let status = cursor.txn(&mut builder)?;
                let cut_off = status == Status::Indeterminate;
                let left = builder.ops.len() > start;
                if !cut_off || left {
                    let ended = builder.end_txn(session, place, status, None, start);
                    ended.map_err(too_large)?;
                }
                if cut_off {
                    notes.push(cut::note("the file is cut off", left.into()));
                    break;
                }
                place += 1;
            }
            Some(_) => return Err(cursor.error("a transaction [ … ], a line of - or a comment")),
        }
    }
    if builder.txn_count() == 0 && label == 0 {
        let problem = "there is neither a transaction nor a line of - in the file";
        return Err(FormatError::new(Place::Whole, problem));
    }
    Ok(Loaded {
        history: builder.finish(),
        format: Format::DbcopHist,
        notes,
    })
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_blank(&mut self) {
        loop {
            self.at = self.text.len() - self.rest().trim_start().len();
            if !self.rest().starts_with("//") {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    fn error(&self, expected: &str) -> FormatError {
        let line = self.rest().lines().next().unwrap_or("");
        let found = if line.is_empty() && !self.rest().is_empty() {
            "the end of the line".to_string()
        } else {
            quote(line.as_bytes())
        };
        let place = Place::of_offset(self.text.as_bytes(), self.at);
        FormatError::new(place, format!("expected {expected}, found {found}"))
            .hint("a transaction is [x:=1 y==2 z==?], with ! behind it if it did not commit")
    }

    /// A transaction from its bracket on; indeterminate if the file ends within it.
    fn txn(&mut self, builder: &mut Builder) -> Result<Status, FormatError> {
        self.at += 1;
        loop {
            self.skip_blank();
            match self.peek() {
                None => return Ok(Status::Indeterminate),
                Some(']') => break,
                Some(_) => match self.event(builder)? {
                    Some(op) => builder.ops.push(op),
                    None => return Ok(Status::Indeterminate),
                },
            }
        }
        self.at += 1;
        if self.rest().starts_with('!') {
            self.at += 1;
            return Ok(Status::Aborted);
        }
        Ok(Status::Committed)
    }

    /// An event; `None` if the file ends within it.
    fn event(&mut self, builder: &mut Builder) -> Result<Option<Op>, FormatError> {
        let variable = self.word(|c| c.is_alphanumeric() || c == '_');
        if variable.is_empty() {
            return Err(self.error("a variable or ]"));
        }
        let key = builder.key(&name(variable));
        let kind = match self.rest().get(..2) {
            Some(":=") => OpKind::Write,
            Some("==") => OpKind::Read,
            _ if ["", ":", "="].contains(&self.rest()) => return Ok(None),
            _ => return Err(self.error(":= or == after the variable")),
        };
        self.at += 2;
        if kind == OpKind::Read && self.peek() == Some('?') {
            self.at += 1;
            let value = ValueCode::NIL;
            return Ok(Some(Op { kind, key, value }));
        }
        let version_at = self.at;
        let version = self.word(|c| c.is_ascii_digit());
        if self.rest().is_empty() {
            return Ok(None);
        }
        let next = self.peek();
        if version.is_empty() || next.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            self.at = version_at;
            return Err(self.error("a version, an unsigned number"));
        }
        let Ok(number) = version.parse() else {
            self.at = version_at;
            return Err(self.error("a version below 2^64"));
        };
        let value = builder.values.code_of_unsigned(number);
        Ok(Some(Op { kind, key, value }))
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }
}

/// A variable of digits only is a number, if it is written as numbers are.
fn name(variable: &str) -> Value {
    match variable.parse::<u64>() {
        Ok(number) if number.to_string() == variable => Value::from(number),
        _ => Value::from(variable),
    }
}

/// Writes a history of registers. Numbers of sessions and transactions and times are not kept.
pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    let format = Format::DbcopHist;
    holds::registers(history, format)?;
    holds::no_empty_txn(history, format)?;
    if history.txn_count() == 0 && history.session_count() <= 1 {
        return Err(refuse(format, "a history without transactions"));
    }
    for session in history.sessions() {
        if session.0 > 0 {
            out.write_all(b"---\n")?;
        }
        for txn in history.session_txns(session).map(TxnId) {
            let mut line = String::from("[");
            for (id, op) in history.txn_ops(txn) {
                if !line.ends_with('[') {
                    line.push(' ');
                }
                line.push_str(&event_text(history, op).ok_or_else(|| {
                    let text = history.op_text(id);
                    refuse(
                        format,
                        format!("{text}: variables are words, versions unsigned numbers"),
                    )
                })?);
            }
            let aborted = history.status(txn) == Status::Aborted;
            line.push_str(if aborted { "]!\n" } else { "]\n" });
            out.write_all(line.as_bytes())?;
        }
    }
    Ok(())
}

fn event_text(history: &History, op: Op) -> Option<String> {
    let key = history.key_name(op.key);
    let variable = key.to_string();
    let is_word = variable.chars().all(|c| c.is_alphanumeric() || c == '_');
    if variable.is_empty() || !is_word || name(&variable) != key {
        return None;
    }
    let operator = if op.kind == OpKind::Write { ":=" } else { "==" };
    match history.value(op.value) {
        Value::Nil => Some(format!("{variable}{operator}?")),
        Value::Int(number) if u64::try_from(number).is_ok() => {
            Some(format!("{variable}{operator}{number}"))
        }
        _ => None,
    }
}
