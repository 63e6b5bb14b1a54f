//! Robustness: is a set of transactions serializable although it runs at weaker levels? And if not,
//! what makes it so?
//!
//! Two methods. Transactions that find all their rows by keys are decided exactly ([`Method::Templates`]).
//! All others are proved robust, or not proved: a cycle of possible dependencies is found, which a
//! scenario may confirm ([`Method::Programs`]).

mod advice;
mod confirm;
mod counters;
mod cycles;
#[cfg(test)]
mod definition;
mod edges;
mod explain;
mod facts;
mod promote;
mod rows;
mod same;
mod searched;
mod subsets;
mod templates;
mod unit;
mod variants;
mod versions;
mod ways;
mod workload;

pub use advice::{Repair, Safety, cheapest_levels, repair, safe_at};
pub use cycles::CycleKind;
pub use edges::Relations;
pub use promote::{Change, Promotion};
pub use searched::check_and_search;
pub use subsets::{Subsets, subsets, subsets_until};
pub use workload::Workload;

use crate::ir::Program;
use crate::paths::{Bounds, Path};
use crate::scenario::{Edge, Scenario, StoreLevel, Turn};
use std::fmt;
use std::sync::Arc;

/// The levels between which robustness tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Every statement reads what is committed when it starts.
    ReadCommitted,
    /// Every transaction reads what is committed when it starts, and is refused to change a row
    /// that was changed since.
    Snapshot,
    /// Serializable among all transactions of this level.
    Serializable,
}

impl Level {
    /// All of them, the weakest first.
    pub const ALL: [Level; 3] = [Level::ReadCommitted, Level::Snapshot, Level::Serializable];

    /// The level as stores know it.
    pub fn store(self) -> StoreLevel {
        match self {
            Level::ReadCommitted => StoreLevel::ReadCommitted,
            Level::Snapshot => StoreLevel::Snapshot,
            Level::Serializable => StoreLevel::Serializable,
        }
    }

    /// The level of a store, where robustness is about it.
    pub fn of(level: StoreLevel) -> Option<Level> {
        Level::ALL.into_iter().find(|known| known.store() == level)
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.store().name()
    }
}

impl fmt::Display for Level {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// How an answer was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By split runs; exact.
    Templates,
    /// By cycles of the summary graph; proves robustness only.
    Programs,
    /// All transactions are serializable, or there are none.
    Definition,
}

/// How to look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RobustOptions {
    /// The method; without one, templates where they apply.
    pub method: Option<Method>,
    /// Which cycles of the summary graph count.
    pub cycles: CycleKind,
    /// What is known about rows.
    pub relations: Relations,
    /// How far loops are unfolded and how many paths a transaction may have.
    pub bounds: Bounds,
    /// Whether a cycle is tried to be confirmed by a scenario.
    pub confirm: bool,
}

impl Default for RobustOptions {
    fn default() -> RobustOptions {
        RobustOptions {
            method: None,
            cycles: CycleKind::TypeII,
            relations: Relations::Keys,
            bounds: Bounds {
                iterations: 2,
                paths: 200,
            },
            confirm: true,
        }
    }
}

/// Whether a set of transactions is robust.
#[derive(Clone, Debug, PartialEq)]
pub enum Robustness {
    /// Every run is serializable.
    Robust(Proof),
    /// Some run is not.
    NotRobust(Box<Counterexample>),
    /// Neither is known.
    Unproved(Box<Doubt>),
}

impl Robustness {
    /// Whether robustness is proved.
    pub fn is_robust(&self) -> bool {
        matches!(self, Robustness::Robust(_))
    }

    /// The counterexample, where there is one.
    pub fn counterexample(&self) -> Option<&Counterexample> {
        match self {
            Robustness::NotRobust(found) => Some(found),
            Robustness::Unproved(doubt) => doubt.suspect.as_ref(),
            Robustness::Robust(_) => None,
        }
    }
}

/// What a proof of robustness rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// How it was found.
    pub method: Method,
    /// The paths of transactions that were looked at.
    pub paths: usize,
    /// The dependencies between them; 0 with templates.
    pub edges: usize,
    /// Those that can go against the order of commits.
    pub counterflow: usize,
    /// What is taken for granted, a sentence each.
    pub assumptions: Vec<String>,
}

/// A run that is not serializable, mostly a split one: the first instance up to a read, the others one after the
/// other, the rest of the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Counterexample {
    /// How it was found.
    pub method: Method,
    /// The instances: their transaction, level and path.
    pub instances: Vec<SplitInstance>,
    /// The cycle: from the first instance to the second and so on, back to the first.
    pub edges: Vec<Edge>,
    /// The order of steps.
    pub schedule: Vec<Turn>,
    /// Arguments and rows with which it happens, where they were found.
    pub scenario: Option<Scenario>,
}

/// An instance of a counterexample.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitInstance {
    /// The position in [`Program::transactions`].
    pub transaction: usize,
    /// Its level.
    pub level: Level,
    /// What it does.
    pub path: Arc<Path>,
}

/// Why robustness is not proved.
#[derive(Clone, Debug, PartialEq)]
pub struct Doubt {
    /// The cycle of dependencies that stands in the way; none where the reason is another one.
    pub suspect: Option<Counterexample>,
    /// The reason, a sentence.
    pub reason: String,
}

/// Whether all transactions of a program, each at its level, are robust. `levels` has one for each
/// transaction.
pub fn check(program: &Program, levels: &[Level], options: &RobustOptions) -> Robustness {
    let levels: Vec<Option<Level>> = levels.iter().copied().map(Some).collect();
    Workload::new(program, options).check(&levels)
}

/// Whether all transactions of a program are robust, all at one level.
pub fn check_at(program: &Program, level: Level, options: &RobustOptions) -> Robustness {
    check(program, &vec![level; program.transactions.len()], options)
}
