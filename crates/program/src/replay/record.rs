//! The history of a run, for the checker: a session for each instance, a key for each cell.

use super::cells::{Access, cell, row_name, shown};
use super::played::{Fate, Played};
use crate::expr::Value;
use crate::scenario::StoredRow;
use crate::schema::Schema;
use history::{Builder, History, Op, OpKind, Status};

/// The history of a run, and whether everything that was read and written is in it. The first rows
/// are written by a transaction of their own, in session 0; the instances are sessions from 1 on.
pub(super) fn history(schema: &Schema, first: &[StoredRow], played: &Played) -> (History, bool) {
    let mut builder = Builder::new();
    let mut complete = true;
    let mut all: Vec<(Status, Vec<Access>)> = Vec::new();
    let mut initial = Vec::new();
    for row in first {
        let table = schema.table(row.table);
        let key = table
            .primary_key
            .iter()
            .filter_map(|id| row.values.get(id.index()));
        let name = row_name(table, key);
        for (column, value) in table.column_ids().zip(&row.values) {
            if !table.primary_key.contains(&column) {
                initial.push(Access::Wrote(
                    cell(table, &name, column),
                    Some(value.clone()),
                ));
            }
        }
    }
    all.push((Status::Committed, initial));
    for instance in &played.instances {
        let status = match instance.fate {
            Fate::Committed => Status::Committed,
            Fate::Undone | Fate::Refused { .. } => Status::Aborted,
        };
        let accesses = instance
            .executed
            .iter()
            .flat_map(|one| one.accesses.clone());
        all.push((status, accesses.collect()));
    }
    for (label, (status, accesses)) in all.iter().enumerate() {
        let session = builder.session(label as i64);
        let mut ops = Vec::new();
        for access in accesses {
            let (kind, cell, value) = match access {
                Access::Read(cell, value) => (OpKind::Read, cell, value),
                Access::Wrote(cell, value) => (OpKind::Write, cell, value),
                Access::Unknown => {
                    complete &= *status != Status::Committed;
                    continue;
                }
            };
            let name = cell.name();
            ops.push(Op {
                kind,
                key: builder.key(&history::Value::from(name.as_str())),
                value: builder.value(&recorded(value.as_ref())),
            });
        }
        // A few operations are never too many.
        complete &= builder
            .push_txn(session, label as u64, *status, None, &ops)
            .is_ok();
    }
    (builder.finish(), complete)
}

fn recorded(value: Option<&Value>) -> history::Value {
    match value {
        None => history::Value::Nil,
        Some(Value::Integer(number)) => history::Value::from(*number),
        Some(other) => {
            let text = shown(other);
            match text.parse::<i64>() {
                Ok(number) => history::Value::from(number),
                Err(_) => history::Value::from(text.as_str()),
            }
        }
    }
}
