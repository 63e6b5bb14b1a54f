//! Repairs an order without a solver.
//!
//! Steps. *Prune*: of each conflict, see whether one of the two ways to put it right closes a cycle
//! with what is certain; then the other way is certain too. Repeat while that finds something. Then
//! *repair*: put each conflict right the way the order suggests, or else the other way round, and
//! keep to it. An order repaired this way is as good a proof as any. Where both ways run into a
//! cycle the conflict is left, and the solver starts from a better order than it would have.
//!
//! Cost: a search between the two events, or an insertion, for each conflict and round. Source: the
//! pruning of PolySI, only for pairs that matter; the third guess in our brief on checkers.

use super::conflicts::{self, Chosen, Conflict};
use super::known::Known;
use super::theory::{Choice, Theory, older_choice};
use super::topological::{ChosenEdge, Label};
use crate::Budget;
use crate::budget::{Count, Limit};
use crate::observe::Link;
use history::TxnId;
use rustc_hash::FxHashMap;

/// Rounds without an end are given up; most take a handful.
const ROUNDS_MAX: usize = 40;

/// The budget is asked once in so many conflicts.
const ASK_EVERY: usize = 64;

/// Whether there is a way out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repair {
    /// Nothing is wrong any more, or the rest is for the solver.
    Open,
    /// What is certain contradicts itself.
    Contradiction,
}

/// Finds out what is certain about the conflicts of the order; see the module's text.
pub fn prune(
    theory: &mut Theory<'_>,
    known: &Known<'_>,
    chosen: &impl Chosen,
    budget: &Budget<'_>,
) -> Result<Repair, Limit> {
    for _ in 0..ROUNDS_MAX {
        budget.check("prune")?;
        let walk = conflicts::walk(known.observed, known.shape, theory.order.events(), chosen);
        let mut is_new = false;
        let count = walk.conflicts.len();
        for (at, &conflict) in walk.conflicts.iter().enumerate() {
            if at.is_multiple_of(ASK_EVERY) {
                budget.check_at("prune", &counts(theory, count - at))?;
            }
            match settle(theory, known, conflict) {
                Some(true) => is_new = true,
                Some(false) => {}
                None => return Ok(Repair::Contradiction),
            }
        }
        if !is_new {
            break;
        }
    }
    Ok(Repair::Open)
}

/// How far a round is.
fn counts(theory: &Theory<'_>, left: usize) -> [Count; 2] {
    let choices = theory.choice_count();
    [("conflicts left", left as u64), ("choices", choices as u64)]
}

/// Whether something certain was found out about a conflict; None if it is a contradiction.
pub fn settle(theory: &mut Theory<'_>, known: &Known<'_>, conflict: Conflict) -> Option<bool> {
    let (key, older, newer, read) = match versions(conflict) {
        Some(versions) => versions,
        None => match initial_edge(known, conflict) {
            Some(edge) => return theory.add_fixed(edge).ok().map(|()| true),
            None => return Some(false),
        },
    };
    let (choice, sign) = older_choice(key, older, newer);
    let literal = sign * theory.literal(choice).unwrap_or_else(|| theory.add(choice));
    if let Some(read) = read
        && theory.want(literal, read).is_err()
    {
        return None;
    }
    if theory.is_chosen(literal) || theory.is_chosen(-literal) {
        return Some(false);
    }
    for likely in [literal, -literal] {
        if theory.is_impossible(likely) {
            return theory.choose(-likely).ok().map(|()| true);
        }
    }
    Some(false)
}

/// Repairs an order as far as this goes, on a level of choices of its own. Returns what is left.
pub fn repair(
    theory: &mut Theory<'_>,
    known: &Known<'_>,
    chosen: &impl Chosen,
    budget: &Budget<'_>,
) -> Result<usize, Limit> {
    let mut weights: FxHashMap<u32, u32> = FxHashMap::default();
    let (mut fewest, mut since) = (usize::MAX, 0);
    let event_count = theory.order.events().len() as u64;
    let visits_max = theory.order.visits + VISITS_MIN + VISITS_FOR_EACH * event_count;
    let patience = if known.observed.ambiguous.is_empty() {
        PATIENCE
    } else {
        PATIENCE_AMBIGUOUS
    };
    loop {
        budget.check("repair")?;
        let walk = conflicts::walk(known.observed, known.shape, theory.order.events(), chosen);
        let count = walk.conflicts.len();
        since = if count < fewest { 0 } else { since + 1 };
        fewest = fewest.min(count);
        if count == 0 || since > patience {
            return Ok(count);
        }
        for (at, conflict) in walk.conflicts.into_iter().enumerate() {
            if at.is_multiple_of(ASK_EVERY) {
                budget.check_at("repair", &counts(theory, count - at))?;
            }
            if theory.order.visits > visits_max {
                return Ok(count);
            }
            put_right(theory, conflict, &mut weights);
        }
    }
}

/// Rounds of repair that bring nothing better before it is given up; fewer where reads have several
/// possible writers, which the solver is better at.
const PATIENCE: usize = 40;
const PATIENCE_AMBIGUOUS: usize = 20;

/// No more events are looked at for a repair; what needs more is mostly never right.
const VISITS_MIN: u64 = 5_000_000;
const VISITS_FOR_EACH: u64 = 100;

/// Puts a conflict right. Where other choices stand in the way, those that stood in the way least
/// often so far are taken back.
fn put_right(theory: &mut Theory<'_>, conflict: Conflict, weights: &mut FxHashMap<u32, u32>) {
    let conflict = match conflict {
        Conflict::Unexplained { ambiguous, last } => {
            match choose_writer(theory, ambiguous, last, weights) {
                Some(conflict) => conflict,
                None => return,
            }
        }
        other => other,
    };
    let Some((key, older, newer, read)) = versions(conflict) else {
        if let Some(edge) = initial_edge(theory.order.known, conflict) {
            put_right_initial(theory, edge, weights);
        }
        return;
    };
    let (choice, sign) = older_choice(key, older, newer);
    let literal = sign * theory.literal(choice).unwrap_or_else(|| theory.add(choice));
    if theory.is_chosen(literal) || theory.is_chosen(-literal) {
        if let Some(read) = read {
            // A cycle here leaves the conflict for later.
            let _ = theory.want(literal, read);
        }
        return;
    }
    for _ in 0..TRIES_MAX {
        let mut cheapest: Option<(u32, i32, i32)> = None;
        for way in [literal, -literal] {
            let Err(others) = theory.try_choose(way) else {
                return;
            };
            let weight = |other: i32| weights.get(&other.unsigned_abs()).copied().unwrap_or(0);
            let open = others
                .into_iter()
                .filter(|&other| !theory.is_certain(other));
            let easiest = open.map(|other| (weight(other), other, way)).min();
            cheapest = cheapest.into_iter().chain(easiest).min_by_key(|way| way.0);
        }
        let Some((_, other, way)) = cheapest else {
            return;
        };
        *weights.entry(other.unsigned_abs()).or_default() += 1;
        theory.unchoose(other);
        if theory.try_choose(way).is_ok() {
            return;
        }
    }
}

/// Chooses a writer for a read that has none in the order: one that was tried least often so far, and
/// among those the nearest. Returns the conflict that this leaves, if the writer precedes the reader.
fn choose_writer(
    theory: &mut Theory<'_>,
    ambiguous: u32,
    last: u32,
    weights: &mut FxHashMap<u32, u32>,
) -> Option<Conflict> {
    let known = theory.order.known;
    let (observed, shape) = (known.observed, known.shape);
    let read = &observed.ambiguous[ambiguous as usize];
    let counts = |txn: &TxnId| observed.taken[txn.index()];
    if !counts(&read.reader) || !read.writers.iter().all(counts) {
        return None;
    }
    let mut ways: Vec<(u32, u32, i32, u32)> = Vec::new();
    for writer in &*read.writers {
        let choice = Choice::From {
            read: read.op.0,
            writer: writer.0,
        };
        let literal = theory.literal(choice).unwrap_or_else(|| theory.add(choice));
        if theory.is_chosen(literal) {
            theory.unchoose(literal);
        }
        let weight = weights.get(&literal.unsigned_abs()).copied().unwrap_or(0);
        let distance = theory
            .order
            .distance(shape.commit(writer.0), shape.start(read.reader.0));
        ways.push((weight, distance, literal, writer.0));
    }
    ways.sort_unstable();
    for (_, _, literal, writer) in ways.into_iter().take(WRITERS_TRIED_MAX) {
        *weights.entry(literal.unsigned_abs()).or_default() += 1;
        if theory.try_choose(literal).is_ok() {
            return Some(Conflict::Stale {
                read: read.op.0,
                reader: read.reader.0,
                key: observed.history.op(read.op).key.0,
                writer,
                other: last,
            })
            .filter(|_| last != Link::INITIAL);
        }
    }
    None
}

/// How many possible writers of a read are tried in a round.
const WRITERS_TRIED_MAX: usize = 4;

/// The same for a read of an initial version, which leaves no choice.
fn put_right_initial(theory: &mut Theory<'_>, edge: ChosenEdge, weights: &mut FxHashMap<u32, u32>) {
    for _ in 0..TRIES_MAX {
        let Err(clause) = theory.add_fixed(edge) else {
            return;
        };
        theory.lemmas.pop();
        let weight = |other: i32| weights.get(&other.unsigned_abs()).copied().unwrap_or(0);
        let others = clause.into_iter().map(|other| -other);
        let open = others.filter(|&other| !theory.is_certain(other));
        let Some(other) = open.min_by_key(|&other| weight(other)) else {
            return;
        };
        *weights.entry(other.unsigned_abs()).or_default() += 1;
        theory.unchoose(other);
    }
}

/// How many choices are taken back for one conflict.
const TRIES_MAX: usize = 4;

/// The key and the versions that a conflict is about, the one that comes first in the order first,
/// and the read of it, if it is about one.
pub fn versions(conflict: Conflict) -> Option<(u32, u32, u32, Option<u32>)> {
    match conflict {
        Conflict::Stale {
            writer: Link::INITIAL,
            ..
        }
        | Conflict::Unexplained { .. } => None,
        Conflict::Stale {
            read,
            key,
            writer,
            other,
            ..
        } => Some((key, writer, other, Some(read))),
        Conflict::Overlap { key, first, second } => Some((key, first, second, None)),
    }
}

/// The edge from a stale read of an initial version.
fn initial_edge(known: &Known<'_>, conflict: Conflict) -> Option<ChosenEdge> {
    let Conflict::Stale {
        read,
        reader,
        writer: Link::INITIAL,
        other,
        ..
    } = conflict
    else {
        return None;
    };
    let label = Label::Overwritten {
        read,
        version_of: Link::INITIAL,
    };
    Some(ChosenEdge {
        from: known.shape.start(reader),
        to: known.shape.commit(other),
        label,
        because: [0; 4],
    })
}
