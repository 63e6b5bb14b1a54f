//! Keys that are unsigned numbers: dense ids while reading, a small table in the end.

use crate::wide::WideInts;
use crate::{KeyId, KeyTable, Ops};

/// The keys met so far, numbered in order of appearance.
#[derive(Default)]
pub(super) struct NumberedKeys {
    known: WideInts,
    /// By number, the slots of small ones, which take no look-up; [`NO_SLOT`] if it was not met.
    small: Vec<u32>,
}

/// Numbers below this are small.
const SMALL: u64 = 1 << 16;

const NO_SLOT: u32 = u32::MAX;

impl NumberedKeys {
    /// The number of a key while reading.
    #[inline]
    pub fn id(&mut self, number: u64) -> KeyId {
        if number >= SMALL {
            return KeyId(self.known.enter(number));
        }
        match self.small.get(number as usize) {
            Some(&slot) if slot != NO_SLOT => KeyId(slot),
            _ => KeyId(self.add_small(number)),
        }
    }

    #[cold]
    fn add_small(&mut self, number: u64) -> u32 {
        let slot = self.known.reserve_slot(number);
        let count = self.small.len().max(number as usize + 1);
        self.small.resize(count, NO_SLOT);
        self.small[number as usize] = slot;
        slot
    }

    /// Renumbers the keys of the column: by their own numbers where these are dense, else by rank.
    pub fn finish(self, ops: &mut Ops) -> KeyTable {
        let numbers = self.known.numbers();
        let largest = numbers.iter().copied().max().unwrap_or(0);
        if is_dense(largest, ops.len()) {
            for key in &mut ops.keys {
                *key = KeyId(numbers[key.index()] as u32);
            }
            let limit = if numbers.is_empty() {
                0
            } else {
                largest as u32 + 1
            };
            return KeyTable::Dense { limit };
        }
        let mut by_number: Vec<u32> = (0..numbers.len() as u32).collect();
        by_number.sort_unstable_by_key(|&slot| numbers[slot as usize]);
        let mut ranks = vec![0u32; numbers.len()];
        for (rank, &slot) in by_number.iter().enumerate() {
            ranks[slot as usize] = rank as u32;
        }
        for key in &mut ops.keys {
            *key = KeyId(ranks[key.index()]);
        }
        let sorted = by_number.iter().map(|&slot| numbers[slot as usize]);
        KeyTable::Sorted {
            numbers: sorted.collect(),
        }
    }
}

/// Whether a table indexed by key may have a place for every number up to the largest key.
pub(super) fn is_dense(largest: u64, op_count: usize) -> bool {
    let limit = (op_count as u64).saturating_mul(4).max(1 << 20);
    largest < limit.min(1 << 31)
}
