//! One statement on MariaDB: plain reads, current reads, and what these lock.

use super::Engine;
use super::agent::{is_plain_read, lock_of};
use super::attempt::{Attempt, targets};
use super::locks::{Mode, Request};
use super::region::Region;
use super::simulate::Simulation;
use crate::execute::ground::Bound;
use crate::execute::play::{Abort, Counter};
use crate::execute::store::{Effect, RowId, View};
use crate::expr::{Expr, Value};
use crate::ir::{Action, Lock, OnConflict, Part};
use crate::schema::{ColumnId, ForeignKey, Table, TableId};
use std::collections::BTreeSet;

type Passed = (Vec<(RowId, Mode)>, Vec<Region>);

impl Simulation<'_> {
    /// Tries to execute the pending statement of an agent of MariaDB.
    pub(super) fn attempt_maria(&mut self, who: usize) -> Attempt {
        let Some(pending) = self.agents[who].pending.clone() else {
            return Attempt::Done;
        };
        let engine = self.agents[who].engine;
        let bound = &pending.call.bound;
        if is_plain_read(&pending.call, engine) {
            let view = self.plain_view(who);
            return match self.evaluate(who, bound, &view) {
                Ok(effect) => self.done(who, view, effect),
                Err(attempt) => attempt,
            };
        }
        let view = View {
            base: self.current(who),
            ..View::default()
        };
        let inserted = match self.insert_maria(who, bound, &view) {
            Ok(rows) => rows,
            Err(attempt) => return attempt,
        };
        let (rows, gaps) = match self.passed(who, bound, &view) {
            Ok(found) => found,
            Err(attempt) => return attempt,
        };
        for gap in gaps {
            self.locks.close(who, gap);
        }
        if let Some(request) = self.lock(who, &rows) {
            return Attempt::Waits(request);
        }
        let rows = rows.into_iter().map(|(row, _)| row).chain(inserted);
        match self.is_changed(who, bound, rows.collect()) {
            Ok(false) => {}
            Ok(true) => {
                let message = "Record has changed since last read in table";
                return Attempt::Fails(Abort::Serialization, message.to_string());
            }
            Err(attempt) => return attempt,
        }
        match self.evaluate(who, bound, &view) {
            Ok(effect) => match self.unique(who, &effect) {
                Some(attempt) => attempt,
                None => self.done_maria(who, view, effect),
            },
            Err(attempt) => attempt,
        }
    }

    /// Locks the rows that are inserted by their keys: first what a foreign key refers to that the primary key serves.
    fn insert_maria(
        &mut self,
        who: usize,
        bound: &Bound,
        view: &View,
    ) -> Result<Vec<RowId>, Attempt> {
        let keys = self.inserted_keys(who, bound, view)?;
        let dirty = View {
            base: self.trace.mask(|_| true),
            ..View::default()
        };
        let mode = match changes_rows(bound) {
            true => Mode::Exclusive,
            false => Mode::Shared,
        };
        let mut rows = Vec::new();
        for (table, name, key) in keys {
            let mut wanted: Vec<(RowId, Mode)> = Vec::new();
            for parent in self.parents_of_key(table, &key) {
                wanted.push((parent, Mode::Shared));
            }
            if let Some(request) = self.lock(who, &wanted) {
                return Err(Attempt::Waits(request));
            }
            let place = Request::Into(Region::point(table, key));
            if !self.locks.against(who, &place).is_empty() {
                return Err(Attempt::Waits(place));
            }
            let row = self.trace.store.row(table, name);
            let meets = self.is_there(row, &dirty) || self.is_there(row, view);
            let mode = if meets { mode } else { Mode::Exclusive };
            if let Some(request) = self.lock(who, &[(row, mode)]) {
                return Err(Attempt::Waits(request));
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// The rows that foreign keys refer to whose columns a primary key begins with.
    fn parents_of_key(&self, table: TableId, values: &[Value]) -> Vec<RowId> {
        let schema = self.trace.store.schema;
        let declared = schema.table(table);
        let mut found = Vec::new();
        for key in &declared.foreign_keys {
            let beginning = declared.primary_key.get(..key.columns.len());
            let served = |own: &[ColumnId]| own.iter().all(|one| key.columns.contains(one));
            if !beginning.is_some_and(served) {
                continue;
            }
            let value = |column: &ColumnId| {
                let at = key.referred.iter().position(|one| one == column)?;
                let mut own = declared.primary_key.iter();
                let at = own.position(|one| *one == key.columns[at])?;
                values.get(at).cloned()
            };
            let parent = &schema.table(key.table).primary_key;
            let values: Option<Vec<Value>> = parent.iter().map(value).collect();
            found.extend(values.and_then(|key_of| self.trace.store.find_key(key.table, &key_of)));
        }
        found
    }

    /// Does it. InnoDB makes no version of a row that gets the values it has.
    fn done_maria(&mut self, who: usize, view: View, effect: Effect) -> Attempt {
        let mut kept = Vec::new();
        for change in &effect.changes {
            let row = change.row.filter(|row| *row != RowId::NONE);
            let old = row.and_then(|row| self.trace.store.state(&view, row));
            let same = old.is_some_and(|old| change.after.as_ref() == Some(&old.values));
            kept.extend(row.filter(|_| same));
        }
        let from = self.trace.store.writes().len();
        let answer = self.done(who, view, effect);
        let op = self.trace.store.writes().get(from).map(|write| write.op);
        self.kept.extend(
            op.into_iter()
                .flat_map(|op| kept.iter().map(move |row| (op, *row))),
        );
        answer
    }

    /// Whether snapshot isolation forbids a statement: one of these rows, or one that it would have met
    /// at its start, has changed since or is gone.
    fn is_changed(&self, who: usize, bound: &Bound, mut rows: Vec<RowId>) -> Result<bool, Attempt> {
        let agent = &self.agents[who];
        let (Engine::MariaSnapshot, Some(snapshot)) = (agent.engine, &agent.snapshot) else {
            return Ok(false);
        };
        let seen = View {
            base: snapshot.clone(),
            fresh: agent.written.clone(),
        };
        let met = targets(&self.evaluate_quietly(bound, &seen)?);
        let now = View {
            base: self.current(who),
            ..View::default()
        };
        let schema = self.trace.store.schema;
        let mut parts = bound.parts.iter();
        let beside = parts.all(|part| goes_beside(part, schema.table(part.table)));
        let met = met.into_iter().map(|(row, _)| row);
        rows.extend(met.filter(|row| !beside || self.is_there(*row, &now)));
        Ok(rows.into_iter().any(|row| self.is_stale(row, &seen)))
    }

    /// What a plain read of MariaDB sees.
    fn plain_view(&mut self, who: usize) -> View {
        match self.agents[who].engine {
            Engine::MariaReadUncommitted => View {
                base: self.trace.mask(|_| true),
                ..View::default()
            },
            engine if engine.keeps_snapshot() => {
                self.take_snapshot(who);
                let snapshot = self.agents[who].snapshot.clone().unwrap_or_default();
                View {
                    base: self.trace.mask(|op| {
                        let own = self.trace.instance_of(op) == Some(who);
                        own || snapshot.get(op).copied().unwrap_or(false)
                    }),
                    fresh: self.agents[who].written.clone(),
                }
            }
            _ => View {
                base: self.current(who),
                ..View::default()
            },
        }
    }

    /// The rows that a locking statement of MariaDB passes, and the gaps between them.
    fn passed(&mut self, who: usize, bound: &Bound, view: &View) -> Result<Passed, Attempt> {
        let engine = self.agents[who].engine;
        let dirty = View {
            base: self.trace.mask(|_| true),
            ..View::default()
        };
        let found = self.evaluate_quietly(bound, view)?;
        let unsettled = self.evaluate_quietly(bound, &dirty)?;
        let mut rows: Vec<(RowId, Mode)> = Vec::new();
        let mut gaps = Vec::new();
        for (at, part) in bound.parts.iter().enumerate() {
            let mode = match lock_of(&part.action, engine) {
                Lock::None => continue,
                Lock::Share => Mode::Shared,
                Lock::Update => Mode::Exclusive,
            };
            if matches!(part.action, Action::Insert(_)) {
                continue;
            }
            let looked = &found.looked[at];
            for key in &looked.keys {
                let row = self.trace.store.find(part.table, key);
                let row =
                    row.filter(|row| self.is_there(*row, &dirty) || self.is_there(*row, view));
                match row {
                    Some(row) => rows.push((row, mode)),
                    None if engine.locks_gaps() => gaps.extend(self.gap_of(part, view)),
                    None => {}
                }
            }
            if !looked.scanned {
                continue;
            }
            if engine.locks_gaps() {
                let beginning = beginning_of(part, self.trace.store.schema.table(part.table));
                rows.extend(self.rows_from(part.table, &beginning, &dirty, mode));
                rows.extend(self.rows_from(part.table, &beginning, view, mode));
                gaps.push(self.gap_around(part.table, &beginning, view));
            }
        }
        rows.extend(targets(&found));
        let parents = self.parents(&found, view).into_iter();
        rows.extend(parents.map(|row| (row, Mode::Shared)));
        if engine.locks_gaps() {
            rows.extend(targets(&unsettled));
        }
        let mut seen = BTreeSet::new();
        rows.sort_by_key(|(row, mode)| (*row, std::cmp::Reverse(*mode)));
        rows.retain(|(row, _)| seen.insert(*row));
        Ok((rows, gaps))
    }

    /// The rows that written foreign keys refer to, which InnoDB locks against changes. A key counts as
    /// written when its entry in the index that serves it changes, by whatever column of that index.
    fn parents(&self, effect: &Effect, view: &View) -> Vec<RowId> {
        let schema = self.trace.store.schema;
        let mut found = Vec::new();
        for change in &effect.changes {
            let Some(after) = &change.after else {
                continue;
            };
            let written = |column: &ColumnId| change.cells.iter().any(|(one, _)| one == column);
            let old = change.row.and_then(|row| self.trace.store.state(view, row));
            let differs = |column: &ColumnId| match &old {
                Some(old) => old.values.get(column.index()) != after.get(column.index()),
                None => true,
            };
            let table = schema.table(change.table);
            let touched = |key: &&ForeignKey| {
                let beside = serving(table, key).iter();
                let mut beside = beside.filter(|column| !key.columns.contains(column));
                key.columns.iter().any(written) || beside.any(|one| written(one) && differs(one))
            };
            for key in table.foreign_keys.iter().filter(touched) {
                let parent = &schema.table(key.table).primary_key;
                let value = |column: &ColumnId| {
                    let at = key.referred.iter().position(|one| one == column)?;
                    let value = after.get(key.columns.get(at)?.index())?;
                    (*value != Value::Null).then(|| value.clone())
                };
                let values: Option<Vec<Value>> = parent.iter().map(value).collect();
                let row = values.and_then(|key_of| self.trace.store.find_key(key.table, &key_of));
                found.extend(row);
            }
        }
        found
    }

    fn evaluate_quietly(&self, bound: &Bound, view: &View) -> Result<Effect, Attempt> {
        let mut numbers = Counter::new(0);
        let effect = self.trace.store.evaluate(bound, view, &mut numbers);
        // A key that is there twice for now is no reason to fail before its row is locked.
        Ok(effect.unwrap_or(Effect {
            result: Default::default(),
            changes: Vec::new(),
            locks: Vec::new(),
            looked: vec![Default::default(); bound.parts.len()],
        }))
    }

    fn is_there(&self, row: RowId, view: &View) -> bool {
        self.trace.store.state(view, row).is_some()
    }

    fn keys_of(&self, table: TableId, view: &View) -> Vec<(RowId, Vec<Value>)> {
        let key = &self.trace.store.schema.table(table).primary_key;
        let rows = self.trace.store.table(view, table).into_iter();
        rows.map(|row| {
            let values = key.iter().map(|column| row.values[column.index()].clone());
            (row.id, values.collect())
        })
        .collect()
    }

    fn rows_from(
        &self,
        table: TableId,
        beginning: &[Value],
        view: &View,
        mode: Mode,
    ) -> Vec<(RowId, Mode)> {
        let rows = self.keys_of(table, view).into_iter();
        rows.filter(|(_, key)| key.starts_with(beginning))
            .map(|(row, _)| (row, mode))
            .collect()
    }

    fn gap_around(&self, table: TableId, beginning: &[Value], view: &View) -> Region {
        let keys = self.keys_of(table, view).into_iter();
        let keys: Vec<Vec<Value>> = keys.map(|(_, key)| key).collect();
        Region::around(table, beginning, &keys)
    }

    /// The gap in which a key would be that is not there.
    fn gap_of(&self, part: &Part, view: &View) -> Option<Region> {
        let beginning = beginning_of(part, self.trace.store.schema.table(part.table));
        Some(self.gap_around(part.table, &beginning, view))
    }
}

/// The columns of the index that serves a foreign key: that of a unique key which begins with it, where
/// there is one; else it has an index of its own.
fn serving<'t>(table: &'t Table, key: &'t ForeignKey) -> &'t [ColumnId] {
    let begins = |unique: &&Vec<ColumnId>| {
        let beginning = unique.get(..key.columns.len());
        beginning.is_some_and(|some| some.iter().all(|column| key.columns.contains(column)))
    };
    let unique = table.unique.iter().find(begins);
    unique.map_or(&key.columns, Vec::as_slice)
}

/// Whether a statement finds its rows by another index than that of the primary key. MariaDB takes one
/// that begins with a column that the condition fixes; an update or delete also beside a whole primary
/// key, as the entries of every index end with that. A row that is gone is not met there, where the
/// primary key still has an entry that tells that it was changed.
fn goes_beside(part: &Part, table: &Table) -> bool {
    let bindings = part.bindings();
    let by_key = |column: &ColumnId| bindings.iter().any(|one| one.column == *column);
    match part.action {
        Action::Insert(_) => return false,
        Action::Select(_) if table.primary_key.iter().all(by_key) => return false,
        _ => {}
    }
    let fixed = |columns: &Vec<ColumnId>| {
        let first = columns.first();
        first.is_some_and(by_key)
    };
    // A foreign key that an index begins with has none of its own.
    let own = |key: &&ForeignKey| {
        let beginning = table.primary_key.get(..key.columns.len());
        beginning != Some(key.columns.as_slice())
    };
    let mut foreign = table.foreign_keys.iter().filter(own);
    foreign.any(|key| fixed(&key.columns)) || table.unique.iter().any(fixed)
}

/// The first columns of the primary key, as far as the condition fixes them to constants.
fn beginning_of(part: &Part, table: &Table) -> Vec<Value> {
    let bindings = match &part.action {
        Action::Insert(_) => Vec::new(),
        _ => part.bindings(),
    };
    let mut found = Vec::new();
    for column in &table.primary_key {
        let bound = bindings.iter().find(|binding| binding.column == *column);
        match bound.map(|binding| binding.value) {
            Some(Expr::Constant(value)) => found.push(value.clone()),
            _ => break,
        }
    }
    found
}

/// Whether it is an insert that changes or replaces the row that it meets.
fn changes_rows(bound: &Bound) -> bool {
    let mut parts = bound.parts.iter();
    parts.any(|part| match &part.action {
        Action::Insert(insert) => {
            matches!(
                insert.on_conflict,
                OnConflict::Update(_) | OnConflict::Replace
            )
        }
        _ => false,
    })
}
