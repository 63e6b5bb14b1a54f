//! Keys that are unsigned numbers: dense ids while reading, a small table in the end.

use crate::wide::WideInts;
use crate::{KeyId, KeyTable, Ops};

/// The keys met so far, numbered in order of appearance.
#[derive(Default)]
pub(super) struct NumberedKeys {
    known: WideInts,
}

impl NumberedKeys {
    /// The number of a key while reading.
    #[inline]
    pub fn id(&mut self, number: u64) -> KeyId {
        KeyId(self.known.enter(number))
    }

    /// Renumbers the keys of the column: by their own numbers where these are dense, else by rank.
    pub fn finish(self, ops: &mut Ops) -> KeyTable {
        let mut numbers = self.known.numbers().to_vec();
        numbers.sort_unstable();
        let largest = numbers.last().copied().unwrap_or(0);
        if is_dense(largest, ops.len()) {
            for key in &mut ops.keys {
                *key = KeyId(self.known.number(key.0) as u32);
            }
            let limit = if numbers.is_empty() {
                0
            } else {
                largest as u32 + 1
            };
            return KeyTable::Dense { limit };
        }
        let mut ranks = vec![0u32; numbers.len()];
        for (rank, number) in numbers.iter().enumerate() {
            if let Some(slot) = self.known.find(*number) {
                ranks[slot as usize] = rank as u32;
            }
        }
        for key in &mut ops.keys {
            *key = KeyId(ranks[key.index()]);
        }
        KeyTable::Sorted { numbers }
    }
}

/// Whether a table indexed by key may have a place for every number up to the largest key.
pub(super) fn is_dense(largest: u64, op_count: usize) -> bool {
    let limit = (op_count as u64).saturating_mul(4).max(1 << 20);
    largest < limit.min(1 << 31)
}
