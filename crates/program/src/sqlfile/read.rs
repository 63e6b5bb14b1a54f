//! A file: its declarations and the heads of its transactions.

use super::invariants::invariants;
use super::scan::{Scanner, word_of};
use super::script::{is_script, rewritten};
use super::steps::Body;
use crate::ir::{Parameter, Program, Transaction};
use crate::place::{Place, ProgramError};
use crate::schema::{Schema, Type};
use crate::sql::DdlReader;
use crate::sql::split::split;

/// Reads a transaction file. Tables come from the create statements in the file, or from a schema
/// given; the file's own tables count where it has any.
pub fn read_sql_file(
    text: &str,
    file: &str,
    schema: Option<&Schema>,
) -> Result<Program, ProgramError> {
    let (script, passed_over) = match is_script(text) && !declares_transaction(text) {
        true => rewritten(text, file),
        false => (text.to_string(), Vec::new()),
    };
    let text = script.as_str();
    let mut ddl = DdlReader::default();
    // The tables may be declared below the transactions, so they are read first.
    for piece in split(text, &Place::new(file, 1, 1)) {
        if DdlReader::is_ddl(&piece.text) {
            ddl.read(&piece.text, &piece.place)?;
        }
    }
    let (own, mut notes) = ddl.finish();
    notes.extend(passed_over);
    let mut program = Program {
        schema: match schema {
            Some(given) if own.tables.is_empty() => given.clone(),
            _ => own,
        },
        transactions: Vec::new(),
        invariants: Vec::new(),
        notes,
    };
    program.invariants = invariants(text, file, &program.schema, &mut program.notes)?;
    let mut scanner = Scanner::new(text, file);
    while !scanner.is_at_end() {
        if !scanner.take("transaction") {
            let (span, _) = scanner.until(&[";"], "the statement")?;
            if !DdlReader::is_ddl(span.text) && !is_setting(span.text) {
                return Err(outside(&span.place, span.text));
            }
            continue;
        }
        let transaction = head(&mut scanner)?;
        if program.transaction(&transaction.name).is_some() {
            let problem = format!("a second transaction {}", transaction.name);
            return Err(ProgramError::new(
                &transaction.place,
                problem,
                "Rename one.",
            ));
        }
        let body = Body::new(&program.schema, transaction, &mut scanner);
        let (transaction, notes) = body.read()?;
        program.transactions.push(transaction);
        program.notes.extend(notes);
    }
    if program.transactions.is_empty() {
        let place = Place::new(file, 1, 1);
        let advice = "Write `transaction name(a int, b text)`, its statements, and `end;`; or `begin;`, \
                      statements, and `commit;`.";
        return Err(ProgramError::new(
            &place,
            "no transaction in the file",
            advice,
        ));
    }
    Ok(program)
}

/// Whether a file has transactions: declared, or those of a script.
pub(crate) fn has_transactions(text: &str) -> bool {
    declares_transaction(text) || is_script(text)
}

/// Whether a file declares a transaction: the word at the start of a line.
fn declares_transaction(text: &str) -> bool {
    let starts = |line: &str| word_of(line.trim_start()).eq_ignore_ascii_case("transaction");
    text.lines().any(starts)
}

fn is_setting(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or("");
    first.eq_ignore_ascii_case("set") || first.is_empty()
}

fn outside(place: &Place, text: &str) -> ProgramError {
    let first = text.split_whitespace().next().unwrap_or("");
    ProgramError::new(
        place,
        format!("`{first}` outside of any transaction"),
        "Only create, alter and drop stand outside; put `transaction name(…)` in front of the \
         statements, and `end;` behind them.",
    )
}

/// `name(a int, b text)`, then nothing, `is`, `begin` or `;`.
fn head(scanner: &mut Scanner<'_>) -> Result<Transaction, ProgramError> {
    let place = scanner.place();
    let name = scanner.name("the name of a transaction")?;
    let mut transaction = Transaction::new(name, place);
    if scanner.take("(") {
        while !scanner.take(")") {
            let place = scanner.place();
            let name = scanner.name("the name of a parameter")?;
            let known = transaction.parameters.iter();
            if known
                .clone()
                .any(|one| one.name.eq_ignore_ascii_case(&name))
            {
                let problem = format!("a second parameter {name}");
                return Err(ProgramError::new(&place, problem, "Rename one."));
            }
            scanner.take(":");
            let ty = parameter_type(scanner)?;
            transaction.parameters.push(Parameter { name, ty });
            if !scanner.take(",") {
                scanner.expect(")", "Parameters are `name type`, with commas between.")?;
                break;
            }
        }
    }
    let _ = scanner.take("is") || scanner.take("as");
    let _ = scanner.take("begin") || scanner.take(";");
    Ok(transaction)
}

fn parameter_type(scanner: &mut Scanner<'_>) -> Result<Type, ProgramError> {
    let place = scanner.place();
    let name = scanner.name("the type of the parameter")?;
    if scanner.take("(") {
        scanner.until(&[")"], "the length of the type")?;
    }
    let _ = scanner.take("precision");
    if scanner.take("[") {
        scanner.expect("]", "A list is `name int[]`.")?;
        return Ok(Type::List);
    }
    let lower = name.to_ascii_lowercase();
    match lower.as_str() {
        "int" | "integer" | "bigint" | "smallint" | "long" | "int4" | "int8" | "serial"
        | "tinyint" => Ok(Type::Integer),
        "real" | "float" | "double" | "decimal" | "numeric" | "money" => Ok(Type::Real),
        "text" | "varchar" | "char" | "string" | "uuid" => Ok(Type::Text),
        "bool" | "boolean" => Ok(Type::Boolean),
        "timestamp" | "datetime" | "timestamptz" => Ok(Type::Timestamp),
        "date" => Ok(Type::Date),
        "time" => Ok(Type::Time),
        "binary" | "blob" | "bytea" => Ok(Type::Binary),
        "list" => Ok(Type::List),
        "any" => Ok(Type::Other),
        _ => Err(ProgramError::new(
            &place,
            format!("no type {name}"),
            "Types are int, real, text, bool, timestamp, date, time, binary, any, or one of these with [].",
        )),
    }
}
