//! The levels Isolde knows, as a table: names, aliases, sources, and what each implies.
//!
//! Full names follow the lattice of jepsen.io; the short aliases `si` and `ser` mean the variant
//! that respects sessions, as in the papers behind them.

use std::fmt;
use std::str::FromStr;

/// An isolation or consistency level. Ordered roughly from weak to strong; [`Level::implies`] is
/// the real (partial) order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs)] // The table below documents each one.
pub enum Level {
    ReadUncommitted,
    ReadCommitted,
    CursorStability,
    ReadAtomic,
    UpdateAtomic,
    ReadYourWrites,
    MonotonicReads,
    MonotonicWrites,
    WritesFollowReads,
    Causal,
    Prefix,
    NonMonotonicSnapshotIsolation,
    ParallelSnapshotIsolation,
    SnapshotIsolation,
    StrongSessionSnapshotIsolation,
    StrongSnapshotIsolation,
    Serializable,
    StrongSessionSerializable,
    StrictSerializable,
}

/// What is known of a level.
#[derive(Debug)]
pub struct LevelRow {
    /// The level.
    pub level: Level,
    /// Its full name.
    pub name: &'static str,
    /// Other names the command line takes.
    pub aliases: &'static [&'static str],
    /// The condition, in the words of the axiom (see docs/levels.md).
    pub axiom: &'static str,
    /// Where the definition comes from.
    pub source: &'static str,
    /// The levels directly below: whoever has this one has those.
    pub implies: &'static [Level],
}

use Level::*;

const BISWAS_ENEA: &str = "Biswas & Enea, OOPSLA 2019";
const ADYA: &str = "Adya, PhD thesis, MIT 1999";
const TERRY: &str = "Terry et al., PDIS 1994; commit-order form";
const CERONE: &str = "Cerone & Gotsman, JACM 2018";

macro_rules! row {
    ($level:ident, $name:literal, $aliases:expr, $axiom:literal, $source:expr, $implies:expr) => {
        LevelRow {
            level: $level,
            name: $name,
            aliases: &$aliases,
            axiom: $axiom,
            source: $source,
            implies: &$implies,
        }
    };
}

/// Every level, weak before strong: a level stands after all that it implies.
#[rustfmt::skip]
pub const LEVELS: [LevelRow; 19] = [
    row!(ReadUncommitted, "read-uncommitted", ["ru"], "no ww cycle (G0), where versions are known", ADYA, []),
    row!(ReadCommitted, "read-committed", ["rc"], "t3 read something from t2 before this read", BISWAS_ENEA, [ReadUncommitted]),
    row!(CursorStability, "cursor-stability", ["cs"], "read-committed, and no lost update", "Berenson et al., SIGMOD 1995", [ReadCommitted]),
    row!(ReadYourWrites, "read-your-writes", ["ryw"], "t2 so t3", TERRY, [ReadUncommitted]),
    row!(MonotonicReads, "monotonic-reads", ["mr"], "t2 (wr ; so) t3", TERRY, [ReadUncommitted]),
    row!(MonotonicWrites, "monotonic-writes", ["mw"], "t2 (so ; wr) t3", TERRY, [ReadUncommitted]),
    row!(WritesFollowReads, "writes-follow-reads", ["wfr"], "t2 (wr ; so? ; wr) t3", TERRY, [ReadUncommitted]),
    row!(ReadAtomic, "read-atomic", ["ra"], "t2 (so ∪ wr) t3", BISWAS_ENEA, [ReadCommitted, ReadYourWrites]),
    row!(UpdateAtomic, "update-atomic", ["ua"], "read-atomic, and no lost update", "Cerone, Bernardi & Gotsman, CONCUR 2015", [ReadAtomic, CursorStability]),
    row!(Causal, "causal", ["cc", "tcc", "causal-consistency"], "t2 (so ∪ wr)+ t3", BISWAS_ENEA, [ReadAtomic, MonotonicReads, MonotonicWrites, WritesFollowReads]),
    row!(Prefix, "prefix", ["pc"], "t2 (CO? ; (so ∪ wr)) t3", BISWAS_ENEA, [Causal]),
    row!(NonMonotonicSnapshotIsolation, "non-monotonic-snapshot-isolation", ["nmsi"], "((wr ∪ ww)+ ; rw?) irreflexive", "Ardekani, Sutra & Shapiro, SRDS 2013", [ReadUncommitted]),
    row!(ParallelSnapshotIsolation, "parallel-snapshot-isolation", ["psi"], "((so ∪ wr ∪ ww)+ ; rw?) irreflexive", CERONE, [Causal, UpdateAtomic, NonMonotonicSnapshotIsolation]),
    row!(SnapshotIsolation, "snapshot-isolation", [], "((wr ∪ ww) ; rw?) acyclic", CERONE, [NonMonotonicSnapshotIsolation]),
    row!(StrongSessionSnapshotIsolation, "strong-session-snapshot-isolation", ["si"], "((so ∪ wr ∪ ww) ; rw?) acyclic", CERONE, [SnapshotIsolation, ParallelSnapshotIsolation, Prefix]),
    row!(StrongSnapshotIsolation, "strong-snapshot-isolation", [], "((so ∪ rt ∪ wr ∪ ww) ; rw?) acyclic", CERONE, [StrongSessionSnapshotIsolation]),
    row!(Serializable, "serializable", [], "wr ∪ ww ∪ rw acyclic", ADYA, [SnapshotIsolation]),
    row!(StrongSessionSerializable, "strong-session-serializable", ["ser"], "so ∪ wr ∪ ww ∪ rw acyclic", ADYA, [Serializable, StrongSessionSnapshotIsolation]),
    row!(StrictSerializable, "strict-serializable", ["sser", "strong-serializable"], "so ∪ rt ∪ wr ∪ ww ∪ rw acyclic", ADYA, [StrongSessionSerializable, StrongSnapshotIsolation]),
];

impl Level {
    /// All levels, weak before strong.
    pub fn all() -> impl Iterator<Item = Level> {
        LEVELS.iter().map(|row| row.level)
    }

    /// The levels that a polynomial engine decides even where version orders are unknown.
    pub const WEAK: [Level; 10] = [
        ReadUncommitted,
        ReadCommitted,
        CursorStability,
        ReadYourWrites,
        MonotonicReads,
        MonotonicWrites,
        WritesFollowReads,
        ReadAtomic,
        UpdateAtomic,
        Causal,
    ];

    /// What is known of this level.
    pub fn row(self) -> &'static LevelRow {
        LEVELS
            .iter()
            .find(|row| row.level == self)
            .expect("every level has a row")
    }

    /// The full name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Whether every history with this level has `weaker` too.
    pub fn implies(self, weaker: Level) -> bool {
        self == weaker || self.row().implies.iter().any(|level| level.implies(weaker))
    }

    /// Of `levels`, those that no other one of them implies.
    pub fn strongest(levels: &[Level]) -> Vec<Level> {
        let dominated = |level: Level| {
            levels
                .iter()
                .any(|&other| other != level && other.implies(level))
        };
        levels
            .iter()
            .copied()
            .filter(|&level| !dominated(level))
            .collect()
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no level's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownLevel(pub String);

impl fmt::Display for UnknownLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no level is called '{}'; 'isolde levels' lists them",
            self.0
        )
    }
}

impl std::error::Error for UnknownLevel {}

impl FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(name: &str) -> Result<Level, UnknownLevel> {
        let wanted = name.to_ascii_lowercase().replace('_', "-");
        LEVELS
            .iter()
            .find(|row| row.name == wanted || row.aliases.contains(&wanted.as_str()))
            .map(|row| row.level)
            .ok_or_else(|| UnknownLevel(name.to_string()))
    }
}
