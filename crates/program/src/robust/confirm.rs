//! From a split run to arguments and rows with which it happens.
//!
//! The solver of the analysis is asked for values with which every instance follows its path in the
//! given order and every dependency is real. Statements that would wait for one another, or be
//! refused, must not meet in a row.

use super::{Counterexample, Level, SplitInstance};
use crate::analysis::{Candidate, Infeasible, Run, witness, witness_at_hand};
use crate::execute::{How, Judgement, allows, judge, play, writes_after_commits};
use crate::ir::{Action, Lock, Program, Statement};
use crate::paths::Path;
use crate::scenario::{Event, Point, Scenario, Turn};
use std::sync::Arc;

/// The most combinations of paths that are tried for one counterexample.
const COMBINATIONS_MAX: usize = 4;

/// How hard to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// One combination of paths, and what is soon found.
    Little,
    /// Several combinations, as long as it takes.
    All,
}

/// Arguments and rows for a counterexample whose instances may follow any of the paths given, each
/// with the same accesses. The paths that were found replace those of the counterexample.
pub(super) fn confirm(
    program: &Program,
    found: &mut Counterexample,
    alike: &[Vec<Arc<Path>>],
    effort: Effort,
) -> Result<Scenario, Infeasible> {
    let mut worst = Infeasible::Contradiction;
    let all = combinations(alike).into_iter();
    let most = match effort {
        Effort::Little => 1,
        Effort::All => COMBINATIONS_MAX,
    };
    for combination in all.take(most) {
        let mut tried = found.clone();
        for (instance, path) in tried.instances.iter_mut().zip(combination) {
            instance.path = path;
        }
        let found_scenario = match effort {
            Effort::Little => witness_at_hand(program, &candidate(&tried)),
            Effort::All => witness(program, &candidate(&tried)),
        };
        match found_scenario.map(|scenario| with_views(scenario, &tried)) {
            Ok(scenario) if shows(program, &scenario, &tried) => {
                *found = tried;
                return Ok(scenario);
            }
            Ok(_) => worst = Infeasible::Undecided,
            Err(Infeasible::Contradiction) => {}
            Err(other) => worst = other,
        }
    }
    Err(worst)
}

/// The scenario with what every statement sees, which the levels of the instances decide: what was
/// committed before it, or before its transaction began.
fn with_views(mut scenario: Scenario, found: &Counterexample) -> Scenario {
    let schedule = scenario.schedule.clone();
    let first = |instance: usize, event: Option<Event>| {
        let same = |turn: &Turn| turn.instance == instance && event.is_none_or(|e| turn.event == e);
        schedule.iter().position(same)
    };
    for (at, turn) in scenario.schedule.iter_mut().enumerate() {
        let level = found.instances.get(turn.instance).map(|one| one.level);
        let (Event::Statement(_), Some(level)) = (turn.event, level) else {
            continue;
        };
        let since = match level {
            Level::ReadCommitted => at,
            Level::Snapshot | Level::Serializable => first(turn.instance, None).unwrap_or(at),
        };
        let seen = schedule
            .iter()
            .enumerate()
            .take(since)
            .filter(|(_, other)| {
                let committed = first(other.instance, Some(Event::Commit));
                other.instance != turn.instance && committed.is_some_and(|commit| commit < since)
            });
        turn.sees = Some(seen.map(|(place, _)| place).collect());
    }
    scenario
}

/// Whether no serial order does what the scenario does, when it is played, and the levels allow it: a key that the
/// database computes is not followed.
fn shows(program: &Program, scenario: &Scenario, found: &Counterexample) -> bool {
    let Ok(played) = play(program, scenario, How::Given) else {
        return false;
    };
    let mut levels: Vec<Level> = found.instances.iter().map(|one| one.level).collect();
    levels.dedup();
    let allowed = match levels.as_slice() {
        [level] => allows(level.store(), &played),
        _ => writes_after_commits(&played),
    };
    let judged = judge(program, scenario, &played);
    allowed && matches!(judged, Ok(Judgement::NotSerializable))
}

fn combinations(alike: &[Vec<Arc<Path>>]) -> Vec<Vec<Arc<Path>>> {
    let mut all: Vec<Vec<Arc<Path>>> = vec![Vec::new()];
    for paths in alike {
        let mut next = Vec::new();
        for known in &all {
            for path in paths {
                let mut longer = known.clone();
                longer.push(path.clone());
                next.push(longer);
            }
        }
        next.truncate(COMBINATIONS_MAX);
        all = next;
    }
    all
}

fn candidate(found: &Counterexample) -> Candidate {
    let run = |instance: &SplitInstance| Run {
        transaction: instance.transaction,
        path: instance.path.clone(),
        level: Some(instance.level.store()),
    };
    Candidate {
        instances: found.instances.iter().map(run).collect(),
        edges: found.edges.clone(),
        schedule: found.schedule.clone(),
        apart: apart(found),
    }
}

/// The statements of the first instance and of the others that must not change one row.
fn apart(found: &Counterexample) -> Vec<(Point, Point)> {
    let Some(first) = found.instances.first() else {
        return Vec::new();
    };
    let split = found
        .edges
        .first()
        .map_or(0, |edge| edge.from.statement as usize);
    let mut pairs = Vec::new();
    for (statement, one) in first.path.statements.iter().enumerate() {
        let before = statement <= split;
        let refused = first.level != Level::ReadCommitted;
        if !(before || refused) || !is_exclusive(one) {
            continue;
        }
        for (instance, other) in found.instances.iter().enumerate().skip(1) {
            for (position, two) in other.path.statements.iter().enumerate() {
                if is_exclusive(two) {
                    let point = |instance: usize, statement: usize| Point {
                        instance,
                        statement: statement as u32,
                    };
                    pairs.push((point(0, statement), point(instance, position)));
                }
            }
        }
    }
    pairs
}

fn is_exclusive(statement: &Statement) -> bool {
    statement.parts.iter().any(|part| match &part.action {
        Action::Select(select) => select.lock == Lock::Update,
        Action::Update { .. } | Action::Insert(_) | Action::Delete => true,
    })
}
