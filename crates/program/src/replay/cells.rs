//! Which cells of which rows a statement read and wrote on a server, and with which values.
//!
//! A cell is a column of a row, and the row is named by its key. A row is known where the statement
//! gives its whole key, or where its results hold the key. What a write left behind, where it
//! computes with the old row, PostgreSQL tells by RETURNING; MariaDB is asked by the key, after the
//! write and in the same transaction, which then holds the row's lock anyway. What remains unknown
//! is said to be so, and such a history is not complete.

use super::dialect::Dialect;
use crate::access::Reach;
use crate::execute::{Call, ResultSet};
use crate::expr::{Expr, Operator, Value};
use crate::ir::{Action, OnConflict, Part, Role, Set};
use crate::resolve::fold_arithmetic;
use crate::schema::{ColumnId, Schema, Table};

/// What a statement did to a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// It read this value; none where there was no row.
    Read(Cell, Option<Value>),
    /// It wrote this value; none where it removed the row.
    Wrote(Cell, Option<Value>),
    /// It read or wrote something that cannot be told from outside.
    Unknown,
}

/// A column of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The row: `ACCOUNT[7]`.
    pub row: String,
    /// The column.
    pub column: String,
}

impl Cell {
    /// `ACCOUNT[7].balance`
    pub fn name(&self) -> String {
        format!("{}.{}", self.row, self.column)
    }
}

pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_string(),
        Value::Boolean(truth) => truth.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            (*number as i64).to_string()
        }
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::List(all) => all.iter().map(shown).collect::<Vec<_>>().join(","),
    }
}

pub(super) fn row_name<'a>(table: &Table, key: impl Iterator<Item = &'a Value>) -> String {
    let key: Vec<String> = key.map(shown).collect();
    format!("{}[{}]", table.name, key.join(","))
}

pub(super) fn cell(table: &Table, row: &str, column: ColumnId) -> Cell {
    Cell {
        row: row.to_string(),
        column: table.column_name(column).to_string(),
    }
}

/// The value of an expression over constants. Its depth is bounded by whoever put the values in.
fn constant(expr: &Expr) -> Option<Value> {
    match expr {
        Expr::Constant(value) => Some(value.clone()),
        Expr::Arithmetic {
            operator,
            left,
            right,
        } => {
            let sides = (constant(left)?, constant(right)?);
            let (left, right) = (Expr::Constant(sides.0), Expr::Constant(sides.1));
            match fold_arithmetic(*operator, left, right) {
                Expr::Constant(value) => Some(value),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The key of the row that a part finds, if the statement gives it.
fn key_of(schema: &Schema, part: &Part) -> Option<Vec<Value>> {
    match part.reach(schema) {
        Reach::Key(bindings) => bindings.iter().map(|bound| constant(bound.value)).collect(),
        _ => None,
    }
}

/// The part that writes.
fn writer<'a>(call: &'a Call<'_>) -> Option<&'a Part> {
    // Several rows of values are several parts, whose values are all constants.
    let writes = |part: &&Part| !matches!(part.action, Action::Select(_));
    call.bound.parts.iter().find(writes)
}

/// The columns that must be looked at to know what a write left; none where the statement says all.
fn unknown_columns(schema: &Schema, part: &Part) -> Option<Vec<ColumnId>> {
    let table = schema.table(part.table);
    let all = || table.column_ids().collect::<Vec<ColumnId>>();
    let known = |sets: &[Set]| sets.iter().all(|set| constant(&set.value).is_some());
    if table.primary_key.is_empty() {
        return None;
    }
    match &part.action {
        Action::Select(_) => None,
        Action::Update { sets } if known(sets) && key_of(schema, part).is_some() => None,
        Action::Update { .. } => Some(all()),
        Action::Delete if key_of(schema, part).is_some() => None,
        Action::Delete => Some(all()),
        Action::Insert(insert) => {
            let plain = insert.on_conflict == OnConflict::Fail && !insert.from_select;
            let whole = insert.values.len() == table.columns.len() && known(&insert.values);
            (!plain || !whole).then(all)
        }
    }
}

/// The statement, with the rows that it wrote as its result where they cannot be known otherwise.
pub(super) fn with_returning(schema: &Schema, call: &Call<'_>, text: &str) -> String {
    let Some(part) = writer(call).filter(|_| call.statement.outputs.is_empty()) else {
        return text.to_string();
    };
    let several = call.bound.parts.len() > 1;
    match unknown_columns(schema, part) {
        Some(columns) if !several => {
            let table = schema.table(part.table);
            let names = columns
                .iter()
                .map(|id| Dialect::Postgres.name(table.column_name(*id)));
            format!("{text} returning {}", names.collect::<Vec<_>>().join(", "))
        }
        _ => text.to_string(),
    }
}

/// The question that tells what a write left, on a server that has no RETURNING for it.
pub(super) fn look(dialect: Dialect, schema: &Schema, call: &Call<'_>) -> Option<String> {
    if dialect != Dialect::MariaDb || !call.statement.outputs.is_empty() {
        return None;
    }
    let part = writer(call).filter(|_| call.bound.parts.len() == 1)?;
    let columns = unknown_columns(schema, part)?;
    let (table, key) = (schema.table(part.table), key_of(schema, part)?);
    let names = columns
        .iter()
        .map(|id| dialect.name(table.column_name(*id)));
    let tests = table.primary_key.iter().zip(key).map(|(column, value)| {
        let found = table.columns.get(column.index())?;
        let value = dialect.value_for(&value, found.ty).ok()?;
        Some(format!("{} = {value}", dialect.name(&found.name)))
    });
    let tests = tests.collect::<Option<Vec<_>>>()?.join(" and ");
    let (names, from) = (
        names.collect::<Vec<_>>().join(", "),
        dialect.name(&table.name),
    );
    Some(format!("select {names} from {from} where {tests}"))
}

/// What a statement did, by its result and the rows that it left, all columns of each.
pub(super) fn accesses(
    schema: &Schema,
    call: &Call<'_>,
    result: &ResultSet,
    left: Option<&[Vec<Value>]>,
) -> Vec<Access> {
    let mut found = Vec::new();
    for part in &call.bound.parts {
        match &part.action {
            Action::Select(select) => {
                let read = reads(schema, call, part, result);
                let plain = !call.bound.shape.aggregate && call.bound.nested.is_empty();
                let whole = select.role == Role::From && plain;
                found.extend(read.filter(|_| whole).unwrap_or(vec![Access::Unknown]));
            }
            _ => found.extend(writes(schema, part, result, left)),
        }
    }
    found
}

/// The cells that a part read; none where that cannot be told.
fn reads(schema: &Schema, call: &Call<'_>, part: &Part, result: &ResultSet) -> Option<Vec<Access>> {
    let table = schema.table(part.table);
    let plain = |column: ColumnId| {
        let mut outputs = call.bound.outputs.iter();
        outputs.position(|output| {
            matches!(&output.value, Expr::Column { part: p, column: c }
                if *p == part.id && *c == column)
        })
    };
    let columns = table
        .column_ids()
        .filter(|id| !table.primary_key.contains(id));
    let columns: Vec<(ColumnId, usize)> = columns
        .filter_map(|column| Some((column, plain(column)?)))
        .collect();
    let given = key_of(schema, part);
    let places: Option<Vec<usize>> = table.primary_key.iter().map(|id| plain(*id)).collect();
    let mut found = Vec::new();
    for row in &result.rows {
        let name = match (&given, &places) {
            (Some(key), _) => row_name(table, key.iter()),
            (None, Some(places)) if !places.is_empty() => {
                let key: Option<Vec<&Value>> = places.iter().map(|at| row.get(*at)).collect();
                row_name(table, key?.into_iter())
            }
            _ => return None,
        };
        for (column, at) in &columns {
            found.push(Access::Read(
                cell(table, &name, *column),
                row.get(*at).cloned(),
            ));
        }
    }
    if let (Some(key), true) = (&given, result.rows.is_empty()) {
        // There was no such row.
        let name = row_name(table, key.iter());
        let absent = |(column, _): &(ColumnId, usize)| cell(table, &name, *column);
        found.extend(columns.iter().map(|one| Access::Read(absent(one), None)));
    }
    let complete = given.is_some() || call.bound.parts.len() == 1;
    complete.then_some(found)
}

fn writes(
    schema: &Schema,
    part: &Part,
    result: &ResultSet,
    left: Option<&[Vec<Value>]>,
) -> Vec<Access> {
    let table = schema.table(part.table);
    if result.changed == 0 {
        return found_nothing(schema, part);
    }
    let others = || {
        table
            .column_ids()
            .filter(|id| !table.primary_key.contains(id))
    };
    if let Some(rows) = left {
        let rows = rows.iter().flat_map(|row| left_row(table, part, row));
        return rows.collect();
    }
    let Some(key) = key_of(schema, part).filter(|_| unknown_columns(schema, part).is_none()) else {
        return vec![Access::Unknown];
    };
    let name = row_name(table, key.iter());
    let set = |set: &Set| {
        let value = constant(&set.value);
        Access::Wrote(cell(table, &name, set.column), value)
    };
    match &part.action {
        Action::Update { sets } => sets.iter().map(set).collect(),
        Action::Insert(insert) => {
            let values = insert.values.iter();
            let values = values.filter(|set| !table.primary_key.contains(&set.column));
            values.map(set).collect()
        }
        Action::Delete | Action::Select(_) => {
            let gone = |column| Access::Wrote(cell(table, &name, column), None);
            others().map(gone).collect()
        }
    }
}

/// What a write read that changed nothing: that there is no such row, where its key says all.
fn found_nothing(schema: &Schema, part: &Part) -> Vec<Access> {
    let table = schema.table(part.table);
    match &part.action {
        Action::Insert(insert) if insert.on_conflict == OnConflict::Fail && !insert.from_select => {
            Vec::new()
        }
        Action::Insert(_) => vec![Access::Unknown],
        _ => match key_of(schema, part) {
            Some(key) if part.filter.conjuncts().len() == table.primary_key.len() => {
                let name = row_name(table, key.iter());
                let others = table.column_ids();
                let others = others.filter(|id| !table.primary_key.contains(id));
                others
                    .map(|column| Access::Read(cell(table, &name, column), None))
                    .collect()
            }
            _ => vec![Access::Unknown],
        },
    }
}

/// What a write did to a row, by what it left there.
fn left_row(table: &Table, part: &Part, row: &[Value]) -> Vec<Access> {
    let key: Option<Vec<&Value>> = table
        .primary_key
        .iter()
        .map(|id| row.get(id.index()))
        .collect();
    let Some(key) = key else {
        return vec![Access::Unknown];
    };
    let name = row_name(table, key.into_iter());
    let mut found = Vec::new();
    let sets: Vec<(ColumnId, Option<&Expr>)> = match &part.action {
        Action::Update { sets } => sets
            .iter()
            .map(|set| (set.column, Some(&set.value)))
            .collect(),
        _ => table.column_ids().map(|column| (column, None)).collect(),
    };
    let is_gone = part.action == Action::Delete;
    for (column, value) in sets {
        if table.primary_key.contains(&column) {
            continue;
        }
        let at = cell(table, &name, column);
        let new = row.get(column.index()).filter(|_| !is_gone);
        if let Some(old) = value.and_then(|value| old_value(part, column, value, new?)) {
            found.push(Access::Read(at.clone(), Some(old)));
        }
        found.push(Access::Wrote(at, new.cloned()));
    }
    found
}

/// The value that `c = c + 5` found, by the one it left.
fn old_value(part: &Part, column: ColumnId, value: &Expr, new: &Value) -> Option<Value> {
    let Expr::Arithmetic {
        operator,
        left,
        right,
    } = value
    else {
        return None;
    };
    let own = Expr::Column {
        part: part.id,
        column,
    };
    let (Value::Integer(by), true) = (constant(right)?, **left == own) else {
        return None;
    };
    let Value::Integer(new) = new else {
        return None;
    };
    match operator {
        Operator::Add => new.checked_sub(by).map(Value::Integer),
        Operator::Subtract => new.checked_add(by).map(Value::Integer),
        _ => None,
    }
}
