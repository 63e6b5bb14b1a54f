//! The JSON of dbcop 0.2: an object with `data`, or the array that would be its `data`.
//!
//! `data` is an array of sessions, each an array of transactions
//! `{"events": [{"Write": {"variable": 0, "version": 1}}, {"Read": {"variable": 0, "version": null}}],
//! "committed": true}`. A version of null is that of a variable nobody has written. A variable may
//! be a text as well. Sessions and transactions are numbered by place, from 0.

use super::dbcop_bincode::{EPOCH, longest_session};
use super::holds::{self, refuse};
use super::{Format, FormatError, Loaded, Place, WriteError, empty, too_large};
use crate::{Builder, History, Op, OpKind, Status, TxnId, Value, ValueCode};
use serde::{Deserialize, Serialize};
use std::io::Write;

#[derive(Deserialize)]
struct File {
    data: Vec<Vec<Txn>>,
}

#[derive(Deserialize, Serialize)]
struct Txn {
    events: Vec<Event>,
    committed: bool,
}

#[derive(Deserialize, Serialize)]
enum Event {
    Read {
        variable: Variable,
        version: Option<u64>,
    },
    Write {
        variable: Variable,
        version: u64,
    },
}

#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum Variable {
    Number(u64),
    Text(Box<str>),
}

/// Reads a history.
pub(super) fn read(text: &[u8]) -> Result<Loaded, FormatError> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let begin = text.trim_ascii_start();
    if begin.is_empty() {
        return Err(empty());
    }
    let data = match begin[0] {
        b'[' => serde_json::from_slice(text),
        _ => serde_json::from_slice::<File>(text).map(|file| file.data),
    };
    let data: Vec<Vec<Txn>> = data.map_err(|error| json_error(&error))?;
    let mut builder = Builder::new();
    for (label, txns) in data.into_iter().enumerate() {
        let session = builder.session(label as i64);
        for (place, txn) in txns.into_iter().enumerate() {
            let start = builder.ops.len();
            for event in &txn.events {
                push(&mut builder, event);
            }
            let status = if txn.committed {
                Status::Committed
            } else {
                Status::Aborted
            };
            builder
                .end_txn(session, place as u64, status, None, start)
                .map_err(too_large)?;
        }
    }
    Ok(Loaded {
        history: builder.finish(),
        format: Format::DbcopJson,
        notes: Vec::new(),
    })
}

fn push(builder: &mut Builder, event: &Event) {
    let (kind, variable, version) = match event {
        Event::Read { variable, version } => (OpKind::Read, variable, *version),
        Event::Write { variable, version } => (OpKind::Write, variable, Some(*version)),
    };
    let key = match variable {
        Variable::Number(number) => builder.key(&Value::from(*number)),
        Variable::Text(text) => builder.key(&Value::Text(text.clone())),
    };
    let value = match version {
        Some(number) => builder.values.code_of_unsigned(number),
        None => ValueCode::NIL,
    };
    builder.ops.push(Op { kind, key, value });
}

fn json_error(error: &serde_json::Error) -> FormatError {
    let place = Place::Line {
        line: error.line() as u64,
        column: error.column() as u64,
    };
    let message = error.to_string();
    let problem = message.split(" at line ").next().unwrap_or(&message);
    let hint = match error.classify() {
        serde_json::error::Category::Eof => "the file is cut off: copy it again",
        _ => {
            "a transaction is {\"events\": [{\"Write\": {\"variable\": 0, \"version\": 1}}], \
             \"committed\": true}"
        }
    };
    FormatError::new(place, problem).hint(hint)
}

/// Writes a history of registers. Numbers of sessions and transactions and times are not kept.
pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    holds::registers(history, Format::DbcopJson)?;
    let most_events = history.txns().iter().map(|txn| txn.op_count).max();
    write!(
        out,
        "{{\"params\":{{\"id\":0,\"n_node\":{},\"n_variable\":{},\"n_transaction\":{},\
         \"n_event\":{}}},\"info\":\"isolde\",\"start\":\"{EPOCH}\",\"end\":\"{EPOCH}\",\"data\":[",
        history.session_count(),
        history.key_count(),
        longest_session(history),
        most_events.unwrap_or(0),
    )?;
    for session in history.sessions() {
        out.write_all(if session.0 > 0 { b",\n[" } else { b"\n[" })?;
        let txns = history.session_txns(session);
        for txn in txns.clone().map(TxnId) {
            out.write_all(if txn.0 > txns.start { b",\n" } else { b"\n" })?;
            let row = Txn {
                events: events(history, txn)?,
                committed: history.status(txn) == Status::Committed,
            };
            serde_json::to_writer(&mut *out, &row).map_err(std::io::Error::from)?;
        }
        out.write_all(b"]")?;
    }
    out.write_all(b"]}\n")?;
    Ok(())
}

fn events(history: &History, txn: TxnId) -> Result<Vec<Event>, WriteError> {
    let event = |op: Op| {
        let variable = match history.key_name(op.key) {
            Value::Int(number) if u64::try_from(number).is_ok() => Variable::Number(number as u64),
            Value::Text(text) => Variable::Text(text),
            name => return Err(refuse(Format::DbcopJson, format!("the key {name}"))),
        };
        let version = match history.value(op.value) {
            Value::Nil => None,
            Value::Int(number) if u64::try_from(number).is_ok() => Some(number as u64),
            value => return Err(refuse(Format::DbcopJson, format!("the value {value}"))),
        };
        Ok(match (op.kind, version) {
            (OpKind::Write, Some(version)) => Event::Write { variable, version },
            (_, version) => Event::Read { variable, version },
        })
    };
    history.txn_ops(txn).map(|(_, op)| event(op)).collect()
}
