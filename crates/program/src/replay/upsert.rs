//! Inserts that meet a row: `on conflict` of PostgreSQL against `insert ignore`, `replace` and
//! `on duplicate key update` of MariaDB.
//!
//! PostgreSQL wants the columns of the conflict named; the primary key is taken. A `replace` sets
//! the columns that it names; where it leaves a column out, that keeps its value.

use super::dialect::Dialect;
use super::error::ReplayError;
use super::token::Token;
use crate::schema::{Schema, Table};

fn word(text: &str) -> Token {
    Token::Word(text.to_string())
}

fn mark(text: &str) -> Token {
    Token::Mark(text.to_string())
}

/// The statement in the dialect.
pub(super) fn translate(
    dialect: Dialect,
    schema: &Schema,
    all: Vec<Token>,
) -> Result<Vec<Token>, ReplayError> {
    let is_insert = |token: &Token| ["insert", "replace", "upsert"].iter().any(|w| token.is(w));
    if !all.first().is_some_and(is_insert) {
        return Ok(all);
    }
    let name = all.iter().position(|token| token.is("into"));
    let name = match name.and_then(|at| all.get(at + 1)) {
        Some(Token::Word(name) | Token::Name(name) | Token::Double(name)) => name.clone(),
        _ => return Ok(all),
    };
    let Some(table) = schema.find(&name).map(|id| schema.table(id)) else {
        return Ok(all);
    };
    let all = match all[0].is("upsert") {
        true => meeting_a_row(table, all)?,
        false => all,
    };
    match dialect {
        Dialect::Postgres => to_postgres(table, all),
        Dialect::MariaDb => Ok(to_mariadb(all)),
    }
}

fn to_mariadb(mut all: Vec<Token>) -> Vec<Token> {
    let is_conflict = |pair: &[Token]| pair[0].is("on") && pair[1].is("conflict");
    let Some(at) = all.windows(2).position(is_conflict) else {
        return all;
    };
    let clause = all.split_off(at);
    if clause.iter().any(|token| token.is("nothing")) {
        let tail = returning(&clause);
        all.insert(1, word("ignore"));
        all.extend(tail);
        return all;
    }
    let Some(set) = clause.iter().position(|token| token.is("set")) else {
        return all;
    };
    all.extend(["on", "duplicate", "key", "update"].map(word));
    let mut left = clause[set + 1..].iter().peekable();
    while let Some(token) = left.next() {
        if token.is("excluded") && left.peek().is_some_and(|next| next.is_mark(".")) {
            left.next();
            all.extend([word("values"), mark("(")]);
            all.extend(left.next().cloned());
            all.push(mark(")"));
        } else {
            all.push(token.clone());
        }
    }
    all
}

/// CockroachDB's `upsert into`: an insert that sets the columns it names where it meets a row of its key.
fn meeting_a_row(table: &Table, mut all: Vec<Token>) -> Result<Vec<Token>, ReplayError> {
    let at = all.iter().position(|token| token.is("returning"));
    let tail = at.map_or(Vec::new(), |at| all.split_off(at));
    all[0] = word("insert");
    let sets = replacement(table, &all);
    all.extend([word("on"), word("conflict")]);
    all.extend(key_columns(table)?);
    all.extend(["do", "update", "set"].map(word));
    all.extend(sets);
    all.extend(tail);
    Ok(all)
}

/// The primary key of a table, in brackets.
fn key_columns(table: &Table) -> Result<Vec<Token>, ReplayError> {
    if table.primary_key.is_empty() {
        let name = &table.name;
        let problem = format!("{name} has no primary key that PostgreSQL could meet a row by");
        return Err(ReplayError::new(problem));
    }
    let mut out = vec![mark("(")];
    let names = table.primary_key.iter().map(|id| table.column_name(*id));
    out.extend(listed(names));
    out.push(mark(")"));
    Ok(out)
}

fn returning(clause: &[Token]) -> Vec<Token> {
    let at = clause.iter().position(|token| token.is("returning"));
    at.map_or(Vec::new(), |at| clause[at..].to_vec())
}

fn to_postgres(table: &Table, mut all: Vec<Token>) -> Result<Vec<Token>, ReplayError> {
    let replaces = all[0].is("replace");
    let ignores = all.get(1).is_some_and(|token| token.is("ignore"));
    let duplicate = all.windows(4).position(|four| {
        let words = ["on", "duplicate", "key", "update"];
        four.iter().zip(words).all(|(token, word)| token.is(word))
    });
    if !replaces && !ignores && duplicate.is_none() {
        return Ok(all);
    }
    let update = duplicate.map(|at| all.split_off(at));
    let tail = match &update {
        Some(clause) => returning(clause),
        None => {
            let at = all.iter().position(|token| token.is("returning"));
            at.map_or(Vec::new(), |at| all.split_off(at))
        }
    };
    if ignores {
        all.remove(1);
    }
    all[0] = word("insert");
    all.extend([word("on"), word("conflict")]);
    if ignores && update.is_none() {
        all.extend([word("do"), word("nothing")]);
        all.extend(tail);
        return Ok(all);
    }
    all.extend(key_columns(table)?);
    all.extend(["do", "update", "set"].map(word));
    match &update {
        Some(clause) => {
            let end = clause.len() - tail.len();
            all.extend(updates(table, &clause[4..end]));
        }
        None => all.extend(replacement(table, &all)),
    }
    all.extend(tail);
    Ok(all)
}

/// The columns that an insert names, each from the row that was to be inserted.
fn replacement(table: &Table, all: &[Token]) -> Vec<Token> {
    let into = all.iter().position(|token| token.is("into")).unwrap_or(0);
    let named: Vec<String> = match all.get(into + 2) {
        Some(open) if open.is_mark("(") => {
            let inside = all[into + 3..].iter();
            let inside = inside.take_while(|token| !token.is_mark(")"));
            let name = |token: &Token| match token {
                Token::Word(name) | Token::Name(name) | Token::Double(name) => Some(name.clone()),
                _ => None,
            };
            inside.filter_map(name).collect()
        }
        _ => table.columns.iter().map(|one| one.name.clone()).collect(),
    };
    let mut sets = Vec::new();
    for name in named {
        if !sets.is_empty() {
            sets.push(mark(","));
        }
        let column = Token::Name(name);
        sets.extend([
            column.clone(),
            mark("="),
            word("excluded"),
            mark("."),
            column,
        ]);
    }
    sets
}

/// `a = values(a), b = b + 1` with each column said whose it is.
fn updates(table: &Table, clause: &[Token]) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::new();
    let mut depth = 0;
    let mut at_target = true;
    let mut at = 0;
    while let Some(token) = clause.get(at) {
        if token.is("values") && clause.get(at + 1).is_some_and(|next| next.is_mark("(")) {
            out.extend([word("excluded"), mark(".")]);
            out.extend(clause.get(at + 2).cloned());
            at += 4;
            continue;
        }
        if token.is_mark("(") {
            depth += 1;
        } else if token.is_mark(")") {
            depth -= 1;
        }
        let qualified = out.last().is_some_and(|last| last.is_mark("."));
        let is_column = match token {
            Token::Word(name) | Token::Name(name) => table.column(name).is_some(),
            _ => false,
        };
        if is_column && !at_target && !qualified {
            out.extend([Token::Name(table.name.clone()), mark(".")]);
        }
        at_target = depth == 0 && token.is_mark(",");
        out.push(token.clone());
        at += 1;
    }
    out
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Token> {
    let mut out = Vec::new();
    for name in names {
        if !out.is_empty() {
            out.push(mark(","));
        }
        out.push(Token::Name(name.to_string()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::text::translate;
    use super::*;
    use crate::sql::schema_of;

    fn check(dialect: Dialect, sql: &str, expected: &str) {
        let ddl = "create table s (a int, b int, c int, primary key (a, b));";
        let (schema, _) = schema_of(ddl, "ddl").expect("a schema");
        let text = translate(dialect, &schema, sql, &[], None);
        assert_eq!(text.expect("a text"), expected);
        assert_eq!(
            translate(dialect, &schema, expected, &[], None).expect("a text"),
            expected,
            "a translated text stays"
        );
    }

    #[test]
    fn inserts_that_meet_a_row() {
        for (sql, expected) in [
            (
                "insert ignore into s values (1, 2, 3)",
                "insert into s values(1, 2, 3) on conflict do nothing",
            ),
            (
                "insert into s values (1, 2, 3) on duplicate key update c = c + values(c)",
                "insert into s values(1, 2, 3) on conflict(\"a\", \"b\") do update set \
                 c = \"s\".c + excluded.c",
            ),
            (
                "replace into s (a, b, c) values (1, 2, 3)",
                "insert into s(a, b, c) values(1, 2, 3) on conflict(\"a\", \"b\") do update set \
                 \"a\" = excluded.\"a\", \"b\" = excluded.\"b\", \"c\" = excluded.\"c\"",
            ),
            (
                "upsert into s (a, b, c) values (1, 2, 3) returning c",
                "insert into s(a, b, c) values(1, 2, 3) on conflict(\"a\", \"b\") do update set \
                 \"a\" = excluded.\"a\", \"b\" = excluded.\"b\", \"c\" = excluded.\"c\" returning c",
            ),
        ] {
            check(Dialect::Postgres, sql, expected);
        }
        for (sql, expected) in [
            (
                "insert into s values (1, 2, 3) on conflict (a, b) do nothing",
                "insert ignore into s values(1, 2, 3)",
            ),
            (
                "insert into s values (1, 2, 3) on conflict (a, b) do update set c = s.c + excluded.c",
                "insert into s values(1, 2, 3) on duplicate key update c = s.c + values(c)",
            ),
        ] {
            check(Dialect::MariaDb, sql, expected);
        }
    }
}
