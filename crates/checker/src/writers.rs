//! Who wrote a key: for a set of keys, the taken transactions that write each, sorted by number
//! (so grouped by session, in session order) or by place in an order.
//!
//! Cost: one scan of the writes; a sort of the writers of each key if they are asked for by number
//! and were collected by place. A search by place begins where the last one of the key ended, as
//! readers are mostly asked about in order.

use crate::observe::Observed;
use history::TxnId;
use rustc_hash::FxHashMap;
use std::cell::{Cell, OnceCell};

/// The writers of some keys.
pub struct Writers {
    slots: Slots,
    starts: Vec<u32>,
    /// Made when first asked for, if there is an order.
    by_number: OnceCell<Vec<u32>>,
    /// The places of the writers, and the writers at these places.
    places: Vec<u32>,
    by_place: Vec<u32>,
    /// By slot, where among its writers the last search ended.
    near: Vec<Cell<u32>>,
}

/// Where a key's writers are.
enum Slots {
    /// Every key by its own number.
    All,
    /// By key; [`NO_SLOT`] for keys that were not asked for.
    Direct(Vec<u32>),
    /// For few of very many keys; a filter tells most others apart without a miss of the cache.
    Hashed {
        filter: Vec<u64>,
        shift: u32,
        slots: FxHashMap<u32, u32>,
    },
}

const NO_SLOT: u32 = u32::MAX;

/// Keys are few if they are fewer than one in this many, and have this many bits of filter each.
const FEW: usize = 16;

/// The place of a key in a filter of 2^(32 − shift) bits, at least 64.
fn filter_bit(key: u32, shift: u32) -> usize {
    (key.wrapping_mul(0x9E37_79B1) >> shift) as usize
}

impl Slots {
    /// Numbers the keys, and returns how many there are. Where these are not few, every key may
    /// get its number.
    fn new(observed: &Observed<'_>, keys: Vec<u32>, or_all: bool) -> (Slots, usize) {
        let limit = observed.history.keys().limit();
        let mut count = 0;
        if limit / FEW < keys.len() {
            if or_all {
                return (Slots::All, limit);
            }
            let mut slots = vec![NO_SLOT; limit];
            for key in keys {
                let slot = &mut slots[key as usize];
                if *slot == NO_SLOT {
                    *slot = count;
                    count += 1;
                }
            }
            return (Slots::Direct(slots), count as usize);
        }
        let bits = (FEW * keys.len()).next_power_of_two().max(64);
        let shift = 32 - bits.trailing_zeros().min(32);
        let mut filter = vec![0u64; bits / 64];
        let mut slots = FxHashMap::default();
        for key in keys {
            let next = slots.len() as u32;
            slots.entry(key).or_insert(next);
            let bit = filter_bit(key, shift);
            filter[bit / 64] |= 1 << (bit % 64);
        }
        let count = slots.len();
        let slots = Slots::Hashed {
            filter,
            shift,
            slots,
        };
        (slots, count)
    }

    #[inline]
    fn get(&self, key: u32) -> Option<usize> {
        match self {
            Slots::All => Some(key as usize),
            Slots::Direct(slots) => {
                let slot = slots[key as usize];
                (slot != NO_SLOT).then_some(slot as usize)
            }
            Slots::Hashed {
                filter,
                shift,
                slots,
            } => {
                let bit = filter_bit(key, *shift);
                if filter[bit / 64] >> (bit % 64) & 1 == 0 {
                    return None;
                }
                slots.get(&key).map(|&slot| slot as usize)
            }
        }
    }
}

impl Writers {
    /// The writers of `keys`, by number; of these or of all keys and by place, if an order of all
    /// taken transactions and its places are given.
    pub fn of_keys(
        observed: &Observed<'_>,
        keys: impl Iterator<Item = u32>,
        order: Option<(&[u32], &[u32])>,
    ) -> Writers {
        let (slots, slot_count) = Slots::new(observed, keys.collect(), order.is_some());
        let history = observed.history;
        let mut found: Vec<(u32, u32)> = Vec::new();
        let mut buffer = Vec::new();
        let mut add = |txn: TxnId| {
            let written = observed.written(txn, &mut buffer).iter();
            let written = written.filter_map(|&key| slots.get(key));
            found.extend(written.map(|slot| (slot as u32, txn.0)));
        };
        match order {
            _ if slot_count == 0 => {}
            Some((order, _)) => order.iter().for_each(|&txn| add(TxnId(txn))),
            None => {
                let taken = |txn: &TxnId| observed.taken[txn.index()];
                history.txn_ids().filter(taken).for_each(add);
            }
        }
        let mut starts = vec![0u32; slot_count + 1];
        for &(slot, _) in &found {
            starts[slot as usize + 1] += 1;
        }
        for slot in 1..starts.len() {
            starts[slot] += starts[slot - 1];
        }
        let grouped = group(&found, &starts);
        let Some((_, place)) = order else {
            return Writers {
                slots,
                starts,
                by_number: OnceCell::from(grouped),
                places: Vec::new(),
                by_place: Vec::new(),
                near: Vec::new(),
            };
        };
        Writers {
            slots,
            starts,
            by_number: OnceCell::new(),
            places: grouped.iter().map(|&txn| place[txn as usize]).collect(),
            by_place: grouped,
            near: vec![Cell::new(0); slot_count],
        }
    }

    /// The same for another order of the same transactions, if the writers of every key are known.
    pub fn turned_to(mut self, place: &[u32]) -> Option<Writers> {
        if !matches!(self.slots, Slots::All) {
            return None;
        }
        for slot in self.starts.windows(2) {
            let range = slot[0] as usize..slot[1] as usize;
            let (writers, places) = (&mut self.by_place[range.clone()], &mut self.places[range]);
            for (mine, &txn) in places.iter_mut().zip(writers.iter()) {
                *mine = place[txn as usize];
            }
            if !places.is_sorted() {
                places.sort();
                writers.sort_by_key(|&txn| place[txn as usize]);
            }
        }
        Some(self)
    }

    fn all_by_number(&self) -> &[u32] {
        self.by_number.get_or_init(|| {
            let mut by_number = self.by_place.clone();
            for slot in self.starts.windows(2) {
                by_number[slot[0] as usize..slot[1] as usize].sort_unstable();
            }
            by_number
        })
    }

    fn range(&self, key: u32) -> std::ops::Range<usize> {
        match self.slots.get(key) {
            Some(slot) => self.starts[slot] as usize..self.starts[slot + 1] as usize,
            None => 0..0,
        }
    }

    /// The writers of a key, by number.
    pub fn by_number(&self, key: u32) -> &[u32] {
        &self.all_by_number()[self.range(key)]
    }

    /// The writers of every key, session by session.
    pub fn by_session(&self, observed: &Observed<'_>) -> BySession<'_> {
        let history = observed.history;
        let mut found = BySession {
            writers: self,
            starts: Vec::with_capacity(self.starts.len()),
            groups: Vec::new(),
        };
        for slot in self.starts.windows(2) {
            found.starts.push(found.groups.len() as u32);
            let mut at = slot[0];
            while at < slot[1] {
                let rest = &self.all_by_number()[at as usize..slot[1] as usize];
                let session = history.session_of(TxnId(rest[0]));
                let end = history.session_txns(session).end;
                at += rest.partition_point(|&txn| txn < end) as u32;
                found.groups.push((session.0, at));
            }
        }
        found.starts.push(found.groups.len() as u32);
        found
    }

    /// The writers of a key strictly between two places of the order.
    pub fn between(&self, key: u32, after: Option<u32>, before: u32) -> &[u32] {
        let Some(slot) = self.slots.get(key) else {
            return &[];
        };
        let range = self.starts[slot] as usize..self.starts[slot + 1] as usize;
        let places = &self.places[range.clone()];
        let end = near_point(places, self.near[slot].get() as usize, before);
        self.near[slot].set(end as u32);
        let start = match after {
            Some(after) => near_point(&places[..end], end, after + 1),
            None => 0,
        };
        &self.by_place[range][start..end]
    }

    /// The writers of a key in a session (given by its first transaction) before `limit`.
    pub fn in_session(&self, key: u32, session_start: u32, limit: u32) -> &[u32] {
        let all = self.by_number(key);
        let until = &all[..all.partition_point(|&txn| txn < limit)];
        &until[until.partition_point(|&txn| txn < session_start)..]
    }

    /// The last of them.
    pub fn last_in_session(&self, key: u32, session_start: u32, limit: u32) -> Option<u32> {
        let all = self.by_number(key);
        let at = all.partition_point(|&txn| txn < limit);
        all[..at]
            .last()
            .copied()
            .filter(|&txn| txn >= session_start)
    }
}

/// The writers of every key, session by session.
pub struct BySession<'a> {
    writers: &'a Writers,
    /// By slot, where its groups begin.
    starts: Vec<u32>,
    /// The session of each group, and where it ends.
    groups: Vec<(u32, u32)>,
}

impl BySession<'_> {
    /// The writers of a key: each session that has any, with them.
    pub fn of(&self, key: u32) -> impl Iterator<Item = (usize, &[u32])> {
        let range = self.writers.range(key);
        let groups = match self.writers.slots.get(key) {
            Some(slot) => self.starts[slot] as usize..self.starts[slot + 1] as usize,
            None => 0..0,
        };
        let mut start = range.start;
        self.groups[groups].iter().map(move |&(session, end)| {
            let mine = &self.writers.all_by_number()[start..end as usize];
            start = end as usize;
            (session as usize, mine)
        })
    }
}

/// How many of the ascending places are below a limit; the answer is expected at `near`. Steps that
/// double lead away from there, so that the cost is the logarithm of the distance.
fn near_point(places: &[u32], near: usize, limit: u32) -> usize {
    let near = near.min(places.len());
    let mut step = 1;
    if near > 0 && places[near - 1] >= limit {
        // The answer is before `near`.
        let mut end = near - 1;
        while step <= end && places[end - step] >= limit {
            end -= step;
            step *= 2;
        }
        let start = end.saturating_sub(step);
        return start + places[start..end].partition_point(|&place| place < limit);
    }
    let mut start = near;
    while start + step <= places.len() && places[start + step - 1] < limit {
        start += step;
        step *= 2;
    }
    let end = places.len().min(start + step);
    start + places[start..end].partition_point(|&place| place < limit)
}

/// The second halves of pairs, sorted by slot, keeping their order within one.
fn group(found: &[(u32, u32)], starts: &[u32]) -> Vec<u32> {
    let mut next = starts.to_vec();
    let mut grouped = vec![0u32; found.len()];
    for &(slot, txn) in found {
        grouped[next[slot as usize] as usize] = txn;
        next[slot as usize] += 1;
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::near_point;

    #[test]
    fn a_search_finds_the_same_wherever_it_begins() {
        let places: Vec<u32> = (0..40).map(|at| at * at / 3 + at).collect();
        for count in 0..=places.len() {
            let places = &places[..count];
            for limit in 0..600 {
                let expected = places.partition_point(|&place| place < limit);
                for near in 0..=count + 1 {
                    assert_eq!(near_point(places, near, limit), expected);
                }
            }
        }
    }
}
