//! Who read and who wrote a version.
//!
//! Cost: one pass over the operations for each table; a transaction with many operations is indexed
//! once, so that finding one of its writes never costs its length.

use crate::observe::{Link, Observed, Placed};
use history::TxnId;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Transactions with more operations than this are indexed by key.
const SCANNED_MAX: u32 = 32;

/// Finds the write of a transaction to a key.
pub struct Writes<'a> {
    observed: &'a Observed<'a>,
    large: FxHashMap<(u32, u32), u32>,
}

impl<'a> Writes<'a> {
    pub fn new(observed: &'a Observed<'a>) -> Writes<'a> {
        let mut large = FxHashMap::default();
        for (txn, row) in observed.history.txns().iter().enumerate() {
            if row.op_count > SCANNED_MAX {
                for (op, key) in observed.writes(TxnId(txn as u32)) {
                    large.insert((txn as u32, key.0), op.0);
                }
            }
        }
        Writes { observed, large }
    }

    /// The last write of `txn` to `key`.
    #[inline]
    pub fn find(&self, txn: u32, key: u32) -> Option<u32> {
        let history = self.observed.history;
        self.find_among(TxnId(txn), history.op_range(TxnId(txn)), key)
    }

    /// The same for a transaction whose operations have been looked up.
    #[inline]
    pub fn find_in(&self, placed: Placed, key: u32) -> Option<u32> {
        self.find_among(placed.txn, placed.ops(), key)
    }

    #[inline]
    fn find_among(&self, txn: TxnId, mut ops: Range<usize>, key: u32) -> Option<u32> {
        if ops.len() > SCANNED_MAX as usize {
            return self.large.get(&(txn.0, key)).copied();
        }
        let keys = &self.observed.history.ops().keys;
        ops.find(|&op| keys[op].0 == key && self.observed.links[op] == Link::WRITE)
            .map(|op| op as u32)
    }
}

/// By write, how many reads returned its version; and by key, how many returned the initial one.
pub struct ReaderCounts {
    pub by_write: Vec<u32>,
    pub of_initial: Vec<u32>,
}

impl ReaderCounts {
    pub fn new(observed: &Observed<'_>, writes: &Writes<'_>) -> ReaderCounts {
        let history = observed.history;
        let mut counts = ReaderCounts {
            by_write: vec![0; history.op_count()],
            of_initial: vec![0; history.keys().limit()],
        };
        for (txn, row) in history.txns().iter().enumerate() {
            if !observed.taken[txn] {
                continue;
            }
            let start = row.ops_start as usize;
            for op in start..start + row.op_count as usize {
                let (link, key) = (observed.links[op], history.ops().keys[op]);
                if link == Link::INITIAL {
                    counts.of_initial[key.index()] += 1;
                } else if Link::is_txn(link)
                    && let Some(write) = writes.find(link, key.0)
                {
                    counts.by_write[write as usize] += 1;
                }
            }
        }
        counts
    }
}

/// By transaction, the reads that returned one of its versions, with the reader.
pub struct Readers {
    starts: Vec<u32>,
    reads: Vec<(u32, u32)>,
}

impl Readers {
    pub fn new(observed: &Observed<'_>) -> Readers {
        let txn_count = observed.history.txn_count();
        let mut starts = vec![0u32; txn_count + 1];
        each_read(observed, |_, _, writer| starts[writer as usize + 1] += 1);
        for txn in 0..txn_count {
            starts[txn + 1] += starts[txn];
        }
        let mut next = starts.clone();
        let mut reads = vec![(0, 0); starts[txn_count] as usize];
        each_read(observed, |reader, op, writer| {
            let place = &mut next[writer as usize];
            reads[*place as usize] = (op, reader);
            *place += 1;
        });
        Readers { starts, reads }
    }

    /// The reads of a transaction's versions: operation and reader.
    #[inline]
    pub fn of(&self, txn: u32) -> &[(u32, u32)] {
        let range = self.starts[txn as usize] as usize..self.starts[txn as usize + 1] as usize;
        &self.reads[range]
    }
}

/// Calls with the reader, the operation and the writer of every settled read of a taken
/// transaction from another one.
fn each_read(observed: &Observed<'_>, mut call: impl FnMut(u32, u32, u32)) {
    for txn in observed.history.txn_ids() {
        if observed.taken[txn.index()] {
            for (op, _, writer) in observed.reads(txn) {
                call(txn.0, op.0, writer.0);
            }
        }
    }
}

/// By key, its writers and the reads of its versions.
pub struct Versions {
    writer_starts: Vec<u32>,
    writers: Vec<u32>,
    read_starts: Vec<u32>,
    /// Reader and writer; [`Link::INITIAL`] for the initial version.
    reads: Vec<(u32, u32)>,
}

impl Versions {
    pub fn new(observed: &Observed<'_>) -> Versions {
        let key_limit = observed.history.keys().limit();
        let (mut writes, mut reads) = (Vec::new(), Vec::new());
        for txn in observed.history.txn_ids() {
            if !observed.taken[txn.index()] {
                continue;
            }
            for op in observed.history.op_range(txn) {
                let (link, key) = (observed.links[op], observed.history.ops().keys[op].0);
                if link == Link::WRITE {
                    writes.push((key, txn.0));
                } else if Link::is_txn(link) || link == Link::INITIAL {
                    reads.push((key, (txn.0, link)));
                }
            }
        }
        let (writer_starts, writers) = grouped(&writes, key_limit);
        let (read_starts, reads) = grouped(&reads, key_limit);
        Versions {
            writer_starts,
            writers,
            read_starts,
            reads,
        }
    }

    pub fn keys(&self) -> std::ops::Range<u32> {
        0..self.writer_starts.len() as u32 - 1
    }

    pub fn writers(&self, key: u32) -> &[u32] {
        let at = |key: u32| self.writer_starts[key as usize] as usize;
        &self.writers[at(key)..at(key + 1)]
    }

    /// Reader and writer of each read.
    pub fn reads(&self, key: u32) -> &[(u32, u32)] {
        let at = |key: u32| self.read_starts[key as usize] as usize;
        &self.reads[at(key)..at(key + 1)]
    }

    /// How many pairs there are of a writer and a reader or another writer of the same key.
    pub fn pairs(&self) -> usize {
        let of_key = |key: u32| {
            let writers = self.writers(key).len();
            writers.saturating_mul(writers + self.reads(key).len())
        };
        self.keys().map(of_key).fold(0, usize::saturating_add)
    }
}

/// The second halves of pairs by the first, and where those of each begin.
fn grouped<T: Copy + Default>(pairs: &[(u32, T)], limit: usize) -> (Vec<u32>, Vec<T>) {
    let mut starts = vec![0u32; limit + 1];
    for &(key, _) in pairs {
        starts[key as usize + 1] += 1;
    }
    for key in 0..limit {
        starts[key + 1] += starts[key];
    }
    let mut next = starts.clone();
    let mut grouped = vec![T::default(); pairs.len()];
    for &(key, item) in pairs {
        grouped[next[key as usize] as usize] = item;
        next[key as usize] += 1;
    }
    (starts, grouped)
}
