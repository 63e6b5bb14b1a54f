//! Violations found round the places where a guessed order is wrong.
//!
//! Definition: what contradicts a level runs through a read that is stale in every order. Where a guess is wrong in few
//! places only, the transactions that take part are mostly those that stand near the reader, the writer it read from
//! and the one that overwrote this, or follow from one to another by sessions.
//!
//! Steps: take the transactions up to so many places before and behind each of these, and of the
//! transactions that they read from the writes that they read. That is a part of the history (`part`): what violates
//! the level in it does in the whole. Ask about the part as about any history; if it holds, take more.
//!
//! Cost: that of the parts, which have at most one in [`SHARE`] operations of the whole; and a look at each
//! event for where the places are. So rejecting costs no more than accepting where the guess is nearly right. Source: ours.
//! If no part violates the level, nothing is known, and the whole is decided.

use crate::Budget;
use crate::budget::{self, Limit};
use crate::engine::Engine;
use crate::explain;
use crate::observe::{Link, Observed, observe};
use crate::part::{Part, Selection};
use crate::stage::Stage;
use crate::strong::conflicts::Conflict;
use crate::strong::shape::Shape;
use crate::strong::{FirstGuess, Strategy};
use history::{Anomaly, Initial, KeyId, KeyOrder, Level, OpId, TxnId, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU32;
use std::time::Instant;

/// So many events before and behind each place.
const REACH: [usize; 5] = [4, 32, 256, 1024, 4096];

/// A part has no more than one in so many operations of the whole.
const SHARE: usize = 8;

/// What is asked, and how.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub level: Level,
    /// That of the guess.
    pub shape: Shape,
    pub strategy: Strategy,
    pub initial: &'a Initial,
    pub keys: KeyOrder,
}

/// What was found in a part.
pub struct Found {
    pub anomalies: Vec<Anomaly>,
    /// How many transactions the part has.
    pub txn_count: usize,
}

impl Found {
    /// The stage that found it.
    pub fn stage(&self, started: Instant) -> Stage {
        Stage {
            name: "nearby",
            seconds: started.elapsed().as_secs_f64(),
            counts: vec![("transactions", self.txn_count as u64)],
        }
    }
}

/// The anomalies of a part round what is wrong with a guess, if some part violates the level.
pub fn violated(
    observed: &Observed<'_>,
    asked: Asked<'_>,
    first: &FirstGuess,
    budget: &Budget<'_>,
) -> Result<Option<Found>, Limit> {
    // Reads with several writers need them all, and orders that are known need what shows them.
    let is_plain = observed.ambiguous.is_empty() && observed.known.is_empty();
    if first.conflicts.is_empty() || !is_plain {
        return Ok(None);
    }
    let ops_max = observed.history.op_count() / SHARE;
    within(observed, asked, first, (&REACH, ops_max), budget)
}

/// The same in parts of these reaches and at most so many operations.
fn within(
    observed: &Observed<'_>,
    asked: Asked<'_>,
    first: &FirstGuess,
    (reaches, ops_max): (&[usize], usize),
    budget: &Budget<'_>,
) -> Result<Option<Found>, Limit> {
    let shape = asked.shape;
    let places = places(observed, shape, first);
    for &reach in reaches {
        budget.check("nearby")?;
        let near = near(observed, shape, &first.events, &places, reach);
        let Some(selection) = selected(observed, &near, ops_max) else {
            break;
        };
        let Some(part) = Part::take_closed(observed.history, &selection) else {
            break;
        };
        if let Some(found) = found(observed, &part, asked, budget) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The anomalies of these transactions and what they read, if that violates the level.
pub fn violated_among(
    observed: &Observed<'_>,
    asked: Asked<'_>,
    txns: &BTreeSet<TxnId>,
    budget: &Budget<'_>,
) -> Result<Option<Found>, Limit> {
    budget.check("nearby")?;
    let is_plain = observed.ambiguous.is_empty() && observed.known.is_empty();
    let selection = selected(observed, txns, usize::MAX).filter(|_| is_plain);
    let part = selection.and_then(|selection| Part::take_closed(observed.history, &selection));
    Ok(part.and_then(|part| found(observed, &part, asked, budget)))
}

/// What violates the level in a part, as anomalies of the whole.
fn found(
    observed: &Observed<'_>,
    part: &Part,
    asked: Asked<'_>,
    budget: &Budget<'_>,
) -> Option<Found> {
    let in_whole = |anomaly: &Anomaly| {
        let mut anomaly = part.whole_anomaly(anomaly);
        if asked.strategy.explain {
            anomaly.explanation = explain::explain(observed, &anomaly);
        }
        anomaly
    };
    Some(Found {
        anomalies: anomalies(part, asked, budget)?
            .iter()
            .map(in_whole)
            .collect(),
        txn_count: part.history.txn_count(),
    })
}

/// What violates the level in a part, if anything does that is found soon.
fn anomalies(part: &Part, asked: Asked<'_>, budget: &Budget<'_>) -> Option<Vec<Anomaly>> {
    let times = AtomicU32::new(0);
    let probe = || budget.patience(&times, budget::ASKED_MAX);
    let budget = Budget {
        probe: &probe,
        ..Budget::default()
    };
    let observed = observe(&part.history, asked.initial, asked.keys, &budget).ok()?;
    // An order of the part is of no use.
    let strategy = Strategy {
        stepwise: false,
        ..asked.strategy
    };
    let mut engine = Engine::new(&observed, &budget)
        .by(strategy)
        .minimizing(asked.initial, asked.keys)
        .of_part();
    match engine.verdict(asked.level) {
        Ok(Verdict::Violated(anomalies)) => Some(anomalies),
        _ => None,
    }
}

/// Where the events stand that conflicts are about.
fn places(observed: &Observed<'_>, shape: Shape, first: &FirstGuess) -> Vec<usize> {
    let mut wanted = vec![0u64; shape.events(observed.history.txn_count()).div_ceil(64)];
    let mut want = |event: u32| wanted[event as usize / 64] |= 1 << (event % 64);
    for &conflict in &first.conflicts {
        let commits = match conflict {
            Conflict::Stale {
                reader,
                writer,
                other,
                ..
            } => {
                want(shape.start(reader));
                [writer, other]
            }
            Conflict::Overlap { first, second, .. } => [first, second],
            Conflict::Unexplained { .. } => continue,
        };
        for txn in commits.into_iter().filter(|&txn| Link::is_txn(txn)) {
            want(shape.commit(txn));
        }
    }
    let is_wanted = |event: u32| {
        let word = wanted.get(event as usize / 64);
        word.is_some_and(|word| word & (1 << (event % 64)) != 0)
    };
    let events = first.events.iter().enumerate();
    let found = events.filter(|&(_, &event)| is_wanted(event));
    found.map(|(place, _)| place).collect()
}

/// The transactions with an event near one of the places, which ascend.
fn near(
    observed: &Observed<'_>,
    shape: Shape,
    events: &[u32],
    places: &[usize],
    reach: usize,
) -> BTreeSet<TxnId> {
    let first_other = shape.events(observed.history.txn_count()) as u32;
    let mut txns = BTreeSet::new();
    let mut from = 0;
    for &place in places {
        let to = (place + reach + 1).min(events.len());
        from = from.max(place.saturating_sub(reach));
        let own = events[from..to]
            .iter()
            .filter(|&&event| event < first_other);
        txns.extend(own.map(|&event| TxnId(shape.txn(event))));
        from = to;
    }
    txns
}

/// These transactions, and what they read of others; None if that is too much.
fn selected(observed: &Observed<'_>, near: &BTreeSet<TxnId>, ops_max: usize) -> Option<Selection> {
    let history = observed.history;
    let mut keys: BTreeMap<TxnId, Vec<KeyId>> = BTreeMap::new();
    let mut op_count = 0;
    for &txn in near {
        op_count += history.op_range(txn).len();
        for (_, key, writer) in observed.reads(txn).filter(|(.., it)| !near.contains(it)) {
            op_count += 1;
            keys.entry(writer).or_default().push(key);
        }
        if op_count > ops_max {
            return None;
        }
    }
    let all = |txn: TxnId| history.op_range(txn).map(|op| OpId(op as u32)).collect();
    let mut selection: Selection = near.iter().map(|&txn| (txn, all(txn))).collect();
    for (txn, keys) in keys {
        let is_read = |&(_, op): &(OpId, history::Op)| op.kind.is_write() && keys.contains(&op.key);
        let writes = history.txn_ops(txn).filter(is_read);
        selection.push((txn, writes.map(|(id, _)| id).collect()));
    }
    selection.sort_unstable_by_key(|&(txn, _)| txn);
    Some(selection)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strong;
    use crate::windows::tests::random_history;
    use history::{History, LevelResult};

    /// What small parts show of a level, and whether the whole satisfies it.
    fn ask(history: &History, level: Level) -> Option<(Option<Found>, bool)> {
        let (budget, initial, keys) = (Budget::default(), Initial::default(), KeyOrder::Free);
        let observed = observe(history, &initial, keys, &budget).ok()?;
        if !observed.read_anomalies.is_empty() {
            return None;
        }
        let first = strong::guess_order(&observed, level, &budget).ok()?;
        if first.order.is_none() && first.conflicts.is_empty() {
            return None;
        }
        let asked = Asked {
            level,
            shape: Shape::of(level)?,
            strategy: Strategy::default(),
            initial: &initial,
            keys,
        };
        let limits = (&[0, 1, 3, 6][..], history.op_count());
        let found = within(&observed, asked, &first, limits, &budget).ok()?;
        let whole = Engine::new(&observed, &budget).verdict(level).ok()?;
        Some((found, matches!(whole, Verdict::Holds(_))))
    }

    #[test]
    fn what_a_part_violates_the_whole_does_and_it_certifies() {
        let (mut found_count, mut violated_count, mut held_count) = (0, 0, 0);
        for seed in 0..500 {
            let history = random_history(seed, 4 + seed % 40);
            for level in Level::all().filter(|&level| Shape::of(level).is_some()) {
                let Some((found, holds)) = ask(&history, level) else {
                    continue;
                };
                held_count += usize::from(holds);
                violated_count += usize::from(!holds);
                let Some(found) = found else { continue };
                found_count += 1;
                assert!(!holds, "seed {seed}, {level}");
                assert!(found.txn_count <= history.txn_count());
                let verdict = Verdict::Violated(found.anomalies);
                let result = LevelResult { level, verdict };
                let certified = history::certify(&history, &Initial::default(), &result);
                assert!(certified.is_ok(), "{certified:?}, seed {seed}, {level}");
            }
        }
        assert!(held_count > 100, "{held_count} hold");
        assert!(
            found_count > 200 && 2 * found_count > violated_count,
            "{found_count} of {violated_count} violations were found nearby"
        );
    }
}
