//! The text of a statement as a server takes it: values in place of placeholders, and what the two
//! dialects write differently in the words of the one that is asked.
//!
//! Names are written in lower case, and in quotes where they are quoted or reserved; whatever reads
//! the clock or draws a random number gets a constant, so that a second run gives the same rows.
//! Statements keep everything else as it is written: if a server does not know it, it says so.

use super::dialect::{Dialect, NOW};
use super::error::ReplayError;
use super::token::{Token, join, tokens};
use super::{numbers, upsert};
use crate::execute::Call;
use crate::expr::{Expr, Value};
use crate::ir::{Action, Part, Statement};
use crate::schema::Schema;

/// Between the name of a row and of its column in a placeholder of the program.
const DOT: &str = crate::sqlfile::DOT;

/// The text of a call in a dialect; with the instance that makes it, keys are given by it.
pub(super) fn text_of(
    dialect: Dialect,
    schema: &Schema,
    call: &Call<'_>,
    instance: Option<usize>,
) -> Result<String, ReplayError> {
    let statement = call.statement;
    let names = statement
        .arguments
        .iter()
        .map(|one| one.placeholder.as_str());
    let given: Vec<(&str, &Value)> = names.zip(&call.arguments).collect();
    let number = instance.map(|instance| numbers::number_of(instance, call.position));
    let text = translate(dialect, schema, &statement.sql, &given, number);
    let text =
        text.map_err(|error| error.during(&format!("{}: `{}`", statement.place, statement.sql)))?;
    Ok(with_keys(dialect, schema, statement, text))
}

/// An insert whose new keys are asked for beside it, as JDBC's drivers do: both databases tell them by RETURNING.
fn with_keys(dialect: Dialect, schema: &Schema, statement: &Statement, text: String) -> String {
    let inserts = |part: &Part| matches!(part.action, Action::Insert(_));
    let Some(part) = statement.parts.iter().find(|part| inserts(part)) else {
        return text;
    };
    if statement.outputs.is_empty() || tokens(&text).iter().any(|token| token.is("returning")) {
        return text;
    }
    let table = schema.table(part.table);
    let names = statement.outputs.iter().map(|output| match &output.value {
        Expr::Column { column, .. } => Some(dialect.name(table.column_name(*column))),
        _ => None,
    });
    match names.collect::<Option<Vec<String>>>() {
        Some(names) => format!("{text} returning {}", names.join(", ")),
        None => text,
    }
}

/// An SQL text with its placeholders and their values, in a dialect.
pub(super) fn translate(
    dialect: Dialect,
    schema: &Schema,
    sql: &str,
    given: &[(&str, &Value)],
    number: Option<i64>,
) -> Result<String, ReplayError> {
    let mut all = fill(dialect, tokens(sql), given)?;
    all = without_prefixes(schema, all);
    if let Some(number) = number {
        all = numbers::give(schema, all, number);
    }
    all = steady(all);
    all = locks(dialect, all);
    all = upsert::translate(dialect, schema, all)?;
    all = match dialect {
        Dialect::Postgres => limits(all),
        Dialect::MariaDb => without_casts(all),
    };
    let pieces: Vec<String> = (0..all.len())
        .map(|at| render(dialect, schema, &all, at))
        .collect();
    Ok(join(&pieces))
}

/// Puts values in the places of placeholders.
fn fill(
    dialect: Dialect,
    all: Vec<Token>,
    given: &[(&str, &Value)],
) -> Result<Vec<Token>, ReplayError> {
    let is_nth = |token: &&Token| matches!(token, Token::Placeholder(name) if name == "?");
    let (wanted, nth) = (all.iter().filter(is_nth).count(), given.iter());
    let nth: Vec<&Value> = nth.filter(|one| one.0 == "?").map(|one| one.1).collect();
    if wanted != nth.len() {
        let problem = format!("{wanted} placeholders, but {} values", nth.len());
        return Err(ReplayError::new(problem));
    }
    let mut nth = nth.into_iter();
    let mut filled: Vec<Token> = Vec::new();
    for token in all {
        let Token::Placeholder(name) = token else {
            filled.push(token);
            continue;
        };
        let named = name.replacen('.', DOT, 1);
        let value = match name.as_str() {
            "?" => nth.next(),
            _ => given.iter().find(|one| one.0 == named).map(|one| one.1),
        };
        let Some(value) = value else {
            return Err(ReplayError::new(format!(
                "the placeholder {name} has no value"
            )));
        };
        let text = dialect.value(value)?;
        let text = match value {
            Value::List(_) if is_array(&filled) => as_array(dialect, &mut filled, &text),
            _ => text,
        };
        filled.push(Token::Text(text));
    }
    Ok(filled)
}

/// Whether what comes next stands in `any (…)`.
fn is_array(before: &[Token]) -> bool {
    matches!(before, [.., word, open] if word.is("any") && open.is_mark("("))
}

fn as_array(dialect: Dialect, before: &mut [Token], members: &str) -> String {
    match (dialect, before) {
        (Dialect::Postgres, _) => format!("array[{members}]"),
        // `= any (…)` of a list is `in (…)`.
        (Dialect::MariaDb, [.., equal, any, _]) if equal.is_mark("=") => {
            *equal = Token::Word("in".to_string());
            *any = Token::Text(String::new());
            members.to_string()
        }
        (Dialect::MariaDb, _) => members.to_string(),
    }
}

/// `from public.t` reads `t`: the tables of a replay are in a schema of their own.
fn without_prefixes(schema: &Schema, all: Vec<Token>) -> Vec<Token> {
    let mut kept: Vec<Token> = Vec::new();
    let mut left = all.into_iter().peekable();
    while let Some(token) = left.next() {
        let after_table_word = kept.last().is_some_and(|last| {
            let words = ["from", "join", "into", "update", "table", "only", "using"];
            words.iter().any(|word| last.is(word)) || last.is_mark(",")
        });
        kept.push(token);
        if !after_table_word || !left.peek().is_some_and(|next| next.is_mark(".")) {
            continue;
        }
        let dot = left.next();
        match left.peek() {
            Some(Token::Word(name) | Token::Name(name) | Token::Double(name))
                if is_relation(schema, name) && !is_table(schema, kept.last()) =>
            {
                kept.pop();
            }
            _ => kept.extend(dot),
        }
    }
    kept
}

fn is_relation(schema: &Schema, name: &str) -> bool {
    schema.find(name).is_some() || schema.view(name).is_some()
}

fn is_table(schema: &Schema, token: Option<&Token>) -> bool {
    match token {
        Some(Token::Word(name) | Token::Name(name) | Token::Double(name)) => {
            is_relation(schema, name)
        }
        _ => false,
    }
}

/// Constants in place of the clock and of chance.
fn steady(all: Vec<Token>) -> Vec<Token> {
    let mut kept = Vec::new();
    let mut left = all.into_iter().peekable();
    while let Some(token) = left.next() {
        let Token::Word(word) = &token else {
            kept.push(token);
            continue;
        };
        let constant = match word.as_str() {
            "now" | "sysdate" | "getdate" | "clock_timestamp" | "rand" | "random" => {
                left.peek().is_some_and(|next| next.is_mark("("))
            }
            "current_timestamp" | "localtimestamp" | "current_date" => true,
            _ => false,
        };
        if !constant {
            kept.push(token);
            continue;
        }
        if left.peek().is_some_and(|next| next.is_mark("(")) {
            // Up to the closing parenthesis: a precision may stand inside.
            for inside in left.by_ref() {
                if inside.is_mark(")") {
                    break;
                }
            }
        }
        kept.push(Token::Text(match word.as_str() {
            "rand" | "random" => "0.5".to_string(),
            "current_date" => format!("'{}'", &NOW[..10]),
            _ => format!("'{NOW}'"),
        }));
    }
    kept
}

/// Locking clauses.
fn locks(dialect: Dialect, all: Vec<Token>) -> Vec<Token> {
    let words = |text: &str| -> Vec<Token> {
        let words = text.split(' ');
        words.map(|word| Token::Word(word.to_string())).collect()
    };
    let rules: &[(&str, &str)] = match dialect {
        Dialect::Postgres => &[("lock in share mode", "for share")],
        Dialect::MariaDb => &[
            ("for no key update", "for update"),
            ("for key share", "lock in share mode"),
            ("for share", "lock in share mode"),
        ],
    };
    let mut kept = all;
    for (from, to) in rules {
        let from = words(from);
        if let Some(at) = kept.windows(from.len()).position(|found| found == from) {
            drop(kept.splice(at..at + from.len(), words(to)));
        }
    }
    if dialect == Dialect::MariaDb {
        let of = words("for update of");
        if let Some(at) = kept.windows(3).position(|found| found == of) {
            // MariaDB locks the rows of all tables.
            let names = kept[at + 2..].iter();
            let goes = |token: &&Token| !token.is("nowait") && !token.is("skip");
            let length = names.take_while(goes).count();
            kept.drain(at + 2..at + 2 + length);
        }
    }
    kept
}

/// `limit 2, 5` as `limit 5 offset 2`.
fn limits(mut all: Vec<Token>) -> Vec<Token> {
    let is_pair = |found: &[Token]| found[0].is("limit") && found[2].is_mark(",");
    if let Some(at) = all.windows(4).position(is_pair) {
        all.swap(at + 1, at + 3);
        all[at + 2] = Token::Word("offset".to_string());
    }
    all
}

/// MariaDB has no `value::type`; what it computes with is converted by itself.
fn without_casts(all: Vec<Token>) -> Vec<Token> {
    let mut kept = Vec::new();
    let mut left = all.into_iter();
    while let Some(token) = left.next() {
        match token.is_mark("::") {
            true => drop(left.next()),
            false => kept.push(token),
        }
    }
    kept
}

fn render(dialect: Dialect, schema: &Schema, all: &[Token], at: usize) -> String {
    let before = at.checked_sub(1).and_then(|at| all.get(at));
    match &all[at] {
        Token::Word(word) if is_reserved(dialect, word) && is_name(schema, word, before) => {
            dialect.name(word)
        }
        Token::Word(word) if word == "ifnull" || word == "nvl" => "coalesce".to_string(),
        Token::Word(word) => word.clone(),
        Token::Name(name) => dialect.name(name),
        Token::Double(inside) if is_string(schema, inside, before) => {
            format!("'{}'", inside.replace('\'', "''"))
        }
        Token::Double(inside) => dialect.name(inside),
        Token::Text(text) | Token::Placeholder(text) | Token::Mark(text) => text.clone(),
    }
}

/// Something in double quotes is a text to MySQL and a name to all others.
fn is_string(schema: &Schema, inside: &str, before: Option<&Token>) -> bool {
    let marks = ["=", "<", ">", "<=", ">=", "<>", "!=", "(", ","];
    let after_mark = before.is_some_and(|token| marks.iter().any(|mark| token.is_mark(mark)));
    let named = is_relation(schema, inside)
        || schema
            .tables
            .iter()
            .any(|table| table.column(inside).is_some());
    after_mark && !named
}

/// Whether a word names a table or a column here.
fn is_name(schema: &Schema, word: &str, before: Option<&Token>) -> bool {
    let clause = ["duplicate", "primary", "foreign", "no", "for", "on"];
    if before.is_some_and(|token| clause.iter().any(|word| token.is(word))) {
        return false;
    }
    is_relation(schema, word)
        || schema
            .tables
            .iter()
            .any(|table| table.column(word).is_some())
}

/// Words that one of the two reserves and applications use as names all the same.
fn is_reserved(dialect: Dialect, word: &str) -> bool {
    let reserved: &[&str] = match dialect {
        Dialect::Postgres => &[
            "user",
            "end",
            "offset",
            "window",
            "placing",
            "only",
            "both",
            "leading",
            "trailing",
            "array",
            "analyse",
            "symmetric",
            "variadic",
            "initially",
            "tablesample",
            "freeze",
        ],
        Dialect::MariaDb => &[
            "key",
            "keys",
            "index",
            "condition",
            "interval",
            "read",
            "write",
            "release",
            "range",
            "rows",
            "row_number",
            "schema",
            "usage",
            "match",
            "long",
            "lock",
            "linear",
            "lines",
            "load",
            "loop",
            "leave",
            "kill",
            "option",
            "change",
            "call",
            "database",
            "signal",
            "system",
            "trigger",
            "purge",
            "outfile",
            "optimize",
            "accessible",
            "iterate",
            "while",
            "mod",
            "div",
            "rename",
            "require",
            "resignal",
            "return",
            "sensitive",
            "show",
            "sql",
        ],
    };
    reserved.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::schema_of;

    fn check(dialect: Dialect, sql: &str, given: &[(&str, Value)], expected: &str) {
        let ddl = "create table t (key int primary key, val int, n text); \
                   create table s (a int, b int, primary key (a, b));";
        let (schema, _) = schema_of(ddl, "ddl").expect("a schema");
        let given: Vec<(&str, &Value)> = given.iter().map(|one| (one.0, &one.1)).collect();
        let text = translate(dialect, &schema, sql, &given, None);
        assert_eq!(text.expect("a text"), expected);
    }

    #[test]
    fn placeholders_become_values() {
        let given = [
            ("?", Value::Integer(-1)),
            ("?", Value::Text("o'".to_string())),
        ];
        let sql = "UPDATE T SET val=val - ? WHERE n = ? AND n <> '?'";
        let expected = "update t set val = val - (-1) where n = 'o''' and n <> '?'";
        check(Dialect::Postgres, sql, &given, expected);
        let given = [(":a", Value::Integer(1)), (":r__dot__x", Value::Null)];
        let row = format!(":r{DOT}x");
        let given = [given[0].clone(), (row.as_str(), Value::Null)];
        let sql = "select val from t where val in (:a, :r.x) or val = :a";
        let expected = "select val from t where val in(1, null) or val = 1";
        check(Dialect::Postgres, sql, &given, expected);
        let list = Value::List(vec![Value::Integer(1), Value::Integer(2)]);
        let given = [("$1", list)];
        let sql = "select val from t where val in ($1)";
        check(
            Dialect::MariaDb,
            sql,
            &given,
            "select val from t where val in(1, 2)",
        );
        let sql = "select val from t where val = any($1)";
        let expected = "select val from t where val = any(array[1, 2])";
        check(Dialect::Postgres, sql, &given, expected);
        check(
            Dialect::MariaDb,
            sql,
            &given,
            "select val from t where val in(1, 2)",
        );
    }

    #[test]
    fn a_value_too_few_is_an_error() {
        let schema = Schema::default();
        let one = Value::Integer(1);
        for given in [vec![], vec![("?", &one), ("?", &one), ("?", &one)]] {
            assert!(translate(Dialect::Postgres, &schema, "select ?, ?", &given, None).is_err());
        }
        assert!(translate(Dialect::Postgres, &schema, "select :a", &[], None).is_err());
    }

    #[test]
    fn reserved_words_are_quoted_where_they_are_names() {
        let sql = "select key from public.t where Key = 1 for share";
        let expected = "select key from t where key = 1 for share";
        check(Dialect::Postgres, sql, &[], expected);
        let expected = "select `key` from t where `key` = 1 lock in share mode";
        check(Dialect::MariaDb, sql, &[], expected);
    }

    #[test]
    fn dialects_are_translated() {
        let sql = "select `val` from t order by val limit 2, 5 lock in share mode";
        let expected = "select \"val\" from t order by val limit 5 offset 2 for share";
        check(Dialect::Postgres, sql, &[], expected);
        let sql = "select \"Val\"::int, now() from t where n = \"x\" for update of t nowait";
        let expected = "select `val`, '2000-01-01 00:00:00' from t where n = 'x' for update nowait";
        check(Dialect::MariaDb, sql, &[], expected);
    }
}
