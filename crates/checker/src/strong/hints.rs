//! Guesses from numbers in the history: those that the database gave to versions, the values
//! written, where they are integers, and the numbers of the transactions. Whoever writes a counter or
//! numbers what it runs leaves an order behind.
//!
//! Steps, for versions and values: the writers of each key in the order of their numbers; each before
//! the next, and the readers of its version before the next; the events sorted along that. If the
//! numbers are right, nothing is wrong with this order. Where they contradict what is known or each
//! other, a cycle shows it, and one of its edges that only the numbers speak for is given up.
//!
//! Numbers are never taken for facts here (`--keys recorded` does that): wrong ones make a guess with
//! more conflicts, no other verdict. Cost: O(m log m) for m operations.

use super::known::{Edges, Known};
use super::sorted;
use super::versions::Writes;
use crate::observe::{Link, Observed};
use history::{OpId, TxnId, UNLABELLED, Value, ValueCode};

const NONE: u32 = u32::MAX;

/// The events along the database's numbers of versions; None if there are none.
pub fn by_versions(known: &Known<'_>, given: &[u32]) -> Option<Vec<u32>> {
    let history = known.observed.history;
    if !history.has_recorded_versions() {
        return None;
    }
    along(known, given, |op| history.recorded_version(op))
}

/// The events along the values written; None if some value is no integer.
pub fn by_values(known: &Known<'_>, given: &[u32]) -> Option<Vec<u32>> {
    let history = known.observed.history;
    along(known, given, |op| {
        let code = history.ops().values[op.index()];
        if code.0 < ValueCode::SMALL_LIMIT {
            return Some(u64::from(code.0));
        }
        match history.value(code) {
            Value::Int(number) => u64::try_from(number).ok(),
            _ => None,
        }
    })
}

/// The events by the numbers of their transactions; None if some transaction has none.
pub fn by_labels(known: &Known<'_>) -> Option<Vec<u32>> {
    let (observed, shape) = (known.observed, known.shape);
    let txns = observed.history.txns();
    let mut order: Vec<(u64, u32)> = Vec::new();
    for (txn, row) in txns.iter().enumerate() {
        if observed.taken[txn] {
            if row.label == UNLABELLED {
                return None;
            }
            order.push((row.label, txn as u32));
        }
    }
    order.sort_unstable();
    let events = |(_, txn)| [shape.start(txn), shape.commit(txn)];
    let mut events: Vec<u32> = order.into_iter().flat_map(events).collect();
    events.dedup();
    Some(events)
}

/// Whether the reader has the greater number, of a reader and whom it read from, more often than by chance; see [`agree`].
pub fn labels_agree(observed: &Observed<'_>) -> bool {
    let txns = observed.history.txns();
    let (mut agreeing, mut count) = (0u64, 0u64);
    for (txn, row) in txns.iter().enumerate() {
        if observed.taken[txn] {
            for (_, _, writer) in observed.reads(TxnId(txn as u32)) {
                agreeing += u64::from(txns[writer.index()].label < row.label);
                count += 1;
            }
        }
    }
    agreeing * 3 >= count * 2
}

/// The events along the numbers of the writes, and otherwise as in `given`; None where some write
/// has no number.
fn along(
    known: &Known<'_>,
    given: &[u32],
    number: impl Fn(OpId) -> Option<u64>,
) -> Option<Vec<u32>> {
    let observed = known.observed;
    let taken = |txn: &TxnId| observed.taken[txn.index()];
    let mut numbered: Vec<(u32, u64, u32, u32)> = Vec::new();
    for txn in observed.history.txn_ids().filter(taken) {
        for (op, key) in observed.writes(txn) {
            numbered.push((key.0, number(op)?, txn.0, op.0));
        }
    }
    if !agree(known, given, &numbered) {
        return None;
    }
    numbered.sort_unstable();
    if !agree(known, given, &numbered) {
        return None;
    }
    let edges = edges(known, &numbered);
    drop(numbered);
    sorted::sort_along(known, given, &edges).ok()
}

/// Whether the numbers agree with an order more often than chance and some system in them explain:
/// if not, they are no counters, and sorting along them is lost time. Asked of the versions of a key that follow each other:
/// in the order of the numbers at last, and before in any order, which needs no sort.
fn agree(known: &Known<'_>, given: &[u32], numbered: &[(u32, u64, u32, u32)]) -> bool {
    let mut place = vec![0u32; known.events()];
    for (at, &event) in given.iter().enumerate() {
        place[event as usize] = at as u32;
    }
    let place = |txn: u32| place[known.shape.commit(txn) as usize];
    let mut last = vec![(0, NONE); known.observed.history.keys().limit()];
    let (mut agreeing, mut count) = (0usize, 0usize);
    for &(key, number, txn, _) in numbered {
        let here = (number, place(txn));
        let before = std::mem::replace(&mut last[key as usize], here);
        if before.1 != NONE {
            count += 1;
            agreeing += usize::from((before.0 < number) == (before.1 < here.1));
        }
    }
    agreeing * 3 >= count * 2
}

/// The edges that follow from versions sorted by key and number: from each writer, and from each
/// reader of its version, to the next writer.
fn edges(known: &Known<'_>, numbered: &[(u32, u64, u32, u32)]) -> Edges {
    let (observed, shape) = (known.observed, known.shape);
    let history = observed.history;
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    let mut next_of_write = vec![NONE; history.op_count()];
    let mut next_of_initial = vec![NONE; history.keys().limit()];
    for of_key in numbered.chunk_by(|a, b| a.0 == b.0) {
        next_of_initial[of_key[0].0 as usize] = of_key[0].2;
        for pair in of_key.windows(2) {
            let (older, newer) = (pair[0].2, pair[1].2);
            next_of_write[pair[0].3 as usize] = newer;
            let to = if shape.exclusive {
                shape.start(newer)
            } else {
                shape.commit(newer)
            };
            if older != newer {
                pairs.push((to, shape.commit(older)));
            }
        }
    }
    let writes = Writes::new(observed);
    for txn in history.txn_ids() {
        if observed.taken[txn.index()] {
            for op in history.op_range(txn) {
                let newer = next(observed, &writes, op, &next_of_write, &next_of_initial);
                if newer != NONE && newer != txn.0 {
                    pairs.push((shape.commit(newer), shape.start(txn.0)));
                }
            }
        }
    }
    Edges::new(pairs.iter().copied(), known.events())
}

/// Who wrote the version after the one that an operation read, if it read one.
fn next(
    observed: &Observed<'_>,
    writes: &Writes<'_>,
    op: usize,
    of_write: &[u32],
    of_initial: &[u32],
) -> u32 {
    let (link, key) = (observed.links[op], observed.history.ops().keys[op]);
    if link == Link::INITIAL {
        of_initial[key.index()]
    } else if Link::is_txn(link) {
        let write = writes.find(link, key.0);
        write.map_or(NONE, |write| of_write[write as usize])
    } else {
        NONE
    }
}
