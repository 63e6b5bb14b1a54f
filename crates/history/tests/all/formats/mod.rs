//! Every format: round trips, malformed input, detection, and files of other tools.

mod awdit;
mod bombs;
mod cobra;
mod damage;
mod dbcop;
mod detection;
mod foreign_parquet;
mod random;
mod text;
mod timekiller;
mod viper;

use history::format::{Format, Loaded, ReadOptions, Source, WriteError, read, write};
use history::{History, Interval, OpKind, Status, TxnId, Value};
use std::path::PathBuf;

/// A history as plain data, so that two can be compared.
#[derive(PartialEq, Debug)]
pub struct Plain {
    sessions: Vec<(i64, Vec<PlainTxn>)>,
}

/// A transaction of it.
#[derive(PartialEq, Debug)]
pub struct PlainTxn {
    label: u64,
    status: Status,
    interval: Option<Interval>,
    ops: Vec<(OpKind, Value, Option<Value>)>,
}

/// Everything a history says; an unknown value is `None`.
pub fn plain(history: &History) -> Plain {
    let txn = |txn: TxnId| PlainTxn {
        label: history.txn(txn).label,
        status: history.status(txn),
        interval: history.interval(txn),
        ops: history
            .txn_ops(txn)
            .map(|(_, op)| {
                let known = op.value != history::ValueCode::UNKNOWN;
                let value = known.then(|| history.value(op.value));
                (op.kind, history.key_name(op.key), value)
            })
            .collect(),
    };
    let session = |session| {
        let txns = history.session_txns(session).map(TxnId).map(txn).collect();
        (history.session_label(session), txns)
    };
    Plain {
        sessions: history.sessions().map(session).collect(),
    }
}

/// Reads one file in a known or unknown format.
pub fn load(bytes: &[u8], format: Option<Format>, threads: usize) -> Result<Loaded, String> {
    let options = ReadOptions {
        format,
        threads,
        ..ReadOptions::default()
    };
    let source = Source {
        name: "test",
        bytes,
    };
    read(&[source], &options).map_err(|error| error.to_string())
}

/// Reads what must be good.
pub fn load_good(text: &str) -> Loaded {
    load(text.as_bytes(), None, 1).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The error of reading `text` as `format` must contain `expected`.
pub fn check_error(bytes: &[u8], format: Format, expected: &str) {
    let shown = bytes[..bytes.len().min(200)].escape_ascii();
    match load(bytes, Some(format), 1) {
        Ok(_) => panic!("{shown} was accepted"),
        Err(error) => assert!(
            error.contains(expected),
            "{shown}\n gives {error}\n expected {expected}",
        ),
    }
}

/// Writes, detects and reads back.
pub fn through(history: &History, format: Format) -> Result<History, WriteError> {
    let mut bytes = Vec::new();
    write(history, format, &mut bytes)?;
    let loaded = load(&bytes, None, 1)
        .unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(&bytes)));
    assert_eq!(loaded.format, format);
    Ok(loaded.history)
}

/// The refusal to write must contain `expected`.
pub fn check_refused(history: &History, format: Format, expected: &str) {
    match write(history, format, &mut Vec::new()) {
        Err(WriteError::CannotHold(what)) => assert!(what.contains(expected), "{what}"),
        other => panic!("expected a refusal with {expected}, found {other:?}"),
    }
}

/// A folder of other people's histories, if it is there.
pub fn corpus(folder: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/corpus")
        .join(folder);
    if !path.is_dir() {
        eprintln!("skipped: there is no {}", path.display());
        return None;
    }
    Some(path)
}
