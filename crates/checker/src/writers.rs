//! Who wrote a key: for a set of keys, the taken transactions that write each, sorted by number
//! (so grouped by session, in session order) and by place in an order.
//!
//! Cost: one scan of the writes for each of the two.

use crate::observe::Observed;
use history::TxnId;
use rustc_hash::FxHashMap;

/// The writers of some keys.
pub struct Writers {
    slots: FxHashMap<u32, u32>,
    starts: Vec<u32>,
    by_number: Vec<u32>,
    by_place: Vec<u32>,
}

/// A bit a key.
struct KeySet {
    words: Vec<u64>,
}

impl KeySet {
    fn contains(&self, key: u32) -> bool {
        self.words[key as usize / 64] >> (key % 64) & 1 == 1
    }
}

impl Writers {
    /// The writers of `keys`. `order` gives the places; it may leave transactions out.
    pub fn of_keys(
        observed: &Observed<'_>,
        keys: impl Iterator<Item = u32>,
        order: &[u32],
    ) -> Writers {
        let mut slots = FxHashMap::default();
        let mut set = KeySet {
            words: vec![0; observed.history.keys().limit().div_ceil(64)],
        };
        for key in keys {
            let next = slots.len() as u32;
            slots.entry(key).or_insert(next);
            set.words[key as usize / 64] |= 1 << (key % 64);
        }
        let taken = observed
            .history
            .txn_ids()
            .filter(|txn| observed.taken[txn.index()]);
        let mut starts = vec![0u32; slots.len() + 1];
        each_write(observed, &set, &slots, taken.clone(), |slot, _| {
            starts[slot + 1] += 1
        });
        for slot in 1..starts.len() {
            starts[slot] += starts[slot - 1];
        }
        let total = starts[slots.len()] as usize;
        let fill = |txns: &mut dyn Iterator<Item = TxnId>| {
            let mut next = starts.clone();
            let mut writers = vec![0u32; total];
            each_write(observed, &set, &slots, txns, |slot, txn| {
                writers[next[slot] as usize] = txn;
                next[slot] += 1;
            });
            // An order that leaves transactions out fills only a part of each key's places.
            (writers, next)
        };
        let (by_number, _) = fill(&mut taken.clone());
        let (mut by_place, ends) = fill(&mut order.iter().map(|&txn| TxnId(txn)));
        for slot in 0..slots.len() {
            let (filled, end) = (ends[slot] as usize, starts[slot + 1] as usize);
            // Nothing is placed after the last one that is: repeat it, a window never reaches it.
            by_place[filled..end].fill(u32::MAX);
        }
        Writers {
            slots,
            starts,
            by_number,
            by_place,
        }
    }

    fn range(&self, key: u32) -> std::ops::Range<usize> {
        match self.slots.get(&key) {
            Some(&slot) => {
                self.starts[slot as usize] as usize..self.starts[slot as usize + 1] as usize
            }
            None => 0..0,
        }
    }

    /// The writers of a key, by number.
    pub fn by_number(&self, key: u32) -> &[u32] {
        &self.by_number[self.range(key)]
    }

    /// The writers of a key strictly between two places of the order.
    pub fn between(&self, key: u32, place: &[u32], after: Option<u32>, before: u32) -> &[u32] {
        let all = &self.by_place[self.range(key)];
        let place_of = |txn: u32| place.get(txn as usize).copied().unwrap_or(u32::MAX);
        let start = match after {
            Some(after) => all.partition_point(|&txn| place_of(txn) <= after),
            None => 0,
        };
        let end = all.partition_point(|&txn| place_of(txn) < before);
        &all[start..end.max(start)]
    }

    /// The last writer of a key in a session (given by its first transaction) before `limit`.
    pub fn last_in_session(&self, key: u32, session_start: u32, limit: u32) -> Option<u32> {
        let all = self.by_number(key);
        let at = all.partition_point(|&txn| txn < limit);
        all[..at]
            .last()
            .copied()
            .filter(|&txn| txn >= session_start)
    }

    /// Whether a transaction writes a key.
    pub fn writes(&self, txn: u32, key: u32) -> bool {
        self.by_number(key).binary_search(&txn).is_ok()
    }
}

fn each_write(
    observed: &Observed<'_>,
    set: &KeySet,
    slots: &FxHashMap<u32, u32>,
    txns: impl Iterator<Item = TxnId>,
    mut visit: impl FnMut(usize, u32),
) {
    for txn in txns {
        for (_, key) in observed.writes(txn) {
            if set.contains(key.0) {
                visit(slots[&key.0] as usize, txn.0);
            }
        }
    }
}
