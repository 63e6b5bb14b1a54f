//! Goes on from an order: directly where little is wrong with it, and with what follows where that is stuck.
//!
//! Steps: prune and repair the order, and solve what is left of it, if that is little and soon done. Otherwise, or
//! where much is wrong, saturate (`saturated`), and do the same along all that follows. Both only find orders, but for
//! what pruning finds. At last, find out again what followed (`replayed`), prune, repair, and solve to the end.
//!
//! Cost: an order with few conflicts is mostly left with none by repair; where blind writes leave almost everything
//! open, repair makes more of them, and the solver, which knows only pairs that some order got wrong, tries a million
//! ways. Saturation takes milliseconds for a thousand transactions then.

use super::known::Known;
use super::moved::FEW_LEFT;
use super::replayed::Fact;
use super::saturated::{decided_order, saturated};
use super::theory::Theory;
use super::topological::Topological;
use super::{Decision, Effort, Strategy, prepare, search, solve, violated};
use crate::Budget;
use crate::budget::Limit;
use crate::observe::Observed;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

/// With more conflicts than one in so many transactions, a guess is far off.
pub const FAR_OFF: usize = 8;

/// How often a solver asks before it is given up, while there is something else to try; and where repair left more
/// than little, which an order along all that follows does better.
const ASKED_MAX: u32 = 20_000;
const ASKED_OF_MANY_MAX: u32 = 1000;

/// Decides; `events` are along everything known, `optional` those of transactions that need not count. Of snapshots
/// that history suggests, `is_enough`.
pub fn decide(
    known: &Known<'_>,
    mut events: Vec<u32>,
    optional: &[u32],
    is_enough: bool,
    strategy: Strategy,
    budget: &Budget<'_>,
    effort: &mut Effort,
) -> Result<Decision, Limit> {
    let mut facts = Vec::new();
    if strategy.prune && optional.is_empty() {
        let is_far_off = is_worth_saturating(known.observed, effort.conflicts);
        if !is_far_off {
            let decided = attempt(
                known,
                events.clone(),
                ASKED_OF_MANY_MAX,
                strategy,
                budget,
                effort,
            )?;
            if let Some(decision) = decided {
                return Ok(decision);
            }
        }
        if !is_enough {
            match decide_saturated(known, &mut events, strategy, budget, effort)? {
                Ok(decision) => return Ok(decision),
                Err(found) => facts = found,
            }
        }
    }
    events.extend(optional);
    search(known, events, &facts, strategy, budget, effort)
}

/// Whether so much is open that finding out first what follows costs less.
fn is_worth_saturating(observed: &Observed<'_>, conflicts: usize) -> bool {
    conflicts + observed.ambiguous.len() > observed.history.txn_count() / FAR_OFF
}

/// Decides from an order, if that is soon done. Where repair leaves more than little, a solver asks at most so often.
fn attempt(
    known: &Known<'_>,
    events: Vec<u32>,
    of_many_max: u32,
    strategy: Strategy,
    budget: &Budget<'_>,
    effort: &mut Effort,
) -> Result<Option<Decision>, Limit> {
    let theory = Theory::new(Topological::new(known, events));
    let (theory, likely) = match prepare(known, theory, &[], strategy, budget, effort)? {
        Ok(prepared) => prepared,
        Err(refutation) => return Ok(Some(violated(known, &refutation))),
    };
    let asked_max = match effort.left {
        0..=FEW_LEFT => ASKED_MAX,
        _ => of_many_max,
    };
    let asked = AtomicU32::new(0);
    let probe = || budget.patience(&asked, asked_max);
    let patient = Budget {
        probe: &probe,
        ..*budget
    };
    match solve(known, theory, &likely, strategy, &patient, effort) {
        Ok(decision) => Ok(Some(decision)),
        Err(limit) => budget.check("solve").map_err(|_| limit).map(|()| None),
    }
}

/// Decides with what follows from what is known. If that finds no order, `events` may be a better one, and what was
/// found out is returned.
fn decide_saturated(
    known: &Known<'_>,
    events: &mut Vec<u32>,
    strategy: Strategy,
    budget: &Budget<'_>,
    effort: &mut Effort,
) -> Result<Result<Decision, Vec<Fact>>, Limit> {
    let started = Instant::now();
    let known_twice = Known::new(known.observed, known.shape, known.timeline.clone());
    let saturation = saturated(known_twice, events, strategy, budget);
    effort.saturate_seconds = started.elapsed().as_secs_f64();
    let Some(saturated) = saturation? else {
        return Ok(Err(Vec::new()));
    };
    effort.implied = saturated.known.implied_count();
    effort.decided = saturated.decided;
    events.clone_from(&saturated.events);
    if saturated.is_contradictory {
        return Ok(Err(saturated.facts));
    }
    let known = &saturated.known;
    let again = |events: &[u32], effort: &mut Effort| {
        attempt(known, events.to_vec(), ASKED_MAX, strategy, budget, effort)
    };
    let mut decision = again(events, effort)?;
    if decision.is_none()
        && strategy.stepwise
        && let Some(versions) = &saturated.undecided
    {
        let started = Instant::now();
        let given = events.clone();
        (*events, effort.decided) = decided_order(known, versions, given, budget)?;
        effort.saturate_seconds += started.elapsed().as_secs_f64();
        if effort.decided > 0 {
            decision = again(events, effort)?;
        }
    }
    match decision {
        Some(Decision::Holds(order)) => Ok(Ok(Decision::Holds(order))),
        _ => Ok(Err(saturated.facts)),
    }
}
