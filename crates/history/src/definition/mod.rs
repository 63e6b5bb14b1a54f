//! What each level means: the axioms, executable, by brute force.
//!
//! This is the reference that everything else is tested against. It is written to be read next to
//! docs/levels.md and the papers, and it only takes histories of a few transactions.
//!
//! **Definition.** An *interpretation* of a history takes every committed transaction and some of
//! the indeterminate ones as committed, and chooses a writer for each external read. A level holds
//! if it holds in some interpretation.
//!
//! **Steps.** `scope` refuses what has no definition yet; `interpretation` enumerates the
//! interpretations, with `observation` telling what each read saw and `lists` what lists say; `commit_order` enumerates the
//! total orders of transactions for the levels defined by one, `version_order` the total orders of
//! each key's versions for the levels defined by a graph. `patterns` states the anomalies of the
//! C4 paper as definitions of their own. `elements` makes registers of sets and counters.
//!
//! **Cost.** Factorial in the number of transactions, exponential in that of ambiguous reads.
//!
//! **Sources.** Biswas & Enea, "On the complexity of checking transactional consistency", OOPSLA
//! 2019 (commit orders); Cerone & Gotsman, "Analysing snapshot isolation", JACM 2018, and Adya,
//! PhD thesis, 1999 (graphs); Liu, Gu, Wei & Basin, "Complete and Efficient Checking of Transactional
//! Causal Consistency in Database Engines" (the C4 paper; patterns).
//!
//! **Where we differ.** A non-repeatable read is legal below read-atomic, where each read stands
//! for itself. Indeterminate transactions and values written more than once are interpreted in
//! every possible way.

mod commit_order;
mod elements;
mod execution;
mod interpretation;
mod key_order;
mod lists;
mod observation;
mod patterns;
mod relation;
mod scope;
mod version_order;

pub use patterns::patterns;
pub use scope::OutOfScope;

use crate::{History, Initial, KeyOrder, Level};
use std::ops::ControlFlow;

/// Whether the history has the level, by its axiom.
pub fn holds(history: &History, level: Level, initial: &Initial) -> Result<bool, OutOfScope> {
    let open = levels_left_open(history, initial, KeyOrder::Free, vec![level])?;
    Ok(open.is_empty())
}

/// Which levels the history has; all levels, weak before strong.
pub fn holds_all(history: &History, initial: &Initial) -> Result<Vec<(Level, bool)>, OutOfScope> {
    holds_all_assuming(history, initial, KeyOrder::Free)
}

/// The same, if something is taken for granted of each key.
pub fn holds_all_assuming(
    history: &History,
    initial: &Initial,
    keys: KeyOrder,
) -> Result<Vec<(Level, bool)>, OutOfScope> {
    let open = levels_left_open(history, initial, keys, Level::all().collect())?;
    Ok(Level::all()
        .map(|level| (level, !open.contains(&level)))
        .collect())
}

/// Of the levels asked about, those that hold in no interpretation.
fn levels_left_open(
    history: &History,
    initial: &Initial,
    keys: KeyOrder,
    mut open: Vec<Level>,
) -> Result<Vec<Level>, OutOfScope> {
    if elements::is_needed(history) {
        if keys != KeyOrder::Free {
            return Err(OutOfScope::SetsOrCounters);
        }
        elements::for_each_choice(history, &mut |registers| {
            open = levels_left_open(registers, initial, keys, std::mem::take(&mut open))?;
            Ok(if open.is_empty() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        })?;
        return Ok(open);
    }
    scope::check(history)?;
    interpretation::for_each(history, initial, keys, &mut |execution| {
        let found = [
            commit_order::levels_that_hold(execution, &open),
            version_order::levels_that_hold(execution, &open),
        ]
        .concat();
        open.retain(|level| !found.contains(level));
        if open.is_empty() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(open)
}
