//! Joins external reads to writes with one table of all writes: a table by hash for histories small
//! enough that it stays in the caches, one by direct index (`dense_table`, `value_table`) where values
//! allow it. See `join` for all others, and for what the links mean.
//!
//! Cost: linear, one access to the table for each read and write; by hash 24 bytes a write, freed
//! again.

use super::join::{SPECIAL, hash};
use super::{Link, Observed};
use history::{Status, ValueCode};

/// What is known of the writes of each value to each key: the transaction, and [`SPECIAL`].
pub(super) trait Table {
    /// The tag of a value of a key, to be set; [`EMPTY`] if it was not written before. None if the
    /// table has no place for it.
    fn enter(&mut self, key: u32, value: u32) -> Option<&mut u32>;
    /// The tag, to be read.
    fn find(&self, key: u32, value: u32) -> u32;
}

/// So many operations are joined with one table at most.
pub(super) const OPS_MAX: usize = 1 << 19;

#[derive(Clone, Copy)]
struct Entry {
    key: u32,
    value: u32,
    /// The transaction, and [`SPECIAL`]; [`EMPTY`] if nobody wrote this.
    tag: u32,
}

/// The tag of what nobody wrote.
pub(super) const EMPTY: u32 = u32::MAX;

/// A table by a hash of key and value.
pub(super) struct HashTable {
    entries: Vec<Entry>,
    mask: usize,
}

impl HashTable {
    /// A table for all writes of a history.
    pub(super) fn new(observed: &Observed<'_>) -> HashTable {
        let kinds = observed.history.ops().kinds.iter();
        let write_count = kinds.filter(|kind| kind.is_write()).count();
        let size = (write_count + write_count / 2).next_power_of_two().max(4);
        let empty = Entry {
            key: 0,
            value: 0,
            tag: EMPTY,
        };
        HashTable {
            entries: vec![empty; size],
            mask: size - 1,
        }
    }

    /// Where the writes of a value to a key are, or would be.
    #[inline]
    fn place(&self, key: u32, value: u32) -> usize {
        let mut at = hash(key, value) as usize & self.mask;
        loop {
            let entry = self.entries[at];
            if entry.tag == EMPTY || (entry.key == key) & (entry.value == value) {
                return at;
            }
            at = (at + 1) & self.mask;
        }
    }
}

impl Table for HashTable {
    #[inline]
    fn enter(&mut self, key: u32, value: u32) -> Option<&mut u32> {
        let at = self.place(key, value);
        let entry = &mut self.entries[at];
        (entry.key, entry.value) = (key, value);
        Some(&mut entry.tag)
    }

    #[inline]
    fn find(&self, key: u32, value: u32) -> u32 {
        self.entries[self.place(key, value)].tag
    }
}

/// Links every pending read; those that need a closer look stay pending. Does nothing, and returns
/// false, if the table has no place for a write.
pub(super) fn join(
    observed: &mut Observed<'_>,
    initial: Option<ValueCode>,
    mut table: impl Table,
) -> bool {
    let ops = observed.history.ops();
    if enter_writes(observed, &mut table).is_none() {
        return false;
    }
    // Which operations are reads is a coin toss to the processor: they are collected without a
    // branch.
    let mut reads = [0u32; CHUNK];
    for start in (0..ops.len()).step_by(CHUNK) {
        let end = (start + CHUNK).min(ops.len());
        let mut count = 0;
        for (op, &link) in (start..end).zip(&observed.links[start..end]) {
            reads[count] = op as u32;
            count += usize::from(link == Link::PENDING);
        }
        for &op in &reads[..count] {
            let op = op as usize;
            let value = observed.values[op];
            let tag = table.find(ops.keys[op].0, value.0);
            // So is whether they read an initial version.
            let is_initial = (tag == EMPTY) & (Some(value) == initial);
            let unknown = [Link::PENDING, Link::INITIAL][usize::from(is_initial)];
            let is_plain = tag & SPECIAL == 0;
            observed.links[op] = if is_plain { tag } else { unknown };
        }
    }
    true
}

const CHUNK: usize = 256;

fn enter_writes(observed: &Observed<'_>, table: &mut impl Table) -> Option<()> {
    let ops = observed.history.ops();
    let mut writes: Vec<u32> = Vec::new();
    for placed in observed.file_order.iter() {
        let (txn, range) = (placed.txn, placed.ops());
        writes.resize(writes.len().max(range.len() + 1), 0);
        let mut count = 0;
        for (op, kind) in range.clone().zip(&ops.kinds[range]) {
            writes[count] = op as u32;
            count += usize::from(kind.is_write());
        }
        let is_committed = observed.statuses[txn.index()] == Status::Committed;
        for &op in &writes[..count] {
            let op = op as usize;
            let (key, value) = (ops.keys[op].0, observed.values[op].0);
            let is_plain = is_committed & (observed.links[op] == Link::WRITE);
            let tag = table.enter(key, value)?;
            let is_new = *tag == EMPTY;
            let special = if is_plain & is_new { 0 } else { SPECIAL };
            let writer = if is_new { txn.0 } else { *tag };
            *tag = writer | special;
        }
    }
    Some(())
}
