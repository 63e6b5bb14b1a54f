//! An instance on a server.

use super::Engine;
use crate::execute::play::{Counter, Run};
use crate::execute::runner::{Call, Next, Runner};
use crate::execute::store::{RowId, View};
use crate::ir::{Action, Lock, Program};
use crate::scenario::{Event, Scenario};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A statement that is being executed, perhaps waiting.
#[derive(Clone)]
pub(super) struct Pending<'p> {
    pub call: Call<'p>,
    /// What its snapshot shows.
    pub view: View,
    /// Rows it waited for, which it reads as they are now.
    pub fresh: BTreeSet<RowId>,
}

pub(super) struct Agent<'p> {
    pub runner: Runner<'p>,
    pub engine: Engine,
    pub numbers: Counter,
    pub next: Option<Next<'p>>,
    pub pending: Option<Pending<'p>>,
    /// The operations that the snapshot shows.
    pub snapshot: Option<Vec<bool>>,
    /// Rows it wrote, with the operations that were to be seen of them then.
    pub written: BTreeMap<RowId, Vec<bool>>,
    /// Whether its beginning takes the snapshot; else the first statement that reads does.
    pub begins_early: bool,
    pub put_off: VecDeque<Event>,
    pub run: Run,
    pub ended: bool,
    pub committed: bool,
}

impl<'p> Agent<'p> {
    pub fn new(program: &'p Program, scenario: &Scenario, at: usize, engine: Engine) -> Agent<'p> {
        let instance = &scenario.instances[at];
        Agent {
            runner: Runner::new(program, instance),
            engine: instance.level.map_or(engine, |level| engine.at(level)),
            numbers: Counter::new(at),
            next: None,
            pending: None,
            snapshot: None,
            written: BTreeMap::new(),
            begins_early: scenario.begins_early(at),
            put_off: VecDeque::new(),
            run: Run::started(),
            ended: false,
            committed: false,
        }
    }

    /// Whether it waits for a lock.
    pub fn is_blocked(&self) -> bool {
        self.pending.is_some()
    }
}

/// The lock a statement asks for on the rows of a part; none for a plain read.
pub(super) fn lock_of(action: &Action, engine: Engine) -> Lock {
    match action {
        Action::Select(select) => match select.lock {
            Lock::None if engine == Engine::MariaSerializable => Lock::Share,
            lock => lock,
        },
        Action::Update { .. } | Action::Delete | Action::Insert(_) => Lock::Update,
    }
}

/// Whether a statement reads without locking anything.
pub(super) fn is_plain_read(call: &Call<'_>, engine: Engine) -> bool {
    let mut parts = call.bound.parts.iter();
    parts.all(|part| lock_of(&part.action, engine) == Lock::None)
}
