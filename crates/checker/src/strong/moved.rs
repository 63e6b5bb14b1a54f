//! Puts an order right by moving transactions (`moves`), and otherwise by pruning and repairing it (`greedy`).
//!
//! Steps: move transactions, beginning with those that something is wrong with. How many moves that takes is left to
//! chance: most often some ten for each conflict, and now and then a thousand times as many. So it is given up soon, and begun again from the
//! same order with other numbers by chance and more patience. Before that, see whether what is certain about the places that are wrong
//! contradicts itself. What is left of few conflicts at last is repaired; not before, since repair can wander for long where many
//! sessions ran side by side.
//!
//! Cost: that of the moves, and a sort and a walk for each time.

use super::conflicts::{self, Conflict};
use super::known::Known;
use super::moves::Moves;
use super::theory::Theory;
use super::topological::Topological;
use super::versions::Versions;
use super::{Decision, Effort, Settled, Strategy, prepare, prove, solve, sorted, violated};
use crate::Budget;
use crate::budget::Limit;

/// How often it is begun; and how many moves are made the first time, at least, at least one for so many transactions, and for each
/// conflict, and each time more.
const TIMES: u32 = 3;
const MOVES_MIN: usize = 1000;
const TXNS_FOR_MOVE: usize = 10;
const MOVES_FOR_CONFLICT: usize = 20;
const MORE: usize = 8;

/// More moves than this for each transaction are never made. Where those find an order, it is with seven.
const MOVES_FOR_EACH: usize = 12;

/// With more conflicts than one for so many events, an order is not repaired; with more than this few left then, the
/// solver is not asked.
pub const REPAIRED: usize = 200;
pub const FEW_LEFT: usize = 16;

/// Moves transactions, beginning with an order, and repairs it if few places of it are wrong then; None if that is not
/// enough. Then `events` is the order reached, if it is the better one. `is_pruned`: whether what is certain about the order is known
/// not to contradict itself.
pub fn moved(
    known: &Known<'_>,
    versions: &Versions,
    events: &mut Vec<u32>,
    is_pruned: bool,
    strategy: Strategy,
    budget: &Budget<'_>,
    effort: &mut Effort,
) -> Result<Option<Decision>, Limit> {
    let (observed, shape) = (known.observed, known.shape);
    if known.timeline.is_some() {
        return Ok(None);
    }
    let walk = |order: &[u32]| conflicts::walk(observed, shape, order, &Settled { observed });
    let wrong: Vec<Conflict> = walk(events).conflicts;
    let mut best: Option<(usize, Vec<u32>)> = None;
    let most = MOVES_FOR_EACH * observed.history.txn_count();
    let least = MOVES_MIN.max(observed.history.txn_count() / TXNS_FOR_MOVE);
    let mut patience = least + MOVES_FOR_CONFLICT * wrong.len();
    for time in 1..=TIMES {
        let mut moves = Moves::new(known, versions, events, u64::from(time));
        moves.begin(&wrong);
        effort.moves += moves.run(patience.min(most), budget)?;
        let Ok(order) = sorted::sort(known, &moves.order()) else {
            return Ok(None);
        };
        let left = walk(&order).conflicts.len();
        if left == 0 {
            return Ok(prove(observed, shape, &order).map(Decision::Holds));
        }
        if best.as_ref().is_none_or(|best| left < best.0) {
            best = Some((left, order));
        }
        if patience >= most {
            break;
        }
        patience *= MORE;
        if time == 1 && !is_pruned {
            let violated = pruned(known, events.clone(), strategy, budget, effort)?;
            if violated.is_some() {
                return Ok(violated);
            }
        }
    }
    let Some((left, order)) = best else {
        return Ok(None);
    };
    if left < wrong.len() {
        events.clone_from(&order);
    }
    if left > order.len() / REPAIRED {
        return Ok(None);
    }
    let theory = Theory::new(Topological::new(known, order));
    match prepare(known, theory, &[], strategy, budget, effort)? {
        Err(refutation) => Ok(Some(violated(known, &refutation))),
        Ok((theory, likely)) if effort.left <= FEW_LEFT => {
            solve(known, theory, &likely, strategy, budget, effort).map(Some)
        }
        Ok(_) => Ok(None),
    }
}

/// The violation that pruning an order finds.
pub fn pruned(
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
    let prepared = prepare(known, theory, &[], pruning, budget, effort)?;
    Ok(prepared
        .err()
        .map(|refutation| violated(known, &refutation)))
}
