//! Numbers from a counter: new rows get ever greater ones.
//!
//! Definition: a column is numbered by a counter if every insert into its table takes the value from
//! one column of one row (found by a key that is part of the inserted row), with the same distance
//! to it, in a transaction that also increments that column, and if nothing else changes either
//! column. Such a transaction holds the counter's row until it commits, so numbers grow in the
//! order of commits: a row that a query does not see yet has a greater number than all rows it
//! sees, and cannot be before the first row by that number.
//! The increment is one statement (`set n = n + 1 … returning n`), or a read that locks the row and
//! a write, or, where all who do it run on snapshots, any read and a write (a second writer is
//! refused).
//! Assumed: the rows there at the beginning have smaller numbers than the counter.

use super::facts::Facts;
use crate::access::Binding;
use crate::expr::{Expr, Operator, Row, StatementId, Value};
use crate::ir::{Action, Insert, Lock, Part, Set, Statement};
use crate::paths::Path;
use crate::schema::{ColumnId, Schema, TableId};

/// A column numbered by a counter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Numbered {
    pub table: TableId,
    pub column: ColumnId,
    /// The columns whose values choose the counter.
    pub group: Vec<ColumnId>,
    /// Whether that holds only where increments run on snapshots.
    pub on_snapshots: bool,
}

/// A counter and how an insert uses it.
#[derive(Clone, Debug, PartialEq)]
struct Counter {
    table: TableId,
    column: ColumnId,
    group: Vec<ColumnId>,
    /// What is added to the value before the increment.
    offset: i64,
    on_snapshots: bool,
}

/// All numbered columns of a set of paths.
pub(super) fn numbered(schema: &Schema, facts: &Facts, paths: &[&Path]) -> Vec<Numbered> {
    let mut found = Vec::new();
    for (index, table) in schema.tables.iter().enumerate() {
        let id = TableId(index as u32);
        for column in &table.primary_key {
            if !facts.is_constant(id, *column) {
                continue;
            }
            let mut counters: Vec<Counter> = Vec::new();
            let mut all = true;
            for path in paths {
                for (statement, insert) in inserts(path, id) {
                    let counter = counter_of(schema, path, statement, insert, *column);
                    all &= counter.is_some();
                    counters.extend(counter);
                }
            }
            let Some(first) = counters.first() else {
                continue;
            };
            if all && counters.iter().all(|one| one == first) && only_grows(schema, paths, first) {
                found.push(Numbered {
                    table: id,
                    column: *column,
                    group: first.group.clone(),
                    on_snapshots: first.on_snapshots,
                });
            }
        }
    }
    found
}

fn inserts(path: &Path, table: TableId) -> Vec<(usize, &Insert)> {
    let mut found = Vec::new();
    for (position, statement) in path.statements.iter().enumerate() {
        for part in &statement.parts {
            match &part.action {
                Action::Insert(insert) if part.table == table => found.push((position, insert)),
                _ => {}
            }
        }
    }
    found
}

fn counter_of(
    schema: &Schema,
    path: &Path,
    position: usize,
    insert: &Insert,
    column: ColumnId,
) -> Option<Counter> {
    let set = insert.values.iter().find(|set| set.column == column)?;
    let (field, offset) = without_offset(&set.value);
    let (source, part, counted) = source_of(path, field)?;
    if insert.from_select || source >= position {
        return None;
    }
    let bindings = part.bindings();
    let key = key_of(schema, part, &bindings)?;
    let chosen = |bound: &Binding<'_>| -> Option<ColumnId> {
        let given = insert.values.iter().find(|set| set.value == *bound.value)?;
        Some(given.column)
    };
    let group: Option<Vec<ColumnId>> = key.iter().map(chosen).collect();
    let mut counter = Counter {
        table: part.table,
        column: counted,
        group: group?,
        offset,
        on_snapshots: true,
    };
    if let Action::Update { sets } = &part.action {
        let set = sets.iter().find(|set| set.column == counted)?;
        counter.offset += own_increment(part, set)?;
        counter.on_snapshots = false;
        return Some(counter);
    }
    let increments = |statement: &Statement| {
        let mut parts = statement.parts.iter();
        parts.any(|other| writes_back(path, other, part, counted))
    };
    // Whoever locks the row when reading it has it until the end, as one statement would.
    let locks = matches!(&part.action, Action::Select(select) if select.lock == Lock::Update);
    counter.on_snapshots = !locks;
    path.statements.iter().any(increments).then_some(counter)
}

/// `value` and `offset` of `value + offset`.
pub(super) fn without_offset(expr: &Expr) -> (&Expr, i64) {
    match expr {
        Expr::Arithmetic {
            operator,
            left,
            right,
        } => match (operator, &**left, &**right) {
            (Operator::Add, value, Expr::Constant(Value::Integer(by)))
            | (Operator::Add, Expr::Constant(Value::Integer(by)), value) => (value, *by),
            (Operator::Subtract, value, Expr::Constant(Value::Integer(by))) => {
                (value, by.saturating_neg())
            }
            _ => (expr, 0),
        },
        _ => (expr, 0),
    }
}

/// The part and the column that a field of a result is.
pub(super) fn source_of<'a>(path: &'a Path, field: &Expr) -> Option<(usize, &'a Part, ColumnId)> {
    let Expr::Field {
        statement: StatementId(id),
        row: Row::Nth(0),
        output,
    } = field
    else {
        return None;
    };
    let statement = path.statements.get(*id as usize)?;
    let Expr::Column { part, column } = statement.outputs.get(*output as usize)?.value else {
        return None;
    };
    let part = statement.parts.get(part.0 as usize)?;
    (statement.parts.len() == 1).then_some((*id as usize, part, column))
}

fn key_of<'a>(schema: &Schema, part: &Part, bindings: &[Binding<'a>]) -> Option<Vec<Binding<'a>>> {
    let key = &schema.table(part.table).primary_key;
    let bound = |column: &ColumnId| bindings.iter().find(|one| one.column == *column).copied();
    match key.as_slice() {
        [] => None,
        key => key.iter().map(bound).collect(),
    }
}

/// By how much `set n = n + by` increments.
pub(super) fn own_increment(part: &Part, set: &Set) -> Option<i64> {
    let (value, by) = without_offset(&set.value);
    let own = Expr::Column {
        part: part.id,
        column: set.column,
    };
    (*value == own && by > 0).then_some(by)
}

/// Whether a part sets the counter of the row that another part read, to what that read and more,
/// or to more than it is.
fn writes_back(path: &Path, part: &Part, read: &Part, column: ColumnId) -> bool {
    let Action::Update { sets } = &part.action else {
        return false;
    };
    let same_row = part.table == read.table && part.filter == read.filter;
    same_row
        && sets.iter().any(|set| {
            let (value, by) = without_offset(&set.value);
            let source = source_of(path, value);
            let same = source.is_some_and(|(_, from, of)| of == column && from == read);
            let more = same && by > 0 || own_increment(part, set).is_some();
            set.column == column && more
        })
}

/// Whether every write of the counter increments it.
fn only_grows(schema: &Schema, paths: &[&Path], counter: &Counter) -> bool {
    paths.iter().all(|path| {
        let mut parts = path
            .statements
            .iter()
            .flat_map(|statement| &statement.parts);
        parts.all(|part| match &part.action {
            _ if part.table != counter.table => true,
            Action::Select(_) => true,
            Action::Insert(_) | Action::Delete => false,
            Action::Update { sets } => sets
                .iter()
                .all(|set| set.column != counter.column || grows(schema, path, part, set)),
        })
    })
}

fn grows(schema: &Schema, path: &Path, part: &Part, set: &Set) -> bool {
    let bindings = part.bindings();
    if key_of(schema, part, &bindings).is_none() {
        return false;
    }
    if own_increment(part, set).is_some() {
        return true;
    }
    let (value, _) = without_offset(&set.value);
    let source = source_of(path, value);
    source.is_some_and(|(_, read, column)| writes_back(path, part, read, column))
}
