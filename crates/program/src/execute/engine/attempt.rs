//! One statement on a server: what it sees, which rows it locks, whether it fails.

use super::Engine;
use super::locks::{Mode, Request};
use super::region::Region;
use super::simulate::Simulation;
use super::ssi::{Target, Written};
use crate::execute::ground::Bound;
use crate::execute::play::Abort;
use crate::execute::store::{Effect, InsertedKey, RowId, View};
use crate::expr::Value;
use crate::ir::{Action, Insert, Lock, OnConflict};
use crate::scenario::Point;
use std::collections::BTreeSet;

/// How an attempt ends.
pub(super) enum Attempt {
    Done,
    Waits(Request),
    Fails(Abort, String),
}

impl Simulation<'_> {
    /// Tries to execute the pending statement of an agent.
    pub(super) fn attempt(&mut self, who: usize) -> Attempt {
        match self.agents[who].engine.is_postgres() {
            true => self.attempt_postgres(who),
            false => self.attempt_maria(who),
        }
    }

    fn attempt_postgres(&mut self, who: usize) -> Attempt {
        if self.ssi.is_doomed(who) {
            return Attempt::Fails(Abort::Serialization, SERIALIZE.to_string());
        }
        // Each round makes at least one more row fresh, or ends.
        loop {
            let Some(pending) = self.agents[who].pending.clone() else {
                return Attempt::Done;
            };
            let bound = &pending.call.bound;
            let inserted = match self.lock_inserted(who, bound, &pending.view) {
                Ok(rows) => rows,
                Err(attempt) => return attempt,
            };
            let stale = |row: &RowId| self.is_stale(*row, &pending.view);
            if computes_keys(bound) && inserted.iter().any(stale) {
                // What it selects is not selected again: the key is that of a row that is there by now.
                return Attempt::Fails(Abort::Statement, DUPLICATE.to_string());
            }
            let mut view = pending.view.clone();
            let now = self.current(who);
            for row in inserted.iter().chain(&pending.fresh) {
                view.fresh.insert(*row, now.clone());
            }
            if self.agents[who].engine != Engine::PostgresReadCommitted
                && is_upsert(bound)
                && inserted
                    .iter()
                    .any(|row| self.is_stale(*row, &pending.view))
            {
                return Attempt::Fails(Abort::Serialization, CONCURRENT.to_string());
            }
            let effect = match self.evaluate(who, bound, &view) {
                Ok(effect) => effect,
                Err(attempt) => return attempt,
            };
            if effect.changes.is_empty() && leaves_rows(bound) {
                self.give_back(who, &inserted);
            }
            if let Some(attempt) = self.unique(who, &effect) {
                return attempt;
            }
            let targets = targets(&effect);
            if let Some(request) = self.lock(who, &targets) {
                if let Request::Row(row, _) = request {
                    self.stand_by(who, row);
                }
                return Attempt::Waits(request);
            }
            let stale = targets.iter().find(|(row, _)| self.is_stale(*row, &view));
            match (stale, self.agents[who].engine) {
                (None, _) => return self.done(who, view, effect),
                (Some((row, _)), Engine::PostgresReadCommitted) => self.stand_by(who, *row),
                (Some(_), _) => {
                    return Attempt::Fails(Abort::Serialization, CONCURRENT.to_string());
                }
            }
        }
    }

    /// The row will be read as it is then.
    fn stand_by(&mut self, who: usize, row: RowId) {
        if self.agents[who].engine == Engine::PostgresReadCommitted
            && let Some(pending) = &mut self.agents[who].pending
        {
            pending.fresh.insert(row);
        }
    }

    pub(super) fn evaluate(
        &mut self,
        who: usize,
        bound: &Bound,
        view: &View,
    ) -> Result<Effect, Attempt> {
        let now = View {
            base: self.current(who),
            ..View::default()
        };
        let on_snapshot = matches!(
            self.agents[who].engine,
            Engine::PostgresRepeatableRead | Engine::PostgresSerializable
        );
        let numbers = &mut self.agents[who].numbers;
        let store = &self.trace.store;
        let effect = store.evaluate(bound, view, numbers).and_then(|effect| {
            // Servers look for the rows of foreign keys as they are now; PostgreSQL must see them, too.
            store.check_keys(&effect.changes, &now)?;
            if on_snapshot {
                store.check_parents(&effect.changes, view)?;
            }
            Ok(effect)
        });
        effect.map_err(|error| Attempt::Fails(Abort::Statement, error.to_string()))
    }

    /// What becomes of a statement that leaves two rows with the same values where the schema forbids
    /// it: servers look at rows as they are now, and wait for who has not committed yet.
    pub(super) fn unique(&self, who: usize, effect: &Effect) -> Option<Attempt> {
        for committed in [true, false] {
            let base = match committed {
                true => self.current(who),
                false => self.trace.mask(|_| true),
            };
            let view = View {
                base,
                ..View::default()
            };
            let Some(row) = self.trace.store.duplicate(&effect.changes, &view) else {
                continue;
            };
            let request = Request::Row(row, Mode::Shared);
            if !self.locks.against(who, &request).is_empty() {
                return Some(Attempt::Waits(request));
            }
            if committed {
                return Some(Attempt::Fails(Abort::Statement, DUPLICATE.to_string()));
            }
        }
        None
    }

    /// Gives back the locks of rows that an insert found, and that are not the agent's own.
    fn give_back(&mut self, who: usize, rows: &[RowId]) {
        for row in rows {
            if !self.agents[who].written.contains_key(row) {
                self.locks.give_back(who, *row);
            }
        }
    }

    /// Whether a committed operation that the view does not show wrote the row.
    pub(super) fn is_stale(&self, row: RowId, view: &View) -> bool {
        let seen = view.fresh.get(&row).unwrap_or(&view.base);
        self.trace.store.writes_of(row).any(|write| {
            let committed = self.is_committed(write.op) && !self.kept.contains(&(write.op, row));
            committed && !seen.get(write.op).copied().unwrap_or(false)
        })
    }

    /// Takes the locks in order, up to the first that must be waited for.
    pub(super) fn lock(&mut self, who: usize, rows: &[(RowId, Mode)]) -> Option<Request> {
        for (row, mode) in rows {
            let request = Request::Row(*row, *mode);
            if !self.locks.against(who, &request).is_empty() {
                return Some(request);
            }
            self.locks.take(who, *row, *mode);
        }
        None
    }

    /// The keys of the rows that a statement inserts.
    pub(super) fn inserted_keys(
        &self,
        who: usize,
        bound: &Bound,
        view: &View,
    ) -> Result<Vec<InsertedKey>, Attempt> {
        // The numbers are only looked at: the rows get them when they are made.
        let mut numbers = self.agents[who].numbers.clone();
        let keys = self.trace.store.inserted_keys(bound, view, &mut numbers);
        keys.map_err(|error| Attempt::Fails(Abort::Statement, error.to_string()))
    }

    /// Locks the rows that are inserted by their keys.
    fn lock_inserted(
        &mut self,
        who: usize,
        bound: &Bound,
        view: &View,
    ) -> Result<Vec<RowId>, Attempt> {
        let keys = self.inserted_keys(who, bound, view)?;
        let mut rows = Vec::new();
        for (table, name, key) in keys {
            let place = Request::Into(Region::point(table, key));
            if !self.locks.against(who, &place).is_empty() {
                return Err(Attempt::Waits(place));
            }
            rows.push(self.trace.store.row(table, name));
        }
        let wanted: Vec<(RowId, Mode)> = rows.iter().map(|row| (*row, Mode::Exclusive)).collect();
        match self.lock(who, &wanted) {
            Some(request) => Err(Attempt::Waits(request)),
            None => Ok(rows),
        }
    }

    /// Does it, and tells the others.
    pub(super) fn done(&mut self, who: usize, view: View, effect: Effect) -> Attempt {
        let Some(pending) = self.agents[who].pending.take() else {
            return Attempt::Done;
        };
        self.locks.stop_waiting(who);
        let point = Point {
            instance: who,
            statement: pending.call.position,
        };
        if !pending.call.is_exact() {
            self.inexact.push(point);
        }
        let bound = pending.call.bound;
        let serializable = self.agents[who].engine == Engine::PostgresSerializable;
        let reads = match serializable {
            true => self.read_targets(&bound, &effect),
            false => Vec::new(),
        };
        let result = effect.result.clone();
        let from = self.trace.store.writes().len();
        self.trace.perform(point, view, bound, effect);
        let now = self.current(who);
        let mut written = BTreeSet::new();
        for write in &self.trace.store.writes()[from..] {
            self.agents[who].written.insert(write.cell.row, now.clone());
            let inserts = write.cell.column.is_none() && write.value == Value::Boolean(true);
            written.insert(Written {
                row: write.cell.row,
                table: self.trace.store.table_of(write.cell.row),
                inserts,
            });
        }
        self.agents[who].run.results.push(result.clone());
        self.agents[who].runner.feed(result);
        if serializable && self.ssi.executed(who, reads, written.into_iter().collect()) {
            return Attempt::Fails(Abort::Serialization, SERIALIZE.to_string());
        }
        Attempt::Done
    }

    fn read_targets(&self, bound: &Bound, effect: &Effect) -> Vec<Target> {
        let mut found = Vec::new();
        for (part, looked) in bound.parts.iter().zip(&effect.looked) {
            if matches!(part.action, Action::Insert(_)) {
                continue;
            }
            for key in &looked.keys {
                let row = self.trace.store.find(part.table, key);
                found.extend(row.map(Target::Row));
                found.push(Target::Index(part.table));
            }
            if looked.scanned {
                found.push(Target::Table(part.table));
            }
        }
        found
    }
}

const SERIALIZE: &str = "could not serialize access due to read/write dependencies";
const DUPLICATE: &str = "duplicate key value violates unique constraint";
const CONCURRENT: &str = "could not serialize access due to concurrent update";

/// The rows that a statement writes or asks to lock.
pub(super) fn targets(effect: &Effect) -> Vec<(RowId, Mode)> {
    let mut found: Vec<(RowId, Mode)> = Vec::new();
    for change in &effect.changes {
        found.extend(change.row.map(|row| (row, Mode::Exclusive)));
    }
    for (row, lock) in &effect.locks {
        let mode = match lock {
            Lock::Update => Mode::Exclusive,
            Lock::Share | Lock::None => Mode::Shared,
        };
        found.push((*row, mode));
    }
    found.retain(|(row, _)| *row != RowId::NONE);
    found
}

/// Whether it is an insert that leaves a row that is there as it is.
fn leaves_rows(bound: &Bound) -> bool {
    let ignores = |insert: &Insert| insert.on_conflict == OnConflict::Ignore;
    let mut parts = bound.parts.iter();
    parts.any(|part| matches!(&part.action, Action::Insert(insert) if ignores(insert)))
}

/// Whether it inserts rows that it selects, and fails where they are there.
fn computes_keys(bound: &Bound) -> bool {
    bound.parts.iter().any(|part| match &part.action {
        Action::Insert(insert) => insert.from_select && insert.on_conflict == OnConflict::Fail,
        _ => false,
    })
}

fn is_upsert(bound: &Bound) -> bool {
    bound.parts.iter().any(|part| match &part.action {
        Action::Insert(Insert { on_conflict, .. }) => *on_conflict != OnConflict::Fail,
        _ => false,
    })
}
