//! What a workload needs of a database: tables of numbered rows, whose columns are registers, lists, sets
//! or counters. A cell of such a table is one key of the history.

use std::fmt::Write;

/// The tables of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// At least one table.
    pub tables: Vec<Table>,
}

/// A table: an integer primary key, a copy of it with a secondary index, a group, and columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// A word that every database takes for a name.
    pub name: &'static str,
    /// At least one column.
    pub columns: Vec<Column>,
    /// How many rows, from 0 on, exist before the workload begins. Other rows come into being when
    /// they are first written.
    pub rows: u64,
    /// How many rows with consecutive numbers make a group, which one statement can read
    /// (`where grp = ?`); 0 if the table is not read by groups.
    pub group: u32,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// A word that every database takes for a name.
    pub name: &'static str,
    /// What it holds.
    pub kind: ColumnKind,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// A number, 0 at first.
    Register,
    /// A list that is appended to, empty at first.
    List(ListForm),
    /// A set that is added to, empty at first; in SQL, the rows of a table of its own.
    Set,
    /// A number that is added to, 0 at first.
    Counter,
}

/// How a database stores a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListForm {
    /// In the database's own type of arrays or lists; text where it has none.
    Native,
    /// As a text of numbers with commas, appended to by concatenation.
    Text,
    /// As a JSON array.
    Json,
}

/// A cell: the key of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    /// Which table of the schema.
    pub table: u16,
    /// Which column of the table.
    pub column: u16,
    /// Which row.
    pub row: i64,
}

impl Table {
    /// A table of registers that is not read by groups.
    pub fn registers(name: &'static str, columns: &[&'static str], rows: u64) -> Table {
        let register = |&name: &&'static str| Column {
            name,
            kind: ColumnKind::Register,
        };
        Table {
            name,
            columns: columns.iter().map(register).collect(),
            rows,
            group: 0,
        }
    }
}

impl Schema {
    /// One table with one column and that many rows.
    pub fn single(kind: ColumnKind, rows: u64) -> Schema {
        let column = Column { name: "v", kind };
        Schema {
            tables: vec![Table {
                name: "isolde_kv",
                columns: vec![column],
                rows,
                group: 0,
            }],
        }
    }

    /// The table of a cell.
    pub fn table(&self, cell: Cell) -> &Table {
        &self.tables[usize::from(cell.table)]
    }

    /// The column of a cell.
    pub fn column(&self, cell: Cell) -> Column {
        self.table(cell).columns[usize::from(cell.column)]
    }

    /// Whether keys are row numbers alone.
    pub fn is_single(&self) -> bool {
        self.tables.len() == 1 && self.tables[0].columns.len() == 1
    }

    /// Writes the key of a cell as JSON: the row alone if there is one table of one column, else
    /// `"table:row:column"`.
    pub fn write_key(&self, cell: Cell, out: &mut String) {
        // Writing to a string cannot fail.
        let _ = if self.is_single() {
            write!(out, "{}", cell.row)
        } else {
            let (table, column) = (self.table(cell).name, self.column(cell).name);
            write!(out, "\"{table}:{}:{column}\"", cell.row)
        };
    }

    /// The cells of the group that a cell is in, of its column.
    pub fn group_of(&self, cell: Cell) -> impl Iterator<Item = Cell> + use<> {
        let size = i64::from(self.table(cell).group.max(1));
        let first = cell.row.div_euclid(size) * size;
        (first..first + size).map(move |row| Cell { row, ..cell })
    }
}
