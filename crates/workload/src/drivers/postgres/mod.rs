//! PostgreSQL, and what speaks its protocol: `postgres://user:password@host:port/database`.
//!
//! Several URLs are several nodes, of which one at least takes writes; the others are its replicas. A replica
//! refuses `serializable`: there transactions begin at `repeatable read`, and what they read need not
//! be serializable (the manual, 27.4 "Hot Standby", says so).
//!
//! The protocol is spoken over blocking sockets, one thread a session, for that costs the least
//! per statement. There is no TLS.

mod fate;
mod link;
mod login;
mod plain;
mod wire;

pub use plain::open as open_plain;

use crate::driver::{
    Answer, Commit, Connection, Database, Error, Fate, Isolation, Settings, choose_isolation,
};
use crate::drivers::gate::Gate;
use crate::plan::Action;
use crate::schema::{ColumnKind, Schema};
use crate::sql::{self, Catalog, Dialect};
use fate::Phase;
use history::Level;
use link::{Done, Link, OnRow};
use login::Login;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use wire::{Fields, garbage};

const ISOLATIONS: &[Isolation] = &[
    Isolation {
        name: "read committed",
        promises: Level::ReadCommitted,
        because: "PostgreSQL manual 13.2.1",
    },
    Isolation {
        name: "repeatable read",
        promises: Level::SnapshotIsolation,
        because: "PostgreSQL manual 13.2.2: implemented as snapshot isolation",
    },
    Isolation {
        name: "serializable",
        promises: Level::Serializable,
        because: "PostgreSQL manual 13.2.3",
    },
    Isolation {
        name: "read uncommitted",
        promises: Level::ReadCommitted,
        because: "PostgreSQL manual 13.2: read uncommitted behaves like read committed",
    },
];

struct Node {
    login: Login,
    takes_writes: AtomicBool,
    gate: Gate,
}

struct Postgres {
    nodes: Vec<Node>,
    version: String,
    settings: Settings,
    isolation: Isolation,
}

/// Connects to every node once, and asks whether it takes writes.
pub fn open(urls: &[String], settings: &Settings) -> Result<Box<dyn Database>, Error> {
    let isolation = choose_isolation(settings.isolation.as_deref(), ISOLATIONS)?;
    let mut nodes = Vec::new();
    let mut version = String::new();
    for url in urls {
        let login = Login::parse(url)?;
        let mut link = Link::open(&login, settings.patience)?;
        let in_recovery = ask(&mut link, "select pg_is_in_recovery()")?;
        if version.is_empty() {
            version = link.version.clone();
        }
        nodes.push(Node {
            login,
            takes_writes: AtomicBool::new(in_recovery.as_deref() != Some("t")),
            gate: Gate::default(),
        });
    }
    Ok(Box::new(Postgres {
        nodes,
        version,
        settings: settings.clone(),
        isolation,
    }))
}

/// The first field of the first row.
fn ask(link: &mut Link, text: &str) -> Result<Option<String>, Error> {
    let mut answer = None;
    link.simple(text, &mut |fields| {
        answer = fields.text()?.map(str::to_string);
        Ok(())
    })?;
    Ok(answer)
}

impl Postgres {
    fn catalog(&self, schema: &Schema) -> Catalog {
        Catalog::new(Dialect::Postgres, self.settings.form, schema)
    }

    fn link(&self, node: usize) -> Result<Link, Error> {
        let node = self
            .nodes
            .get(node)
            .ok_or_else(|| Error::hopeless(format!("there is no node {node}")))?;
        let link = {
            let _inside = node.gate.enter(self.settings.patience);
            Link::open(&node.login, self.settings.patience)?
        };
        if let Some(standby) = link.standby {
            node.takes_writes.store(!standby, Ordering::Relaxed);
        }
        Ok(link)
    }

    fn primary(&self) -> Result<usize, Error> {
        (0..self.nodes.len())
            .find(|&node| self.takes_writes(node))
            .ok_or_else(|| Error::hopeless("no node takes writes: all are replicas"))
    }

    /// Runs statements in one transaction on the primary, so that replicas see all of them or none.
    fn run_all(&self, statements: impl Iterator<Item = String>) -> Result<usize, Error> {
        let primary = self.primary()?;
        let mut link = self.link(primary)?;
        let mut run = |text: &str| link.simple(text, &mut |_| Ok(()));
        run("begin")?;
        for statement in statements {
            run(&statement)?;
        }
        if run("commit")?.rolled_back {
            return Err(Error::hopeless("the tables could not be created"));
        }
        Ok(primary)
    }

    /// Waits until a node shows the mark on the tables.
    fn await_mark(&self, node: usize, table: &str, mark: &str) -> Result<(), Error> {
        let mut link = self.link(node)?;
        let question = format!("select obj_description(to_regclass('{table}'), 'pg_class')");
        let deadline = Instant::now() + self.settings.patience;
        while ask(&mut link, &question)?.as_deref() != Some(mark) {
            if Instant::now() > deadline {
                return Err(Error::hopeless(format!(
                    "{}: the tables did not get there within {:?}: is it a replica of the first node?",
                    self.nodes[node].login.shown, self.settings.patience
                )));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

/// A word that no other run uses.
fn new_mark() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let nanos = since.unwrap_or_default().as_nanos();
    format!("created by Isolde, {nanos}.{}", std::process::id())
}

impl Database for Postgres {
    fn product(&self) -> String {
        // "15.18 (Debian 15.18-0+deb12u1)"
        let number = self.version.split(' ').next().unwrap_or_default();
        format!("PostgreSQL {number}").trim_end().to_string()
    }

    fn isolations(&self) -> &'static [Isolation] {
        ISOLATIONS
    }

    fn isolation(&self) -> Isolation {
        self.isolation
    }

    fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// As of the last connection to the node; before PostgreSQL 14, as of the start.
    fn takes_writes(&self, node: usize) -> bool {
        let node = self.nodes.get(node);
        node.is_some_and(|node| node.takes_writes.load(Ordering::Relaxed))
    }

    fn prepare(&self, schema: &Schema) -> Result<(), Error> {
        let create = sql::create(Dialect::Postgres, schema).into_iter();
        let table = schema.tables.last().map_or("", |table| table.name);
        let mark = new_mark();
        let comment = format!("comment on table {table} is '{mark}'");
        let primary = self.run_all(create.chain(sql::fill(schema)).chain([comment]))?;
        for node in (0..self.nodes.len()).filter(|&node| node != primary) {
            self.await_mark(node, table, &mark)?;
        }
        Ok(())
    }

    fn clean(&self, schema: &Schema) -> Result<(), Error> {
        self.run_all(sql::drop_all(schema).into_iter()).map(|_| ())
    }

    fn connect(&self, node: usize, schema: &Schema) -> Result<Box<dyn Connection>, Error> {
        let link = self.link(node)?;
        let catalog = self.catalog(schema);
        let mut session = Session {
            standby: link.standby.unwrap_or(!self.takes_writes(node)),
            serializable: self.isolation.promises == Level::Serializable,
            ids: false,
            prepared: vec![None; catalog.len()],
            link,
            catalog,
            schema: schema.clone(),
        };
        session.prepare_frame(self.isolation.name)?;
        if self.settings.ids {
            session.prepare_ids()?;
        }
        Ok(Box::new(session))
    }

    fn statement(&self, schema: &Schema, action: &Action) -> String {
        self.catalog(schema).readable(action)
    }

    fn frame(&self) -> [String; 3] {
        let begin = begin_text(self.isolation.name);
        [begin, "commit".to_string(), "rollback".to_string()]
    }
}

fn begin_text(isolation: &str) -> String {
    format!("begin isolation level {isolation}")
}

/// The names of prepared statements that every session has.
const BEGIN: &str = "begin";
const BEGIN_ON_REPLICA: &str = "begin_on_replica";
const COMMIT: &str = "commit";
const ROLLBACK: &str = "rollback";
const IDS: &str = "ids";

struct Session {
    link: Link,
    catalog: Catalog,
    schema: Schema,
    /// The names of the catalog's statements that the server knows.
    prepared: Vec<Option<String>>,
    /// Whether the node was a replica when we connected.
    standby: bool,
    serializable: bool,
    /// Whether to ask for the transaction's id.
    ids: bool,
}

impl Session {
    fn prepare_frame(&mut self, isolation: &str) -> Result<(), Error> {
        let frame = [
            (BEGIN, begin_text(isolation)),
            (BEGIN_ON_REPLICA, begin_text("repeatable read")),
            (COMMIT, "commit".to_string()),
            (ROLLBACK, "rollback".to_string()),
        ];
        for (name, text) in frame {
            self.link.put_parse(name, &text, 0);
        }
        self.link.finish(Phase::Statement, &mut |_| Ok(()))?;
        Ok(())
    }

    /// A server that is too old, or only speaks PostgreSQL's protocol, may not have the function.
    fn prepare_ids(&mut self) -> Result<(), Error> {
        let text = "select pg_current_xact_id_if_assigned()::text";
        self.link.put_parse(IDS, text, 0);
        match self.link.finish(Phase::Statement, &mut |_| Ok(())) {
            Ok(_) => self.ids = true,
            Err(error) if matches!(error.fate, Fate::Hopeless | Fate::Aborted) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn frame(&mut self, name: &str) -> Result<Done, Error> {
        self.link.put_execute(name, std::iter::empty());
        self.link.finish(Phase::Statement, &mut |_| Ok(()))
    }

    fn execute(
        &mut self,
        number: usize,
        action: &Action,
        on_row: OnRow<'_>,
    ) -> Result<Done, Error> {
        let Some(statement) = self.catalog.statement(number) else {
            return Err(Error::hopeless("an action on a column that is not there"));
        };
        let parameters = self.catalog.parameters(statement, action);
        if let Some(name) = &self.prepared[number] {
            self.link.put_execute(name, parameters);
            return self.link.finish(Phase::Statement, on_row);
        }
        let name = format!("s{number}");
        let count = statement.parameters.len();
        self.link.put_parse(&name, &statement.text, count);
        self.link.put_execute(&name, parameters);
        let done = self.link.finish(Phase::Statement, on_row);
        // A statement stays prepared if its transaction fails.
        if self.link.has_parsed() {
            self.prepared[number] = Some(name);
        }
        done
    }

    fn change(&mut self, number: usize, action: &Action) -> Result<u64, Error> {
        let done = self.execute(number, action, &mut |_| Ok(()))?;
        Ok(done.rows)
    }

    fn read_list(&mut self, number: usize, action: &Action) -> Result<Answer, Error> {
        let mut values = Vec::new();
        self.execute(number, action, &mut |fields| {
            let text = fields.text()?.unwrap_or_default();
            values = sql::numbers(text).map_err(|_| garbage("not a list of integers"))?;
            Ok(())
        })?;
        Ok(Answer::Values(values))
    }

    fn read_set(&mut self, number: usize, action: &Action) -> Result<Answer, Error> {
        let mut values = Vec::new();
        self.execute(number, action, &mut |fields| {
            values.extend(fields.number()?);
            Ok(())
        })?;
        Ok(Answer::Values(values))
    }

    fn read_group(&mut self, number: usize, action: &Action) -> Result<Answer, Error> {
        let mut rows = Vec::new();
        self.execute(number, action, &mut |fields| {
            if let (Some(row), Some(value)) = (fields.number()?, fields.number()?) {
                rows.push((row, value));
            }
            Ok(())
        })?;
        Ok(Answer::Rows(rows))
    }

    fn read_value(&mut self, number: usize, action: &Action) -> Result<Answer, Error> {
        let mut value = None;
        self.execute(number, action, &mut |fields: &mut Fields<'_>| {
            value = fields.number()?;
            Ok(())
        })?;
        Ok(Answer::Value(value, None))
    }
}

impl Connection for Session {
    fn begin(&mut self) -> Result<(), Error> {
        let standby = self.link.standby.unwrap_or(self.standby);
        let name = match self.serializable && standby {
            true => BEGIN_ON_REPLICA,
            false => BEGIN,
        };
        self.frame(name).map(|_| ())
    }

    fn run(&mut self, action: &Action) -> Result<Answer, Error> {
        let number = self.catalog.number(action);
        if action.writes() {
            let changed = self.change(number, action)?;
            if changed == 0
                && let Some(insert) = self.catalog.insert_number(action)
            {
                self.change(insert, action)?;
            }
            return Ok(Answer::Done);
        }
        match self.schema.column(action.cell()).kind {
            ColumnKind::List(_) => self.read_list(number, action),
            ColumnKind::Set => self.read_set(number, action),
            _ if matches!(action, Action::ReadGroup(_)) => self.read_group(number, action),
            _ => self.read_value(number, action),
        }
    }

    fn commit(&mut self) -> Result<Commit, Error> {
        let mut commit = Commit::default();
        if self.ids {
            self.link.put_execute(IDS, std::iter::empty());
            commit.info.push(("pid", self.link.pid.to_string()));
        }
        self.link.put_execute(COMMIT, std::iter::empty());
        let info = &mut commit.info;
        let done = self.link.finish(Phase::Commit, &mut |fields| {
            info.extend(fields.text()?.map(|xid| ("xid", xid.to_string())));
            Ok(())
        })?;
        match done.rolled_back {
            true => Err(Error::new(
                Fate::Aborted,
                "the server answered COMMIT by ROLLBACK: a statement had failed",
            )),
            false => Ok(commit),
        }
    }

    fn rollback(&mut self) -> Result<(), Error> {
        if !self.link.in_transaction {
            return Ok(());
        }
        self.frame(ROLLBACK).map(|_| ())
    }
}
