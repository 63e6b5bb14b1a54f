//! redb: `redb:PATH`, a file.
//!
//! redb has transactions that read a snapshot and transactions that write, of which there is one at a time. A
//! driver cannot know at the beginning whether a transaction is going to write, so there are two settings:
//! - `serializable`: every transaction is one that writes, from its beginning; all take turns.
//! - `deferred`: a transaction begins with a snapshot and goes over to one that writes at its first
//!   write, which is refused if anything was committed since the snapshot, as SQLite does it.
//!
//! Waiting for the turn ends after the patience, with an abort, because redb itself would wait forever.
//! Commits are not forced to disk but for one in many, which lets redb use old pages again.

use super::{Store, run, statement};
use crate::driver::{
    Answer, Commit, Connection, Database, Error, Fate, Isolation, Settings, choose_isolation,
};
use crate::plan::Action;
use crate::schema::{Cell, Schema};
use history::Level;
use redb::{
    Durability, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction,
};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const DEFERRED: &str = "deferred";

const ISOLATIONS: &[Isolation] = &[
    Isolation {
        name: "serializable",
        promises: Level::StrictSerializable,
        because: "redb's design document: one isolation level, serializable",
    },
    Isolation {
        name: DEFERRED,
        promises: Level::StrictSerializable,
        because: "redb's design document: readers have a snapshot, writers take turns",
    },
];

/// Every so many commits one is forced to disk.
const COMMITS_PER_SYNC: u64 = 256;

type Table<'a> = TableDefinition<'a, (i64, u16), &'static str>;

struct Redb {
    shared: Arc<Shared>,
    isolation: Isolation,
}

/// The file, and whose turn it is to write.
struct Shared {
    file: redb::Database,
    turn: Mutex<Turn>,
    changed: Condvar,
    patience: Duration,
}

#[derive(Default)]
struct Turn {
    taken: bool,
    /// Commits so far.
    version: u64,
}

/// Opens the file, or makes it.
pub fn open(path: &str, settings: &Settings) -> Result<Box<dyn Database>, Error> {
    let isolation = choose_isolation(settings.isolation.as_deref(), ISOLATIONS)?;
    let file = redb::Database::create(path)
        .map_err(|error| Error::hopeless(format!("redb:{path}: {error}")))?;
    let shared = Arc::new(Shared {
        file,
        turn: Mutex::default(),
        changed: Condvar::new(),
        patience: settings.patience,
    });
    Ok(Box::new(Redb { shared, isolation }))
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn to write; also tells how many commits there were.
    fn begin_write(&self) -> Result<(WriteTransaction, u64), Error> {
        let turn = self.lock();
        let waited = self
            .changed
            .wait_timeout_while(turn, self.patience, |turn| turn.taken);
        let (mut turn, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() && turn.taken {
            let message = format!("another transaction has written for {:?}", self.patience);
            return Err(Error::new(Fate::Aborted, message).with_code("busy"));
        }
        let mut txn = self.file.begin_write().map_err(hopeless)?;
        if !turn.version.is_multiple_of(COMMITS_PER_SYNC) {
            txn.set_durability(Durability::None).map_err(hopeless)?;
        }
        turn.taken = true;
        Ok((txn, turn.version))
    }

    /// A snapshot, and how many commits it has.
    fn begin_read(&self) -> Result<(ReadTransaction, u64), Error> {
        let turn = self.lock();
        let txn = self.file.begin_read().map_err(hopeless)?;
        Ok((txn, turn.version))
    }

    fn commit(&self, txn: WriteTransaction) -> Result<(), Error> {
        let mut turn = self.lock();
        let committed = txn.commit();
        turn.taken = false;
        turn.version += 1;
        self.changed.notify_one();
        committed.map_err(|error| Error::new(Fate::Unknown, format!("redb: {error}")))
    }

    fn abort(&self, txn: WriteTransaction) -> Result<(), Error> {
        let mut turn = self.lock();
        let aborted = txn.abort();
        turn.taken = false;
        self.changed.notify_one();
        aborted.map_err(hopeless)
    }

    fn remake(&self, schema: &Schema, create: bool) -> Result<(), Error> {
        let (txn, _) = self.begin_write()?;
        let mut made = Ok(());
        for table in &schema.tables {
            let table: Table<'_> = TableDefinition::new(table.name);
            made = made.and_then(|()| txn.delete_table(table).map(|_| ()));
            if create {
                made = made.and_then(|()| txn.open_table(table).map(|_| ()));
            }
        }
        match made {
            Ok(()) => self.commit(txn),
            Err(error) => {
                self.abort(txn)?;
                Err(hopeless(error))
            }
        }
    }
}

fn hopeless(error: impl std::fmt::Display) -> Error {
    Error::hopeless(format!("redb: {error}"))
}

impl Database for Redb {
    fn product(&self) -> String {
        "redb 4".to_string()
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
        self.shared.remake(schema, true)
    }

    fn clean(&self, schema: &Schema) -> Result<(), Error> {
        self.shared.remake(schema, false)
    }

    fn connect(&self, _node: usize, schema: &Schema) -> Result<Box<dyn Connection>, Error> {
        Ok(Box::new(Session {
            shared: Arc::clone(&self.shared),
            deferred: self.isolation.name == DEFERRED,
            state: State::Idle,
            schema: schema.clone(),
        }))
    }

    fn statement(&self, schema: &Schema, action: &Action) -> String {
        statement(schema, action)
    }

    fn frame(&self) -> [String; 3] {
        let begin = match self.isolation.name {
            DEFERRED => "begin_read",
            _ => "begin_write",
        };
        [begin, "commit", "abort"].map(str::to_string)
    }
}

struct Session {
    shared: Arc<Shared>,
    deferred: bool,
    state: State,
    schema: Schema,
}

enum State {
    Idle,
    Reading(ReadTransaction, u64),
    Writing(Box<WriteTransaction>),
}

impl Session {
    /// Takes the turn to write, if that is not done yet.
    fn go_over_to_writing(&mut self) -> Result<(), Error> {
        let snapshot = match self.state {
            State::Writing(_) => return Ok(()),
            State::Reading(_, version) => Some(version),
            State::Idle => None,
        };
        let (txn, version) = self.shared.begin_write()?;
        if snapshot.is_some_and(|snapshot| snapshot != version) {
            self.shared.abort(txn)?;
            let message = "another transaction has committed since the snapshot";
            return Err(Error::new(Fate::Aborted, message).with_code("snapshot"));
        }
        self.state = State::Writing(Box::new(txn));
        Ok(())
    }
}

impl Store for Session {
    fn get(&mut self, cell: Cell) -> Result<Option<String>, Error> {
        let table: Table<'_> = TableDefinition::new(self.schema.table(cell).name);
        let key = (cell.row, cell.column);
        match &self.state {
            State::Idle => Err(hopeless("no transaction")),
            State::Reading(txn, _) => text(&txn.open_table(table).map_err(hopeless)?, key),
            State::Writing(txn) => text(&txn.open_table(table).map_err(hopeless)?, key),
        }
    }

    fn put(&mut self, cell: Cell, text: String) -> Result<(), Error> {
        let State::Writing(txn) = &self.state else {
            return Err(hopeless("no transaction that writes"));
        };
        let table: Table<'_> = TableDefinition::new(self.schema.table(cell).name);
        let mut table = txn.open_table(table).map_err(hopeless)?;
        table
            .insert((cell.row, cell.column), text.as_str())
            .map_err(hopeless)?;
        Ok(())
    }

    fn range(&mut self, first: Cell, last: Cell) -> Result<Vec<(Cell, String)>, Error> {
        let table: Table<'_> = TableDefinition::new(self.schema.table(first).name);
        match &self.state {
            State::Idle => Err(hopeless("no transaction")),
            State::Reading(txn, _) => texts(&txn.open_table(table).map_err(hopeless)?, first, last),
            State::Writing(txn) => texts(&txn.open_table(table).map_err(hopeless)?, first, last),
        }
    }
}

fn text(
    table: &impl ReadableTable<(i64, u16), &'static str>,
    key: (i64, u16),
) -> Result<Option<String>, Error> {
    let found = table.get(key).map_err(hopeless)?;
    Ok(found.map(|text| text.value().to_string()))
}

fn texts(
    table: &impl ReadableTable<(i64, u16), &'static str>,
    first: Cell,
    last: Cell,
) -> Result<Vec<(Cell, String)>, Error> {
    let keys = (first.row, first.column)..=(last.row, last.column);
    let mut all = Vec::new();
    for found in table.range(keys).map_err(hopeless)? {
        let (key, text) = found.map_err(hopeless)?;
        let (row, column) = key.value();
        if column == first.column {
            all.push((Cell { row, ..first }, text.value().to_string()));
        }
    }
    Ok(all)
}

impl Connection for Session {
    fn begin(&mut self) -> Result<(), Error> {
        self.rollback()?;
        self.state = match self.deferred {
            true => {
                let (txn, version) = self.shared.begin_read()?;
                State::Reading(txn, version)
            }
            false => State::Writing(Box::new(self.shared.begin_write()?.0)),
        };
        Ok(())
    }

    fn run(&mut self, action: &Action) -> Result<Answer, Error> {
        if action.writes() {
            self.go_over_to_writing()?;
        }
        let schema = self.schema.clone();
        run(self, &schema, action)
    }

    fn commit(&mut self) -> Result<Commit, Error> {
        if let State::Writing(txn) = std::mem::replace(&mut self.state, State::Idle) {
            self.shared.commit(*txn)?;
        }
        Ok(Commit::default())
    }

    fn rollback(&mut self) -> Result<(), Error> {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Writing(txn) => self.shared.abort(*txn),
            _ => Ok(()),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Others wait for the turn.
        let _ = self.rollback();
    }
}
