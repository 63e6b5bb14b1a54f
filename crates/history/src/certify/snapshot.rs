//! Orders of snapshots: serializability, snapshot isolation, prefix.
//!
//! **Definition.** Transaction i of the order commits i-th, and sees what the first `snapshots[i]`
//! transactions committed (all before it, where the evidence has no snapshots). An order proves a
//! level if every external read returns the last version of its key in the snapshot, and
//! - snapshot isolation: nobody who committed after the snapshot was taken, and before the
//!   transaction, wrote a key that it writes (the first committer wins);
//! - serializability: the snapshot is everything committed before;
//! - prefix: nothing else;
//! - where session order counts: the snapshot contains all transactions before it in the session;
//! - where real time counts: the snapshot contains all that had ended before it began.
//!
//! These are the conditions on the events start and commit whose cycles docs/levels.md forbids: a
//! dependency (so, rt, wr; ww too but for prefix) leads from a commit to a start, rw from a start to
//! a commit.
//!
//! **Steps.** The transactions are sorted by snapshot, by counting. A walk over the order lets all
//! those read whose snapshot ends here, and then the next one commit; one table by key holds the
//! last writer.
//!
//! **Cost.** Linear.

use super::order::Order;
use super::walk::Walker;
use super::{Refusal, name, require};
use crate::{CommitOrder, History, Initial, Interval, Level, Status, TxnId};

/// What a level demands of snapshots.
struct Demands {
    /// Everything committed before is seen.
    serial: bool,
    /// The first committer wins.
    first_committer: bool,
    sessions: bool,
    real_time: bool,
}

fn demands(level: Level) -> Demands {
    Demands {
        serial: level.implies(Level::Serializable),
        first_committer: level.implies(Level::SnapshotIsolation),
        sessions: level.implies(Level::Prefix),
        real_time: level.implies(Level::StrongSnapshotIsolation),
    }
}

/// Whether evidence for the level is an order of snapshots.
pub(super) fn takes_snapshots(level: Level) -> bool {
    level.implies(Level::SnapshotIsolation) || level.implies(Level::Prefix)
}

/// Re-checks an order as evidence for a level that takes snapshots.
pub(super) fn check(
    history: &History,
    initial: &Initial,
    level: Level,
    order: &Order<'_>,
    evidence: &CommitOrder,
) -> Result<(), Refusal> {
    let demands = demands(level);
    let snapshots = snapshots_of(history, order, evidence, &demands)?;
    if demands.sessions {
        check_sessions(history, order, &snapshots)?;
    }
    if demands.real_time {
        check_real_time(history, order, &snapshots)?;
    }
    let by_snapshot = sorted_by_snapshot(&snapshots);
    let mut readers = by_snapshot.iter().peekable();
    let mut walker = Walker::new(history, initial, order, evidence, level);
    for (index, &txn) in order.txns.iter().enumerate() {
        while let Some(&reader) = readers.next_if(|&&i| snapshots[i as usize] as usize <= index) {
            walker.read(order.txns[reader as usize])?;
            refuse_stale(history, &walker)?;
        }
        if demands.first_committer {
            check_first_committer(history, order, &walker, txn, snapshots[index])?;
        }
        walker.commit(txn);
    }
    walker.finish().map(drop)
}

/// How many of the order each transaction sees.
fn snapshots_of(
    history: &History,
    order: &Order<'_>,
    evidence: &CommitOrder,
    demands: &Demands,
) -> Result<Vec<u32>, Refusal> {
    let count = order.txns.len();
    if evidence.snapshots.is_empty() {
        return Ok((0..count as u32).collect());
    }
    require!(
        evidence.snapshots.len() == count,
        "the order has {count} transactions and {} snapshots",
        evidence.snapshots.len()
    );
    for (index, (&txn, &snapshot)) in order.txns.iter().zip(&evidence.snapshots).enumerate() {
        require!(
            snapshot as usize <= index,
            "{} sees {snapshot} transactions, but only {index} committed before it",
            name(history, txn)
        );
        require!(
            !demands.serial || snapshot as usize == index,
            "{} does not see everything that committed before it",
            name(history, txn)
        );
    }
    Ok(evidence.snapshots.clone())
}

/// Every transaction sees the one before it in its session, and so all of them.
fn check_sessions(history: &History, order: &Order<'_>, snapshots: &[u32]) -> Result<(), Refusal> {
    for session in history.sessions() {
        let txns = history.session_txns(session).map(TxnId);
        let mut last = None;
        for txn in txns.filter(|&txn| order.takes(txn)) {
            let snapshot = snapshots[order.place(txn) as usize - 1];
            if let Some(before) = last.filter(|&before| order.place(before) > snapshot) {
                return Err(Refusal::new(format!(
                    "{} does not see {}, which precedes it in its session",
                    name(history, txn),
                    name(history, before)
                )));
            }
            last = Some(txn);
        }
    }
    Ok(())
}

/// Nobody who ended before a transaction began is missing in its snapshot.
fn check_real_time(history: &History, order: &Order<'_>, snapshots: &[u32]) -> Result<(), Refusal> {
    if !history.has_intervals() {
        return Ok(());
    }
    const NOBODY: u32 = u32::MAX;
    let end_at = |index: u32| match order.txns.get(index as usize) {
        Some(&txn) => end_of(history, txn).unwrap_or(i64::MAX),
        None => i64::MAX,
    };
    // The two that ended first of those from a place on; the second matters to the first only.
    let mut earliest = vec![[NOBODY; 2]; order.txns.len() + 1];
    for index in (0..order.txns.len()).rev() {
        let [first, second] = earliest[index + 1];
        let (this, end) = (index as u32, end_at(index as u32));
        earliest[index] = if end < end_at(first) {
            [this, first]
        } else if end < end_at(second) {
            [first, this]
        } else {
            [first, second]
        };
    }
    for (&txn, &snapshot) in order.txns.iter().zip(snapshots) {
        let start = history.interval(txn).map_or(i64::MIN, |time| time.start);
        let ended =
            |other: &TxnId| *other != txn && end_of(history, *other).is_some_and(|end| end < start);
        let missing = earliest[snapshot as usize]
            .iter()
            .filter_map(|&index| order.txns.get(index as usize).copied())
            .find(ended);
        if let Some(other) = missing {
            return Err(Refusal::new(format!(
                "{} does not see {}, which had ended before it began",
                name(history, txn),
                name(history, other)
            )));
        }
    }
    Ok(())
}

/// When a transaction had ended for sure; one whose client heard nothing may still be under way.
fn end_of(history: &History, txn: TxnId) -> Option<i64> {
    let interval = history.interval(txn)?;
    let ended = history.status(txn) == Status::Committed && interval.end != Interval::NEVER;
    ended.then_some(interval.completion())
}

/// The places (from 0) in order of their snapshots.
fn sorted_by_snapshot(snapshots: &[u32]) -> Vec<u32> {
    let mut next = vec![0u32; snapshots.len() + 1];
    for &snapshot in snapshots {
        next[snapshot as usize + 1] += 1;
    }
    for index in 1..next.len() {
        next[index] += next[index - 1];
    }
    let mut sorted = vec![0u32; snapshots.len()];
    for (index, &snapshot) in snapshots.iter().enumerate() {
        let place = &mut next[snapshot as usize];
        sorted[*place as usize] = index as u32;
        *place += 1;
    }
    sorted
}

fn refuse_stale(history: &History, walker: &Walker<'_>) -> Result<(), Refusal> {
    let Some(read) = walker.stale().first() else {
        return Ok(());
    };
    Err(Refusal::new(format!(
        "{} of {} did not return the last version in its snapshot, which is that of {}",
        history.op_text(read.op),
        name(history, read.reader),
        name(history, walker.last_writer(read.key))
    )))
}

fn check_first_committer(
    history: &History,
    order: &Order<'_>,
    walker: &Walker<'_>,
    txn: TxnId,
    snapshot: u32,
) -> Result<(), Refusal> {
    let ops = history.ops();
    for index in history.op_range(txn).filter(|&i| ops.kinds[i].is_write()) {
        let last = walker.last_writer(ops.keys[index]);
        require!(
            order.place(last) <= snapshot,
            "{} and {} both write {}, and neither sees the other",
            name(history, last),
            name(history, txn),
            history.key_name(ops.keys[index])
        );
    }
    Ok(())
}
