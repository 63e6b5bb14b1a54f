//! What an analysis answers.

use super::Options;
use super::candidate::{Candidate, Infeasible};
use super::cycles::Cycle;
use super::encode::{ELEMENTS_MAX, OTHERS_MAX};
use super::kind::Kind;
use super::routes::Routes;
use crate::paths::Path;
use crate::place::Place;
use crate::scenario::{Edge, EdgeKind, Point, Scenario, StoreLevel};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// Follows an analysis while it runs.
pub trait Watch {
    /// After each cycle.
    fn progress(&mut self, _counts: &Counts) {}

    /// Whether every candidate is to be told.
    fn wants_candidates(&self) -> bool {
        false
    }

    /// After each cycle, each candidate of it, where they are wanted.
    fn candidate(&mut self, _candidate: &Candidate, _answer: &Result<Scenario, Infeasible>) {}

    /// Asked after each cycle: whether enough was seen. What is not tried then is counted.
    fn is_satisfied(&self) -> bool {
        false
    }
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {}

/// What an analysis looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Paths of transactions that commit and can be followed.
    pub paths: usize,
    /// Cycles of the conflict graph.
    pub cycles: usize,
    /// Of these: left out, because some read of it does not matter to the database.
    pub external: usize,
    /// Of these: contradictory on all paths and in all orders that the levels allow.
    pub infeasible: usize,
    /// Of these: they happen, but with all values tried some serial order does the same.
    pub benign: usize,
    /// Of these: neither found nor refuted.
    pub undecided: usize,
    /// Of these: anomalies.
    pub anomalies: usize,
    /// Of these: anomalies at some level, neither found nor refuted at another one.
    pub partly: usize,
    /// Cycles that were not tried, because the time was over; there may be more.
    pub untried: usize,
    /// Cycles with more combinations of paths than were tried.
    pub combinations_cut: usize,
    /// Cycles not found at some level that have more orders than were tried.
    pub orders_cut: usize,
    /// Cycles not found at some level, with searches that may need more rows of a table than were given to them.
    pub rows_cut: usize,
    /// Cycles not found at some level, with joins of more rows than were followed.
    pub joins_cut: usize,
    /// Cycles not found at some level, with something that is not followed: a key that changes, an insert of
    /// several rows.
    pub not_followed: usize,
    /// Orders on paths that were given to the solver.
    pub candidates: usize,
}

/// A witness at a level.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelWitness {
    /// The level; none where the transactions have levels of their own.
    pub level: Option<StoreLevel>,
    /// What happens there.
    pub scenario: Scenario,
    /// The paths of the instances.
    pub paths: Vec<Arc<Path>>,
}

/// A statement on the cycle of an anomaly.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// The statement of its instance.
    pub point: Point,
    /// The transaction.
    pub transaction: usize,
    /// The position in [`crate::Transaction::statements`].
    pub statement: usize,
    /// Where it stands.
    pub place: Place,
}

/// An anomaly.
#[derive(Clone, Debug, PartialEq)]
pub struct Anomaly {
    /// What it is called.
    pub kind: Kind,
    /// Whether every read of the cycle matters to the database.
    pub internal: bool,
    /// The transactions of its instances, in the order of the cycle.
    pub transactions: Vec<usize>,
    /// The edges of the cycle in order, each beginning where the one before ended.
    pub edges: Vec<Edge>,
    /// The statements, in the order of the edges that they begin.
    pub sites: Vec<Site>,
    /// A scenario for each level asked for that allows it; at least one.
    pub witnesses: Vec<LevelWitness>,
    /// The cycle as it was found.
    pub cycle: Cycle,
}

impl Anomaly {
    /// The scenario at the first of the levels.
    pub fn scenario(&self) -> Option<&Scenario> {
        self.witnesses.first().map(|one| &one.scenario)
    }

    /// The levels asked for that allow it.
    pub fn levels(&self) -> Vec<StoreLevel> {
        self.witnesses.iter().filter_map(|one| one.level).collect()
    }
}

/// Anomalies of the same transactions with the same kinds of edges.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The transactions, in ascending order.
    pub transactions: Vec<usize>,
    /// The kinds of the edges, in ascending order.
    pub kinds: Vec<EdgeKind>,
    /// The anomalies, by position.
    pub anomalies: Vec<usize>,
}

/// Within what an answer is complete.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// The greatest number of edges of a cycle.
    pub length: usize,
    /// The greatest number of instances.
    pub instances: usize,
    /// The greatest number of iterations of a loop.
    pub iterations: u32,
    /// The kinds of dependencies.
    pub kinds: Vec<EdgeKind>,
    /// Whether reads that do not matter to the database were included.
    pub external: bool,
    /// The greatest number of combinations of paths for a cycle.
    pub combinations: usize,
    /// The greatest number of rows of a table that searches find and no key names.
    pub rows: usize,
    /// The greatest number of elements of a list that is an argument, but for one whose elements are called by their
    /// numbers; nothing where there is none.
    pub elements: Option<usize>,
    /// Whether the transactions have more paths than were looked at.
    pub paths_cut: bool,
    /// Whether everything within these was decided.
    pub decided: bool,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// The anomalies; no two have the same cycle.
    pub anomalies: Vec<Anomaly>,
    /// The anomalies by transactions and kinds of edges.
    pub groups: Vec<Group>,
    /// Within what it is complete.
    pub scope: Scope,
    /// What was looked at.
    pub counts: Counts,
    /// Cycles that were neither found nor refuted.
    pub undecided: Vec<Cycle>,
}

impl Analysis {
    pub(super) fn new(
        options: &Options,
        anomalies: Vec<Anomaly>,
        counts: Counts,
        undecided: Vec<Cycle>,
        routes: &Routes<'_>,
    ) -> Analysis {
        let mut groups: BTreeMap<(Vec<usize>, Vec<EdgeKind>), Vec<usize>> = BTreeMap::new();
        for (at, anomaly) in anomalies.iter().enumerate() {
            let mut transactions = anomaly.transactions.clone();
            transactions.sort_unstable();
            let mut kinds: Vec<EdgeKind> = anomaly.edges.iter().map(|edge| edge.kind).collect();
            kinds.sort_unstable();
            groups.entry((transactions, kinds)).or_default().push(at);
        }
        let group = |((transactions, kinds), anomalies)| Group {
            transactions,
            kinds,
            anomalies,
        };
        Analysis {
            anomalies,
            groups: groups.into_iter().map(group).collect(),
            scope: Scope {
                length: options.length,
                instances: options.instances,
                iterations: options.bounds.iterations,
                kinds: options.kinds.clone(),
                external: options.external,
                combinations: options.combinations,
                rows: OTHERS_MAX,
                elements: routes.takes_lists().then_some(ELEMENTS_MAX),
                paths_cut: !routes.complete,
                decided: counts.undecided == 0
                    && counts.partly == 0
                    && counts.untried == 0
                    && counts.combinations_cut == 0
                    && counts.orders_cut == 0
                    && counts.joins_cut == 0,
            },
            counts,
            undecided,
        }
    }

    /// The bounds that are not the user's, in a sentence, and how often those were met that can be.
    pub fn bounds(&self) -> String {
        let (scope, counts) = (&self.scope, &self.counts);
        let mut out = format!(
            "Statements off a cycle run right before the next one on it (of two transactions, what \
             both write also earlier); searches find up to {} rows of a table besides those named by key, or as many as are counted",
            scope.rows
        );
        if let Some(elements) = scope.elements {
            let _ = write!(
                out,
                "; lists have up to {elements} elements, or as many as are called by number"
            );
        }
        let _ = write!(out, "; up to {} combinations of paths.", scope.combinations);
        let met = [
            (counts.rows_cut, "with searches of more rows"),
            (counts.joins_cut, "with joins of more rows than followed"),
            (counts.combinations_cut, "with more combinations of paths"),
            (counts.orders_cut, "with more orders than tried"),
            (
                counts.not_followed,
                "with a changed key, an insert of several rows or a query in FROM",
            ),
        ];
        let met = met.iter().filter(|(count, _)| *count > 0);
        let met: Vec<String> = met.map(|(count, what)| format!("{count} {what}")).collect();
        if !met.is_empty() {
            let _ = write!(out, " Met, of the cycles not found: {}.", met.join(", "));
        }
        out
    }
}
