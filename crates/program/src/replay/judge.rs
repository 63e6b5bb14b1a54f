//! Whether what a server did is what some serial order of the committed transactions does.
//!
//! Each order of the committed instances is played alone, on the same server with the same rows, so
//! that a difference between dialects cannot be taken for an anomaly. Two runs are the same if every
//! committed instance executed the same statements with the same results and the tables end with the
//! same rows. Rows that come in no asked order are compared as a bag, and keys that the server chose
//! are not compared.

use super::error::ReplayError;
use super::level::ServerLevel;
use super::played::{Fate, Played, PlayedInstance};
use crate::execute::orders;
use crate::expr::Value;
use crate::scenario::{Event, Scenario, StoredRow, Turn};
use crate::schema::Schema;
use std::collections::BTreeMap;

/// More instances than this have too many orders to play them.
const INSTANCES_MAX: usize = 4;

/// The serial runs of a scenario: for each set of instances, the outcome of each order.
#[derive(Default)]
pub(super) struct Serial {
    runs: BTreeMap<Vec<usize>, Vec<Outcome>>,
    /// Whether they came out the same when they were made again, where that was asked.
    repeated: BTreeMap<Vec<usize>, bool>,
}

/// What can be seen of a run, in a form that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// By instance: its statements and their results; the program's end.
    instances: BTreeMap<usize, Vec<String>>,
    rows: Vec<String>,
}

impl Outcome {
    /// What these instances did, and the rows that they left.
    pub fn new(
        schema: &Schema,
        instances: impl Iterator<Item = (usize, Vec<String>)>,
        rows: &[StoredRow],
    ) -> Outcome {
        Outcome {
            instances: instances.collect(),
            rows: bag(schema, rows),
        }
    }
}

/// Plays a scenario at these levels.
pub(super) type Play<'a> =
    &'a mut dyn FnMut(&Scenario, &[ServerLevel]) -> Result<Played, ReplayError>;

/// The outcomes of these orders of the instances of a scenario.
pub(super) type Runs<'a> =
    &'a mut dyn FnMut(&Scenario, &[Vec<usize>]) -> Result<Vec<Outcome>, ReplayError>;

impl Serial {
    /// The order of the committed instances that does the same as the run; none if there is none.
    pub fn order_of(
        &mut self,
        schema: &Schema,
        scenario: &Scenario,
        played: &Played,
        runs: Runs<'_>,
    ) -> Result<Option<Vec<usize>>, ReplayError> {
        let committed = played.committed();
        if committed.len() > INSTANCES_MAX {
            let problem = format!(
                "{} transactions have too many serial orders; at most {INSTANCES_MAX} are tried",
                committed.len()
            );
            return Err(ReplayError::new(problem));
        }
        let orders = orders(&committed);
        if !self.runs.contains_key(&committed) {
            let outcomes = runs(scenario, &orders)?;
            self.runs.insert(committed.clone(), outcomes);
        }
        let seen = outcome(schema, played, &committed);
        let at = self.runs[&committed].iter().position(|one| *one == seen);
        Ok(at.map(|at| orders[at].clone()))
    }

    /// Whether the serial runs of these instances do the same when they are made again. An application
    /// that draws random numbers or looks at the clock does not, and then no difference from them means
    /// anything.
    pub fn repeats(
        &mut self,
        scenario: &Scenario,
        committed: &[usize],
        runs: Runs<'_>,
    ) -> Result<bool, ReplayError> {
        if let Some(known) = self.repeated.get(committed) {
            return Ok(*known);
        }
        let again = runs(scenario, &orders(committed))?;
        let same = self.runs.get(committed) == Some(&again);
        self.repeated.insert(committed.to_vec(), same);
        Ok(same)
    }
}

/// Plays each order as a scenario of its own.
pub(super) fn one_by_one(
    schema: &Schema,
    scenario: &Scenario,
    orders: &[Vec<usize>],
    play: Play<'_>,
) -> Result<Vec<Outcome>, ReplayError> {
    let run = |order: &Vec<usize>| serial_run(schema, scenario, order, play);
    orders.iter().map(run).collect()
}

fn serial_run(
    schema: &Schema,
    scenario: &Scenario,
    order: &[usize],
    play: Play<'_>,
) -> Result<Outcome, ReplayError> {
    let instances = order.iter().map(|at| scenario.instances[*at].clone());
    let turn = |instance| Turn {
        instance,
        event: Event::Commit,
        sees: None,
    };
    let alone = Scenario {
        rows: scenario.rows.clone(),
        instances: instances.collect(),
        schedule: (0..order.len()).map(turn).collect(),
    };
    let levels = vec![ServerLevel::ReadCommitted; order.len()];
    let mut played = play(&alone, &levels)?;
    let instances = std::mem::take(&mut played.instances);
    let done = order.iter().zip(&instances);
    let done = done.map(|(at, one)| (*at, steps(one)));
    Ok(Outcome::new(schema, done, &played.rows))
}

fn outcome(schema: &Schema, played: &Played, committed: &[usize]) -> Outcome {
    let one = |at: &usize| (*at, steps(&played.instances[*at]));
    Outcome::new(schema, committed.iter().map(one), &played.rows)
}

/// What an instance did, as texts that can be compared.
pub(super) fn steps(instance: &PlayedInstance) -> Vec<String> {
    let mut steps = Vec::new();
    for one in &instance.executed {
        let row = |row: &Vec<Value>| row.iter().map(canonical).collect::<Vec<_>>().join("|");
        let mut rows: Vec<String> = one.result.rows.iter().map(row).collect();
        if !one.ordered {
            rows.sort();
        }
        let (origin, changed) = (one.origin.0, one.result.changed);
        steps.push(format!("{origin}: {changed} changed, {}", rows.join(" ; ")));
    }
    steps.push(
        match instance.fate {
            Fate::Committed => "committed",
            Fate::Undone => "undone",
            Fate::Refused { .. } => "refused",
        }
        .to_string(),
    );
    steps
}

/// The rows as texts in order. Values that the server chose depend on who came first, also where
/// nothing else does, and are left out.
fn bag(schema: &Schema, rows: &[StoredRow]) -> Vec<String> {
    let line = |row: &StoredRow| {
        let columns = &schema.table(row.table).columns;
        let chosen = |at: usize| columns.get(at).is_some_and(|column| column.generated);
        let values = row.values.iter().enumerate().filter(|(at, _)| !chosen(*at));
        let values: Vec<String> = values.map(|(_, value)| canonical(value)).collect();
        format!("{}: {}", row.table.0, values.join("|"))
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    lines.sort();
    lines
}

/// A value as a text that is the same for numbers that are the same up to rounding.
fn canonical(value: &Value) -> String {
    match value {
        Value::Null => "null".to_string(),
        Value::Boolean(truth) => truth.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            format!("{}", *number as i64)
        }
        Value::Real(number) => format!("{number:.9e}"),
        Value::Text(text) => format!("{text:?}"),
        Value::List(all) => {
            let all: Vec<String> = all.iter().map(canonical).collect();
            format!("[{}]", all.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_are_written_alike() {
        assert_eq!(canonical(&Value::Real(3.0)), canonical(&Value::Integer(3)));
        let sum = Value::Real(0.1 + 0.2);
        assert_eq!(canonical(&sum), canonical(&Value::Real(0.3)));
        let text = Value::Text("3".to_string());
        assert_ne!(canonical(&text), canonical(&Value::Integer(3)));
    }
}
