//! Paths of few steps in the graph of so ∪ wr ∪ forced: most contradictions have one.
//!
//! Definition: a path from one transaction to another with at most so many steps, as short as there is one. Session
//! order is transitive, so that all of it that lies between two transactions is one step.
//!
//! Steps: a single step is looked up; for two, each transaction right before the end is asked whether a step leads to
//! it; only longer ones are searched for breadth first (`graph`). Of the transactions before the end in its session, the
//! near ones are asked; what they miss, the search finds.
//!
//! Cost: one step takes a look at the reads of the end and a binary search, two steps as much for each transaction right
//! before the end.

use crate::graph::{Graph, Step};
use crate::observe::Link;
use history::TxnId;

/// So many transactions before the end are asked in its session.
const NEAR: u32 = 64;

impl Graph<'_> {
    /// A shortest path of at most `longest` steps between two transactions of one component, or between any two if
    /// `plain`: by so and wr alone. None if there is none, or if `limit` steps of a search were looked at.
    pub fn path_within(
        &self,
        from: u32,
        to: u32,
        plain: bool,
        longest: u32,
        limit: &mut u64,
    ) -> Option<Vec<Step>> {
        if let Some(step) = self.step_between(from, to, plain) {
            return Some(vec![step]);
        }
        match longest {
            0 | 1 => None,
            2 => self.two_steps(from, to, plain),
            _ => self
                .two_steps(from, to, plain)
                .or_else(|| self.search(from, to, None, plain, longest, limit)),
        }
    }

    /// The step from one transaction to another.
    fn step_between(&self, from: u32, to: u32, plain: bool) -> Option<Step> {
        let history = self.observed.history;
        if self.base && from < to {
            let session = history.session_of(TxnId(to));
            if history.session_txns(session).start <= from && self.observed.taken[from as usize] {
                return Some(Step::So { from, to });
            }
        }
        let range = history.op_range(TxnId(to));
        let mut links = self.observed.links[range.clone()].iter();
        if self.base
            && let Some(at) = links.position(|&link| link == from)
        {
            let read = (range.start + at) as u32;
            return Some(Step::Wr { from, to, read });
        }
        if plain {
            return None;
        }
        let start = self.forced.before(to).start;
        let edges = &self.forced.edges[self.forced.before(to)];
        let at = edges.partition_point(|edge| edge.from < from);
        let index = (start + at) as u32;
        let is_there = edges.get(at).is_some_and(|edge| edge.from == from);
        is_there.then_some(Step::Forced { from, to, index })
    }

    /// Two steps from one transaction to another; the last one of session order is short.
    fn two_steps(&self, from: u32, to: u32, plain: bool) -> Option<Vec<Step>> {
        let history = self.observed.history;
        let first =
            |middle: u32| (middle != from).then(|| self.step_between(from, middle, plain))?;
        let range = history.op_range(TxnId(to));
        for (read, &middle) in range.clone().zip(&self.observed.links[range]) {
            if Link::is_txn(middle)
                && self.base
                && let Some(step) = first(middle)
            {
                let read = read as u32;
                let from = middle;
                return Some(vec![step, Step::Wr { from, to, read }]);
            }
        }
        let forced = self.forced.before(to);
        for (index, edge) in forced.clone().zip(&self.forced.edges[forced]) {
            if !plain && let Some(step) = first(edge.from) {
                let (from, index) = (edge.from, index as u32);
                return Some(vec![step, Step::Forced { from, to, index }]);
            }
        }
        let start = history.session_txns(history.session_of(TxnId(to))).start;
        let near = (start.max(to.saturating_sub(NEAR))..to).rev();
        let mut near = near.filter(|&txn| self.base && self.observed.taken[txn as usize]);
        near.find_map(|middle| Some(vec![first(middle)?, Step::So { from: middle, to }]))
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::Budget;
    use crate::observe::observe;
    use crate::order::ForcedEdges;
    use crate::rule::Rule;
    use crate::saturate::forced_edges;
    use crate::windows::tests::random_history;
    use history::{Initial, KeyOrder};
    use std::fmt::Arguments;

    /// Calls with the seed and what causal forces on each of sixty histories of 40 transactions.
    pub fn each_random_graph(mut call: impl FnMut(u64, &Graph<'_>)) {
        let budget = Budget::default();
        for seed in 0..60 {
            let history = random_history(seed, 40);
            let observed = observe(&history, &Initial::default(), KeyOrder::Free, &budget);
            let Ok(observed) = observed else { continue };
            let mut edges = Vec::new();
            let found = &mut |edge: crate::order::Forced| edges.push(edge);
            let _ = forced_edges(&observed, Rule::Causal, &budget, found);
            edges.retain(|edge| edge.to != TxnId::INITIAL.0);
            let graph = Graph {
                observed: &observed,
                forced: &ForcedEdges::new(edges),
                base: true,
            };
            call(seed, &graph);
        }
    }

    /// How long a path is, if there is one; as long as what a search finds.
    pub fn same_length(
        found: &Option<Vec<Step>>,
        searched: &Option<Vec<Step>>,
        asked: Arguments<'_>,
    ) -> usize {
        let length = |path: &Option<Vec<Step>>| path.as_ref().map(Vec::len);
        assert_eq!(length(found), length(searched), "{asked}");
        length(found).unwrap_or(0)
    }

    #[test]
    fn a_path_that_is_looked_up_is_as_short_as_one_that_is_searched_for() {
        let mut lengths = [0; 4];
        each_random_graph(|seed, graph| {
            for (from, to) in (0..40).flat_map(|from| (0..40).map(move |to| (from, to))) {
                for (plain, longest) in [(true, 1), (true, 2), (false, 1), (false, 2), (false, 3)] {
                    if from == to {
                        continue;
                    }
                    let limit = &mut u64::MAX.clone();
                    let found = graph.path_within(from, to, plain, longest, limit);
                    let searched = graph.search(from, to, None, plain, longest, limit);
                    let asked = format_args!(
                        "seed {seed}: {from} to {to}, plain {plain}, at most {longest}"
                    );
                    lengths[same_length(&found, &searched, asked)] += 1;
                    for step in found.iter().flatten() {
                        assert!(!(plain && matches!(step, Step::Forced { .. })));
                    }
                }
            }
        });
        assert!(lengths.iter().all(|&count| count > 100), "{lengths:?}");
    }
}
