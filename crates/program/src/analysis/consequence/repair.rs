//! Rows and arguments under which the invariants hold.
//!
//! Definition: the *faults* of rows and instances are what the invariants find in the initial rows, and
//! at the end of the instances one after the other; and every instance that aborts.
//! Steps: while there is a fault, the changes that may mend it: a number of a column that its invariant
//! reads, or an argument, more or less by a number that the invariant computed; a value set to NULL or
//! from NULL, where the invariant asks for that. The first that leaves fewer faults is made,
//! else the one that leaves the fewest; no cell is changed again soon; the best of all is kept.
//! Cost: some plays for each change that is looked at, and a bounded number of steps.
//! Source: the walk of Selman, Kautz and Cohen (WalkSAT, AAAI 1994), without chance.

use super::Search;
use crate::execute::{How, play};
use crate::expr::{Condition, Expr, Value};
use crate::ir::Part;
use crate::scenario::{Scenario, StoredRow};
use crate::schema::ColumnId;

/// How many changes are made.
const STEPS_MAX: usize = 16;
/// How many steps may bring nothing.
const VAIN_MAX: usize = 4;
/// How many changes are looked at in a step.
const MOVES_MAX: usize = 40;
/// For how many steps a cell stays as it is.
const RESTING: usize = 3;
/// What an aborted instance counts.
const ABORTED: usize = 50;

/// What may be changed.
#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Stored(usize, ColumnId),
    Argument(usize, usize),
}

/// A change.
struct Move {
    cell: Cell,
    value: Value,
}

/// What an invariant finds.
struct Fault {
    invariant: usize,
    row: Vec<Value>,
}

/// The faults that can be mended one by one, and the count of all.
struct Faults {
    list: Vec<Fault>,
    count: usize,
}

impl Search<'_> {
    /// The scenario with as few faults as were reached.
    pub(super) fn repaired(&self, scenario: Scenario) -> Scenario {
        let mut faults = self.faults(&scenario);
        let mut best = (faults.count, scenario.clone());
        let mut current = scenario;
        let mut resting: Vec<Cell> = Vec::new();
        let mut vain = 0;
        for step in 0..STEPS_MAX {
            if faults.list.is_empty() || vain > VAIN_MAX {
                break;
            }
            vain += 1;
            let mut next: Option<(Faults, Scenario, Cell)> = None;
            let fault = &faults.list[step % faults.list.len()];
            for one in self.moves(&current, fault).into_iter().take(MOVES_MAX) {
                if resting.contains(&one.cell) {
                    continue;
                }
                let changed = applied(&current, &one);
                let after = self.faults(&changed);
                if next.as_ref().is_none_or(|(f, ..)| after.count < f.count) {
                    let is_better = after.count < faults.count;
                    next = Some((after, changed, one.cell));
                    if is_better {
                        break;
                    }
                }
            }
            let Some((after, changed, cell)) = next else {
                resting.clear();
                continue;
            };
            resting.push(cell);
            if resting.len() > RESTING {
                resting.remove(0);
            }
            (faults, current) = (after, changed);
            if faults.count < best.0 {
                best = (faults.count, current.clone());
                vain = 0;
            }
        }
        best.1
    }

    fn faults(&self, scenario: &Scenario) -> Faults {
        let count = scenario.instances.len();
        let mut found = Faults {
            list: Vec::new(),
            count: 0,
        };
        self.add_faults(&scenario.rows, &mut found);
        let serial = Scenario {
            schedule: Vec::new(),
            ..scenario.clone()
        };
        match play(self.program, &serial, How::Given) {
            Ok(played) => {
                found.count += ABORTED * (count - played.commits.len().min(count));
                self.add_faults(&played.rows, &mut found);
            }
            Err(_) => found.count += ABORTED * count,
        }
        found
    }

    fn add_faults(&self, rows: &[StoredRow], found: &mut Faults) {
        let Ok(all) = self.checks.found(rows) else {
            found.count += ABORTED;
            return;
        };
        for (invariant, rows) in all.into_iter().enumerate() {
            if !self.program.invariants[invariant].outcome {
                found.count += rows.len();
                let faults = rows.into_iter().map(|row| Fault { invariant, row });
                found.list.extend(faults);
            }
        }
    }

    fn moves(&self, scenario: &Scenario, fault: &Fault) -> Vec<Move> {
        let statement = &self.program.invariants[fault.invariant].statement;
        let outputs = statement.outputs.iter().zip(&fault.row);
        let computed = outputs.filter(|(output, _)| !matches!(output.value, Expr::Column { .. }));
        let numbers: Vec<f64> = computed
            .filter_map(|(_, value)| number(value))
            .filter(|one| *one != 0.0)
            .collect();
        let (mut nulls, mut found) = (Vec::new(), Vec::new());
        for part in &statement.parts {
            let table = self.program.schema.table(part.table);
            let mut columns = part.reads(&self.program.schema).columns;
            columns.extend(part.returned(&statement.outputs));
            columns.retain(|column| {
                let is_name = self.links.of_column(part.table, *column).is_some();
                !is_name && !table.primary_key.contains(column)
            });
            let rows = scenario.rows.iter().enumerate();
            for (at, row) in rows.filter(|(_, row)| row.table == part.table) {
                for column in &columns {
                    let declared = &table.columns[column.index()];
                    let value = &row.values[column.index()];
                    let cell = Cell::Stored(at, *column);
                    if declared.nullable && tests_null(part, *column) {
                        let other = match value {
                            Value::Null => crate::execute::default_of(declared.ty),
                            _ => Value::Null,
                        };
                        nulls.push(Move { cell, value: other });
                    }
                    add_changed(&mut found, cell, value, &numbers);
                }
            }
        }
        for (at, instance) in scenario.instances.iter().enumerate() {
            for (number, value) in instance.arguments.iter().enumerate() {
                if self
                    .links
                    .of_parameter(instance.transaction, number)
                    .is_none()
                {
                    add_changed(&mut found, Cell::Argument(at, number), value, &numbers);
                }
            }
        }
        nulls.extend(found);
        nulls
    }
}

/// Whether rows are chosen by whether a column is NULL.
fn tests_null(part: &Part, column: ColumnId) -> bool {
    let mut waiting: Vec<&Condition> = vec![&part.filter];
    while let Some(condition) = waiting.pop() {
        match condition {
            Condition::IsNull(value) if value.columns_of(part.id).contains(&column) => return true,
            Condition::Not(inner) => waiting.push(inner),
            Condition::And(all) | Condition::Or(all) => waiting.extend(all),
            _ => {}
        }
    }
    false
}

/// A number, more and less by these.
fn add_changed(found: &mut Vec<Move>, cell: Cell, value: &Value, by: &[f64]) {
    for by in by.iter().flat_map(|by| [-by, *by]) {
        let value = match value {
            Value::Integer(old) if by.fract() == 0.0 => old.checked_add(by as i64),
            _ => None,
        }
        .map(Value::Integer)
        .or(match value {
            Value::Real(old) => Some(Value::Real(old + by)),
            _ => None,
        });
        if let Some(value) = value {
            found.push(Move { cell, value });
        }
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Real(number) => Some(*number),
        _ => None,
    }
}

fn applied(scenario: &Scenario, change: &Move) -> Scenario {
    let mut changed = scenario.clone();
    let cell = match change.cell {
        Cell::Stored(row, column) => &mut changed.rows[row].values[column.index()],
        Cell::Argument(instance, number) => &mut changed.instances[instance].arguments[number],
    };
    *cell = change.value.clone();
    changed
}
