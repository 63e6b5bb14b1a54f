//! Writes Isolde's JSON lines; see `jsonl` for the format.

use super::WriteError;
use super::escape::write_quoted;
use super::jsonl::{STATUSES, TAGS};
use crate::{History, Interval, Op, Status, TxnId, UNLABELLED, Value, ValueCode};
use std::io::{self, Write};

/// Writes the header and one line a transaction.
pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    let mut text: Vec<u8> = Vec::with_capacity(1 << 17);
    write_header(history, &mut text)?;
    for txn in history.txn_ids() {
        write_txn(history, &mut text, txn)?;
        if text.len() >= 1 << 16 {
            out.write_all(&text)?;
            text.clear();
        }
    }
    out.write_all(&text)?;
    Ok(out.flush()?)
}

fn write_header(history: &History, text: &mut Vec<u8>) -> io::Result<()> {
    text.extend_from_slice(b"{\"isolde\":\"history\",\"version\":1");
    // Sessions are named here only if some line does not: one without transactions.
    let is_empty = |session| history.session_txns(session).is_empty();
    if history.sessions().any(is_empty) {
        text.extend_from_slice(b",\"sessions\":[");
        for session in history.sessions() {
            if session.0 > 0 {
                text.push(b',');
            }
            write!(text, "{}", history.session_label(session))?;
        }
        text.push(b']');
    }
    text.extend_from_slice(b"}\n");
    Ok(())
}

fn write_txn(history: &History, text: &mut Vec<u8>, txn: TxnId) -> io::Result<()> {
    let row = history.txn(txn);
    write!(text, "{{\"session\":{}", history.session_label(row.session))?;
    if row.label != UNLABELLED {
        write!(text, ",\"txn\":{}", row.label)?;
    }
    if row.status != Status::Committed {
        let named = STATUSES.iter().find(|(_, status)| *status == row.status);
        let name = named.map_or("", |(name, _)| name);
        write!(text, ",\"status\":\"{name}\"")?;
    }
    if let Some(Interval { start, end }) = history.interval(txn) {
        write!(text, ",\"start\":{start}")?;
        if end != Interval::NEVER {
            write!(text, ",\"end\":{end}")?;
        }
    }
    text.extend_from_slice(b",\"ops\":[");
    for (place, (id, op)) in history.txn_ops(txn).enumerate() {
        if place > 0 {
            text.push(b',');
        }
        write_op(history, text, op)?;
        if let Some(version) = history.recorded_version(id) {
            write!(text, ",{version}")?;
        }
        text.push(b']');
    }
    text.extend_from_slice(b"]}\n");
    Ok(())
}

/// An operation, but for what comes behind its value.
fn write_op(history: &History, text: &mut Vec<u8>, op: Op) -> io::Result<()> {
    let named = TAGS.iter().find(|(_, kind)| *kind == op.kind);
    let tag = named.map_or("", |(tag, _)| tag);
    text.extend_from_slice(b"[\"");
    text.extend_from_slice(tag.as_bytes());
    text.extend_from_slice(b"\",");
    write_value(text, &history.key_name(op.key))?;
    if op.value == ValueCode::UNKNOWN {
        return Ok(());
    }
    text.push(b',');
    if op.kind.reads_list() && op.value != ValueCode::NIL {
        text.push(b'[');
        for (place, &element) in history.list(op.value).iter().enumerate() {
            if place > 0 {
                text.push(b',');
            }
            write_value(text, &history.value(element))?;
        }
        text.push(b']');
    } else {
        write_value(text, &history.value(op.value))?;
    }
    Ok(())
}

fn write_value(text: &mut Vec<u8>, value: &Value) -> io::Result<()> {
    match value {
        Value::Nil => text.extend_from_slice(b"null"),
        Value::Int(number) => match u64::try_from(*number) {
            Ok(number) => write!(text, "{number}")?,
            Err(_) => write!(text, "{number}")?,
        },
        Value::Text(word) => write_quoted(text, word)?,
    }
    Ok(())
}
