//! Long forks by the reads alone: two reads of the same keys that saw them written in opposite orders.
//!
//! Definition: every key is written at most once. A read of several keys at once tells which of
//! them were written by then. If one read saw x written and y not, and another one saw y and not x,
//! no order of the two writes explains both. This needs no record of the writes, so it judges
//! histories that the levels cannot: there, a value nobody wrote is wrong by itself.
//!
//! Steps: for each committed transaction of reads, which keys it read (sorted) and which of them
//! had a value; among the different answers for the same keys, look for two of which neither
//! contains the other. Cost: linear, and quadratic in the number of different answers for one set
//! of keys, of which a sound database gives at most one more than there are keys.
//!
//! Source: the long-fork test of Jepsen.

use history::{History, KeyId, OpKind, Status, TxnId, ValueCode};
use std::collections::HashMap;

/// Two reads that contradict each other, or nothing.
pub fn find_long_fork(history: &History) -> Option<[TxnId; 2]> {
    let mut answers: HashMap<Vec<KeyId>, Vec<(Vec<bool>, TxnId)>> = HashMap::new();
    for txn in history.txn_ids() {
        let Some((keys, seen)) = answer(history, txn) else {
            continue;
        };
        let same = answers.entry(keys).or_default();
        if same.iter().any(|(known, _)| *known == seen) {
            continue;
        }
        let contains = |a: &[bool], b: &[bool]| a.iter().zip(b).all(|(a, b)| *a || !*b);
        let fork = same
            .iter()
            .find(|(known, _)| !contains(known, &seen) && !contains(&seen, known));
        if let Some(&(_, other)) = fork {
            return Some([other, txn]);
        }
        same.push((seen, txn));
    }
    None
}

/// The keys that a committed transaction of register reads read, and whether each had a value.
fn answer(history: &History, txn: TxnId) -> Option<(Vec<KeyId>, Vec<bool>)> {
    if history.status(txn) != Status::Committed || history.txn(txn).op_count < 2 {
        return None;
    }
    let mut reads = Vec::new();
    for (_, op) in history.txn_ops(txn) {
        if op.kind != OpKind::Read || op.value == ValueCode::UNKNOWN {
            return None;
        }
        reads.push((op.key, op.value != ValueCode::NIL));
    }
    reads.sort_unstable();
    Some(reads.into_iter().unzip())
}
