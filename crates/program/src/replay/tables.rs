//! The tables and views of a program on a server: created, filled, read, emptied.
//!
//! Types keep their kind, not their width: the values of a scenario were chosen by kind, and a
//! replay shall not fail for a text that is a letter too long. Keys, UNIQUE, NOT NULL, foreign keys
//! and constant defaults are kept.

use super::dialect::{Dialect, NOW};
use super::error::ReplayError;
use super::text::translate;
use crate::execute::total_order;
use crate::expr::Value;
use crate::scenario::StoredRow;
use crate::schema::{Column, ColumnId, Schema, Table, TableId, Type, ViewQuery};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// The tables, each after those that it refers to. A circle of references ends in the order of the
/// declarations.
pub(super) fn in_order(schema: &Schema) -> Vec<TableId> {
    let mut left: Vec<TableId> = (0..schema.tables.len() as u32).map(TableId).collect();
    let mut found: Vec<TableId> = Vec::new();
    while !left.is_empty() {
        let is_free = |id: &TableId| {
            let keys = schema.table(*id).foreign_keys.iter();
            let mut parents = keys.map(|key| key.table).filter(|parent| parent != id);
            parents.all(|parent| found.contains(&parent))
        };
        let at = left.iter().position(is_free).unwrap_or(0);
        found.push(left.remove(at));
    }
    found
}

/// The statements that create all tables.
pub(super) fn create(dialect: Dialect, schema: &Schema) -> Vec<String> {
    let order = in_order(schema);
    let mut created = BTreeSet::new();
    let mut statements = Vec::new();
    for id in &order {
        created.insert(*id);
        statements.push(create_table(dialect, schema, *id, &created));
    }
    statements
}

/// The statements that create the views, in the order of their declaration: a view may read those before it.
/// What cannot be said in the dialect is left out.
pub(super) fn create_views(dialect: Dialect, schema: &Schema) -> Vec<String> {
    let last = |view: &&ViewQuery| schema.view(&view.name).is_some_and(|one| one == *view);
    let mut statements = Vec::new();
    for view in schema.views.iter().filter(last) {
        let Ok(query) = translate(dialect, schema, &view.query, &[], None) else {
            continue;
        };
        let columns: Vec<String> = view.columns.iter().map(|one| dialect.name(one)).collect();
        let columns = match columns.is_empty() {
            true => String::new(),
            false => format!(" ({})", columns.join(", ")),
        };
        let name = dialect.name(&view.name);
        statements.push(format!("create view {name}{columns} as {query}"));
    }
    statements
}

fn create_table(
    dialect: Dialect,
    schema: &Schema,
    id: TableId,
    created: &BTreeSet<TableId>,
) -> String {
    let table = schema.table(id);
    let mut lines: Vec<String> = table
        .column_ids()
        .map(|column| column_line(dialect, table, column))
        .collect();
    if !table.primary_key.is_empty() {
        lines.push(format!(
            "primary key ({})",
            names(dialect, table, &table.primary_key)
        ));
    }
    for unique in &table.unique {
        lines.push(format!("unique ({})", names(dialect, table, unique)));
    }
    let has_key = |column: ColumnId| {
        let mut keys = table.unique.iter().chain([&table.primary_key]);
        keys.any(|key| key.first() == Some(&column))
    };
    for column in table.column_ids() {
        // MariaDB counts in keys only.
        let counts = table.columns[column.index()].generated && dialect == Dialect::MariaDb;
        if counts && !has_key(column) {
            lines.push(format!("key ({})", names(dialect, table, &[column])));
        }
    }
    for key in &table.foreign_keys {
        let parent = schema.table(key.table);
        if !created.contains(&key.table) || !parent.is_key(&key.referred) {
            continue;
        }
        lines.push(format!(
            "foreign key ({}) references {} ({})",
            names(dialect, table, &key.columns),
            dialect.name(&parent.name),
            names(dialect, parent, &key.referred)
        ));
    }
    let engine = match dialect {
        Dialect::Postgres => "",
        Dialect::MariaDb => " engine = innodb default charset = utf8mb4 collate = utf8mb4_bin",
    };
    let name = dialect.name(&table.name);
    format!("create table {name} ({}){engine}", lines.join(", "))
}

fn names(dialect: Dialect, table: &Table, columns: &[ColumnId]) -> String {
    let names = columns
        .iter()
        .map(|id| dialect.name(table.column_name(*id)));
    names.collect::<Vec<_>>().join(", ")
}

fn column_line(dialect: Dialect, table: &Table, id: ColumnId) -> String {
    let column = &table.columns[id.index()];
    let in_key = table.primary_key.contains(&id)
        || table.unique.iter().any(|key| key.contains(&id))
        || table
            .foreign_keys
            .iter()
            .any(|key| key.columns.contains(&id));
    let mut line = format!(
        "{} {}",
        dialect.name(&column.name),
        type_of(dialect, column, in_key)
    );
    if column.generated {
        line.push_str(match dialect {
            Dialect::Postgres => " generated by default as identity",
            Dialect::MariaDb => " not null auto_increment",
        });
        return line;
    }
    if !column.nullable || table.primary_key.contains(&id) {
        line.push_str(" not null");
    } else if dialect == Dialect::MariaDb {
        line.push_str(" null");
    }
    if let Some(default) = column.default.as_deref().and_then(constant) {
        line.push_str(&format!(" default {default}"));
    }
    line
}

/// A default that is the same in both dialects, with the clock stopped.
fn constant(text: &str) -> Option<String> {
    let text = text.trim();
    let lower = text.to_lowercase();
    if lower.starts_with("current_timestamp") || lower.starts_with("now(") {
        return Some(format!("'{NOW}'"));
    }
    let text = text.split("::").next().unwrap_or(text).trim();
    let quoted = text.len() > 1 && text.starts_with('\'') && text.ends_with('\'');
    let word = matches!(lower.as_str(), "null" | "true" | "false");
    (quoted || word || text.parse::<f64>().is_ok()).then(|| text.to_string())
}

fn type_of(dialect: Dialect, column: &Column, in_key: bool) -> &'static str {
    let declared = column.declared.to_lowercase();
    let kind = declared.split(['(', ' ']).next().unwrap_or_default();
    match (dialect, column.ty) {
        (_, Type::Integer) => "bigint",
        (Dialect::Postgres, Type::Real) if is_decimal(kind) => "numeric",
        (Dialect::MariaDb, Type::Real) if is_decimal(kind) => "decimal(40, 10)",
        (Dialect::Postgres, Type::Real) => "double precision",
        (Dialect::MariaDb, Type::Real) => "double",
        (_, Type::Boolean) => "boolean",
        (_, Type::Date) => "date",
        (_, Type::Time) => "time",
        (Dialect::Postgres, Type::Timestamp) => "timestamp",
        (Dialect::MariaDb, Type::Timestamp) => "datetime(6)",
        (Dialect::Postgres, Type::Binary) => "bytea",
        (Dialect::MariaDb, Type::Binary) if in_key => "varbinary(190)",
        (Dialect::MariaDb, Type::Binary) => "longblob",
        (Dialect::Postgres, _) => "text",
        // MariaDB has no keys of unbounded length.
        (Dialect::MariaDb, _) if in_key => "varchar(190)",
        (Dialect::MariaDb, _) => "longtext",
    }
}

fn is_decimal(kind: &str) -> bool {
    matches!(
        kind,
        "numeric" | "decimal" | "dec" | "number" | "money" | "fixed"
    )
}

/// The statements that leave exactly these rows, and counters that start again.
pub(super) fn load(
    dialect: Dialect,
    schema: &Schema,
    rows: &[StoredRow],
) -> Result<Vec<String>, ReplayError> {
    let order = in_order(schema);
    let mut statements = Vec::new();
    for id in order.iter().rev() {
        statements.push(format!(
            "delete from {}",
            dialect.name(schema.table_name(*id))
        ));
    }
    for id in &order {
        let table = schema.table(*id);
        let mut sorted: Vec<&StoredRow> = rows.iter().filter(|row| row.table == *id).collect();
        // Servers return rows that nobody ordered as they lie there; the store in process has them by key.
        sorted.sort_by(|one, other| by_key(table, one, other));
        let mut own = Vec::new();
        for row in sorted {
            own.push(row_text(dialect, table, &row.values)?);
        }
        if !own.is_empty() {
            let name = dialect.name(schema.table_name(*id));
            statements.push(format!("insert into {name} values {}", own.join(", ")));
        }
    }
    Ok(statements)
}

fn by_key(table: &Table, one: &StoredRow, other: &StoredRow) -> Ordering {
    let compared = table.primary_key.iter().map(|column| {
        let (a, b) = (
            one.values.get(column.index()),
            other.values.get(column.index()),
        );
        a.zip(b).map_or(Ordering::Equal, |(a, b)| total_order(a, b))
    });
    compared.fold(Ordering::Equal, Ordering::then)
}

/// The statements that make generated values go on after the rows. On MariaDB they end the
/// transaction they stand in.
pub(super) fn restart(dialect: Dialect, schema: &Schema, rows: &[StoredRow]) -> Vec<String> {
    let mut statements = Vec::new();
    for id in in_order(schema) {
        let table = schema.table(id);
        for column in table.column_ids() {
            if !table.columns[column.index()].generated {
                continue;
            }
            let own = rows.iter().filter(|row| row.table == id);
            let number = |row: &StoredRow| match row.values.get(column.index()) {
                Some(Value::Integer(number)) => *number,
                _ => 0,
            };
            let next = own.map(number).max().unwrap_or(0).max(0).saturating_add(1);
            let (name, field) = (dialect.name(&table.name), table.column_name(column));
            statements.push(match dialect {
                Dialect::Postgres => {
                    let field = dialect.name(field);
                    format!("alter table {name} alter column {field} restart with {next}")
                }
                Dialect::MariaDb => format!("alter table {name} auto_increment = {next}"),
            });
        }
    }
    statements
}

fn row_text(dialect: Dialect, table: &Table, values: &[Value]) -> Result<String, ReplayError> {
    if values.len() != table.columns.len() {
        return Err(ReplayError::new(format!(
            "a row of {} has {} values, but the table {} columns",
            table.name,
            values.len(),
            table.columns.len()
        )));
    }
    let fields = values.iter().zip(&table.columns);
    let fields = fields.map(|(value, column)| dialect.value_for(value, column.ty));
    let fields = fields.collect::<Result<Vec<_>, _>>();
    let fields = fields.map_err(|error| error.during(&format!("a row of {}", table.name)))?;
    Ok(format!("({})", fields.join(", ")))
}

/// The query for all rows of a table.
pub(super) fn all_rows(dialect: Dialect, schema: &Schema, id: TableId) -> String {
    let table = schema.table(id);
    let columns: Vec<ColumnId> = table.column_ids().collect();
    let (list, name) = (names(dialect, table, &columns), dialect.name(&table.name));
    format!("select {list} from {name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::schema_of;

    fn shop() -> Schema {
        let ddl = "create table item (id int primary key, shop int not null references shop(id), \
                   price numeric(8, 2) default 1.5, made timestamp default current_timestamp); \
                   create table shop (id serial primary key, name varchar(8) unique);";
        schema_of(ddl, "ddl").expect("a schema").0
    }

    #[test]
    fn parents_come_first() {
        let schema = shop();
        assert_eq!(in_order(&schema), [TableId(1), TableId(0)]);
        let item = &create(Dialect::Postgres, &schema)[1];
        assert_eq!(
            item,
            "create table \"item\" (\"id\" bigint not null, \"shop\" bigint not null, \
             \"price\" numeric default 1.5, \"made\" timestamp default '2000-01-01 00:00:00', \
             primary key (\"id\"), foreign key (\"shop\") references \"shop\" (\"id\"))"
        );
    }

    #[test]
    fn rows_are_loaded_in_order() {
        let schema = shop();
        let row = |table, values: &[Value]| StoredRow {
            table: TableId(table),
            values: values.to_vec(),
        };
        let text = Value::Text("it's".to_string());
        let rows = [
            row(
                0,
                &[
                    Value::Integer(1),
                    Value::Integer(7),
                    Value::Real(0.5),
                    Value::Null,
                ],
            ),
            row(1, &[Value::Integer(7), text]),
        ];
        let found = load(Dialect::MariaDb, &schema, &rows).expect("statements");
        assert_eq!(
            found,
            [
                "delete from `item`",
                "delete from `shop`",
                "insert into `shop` values (7, 'it''s')",
                "insert into `item` values (1, 7, 0.5, null)",
            ]
        );
        assert_eq!(
            restart(Dialect::MariaDb, &schema, &rows),
            ["alter table `shop` auto_increment = 8"]
        );
        assert!(load(Dialect::Postgres, &schema, &[row(1, &[])]).is_err());
    }

    #[test]
    fn defaults_are_kept_where_they_are_constants() {
        assert_eq!(constant("'a'::text").as_deref(), Some("'a'"));
        assert_eq!(constant("0").as_deref(), Some("0"));
        assert_eq!(constant("nextval('s')"), None);
    }
}
