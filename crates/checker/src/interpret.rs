//! Values written more than once: a read of such a value has several possible writers, and a level
//! is violated only if every choice violates it.
//!
//! Steps: answer with those reads left out; a violation that does not need them stands for every
//! choice. Otherwise try choices one after another: one that satisfies the level proves it. If all
//! choices were tried, each with an anomaly of its own, the level is violated. Beyond
//! [`CHOICES_MAX`] choices the answer is unknown unless one that was tried satisfies the level.
//!
//! Cost: one answer for each choice tried. Deciding this exactly is NP-hard in general.

use crate::Budget;
use crate::budget::Limit;
use crate::engine::Engine;
use crate::observe::Observed;
use history::{Level, OpId, TxnId, Verdict};
use std::borrow::Cow;

/// How many choices are tried.
const CHOICES_MAX: u64 = 256;

/// The verdict on a level over all choices. `engine` answers with the ambiguous reads left out.
pub fn verdict(
    observed: &Observed<'_>,
    engine: &mut Engine<'_>,
    level: Level,
    budget: &Budget<'_>,
) -> Result<Verdict, Limit> {
    let plain = engine.verdict(level)?;
    let undecided = matches!(plain, Verdict::Holds(_)) && level != Level::ReadUncommitted;
    if observed.ambiguous.is_empty() || !undecided {
        return Ok(plain);
    }
    let choice_count = observed
        .ambiguous
        .iter()
        .map(|read| read.writers.len() as u64)
        .fold(1, u64::saturating_mul);
    let mut anomalies = Vec::new();
    for number in 0..choice_count.min(CHOICES_MAX) {
        let mut choice = choice(observed, number);
        let chosen = observed.with_choice(&choice);
        // What a transaction that does not count as committed read proves nothing.
        let mut reads = observed.ambiguous.iter();
        choice.retain(|_| {
            reads
                .next()
                .is_some_and(|read| chosen.taken[read.reader.index()])
        });
        match Engine::new(&chosen, budget).verdict(level)? {
            Verdict::Holds(mut order) => {
                order.reads = choice;
                return Ok(Verdict::Holds(order));
            }
            Verdict::Violated(found) => {
                anomalies.extend(found.into_iter().take(1).map(|mut anomaly| {
                    anomaly.assuming = choice.clone();
                    anomaly
                }));
            }
            unknown => return Ok(unknown),
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
    if choice_count <= CHOICES_MAX {
        return Ok(Verdict::Violated(anomalies));
    }
    Ok(Verdict::Unknown(format!(
        "{} reads return values that were written more than once to their keys, which leaves \
         {choice_count} ways to explain them; {CHOICES_MAX} were tried and violate the level",
        observed.ambiguous.len()
    )))
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
            values: Cow::Owned(Vec::new()),
            links,
            taken: Vec::new(),
            read_anomalies: self.read_anomalies.clone(),
            ambiguous: Vec::new(),
            known: self.known.clone(),
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
