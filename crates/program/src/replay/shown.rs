//! The texts of a replay for people: statements with their values, and tables.

use super::dialect::Dialect;
use super::{tables, text};
use crate::execute::Call;
use crate::schema::Schema;

/// A statement with its values, in the words of PostgreSQL where it can be said in these.
pub fn shown_text(schema: &Schema, call: &Call<'_>) -> String {
    text::text_of(Dialect::Postgres, schema, call, None)
        .unwrap_or_else(|_| call.statement.sql.clone())
}

/// The statements that create the tables of a program, and its views.
pub fn schema_text(dialect: Dialect, schema: &Schema) -> String {
    let mut statements = tables::create(dialect, schema);
    statements.extend(tables::create_views(dialect, schema));
    statements.iter().map(|text| format!("{text};\n")).collect()
}
