//! The rows of all tables, as a log of writes to cells.
//!
//! A cell is a column of a row, or its *existence*. Every execution of a statement is an operation
//! with a number; the initial rows are the writes of operation 0. A [`View`] says which operations
//! are seen; the value of a cell is then its last write in the order of the log among these. So one
//! log serves replicas that see different things as well as the snapshots of a database.
//!
//! A row is known by its primary key, and stays the same row when it is deleted and inserted again.
//! A row of a table without key is known by a number of its own.

use super::super::value::{stored_as, text_of, total_order};
use crate::expr::Value;
use crate::ir::Program;
use crate::scenario::StoredRow;
use crate::schema::{ColumnId, Schema, Table, TableId};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A row, by the order in which rows became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowId(pub u32);

impl RowId {
    /// No row that is known: one that an insert is about to make, or the missing side of an outer
    /// join.
    pub const NONE: RowId = RowId(u32::MAX);

    /// The position in the store.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A column of a row, or with none its existence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    /// The row.
    pub row: RowId,
    /// The column.
    pub column: Option<ColumnId>,
}

/// A write of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// The operation that wrote it; 0 for the initial rows.
    pub op: usize,
    /// The cell.
    pub cell: Cell,
    /// The value; of an existence, whether the row is there.
    pub value: Value,
}

/// Which operations are seen: all rows as of `base`, but some rows otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// By operation.
    pub base: Vec<bool>,
    /// Rows that are seen otherwise, by operation.
    pub fresh: BTreeMap<RowId, Vec<bool>>,
}

impl View {
    fn sees(&self, row: RowId, op: usize) -> bool {
        let seen = self.fresh.get(&row).unwrap_or(&self.base);
        op == 0 || seen.get(op).copied().unwrap_or(false)
    }
}

/// A row as some view shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct RowState {
    /// Which row.
    pub id: RowId,
    /// The values of its columns.
    pub values: Vec<Value>,
}

#[derive(Clone, Debug)]
struct Known {
    table: TableId,
    name: String,
    writes: Vec<usize>,
}

/// The rows of all tables, with their history.
#[derive(Clone, Debug)]
pub struct Store<'p> {
    /// The tables.
    pub schema: &'p Schema,
    rows: Vec<Known>,
    ids: BTreeMap<(TableId, String), RowId>,
    writes: Vec<Write>,
    ops: usize,
    unnamed: u32,
}

impl<'p> Store<'p> {
    /// A store with these rows. Of two with the same key, the later one counts.
    pub fn new(program: &'p Program, rows: &[StoredRow]) -> Store<'p> {
        let mut store = Store {
            schema: &program.schema,
            rows: Vec::new(),
            ids: BTreeMap::new(),
            writes: Vec::new(),
            ops: 1,
            unnamed: 0,
        };
        for row in rows {
            let Some(table) = program.schema.tables.get(row.table.index()) else {
                continue;
            };
            let mut values = Vec::new();
            for (at, column) in table.columns.iter().enumerate() {
                let value = row.values.get(at).cloned().unwrap_or(Value::Null);
                values.push(stored_as(value, column.ty));
            }
            let id = match key_of(table, &values) {
                Some(key) => store.row(row.table, key),
                None => store.unnamed_row(row.table),
            };
            store.put(0, id, Some(true), columns(&values));
        }
        store
    }

    /// The row of that name; it need not exist.
    pub fn row(&mut self, table: TableId, name: String) -> RowId {
        if let Some(id) = self.ids.get(&(table, name.clone())) {
            return *id;
        }
        let id = RowId(self.rows.len() as u32);
        self.ids.insert((table, name.clone()), id);
        self.rows.push(Known {
            table,
            name,
            writes: Vec::new(),
        });
        id
    }

    /// The row of that name, if it ever became known.
    pub fn find(&self, table: TableId, name: &str) -> Option<RowId> {
        self.ids.get(&(table, name.to_string())).copied()
    }

    /// The row with that key, in the order of the primary key, if it ever became known.
    pub fn find_key(&self, table: TableId, key: &[Value]) -> Option<RowId> {
        let name = name_of(self.schema.table(table), key)?;
        self.find(table, &name)
    }

    fn unnamed_row(&mut self, table: TableId) -> RowId {
        self.unnamed += 1;
        self.row(table, format!("#{}", self.unnamed))
    }

    /// Begins an operation.
    pub fn operation(&mut self) -> usize {
        self.ops += 1;
        self.ops - 1
    }

    /// How many operations there are, with the initial one.
    pub fn operations(&self) -> usize {
        self.ops
    }

    /// Writes cells of a row.
    pub fn put(
        &mut self,
        op: usize,
        row: RowId,
        exists: Option<bool>,
        cells: Vec<(ColumnId, Value)>,
    ) {
        let existence = exists.map(|exists| (None, Value::Boolean(exists)));
        let cells = cells
            .into_iter()
            .map(|(column, value)| (Some(column), value));
        for (column, value) in existence.into_iter().chain(cells) {
            self.rows[row.index()].writes.push(self.writes.len());
            self.writes.push(Write {
                op,
                cell: Cell { row, column },
                value,
            });
        }
    }

    /// The writes, in the order of arbitration.
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// The writes of a row, in the order of arbitration.
    pub fn writes_of(&self, row: RowId) -> impl Iterator<Item = &Write> {
        let known = self.rows[row.index()].writes.iter();
        known.map(|at| &self.writes[*at])
    }

    /// The table of a row.
    pub fn table_of(&self, row: RowId) -> TableId {
        self.rows[row.index()].table
    }

    /// The name of a row: its key.
    pub fn name_of(&self, row: RowId) -> &str {
        &self.rows[row.index()].name
    }

    /// All rows of a table that ever became known.
    pub fn known(&self, table: TableId) -> impl Iterator<Item = RowId> {
        let all = self.rows.iter().enumerate();
        all.filter(move |(_, row)| row.table == table)
            .map(|(at, _)| RowId(at as u32))
    }

    /// All rows that ever became known.
    pub fn all(&self) -> impl Iterator<Item = RowId> + use<> {
        (0..self.rows.len() as u32).map(RowId)
    }

    /// The row as a view shows it, if it exists there.
    pub fn state(&self, view: &View, row: RowId) -> Option<RowState> {
        let table = self.schema.table(self.table_of(row));
        let mut values = vec![Value::Null; table.columns.len()];
        let mut exists = false;
        for write in self.writes_of(row).filter(|w| view.sees(row, w.op)) {
            match write.cell.column {
                None => exists = write.value == Value::Boolean(true),
                Some(column) => {
                    if let Some(value) = values.get_mut(column.index()) {
                        *value = write.value.clone();
                    }
                }
            }
        }
        exists.then_some(RowState { id: row, values })
    }

    /// The position in [`Store::writes`] of the write of a cell that a view shows.
    pub fn version(&self, view: &View, cell: Cell) -> Option<usize> {
        let known = self.rows[cell.row.index()].writes.iter().rev();
        known.copied().find(|at| {
            let write = &self.writes[*at];
            write.cell == cell && view.sees(cell.row, write.op)
        })
    }

    /// The rows of a table as a view shows them, in the order of their keys.
    pub fn table(&self, view: &View, table: TableId) -> Vec<Rc<RowState>> {
        let states = self.known(table).filter_map(|row| self.state(view, row));
        let mut found: Vec<Rc<RowState>> = states.map(Rc::new).collect();
        let key = &self.schema.table(table).primary_key;
        found.sort_by(|a, b| {
            let columns = key.iter().map(|column| column.index());
            let mut orders = columns.map(|at| total_order(&a.values[at], &b.values[at]));
            orders
                .find(|order| *order != Ordering::Equal)
                .unwrap_or(Ordering::Equal)
        });
        found
    }

    /// All rows as a view shows them, table by table, in the order of their keys.
    pub fn rows(&self, view: &View) -> Vec<StoredRow> {
        let mut found = Vec::new();
        for at in 0..self.schema.tables.len() {
            let table = TableId(at as u32);
            let rows = self.table(view, table).into_iter();
            found.extend(rows.map(|row| StoredRow {
                table,
                values: row.values.clone(),
            }));
        }
        found
    }

    /// A row for new values: that of their key, or a new one.
    pub fn row_for(&mut self, table: TableId, values: &[Value]) -> RowId {
        match key_of(self.schema.table(table), values) {
            Some(key) => self.row(table, key),
            None => self.unnamed_row(table),
        }
    }
}

/// The name of the row with these values; none where its table has no key.
pub(super) fn key_of(table: &Table, values: &[Value]) -> Option<String> {
    let key = table.primary_key.iter();
    let parts: Vec<Value> = key
        .map(|column| values.get(column.index()).cloned().unwrap_or(Value::Null))
        .collect();
    name_of(table, &parts)
}

/// The name of the row with these values of its key, in the order of the key.
pub(super) fn name_of(table: &Table, key: &[Value]) -> Option<String> {
    if table.primary_key.is_empty() {
        return None;
    }
    let mut parts = Vec::new();
    for (column, value) in table.primary_key.iter().zip(key) {
        let value = stored_as(value.clone(), table.columns[column.index()].ty);
        parts.push(match &value {
            Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
            Value::Null => "null".to_string(),
            other => text_of(other),
        });
    }
    Some(parts.join(","))
}

/// Values with their columns.
pub(super) fn columns(values: &[Value]) -> Vec<(ColumnId, Value)> {
    let all = values.iter().enumerate();
    all.map(|(at, value)| (ColumnId(at as u32), value.clone()))
        .collect()
}
