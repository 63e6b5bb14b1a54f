//! SQLite, in this process: `sqlite:PATH`, or `sqlite::memory:` for a database that connections share
//! through SQLite's shared cache.
//!
//! Transactions begin deferred: the first statement takes the snapshot, the first write the one lock
//! for writing. A write after another connection has written since the snapshot is refused, which is an
//! abort. At `read uncommitted` connections share a cache and take no locks for reading.

use crate::driver::{
    Answer, Commit, Connection, Database, Error, Fate, Isolation, Settings, choose_isolation,
};
use crate::plan::Action;
use crate::schema::{ColumnKind, Schema};
use crate::sql::{self, Catalog, Dialect};
use history::Level;
use rusqlite::{ErrorCode, OpenFlags, Row, params_from_iter};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const ISOLATIONS: &[Isolation] = &[
    Isolation {
        name: "serializable",
        promises: Level::StrictSerializable,
        because: "sqlite.org/isolation.html: all transactions are serializable",
    },
    Isolation {
        name: "read uncommitted",
        promises: Level::ReadUncommitted,
        because: "sqlite.org/sharedcache.html: PRAGMA read_uncommitted",
    },
];

/// How long to wait for a table that another connection of the same cache has locked. Two that wait for
/// each other both give up.
const TABLE_LOCK_PATIENCE: Duration = Duration::from_millis(100);

struct Sqlite {
    path: String,
    /// Tells databases in the memory of this process apart.
    number: u64,
    settings: Settings,
    isolation: Isolation,
    /// A database in memory lives as long as a connection to it.
    keeper: Mutex<Option<rusqlite::Connection>>,
}

/// Opens the file, or the memory, that the URL names.
pub fn open(urls: &[String], settings: &Settings) -> Result<Box<dyn Database>, Error> {
    let [url] = urls else {
        return Err(Error::hopeless("SQLite has one node: one URL"));
    };
    let path = url.trim_start_matches("sqlite:").trim_start_matches("//");
    if path.is_empty() {
        return Err(Error::hopeless(
            "sqlite: which file? For example sqlite:test.db, or sqlite::memory:",
        ));
    }
    let isolation = choose_isolation(settings.isolation.as_deref(), ISOLATIONS)?;
    static OPENED: AtomicU64 = AtomicU64::new(0);
    let database = Sqlite {
        path: path.to_string(),
        number: OPENED.fetch_add(1, Ordering::Relaxed),
        settings: settings.clone(),
        isolation,
        keeper: Mutex::new(None),
    };
    let keeper = database.raw()?;
    database
        .keeper
        .lock()
        .unwrap_or_else(|e| e.into_inner())
        .replace(keeper);
    Ok(Box::new(database))
}

impl Sqlite {
    fn shares_cache(&self) -> bool {
        self.path == ":memory:" || self.isolation.promises == Level::ReadUncommitted
    }

    fn raw(&self) -> Result<rusqlite::Connection, Error> {
        let mut flags = OpenFlags::default();
        if self.shares_cache() {
            flags |= OpenFlags::SQLITE_OPEN_SHARED_CACHE;
        }
        let opened = match self.path.as_str() {
            ":memory:" => {
                let name = format!("file:isolde-{}?mode=memory", self.number);
                rusqlite::Connection::open_with_flags(name, flags)
            }
            path => rusqlite::Connection::open_with_flags(path, flags),
        };
        let hopeless = |error: rusqlite::Error| Error::hopeless(format!("{}: {error}", self.path));
        let raw = opened.map_err(hopeless)?;
        // SQLite counts milliseconds in 31 bits.
        let patience = self.settings.patience.min(Duration::from_secs(86_400));
        raw.busy_timeout(patience).map_err(hopeless)?;
        if !self.shares_cache() {
            raw.pragma_update(None, "journal_mode", "wal")
                .map_err(hopeless)?;
        }
        raw.pragma_update(None, "synchronous", "off")
            .map_err(hopeless)?;
        if self.isolation.promises == Level::ReadUncommitted {
            raw.pragma_update(None, "read_uncommitted", true)
                .map_err(hopeless)?;
        }
        Ok(raw)
    }

    fn run_all(&self, statements: impl Iterator<Item = String>) -> Result<(), Error> {
        let mut raw = self.raw()?;
        let hopeless = |error: rusqlite::Error| Error::hopeless(error.to_string());
        let txn = raw.transaction().map_err(hopeless)?;
        for statement in statements {
            txn.execute_batch(&statement).map_err(hopeless)?;
        }
        txn.commit().map_err(hopeless)
    }

    fn catalog(&self, schema: &Schema) -> Catalog {
        Catalog::new(Dialect::Sqlite, self.settings.form, schema)
    }
}

impl Database for Sqlite {
    fn product(&self) -> String {
        format!("SQLite {}", rusqlite::version())
    }

    fn isolations(&self) -> &'static [Isolation] {
        ISOLATIONS
    }

    fn isolation(&self) -> Isolation {
        self.isolation
    }

    fn node_count(&self) -> usize {
        1
    }

    fn prepare(&self, schema: &Schema) -> Result<(), Error> {
        let create = sql::create(Dialect::Sqlite, schema).into_iter();
        self.run_all(create.chain(sql::fill(schema)))
    }

    fn clean(&self, schema: &Schema) -> Result<(), Error> {
        self.run_all(sql::drop_all(schema).into_iter())
    }

    fn connect(&self, _node: usize, schema: &Schema) -> Result<Box<dyn Connection>, Error> {
        let raw = self.raw()?;
        raw.set_prepared_statement_cache_capacity(256);
        Ok(Box::new(Session {
            raw,
            catalog: self.catalog(schema),
            schema: schema.clone(),
        }))
    }

    fn statement(&self, schema: &Schema, action: &Action) -> String {
        self.catalog(schema).readable(action)
    }

    fn frame(&self) -> [String; 3] {
        ["begin", "commit", "rollback"].map(str::to_string)
    }
}

struct Session {
    raw: rusqlite::Connection,
    catalog: Catalog,
    schema: Schema,
}

impl Session {
    fn simple(&mut self, text: &str) -> Result<(), Error> {
        let mut statement = self.raw.prepare_cached(text).map_err(classify)?;
        statement.execute([]).map(|_| ()).map_err(classify)
    }

    fn change(&mut self, number: usize, action: &Action) -> Result<usize, Error> {
        let Some(statement) = self.catalog.statement(number) else {
            return Err(Error::hopeless("an action on a column that is not there"));
        };
        let until = Instant::now() + TABLE_LOCK_PATIENCE;
        loop {
            let parameters = self.catalog.parameters(statement, action);
            let mut prepared = self.raw.prepare_cached(&statement.text).map_err(classify)?;
            let changed = prepared.execute(params_from_iter(parameters));
            // Connections that share a cache lock tables, and SQLite does not wait for those.
            let locked = changed
                .as_ref()
                .err()
                .and_then(rusqlite::Error::sqlite_error_code)
                == Some(ErrorCode::DatabaseLocked);
            if !locked || Instant::now() >= until {
                return changed.map_err(classify);
            }
            thread::sleep(Duration::from_micros(100));
        }
    }

    fn query<T>(
        &mut self,
        action: &Action,
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let Some(statement) = self.catalog.statement(self.catalog.number(action)) else {
            return Err(Error::hopeless("an action on a column that is not there"));
        };
        let parameters = self.catalog.parameters(statement, action);
        let mut prepared = self.raw.prepare_cached(&statement.text).map_err(classify)?;
        let rows = prepared
            .query_map(params_from_iter(parameters), row)
            .map_err(classify)?;
        rows.collect::<rusqlite::Result<Vec<T>>>().map_err(classify)
    }

    fn read_list(&mut self, action: &Action) -> Result<Answer, Error> {
        let text = self.query(action, |row| {
            let text: Option<String> = match row.get_ref(0)? {
                rusqlite::types::ValueRef::Integer(one) => Some(one.to_string()),
                _ => row.get(0)?,
            };
            Ok(text.unwrap_or_default())
        })?;
        let text = text.into_iter().next().unwrap_or_default();
        let wrong = |_| Error::hopeless(format!("not a list of integers: {text}"));
        sql::numbers(&text).map(Answer::Values).map_err(wrong)
    }
}

impl Connection for Session {
    fn begin(&mut self) -> Result<(), Error> {
        self.simple("begin")
    }

    fn run(&mut self, action: &Action) -> Result<Answer, Error> {
        if action.writes() {
            let changed = self.change(self.catalog.number(action), action)?;
            if changed == 0
                && let Some(insert) = self.catalog.insert_number(action)
            {
                self.change(insert, action)?;
            }
            return Ok(Answer::Done);
        }
        match self.schema.column(action.cell()).kind {
            ColumnKind::List(_) => self.read_list(action),
            ColumnKind::Set => self.query(action, |row| row.get(0)).map(Answer::Values),
            _ if matches!(action, Action::ReadGroup(_)) => {
                let rows = self.query(action, |row| Ok((row.get(0)?, row.get(1)?)))?;
                Ok(Answer::Rows(rows))
            }
            _ => {
                let values = self.query(action, |row| row.get(0))?;
                Ok(Answer::Value(values.first().copied(), None))
            }
        }
    }

    fn commit(&mut self) -> Result<Commit, Error> {
        self.simple("commit")?;
        Ok(Commit::default())
    }

    fn rollback(&mut self) -> Result<(), Error> {
        // SQLite rolls back by itself after some errors.
        if self.raw.is_autocommit() {
            return Ok(());
        }
        self.simple("rollback")
    }
}

/// SQLite runs in this process, so nothing is ever unknown: an error means that nothing was committed.
fn classify(error: rusqlite::Error) -> Error {
    let code = error.sqlite_error_code();
    let extended = error.sqlite_error().map(|e| e.extended_code.to_string());
    let fate = match code {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::OperationAborted
            | ErrorCode::OperationInterrupted
            | ErrorCode::ConstraintViolation
            | ErrorCode::SchemaChanged,
        ) => Fate::Aborted,
        _ => Fate::Hopeless,
    };
    Error {
        fate,
        code: extended,
        message: error.to_string(),
    }
}
