//! Decides the strong levels, where nobody recorded the order of versions.
//!
//! Definition: a level holds if its versions can be ordered so that the events of the transactions
//! (`shape`) have no cycle. Steps, each ending the question if it can:
//!
//! 1. *guess* an order: that of the transactions' numbers or places in the file (`suggested`), or by
//!    running them again (`guess`), and look what is wrong with it (`conflicts`): nothing, and the
//!    order is the proof;
//! 2. take the best of that guess, those that numbers in the history suggest (`hints`: versions,
//!    values that count, transactions), one by the clock and one by estimated time (`estimate`);
//!    *prune* the pairs of versions that are wrong and of which only one order closes no cycle, and
//!    *repair* the others one by one (`greedy`);
//! 3. make a choice of each pair that is still wrong (`theory`), and *solve*: a CDCL solver chooses,
//!    an order of events is kept under its choices (`topological`), a cycle is a clause; look at the
//!    order that comes out, and go on with what is wrong with it (`search`);
//! 4. if no choice is left, the cycles found are the evidence (`refutation`, `evidence`).
//!
//! Five things come before that, where they pay, and only to find an order: where most values were written more than once, the
//! transactions are run again by values (`played`); a level without real time or
//! session order is first tried with it (`borrowed`); where reads have several possible writers, those are ruled out that
//! what happens before what leaves no room for (`resolve`); where the best guess is far off, pairs of
//! versions are decided, the likeliest first, which mostly ends it (`likely`, `likeliest`, `instants`, `moved`, `moves`, `again`, `far`, `pairs`, `kept`);
//! and where that does not, the orders that follow are added until none is new, and the events run again by
//! how far the run had come at each (`saturated`, `ranked`), or only those that follow nearby, where nothing else is possible; where that leaves much wrong, what is likely is decided step
//! by step, with all that follows (`confident`, `dense`). If no order comes of it, the history is decided without them,
//! so that all evidence is made of what was observed; what followed is then found out again step by step (`replayed`).
//!
//! Cost: linear where the guess is right; else each conflict costs a search between its two events,
//! which is longer where more sessions ran side by side. The question is NP-complete (Papadimitriou
//! 1979 for serializability; Biswas & Enea 2019).
//!
//! Where we differ from PolySI and its successors: no reachability is computed for all pairs unless
//! the guess is far off, and no constraint exists before some order violates it.

mod again;
mod borrowed;
mod bunches;
#[cfg(feature = "cadical")]
mod cadical;
pub mod classify;
mod confident;
pub mod conflicts;
mod dense;
pub mod early;
mod estimate;
mod evidence;
mod far;
mod greedy;
mod guess;
mod guesses;
mod hints;
mod instants;
mod kept;
mod known;
mod likeliest;
mod likely;
mod lines;
mod moved;
mod moves;
mod pairs;
mod parallel;
mod played;
mod ranked;
mod reach;
mod refutation;
mod replayed;
mod resolve;
mod saturated;
mod search;
mod settled;
pub mod shape;
mod snapshots;
mod solver;
mod sorted;
mod spare;
mod steps;
mod stuck;
mod suggested;
mod theory;
pub mod timeline;
mod topological;
pub mod versions;
mod wrong;

use crate::Budget;
use crate::budget::Limit;
use crate::observe::Observed;
use crate::witness::each_once;
pub use borrowed::decide;
use conflicts::{Conflict, NO_WRITER, Walk};
use greedy::Repair;
use history::{Anomaly, CommitOrder, Level, OpId, TxnId};
use known::Known;
use played::Patience;
use refutation::Refutation;
use replayed::Fact;
use search::Search;
use settled::Settled;
use shape::Shape;
pub use solver::SatSolver;
use std::time::Instant;
use theory::Theory;
use timeline::Timeline;
use topological::Topological;

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
    /// Running transactions again by the values that they read.
    pub play_seconds: f64,
    /// Ruling out possible writers of reads.
    pub resolve_seconds: f64,
    /// Deciding the likeliest orders of versions, and how many there were.
    pub likely_seconds: f64,
    pub likely: usize,
    /// How often a transaction was moved to where less was wrong.
    pub moves: usize,
    /// Adding the orders that follow from others, and how many there were.
    pub saturate_seconds: f64,
    pub implied: usize,
    /// Orders that were likely and decided, where those left too much open.
    pub decided: usize,
    pub prune_seconds: f64,
    pub repair_seconds: f64,
    pub solve_seconds: f64,
}

/// The first guess at an order.
#[derive(Clone)]
pub struct FirstGuess {
    /// The order it proves the level by, if nothing is wrong with it.
    pub order: Option<CommitOrder>,
    /// The events as guessed.
    pub events: Vec<u32>,
    /// What is wrong with it, if that is little.
    pub conflicts: Vec<Conflict>,
    /// Whether the history suggests it, and little is wrong with it.
    is_suggested: bool,
    /// Whether it was looked for along sessions, whether these count or not.
    is_along_sessions: bool,
    /// Whether so much is wrong with it that sessions may not have been respected.
    is_far_off: bool,
    pub effort: Effort,
}

/// So many conflicts are few in any history.
const FEW_ALWAYS: usize = 4;

/// An order that the history suggests and that proves a strong level, if there is one.
pub fn suggested_order(observed: &Observed<'_>, level: Level) -> Option<CommitOrder> {
    let shape = Shape::of(level)?.with_sessions();
    suggested::orders(observed, shape)
        .find_map(|events| looked_at(observed, shape, events, Instant::now()).order)
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
    for suggested in shape.suggested() {
        for events in suggested::orders(observed, suggested) {
            budget.check("guess")?;
            let mut first = looked_at(observed, suggested, events, started);
            if first.effort.conflicts <= observed.history.txn_count() / guesses::FEW {
                if shape.parallel {
                    first.events.retain(|&event| suggested.is_commit(event));
                    for event in &mut first.events {
                        *event = shape.commit(suggested.txn(*event));
                    }
                }
                first.is_suggested = true;
                first.is_along_sessions = suggested.sessions;
                return Ok(first);
            }
        }
    }
    // An order that respects sessions proves the levels that do not ask for that, too.
    let shape = shape.with_sessions();
    let timeline = Timeline::new(observed).filter(|_| shape.real_time);
    let first = guess::guess(observed, shape, timeline.as_ref(), budget)?;
    if first.complete && observed.known.is_empty() {
        return Ok(looked_at(observed, shape, first.events, started));
    }
    Ok(FirstGuess {
        order: None,
        is_suggested: false,
        is_along_sessions: true,
        is_far_off: !first.complete,
        events: first.events,
        conflicts: Vec::new(),
        effort: Effort {
            guess_seconds: started.elapsed().as_secs_f64(),
            ..Effort::default()
        },
    })
}

/// A guess with all events, and what is wrong with it.
fn looked_at(
    observed: &Observed<'_>,
    shape: Shape,
    events: Vec<u32>,
    started: Instant,
) -> FirstGuess {
    let walk = conflicts::walk(observed, shape, &events, &Settled { observed });
    let count = walk.conflicts.len();
    let txn_count = observed.history.txn_count();
    let order = || proof(observed, shape, &events, &walk);
    FirstGuess {
        order: walk.conflicts.is_empty().then(order),
        is_suggested: false,
        is_along_sessions: true,
        is_far_off: count > txn_count / 4,
        effort: Effort {
            conflicts: count,
            guess_seconds: started.elapsed().as_secs_f64(),
            ..Effort::default()
        },
        conflicts: match count <= FEW_ALWAYS + txn_count / guesses::FEW {
            true => walk.conflicts,
            false => Vec::new(),
        },
        events,
    }
}

/// Which shortcuts to take on the way to a verdict. The verdict does not depend on them; tests hold them against each
/// other. All but the last are about strong levels.
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
    /// Decide the orders of versions step by step where an order is far off, which finds orders only.
    pub stepwise: bool,
    /// The solver that is asked about what is left.
    pub solver: SatSolver,
    /// Name and count what violates a weak level. Without that it is found out sooner which levels hold.
    pub explain: bool,
}

impl Default for Strategy {
    fn default() -> Self {
        Strategy {
            cycles: true,
            guess: true,
            prune: true,
            repair: true,
            stepwise: true,
            solver: SatSolver::default(),
            explain: true,
        }
    }
}

/// Decides whether there is an order of a shape.
fn decide_shape(
    observed: &Observed<'_>,
    shape: Shape,
    guessed: Option<FirstGuess>,
    strategy: Strategy,
    budget: &Budget<'_>,
    effort: &mut Effort,
) -> Result<Decision, Limit> {
    if strategy.guess && strategy.repair && played::is_worth_it(observed, shape) {
        if let Some(first) = &guessed {
            effort.conflicts = first.effort.conflicts;
            effort.guess_seconds = first.effort.guess_seconds;
        }
        let order = played_order(observed, shape, &played::SHORT, budget, effort)?;
        if let Some(order) = order {
            return Ok(Decision::Holds(order));
        }
    }
    let started = Instant::now();
    if strategy.prune
        && let Some(resolution) = resolve::resolve(observed, budget)?
    {
        let resolve_seconds = started.elapsed().as_secs_f64();
        let resolved = &resolution.observed;
        let decision = decide_as_observed(resolved, shape, None, strategy, budget, effort);
        effort.resolve_seconds = resolve_seconds;
        if let Ok(Decision::Holds(mut order)) = decision {
            order.reads.extend(resolution.reads);
            order.reads.sort_unstable_by_key(|&(read, _)| read);
            return Ok(Decision::Holds(order));
        }
        // What was given up for want of evidence may have it with all writers; a limit is reached for good.
        if let Err(limit) = decision {
            budget.check("resolve").map_err(|_| limit)?;
        }
    }
    decide_as_observed(observed, shape, guessed, strategy, budget, effort)
}

/// The proof that running transactions again by values finds, if it finds one.
fn played_order(
    observed: &Observed<'_>,
    shape: Shape,
    patience: &Patience,
    budget: &Budget<'_>,
    effort: &mut Effort,
) -> Result<Option<CommitOrder>, Limit> {
    let started = Instant::now();
    let played = played::play(observed, shape, patience, budget);
    effort.play_seconds += started.elapsed().as_secs_f64();
    Ok(played?.and_then(|events| prove(observed, shape, &events)))
}

/// Decides with no possible writer ruled out beforehand.
fn decide_as_observed(
    observed: &Observed<'_>,
    shape: Shape,
    guessed: Option<FirstGuess>,
    strategy: Strategy,
    budget: &Budget<'_>,
    effort: &mut Effort,
) -> Result<Decision, Limit> {
    *effort = Effort {
        play_seconds: effort.play_seconds,
        resolve_seconds: effort.resolve_seconds,
        ..Effort::default()
    };
    let started = Instant::now();
    let timeline = Timeline::new(observed).filter(|_| shape.real_time);
    let guess_seconds = guessed
        .as_ref()
        .map_or(0.0, |first| first.effort.guess_seconds);
    // Stale reads say nothing about an order of a parallel level: of snapshots, few were wrong.
    let is_enough = shape.parallel && guessed.as_ref().is_some_and(|first| first.is_suggested);
    // What was run again along sessions and reads agrees with everything known, if that is all there is.
    let known_wrong = guessed.as_ref().and_then(|first| {
        let is_all = shape.sessions && !shape.real_time && observed.known.is_empty();
        let is_known = is_all && !first.is_suggested && first.effort.conflicts > 0;
        is_known.then_some(first.effort.conflicts)
    });
    let first = match guessed {
        Some(first) => first.events,
        None if strategy.guess => guess::guess(observed, shape, timeline.as_ref(), budget)?.events,
        None => Vec::new(),
    };
    budget.check("guess")?;
    let known = Known::new(observed, shape, timeline);
    let mut events = match guesses::better_guess(
        &known,
        first,
        known_wrong,
        !strategy.guess || is_enough,
        budget,
    )? {
        Ok((conflicts, events)) => {
            effort.conflicts = conflicts;
            events
        }
        Err(steps) => {
            let refutation = Refutation {
                cycles: vec![refutation::known_cycle(&steps)],
                by_cases: false,
            };
            return Ok(violated(&known, &refutation));
        }
    };
    effort.guess_seconds = guess_seconds + started.elapsed().as_secs_f64();
    let optional = settled::optional_events(observed, shape);
    let may_guess = strategy.guess && strategy.repair && optional.is_empty();
    if may_guess && likely::is_worth_it(&known, effort.conflicts) {
        let decided = likely::decide(&known, &mut events, strategy, budget, effort)?;
        if let Some(decision) = decided {
            return Ok(decision);
        }
    }
    stuck::decide(
        &known, events, &optional, is_enough, strategy, budget, effort,
    )
}

/// Goes on from an order that agrees with everything known, and from what saturation found out: prunes, repairs, solves.
fn search(
    known: &Known<'_>,
    events: Vec<u32>,
    facts: &[Fact],
    strategy: Strategy,
    budget: &Budget<'_>,
    effort: &mut Effort,
) -> Result<Decision, Limit> {
    let theory = Theory::new(Topological::new(known, events));
    let (theory, likely) = match prepare(known, theory, facts, strategy, budget, effort)? {
        Ok(prepared) => prepared,
        Err(refutation) => return Ok(violated(known, &refutation)),
    };
    let (observed, shape) = (known.observed, known.shape);
    if strategy.guess && effort.left > 0 && played::is_worth_it(observed, shape) {
        let order = played_order(observed, shape, &played::LONG, budget, effort)?;
        if let Some(order) = order {
            return Ok(Decision::Holds(order));
        }
    }
    solve(known, theory, &likely, strategy, budget, effort)
}

/// Solves what pruning and repair left.
fn solve<'a>(
    known: &'a Known<'a>,
    theory: Theory<'a>,
    likely: &[i8],
    strategy: Strategy,
    budget: &Budget<'_>,
    effort: &mut Effort,
) -> Result<Decision, Limit> {
    (budget.progress)("solving");
    let started = Instant::now();
    let decision = Search::new(known, theory, likely, strategy.solver, budget, effort).run();
    effort.solve_seconds += started.elapsed().as_secs_f64();
    decision
}

/// Prunes and repairs. Returns what is certain, and how the best order so far makes each choice; or
/// why there is none.
fn prepare<'a>(
    known: &'a Known<'a>,
    mut theory: Theory<'a>,
    facts: &[Fact],
    strategy: Strategy,
    budget: &Budget<'_>,
    effort: &mut Effort,
) -> Result<Result<(Theory<'a>, Vec<i8>), Refutation>, Limit> {
    let observed = known.observed;
    let settled = Settled { observed };
    if strategy.prune && !known.shape.parallel {
        (budget.progress)("pruning");
        let started = Instant::now();
        let mut pruned = greedy::prune(&mut theory, known, &settled, budget);
        if !facts.is_empty() && matches!(pruned, Ok(Repair::Open)) {
            pruned = match replayed::replay(&mut theory, known, facts, budget) {
                Ok(Repair::Open) => greedy::prune(&mut theory, known, &settled, budget),
                found => found,
            };
        }
        effort.prune_seconds += started.elapsed().as_secs_f64();
        effort.choices = theory.choice_count();
        effort.cycles = theory.lemmas.len();
        effort.visits = theory.order.visits;
        if pruned? == Repair::Contradiction {
            return Ok(Err(refutation::refute(&theory, &[])));
        }
    }
    if strategy.repair && !known.shape.parallel {
        (budget.progress)("repairing");
        let started = Instant::now();
        theory.push_level();
        let left = greedy::repair(&mut theory, known, &settled, budget);
        effort.repair_seconds += started.elapsed().as_secs_f64();
        effort.left = left?;
    }
    let likely = theory.likely();
    theory.backtrack(0);
    Ok(Ok((theory, likely)))
}

/// A refutation as an anomaly.
fn violated(known: &Known<'_>, refutation: &Refutation) -> Decision {
    let mut otherwise = evidence::edges(known, &refutation.cycles);
    let edges = otherwise.remove(0);
    let by_cases = refutation.by_cases && !otherwise.is_empty();
    let history = known.observed.history;
    let all = edges.iter().chain(otherwise.iter().flatten());
    let transactions = each_once(all.map(|edge| edge.from));
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
fn prove(observed: &Observed<'_>, shape: Shape, events: &[u32]) -> Option<CommitOrder> {
    let walk = conflicts::walk(observed, shape, events, &Settled { observed });
    walk.conflicts
        .is_empty()
        .then(|| proof(observed, shape, events, &walk))
}

/// The order of events as evidence, of which a walk has shown that nothing is wrong with it.
fn proof(observed: &Observed<'_>, shape: Shape, events: &[u32], walk: &Walk) -> CommitOrder {
    let counts = |txn| observed.taken[txn as usize];
    commit_order(observed, shape, events, &walk.writers, counts)
}

/// The same for events of places in the file, so that what is looked up lies together; they get the
/// numbers of transactions here.
pub fn prove_placed(
    observed: &Observed<'_>,
    shape: Shape,
    mut events: Vec<u32>,
) -> Option<CommitOrder> {
    let placed = |place: u32| observed.file_order.at(place as usize);
    let settled = Settled { observed };
    let walk = conflicts::walk_once(observed, shape, &events, &settled, placed);
    if !walk.conflicts.is_empty() {
        return None;
    }
    for event in &mut events {
        let txn = placed(shape.txn(*event)).txn.0;
        *event = match shape.is_commit(*event) {
            true => shape.commit(txn),
            false => shape.start(txn),
        };
    }
    let counts = |txn| observed.taken[txn as usize];
    Some(commit_order(
        observed,
        shape,
        &events,
        &walk.writers,
        counts,
    ))
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
