//! Writes the JSON of TimeKiller; see `timekiller` for the format.

use super::holds::{self, refuse};
use super::{Format, WriteError};
use crate::{History, Interval, Op, OpKind, Status, TxnId, Value, ValueCode};
use std::io::Write;

const FORMAT: Format = Format::TimeKiller;

/// Writes one transaction a line. Every one has to be committed and to have times. Numbers of
/// transactions are kept where no two are the same.
pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    holds::no_empty_session(history, FORMAT)?;
    let labels = holds::unique_labels(history, &[]);
    let mut text = Vec::new();
    out.write_all(b"[")?;
    for txn in history.txn_ids() {
        text.clear();
        text.extend_from_slice(if txn.0 > 0 { b",\n" } else { b"\n" });
        write_txn(history, &mut text, txn, labels[txn.index()])?;
        out.write_all(&text)?;
    }
    Ok(out.write_all(b"\n]\n")?)
}

fn write_txn(
    history: &History,
    text: &mut Vec<u8>,
    txn: TxnId,
    label: u64,
) -> Result<(), WriteError> {
    let name = || history.txn_name(txn);
    if history.status(txn) != Status::Committed {
        return Err(refuse(FORMAT, format!("{}, which did not commit", name())));
    }
    let interval = history.interval(txn);
    let Some(Interval { start, end }) = interval.filter(|times| times.end != Interval::NEVER)
    else {
        let what = format!("{}, which has no times: it is about timestamps", name());
        return Err(refuse(FORMAT, what));
    };
    let session = history.session_label(history.session_of(txn));
    write!(
        text,
        "{{\"tid\":{label},\"sid\":{session},\"sts\":{{\"p\":{start},\"l\":0}},\
         \"cts\":{{\"p\":{end},\"l\":0}},\"ops\":["
    )?;
    for (place, (_, op)) in history.txn_ops(txn).enumerate() {
        if place > 0 {
            text.push(b',');
        }
        write_op(history, text, op)?;
    }
    text.extend_from_slice(b"]}");
    Ok(())
}

fn write_op(history: &History, text: &mut Vec<u8>, op: Op) -> Result<(), WriteError> {
    let tag = match op.kind {
        OpKind::Write => "w",
        OpKind::Read | OpKind::ReadList => "r",
        OpKind::Append => "a",
        _ => return Err(refuse(FORMAT, "sets and counters")),
    };
    let key = number(&history.key_name(op.key), "key")?;
    write!(text, "{{\"t\":\"{tag}\",\"k\":{key},\"v\":")?;
    if op.value == ValueCode::UNKNOWN {
        return Err(refuse(FORMAT, "a read whose value is unknown"));
    }
    if op.kind == OpKind::ReadList {
        text.push(b'[');
        for (place, &element) in history.list(op.value).iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            write!(text, "{comma}{}", number(&history.value(element), "value")?)?;
        }
        text.extend_from_slice(b"]}");
        return Ok(());
    }
    match history.value(op.value) {
        Value::Nil if op.kind == OpKind::Read => text.extend_from_slice(b"null}"),
        value => write!(text, "{}}}", number(&value, "value")?)?,
    }
    Ok(())
}

/// A 64-bit number, which is all that keys and values may be.
fn number(value: &Value, what: &str) -> Result<i64, WriteError> {
    let number = match value {
        Value::Int(number) => i64::try_from(*number).ok(),
        _ => None,
    };
    number.ok_or_else(|| {
        let what = format!("the {what} {value}: keys and values are 64-bit numbers");
        refuse(FORMAT, what)
    })
}
