//! Joins external reads to writes with one table of all writes: for histories small enough that the
//! table stays in the caches. See `join` for all others, and for what the links mean.
//!
//! Cost: linear, one access to the table for each read and write; 24 bytes a write, freed again.

use super::join::{SPECIAL, hash};
use super::{Link, Observed};
use history::{Status, ValueCode};

/// So many operations are joined with one table at most.
pub(super) const OPS_MAX: usize = 1 << 19;

#[derive(Clone, Copy)]
struct Entry {
    key: u32,
    value: u32,
    /// The transaction, and [`SPECIAL`]; [`EMPTY`] if nobody wrote this.
    tag: u32,
}

const EMPTY: u32 = u32::MAX;

struct Table {
    entries: Vec<Entry>,
    mask: usize,
}

impl Table {
    fn new(write_count: usize) -> Table {
        let size = (write_count + write_count / 2).next_power_of_two().max(4);
        let empty = Entry {
            key: 0,
            value: 0,
            tag: EMPTY,
        };
        Table {
            entries: vec![empty; size],
            mask: size - 1,
        }
    }

    /// Where the writes of a value to a key are, or would be.
    #[inline]
    fn place(&mut self, key: u32, value: u32) -> &mut Entry {
        let mut at = hash(key, value) as usize & self.mask;
        loop {
            let entry = self.entries[at];
            if entry.tag == EMPTY || (entry.key == key) & (entry.value == value) {
                return &mut self.entries[at];
            }
            at = (at + 1) & self.mask;
        }
    }
}

/// Links every pending read; those that need a closer look stay pending.
pub(super) fn join(observed: &mut Observed<'_>, initial: Option<ValueCode>) {
    let ops = observed.history.ops();
    let write_count = ops.kinds.iter().filter(|kind| kind.is_write()).count();
    let mut table = Table::new(write_count);
    enter_writes(observed, &mut table);
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
            let tag = table.place(ops.keys[op].0, value.0).tag;
            observed.links[op] = match tag {
                EMPTY if Some(value) == initial => Link::INITIAL,
                tag if tag & SPECIAL == 0 => tag,
                _ => Link::PENDING,
            };
        }
    }
}

const CHUNK: usize = 256;

fn enter_writes(observed: &Observed<'_>, table: &mut Table) {
    let ops = observed.history.ops();
    let mut writes: Vec<u32> = Vec::new();
    for placed in &observed.file_order {
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
            let entry = table.place(key, value);
            let is_new = entry.tag == EMPTY;
            let special = if is_plain & is_new { 0 } else { SPECIAL };
            let tag = if is_new { txn.0 } else { entry.tag };
            *entry = Entry {
                key,
                value,
                tag: tag | special,
            };
        }
    }
}
