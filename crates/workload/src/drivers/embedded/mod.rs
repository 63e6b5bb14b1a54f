//! Databases of keys and values that run in this process: `redb:PATH` and `fjall:PATH`. What they have in
//! common: cells are texts, a table is theirs, and a group is read as a range of rows.
//!
//! They are behind the feature `embedded`, because they take long to build.

mod fjall;
mod redb;

use super::cells::{self, Overlay};
use crate::driver::{Answer, Database, Error, Settings};
use crate::plan::Action;
use crate::schema::{Cell, ColumnKind, Schema};
use crate::sql;
use std::collections::BTreeMap;

/// Opens the database of a scheme.
pub fn open(
    scheme: &str,
    urls: &[String],
    settings: &Settings,
) -> Result<Box<dyn Database>, Error> {
    let [url] = urls else {
        return Err(Error::hopeless(format!("{scheme} has one node: one URL")));
    };
    let path = url
        .split_once(':')
        .map(|(_, path)| path)
        .unwrap_or_default();
    let path = path.strip_prefix("//").unwrap_or(path);
    match (scheme, path) {
        (_, "") => Err(Error::hopeless(format!(
            "{scheme}: where? For example {scheme}:test.{scheme}"
        ))),
        ("redb", _) => redb::open(path, settings),
        _ => fjall::open(path, settings),
    }
}

/// A transaction that reads and writes texts.
trait Store {
    /// The text of a cell.
    fn get(&mut self, cell: Cell) -> Result<Option<String>, Error>;

    /// Gives a cell a text.
    fn put(&mut self, cell: Cell, text: String) -> Result<(), Error>;

    /// The cells of a column that have a text, from a row to another, both included.
    fn range(&mut self, first: Cell, last: Cell) -> Result<Vec<(Cell, String)>, Error>;
}

/// Does what an action says.
fn run(store: &mut impl Store, schema: &Schema, action: &Action) -> Result<Answer, Error> {
    if !cells::fits(schema, action) {
        return Err(Error::hopeless("an action on a column of another kind"));
    }
    let cell = action.cell();
    if let Action::Write(_, value) = action {
        store.put(cell, value.to_string())?;
        return Ok(Answer::Done);
    }
    if let Action::ReadGroup(_) = action {
        return read_group(store, schema, cell);
    }
    let text = store.get(cell)?;
    if action.writes() {
        store.put(cell, changed(schema, action, text.as_deref())?)?;
        return Ok(Answer::Done);
    }
    match schema.column(cell).kind {
        ColumnKind::List(_) | ColumnKind::Set => elements(text.as_deref()).map(Answer::Values),
        _ => {
            let stored = number(text.as_deref())?;
            let value = stored.or_else(|| cells::absent(schema, cell));
            Ok(Answer::Value(value, None))
        }
    }
}

fn read_group(store: &mut impl Store, schema: &Schema, cell: Cell) -> Result<Answer, Error> {
    let group: Vec<Cell> = schema.group_of(cell).collect();
    let (Some(&first), Some(&last)) = (group.first(), group.last()) else {
        return Ok(Answer::Rows(Vec::new()));
    };
    let mut found = BTreeMap::new();
    for (cell, text) in store.range(first, last)? {
        found.insert(cell, number(Some(&text))?);
    }
    let stored = group.iter().map(|cell| found.get(cell).copied().flatten());
    Ok(cells::rows(schema, &Overlay::default(), &group, stored))
}

/// The text of a cell after a write that depends on what was there.
fn changed(schema: &Schema, action: &Action, text: Option<&str>) -> Result<String, Error> {
    let cell = action.cell();
    let mut overlay = Overlay::default();
    overlay.write(action);
    let list = |all: Vec<i64>| {
        let all: Vec<String> = all.iter().map(i64::to_string).collect();
        all.join(",")
    };
    match schema.column(cell).kind {
        ColumnKind::List(_) => Ok(list(overlay.list(cell, elements(text)?))),
        ColumnKind::Set => Ok(list(overlay.set(cell, elements(text)?))),
        _ => {
            let sum = overlay.number(cell, number(text)?);
            Ok(sum.unwrap_or(0).to_string())
        }
    }
}

fn number(text: Option<&str>) -> Result<Option<i64>, Error> {
    let parsed = text.map(str::parse).transpose();
    parsed.map_err(|_| foreign(text))
}

fn elements(text: Option<&str>) -> Result<Vec<i64>, Error> {
    sql::numbers(text.unwrap_or_default()).map_err(|_| foreign(text))
}

fn foreign(text: Option<&str>) -> Error {
    let start: String = text.unwrap_or_default().chars().take(100).collect();
    Error::hopeless(format!("somebody else wrote there: {start}"))
}

/// How an action is put, for people.
fn statement(schema: &Schema, action: &Action) -> String {
    let key = cells::key(schema, action.cell());
    match (action, action.value()) {
        (Action::Write(..), Some(value)) => format!("insert {key} {value}"),
        (_, Some(value)) => format!("insert {key} (with {value})"),
        (Action::ReadGroup(cell), None) => {
            let keys = schema.group_of(*cell).map(|one| cells::key(schema, one));
            let keys: Vec<String> = keys.collect();
            match (keys.first(), keys.last()) {
                (Some(first), Some(last)) => format!("range {first}..={last}"),
                _ => "range".to_string(),
            }
        }
        (_, None) => format!("get {key}"),
    }
}
