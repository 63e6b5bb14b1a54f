//! A candidate: instances on paths, the edges between their statements, and an order. And its
//! witness: a scenario in which all of that happens.

use super::constraint::Constraints;
use super::decode::scenario_of;
use super::encode::{Caps, Encoder, copied};
use super::solver::{Effort, Outcome, solve};
use crate::ir::Program;
use crate::paths::Path;
use crate::scenario::{Edge, Event, Point, Scenario, StoreLevel, Turn};
use std::sync::Arc;
use std::time::Instant;

/// How many contradictions the solver may meet for one candidate.
const CONTRADICTIONS_MAX: u32 = 10_000;

/// How many where most candidates that have a witness have one at hand.
const AT_HAND_MAX: u32 = 300;

/// How many for a slice of one, which is worth it only where it is easily refuted.
const SLICE_CONTRADICTIONS_MAX: u32 = 1000;

/// An instance of a transaction that follows one of its paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The position in [`Program::transactions`].
    pub transaction: usize,
    /// The path.
    pub path: Arc<Path>,
    /// The level it runs at; decides what a turn without `sees` sees. Without one, everything
    /// earlier.
    pub level: Option<StoreLevel>,
}

/// What might happen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// The instances.
    pub instances: Vec<Run>,
    /// The dependencies that must be real. Edges between siblings are ignored.
    pub edges: Vec<Edge>,
    /// The order of steps: every statement of every path once. Begin and commit may be left out
    /// where no level needs them.
    pub schedule: Vec<Turn>,
    /// Pairs of statements that must not write the same row (a lock or a conflict rule would
    /// prevent it).
    pub apart: Vec<(Point, Point)>,
}

/// Why a candidate has no witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Infeasible {
    /// There are no arguments, rows and unknown values for it.
    Contradiction,
    /// Not decided: too large, or not within what the solver does.
    Undecided,
    /// It is not a candidate of this program; what is wrong with it.
    Malformed(String),
}

/// A scenario in which every instance follows its path, in the order given, and every edge is real.
pub fn witness(program: &Program, candidate: &Candidate) -> Result<Scenario, Infeasible> {
    check(program, candidate).map_err(Infeasible::Malformed)?;
    witness_within(program, candidate, 0, None).0
}

/// As [`witness`], undecided where it takes more than a little work.
pub(crate) fn witness_at_hand(
    program: &Program,
    candidate: &Candidate,
) -> Result<Scenario, Infeasible> {
    check(program, candidate).map_err(Infeasible::Malformed)?;
    let effort = Effort {
        contradictions: AT_HAND_MAX,
        until: None,
    };
    witness_by(program, candidate, 0, effort).0
}

/// As [`witness`], for a candidate known to be one; with other values where there is a choice, and
/// not longer than until then. Says which bounds
/// of the constraints were met as well.
pub(super) fn witness_within(
    program: &Program,
    candidate: &Candidate,
    variation: u32,
    until: Option<Instant>,
) -> (Result<Scenario, Infeasible>, Caps) {
    let effort = Effort {
        contradictions: CONTRADICTIONS_MAX,
        until,
    };
    witness_by(program, candidate, variation, effort)
}

fn witness_by(
    program: &Program,
    candidate: &Candidate,
    variation: u32,
    effort: Effort,
) -> (Result<Scenario, Infeasible>, Caps) {
    let encoder = Encoder::new(program, candidate, variation);
    let answer = match solve(&encoder.constraints, effort) {
        Outcome::Satisfied(values) => Ok(scenario_of(program, candidate, &encoder, &values)),
        Outcome::Unsatisfied => Err(Infeasible::Contradiction),
        Outcome::Undecided => Err(Infeasible::Undecided),
    };
    (answer, encoder.caps)
}

/// Whether it is easily shown that there are no values for a candidate, and which bounds of the constraints were met.
pub(super) fn is_contradictory(
    program: &Program,
    candidate: &Candidate,
    until: Option<Instant>,
) -> (bool, Caps) {
    let encoder = Encoder::new(program, candidate, 0);
    let effort = Effort {
        contradictions: SLICE_CONTRADICTIONS_MAX,
        until,
    };
    let answer = solve(&encoder.constraints, effort);
    (answer == Outcome::Unsatisfied, encoder.caps)
}

/// As [`witness_within`], with other results or rows at the end than these serial orders.
pub(super) fn witness_unlike(
    program: &Program,
    candidate: &Candidate,
    orders: &[Vec<usize>],
    variation: u32,
    until: Option<Instant>,
) -> Result<Scenario, Infeasible> {
    let copied = copied(candidate, orders);
    let encoder = Encoder::unlike(program, &copied, variation);
    let effort = Effort {
        contradictions: CONTRADICTIONS_MAX,
        until,
    };
    match solve(&encoder.constraints, effort) {
        Outcome::Satisfied(values) => Ok(scenario_of(program, candidate, &encoder, &values)),
        Outcome::Unsatisfied => Err(Infeasible::Contradiction),
        Outcome::Undecided => Err(Infeasible::Undecided),
    }
}

/// The constraints whose values are the scenarios of a candidate.
pub fn constraints_of(program: &Program, candidate: &Candidate) -> Result<Constraints, Infeasible> {
    check(program, candidate).map_err(Infeasible::Malformed)?;
    Ok(Encoder::new(program, candidate, 0).constraints)
}

fn check(program: &Program, candidate: &Candidate) -> Result<(), String> {
    let mut next: Vec<u32> = vec![0; candidate.instances.len()];
    for run in &candidate.instances {
        if run.transaction >= program.transactions.len() {
            return Err(format!("there is no transaction {}", run.transaction));
        }
    }
    for turn in &candidate.schedule {
        let Some(next) = next.get_mut(turn.instance) else {
            return Err(format!("there is no instance {}", turn.instance));
        };
        if let Event::Statement(position) = turn.event {
            if position != *next {
                return Err(format!(
                    "instance {} is not at statement {position}",
                    turn.instance
                ));
            }
            *next += 1;
        }
    }
    for (instance, (run, next)) in candidate.instances.iter().zip(next).enumerate() {
        if run.path.statements.len() != next as usize {
            return Err(format!(
                "instance {instance} does not execute all its statements"
            ));
        }
    }
    let points = candidate.edges.iter().flat_map(|edge| [edge.from, edge.to]);
    let apart = candidate.apart.iter().flat_map(|(a, b)| [*a, *b]);
    for point in points.chain(apart) {
        let run = candidate.instances.get(point.instance);
        if run.is_none_or(|run| run.path.statements.len() <= point.statement as usize) {
            return Err(format!(
                "there is no statement {} of instance {}",
                point.statement, point.instance
            ));
        }
    }
    Ok(())
}

/// Whether a turn without `sees` sees the write of an earlier turn of another instance, where the
/// reader runs at that level.
pub(super) fn visible_by_level(
    schedule: &[Turn],
    level: Option<StoreLevel>,
    write: usize,
    turn: usize,
) -> bool {
    let position = |instance: usize, event: Event| {
        let same = |step: &Turn| step.instance == instance && step.event == event;
        schedule.iter().position(same)
    };
    let reader = schedule[turn].instance;
    let committed = position(schedule[write].instance, Event::Commit);
    let before = |at: usize| committed.is_some_and(|commit| commit < at);
    match level {
        Some(StoreLevel::ReadCommitted) => before(turn),
        Some(
            StoreLevel::ReadAtomic
            | StoreLevel::Prefix
            | StoreLevel::ParallelSnapshot
            | StoreLevel::Snapshot
            | StoreLevel::Serializable,
        ) => {
            let first = |step: &Turn| step.instance == reader;
            let began = position(reader, Event::Begin);
            let start = began.or(schedule.iter().position(first));
            before(start.unwrap_or(turn))
        }
        _ => write < turn,
    }
}
