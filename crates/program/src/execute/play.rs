//! Plays a scenario: every instance runs its program, and a store answers.
//!
//! [`How::Given`] is a replicated store. A statement sees the writes of its own instance and those
//! of the turns that the scenario says (all earlier ones where it says nothing); of two writes of a
//! cell the later one wins. Nothing waits. [`How::Engine`] is a database server, see
//! [`super::engine`].
//!
//! An instance that does not come to the statement of a turn skips the turn; in its last turn it
//! executes whatever is left and ends. Instances that are left after the schedule end in their
//! order. Keys that the database chooses are numbered by instance, so that they do not depend on
//! the schedule.

use super::edges::edges;
use super::engine::{Engine, simulate};
use super::environment::ResultSet;
use super::error::ExecuteError;
use super::histories::history;
use super::runner::{Call, Next, Runner};
use super::store::{Numbers, Store, View, Write};
use super::trace::{Operation, Trace};
use crate::ir::Program;
use crate::place::Place;
use crate::scenario::{Edge, Event, Point, Scenario, StoredRow, Turn};
use ::history::History;
use std::collections::BTreeMap;

/// Which store answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// A replicated store that shows what the scenario says.
    Given,
    /// A database server.
    Engine(Engine),
}

/// What became of a scenario.
#[derive(Clone, Debug)]
pub struct Play {
    /// What became of each instance.
    pub runs: Vec<Run>,
    /// The rows at the end, table by table, in the order of their keys.
    pub rows: Vec<StoredRow>,
    /// The statements in the order in which they were done. Position 0 of [`Operation::sees`] is
    /// the initial rows; position n is the operation n - 1 here.
    pub operations: Vec<Operation>,
    /// All writes, in the order of arbitration.
    pub writes: Vec<Write>,
    /// The table and the key of each row, by [`super::RowId`].
    pub names: Vec<String>,
    /// What depends on what, between committed instances.
    pub edges: Vec<Edge>,
    /// The instances that committed, in that order.
    pub commits: Vec<usize>,
    /// For each commit, how many operations were done before it.
    pub commit_times: Vec<usize>,
    /// The statements that were evaluated only nearly as a database does.
    pub inexact: Vec<Point>,
    /// What the checker is to judge: a session for each instance, a key for each cell.
    pub history: History,
}

/// What became of an instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What its statements returned, in order.
    pub results: Vec<ResultSet>,
    /// How it ended.
    pub fate: Fate,
    /// The statements that had to wait for a lock.
    pub waits: Vec<u32>,
}

/// How an instance ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// It committed.
    Committed,
    /// Its program undid it.
    AbortedByProgram {
        /// Where.
        place: Place,
    },
    /// The store undid it.
    AbortedByStore {
        /// Why.
        reason: Abort,
        /// In words.
        message: String,
    },
}

/// Why a store undoes a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Abort {
    /// Another transaction changed what it saw (40001, or MariaDB's 1020).
    Serialization,
    /// A circle of waiting (40P01, or MariaDB's 1213).
    Deadlock,
    /// A statement failed: a duplicate key, an overflow.
    Statement,
}

/// Numbers for the keys that one instance leaves to the database.
#[derive(Clone)]
pub(super) struct Counter {
    next: i64,
}

impl Counter {
    pub fn new(instance: usize) -> Counter {
        Counter {
            next: 1_000_000 + 1000 * instance as i64,
        }
    }
}

impl Numbers for Counter {
    fn next(&mut self) -> i64 {
        self.next += 1;
        self.next
    }
}

/// Plays a scenario. An error is one of the scenario or of a program, such as a loop without end.
pub fn play(program: &Program, scenario: &Scenario, how: How) -> Result<Play, ExecuteError> {
    for turn in &scenario.schedule {
        if turn.instance >= scenario.instances.len() {
            let problem = format!("there is no instance {}", turn.instance);
            return Err(ExecuteError::new(problem));
        }
    }
    let finished = match how {
        How::Given => Replicas::new(program, scenario).play()?,
        How::Engine(engine) => simulate(program, scenario, engine)?,
    };
    Ok(finish(finished))
}

/// Plays these instances of a scenario, one after the other, and no others.
pub(super) fn play_serially(
    program: &Program,
    scenario: &Scenario,
    order: &[usize],
) -> Result<Play, ExecuteError> {
    let mut replicas = Replicas::new(program, scenario);
    for instance in order.iter().filter(|at| **at < scenario.instances.len()) {
        replicas.run_to_end(*instance)?;
    }
    Ok(finish(replicas.finished()))
}

/// A play before its dependencies are worked out.
pub(super) struct Finished<'p> {
    pub trace: Trace<'p>,
    pub runs: Vec<Run>,
    pub commits: Vec<usize>,
    pub commit_times: Vec<usize>,
    pub inexact: Vec<Point>,
}

fn finish(finished: Finished<'_>) -> Play {
    let Finished {
        trace,
        runs,
        commits,
        commit_times,
        inexact,
    } = finished;
    let view = View {
        base: trace.mask(|_| true),
        ..View::default()
    };
    let operations = trace.operations();
    let store = &trace.store;
    let name = |row| {
        let table = store.schema.table_name(store.table_of(row));
        format!("{table}[{}]", store.name_of(row))
    };
    let names: Vec<String> = store.all().map(name).collect();
    Play {
        rows: store.rows(&view),
        edges: edges(store, &operations, &commits),
        history: history(store, &operations, &runs, &names),
        operations,
        writes: store.writes().to_vec(),
        names,
        runs,
        commits,
        commit_times,
        inexact,
    }
}

/// The replicated store.
struct Replicas<'p, 's> {
    scenario: &'s Scenario,
    trace: Trace<'p>,
    runners: Vec<Runner<'p>>,
    next: Vec<Option<Next<'p>>>,
    numbers: Vec<Counter>,
    runs: Vec<Run>,
    ended: Vec<bool>,
    /// The operations of each turn.
    of_turn: BTreeMap<usize, Vec<usize>>,
    commits: Vec<usize>,
    commit_times: Vec<usize>,
    inexact: Vec<Point>,
}

impl<'p, 's> Replicas<'p, 's> {
    fn new(program: &'p Program, scenario: &'s Scenario) -> Replicas<'p, 's> {
        let count = scenario.instances.len();
        let instances = scenario.instances.iter();
        Replicas {
            scenario,
            trace: Trace::new(Store::new(program, &scenario.rows)),
            runners: instances.map(|one| Runner::new(program, one)).collect(),
            next: vec![None; count],
            numbers: (0..count).map(Counter::new).collect(),
            runs: vec![Run::started(); count],
            ended: vec![false; count],
            of_turn: BTreeMap::new(),
            commits: Vec::new(),
            commit_times: Vec::new(),
            inexact: Vec::new(),
        }
    }

    fn play(mut self) -> Result<Finished<'p>, ExecuteError> {
        let scenario = self.scenario;
        for (at, turn) in scenario.schedule.iter().enumerate() {
            match turn.event {
                Event::Begin => {}
                Event::Statement(wanted) => {
                    if self.runners[turn.instance].executed() <= wanted {
                        self.step(turn, at, false)?;
                    }
                }
                Event::Commit => while self.step(turn, at, true)? {},
            }
        }
        for instance in 0..scenario.instances.len() {
            self.run_to_end(instance)?;
        }
        Ok(self.finished())
    }

    /// Runs the rest of an instance; it sees everything.
    fn run_to_end(&mut self, instance: usize) -> Result<(), ExecuteError> {
        let turn = Turn {
            instance,
            event: Event::Commit,
            sees: None,
        };
        while self.step(&turn, self.scenario.schedule.len(), true)? {}
        Ok(())
    }

    fn finished(self) -> Finished<'p> {
        Finished {
            trace: self.trace,
            runs: self.runs,
            commits: self.commits,
            commit_times: self.commit_times,
            inexact: self.inexact,
        }
    }

    /// One statement, or the end where it may end; whether there may be more.
    fn step(&mut self, turn: &Turn, at: usize, may_end: bool) -> Result<bool, ExecuteError> {
        let instance = turn.instance;
        if self.ended[instance] {
            return Ok(false);
        }
        let next = match self.next[instance].take() {
            Some(next) => next,
            None => self.runners[instance].next()?,
        };
        match next {
            Next::Execute(call) => {
                self.execute(turn, at, call);
                Ok(true)
            }
            end if !may_end => {
                self.next[instance] = Some(end);
                Ok(false)
            }
            Next::Commit => {
                self.ended[instance] = true;
                self.commits.push(instance);
                self.commit_times.push(self.trace.records.len());
                Ok(false)
            }
            Next::Abort { place } => {
                self.abort(instance, Fate::AbortedByProgram { place });
                Ok(false)
            }
        }
    }

    fn abort(&mut self, instance: usize, fate: Fate) {
        self.ended[instance] = true;
        self.runs[instance].fate = fate;
        self.trace.undo(instance);
    }

    fn execute(&mut self, turn: &Turn, at: usize, call: Call<'p>) {
        let instance = turn.instance;
        let point = Point {
            instance,
            statement: call.position,
        };
        if !call.is_exact() {
            self.inexact.push(point);
        }
        let shown = |op: usize| match &turn.sees {
            None => true,
            Some(turns) => turns.iter().any(|turn| {
                let ops = self.of_turn.get(turn);
                ops.is_some_and(|ops| ops.contains(&op))
            }),
        };
        let own = |op: usize| self.trace.instance_of(op) == Some(instance);
        let view = View {
            base: self.trace.mask(|op| own(op) || shown(op)),
            ..View::default()
        };
        // A replica that has not heard of a row that is referred to does not refuse; one that nobody
        // ever wrote is refused everywhere.
        let all = View {
            base: self.trace.mask(|_| true),
            ..View::default()
        };
        let numbers = &mut self.numbers[instance];
        let store = &self.trace.store;
        let effect = store.evaluate(&call.bound, &view, numbers);
        let checked = effect.and_then(|effect| {
            store.check_keys(&effect.changes, &all)?;
            Ok(effect)
        });
        match checked {
            Ok(effect) => {
                let result = effect.result.clone();
                let op = self.trace.perform(point, view, call.bound, effect);
                self.of_turn.entry(at).or_default().push(op);
                self.runs[instance].results.push(result.clone());
                self.runners[instance].feed(result);
            }
            Err(error) => {
                let message = error.at(&call.statement.place).to_string();
                let reason = Abort::Statement;
                self.abort(instance, Fate::AbortedByStore { reason, message });
            }
        }
    }
}

impl Run {
    /// One of which nothing is known yet.
    pub(super) fn started() -> Run {
        Run {
            results: Vec::new(),
            fate: Fate::Committed,
            waits: Vec::new(),
        }
    }
}
