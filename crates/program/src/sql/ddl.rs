//! A schema from its DDL.
//!
//! Read: `create table` with keys inline and at its end, `create unique index`, `alter table … add
//! constraint/column`, `create view`. Keys and columns may be added before the table is declared, as the files of
//! a directory are in no order. Everything else that starts a schema file (drop, set, indexes that are not
//! unique) does not change what transactions conflict on and is passed over.

use super::parse::parse;
use super::scope::distance;
use super::split::split;
use crate::place::{Note, NoteKind, Place, ProgramError, shorten};
use crate::schema::{
    Column, ColumnId, ForeignKey, Schema, Table, TableId, Type, ViewQuery, bare_name,
};
use sqlparser::ast::{
    AlterTableOperation, ColumnDef, ColumnOption, ColumnOptionDef, CreateIndex, CreateTable,
    DataType, Expr, ForeignKeyConstraint, Ident, IndexColumn, ObjectName, Statement,
    TableConstraint,
};

/// A foreign key whose table may be declared later.
struct Reference {
    table: TableId,
    columns: Vec<ColumnId>,
    parent: String,
    parent_columns: Vec<String>,
    place: Place,
}

/// Reads DDL into a schema.
#[derive(Default)]
pub struct DdlReader {
    schema: Schema,
    notes: Vec<Note>,
    references: Vec<Reference>,
    /// What adds to tables that may be declared later.
    additions: Vec<(Statement, Place)>,
}

/// The schema of a DDL text; the file is named in places. What is passed over is noted.
pub fn schema_of(text: &str, file: &str) -> Result<(Schema, Vec<Note>), ProgramError> {
    let mut reader = DdlReader::default();
    for piece in split(text, &Place::new(file, 1, 1)) {
        reader.read(&piece.text, &piece.place)?;
    }
    Ok(reader.finish())
}

impl DdlReader {
    /// Whether a statement declares something.
    pub fn is_ddl(sql: &str) -> bool {
        let mut words = sql.split_whitespace();
        let first = words.next().unwrap_or("").to_ascii_lowercase();
        matches!(
            first.as_str(),
            "create" | "alter" | "drop" | "comment" | "grant" | "pragma"
        )
    }

    /// Reads one statement.
    pub fn read(&mut self, sql: &str, place: &Place) -> Result<(), ProgramError> {
        let statement = match parse(sql, place) {
            Ok(statement) => statement,
            Err(error) => {
                return match declares_table(sql) || misspells_table(sql) {
                    true => Err(error),
                    false => {
                        self.note(place, sql, "passed over");
                        Ok(())
                    }
                };
            }
        };
        match statement {
            Statement::CreateTable(create) => self.create_table(&create, place),
            Statement::CreateView(view) if !view.materialized => {
                self.schema.views.push(ViewQuery {
                    name: object_name(&view.name),
                    columns: view
                        .columns
                        .iter()
                        .map(|one| one.name.value.clone())
                        .collect(),
                    query: view.query.to_string(),
                })
            }
            other => self.add(other, place.clone(), false),
        }
        Ok(())
    }

    /// Adds to a table what an index or `alter table` says; kept for the end if the table is not known yet.
    fn add(&mut self, statement: Statement, place: Place, at_end: bool) {
        let name = match &statement {
            Statement::CreateIndex(index) if index.unique => &index.table_name,
            Statement::AlterTable(alter) => &alter.name,
            _ => return,
        };
        let Some(id) = self.schema.find(&object_name(name)) else {
            return match at_end {
                true => self.note(&place, &statement.to_string(), "left out: no such table"),
                false => self.additions.push((statement, place)),
            };
        };
        match &statement {
            Statement::CreateIndex(index) => self.unique_index(id, index),
            Statement::AlterTable(alter) => {
                for operation in &alter.operations {
                    self.alter(id, operation, &place);
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, place: &Place, text: &str, assumed: &str) {
        self.notes.push(Note {
            place: place.clone(),
            text: shorten(text, 60),
            assumed: assumed.to_string(),
            advice: String::new(),
            kind: NoteKind::Statement,
        });
    }

    /// The schema, foreign keys resolved.
    pub fn finish(mut self) -> (Schema, Vec<Note>) {
        for (statement, place) in std::mem::take(&mut self.additions) {
            self.add(statement, place, true);
        }
        for reference in std::mem::take(&mut self.references) {
            let found = self.schema.find(&reference.parent);
            let key = found.map(|parent| {
                let table = self.schema.table(parent);
                let referred: Vec<ColumnId> = match reference.parent_columns.is_empty() {
                    true => table.primary_key.clone(),
                    false => named(table, reference.parent_columns.iter().map(String::as_str)),
                };
                ForeignKey {
                    columns: reference.columns.clone(),
                    table: parent,
                    referred,
                }
            });
            match key {
                Some(key) if key.referred.len() == key.columns.len() => {
                    self.schema.tables[reference.table.index()]
                        .foreign_keys
                        .push(key);
                }
                _ => {
                    let text = format!("references {}", reference.parent);
                    self.note(&reference.place, &text, "the foreign key is left out");
                }
            }
        }
        (self.schema, self.notes)
    }

    fn create_table(&mut self, create: &CreateTable, place: &Place) {
        let name = object_name(&create.name);
        if create.columns.is_empty() {
            return self.note(place, &create.to_string(), "the table is left out");
        }
        let id = match self.schema.find(&name) {
            // Declared again (create if not exists, or another dialect's section): the last counts.
            Some(id) => id,
            None => TableId(self.schema.tables.len() as u32),
        };
        let mut table = Table {
            name,
            columns: Vec::new(),
            primary_key: Vec::new(),
            unique: Vec::new(),
            foreign_keys: Vec::new(),
            place: place.clone(),
        };
        self.references.retain(|reference| reference.table != id);
        for column in &create.columns {
            self.column(&mut table, id, column, place);
        }
        let checked = |option: &ColumnOptionDef| matches!(option.option, ColumnOption::Check(_));
        let mut options = create.columns.iter().flat_map(|column| &column.options);
        let mut constraints = create.constraints.iter();
        if options.any(checked) || constraints.any(|one| matches!(one, TableConstraint::Check(_))) {
            let assumed = "CHECK is not followed: what it refuses is taken for done";
            self.note(place, &create.to_string(), assumed);
        }
        for constraint in &create.constraints {
            self.constraint(&mut table, id, constraint, place);
        }
        if let Some(key) = &create.primary_key {
            let key = key.to_string();
            let names = key.trim_matches(['(', ')']).split(',').map(str::trim);
            table.primary_key = named(&table, names);
        }
        match self.schema.tables.get_mut(id.index()) {
            Some(known) => *known = table,
            None => self.schema.tables.push(table),
        }
    }

    fn column(&mut self, table: &mut Table, id: TableId, column: &ColumnDef, place: &Place) {
        let declared = column.data_type.to_string();
        let mut found = Column {
            name: column.name.value.clone(),
            ty: type_of(&column.data_type),
            generated: declared.to_ascii_lowercase().contains("serial"),
            declared,
            nullable: true,
            default: None,
        };
        let this = ColumnId(table.columns.len() as u32);
        for option in &column.options {
            match &option.option {
                ColumnOption::NotNull => found.nullable = false,
                ColumnOption::Default(value) => found.default = Some(value.to_string()),
                ColumnOption::PrimaryKey(_) => {
                    table.primary_key = vec![this];
                    found.nullable = false;
                }
                ColumnOption::Unique(_) => table.unique.push(vec![this]),
                ColumnOption::ForeignKey(key) => self.references.push(Reference {
                    table: id,
                    columns: vec![this],
                    parent: object_name(&key.foreign_table),
                    parent_columns: values(&key.referred_columns),
                    place: place.clone(),
                }),
                ColumnOption::Identity(_) => found.generated = true,
                ColumnOption::Generated {
                    generation_expr: None,
                    ..
                } => found.generated = true,
                ColumnOption::DialectSpecific(tokens) => {
                    let auto = |text: String| text.to_ascii_lowercase().starts_with("auto");
                    found.generated |= tokens.iter().any(|token| auto(token.to_string()));
                }
                _ => {}
            }
        }
        if let Some(default) = &found.default {
            found.generated |= default.to_ascii_lowercase().starts_with("nextval");
        }
        table.columns.push(found);
    }

    fn constraint(
        &mut self,
        table: &mut Table,
        id: TableId,
        constraint: &TableConstraint,
        place: &Place,
    ) {
        match constraint {
            TableConstraint::PrimaryKey(key) => table.primary_key = indexed(table, &key.columns),
            TableConstraint::Unique(key) => {
                let columns = indexed(table, &key.columns);
                if !columns.is_empty() {
                    table.unique.push(columns);
                }
            }
            TableConstraint::ForeignKey(key) => self.foreign_key(table, id, key, place),
            _ => {}
        }
    }

    fn foreign_key(
        &mut self,
        table: &Table,
        id: TableId,
        key: &ForeignKeyConstraint,
        place: &Place,
    ) {
        self.references.push(Reference {
            table: id,
            columns: named(
                table,
                key.columns.iter().map(|column| column.value.as_str()),
            ),
            parent: object_name(&key.foreign_table),
            parent_columns: values(&key.referred_columns),
            place: place.clone(),
        });
    }

    fn unique_index(&mut self, id: TableId, index: &CreateIndex) {
        // A partial index does not make its columns a key.
        let table = &mut self.schema.tables[id.index()];
        let columns = indexed(table, &index.columns);
        let whole = index.predicate.is_none() && columns.len() == index.columns.len();
        if whole && columns != table.primary_key && !table.unique.contains(&columns) {
            table.unique.push(columns);
        }
    }

    fn alter(&mut self, id: TableId, operation: &AlterTableOperation, place: &Place) {
        // Taken out, so that the reader can be borrowed too.
        let mut table = self.schema.tables[id.index()].clone();
        match operation {
            AlterTableOperation::AddConstraint { constraint, .. } => {
                self.constraint(&mut table, id, constraint, place);
            }
            AlterTableOperation::AddColumn { column_def, .. } => {
                self.column(&mut table, id, column_def, place);
            }
            _ => {}
        }
        self.schema.tables[id.index()] = table;
    }
}

fn declares_table(sql: &str) -> bool {
    let words: Vec<String> = sql
        .split_whitespace()
        .take(4)
        .map(str::to_ascii_lowercase)
        .collect();
    words.first().is_some_and(|word| word == "create") && words.contains(&"table".to_string())
}

/// Whether a statement creates something whose kind reads like `table`.
fn misspells_table(sql: &str) -> bool {
    let mut words = sql.split_whitespace().map(str::to_ascii_lowercase);
    let creates = words.next().is_some_and(|word| word == "create");
    creates
        && words
            .next()
            .is_some_and(|kind| distance(&kind, "table") <= 2)
}

/// The last part of a name, without quotes.
pub(super) fn object_name(name: &ObjectName) -> String {
    bare_name(&name.to_string()).to_string()
}

fn values(names: &[Ident]) -> Vec<String> {
    names.iter().map(|name| name.value.clone()).collect()
}

/// The columns of these names; empty if one is not there.
fn named<'a>(table: &Table, names: impl Iterator<Item = &'a str>) -> Vec<ColumnId> {
    let found: Option<Vec<ColumnId>> = names.map(|name| table.column(bare_name(name))).collect();
    found.unwrap_or_default()
}

/// The columns of an index; empty if one is an expression.
fn indexed(table: &Table, columns: &[IndexColumn]) -> Vec<ColumnId> {
    let column = |column: &IndexColumn| match &column.column.expr {
        Expr::Identifier(name) => table.column(&name.value),
        // MySQL's `name(10)`: a prefix of the column.
        Expr::Function(function) => table.column(&object_name(&function.name)),
        _ => None,
    };
    let found: Option<Vec<ColumnId>> = columns.iter().map(column).collect();
    found.unwrap_or_default()
}

/// The type as far as it matters here.
pub(super) fn type_of(declared: &DataType) -> Type {
    let text = declared.to_string().to_ascii_lowercase();
    let word: String = text.chars().take_while(char::is_ascii_alphabetic).collect();
    match word.as_str() {
        "bool" | "boolean" | "bit" => Type::Boolean,
        "datetime" | "timestamp" | "timestamptz" | "smalldatetime" => Type::Timestamp,
        "date" => Type::Date,
        "time" => Type::Time,
        "blob" | "bytea" | "binary" | "varbinary" | "tinyblob" | "mediumblob" | "longblob"
        | "bytes" => Type::Binary,
        "decimal" | "numeric" | "dec" | "float" | "real" | "double" | "number" | "money" => {
            Type::Real
        }
        word if word.contains("int") || word.contains("serial") || word == "signed" => {
            Type::Integer
        }
        word if word.contains("char") || word.contains("text") || word.contains("clob") => {
            Type::Text
        }
        "uuid" | "enum" | "string" | "json" | "jsonb" => Type::Text,
        _ => Type::Other,
    }
}
