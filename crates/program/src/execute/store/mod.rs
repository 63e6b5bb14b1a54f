//! Rows, and statements on them.

mod keys;
mod log;
mod rows;
mod select;
mod write;

pub use log::{Cell, RowId, RowState, Store, View, Write};
pub use rows::Looked;
pub(super) use rows::{Here, Work};
pub use write::{Change, InsertedKey, Numbers};

use super::environment::ResultSet;
use super::error::ExecuteError;
use super::ground::Bound;
use crate::ir::{Action, Lock};

/// What a statement finds and what it would change.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// What it returns.
    pub result: ResultSet,
    /// The rows it changes, in order.
    pub changes: Vec<Change>,
    /// The rows that `for update` and `for share` lock.
    pub locks: Vec<(RowId, Lock)>,
    /// How each part looked for its rows.
    pub looked: Vec<Looked>,
}

impl Store<'_> {
    /// What a statement does on what a view shows. Nothing is changed yet.
    pub fn evaluate(
        &self,
        bound: &Bound,
        view: &View,
        numbers: &mut dyn Numbers,
    ) -> Result<Effect, ExecuteError> {
        let work = Work::new(self, view, bound);
        let writes = |action: &Action| !matches!(action, Action::Select(_));
        let effect = match bound.parts.iter().any(|part| writes(&part.action)) {
            true => {
                let done = write::write(&work, bound, numbers)?;
                Effect {
                    result: done.result,
                    changes: done.changes,
                    locks: Vec::new(),
                    looked: Vec::new(),
                }
            }
            false => {
                let found = select::select(&work, bound)?;
                Effect {
                    result: found.result,
                    changes: Vec::new(),
                    locks: found.locks,
                    looked: Vec::new(),
                }
            }
        };
        Ok(Effect {
            looked: work.looked.into_inner(),
            ..effect
        })
    }

    /// The rows whose keys a statement inserts, as far as they are known.
    pub fn inserted_keys(
        &self,
        bound: &Bound,
        view: &View,
        numbers: &mut dyn Numbers,
    ) -> Result<Vec<InsertedKey>, ExecuteError> {
        let work = Work::new(self, view, bound);
        write::inserted_keys(&work, numbers)
    }

    /// Does the changes, as one operation.
    pub fn apply(&mut self, op: usize, changes: &[Change]) {
        for change in changes {
            let row = match (change.row, &change.after) {
                (Some(row), _) if row != RowId::NONE => row,
                (_, Some(values)) => self.row_for(change.table, values),
                (_, None) => continue,
            };
            self.put(op, row, change.exists, change.cells.clone());
        }
    }
}
