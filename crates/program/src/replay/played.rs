//! What came of a scenario on a server.

use crate::execute::ResultSet;
use crate::expr::StatementId;
use crate::scenario::{Event, Point, StoredRow};

/// What became of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It committed.
    Committed,
    /// The program undid it.
    Undone,
    /// The server refused to go on with it.
    Refused {
        /// The server's code: `40001`, `1213`.
        code: String,
        /// What the server said.
        message: String,
        /// The statement that was refused; none if it was the commit.
        statement: Option<u32>,
    },
}

/// A statement that was executed, and what it gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Executed {
    /// The number of the statement in the body of the transaction.
    pub origin: StatementId,
    /// The text as it was sent.
    pub text: String,
    /// The rows that came back, and how many were changed.
    pub result: ResultSet,
    /// Whether the rows came in an order that the statement asks for.
    pub ordered: bool,
    /// What it did to the cells of tables, as far as that is known.
    pub accesses: Vec<super::cells::Access>,
}

/// What an instance did.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayedInstance {
    /// Its statements, in order.
    pub executed: Vec<Executed>,
    /// What became of it.
    pub fate: Fate,
    /// What its own code threw, where that is played.
    pub thrown: Option<String>,
}

/// A scenario that was played on a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Played {
    /// The instances, as in the scenario.
    pub instances: Vec<PlayedInstance>,
    /// The rows of all tables at the end.
    pub rows: Vec<StoredRow>,
    /// The statements that waited for a lock, in order.
    pub waits: Vec<Point>,
    /// What was done, in the order in which it ended.
    pub order: Vec<(usize, Event)>,
}

impl Played {
    /// The instances that committed.
    pub fn committed(&self) -> Vec<usize> {
        let all = self.instances.iter().enumerate();
        let committed = all.filter(|(_, one)| one.fate == Fate::Committed);
        committed.map(|(at, _)| at).collect()
    }

    /// Whether the server refused an instance.
    pub fn has_refusal(&self) -> bool {
        let mut fates = self.instances.iter().map(|one| &one.fate);
        fates.any(|fate| matches!(fate, Fate::Refused { .. }))
    }
}
