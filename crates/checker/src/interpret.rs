//! Values written more than once: a read of such a value has several possible writers, and a level
//! is violated only if every choice violates it.
//!
//! Steps, each ending the question if it can:
//! 1. answer with those reads left out; a violation that does not need them stands for every choice;
//! 2. ask whether the order that the history suggests (`suggested`) proves a stronger level;
//! 3. let each read have the last possible writer before it in the order that proves the rest;
//! 4. ask levels that imply this one, which choose writers together with version orders;
//! 5. try writers for one read after another (`cases`): one choice that satisfies the level proves it;
//!    if each contradicts it, the level is violated.
//!
//! Above causal the engine chooses writers together with version orders; only where that comes to nothing, because
//! of lists or of transactions of unknown outcome, the fifth step is taken.
//!
//! What indeterminate transactions read counts only if somebody may have read from them. If more
//! answers are needed than are asked for, the level is unknown.

use crate::Budget;
use crate::budget::Limit;
use crate::cases::Cases;
use crate::engine::Engine;
use crate::observe::{AmbiguousRead, Observed};
use crate::strong;
use history::{CommitOrder, Level, Status, TxnId, Verdict};
use std::sync::atomic::AtomicU32;

/// How many answers are asked for; fewer where the history is large, but at least a few.
const ANSWERS_MAX: u64 = 1024;
const ANSWERS_MIN: u64 = 4;
/// So many operations are looked at for all answers together.
const OPS_MAX: u64 = 1 << 24;
/// So often a stronger level asks for more time before it is given up.
const ASKED_MAX: u32 = 500_000;
/// The levels that are asked in place of a weaker one.
const STRONGER: [Level; 3] = [
    Level::StrongSessionSerializable,
    Level::StrongSessionSnapshotIsolation,
    Level::Prefix,
];

/// The verdict on a level over all choices. `engine` answers with the ambiguous reads left out.
pub fn verdict(
    observed: &Observed<'_>,
    engine: &mut Engine<'_>,
    level: Level,
    budget: &Budget<'_>,
) -> Result<Verdict, Limit> {
    let is_strong = !Level::WEAK.contains(&level);
    let plain = match engine.verdict(level) {
        Err(limit) if is_strong => return strong_by_cases(observed, level, budget).ok_or(limit),
        Ok(Verdict::Unknown(why)) if is_strong => {
            let decided = strong_by_cases(observed, level, budget);
            return Ok(decided.unwrap_or(Verdict::Unknown(why)));
        }
        answer => answer?,
    };
    // The strong levels choose writers together with version orders.
    let is_weak = !is_strong && level != Level::ReadUncommitted;
    let Verdict::Holds(order) = &plain else {
        return Ok(plain);
    };
    let reads = that_may_count(observed);
    if reads.is_empty() || !is_weak || !order.reads.is_empty() {
        return Ok(plain);
    }
    if let Some(order) = by_suggestion(observed, level) {
        return Ok(Verdict::Holds(order));
    }
    let mut cases = Cases::new(observed, &reads, level, budget);
    if let Some(order) = cases.begin(order)? {
        return Ok(Verdict::Holds(order));
    }
    if count(&reads) > ANSWERS_MIN
        && let Some(order) = by_stronger(observed, level, budget)?
    {
        return Ok(Verdict::Holds(order));
    }
    cases.decide(answer_count_max(observed))
}

fn answer_count_max(observed: &Observed<'_>) -> u64 {
    let op_count = observed.history.op_count().max(1) as u64;
    (OPS_MAX / op_count).clamp(ANSWERS_MIN, ANSWERS_MAX)
}

/// The order that the history suggests, if it proves a stronger level.
fn by_suggestion(observed: &Observed<'_>, level: Level) -> Option<CommitOrder> {
    let stronger = STRONGER.iter().filter(|stronger| stronger.implies(level));
    let orders = stronger.filter_map(|&stronger| strong::suggested_order(observed, stronger));
    let mut proofs = orders.filter(|order| observed.lists_allow(order));
    proofs.next().map(|mut order| {
        order.snapshots.clear();
        order
    })
}

/// The order that proves a stronger level, unless that takes long.
fn by_stronger(
    observed: &Observed<'_>,
    level: Level,
    budget: &Budget<'_>,
) -> Result<Option<CommitOrder>, Limit> {
    for stronger in STRONGER {
        if !stronger.implies(level) {
            continue;
        }
        budget.check("stronger levels")?;
        let asked = AtomicU32::new(0);
        let probe = || budget.patience(&asked, ASKED_MAX);
        let patient = Budget {
            probe: &probe,
            ..*budget
        };
        if let Ok(Verdict::Holds(mut order)) = Engine::new(observed, &patient).verdict(stronger) {
            order.snapshots.clear();
            return Ok(Some(order));
        }
    }
    Ok(None)
}

/// The verdict on a strong level that is undecided although there is time left, if trying writers one after another
/// finds it: what the order that was found takes as committed contradicts lists, or every possible writer of a read is
/// a transaction of unknown outcome that cannot have committed, so that there is no cycle to show.
fn strong_by_cases(observed: &Observed<'_>, level: Level, budget: &Budget<'_>) -> Option<Verdict> {
    let reads = that_may_count(observed);
    if reads.is_empty() || observed.lacks_writers || budget.check("solve").is_err() {
        return None;
    }
    let cases = Cases::new(observed, &reads, level, budget);
    let decided = cases.decide_all(answer_count_max(observed)).ok();
    decided.filter(|verdict| !matches!(verdict, Verdict::Unknown(_)))
}

/// The ambiguous reads by transactions that count as committed in some interpretation in which
/// nothing counts that need not.
fn that_may_count<'o>(observed: &'o Observed<'_>) -> Vec<&'o AmbiguousRead> {
    if !observed.statuses.contains(&Status::Indeterminate) {
        let counts = |read: &&AmbiguousRead| observed.taken[read.reader.index()];
        return observed.ambiguous.iter().filter(counts).collect();
    }
    let mut counts: Vec<bool> = observed.taken.iter().collect();
    let mut reads: Vec<&AmbiguousRead> = observed.ambiguous.iter().collect();
    loop {
        let reached = |read: &&&AmbiguousRead| counts[read.reader.index()];
        let mut work: Vec<TxnId> = reads
            .iter()
            .filter(reached)
            .flat_map(|read| read.writers.iter().copied())
            .collect();
        let mut is_new = false;
        while let Some(txn) = work.pop() {
            if !counts[txn.index()] {
                is_new = true;
                counts[txn.index()] = true;
                work.extend(observed.reads(txn).map(|(_, _, writer)| writer));
            }
        }
        if !is_new {
            reads.retain(|read| counts[read.reader.index()]);
            return reads;
        }
    }
}

/// How many choices there are.
fn count(reads: &[&AmbiguousRead]) -> u64 {
    let counts = reads.iter().map(|read| read.writers.len() as u64);
    counts.fold(1, u64::saturating_mul)
}
