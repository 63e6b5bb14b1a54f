//! What a transaction is going to do: decided before it starts, so that its writes are known even if its
//! client dies.

use crate::schema::{Cell, Schema};

/// One thing that a transaction asks of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reads a register.
    Read(Cell),
    /// Reads a register in all rows of the cell's group, by one statement with a condition.
    ReadGroup(Cell),
    /// Writes a register.
    Write(Cell, i64),
    /// Reads a list.
    ReadList(Cell),
    /// Appends to a list.
    Append(Cell, i64),
    /// Reads a set.
    ReadSet(Cell),
    /// Adds to a set.
    Add(Cell, i64),
    /// Reads a counter.
    ReadCounter(Cell),
    /// Adds to a counter.
    Increment(Cell, i64),
}

impl Action {
    /// The cell; of a group, the one that names it.
    pub fn cell(&self) -> Cell {
        match *self {
            Action::Read(cell)
            | Action::ReadGroup(cell)
            | Action::Write(cell, _)
            | Action::ReadList(cell)
            | Action::Append(cell, _)
            | Action::ReadSet(cell)
            | Action::Add(cell, _)
            | Action::ReadCounter(cell)
            | Action::Increment(cell, _) => cell,
        }
    }

    /// What is written, appended or added.
    pub fn value(&self) -> Option<i64> {
        match *self {
            Action::Write(_, value)
            | Action::Append(_, value)
            | Action::Add(_, value)
            | Action::Increment(_, value) => Some(value),
            _ => None,
        }
    }

    /// Whether it changes the database.
    pub fn writes(&self) -> bool {
        self.value().is_some()
    }
}

/// A step of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Ask the database.
    Act(Action),
    /// Wait, inside the transaction, until other sessions have committed this many transactions.
    AwaitCommits(u64),
}

/// A transaction to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// In order.
    pub steps: Vec<Step>,
    /// Whether to roll it back in the end instead of committing it.
    pub rolls_back: bool,
    /// What kind of transaction of its workload this is, for people.
    pub name: &'static str,
    /// Something for [`Source::ended`] to know it by.
    pub tag: u64,
}

impl Plan {
    /// Makes it an empty transaction again.
    pub fn clear(&mut self) {
        self.steps.clear();
        self.rolls_back = false;
        self.name = "";
        self.tag = 0;
    }

    /// Adds a step.
    pub fn act(&mut self, action: Action) {
        self.steps.push(Step::Act(action));
    }

    /// What it asks of the database, in order.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        self.steps.iter().filter_map(|step| match step {
            Step::Act(action) => Some(action),
            Step::AwaitCommits(_) => None,
        })
    }
}

/// A workload: what to create, and a stream of transactions for each client.
pub trait Workload: Send + Sync {
    /// Its tables.
    fn schema(&self) -> &Schema;

    /// The transactions of client `client` of `clients`. The same seed and client make the same
    /// transactions, as far as they do not depend on what committed before.
    fn source(&self, client: u32, clients: u32) -> Box<dyn Source>;
}

/// The transactions of one client.
pub trait Source: Send {
    /// Decides the next transaction; `plan` is empty.
    fn next(&mut self, plan: &mut Plan);

    /// The transaction decided last has ended; `committed` unless it aborted or nobody knows.
    fn ended(&mut self, _plan: &Plan, _committed: bool) {}
}

/// Numbers that no other client uses: `client` + 1, and on in steps of `clients`.
pub struct Unique {
    next: i64,
    step: i64,
}

impl Unique {
    /// The numbers of a client.
    pub fn new(client: u32, clients: u32) -> Unique {
        Unique {
            next: i64::from(client) + 1,
            step: i64::from(clients.max(1)),
        }
    }

    /// The next one.
    pub fn take(&mut self) -> i64 {
        let value = self.next;
        self.next += self.step;
        value
    }
}
