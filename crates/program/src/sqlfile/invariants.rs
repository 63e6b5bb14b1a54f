//! Invariants: `-- invariant name: select …;` in a comment, so that the file stays what it is for
//! everybody else. The select finds what breaks the invariant; it may go on in the comments of the
//! lines below, until its `;`. `-- outcome name: select …;` is the same, of a select that lists what
//! must be as some serial order leaves it.

use super::scan::word_of;
use crate::expr::{Expr, StatementId, UnknownId};
use crate::ir::Invariant;
use crate::place::{Note, Place, ProgramError};
use crate::schema::Schema;
use crate::sql::{Arguments, Placeholder, Sql, read_sql};

/// The invariants of a file.
pub(crate) fn invariants(
    text: &str,
    file: &str,
    schema: &Schema,
    notes: &mut Vec<Note>,
) -> Result<Vec<Invariant>, ProgramError> {
    let mut found: Vec<Invariant> = Vec::new();
    let mut lines = text.lines().zip(1u32..);
    while let Some((line, number)) = lines.next() {
        let Some((outcome, name, first)) = comment(line).and_then(directive) else {
            continue;
        };
        let place = Place::new(file, number, 1);
        let mut sql = first.to_string();
        while !sql.trim_end().ends_with(';') {
            let Some(more) = lines.next().and_then(|(line, _)| comment(line)) else {
                let problem = format!("invariant {name} is not ended by `;`");
                let advice = "It may go on in the comments of the lines below.";
                return Err(ProgramError::new(&place, problem, advice));
            };
            sql.push('\n');
            sql.push_str(more);
        }
        if found.iter().any(|one| one.name.eq_ignore_ascii_case(name)) {
            let problem = format!("a second invariant {name}");
            return Err(ProgramError::new(&place, problem, "Rename one."));
        }
        found.push(Invariant {
            name: name.to_string(),
            statement: statement(&sql, &place, schema, notes)?,
            outcome,
        });
    }
    Ok(found)
}

/// What a line says that is nothing but a comment.
fn comment(line: &str) -> Option<&str> {
    Some(line.trim_start().strip_prefix("--")?.trim())
}

/// Whether it is an outcome, the name, and the beginning of the select.
fn directive(comment: &str) -> Option<(bool, &str, &str)> {
    let word = word_of(comment);
    let outcome = word.eq_ignore_ascii_case("outcome");
    if !outcome && !word.eq_ignore_ascii_case("invariant") {
        return None;
    }
    let (name, select) = comment[word.len()..].split_once(':')?;
    let name = name.trim();
    let select = select.trim_start();
    (!name.is_empty() && word_of(name) == name).then_some((outcome, name, select))
}

fn statement(
    sql: &str,
    place: &Place,
    schema: &Schema,
    notes: &mut Vec<Note>,
) -> Result<crate::ir::Statement, ProgramError> {
    let sql = sql.trim_end().trim_end_matches(';');
    let mut arguments = Nothing { unknown_next: 0 };
    match read_sql(schema, sql, place, StatementId(0), &mut arguments, notes)? {
        Sql::Data(statement) if !statement.is_write() => Ok(*statement),
        _ => Err(ProgramError::new(
            place,
            "an invariant that is no select",
            "Write a select that finds what breaks it.",
        )),
    }
}

/// An invariant has no parameters.
struct Nothing {
    unknown_next: u32,
}

impl Arguments for Nothing {
    fn value(&mut self, _placeholder: &Placeholder) -> Option<Expr> {
        None
    }

    fn unknown(&mut self, reads: Vec<Expr>) -> Expr {
        self.unknown_next += 1;
        Expr::Unknown {
            id: UnknownId(self.unknown_next - 1),
            reads,
        }
    }
}
