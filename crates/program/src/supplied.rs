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

/// Gives a value to what inserts leave out, with a note each.
pub(crate) fn supply_left_out(program: &mut Program) {
    let mut found: Vec<(TableId, ColumnId, Note)> = Vec::new();
    for statement in program.transactions.iter().flat_map(|t| t.statements()) {
        for part in &statement.parts {
            for column in left_out(program, part) {
                let known = |(table, other, _): &(TableId, ColumnId, Note)| {
                    *table == part.table && *other == column
                };
                if !found.iter().any(known) {
                    let note = Note {
                        place: statement.place.clone(),
                        text: shorten(&statement.sql, 60),
                        assumed: assumed(program, part.table, column),
                        advice: "Declare how it gets its value (default, serial, auto_increment)."
                            .to_string(),
                        kind: NoteKind::Value,
                    };
                    found.push((part.table, column, note));
                }
            }
        }
    }
    for (table, column, note) in found {
        let numbered = is_numbered(program, table, column);
        let column = &mut program.schema.tables[table.index()].columns[column.index()];
        match numbered {
            true => column.generated = true,
            false => column.default = Some(empty_of(column.ty).to_string()),
        }
        program.notes.push(note);
    }
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

fn assumed(program: &Program, table: TableId, column: ColumnId) -> String {
    let declared = program.schema.table(table);
    let name = declared.column_name(column);
    let value = match is_numbered(program, table, column) {
        true => "numbered by the database".to_string(),
        false => empty_of(declared.columns[column.index()].ty).to_string(),
    };
    format!("leaves out {name}, which may not be NULL and has no default: taken for {value}")
}

/// A default as DDL would write it.
fn empty_of(ty: Type) -> &'static str {
    match ty {
        Type::Integer | Type::Real => "0",
        Type::Boolean => "false",
        Type::Timestamp => "'1970-01-01 00:00:00'",
        Type::Text | Type::Binary | Type::List | Type::Other => "''",
    }
}
