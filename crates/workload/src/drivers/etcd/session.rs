//! A transaction of etcd: reads that note revisions, writes kept here, and one conditional request at the end.

use super::gateway::{self, Failure, Freshness, Reading, encode, number};
use super::http::Client;
use super::{SERIALIZABLE, SNAPSHOT, STALE};
use crate::driver::{Answer, Commit, Connection, Error, Fate};
use crate::drivers::cells::{self, Overlay};
use crate::plan::Action;
use crate::schema::{Cell, ColumnKind, Schema};
use crate::sql;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A connection with the transaction that is made up here.
pub struct Session {
    client: Client,
    shown: String,
    mode: &'static str,
    schema: Schema,
    /// What was found at the first read of each cell: the text, and the revision that it was written
    /// at, which is 0 if it was not there.
    found: BTreeMap<Cell, (Option<String>, u64)>,
    reads: usize,
    /// The revision of the store at the first read.
    snapshot: Option<u64>,
    overlay: Overlay,
}

impl Session {
    /// A session at one of the settings.
    pub fn new(client: Client, shown: &str, mode: &'static str, schema: &Schema) -> Session {
        Session {
            client,
            shown: shown.to_string(),
            mode,
            schema: schema.clone(),
            found: BTreeMap::new(),
            reads: 0,
            snapshot: None,
            overlay: Overlay::default(),
        }
    }

    fn fetch(&mut self, cells: &[Cell]) -> Result<Reading, Error> {
        let keys: Vec<String> = cells
            .iter()
            .map(|cell| cells::key(&self.schema, *cell))
            .collect();
        let fresh = match (self.mode, self.snapshot) {
            (STALE, _) => Freshness::Local,
            (SNAPSHOT, Some(revision)) => Freshness::At(revision),
            _ => Freshness::Linearizable,
        };
        let reading = gateway::read(&mut self.client, &keys, fresh)
            .map_err(|failure| failure.harmless(&self.shown))?;
        self.reads += 1;
        self.snapshot.get_or_insert(reading.revision);
        for (cell, entry) in cells.iter().zip(&reading.entries) {
            self.found.entry(*cell).or_insert_with(|| match entry {
                Some(entry) => (Some(entry.value.clone()), entry.revision),
                None => (None, 0),
            });
        }
        Ok(reading)
    }

    fn read(&mut self, action: &Action) -> Result<Answer, Error> {
        let cell = action.cell();
        if let Action::ReadGroup(_) = action {
            let group: Vec<Cell> = self.schema.group_of(cell).collect();
            let reading = self.fetch(&group)?;
            let mut stored = Vec::new();
            for entry in &reading.entries {
                let text = entry.as_ref().map(|entry| entry.value.as_str());
                stored.push(self.parsed(text)?);
            }
            let stored = stored.into_iter();
            return Ok(cells::rows(&self.schema, &self.overlay, &group, stored));
        }
        if matches!(action, Action::Read(_)) && self.overlay.has(cell) {
            return Ok(Answer::Value(self.overlay.number(cell, None), None));
        }
        let reading = self.fetch(&[cell])?;
        let entry = reading.entries.into_iter().next().flatten();
        let text = entry.as_ref().map(|entry| entry.value.as_str());
        let written = self.overlay.has(cell);
        let version = entry.as_ref().map(|entry| entry.revision);
        match action {
            Action::ReadList(_) => Ok(Answer::Values(
                self.overlay.list(cell, self.elements(text)?),
            )),
            Action::ReadSet(_) => Ok(Answer::Values(self.overlay.set(cell, self.elements(text)?))),
            _ => {
                let stored = self.parsed(text)?;
                let stored = stored.or_else(|| cells::absent(&self.schema, cell));
                // What is read through own writes has no version yet.
                let version = version.filter(|_| !written);
                Ok(Answer::Value(self.overlay.number(cell, stored), version))
            }
        }
    }

    fn write(&mut self, action: &Action) -> Result<Answer, Error> {
        let blind = matches!(action, Action::Write(..));
        if !blind && self.mode == STALE {
            return Err(Error::hopeless(
                "etcd has no lists, sets or counters: they are read, changed and written, which the \
                 setting 'stale' does not protect; use 'serializable' or 'snapshot'",
            ));
        }
        if !blind && !self.found.contains_key(&action.cell()) {
            self.fetch(&[action.cell()])?;
        }
        self.overlay.write(action);
        Ok(Answer::Done)
    }

    fn parsed(&self, text: Option<&str>) -> Result<Option<i64>, Error> {
        let parsed = text.map(str::parse).transpose();
        parsed.map_err(|_| self.foreign(text))
    }

    fn elements(&self, text: Option<&str>) -> Result<Vec<i64>, Error> {
        sql::numbers(text.unwrap_or_default()).map_err(|_| self.foreign(text))
    }

    fn foreign(&self, text: Option<&str>) -> Error {
        let start: String = text.unwrap_or_default().chars().take(100).collect();
        let shown = &self.shown;
        Error::hopeless(format!("{shown}: somebody else wrote there: {start}"))
    }

    /// What is to stand in a cell after the commit.
    fn final_text(&self, cell: Cell) -> Result<String, Error> {
        let found = self.found.get(&cell).and_then(|(text, _)| text.as_deref());
        let list = |all: Vec<i64>| format!("{all:?}");
        match self.schema.column(cell).kind {
            ColumnKind::List(_) => Ok(list(self.overlay.list(cell, self.elements(found)?))),
            ColumnKind::Set => Ok(list(self.overlay.set(cell, self.elements(found)?))),
            ColumnKind::Counter => {
                let sum = self.overlay.number(cell, self.parsed(found)?);
                Ok(sum.unwrap_or(0).to_string())
            }
            ColumnKind::Register => Ok(self.overlay.number(cell, None).unwrap_or(0).to_string()),
        }
    }

    /// The conditions of the commit.
    fn conditions(&self) -> Vec<Value> {
        let condition = |cell: Cell, result: &str, revision: u64| {
            json!({
                "key": encode(cells::key(&self.schema, cell).as_bytes()),
                "target": "MOD",
                "result": result,
                "mod_revision": revision.to_string(),
            })
        };
        match (self.mode, self.snapshot) {
            (SERIALIZABLE, _) => self
                .found
                .iter()
                .map(|(cell, (_, revision))| condition(*cell, "EQUAL", *revision))
                .collect(),
            (SNAPSHOT, Some(revision)) => self
                .overlay
                .cells()
                .map(|cell| condition(cell, "LESS", revision.saturating_add(1)))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn commit_request(&self) -> Result<Value, Error> {
        let mut steps = Vec::new();
        for cell in self.overlay.cells() {
            let key = encode(cells::key(&self.schema, cell).as_bytes());
            let value = encode(self.final_text(cell)?.as_bytes());
            steps.push(json!({"request_put": {"key": key, "value": value}}));
        }
        if let (true, Some((cell, _))) = (steps.is_empty(), self.found.first_key_value()) {
            // etcd compares against a state that may be late unless something is read linearizably.
            let key = cells::key(&self.schema, *cell);
            let range = gateway::range(&key, Freshness::Linearizable);
            steps.push(json!({"request_range": range}));
        }
        Ok(json!({"compare": self.conditions(), "success": steps}))
    }

    fn send_commit(&mut self) -> Result<Commit, Error> {
        let writes = !self.overlay.is_empty();
        // A single linearizable read, or reads of one revision, are of one state as they are.
        if !writes && (self.mode != SERIALIZABLE || self.reads <= 1) {
            return Ok(Commit::default());
        }
        let request = self.commit_request()?;
        if self.client.is_closed() {
            let message = format!("{}: the server closed the connection", self.shown);
            return Err(Error::new(Fate::Lost, message));
        }
        let answer = gateway::post(&mut self.client, "/v3/kv/txn", &request);
        let answer = answer.map_err(|failure: Failure| match writes {
            true => failure.of_commit(&self.shown),
            false => failure.harmless(&self.shown),
        })?;
        if answer["succeeded"] != Value::Bool(true) {
            let message = "something read or written here has changed";
            return Err(Error::new(Fate::Aborted, message).with_code("compare"));
        }
        let revision = number(&answer["header"]["revision"]);
        Ok(Commit {
            version: revision.filter(|_| writes),
            ..Commit::default()
        })
    }

    fn forget(&mut self) {
        self.found.clear();
        self.reads = 0;
        self.snapshot = None;
        self.overlay.clear();
    }
}

impl Connection for Session {
    fn begin(&mut self) -> Result<(), Error> {
        self.forget();
        Ok(())
    }

    fn run(&mut self, action: &Action) -> Result<Answer, Error> {
        if !cells::fits(&self.schema, action) {
            return Err(Error::hopeless(
                "etcd: an action on a column of another kind",
            ));
        }
        match action.writes() {
            true => self.write(action),
            false => self.read(action),
        }
    }

    fn commit(&mut self) -> Result<Commit, Error> {
        let commit = self.send_commit();
        self.forget();
        commit
    }

    fn rollback(&mut self) -> Result<(), Error> {
        self.forget();
        Ok(())
    }
}
