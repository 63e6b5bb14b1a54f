//! Orders that a level does not ask for, as a guess.
//!
//! Where sessions or real time do not count, most databases respect them all the same, and an order is found sooner
//! along them, because they leave fewer choices. What holds with them holds without, and so does a violation that they
//! have no part in. Steps: decide with real time, if the history has times, unless that takes long; then with sessions; then
//! without. Cost: that of each decision.

use super::shape::Shape;
use super::{Decision, Effort, FirstGuess, Strategy, decide_shape, guess, prove};
use crate::Budget;
use crate::budget::{self, Limit};
use crate::observe::Observed;
use history::{Anomaly, EdgeKind, Level};
use std::sync::atomic::AtomicU32;
use std::time::Instant;

/// Decides a strong level, beginning with the first guess if there is one. What it took is in
/// `effort`, where a limit was reached too.
pub fn decide(
    observed: &Observed<'_>,
    level: Level,
    guessed: Option<FirstGuess>,
    strategy: Strategy,
    budget: &Budget<'_>,
    effort: &mut Effort,
) -> Result<Decision, Limit> {
    let shape = Shape::of(level).expect("a strong level has a shape");
    if strategy.guess
        && let Some(decision) = decide_by_the_clock(observed, shape, strategy, budget, effort)?
    {
        return Ok(decision);
    }
    let has_sessions = observed.history.session_count() < observed.history.txn_count();
    let is_along_sessions = guessed.as_ref().is_none_or(|first| first.is_along_sessions);
    if shape.sessions || !has_sessions || !is_along_sessions || !strategy.guess {
        return decide_shape(observed, shape, guessed, strategy, budget, effort);
    }
    if guessed.as_ref().is_some_and(|first| first.is_far_off) && observed.known.is_empty() {
        let started = Instant::now();
        let guess = guess::guess(observed, shape, None, budget)?;
        let order = guess
            .complete
            .then(|| prove(observed, shape, &guess.events));
        if let Some(order) = order.flatten() {
            effort.guess_seconds = started.elapsed().as_secs_f64();
            return Ok(Decision::Holds(order));
        }
    }
    let with_sessions = shape.with_sessions();
    match decide_shape(observed, with_sessions, guessed, strategy, budget, effort) {
        Ok(Decision::Violated(anomaly)) if rests_on_borrowed(&anomaly, shape) => {}
        Err(_) => budget.check("solve")?,
        decided => return decided,
    }
    decide_shape(observed, shape, None, strategy, budget, effort)
}

/// Decides with the order of real time, where there is one that does not count; None if that does not
/// tell, or takes long.
fn decide_by_the_clock(
    observed: &Observed<'_>,
    shape: Shape,
    strategy: Strategy,
    budget: &Budget<'_>,
    effort: &mut Effort,
) -> Result<Option<Decision>, Limit> {
    if shape.real_time || shape.parallel || !observed.history.has_intervals() {
        return Ok(None);
    }
    let asked = AtomicU32::new(0);
    let probe = || budget.patience(&asked, budget::ASKED_MAX);
    let patient = Budget {
        probe: &probe,
        ..*budget
    };
    let timed = shape.with_real_time();
    let decision = decide_shape(observed, timed, None, strategy, &patient, effort);
    budget.check("solve")?;
    Ok(match decision {
        Ok(Decision::Violated(anomaly)) if rests_on_borrowed(&anomaly, shape) => None,
        decision => decision.ok(),
    })
}

/// Whether an anomaly rests on an order that does not count in this form.
fn rests_on_borrowed(anomaly: &Anomaly, shape: Shape) -> bool {
    let otherwise = anomaly.otherwise.iter().flatten();
    let mut edges = anomaly.edges.iter().chain(otherwise);
    edges.any(|edge| match edge.kind {
        EdgeKind::So => !shape.sessions,
        EdgeKind::Rt => !shape.real_time,
        _ => false,
    })
}
