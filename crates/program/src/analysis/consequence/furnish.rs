//! Rows for what instances look up by their arguments.

use super::super::decode::time_value;
use super::links::{Links, aliases};
use crate::access::Reach;
use crate::expr::{Expr, ParameterId, Value};
use crate::ir::{Action, Program};
use crate::scenario::{Instance, Scenario, StoredRow};
use crate::schema::{ColumnId, TableId, Type};

/// The most rows that are added.
const ADDED_MAX: usize = 40;

/// The scenario with a row for every key that an argument names, and what these refer to. Where
/// `fill` says so, a list of names that is empty gets one.
pub(super) fn furnished(program: &Program, links: &Links, base: &Scenario, fill: bool) -> Scenario {
    let mut scenario = base.clone();
    if fill {
        fill_lists(program, links, &mut scenario);
    }
    let mut waiting: Vec<(TableId, Vec<(ColumnId, Value)>)> = Vec::new();
    for instance in &scenario.instances {
        waiting.extend(looked_up(program, instance));
    }
    let mut added = 0;
    while let Some((table, cells)) = waiting.pop() {
        let is_there = scenario.rows.iter().any(|row| {
            let same = |(column, value): &(ColumnId, Value)| row.values[column.index()] == *value;
            row.table == table && cells.iter().all(same)
        });
        if is_there || added >= ADDED_MAX {
            continue;
        }
        added += 1;
        let row = row(program, links, &scenario, table, &cells);
        for foreign in &program.schema.table(table).foreign_keys {
            let pairs = foreign.columns.iter().zip(&foreign.referred);
            let key: Vec<(ColumnId, Value)> = pairs
                .map(|(own, referred)| (*referred, row.values[own.index()].clone()))
                .collect();
            if key.iter().all(|(_, value)| *value != Value::Null) {
                waiting.push((foreign.table, key));
            }
        }
        scenario.rows.push(row);
    }
    scenario.rows.sort_by_key(|row| row.table);
    scenario
}

fn fill_lists(program: &Program, links: &Links, scenario: &mut Scenario) {
    for at in 0..scenario.instances.len() {
        let transaction = scenario.instances[at].transaction;
        for number in 0..scenario.instances[at].arguments.len() {
            let is_empty = scenario.instances[at].arguments[number] == Value::List(Vec::new());
            let class = links.of_parameter(transaction, number);
            if let (true, Some(class)) = (is_empty, class) {
                let names = links.names(class, scenario, &program.schema);
                let name = names.into_iter().next().unwrap_or(Value::Integer(1));
                scenario.instances[at].arguments[number] = Value::List(vec![name]);
            }
        }
    }
}

/// The keys that arguments of an instance name.
fn looked_up(program: &Program, instance: &Instance) -> Vec<(TableId, Vec<(ColumnId, Value)>)> {
    let Some(transaction) = program.transactions.get(instance.transaction) else {
        return Vec::new();
    };
    let aliases = aliases(transaction);
    let argument = |id: &ParameterId| match instance.arguments.get(id.0 as usize)? {
        Value::List(items) => items.first().cloned(),
        Value::Null => None,
        one => Some(one.clone()),
    };
    let value = |expr: &Expr| match expr {
        Expr::Parameter(id) => argument(id),
        Expr::Variable(id) => argument(aliases.get(id)?),
        _ => None,
    };
    let mut found = Vec::new();
    for statement in transaction.statements() {
        for part in &statement.parts {
            let is_read = !matches!(part.action, Action::Insert(_));
            if let (true, Reach::Key(bindings)) = (is_read, part.reach(&program.schema)) {
                let key = bindings.iter().map(|b| Some((b.column, value(b.value)?)));
                found.extend(key.collect::<Option<Vec<_>>>().map(|key| (part.table, key)));
            }
        }
    }
    found
}

/// A row with these cells. What it refers to besides has a name that is in use, or none.
fn row(
    program: &Program,
    links: &Links,
    scenario: &Scenario,
    table: TableId,
    cells: &[(ColumnId, Value)],
) -> StoredRow {
    let declared = program.schema.table(table);
    let number = 10 + scenario.rows.len() as i64;
    let value = |column: ColumnId| {
        if let Some((_, value)) = cells.iter().find(|(other, _)| *other == column) {
            return value.clone();
        }
        let own = &declared.columns[column.index()];
        match links.of_column(table, column) {
            Some(_) if own.nullable => Value::Null,
            Some(class) => {
                let names = links.names(class, scenario, &program.schema);
                names.into_iter().next().unwrap_or(Value::Integer(1))
            }
            None => match own.ty {
                Type::Boolean => Value::Boolean(false),
                Type::Real => Value::Real(number as f64),
                Type::Text | Type::Binary => Value::Text("a".to_string()),
                Type::Timestamp | Type::Date | Type::Time => time_value(0, own.ty),
                Type::Integer | Type::List | Type::Other => Value::Integer(number),
            },
        }
    };
    StoredRow {
        table,
        values: declared.column_ids().map(value).collect(),
    }
}
