//! Whether what a play did is what some serial order does.
//!
//! Definition: the *outcome* of a play is what the statements of its committed instances returned,
//! and the rows at the end. It is serializable if some order of exactly the committed instances, one
//! after the other on the same initial rows, commits them all and has the same outcome. Rows of a
//! result, and of a table, are compared as a bag. Instances that aborted leave no trace and are not
//! asked about, whatever they read.
//! Steps: play every order, compare. Cost: n! plays, so at most six committed instances.
//!
//! What a play says of the anomaly that its scenario is about:
//! - *manifested*: the outcome is not serializable;
//! - *prevented by abort*: it is, and the store undid somebody;
//! - *prevented by lock*: it is, nobody was undone, and somebody had to wait;
//! - *not manifested*: it is, and the store did nothing about it.

use super::environment::ResultSet;
use super::error::ExecuteError;
use super::play::{Fate, Play, play_serially};
use super::value::text_of;
use crate::expr::Value;
use crate::ir::Program;
use crate::scenario::{Scenario, StoredRow};

/// More instances than this have too many orders.
const INSTANCES_MAX: usize = 6;

/// What can be seen of instances that ran one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The order, by position in [`Scenario::instances`].
    pub order: Vec<usize>,
    /// What the statements of each of them returned, in the same order; none if it aborted.
    pub results: Vec<Option<Vec<ResultSet>>>,
    /// The rows at the end.
    pub rows: Vec<StoredRow>,
}

/// Whether a play is serializable.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// That order does the same.
    Serializable {
        /// The order of the committed instances.
        order: Vec<usize>,
    },
    /// No order does.
    NotSerializable,
}

/// What a play says of the anomaly that its scenario is about; see the head of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Appearance {
    /// The outcome is not serializable.
    Manifested,
    /// The store undid somebody.
    PreventedByAbort,
    /// Somebody had to wait.
    PreventedByLock,
    /// The store did nothing, and nothing happened.
    NotManifested,
}

impl Appearance {
    /// The name in input and output.
    pub fn name(self) -> &'static str {
        match self {
            Appearance::Manifested => "manifested",
            Appearance::PreventedByAbort => "prevented by abort",
            Appearance::PreventedByLock => "prevented by lock",
            Appearance::NotManifested => "not manifested",
        }
    }
}

/// The outcomes of all orders of these instances of a scenario.
pub fn serial_outcomes(
    program: &Program,
    scenario: &Scenario,
    instances: &[usize],
) -> Result<Vec<Outcome>, ExecuteError> {
    few(instances)?;
    let outcome = |order| serial_outcome(program, scenario, order);
    orders(instances).into_iter().map(outcome).collect()
}

fn few(instances: &[usize]) -> Result<(), ExecuteError> {
    match instances.len() > INSTANCES_MAX {
        true => Err(ExecuteError::new(format!(
            "{} instances have too many serial orders; at most {INSTANCES_MAX} are tried",
            instances.len()
        ))),
        false => Ok(()),
    }
}

/// The outcome of one order.
fn serial_outcome(
    program: &Program,
    scenario: &Scenario,
    order: Vec<usize>,
) -> Result<Outcome, ExecuteError> {
    let played = play_serially(program, scenario, &order)?;
    let mut results = Vec::new();
    for at in &order {
        let run = &played.runs[*at];
        results.push((run.fate == Fate::Committed).then(|| run.results.clone()));
    }
    Ok(Outcome {
        order,
        results,
        rows: played.rows,
    })
}

/// All orders of a few instances, the given one first.
pub(crate) fn orders(all: &[usize]) -> Vec<Vec<usize>> {
    let mut found: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in all {
        let mut longer = Vec::new();
        for order in &found {
            for one in all.iter().filter(|one| !order.contains(one)) {
                let mut order = order.clone();
                order.push(*one);
                longer.push(order);
            }
        }
        found = longer;
    }
    found
}

/// Judges a play of a scenario.
pub fn judge(
    program: &Program,
    scenario: &Scenario,
    played: &Play,
) -> Result<Judgement, ExecuteError> {
    let mut committed = played.commits.clone();
    committed.dedup();
    let rows = bag(played.rows.iter().map(stored));
    few(&committed)?;
    for order in orders(&committed) {
        let outcome = serial_outcome(program, scenario, order)?;
        let mut pairs = outcome.order.iter().zip(&outcome.results);
        let same = pairs.all(|(at, results)| {
            let results = results.as_ref();
            results.is_some_and(|results| same_results(results, &played.runs[*at].results))
        });
        if same && bag(outcome.rows.iter().map(stored)) == rows {
            let order = outcome.order;
            return Ok(Judgement::Serializable { order });
        }
    }
    Ok(Judgement::NotSerializable)
}

/// What a play says of the anomaly that its scenario is about.
pub fn appearance(played: &Play, judgement: &Judgement) -> Appearance {
    let undone = |fate: &Fate| matches!(fate, Fate::AbortedByStore { .. });
    match judgement {
        Judgement::NotSerializable => Appearance::Manifested,
        _ if played.runs.iter().any(|run| undone(&run.fate)) => Appearance::PreventedByAbort,
        _ if played.runs.iter().any(|run| !run.waits.is_empty()) => Appearance::PreventedByLock,
        _ => Appearance::NotManifested,
    }
}

fn same_results(a: &[ResultSet], b: &[ResultSet]) -> bool {
    let same = |(a, b): (&ResultSet, &ResultSet)| {
        let rows = |result: &ResultSet| bag(result.rows.iter().map(|row| values(row)));
        a.changed == b.changed && rows(a) == rows(b)
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

fn stored(row: &StoredRow) -> String {
    format!("{}:{}", row.table.0, values(&row.values))
}

/// The values as a text; equal numbers are equal texts.
pub(super) fn values(row: &[Value]) -> String {
    let one = |value: &Value| match value {
        Value::Null => "null".to_string(),
        Value::Text(text) => format!("{text:?}"),
        other => text_of(other),
    };
    let all: Vec<String> = row.iter().map(one).collect();
    all.join("|")
}

fn bag(rows: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = rows.collect();
    all.sort();
    all
}
