//! Who counts and who may have served a read, where nothing was chosen.

use super::conflicts::Chosen;
use crate::observe::{AmbiguousRead, Link, Observed};
use history::{OpId, OpKind, TxnId};

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
