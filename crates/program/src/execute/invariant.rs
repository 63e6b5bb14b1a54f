//! Which invariants of a program a play breaks.
//!
//! Definition: an invariant is a select that finds what breaks it, and its rows say where and by how
//! much. A play *breaks* it if the select finds a row at the end that it finds neither before, nor at
//! the end of any serial order that commits the same instances. So what the initial rows have wrong
//! from the start is not held against the play, as long as it stays as wrong as it was.
//! An *outcome* is a select that lists what the transactions that ran decide. A play breaks it if what
//! it lists at the end is not what it lists at the end of some such serial order.
//! Steps: evaluate each select on the initial rows, on the rows at the end, and on those at the end of
//! every serial order. Cost: n! plays, as for the judgement.

use super::error::ExecuteError;
use super::ground::Bound;
use super::judge::{serial_outcomes, values};
use super::play::{Counter, Play};
use super::runner::{Next, Runner};
use super::store::{Store, View};
use crate::expr::Value;
use crate::ir::{Invariant, Program, Step, Transaction};
use crate::scenario::{Instance, Scenario, StoredRow};

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
    let mut committed = played.commits.clone();
    committed.dedup();
    let known = Known::new(&checks, program, scenario, &committed)?;
    Ok(known.broken(program, checks.found(&played.rows)?))
}

/// The invariants that do not hold of these rows. Outcomes are not asked about: they say nothing of
/// rows alone.
pub fn violations(program: &Program, rows: &[StoredRow]) -> Result<Vec<Broken>, ExecuteError> {
    let found = Checks::new(program).found(rows)?.into_iter().enumerate();
    let broken = found.filter(|(at, rows)| !program.invariants[*at].outcome && !rows.is_empty());
    Ok(broken
        .map(|(invariant, rows)| Broken { invariant, rows })
        .collect())
}

/// What the selects find where nothing is out of order: in the initial rows, and at the end of every
/// serial order that commits all of the instances.
pub(crate) struct Known {
    /// For each invariant, what it finds in each of these states, the initial one first.
    states: Vec<Vec<Vec<String>>>,
}

impl Known {
    /// Plays all serial orders of these instances.
    pub fn new(
        checks: &Checks,
        program: &Program,
        scenario: &Scenario,
        committed: &[usize],
    ) -> Result<Known, ExecuteError> {
        let mut states: Vec<Vec<Vec<String>>> = vec![Vec::new(); program.invariants.len()];
        let mut add = |rows: &[StoredRow]| -> Result<(), ExecuteError> {
            for (states, found) in states.iter_mut().zip(checks.found(rows)?) {
                states.push(listing(&found));
            }
            Ok(())
        };
        add(&scenario.rows)?;
        for outcome in serial_outcomes(program, scenario, committed)? {
            if outcome.results.iter().all(Option::is_some) {
                add(&outcome.rows)?;
            }
        }
        Ok(Known { states })
    }

    /// Whether an invariant holds in all of these states; an outcome always does, where there is a
    /// serial order.
    pub fn holds(&self, program: &Program, invariant: usize) -> bool {
        let states = &self.states[invariant];
        match program.invariants[invariant].outcome {
            true => states.len() > 1,
            false => states.len() > 1 && states.iter().all(Vec::is_empty),
        }
    }

    /// What is broken where the selects find this at the end.
    pub fn broken(&self, program: &Program, found: Vec<Vec<Vec<Value>>>) -> Vec<Broken> {
        let mut broken = Vec::new();
        for (invariant, mut rows) in found.into_iter().enumerate() {
            let states = &self.states[invariant];
            let is_known = |row: &[Value]| {
                let row = values(row);
                states.iter().any(|state| state.contains(&row))
            };
            if program.invariants[invariant].outcome {
                let ends = &states[1..];
                if ends.is_empty() || ends.contains(&listing(&rows)) {
                    continue;
                }
                // What stands out is told, and all of it where nothing does alone.
                let new: Vec<_> = rows.iter().filter(|row| !is_known(row)).cloned().collect();
                if !new.is_empty() {
                    rows = new;
                }
            } else {
                rows.retain(|row| !is_known(row));
                if rows.is_empty() {
                    continue;
                }
            }
            broken.push(Broken { invariant, rows });
        }
        broken
    }
}

fn listing(rows: &[Vec<Value>]) -> Vec<String> {
    let mut all: Vec<String> = rows.iter().map(|row| values(row)).collect();
    all.sort();
    all
}

/// The selects of the invariants, ready to be asked.
pub(crate) struct Checks {
    program: Program,
    /// For each invariant its select, with nothing left open; none where it is not asked.
    selects: Vec<Option<Bound>>,
}

impl Checks {
    /// All of them.
    pub fn new(program: &Program) -> Checks {
        Checks::of(program, |_| true)
    }

    /// Those that are wanted; the others find nothing.
    pub fn of(program: &Program, wanted: impl Fn(&Invariant) -> bool) -> Checks {
        let check = |invariant: &Invariant| {
            let place = invariant.statement.place.clone();
            let mut transaction = Transaction::new(&invariant.name, place);
            transaction.body = vec![Step::Execute(invariant.statement.clone())];
            transaction
        };
        let asked = Program {
            schema: program.schema.clone(),
            transactions: program.invariants.iter().map(check).collect(),
            ..Program::default()
        };
        let select = |(number, invariant): (usize, &Invariant)| {
            let instance = Instance {
                transaction: number,
                ..Instance::default()
            };
            let call = wanted(invariant).then(|| Runner::new(&asked, &instance).next());
            match call {
                Some(Ok(Next::Execute(call))) => Some(call.bound),
                _ => None,
            }
        };
        let selects = program.invariants.iter().enumerate().map(select).collect();
        Checks {
            program: asked,
            selects,
        }
    }

    /// What each select finds in these rows.
    pub fn found(&self, rows: &[StoredRow]) -> Result<Vec<Vec<Vec<Value>>>, ExecuteError> {
        let store = Store::new(&self.program, rows);
        let mut found = Vec::new();
        for (select, transaction) in self.selects.iter().zip(&self.program.transactions) {
            let Some(select) = select else {
                found.push(Vec::new());
                continue;
            };
            let effect = store.evaluate(select, &View::default(), &mut Counter::new(0));
            let effect = effect.map_err(|error| error.at(&transaction.place))?;
            found.push(effect.result.rows);
        }
        Ok(found)
    }
}
