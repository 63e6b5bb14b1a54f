//! Which columns of which rows a statement reads and writes.
//!
//! Besides its columns, a row has the pseudo-column *exists*. An insert or a delete writes it and
//! every column (an omitted column gets its default; a deleted row has no values any more). Who
//! looks for rows reads it: of one row where a whole key is given, of every row otherwise.
//!
//! A row found by its whole primary key is not read at the key's columns: they are its name. A
//! search by anything else reads the columns it compares, of every row. An insert that fails on an
//! existing key aborts, so it is not counted as a reader of *exists*; one that goes on is.

use crate::expr::{Comparison, Condition, Expr, PartId, Value};
use crate::ir::{Action, Insert, OnConflict, Output, Part, Set, Statement};
use crate::schema::{ColumnId, Schema, Table, TableId};
use std::collections::BTreeSet;

/// Columns of one table, and whether *exists* is among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnSet {
    /// The pseudo-column.
    pub exists: bool,
    /// The columns.
    pub columns: BTreeSet<ColumnId>,
}

impl ColumnSet {
    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        !self.exists && self.columns.is_empty()
    }

    /// Whether the two have something in common.
    pub fn meets(&self, other: &ColumnSet) -> bool {
        let shared = self.exists && other.exists;
        shared || !self.columns.is_disjoint(&other.columns)
    }

    /// What the two have in common.
    pub fn common(&self, other: &ColumnSet) -> ColumnSet {
        ColumnSet {
            exists: self.exists && other.exists,
            columns: self.columns.intersection(&other.columns).copied().collect(),
        }
    }

    /// Adds all of another set.
    pub fn add(&mut self, other: &ColumnSet) {
        self.exists |= other.exists;
        self.columns.extend(&other.columns);
    }
}

/// A column of a key and the expression it must equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binding<'a> {
    /// The column.
    pub column: ColumnId,
    /// What it equals; mentions no column of the same part.
    pub value: &'a Expr,
}

/// How a part finds its rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Reach<'a> {
    /// By the whole primary key: at most one row. The bindings are in the order of the key.
    Key(Vec<Binding<'a>>),
    /// By all columns of a UNIQUE constraint: at most one row.
    Unique(Vec<Binding<'a>>),
    /// By a predicate: any rows.
    Predicate,
    /// An insert whose key the database chooses, or of a table without key: a row of its own.
    Fresh,
}

impl Statement {
    /// What it reads, a set for each table.
    pub fn reads(&self, schema: &Schema) -> Vec<(TableId, ColumnSet)> {
        let reads = |part: &Part| {
            let mut found = part.reads(schema);
            found.columns.extend(part.returned(&self.outputs));
            (part.table, found)
        };
        by_table(self.parts.iter().map(reads))
    }

    /// What it writes, a set for each table.
    pub fn writes(&self, schema: &Schema) -> Vec<(TableId, ColumnSet)> {
        let parts = self.parts.iter();
        by_table(parts.map(|part| (part.table, part.writes(schema))))
    }

    /// How each of its parts finds its rows.
    pub fn access<'a>(&'a self, schema: &Schema) -> Vec<(PartId, Reach<'a>)> {
        let parts = self.parts.iter();
        parts.map(|part| (part.id, part.reach(schema))).collect()
    }

    /// Whether it changes anything.
    pub fn is_write(&self) -> bool {
        let select = |part: &Part| matches!(part.action, Action::Select(_));
        !self.parts.iter().all(select)
    }
}

fn by_table(sets: impl Iterator<Item = (TableId, ColumnSet)>) -> Vec<(TableId, ColumnSet)> {
    let mut found: Vec<(TableId, ColumnSet)> = Vec::new();
    for (table, set) in sets.filter(|(_, set)| !set.is_empty()) {
        match found.iter_mut().find(|(known, _)| *known == table) {
            Some((_, known)) => known.add(&set),
            None => found.push((table, set)),
        }
    }
    found
}

impl Part {
    /// The columns it reads: of the rows it finds, and of all rows where it searches.
    pub fn reads(&self, schema: &Schema) -> ColumnSet {
        let mut found = self.used();
        match &self.action {
            Action::Insert(insert) => match insert.on_conflict {
                OnConflict::Fail => return ColumnSet::default(),
                OnConflict::Ignore | OnConflict::Update(_) | OnConflict::Replace => {
                    found.exists = true;
                    return found;
                }
            },
            Action::Select(_) | Action::Update { .. } | Action::Delete => {}
        }
        found.exists = true;
        let name: BTreeSet<ColumnId> = match self.reach(schema) {
            Reach::Key(bindings) => bindings.iter().map(|bound| bound.column).collect(),
            _ => BTreeSet::new(),
        };
        let compared = self.filter.columns_of(self.id).into_iter();
        found
            .columns
            .extend(compared.filter(|column| !name.contains(column)));
        found
    }

    /// The columns whose values it uses, other than to find its rows.
    pub fn used(&self) -> ColumnSet {
        let inside = |sets: &[Set]| -> BTreeSet<ColumnId> {
            let values = sets.iter().map(|set| &set.value);
            values.flat_map(|value| value.columns_of(self.id)).collect()
        };
        let columns = match &self.action {
            Action::Select(select) => select.columns.clone(),
            Action::Update { sets } => inside(sets),
            Action::Insert(Insert {
                on_conflict: OnConflict::Update(sets),
                ..
            }) => inside(sets),
            Action::Insert(_) | Action::Delete => BTreeSet::new(),
        };
        ColumnSet {
            exists: false,
            columns,
        }
    }

    /// The columns of a write whose values come back by RETURNING, without those that it sets itself:
    /// their values are its own.
    pub fn returned(&self, outputs: &[Output]) -> BTreeSet<ColumnId> {
        let own: &[Set] = match &self.action {
            Action::Select(_) => return BTreeSet::new(),
            Action::Update { sets } => sets,
            Action::Delete => &[],
            Action::Insert(insert) => match &insert.on_conflict {
                OnConflict::Update(sets) => sets,
                _ => return BTreeSet::new(),
            },
        };
        let columns = outputs
            .iter()
            .flat_map(|output| output.value.columns_of(self.id));
        columns
            .filter(|column| own.iter().all(|set| set.column != *column))
            .collect()
    }

    /// The columns it compares to find its rows; all rows are read at these unless the part
    /// reaches its row by a key.
    pub fn compared(&self) -> ColumnSet {
        ColumnSet {
            exists: true,
            columns: self.filter.columns_of(self.id).into_iter().collect(),
        }
    }

    /// The columns it writes.
    pub fn writes(&self, schema: &Schema) -> ColumnSet {
        match &self.action {
            Action::Select(_) => ColumnSet::default(),
            Action::Update { sets } => ColumnSet {
                exists: false,
                columns: sets.iter().map(|set| set.column).collect(),
            },
            Action::Insert(_) | Action::Delete => ColumnSet {
                exists: true,
                columns: schema.table(self.table).column_ids().collect(),
            },
        }
    }

    /// How it finds its rows.
    pub fn reach(&self, schema: &Schema) -> Reach<'_> {
        let table = schema.table(self.table);
        if let Action::Insert(insert) = &self.action {
            return reach_of_insert(insert, table);
        }
        let bound = self.bindings();
        if let Some(key) = all_bound(&table.primary_key, &bound) {
            return Reach::Key(key);
        }
        let unique = table.unique.iter().find_map(|key| all_bound(key, &bound));
        unique.map_or(Reach::Predicate, Reach::Unique)
    }

    /// The columns that the filter fixes by equality, whichever they are.
    pub fn bindings(&self) -> Vec<Binding<'_>> {
        let mut found = Vec::new();
        for condition in self.filter.conjuncts() {
            let (left, right) = match condition {
                Condition::Compare {
                    comparison: Comparison::Equal,
                    left,
                    right,
                } => (left, right),
                Condition::In { value, members } => match members.as_slice() {
                    // A placeholder may stand for a list: `in (:list)`.
                    [only @ Expr::Constant(one)] if !matches!(one, Value::List(_)) => (value, only),
                    _ => continue,
                },
                _ => continue,
            };
            for (column, value) in [(left, right), (right, left)] {
                match column {
                    Expr::Column { part, column }
                        if *part == self.id && value.columns_of(self.id).is_empty() =>
                    {
                        found.push(Binding {
                            column: *column,
                            value,
                        });
                    }
                    _ => {}
                }
            }
        }
        found
    }
}

fn reach_of_insert<'a>(insert: &'a Insert, table: &Table) -> Reach<'a> {
    let given = |set: &'a Set| Binding {
        column: set.column,
        value: &set.value,
    };
    let bound: Vec<Binding<'a>> = insert.values.iter().map(given).collect();
    all_bound(&table.primary_key, &bound).map_or(Reach::Fresh, Reach::Key)
}

fn all_bound<'a>(key: &[ColumnId], bound: &[Binding<'a>]) -> Option<Vec<Binding<'a>>> {
    let binding = |column: &ColumnId| bound.iter().find(|b| b.column == *column).copied();
    match key {
        [] => None,
        key => key.iter().map(binding).collect(),
    }
}
