//! fjall: `fjall:PATH`, a directory.
//!
//! fjall has two ways of writing several keys together, of which each is a setting:
//! - `serializable`: an optimistic transaction, refused at its commit if something that it has read was
//!   written since.
//! - `batch`: reads from a snapshot and a batch of writes, which nothing compares. fjall says of it that updates may be
//!   lost.
//!
//! Its transactions of a single writer borrow the database that they belong to, which a connection cannot; they
//! take turns anyway.

use super::{Store, run, statement};
use crate::driver::{
    Answer, Commit, Connection, Database, Error, Fate, Isolation, Settings, choose_isolation,
};
use crate::plan::Action;
use crate::schema::{Cell, Schema};
use fjall::{
    Guard, Iter, Keyspace, KeyspaceCreateOptions, OptimisticTxDatabase, OptimisticTxKeyspace,
    OptimisticWriteTx, Readable, Snapshot,
};
use history::Level;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

const BATCH: &str = "batch";

const ISOLATIONS: &[Isolation] = &[
    Isolation {
        name: "serializable",
        promises: Level::StrictSerializable,
        because: "fjall's README, Transactional modes: multi-writer, serializable transactions",
    },
    Isolation {
        name: BATCH,
        promises: Level::Prefix,
        because: "fjall's README, Transactional modes: snapshot reads, updates may be lost",
    },
];

struct Fjall {
    files: Files,
    isolation: Isolation,
}

/// The database in one of its two shapes.
#[derive(Clone)]
enum Files {
    Optimistic(OptimisticTxDatabase),
    Plain(fjall::Database),
}

/// Opens the directory, or makes it.
pub fn open(path: &str, settings: &Settings) -> Result<Box<dyn Database>, Error> {
    let isolation = choose_isolation(settings.isolation.as_deref(), ISOLATIONS)?;
    let wrong = |error: fjall::Error| Error::hopeless(format!("fjall:{path}: {error}"));
    let files = match isolation.name {
        BATCH => Files::Plain(fjall::Database::builder(path).open().map_err(wrong)?),
        _ => Files::Optimistic(OptimisticTxDatabase::builder(path).open().map_err(wrong)?),
    };
    Ok(Box::new(Fjall { files, isolation }))
}

fn hopeless(error: impl std::fmt::Display) -> Error {
    Error::hopeless(format!("fjall: {error}"))
}

impl Files {
    fn remove(&self, table: &str) -> Result<(), Error> {
        match self {
            Files::Plain(files) => {
                let tree = files.keyspace(table, KeyspaceCreateOptions::default);
                tree.and_then(|tree| tree.clear()).map_err(hopeless)
            }
            Files::Optimistic(files) => {
                let tree = files.keyspace(table, KeyspaceCreateOptions::default);
                let tree = tree.map_err(hopeless)?;
                let mut txn = files.write_tx().map_err(hopeless)?;
                let keys = txn.iter(&tree).map(Guard::key);
                let keys = keys.collect::<Result<Vec<_>, _>>().map_err(hopeless)?;
                for key in keys {
                    txn.remove(&tree, key);
                }
                let committed = txn.commit().map_err(hopeless)?;
                committed.map_err(hopeless)
            }
        }
    }
}

impl Database for Fjall {
    fn product(&self) -> String {
        "fjall 3".to_string()
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
        self.clean(schema)
    }

    fn clean(&self, schema: &Schema) -> Result<(), Error> {
        let mut tables = schema.tables.iter();
        tables.try_for_each(|table| self.files.remove(table.name))
    }

    fn connect(&self, _node: usize, schema: &Schema) -> Result<Box<dyn Connection>, Error> {
        let tables = schema.tables.iter();
        Ok(match self.files.clone() {
            Files::Optimistic(files) => {
                let trees = tables.map(|t| files.keyspace(t.name, KeyspaceCreateOptions::default));
                Box::new(Optimistic {
                    trees: trees.collect::<Result<_, _>>().map_err(hopeless)?,
                    files,
                    txn: None,
                    schema: schema.clone(),
                })
            }
            Files::Plain(files) => {
                let trees = tables.map(|t| files.keyspace(t.name, KeyspaceCreateOptions::default));
                Box::new(Batch {
                    trees: trees.collect::<Result<_, _>>().map_err(hopeless)?,
                    files,
                    snapshot: None,
                    pending: BTreeMap::new(),
                    schema: schema.clone(),
                })
            }
        })
    }

    fn statement(&self, schema: &Schema, action: &Action) -> String {
        statement(schema, action)
    }

    fn frame(&self) -> [String; 3] {
        let begin = match self.isolation.name {
            BATCH => "snapshot",
            _ => "write_tx",
        };
        [begin, "commit", "rollback"].map(str::to_string)
    }
}

/// The key of a cell in its table: such that the order of keys is that of rows.
fn key(cell: Cell) -> [u8; 10] {
    let mut key = [0; 10];
    key[..8].copy_from_slice(&(cell.row ^ i64::MIN).to_be_bytes());
    key[8..].copy_from_slice(&cell.column.to_be_bytes());
    key
}

fn keys(first: Cell, last: Cell) -> RangeInclusive<[u8; 10]> {
    key(first)..=key(last)
}

fn text(bytes: &[u8]) -> Result<String, Error> {
    let text = std::str::from_utf8(bytes);
    text.map(str::to_string).map_err(hopeless)
}

/// The cells of a range that are of the column.
fn texts(found: Iter, first: Cell) -> Result<Vec<(Cell, String)>, Error> {
    let mut all = Vec::new();
    for entry in found {
        let (key, value) = entry.into_inner().map_err(hopeless)?;
        let Some((row, column)) = key.split_first_chunk::<8>() else {
            return Err(hopeless("somebody else's key"));
        };
        let row = i64::from_be_bytes(*row) ^ i64::MIN;
        if column == first.column.to_be_bytes() {
            all.push((Cell { row, ..first }, text(&value)?));
        }
    }
    Ok(all)
}

struct Optimistic {
    files: OptimisticTxDatabase,
    trees: Vec<OptimisticTxKeyspace>,
    txn: Option<OptimisticWriteTx>,
    schema: Schema,
}

impl Optimistic {
    /// The transaction and the table of a cell.
    fn parts(
        &mut self,
        cell: Cell,
    ) -> Result<(&mut OptimisticWriteTx, &OptimisticTxKeyspace), Error> {
        let tree = self.trees.get(usize::from(cell.table));
        match (self.txn.as_mut(), tree) {
            (Some(txn), Some(tree)) => Ok((txn, tree)),
            _ => Err(hopeless("no transaction")),
        }
    }
}

impl Store for Optimistic {
    fn get(&mut self, cell: Cell) -> Result<Option<String>, Error> {
        let (txn, tree) = self.parts(cell)?;
        let found = txn.get(tree, key(cell)).map_err(hopeless)?;
        found.map(|bytes| text(&bytes)).transpose()
    }

    fn put(&mut self, cell: Cell, text: String) -> Result<(), Error> {
        let (txn, tree) = self.parts(cell)?;
        txn.insert(tree, key(cell), text);
        Ok(())
    }

    fn range(&mut self, first: Cell, last: Cell) -> Result<Vec<(Cell, String)>, Error> {
        let (txn, tree) = self.parts(first)?;
        texts(txn.range(tree, keys(first, last)), first)
    }
}

impl Connection for Optimistic {
    fn begin(&mut self) -> Result<(), Error> {
        self.txn = Some(self.files.write_tx().map_err(hopeless)?);
        Ok(())
    }

    fn run(&mut self, action: &Action) -> Result<Answer, Error> {
        let schema = self.schema.clone();
        run(self, &schema, action)
    }

    fn commit(&mut self) -> Result<Commit, Error> {
        let Some(txn) = self.txn.take() else {
            return Err(hopeless("no transaction"));
        };
        match txn.commit() {
            Ok(Ok(())) => Ok(Commit::default()),
            Ok(Err(conflict)) => {
                Err(Error::new(Fate::Aborted, conflict.to_string()).with_code("conflict"))
            }
            Err(error) => Err(Error::new(Fate::Unknown, format!("fjall: {error}"))),
        }
    }

    fn rollback(&mut self) -> Result<(), Error> {
        self.txn = None;
        Ok(())
    }
}

struct Batch {
    files: fjall::Database,
    trees: Vec<Keyspace>,
    snapshot: Option<Snapshot>,
    /// The writes of the transaction.
    pending: BTreeMap<Cell, String>,
    schema: Schema,
}

impl Batch {
    /// The snapshot and the table of a cell.
    fn parts(&self, cell: Cell) -> Result<(&Snapshot, &Keyspace), Error> {
        let tree = self.trees.get(usize::from(cell.table));
        match (&self.snapshot, tree) {
            (Some(snapshot), Some(tree)) => Ok((snapshot, tree)),
            _ => Err(hopeless("no transaction")),
        }
    }
}

impl Store for Batch {
    fn get(&mut self, cell: Cell) -> Result<Option<String>, Error> {
        if let Some(text) = self.pending.get(&cell) {
            return Ok(Some(text.clone()));
        }
        let (snapshot, tree) = self.parts(cell)?;
        let found = snapshot.get(tree, key(cell)).map_err(hopeless)?;
        found.map(|bytes| text(&bytes)).transpose()
    }

    fn put(&mut self, cell: Cell, text: String) -> Result<(), Error> {
        self.pending.insert(cell, text);
        Ok(())
    }

    fn range(&mut self, first: Cell, last: Cell) -> Result<Vec<(Cell, String)>, Error> {
        let (snapshot, tree) = self.parts(first)?;
        let mut found = texts(snapshot.range(tree, keys(first, last)), first)?;
        let own = self.pending.range(first..=last);
        // What comes later counts, so own writes go last.
        found.extend(own.map(|(cell, text)| (*cell, text.clone())));
        Ok(found)
    }
}

impl Connection for Batch {
    fn begin(&mut self) -> Result<(), Error> {
        self.pending.clear();
        self.snapshot = Some(self.files.snapshot());
        Ok(())
    }

    fn run(&mut self, action: &Action) -> Result<Answer, Error> {
        let schema = self.schema.clone();
        run(self, &schema, action)
    }

    fn commit(&mut self) -> Result<Commit, Error> {
        self.snapshot = None;
        let mut batch = self.files.batch();
        for (cell, text) in std::mem::take(&mut self.pending) {
            let Some(tree) = self.trees.get(usize::from(cell.table)) else {
                return Err(hopeless("no such table"));
            };
            batch.insert(tree, key(cell), text);
        }
        let committed = batch.commit();
        committed.map_err(|error| Error::new(Fate::Unknown, format!("fjall: {error}")))?;
        Ok(Commit::default())
    }

    fn rollback(&mut self) -> Result<(), Error> {
        self.pending.clear();
        self.snapshot = None;
        Ok(())
    }
}
