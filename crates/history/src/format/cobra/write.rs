//! Writes Cobra's logs.

use super::{ABSENT, INITIAL};
use crate::format::holds::{self, Numbers, refuse};
use crate::format::{Format, WriteError};
use crate::wide::WideInts;
use crate::{History, Op, OpKind, TxnId, ValueCode};
use std::collections::HashMap;

/// The files of a directory with a history of registers, by name.
///
/// Every read must have one writer to name. Write ids are the values where no two writes have the
/// same, and are numbered from 1 otherwise. Aborted transactions and times are not kept by Cobra.
pub fn write(history: &History) -> Result<Vec<(String, Vec<u8>)>, WriteError> {
    let format = Format::Cobra;
    holds::registers(history, format)?;
    holds::no_aborted(history, format)?;
    let labels = holds::unique_labels(history, &[INITIAL, ABSENT]);
    let writes = Writes::of(history, &labels)?;
    let mut files = Vec::new();
    for session in history.sessions() {
        let mut bytes = Vec::new();
        for txn in history.session_txns(session).map(TxnId) {
            let label = labels[txn.index()];
            record(&mut bytes, b'S', &[label]);
            for (id, op) in history.txn_ops(txn) {
                let key = holds::key(history, op.key, format)?;
                if op.kind == OpKind::Write {
                    let write_id = writes.ids[id.index()];
                    let value = writes.numbers.number(op.key, op.value)?;
                    record(&mut bytes, b'W', &[write_id, key, value]);
                } else {
                    let (txn, write_id, value) = writes.read_by(op)?;
                    record(&mut bytes, b'R', &[txn, write_id, key, value]);
                }
            }
            record(&mut bytes, b'C', &[label]);
        }
        let label = history.session_label(session);
        files.push((format!("T{label}.log"), bytes));
    }
    Ok(files)
}

fn record(bytes: &mut Vec<u8>, letter: u8, numbers: &[u64]) {
    bytes.push(letter);
    for number in numbers {
        bytes.extend_from_slice(&number.to_be_bytes());
    }
}

struct Writes<'a> {
    history: &'a History,
    numbers: Numbers<'a>,
    /// By operation; 0 for reads.
    ids: Vec<u64>,
    /// The transaction and the write id behind a value of a key.
    by_value: HashMap<(u32, u32), (u64, u64)>,
}

impl<'a> Writes<'a> {
    fn of(history: &'a History, labels: &[u64]) -> Result<Writes<'a>, WriteError> {
        let numbers = Numbers::new(history, Format::Cobra);
        let ops = history.ops();
        let mut ids = vec![0; ops.len()];
        let mut seen = WideInts::default();
        let mut count = 0;
        for (index, kind) in ops.kinds.iter().enumerate() {
            if *kind == OpKind::Write {
                count += 1;
                ids[index] = numbers.number(ops.keys[index], ops.values[index])?;
                seen.enter(ids[index]);
            }
        }
        let reserved = |id| seen.find(id).is_some();
        if seen.len() < count || reserved(0) || reserved(INITIAL) || reserved(ABSENT) {
            let writes = ops.kinds.iter().zip(&mut ids);
            let writes = writes.filter(|(kind, _)| **kind == OpKind::Write);
            for ((_, id), fresh) in writes.zip((1..).filter(|id| ![INITIAL, ABSENT].contains(id))) {
                *id = fresh;
            }
        }
        let mut by_value = HashMap::new();
        for txn in history.txn_ids() {
            for (id, op) in history.txn_ops(txn) {
                let write = (labels[txn.index()], ids[id.index()]);
                let value = (op.key.0, op.value.0);
                if op.kind == OpKind::Write && by_value.insert(value, write).is_some() {
                    let text = history.op_text(id);
                    let what = format!("{text} twice: a read could mean either");
                    return Err(refuse(Format::Cobra, what));
                }
            }
        }
        Ok(Writes {
            history,
            numbers,
            ids,
            by_value,
        })
    }

    /// The transaction, the write id and the value of a read.
    fn read_by(&self, op: Op) -> Result<(u64, u64, u64), WriteError> {
        if let Some(&(txn, id)) = self.by_value.get(&(op.key.0, op.value.0)) {
            return Ok((txn, id, self.numbers.number(op.key, op.value)?));
        }
        if op.value == ValueCode::NIL || op.value == ValueCode::ZERO {
            return Ok((INITIAL, INITIAL, 0));
        }
        let key = self.history.key_name(op.key);
        let value = self.history.value(op.value);
        let what = format!("the read r({key}, {value}): nobody wrote that, so it names no writer");
        Err(refuse(Format::Cobra, what))
    }
}
