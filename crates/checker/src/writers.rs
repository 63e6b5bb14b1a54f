//! Who wrote a key: for a set of keys, the taken transactions that write each, sorted by number
//! (so grouped by session, in session order) and by place in an order.
//!
//! Cost: one scan of the writes, and a sort of the places of each key.

use crate::observe::Observed;
use history::{KeyId, TxnId};
use rustc_hash::FxHashMap;

/// The writers of some keys.
pub struct Writers {
    slots: Slots,
    starts: Vec<u32>,
    by_number: Vec<u32>,
    /// The places of the writers, and the writers at these places.
    places: Vec<u32>,
    by_place: Vec<u32>,
}

/// Where a key's writers are.
enum Slots {
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
    /// Numbers the keys, and returns how many there are.
    fn new(observed: &Observed<'_>, keys: Vec<u32>) -> (Slots, usize) {
        let limit = observed.history.keys().limit();
        let mut count = 0;
        if limit / FEW < keys.len() {
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
    /// The writers of `keys`, by number; by place too if an order and its places are given.
    pub fn of_keys(
        observed: &Observed<'_>,
        keys: impl Iterator<Item = u32>,
        order: Option<(&[u32], &[u32])>,
    ) -> Writers {
        let (slots, slot_count) = Slots::new(observed, keys.collect());
        let history = observed.history;
        let mut found: Vec<(u32, u32)> = Vec::new();
        if slot_count > 0 {
            for txn in history.txn_ids().filter(|txn| observed.taken[txn.index()]) {
                let written = |(_, key): (_, KeyId)| slots.get(key.0);
                let written = observed.writes(txn).filter_map(written);
                found.extend(written.map(|slot| (slot as u32, txn.0)));
            }
        }
        let mut starts = vec![0u32; slot_count + 1];
        for &(slot, _) in &found {
            starts[slot as usize + 1] += 1;
        }
        for slot in 1..starts.len() {
            starts[slot] += starts[slot - 1];
        }
        let by_number = group(&found, &starts);
        let (mut places, mut by_place) = (Vec::new(), Vec::new());
        if let Some((order, place)) = order {
            places.extend(by_number.iter().map(|&txn| place[txn as usize]));
            for slot in starts.windows(2) {
                places[slot[0] as usize..slot[1] as usize].sort_unstable();
            }
            by_place.extend(places.iter().map(|&place| order[place as usize]));
        }
        Writers {
            slots,
            starts,
            by_number,
            places,
            by_place,
        }
    }

    fn range(&self, key: u32) -> std::ops::Range<usize> {
        match self.slots.get(key) {
            Some(slot) => self.starts[slot] as usize..self.starts[slot + 1] as usize,
            None => 0..0,
        }
    }

    /// The writers of a key, by number.
    pub fn by_number(&self, key: u32) -> &[u32] {
        &self.by_number[self.range(key)]
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
                let rest = &self.by_number[at as usize..slot[1] as usize];
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
        let range = self.range(key);
        let places = &self.places[range.clone()];
        let end = places.partition_point(|&place| place < before);
        let start = match after {
            Some(after) => places[..end].partition_point(|&place| place <= after),
            None => 0,
        };
        &self.by_place[range][start..end]
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
            let mine = &self.writers.by_number[start..end as usize];
            start = end as usize;
            (session as usize, mine)
        })
    }
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
