//! Values written more than once: a read of such a value has several possible writers, and a level
//! is violated only if every choice violates it.
//!
//! Steps: answer with those reads left out; a violation that does not need them stands for every
//! choice. Otherwise try choices one after another: one that satisfies the level proves it. If all
//! choices were tried, each with an anomaly of its own, the level is violated. If there are more
//! than can be tried, the answer is unknown unless one that was tried satisfies the level.
//!
//! Cost: one answer for each choice tried. Deciding this exactly is NP-hard in general.

use crate::Budget;
use crate::budget::Limit;
use crate::engine::Engine;
use crate::observe::Observed;
use history::{Level, OpId, TxnId, Verdict};
use std::borrow::Cow;

/// How many choices are tried; fewer where the history is large, but at least a few.
const CHOICES_MAX: u64 = 256;
const CHOICES_MIN: u64 = 4;
/// So many operations are looked at for all choices together.
const OPS_MAX: u64 = 1 << 24;

/// The verdict on a level over all choices. `engine` answers with the ambiguous reads left out.
pub fn verdict(
    observed: &Observed<'_>,
    engine: &mut Engine<'_>,
    level: Level,
    budget: &Budget<'_>,
) -> Result<Verdict, Limit> {
    let plain = engine.verdict(level)?;
    // The strong levels choose writers together with version orders.
    let is_weak = Level::WEAK.contains(&level) && level != Level::ReadUncommitted;
    let undecided = matches!(&plain, Verdict::Holds(order) if order.reads.is_empty()) && is_weak;
    if observed.ambiguous.is_empty() || !undecided {
        return Ok(plain);
    }
    let writer_counts = observed
        .ambiguous
        .iter()
        .map(|read| read.writers.len() as u64);
    let choice_count = writer_counts.fold(1, u64::saturating_mul);
    let op_count = observed.history.op_count().max(1) as u64;
    let tried = choice_count.min((OPS_MAX / op_count).clamp(CHOICES_MIN, CHOICES_MAX));
    for number in 0..tried {
        let (choice, chosen) = choose(observed, number);
        if let Some(mut order) = Engine::new(&chosen, budget).commit_order(level)? {
            order.reads = choice;
            return Ok(Verdict::Holds(order));
        }
    }
    if observed
        .ambiguous
        .iter()
        .any(|read| !observed.taken[read.reader.index()])
    {
        return Ok(Verdict::Unknown(
            "a read that may have been served by an indeterminate transaction, which itself read a \
             value written more than once, leaves too many cases to prove a violation"
                .to_string(),
        ));
    }
    if tried == choice_count && !observed.lacks_writers {
        return all_violated(observed, choice_count, level, budget);
    }
    let count = match choice_count {
        u64::MAX => "too many".to_string(),
        count => count.to_string(),
    };
    Ok(Verdict::Unknown(format!(
        "{} reads return values that were written more than once to their keys, which leaves \
         {count} ways to explain them; {tried} were tried and violate the level",
        observed.ambiguous.len()
    )))
}

/// An anomaly for each choice.
fn all_violated(
    observed: &Observed<'_>,
    choice_count: u64,
    level: Level,
    budget: &Budget<'_>,
) -> Result<Verdict, Limit> {
    let mut anomalies = Vec::new();
    for number in 0..choice_count {
        let (choice, chosen) = choose(observed, number);
        if let Verdict::Violated(found) = Engine::new(&chosen, budget).verdict(level)? {
            anomalies.extend(found.into_iter().take(1).map(|mut anomaly| {
                anomaly.assuming = choice.clone();
                anomaly
            }));
        }
    }
    Ok(Verdict::Violated(anomalies))
}

/// The history with choice number `number`, and the part of the choice that matters.
fn choose<'h>(observed: &Observed<'h>, number: u64) -> (Vec<(OpId, TxnId)>, Observed<'h>) {
    let mut choice = choice(observed, number);
    let chosen = observed.with_choice(&choice);
    // What a transaction that does not count as committed read proves nothing.
    let mut reads = observed.ambiguous.iter();
    choice.retain(|_| {
        reads
            .next()
            .is_some_and(|read| chosen.taken[read.reader.index()])
    });
    (choice, chosen)
}

/// Choice number `number`: a writer for each ambiguous read, the first read varying fastest.
fn choice(observed: &Observed<'_>, mut number: u64) -> Vec<(OpId, TxnId)> {
    let mut pairs = Vec::with_capacity(observed.ambiguous.len());
    for read in &observed.ambiguous {
        let count = read.writers.len() as u64;
        pairs.push((read.op, read.writers[(number % count) as usize]));
        number /= count;
    }
    pairs
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
            taken: Vec::new(),
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
