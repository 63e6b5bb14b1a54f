//! Cells in databases of keys and values: their names, what an absent one holds, and what a transaction has
//! written that such a database does not know before the commit.

use crate::driver::Answer;
use crate::plan::Action;
use crate::schema::{Cell, ColumnKind, Schema};
use std::collections::BTreeMap;

/// The key of a cell: `table:row:column`.
pub fn key(schema: &Schema, cell: Cell) -> String {
    let (table, column) = (schema.table(cell).name, schema.column(cell).name);
    format!("{table}:{}:{column}", cell.row)
}

/// What begins the keys of a table's cells.
pub fn prefixes(schema: &Schema) -> impl Iterator<Item = String> + '_ {
    schema.tables.iter().map(|table| format!("{}:", table.name))
}

/// What a register or a counter holds whose key is not there. These databases keep no first rows.
pub fn absent(schema: &Schema, cell: Cell) -> Option<i64> {
    let exists = u64::try_from(cell.row).is_ok_and(|row| row < schema.table(cell).rows);
    let is_counter = schema.column(cell).kind == ColumnKind::Counter;
    (exists || is_counter).then_some(0)
}

/// Whether an action fits what its column holds; others are mistakes of a workload.
pub fn fits(schema: &Schema, action: &Action) -> bool {
    let wanted = match action {
        Action::Read(_) | Action::ReadGroup(_) | Action::Write(..) => ColumnKind::Register,
        Action::ReadSet(_) | Action::Add(..) => ColumnKind::Set,
        Action::ReadCounter(_) | Action::Increment(..) => ColumnKind::Counter,
        Action::ReadList(_) | Action::Append(..) => {
            return matches!(schema.column(action.cell()).kind, ColumnKind::List(_));
        }
    };
    schema.column(action.cell()).kind == wanted
}

/// What a transaction has written and the database does not know yet.
#[derive(Default)]
pub struct Overlay {
    cells: BTreeMap<Cell, Pending>,
}

enum Pending {
    Register(i64),
    Elements(Vec<i64>),
    Sum(i64),
}

impl Overlay {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.cells.clear();
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Whether a cell was written.
    pub fn has(&self, cell: Cell) -> bool {
        self.cells.contains_key(&cell)
    }

    /// The cells written.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        self.cells.keys().copied()
    }

    /// Takes a write.
    pub fn write(&mut self, action: &Action) {
        match *action {
            Action::Write(cell, value) => {
                self.cells.insert(cell, Pending::Register(value));
            }
            Action::Append(cell, value) | Action::Add(cell, value) => {
                let none = || Pending::Elements(Vec::new());
                if let Pending::Elements(all) = self.cells.entry(cell).or_insert_with(none) {
                    all.push(value);
                }
            }
            Action::Increment(cell, value) => {
                if let Pending::Sum(sum) = self.cells.entry(cell).or_insert(Pending::Sum(0)) {
                    *sum = sum.wrapping_add(value);
                }
            }
            _ => {}
        }
    }

    /// What a transaction reads that finds `stored` in the database.
    pub fn number(&self, cell: Cell, stored: Option<i64>) -> Option<i64> {
        match self.cells.get(&cell) {
            Some(Pending::Register(value)) => Some(*value),
            Some(Pending::Sum(sum)) => Some(stored.unwrap_or(0).wrapping_add(*sum)),
            _ => stored,
        }
    }

    /// The same of a list.
    pub fn list(&self, cell: Cell, mut stored: Vec<i64>) -> Vec<i64> {
        if let Some(Pending::Elements(all)) = self.cells.get(&cell) {
            stored.extend(all);
        }
        stored
    }

    /// The same of a set.
    pub fn set(&self, cell: Cell, mut stored: Vec<i64>) -> Vec<i64> {
        if let Some(Pending::Elements(all)) = self.cells.get(&cell) {
            for value in all {
                if !stored.contains(value) {
                    stored.push(*value);
                }
            }
        }
        stored
    }
}

/// The answer to a group's read: `stored` has a value, or none, for each cell of the group.
pub fn rows(
    schema: &Schema,
    overlay: &Overlay,
    cells: &[Cell],
    stored: impl Iterator<Item = Option<i64>>,
) -> Answer {
    let rows = cells.iter().zip(stored).filter_map(|(&cell, stored)| {
        let stored = stored.or_else(|| absent(schema, cell));
        Some((cell.row, overlay.number(cell, stored)?))
    });
    Answer::Rows(rows.collect())
}
