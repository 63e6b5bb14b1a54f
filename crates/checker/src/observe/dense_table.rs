//! The writes of a history by direct index: for values that count up key by key, as those of most
//! generators and of versioned stores do.
//!
//! Steps: find each key's largest written value; give each key a stretch of one table, with a place
//! for every value up to that one. Where that would take more than [`PLACES`] allows, there is no
//! such table; values that are unique beyond their key show this soon.
//!
//! Cost: one scan of the columns, 4 bytes a place and a key. A key's versions lie next to each other,
//! and whoever reads at about the same time reads near places: the caches hold them.

use super::Observed;
use super::table_join::{EMPTY, Table};

/// The most places, as (places, operations): what the buffer of the join by hash takes, too.
const PLACES: (u64, u64) = (3, 2);

/// After so many operations it is asked whether places are too many.
const ASKED: usize = 256;

/// A place for each value of each key.
pub(super) struct DenseTable {
    /// By key, where its places begin; one more at the end.
    starts: Vec<u32>,
    tags: Vec<u32>,
}

impl DenseTable {
    /// An empty table for all writes of a history, if that takes little.
    pub(super) fn new(observed: &Observed<'_>) -> Option<DenseTable> {
        let ops = observed.history.ops();
        let key_limit = observed.history.keys().limit();
        let places_max = (ops.len() as u64 * PLACES.0 / PLACES.1).min(u32::MAX.into());
        if key_limit as u64 > places_max {
            return None;
        }
        let mut starts = vec![0u32; key_limit + 1];
        let mut total = 0u64;
        for start in (0..ops.len()).step_by(ASKED) {
            let part = start..ops.len().min(start + ASKED);
            let kinds = ops.kinds[part.clone()].iter();
            let columns = kinds.zip(&ops.keys[part.clone()]);
            for ((kind, key), value) in columns.zip(&observed.values[part]) {
                // Not a branch, since reads and writes alternate at random. Codes that are no numbers are
                // beyond every limit.
                let count = (u64::from(value.0) + 1) * u64::from(kind.is_write());
                let known = &mut starts[key.index() + 1];
                let more = count.saturating_sub(u64::from(*known));
                total += more;
                *known = known.wrapping_add(more as u32);
            }
            if total > places_max {
                return None;
            }
        }
        for key in 0..key_limit {
            starts[key + 1] += starts[key];
        }
        let tags = vec![EMPTY; total as usize];
        Some(DenseTable { starts, tags })
    }
}

impl Table for DenseTable {
    #[inline]
    fn enter(&mut self, key: u32, value: u32) -> Option<&mut u32> {
        Some(&mut self.tags[self.starts[key as usize] as usize + value as usize])
    }

    #[inline]
    fn find(&self, key: u32, value: u32) -> u32 {
        let (start, end) = (self.starts[key as usize], self.starts[key as usize + 1]);
        match value < end - start {
            true => self.tags[start as usize + value as usize],
            false => EMPTY,
        }
    }
}
