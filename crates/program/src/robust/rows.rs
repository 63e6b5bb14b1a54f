//! The rows that a path knows of, in the order of its statements.

use super::facts::Facts;
use super::unit::{
    Access, Derived, First, Kind, Unit, finds_at_most, is_conditional, is_confirmed, is_plain,
};
use crate::expr::{Condition, Expr, Row, StatementId, Value};
use crate::ir::{Action, Insert, OnConflict, Shape, Statement};
use crate::paths::Path;
use crate::schema::{ColumnId, Schema, Table, TableId};

/// A row that a path has found or inserted.
#[derive(Clone, Debug)]
struct KnownRow {
    table: TableId,
    columns: Vec<(ColumnId, usize)>,
    /// Whether the path holds a lock on it.
    held: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct KnownRows {
    rows: Vec<KnownRow>,
}

impl KnownRows {
    /// Decides whether the row of an access is certainly there.
    pub fn settle(
        &self,
        schema: &Schema,
        facts: &Facts,
        path: &Path,
        accesses: &mut [Access],
        at: usize,
    ) {
        let access = &mut accesses[at];
        let Some(key) = access.key.clone() else {
            return;
        };
        let statement = &path.statements[access.statement];
        let part = &statement.parts[access.part.0 as usize];
        if let Action::Insert(Insert { on_conflict, .. }) = &part.action {
            let certain = *on_conflict != OnConflict::Ignore;
            (access.sure, access.sure_in_snapshot) = (certain, certain);
            return;
        }
        let one = statement.parts.len() == 1 && statement.nested.is_empty();
        let confirmed = one && is_confirmed(path, access.statement);
        if confirmed || (facts.is_fixed(access.table) && !is_conditional(part, &key)) {
            (access.sure, access.sure_in_snapshot) = (true, true);
            return;
        }
        if is_conditional(part, &key) {
            return;
        }
        for row in &self.rows {
            let same = row.table == access.table && contains(&row.columns, &key);
            if !same && !refers(schema.table(row.table), row, access.table, &key) {
                continue;
            }
            access.sure_in_snapshot = true;
            access.sure |= !facts.deletes(access.table) || (same && row.held);
        }
    }

    /// Remembers the rows that a statement has found.
    pub fn learn(
        &mut self,
        schema: &Schema,
        facts: &Facts,
        statement: &Statement,
        unit: &mut Unit,
        at: usize,
    ) {
        let access = unit.accesses[at].clone();
        let held = access.is_exclusive() && access.key.is_some() && access.sure;
        if access.kind != Kind::Select {
            let mut columns = access.fixed.clone();
            columns.retain(|one| {
                access.kind == Kind::Insert || facts.is_constant(access.table, one.0)
            });
            if access.sure && access.kind != Kind::Delete {
                self.add(access.table, columns, held);
            }
            return;
        }
        if !is_plain(statement) {
            return;
        }
        let path = unit.path.clone();
        let mut found: Vec<u32> = Vec::new();
        for guard in &path.guards {
            for condition in guard.condition.conjuncts() {
                match condition {
                    Condition::HasRow {
                        statement: StatementId(id),
                        row: Row::Nth(row),
                    } if *id as usize == access.statement => found.push(*row),
                    _ => {}
                }
            }
        }
        if found.is_empty() && access.sure {
            found.push(0);
        }
        let mut rows = Vec::new();
        let all = has_all(facts, statement, &path, &access, &found);
        for row in found {
            let columns = columns_of_row(statement, unit, &access, row);
            if row == 0 {
                unit.accesses[at].first = first_of(schema, statement, &access, &columns);
            }
            rows.push(columns.clone());
            self.add(access.table, columns, held);
        }
        unit.accesses[at].rows = all.then_some(rows);
    }

    fn add(&mut self, table: TableId, columns: Vec<(ColumnId, usize)>, held: bool) {
        self.rows.push(KnownRow {
            table,
            columns,
            held,
        });
    }

    /// The terms that are columns nobody changes, of rows whose key is known.
    pub fn derived(&self, schema: &Schema, facts: &Facts) -> Vec<Derived> {
        let mut found = Vec::new();
        for row in self.rows.iter().filter(|row| !facts.deletes(row.table)) {
            let table = schema.table(row.table);
            let Some(key) = key_of(table, &row.columns) else {
                continue;
            };
            for (column, term) in &row.columns {
                let own = table.primary_key.contains(column);
                if own || !facts.is_constant(row.table, *column) {
                    continue;
                }
                let derived = Derived {
                    table: row.table,
                    key: key.clone(),
                    column: *column,
                    term: *term,
                    unique: table.unique.iter().any(|unique| unique == &[*column]),
                };
                if !found.contains(&derived) {
                    found.push(derived);
                }
            }
        }
        found
    }
}

/// What is known of a row of a result: what the filter fixes, and the fields.
fn columns_of_row(
    statement: &Statement,
    unit: &mut Unit,
    access: &Access,
    row: u32,
) -> Vec<(ColumnId, usize)> {
    let mut columns = access.fixed.clone();
    for (output, value) in statement.outputs.iter().enumerate() {
        let Expr::Column { part, column } = value.value else {
            continue;
        };
        if part != access.part || columns.iter().any(|one| one.0 == column) {
            continue;
        }
        let term = unit.term(&Expr::Field {
            statement: StatementId(access.statement as u32),
            row: Row::Nth(row),
            output: output as u32,
        });
        columns.push((column, term));
    }
    columns
}

/// Whether these are all rows that a search finds, now and at any other time: the table always has
/// the same rows, and nobody changes what it looks for.
fn has_all(
    facts: &Facts,
    statement: &Statement,
    path: &Path,
    access: &Access,
    found: &[u32],
) -> bool {
    let count = found.len() as u32;
    let each = (0..count).all(|row| found.contains(&row));
    let mut compared = access.predicate.columns.iter();
    let constant = compared.all(|column| facts.is_constant(access.table, *column));
    each && constant
        && access.key.is_none()
        && facts.is_fixed(access.table)
        && statement.nested.is_empty()
        && *statement.shape
            == Shape {
                order_by: statement.shape.order_by.clone(),
                ..Shape::default()
            }
        && finds_at_most(path, access.statement, count)
}

/// Where a query takes the first row in the order of one column, and its key is known.
fn first_of(
    schema: &Schema,
    statement: &Statement,
    access: &Access,
    columns: &[(ColumnId, usize)],
) -> Option<First> {
    let one = Expr::Constant(Value::Integer(1));
    let [ordering] = statement.shape.order_by.as_slice() else {
        return None;
    };
    let Expr::Column { column, .. } = ordering.value else {
        return None;
    };
    let nested = !statement.nested.is_empty();
    if statement.shape.limit != Some(one) || access.key.is_some() || nested {
        return None;
    }
    let table = schema.table(access.table);
    key_of(table, columns)?;
    let rest = |one: &&ColumnId| **one != column;
    let fixed = |one: &ColumnId| access.fixed.iter().any(|fixed| fixed.0 == *one);
    // Without ties, rows behind the first one do not matter.
    let total = table.primary_key.iter().filter(rest).all(fixed);
    total.then(|| First {
        row: columns.to_vec(),
        by: column,
        descending: ordering.descending,
    })
}

fn key_of(table: &Table, columns: &[(ColumnId, usize)]) -> Option<Vec<usize>> {
    let term = |column: &ColumnId| {
        let found = columns.iter().find(|one| one.0 == *column);
        found.map(|one| one.1)
    };
    match table.primary_key.as_slice() {
        [] => None,
        key => key.iter().map(term).collect(),
    }
}

fn contains(columns: &[(ColumnId, usize)], key: &[(ColumnId, usize)]) -> bool {
    key.iter().all(|one| columns.contains(one))
}

/// Whether a row known refers to the row of that key.
fn refers(table: &Table, row: &KnownRow, wanted: TableId, key: &[(ColumnId, usize)]) -> bool {
    table.foreign_keys.iter().any(|foreign| {
        foreign.table == wanted
            && key.iter().all(|(column, term)| {
                let pairs = foreign.referred.iter().zip(&foreign.columns);
                let mut own = pairs.filter(|(referred, _)| *referred == column);
                own.any(|(_, child)| row.columns.contains(&(*child, *term)))
            })
    })
}

/// Whether a condition cannot hold where a statement found no row.
pub(super) fn confirmed(condition: &Condition, position: usize) -> bool {
    let counts = |expr: &Expr| matches!(expr, Expr::RowCount(id) if id.0 as usize == position);
    let with_none = |condition: &Condition| match condition {
        Condition::HasRow { statement, .. } if statement.0 as usize == position => Some(false),
        Condition::Compare {
            comparison,
            left,
            right,
        } => match (left, right) {
            (left, Expr::Constant(Value::Integer(right))) if counts(left) => {
                Some(comparison.holds(0.cmp(right)))
            }
            (Expr::Constant(Value::Integer(left)), right) if counts(right) => {
                Some(comparison.holds(left.cmp(&0)))
            }
            _ => None,
        },
        _ => None,
    };
    condition.conjuncts().iter().any(|one| match one {
        Condition::Not(inner) => with_none(inner) == Some(true),
        other => with_none(other) == Some(false),
    })
}
