//! A guess from the numbers that the database gave to versions, where a history has them.
//!
//! Steps: the writers of each key in the order of their numbers; each before the next, and the
//! readers of its version before the next; the events sorted along that. If the numbers are right,
//! nothing is wrong with this order. If they are not, it has conflicts like any other guess, or
//! there is none: numbers are never taken for facts here (`--keys recorded` does that).
//!
//! Cost: O(m log m) for m operations.

use super::known::Known;
use super::sorted;
use crate::observe::Link;
use history::TxnId;
use rustc_hash::FxHashMap;

/// The events along the numbers, and otherwise as in `given`; None if that is not possible.
pub fn by_versions(known: &Known<'_>, given: &[u32]) -> Option<Vec<u32>> {
    let (observed, shape) = (known.observed, known.shape);
    let history = observed.history;
    if !history.has_recorded_versions() {
        return None;
    }
    let taken = |txn: &TxnId| observed.taken[txn.index()];
    let mut numbered: Vec<(u32, u64, u32)> = Vec::new();
    for txn in history.txn_ids().filter(taken) {
        for (op, key) in observed.writes(txn) {
            let number = history.recorded_version(op);
            numbered.extend(number.map(|number| (key.0, number, txn.0)));
        }
    }
    numbered.sort_unstable();
    let mut edges: Vec<(u32, u32)> = Vec::new();
    let mut next: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    for of_key in numbered.chunk_by(|a, b| a.0 == b.0) {
        let (key, _, first) = of_key[0];
        next.insert((key, Link::INITIAL), first);
        for pair in of_key.windows(2) {
            let (older, newer) = (pair[0].2, pair[1].2);
            next.insert((key, older), newer);
            let to = if shape.exclusive {
                shape.start(newer)
            } else {
                shape.commit(newer)
            };
            edges.push((shape.commit(older), to));
        }
    }
    for txn in history.txn_ids().filter(taken) {
        for op in history.op_range(txn) {
            let version = (history.ops().keys[op].0, observed.links[op]);
            if let Some(&newer) = next.get(&version)
                && newer != txn.0
            {
                edges.push((shape.start(txn.0), shape.commit(newer)));
            }
        }
    }
    let mut guided = Known::new(observed, shape, known.timeline.clone());
    guided.imply(&edges);
    sorted::sort(&guided, given).ok()
}
