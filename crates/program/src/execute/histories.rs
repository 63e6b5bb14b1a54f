//! A play as a history, which the checker can judge.
//!
//! A key is a cell, `accounts[1].bal` or `accounts[1].exists`; a value is the number of the write,
//! so no two writes are alike, and it is recorded as the version: the store's order of versions is
//! known. What was there at first is nil. Each instance is a session with one transaction. A
//! statement reads before it writes.

use super::play::{Fate, Run};
use super::store::{Cell, Store};
use super::trace::Operation;
use ::history::{Builder, History, Op, OpKind, Status, Value};

/// The history of a play.
pub(super) fn history(
    store: &Store<'_>,
    operations: &[Operation],
    runs: &[Run],
    names: &[String],
) -> History {
    let mut builder = Builder::new();
    for (instance, run) in runs.iter().enumerate() {
        let session = builder.session(instance as i64);
        let start = builder.ops.len();
        let own = operations.iter().filter(|op| op.point.instance == instance);
        for operation in own {
            for (cell, version) in &operation.reads {
                push(&mut builder, store, names, OpKind::Read, *cell, *version);
            }
            for version in &operation.writes {
                let cell = store.writes()[*version].cell;
                push(
                    &mut builder,
                    store,
                    names,
                    OpKind::Write,
                    cell,
                    Some(*version),
                );
            }
        }
        let status = match run.fate {
            Fate::Committed => Status::Committed,
            Fate::AbortedByProgram { .. } | Fate::AbortedByStore { .. } => Status::Aborted,
        };
        // A play has too few operations for this to fail.
        let ended = builder.end_txn(session, instance as u64, status, None, start);
        debug_assert!(ended.is_ok());
    }
    builder.finish()
}

fn push(
    builder: &mut Builder,
    store: &Store<'_>,
    names: &[String],
    kind: OpKind,
    cell: Cell,
    version: Option<usize>,
) {
    let row = names.get(cell.row.index()).map_or("?", String::as_str);
    let table = store.schema.table(store.table_of(cell.row));
    let column = match cell.column {
        Some(column) => table.column_name(column),
        None => "exists",
    };
    let key = builder.key(&Value::from(format!("{row}.{column}").as_str()));
    let written = version.filter(|version| store.writes()[*version].op != 0);
    let value = match written {
        Some(version) => Value::Int(version as i128 + 1),
        None => Value::Nil,
    };
    let value = builder.value(&value);
    builder.ops.push(Op { kind, key, value });
    if let Some(version) = written {
        builder.record_version(version as u64 + 1);
    }
}
