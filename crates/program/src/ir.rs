//! The one form into which every front end translates: transactions made of SQL statements,
//! branches and loops, over parameters, variables and the rows of earlier results.
//!
//! Variables can be assigned again; a step may leave an enclosing block. Nobody but
//! [`crate::Transaction::paths`] needs to follow that: a path is straight, and has neither.

use crate::expr::{Condition, Expr, NestedId, PartId, StatementId, VariableId};
use crate::place::{Note, NoteKind, Place};
use crate::schema::{ColumnId, Schema, TableId, Type};
use crate::sqlfile::ROUTINE;
use std::collections::BTreeSet;

/// An application: its tables and its transactions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// The tables.
    pub schema: Schema,
    /// The transactions.
    pub transactions: Vec<Transaction>,
    /// What always holds of the rows between transactions.
    pub invariants: Vec<Invariant>,
    /// What was not understood.
    pub notes: Vec<Note>,
}

impl Program {
    /// The transaction of that name; case does not matter.
    pub fn transaction(&self, name: &str) -> Option<&Transaction> {
        let same = |txn: &&Transaction| txn.name.eq_ignore_ascii_case(name);
        self.transactions.iter().find(same)
    }

    /// How many statements or calls of the sources are missing, as they were not understood, and may matter: a query
    /// does not where nothing is written.
    pub fn left_out(&self) -> usize {
        let mut statements = self.transactions.iter().flat_map(Transaction::statements);
        let writes = statements.any(Statement::is_write);
        let missing = |note: &&Note| match note.kind {
            NoteKind::LeftOut | NoteKind::Unplaced => true,
            NoteKind::Unread => writes,
            NoteKind::Value | NoteKind::Boundary | NoteKind::Statement => false,
        };
        self.notes.iter().filter(missing).count()
    }

    /// Leaves the transactions of these names, and the notes that may be about them. A procedure is noted where it is
    /// called; a trigger is not called.
    pub fn keep(&mut self, names: &[String]) {
        let is_named = |one: &Transaction| names.iter().any(|n| n.eq_ignore_ascii_case(&one.name));
        let all = std::mem::take(&mut self.transactions).into_iter();
        let (kept, others): (Vec<_>, Vec<_>) = all.partition(is_named);
        let about = |set: &[Transaction], note: &Note| {
            let mut places = set.iter().flat_map(|one| &one.noted);
            places.any(|place| *place == note.place)
        };
        self.notes.retain(|note| {
            let procedure =
                note.assumed == ROUTINE && !note.text.to_lowercase().contains("trigger");
            let is_elsewhere = procedure || note.kind == NoteKind::Unplaced;
            about(&kept, note) || !about(&others, note) && !is_elsewhere
        });
        self.transactions = kept;
    }
}

/// What always holds of the rows, said by a select that finds what breaks it.
#[derive(Clone, Debug, PartialEq)]
pub struct Invariant {
    /// Its name.
    pub name: String,
    /// The select; it mentions nothing but columns and constants.
    pub statement: Statement,
    /// Whether the select lists what must be as some serial order leaves it, instead of what is
    /// wrong.
    pub outcome: bool,
}

/// A parameter of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// A variable of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name; for reading only, two variables may have the same.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// A transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Transaction {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// The variables its steps assign.
    pub variables: Vec<Variable>,
    /// What it does.
    pub body: Vec<Step>,
    /// Where it is declared.
    pub place: Place,
    /// The level its source asks for, as written there.
    pub level: Option<String>,
    /// How often a log has it; 1 for sources.
    pub count: u64,
    /// Where the notes stand that are about it and known to be.
    pub noted: Vec<Place>,
}

impl Transaction {
    /// A transaction without parameters and steps.
    pub fn new(name: impl Into<String>, place: Place) -> Transaction {
        Transaction {
            name: name.into(),
            parameters: Vec::new(),
            variables: Vec::new(),
            body: Vec::new(),
            place,
            level: None,
            count: 1,
            noted: Vec::new(),
        }
    }

    /// Every statement of the body, in the order of the text.
    pub fn statements(&self) -> Vec<&Statement> {
        let mut found = Vec::new();
        let mut waiting: Vec<&Step> = self.body.iter().rev().collect();
        while let Some(step) = waiting.pop() {
            if let Step::Execute(statement) = step {
                found.push(statement);
            }
            waiting.extend(step.inner().into_iter().rev());
        }
        found
    }
}

/// Names a block or a loop within its transaction, for [`Step::Break`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(pub u32);

/// What a transaction does next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Executes a statement. Its cursor then stands before the first row.
    Execute(Statement),
    /// Moves the cursor of a statement's result to the next row.
    Advance(StatementId),
    /// Assigns to a variable.
    Let {
        /// The variable.
        variable: VariableId,
        /// The value.
        value: Expr,
    },
    /// Appends to a variable that is a list.
    Push {
        /// The variable.
        variable: VariableId,
        /// The element.
        value: Expr,
    },
    /// Does one thing or another.
    If {
        /// Which.
        condition: Condition,
        /// Where it holds.
        then: Vec<Step>,
        /// Where it does not.
        otherwise: Vec<Step>,
        /// Where the condition stands.
        place: Place,
    },
    /// Repeats.
    Loop {
        /// The name that a break leaves.
        label: Label,
        /// How often.
        repeat: Repeat,
        /// What.
        body: Vec<Step>,
        /// Where it stands.
        place: Place,
    },
    /// Steps that a break can leave.
    Block {
        /// The name that a break leaves.
        label: Label,
        /// The steps.
        body: Vec<Step>,
    },
    /// Goes on after the enclosing block or loop of that name.
    Break(Label),
    /// Ends the transaction and undoes it.
    Abort {
        /// Where it stands.
        place: Place,
    },
    /// Ends the transaction before its last step.
    Commit,
}

impl Step {
    /// The steps directly inside, in the order of the text; those before the test of a loop, which may be all of it
    /// (`do … while`), are among them.
    pub fn inner(&self) -> Vec<&Step> {
        match self {
            Step::If {
                then, otherwise, ..
            } => then.iter().chain(otherwise).collect(),
            Step::Loop {
                repeat: Repeat::While { before, .. },
                body,
                ..
            } => before.iter().chain(body).collect(),
            Step::Loop { body, .. } | Step::Block { body, .. } => body.iter().collect(),
            _ => Vec::new(),
        }
    }
}

/// How often a loop runs its body.
#[derive(Clone, Debug, PartialEq)]
pub enum Repeat {
    /// While a condition holds. The steps come before each test of it (`while (rs.next())`
    /// advances, then asks for a row).
    While {
        /// Before each test.
        before: Vec<Step>,
        /// The test.
        condition: Condition,
    },
    /// Once for every row of a result; the cursor moves along.
    Rows(StatementId),
    /// Once for every element of a list.
    Elements {
        /// The list.
        list: Expr,
        /// The variable that is the element.
        variable: VariableId,
    },
}

/// One SQL statement. A join or a sub-query makes it several parts, which a database reads from
/// one snapshot at most levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Its number in the transaction, or its position in the path.
    pub id: StatementId,
    /// In a path: the number it has in the body of the transaction. Else the same as `id`.
    pub origin: StatementId,
    /// The text, with placeholders.
    pub sql: String,
    /// The values of the placeholders in the order of the text.
    pub arguments: Vec<Argument>,
    /// Where it stands.
    pub place: Place,
    /// Its accesses of tables, sub-queries before the parts that use them.
    pub parts: Vec<Part>,
    /// The columns of the result, in order.
    pub outputs: Vec<Output>,
    /// How the result is cut and ordered.
    pub shape: Box<Shape>,
    /// The queries inside whose rows are made before others are joined to them, inner ones first.
    pub nested: Vec<Nested>,
}

/// A query inside of a statement that makes rows of its own: grouped, cut, computed, or of a set operation. (The tables
/// of a plain one are just joined.)
#[derive(Clone, Debug, PartialEq)]
pub struct Nested {
    /// The parts it joins.
    pub parts: Vec<PartId>,
    /// The queries it joins, or the two sides of the set operation.
    pub from: Vec<NestedId>,
    /// The columns of its rows.
    pub outputs: Vec<Output>,
    /// How its rows are grouped, cut and ordered.
    pub shape: Shape,
    /// Which of its rows are joined.
    pub filter: Condition,
    /// How its rows serve the statement.
    pub role: Role,
    /// Whether it stands for the value in its first row.
    pub scalar: bool,
    /// How the rows of its two sides are put together, if they are.
    pub set: Option<SetOperation>,
}

/// A set operation, and whether equal rows stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetOperation {
    /// Which.
    pub kind: SetKind,
    /// Whether equal rows stay.
    pub all: bool,
}

/// What a set operation keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetKind {
    /// The rows of both sides.
    Union,
    /// Those of the left side that are on the right, too.
    Intersect,
    /// Those of the left side that are not on the right.
    Except,
}

/// A placeholder of a statement's text and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The placeholder as written: `?`, `:name` or `$1`.
    pub placeholder: String,
    /// The value.
    pub value: Expr,
}

/// A column of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Its value: a column, an aggregate, or an expression over these.
    pub value: Expr,
}

/// How a result is cut and ordered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// What the joined rows must meet besides, after outer joins.
    pub filter: Option<Condition>,
    /// Whether equal rows appear once.
    pub distinct: bool,
    /// What rows are grouped by; what HAVING reads is here, too.
    pub group_by: Vec<Expr>,
    /// Which groups remain.
    pub having: Option<Condition>,
    /// The order of the rows.
    pub order_by: Vec<Ordering>,
    /// The greatest number of rows.
    pub limit: Option<Expr>,
    /// How many rows are passed over before the first.
    pub offset: Option<Expr>,
    /// Whether there are aggregates in the outputs (so without groups there is exactly one row).
    pub aggregate: bool,
}

/// One key of an order.
#[derive(Clone, Debug, PartialEq)]
pub struct Ordering {
    /// By what.
    pub value: Expr,
    /// Whether the greatest comes first.
    pub descending: bool,
}

/// One access of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its position in [`Statement::parts`].
    pub id: PartId,
    /// The table.
    pub table: TableId,
    /// Which rows: columns of this and of other parts against values. Of an insert: always true.
    pub filter: Condition,
    /// What is done with them.
    pub action: Action,
}

/// What a part does with its rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Reads them.
    Select(Select),
    /// Changes them.
    Update {
        /// The columns and their new values.
        sets: Vec<Set>,
    },
    /// Adds a row.
    Insert(Insert),
    /// Removes them.
    Delete,
}

/// What a select takes and how it locks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Select {
    /// The columns whose values the statement uses, other than those in the filter of this part.
    pub columns: BTreeSet<ColumnId>,
    /// The lock on the rows.
    pub lock: Lock,
    /// How the rows serve the statement.
    pub role: Role,
}

/// A lock that a select asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lock {
    /// None.
    #[default]
    None,
    /// `for share`, `lock in share mode`.
    Share,
    /// `for update`.
    Update,
}

/// How the rows of a select serve its statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// They are rows of the result (each with the rows of the other such parts it is joined to).
    #[default]
    From,
    /// As `From`, but a row without match stays (outer join).
    Outer,
    /// A sub-query: read to decide about rows of another part, or to compute a value.
    SubQuery,
}

/// A column and its new value.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// The column.
    pub column: ColumnId,
    /// The new value, over the old row (`bal + ?`) and everything else.
    pub value: Expr,
}

/// A row to be inserted.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// The columns given; the others get their defaults.
    pub values: Vec<Set>,
    /// What happens where the row exists.
    pub on_conflict: OnConflict,
    /// Whether it is one row for each row of the parts before (`insert … select`).
    pub from_select: bool,
}

/// What an insert does where a row with the same key exists.
#[derive(Clone, Debug, PartialEq)]
pub enum OnConflict {
    /// Fails, which aborts the transaction.
    Fail,
    /// Leaves the row.
    Ignore,
    /// Changes the row.
    Update(Vec<Set>),
    /// Puts the new row in its place.
    Replace,
}
