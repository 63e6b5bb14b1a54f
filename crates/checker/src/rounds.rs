//! Decides a rule by repeated witness orders: fast on histories that obey it.
//!
//! Definition: the rule holds iff so ∪ wr ∪ known versions ∪ the forced edges are acyclic.
//! Steps: schedule; for each stale read, ask which writers of its key the reader must have seen
//! (`stale`); each such writer gives a forced edge to the version read. Without a forced edge that
//! contradicts the order, the order is the proof. Otherwise add the edges and schedule again. A
//! cycle is a violation: every edge was forced. A stale read whose edges are all there is
//! *examined*, and no later order can contradict it.
//!
//! Cost: a few linear rounds on real histories (one to six seen); each round adds an edge, so it
//! ends, but no small bound is proved. Where we differ from the literature: AWDIT and Plume
//! generate all forced edges first (`saturate` does that here, for diagnosis).

use crate::Budget;
use crate::budget::Limit;
use crate::observe::{KnownOrder, Observed};
use crate::order::{Forced, ForcedEdges, Schedule, StaleRead, schedule};
use crate::rule::Rule;
use crate::stale::StaleReads;
use rustc_hash::FxHashSet;

/// How a rule was decided.
pub enum Decision {
    /// It holds, by this order.
    Holds(Vec<u32>),
    /// It does not; the forced edges found so far close a cycle, or these stale reads of initial
    /// versions (with a writer each that was to be seen) contradict it.
    Violated(Contradictions),
}

/// What contradicts an order.
#[derive(Default)]
pub struct Contradictions {
    pub forced: ForcedEdges,
    /// Reads of an initial version, each with a writer that the reader had to see.
    pub initial: Vec<(StaleRead, u32)>,
}

/// Known version orders as forced edges.
pub fn known_edges(observed: &Observed<'_>) -> ForcedEdges {
    let edge = |(index, known): (usize, &KnownOrder)| Forced {
        to: known.to.0,
        from: known.from.0,
        read: index as u32,
        reader: Forced::KNOWN,
        direct: false,
    };
    let taken =
        |edge: &Forced| observed.taken[edge.to as usize] && observed.taken[edge.from as usize];
    ForcedEdges::new(
        observed
            .known
            .iter()
            .enumerate()
            .map(edge)
            .filter(taken)
            .collect(),
    )
}

/// Decides a rule; see the module's text. `first` is a schedule along so ∪ wr ∪ known orders.
pub fn decide(
    observed: &Observed<'_>,
    rule: Rule,
    first: &Schedule,
    budget: &Budget<'_>,
) -> Result<Decision, Limit> {
    let mut found = Contradictions {
        forced: known_edges(observed),
        initial: Vec::new(),
    };
    if !first.complete {
        return Ok(Decision::Violated(found));
    }
    let mut again: Option<Schedule> = None;
    let mut stale_reads = StaleReads::new(observed, rule);
    let mut examined = FxHashSet::default();
    loop {
        let current = again.as_ref().unwrap_or(first);
        budget.check("witness order")?;
        let is_new = |stale: &&StaleRead| !examined.contains(&stale.op);
        let stale: Vec<StaleRead> = current.stale.iter().filter(is_new).copied().collect();
        let more = stale_reads.contradictions(current, &stale, budget)?;
        if stale_reads.finds_all() {
            examined.extend(stale.iter().map(|stale| stale.op));
        }
        if !more.initial.is_empty() {
            found.initial = more.initial;
            found.forced.extend(more.forced.edges);
            return Ok(Decision::Violated(found));
        }
        let place = places(observed, current);
        let contradicts = |edge: &Forced| place[edge.from as usize] > place[edge.to as usize];
        if !more.forced.edges.iter().any(contradicts) {
            return Ok(Decision::Holds(current.order.clone()));
        }
        found.forced.extend(more.forced.edges);
        let next = schedule(observed, &found.forced);
        if !next.complete {
            return Ok(Decision::Violated(found));
        }
        again = Some(next);
    }
}

/// The place of each transaction in an order.
pub fn places(observed: &Observed<'_>, current: &Schedule) -> Vec<u32> {
    let mut place = vec![u32::MAX; observed.history.txn_count()];
    for (at, &txn) in current.order.iter().enumerate() {
        place[txn as usize] = at as u32;
    }
    place
}
