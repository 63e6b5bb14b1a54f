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
use std::collections::HashMap;

/// A write of a version in question.
#[derive(Clone, Copy)]
struct Candidate {
    txn: TxnId,
    op: OpId,
}

type Versions = HashMap<(u32, u32), Vec<Candidate>>;

/// Settles every unsettled read.
pub(super) fn settle(observed: &mut Observed<'_>, unsettled: Unsettled) {
    if unsettled.reads.is_empty() {
        return;
    }
    let versions = versions_in_question(observed, &unsettled);
    for (op, reader) in unsettled.reads {
        let key = observed.history.ops().keys[op as usize].0;
        let value = observed.values[op as usize].0;
        let writes = &versions[&(key, value)];
        settle_read(observed, OpId(op), reader, writes);
    }
}

fn versions_in_question(observed: &Observed<'_>, unsettled: &Unsettled) -> Versions {
    let history = observed.history;
    let ops = history.ops();
    let mut versions: Versions = HashMap::new();
    for &(op, _) in &unsettled.reads {
        let version = (ops.keys[op as usize].0, observed.values[op as usize].0);
        versions.entry(version).or_default();
    }
    for txn in history.txn_ids() {
        for op in history.op_range(txn).filter(|&op| ops.kinds[op].is_write()) {
            if let Some(writes) = versions.get_mut(&(ops.keys[op].0, ops.values[op].0)) {
                writes.push(Candidate {
                    txn,
                    op: OpId(op as u32),
                });
            }
        }
    }
    versions
}

fn settle_read(observed: &mut Observed<'_>, read: OpId, reader: TxnId, writes: &[Candidate]) {
    let history = observed.history;
    let may_commit = |write: &&Candidate| history.status(write.txn) != Status::Aborted;
    let foreign: Vec<&Candidate> = writes.iter().filter(|write| write.txn != reader).collect();
    let mut writers: Vec<TxnId> = foreign
        .iter()
        .copied()
        .filter(may_commit)
        .filter(|write| observed.links[write.op.index()] == Link::WRITE)
        .map(|write| write.txn)
        .collect();
    writers.dedup();
    if let [writer] = writers[..] {
        observed.links[read.index()] = writer.0;
        return;
    }
    if !writers.is_empty() {
        observed.links[read.index()] = Link::AMBIGUOUS;
        observed.ambiguous.push(AmbiguousRead {
            op: read,
            reader,
            writers,
        });
        return;
    }
    observed.links[read.index()] = Link::SKIP;
    let (kind, ops) = if let Some(write) = foreign.iter().copied().find(may_commit) {
        let key = history.op(write.op).key;
        let last = observed
            .write_to(write.txn, key)
            .expect("an overwritten write has a last one");
        (AnomalyKind::IntermediateRead, vec![write.op, last, read])
    } else if let Some(write) = foreign.first() {
        (AnomalyKind::AbortedRead, vec![write.op, read])
    } else if let Some(write) = writes.iter().find(|write| write.op > read) {
        (AnomalyKind::FutureRead, vec![read, write.op])
    } else {
        (AnomalyKind::ThinAirRead, vec![read])
    };
    observed.read_anomalies.push(ReadAnomaly {
        kind,
        txn: reader,
        ops,
    });
}
