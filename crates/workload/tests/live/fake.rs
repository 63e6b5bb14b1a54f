//! A database that is a map: writes take effect at the commit, troubles come when they are asked for, and it
//! keeps a log of what it did.

use history::Level;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;
use workload::driver::{Answer, Commit, Connection, Database, Error, Fate, Isolation};
use workload::plan::Action;
use workload::schema::{Cell, Schema};

/// Where a trouble can come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    Connect,
    Begin,
    Run,
    Commit,
    Rollback,
}

/// A trouble for the call of that number, counted from 0 at each kind of point.
pub type Trouble = Box<dyn Fn(Point, u64) -> Option<Error> + Send + Sync>;

/// What the database did for one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The operations as the recording should have them.
    pub ops: Vec<String>,
    /// The status as the recording should have it.
    pub status: &'static str,
}

#[derive(Default)]
pub struct State {
    cells: BTreeMap<Cell, Vec<i64>>,
    versions: BTreeMap<Cell, u64>,
    version: u64,
    locks: BTreeMap<Cell, usize>,
    counts: [u64; 5],
    /// What each connection did, and the node it was to.
    pub log: Vec<(usize, Vec<Seen>)>,
}

/// A database in memory.
pub struct Fake {
    shared: Arc<Shared>,
    pub nodes: usize,
    /// The nodes that take no writes.
    pub read_only: Vec<usize>,
    /// A node that takes one connection and then no more.
    pub closes_after_first: Option<usize>,
}

struct Shared {
    state: Mutex<State>,
    freed: Condvar,
    trouble: Trouble,
    options: Kind,
}

/// What kind of database it is.
#[derive(Clone, Copy, Default)]
pub struct Kind {
    /// Answers come with the commit.
    pub answers_later: bool,
    /// Versions have numbers, and commits an id.
    pub has_versions: bool,
    /// A write waits until whoever wrote the cell before has ended.
    pub locks: bool,
}

impl Fake {
    pub fn new(kind: Kind, trouble: Trouble) -> Fake {
        let shared = Shared {
            state: Mutex::default(),
            freed: Condvar::new(),
            trouble,
            options: kind,
        };
        Fake {
            shared: Arc::new(shared),
            nodes: 1,
            read_only: Vec::new(),
            closes_after_first: None,
        }
    }

    /// One without troubles.
    pub fn sound(kind: Kind) -> Fake {
        Fake::new(kind, Box::new(|_, _| None))
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state()
    }

    /// How often something was asked for.
    pub fn count(&self, point: Point) -> u64 {
        self.state().counts[point as usize]
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no client panics")
    }

    fn trouble(&self, point: Point) -> Result<u64, Error> {
        let mut state = self.state();
        let count = state.counts[point as usize];
        state.counts[point as usize] += 1;
        drop(state);
        (self.trouble)(point, count).map_or(Ok(count), Err)
    }
}

const ISOLATIONS: &[Isolation] = &[Isolation {
    name: "read committed",
    promises: Level::ReadCommitted,
    because: "it is made so",
}];

impl Database for Fake {
    fn product(&self) -> String {
        "Fake 1".to_string()
    }

    fn isolations(&self) -> &'static [Isolation] {
        ISOLATIONS
    }

    fn isolation(&self) -> Isolation {
        ISOLATIONS[0]
    }

    fn node_count(&self) -> usize {
        self.nodes
    }

    fn answers_at_once(&self) -> bool {
        !self.shared.options.answers_later
    }

    fn takes_writes(&self, node: usize) -> bool {
        !self.read_only.contains(&node)
    }

    fn prepare(&self, _: &Schema) -> Result<(), Error> {
        Ok(())
    }

    fn clean(&self, _: &Schema) -> Result<(), Error> {
        Ok(())
    }

    fn connect(&self, node: usize, schema: &Schema) -> Result<Box<dyn Connection>, Error> {
        self.shared.trouble(Point::Connect)?;
        let mut state = self.state();
        let was_there = state.log.iter().any(|(other, _)| *other == node);
        if self.closes_after_first == Some(node) && was_there {
            return Err(Error::new(Fate::Lost, "closed"));
        }
        state.log.push((node, Vec::new()));
        Ok(Box::new(Link {
            shared: Arc::clone(&self.shared),
            schema: schema.clone(),
            number: state.log.len() - 1,
            open: None,
        }))
    }

    fn statement(&self, _: &Schema, action: &Action) -> String {
        format!("{action:?}")
    }

    fn frame(&self) -> [String; 3] {
        ["begin", "commit", "rollback"].map(str::to_string)
    }
}

/// A connection.
struct Link {
    shared: Arc<Shared>,
    schema: Schema,
    number: usize,
    open: Option<Open>,
}

#[derive(Default)]
struct Open {
    actions: Vec<(Action, Option<Answer>)>,
    writes: Vec<Action>,
    asked_later: Vec<usize>,
}

impl Link {
    /// The transaction is over: it gives its locks back and goes to the log.
    fn finish(&mut self, status: &'static str, version: Option<u64>) {
        let Some(open) = self.open.take() else {
            return;
        };
        let texts = |(action, answer): &(Action, Option<Answer>)| {
            texts(&self.schema, action, answer.as_ref(), version)
        };
        let ops = open.actions.iter().flat_map(texts).collect();
        let mut state = self.shared.state();
        state.log[self.number].1.push(Seen { ops, status });
        state.locks.retain(|_, holder| *holder != self.number);
        self.shared.freed.notify_all();
    }

    fn fail(&mut self, error: Error) -> Error {
        match error.fate {
            // The rollback ends it.
            Fate::Aborted => {}
            Fate::Lost => self.finish("aborted", None),
            Fate::Unknown | Fate::Hopeless => self.finish("indeterminate", None),
        }
        error
    }

    fn lock(&self, cell: Cell) -> Result<(), Error> {
        let is_taken = |state: &mut State| {
            let holder = state.locks.get(&cell);
            holder.is_some_and(|holder| *holder != self.number)
        };
        let wait = Duration::from_secs(20);
        let freed = &self.shared.freed;
        let waited = freed.wait_timeout_while(self.shared.state(), wait, is_taken);
        let (mut state, result) = waited.expect("no client panics");
        if result.timed_out() {
            return Err(Error::new(Fate::Aborted, "waited too long for a lock"));
        }
        state.locks.insert(cell, self.number);
        Ok(())
    }

    fn answer(&self, open: &Open, action: &Action) -> Answer {
        let state = self.shared.state();
        let held = |cell: Cell| {
            let own = open.writes.iter().filter(|write| write.cell() == cell);
            let mut held = state.cells.get(&cell).cloned().unwrap_or_default();
            held.extend(own.filter_map(Action::value));
            held
        };
        let cell = action.cell();
        match action {
            Action::Read(_) => {
                let has_versions = self.shared.options.has_versions;
                let version = state.versions.get(&cell).filter(|_| has_versions);
                Answer::Value(held(cell).last().copied(), version.copied())
            }
            Action::ReadGroup(_) => {
                let rows = self.schema.group_of(cell);
                let found = rows.filter_map(|cell| Some((cell.row, *held(cell).last()?)));
                Answer::Rows(found.collect())
            }
            Action::ReadList(_) | Action::ReadSet(_) => Answer::Values(held(cell)),
            Action::ReadCounter(_) => Answer::Value(Some(held(cell).iter().sum()), None),
            _ => Answer::Done,
        }
    }
}

impl Connection for Link {
    fn begin(&mut self) -> Result<(), Error> {
        assert!(self.open.is_none(), "one transaction at a time");
        self.open = Some(Open::default());
        let begun = self.shared.trouble(Point::Begin);
        begun.map(|_| ()).map_err(|error| self.fail(error))
    }

    fn run(&mut self, action: &Action) -> Result<Answer, Error> {
        let mut open = self.open.take().expect("a transaction is under way");
        open.actions.push((*action, None));
        let result = self.shared.trouble(Point::Run).and_then(|_| {
            if self.shared.options.locks && action.writes() {
                self.lock(action.cell())?;
            }
            Ok(self.answer(&open, action))
        });
        let place = open.actions.len() - 1;
        let result = result.map(|answer| {
            if action.writes() {
                open.writes.push(*action);
            } else if self.shared.options.answers_later {
                open.asked_later.push(place);
                return Answer::Later;
            }
            open.actions[place].1 = Some(answer.clone());
            answer
        });
        self.open = Some(open);
        result.map_err(|error| self.fail(error))
    }

    fn commit(&mut self) -> Result<Commit, Error> {
        let trouble = self.shared.trouble(Point::Commit);
        // Of unknown commits, every other one takes effect.
        let takes_effect = match &trouble {
            Ok(_) => true,
            Err(error) => error.fate == Fate::Unknown && self.number.is_multiple_of(2),
        };
        if !takes_effect {
            return trouble
                .map(|_| Commit::default())
                .map_err(|error| self.fail(error));
        }
        let mut open = self.open.take().expect("a transaction is under way");
        let answers: Vec<Answer> = open
            .asked_later
            .iter()
            .map(|&place| self.answer(&open, &open.actions[place].0))
            .collect();
        for (&place, answer) in open.asked_later.iter().zip(&answers) {
            open.actions[place].1 = Some(answer.clone()).filter(|_| trouble.is_ok());
        }
        let mut state = self.shared.state();
        state.version += 1;
        let version = state.version;
        for write in &open.writes {
            let value = write.value().expect("a write has a value");
            state.cells.entry(write.cell()).or_default().push(value);
            state.versions.insert(write.cell(), version);
        }
        drop(state);
        self.open = Some(open);
        if let Err(error) = trouble {
            return Err(self.fail(error));
        }
        let version = self.shared.options.has_versions.then_some(version);
        self.finish("committed", version);
        let info = version.map(|version| ("id", format!("txn \"{version}\"")));
        Ok(Commit {
            answers,
            version,
            info: info.into_iter().collect(),
        })
    }

    fn rollback(&mut self) -> Result<(), Error> {
        self.finish("aborted", None);
        self.shared.trouble(Point::Rollback).map(|_| ())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.finish("aborted", None);
    }
}

/// The operations of an action, in the words of the format.
fn texts(
    schema: &Schema,
    action: &Action,
    answer: Option<&Answer>,
    written: Option<u64>,
) -> Vec<String> {
    let cell = action.cell();
    let key = |cell: Cell| {
        let mut key = String::new();
        schema.write_key(cell, &mut key);
        key
    };
    let tag = match action {
        Action::Read(_) | Action::ReadGroup(_) => "r",
        Action::Write(..) => "w",
        Action::ReadList(_) => "rlist",
        Action::Append(..) => "append",
        Action::ReadSet(_) => "rset",
        Action::Add(..) => "add",
        Action::ReadCounter(_) => "rcount",
        Action::Increment(..) => "inc",
    };
    let text = |cell: Cell, rest: String| format!("[\"{tag}\",{}{rest}]", key(cell));
    let number = |value: Option<i64>| value.map_or("null".to_string(), |value| value.to_string());
    let version = |version: Option<u64>| version.map_or(String::new(), |v| format!(",{v}"));
    match (action, answer) {
        (Action::ReadGroup(_), answer) => {
            let value = |row: i64| match answer {
                Some(Answer::Rows(rows)) => {
                    let found = rows.iter().find(|(found, _)| *found == row);
                    format!(",{}", number(found.map(|(_, value)| *value)))
                }
                _ => String::new(),
            };
            let cells = schema.group_of(cell);
            cells.map(|cell| text(cell, value(cell.row))).collect()
        }
        (_, Some(Answer::Value(value, found))) => {
            vec![text(
                cell,
                format!(",{}{}", number(*value), version(*found)),
            )]
        }
        (_, Some(Answer::Values(values))) => {
            let values: Vec<String> = values.iter().map(i64::to_string).collect();
            vec![text(cell, format!(",[{}]", values.join(",")))]
        }
        (Action::Write(_, value), _) => vec![text(cell, format!(",{value}{}", version(written)))],
        (action, _) => {
            let value = action.value().map(|value| format!(",{value}"));
            vec![text(cell, value.unwrap_or_default())]
        }
    }
}
