//! Reads of counters that contradict each other, or what has to be visible to them, whichever
//! increments they saw. Every condition is worked out by a look at all increments of the key.

use super::counters::Counter;
use crate::certify::read::txn_of;
use crate::certify::{Refusal, name, require};
use crate::{Anomaly, AnomalyKind, History, Interval, KeyId, Level, OpId, Status, TxnId};
use std::collections::BTreeMap;

/// Whether an anomaly is one of counter reads, and no matter of single increments. Two reads that
/// returned the same may still be taken to have seen different increments: that is such a matter.
pub(super) fn is_direct(
    history: &History,
    counters: &BTreeMap<KeyId, Counter>,
    anomaly: &Anomaly,
) -> bool {
    let target = |op: OpId| read(history, counters, op).ok().map(|read| read.1);
    match (anomaly.kind, anomaly.ops.as_slice()) {
        (AnomalyKind::ImpossibleCount, _) => true,
        (AnomalyKind::NonRepeatableRead, &[first, second]) => {
            let targets = target(first).zip(target(second));
            targets.is_some_and(|(first, second)| first != second)
        }
        _ => false,
    }
}

/// Who precedes whom at a level.
struct Precedence<'a> {
    history: &'a History,
    level: Level,
}

impl Precedence<'_> {
    fn in_session(&self, a: TxnId, b: TxnId) -> bool {
        a < b && self.history.session_of(a) == self.history.session_of(b)
    }

    fn in_time(&self, a: TxnId, b: TxnId) -> bool {
        let times = self.history.interval(a).zip(self.history.interval(b));
        self.level.implies(Level::StrongSnapshotIsolation)
            && self.history.status(a) == Status::Committed
            && times.is_some_and(|(a, b)| a.end != Interval::NEVER && a.completion() < b.start)
    }

    /// Whether b sees what a did, if a committed.
    fn shows(&self, a: TxnId, b: TxnId) -> bool {
        self.level.implies(Level::ReadYourWrites) && self.in_session(a, b) || self.in_time(a, b)
    }

    /// Whether a cannot see what b did.
    fn hides(&self, a: TxnId, b: TxnId) -> bool {
        let by_session = [
            Level::ReadCommitted,
            Level::ReadYourWrites,
            Level::MonotonicReads,
            Level::MonotonicWrites,
            Level::WritesFollowReads,
        ];
        let by_session = by_session.iter().any(|&weak| self.level.implies(weak));
        by_session && self.in_session(a, b) || self.in_time(a, b)
    }

    /// Whether b sees whatever a saw.
    fn passes_on(&self, a: TxnId, b: TxnId) -> bool {
        self.level.implies(Level::MonotonicReads) && self.in_session(a, b) || self.in_time(a, b)
    }
}

/// Re-checks such an anomaly.
pub(super) fn check(
    history: &History,
    counters: &BTreeMap<KeyId, Counter>,
    level: Level,
    anomaly: &Anomaly,
) -> Result<(), Refusal> {
    require!(
        anomaly.count > 0 && anomaly.edges.is_empty() && anomaly.otherwise.is_empty(),
        "{} takes reads of a counter as evidence",
        anomaly.kind
    );
    let mut reads = Vec::new();
    for &op in &anomaly.ops {
        reads.push(read(history, counters, op)?);
    }
    let precedence = Precedence { history, level };
    let proved = match (anomaly.kind, reads.as_slice()) {
        (AnomalyKind::NonRepeatableRead, [(a, first), (b, second)]) => {
            let repeatable = level.implies(Level::ReadAtomic)
                || level.implies(Level::NonMonotonicSnapshotIsolation);
            let same_key = history.op(anomaly.ops[0]).key == history.op(anomaly.ops[1]).key;
            repeatable && same_key && a == b && first != second
        }
        (AnomalyKind::ImpossibleCount, &[(reader, target)]) => {
            let counter = &counters[&history.op(anomaly.ops[0]).key];
            is_out_of_bounds(&precedence, counter, reader, target)
        }
        (AnomalyKind::ImpossibleCount, &[(a, first), (b, second)]) => {
            let key = history.op(anomaly.ops[0]).key;
            key == history.op(anomaly.ops[1]).key
                && goes_back(&precedence, &counters[&key], (a, first), (b, second))
        }
        _ => false,
    };
    require!(
        proved,
        "{} proves no {} at {level}",
        history.op_text(*anomaly.ops.last().unwrap_or(&OpId(0))),
        anomaly.kind
    );
    Ok(())
}

/// The committed reader of a counter, and what others have to sum up to.
fn read(
    history: &History,
    counters: &BTreeMap<KeyId, Counter>,
    op: OpId,
) -> Result<(TxnId, i128), Refusal> {
    let reader = txn_of(history, op);
    let reader = reader.filter(|&txn| history.status(txn) == Status::Committed);
    let Some(reader) = reader else {
        return Err(Refusal::new(format!(
            "operation number {} belongs to no transaction that committed",
            op.0
        )));
    };
    let counter = counters.get(&history.op(op).key);
    let mut reads = counter.iter().flat_map(|counter| &counter.reads);
    match reads.find(|read| read.1 == op) {
        Some(&(_, _, target)) => Ok((reader, target)),
        None => Err(Refusal::new(format!(
            "operation number {} of {} reads no counter",
            op.0,
            name(history, reader)
        ))),
    }
}

fn is_out_of_bounds(
    precedence: &Precedence<'_>,
    counter: &Counter,
    reader: TxnId,
    target: i128,
) -> bool {
    let (mut least, mut greatest) = (0, 0);
    for (&txn, &total) in &counter.totals {
        let is_certain = precedence.history.status(txn) == Status::Committed;
        if txn == reader {
            continue;
        }
        let must = is_certain && precedence.shows(txn, reader);
        match (must, precedence.hides(reader, txn)) {
            // A session against the clock: whatever the read returned, it is not what it should have seen.
            (true, true) => return true,
            (false, true) => continue,
            (_, false) => {}
        }
        least += if must { total } else { total.min(0) };
        greatest += if must { total } else { total.max(0) };
    }
    !(least..=greatest).contains(&target)
}

/// Whether the second read must have seen all that the first one's transaction saw, and yet less.
fn goes_back(
    precedence: &Precedence<'_>,
    counter: &Counter,
    (a, first): (TxnId, i128),
    (b, second): (TxnId, i128),
) -> bool {
    let own = counter.totals.get(&a).copied().unwrap_or(0);
    let own = if precedence.shows(a, b) { own } else { 0 };
    let grows = counter.totals.values().all(|&total| total > 0);
    let shrinks = counter.totals.values().all(|&total| total < 0);
    precedence.passes_on(a, b) && (grows && second < first + own || shrinks && second > first + own)
}
