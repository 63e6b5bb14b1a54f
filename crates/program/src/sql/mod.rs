//! SQL read into the form of programs: schemas from DDL, statements from DML.
//!
//! A statement becomes parts, one for each table it touches. The condition of a join is cut at its
//! ANDs, and each piece belongs to the part that is looked up last, so that `a.k = ? and b.k = a.x`
//! reads a by its key and b by its key too.

mod builtin;
mod clause;
mod ddl;
mod lookup;
mod merge;
mod nested;
mod parse;
mod query;
mod scope;
pub(crate) mod split;
mod value;
mod write;

pub use ddl::{DdlReader, schema_of};

use crate::expr::{Condition, Expr, StatementId};
use crate::ir::Statement;
use crate::place::{Note, Place, ProgramError};
use crate::schema::Schema;

/// A placeholder of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// `?`, the nth of the statement, from 0.
    Nth(usize),
    /// `$1` (here 0) or `?1`.
    Numbered(usize),
    /// `:name` or `@name`.
    Named(String),
}

/// Gives placeholders their values.
pub trait Arguments {
    /// The value; without one, the statement is refused.
    fn value(&mut self, placeholder: &Placeholder) -> Option<Expr>;

    /// The value of a word that is no column.
    fn word(&mut self, _name: &str) -> Option<Expr> {
        None
    }

    /// Whether a value is surely one and not a list, so that `in (:value)` is `= :value`.
    fn is_single(&self, _value: &Expr) -> bool {
        false
    }

    /// Whether a statement with a column that is not there is read all the same, with a note.
    /// Sources that run are like that: the schema at hand may be another one.
    fn is_lenient(&self) -> bool {
        false
    }

    /// An unknown that is not used yet.
    fn unknown(&mut self, reads: Vec<Expr>) -> Expr;
}

/// What an SQL text is.
#[derive(Clone, Debug, PartialEq)]
pub enum Sql {
    /// A statement on tables.
    Data(Box<Statement>),
    /// Starts a transaction.
    Begin,
    /// Ends it.
    Commit,
    /// Undoes it.
    Rollback,
    /// Sets the level of the transaction.
    Level(String),
    /// Does not matter here (settings, savepoints, explain).
    Ignored,
}

/// Reads one SQL text. What it does not follow exactly is noted.
pub fn read_sql(
    schema: &Schema,
    sql: &str,
    place: &Place,
    id: StatementId,
    arguments: &mut dyn Arguments,
    notes: &mut Vec<Note>,
) -> Result<Sql, ProgramError> {
    let parsed = parse::parse(sql, place)?;
    write::read(schema, &parsed, sql, place, id, arguments, notes)
}

/// Words of statements that change something.
const CHANGING: [&str; 12] = [
    "insert", "update", "delete", "merge", "into", "replace", "truncate", "call", "execute",
    "nextval", "setval", "lock",
];

/// Whether a text is a query that changes nothing, by its words alone: its tables may not be known.
pub(crate) fn only_reads(sql: &str) -> bool {
    let sql = sql.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    let words = parse::words(sql).filter(|word| !word.is_empty());
    let mut words = words.map(str::to_ascii_lowercase);
    let queries = matches!(words.next().as_deref(), Some("select" | "with"));
    queries && !sql.contains(';') && words.all(|word| !CHANGING.contains(&word.as_str()))
}

/// Reads an expression outside of any statement.
pub(crate) fn read_value(
    text: &str,
    place: &Place,
    arguments: &mut dyn Arguments,
) -> Result<Expr, ProgramError> {
    let parsed = parse::parse_expression(text, place)?;
    let (schema, mut notes) = (Schema::default(), Vec::new());
    let mut builder = scope::Builder::new(&schema, text, place, arguments, &mut notes);
    builder.expr(&parsed)
}

/// Reads a condition outside of any statement.
pub(crate) fn read_condition(
    text: &str,
    place: &Place,
    arguments: &mut dyn Arguments,
) -> Result<Condition, ProgramError> {
    let parsed = parse::parse_expression(text, place)?;
    let (schema, mut notes) = (Schema::default(), Vec::new());
    let mut builder = scope::Builder::new(&schema, text, place, arguments, &mut notes);
    builder.condition(&parsed)
}
