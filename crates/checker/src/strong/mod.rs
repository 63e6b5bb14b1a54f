//! Decides the strong levels, where nobody recorded the order of versions.
//!
//! Definition: a level holds if its versions can be ordered so that the events of the transactions
//! (`shape`) have no cycle. Steps, each ending the question if it can:
//!
//! 1. *guess* an order by running the transactions again (`guess`), and look what is wrong with it
//!    (`conflicts`): nothing, and the order is the proof;
//! 2. take the best of that guess, one by estimated time (`estimate`), one by the clock and one by
//!    the database's version numbers (`hints`), *prune* the pairs of versions that are wrong and of
//!    which only one order closes no cycle, and *repair* the others one by one (`greedy`);
//! 3. make a choice of each pair that is still wrong (`theory`), and *solve*: a CDCL solver chooses,
//!    an order of events is kept under its choices (`topological`), a cycle is a clause; look at the
//!    order that comes out, and go on with what is wrong with it (`search`);
//! 4. if no choice is left, the cycles found are the evidence (`refutation`, `evidence`).
//!
//! Two things come before that, where they pay, and only to find an order: where reads have several
//! possible writers, those are ruled out that what happens before what leaves no room for
//! (`resolve`); and where the best guess is far off, the orders that follow are added until none is
//! new (`saturated`). If no order comes of it, the history is decided without them, so that all
//! evidence is made of what was observed.
//!
//! Cost: linear where the guess is right; else each conflict costs a search between its two events,
//! which is longer where more sessions ran side by side. The question is NP-complete (Papadimitriou
//! 1979 for serializability; Biswas & Enea 2019).
//!
//! Where we differ from PolySI and its successors: no reachability is computed for all pairs unless
//! the guess is far off, and no constraint exists before some order violates it.

pub mod classify;
mod conflicts;
mod estimate;
mod evidence;
mod greedy;
mod guess;
mod hints;
mod known;
mod parallel;
mod refutation;
mod resolve;
mod saturated;
mod search;
pub mod shape;
mod solver;
mod sorted;
mod theory;
pub mod timeline;
mod topological;
pub mod versions;

use crate::Budget;
use crate::budget::Limit;
use crate::observe::Observed;
use crate::order;
use conflicts::{Chosen, NO_WRITER};
use greedy::Repair;
use history::{Anomaly, CommitOrder, Interval, Level, OpId, TxnId};
use known::Known;
use refutation::Refutation;
use search::Search;
use shape::Shape;
use std::time::Instant;
use theory::Theory;
use timeline::Timeline;
use topological::{Step, Topological};

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
    /// Conflicts that repairing left.
    pub left: usize,
    pub guess_seconds: f64,
    pub prune_seconds: f64,
    pub repair_seconds: f64,
    pub solve_seconds: f64,
}

/// The first guess at an order.
pub struct FirstGuess {
    /// The order it proves the level by, if nothing is wrong with it.
    pub order: Option<CommitOrder>,
    /// The events as guessed.
    pub events: Vec<u32>,
    pub effort: Effort,
}

/// Guesses an order, and looks whether anything is wrong with it.
pub fn guess_order(
    observed: &Observed<'_>,
    level: Level,
    budget: &Budget<'_>,
) -> Result<FirstGuess, Limit> {
    let shape = Shape::of(level).expect("a strong level has a shape");
    let started = Instant::now();
    (budget.progress)("guessing an order");
    let timeline = Timeline::new(observed).filter(|_| shape.real_time);
    let first = guess::guess(observed, shape, timeline.as_ref(), budget)?;
    let mut effort = Effort::default();
    let mut order = None;
    if first.complete && observed.known.is_empty() {
        let walk = conflicts::walk(observed, shape, &first.events, &Settled { observed });
        effort.conflicts = walk.conflicts.len();
        if walk.conflicts.is_empty() {
            let counts = |txn| observed.taken[txn as usize];
            let events = &first.events;
            order = Some(commit_order(observed, shape, events, &walk.writers, counts));
        }
    }
    effort.guess_seconds = started.elapsed().as_secs_f64();
    Ok(FirstGuess {
        order,
        events: first.events,
        effort,
    })
}

/// Which shortcuts to take on the way to a verdict on a strong level. The verdict does not depend on
/// them; tests hold them against each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strategy {
    /// Look for cycles before anything else, where lists show the order of versions.
    pub cycles: bool,
    /// Begin with a guess rather than with any order.
    pub guess: bool,
    /// Find out what is certain before anything is tried.
    pub prune: bool,
    /// Repair the order as far as that goes before the solver is asked.
    pub repair: bool,
}

impl Default for Strategy {
    fn default() -> Self {
        Strategy {
            cycles: true,
            guess: true,
            prune: true,
            repair: true,
        }
    }
}

/// Decides a strong level, beginning with the first guess if there is one.
pub fn decide(
    observed: &Observed<'_>,
    level: Level,
    guessed: Option<FirstGuess>,
    strategy: Strategy,
    budget: &Budget<'_>,
) -> Result<(Decision, Effort), Limit> {
    let shape = Shape::of(level).expect("a strong level has a shape");
    let started = Instant::now();
    if strategy.prune
        && let Some(resolution) = resolve::resolve(observed, budget)?
    {
        let resolve_seconds = started.elapsed().as_secs_f64();
        let resolved = &resolution.observed;
        let (decision, mut effort) = decide_as_observed(resolved, shape, None, strategy, budget)?;
        if let Decision::Holds(mut order) = decision {
            order.reads.extend(resolution.reads);
            order.reads.sort_unstable_by_key(|&(read, _)| read);
            effort.guess_seconds += resolve_seconds;
            return Ok((Decision::Holds(order), effort));
        }
    }
    decide_as_observed(observed, shape, guessed, strategy, budget)
}

/// Decides with no possible writer ruled out beforehand.
fn decide_as_observed(
    observed: &Observed<'_>,
    shape: Shape,
    guessed: Option<FirstGuess>,
    strategy: Strategy,
    budget: &Budget<'_>,
) -> Result<(Decision, Effort), Limit> {
    let mut effort = Effort::default();
    let started = Instant::now();
    let timeline = Timeline::new(observed).filter(|_| shape.real_time);
    let guess_seconds = guessed
        .as_ref()
        .map_or(0.0, |first| first.effort.guess_seconds);
    let first = match guessed {
        Some(first) => first.events,
        None if strategy.guess => guess::guess(observed, shape, timeline.as_ref(), budget)?.events,
        None => Vec::new(),
    };
    budget.check("guess")?;
    let known = Known::new(observed, shape, timeline);
    let mut events = match better_guess(&known, first, strategy, budget)? {
        Ok((conflicts, events)) => {
            effort.conflicts = conflicts;
            events
        }
        Err(steps) => {
            let refutation = Refutation {
                cycles: vec![refutation::known_cycle(&steps)],
                by_cases: false,
            };
            return Ok((violated(&known, &refutation), effort));
        }
    };
    effort.guess_seconds = guess_seconds + started.elapsed().as_secs_f64();
    let optional = optional_events(observed, shape);
    if strategy.prune && optional.is_empty() && is_worth_saturating(observed, effort.conflicts) {
        let known_twice = Known::new(observed, shape, known.timeline.clone());
        let saturation = saturated::saturated(known_twice, &events, budget)?;
        effort.guess_seconds = started.elapsed().as_secs_f64();
        if let Some((known, events)) = saturation
            && let (Decision::Holds(order), effort) =
                search(&known, events, strategy, budget, effort)?
        {
            return Ok((Decision::Holds(order), effort));
        }
    }
    events.extend(optional);
    if shape.parallel && events.len() > known.counted_events() {
        return Err(Limit(
            "a read that may have been served by an indeterminate transaction leaves too many \
             cases (stage: solve)"
                .to_string(),
        ));
    }
    search(&known, events, strategy, budget, effort)
}

/// Whether so much is open that finding out first what follows costs less.
fn is_worth_saturating(observed: &Observed<'_>, conflicts: usize) -> bool {
    conflicts + observed.ambiguous.len() > observed.history.txn_count() / 2
}

/// Goes on from an order that agrees with everything known: prunes, repairs, solves.
fn search(
    known: &Known<'_>,
    events: Vec<u32>,
    strategy: Strategy,
    budget: &Budget<'_>,
    mut effort: Effort,
) -> Result<(Decision, Effort), Limit> {
    let theory = Theory::new(Topological::new(known, events));
    let (theory, likely) = match prepare(known, theory, strategy, budget, &mut effort)? {
        Ok(prepared) => prepared,
        Err(refutation) => return Ok((violated(known, &refutation), effort)),
    };
    (budget.progress)("solving");
    let started = Instant::now();
    let decision = Search::new(known, theory, &likely, budget, &mut effort).run();
    effort.solve_seconds = started.elapsed().as_secs_f64();
    Ok((decision?, effort))
}

/// Prunes and repairs. Returns what is certain, and how the best order so far makes each choice; or
/// why there is none.
fn prepare<'a>(
    known: &'a Known<'a>,
    mut theory: Theory<'a>,
    strategy: Strategy,
    budget: &Budget<'_>,
    effort: &mut Effort,
) -> Result<Result<(Theory<'a>, Vec<i8>), Refutation>, Limit> {
    let observed = known.observed;
    let settled = Settled { observed };
    if strategy.prune && !known.shape.parallel {
        (budget.progress)("pruning");
        let started = Instant::now();
        let pruned = greedy::prune(&mut theory, known, &settled, budget)?;
        effort.prune_seconds = started.elapsed().as_secs_f64();
        effort.choices = theory.choice_count();
        effort.cycles = theory.lemmas.len();
        effort.visits = theory.order.visits;
        if pruned == Repair::Contradiction {
            return Ok(Err(refutation::refute(&theory, &[])));
        }
    }
    if strategy.repair && !known.shape.parallel {
        (budget.progress)("repairing");
        let started = Instant::now();
        theory.push_level();
        effort.left = greedy::repair(&mut theory, known, &settled, budget)?;
        effort.repair_seconds = started.elapsed().as_secs_f64();
    }
    let likely = theory.likely();
    theory.backtrack(0);
    Ok(Ok((theory, likely)))
}

/// The guess or an order by estimated time, whichever has fewer conflicts, and how many. It agrees
/// with everything known; the error is a cycle if nothing can.
#[allow(clippy::type_complexity)] // One caller, and each part is named there.
fn better_guess(
    known: &Known<'_>,
    first: Vec<u32>,
    strategy: Strategy,
    budget: &Budget<'_>,
) -> Result<Result<(usize, Vec<u32>), Vec<Step>>, Limit> {
    let (observed, shape) = (known.observed, known.shape);
    let mut guesses = vec![first];
    let schedule = order::schedule(observed, &[]);
    if schedule.complete && strategy.guess {
        let events = |txn: u32| [shape.start(txn), shape.commit(txn)];
        let by_time = estimate::by_time(observed, &schedule.order);
        let mut events: Vec<u32> = by_time.into_iter().flat_map(events).collect();
        events.dedup();
        guesses.push(events);
    }
    if strategy.guess && observed.history.has_intervals() {
        guesses.push(by_clock(observed, shape));
    }
    if strategy.guess && !shape.parallel {
        guesses.extend(hints::by_versions(known, &guesses[0]));
    }
    let mut best: Option<(usize, Vec<u32>)> = None;
    for guess in guesses {
        budget.check("guess")?;
        let events = match sorted::sort(known, &guess) {
            Ok(events) => events,
            Err(steps) => return Ok(Err(steps)),
        };
        let walk = conflicts::walk(observed, shape, &events, &Settled { observed });
        if best
            .as_ref()
            .is_none_or(|(count, _)| walk.conflicts.len() < *count)
        {
            best = Some((walk.conflicts.len(), events));
        }
    }
    Ok(Ok(best.expect("there is at least one guess")))
}

/// The events by the middle of each transaction's time. Wrong times only make a worse guess.
fn by_clock(observed: &Observed<'_>, shape: Shape) -> Vec<u32> {
    let history = observed.history;
    let middle = |&txn: &u32| match history.interval(TxnId(txn)) {
        Some(times) if times.end != Interval::NEVER => {
            i128::from(times.start) + i128::from(times.completion())
        }
        Some(times) => 2 * i128::from(times.start),
        None => 0,
    };
    let mut txns: Vec<u32> = (0..history.txn_count() as u32)
        .filter(|&txn| observed.taken[txn as usize])
        .collect();
    txns.sort_by_key(middle);
    let events = |txn: u32| [shape.start(txn), shape.commit(txn)];
    let mut events: Vec<u32> = txns.into_iter().flat_map(events).collect();
    events.dedup();
    events
}

/// A refutation as an anomaly.
fn violated(known: &Known<'_>, refutation: &Refutation) -> Decision {
    let mut otherwise = evidence::edges(known, &refutation.cycles);
    let edges = otherwise.remove(0);
    let by_cases = refutation.by_cases && !otherwise.is_empty();
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
        kind: classify::kind(history, &edges, by_cases),
        count: 1,
        transactions,
        ops: Vec::new(),
        edges,
        otherwise,
        assuming: Vec::new(),
        explanation: String::new(),
    })
}

/// The order of events as evidence, if nothing is wrong with it.
pub fn prove(observed: &Observed<'_>, shape: Shape, events: &[u32]) -> Option<CommitOrder> {
    let walk = conflicts::walk(observed, shape, events, &Settled { observed });
    let counts = |txn| observed.taken[txn as usize];
    walk.conflicts
        .is_empty()
        .then(|| commit_order(observed, shape, events, &walk.writers, counts))
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
        writers.binary_search(&TxnId(writer)).is_ok()
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
