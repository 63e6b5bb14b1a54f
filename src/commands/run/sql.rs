//! The statements behind the operations of a history, for reports.

use history::{History, Op, OpKind, Status, TxnId, Value};
use serde_json::{Map, json};
use workload::driver::Database;
use workload::plan::Action;
use workload::schema::{Cell, ColumnKind, Schema};

/// Stand for a row and a value in templates; no workload uses them.
const ROW: i64 = 7_777_777_777_000;
const VALUE: i64 = 8_888_888_888_000;

/// The statements of every column, with `:row`, `:value` and `:group` in place of numbers.
pub fn templates(database: &dyn Database, schema: &Schema) -> serde_json::Value {
    let mut all = Map::new();
    let [begin, commit, rollback] = database.frame();
    all.insert("begin".into(), begin.into());
    all.insert("commit".into(), commit.into());
    all.insert("rollback".into(), rollback.into());
    for (place, table) in schema.tables.iter().enumerate() {
        let group = workload::sql::group_number(i64::from(table.group), ROW);
        for (column_place, column) in table.columns.iter().enumerate() {
            let cell = Cell {
                table: place as u16,
                column: column_place as u16,
                row: ROW,
            };
            let plain = |action: Action| {
                let text = database.statement(schema, &action);
                let text = text.replace(&ROW.to_string(), ":row");
                let text = text.replace(&VALUE.to_string(), ":value");
                match table.group {
                    0 => text,
                    _ => text.replace(&group.to_string(), ":group"),
                }
            };
            let (read, write) = actions(column.kind, cell, VALUE);
            let mut own = Map::new();
            own.insert("read".into(), plain(read).into());
            own.insert("write".into(), plain(write).into());
            if table.group > 0 {
                own.insert("group".into(), plain(Action::ReadGroup(cell)).into());
            }
            all.insert(format!("{}.{}", table.name, column.name), json!(own));
        }
    }
    all.into()
}

fn actions(kind: ColumnKind, cell: Cell, value: i64) -> (Action, Action) {
    match kind {
        ColumnKind::Register => (Action::Read(cell), Action::Write(cell, value)),
        ColumnKind::List(_) => (Action::ReadList(cell), Action::Append(cell, value)),
        ColumnKind::Set => (Action::ReadSet(cell), Action::Add(cell, value)),
        ColumnKind::Counter => (Action::ReadCounter(cell), Action::Increment(cell, value)),
    }
}

/// What a transaction said to the database, a statement a line, with the results of reads as comments.
pub fn statements(
    database: &dyn Database,
    schema: &Schema,
    history: &History,
    txn: TxnId,
) -> Vec<String> {
    let [begin, commit, rollback] = database.frame();
    let mut lines = vec![begin];
    for (id, op) in history.txn_ops(txn) {
        let Some(action) = action_of(schema, history, op) else {
            lines.push(history.op_text(id));
            continue;
        };
        let statement = database.statement(schema, &action);
        let result = history.op_text_around(id, &[]);
        lines.push(match op.kind.is_write() {
            true => statement,
            false => format!("{statement}   -- {result}"),
        });
    }
    lines.push(match history.status(txn) {
        Status::Committed => commit,
        Status::Aborted => rollback,
        Status::Indeterminate => format!("{commit}   -- no answer"),
    });
    lines
}

/// The action behind an operation.
pub fn action_of(schema: &Schema, history: &History, op: Op) -> Option<Action> {
    let cell = cell_of(schema, &history.key_name(op.key))?;
    let value = || match history.value(op.value) {
        Value::Int(value) => i64::try_from(value).ok(),
        _ => None,
    };
    Some(match op.kind {
        OpKind::Read => Action::Read(cell),
        OpKind::ReadList => Action::ReadList(cell),
        OpKind::ReadSet => Action::ReadSet(cell),
        OpKind::ReadCounter => Action::ReadCounter(cell),
        OpKind::Write => Action::Write(cell, value()?),
        OpKind::Append => Action::Append(cell, value()?),
        OpKind::Add => Action::Add(cell, value()?),
        OpKind::Increment => Action::Increment(cell, value()?),
    })
}

/// The cell that a key of a recording names.
fn cell_of(schema: &Schema, key: &Value) -> Option<Cell> {
    match key {
        Value::Int(row) if schema.is_single() => Some(Cell {
            table: 0,
            column: 0,
            row: i64::try_from(*row).ok()?,
        }),
        Value::Text(text) => {
            let mut parts = text.split(':');
            let (table, row, column) = (parts.next()?, parts.next()?, parts.next()?);
            let place = schema.tables.iter().position(|known| known.name == table)?;
            let columns = &schema.tables[place].columns;
            let column = columns.iter().position(|known| known.name == column)?;
            Some(Cell {
                table: place as u16,
                column: column as u16,
                row: row.parse().ok()?,
            })
        }
        _ => None,
    }
}
