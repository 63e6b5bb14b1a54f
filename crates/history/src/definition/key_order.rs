//! What an assumption about each key says of the order of its versions.
//!
//! A committed transaction *touches* the versions of a register that it reads from outside, where
//! one committed transaction alone can have written what it read, and the one that it writes last. A key whose
//! touches contradict each other says nothing.

use super::observation::{Observation, VersionRead, observations, writes};
use crate::{History, Initial, Interval, KeyId, KeyOrder, OpId, OpKind, Status, TxnId, ValueCode};
use std::collections::BTreeSet;

struct Touch {
    txn: TxnId,
    op: OpId,
    key: KeyId,
    /// Who wrote the version.
    version: TxnId,
}

/// The pairs of versions that are in order, key by key.
pub(super) fn pairs(
    history: &History,
    initial: &Initial,
    assumed: KeyOrder,
) -> Vec<(KeyId, TxnId, TxnId)> {
    let mut touches = touches(history, initial);
    if assumed == KeyOrder::Recorded {
        keep_numbered(history, &mut touches);
    }
    let mut pairs = BTreeSet::new();
    for a in &touches {
        for b in &touches {
            let differ = a.key == b.key && a.version != b.version;
            if differ && is_before(history, assumed, a, b) {
                pairs.insert((a.key, a.version, b.version));
            }
        }
    }
    let keys: BTreeSet<KeyId> = pairs.iter().map(|&(key, ..)| key).collect();
    for key in keys {
        let of_key = pairs.iter().filter(|pair| pair.0 == key);
        if contradict(&of_key.map(|&(_, a, b)| (a, b)).collect::<Vec<_>>()) {
            pairs.retain(|pair| pair.0 != key);
        }
    }
    pairs.into_iter().collect()
}

fn is_before(history: &History, assumed: KeyOrder, a: &Touch, b: &Touch) -> bool {
    let in_txn = a.txn == b.txn && a.op < b.op;
    let in_session = history.session_of(a.txn) == history.session_of(b.txn) && a.txn < b.txn;
    let in_time = match (history.interval(a.txn), history.interval(b.txn)) {
        (Some(a), Some(b)) => a.end != Interval::NEVER && a.completion() < b.start,
        _ => false,
    };
    match assumed {
        KeyOrder::Free => false,
        KeyOrder::WritesFollowReads => in_txn && history.op(b.op).kind.is_write(),
        KeyOrder::Recorded => history.recorded_version(a.op) < history.recorded_version(b.op),
        KeyOrder::Sequential => in_txn || in_session,
        KeyOrder::Linearizable => in_txn || in_session || in_time,
    }
}

/// Leaves only touches with a number that stands for one version of the key.
fn keep_numbered(history: &History, touches: &mut Vec<Touch>) {
    let numbers: Vec<(KeyId, Option<u64>, TxnId)> = touches
        .iter()
        .map(|touch| (touch.key, history.recorded_version(touch.op), touch.version))
        .collect();
    touches.retain(|touch| {
        let number = history.recorded_version(touch.op);
        let mut same = numbers.iter().filter(|n| (n.0, n.1) == (touch.key, number));
        number.is_some() && same.all(|n| n.2 == touch.version)
    });
}

fn touches(history: &History, initial: &Initial) -> Vec<Touch> {
    let mut touches = Vec::new();
    let is_committed = |txn: &TxnId| history.status(*txn) == Status::Committed;
    for txn in history.txn_ids().filter(is_committed) {
        for observation in observations(history, txn) {
            if let Observation::External(read) = observation
                && history.op(read.op).kind == OpKind::Read
                && let Some(version) = only_writer(history, initial, txn, read)
            {
                let VersionRead { op, key, .. } = read;
                touches.push(Touch {
                    txn,
                    op,
                    key,
                    version,
                });
            }
        }
        for (op, write) in history.txn_ops(txn) {
            let mut later = history.txn_ops(txn).filter(|(other, _)| *other > op);
            let is_last = !later.any(|(_, other)| other.kind.is_write() && other.key == write.key);
            if write.kind == OpKind::Write && is_last {
                let (key, version) = (write.key, txn);
                touches.push(Touch {
                    txn,
                    op,
                    key,
                    version,
                });
            }
        }
    }
    touches
}

/// The only transaction that can have written what was read, if it committed.
fn only_writer(
    history: &History,
    initial: &Initial,
    reader: TxnId,
    read: VersionRead,
) -> Option<TxnId> {
    if read.version == ValueCode::NIL {
        return Some(TxnId::INITIAL);
    }
    let of_key = |txn: &TxnId| writes(history, *txn, read.key);
    if !history
        .txn_ids()
        .any(|txn| of_key(&txn).contains(&read.version))
    {
        let is_initial = initial.code(history.values()) == Some(read.version);
        return is_initial.then_some(TxnId::INITIAL);
    }
    let mut writers = history.txn_ids().filter(|txn| {
        *txn != reader
            && history.status(*txn) != Status::Aborted
            && of_key(txn).last() == Some(&read.version)
    });
    let first = writers.next()?;
    let is_only = writers.next().is_none();
    (is_only && history.status(first) == Status::Committed).then_some(first)
}

/// Whether a version comes before itself, or before the initial one.
fn contradict(pairs: &[(TxnId, TxnId)]) -> bool {
    let mut closure: BTreeSet<(TxnId, TxnId)> = pairs.iter().copied().collect();
    loop {
        let longer: Vec<(TxnId, TxnId)> = closure
            .iter()
            .flat_map(|&(a, b)| {
                pairs
                    .iter()
                    .filter(move |p| p.0 == b)
                    .map(move |p| (a, p.1))
            })
            .collect();
        let before = closure.len();
        closure.extend(longer);
        if closure.len() == before {
            break;
        }
    }
    closure.iter().any(|&(a, b)| a == b || b == TxnId::INITIAL)
}
