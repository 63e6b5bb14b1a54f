//! The search for anomalies: which transactions, with which arguments and rows, and in which order
//! of their steps, do what no serial order does.

mod blocks;
mod candidate;
mod closure;
mod conflict;
mod consequence;
mod constraint;
mod cycles;
mod decide;
mod decode;
mod dependencies;
mod encode;
mod flow;
mod kind;
mod orders;
mod report;
mod routes;
mod search;
mod slice;
mod smt;
mod solver;

pub(crate) use candidate::witness_at_hand;
pub use candidate::{Candidate, Infeasible, Run, constraints_of, witness};
pub use conflict::{Conflict, Node as StatementNode, conflicts};
pub(crate) use consequence::explicit;
pub use consequence::{Consequence, Consequences, all_consequences, consequences};
pub use constraint::{Constraints, Definition, Formula, Linear, Meaning, Node, Variable};
pub use cycles::{Cycle, Limits, Segment};
pub use kind::Kind;
pub use report::{Analysis, Anomaly, Counts, Group, LevelWitness, Scope, Site, Unwatched, Watch};
pub use solver::{Effort, Outcome, solve};

use crate::ir::Program;
use crate::paths::Bounds;
use crate::scenario::{EdgeKind, StoreLevel};
use std::time::Duration;

/// What to search for, and how far.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The levels asked about.
    pub levels: Vec<StoreLevel>,
    /// The level of each transaction, where these run at different ones; then `levels` does not
    /// matter. Of read uncommitted, read committed, prefix, snapshot isolation and serializable.
    pub mixed: Option<Vec<StoreLevel>>,
    /// The kinds of dependencies that make cycles.
    pub kinds: Vec<EdgeKind>,
    /// Whether cycles with reads that do not matter to the database count.
    pub external: bool,
    /// The greatest number of edges of a cycle.
    pub length: usize,
    /// The greatest number of instances.
    pub instances: usize,
    /// The number of partitions a replicated store may have; one copy where it is less than 2.
    pub partitions: usize,
    /// How far loops are unfolded.
    pub bounds: Bounds,
    /// How many combinations of paths are tried for a cycle.
    pub combinations: usize,
    /// How long to search; what is not tried then is counted.
    pub time: Option<Duration>,
    /// How many cycles are counted after that.
    pub untried_max: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            levels: vec![StoreLevel::Eventual],
            mixed: None,
            kinds: vec![EdgeKind::WriteRead, EdgeKind::ReadWrite],
            external: false,
            length: 4,
            instances: 3,
            partitions: 2,
            bounds: Bounds::default(),
            combinations: 64,
            time: None,
            untried_max: 1_000_000,
        }
    }
}

impl Options {
    /// The levels asked about, the strongest first; none stands for mixed ones.
    fn asked(&self) -> Vec<Option<StoreLevel>> {
        if self.mixed.is_some() {
            return vec![None];
        }
        let mut levels = self.levels.clone();
        levels.sort();
        levels.dedup();
        let weaker = |level: &StoreLevel| {
            let all = StoreLevel::ALL.iter();
            all.filter(|other| implied_by(**other, *level)).count()
        };
        levels.sort_by_key(|level| std::cmp::Reverse(weaker(level)));
        levels.into_iter().map(Some).collect()
    }

    /// The level of a transaction where they are mixed.
    fn level_of(&self, transaction: usize) -> StoreLevel {
        let levels = self.mixed.as_ref();
        let level = levels.and_then(|levels| levels.get(transaction).copied());
        level.unwrap_or(StoreLevel::Serializable)
    }
}

/// Whether what the level found allows, the level asked about allows as well.
fn implied_by(asked: StoreLevel, found: StoreLevel) -> bool {
    use StoreLevel as L;
    let causal = [L::Eventual, L::CausalVisibility, L::CausalOperations];
    let atomic = [
        L::ReadCommittedOperations,
        L::RepeatableReadOperations,
        L::AtomicOperations,
        L::Eventual,
    ];
    asked == found
        || match found {
            L::Snapshot => {
                causal.contains(&asked)
                    || atomic.contains(&asked)
                    || matches!(asked, L::Prefix | L::ParallelSnapshot | L::ReadAtomic)
            }
            L::Prefix | L::ParallelSnapshot => {
                causal.contains(&asked) || atomic.contains(&asked) || asked == L::ReadAtomic
            }
            L::ReadAtomic => atomic.contains(&asked),
            L::ReadCommitted => causal.contains(&asked) || asked == L::ReadCommittedOperations,
            L::ReadUncommitted => causal.contains(&asked) || asked == L::LinearizableOperations,
            L::LinearizableOperations => causal.contains(&asked),
            L::AtomicOperations => atomic.contains(&asked),
            L::CausalOperations => matches!(asked, L::CausalVisibility | L::Eventual),
            L::CausalVisibility | L::ReadCommittedOperations | L::RepeatableReadOperations => {
                asked == L::Eventual
            }
            L::Eventual | L::Serial | L::Serializable => false,
        }
}

/// Searches a program for anomalies.
pub fn analyse(program: &Program, options: &Options) -> Analysis {
    analyse_with(program, options, &mut Unwatched)
}

/// Searches a program for anomalies, and tells how it goes.
pub fn analyse_with(program: &Program, options: &Options, watch: &mut dyn Watch) -> Analysis {
    search::Search::new(program, options).run(watch)
}
