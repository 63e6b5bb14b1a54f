//! Decides a level by likelihood, where that finds an order or a cycle soon.
//!
//! Steps: where starts and commits are two events, begin as if they were one (`instants`), and put that right (`moved`). If that
//! does not end it, or they are one, decide all pairs of versions, the likeliest first (`likeliest`). If nothing is wrong with the order
//! that comes out, it is the proof. Else prune it like any other order: if what is certain about
//! the places that are wrong contradicts itself, that is the evidence. Else move transactions to where less is wrong (`moves`), which mostly
//! ends it, and repair what little that leaves. If something is still wrong, begin again from the order reached, more carefully, and decide
//! again what is round the pairs that are left (`again`). If no attempt succeeds, nothing is known, and the best order is what other ways begin with.
//!
//! Where there are too many pairs, only versions near each other in an order that waits for no reader are thought of, each transaction takes place at
//! once, and this is done again from the order found while much is wrong with it, and then put right; and if that fails, the pairs that are wrong in the order found are decided, too, until none is.
//!
//! Cost: that of `likeliest` for each attempt, that of `moves` once, two walks, and pruning once.

use super::again::Again;
use super::far::decide_far;
use super::known::Known;
use super::likeliest::{Likeliest, Manner};
use super::moved::{FEW_LEFT, REPAIRED, moved, pruned};
use super::pairs::Pairs;
use super::reach::Reach;
use super::stuck::FAR_OFF;
use super::versions::Versions;
use super::{Decision, Effort, Settled, Strategy, conflicts, guesses, instants, proof};
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

/// With more pairs of a writer and another writer or reader of its key than this, it is tried only where nothing else is
/// possible, and only so many versions before each in the order given are thought of at first.
const PAIRS_MAX: usize = 1 << 22;
const NEAR: usize = 6;
/// So many of those, where only an order to move transactions from is wanted.
const NEAR_AT_ONCE: usize = 4;
/// How often what is left of them is repaired, with those that were not thought of and are wrong.
const FAR_REPAIRS_MAX: usize = 6;

/// It is not tried with more pairs of versions than this for each event: with few keys, times say too little.
const PAIRS_FOR_EACH: usize = 64;
/// With more conflicts than one for so many events, another attempt comes no closer.
const CLOSE: usize = 16;

/// How the attempts are made.
const ATTEMPTS: [Manner; 4] = [QUICK, CAREFUL, CAREFUL, CAREFUL];
const QUICK: Manner = Manner {
    share: 0.4,
    events_for_each: 10,
    sweeps: 2,
    first_sweeps: 12,
    is_careful: false,
};
/// Where keys have many versions, times say more.
const COARSE: Manner = Manner {
    share: 0.5,
    events_for_each: 10,
    sweeps: 2,
    first_sweeps: 12,
    is_careful: false,
};
/// The manners in which near versions are decided, one after another while more conflicts than one for so many events are left.
const NEARER: [Manner; 3] = [COARSE, QUICK, QUICK];
const NEARLY: usize = 64;
const CAREFUL: Manner = Manner {
    share: 0.1,
    events_for_each: 40,
    sweeps: 4,
    first_sweeps: 4,
    is_careful: true,
};

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
    let versions = Versions::new(known.observed);
    let near = (versions.pairs() > PAIRS_MAX).then_some(NEAR);
    // What follows from what is known finds an order sooner, where all of it can be known soon, and where sessions do not count.
    if near.is_some() && (!known.shape.sessions || Reach::is_whole_soon(known, events.len())) {
        return Ok(None);
    }
    if near.is_some() || known.shape.split {
        let decided = by_instants(known, &versions, near, events, strategy, budget, effort)?;
        if decided.is_some() {
            return Ok(decided);
        }
    }
    attempt_each(known, &versions, near, events, strategy, budget, effort)
}

/// Puts right an order in which each transaction takes place at once, if that can be done soon. It may become `events`.
fn by_instants(
    known: &Known<'_>,
    versions: &Versions,
    near: Option<usize>,
    events: &mut Vec<u32>,
    strategy: Strategy,
    budget: &Budget<'_>,
    effort: &mut Effort,
) -> Result<Option<Decision>, Limit> {
    let (observed, shape) = (known.observed, known.shape);
    if known.timeline.is_some() {
        return Ok(None);
    }
    // Which versions are near each other, an order knows better that waits for nobody.
    let room = near.and_then(|_| guesses::by_room(known, events));
    let (mut order, mut wrong) = (room.unwrap_or_else(|| events.clone()), usize::MAX);
    let manners: &[Manner] = if near.is_some() { &NEARER } else { &[QUICK] };
    for &manner in manners {
        // Which versions are near each other, the better order knows better.
        let pairs = (near.map(|_| NEAR_AT_ONCE), PAIRS_FOR_EACH);
        let found = instants::order(known, versions, &order, pairs, manner, budget)?;
        let Some((found, decided)) = found else {
            return Ok(None);
        };
        effort.likely = decided;
        order = found;
        let walk = conflicts::walk(observed, shape, &order, &Settled { observed });
        wrong = walk.conflicts.len();
        let nearly = if shape.split { CLOSE } else { NEARLY };
        if wrong == 0 {
            let order = proof(observed, shape, &order, &walk);
            return Ok(Some(Decision::Holds(order)));
        }
        if wrong <= order.len() / nearly {
            break;
        }
    }
    if wrong > order.len() / CLOSE {
        return Ok(None);
    }
    let decided = moved(
        known,
        versions,
        &mut order,
        near.is_some(),
        strategy,
        budget,
        effort,
    )?;
    if decided.is_none() {
        effort.conflicts = wrong;
        *events = order;
    }
    Ok(decided)
}

/// Makes the attempts, with all pairs of versions or with those of each and so many before it.
fn attempt_each(
    known: &Known<'_>,
    versions: &Versions,
    near: Option<usize>,
    events: &mut Vec<u32>,
    strategy: Strategy,
    budget: &Budget<'_>,
    effort: &mut Effort,
) -> Result<Option<Decision>, Limit> {
    let (observed, shape) = (known.observed, known.shape);
    let given = events.clone();
    let mut pairs = Pairs::new(known, versions, &given, near);
    if pairs.open.len() > PAIRS_FOR_EACH * given.len() {
        return Ok(None);
    }
    effort.likely = pairs.open.len();
    let mut fewest = effort.conflicts;
    let mut place: Vec<u32> = (0..given.len() as u32).collect();
    for (at, manner) in ATTEMPTS.into_iter().enumerate() {
        // What is certain may contradict itself; pruning any order comes upon that, and sooner if little is wrong with it.
        let is_whole = near.is_none();
        let begun = begin(&mut pairs, &place, manner, is_whole, budget)?;
        let (mut likeliest, is_contradictory) = begun;
        let repairs_max = if near.is_some() { FAR_REPAIRS_MAX } else { 1 };
        for repairs in 0..=repairs_max {
            if near.is_some() {
                decide_far(known, &given, &mut likeliest, budget)?;
            }
            let event = |&number: &u32| given[number as usize];
            let order: Vec<u32> = likeliest.order().iter().map(event).collect();
            if is_contradictory {
                return pruned(known, order, strategy, budget, effort);
            }
            let walk = conflicts::walk(observed, shape, &order, &Settled { observed });
            if walk.conflicts.is_empty() {
                let order = proof(observed, shape, &order, &walk);
                return Ok(Some(Decision::Holds(order)));
            }
            if walk.conflicts.len() < fewest {
                fewest = walk.conflicts.len();
                events.clone_from(&order);
                place.copy_from_slice(likeliest.places());
            }
            if repairs == repairs_max || likeliest.left.is_empty() {
                break;
            }
            if at == 0 && repairs == 0 {
                let moving = near.is_none().then_some(versions);
                let decided =
                    pruned_or_moved(known, moving, order, events, strategy, budget, effort)?;
                if decided.is_some() {
                    return Ok(decided);
                }
            }
            if manner.is_careful || near.is_some() {
                Again::new(&likeliest).run(&mut likeliest, budget)?;
            } else if likeliest.left.len() <= FEW_LEFT.max(given.len() / REPAIRED) {
                likeliest.repair(budget)?;
            } else {
                break;
            }
        }
        let is_close = fewest <= given.len() / CLOSE;
        if !is_close || manner.is_careful && likeliest.left.len() > FEW_LEFT {
            break;
        }
    }
    Ok(None)
}

/// Decides the pairs along what is certain, beginning with these places, and tells whether that contradicts itself. If they are all
/// there are, few that are left are flipped.
fn begin<'a>(
    pairs: &'a mut Pairs,
    place: &[u32],
    manner: Manner,
    is_whole: bool,
    budget: &Budget<'_>,
) -> Result<(Likeliest<'a>, bool), Limit> {
    let certain = pairs.begin(place);
    let is_contradictory = certain.is_none();
    let kept = certain.unwrap_or_else(|| pairs.begin_anyhow());
    let mut likeliest = Likeliest::new(pairs, kept, manner, budget)?;
    if is_whole && !is_contradictory {
        likeliest.flip_few(budget)?;
    }
    Ok((likeliest, is_contradictory))
}

/// What pruning an order finds, or else moving transactions from the best one, where that was not tried.
fn pruned_or_moved(
    known: &Known<'_>,
    versions: Option<&Versions>,
    order: Vec<u32>,
    events: &mut Vec<u32>,
    strategy: Strategy,
    budget: &Budget<'_>,
    effort: &mut Effort,
) -> Result<Option<Decision>, Limit> {
    let violated = pruned(known, order, strategy, budget, effort)?;
    match versions {
        Some(versions) if violated.is_none() => {
            moved(known, versions, events, true, strategy, budget, effort)
        }
        _ => Ok(violated),
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape::Shape;
    use super::super::sorted;
    use super::*;
    use crate::observe::observe;
    use crate::windows::tests::random_history;
    use history::{Initial, KeyOrder, Level};

    /// Decides a random history by all pairs or by near ones, flips what is left, and decides again; adds how many pairs that
    /// leaves, whether none was left at last, and whether flips were enough.
    fn decide_again(seed: u64, level: Level, near: Option<usize>, counts: &mut [usize; 3]) {
        let history = random_history(seed, 20 + seed % 60);
        let (budget, initial) = (Budget::default(), Initial::default());
        let observed = observe(&history, &initial, KeyOrder::Free, &budget).unwrap();
        let shape = Shape::of(level).unwrap();
        let known = Known::new(&observed, shape, None);
        let Ok(given) = sorted::sort(&known, &[]) else {
            return;
        };
        let mut pairs = Pairs::new(&known, &Versions::new(&observed), &given, near);
        let place: Vec<u32> = (0..given.len() as u32).collect();
        let Some(kept) = pairs.begin(&place) else {
            return;
        };
        let mut likeliest = Likeliest::new(&mut pairs, kept, QUICK, &budget).unwrap();
        decide_far(&known, &given, &mut likeliest, &budget).unwrap();
        let before = likeliest.left.len();
        likeliest.flip(&budget).unwrap();
        likeliest.assert_kept();
        let left = likeliest.left.len();
        counts[2] += usize::from(before > 0 && left == 0);
        Again::new(&likeliest).run(&mut likeliest, &budget).unwrap();
        assert!(likeliest.left.len() <= left, "seed {seed}, {level}");
        likeliest.assert_kept();
        let mut order: Vec<u32> = likeliest.order().to_vec();
        let events: Vec<u32> = order.iter().map(|&number| given[number as usize]).collect();
        order.sort_unstable();
        assert_eq!(order, place, "seed {seed}, {level}");
        let settled = Settled {
            observed: &observed,
        };
        let walk = conflicts::walk(&observed, shape, &events, &settled);
        if likeliest.left.is_empty() && near.is_none() && observed.ambiguous.is_empty() {
            assert!(walk.conflicts.is_empty(), "seed {seed}, {level}");
        }
        counts[0] += left;
        counts[1] += usize::from(likeliest.left.is_empty());
    }

    #[test]
    fn what_is_decided_again_leaves_no_more_and_keeps_all_decisions() {
        let mut counts = [0; 3];
        for seed in 0..150 {
            for level in [Level::StrongSessionSerializable, Level::SnapshotIsolation] {
                for near in [None, Some(1)] {
                    decide_again(seed, level, near, &mut counts);
                }
            }
        }
        assert!(
            counts[0] > 1000 && counts[1] > 20 && counts[2] > 10,
            "{counts:?}"
        );
    }
}
