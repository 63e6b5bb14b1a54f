//! What the formats of registers can hold, checked before the first byte is written.

use super::{Format, WriteError};
use crate::{History, KeyId, OpId, OpKind, Status, TxnId, UNLABELLED, Value, ValueCode};

/// Refuses a history, naming the format and the formats that can hold everything.
pub(super) fn refuse(format: Format, what: impl std::fmt::Display) -> WriteError {
    WriteError::CannotHold(format!(
        "the format {format} cannot hold {what}; isolde and parquet can hold any history"
    ))
}

/// Refuses anything but reads and writes of registers whose result is known, and transactions
/// of unknown outcome.
pub(super) fn registers(history: &History, format: Format) -> Result<(), WriteError> {
    registers_or_unknown(history, format)?;
    for txn in history.txn_ids() {
        for (id, op) in history.txn_ops(txn) {
            if op.value == ValueCode::UNKNOWN {
                let (name, text) = (history.txn_name(txn), history.op_text(id));
                return Err(refuse(
                    format,
                    format!("{text} of {name}, whose value is unknown"),
                ));
            }
        }
    }
    Ok(())
}

/// Refuses the same but for reads whose result is unknown.
pub(super) fn registers_or_unknown(history: &History, format: Format) -> Result<(), WriteError> {
    for txn in history.txn_ids() {
        if history.status(txn) == Status::Indeterminate {
            let name = history.txn_name(txn);
            return Err(refuse(format, format!("{name}, whose outcome is unknown")));
        }
        for (id, op) in history.txn_ops(txn) {
            let writes_nothing = op.value == ValueCode::NIL || op.value == ValueCode::UNKNOWN;
            let bad_write = op.kind == OpKind::Write && writes_nothing;
            if !matches!(op.kind, OpKind::Read | OpKind::Write) || bad_write {
                let (name, text) = (history.txn_name(txn), history.op_text(id));
                return Err(refuse(format, format!("{text} of {name}")));
            }
        }
    }
    Ok(())
}

/// Refuses what a program can build and no reader takes: writes that do not say what they wrote, and
/// transactions that ended before they started.
pub(super) fn sound(history: &History, format: Format) -> Result<(), WriteError> {
    let ops = history.ops();
    let is_empty = |&op: &usize| ops.values[op] == ValueCode::UNKNOWN && ops.kinds[op].is_write();
    let is_backward = |txn: &TxnId| {
        let interval = history.interval(*txn);
        interval.is_some_and(|interval| interval.end < interval.start)
    };
    let problem = if let Some(op) = (0..ops.len()).find(is_empty) {
        let text = history.op_text(OpId(op as u32));
        format!("{text}, a write without a value")
    } else if let Some(txn) = history.txn_ids().find(is_backward) {
        format!("{}, which ended before it started", history.txn_name(txn))
    } else {
        return Ok(());
    };
    let problem = format!("the format {format} cannot hold {problem}");
    Err(WriteError::CannotHold(problem))
}

/// Refuses transactions without operations.
pub(super) fn no_empty_txn(history: &History, format: Format) -> Result<(), WriteError> {
    match history
        .txn_ids()
        .find(|&txn| history.txn(txn).op_count == 0)
    {
        Some(txn) => {
            let name = history.txn_name(txn);
            Err(refuse(format, format!("{name}, which has no operation")))
        }
        None => Ok(()),
    }
}

/// Refuses sessions without transactions.
pub(super) fn no_empty_session(history: &History, format: Format) -> Result<(), WriteError> {
    let empty = |session: &crate::SessionId| history.session_txns(*session).is_empty();
    match history.sessions().find(empty) {
        Some(session) => {
            let label = history.session_label(session);
            Err(refuse(
                format,
                format!("session {label}, which has no transaction"),
            ))
        }
        None => Ok(()),
    }
}

/// Refuses aborted transactions.
pub(super) fn no_aborted(history: &History, format: Format) -> Result<(), WriteError> {
    let aborted = |txn: &TxnId| history.status(*txn) == Status::Aborted;
    match history.txn_ids().find(aborted) {
        Some(txn) => {
            let name = history.txn_name(txn);
            Err(refuse(format, format!("the aborted transaction {name}")))
        }
        None => Ok(()),
    }
}

/// The transactions' own numbers where all have different ones and none is reserved, else fresh ones
/// from 1.
pub(super) fn unique_labels(history: &History, reserved: &[u64]) -> Vec<u64> {
    let labels: Vec<u64> = history.txns().iter().map(|txn| txn.label).collect();
    let mut sorted = labels.clone();
    sorted.sort_unstable();
    let usable = |label: &u64| *label != UNLABELLED && !reserved.contains(label);
    if sorted.windows(2).all(|pair| pair[0] < pair[1]) && sorted.iter().all(usable) {
        return labels;
    }
    (1..=labels.len() as u64).collect()
}

/// The number that a key is.
pub(super) fn key(history: &History, key: KeyId, format: Format) -> Result<u64, WriteError> {
    match history.key_name(key) {
        Value::Int(number) if u64::try_from(number).is_ok() => Ok(number as u64),
        name => Err(refuse(
            format,
            format!("the key {name}: keys are unsigned numbers"),
        )),
    }
}

/// Values of a format that knows no nil: a read of nil becomes a read of 0, which is the same
/// version as long as nobody writes 0 to that key.
pub(super) struct Numbers<'a> {
    history: &'a History,
    format: Format,
    /// By key: whether somebody writes 0 to it. Empty if nobody reads nil.
    zero_written: Vec<bool>,
}

impl<'a> Numbers<'a> {
    /// Looks for reads of nil.
    pub fn new(history: &'a History, format: Format) -> Numbers<'a> {
        let ops = history.ops();
        let mut zero_written = Vec::new();
        if ops.values.contains(&ValueCode::NIL) {
            zero_written = vec![false; history.keys().limit()];
            for (index, kind) in ops.kinds.iter().enumerate() {
                if kind.is_write() && ops.values[index] == ValueCode::ZERO {
                    zero_written[ops.keys[index].index()] = true;
                }
            }
        }
        Numbers {
            history,
            format,
            zero_written,
        }
    }

    /// The number to write for a value of a key.
    pub fn number(&self, key: KeyId, code: ValueCode) -> Result<u64, WriteError> {
        if code.0 < ValueCode::SMALL_LIMIT {
            return Ok(code.0.into());
        }
        if code == ValueCode::NIL {
            if !self.zero_written[key.index()] {
                return Ok(0);
            }
            let name = self.history.key_name(key);
            let what = format!("a read of nil of the key {name}, to which 0 is written");
            return Err(refuse(self.format, what));
        }
        match self.history.value(code) {
            Value::Int(number) if u64::try_from(number).is_ok() => Ok(number as u64),
            value => Err(refuse(
                self.format,
                format!("the value {value}: values are unsigned numbers"),
            )),
        }
    }
}
