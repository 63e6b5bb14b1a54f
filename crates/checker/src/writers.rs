//! Who wrote a key: for a set of keys, the taken transactions that write each, sorted by number
//! (so grouped by session, in session order) and by place in an order.
//!
//! Cost: one scan of the writes for each of the two.

use crate::observe::Observed;
use history::TxnId;
use rustc_hash::FxHashMap;

/// The writers of some keys.
pub struct Writers {
    /// Where a key's writers are.
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
    /// The writers of `keys`, by number; by place too if the places of an order are given.
    pub fn of_keys(
        observed: &Observed<'_>,
        keys: impl Iterator<Item = u32>,
        place: Option<&[u32]>,
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
        let found = writes_of(observed, &set, &slots, taken);
        let mut starts = vec![0u32; slots.len() + 1];
        for &(slot, _) in &found {
            starts[slot as usize + 1] += 1;
        }
        for slot in 1..starts.len() {
            starts[slot] += starts[slot - 1];
        }
        let by_number = group(&found, &starts);
        let mut by_place = Vec::new();
        if let Some(place) = place {
            by_place = by_number.clone();
            for slot in 0..slots.len() {
                let range = starts[slot] as usize..starts[slot + 1] as usize;
                by_place[range].sort_unstable_by_key(|&txn| place[txn as usize]);
            }
        }
        Writers {
            slots,
            starts,
            by_number,
            by_place,
        }
    }

    fn range(&self, key: u32) -> std::ops::Range<usize> {
        let Some(&slot) = self.slots.get(&key) else {
            return 0..0;
        };
        let slot = slot as usize;
        self.starts[slot] as usize..self.starts[slot + 1] as usize
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
}

/// The writes to keys of the set, as (slot, transaction).
fn writes_of(
    observed: &Observed<'_>,
    set: &KeySet,
    slots: &FxHashMap<u32, u32>,
    txns: impl Iterator<Item = TxnId>,
) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    for txn in txns {
        for (_, key) in observed.writes(txn) {
            if set.contains(key.0) {
                found.push((slots[&key.0], txn.0));
            }
        }
    }
    found
}

/// Sorts writes by slot, keeping their order within one.
fn group(found: &[(u32, u32)], starts: &[u32]) -> Vec<u32> {
    let mut next = starts.to_vec();
    let mut grouped = vec![0u32; starts.last().map_or(0, |&end| end as usize)];
    for &(slot, txn) in found {
        grouped[next[slot as usize] as usize] = txn;
        next[slot as usize] += 1;
    }
    grouped
}
