//! A first witness order from hints: the numbers that the file gave its transactions, the times at
//! which they ended, or the order of the file.
//!
//! Definition: as in `order`. A hint is never taken for a fact. It is followed as far as session order
//! and reads allow, and whatever comes out is asked about like any other first order; a wrong hint
//! costs time, never another verdict.
//!
//! Steps: numbers count if no two transactions share one, they go up along sessions, and sessions take
//! turns in them; else times, if there are any; else the order of the file, if sessions take turns in
//! it. Go through the transactions in that order, and place before each one what it read from and is
//! missing (`repair::follow`). If more than half have to be placed early, the hint is worth nothing, and
//! sessions take turns as in `order`.
//!
//! Cost: linear; a sort where numbers are sparse or times out of order. What it spares: whoever records
//! as things happen leaves an order that next to nothing contradicts, so that there is nothing to repair,
//! and only the reads that are stale in it need to be asked.

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
    let taken = |txn: &u32| observed.taken[*txn as usize];
    let by_file = || observed.file_order.iter().map(|placed| placed.txn.0);
    let found = by_numbers(observed.history)
        .filter(|found| takes_turns(observed, found.iter().copied()))
        .or_else(|| by_times(observed.history, by_file()))
        .or_else(|| takes_turns(observed, by_file()).then(|| by_file().collect()));
    found.map(|mut found| {
        found.retain(taken);
        found
    })
}

/// Whether some session goes on after another one had its turn, or each has one transaction only.
fn takes_turns(observed: &Observed<'_>, order: impl Iterator<Item = u32>) -> bool {
    let history = observed.history;
    let mut sessions = order.map(|txn| history.session_of(TxnId(txn)));
    let mut turns = 1;
    let Some(mut current) = sessions.next() else {
        return false;
    };
    for session in sessions {
        turns += usize::from(session != current);
        current = session;
    }
    turns > history.session_count() || turns == history.txn_count()
}

/// Nobody has this number.
const NOBODY: u32 = u32::MAX;

/// Numbers up to so many times the transactions are sorted by a table.
const SPARSE: usize = 4;

/// All transactions by their numbers, if no two share one and they go up along sessions.
fn by_numbers(history: &History) -> Option<Vec<u32>> {
    let txns = history.txns();
    let largest = txns.iter().map(|txn| txn.label).max()?;
    let go_up = |session| {
        let range = history.session_txns(session);
        let mine = &txns[range.start as usize..range.end as usize];
        mine.is_sorted_by(|one, next| one.label < next.label)
    };
    if largest == UNLABELLED || !history.sessions().all(go_up) {
        return None;
    }
    if largest < (SPARSE * txns.len()) as u64 {
        let mut by_number = vec![NOBODY; largest as usize + 1];
        for (txn, row) in (0u32..).zip(txns) {
            let place = &mut by_number[row.label as usize];
            if *place != NOBODY {
                return None;
            }
            *place = txn;
        }
        by_number.retain(|&txn| txn != NOBODY);
        return Some(by_number);
    }
    let mut order: Vec<u32> = (0..txns.len() as u32).collect();
    let number = |txn: u32| txns[txn as usize].label;
    order.sort_by_key(|&txn| number(txn));
    let is_shared = |pair: &[u32]| number(pair[0]) == number(pair[1]);
    (!order.windows(2).any(is_shared)).then_some(order)
}

/// All transactions by the times at which they ended; of those that end together, as in the file.
fn by_times(history: &History, by_file: impl Iterator<Item = u32>) -> Option<Vec<u32>> {
    if !history.has_intervals() {
        return None;
    }
    let ended = |txn: u32| history.interval(TxnId(txn)).map(|it| it.completion());
    let mut order: Vec<u32> = by_file.collect();
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
            let Some(hinted) = along::<[u32; 2]>(&observed, &any_order(&observed, seed as u64))
            else {
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
