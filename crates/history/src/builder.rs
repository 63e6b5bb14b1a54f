//! Builds a [`History`], one transaction after another, in any order of sessions.

use crate::history::{Lists, Ops, Txn};
use crate::{
    History, Interval, KeyId, KeyTable, Op, SessionId, Status, TxnId, Value, ValueCode, ValueTable,
};
use std::collections::HashMap;
use std::fmt;

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

const OPS_MAX: usize = 4_294_967_000;
const TXNS_MAX: usize = 2_147_483_000;

/// Collects transactions and numbers them session by session at the end.
#[derive(Default, Debug)]
pub struct Builder {
    session_ids: HashMap<i64, u32>,
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
            by_session(&mut txns, &mut intervals, &starts, timed);
        }
        History {
            session_labels: self.session_labels,
            session_starts: starts,
            txns,
            intervals: timed.then_some(intervals),
            ops: self.ops,
            keys: self.keys,
            values: self.values,
            lists: self.lists,
        }
    }
}

/// Moves the rows to their places, session by session, keeping their order within a session.
fn by_session(txns: &mut [Txn], intervals: &mut [Interval], starts: &[u32], timed: bool) {
    let mut next = starts.to_vec();
    let mut place = Vec::with_capacity(txns.len());
    for txn in txns.iter() {
        place.push(TxnId(next[txn.session.index()]));
        next[txn.session.index()] += 1;
    }
    permute(txns, &place);
    if timed {
        permute(intervals, &place);
    }
}

/// Moves `rows[i]` to `place[i]` without a second table: each row put into its place turns out
/// another one, which is carried on.
fn permute<T: Copy>(rows: &mut [T], place: &[TxnId]) {
    let mut moved = vec![false; rows.len()];
    for start in 0..rows.len() {
        let mut carried = rows[start];
        let mut at = start;
        while !moved[at] {
            moved[at] = true;
            at = place[at].index();
            carried = std::mem::replace(&mut rows[at], carried);
        }
    }
}
