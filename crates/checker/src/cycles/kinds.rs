//! Which cycles there are, and which of them contradict which level.
//!
//! A cycle is of one *class*, by its rw edges, and of one *scope*, by the orders it needs that are
//! not in the data: none, session order, or real time. A level forbids classes up to one, in scopes
//! up to one:
//!
//! | level | class up to | scope up to |
//! |---|---|---|
//! | read-uncommitted | G0 | data |
//! | read-committed to causal | G1c | sessions |
//! | non-monotonic snapshot isolation | G-single | data |
//! | parallel snapshot isolation | G-single | sessions |
//! | prefix | G-nonadjacent, where no rw edge follows a ww edge | sessions |
//! | the snapshot-isolation levels | G-nonadjacent | data, sessions, real time |
//! | the serializable levels | G2-item | data, sessions, real time |
//!
//! The argument. In the event form of `strong::shape` every edge but rw leads from a commit (at
//! prefix, ww to a commit), and rw from a start to a commit, which comes after the start of the same
//! transaction. So a cycle of transactions is a cycle of events, which no order has, exactly if no rw
//! edge follows one that ends at a commit: another rw edge, at prefix also a ww edge. Serializable
//! levels have one event a transaction, so every cycle is one. The parallel levels order only
//! dependencies, which rules out cycles without rw, and forbid that the overwriter of a version is a
//! dependency of its reader, which is a cycle with one rw edge. Up to causal a commit order extends
//! so, wr and known ww, so those have no cycle; what else these levels forbid has names of its own
//! and is found elsewhere (`diagnose`).

use super::graph::{Kinds, RT, RW, SO, WR, WW};
use history::{AnomalyKind, Level};

/// Classes of cycles by their rw edges.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// Version orders alone.
    Versions,
    /// With a read, and no rw.
    Flow,
    /// Exactly one rw.
    Single,
    /// Several rw, no two in a row.
    Nonadjacent,
    /// Two rw in a row.
    Adjacent,
}

impl Class {
    pub const ALL: [Class; 5] = [
        Class::Versions,
        Class::Flow,
        Class::Single,
        Class::Nonadjacent,
        Class::Adjacent,
    ];

    /// The kinds of edges, besides those of a scope, that such a cycle may have.
    pub fn kinds(self) -> Kinds {
        match self {
            Class::Versions => WW,
            Class::Flow => WW | WR,
            Class::Single | Class::Nonadjacent | Class::Adjacent => WW | WR | RW,
        }
    }
}

/// Which orders a cycle needs besides those of the data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Scope {
    Data,
    Sessions,
    RealTime,
}

impl Scope {
    pub const ALL: [Scope; 3] = [Scope::Data, Scope::Sessions, Scope::RealTime];

    pub fn kinds(self) -> Kinds {
        match self {
            Scope::Data => 0,
            Scope::Sessions => SO,
            Scope::RealTime => SO | RT,
        }
    }
}

/// What a level forbids: the strongest class and scope; see the module's text.
pub fn forbidden(level: Level) -> (Class, Scope) {
    use Level::*;
    match level {
        ReadUncommitted => (Class::Versions, Scope::Data),
        ReadCommitted | CursorStability | ReadYourWrites | MonotonicReads | MonotonicWrites
        | WritesFollowReads | ReadAtomic | UpdateAtomic | Causal => (Class::Flow, Scope::Sessions),
        NonMonotonicSnapshotIsolation => (Class::Single, Scope::Data),
        ParallelSnapshotIsolation => (Class::Single, Scope::Sessions),
        Prefix => (Class::Nonadjacent, Scope::Sessions),
        SnapshotIsolation => (Class::Nonadjacent, Scope::Data),
        StrongSessionSnapshotIsolation => (Class::Nonadjacent, Scope::Sessions),
        StrongSnapshotIsolation => (Class::Nonadjacent, Scope::RealTime),
        Serializable => (Class::Adjacent, Scope::Data),
        StrongSessionSerializable => (Class::Adjacent, Scope::Sessions),
        StrictSerializable => (Class::Adjacent, Scope::RealTime),
    }
}

/// After which edges a rw edge proves nothing at the level, where two rw in a row do not.
pub fn before_rw(level: Level) -> Kinds {
    if level == Level::Prefix { WW | RW } else { RW }
}

/// The name of the cycles of a class and a scope.
pub fn name(class: Class, scope: Scope) -> AnomalyKind {
    use AnomalyKind::*;
    let names = match class {
        Class::Versions => [DirtyWrite, DirtyWriteProcess, DirtyWriteRealtime],
        Class::Flow => [CircularFlow, CircularFlowProcess, CircularFlowRealtime],
        Class::Single => [GSingle, GSingleProcess, GSingleRealtime],
        Class::Nonadjacent => [GNonadjacent, GNonadjacentProcess, GNonadjacentRealtime],
        Class::Adjacent => [G2Item, G2ItemProcess, G2ItemRealtime],
    };
    names[scope as usize]
}
