//! Recorded SQL logs of a live application: PostgreSQL's log (stderr or csv) with
//! `log_statement = 'all'`, and the general log of MySQL and MariaDB.
//!
//! Steps: read the log into statements with their sessions; group them into transactions; replace
//! literals by parameters, the same literal in one transaction by the same parameter; merge
//! transactions of equal shape, where two places stay the same parameter only if they were equal
//! every time. What a transaction computed between its statements is not in a log: a value it read
//! and wrote back appears as a parameter.
//! Cost: linear in the log.
//! Source of the idea: 2AD (Warszawski, Bailis, SIGMOD 2017).

mod general;
mod group;
mod literals;

mod postgres;

use crate::expr::{Expr, ParameterId, StatementId, UnknownId};
use crate::ir::{Parameter, Program, Step, Transaction};
use crate::place::{Note, NoteKind, Place, ProgramError, shorten};
use crate::schema::{Schema, Type};
use crate::sql::{Arguments, DdlReader, Placeholder, Sql, only_reads, read_sql};
use group::{Shape, shapes};

/// A statement of a log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// The session, as the log names it.
    pub session: String,
    /// The SQL text, with values in place.
    pub sql: String,
    /// The line, from 1.
    pub line: u32,
}

/// Reads a log. Its format is found out; the tables are those of the schema, or else those that
/// the log itself creates.
pub fn read_log(text: &str, file: &str, schema: Option<&Schema>) -> Result<Program, ProgramError> {
    let entries = match general::is_general_log(text) {
        true => general::entries(text),
        false => postgres::entries(text),
    };
    let start = Place::new(file, 1, 1);
    if entries.is_empty() {
        let advice = "Logs of PostgreSQL (stderr or csv, with log_statement = 'all' and %c or %p \
                      in log_line_prefix) and general logs of MySQL or MariaDB are read.";
        return Err(ProgramError::new(
            &start,
            "no SQL statement in the log",
            advice,
        ));
    }
    let mut ddl = DdlReader::default();
    let mut notes = Vec::new();
    for entry in entries.iter().filter(|entry| DdlReader::is_ddl(&entry.sql)) {
        let place = Place::new(file, entry.line, 1);
        // A log may create what we cannot read and do not need.
        let _ = ddl.read(&entry.sql, &place);
    }
    let (own, _) = ddl.finish();
    let schema = match schema {
        Some(schema) => schema.clone(),
        None => own,
    };
    if schema.tables.is_empty() {
        let advice = "Give the schema (DDL) of the database, e.g. from pg_dump --schema-only.";
        return Err(ProgramError::new(
            &start,
            "the tables are not known",
            advice,
        ));
    }
    let grouped = shapes(&entries);
    if grouped.rolled_back > 0 {
        notes.push(Note {
            place: start.clone(),
            text: format!("{} transactions rolled back", grouped.rolled_back),
            assumed: "left out".to_string(),
            advice: String::new(),
            kind: NoteKind::Value,
        });
    }
    let mut program = Program {
        schema,
        transactions: Vec::new(),
        invariants: Vec::new(),
        notes,
    };
    for shape in &grouped.shapes {
        if let Some(transaction) = transaction(shape, file, &program.schema, &mut program.notes) {
            add(&mut program.transactions, transaction);
        }
    }
    Ok(program)
}

fn add(transactions: &mut Vec<Transaction>, mut transaction: Transaction) {
    let same = |one: &&Transaction| one.name.split('#').next() == Some(&transaction.name);
    let known = transactions.iter().filter(same).count();
    if known > 0 {
        transaction.name = format!("{}#{}", transaction.name, known + 1);
    }
    transactions.push(transaction);
}

/// The values of a shape's placeholders.
struct Given {
    unknown_next: u32,
}

impl Arguments for Given {
    fn is_lenient(&self) -> bool {
        true
    }

    fn value(&mut self, placeholder: &Placeholder) -> Option<Expr> {
        match placeholder {
            Placeholder::Numbered(at) => Some(Expr::Parameter(ParameterId(*at as u32))),
            _ => Some(self.unknown(Vec::new())),
        }
    }

    fn unknown(&mut self, reads: Vec<Expr>) -> Expr {
        self.unknown_next += 1;
        Expr::Unknown {
            id: UnknownId(self.unknown_next - 1),
            reads,
        }
    }
}

/// A shape as a transaction; none if it touches no table we know.
fn transaction(
    shape: &Shape,
    file: &str,
    schema: &Schema,
    notes: &mut Vec<Note>,
) -> Option<Transaction> {
    let mut transaction = Transaction::new("", Place::new(file, shape.line, 1));
    transaction.count = shape.count;
    let mut given = Given { unknown_next: 0 };
    let mut name = Vec::new();
    for statement in &shape.statements {
        let place = Place::new(file, statement.line, 1);
        let id = StatementId(transaction.body.len() as u32);
        match read_sql(schema, &statement.sql, &place, id, &mut given, notes) {
            Ok(Sql::Data(data)) => {
                if let Some(part) = data.parts.last() {
                    let verb = statement.sql.split_whitespace().next().unwrap_or("");
                    let table = schema.table_name(part.table);
                    name.push(format!("{}_{table}", verb.to_ascii_lowercase()));
                    transaction.body.push(Step::Execute(*data));
                }
            }
            Ok(Sql::Level(level)) => transaction.level = Some(level),
            Ok(_) => {}
            Err(error) => {
                let kind = match only_reads(&statement.sql) {
                    true => NoteKind::Unread,
                    false => NoteKind::LeftOut,
                };
                let note = Note {
                    place,
                    text: shorten(&statement.sql, 70),
                    assumed: format!("the statement is left out: {}", error.problem),
                    advice: error.advice,
                    kind,
                };
                notes.push(note);
            }
        }
    }
    if transaction.body.is_empty() {
        return None;
    }
    let parameter = |(at, ty): (usize, &Type)| Parameter {
        name: format!("p{}", at + 1),
        ty: *ty,
    };
    transaction.parameters = shape.types.iter().enumerate().map(parameter).collect();
    name.dedup();
    transaction.name = match name.len() {
        0..=3 => name.join("-"),
        more => format!("{}-{}-and-{}-more", name[0], name[1], more - 2),
    };
    Some(transaction)
}
