//! Other rows and arguments for the same transactions.

use super::super::decode::time_value;
use super::links::{Class, Links};
use crate::expr::Value;
use crate::ir::{Program, Transaction};
use crate::scenario::{Instance, Scenario, StoredRow};
use crate::schema::{Schema, Type};

/// How many names of a kind are copied.
const NAMES_MAX: usize = 2;

/// A scenario like another one.
pub(super) struct Varied {
    pub scenario: Scenario,
    /// Whether some list is longer.
    pub longer: bool,
}

/// One change at a time: rows copied under another key, one instance sent to the copy or to the rows
/// of the first one, a longer list.
pub(super) fn variations(program: &Program, links: &Links, base: &Scenario) -> Vec<Varied> {
    let mut found = Vec::new();
    let mut add = |scenario: Scenario, longer: bool| found.push(Varied { scenario, longer });
    for class in 0..links.count() {
        let names = links.names(class, base, &program.schema);
        for name in names.iter().take(NAMES_MAX) {
            let Some((copied, copy)) = copied(&program.schema, links, base, class, name) else {
                continue;
            };
            for at in 0..base.instances.len() {
                if let Some(longer) = longer(links, &copied, at, class, &copy) {
                    add(longer, true);
                }
                if let Some(sent) = sent(links, &copied, at, class, name, &copy) {
                    add(sent, false);
                }
            }
            add(copied, false);
        }
        let Some(first) = names.first() else {
            continue;
        };
        for (at, name) in (1..base.instances.len()).flat_map(|at| {
            let others = names.iter().skip(1);
            others.map(move |name| (at, name))
        }) {
            if let Some(sent) = sent(links, base, at, class, name, first) {
                add(sent, false);
            }
        }
    }
    found
}

/// Every row that a name is part of the key of, once more with another name; which.
fn copied(
    schema: &Schema,
    links: &Links,
    base: &Scenario,
    class: Class,
    name: &Value,
) -> Option<(Scenario, Value)> {
    let copy = match name {
        Value::Integer(_) => {
            let all = links.names(class, base, schema);
            let number = |value: &Value| match value {
                Value::Integer(number) => Some(*number),
                _ => None,
            };
            let last = all.iter().filter_map(number).max()?;
            Value::Integer(last.checked_add(1)?)
        }
        Value::Text(text) => Value::Text(format!("{text}2")),
        _ => return None,
    };
    let mut scenario = base.clone();
    for row in &base.rows {
        let table = schema.table(row.table);
        let named = |column: &crate::schema::ColumnId| {
            links.of_column(row.table, *column) == Some(class)
                && row.values[column.index()] == *name
        };
        if table.primary_key.iter().any(named) {
            let mut values = row.values.clone();
            for column in table.column_ids().filter(named) {
                values[column.index()] = copy.clone();
            }
            let table = row.table;
            scenario.rows.push(StoredRow { table, values });
        }
    }
    (scenario.rows.len() > base.rows.len()).then(|| {
        scenario.rows.sort_by_key(|row| row.table);
        (scenario, copy)
    })
}

/// An instance with another name in the place of that one.
fn sent(
    links: &Links,
    base: &Scenario,
    at: usize,
    class: Class,
    name: &Value,
    other: &Value,
) -> Option<Scenario> {
    let mut scenario = base.clone();
    let instance = &mut scenario.instances[at];
    let mut changed = false;
    for (number, argument) in instance.arguments.iter_mut().enumerate() {
        if links.of_parameter(instance.transaction, number) != Some(class) {
            continue;
        }
        let cells: &mut [Value] = match argument {
            Value::List(items) => items,
            one => std::slice::from_mut(one),
        };
        for cell in cells.iter_mut().filter(|cell| **cell == *name) {
            *cell = other.clone();
            changed = true;
        }
    }
    changed.then_some(scenario)
}

/// An instance with one more element in each list of such names.
fn longer(
    links: &Links,
    base: &Scenario,
    at: usize,
    class: Class,
    name: &Value,
) -> Option<Scenario> {
    let mut scenario = base.clone();
    let instance = &mut scenario.instances[at];
    let mut changed = false;
    for (number, argument) in instance.arguments.iter_mut().enumerate() {
        if let Value::List(items) = argument
            && links.of_parameter(instance.transaction, number) == Some(class)
        {
            items.push(name.clone());
            changed = true;
        }
    }
    changed.then_some(scenario)
}

/// The scenario with numbers that differ where nothing hangs on them: first arguments and cells, then
/// arguments alone.
pub(super) fn spread(program: &Program, links: &Links, base: &Scenario) -> Vec<Scenario> {
    let mut arguments = base.clone();
    for (at, instance) in arguments.instances.iter_mut().enumerate() {
        for (number, argument) in instance.arguments.iter_mut().enumerate() {
            if links.of_parameter(instance.transaction, number).is_none() {
                let spread = 3 + 2 * number as i64 + 7 * at as i64;
                match argument {
                    Value::Integer(old) => *old = spread,
                    Value::Real(old) => *old = spread as f64,
                    _ => {}
                }
            }
        }
    }
    let mut cells = arguments.clone();
    for (at, row) in cells.rows.iter_mut().enumerate() {
        let table = program.schema.table(row.table);
        for column in table.column_ids() {
            let is_name = links.of_column(row.table, column).is_some();
            match &mut row.values[column.index()] {
                Value::Integer(0) if !is_name => {
                    row.values[column.index()] = Value::Integer(2 + at as i64);
                }
                Value::Real(old) if *old == 0.0 && !is_name => *old = 2.0 + at as f64,
                _ => {}
            }
        }
    }
    vec![cells, arguments]
}

/// The scenario with one more instance of a transaction that writes, on the same rows.
pub(super) fn with_another(
    program: &Program,
    links: &Links,
    base: &Scenario,
    number: usize,
) -> Option<Scenario> {
    let transaction = program.transactions.get(number)?;
    let mut statements = transaction.statements().into_iter();
    if !statements.any(|statement| statement.is_write()) {
        return None;
    }
    let mut scenario = base.clone();
    let arguments = 0..transaction.parameters.len();
    scenario.instances.push(Instance {
        transaction: number,
        arguments: arguments
            .map(|at| argument(program, links, base, (number, transaction), at))
            .collect(),
        ..Instance::default()
    });
    Some(scenario)
}

fn argument(
    program: &Program,
    links: &Links,
    base: &Scenario,
    (number, transaction): (usize, &Transaction),
    at: usize,
) -> Value {
    let ty = transaction.parameters[at].ty;
    if let Some(class) = links.of_parameter(number, at) {
        let names = links.names(class, base, &program.schema);
        let name = names.into_iter().next().unwrap_or(Value::Integer(1));
        return match ty {
            Type::List => Value::List(vec![name]),
            _ => name,
        };
    }
    let spread = 3 + 2 * at as i64 + 7 * base.instances.len() as i64;
    match ty {
        Type::Boolean => Value::Boolean(false),
        Type::Real => Value::Real(spread as f64),
        Type::Integer | Type::Other => Value::Integer(spread),
        Type::List => Value::List(Vec::new()),
        Type::Timestamp | Type::Date | Type::Time => time_value(0, ty),
        Type::Text | Type::Binary => {
            let column = links.column_of(number, at);
            let cell = column.and_then(|(table, column)| {
                let row = base.rows.iter().find(|row| row.table == table)?;
                Some(row.values[column.index()].clone())
            });
            cell.unwrap_or(Value::Text("a".to_string()))
        }
    }
}
