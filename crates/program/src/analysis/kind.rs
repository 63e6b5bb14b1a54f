//! The names of anomalies.

use super::conflict::{Conflict, Node};
use super::cycles::{Cycle, Segment};
use super::routes::Routes;
use crate::access::Reach;
use crate::expr::Expr;
use crate::ir::{Action, Part, Program, Statement};
use crate::paths::Path;
use crate::scenario::EdgeKind;
use crate::schema::{Schema, TableId};
use std::fmt;

/// What people call an anomaly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Two read a row and both overwrite it.
    LostUpdate,
    /// Two each read what the other overwrites.
    WriteSkew,
    /// A search misses a row that makes the difference.
    Phantom,
    /// A read between two writes of a transaction to what it reads.
    DirtyRead,
    /// One row read twice, with a write in between.
    NonRepeatableRead,
    /// Some of a transaction's writes are read, others are not.
    ReadSkew,
    /// Two writes are seen in different orders.
    LongFork,
    /// Two transactions overwrite each other.
    DirtyWrite,
    /// Two transactions read from each other.
    CircularFlow,
    /// Writers that are serializable, but not with the one that only reads.
    ReadOnly,
    /// Another cycle, through that many transactions.
    Cycle(usize),
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Kind::LostUpdate => "lost update",
            Kind::WriteSkew => "write skew",
            Kind::Phantom => "phantom",
            Kind::DirtyRead => "dirty read",
            Kind::NonRepeatableRead => "non-repeatable read",
            Kind::ReadSkew => "read skew",
            Kind::LongFork => "long fork",
            Kind::DirtyWrite => "dirty write",
            Kind::CircularFlow => "circular information flow",
            Kind::ReadOnly => "read-only anomaly",
            Kind::Cycle(count) => return write!(out, "cycle of {count} transactions"),
        };
        out.write_str(name)
    }
}

struct Names<'a> {
    program: &'a Program,
    statements: Vec<Vec<&'a Statement>>,
    conflicts: &'a [Conflict],
    routes: &'a Routes<'a>,
}

/// The name of a cycle.
pub(super) fn kind_of(
    program: &Program,
    conflicts: &[Conflict],
    routes: &Routes<'_>,
    cycle: &Cycle,
) -> Kind {
    let names = Names {
        program,
        statements: program
            .transactions
            .iter()
            .map(|txn| txn.statements())
            .collect(),
        conflicts,
        routes,
    };
    match cycle.segments.as_slice() {
        [first, second] => names.of_two(first, second),
        all => names.of_many(all),
    }
}

impl Names<'_> {
    fn of_two(&self, first: &Segment, second: &Segment) -> Kind {
        use EdgeKind::{ReadWrite as Rw, WriteRead as Wr, WriteWrite as Ww};
        match (first.kind, second.kind) {
            (Rw, Rw) if first.single && second.single => {
                match self.searches(first) || self.searches(second) {
                    true => Kind::Phantom,
                    false => Kind::WriteSkew,
                }
            }
            (Rw, Rw) => match self.reads_and_writes_one(first) && self.reads_and_writes_one(second)
            {
                true => Kind::LostUpdate,
                false if self.searches(first) || self.searches(second) => Kind::Phantom,
                false => Kind::WriteSkew,
            },
            (Rw, Ww) | (Ww, Rw) => Kind::LostUpdate,
            (Wr, Rw) => self.torn(first, second),
            (Rw, Wr) => self.torn(second, first),
            (Ww, Ww) => Kind::DirtyWrite,
            (Wr, _) | (_, Wr) => Kind::CircularFlow,
            _ => Kind::Cycle(2),
        }
    }

    /// The writer is left by wr and entered by rw; the reader the other way round.
    fn torn(&self, writer: &Segment, reader: &Segment) -> Kind {
        if reader.single {
            return match self.same_row(writer) {
                true => Kind::DirtyRead,
                false => Kind::ReadSkew,
            };
        }
        match writer.single && self.same_row(reader) {
            true if self.searches_at(reader.transaction, reader.leave, reader) => Kind::Phantom,
            true => Kind::NonRepeatableRead,
            false => Kind::ReadSkew,
        }
    }

    fn of_many(&self, all: &[Segment]) -> Kind {
        let reads = |segment: &&Segment| {
            let statements = &self.statements[segment.transaction];
            !statements.iter().any(|statement| statement.is_write())
        };
        let anti = all.iter().filter(|s| s.kind == EdgeKind::ReadWrite).count();
        let flow = all.iter().filter(|s| s.kind == EdgeKind::WriteRead).count();
        let alternate = (0..all.len()).all(|at| all[at].kind != all[(at + 1) % all.len()].kind);
        if all.len() == 4 && anti == 2 && flow == 2 && alternate {
            return Kind::LongFork;
        }
        if anti == all.len() {
            return Kind::WriteSkew;
        }
        if all.iter().filter(reads).count() == 1 && anti >= 2 {
            return Kind::ReadOnly;
        }
        Kind::Cycle(all.len())
    }

    fn part(&self, transaction: usize, statement: usize, table: Option<TableId>) -> Option<&Part> {
        let parts = &self.statements[transaction].get(statement)?.parts;
        parts
            .iter()
            .find(|part| table.is_none_or(|table| part.table == table))
    }

    /// The table of a dependency, where it is one.
    fn table(&self, segment: &Segment) -> Option<TableId> {
        let tables = &self.conflicts[segment.conflict].tables;
        (tables.len() == 1)
            .then(|| tables.first().copied())
            .flatten()
    }

    /// Whether the two statements of an instance look up the same row by key.
    fn same_row(&self, segment: &Segment) -> bool {
        if segment.single {
            return true;
        }
        let table = self.table(segment);
        // On a path, where a variable is what was assigned to it.
        let choices = self.routes.choices(segment);
        let Some(choice) = choices.first() else {
            return false;
        };
        let on_path = |at: u32| {
            let mut parts = choice.path.statements[at as usize].parts.iter();
            parts.find(|part| table.is_none_or(|table| part.table == table))
        };
        let (Some(one), Some(other)) = (on_path(choice.enter), on_path(choice.leave)) else {
            return false;
        };
        let key = |part: &Part| -> Option<Vec<Expr>> {
            match part.reach(&self.program.schema) {
                Reach::Key(bound) => {
                    let value = |value| looked_up_by(&self.program.schema, &choice.path, value);
                    Some(bound.iter().map(|b| value(b.value)).collect())
                }
                _ => None,
            }
        };
        if one.table != other.table {
            return false;
        }
        match (key(one), key(other)) {
            (Some(one), Some(other)) => one == other,
            _ => one.filter == other.filter,
        }
    }

    /// Whether an instance writes the row that it read.
    fn reads_and_writes_one(&self, segment: &Segment) -> bool {
        self.same_row(segment) && !self.searches(segment)
    }

    /// Whether the read by which an instance is left searches, and what it misses is a row.
    fn searches(&self, segment: &Segment) -> bool {
        let conflict = &self.conflicts[segment.conflict];
        let Node {
            transaction,
            statement,
        } = conflict.to;
        let written = self.part(transaction, statement, self.table(segment));
        let row =
            written.is_some_and(|part| matches!(part.action, Action::Insert(_) | Action::Delete));
        row && self.searches_at(segment.transaction, segment.leave, segment)
    }

    fn searches_at(&self, transaction: usize, statement: usize, segment: &Segment) -> bool {
        let part = self.part(transaction, statement, self.table(segment));
        let reach = part.map(|part| part.reach(&self.program.schema));
        matches!(reach, Some(Reach::Predicate))
    }
}

/// The value by which a row was looked up, where an expression is that column of the row.
fn looked_up_by(schema: &Schema, path: &Path, value: &Expr) -> Expr {
    let found = || {
        let Expr::Field {
            statement, output, ..
        } = value
        else {
            return None;
        };
        let statement = path.statements.get(statement.0 as usize)?;
        let Expr::Column { part, column } = &statement.outputs.get(*output as usize)?.value else {
            return None;
        };
        let part = statement.parts.iter().find(|one| one.id == *part)?;
        let Reach::Key(bound) = part.reach(schema) else {
            return None;
        };
        let bound = bound.into_iter().find(|bound| bound.column == *column)?;
        Some(bound.value.clone())
    };
    found().unwrap_or_else(|| value.clone())
}
