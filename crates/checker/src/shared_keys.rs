//! Which of a reader's keys another transaction writes, for one small reader after another.
//!
//! Steps: once, the keys that each transaction writes are copied next to each other. For a reader,
//! each of its reads is a bit of a word; a table in the nearest cache has, by a hash of keys, the
//! bits of the reads. The union over the keys of another transaction tells without a branch which
//! reads may have one of them, mostly none. Of a transaction that writes much, the keys are sorted,
//! and each read is searched in them instead: always the smaller side of the pair.
//!
//! Cost: a word of cache for each key looked up; 4 bytes a write and a transaction.

use crate::observe::{Link, Observed};
use history::TxnId;

/// The most operations of a reader.
pub const READS_MAX: usize = 64;

/// Transactions that write more keys than this have them sorted.
const LARGE: usize = 64;

/// Places of the table, as a power of two.
const TABLE_BITS: u32 = 10;

/// Places of the table of transactions read from.
const FROM: usize = 128;

/// The keys that transactions write, and one reader's reads.
pub struct SharedKeys<'a> {
    observed: &'a Observed<'a>,
    /// By transaction, where its keys begin.
    starts: Vec<u32>,
    written: Vec<u32>,
    /// By the hash of a key, the reads of it.
    table: Box<[u64; 1 << TABLE_BITS]>,
    /// By the end of its number, the reads from a transaction.
    from: [u64; FROM],
    /// The reader's external reads, and how many there are.
    ops: [u32; READS_MAX],
    keys: [u32; READS_MAX],
    links: [u32; READS_MAX],
    count: usize,
    /// Those of them that returned a transaction's version, and how many these are.
    of_txns: [u32; READS_MAX],
    of_txns_count: usize,
}

/// A transaction that was read from, and a read of a key that it writes.
pub struct Pair {
    pub from: u32,
    /// What the read returned.
    pub to: u32,
    pub read: u32,
    /// Whether the reader also read another key from the transaction.
    pub of_other_key: bool,
}

#[inline]
fn hash(key: u32) -> usize {
    (key.wrapping_mul(0x9E37_79B1) >> (32 - TABLE_BITS)) as usize
}

impl<'a> SharedKeys<'a> {
    pub fn new(observed: &'a Observed<'a>) -> SharedKeys<'a> {
        let history = observed.history;
        let mut starts = Vec::with_capacity(history.txn_count() + 1);
        let is_write = |link: &&u32| **link == Link::WRITE;
        let write_count = observed.links.iter().filter(is_write).count();
        let mut written: Vec<u32> = Vec::with_capacity(write_count);
        let mut buffer = Vec::new();
        for txn in history.txn_ids() {
            let start = written.len();
            starts.push(start as u32);
            written.extend_from_slice(observed.written(txn, &mut buffer));
            if written.len() - start > LARGE {
                written[start..].sort_unstable();
            }
        }
        starts.push(written.len() as u32);
        SharedKeys {
            observed,
            starts,
            written,
            table: Box::new([0; 1 << TABLE_BITS]),
            from: [0; FROM],
            ops: [0; READS_MAX],
            keys: [0; READS_MAX],
            links: [0; READS_MAX],
            count: 0,
            of_txns: [0; READS_MAX],
            of_txns_count: 0,
        }
    }

    /// Turns to a reader of at most [`READS_MAX`] operations; returns which of its reads are asked.
    pub fn begin(&mut self, reader: u32, asked: impl Fn(usize) -> bool) -> u64 {
        for &key in &self.keys[..self.count] {
            self.table[hash(key)] = 0;
        }
        for &link in &self.links[..self.count] {
            self.from[link as usize % FROM] = 0;
        }
        let (observed, history) = (self.observed, self.observed.history);
        let range = history.op_range(TxnId(reader));
        let keys = &history.ops().keys[range.clone()];
        let (mut found, mut count, mut of_txns_count) = (0u64, 0, 0);
        // What is no read is stored, too, and overwritten: nothing branches on what an operation is.
        for ((op, &link), key) in range.clone().zip(&observed.links[range]).zip(keys) {
            let is_read = Link::is_txn(link) | (link == Link::INITIAL);
            let bit = u64::from(is_read) << count;
            found |= if asked(op) { bit } else { 0 };
            self.table[hash(key.0)] |= bit;
            self.from[link as usize % FROM] |= bit;
            self.ops[count] = op as u32;
            self.keys[count] = key.0;
            self.links[count] = link;
            self.of_txns[of_txns_count] = count as u32;
            count += usize::from(is_read);
            of_txns_count += usize::from(Link::is_txn(link));
        }
        self.count = count;
        self.of_txns_count = of_txns_count;
        found
    }

    /// Visits each transaction that the reader read from together with the reads among these whose
    /// keys it writes, other than those that it answered. Only reads behind the first from the transaction, if
    /// `in_turn`.
    #[inline]
    pub fn pairs(&self, asked: u64, in_turn: bool, mut visit: impl FnMut(Pair)) {
        for &at in &self.of_txns[..self.of_txns_count] {
            let txn = self.links[at as usize];
            let own = self.reads_from(txn);
            let is_first = own & ((1 << at) - 1) == 0;
            let later = if in_turn { u64::MAX << at } else { u64::MAX };
            let wanted = asked & later & !own;
            if !is_first | (wanted == 0) {
                continue;
            }
            self.shared(txn, wanted, |read| {
                let key = self.keys[read];
                visit(Pair {
                    from: txn,
                    to: self.links[read],
                    read: self.ops[read],
                    of_other_key: bits(own).any(|other| self.keys[other] != key),
                });
            });
        }
    }

    /// The reads from a transaction, at least one.
    #[inline]
    fn reads_from(&self, txn: u32) -> u64 {
        let may_be = self.from[txn as usize % FROM];
        if may_be.is_power_of_two() {
            return may_be;
        }
        let is_from = |&read: &usize| self.links[read] == txn;
        bits(may_be)
            .filter(is_from)
            .fold(0, |all, read| all | 1 << read)
    }

    /// Visits the wanted reads whose keys a transaction writes.
    #[inline]
    fn shared(&self, txn: u32, wanted: u64, mut visit: impl FnMut(usize)) {
        let range = self.starts[txn as usize] as usize..self.starts[txn as usize + 1] as usize;
        let written = &self.written[range];
        if written.len() > LARGE {
            for read in bits(wanted) {
                if written.binary_search(&self.keys[read]).is_ok() {
                    visit(read);
                }
            }
            return;
        }
        let may_be = written
            .iter()
            .fold(0, |all, &key| all | self.table[hash(key)]);
        if may_be & wanted == 0 {
            return;
        }
        for &key in written {
            for read in bits(self.table[hash(key)] & wanted) {
                if self.keys[read] == key {
                    visit(read);
                }
            }
        }
    }
}

/// The places of the bits of a word.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (word != 0).then_some(word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        place
    })
}
