//! Columns that an insert leaves out although they need a value.
//!
//! Definition: a column that may not be NULL, has no default and is not numbered by the database
//! must be given by every insert. Where a program leaves it out, its tables were made by other DDL
//! (a sequence, a trigger, MySQL without strict mode). Taken literally the insert fails always, and
//! all that follows it would be called unreachable: so the column gets a value, and that is said.
//! Steps: for every insert and every such column, a whole number that is part of the key becomes
//! numbered by the database, anything else gets what MySQL gives, which is nought or empty.

use crate::ir::{Action, Part, Program};
use crate::place::{Note, NoteKind, shorten};
use crate::schema::{Column, ColumnId, TableId, Type};

/// Gives a value to what inserts leave out, with a note for each insert that is the first to do so.
pub(crate) fn supply_left_out(program: &mut Program) {
    let mut found: Vec<(TableId, ColumnId)> = Vec::new();
    let mut notes: Vec<Note> = Vec::new();
    for statement in program.transactions.iter().flat_map(|t| t.statements()) {
        for part in &statement.parts {
            let mut columns = left_out(program, part);
            columns.retain(|column| !found.contains(&(part.table, *column)));
            if columns.is_empty() {
                continue;
            }
            notes.push(Note {
                place: statement.place.clone(),
                text: shorten(&statement.sql, 60),
                assumed: assumed(program, part.table, &columns),
                advice: "Declare how they get a value (default, serial, auto_increment).".into(),
                kind: NoteKind::Value,
            });
            found.extend(columns.into_iter().map(|column| (part.table, column)));
        }
    }
    for (table, column) in found {
        let numbered = is_numbered(program, table, column);
        let column = &mut program.schema.tables[table.index()].columns[column.index()];
        match numbered {
            true => column.generated = true,
            false => column.default = Some(empty_of(column.ty).to_string()),
        }
    }
    program.notes.extend(notes);
}

/// The columns that an insert must give and does not.
fn left_out(program: &Program, part: &Part) -> Vec<ColumnId> {
    let Action::Insert(insert) = &part.action else {
        return Vec::new();
    };
    let table = program.schema.table(part.table);
    let given = |id: &ColumnId| insert.values.iter().any(|set| set.column == *id);
    let needed = |id: &ColumnId| {
        let column = &table.columns[id.index()];
        let must = !column.nullable || table.primary_key.contains(id);
        must && !column.generated && !has_default(column)
    };
    let ids = table.column_ids();
    ids.filter(|id| needed(id) && !given(id)).collect()
}

fn has_default(column: &Column) -> bool {
    let default = column.default.as_deref().map(str::trim);
    default.is_some_and(|text| !text.eq_ignore_ascii_case("null"))
}

fn is_numbered(program: &Program, table: TableId, column: ColumnId) -> bool {
    let table = program.schema.table(table);
    table.primary_key.contains(&column) && table.columns[column.index()].ty == Type::Integer
}

fn assumed(program: &Program, table: TableId, columns: &[ColumnId]) -> String {
    let declared = program.schema.table(table);
    let value = |column: &ColumnId| match is_numbered(program, table, *column) {
        true => "a number of the database",
        false => empty_of(declared.columns[column.index()].ty),
    };
    let taken =
        |column: &ColumnId| format!("{} ({})", declared.column_name(*column), value(column));
    let taken: Vec<String> = columns.iter().map(taken).collect();
    format!(
        "leaves out what may not be NULL and has no default, taken for: {}",
        taken.join(", ")
    )
}

/// A default as DDL would write it.
fn empty_of(ty: Type) -> &'static str {
    match ty {
        Type::Integer | Type::Real => "0",
        Type::Boolean => "false",
        Type::Timestamp => "'1970-01-01 00:00:00'",
        Type::Date => "'1970-01-01'",
        Type::Time => "'00:00:00'",
        Type::Text | Type::Binary | Type::List | Type::Other => "''",
    }
}
