//! Which invariants of a program a play breaks.
//!
//! Definition: an invariant is a select that finds what breaks it, and its rows say where and by how
//! much. A play *breaks* it if the select finds a row at the end that it finds neither before, nor at
//! the end of any serial order that commits the same instances. So what the initial rows have wrong
//! from the start is not held against the play, as long as it stays as wrong as it was.
//! Steps: evaluate each select on the initial rows, on the rows at the end, and on those at the end of
//! every serial order. Cost: n! plays, as for the judgement.

use super::error::ExecuteError;
use super::judge::{serial_outcomes, values};
use super::play::{Counter, Play};
use super::runner::{Next, Runner};
use super::store::{Store, View};
use crate::expr::Value;
use crate::ir::{Program, Step, Transaction};
use crate::scenario::{Instance, Scenario, StoredRow};
use std::collections::BTreeSet;

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Broken {
    /// The position in [`Program::invariants`].
    pub invariant: usize,
    /// What its select finds.
    pub rows: Vec<Vec<Value>>,
}

/// The invariants that a play of a scenario breaks.
pub fn broken_invariants(
    program: &Program,
    scenario: &Scenario,
    played: &Play,
) -> Result<Vec<Broken>, ExecuteError> {
    if program.invariants.is_empty() {
        return Ok(Vec::new());
    }
    let checks = Checks::new(program);
    let mut known: Vec<BTreeSet<String>> = vec![BTreeSet::new(); program.invariants.len()];
    let mut states: Vec<Vec<StoredRow>> = vec![scenario.rows.clone()];
    let mut committed = played.commits.clone();
    committed.dedup();
    for outcome in serial_outcomes(program, scenario, &committed)? {
        if outcome.results.iter().all(Option::is_some) {
            states.push(outcome.rows);
        }
    }
    for state in &states {
        for (known, rows) in known.iter_mut().zip(checks.found(state)?) {
            known.extend(rows.iter().map(|row| values(row)));
        }
    }
    let mut broken = Vec::new();
    for (invariant, mut rows) in checks.found(&played.rows)?.into_iter().enumerate() {
        rows.retain(|row| !known[invariant].contains(&values(row)));
        if !rows.is_empty() {
            broken.push(Broken { invariant, rows });
        }
    }
    Ok(broken)
}

/// The invariants that do not hold of these rows.
pub fn violations(program: &Program, rows: &[StoredRow]) -> Result<Vec<Broken>, ExecuteError> {
    let found = Checks::new(program).found(rows)?.into_iter().enumerate();
    let broken = found.filter(|(_, rows)| !rows.is_empty());
    Ok(broken
        .map(|(invariant, rows)| Broken { invariant, rows })
        .collect())
}

/// The invariants as transactions of one statement each.
struct Checks {
    program: Program,
}

impl Checks {
    fn new(program: &Program) -> Checks {
        let check = |invariant: &crate::ir::Invariant| {
            let place = invariant.statement.place.clone();
            let mut transaction = Transaction::new(&invariant.name, place);
            transaction.body = vec![Step::Execute(invariant.statement.clone())];
            transaction
        };
        Checks {
            program: Program {
                schema: program.schema.clone(),
                transactions: program.invariants.iter().map(check).collect(),
                ..Program::default()
            },
        }
    }

    /// What each select finds in these rows.
    fn found(&self, rows: &[StoredRow]) -> Result<Vec<Vec<Vec<Value>>>, ExecuteError> {
        let store = Store::new(&self.program, rows);
        let mut found = Vec::new();
        for number in 0..self.program.transactions.len() {
            let instance = Instance {
                transaction: number,
                ..Instance::default()
            };
            let mut runner = Runner::new(&self.program, &instance);
            let Next::Execute(call) = runner.next()? else {
                found.push(Vec::new());
                continue;
            };
            let effect = store.evaluate(&call.bound, &View::default(), &mut Counter::new(0));
            let effect = effect.map_err(|error| error.at(&call.statement.place))?;
            found.push(effect.result.rows);
        }
        Ok(found)
    }
}
