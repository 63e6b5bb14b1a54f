//! Keys that a server would choose are given to it, by who inserts: what a sequence hands out depends on
//! who comes first, also where nothing else does, and finds its way into other rows and results. No
//! isolation level says anything about it, so a run must not differ from serial ones by that alone.

use super::token::{Token, tokens};
use crate::ir::{Action, Program, Statement};
use crate::schema::{Schema, Table, TableId};

/// The number that a statement of an instance gives to a new row.
pub(super) fn number_of(instance: usize, position: u32) -> i64 {
    1_000_000 + 1000 * instance as i64 + i64::from(position) + 1
}

/// Whether every insert of a program into a table whose keys the server chooses can be given one.
pub(super) fn covers(program: &Program) -> bool {
    let all = program.transactions.iter().flat_map(|one| one.statements());
    all.into_iter()
        .all(|statement| is_covered(&program.schema, statement))
}

fn is_covered(schema: &Schema, statement: &Statement) -> bool {
    let inserts = |table: TableId| schema.table(table).columns.iter().any(|c| c.generated);
    let chosen = statement
        .parts
        .iter()
        .any(|part| matches!(part.action, Action::Insert(_)) && inserts(part.table));
    !chosen || place_of(schema, &tokens(&statement.sql)).is_some()
}

/// An insert with a number for the keys that it leaves to the server.
pub(super) fn give(schema: &Schema, mut all: Vec<Token>, number: i64) -> Vec<Token> {
    let Some(place) = place_of(schema, &all) else {
        return all;
    };
    for column in place.columns {
        let pair = |token: Token| [token, Token::Mark(",".to_string())];
        // The later place first: the other one stays where it is.
        all.splice(
            place.values..place.values,
            pair(Token::Word(number.to_string())),
        );
        all.splice(place.names..place.names, pair(Token::Name(column)));
    }
    all
}

/// Where an insert names its columns and its values.
struct Place {
    names: usize,
    values: usize,
    /// The columns that the server chooses, and that are not named.
    columns: Vec<String>,
}

/// Nothing where it is no insert of one row with named columns.
fn place_of(schema: &Schema, all: &[Token]) -> Option<Place> {
    let first = all.first()?;
    if !first.is("insert") && !first.is("replace") {
        return None;
    }
    let into = all.iter().position(|token| token.is("into"))?;
    let name = |at: usize| match all.get(at)? {
        Token::Word(name) => Some(name.to_lowercase()),
        Token::Name(name) | Token::Double(name) => Some(name.to_lowercase()),
        _ => None,
    };
    let table = schema.table(table_of(schema, &name(into + 1)?)?);
    let names = into + 3;
    let end = closed(all, into + 2)?;
    if !(all.get(end)?.is("values") || all.get(end)?.is("value")) {
        return None;
    }
    let values = end + 2;
    let last = closed(all, end + 1)?;
    if all.get(last).is_some_and(|token| token.is_mark(",")) {
        return None;
    }
    let named: Vec<String> = (names..end).filter_map(name).collect();
    let missing = |column: &&crate::schema::Column| {
        column.generated && !named.contains(&column.name.to_lowercase())
    };
    let columns = table.columns.iter().filter(missing);
    Some(Place {
        names,
        values,
        columns: columns.map(|column| column.name.clone()).collect(),
    })
}

fn table_of(schema: &Schema, name: &str) -> Option<TableId> {
    let is = |table: &Table| table.name.eq_ignore_ascii_case(name);
    let at = schema.tables.iter().position(is)?;
    Some(TableId(at as u32))
}

/// After the bracket that closes the one here.
fn closed(all: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, token) in all.iter().enumerate().skip(open) {
        depth += i32::from(token.is_mark("("));
        depth -= i32::from(token.is_mark(")"));
        if depth == 0 {
            return (at > open).then_some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::token::join;

    fn given(sql: &str) -> String {
        let text = "create table t (id serial primary key, a int, b int);\n\
            create table u (k int primary key);\n\
            transaction x() select a from t; end;";
        let program = crate::read_sql_file(text, "x.sql", None).expect("it reads");
        written(give(&program.schema, tokens(sql), 7))
    }

    fn written(all: Vec<Token>) -> String {
        let word = |token: Token| match token {
            Token::Word(text) | Token::Name(text) | Token::Mark(text) | Token::Text(text) => text,
            Token::Double(text) | Token::Placeholder(text) => text,
        };
        join(&all.into_iter().map(word).collect::<Vec<_>>())
    }

    #[test]
    fn a_key_that_is_left_out_is_given() {
        let cases = [
            (
                "insert into t (a, b) values (1, 2)",
                "insert into t(id, a, b) values(7, 1, 2)",
            ),
            (
                "insert into T (b) values (abs(3)) returning id",
                "insert into t(id, b) values(7, abs(3)) returning id",
            ),
        ];
        for (sql, expected) in cases {
            assert_eq!(given(sql), expected);
        }
    }

    #[test]
    fn other_inserts_stay_as_they_are() {
        for sql in [
            "insert into t(id, a) values(1, 2)",
            "insert into u(k) values(1)",
            "insert into t(a) values(1), (2)",
            "insert into t values(1, 2, 3)",
            "insert into t(a) select k from u",
            "select a from t",
        ] {
            assert_eq!(given(sql), written(tokens(sql)));
        }
    }
}
