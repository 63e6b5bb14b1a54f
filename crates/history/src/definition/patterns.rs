//! The anomalies of the C4 paper (its patterns TAP-a to TAP-l), as definitions.
//!
//! With CO = (so ∪ wr)+ and AO the closure of CO and of all t2 → t1 such that some t3 reads x from
//! t1, t2 writes x, and t2 CO t3: a history is causally consistent iff none of these is present.
//! For such t1, t2, t3 (t1 not initial) the paper tells apart, first match first: t1 CO t2, which
//! is a fractured read if t3 also reads another key from t2, else a causality violation; and
//! t1 AO t2, which is a fractured read conflict or a conflicting order in the same way. If t1 is
//! the initial transaction it is an initial read, whatever AO says.
//!
//! Where we differ: not-my-last-write is split off not-my-own-write, as in Plume; lost-update,
//! which is no causal anomaly, is reported as well.

use super::execution::{Execution, INITIAL, ReadFrom};
use super::interpretation;
use super::observation::{Observation, observations, possible_writers};
use super::scope::{self, OutOfScope};
use crate::AnomalyKind::{self, *};
use crate::{History, Initial, KeyOrder, OpKind, Status, TxnId};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Which anomalies the history contains, by the definitions of the C4 paper. Takes histories of
/// registers, without indeterminate transactions and without values written twice to a key.
pub fn patterns(history: &History, initial: &Initial) -> Result<BTreeSet<AnomalyKind>, OutOfScope> {
    scope::check(history)?;
    let mut written = BTreeSet::new();
    for index in 0..history.op_count() {
        let op = history.op(crate::OpId(index as u32));
        let again = op.kind == OpKind::Write && !written.insert((op.key, op.value));
        if again || !scope::is_register(op.kind) {
            return Err(OutOfScope::NoPatterns);
        }
    }
    if history
        .txns()
        .iter()
        .any(|txn| txn.status == Status::Indeterminate)
    {
        return Err(OutOfScope::NoPatterns);
    }
    let mut found = impossible_reads(history, initial);
    interpretation::for_each(history, initial, KeyOrder::Free, &mut |execution| {
        found.extend(order_patterns(execution));
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// TAP-a to TAP-e.
fn impossible_reads(history: &History, initial: &Initial) -> BTreeSet<AnomalyKind> {
    let taken: Vec<TxnId> = history
        .txn_ids()
        .filter(|&txn| history.status(txn) == Status::Committed)
        .collect();
    let mut found = BTreeSet::new();
    for &txn in &taken {
        for observation in observations(history, txn) {
            match observation {
                Observation::Own(kind) => found.extend([kind]),
                Observation::External(read) => {
                    found.extend(possible_writers(history, initial, &taken, txn, read).err())
                }
            }
        }
    }
    found
}

/// TAP-f to TAP-l, and lost updates.
fn order_patterns(execution: &Execution) -> BTreeSet<AnomalyKind> {
    let mut found = BTreeSet::new();
    if execution.has_non_repeatable_read {
        found.insert(NonRepeatableRead);
    }
    if execution.has_lost_update() {
        found.insert(LostUpdate);
    }
    let happens_before = execution.so.union(execution.wr);
    if !happens_before.is_acyclic() {
        found.insert(CyclicCausality);
    }
    let co = happens_before.closure();
    let triples: Vec<(&ReadFrom, usize)> = execution
        .reads
        .iter()
        .flat_map(|read| {
            execution
                .writers(read.key)
                .iter()
                .map(move |&t2| (read, t2))
        })
        .filter(|&(read, t2)| t2 != read.writer && t2 != read.reader)
        .filter(|&(read, t2)| co.contains(t2, read.reader))
        .collect();
    let mut ao = co;
    for (read, t2) in triples.iter().filter(|(read, _)| read.writer != INITIAL) {
        ao.insert(*t2, read.writer);
    }
    let ao = ao.closure();
    for (read, t2) in triples {
        let t1 = read.writer;
        let reads_other_key_from_t2 = execution.reads.iter().any(|other| {
            other.reader == read.reader && other.writer == t2 && other.key != read.key
        });
        found.extend(match (reads_other_key_from_t2, read.writer) {
            (_, INITIAL) => Some(InitialRead),
            (true, _) if co.contains(t1, t2) => Some(FracturedRead),
            (false, _) if co.contains(t1, t2) => Some(CausalityViolation),
            (true, _) if ao.contains(t1, t2) => Some(FracturedReadConflict),
            (false, _) if ao.contains(t1, t2) => Some(ConflictingOrder),
            _ => None,
        });
    }
    found
}
