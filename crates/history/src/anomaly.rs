//! The anomalies Isolde names, as a table with their sources.
//!
//! The letters are those of the C4 paper's transactional anomalous patterns (TAP-a … TAP-l). Its
//! successor Plume splits two of them off: not-my-last-write from TAP-d, and the non-monotonic
//! reads from the fractured ones. The cycles G0 to G2-item are Adya's; with `-process` they need session
//! order, with `-realtime` real time too, as in Elle.

use std::fmt;

/// A kind of anomaly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs)] // The table below documents each one.
pub enum AnomalyKind {
    ThinAirRead,
    AbortedRead,
    FutureRead,
    NotMyOwnWrite,
    NotMyLastWrite,
    IntermediateRead,
    NonRepeatableRead,
    DirtyUpdate,
    DuplicateElement,
    IncompatibleOrder,
    CyclicVersions,
    DirtyWrite,
    CyclicCausality,
    NonMonotonicRead,
    NonMonotonicReadConflict,
    FracturedRead,
    FracturedReadConflict,
    InitialRead,
    CausalityViolation,
    ConflictingOrder,
    LostUpdate,
    CircularFlow,
    WriteSkew,
    LongFork,
    GSingle,
    GNonadjacent,
    G2Item,
    NoVersionOrder,
    DirtyWriteProcess,
    DirtyWriteRealtime,
    CircularFlowProcess,
    CircularFlowRealtime,
    GSingleProcess,
    GSingleRealtime,
    GNonadjacentProcess,
    GNonadjacentRealtime,
    G2ItemProcess,
    G2ItemRealtime,
    ImpossibleCount,
}

/// What is known of a kind of anomaly.
#[derive(Debug)]
pub struct AnomalyRow {
    /// The kind.
    pub kind: AnomalyKind,
    /// Its name in output.
    pub name: &'static str,
    /// The letter or abbreviation in the literature.
    pub label: &'static str,
    /// What happened, in one sentence.
    pub meaning: &'static str,
}

use AnomalyKind::*;

macro_rules! row {
    ($kind:ident, $name:literal, $label:literal, $meaning:literal) => {
        AnomalyRow {
            kind: $kind,
            name: $name,
            label: $label,
            meaning: $meaning,
        }
    };
}

/// Every kind of anomaly.
#[rustfmt::skip]
pub const ANOMALIES: [AnomalyRow; 39] = [
    row!(ThinAirRead, "thin-air-read", "TAP-a", "a transaction read a value that nobody wrote"),
    row!(AbortedRead, "aborted-read", "TAP-b, G1a", "a transaction read a value that an aborted transaction wrote"),
    row!(FutureRead, "future-read", "TAP-c", "a transaction read a value before it wrote that value itself"),
    row!(NotMyOwnWrite, "not-my-own-write", "TAP-d", "a transaction wrote a key and then read somebody else's value of it"),
    row!(NotMyLastWrite, "not-my-last-write", "TAP-d (Plume)", "a transaction read a value of its own that it had already overwritten"),
    row!(IntermediateRead, "intermediate-read", "TAP-e, G1b", "a transaction read a value that its writer overwrote before it committed"),
    row!(NonRepeatableRead, "non-repeatable-read", "TAP-f", "a transaction read two different values of a key without writing it in between"),
    row!(DirtyUpdate, "dirty-update", "Elle: dirty update", "a list shows an element of an aborted transaction before others"),
    row!(DuplicateElement, "duplicate-element", "Elle: duplicate elements", "a list shows an element more often than it was appended"),
    row!(IncompatibleOrder, "incompatible-order", "Elle: incompatible order", "reads of a list are no beginnings of one and the same list"),
    row!(CyclicVersions, "cyclic-versions", "Elle: cyclic versions", "what is assumed of each key puts its versions in a circle"),
    row!(DirtyWrite, "G0", "G0", "transactions overwrote each other in a circle"),
    row!(CyclicCausality, "cyclic-causality", "TAP-g, G1c", "transactions follow each other in a circle by session order and reads"),
    row!(NonMonotonicRead, "non-monotonic-read", "Plume: NonMonoReadCO", "a transaction read from a writer and then an older version of something that this writer wrote too"),
    row!(NonMonotonicReadConflict, "non-monotonic-read-conflict", "Plume: NonMonoReadAO", "the version orders that reads within transactions demand contradict each other"),
    row!(FracturedRead, "fractured-read", "TAP-h, read skew (A5A)", "a transaction saw only a part of another transaction's writes"),
    row!(FracturedReadConflict, "fractured-read-conflict", "TAP-i", "a transaction saw only a part of another's writes, going by the order in which others saw the versions"),
    row!(InitialRead, "initial-read", "TAP-j", "a transaction read the initial value of a key although a write to it happened before"),
    row!(CausalityViolation, "causality-violation", "TAP-k", "a transaction read a version that was overwritten by a write that happened before the read"),
    row!(ConflictingOrder, "conflicting-order", "TAP-l", "different transactions saw the writes to a key in opposite orders"),
    row!(LostUpdate, "lost-update", "P4", "two transactions read the same version of a key and both overwrote it"),
    row!(CircularFlow, "G1c", "G1c", "transactions follow each other in a circle by reads and version orders"),
    row!(WriteSkew, "write-skew", "A5B, G2-item", "two transactions each overwrote what the other had read"),
    row!(LongFork, "long-fork", "PSI's long fork", "two transactions saw two writes in opposite orders"),
    row!(GSingle, "G-single", "G-single", "a circle of dependencies with exactly one read of a version that was overwritten later"),
    row!(GNonadjacent, "G-nonadjacent", "G-nonadjacent", "a circle of dependencies with several reads of overwritten versions, no two of them next to each other"),
    row!(G2Item, "G2-item", "G2-item", "a circle of dependencies with reads of overwritten versions next to each other"),
    row!(NoVersionOrder, "no-version-order", "PolySI's adjoining cycles", "every order of the versions closes a circle of dependencies"),
    row!(DirtyWriteProcess, "G0-process", "G0-process", "the order of versions contradicts session order"),
    row!(DirtyWriteRealtime, "G0-realtime", "G0-realtime", "the order of versions contradicts real time"),
    row!(CircularFlowProcess, "G1c-process", "G1c-process", "transactions follow each other in a circle by reads, version orders and session order"),
    row!(CircularFlowRealtime, "G1c-realtime", "G1c-realtime", "transactions follow each other in a circle by reads, version orders and real time"),
    row!(GSingleProcess, "G-single-process", "G-single-process", "a circle of dependencies and session order with exactly one read of a version that was overwritten later"),
    row!(GSingleRealtime, "G-single-realtime", "G-single-realtime", "a circle of dependencies and real time with exactly one read of a version that was overwritten later"),
    row!(GNonadjacentProcess, "G-nonadjacent-process", "G-nonadjacent-process", "a circle of dependencies and session order with several reads of overwritten versions, no two of them next to each other"),
    row!(GNonadjacentRealtime, "G-nonadjacent-realtime", "G-nonadjacent-realtime", "a circle of dependencies and real time with several reads of overwritten versions, no two of them next to each other"),
    row!(G2ItemProcess, "G2-item-process", "G2-item-process", "a circle of dependencies and session order with reads of overwritten versions next to each other"),
    row!(G2ItemRealtime, "G2-item-realtime", "G2-item-realtime", "a circle of dependencies and real time with reads of overwritten versions next to each other"),
    row!(ImpossibleCount, "impossible-count", "Jepsen: counter", "a transaction read a counter as something that no increments it can and must have seen sum up to"),
];

impl AnomalyKind {
    /// What is known of this kind.
    pub fn row(self) -> &'static AnomalyRow {
        ANOMALIES
            .iter()
            .find(|row| row.kind == self)
            .expect("every kind has a row")
    }

    /// The name in output.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// For a kind of cycle that needs session order or real time, the kind that it would be without.
    pub fn plain(self) -> AnomalyKind {
        match self {
            DirtyWriteProcess | DirtyWriteRealtime => DirtyWrite,
            CircularFlowProcess | CircularFlowRealtime => CircularFlow,
            GSingleProcess | GSingleRealtime => GSingle,
            GNonadjacentProcess | GNonadjacentRealtime => GNonadjacent,
            G2ItemProcess | G2ItemRealtime => G2Item,
            other => other,
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<AnomalyKind> {
        ANOMALIES
            .iter()
            .find(|row| row.name == name)
            .map(|row| row.kind)
    }
}

impl fmt::Display for AnomalyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
