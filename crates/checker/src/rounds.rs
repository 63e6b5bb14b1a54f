//! Decides a rule by repeated witness orders: fast on histories that obey it.
//!
//! Definition: the rule holds iff so ∪ wr ∪ known versions ∪ the forced edges are acyclic.
//! Steps: schedule; for each stale read, ask which writers of its key the reader must have seen
//! (`stale`); each such writer gives a forced edge to the version read. Without a forced edge that
//! contradicts the order, the order is the proof. Otherwise add the edges and repair the order; a
//! cycle is a violation: every edge was forced. Only reads of versions that the repair moved, and
//! those left open, can be contradicted in the next round (`repair`).
//!
//! Cost: a few linear rounds on histories of simulated stores (one to six seen). No small bound is proved, so
//! after a dozen rounds all forced edges are generated at once, as AWDIT and Plume do from the
//! start (`saturate`). Read-committed and read-atomic ask each read only once (`direct`). Monotonic reads and writes-follow-reads ask about causality first, which
//! implies them: on their own they cost up to 20 times as much.

use crate::Budget;
use crate::budget::Limit;
use crate::direct;
use crate::observe::{KnownOrder, Link, Observed};
use crate::op_set::OpSet;
use crate::order::{Forced, Predecessors, Schedule, StaleRead, schedule};
use crate::repair::{Repaired, repair};
use crate::rule::Rule;
use crate::saturate;
use crate::stale::StaleReads;
use history::TxnId;
use std::borrow::Cow;

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
    pub forced: Vec<Forced>,
    /// Reads of an initial version, each with a writer that the reader had to see.
    pub initial: Vec<(StaleRead, u32)>,
    /// Reads of which not all that contradicts them may have been found: to be asked about again.
    pub open: Vec<StaleRead>,
    /// The last order along so ∪ wr ∪ known versions, if there is one.
    pub order: Option<Vec<u32>>,
}

/// Known version orders as forced edges.
pub fn known_edges(observed: &Observed<'_>) -> Vec<Forced> {
    let edge = |(index, known): (usize, &KnownOrder)| Forced {
        to: known.to.0,
        from: known.from.0,
        read: index as u32,
        reader: Forced::KNOWN,
        direct: false,
    };
    let taken =
        |edge: &Forced| observed.taken[edge.to as usize] && observed.taken[edge.from as usize];
    observed
        .known
        .iter()
        .enumerate()
        .map(edge)
        .filter(taken)
        .collect()
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
        ..Contradictions::default()
    };
    if !first.complete {
        return Ok(Decision::Violated(found));
    }
    if matches!(rule, Rule::ReadCommitted | Rule::ReadAtomic) {
        return direct::decide(observed, rule, first, budget);
    }
    // Causality answers sooner than these, and mostly for them.
    if matches!(rule, Rule::MonotonicReads | Rule::WritesFollowReads)
        && let Ok(Decision::Holds(order)) = decide(observed, Rule::Causal, first, budget)
    {
        return Ok(Decision::Holds(order));
    }
    let mut order = Cow::Borrowed(&first.order[..]);
    let mut place = places(observed, &order);
    let mut stale = Cow::Borrowed(&first.stale[..]);
    let mut stale_reads = StaleReads::new(observed, rule);
    let rounds_max = if saturate::is_possible(observed, rule) {
        ROUNDS_MAX
    } else {
        usize::MAX
    };
    for _ in 0..rounds_max {
        budget.check("witness order")?;
        let more = stale_reads.contradictions(&order, &place, &stale, budget)?;
        if !more.initial.is_empty() {
            found.initial = more.initial;
            found.forced.extend(more.forced);
            found.order = Some(order.into_owned());
            return Ok(Decision::Violated(found));
        }
        let contradicts = |edge: &Forced| place[edge.from as usize] > place[edge.to as usize];
        if !more.forced.iter().any(contradicts) {
            return Ok(Decision::Holds(order.into_owned()));
        }
        found.forced.extend(more.forced);
        let forced = Predecessors::of_forced(&found.forced, observed.history.txn_count());
        let Repaired::Order { order: next, moved } = repair(observed, &order, forced) else {
            found.order = Some(order.into_owned());
            return Ok(Decision::Violated(found));
        };
        place = places(observed, &next);
        stale = Cow::Owned(reads_from(observed, &moved, &more.open, &next));
        order = Cow::Owned(next);
    }
    found.order = Some(order.into_owned());
    all_at_once(observed, rule, found, budget)
}

/// The same for whoever needs no more than the verdict: where it is violated, not all that contradicts it is found.
/// Reads of initial versions are few, and a history that violates a session guarantee mostly does so by one of them, too.
pub fn decide_unexplained(
    observed: &Observed<'_>,
    rule: Rule,
    first: &Schedule,
    budget: &Budget<'_>,
) -> Result<Decision, Limit> {
    if first.complete && !matches!(rule, Rule::ReadCommitted | Rule::ReadAtomic | Rule::Causal) {
        let is_initial = |read: &&StaleRead| observed.links[read.op as usize] == Link::INITIAL;
        let stale: Vec<StaleRead> = first.stale.iter().filter(is_initial).copied().collect();
        let place = places(observed, &first.order);
        let mut asked = StaleReads::new(observed, rule);
        let found = asked.contradictions(&first.order, &place, &stale, budget)?;
        if !found.initial.is_empty() {
            return Ok(Decision::Violated(found));
        }
    }
    decide(observed, rule, first, budget)
}

/// The reads of versions of these transactions and the open reads, readers in order.
fn reads_from(
    observed: &Observed<'_>,
    writers: &[u32],
    open: &[StaleRead],
    order: &[u32],
) -> Vec<StaleRead> {
    let history = observed.history;
    let mut wanted = vec![false; history.txn_count() + 1];
    for &txn in writers {
        wanted[txn as usize] = true;
    }
    let mut is_open = OpSet::none(observed.links.len());
    open.iter()
        .for_each(|read| is_open.insert(read.op as usize));
    let mut found = Vec::new();
    for &reader in order {
        let range = history.op_range(TxnId(reader));
        for (op, &link) in range.clone().zip(&observed.links[range]) {
            // Links that are no transactions lie beyond the last, where nothing is wanted.
            if wanted[(link as usize).min(history.txn_count())] | is_open.has(op) {
                found.push(StaleRead::new(op as u32, reader));
            }
        }
    }
    found
}

/// Rounds before all forced edges are generated at once.
const ROUNDS_MAX: usize = 12;

/// Decides a rule by all its forced edges. The rules that cannot be saturated go on in rounds.
fn all_at_once(
    observed: &Observed<'_>,
    rule: Rule,
    mut found: Contradictions,
    budget: &Budget<'_>,
) -> Result<Decision, Limit> {
    let mut edges = Vec::new();
    saturate::forced_edges(observed, rule, budget, &mut |edge| {
        if edge.to == TxnId::INITIAL.0 {
            let read = StaleRead::new(edge.read, edge.reader);
            found.initial.push((read, edge.from));
        } else {
            edges.push(edge);
        }
    })?;
    found.forced.extend(edges);
    let last = schedule(observed, &found.forced);
    if last.complete && found.initial.is_empty() {
        return Ok(Decision::Holds(last.order));
    }
    Ok(Decision::Violated(found))
}

/// The place of each transaction in an order.
pub fn places(observed: &Observed<'_>, order: &[u32]) -> Vec<u32> {
    let mut place = vec![u32::MAX; observed.history.txn_count()];
    for (at, &txn) in order.iter().enumerate() {
        place[txn as usize] = at as u32;
    }
    place
}
