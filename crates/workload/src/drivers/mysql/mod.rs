//! MySQL, MariaDB and Galera clusters: `mysql://user:password@host:port/database`, or `mariadb://…`.
//!
//! Several URLs are several nodes, of which one at least takes writes. Parameters of the URL:
//! `socket=PATH`, `snapshot_isolation=on|off` (MariaDB's `innodb_snapshot_isolation`) and
//! `wsrep_sync_wait=NUMBER` (Galera: wait for the cluster before reads).
//!
//! Some errors roll back the transaction, some only the statement, and after a roll back the server takes further
//! statements, each a transaction of its own. So nothing is sent after an error but `rollback`.

mod fate;
mod place;
mod plain;

pub use plain::open as open_plain;

use crate::driver::{
    Answer, Commit, Connection, Database, Error, Fate, Isolation, Settings, choose_isolation,
};
use crate::drivers::gate::Gate;
use crate::plan::Action;
use crate::schema::{ColumnKind, Schema};
use crate::sql::{self, Catalog, Dialect};
use ::mysql::consts::CapabilityFlags;
use ::mysql::prelude::Queryable;
use ::mysql::{Conn, OptsBuilder, Params, Row, Statement, Value};
use fate::Phase;
use history::Level;
use place::{Place, product_name};
use std::time::{Duration, Instant, SystemTime};

const ISOLATIONS: &[Isolation] = &[
    Isolation {
        name: "repeatable read",
        promises: Level::SnapshotIsolation,
        because: "InnoDB manual, consistent nonlocking reads: all reads are of one snapshot",
    },
    Isolation {
        name: "read committed",
        promises: Level::ReadCommitted,
        because: "InnoDB manual, transaction isolation levels",
    },
    Isolation {
        name: "read uncommitted",
        promises: Level::ReadUncommitted,
        because: "InnoDB manual, transaction isolation levels: dirty reads",
    },
    Isolation {
        name: "serializable",
        promises: Level::Serializable,
        because: "InnoDB manual, transaction isolation levels: reads lock",
    },
];

struct Node {
    place: Place,
    takes_writes: bool,
    gate: Gate,
}

struct MySql {
    nodes: Vec<Node>,
    product: String,
    settings: Settings,
    isolation: Isolation,
}

/// Connects to every node once, and asks what it is.
pub fn open(urls: &[String], settings: &Settings) -> Result<Box<dyn Database>, Error> {
    let isolation = choose_isolation(settings.isolation.as_deref(), ISOLATIONS)?;
    let mut nodes = Vec::new();
    let mut product = String::new();
    for url in urls {
        let place = Place::parse(url)?;
        let mut raw = raw(&place, isolation, settings)?;
        if product.is_empty() {
            let version = ask(&mut raw, "select version()")?.unwrap_or_default();
            let wsrep = ask(
                &mut raw,
                "select variable_value from information_schema.global_variables where variable_name = 'wsrep_on'",
            );
            // MySQL has neither the table there nor the variable.
            product = product_name(&version, wsrep.ok().flatten().as_deref() == Some("ON"));
        }
        let read_only = ask(&mut raw, "select @@global.read_only")?;
        nodes.push(Node {
            place,
            takes_writes: read_only.as_deref() == Some("0"),
            gate: Gate::default(),
        });
    }
    Ok(Box::new(MySql {
        nodes,
        product,
        settings: settings.clone(),
        isolation,
    }))
}

/// Connects and sets the session up.
fn raw(place: &Place, isolation: Isolation, settings: &Settings) -> Result<Conn, Error> {
    let patience = Some(settings.patience);
    let address = &place.address;
    let options = OptsBuilder::new()
        .ip_or_hostname(Some(place.host()))
        .tcp_port(address.port.unwrap_or(3306))
        .socket(place.socket.as_deref())
        .prefer_socket(false)
        .user(address.user.as_deref().or(Some("root")))
        .pass(address.password.as_deref())
        .db_name(address.database.as_deref())
        .tcp_nodelay(true)
        .tcp_connect_timeout(patience)
        .read_timeout(patience)
        .write_timeout(patience)
        // Sessions keep their statements themselves.
        .stmt_cache_size(0)
        // An update that finds its row counts it even if the row had that value.
        .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS)
        .init(place.setup(isolation, settings.patience));
    Conn::new(options).map_err(|error| {
        let error = classify(error, Phase::Connect);
        Error {
            message: format!("{}: {}", address.shown, error.message),
            ..error
        }
    })
}

/// The first field of the first row.
fn ask(raw: &mut Conn, text: &str) -> Result<Option<String>, Error> {
    let classify = |error| classify(error, Phase::Statement);
    let mut result = raw.query_iter(text).map_err(classify)?;
    let row = result.next().transpose().map_err(classify)?;
    Ok(row.and_then(|row| match row.as_ref(0) {
        Some(Value::Bytes(text)) => Some(String::from_utf8_lossy(text).into_owned()),
        Some(Value::Int(number)) => Some(number.to_string()),
        _ => None,
    }))
}

impl MySql {
    fn catalog(&self, schema: &Schema) -> Catalog {
        Catalog::new(Dialect::MySql, self.settings.form, schema)
    }

    fn raw(&self, node: usize) -> Result<Conn, Error> {
        let Some(node) = self.nodes.get(node) else {
            return Err(Error::hopeless(format!("there is no node {node}")));
        };
        let _inside = node.gate.enter(self.settings.patience);
        raw(&node.place, self.isolation, &self.settings)
    }

    fn run_all(&self, statements: impl Iterator<Item = String>) -> Result<usize, Error> {
        let primary = (0..self.nodes.len())
            .find(|&node| self.takes_writes(node))
            .ok_or_else(|| Error::hopeless("no node takes writes: all are read-only"))?;
        let mut raw = self.raw(primary)?;
        for statement in statements {
            raw.query_drop(statement)
                .map_err(|error| classify(error, Phase::Statement))?;
        }
        Ok(primary)
    }

    /// Waits until a node shows the mark on the tables. Changes of tables are replicated in order with
    /// everything before them.
    fn await_mark(&self, node: usize, table: &str, mark: &str) -> Result<(), Error> {
        let mut raw = self.raw(node)?;
        let question = format!(
            "select table_comment from information_schema.tables \
             where table_schema = database() and table_name = '{table}'"
        );
        let deadline = Instant::now() + self.settings.patience;
        while ask(&mut raw, &question)?.as_deref() != Some(mark) {
            if Instant::now() > deadline {
                let patience = self.settings.patience;
                return Err(self.nodes[node].place.address.hopeless(format!(
                    "the tables did not get there within {patience:?}: is it in one cluster with \
                     the first node?"
                )));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Database for MySql {
    fn product(&self) -> String {
        self.product.clone()
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

    fn takes_writes(&self, node: usize) -> bool {
        self.nodes.get(node).is_some_and(|node| node.takes_writes)
    }

    fn prepare(&self, schema: &Schema) -> Result<(), Error> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let nanos = since.unwrap_or_default().as_nanos();
        let mark = format!("created by Isolde, {nanos}.{}", std::process::id());
        let table = schema.tables.last().map_or("", |table| table.name);
        let engine = "set session default_storage_engine = innodb".to_string();
        let create = sql::create(Dialect::MySql, schema);
        let comment = format!("alter table {table} comment = '{mark}'");
        let statements = [engine].into_iter().chain(create);
        let primary = self.run_all(statements.chain(sql::fill(schema)).chain([comment]))?;
        for node in (0..self.nodes.len()).filter(|&node| node != primary) {
            self.await_mark(node, table, &mark)?;
        }
        Ok(())
    }

    fn clean(&self, schema: &Schema) -> Result<(), Error> {
        self.run_all(sql::drop_all(schema).into_iter()).map(|_| ())
    }

    fn connect(&self, node: usize, schema: &Schema) -> Result<Box<dyn Connection>, Error> {
        let catalog = self.catalog(schema);
        Ok(Box::new(Session {
            raw: self.raw(node)?,
            statements: vec![None; catalog.len()],
            catalog,
            schema: schema.clone(),
            state: State::Good,
            ids: self.settings.ids,
        }))
    }

    fn statement(&self, schema: &Schema, action: &Action) -> String {
        self.catalog(schema).readable(action)
    }

    fn frame(&self) -> [String; 3] {
        ["begin", "commit", "rollback"].map(str::to_string)
    }
}

/// What a session may do next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    /// A statement failed: roll back.
    Failed,
    /// Nothing.
    Broken,
}

struct Session {
    raw: Conn,
    statements: Vec<Option<Statement>>,
    catalog: Catalog,
    schema: Schema,
    state: State,
    ids: bool,
}

impl Session {
    /// Whether something may be sent.
    fn check(&self) -> Result<(), Error> {
        match self.state {
            State::Good => Ok(()),
            State::Failed => Err(Error::new(Fate::Aborted, "a statement had failed")),
            State::Broken => Err(Error::new(Fate::Lost, "the connection was lost before")),
        }
    }

    fn failed(&mut self, error: ::mysql::Error, phase: Phase) -> Error {
        let error = classify(error, phase);
        self.state = match error.fate {
            Fate::Lost | Fate::Unknown => State::Broken,
            Fate::Aborted | Fate::Hopeless => State::Failed,
        };
        error
    }

    fn simple(&mut self, text: &str, phase: Phase) -> Result<(), Error> {
        self.raw
            .query_drop(text)
            .map_err(|error| self.failed(error, phase))
    }

    /// Runs a statement; tells how many rows it changed.
    fn execute(
        &mut self,
        number: usize,
        action: &Action,
        mut on_row: impl FnMut(&Row) -> Option<()>,
    ) -> Result<u64, Error> {
        let outcome = self.try_execute(number, action, &mut on_row);
        match outcome {
            Ok(Some(rows)) => Ok(rows),
            Ok(None) => Err(Error::hopeless("not the integers that were asked for")),
            Err(error) => Err(self.failed(error, Phase::Statement)),
        }
    }

    fn try_execute(
        &mut self,
        number: usize,
        action: &Action,
        on_row: &mut dyn FnMut(&Row) -> Option<()>,
    ) -> ::mysql::Result<Option<u64>> {
        let Some(statement) = self.catalog.statement(number) else {
            return Ok(None);
        };
        let prepared = match &self.statements[number] {
            Some(prepared) => prepared.clone(),
            None => {
                let prepared = self.raw.prep(&statement.text)?;
                self.statements[number].insert(prepared).clone()
            }
        };
        let parameters = self.catalog.parameters(statement, action);
        let parameters = Params::Positional(parameters.map(Value::Int).collect());
        let mut result = self.raw.exec_iter(prepared, parameters)?;
        let changed = result.affected_rows();
        let mut understood = Some(());
        for row in result.by_ref() {
            understood = understood.and(on_row(&row?));
        }
        Ok(understood.map(|()| changed))
    }

    fn read(&mut self, number: usize, action: &Action) -> Result<Answer, Error> {
        let mut values = Vec::new();
        match self.schema.column(action.cell()).kind {
            ColumnKind::List(_) => {
                self.execute(number, action, |row| {
                    values = list(row.as_ref(0)?)?;
                    Some(())
                })?;
                Ok(Answer::Values(values))
            }
            _ if matches!(action, Action::ReadGroup(_)) => {
                let mut rows = Vec::new();
                self.execute(number, action, |row| {
                    rows.push((integer(row.as_ref(0)?)?, integer(row.as_ref(1)?)?));
                    Some(())
                })?;
                Ok(Answer::Rows(rows))
            }
            kind => {
                self.execute(number, action, |row| {
                    values.push(integer(row.as_ref(0)?)?);
                    Some(())
                })?;
                match kind {
                    ColumnKind::Set => Ok(Answer::Values(values)),
                    _ => Ok(Answer::Value(values.first().copied(), None)),
                }
            }
        }
    }
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        Value::UInt(number) => i64::try_from(*number).ok(),
        _ => None,
    }
}

fn list(value: &Value) -> Option<Vec<i64>> {
    match value {
        Value::NULL => Some(Vec::new()),
        Value::Bytes(text) => sql::numbers(std::str::from_utf8(text).ok()?).ok(),
        _ => None,
    }
}

impl Connection for Session {
    fn begin(&mut self) -> Result<(), Error> {
        self.check()?;
        self.simple("begin", Phase::Statement)
    }

    fn run(&mut self, action: &Action) -> Result<Answer, Error> {
        self.check()?;
        let number = self.catalog.number(action);
        if !action.writes() {
            return self.read(number, action);
        }
        let changed = self.execute(number, action, |_| Some(()))?;
        if changed == 0
            && let Some(insert) = self.catalog.insert_number(action)
        {
            self.execute(insert, action, |_| Some(()))?;
        }
        Ok(Answer::Done)
    }

    fn commit(&mut self) -> Result<Commit, Error> {
        self.check()?;
        self.simple("commit", Phase::Commit)?;
        let mut commit = Commit::default();
        if self.ids {
            let id = self.raw.connection_id().to_string();
            commit.info.push(("connection", id));
        }
        Ok(commit)
    }

    fn rollback(&mut self) -> Result<(), Error> {
        if self.state == State::Failed {
            self.state = State::Good;
        }
        self.check()?;
        self.simple("rollback", Phase::Statement)
    }
}

/// What an error of the crate means.
fn classify(error: ::mysql::Error, phase: Phase) -> Error {
    match error {
        ::mysql::Error::MySqlError(told) => fate::classify(told.code, &told.message, phase),
        ::mysql::Error::IoError(error) => fate::broken(&error.to_string(), phase),
        other if phase == Phase::Connect => match other {
            ::mysql::Error::DriverError(
                error @ (::mysql::DriverError::UnknownAuthPlugin(_)
                | ::mysql::DriverError::OldMysqlPasswordDisabled
                | ::mysql::DriverError::CleartextPluginDisabled
                | ::mysql::DriverError::UnsupportedProtocol(_)
                | ::mysql::DriverError::Protocol41NotSet
                | ::mysql::DriverError::CouldNotParseVersion),
            ) => Error::hopeless(error.to_string()),
            ::mysql::Error::DriverError(error) => fate::broken(&error.to_string(), phase),
            other => fate::broken(&other.to_string(), phase),
        },
        other => fate::broken(&other.to_string(), phase),
    }
}
