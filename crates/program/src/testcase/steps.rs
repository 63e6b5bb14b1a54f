//! A played scenario as steps that a person can read: who did what, with which values, where that
//! stands in the source, and what came back.

use crate::execute::{Call, Fate, Next, Play, ResultSet, Runner};
use crate::ir::Program;
use crate::place::{Place, shorten};
use crate::replay::shown_text;
use crate::scenario::{Event, Instance, Scenario};
use std::fmt::Write;

/// How many rows of a result are shown.
const ROWS_SHOWN: usize = 3;

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownStep {
    /// The instance.
    pub instance: usize,
    /// What it does: SQL with its values, or `begin`, `commit`, `rollback`.
    pub text: String,
    /// Where the statement stands; none for the others.
    pub place: Option<Place>,
    /// What came back; none for the others.
    pub result: Option<String>,
    /// The position of the statement among those of the instance.
    pub statement: Option<u32>,
    /// Whether it had to wait for a lock.
    pub waited: bool,
}

/// The name of an instance in texts: `T1`.
pub fn instance_name(instance: usize) -> String {
    format!("T{}", instance + 1)
}

/// An instance with its arguments: `Withdraw(account = 1, amount = 5)`.
pub fn instance_text(program: &Program, instance: &Instance) -> String {
    let Some(transaction) = program.transactions.get(instance.transaction) else {
        return "?".to_string();
    };
    let pairs = transaction.parameters.iter().zip(&instance.arguments);
    let arguments: Vec<String> = pairs
        .map(|(parameter, value)| format!("{} = {value}", parameter.name))
        .collect();
    format!("{}({})", transaction.name, arguments.join(", "))
}

/// The steps of a play in the order of the schedule.
pub fn shown_steps(program: &Program, scenario: &Scenario, play: &Play) -> Vec<ShownStep> {
    let calls: Vec<Vec<Call<'_>>> = scenario
        .instances
        .iter()
        .zip(&play.runs)
        .map(|(instance, run)| calls(program, instance, &run.results))
        .collect();
    let mut steps = Vec::new();
    for turn in &scenario.schedule {
        let (Some(calls), Some(run)) = (calls.get(turn.instance), play.runs.get(turn.instance))
        else {
            continue;
        };
        let mut step = ShownStep {
            instance: turn.instance,
            text: String::new(),
            place: None,
            result: None,
            statement: None,
            waited: false,
        };
        match turn.event {
            Event::Begin => step.text.push_str("begin"),
            Event::Commit => step.text.push_str(match run.fate {
                Fate::Committed => "commit",
                Fate::AbortedByProgram { .. } | Fate::AbortedByStore { .. } => "rollback",
            }),
            Event::Statement(position) => {
                // An instance that was undone did not get that far.
                let Some(call) = calls.get(position as usize) else {
                    continue;
                };
                step.text = shown_text(&program.schema, call);
                step.place = Some(call.statement.place.clone());
                step.result = run
                    .results
                    .get(position as usize)
                    .map(|result| shown(call, result));
                step.statement = Some(position);
                step.waited = run.waits.contains(&position);
            }
        }
        steps.push(step);
    }
    steps
}

/// The statements that an instance executed, given what each returned.
fn calls<'p>(program: &'p Program, instance: &Instance, results: &[ResultSet]) -> Vec<Call<'p>> {
    let mut runner = Runner::new(program, instance);
    let mut calls = Vec::new();
    // One more than there are results: the statement that was refused.
    while let Ok(Next::Execute(call)) = runner.next() {
        let result = results.get(calls.len());
        calls.push(call);
        match result {
            Some(result) => runner.feed(result.clone()),
            None => break,
        }
    }
    calls
}

fn shown(call: &Call<'_>, result: &ResultSet) -> String {
    if call.statement.is_write() && result.rows.is_empty() {
        return match result.changed {
            1 => "1 row changed".to_string(),
            count => format!("{count} rows changed"),
        };
    }
    if result.rows.is_empty() {
        return "no row".to_string();
    }
    let mut out = String::new();
    for (number, row) in result.rows.iter().take(ROWS_SHOWN).enumerate() {
        let values: Vec<String> = row.iter().map(|v| shorten(&v.to_string(), 24)).collect();
        let comma = if number == 0 { "" } else { "; " };
        let _ = write!(out, "{comma}{}", values.join(", "));
    }
    if result.rows.len() > ROWS_SHOWN {
        let _ = write!(out, "; and {} more", result.rows.len() - ROWS_SHOWN);
    }
    out
}
