//! What a read saw: its own transaction's write, another transaction's, or something impossible.

use crate::{AnomalyKind, History, Initial, KeyId, Op, OpId, OpKind, TxnId, ValueCode};

/// What can be said of a read by looking at its own transaction alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Observation {
    /// It saw a version of another transaction (or the initial one).
    External(VersionRead),
    /// It contradicts what its own transaction wrote before.
    Own(AnomalyKind),
}

/// A version that a transaction read from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct VersionRead {
    pub(super) op: OpId,
    pub(super) key: KeyId,
    /// The version: the value of a register, the last element of a list. Nil is the initial one.
    pub(super) version: ValueCode,
}

/// Everything a transaction observed, in program order, but for reads that returned its own last
/// write and reads whose result is not known.
pub(super) fn observations(history: &History, txn: TxnId) -> Vec<Observation> {
    let mut observed = Vec::new();
    for (id, op) in history.txn_ops(txn) {
        let own: Vec<ValueCode> = history
            .txn_ops(txn)
            .take_while(|&(earlier, _)| earlier < id)
            .filter(|(_, earlier)| earlier.kind.is_write() && earlier.key == op.key)
            .map(|(_, earlier)| earlier.value)
            .collect();
        let observation = match op.kind {
            _ if op.value == ValueCode::UNKNOWN => None,
            OpKind::Read => register_read(id, op, &own),
            OpKind::ReadList => Some(list_read(history, id, op, &own)),
            _ => None,
        };
        observed.extend(observation);
    }
    observed
}

fn register_read(id: OpId, op: Op, own: &[ValueCode]) -> Option<Observation> {
    match own.last() {
        None => Some(Observation::External(VersionRead {
            op: id,
            key: op.key,
            version: op.value,
        })),
        Some(last) if *last == op.value => None,
        Some(_) if own.contains(&op.value) => Some(Observation::Own(AnomalyKind::NotMyLastWrite)),
        Some(_) => Some(Observation::Own(AnomalyKind::NotMyOwnWrite)),
    }
}

/// A list ends with the own appends so far; what stands before them was read from outside.
fn list_read(history: &History, id: OpId, op: Op, own: &[ValueCode]) -> Observation {
    match history.list(op.value).strip_suffix(own) {
        None => Observation::Own(AnomalyKind::NotMyOwnWrite),
        Some(outside) => Observation::External(VersionRead {
            op: id,
            key: op.key,
            version: outside.last().copied().unwrap_or(ValueCode::NIL),
        }),
    }
}

/// What a transaction wrote to a key, in program order.
pub(super) fn writes(history: &History, txn: TxnId, key: KeyId) -> Vec<ValueCode> {
    history
        .txn_ops(txn)
        .filter(|(_, op)| op.kind.is_write() && op.key == key)
        .map(|(_, op)| op.value)
        .collect()
}

/// The transactions that a version can have been read from, if some are `taken` as committed, or
/// else the anomaly that the read is.
pub(super) fn possible_writers(
    history: &History,
    initial: &Initial,
    taken: &[TxnId],
    reader: TxnId,
    read: VersionRead,
) -> Result<Vec<TxnId>, AnomalyKind> {
    let VersionRead { key, version, .. } = read;
    if version == ValueCode::NIL {
        return Ok(vec![TxnId::INITIAL]);
    }
    let wrote_it: Vec<TxnId> = history
        .txn_ids()
        .filter(|&txn| writes(history, txn, key).contains(&version))
        .collect();
    let is_list = history.op(read.op).kind == OpKind::ReadList;
    if wrote_it.is_empty() && !is_list && initial.code(history.values()) == Some(version) {
        return Ok(vec![TxnId::INITIAL]);
    }
    let others = || wrote_it.iter().copied().filter(|&txn| txn != reader);
    let committed = || others().filter(|txn| taken.contains(txn));
    let last: Vec<TxnId> = committed()
        .filter(|&txn| writes(history, txn, key).last() == Some(&version))
        .collect();
    if !last.is_empty() {
        Ok(last)
    } else if committed().next().is_some() {
        Err(AnomalyKind::IntermediateRead)
    } else if others().next().is_some() {
        Err(AnomalyKind::AbortedRead)
    } else if wrote_it.contains(&reader) {
        Err(AnomalyKind::FutureRead)
    } else {
        Err(AnomalyKind::ThinAirRead)
    }
}
