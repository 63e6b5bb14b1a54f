//! Decides a strong level before anything is asked about weaker ones.
//!
//! With many sessions causality has no clocks that cost little, and takes as long as an order of versions where the first
//! guess is far off. If one is found, it answers for the weaker levels, too; and what contradicts every order is a few
//! transactions, of which any level is soon asked.
//!
//! Where nobody asks for more than the verdict, that is so with few sessions, too, if the first guess is not far off: what
//! weaker levels would say of a violation is not wanted.
//!
//! Cost: that of the decision, within a patience of its own: if it takes long, a weaker level may be violated for a
//! plainer reason.

use super::shape::Shape;
use super::{Decision, Effort, FirstGuess, Strategy, decide};
use crate::Budget;
use crate::budget::{self, Limit};
use crate::observe::Observed;
use history::Level;
use std::sync::atomic::AtomicU32;

/// So many sessions or fewer have clocks that cost little.
const FEW_SESSIONS: usize = 128;

/// Whether that may cost less than to begin with weaker levels.
pub fn is_worth_it(
    observed: &Observed<'_>,
    level: Level,
    first: &FirstGuess,
    strategy: Strategy,
) -> bool {
    let is_parallel = Shape::of(level).is_some_and(|shape| shape.parallel);
    let has_many_sessions = observed.history.session_count() > FEW_SESSIONS;
    !is_parallel
        && match first.is_far_off {
            true => has_many_sessions,
            false => !strategy.explain,
        }
}

/// Decides from the first guess; None if that takes long.
pub fn decide_early(
    observed: &Observed<'_>,
    level: Level,
    first: &FirstGuess,
    strategy: Strategy,
    budget: &Budget<'_>,
) -> Result<Option<(Decision, Effort)>, Limit> {
    let asked = AtomicU32::new(0);
    let probe = || budget.patience(&asked, budget::ASKED_MAX);
    let patient = Budget {
        probe: &probe,
        ..*budget
    };
    let mut effort = Effort::default();
    let guessed = Some(first.clone());
    let decision = decide(observed, level, guessed, strategy, &patient, &mut effort);
    budget.check("solve")?;
    Ok(decision.ok().map(|decision| (decision, effort)))
}
