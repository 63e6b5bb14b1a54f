//! A PostgreSQL or MariaDB server with the tables of a program in a place of their own: a schema on
//! PostgreSQL, a database on MariaDB. It is dropped at the end.

use super::blocked::{self, Waits};
use super::dialect::Dialect;
use super::error::ReplayError;
use super::level::ServerLevel;
use super::tables;
use super::worker::Worker;
use crate::expr::Value;
use crate::scenario::StoredRow;
use crate::schema::{Schema, TableId, Type};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};
use workload::driver::Error;
use workload::drivers::{open_session, without_password};
use workload::session::{Cell, Reply, Session};

/// How to use a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// How long one replay may take.
    pub deadline: Duration,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            deadline: Duration::from_secs(60),
        }
    }
}

/// A server with the tables of one program.
pub struct Server {
    pub(super) dialect: Dialect,
    pub(super) schema: Schema,
    pub(super) options: ServerOptions,
    url: String,
    product: String,
    /// The schema or database that holds the tables.
    space: String,
    /// Whether it has `innodb_snapshot_isolation`.
    has_snapshot: bool,
    control: Box<dyn Session>,
    pub(super) workers: Vec<Worker>,
    /// What each worker's session is set to.
    set_to: Vec<Option<ServerLevel>>,
}

impl Server {
    /// Connects to a server and creates the tables of a program there.
    pub fn open(url: &str, schema: &Schema, options: ServerOptions) -> Result<Server, ReplayError> {
        let Some(dialect) = Dialect::of_url(url) else {
            let shown = without_password(url);
            let problem = format!("{shown}: replays run on postgres://… and mysql://…");
            return Err(ReplayError::new(problem));
        };
        // A session may wait for locks as long as a replay does; the server's answer shall come first.
        let mut control = open_session(url, options.deadline + Duration::from_secs(10))?;
        let product = control.product().to_string();
        let space = new_name();
        let has_snapshot = dialect == Dialect::MariaDb
            && control.run("select @@innodb_snapshot_isolation").is_ok();
        let created = match dialect {
            Dialect::Postgres => format!("create schema {space}"),
            Dialect::MariaDb => format!("create database {space}"),
        };
        control.run(&created)?;
        let mut server = Server {
            dialect,
            schema: schema.clone(),
            options,
            url: url.to_string(),
            product,
            space,
            has_snapshot,
            control,
            workers: Vec::new(),
            set_to: Vec::new(),
        };
        for text in server.setup() {
            server.control.run(&text)?;
        }
        for text in tables::create(dialect, schema) {
            let failed = |error: Error| ReplayError::from(error).during(&text);
            server.control.run(&text).map_err(failed)?;
        }
        for text in tables::create_views(dialect, schema) {
            // Not every program reads every view: who reads one that the server refused is told that it is not there.
            drop(server.control.run(&text));
        }
        Ok(server)
    }

    /// The server's name and version: "PostgreSQL 15.18".
    pub fn product(&self) -> &str {
        &self.product
    }

    /// Whose SQL it takes.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The isolation settings that differ on this server, the weakest first.
    pub fn levels(&self) -> Vec<ServerLevel> {
        let has = |level: &ServerLevel| match (self.dialect, level) {
            (Dialect::Postgres, ServerLevel::ReadUncommitted) => false,
            (Dialect::Postgres, ServerLevel::RepeatableReadSnapshot) => false,
            (Dialect::MariaDb, ServerLevel::RepeatableReadSnapshot) => self.has_snapshot,
            _ => true,
        };
        ServerLevel::ALL.into_iter().filter(has).collect()
    }

    /// Refuses a setting that the server does not have.
    pub(super) fn check_level(&self, level: ServerLevel) -> Result<(), ReplayError> {
        let runs_as_another = self.dialect == Dialect::Postgres;
        if self.levels().contains(&level) || runs_as_another {
            return Ok(());
        }
        let (product, name) = (&self.product, level.name());
        Err(ReplayError::new(format!(
            "{product} has no isolation setting {name}"
        )))
    }

    /// Where it is.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Whether it has `innodb_snapshot_isolation`.
    pub(super) fn has_snapshot(&self) -> bool {
        self.has_snapshot
    }

    /// The texts that a session begins with.
    pub(super) fn setup(&self) -> Vec<String> {
        let space = &self.space;
        let deadline = self.options.deadline.as_secs().max(1) + 5;
        match self.dialect {
            Dialect::Postgres => vec![
                format!("set search_path = {space}, public"),
                "set standard_conforming_strings = on".to_string(),
                "set client_min_messages = error".to_string(),
                "set default_transaction_isolation = 'read committed'".to_string(),
                format!("set statement_timeout = '{deadline}s'"),
                // What a replay commits is dropped with its schema.
                "set synchronous_commit = off".to_string(),
                // Tables of a few rows are read by index, as large ones are: a scan of all of them
                // would conflict with everything at serializable.
                "set enable_seqscan = off".to_string(),
                // Scans that are off count as the dearest plans there are, each worth compiling.
                "set jit = off".to_string(),
                // Only superusers may; others wait a second for each deadlock.
                "do $$ begin set deadlock_timeout = '5ms'; exception when others then null; end $$"
                    .to_string(),
            ],
            Dialect::MariaDb => vec![
                format!("use {space}"),
                format!("set session innodb_lock_wait_timeout = {deadline}"),
                // A row of a scenario may have the number 0, which is no question for the next one.
                "set session sql_mode = concat(@@sql_mode, ',PIPES_AS_CONCAT,NO_AUTO_VALUE_ON_ZERO')"
                    .to_string(),
                "set session transaction isolation level read committed".to_string(),
            ],
        }
    }

    /// Sees to it that there are so many sessions.
    pub(super) fn seat(&mut self, count: usize) -> Result<(), ReplayError> {
        while self.workers.len() < count {
            let patience = self.options.deadline + Duration::from_secs(10);
            let worker = Worker::start(&self.url, &self.setup(), patience)?;
            self.workers.push(worker);
            self.set_to.push(None);
        }
        Ok(())
    }

    /// The texts that set a session to a level, to be sent before its transaction begins. PostgreSQL
    /// needs none: its transactions begin with their level.
    pub(super) fn set_level(&mut self, at: usize, level: ServerLevel) -> Vec<String> {
        if self.dialect == Dialect::Postgres || self.set_to[at] == Some(level) {
            return Vec::new();
        }
        self.set_to[at] = Some(level);
        level.session(self.dialect, self.has_snapshot)
    }

    /// Ends all sessions, whatever they wait for. The next replay gets new ones.
    pub(super) fn unseat(&mut self) {
        for worker in self.workers.drain(..) {
            let text = match self.dialect {
                Dialect::Postgres => format!("select pg_terminate_backend({})", worker.id),
                Dialect::MariaDb => format!("kill {}", worker.id),
            };
            // It may have ended by itself.
            let _ = self.control.run(&text);
        }
        self.set_to.clear();
    }

    /// So many sessions, and those left over.
    pub(super) fn take_workers(&mut self, count: usize) -> (Vec<Worker>, Vec<Worker>) {
        let mut workers = std::mem::take(&mut self.workers);
        let spare = workers.split_off(count.min(workers.len()));
        (workers, spare)
    }

    /// Who of the sessions waits for a lock.
    pub(super) fn waits(&mut self, sessions: &[u64]) -> Result<Waits, ReplayError> {
        blocked::waits(self.dialect, self.control.as_mut(), sessions)
    }

    /// Runs a text in the session that no instance uses.
    pub(super) fn ask(&mut self, text: &str) -> Result<Reply, Error> {
        self.control.run(text)
    }

    /// Begins a transaction, in the session that no instance uses, that has exactly these rows.
    pub(super) fn load_within(&mut self, rows: &[StoredRow]) -> Result<(), ReplayError> {
        let mut statements = vec!["begin".to_string()];
        statements.extend(tables::load(self.dialect, &self.schema, rows)?);
        self.loaded(&statements)
    }

    /// Leaves exactly these rows in the tables.
    pub(super) fn load(&mut self, rows: &[StoredRow]) -> Result<(), ReplayError> {
        let mut statements = vec!["begin".to_string()];
        statements.extend(tables::load(self.dialect, &self.schema, rows)?);
        statements.push("commit".to_string());
        statements.extend(tables::restart(self.dialect, &self.schema, rows));
        self.loaded(&statements)
    }

    fn loaded(&mut self, statements: &[String]) -> Result<(), ReplayError> {
        let loaded = self.control.run(&statements.join("; "));
        if let Err(error) = loaded {
            // Whatever it says: the first error counts.
            let _ = self.control.run("rollback");
            let error = ReplayError::from(error);
            return Err(error.during("the first rows do not fit the tables"));
        }
        Ok(())
    }

    /// All rows of all tables, in an order that depends on nothing but their values.
    pub(super) fn rows(&mut self) -> Result<Vec<StoredRow>, ReplayError> {
        let mut found = Vec::new();
        for number in 0..self.schema.tables.len() as u32 {
            let table = TableId(number);
            let query = tables::all_rows(self.dialect, &self.schema, table);
            let types: Vec<Type> = self
                .schema
                .table(table)
                .columns
                .iter()
                .map(|c| c.ty)
                .collect();
            for row in self.control.run(&query)?.rows {
                let typed = row.iter().zip(&types).map(|(cell, ty)| value_as(cell, *ty));
                found.push(StoredRow {
                    table,
                    values: typed.collect(),
                });
            }
        }
        Ok(found)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.unseat();
        let space = &self.space;
        let text = match self.dialect {
            Dialect::Postgres => format!("drop schema {space} cascade"),
            Dialect::MariaDb => format!("drop database {space}"),
        };
        // A server that is gone keeps it; its name says whose it was.
        let _ = self.control.run(&text);
    }
}

/// A name that nobody else uses.
fn new_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let nanos = since.unwrap_or_default().as_nanos();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("isolde_replay_{}_{nanos}_{count}", std::process::id())
}

/// A value that a server gave.
pub(super) fn value_of(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Boolean(truth) => Value::Boolean(*truth),
        Cell::Integer(number) => Value::Integer(*number),
        Cell::Real(number) => Value::Real(*number),
        Cell::Text(text) => Value::Text(text.clone()),
    }
}

/// A value of a column; MariaDB's truth values are numbers.
fn value_as(cell: &Cell, ty: Type) -> Value {
    match (cell, ty) {
        (Cell::Integer(number), Type::Boolean) => Value::Boolean(*number != 0),
        _ => value_of(cell),
    }
}

/// The rows of an answer.
pub(super) fn rows_of(reply: &Reply) -> Vec<Vec<Value>> {
    let rows = reply.rows.iter();
    rows.map(|row| row.iter().map(value_of).collect()).collect()
}
