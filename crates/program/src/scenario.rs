//! What shows an anomaly: rows, transactions with their arguments, and the order of their steps.
//!
//! The analysis finds scenarios, the stores and the database servers play them, and a test
//! directory holds one. Nothing in here knows how it was found.

use crate::expr::{UnknownId, Value};
use crate::schema::{ColumnId, TableId};
use std::collections::{BTreeMap, BTreeSet};

/// Rows, instances of transactions, and the order of their steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scenario {
    /// The rows before anything runs.
    pub rows: Vec<StoredRow>,
    /// The transactions that run, each once.
    pub instances: Vec<Instance>,
    /// Whose turn it is, and what it does then. The order is also the arbitration order: the
    /// later write of a cell wins.
    pub schedule: Vec<Turn>,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRow {
    /// The table.
    pub table: TableId,
    /// A value for each of its columns, in order.
    pub values: Vec<Value>,
}

/// One run of one transaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Instance {
    /// The position in [`crate::Program::transactions`].
    pub transaction: usize,
    /// A value for each of its parameters, in order.
    pub arguments: Vec<Value>,
    /// The values of what the source leaves unknown: which unknown of the body, and which
    /// evaluation of it, from 0. Those not named take a default of their type.
    pub unknowns: BTreeMap<(UnknownId, u32), Value>,
    /// The level it runs at where levels are mixed; else that of the whole.
    pub level: Option<StoreLevel>,
}

impl Scenario {
    /// Whether others do something between the beginning of an instance and its first statement, so
    /// that a snapshot must be taken by the former. Else servers take it by the first statement that
    /// reads.
    pub fn begins_early(&self, instance: usize) -> bool {
        let begins = |turn: &&Turn| turn.instance == instance && turn.event == Event::Begin;
        let acts = |turn: &&Turn| turn.instance == instance && turn.event != Event::Begin;
        let turns = self.schedule.iter();
        let mut between = turns
            .skip_while(|turn| !begins(turn))
            .take_while(|turn| !acts(turn));
        between.any(|turn| turn.instance != instance && turn.event != Event::Begin)
    }
}

/// A step of the schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The instance, by position in [`Scenario::instances`].
    pub instance: usize,
    /// What it does.
    pub event: Event,
    /// For a statement on a replicated store: the earlier turns whose writes it sees, besides
    /// those of its own instance. `None`: whatever the store shows.
    pub sees: Option<BTreeSet<usize>>,
}

/// What an instance does in its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Event {
    /// Its first step: a snapshot is taken here where the level has one.
    Begin,
    /// Executes its next statement: that of this position among those it executes, from 0.
    Statement(u32),
    /// Commits (or aborts, where the program does).
    Commit,
}

/// A statement of an instance: by position among those the instance executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point {
    /// The instance.
    pub instance: usize,
    /// The statement.
    pub statement: u32,
}

/// Why one statement comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EdgeKind {
    /// Both are of one transaction. Undirected.
    Sibling,
    /// The second reads what the first wrote.
    WriteRead,
    /// The first reads what the second then overwrites.
    ReadWrite,
    /// The second overwrites what the first wrote.
    WriteWrite,
}

impl EdgeKind {
    /// The short name.
    pub fn name(self) -> &'static str {
        match self {
            EdgeKind::Sibling => "st",
            EdgeKind::WriteRead => "wr",
            EdgeKind::ReadWrite => "rw",
            EdgeKind::WriteWrite => "ww",
        }
    }
}

/// An edge of a cycle.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// From.
    pub from: Point,
    /// To.
    pub to: Point,
    /// Why.
    pub kind: EdgeKind,
    /// The table they meet in; none for siblings.
    pub table: Option<TableId>,
    /// The columns they meet in; empty where they meet in the existence of a row.
    pub columns: BTreeSet<ColumnId>,
}

/// What a store promises. The first eight are about single operations on a replicated store (st:
/// same transaction, vis: visible, ar: arbitration; always vis is within ar); the others are
/// about transactions, as databases promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StoreLevel {
    /// Nothing.
    Eventual,
    /// vis is transitive.
    CausalVisibility,
    /// Causal visibility, and a transaction sees its own earlier operations.
    CausalOperations,
    /// Who sees one operation of a transaction sees all of them.
    ReadCommittedOperations,
    /// What one operation of a transaction sees, all of them see.
    RepeatableReadOperations,
    /// Both of the above.
    AtomicOperations,
    /// Everything earlier is visible, to each operation alone.
    LinearizableOperations,
    /// Transactions one after the other.
    Serial,
    /// A transaction may read what is not committed.
    ReadUncommitted,
    /// Reads committed data; every statement may see another state.
    ReadCommitted,
    /// Reads all or nothing of every other transaction.
    ReadAtomic,
    /// Reads a prefix of the commit order; updates may be lost.
    Prefix,
    /// Snapshots that may differ in the order of independent writers; no lost updates.
    ParallelSnapshot,
    /// Snapshot isolation.
    Snapshot,
    /// Serializability.
    Serializable,
}

impl StoreLevel {
    /// All of them.
    pub const ALL: [StoreLevel; 15] = [
        StoreLevel::Eventual,
        StoreLevel::CausalVisibility,
        StoreLevel::CausalOperations,
        StoreLevel::ReadCommittedOperations,
        StoreLevel::RepeatableReadOperations,
        StoreLevel::AtomicOperations,
        StoreLevel::LinearizableOperations,
        StoreLevel::Serial,
        StoreLevel::ReadUncommitted,
        StoreLevel::ReadCommitted,
        StoreLevel::ReadAtomic,
        StoreLevel::Prefix,
        StoreLevel::ParallelSnapshot,
        StoreLevel::Snapshot,
        StoreLevel::Serializable,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            StoreLevel::Eventual => "ec",
            StoreLevel::CausalVisibility => "cv",
            StoreLevel::CausalOperations => "cc",
            StoreLevel::ReadCommittedOperations => "rc*",
            StoreLevel::RepeatableReadOperations => "rr*",
            StoreLevel::AtomicOperations => "rc*+rr*",
            StoreLevel::LinearizableOperations => "lin",
            StoreLevel::Serial => "ser*",
            StoreLevel::ReadUncommitted => "read-uncommitted",
            StoreLevel::ReadCommitted => "read-committed",
            StoreLevel::ReadAtomic => "read-atomic",
            StoreLevel::Prefix => "prefix",
            StoreLevel::ParallelSnapshot => "parallel-snapshot-isolation",
            StoreLevel::Snapshot => "snapshot-isolation",
            StoreLevel::Serializable => "serializable",
        }
    }

    /// Whether it is about single operations on a replicated store.
    pub fn is_replicated(self) -> bool {
        self <= StoreLevel::Serial
    }
}

impl std::str::FromStr for StoreLevel {
    type Err = String;

    /// A level by its name, by the short names of databases (rc, ra, pc, psi, si, ser), or by the
    /// long ones of the paper.
    fn from_str(text: &str) -> Result<StoreLevel, String> {
        let name = text.to_ascii_lowercase().replace(['_', ' '], "-");
        let all = StoreLevel::ALL.into_iter();
        let found = all.clone().find(|level| level.name() == name);
        let short = match name.as_str() {
            "eventual" => StoreLevel::Eventual,
            "causal-visibility" => StoreLevel::CausalVisibility,
            "causal" | "causal-consistency" => StoreLevel::CausalOperations,
            "rc-operations" => StoreLevel::ReadCommittedOperations,
            "rr-operations" => StoreLevel::RepeatableReadOperations,
            "linearizable" => StoreLevel::LinearizableOperations,
            "serial" => StoreLevel::Serial,
            "ru" => StoreLevel::ReadUncommitted,
            "rc" => StoreLevel::ReadCommitted,
            "ra" => StoreLevel::ReadAtomic,
            "pc" => StoreLevel::Prefix,
            "psi" => StoreLevel::ParallelSnapshot,
            "si" | "rr" | "repeatable-read" | "snapshot" => StoreLevel::Snapshot,
            "ser" => StoreLevel::Serializable,
            _ => {
                return found.ok_or_else(|| {
                    let names: Vec<&str> = all.map(StoreLevel::name).collect();
                    format!(
                        "no level is called '{text}'; there are {}",
                        names.join(", ")
                    )
                });
            }
        };
        Ok(short)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_early_if_others_act_before_the_first_statement() {
        let turn = |instance: usize, event: Event| Turn {
            instance,
            event,
            sees: None,
        };
        let (begin, first) = (Event::Begin, Event::Statement(0));
        let scenario = |turns: &[(usize, Event)]| Scenario {
            schedule: turns.iter().map(|(at, event)| turn(*at, *event)).collect(),
            ..Scenario::default()
        };
        let crossed = scenario(&[(0, begin), (1, begin), (1, first), (0, first)]);
        assert!(crossed.begins_early(0));
        assert!(!crossed.begins_early(1));
        let in_turn = scenario(&[(0, begin), (1, begin), (0, first), (1, first)]);
        assert!(!in_turn.begins_early(0));
        assert!(!scenario(&[(0, first), (1, first)]).begins_early(0));
    }
}
