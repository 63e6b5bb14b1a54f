//! Foreign keys: whoever refers to a row needs it, and a row that is referred to stays.
//!
//! Definition: after a statement, every row that it wrote whose referring columns are all not NULL
//! has its parent, and no row refers to a parent that the statement removed or renamed. Only keys
//! that refer to a whole key count, as on servers. There is no `cascade`: the schema keeps none.
//! Cost: the rows of the tables concerned, for each statement that writes referring columns, deletes
//! rows, or changes columns that are referred to.

use super::super::error::ExecuteError;
use super::log::{RowId, RowState, Store, View};
use super::write::Change;
use crate::expr::Value;
use crate::schema::{ColumnId, ForeignKey, TableId};
use std::rc::Rc;

impl Store<'_> {
    /// Refuses changes after which a foreign key would refer to nothing, on what a view shows.
    pub fn check_keys(&self, changes: &[Change], view: &View) -> Result<(), ExecuteError> {
        for change in changes {
            self.has_parents(change, changes, view)?;
            self.has_no_children(change, changes, view)?;
        }
        Ok(())
    }

    /// Refuses changes that refer to rows which a view does not show.
    pub fn check_parents(&self, changes: &[Change], view: &View) -> Result<(), ExecuteError> {
        let mut each = changes.iter();
        each.try_for_each(|change| self.has_parents(change, changes, view))
    }

    /// A row that a view shows, and that has the same values as another one that the changes leave,
    /// where the schema forbids it.
    pub fn duplicate(&self, changes: &[Change], view: &View) -> Option<RowId> {
        for change in changes {
            let Some(after) = &change.after else {
                continue;
            };
            for columns in &self.schema.table(change.table).unique {
                let wanted = values_at(after, columns);
                if wanted.contains(&Value::Null) {
                    continue;
                }
                let changed = |row: &RowId| changes.iter().any(|one| one.row == Some(*row));
                let rows = self.table(view, change.table).into_iter();
                let mut others = rows.filter(|row| !changed(&row.id));
                if let Some(row) = others.find(|row| values_at(&row.values, columns) == wanted) {
                    return Some(row.id);
                }
            }
        }
        None
    }

    /// That the row a change leaves behind refers to rows that are there.
    fn has_parents(
        &self,
        change: &Change,
        changes: &[Change],
        view: &View,
    ) -> Result<(), ExecuteError> {
        let Some(after) = &change.after else {
            return Ok(());
        };
        let table = self.schema.table(change.table);
        let written = |column: &ColumnId| change.cells.iter().any(|(one, _)| one == column);
        let keys = table.foreign_keys.iter();
        for key in keys.filter(|key| key.columns.iter().any(written)) {
            let parent = self.schema.table(key.table);
            let wanted = values_at(after, &key.columns);
            if wanted.contains(&Value::Null) || !parent.is_key(&key.referred) {
                continue;
            }
            let rows = self.after(key.table, changes, view);
            if !rows
                .iter()
                .any(|row| values_at(row, &key.referred) == wanted)
            {
                let problem = format!(
                    "foreign key: {} refers to a row of {} that is not there",
                    table.name, parent.name
                );
                return Err(ExecuteError::new(problem));
            }
        }
        Ok(())
    }

    /// That nobody refers to a row that a change removes.
    fn has_no_children(
        &self,
        change: &Change,
        changes: &[Change],
        view: &View,
    ) -> Result<(), ExecuteError> {
        let removes = |key: &ForeignKey| {
            let touched = |(column, _): &(ColumnId, Value)| key.referred.contains(column);
            key.table == change.table
                && (change.after.is_none() || change.cells.iter().any(touched))
        };
        let Some(old) = change.row.and_then(|row| self.state_of(view, row)) else {
            return Ok(());
        };
        let parent = self.schema.table(change.table);
        for (at, table) in self.schema.tables.iter().enumerate() {
            for key in table.foreign_keys.iter().filter(|key| removes(key)) {
                if !parent.is_key(&key.referred) {
                    continue;
                }
                let name = values_at(&old.values, &key.referred);
                let still = self.after(key.table, changes, view);
                if still
                    .iter()
                    .any(|row| values_at(row, &key.referred) == name)
                {
                    continue;
                }
                let rows = self.after(TableId(at as u32), changes, view);
                if rows.iter().any(|row| values_at(row, &key.columns) == name) {
                    let problem = format!(
                        "foreign key: a row of {} refers to this row of {}",
                        table.name, parent.name
                    );
                    return Err(ExecuteError::new(problem));
                }
            }
        }
        Ok(())
    }

    fn state_of(&self, view: &View, row: RowId) -> Option<RowState> {
        match row == RowId::NONE {
            true => None,
            false => self.state(view, row),
        }
    }

    /// The rows of a table after the changes.
    fn after(&self, table: TableId, changes: &[Change], view: &View) -> Vec<Vec<Value>> {
        let own: Vec<&Change> = changes.iter().filter(|one| one.table == table).collect();
        let changed = |row: &Rc<RowState>| own.iter().any(|one| one.row == Some(row.id));
        let kept = self.table(view, table).into_iter();
        let kept = kept.filter(|row| !changed(row));
        let mut rows: Vec<Vec<Value>> = kept.map(|row| row.values.clone()).collect();
        for (at, change) in own.iter().enumerate() {
            let again = |later: &&Change| later.row.is_some() && later.row == change.row;
            if !own[at + 1..].iter().any(again) {
                rows.extend(change.after.clone());
            }
        }
        rows
    }
}

fn values_at(row: &[Value], columns: &[ColumnId]) -> Vec<Value> {
    let value = |column: &ColumnId| row.get(column.index()).cloned().unwrap_or(Value::Null);
    columns.iter().map(value).collect()
}
