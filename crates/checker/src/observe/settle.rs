//! The reads that a plain join cannot settle: nobody wrote the value, or its writers are several,
//! aborted, indeterminate, the reader itself, or overwrote it.
//!
//! A read may return the *final* write of any committed or indeterminate transaction other than
//! its own. One such writer settles it, several make it ambiguous. With none, the read is anomalous
//! in every interpretation, and what comes nearest names the anomaly: a write that its transaction
//! overwrote, an aborted write, a later write of its own, or nothing at all.
//!
//! Cost: one scan of the writes, and a map of the versions in question.

use super::join::Unsettled;
use super::{AmbiguousRead, Link, Observed, ReadAnomaly};
use history::{AnomalyKind, OpId, Status, TxnId};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A write of a version in question.
#[derive(Clone, Copy)]
struct Candidate {
    txn: TxnId,
    op: OpId,
}

/// The writes of one value to one key.
#[derive(Default)]
struct Writes {
    /// Those that a read may return: final, and not of an aborted transaction.
    versions: Vec<Candidate>,
    others: Vec<Candidate>,
    /// The transactions of `versions`, once somebody asked.
    writers: Option<Arc<[TxnId]>>,
}

impl Writes {
    /// The transactions that a reader may have read from.
    fn writers(&mut self, reader: TxnId) -> Arc<[TxnId]> {
        let txns = self.versions.iter().map(|write| write.txn);
        let is_own = self
            .versions
            .binary_search_by_key(&reader, |write| write.txn);
        if is_own.is_ok() {
            return txns.filter(|&txn| txn != reader).collect();
        }
        self.writers.get_or_insert_with(|| txns.collect()).clone()
    }
}

/// So many writes of one version are kept; where there may be more, nothing that depends on them is called a violation.
const CANDIDATES_MAX: usize = 4096;

type Versions = FxHashMap<(u32, u32), Writes>;

/// Settles every unsettled read.
pub(super) fn settle(observed: &mut Observed<'_>, unsettled: Unsettled) {
    if unsettled.reads.is_empty() {
        return;
    }
    let mut versions = versions_in_question(observed, &unsettled);
    for (op, reader) in unsettled.reads {
        let key = observed.history.ops().keys[op as usize].0;
        let value = observed.values[op as usize].0;
        if let Some(writes) = versions.get_mut(&(key, value)) {
            settle_read(observed, OpId(op), reader, writes);
        }
    }
    observed.ambiguous.sort_unstable_by_key(|read| read.op);
}

fn versions_in_question(observed: &Observed<'_>, unsettled: &Unsettled) -> Versions {
    let history = observed.history;
    let ops = history.ops();
    let mut versions: Versions = Versions::default();
    for &(op, _) in &unsettled.reads {
        let version = (ops.keys[op as usize].0, observed.values[op as usize].0);
        versions.entry(version).or_default();
    }
    // Mostly few keys are in question, and a flag is looked up sooner than a version.
    let mut is_asked = vec![false; history.keys().limit()];
    for &(key, _) in versions.keys() {
        is_asked[key as usize] = true;
    }
    for placed in observed.file_order.iter() {
        let txn = placed.txn;
        let is_candidate = |op: &usize| ops.kinds[*op].is_write() & is_asked[ops.keys[*op].index()];
        for op in placed.ops().filter(is_candidate) {
            if let Some(writes) = versions.get_mut(&(ops.keys[op].0, ops.values[op].0)) {
                let is_version =
                    observed.links[op] == Link::WRITE && history.status(txn) != Status::Aborted;
                let kept = if is_version {
                    &mut writes.versions
                } else {
                    &mut writes.others
                };
                if kept.len() < CANDIDATES_MAX {
                    kept.push(Candidate {
                        txn,
                        op: OpId(op as u32),
                    });
                }
            }
        }
    }
    for writes in versions.values_mut() {
        writes.versions.sort_unstable_by_key(|write| write.txn);
        writes
            .others
            .sort_unstable_by_key(|write| (write.txn, write.op));
    }
    versions
}

fn settle_read(observed: &mut Observed<'_>, read: OpId, reader: TxnId, writes: &mut Writes) {
    let history = observed.history;
    let writers = writes.writers(reader);
    if let [writer] = writers[..] {
        observed.links[read.index()] = writer.0;
        return;
    }
    if !writers.is_empty() {
        observed.lacks_writers |= writers.len() + 1 >= CANDIDATES_MAX;
        observed.links[read.index()] = Link::AMBIGUOUS;
        observed.ambiguous.push(AmbiguousRead {
            op: read,
            reader,
            writers,
        });
        return;
    }
    observed.links[read.index()] = Link::SKIP;
    let is_foreign = |write: &&Candidate| write.txn != reader;
    let may_commit = |write: &&Candidate| history.status(write.txn) != Status::Aborted;
    let foreign = || writes.others.iter().filter(is_foreign);
    let own = || {
        let all = writes.versions.iter().chain(&writes.others);
        all.filter(|write| write.txn == reader)
    };
    let (kind, ops) = if let Some(write) = foreign().find(may_commit) {
        let key = history.op(write.op).key;
        let last = observed
            .write_to(write.txn, key)
            .expect("an overwritten write has a last one");
        (AnomalyKind::IntermediateRead, vec![write.op, last, read])
    } else if let Some(write) = foreign().next() {
        (AnomalyKind::AbortedRead, vec![write.op, read])
    } else if let Some(write) = own()
        .filter(|write| write.op > read)
        .min_by_key(|write| write.op)
    {
        (AnomalyKind::FutureRead, vec![read, write.op])
    } else if own().next().is_some() {
        // A list that shows an earlier own element twice; that is found with the lists.
        return;
    } else {
        (AnomalyKind::ThinAirRead, vec![read])
    };
    observed.read_anomalies.push(ReadAnomaly {
        kind,
        txn: reader,
        ops,
    });
}
