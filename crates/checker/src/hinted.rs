//! A first witness order from hints: the numbers that the file gave its transactions, the times at
//! which they ended, the order of the file, or the values that they wrote.
//!
//! Definition: as in `order`. A hint is never taken for a fact. It is followed as far as session order
//! and reads allow, and whatever comes out is asked about like any other first order; a wrong hint
//! costs time, never another verdict.
//!
//! Steps: numbers count if no two transactions share one and sessions take turns in them; else times, if
//! there are any; else the order of the file, if sessions take turns in it; else values, if one counter gave
//! them (`counted`). Go through the transactions
//! in that order, and place before each one what it read from and is missing (`repair::follow`). If more
//! than half have to be placed early, the hint is worth nothing, and sessions take turns as in `order`.
//!
//! Cost: linear; a sort where numbers are sparse or times out of order. What it spares: whoever records
//! as things happen leaves an order that next to nothing contradicts, so that there is nothing to repair,
//! and only the reads that are stale in it need to be asked.

use crate::counted;
use crate::observe::Observed;
use crate::order::{self, Last, Schedule};
use crate::repair;
use crate::rounds::known_edges;
use history::{History, LargeTable, TxnId, UNLABELLED};

/// The first order to try for a rule, along so ∪ wr ∪ known orders of versions.
pub fn first(observed: &Observed<'_>) -> Schedule {
    let known = known_edges(observed);
    let hint = if known.is_empty() {
        hint(observed)
    } else {
        None
    };
    let found = hint.and_then(|hint| match order::keeps_two_versions(observed) {
        true => along::<[u32; 2]>(observed, &hint),
        false => along::<u32>(observed, &hint),
    });
    found.unwrap_or_else(|| order::schedule(observed, &known))
}

/// The taken transactions in the order that a hint gives.
fn hint(observed: &Observed<'_>) -> Option<Vec<u32>> {
    let tells = |found: &Vec<u32>| takes_turns(observed.history, found);
    by_numbers(observed)
        .filter(tells)
        .or_else(|| by_times(observed))
        .or_else(|| Some(by_places(observed)).filter(tells))
        .or_else(|| counted::by_values(observed))
}

/// Whether some session goes on after another one had its turn, or each has one transaction only.
fn takes_turns(history: &History, order: &[u32]) -> bool {
    let session = |txn: u32| history.session_of(TxnId(txn));
    let changes = |pair: &&[u32]| session(pair[0]) != session(pair[1]);
    let turns = 1 + order.windows(2).filter(changes).count();
    turns > history.session_count() || turns == order.len()
}

/// Nobody has this number.
const NOBODY: u32 = u32::MAX;

/// Numbers within so many times the transactions are sorted by a table.
const SPARSE: u64 = 4;

/// The taken transactions by their numbers; None if some have none or the same one.
pub fn by_numbers(observed: &Observed<'_>) -> Option<Vec<u32>> {
    let txns = observed.history.txns();
    let taken = |&txn: &u32| observed.taken[txn as usize];
    let number = |txn: u32| txns[txn as usize].label;
    let mut order: Vec<u32> = (0..txns.len() as u32).filter(taken).collect();
    let first = order.iter().map(|&txn| number(txn)).min()?;
    let last = order.iter().map(|&txn| number(txn)).max()?;
    if last == UNLABELLED {
        return None;
    }
    if last - first >= SPARSE * txns.len() as u64 {
        order.sort_by_key(|&txn| number(txn));
        let differ = |pair: &[u32]| number(pair[0]) != number(pair[1]);
        return order.windows(2).all(differ).then_some(order);
    }
    let mut by_number = vec![NOBODY; (last - first) as usize + 1];
    for &txn in &order {
        let place = &mut by_number[(number(txn) - first) as usize];
        if *place != NOBODY {
            return None;
        }
        *place = txn;
    }
    order.clear();
    order.extend(by_number.into_iter().filter(|&txn| txn != NOBODY));
    Some(order)
}

/// The taken transactions as the file has them.
pub fn by_places(observed: &Observed<'_>) -> Vec<u32> {
    let in_file = observed.file_order.iter().map(|placed| placed.txn.0);
    in_file
        .filter(|&txn| observed.taken[txn as usize])
        .collect()
}

/// The taken transactions by the times at which they ended; of those that end together, as in the file.
fn by_times(observed: &Observed<'_>) -> Option<Vec<u32>> {
    let history = observed.history;
    if !history.has_intervals() {
        return None;
    }
    let ended = |txn: u32| history.interval(TxnId(txn)).map(|it| it.completion());
    let mut order = by_places(observed);
    order.sort_by_key(|&txn| ended(txn));
    Some(order)
}

/// The order that follows a hint, and what is stale in it.
fn along<L: Last>(observed: &Observed<'_>, hint: &[u32]) -> Option<Schedule> {
    let mut last = LargeTable::<L>::zeros(observed.history.keys().limit());
    let last = last.as_mut_slice();
    let mut stale = order::room_for_stale(observed);
    let order = repair::follow(observed, hint, hint.len() / 2, |txn| {
        order::apply(observed, txn, last, &mut stale);
    })?;
    Some(Schedule {
        complete: true,
        order,
        stale,
        hinted: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Budget;
    use crate::observe::observe;
    use crate::rounds::{Decision, decide};
    use crate::rule::Rule;
    use crate::windows::tests::random_history;
    use history::{Initial, KeyOrder};

    /// A hint that is nothing but an order of the transactions in which sessions take turns at random.
    fn any_order(observed: &Observed<'_>, seed: u64) -> Vec<u32> {
        let mut order: Vec<u32> = (0..observed.history.txn_count() as u32).collect();
        let mixed = |txn: u32| (u64::from(txn) + 1).wrapping_mul(seed | 1).rotate_left(29);
        order.sort_by_key(|&txn| mixed(txn).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        order.retain(|&txn| observed.taken[txn as usize]);
        order
    }

    #[test]
    fn whatever_is_hinted_the_verdict_is_the_same() {
        let budget = Budget::default();
        let (mut verdicts, mut followed) = ([0, 0], 0);
        for seed in 0..600 {
            let history = random_history(seed, 4 + seed % 60);
            let observed = observe(&history, &Initial::default(), KeyOrder::Free, &budget);
            let Ok(observed) = observed else { continue };
            let plain = order::schedule(&observed, &known_edges(&observed));
            let Some(hinted) = along::<[u32; 2]>(&observed, &any_order(&observed, seed)) else {
                continue;
            };
            assert!(plain.complete, "seed {seed}");
            followed += 1;
            for rule in [Rule::ReadCommitted, Rule::ReadAtomic, Rule::Causal] {
                let holds = [&plain, &hinted].map(|first| {
                    let decision = decide(&observed, rule, first, &budget);
                    matches!(decision, Ok(Decision::Holds(_)))
                });
                assert_eq!(holds[0], holds[1], "seed {seed}, {rule:?}");
                verdicts[usize::from(holds[0])] += 1;
            }
        }
        assert!(followed > 30, "{followed} hints were followed");
        assert!(verdicts[0] > 20 && verdicts[1] > 20, "{verdicts:?}");
    }
}
