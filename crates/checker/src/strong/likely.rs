//! Decides a level by likelihood, where that finds an order or a cycle soon.
//!
//! Steps: decide all pairs of versions, the likeliest first (`likeliest`). If nothing is wrong with the order
//! that comes out, it is the proof. Else prune it like any other order: if what is certain about
//! the places that are wrong contradicts itself, that is the evidence. Else repair it. If that
//! leaves something wrong, begin again from the order reached, more carefully. If no attempt succeeds, nothing is known, and
//! the best order is what other ways begin with.
//!
//! Cost: that of `likeliest` for each attempt, two walks, and pruning once.

use super::known::Known;
use super::likeliest::{Likeliest, Manner};
use super::pairs::Pairs;
use super::theory::Theory;
use super::topological::Topological;
use super::versions::Versions;
use super::{Decision, Effort, FAR_OFF, Settled, Strategy, conflicts, prepare, prove, violated};
use crate::Budget;
use crate::budget::Limit;
use std::time::Instant;

/// Whether so much is wrong with the best guess that this costs less than to repair it.
pub fn is_worth_it(known: &Known<'_>, conflicts: usize) -> bool {
    let observed = known.observed;
    let txn_count = observed.history.txn_count();
    let is_far_off = txn_count >= TXNS_MIN && conflicts > txn_count / FAR_OFF;
    is_far_off && observed.ambiguous.is_empty() && !known.shape.parallel
}

/// With more pairs of a writer and another writer or reader of its key than this, it is not tried.
const PAIRS_MAX: usize = 1 << 22;

/// Nor with more pairs of versions than this for each event: with few keys, times say too little.
const PAIRS_FOR_EACH: usize = 64;
/// With more conflicts than one for so many events, another attempt comes no closer.
const CLOSE: usize = 16;

/// How the attempts are made.
const ATTEMPTS: [Manner; 3] = [
    Manner {
        share: 0.3,
        is_careful: false,
    },
    Manner {
        share: 0.15,
        is_careful: true,
    },
    Manner {
        share: 0.08,
        is_careful: true,
    },
];

/// Fewer transactions are decided at once in any way.
const TXNS_MIN: usize = 8;

/// See the module's text; None if nothing is known. Then `events` are the best order found.
pub fn decide(
    known: &Known<'_>,
    events: &mut Vec<u32>,
    strategy: Strategy,
    budget: &Budget<'_>,
    effort: &mut Effort,
) -> Result<Option<Decision>, Limit> {
    (budget.progress)("deciding what is likely");
    let started = Instant::now();
    let pruned = effort.prune_seconds;
    let decided = attempt_all(known, events, strategy, budget, effort);
    effort.likely_seconds = started.elapsed().as_secs_f64() - (effort.prune_seconds - pruned);
    decided
}

fn attempt_all(
    known: &Known<'_>,
    events: &mut Vec<u32>,
    strategy: Strategy,
    budget: &Budget<'_>,
    effort: &mut Effort,
) -> Result<Option<Decision>, Limit> {
    let (observed, shape) = (known.observed, known.shape);
    let versions = Versions::new(observed);
    if versions.pairs() > PAIRS_MAX {
        return Ok(None);
    }
    let given = events.clone();
    let pairs = Pairs::new(known, &versions, &given);
    if pairs.open.len() > PAIRS_FOR_EACH * given.len() {
        return Ok(None);
    }
    effort.likely = pairs.open.len();
    let mut fewest = effort.conflicts;
    let mut place: Vec<u32> = (0..given.len() as u32).collect();
    for (at, manner) in ATTEMPTS.into_iter().enumerate() {
        let Some(kept) = pairs.begin(&place) else {
            // What is certain contradicts itself; pruning any order comes upon that.
            return pruned(known, given, strategy, budget, effort);
        };
        let mut likeliest = Likeliest::new(&pairs, kept, manner, budget)?;
        for is_repaired in [false, true] {
            let event = |&number: &u32| given[number as usize];
            let order: Vec<u32> = likeliest.order().iter().map(event).collect();
            let walk = conflicts::walk(observed, shape, &order, &Settled { observed });
            if walk.conflicts.is_empty() {
                return Ok(prove(observed, shape, &order).map(Decision::Holds));
            }
            if walk.conflicts.len() < fewest {
                fewest = walk.conflicts.len();
                events.clone_from(&order);
                place.copy_from_slice(likeliest.places());
            }
            if is_repaired {
                break;
            }
            if at == 0
                && let Some(violated) = pruned(known, order, strategy, budget, effort)?
            {
                return Ok(Some(violated));
            }
            likeliest.repair(budget)?;
        }
        if fewest > given.len() / CLOSE {
            break;
        }
    }
    Ok(None)
}

/// The violation that pruning an order finds.
fn pruned(
    known: &Known<'_>,
    order: Vec<u32>,
    strategy: Strategy,
    budget: &Budget<'_>,
    effort: &mut Effort,
) -> Result<Option<Decision>, Limit> {
    let pruning = Strategy {
        repair: false,
        ..strategy
    };
    let theory = Theory::new(Topological::new(known, order));
    let prepared = prepare(known, theory, pruning, budget, effort)?;
    Ok(prepared
        .err()
        .map(|refutation| violated(known, &refutation)))
}
