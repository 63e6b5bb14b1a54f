//! What a strong level asks of the order of events.
//!
//! A transaction is two events, its start S and its commit C. Session order, real-time order and
//! reads put a commit before a start; a read of an overwritten version puts the reader's start
//! before the overwriter's commit. The levels differ in what they make of these:
//!
//! | family | events | a version before another | sessions | real time |
//! |---|---|---|---|---|
//! | serializable | S = C | C before C | not in the plain one | in the strict one |
//! | snapshot isolation | S, then C | C before S: no two writers of a key overlap | same | in the strong one |
//! | prefix | S, then C | C before C | yes | no |
//! | parallel snapshot isolation | S = C | C before C; see `parallel` | not in the non-monotonic one | no |
//!
//! Source: the event form of Cerone & Gotsman's characterizations (JACM 2018).

use history::Level;

/// The form of a strong level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Start and commit are two events.
    pub split: bool,
    /// Of two writers of a key, one must have committed before the other starts.
    pub exclusive: bool,
    /// Session order counts.
    pub sessions: bool,
    /// Real-time order counts.
    pub real_time: bool,
    /// Only dependencies are ordered; a read of an overwritten version is an anomaly only if the
    /// overwriter comes before the reader by dependencies.
    pub parallel: bool,
}

impl Shape {
    /// The form of a level above causal.
    pub fn of(level: Level) -> Option<Shape> {
        use Level::*;
        let shape = |split, exclusive, sessions, real_time, parallel| {
            Some(Shape {
                split,
                exclusive,
                sessions,
                real_time,
                parallel,
            })
        };
        match level {
            Prefix => shape(true, false, true, false, false),
            NonMonotonicSnapshotIsolation => shape(false, false, false, false, true),
            ParallelSnapshotIsolation => shape(false, false, true, false, true),
            SnapshotIsolation => shape(true, true, false, false, false),
            StrongSessionSnapshotIsolation => shape(true, true, true, false, false),
            StrongSnapshotIsolation => shape(true, true, true, true, false),
            Serializable => shape(false, false, false, false, false),
            StrongSessionSerializable => shape(false, false, true, false, false),
            StrictSerializable => shape(false, false, true, true, false),
            _ => None,
        }
    }

    /// The form of the same level with session order.
    pub fn with_sessions(self) -> Shape {
        Shape {
            sessions: true,
            ..self
        }
    }

    /// The form of the same level with session order and real time.
    pub fn with_real_time(self) -> Shape {
        Shape {
            real_time: true,
            ..self.with_sessions()
        }
    }

    /// The forms of an order of commits that prove this level, the stronger one first: one of snapshots also
    /// proves the parallel levels, and one along sessions those that do not ask for it.
    pub fn suggested(self) -> impl Iterator<Item = Shape> {
        let split = |shape: Shape| Shape {
            split: true,
            exclusive: true,
            parallel: false,
            ..shape
        };
        let shape = if self.parallel { split(self) } else { self };
        let without = (!shape.sessions).then_some(shape);
        std::iter::once(shape.with_sessions()).chain(without)
    }

    /// The event at which a transaction takes its snapshot.
    #[inline]
    pub fn start(self, txn: u32) -> u32 {
        if self.split { 2 * txn } else { txn }
    }

    /// The event at which a transaction's writes take effect.
    #[inline]
    pub fn commit(self, txn: u32) -> u32 {
        if self.split { 2 * txn + 1 } else { txn }
    }

    /// How many events so many transactions have.
    pub fn events(self, txn_count: usize) -> usize {
        if self.split { 2 * txn_count } else { txn_count }
    }

    /// The transaction of an event.
    #[inline]
    pub fn txn(self, event: u32) -> u32 {
        if self.split { event / 2 } else { event }
    }

    /// Whether the event is a commit.
    #[inline]
    pub fn is_commit(self, event: u32) -> bool {
        !self.split || event % 2 == 1
    }

    /// Whether the event is a start.
    #[inline]
    pub fn is_start(self, event: u32) -> bool {
        !self.split || event.is_multiple_of(2)
    }
}
