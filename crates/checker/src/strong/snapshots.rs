//! Which snapshots explain what a transaction read, where a read may have several writers and the order of
//! commits is given.
//!
//! Definition: a snapshot is a number of commits. It explains a read if the last version of the key among
//! these commits has the value read. Which one a transaction took matters to no other, so there is an order
//! of all events with these commits just if each transaction has a snapshot of its own that explains its
//! reads.
//!
//! Steps: begin with the last snapshot before the commit. As long as a read is not explained, go back to
//! before the version that stands in its way.
//!
//! Cost: for each version passed, a search in the versions of each key read; 8 bytes a write. A transaction
//! for which more than [`STEPS_MAX`] are passed has none, as far as this knows. Source: ours.

use crate::observe::{Link, Observed};
use history::{TxnId, ValueCode};

/// So many versions are passed for a transaction.
const STEPS_MAX: usize = 1024;

/// The versions so far.
pub struct Snapshots<'a> {
    observed: &'a Observed<'a>,
    /// By key, how many had committed with each version, and its value.
    versions: Vec<Vec<(u32, ValueCode)>>,
}

impl<'a> Snapshots<'a> {
    pub fn new(observed: &'a Observed<'a>) -> Snapshots<'a> {
        Snapshots {
            observed,
            versions: vec![Vec::new(); observed.history.keys().limit()],
        }
    }

    /// Adds what a transaction wrote, with which so many have committed.
    pub fn commit(&mut self, txn: u32, committed: u32) {
        let ops = self.observed.history.ops();
        for (op, key) in self.observed.writes(TxnId(txn)) {
            self.versions[key.index()].push((committed, ops.values[op.index()]));
        }
    }

    /// Whether a read of a transaction has several possible writers.
    pub fn has_choice(&self, txn: u32) -> bool {
        let range = self.observed.history.op_range(TxnId(txn));
        self.observed.links[range].contains(&Link::AMBIGUOUS)
    }

    /// The last snapshot of `least` or more commits that explains the reads of a transaction, where the
    /// `committed` before it are added.
    pub fn latest(&self, txn: u32, least: u32, committed: u32) -> Option<u32> {
        let range = self.observed.history.op_range(TxnId(txn));
        let mut snapshot = committed;
        for _ in 0..STEPS_MAX {
            let obstacle = range.clone().find_map(|op| self.obstacle(op, snapshot));
            let Some(version) = obstacle else {
                return Some(snapshot);
            };
            snapshot = version.checked_sub(1).filter(|&before| before >= least)?;
        }
        None
    }

    /// With how many commits the version came that keeps a snapshot from explaining an operation, if any does: 0 for
    /// the initial version.
    fn obstacle(&self, op: usize, snapshot: u32) -> Option<u32> {
        let ops = self.observed.history.ops();
        let link = self.observed.links[op];
        let is_read = Link::is_txn(link) | (link == Link::INITIAL) | (link == Link::AMBIGUOUS);
        if !is_read {
            return None;
        }
        let versions = &self.versions[ops.keys[op].index()];
        let count = versions.partition_point(|&(committed, _)| committed <= snapshot);
        match versions[..count].last() {
            None => (link != Link::INITIAL).then_some(0),
            Some(&(committed, value)) => {
                let fits = link != Link::INITIAL && value == ops.values[op];
                (!fits).then_some(committed)
            }
        }
    }
}
