//! Decides the strong levels, where nobody recorded the order of versions.
//!
//! Definition: a level holds if its versions can be ordered so that the events of the transactions
//! (`shape`) have no cycle. Steps, each ending the question if it can:
//!
//! 1. *guess* an order by running the transactions again (`guess`), and look what is wrong with it
//!    (`conflicts`): nothing, and the order is the proof;
//! 2. make a choice of each pair of versions that is wrong (`theory`), and *solve*: a CDCL solver
//!    chooses, an order of events is kept under its choices (`topological`), a cycle is a clause;
//! 3. look at the order that comes out, and go on with what is wrong with it (`search`);
//! 4. if no choice is left, the cycles found are the evidence (`refutation`, `evidence`).
//!
//! Cost: linear where the guess is right; else each conflict costs a search between its two events.
//! The question is NP-complete (Papadimitriou 1979 for serializability; Biswas & Enea 2019).
//!
//! Where we differ from PolySI and its successors: no reachability is computed for all pairs, no
//! constraint exists before some order violates it, so sessions and pairs of writers cost nothing.

mod classify;
mod conflicts;
mod evidence;
mod guess;
mod known;
mod parallel;
mod refutation;
mod search;
mod shape;
mod solver;
mod sorted;
mod theory;
mod timeline;
mod topological;
mod versions;

use crate::Budget;
use crate::budget::Limit;
use crate::observe::Observed;
use crate::order::Forced;
use conflicts::{Chosen, NO_WRITER};
use history::{Anomaly, CommitOrder, Level, OpId, TxnId};
use known::Known;
use refutation::Refutation;
use search::Search;
use shape::Shape;
use std::time::Instant;
use timeline::Timeline;

/// What was found out about a level.
pub enum Decision {
    Holds(CommitOrder),
    /// With cycles, one of which closes however versions are ordered.
    Violated(Anomaly),
}

/// Counts and seconds of the stages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effort {
    /// What was wrong with the first guess.
    pub conflicts: usize,
    /// Pairs of versions and reads that became choices.
    pub choices: usize,
    /// Cycles that choices ran into.
    pub cycles: usize,
    /// Times an order was looked at.
    pub rounds: usize,
    /// Events looked at to keep an order.
    pub visits: u64,
    pub guess_seconds: f64,
    pub solve_seconds: f64,
}

/// Decides a strong level. `hints` are edges that any order had better keep to.
pub fn decide(
    observed: &Observed<'_>,
    level: Level,
    hints: &[Forced],
    budget: &Budget<'_>,
) -> Result<(Decision, Effort), Limit> {
    let shape = Shape::of(level).expect("a strong level has a shape");
    let mut effort = Effort::default();
    let started = Instant::now();
    (budget.progress)("guessing an order");
    let timeline = Timeline::new(observed).filter(|_| shape.real_time);
    let first = guess::guess(observed, shape, timeline.as_ref(), hints);
    budget.check("guess")?;
    let respects_known = first.complete && observed.known.is_empty();
    if respects_known {
        let walk = conflicts::walk(observed, shape, &first.events, &Settled { observed });
        effort.conflicts = walk.conflicts.len();
        effort.guess_seconds = started.elapsed().as_secs_f64();
        if walk.conflicts.is_empty() {
            let counts = |txn| observed.taken[txn as usize];
            let order = commit_order(observed, shape, &first.events, &walk.writers, counts);
            return Ok((Decision::Holds(order), effort));
        }
    }
    budget.check("guess")?;
    (budget.progress)("solving");
    let started = Instant::now();
    let known = Known::new(observed, shape, timeline);
    let mut events = if respects_known {
        with_completions(&known, first.events)
    } else {
        match sorted::sort(&known, &first.events) {
            Ok(events) => events,
            Err(steps) => {
                let refutation = Refutation {
                    cycles: vec![refutation::known_cycle(&steps)],
                    by_cases: false,
                };
                return Ok((violated(&known, &refutation), effort));
            }
        }
    };
    events.extend(optional_events(observed, shape));
    if shape.parallel && events.len() > known.counted_events() {
        return Err(Limit(
            "a read that may have been served by an indeterminate transaction leaves too many \
             cases (stage: solve)"
                .to_string(),
        ));
    }
    let decision = Search::new(&known, events, budget, &mut effort).run();
    effort.solve_seconds = started.elapsed().as_secs_f64();
    Ok((decision?, effort))
}

/// A refutation as an anomaly.
fn violated(known: &Known<'_>, refutation: &Refutation) -> Decision {
    let mut otherwise = evidence::edges(known, &refutation.cycles);
    let edges = otherwise.remove(0);
    let history = known.observed.history;
    let mut transactions: Vec<TxnId> = Vec::new();
    for txn in edges
        .iter()
        .chain(otherwise.iter().flatten())
        .map(|edge| edge.from)
    {
        if !transactions.contains(&txn) {
            transactions.push(txn);
        }
    }
    Decision::Violated(Anomaly {
        kind: classify::kind(history, &edges, refutation.by_cases),
        count: 1,
        transactions,
        ops: Vec::new(),
        edges,
        otherwise,
        assuming: Vec::new(),
        explanation: String::new(),
    })
}

/// Puts the events of the line of completions into an order that respects it.
fn with_completions(known: &Known<'_>, events: Vec<u32>) -> Vec<u32> {
    let Some(timeline) = &known.timeline else {
        return events;
    };
    let first = known.first_completion();
    let shape = known.shape;
    let mut done = vec![false; known.observed.history.txn_count()];
    let mut frontier = 0;
    let mut all = Vec::with_capacity(known.events());
    for event in events {
        all.push(event);
        if shape.is_commit(event) {
            done[shape.txn(event) as usize] = true;
            let is_done = |txn: u32| done[txn as usize];
            while timeline.completion(frontier).is_some_and(is_done) {
                all.push(first + frontier);
                frontier += 1;
            }
        }
    }
    all
}

/// The events of indeterminate transactions that may have served an ambiguous read.
fn optional_events(observed: &Observed<'_>, shape: Shape) -> Vec<u32> {
    let mut is_optional = vec![false; observed.history.txn_count()];
    let writers = observed.ambiguous.iter().flat_map(|read| &read.writers);
    let mut work: Vec<TxnId> = writers.copied().collect();
    while let Some(txn) = work.pop() {
        if observed.taken[txn.index()] || is_optional[txn.index()] {
            continue;
        }
        is_optional[txn.index()] = true;
        work.extend(observed.reads(txn).map(|(_, _, writer)| writer));
    }
    let optional = (0..is_optional.len() as u32).filter(|&txn| is_optional[txn as usize]);
    let mut events: Vec<u32> = optional
        .flat_map(|txn| [shape.start(txn), shape.commit(txn)])
        .collect();
    events.dedup();
    events
}

/// No choice made: transactions count as observed, any possible writer will do.
struct Settled<'a> {
    observed: &'a Observed<'a>,
}

impl Chosen for Settled<'_> {
    fn counts(&self, txn: u32) -> bool {
        self.observed.taken[txn as usize]
    }

    fn may_read(&self, ambiguous: u32, writer: u32) -> bool {
        let writers = &self.observed.ambiguous[ambiguous as usize].writers;
        writers.contains(&TxnId(writer))
    }
}

/// The order of events as evidence.
fn commit_order(
    observed: &Observed<'_>,
    shape: Shape,
    events: &[u32],
    writers: &[u32],
    counts: impl Fn(u32) -> bool,
) -> CommitOrder {
    let first_other = shape.events(observed.history.txn_count()) as u32;
    let mut txns = Vec::new();
    let mut seen = vec![0u32; if shape.split { observed.taken.len() } else { 0 }];
    let mut snapshots = Vec::new();
    for &event in events.iter().filter(|&&event| event < first_other) {
        let txn = shape.txn(event);
        if !counts(txn) {
            continue;
        }
        if shape.split && shape.is_start(event) {
            seen[txn as usize] = txns.len() as u32;
        } else {
            if shape.split {
                snapshots.push(seen[txn as usize]);
            }
            txns.push(TxnId(txn));
        }
    }
    let reads = observed.ambiguous.iter().zip(writers);
    CommitOrder {
        txns,
        reads: reads
            .filter(|&(_, &writer)| writer != NO_WRITER)
            .map(|(read, &writer)| (OpId(read.op.0), TxnId(writer)))
            .collect(),
        snapshots,
    }
}
