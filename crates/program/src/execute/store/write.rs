//! INSERT, UPDATE and DELETE: which cells of which rows they write.
//!
//! New values are computed from the old row. A duplicate of a primary key or of a UNIQUE
//! constraint, and a NULL where none may be, are errors. An update of a key's column deletes the
//! row and inserts another. Foreign keys are checked by [`super::Store::check_keys`].

use super::super::environment::ResultSet;
use super::super::error::ExecuteError;
use super::super::evaluate::evaluate;
use super::super::ground::Bound;
use super::super::value::{default_of, stored_as};
use super::log::{RowId, RowState, columns, key_of, name_of};
use super::rows::{Here, Standing, Work};
use super::select::{over, sources};
use crate::access::{Binding, Reach};
use crate::expr::{Expr, PartId, Value};
use crate::ir::{Action, Insert, OnConflict, Part, Set};
use crate::schema::{Column, ColumnId, Table, TableId, Type};
use std::collections::BTreeSet;
use std::rc::Rc;

type Found<T> = Result<T, ExecuteError>;

/// A row to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The table.
    pub table: TableId,
    /// The row, if it was known before; else the one that the values name.
    pub row: Option<RowId>,
    /// Whether it exists from now on, where that is written.
    pub exists: Option<bool>,
    /// The columns written and their values.
    pub cells: Vec<(ColumnId, Value)>,
    /// All values of the row from now on; none where it is gone.
    pub after: Option<Vec<Value>>,
}

/// The table of a row that is inserted, the name of the row, and its key.
pub type InsertedKey = (TableId, String, Vec<Value>);

/// What a statement changes, before it is done.
pub(super) struct Changes {
    pub result: ResultSet,
    pub changes: Vec<Change>,
}

/// Chooses values for columns that an insert leaves to the database.
pub trait Numbers {
    /// The next number.
    fn next(&mut self) -> i64;
}

pub(super) fn write(
    work: &Work<'_, '_>,
    bound: &Bound,
    numbers: &mut dyn Numbers,
) -> Found<Changes> {
    let mut done = Changes {
        result: ResultSet::default(),
        changes: Vec::new(),
    };
    for part in work.parts {
        match &part.action {
            Action::Select(_) => {}
            Action::Update { sets } => update(work, bound, part, Some(sets), &mut done)?,
            Action::Delete => update(work, bound, part, None, &mut done)?,
            Action::Insert(insert) => {
                for ways in new_rows(work, insert)? {
                    insert_row(work, bound, part, insert, &ways, numbers, &mut done)?;
                }
            }
        }
    }
    Ok(done)
}

/// For each row that is inserted, the rows it is made of.
fn new_rows(work: &Work<'_, '_>, insert: &Insert) -> Found<Vec<Vec<Standing>>> {
    let ways = match insert.from_select {
        true => work.join(&sources(work), &work.nowhere())?,
        false => vec![work.nowhere()],
    };
    // An aggregate makes one row of all.
    let aggregate = insert.values.iter().any(|set| has_aggregate(&set.value));
    Ok(match insert.from_select && aggregate {
        true => vec![ways],
        false => ways.into_iter().map(|way| vec![way]).collect(),
    })
}

fn update(
    work: &Work<'_, '_>,
    bound: &Bound,
    part: &Part,
    sets: Option<&Vec<Set>>,
    done: &mut Changes,
) -> Found<()> {
    let mut parts: Vec<PartId> = sources(work);
    parts.push(part.id);
    let mut seen = BTreeSet::new();
    for way in work.join(&parts, &work.nowhere())? {
        let Some(old) = way[part.id.0 as usize].clone() else {
            continue;
        };
        if !seen.insert(old.id) {
            continue;
        }
        done.result.changed += 1;
        let mut after = None;
        match sets {
            Some(sets) => {
                let values = change(work, part.table, &old, sets, &way, done)?;
                after = Some(Rc::new(RowState { id: old.id, values }));
            }
            None => done.changes.push(gone(part.table, &old)),
        }
        returning(work, bound, part, way, after, done)?;
    }
    Ok(())
}

/// The row after its columns were set; the change is added.
fn change(
    work: &Work<'_, '_>,
    table: TableId,
    old: &RowState,
    sets: &[Set],
    way: &Standing,
    done: &mut Changes,
) -> Found<Vec<Value>> {
    let schema = work.store.schema.table(table);
    let here = Here {
        work,
        standing: way,
    };
    let mut values = old.values.clone();
    let mut cells = Vec::new();
    for set in sets {
        let column = &schema.columns[set.column.index()];
        let value = stored_as(evaluate(&here, &set.value, column.ty)?, column.ty);
        allowed(schema, column, &value)?;
        values[set.column.index()] = value.clone();
        cells.retain(|(column, _)| *column != set.column);
        cells.push((set.column, value));
    }
    let moved =
        !schema.primary_key.is_empty() && key_of(schema, &values) != key_of(schema, &old.values);
    if moved {
        done.changes.push(gone(table, old));
    }
    if let Some(other) = conflict(work, table, &values, Some(old.id), done) {
        return Err(duplicate(work, table, &other));
    }
    done.changes.push(Change {
        table,
        row: (!moved).then_some(old.id),
        exists: moved.then_some(true),
        cells: match moved {
            true => columns(&values),
            false => cells,
        },
        after: Some(values.clone()),
    });
    Ok(values)
}

fn gone(table: TableId, old: &RowState) -> Change {
    let nothing = vec![Value::Null; old.values.len()];
    Change {
        table,
        row: Some(old.id),
        exists: Some(false),
        cells: columns(&nothing),
        after: None,
    }
}

fn insert_row(
    work: &Work<'_, '_>,
    bound: &Bound,
    part: &Part,
    insert: &Insert,
    ways: &[Standing],
    numbers: &mut dyn Numbers,
    done: &mut Changes,
) -> Found<()> {
    let table = work.store.schema.table(part.table);
    let values = new_values(work, table, insert, ways, numbers)?;
    let way = ways.first().cloned().unwrap_or_else(|| work.nowhere());
    let mut new = Rc::new(RowState {
        id: RowId::NONE,
        values: values.clone(),
    });
    if let Some(key) = key_of(table, &values) {
        let mut looked = work.looked.borrow_mut();
        looked[part.id.0 as usize].keys.insert(key);
    }
    let same = conflict(work, part.table, &values, None, done);
    match (same, &insert.on_conflict) {
        (None, _) => {
            for (column, value) in table.columns.iter().zip(&values) {
                allowed(table, column, value)?;
            }
            done.result.changed += 1;
            done.changes.push(Change {
                table: part.table,
                row: None,
                exists: Some(true),
                cells: columns(&values),
                after: Some(values),
            });
        }
        (Some(other), OnConflict::Fail) => return Err(duplicate(work, part.table, &other)),
        (Some(_), OnConflict::Ignore) => return Ok(()),
        (Some(other), OnConflict::Update(sets)) => {
            let mut way = way.clone();
            way[part.id.0 as usize] = Some(other.clone());
            done.result.changed += 1;
            let values = change(work, part.table, &other, sets, &way, done)?;
            new = Rc::new(RowState {
                id: other.id,
                values,
            });
        }
        (Some(other), OnConflict::Replace) => {
            done.result.changed += 2;
            done.changes.push(gone(part.table, &other));
            done.changes.push(Change {
                table: part.table,
                row: None,
                exists: Some(true),
                cells: columns(&values),
                after: Some(values),
            });
        }
    }
    returning(work, bound, part, way, Some(new), done)
}

fn new_values(
    work: &Work<'_, '_>,
    table: &Table,
    insert: &Insert,
    ways: &[Standing],
    numbers: &mut dyn Numbers,
) -> Found<Vec<Value>> {
    let mut values = Vec::new();
    for (at, column) in table.columns.iter().enumerate() {
        let given = insert.values.iter().find(|set| set.column.index() == at);
        let value = match given {
            Some(set) => over(work, &set.value, ways, &work.nowhere())?,
            None if column.generated => Value::Integer(numbers.next()),
            None => default_value(column),
        };
        values.push(stored_as(value, column.ty));
    }
    Ok(values)
}

fn has_aggregate(expr: &Expr) -> bool {
    let aggregate = |expr: &&Expr| matches!(expr, Expr::Aggregate { .. });
    expr.all().iter().any(aggregate)
}

/// The keys of the rows that are inserted, whether they exist or not: as they are given, or with the numbers that
/// the rows get where the database chooses them.
pub(super) fn inserted_keys(
    work: &Work<'_, '_>,
    numbers: &mut dyn Numbers,
) -> Found<Vec<InsertedKey>> {
    let mut found = Vec::new();
    for part in work.parts {
        let Action::Insert(insert) = &part.action else {
            continue;
        };
        let table = work.store.schema.table(part.table);
        let reach = part.reach(work.store.schema);
        let own = &table.primary_key;
        let chosen = |id: &ColumnId| table.columns[id.index()].generated;
        if !matches!(reach, Reach::Key(_)) && !own.iter().any(chosen) {
            continue;
        }
        for ways in new_rows(work, insert)? {
            let key = match &reach {
                Reach::Key(bindings) => {
                    let value = |one: &Binding<'_>| over(work, one.value, &ways, &work.nowhere());
                    bindings.iter().map(value).collect::<Found<Vec<Value>>>()?
                }
                _ => {
                    let values = new_values(work, table, insert, &ways, numbers)?;
                    own.iter().map(|id| values[id.index()].clone()).collect()
                }
            };
            found.extend(name_of(table, &key).map(|name| (part.table, name, key)));
        }
    }
    Ok(found)
}

/// The value of a column that an insert does not name.
fn default_value(column: &Column) -> Value {
    let Some(text) = column.default.as_deref().map(str::trim) else {
        return Value::Null;
    };
    let quoted = text.strip_prefix('\'').and_then(|t| t.split('\'').next());
    match quoted {
        Some(quoted) => Value::Text(quoted.to_string()),
        None if text.eq_ignore_ascii_case("null") => Value::Null,
        None if text.eq_ignore_ascii_case("true") => Value::Boolean(true),
        None if text.eq_ignore_ascii_case("false") => Value::Boolean(false),
        None => match text.parse::<i64>() {
            Ok(number) => Value::Integer(number),
            Err(_) => text
                .parse::<f64>()
                .map_or(default_of(column.ty), Value::Real),
        },
    }
}

fn allowed(table: &Table, column: &Column, value: &Value) -> Found<()> {
    let key = table
        .primary_key
        .iter()
        .any(|id| table.column_name(*id) == column.name);
    if *value == Value::Null && (!column.nullable || key) {
        let problem = format!("{}.{} may not be NULL", table.name, column.name);
        return Err(ExecuteError::new(problem));
    }
    Ok(())
}

/// An existing row, other than `except`, with the same key.
fn conflict(
    work: &Work<'_, '_>,
    table: TableId,
    values: &[Value],
    except: Option<RowId>,
    done: &Changes,
) -> Option<Rc<RowState>> {
    let schema = work.store.schema.table(table);
    let mut keys: Vec<&Vec<ColumnId>> = schema.unique.iter().collect();
    if !schema.primary_key.is_empty() {
        keys.insert(0, &schema.primary_key);
    }
    let same = |other: &[Value]| {
        keys.iter().any(|key| {
            let at = |values: &[Value], column: &ColumnId| values.get(column.index()).cloned();
            key.iter().all(|column| {
                let (a, b) = (at(values, column), at(other, column));
                a == b && a.is_some() && a != Some(Value::Null)
            })
        })
    };
    // What this statement did before counts, too.
    for change in done
        .changes
        .iter()
        .rev()
        .filter(|change| change.table == table)
    {
        if let Some(after) = &change.after
            && (change.row.is_none() || change.row != except)
            && same(after)
        {
            let id = change.row.unwrap_or(RowId::NONE);
            let values = after.clone();
            return Some(Rc::new(RowState { id, values }));
        }
    }
    let rewritten = |row: &RowId| done.changes.iter().any(|change| change.row == Some(*row));
    let rows = work.store.table(work.view, table).into_iter();
    let mut others = rows.filter(|row| Some(row.id) != except && !rewritten(&row.id));
    others.find(|row| same(&row.values))
}

fn duplicate(work: &Work<'_, '_>, table: TableId, other: &RowState) -> ExecuteError {
    let table = work.store.schema.table(table);
    let key = key_of(table, &other.values).unwrap_or_default();
    ExecuteError::new(format!("duplicate key: {}[{key}] exists", table.name))
}

/// Adds the row of a `returning`, over the new row where there is one.
fn returning(
    work: &Work<'_, '_>,
    bound: &Bound,
    part: &Part,
    mut way: Standing,
    after: Option<Rc<RowState>>,
    done: &mut Changes,
) -> Found<()> {
    if bound.outputs.is_empty() {
        return Ok(());
    }
    if after.is_some() {
        way[part.id.0 as usize] = after;
    }
    let here = Here {
        work,
        standing: &way,
    };
    let mut row = Vec::new();
    for output in &bound.outputs {
        row.push(evaluate(&here, &output.value, Type::Other)?);
    }
    done.result.rows.push(row);
    Ok(())
}
