//! Values written more than once: a read of such a value has several possible writers, and a level
//! is violated only if every choice violates it.
//!
//! Steps, each ending the question if it can:
//! 1. answer with those reads left out; a violation that does not need them stands for every choice;
//! 2. ask whether the order that the history suggests (`suggested`) proves a stronger level;
//! 3. let each read have the last possible writer before it in the order that proves the rest;
//! 4. ask levels that imply this one, which choose writers together with version orders;
//! 5. try the choices one after another: one that satisfies the level proves it;
//! 6. if all choices for reads by committed transactions were tried, each with an anomaly of its
//!    own, the level is violated.
//!
//! What indeterminate transactions read counts only if somebody may have read from them. If there
//! are more choices than can be tried, the answer is unknown unless one was found that satisfies
//! the level.
//!
//! Cost: one answer for each choice tried. Deciding this exactly is NP-hard in general.

use crate::Budget;
use crate::budget::Limit;
use crate::engine::{self, Engine};
use crate::explain;
use crate::observe::{AmbiguousRead, Observed, Taken};
use crate::rule::Rule;
use crate::strong;
use history::{CommitOrder, Level, OpId, Status, TxnId, Verdict};
use std::borrow::Cow;
use std::sync::atomic::AtomicU32;

/// How many choices are tried; fewer where the history is large, but at least a few.
const CHOICES_MAX: u64 = 256;
const CHOICES_MIN: u64 = 4;
/// So many operations are looked at for all choices together.
const OPS_MAX: u64 = 1 << 24;
/// So often a stronger level asks for more time before it is given up.
const ASKED_MAX: u32 = 500_000;
/// The levels that are asked in place of a weaker one.
const STRONGER: [Level; 3] = [
    Level::StrongSessionSerializable,
    Level::StrongSessionSnapshotIsolation,
    Level::Prefix,
];

/// A writer for each of some ambiguous reads.
type Choice = Vec<(OpId, TxnId)>;

/// The verdict on a level over all choices. `engine` answers with the ambiguous reads left out.
pub fn verdict(
    observed: &Observed<'_>,
    engine: &mut Engine<'_>,
    level: Level,
    budget: &Budget<'_>,
) -> Result<Verdict, Limit> {
    let plain = match engine.verdict(level) {
        Err(limit) if !Level::WEAK.contains(&level) => {
            return violated_by_reads(observed, budget).ok_or(limit);
        }
        answer => answer?,
    };
    // The strong levels choose writers together with version orders.
    let is_weak = Level::WEAK.contains(&level) && level != Level::ReadUncommitted;
    let Verdict::Holds(order) = &plain else {
        return Ok(plain);
    };
    let reads = that_may_count(observed);
    if reads.is_empty() || !is_weak || !order.reads.is_empty() {
        return Ok(plain);
    }
    let cases = Cases {
        observed,
        level,
        budget,
    };
    if let Some(order) = cases.by_suggestion() {
        return Ok(Verdict::Holds(order));
    }
    if let Some(order) = cases.holds(&last_before(&reads, order, observed.history.txn_count()))? {
        return Ok(Verdict::Holds(order));
    }
    let choice_count = count(&reads);
    if choice_count > CHOICES_MIN
        && let Some(order) = cases.by_stronger()?
    {
        return Ok(Verdict::Holds(order));
    }
    let op_count = observed.history.op_count().max(1) as u64;
    let tried_max = (OPS_MAX / op_count).clamp(CHOICES_MIN, CHOICES_MAX);
    for number in 0..choice_count.min(tried_max) {
        if let Some(order) = cases.holds(&choice(&reads, number))? {
            return Ok(Verdict::Holds(order));
        }
    }
    cases.violated(&reads, tried_max)
}

/// Whether reads alone leave no choice, for a strong level that is undecided: where every possible writer of a
/// read is a transaction of unknown outcome with an impossible read, there is no cycle to show.
fn violated_by_reads(observed: &Observed<'_>, budget: &Budget<'_>) -> Option<Verdict> {
    let reads = that_may_count(observed);
    let may_lack_writers = |read: &&AmbiguousRead| {
        let is_uncertain = |writer: &TxnId| !observed.taken[writer.index()];
        observed.taken[read.reader.index()] && read.writers.iter().all(is_uncertain)
    };
    let reads: Vec<&AmbiguousRead> = reads.into_iter().filter(may_lack_writers).collect();
    let choice_count = count(&reads);
    if reads.is_empty() || choice_count > CHOICES_MAX || budget.check("solve").is_err() {
        return None;
    }
    let mut anomalies = Vec::new();
    for number in 0..choice_count {
        let choice = choice(&reads, number);
        let chosen = observed.with_choice(&choice);
        let found = engine::read_anomalies(&chosen, Rule::Causal);
        let mut anomaly = found.into_iter().next()?;
        anomaly.explanation = explain::explain(&chosen, &anomaly);
        anomaly.assuming = choice;
        anomalies.push(anomaly);
    }
    Some(Verdict::Violated(anomalies))
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

/// For each read the last of its possible writers before it in an order; the first after it if
/// there is none before, and any if none is in the order.
fn last_before(reads: &[&AmbiguousRead], order: &CommitOrder, txn_count: usize) -> Choice {
    let mut place = vec![None; txn_count];
    for (at, txn) in order.txns.iter().enumerate() {
        place[txn.index()] = Some(at);
    }
    let choose = |read: &&AmbiguousRead| {
        let here = place[read.reader.index()].unwrap_or(usize::MAX);
        let rank = |writer: &&TxnId| match place[writer.index()] {
            Some(there) if there < here => (0, here - there),
            Some(there) => (1, there - here),
            None => (2, 0),
        };
        let writer = read.writers.iter().min_by_key(rank);
        (read.op, *writer.expect("an ambiguous read has writers"))
    };
    reads.iter().map(choose).collect()
}

/// How many choices there are.
fn count(reads: &[&AmbiguousRead]) -> u64 {
    let counts = reads.iter().map(|read| read.writers.len() as u64);
    counts.fold(1, u64::saturating_mul)
}

/// Choice number `number`: a writer for each read, the first read varying fastest.
fn choice(reads: &[&AmbiguousRead], mut number: u64) -> Choice {
    let choose = |read: &&AmbiguousRead| {
        let count = read.writers.len() as u64;
        let writer = read.writers[(number % count) as usize];
        number /= count;
        (read.op, writer)
    };
    reads.iter().map(choose).collect()
}

/// A level, asked once a choice.
struct Cases<'a> {
    observed: &'a Observed<'a>,
    level: Level,
    budget: &'a Budget<'a>,
}

impl Cases<'_> {
    /// The order that proves the level with a choice, if there is one.
    fn holds(&self, choice: &Choice) -> Result<Option<CommitOrder>, Limit> {
        let chosen = self.observed.with_choice(choice);
        let order = Engine::new(&chosen, self.budget).commit_order(self.level)?;
        Ok(order.map(|mut order| {
            order.reads = self.that_count(choice, &chosen);
            order
        }))
    }

    /// The part of a choice about transactions that count as committed: what others read proves
    /// nothing.
    fn that_count(&self, choice: &Choice, chosen: &Observed<'_>) -> Choice {
        let reads = self.observed.ambiguous.iter();
        let readers: rustc_hash::FxHashMap<OpId, TxnId> =
            reads.map(|read| (read.op, read.reader)).collect();
        let counts = |(op, _): &&(OpId, TxnId)| chosen.taken[readers[op].index()];
        choice.iter().filter(counts).copied().collect()
    }

    /// The order that the history suggests, if it proves a stronger level.
    fn by_suggestion(&self) -> Option<CommitOrder> {
        let stronger = STRONGER
            .iter()
            .filter(|stronger| stronger.implies(self.level));
        let mut orders =
            stronger.filter_map(|&stronger| strong::suggested_order(self.observed, stronger));
        orders.next().map(|mut order| {
            order.snapshots.clear();
            order
        })
    }

    /// The order that proves a stronger level, unless that takes long.
    fn by_stronger(&self) -> Result<Option<CommitOrder>, Limit> {
        for stronger in STRONGER {
            if !stronger.implies(self.level) {
                continue;
            }
            self.budget.check("stronger levels")?;
            let asked = AtomicU32::new(0);
            let probe = || self.budget.patience(&asked, ASKED_MAX);
            let patient = Budget {
                probe: &probe,
                ..*self.budget
            };
            if let Ok(Verdict::Holds(mut order)) =
                Engine::new(self.observed, &patient).verdict(stronger)
            {
                order.snapshots.clear();
                return Ok(Some(order));
            }
        }
        Ok(None)
    }

    /// The verdict once no choice that was tried satisfies the level.
    fn violated(&self, reads: &[&AmbiguousRead], tried_max: u64) -> Result<Verdict, Limit> {
        let is_certain = |read: &&&AmbiguousRead| self.observed.taken[read.reader.index()];
        let certain: Vec<&AmbiguousRead> = reads.iter().filter(is_certain).copied().collect();
        let choice_count = count(&certain);
        if choice_count > tried_max || self.observed.lacks_writers {
            let ways = match choice_count {
                u64::MAX => "too many".to_string(),
                count => count.to_string(),
            };
            return Ok(Verdict::Unknown(format!(
                "{} reads return values that were written more than once to their keys, which \
                 leaves {ways} ways to explain them; {} were tried and violate the level",
                certain.len(),
                choice_count.min(tried_max)
            )));
        }
        let mut anomalies = Vec::new();
        for number in 0..choice_count {
            let choice = choice(&certain, number);
            let chosen = self.observed.with_choice(&choice);
            let Verdict::Violated(found) = Engine::new(&chosen, self.budget).verdict(self.level)?
            else {
                return Ok(Verdict::Unknown(
                    "a read that may have been served by an indeterminate transaction, which \
                     itself read a value written more than once, leaves too many cases to prove a \
                     violation"
                        .to_string(),
                ));
            };
            anomalies.extend(found.into_iter().take(1).map(|mut anomaly| {
                anomaly.assuming = choice.clone();
                anomaly
            }));
        }
        Ok(Verdict::Violated(anomalies))
    }
}

impl<'h> Observed<'h> {
    /// The same history with a writer chosen for each ambiguous read.
    fn with_choice(&self, choice: &[(OpId, TxnId)]) -> Observed<'h> {
        let mut links = self.links.clone();
        for (read, writer) in choice {
            links[read.index()] = writer.0;
        }
        let mut chosen = Observed {
            history: self.history,
            file_order: self.file_order.clone(),
            statuses: self.statuses.clone(),
            values: Cow::Owned(Vec::new()),
            links,
            taken: Taken::default(),
            read_anomalies: self.read_anomalies.clone(),
            ambiguous: Vec::new(),
            lacks_writers: false,
            known: self.known.clone(),
            circles: Vec::new(),
            keys: self.keys,
            undecidable: None,
            unprovable: None,
        };
        chosen.take_committed();
        for known in &self.known {
            chosen.take(known.from);
            chosen.take(known.to);
        }
        chosen
    }
}
