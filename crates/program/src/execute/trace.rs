//! What happened in a play: which statement saw what, and what it wrote.
//!
//! A statement that finds a row by its whole key reads the existence of that row and the columns it
//! uses. One that searches reads these of every row that could matter to it: of a row that at some
//! time in the play met the conditions on its own table. That is finer than reading the compared
//! columns of every row, and it is what changes a result: a row that never meets the condition can
//! change as it likes. (Adya's predicate dependencies, decided by the versions that were there.)

use super::environment::ResultSet;
use super::evaluate::holds;
use super::ground::Bound;
use super::store::{Cell, Effect, Here, Looked, RowId, RowState, Store, View, Work};
use crate::expr::{Condition, PartId, Value};
use crate::ir::{Action, OnConflict, Part};
use crate::scenario::Point;
use crate::schema::ColumnId;
use std::collections::BTreeSet;
use std::rc::Rc;

/// A statement that was executed.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Which statement of which instance.
    pub point: Point,
    /// The operations whose writes it saw, by position; its own instance's are among them.
    pub sees: BTreeSet<usize>,
    /// The cells it read, each with the write it saw: a position in [`super::Play::writes`], or
    /// none for a cell that nobody had written.
    pub reads: Vec<(Cell, Option<usize>)>,
    /// What it wrote: positions in [`super::Play::writes`].
    pub writes: Vec<usize>,
    /// What it returned.
    pub result: ResultSet,
    /// Whether it was undone.
    pub undone: bool,
}

pub(super) struct Record {
    pub point: Point,
    pub view: View,
    pub bound: Bound,
    pub looked: Vec<Looked>,
    pub result: ResultSet,
    pub undone: bool,
}

/// The store of a play, and what was done to it. Operation 0 is the initial rows and has no record.
pub(super) struct Trace<'p> {
    pub store: Store<'p>,
    pub records: Vec<Record>,
}

impl<'p> Trace<'p> {
    pub fn new(store: Store<'p>) -> Trace<'p> {
        Trace {
            store,
            records: Vec::new(),
        }
    }

    /// Does what a statement was found to do; returns its number.
    pub fn perform(&mut self, point: Point, view: View, bound: Bound, effect: Effect) -> usize {
        let op = self.store.operation();
        self.store.apply(op, &effect.changes);
        self.records.push(Record {
            point,
            view,
            bound,
            looked: effect.looked,
            result: effect.result,
            undone: false,
        });
        op
    }

    /// The instance of an operation; none for the initial rows.
    pub fn instance_of(&self, op: usize) -> Option<usize> {
        let record = self.records.get(op.checked_sub(1)?)?;
        Some(record.point.instance)
    }

    pub fn is_undone(&self, op: usize) -> bool {
        let record = op.checked_sub(1).and_then(|at| self.records.get(at));
        record.is_some_and(|record| record.undone)
    }

    /// Undoes all operations of an instance.
    pub fn undo(&mut self, instance: usize) {
        for record in &mut self.records {
            record.undone |= record.point.instance == instance;
        }
    }

    /// A mask of the operations for which the test says yes; the initial one is always in.
    pub fn mask(&self, test: impl Fn(usize) -> bool) -> Vec<bool> {
        let all = 0..self.store.operations();
        all.map(|op| op == 0 || (!self.is_undone(op) && test(op)))
            .collect()
    }

    /// The operations with what they read and wrote.
    pub fn operations(&self) -> Vec<Operation> {
        let mut found = Vec::new();
        for (at, record) in self.records.iter().enumerate() {
            let writes = self.store.writes().iter().enumerate();
            let sees = record.view.base.iter().enumerate();
            found.push(Operation {
                point: record.point,
                sees: sees.filter(|(_, seen)| **seen).map(|(op, _)| op).collect(),
                reads: self.reads(record),
                writes: writes
                    .filter(|(_, write)| write.op == at + 1)
                    .map(|(position, _)| position)
                    .collect(),
                result: record.result.clone(),
                undone: record.undone,
            });
        }
        found
    }

    fn reads(&self, record: &Record) -> Vec<(Cell, Option<usize>)> {
        let mut cells = BTreeSet::new();
        for (part, looked) in record.bound.parts.iter().zip(&record.looked) {
            let goes_on = match &part.action {
                Action::Insert(insert) => insert.on_conflict != OnConflict::Fail,
                _ => true,
            };
            let keys = looked.keys.iter();
            let rows = keys.filter_map(|key| self.store.find(part.table, key));
            for row in rows.filter(|_| goes_on) {
                self.read_row(record, part, row, true, &mut cells);
            }
            for row in self.store.known(part.table).filter(|_| looked.scanned) {
                if self.matters(record, part, row) {
                    self.read_row(record, part, row, false, &mut cells);
                }
            }
        }
        let version = |cell: Cell| (cell, self.store.version(&record.view, cell));
        cells.into_iter().map(version).collect()
    }

    fn read_row(
        &self,
        record: &Record,
        part: &Part,
        row: RowId,
        by_key: bool,
        cells: &mut BTreeSet<Cell>,
    ) {
        cells.insert(Cell { row, column: None });
        let Some(state) = self.store.state(&record.view, row) else {
            return;
        };
        let mut columns: BTreeSet<ColumnId> = match part.action {
            Action::Insert(_) => BTreeSet::new(),
            _ => part.compared().columns,
        };
        if by_key {
            let key = &self.store.schema.table(part.table).primary_key;
            columns.retain(|column| !key.contains(column));
        }
        let is_insert = matches!(part.action, Action::Insert(_));
        if is_insert || self.meets(record, part, state) {
            columns.extend(part.used().columns);
            columns.extend(part.returned(&record.bound.outputs));
        }
        let cell = |column: ColumnId| Cell {
            row,
            column: Some(column),
        };
        cells.extend(columns.into_iter().map(cell));
    }

    /// Whether a row at some time met the conditions on its own table.
    fn matters(&self, record: &Record, part: &Part, row: RowId) -> bool {
        let columns = self.store.schema.table(part.table).columns.len();
        let mut state = RowState {
            id: row,
            values: vec![Value::Null; columns],
        };
        let mut exists = false;
        let mut writes = self.store.writes_of(row).peekable();
        while let Some(write) = writes.next() {
            match write.cell.column {
                None => exists = write.value == Value::Boolean(true),
                Some(column) => state.values[column.index()] = write.value.clone(),
            }
            let last = writes.peek().is_none_or(|next| next.op != write.op);
            if last && exists && self.meets(record, part, state.clone()) {
                return true;
            }
        }
        let seen = self.store.state(&record.view, row);
        seen.is_some_and(|state| self.meets(record, part, state))
    }

    /// Whether a row meets those conditions of a part that are about its own table alone.
    fn meets(&self, record: &Record, part: &Part, state: RowState) -> bool {
        let work = Work::new(&self.store, &record.view, &record.bound);
        let mut standing = work.nowhere();
        standing[part.id.0 as usize] = Some(Rc::new(state));
        let here = Here {
            work: &work,
            standing: &standing,
        };
        let all = part.filter.conjuncts();
        let mut own = all
            .into_iter()
            .filter(|one| is_own(one, part.id, &record.bound.parts));
        own.all(|condition| matches!(holds(&here, condition), Ok(Some(true))))
    }
}

/// Whether a condition mentions no part but that one.
fn is_own(condition: &Condition, part: PartId, parts: &[Part]) -> bool {
    let others = parts.iter().filter(|other| other.id != part);
    for other in others {
        if !condition.columns_of(other.id).is_empty() {
            return false;
        }
    }
    let mut waiting = vec![condition];
    while let Some(condition) = waiting.pop() {
        match condition {
            Condition::Exists(_) => return false,
            Condition::And(all) | Condition::Or(all) => waiting.extend(all),
            Condition::Not(inner) => waiting.push(inner),
            _ => {}
        }
    }
    true
}
