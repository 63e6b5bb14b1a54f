//! What every database looks like to a workload: nodes that take connections, and connections that run one
//! transaction at a time. Each file of `drivers` knows one database.

use crate::plan::Action;
use crate::schema::Schema;
use history::Level;
use std::fmt;
use std::time::Duration;

/// An isolation setting of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isolation {
    /// The database's own name of it, in lower case.
    pub name: &'static str,
    /// The level that the database's documentation promises by it.
    pub promises: Level,
    /// Where the promise is made, or what it rests on, in a few words.
    pub because: &'static str,
}

/// How the statements of a workload are put, where a database has several ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Find rows by the column with the secondary index, not by the primary key.
    pub by_secondary: bool,
    /// Lock what is read (`select … for update`).
    pub for_update: bool,
    /// Write by "insert or update", not by "update" with an insert where there was no row.
    pub upsert: bool,
}

/// What the user said about how to use the database.
#[derive(Clone, Debug)]
pub struct Settings {
    /// One of [`Database::isolations`]; the first of them unless said.
    pub isolation: Option<String>,
    /// How statements are put.
    pub form: Form,
    /// How long to wait for an answer; then the connection counts as lost.
    pub patience: Duration,
    /// Ask the database for its own transaction ids and versions, where it has them.
    pub ids: bool,
}

/// A database, which may have several nodes.
pub trait Database: Send + Sync {
    /// Its name and version, as far as it tells: "PostgreSQL 15.18".
    fn product(&self) -> String;

    /// Its isolation settings, the default first.
    fn isolations(&self) -> &'static [Isolation];

    /// The setting in use.
    fn isolation(&self) -> Isolation;

    /// How many nodes there are; at least one.
    fn node_count(&self) -> usize;

    /// Whether answers come while the transaction runs. Where they come at its end, a workload cannot
    /// go by them.
    fn answers_at_once(&self) -> bool {
        true
    }

    /// Whether a node takes writes.
    fn takes_writes(&self, _node: usize) -> bool {
        true
    }

    /// Creates the tables, empty but for their first rows, in place of what has their names; ready on
    /// all nodes when it returns.
    fn prepare(&self, schema: &Schema) -> Result<(), Error>;

    /// Removes the tables.
    fn clean(&self, schema: &Schema) -> Result<(), Error>;

    /// Connects to a node.
    fn connect(&self, node: usize, schema: &Schema) -> Result<Box<dyn Connection>, Error>;

    /// How this database is asked for an action: the statement with its values in place.
    fn statement(&self, schema: &Schema, action: &Action) -> String;

    /// The statements that begin, commit and roll back a transaction, for people.
    fn frame(&self) -> [String; 3];
}

/// A connection, with at most one transaction under way.
pub trait Connection: Send {
    /// Begins a transaction at the setting of the database.
    fn begin(&mut self) -> Result<(), Error>;

    /// Asks for one action.
    fn run(&mut self, action: &Action) -> Result<Answer, Error>;

    /// Commits. An error whose fate is [`Fate::Aborted`] or [`Fate::Lost`] promises that nothing was
    /// committed.
    fn commit(&mut self) -> Result<Commit, Error>;

    /// Gives the transaction up, after an error or without one; the connection is good for another.
    fn rollback(&mut self) -> Result<(), Error>;
}

/// What the database answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A write was taken.
    Done,
    /// A register or a counter: nothing, if there is no such row; the version, if the database tells.
    Value(Option<i64>, Option<u64>),
    /// A list or a set.
    Values(Vec<i64>),
    /// The rows of a group that exist, by number.
    Rows(Vec<(i64, i64)>),
    /// Comes with the commit.
    Later,
}

/// What the database said to a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// The answers that were to come [`Answer::Later`], in order.
    pub answers: Vec<Answer>,
    /// The number that the database gave all versions written.
    pub version: Option<u64>,
    /// What else the database told of the transaction: its id, say. Names are JSON words.
    pub info: Vec<(&'static str, String)>,
}

/// What became of the transaction, and of the connection, when something went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nothing was committed or will be; the connection is good after a rollback.
    Aborted,
    /// Nothing was committed or will be; the connection is of no more use.
    Lost,
    /// It may have been committed, or may yet be; the connection is of no more use.
    Unknown,
    /// The run cannot go on: a wrong password, a missing right, a statement the database does not know.
    Hopeless,
}

/// Something that went wrong between us and the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What it means for the transaction.
    pub fate: Fate,
    /// The database's code for it.
    pub code: Option<String>,
    /// What the database or the network said. Never a password.
    pub message: String,
}

impl Error {
    /// An error without a code.
    pub fn new(fate: Fate, message: impl Into<String>) -> Error {
        Error {
            fate,
            code: None,
            message: message.into(),
        }
    }

    /// An error that ends the run.
    pub fn hopeless(message: impl Into<String>) -> Error {
        Error::new(Fate::Hopeless, message)
    }

    /// The same with the database's code.
    pub fn with_code(self, code: impl Into<String>) -> Error {
        Error {
            code: Some(code.into()),
            ..self
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.code {
            Some(code) => write!(out, "{} [{code}]", self.message),
            None => write!(out, "{}", self.message),
        }
    }
}

impl std::error::Error for Error {}

impl Default for Form {
    fn default() -> Form {
        Form {
            by_secondary: false,
            for_update: false,
            upsert: true,
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            isolation: None,
            form: Form::default(),
            patience: Duration::from_secs(10),
            ids: false,
        }
    }
}

/// Chooses the setting that the user named among those of a database.
pub fn choose_isolation(
    named: Option<&str>,
    known: &'static [Isolation],
) -> Result<Isolation, Error> {
    let Some(named) = named else {
        return Ok(known[0]);
    };
    let plain = |name: &str| name.to_lowercase().replace(['-', '_'], " ");
    let found = known.iter().find(|one| plain(one.name) == plain(named));
    found.copied().ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|one| one.name).collect();
        Error::hopeless(format!(
            "no isolation setting '{named}'; this database has: {}",
            names.join(", ")
        ))
    })
}
