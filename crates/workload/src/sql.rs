//! The statements of the SQL databases: one table of texts for three dialects. Every parameter is a 64-bit
//! integer, and every result is an integer or a text that holds integers, so that drivers have
//! nothing to convert.

use crate::driver::Form;
use crate::plan::Action;
use crate::schema::{Cell, Column, ColumnKind, ListForm, Schema, Table};
use std::fmt::Write;

/// How a database writes its SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite 3.24 or newer.
    Sqlite,
    /// PostgreSQL 9.5 or newer.
    Postgres,
    /// MySQL or MariaDB.
    MySql,
}

/// What a statement is given for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The number of the row.
    Row,
    /// The value of the action.
    Value,
    /// The number of the row's group.
    Group,
}

/// A statement with places for parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// As the database reads it.
    pub text: String,
    /// What goes into its places, in order.
    pub parameters: Vec<Parameter>,
}

/// All statements that a schema needs, by number, so that a driver can prepare each once.
pub struct Catalog {
    statements: Vec<Option<Statement>>,
    columns_max: usize,
    groups: Vec<i64>,
    updates: bool,
}

const VERBS: usize = 4;

/// The statements of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Read,
    ReadGroup,
    Change,
    /// Where [`Verb::Change`] found no row.
    Insert,
}

impl Catalog {
    /// The statements for a schema.
    pub fn new(dialect: Dialect, form: Form, schema: &Schema) -> Catalog {
        let columns_max = schema.tables.iter().map(|table| table.columns.len());
        let columns_max = columns_max.max().unwrap_or(1);
        let mut statements = Vec::new();
        for table in &schema.tables {
            for place in 0..columns_max {
                let column = table.columns.get(place).copied();
                for verb in [Verb::Read, Verb::ReadGroup, Verb::Change, Verb::Insert] {
                    let text = column.map(|column| Text::of(dialect, form, table, column, verb));
                    statements.push(text);
                }
            }
        }
        Catalog {
            statements,
            columns_max,
            groups: schema.tables.iter().map(|t| i64::from(t.group)).collect(),
            updates: !form.upsert,
        }
    }

    /// How many numbers statements have.
    pub fn len(&self) -> usize {
        self.statements.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.statements.is_empty()
    }

    /// The statement of a number.
    pub fn statement(&self, number: usize) -> Option<&Statement> {
        self.statements.get(number)?.as_ref()
    }

    /// The number of the statement for an action.
    pub fn number(&self, action: &Action) -> usize {
        let verb = match action {
            Action::ReadGroup(_) => Verb::ReadGroup,
            _ if action.writes() => Verb::Change,
            _ => Verb::Read,
        };
        self.place(action.cell(), verb)
    }

    /// The number of the statement to run where the action's own changed no row.
    pub fn insert_number(&self, action: &Action) -> Option<usize> {
        let may_miss = self.updates && action.writes() && !matches!(action, Action::Add(..));
        may_miss.then(|| self.place(action.cell(), Verb::Insert))
    }

    fn place(&self, cell: Cell, verb: Verb) -> usize {
        let column = usize::from(cell.table) * self.columns_max + usize::from(cell.column);
        column * VERBS + verb as usize
    }

    /// What an action gives for the places of a statement.
    pub fn parameters<'a>(
        &self,
        statement: &'a Statement,
        action: &Action,
    ) -> impl Iterator<Item = i64> + use<'a> {
        let cell = action.cell();
        let group = group_number(self.groups[usize::from(cell.table)], cell.row);
        let value = action.value().unwrap_or(0);
        statement.parameters.iter().map(move |place| match place {
            Parameter::Row => cell.row,
            Parameter::Value => value,
            Parameter::Group => group,
        })
    }

    /// The statement of an action with its values in place.
    pub fn readable(&self, action: &Action) -> String {
        let Some(statement) = self.statement(self.number(action)) else {
            return String::new();
        };
        let mut out = String::new();
        let mut values = self.parameters(statement, action);
        let mut letters = statement.text.chars().peekable();
        while let Some(letter) = letters.next() {
            // A dollar may also be the root of a JSON path.
            let is_place =
                letter == '?' || letter == '$' && letters.peek().is_some_and(char::is_ascii_digit);
            if !is_place {
                out.push(letter);
                continue;
            }
            while letter == '$' && letters.next_if(char::is_ascii_digit).is_some() {}
            if let Some(value) = values.next() {
                // Writing to a string cannot fail.
                let _ = write!(out, "{value}");
            }
        }
        out
    }
}

/// The number of a row's group in a table with groups of that size.
pub fn group_number(size: i64, row: i64) -> i64 {
    row.div_euclid(size.max(1))
}

/// A statement being written.
struct Text {
    dialect: Dialect,
    text: String,
    parameters: Vec<Parameter>,
}

impl Text {
    fn of(dialect: Dialect, form: Form, table: &Table, column: Column, verb: Verb) -> Statement {
        let mut text = Text {
            dialect,
            text: String::new(),
            parameters: Vec::new(),
        };
        match verb {
            Verb::Read => text.read(form, table, column),
            Verb::ReadGroup => text.read_group(form, table, column),
            Verb::Change if column.kind == ColumnKind::Set => text.add(table, column),
            Verb::Change if form.upsert => text.upsert(table, column),
            Verb::Change => text.update(form, table, column),
            Verb::Insert => text.insert(table, column),
        }
        Statement {
            text: text.text,
            parameters: text.parameters,
        }
    }

    fn say(&mut self, words: &str) -> &mut Text {
        self.text.push_str(words);
        self
    }

    fn put(&mut self, parameter: Parameter) -> &mut Text {
        self.parameters.push(parameter);
        // Writing to a string cannot fail.
        let _ = match self.dialect {
            Dialect::Postgres => write!(self.text, "${}", self.parameters.len()),
            Dialect::Sqlite | Dialect::MySql => write!(self.text, "?"),
        };
        self
    }

    fn for_update(&mut self, form: Form) {
        // SQLite locks the whole database, and has no words for less.
        if form.for_update && self.dialect != Dialect::Sqlite {
            self.say(" for update");
        }
    }

    fn read(&mut self, form: Form, table: &Table, column: Column) {
        if column.kind == ColumnKind::Set {
            let name = set_table(table, column);
            self.say(&format!("select e from {name} where k = "));
            self.put(Parameter::Row);
        } else {
            let by = row_column(form);
            self.say(&format!(
                "select {} from {} where {by} = ",
                column.name, table.name
            ));
            self.put(Parameter::Row);
        }
        self.for_update(form);
    }

    fn read_group(&mut self, form: Form, table: &Table, column: Column) {
        let (table, column) = (table.name, column.name);
        self.say(&format!("select k, {column} from {table} where grp = "));
        self.put(Parameter::Group);
        self.for_update(form);
    }

    fn add(&mut self, table: &Table, column: Column) {
        let name = set_table(table, column);
        self.say(&format!("insert into {name} (k, e) values ("));
        self.put(Parameter::Row)
            .say(", ")
            .put(Parameter::Value)
            .say(")");
    }

    fn insert(&mut self, table: &Table, column: Column) {
        let (name, field) = (table.name, column.name);
        self.say(&format!("insert into {name} (k, s, grp, {field}) values ("));
        self.put(Parameter::Row)
            .say(", ")
            .put(Parameter::Row)
            .say(", ");
        self.put(Parameter::Group).say(", ");
        self.first_value(column.kind);
        self.say(")");
    }

    fn upsert(&mut self, table: &Table, column: Column) {
        self.insert(table, column);
        let field = column.name;
        match self.dialect {
            Dialect::MySql => self.say(&format!(" on duplicate key update {field} = ")),
            _ => self.say(&format!(" on conflict (k) do update set {field} = ")),
        };
        self.next_value(column.kind, &format!("{}.{field}", table.name));
    }

    fn update(&mut self, form: Form, table: &Table, column: Column) {
        let (name, field, by) = (table.name, column.name, row_column(form));
        self.say(&format!("update {name} set {field} = "));
        self.next_value(column.kind, field);
        self.say(&format!(" where {by} = ")).put(Parameter::Row);
    }

    /// A column's value after its first write.
    fn first_value(&mut self, kind: ColumnKind) {
        match (kind, self.dialect) {
            (ColumnKind::List(ListForm::Native), Dialect::Postgres) => {
                self.say("array[").put(Parameter::Value).say("::bigint]")
            }
            (ColumnKind::List(ListForm::Json), Dialect::Postgres) => self
                .say("jsonb_build_array(")
                .put(Parameter::Value)
                .say("::bigint)"),
            (ColumnKind::List(ListForm::Json), _) => {
                self.say("json_array(").put(Parameter::Value).say(")")
            }
            (ColumnKind::List(_), Dialect::Postgres) => {
                self.put(Parameter::Value).say("::bigint::text")
            }
            (ColumnKind::List(_), _) => self.put(Parameter::Value),
            (_, _) => self.put(Parameter::Value),
        };
    }

    /// A column's value after another write; `old` is the value before. A list is null before its first
    /// append, if the row came into being by a write to another column.
    fn next_value(&mut self, kind: ColumnKind, old: &str) {
        match (kind, self.dialect) {
            (ColumnKind::Register | ColumnKind::Set, _) => self.put(Parameter::Value),
            (ColumnKind::Counter, Dialect::Postgres) => self
                .say(&format!("{old} + "))
                .put(Parameter::Value)
                .say("::bigint"),
            (ColumnKind::Counter, _) => self.say(&format!("{old} + ")).put(Parameter::Value),
            (ColumnKind::List(ListForm::Native), Dialect::Postgres) => self
                .say(&format!("{old} || "))
                .put(Parameter::Value)
                .say("::bigint"),
            (ColumnKind::List(ListForm::Json), Dialect::Postgres) => self
                .say(&format!("coalesce({old}, '[]'::jsonb) || to_jsonb("))
                .put(Parameter::Value)
                .say("::bigint)"),
            (ColumnKind::List(ListForm::Json), Dialect::MySql) => self
                .say(&format!(
                    "json_array_append(coalesce({old}, json_array()), '$', "
                ))
                .put(Parameter::Value)
                .say(")"),
            (ColumnKind::List(ListForm::Json), Dialect::Sqlite) => self
                .say(&format!("json_insert(coalesce({old}, '[]'), '$[#]', "))
                .put(Parameter::Value)
                .say(")"),
            (ColumnKind::List(_), Dialect::MySql) => self
                .say(&format!("concat(coalesce({old}, ''), ',', "))
                .put(Parameter::Value)
                .say(")"),
            (ColumnKind::List(_), Dialect::Postgres) => self
                .say(&format!("coalesce({old}, '') || ',' || "))
                .put(Parameter::Value)
                .say("::bigint::text"),
            (ColumnKind::List(_), Dialect::Sqlite) => self
                .say(&format!("coalesce({old}, '') || ',' || "))
                .put(Parameter::Value),
        };
    }
}

fn row_column(form: Form) -> &'static str {
    if form.by_secondary { "s" } else { "k" }
}

/// The table of a column that holds sets.
fn set_table(table: &Table, column: Column) -> String {
    format!("{}_{}", table.name, column.name)
}

/// The statements that create the tables, without their rows.
pub fn create(dialect: Dialect, schema: &Schema) -> Vec<String> {
    let mut statements = drop_all(schema);
    for table in &schema.tables {
        let mut text = format!(
            "create table {} (k bigint primary key, s bigint, grp bigint",
            table.name
        );
        for column in &table.columns {
            if column.kind == ColumnKind::Set {
                let name = set_table(table, *column);
                statements.push(format!(
                    "create table {name} (k bigint not null, e bigint not null, primary key (k, e))"
                ));
            }
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                ", {} {}",
                column.name,
                column_type(dialect, column.kind)
            );
        }
        statements.push(format!("{text})"));
        statements.push(format!("create index {0}_s on {0} (s)", table.name));
        if table.group > 0 {
            statements.push(format!("create index {0}_grp on {0} (grp)", table.name));
        }
    }
    statements
}

/// The statements that remove the tables, if they are there.
pub fn drop_all(schema: &Schema) -> Vec<String> {
    let mut statements = Vec::new();
    for table in &schema.tables {
        for column in table.columns.iter().filter(|c| c.kind == ColumnKind::Set) {
            statements.push(format!(
                "drop table if exists {}",
                set_table(table, *column)
            ));
        }
        statements.push(format!("drop table if exists {}", table.name));
    }
    statements
}

fn column_type(dialect: Dialect, kind: ColumnKind) -> &'static str {
    match (kind, dialect) {
        (ColumnKind::Register | ColumnKind::Counter | ColumnKind::Set, _) => {
            "bigint not null default 0"
        }
        (ColumnKind::List(ListForm::Native), Dialect::Postgres) => "bigint[]",
        (ColumnKind::List(ListForm::Json), Dialect::Postgres) => "jsonb",
        (ColumnKind::List(ListForm::Json), Dialect::MySql) => "json",
        (ColumnKind::List(_), Dialect::MySql) => "longtext",
        (ColumnKind::List(_), _) => "text",
    }
}

/// Rows that one statement inserts.
const ROWS_PER_INSERT: u64 = 1000;

/// The statements that insert the first rows of all tables whose rows exist from the start. A table with
/// lists begins without rows: each list comes into being with its first element.
pub fn fill(schema: &Schema) -> impl Iterator<Item = String> {
    let is_list = |column: &Column| matches!(column.kind, ColumnKind::List(_));
    let filled = schema.tables.iter();
    let filled = filled.filter(move |table| !table.columns.iter().any(is_list));
    filled.flat_map(|table| {
        let starts = (0..table.rows).step_by(ROWS_PER_INSERT as usize);
        starts.map(|start| {
            let end = table.rows.min(start + ROWS_PER_INSERT);
            let mut text = format!("insert into {} (k, s, grp) values ", table.name);
            for row in start..end {
                let group = group_number(i64::from(table.group), row as i64);
                let comma = if row == start { "" } else { ", " };
                // Writing to a string cannot fail.
                let _ = write!(text, "{comma}({row}, {row}, {group})");
            }
            text
        })
    })
}

/// The integers of a text such as `{1,2}`, `1,2` or `[1, 2]`.
pub fn numbers(text: &str) -> Result<Vec<i64>, std::num::ParseIntError> {
    let inner = text.trim_matches(|letter: char| "{}[] ".contains(letter));
    let parts = inner.split(',').map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .map(str::parse)
        .collect()
}
