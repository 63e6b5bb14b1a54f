//! Rows with a number of their version: a read that is compared with it later holds its row.
//!
//! Definition: a table is *versioned* by a column where every update of the table increments it, and
//! where nobody deletes, overwrites by an insert, or locks without a change. A read of a row by its key
//! is *validated* where the path later updates the same row on condition that the version is the one
//! that was read, and goes on only if that changed a row (optimistic locking).
//!
//! A validated read is `for update` to all that commits. Whoever changes the row between the read and
//! the update has incremented the version, which never comes back, and the path does not get further;
//! whoever changes it after the update waits for the commit. That others only look for a lock, or only
//! validate, is no exception: who locks changes, and who validates and commits has changed, too.
//!
//! Steps: the versioned columns of all updates; then, for each update of a path that was confirmed, the
//! selects before it whose version it compares. Cost: linear in the statements, and for each path in the pairs
//! of its selects and updates. Source: Kung and Robinson 1981 for validation; ours for its use here.

use super::counters::{own_increment, source_of, without_offset};
use super::facts::Facts;
use super::unit::{Access, Kind, Unit, is_confirmed, is_plain};
use crate::access::Binding;
use crate::expr::Expr;
use crate::ir::{Action, Lock, OnConflict, Part, Set};
use crate::paths::Path;
use crate::schema::{ColumnId, TableId};
use std::collections::{BTreeMap, BTreeSet};

/// The columns by which tables are versioned in all that some paths do.
pub(super) fn versioned<'a>(
    paths: impl Iterator<Item = &'a Path>,
) -> BTreeSet<(TableId, ColumnId)> {
    // By table, the columns that every update so far increments; none where something else happens.
    let mut found: BTreeMap<TableId, BTreeSet<ColumnId>> = BTreeMap::new();
    let all = paths.flat_map(|path| &path.statements);
    for part in all.flat_map(|statement| &statement.parts) {
        let incremented = match &part.action {
            Action::Select(select) if select.lock == Lock::None => continue,
            Action::Insert(insert) if insert.on_conflict == OnConflict::Fail => continue,
            Action::Select(_) | Action::Insert(_) | Action::Delete => BTreeSet::new(),
            Action::Update { sets } => increments(part, sets),
        };
        let known = found
            .entry(part.table)
            .or_insert_with(|| incremented.clone());
        known.retain(|column| incremented.contains(column));
    }
    let columns = |(table, columns): (TableId, BTreeSet<ColumnId>)| {
        columns.into_iter().map(move |column| (table, column))
    };
    found.into_iter().flat_map(columns).collect()
}

/// The columns that an update increments: `set v = v + 1`, or `set v = :old + 1 where v = :old`.
fn increments(part: &Part, sets: &[Set]) -> BTreeSet<ColumnId> {
    let bindings = part.bindings();
    let grows = |set: &&Set| {
        let (value, by) = without_offset(&set.value);
        let is_old =
            |bound: &Binding<'_>| bound.column == set.column && bound.value == value && by > 0;
        own_increment(part, set).is_some() || bindings.iter().any(is_old)
    };
    let grown = sets.iter().filter(grows).map(|set| set.column);
    let once = |column: &ColumnId| sets.iter().filter(|set| set.column == *column).count() == 1;
    grown.filter(once).collect()
}

/// Makes every validated read of a path hold its row.
pub(super) fn hold(facts: &Facts, unit: &mut Unit) {
    let path = unit.path.clone();
    for update in 0..unit.accesses.len() {
        for select in validated(facts, &path, unit, update) {
            let select = &mut unit.accesses[select];
            // Without a row there is no version, and the update changes nothing.
            (select.sure, select.sure_in_snapshot) = (true, true);
            select.lock = Lock::Update;
        }
    }
}

/// The reads that an access validates.
fn validated(facts: &Facts, path: &Path, unit: &Unit, update: usize) -> Vec<usize> {
    let (before, update) = (&unit.accesses[..update], &unit.accesses[update]);
    let statement = &path.statements[update.statement];
    let confirmed = statement.parts.len() == 1 && is_confirmed(path, update.statement);
    let Some(key) = update.key.as_ref().filter(|_| confirmed) else {
        return Vec::new();
    };
    if update.kind != Kind::Update {
        return Vec::new();
    }
    let is_of = |value: &Expr, select: &Access, wanted: ColumnId| {
        let source = source_of(path, value);
        source.is_some_and(|(read, _, column)| (read, column) == (select.statement, wanted))
    };
    let bindings = statement.parts[0].bindings();
    let compares = |select: &Access| {
        bindings.iter().any(|bound| {
            facts.is_version(update.table, bound.column) && is_of(bound.value, select, bound.column)
        })
    };
    // By the same values, or by the key that was read: `where email = ?`, and then `where id = ?`.
    let same_row = |select: &Access| {
        let mut terms = key.iter();
        select.key.as_ref() == Some(key)
            || select.key.is_some()
                && terms.all(|&(column, term)| is_of(&unit.terms[term], select, column))
    };
    let is_validated = |select: &Access| {
        select.kind == Kind::Select
            && select.table == update.table
            && is_plain(&path.statements[select.statement])
            && same_row(select)
            && compares(select)
    };
    let found = before
        .iter()
        .enumerate()
        .filter(|(_, one)| is_validated(one));
    found.map(|(at, _)| at).collect()
}
