//! Who counts and who may have served a read, where nothing was chosen.

use super::conflicts::Chosen;
use super::shape::Shape;
use crate::observe::{AmbiguousRead, Link, Observed};
use history::{OpId, OpKind, Status, TxnId};

/// No choice made: transactions count as observed, any possible writer will do.
pub struct Settled<'a> {
    pub observed: &'a Observed<'a>,
}

impl Chosen for Settled<'_> {
    fn counts(&self, txn: u32) -> bool {
        self.observed.taken[txn as usize]
    }

    fn may_read(&self, ambiguous: u32, writer: u32) -> bool {
        let read = &self.observed.ambiguous[ambiguous as usize];
        let is_listed = read.writers.binary_search(&TxnId(writer)).is_ok();
        is_listed || self.observed.lacks_writers && self.wrote_what_was_read(read, writer)
    }
}

impl Settled<'_> {
    /// Whether a transaction that counts wrote the value of a read; not all are listed.
    fn wrote_what_was_read(&self, read: &AmbiguousRead, writer: u32) -> bool {
        let ops = self.observed.history.ops();
        let is_register = ops.kinds[read.op.index()] == OpKind::Read;
        if !is_register || !Link::is_txn(writer) || writer == read.reader.0 {
            return false;
        }
        let write = self
            .observed
            .write_to(TxnId(writer), ops.keys[read.op.index()]);
        let same = |op: OpId| ops.values[op.index()] == ops.values[read.op.index()];
        write.is_some_and(same)
    }
}

/// The events of indeterminate transactions that may have served an ambiguous read.
pub fn optional_events(observed: &Observed<'_>, shape: Shape) -> Vec<u32> {
    let mut is_optional = vec![false; observed.history.txn_count()];
    if !observed.statuses.contains(&Status::Indeterminate) {
        return Vec::new();
    }
    let writers = observed.ambiguous.iter().flat_map(|read| &*read.writers);
    let is_open = |txn: &TxnId| !observed.taken[txn.index()];
    let mut work: Vec<TxnId> = writers.copied().filter(is_open).collect();
    while let Some(txn) = work.pop() {
        if observed.taken[txn.index()] || is_optional[txn.index()] {
            continue;
        }
        is_optional[txn.index()] = true;
        work.extend(observed.reads(txn).map(|(_, _, writer)| writer));
    }
    let optional = (0..is_optional.len() as u32).filter(|&txn| is_optional[txn as usize]);
    let mut events: Vec<u32> = optional
        .flat_map(|txn| [shape.start(txn), shape.commit(txn)])
        .collect();
    events.dedup();
    events
}
