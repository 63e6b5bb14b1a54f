//! What the statements of a set of transactions never do: columns that nobody updates or reads,
//! tables that nobody inserts into or deletes from, or updates without a new version.

use crate::ir::{Action, OnConflict, Set, Transaction};
use crate::schema::{ColumnId, Schema, TableId};
use std::collections::BTreeSet;

/// What happens to tables and columns in a set of transactions.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    updated: BTreeSet<(TableId, ColumnId)>,
    inserted: BTreeSet<TableId>,
    deleted: BTreeSet<TableId>,
    /// Columns that nobody reads, and that are no part of a key.
    unread: BTreeSet<(TableId, ColumnId)>,
    /// Columns that tell the version of a row.
    versions: BTreeSet<(TableId, ColumnId)>,
}

impl Facts {
    pub fn of<'a>(schema: &Schema, transactions: impl Iterator<Item = &'a Transaction>) -> Facts {
        let mut facts = Facts {
            unread: plain_columns(schema),
            ..Facts::default()
        };
        for transaction in transactions {
            for statement in transaction.statements() {
                for (table, read) in statement.reads(schema) {
                    for column in read.columns {
                        facts.unread.remove(&(table, column));
                    }
                }
                for part in &statement.parts {
                    facts.add(schema, part.table, &part.action);
                }
            }
        }
        facts
    }

    fn add(&mut self, schema: &Schema, table: TableId, action: &Action) {
        let columns = |sets: &[Set]| -> Vec<(TableId, ColumnId)> {
            sets.iter().map(|set| (table, set.column)).collect()
        };
        match action {
            Action::Select(_) => {}
            Action::Update { sets } => self.updated.extend(columns(sets)),
            Action::Delete => {
                self.deleted.insert(table);
            }
            Action::Insert(insert) => {
                self.inserted.insert(table);
                match &insert.on_conflict {
                    OnConflict::Fail | OnConflict::Ignore => {}
                    OnConflict::Update(sets) => self.updated.extend(columns(sets)),
                    OnConflict::Replace => {
                        self.deleted.insert(table);
                        let all = schema.table(table).column_ids();
                        self.updated.extend(all.map(|column| (table, column)));
                    }
                }
            }
        }
    }

    /// Whether a row keeps the value of that column as long as it exists.
    pub fn is_constant(&self, table: TableId, column: ColumnId) -> bool {
        !self.updated.contains(&(table, column))
    }

    /// The same, with the columns that tell versions.
    pub fn with_versions(self, versions: BTreeSet<(TableId, ColumnId)>) -> Facts {
        Facts { versions, ..self }
    }

    /// Whether a column tells the version of a row: it grows whenever the row changes.
    pub fn is_version(&self, table: TableId, column: ColumnId) -> bool {
        self.versions.contains(&(table, column))
    }

    /// Whether nobody looks at a column.
    pub fn is_unread(&self, table: TableId, column: ColumnId) -> bool {
        self.unread.contains(&(table, column))
    }

    /// Whether rows can go.
    pub fn deletes(&self, table: TableId) -> bool {
        self.deleted.contains(&table)
    }

    /// Whether the rows of a table are always the same ones.
    pub fn is_fixed(&self, table: TableId) -> bool {
        !self.deleted.contains(&table) && !self.inserted.contains(&table)
    }
}

/// The columns that are no part of a key.
fn plain_columns(schema: &Schema) -> BTreeSet<(TableId, ColumnId)> {
    let mut found = BTreeSet::new();
    for (at, table) in schema.tables.iter().enumerate() {
        let id = TableId(at as u32);
        found.extend(table.column_ids().map(|column| (id, column)));
    }
    for (at, table) in schema.tables.iter().enumerate() {
        let id = TableId(at as u32);
        for column in table
            .primary_key
            .iter()
            .chain(table.unique.iter().flatten())
        {
            found.remove(&(id, *column));
        }
        for key in &table.foreign_keys {
            for column in &key.columns {
                found.remove(&(id, *column));
            }
            for column in &key.referred {
                found.remove(&(key.table, *column));
            }
        }
    }
    found
}
