//! The tables of an application: columns, keys and foreign keys, as its DDL declares them.

use crate::place::Place;
use std::fmt;

/// A table of a [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u32);

/// A column of its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub u32);

impl TableId {
    /// The position in [`Schema::tables`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ColumnId {
    /// The position in [`Table::columns`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The type of a column, a parameter or a variable, as far as the analysis tells types apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// Whole numbers of any width.
    Integer,
    /// Decimal and floating-point numbers.
    Real,
    /// Characters.
    Text,
    /// True or false.
    Boolean,
    /// A date with a time.
    Timestamp,
    /// A date.
    Date,
    /// A time of day.
    Time,
    /// Bytes.
    Binary,
    /// An array or a collection.
    List,
    /// Anything else.
    Other,
}

impl Type {
    /// The name in our own files.
    pub fn name(self) -> &'static str {
        match self {
            Type::Integer => "int",
            Type::Real => "real",
            Type::Text => "text",
            Type::Boolean => "bool",
            Type::Timestamp => "timestamp",
            Type::Date => "date",
            Type::Time => "time",
            Type::Binary => "binary",
            Type::List => "list",
            Type::Other => "any",
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name as declared, without quotes.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// The type as written, e.g. `varchar(32)`; for the tables of a replay.
    pub declared: String,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Whether the database chooses a new value when an insert gives none (serial, identity,
    /// auto_increment).
    pub generated: bool,
    /// The text of the DEFAULT expression.
    pub default: Option<String>,
}

/// Columns that refer to a row of another table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The referring columns.
    pub columns: Vec<ColumnId>,
    /// The table referred to.
    pub table: TableId,
    /// The columns there, in the same order.
    pub referred: Vec<ColumnId>,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The name as declared, without quotes and schema.
    pub name: String,
    /// Its columns in order.
    pub columns: Vec<Column>,
    /// The columns of the primary key, in its order; empty where none is declared.
    pub primary_key: Vec<ColumnId>,
    /// Column sets declared UNIQUE (constraint or index), the primary key not among them.
    pub unique: Vec<Vec<ColumnId>>,
    /// Its foreign keys.
    pub foreign_keys: Vec<ForeignKey>,
    /// Where it is declared.
    pub place: Place,
}

impl Table {
    /// The column of that name; case does not matter.
    pub fn column(&self, name: &str) -> Option<ColumnId> {
        let same = |column: &Column| column.name.eq_ignore_ascii_case(name);
        let index = self.columns.iter().position(same)?;
        u32::try_from(index).ok().map(ColumnId)
    }

    /// The ids of all columns.
    pub fn column_ids(&self) -> impl Iterator<Item = ColumnId> + use<> {
        (0..self.columns.len() as u32).map(ColumnId)
    }

    /// Whether the columns are the primary key or UNIQUE, in any order: servers ask that of what a
    /// foreign key refers to.
    pub fn is_key(&self, columns: &[ColumnId]) -> bool {
        let within = |a: &[ColumnId], b: &[ColumnId]| a.iter().all(|column| b.contains(column));
        let same = |key: &[ColumnId]| within(key, columns) && within(columns, key);
        let mut keys = self.unique.iter().chain([&self.primary_key]);
        !columns.is_empty() && keys.any(|key| same(key))
    }

    /// The name of a column.
    pub fn column_name(&self, column: ColumnId) -> &str {
        self.columns
            .get(column.index())
            .map_or("?", |found| found.name.as_str())
    }
}

/// A view: a query with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewQuery {
    /// The name as declared, without quotes.
    pub name: String,
    /// The names of its columns; where there are none, those of the query.
    pub columns: Vec<String>,
    /// The query, in SQL.
    pub query: String,
}

/// All tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    /// The tables, in the order of their declaration.
    pub tables: Vec<Table>,
    /// The views; of those with the same name the last counts.
    pub views: Vec<ViewQuery>,
}

impl Schema {
    /// The view of that name; case, quotes and a schema prefix do not matter.
    pub fn view(&self, name: &str) -> Option<&ViewQuery> {
        let bare = bare_name(name);
        let mut views = self.views.iter().rev();
        views.find(|view| view.name.eq_ignore_ascii_case(bare))
    }

    /// The table of that name; case, quotes and a schema prefix do not matter.
    pub fn find(&self, name: &str) -> Option<TableId> {
        let bare = bare_name(name);
        let same = |table: &Table| table.name.eq_ignore_ascii_case(bare);
        let index = self.tables.iter().position(same)?;
        u32::try_from(index).ok().map(TableId)
    }

    /// A table by its id, which must be of this schema.
    pub fn table(&self, id: TableId) -> &Table {
        &self.tables[id.index()]
    }

    /// All tables.
    pub fn table_ids(&self) -> impl Iterator<Item = TableId> + use<> {
        (0..self.tables.len() as u32).map(TableId)
    }

    /// The name of a table.
    pub fn table_name(&self, id: TableId) -> &str {
        self.tables
            .get(id.index())
            .map_or("?", |table| table.name.as_str())
    }
}

/// The last part of `a.b.c`, without quotes.
pub fn bare_name(name: &str) -> &str {
    let last = name.rsplit('.').next().unwrap_or(name);
    last.trim_matches(|c| matches!(c, '"' | '`' | '[' | ']'))
}

impl fmt::Display for Schema {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for table in &self.tables {
            let names = |ids: &[ColumnId]| -> String {
                let names: Vec<&str> = ids.iter().map(|id| table.column_name(*id)).collect();
                names.join(", ")
            };
            write!(out, "table {}(", table.name)?;
            for (index, column) in table.columns.iter().enumerate() {
                let comma = if index == 0 { "" } else { ", " };
                write!(out, "{comma}{} {}", column.name, column.ty)?;
            }
            write!(out, ") key ({})", names(&table.primary_key))?;
            for unique in &table.unique {
                write!(out, " unique ({})", names(unique))?;
            }
            for foreign in &table.foreign_keys {
                let parent = self.table_name(foreign.table);
                write!(out, " ({}) -> {parent}", names(&foreign.columns))?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}
