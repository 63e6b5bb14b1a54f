//! Builds a [`History`], one transaction after another, in any order of sessions.

use crate::history::{Lists, Ops, Txn};
use crate::shared_lists::{NumberHasher, SharedLists};
use crate::{
    History, Interval, KeyId, KeyTable, Op, OpId, SessionId, Status, Value, ValueCode, ValueTable,
};
use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasherDefault;

/// A history larger than the columns can number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TooLarge;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a history holds at most 4 294 967 000 operations and 2 147 483 000 transactions",
        )
    }
}

impl std::error::Error for TooLarge {}

/// Operations a history has at most; their numbers fit 32 bits and leave some codes free.
pub(crate) const OPS_MAX: usize = 4_294_967_000;
const TXNS_MAX: usize = 2_147_483_000;

/// Collects transactions and numbers them session by session at the end.
#[derive(Default, Debug)]
pub struct Builder {
    session_ids: HashMap<i64, u32, BuildHasherDefault<NumberHasher>>,
    session_labels: Vec<i64>,
    txns: Vec<Txn>,
    intervals: Vec<Interval>,
    /// Operation columns; a fast reader may fill them itself before [`Builder::end_txn`].
    pub ops: Ops,
    /// Key names; a fast reader may replace the table by a dense one.
    pub keys: KeyTable,
    /// Value codes.
    pub values: ValueTable,
    /// List and set reads.
    pub lists: Lists,
    recorded: Vec<(OpId, u64)>,
    /// Which of them a key's next list may share its elements with.
    pub(crate) shared: SharedLists,
}

impl Builder {
    /// An empty history to add to.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// A history whose rows and operations a fast reader collected itself; sessions are numbered
    /// by their place in `session_labels`, which are all different.
    pub(crate) fn from_rows(
        session_labels: Vec<i64>,
        txns: Vec<Txn>,
        ops: Ops,
    ) -> Result<Builder, TooLarge> {
        if ops.len() > OPS_MAX || txns.len() > TXNS_MAX {
            return Err(TooLarge);
        }
        Ok(Builder {
            session_labels,
            txns,
            ops,
            ..Builder::default()
        })
    }

    /// The session that the file calls `label`; sessions are numbered in order of first mention.
    pub fn session(&mut self, label: i64) -> SessionId {
        let labels = &mut self.session_labels;
        let id = *self.session_ids.entry(label).or_insert_with(|| {
            labels.push(label);
            (labels.len() - 1) as u32
        });
        SessionId(id)
    }

    /// The id of a key, by name.
    pub fn key(&mut self, name: &Value) -> KeyId {
        self.keys.intern(name)
    }

    /// The code of a value.
    pub fn value(&mut self, value: &Value) -> ValueCode {
        self.values.code(value)
    }

    /// Enters the list that a read of `key` returned; if it is a prefix of the longest one so far,
    /// or extends it, they share their elements. `key` may be any number that stands for the key.
    pub fn push_list(&mut self, key: KeyId, elements: &[ValueCode]) -> ValueCode {
        let slot = self.shared.slot(key.0);
        self.shared.push(&mut self.lists, slot, elements).0
    }

    /// The database gave the version that the operation pushed last read or wrote this number.
    pub fn record_version(&mut self, version: u64) {
        if let Some(last) = self.ops.len().checked_sub(1) {
            self.recorded.push((OpId(last as u32), version));
        }
    }

    /// Forgets the version numbers of operations from `ops_start` on, which were taken back.
    pub(crate) fn forget_versions(&mut self, ops_start: usize) {
        self.take_versions(ops_start);
    }

    /// Takes the numbers of all versions from the operation at `ops_start` on, with their operations.
    pub(crate) fn take_versions(&mut self, ops_start: usize) -> Vec<(usize, u64)> {
        let kept = self
            .recorded
            .partition_point(|(op, _)| op.index() < ops_start);
        let taken = self.recorded.drain(kept..);
        taken.map(|(op, version)| (op.index(), version)).collect()
    }

    /// Adds a whole transaction.
    pub fn push_txn(
        &mut self,
        session: SessionId,
        label: u64,
        status: Status,
        interval: Option<Interval>,
        ops: &[Op],
    ) -> Result<(), TooLarge> {
        let ops_start = self.ops.len();
        for op in ops {
            self.ops.push(*op);
        }
        self.end_txn(session, label, status, interval, ops_start)
    }

    /// Closes a transaction whose operations were pushed to [`Builder::ops`] from `ops_start` on.
    pub fn end_txn(
        &mut self,
        session: SessionId,
        label: u64,
        status: Status,
        interval: Option<Interval>,
        ops_start: usize,
    ) -> Result<(), TooLarge> {
        let ops_end = self.ops.len();
        if ops_end > OPS_MAX || self.txns.len() >= TXNS_MAX {
            return Err(TooLarge);
        }
        if let Some(interval) = interval {
            self.intervals.push(interval);
        }
        self.txns.push(Txn {
            session,
            label,
            ops_start: ops_start as u32,
            op_count: (ops_end - ops_start) as u32,
            status,
        });
        Ok(())
    }

    /// Gives every transaction so far its times, in the order in which they were ended.
    pub(crate) fn set_intervals(&mut self, intervals: Vec<Interval>) {
        debug_assert_eq!(intervals.len(), self.txns.len());
        self.intervals = intervals;
    }

    /// How many transactions there are so far.
    pub fn txn_count(&self) -> usize {
        self.txns.len()
    }

    /// Numbers the transactions session by session. Times are kept only if every transaction has
    /// them: a partial order by time of some transactions would say something about the others.
    pub fn finish(self) -> History {
        let mut starts = vec![0u32; self.session_labels.len() + 1];
        for txn in &self.txns {
            starts[txn.session.index() + 1] += 1;
        }
        for s in 1..starts.len() {
            starts[s] += starts[s - 1];
        }
        let timed = self.intervals.len() == self.txns.len() && !self.txns.is_empty();
        let in_order = self.txns.is_sorted_by_key(|txn| txn.session);
        let (mut txns, mut intervals) = (self.txns, self.intervals);
        if !in_order {
            if timed {
                intervals = by_session(&intervals, &txns, &starts);
            }
            txns = by_session(&txns, &txns, &starts);
        }
        let mut values = self.values;
        values.forget_table();
        History {
            session_labels: self.session_labels,
            session_starts: starts,
            txns,
            intervals: timed.then_some(intervals),
            ops: self.ops,
            keys: self.keys,
            values,
            lists: self.lists,
            recorded: self.recorded,
        }
    }
}

/// A copy of the rows session by session, in their order within a session. Reads in order and
/// writes in order for each session, which is several times faster than moving rows in place.
fn by_session<T: Copy>(rows: &[T], txns: &[Txn], starts: &[u32]) -> Vec<T> {
    let mut next = starts.to_vec();
    let mut sorted = rows.to_vec();
    for (row, txn) in rows.iter().zip(txns) {
        let place = &mut next[txn.session.index()];
        sorted[*place as usize] = *row;
        *place += 1;
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_times_move_to_their_session_together() {
        let mut builder = Builder::new();
        for (label, session) in [(0, 7), (1, 3), (2, 7), (3, 9), (4, 3)] {
            let session = builder.session(session);
            let interval = Interval {
                start: label,
                end: label + 10,
            };
            builder
                .push_txn(
                    session,
                    label as u64,
                    Status::Committed,
                    Some(interval),
                    &[],
                )
                .expect("a small history");
        }
        let history = builder.finish();
        let order: Vec<(i64, u64, i64)> = history
            .txn_ids()
            .map(|id| {
                let txn = history.txn(id);
                let start = history.interval(id).map_or(-1, |interval| interval.start);
                (history.session_label(txn.session), txn.label, start)
            })
            .collect();
        let expected = [(7, 0, 0), (7, 2, 2), (3, 1, 1), (3, 4, 4), (9, 3, 3)];
        assert_eq!(order, expected);
    }
}
