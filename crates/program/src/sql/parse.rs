//! One SQL text parsed, in whichever dialect takes it.

use crate::place::{Place, ProgramError, shorten};
use sqlparser::ast::{Expr, SelectItem, SetExpr, Statement};
use sqlparser::dialect::{
    Dialect, GenericDialect, MsSqlDialect, MySqlDialect, OracleDialect, PostgreSqlDialect,
};
use sqlparser::parser::{Parser, ParserError};

/// Longer texts are refused: nobody writes them, and trees of any depth hide in them.
const TEXT_LENGTH_MAX: usize = 1 << 20;
/// More operators than this are refused: a chain of them is a tree as deep.
const OPERATORS_MAX: usize = 1500;
const NESTING_MAX: usize = 60;

/// The one statement of a text.
pub(super) fn parse(sql: &str, place: &Place) -> Result<Statement, ProgramError> {
    let operators = sql
        .matches(['+', '*', '/', '|', '=', '<', '>', '-'])
        .count()
        + words(sql).filter(|word| is_logical(word)).count();
    if sql.len() > TEXT_LENGTH_MAX || operators > OPERATORS_MAX {
        let advice = "Shorten it, or leave it out of the analysis.";
        return Err(ProgramError::new(
            place,
            "the statement is too long",
            advice,
        ));
    }
    let sql = &with_plain_indexes(with_plain_locks(sql));
    // What becomes of a row that is met is added by who reads inserts.
    let sql = &match is_upsert(sql) {
        true => sql.replacen(&sql.trim_start()[..UPSERT.len()], "insert", 1),
        false => sql.clone(),
    };
    let dialects: [&dyn Dialect; 5] = [
        &GenericDialect {},
        &PostgreSqlDialect {},
        &MySqlDialect {},
        &MsSqlDialect {},
        &OracleDialect {},
    ];
    let mut first: Option<ParserError> = None;
    for dialect in dialects {
        let parsed = Parser::new(dialect)
            .with_recursion_limit(NESTING_MAX)
            .try_with_sql(sql)
            .and_then(|mut parser| parser.parse_statements());
        match parsed {
            Ok(mut statements) if statements.len() == 1 => return Ok(statements.remove(0)),
            Ok(statements) if statements.is_empty() => {
                return Err(ProgramError::new(place, "the statement is empty", ""));
            }
            Ok(statements) => {
                let problem = format!("{} statements where one is expected", statements.len());
                return Err(ProgramError::new(place, problem, "Separate them by `;`."));
            }
            Err(error) => {
                first.get_or_insert(error);
            }
        }
    }
    Err(syntax_error(first, sql, place))
}

const UPSERT: &str = "upsert";

/// Whether a text is CockroachDB's `upsert into`.
pub(super) fn is_upsert(sql: &str) -> bool {
    let first = sql.trim_start().get(..UPSERT.len());
    first.is_some_and(|first| first.eq_ignore_ascii_case(UPSERT))
}

/// PostgreSQL's locks in words that the parser knows, of the same length. `for no key update` keeps away whoever
/// changes the row, as `for update` does; `for key share` keeps away nobody who leaves the key as it is.
fn with_plain_locks(sql: &str) -> String {
    let lower = sql.to_ascii_lowercase();
    let mut out = sql.to_string();
    for (words, plain) in [("for no key update", "for update"), ("for key share", "")] {
        for (at, _) in lower.match_indices(words) {
            let padded = format!("{plain:<width$}", width = words.len());
            out.replace_range(at..at + words.len(), &padded);
        }
    }
    out
}

/// MySQL says of an index whether plans may use it, behind its columns; the parser does not know that, and nobody here
/// asks. Blanks keep the places of everything else.
fn with_plain_indexes(mut sql: String) -> String {
    let lower = sql.to_ascii_lowercase();
    if !lower.trim_start().starts_with("create") && !lower.trim_start().starts_with("alter") {
        return sql;
    }
    for word in ["invisible", "visible"] {
        for (at, _) in lower.match_indices(word) {
            let after_columns = lower[..at].trim_end().ends_with(')');
            let rest = lower[at + word.len()..].trim_start();
            if after_columns && (rest.is_empty() || rest.starts_with([',', ')', ';'])) {
                sql.replace_range(at..at + word.len(), &" ".repeat(word.len()));
            }
        }
    }
    sql
}

/// The one expression of a text.
pub(super) fn parse_expression(text: &str, place: &Place) -> Result<Expr, ProgramError> {
    // Padded so that columns are right.
    let padding = " ".repeat(place.column.saturating_sub(1).min(500) as usize);
    let start = Place::new(&place.file, place.line.saturating_sub(1), 1);
    let wrong = || {
        let problem = format!("not an expression: `{}`", shorten(text, 60));
        ProgramError::new(place, problem, "Write one SQL expression here.")
    };
    let parsed = parse(&format!("select\n{padding}{text}"), &start)?;
    let Statement::Query(query) = parsed else {
        return Err(wrong());
    };
    match *query.body {
        SetExpr::Select(select) if select.from.is_empty() && select.projection.len() == 1 => {
            match select.projection.into_iter().next() {
                Some(SelectItem::UnnamedExpr(expr)) => Ok(expr),
                _ => Err(wrong()),
            }
        }
        _ => Err(wrong()),
    }
}

pub(super) fn words(sql: &str) -> impl Iterator<Item = &str> {
    sql.split(|c: char| !c.is_alphanumeric() && c != '_')
}

fn is_logical(word: &str) -> bool {
    ["and", "or", "not"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known))
}

fn syntax_error(error: Option<ParserError>, sql: &str, place: &Place) -> ProgramError {
    let message = match error {
        Some(ParserError::RecursionLimitExceeded) => {
            format!("nested more than {NESTING_MAX} deep")
        }
        Some(ParserError::TokenizerError(message) | ParserError::ParserError(message)) => message,
        None => "not understood".to_string(),
    };
    let (message, place) = located(&message, place);
    let text = shorten(sql, 60);
    ProgramError::new(
        &place,
        format!("not SQL that we can read: {message} in `{text}`"),
        "Check the statement with your database; if it is right, rewrite it in plain SQL \
         (select, insert, update, delete).",
    )
}

/// The parser ends its messages with `at Line: 1, Column: 9`.
fn located(message: &str, place: &Place) -> (String, Place) {
    let number = |text: &str| -> Option<u64> {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    let found = message.rfind(" at Line: ").and_then(|at| {
        let line = number(&message[at + 10..])?;
        let column = message[at..].find("Column: ")?;
        let column = number(&message[at + column + 8..])?;
        Some((message[..at].to_string(), place.within(line, column)))
    });
    found.unwrap_or_else(|| (message.to_string(), place.clone()))
}
