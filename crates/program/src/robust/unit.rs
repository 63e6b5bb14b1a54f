//! A path of a transaction as the accesses of rows it makes.
//!
//! Definition: a unit is one straight path that commits. Each part of each of its statements is an
//! access: of one row, where a whole key is given and nobody changes that key, or of all rows that
//! satisfy a predicate. What keys are compared with are terms: parameters, fields of earlier rows,
//! constants, unknowns; equal terms of one unit are equal values.
//! A row is *sure* where an access by key certainly finds it: the path goes on only if it did; or a
//! foreign key of a row found before says so; or nobody inserts into or deletes from the table (an
//! assumption about the data, which answers name).

use super::facts::Facts;
use super::rows::{KnownRows, confirmed};
use super::versions;
use crate::access::{Binding, ColumnSet, Reach};
use crate::expr::{Condition, Expr, PartId, Row};
use crate::ir::{Action, Insert, Lock, OnConflict, Part, Select, Set, Statement};
use crate::paths::Path;
use crate::schema::{ColumnId, Schema, TableId};
use std::sync::Arc;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Select,
    Update,
    Insert,
    Delete,
}

/// One access of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Access {
    /// The position of its statement in the path.
    pub statement: usize,
    pub part: PartId,
    pub table: TableId,
    pub kind: Kind,
    /// Where it is one row: its key, by column, and the terms it equals.
    pub key: Option<Vec<(ColumnId, usize)>>,
    /// All columns that its rows have fixed values in.
    pub fixed: Vec<(ColumnId, usize)>,
    /// Where it looks for the least or the greatest row, and the path has one: what is known of
    /// that row, and by which column it is the least or greatest.
    pub first: Option<First>,
    /// Where the path has all rows that the search finds, and these are always the same ones: what is
    /// known of each.
    pub rows: Option<Vec<Vec<(ColumnId, usize)>>>,
    /// Whether the path goes this way only if the search finds no row.
    pub none: bool,
    /// The columns it reads of the rows it finds.
    pub reads: ColumnSet,
    /// The columns it reads of every row of the table to find its rows.
    pub predicate: ColumnSet,
    pub writes: ColumnSet,
    pub lock: Lock,
    /// Whether the row is certainly there: in a snapshot, and at read committed.
    pub sure_in_snapshot: bool,
    pub sure: bool,
}

/// The first row in an order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct First {
    pub row: Vec<(ColumnId, usize)>,
    pub by: ColumnId,
    pub descending: bool,
}

impl Access {
    /// Everything it reads.
    pub fn all_reads(&self) -> ColumnSet {
        let mut all = self.reads.clone();
        all.add(&self.predicate);
        all
    }

    pub fn is_write(&self) -> bool {
        self.kind != Kind::Select
    }

    /// Whether it takes its row for itself until the transaction ends.
    pub fn is_exclusive(&self) -> bool {
        self.is_write() || self.lock == Lock::Update
    }

    /// When it reads, in halves of statements: a row that is locked first is read after the wait,
    /// a search is done before.
    pub fn read_time(&self) -> usize {
        2 * self.statement + usize::from(self.key.is_some() && self.is_exclusive())
    }

    /// When it has its lock.
    pub fn lock_time(&self) -> usize {
        2 * self.statement + 1
    }
}

/// A column whose value a term is: of the row of that table with that key.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Derived {
    pub table: TableId,
    pub key: Vec<usize>,
    pub column: ColumnId,
    pub term: usize,
    /// Whether no two rows have the same value there.
    pub unique: bool,
}

/// A path of a transaction.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub transaction: usize,
    pub path: Arc<Path>,
    /// All paths with the same accesses, this one among them.
    pub alike: Vec<Arc<Path>>,
    pub accesses: Vec<Access>,
    pub terms: Vec<Expr>,
    pub derived: Vec<Derived>,
}

impl Unit {
    /// The accesses of a path.
    pub fn new(schema: &Schema, facts: &Facts, transaction: usize, path: Arc<Path>) -> Unit {
        let mut unit = Unit {
            transaction,
            path: path.clone(),
            alike: vec![path.clone()],
            accesses: Vec::new(),
            terms: Vec::new(),
            derived: Vec::new(),
        };
        let mut known = KnownRows::default();
        for (position, statement) in path.statements.iter().enumerate() {
            let start = unit.accesses.len();
            for part in &statement.parts {
                let access = unit.access(schema, facts, statement, part, position);
                unit.accesses.push(access);
            }
            if let ([_], Some(access)) = (&statement.parts[..], unit.accesses.last_mut()) {
                access.none = access.kind == Kind::Select && finds_none(&path, position);
            }
            for at in start..unit.accesses.len() {
                known.settle(schema, facts, &path, &mut unit.accesses, at);
                known.learn(schema, facts, statement, &mut unit, at);
            }
        }
        unit.derived = known.derived(schema, facts);
        versions::hold(facts, &mut unit);
        unit
    }

    /// Whether two paths make the same accesses; which values they compute does not matter.
    pub fn is_like(&self, other: &Unit) -> bool {
        self.transaction == other.transaction
            && self.accesses == other.accesses
            && self.terms == other.terms
            && self.derived == other.derived
    }

    /// Whether an insert has its row from values, and not from a query that may find none.
    pub fn inserts_for_certain(&self, access: &Access) -> bool {
        let parts = &self.path.statements[access.statement].parts;
        let part = parts.iter().find(|part| part.id == access.part);
        part.is_some_and(|part| match &part.action {
            Action::Insert(insert) => !insert.from_select && insert.on_conflict == OnConflict::Fail,
            _ => false,
        })
    }

    /// The number of a term.
    pub fn term(&mut self, expr: &Expr) -> usize {
        let known = self.terms.iter().position(|term| term == expr);
        known.unwrap_or_else(|| {
            self.terms.push(expr.clone());
            self.terms.len() - 1
        })
    }

    /// The same, where nothing is known about rows but that a row is itself: keys are names.
    pub fn without_relations(mut self, schema: &Schema) -> Unit {
        self.derived.clear();
        let mut accesses = std::mem::take(&mut self.accesses);
        for access in &mut accesses {
            access.key = access
                .key
                .take()
                .map(|key| vec![self.name(access.table, &key)]);
            access.fixed = access.key.clone().unwrap_or_default();
            access.rows = None;
            if let Some(first) = &mut access.first {
                let key = &schema.table(access.table).primary_key;
                let value = |column: &ColumnId| first.row.iter().find(|one| one.0 == *column);
                let key: Option<Vec<_>> = key.iter().map(|one| value(one).copied()).collect();
                first.row = key.map_or_else(Vec::new, |key| vec![self.name(access.table, &key)]);
            }
        }
        self.accesses = accesses;
        self
    }

    /// A row as one term.
    fn name(&mut self, table: TableId, key: &[(ColumnId, usize)]) -> (ColumnId, usize) {
        let mut parts = vec![Expr::integer(i64::from(table.0))];
        for (column, term) in key {
            parts.push(Expr::integer(i64::from(column.0)));
            parts.push(self.terms[*term].clone());
        }
        let first = key.first().map_or(ColumnId(0), |one| one.0);
        (first, self.term(&Expr::List(parts)))
    }

    fn access(
        &mut self,
        schema: &Schema,
        facts: &Facts,
        statement: &Statement,
        part: &Part,
        position: usize,
    ) -> Access {
        // What is inserted where nobody looks makes no difference.
        let inserts = matches!(part.action, Action::Insert(_));
        let fixed: Vec<(ColumnId, usize)> = fixed(statement, part)
            .into_iter()
            .filter(|(column, _)| !(inserts && facts.is_unread(part.table, *column)))
            .map(|(column, value)| (column, self.term(&value)))
            .collect();
        let key = key_columns(schema, facts, part).and_then(|columns| {
            let value = |column: &ColumnId| fixed.iter().find(|one| one.0 == *column).copied();
            columns.iter().map(value).collect::<Option<Vec<_>>>()
        });
        let (kind, lock) = match &part.action {
            Action::Select(select) => (Kind::Select, select.lock),
            Action::Update { .. } => (Kind::Update, Lock::Update),
            Action::Insert(_) => (Kind::Insert, Lock::Update),
            Action::Delete => (Kind::Delete, Lock::Update),
        };
        let (reads, predicate) = reads(schema, statement, part, key.as_deref());
        Access {
            statement: position,
            part: part.id,
            table: part.table,
            kind,
            key,
            fixed,
            first: None,
            rows: None,
            none: false,
            reads,
            predicate,
            writes: part.writes(schema),
            lock,
            sure_in_snapshot: false,
            sure: false,
        }
    }
}

/// The columns that name the one row of a part, if nobody changes them.
fn key_columns(schema: &Schema, facts: &Facts, part: &Part) -> Option<Vec<ColumnId>> {
    if let Action::Insert(Insert {
        from_select: true, ..
    }) = part.action
    {
        return None;
    }
    let columns: Vec<ColumnId> = match part.reach(schema) {
        Reach::Key(bindings) | Reach::Unique(bindings) => {
            bindings.iter().map(|bound| bound.column).collect()
        }
        Reach::Predicate | Reach::Fresh => return None,
    };
    let constant = |column: &ColumnId| facts.is_constant(part.table, *column);
    columns.iter().all(constant).then_some(columns)
}

/// The columns that are equal to a value that does not depend on rows of the same statement.
fn fixed(statement: &Statement, part: &Part) -> Vec<(ColumnId, Expr)> {
    if let Action::Insert(insert) = &part.action {
        let outside = |set: &&Set| !mentions_columns(&set.value);
        let given = insert.values.iter().filter(outside);
        return given.map(|set| (set.column, set.value.clone())).collect();
    }
    let mut found: Vec<(ColumnId, Expr)> = Vec::new();
    for Binding { column, value } in part.bindings() {
        if is_member(part, column) {
            continue;
        }
        let value = match value {
            Expr::Column { part, column } => elsewhere(statement, *part, *column),
            other if mentions_columns(other) => None,
            other => Some(other.clone()),
        };
        match value {
            Some(value) if found.iter().all(|one| one.0 != column) => found.push((column, value)),
            _ => {}
        }
    }
    found
}

/// Whether a column is bound by `in (…)` to what may be a list of several values.
fn is_member(part: &Part, wanted: ColumnId) -> bool {
    part.filter
        .conjuncts()
        .iter()
        .any(|condition| match condition {
            Condition::In {
                value: Expr::Column { part: of, column },
                members,
            } => {
                let constant = |one: &Expr| matches!(one, Expr::Constant(_));
                *of == part.id && *column == wanted && !members.iter().all(constant)
            }
            _ => false,
        })
}

/// What another part of a join fixes a column to.
fn elsewhere(statement: &Statement, part: PartId, column: ColumnId) -> Option<Expr> {
    let other = statement.parts.iter().find(|one| one.id == part)?;
    let bindings = other.bindings();
    let bound = bindings
        .iter()
        .find(|bound| bound.column == column && !mentions_columns(bound.value))?;
    Some(bound.value.clone())
}

fn mentions_columns(expr: &Expr) -> bool {
    let column = |one: &&Expr| matches!(one, Expr::Column { .. } | Expr::Aggregate { .. });
    expr.all().iter().any(column)
}

/// What a part reads of its rows, and of all rows.
fn reads(
    schema: &Schema,
    statement: &Statement,
    part: &Part,
    key: Option<&[(ColumnId, usize)]>,
) -> (ColumnSet, ColumnSet) {
    let mut reads = part.used();
    if let Action::Insert(insert) = &part.action {
        reads.exists = insert.on_conflict != OnConflict::Fail;
        return (reads, ColumnSet::default());
    }
    reads.exists = true;
    let written = part.writes(schema).columns;
    for output in &statement.outputs {
        let columns = output.value.columns_of(part.id).into_iter();
        reads
            .columns
            .extend(columns.filter(|one| !written.contains(one)));
    }
    let mut compared = part.compared();
    let shapes = statement.nested.iter().map(|nested| &nested.shape);
    for shape in shapes.chain([&*statement.shape]) {
        for ordering in &shape.order_by {
            let columns = ordering.value.columns_of(part.id);
            match shape.limit.is_some() {
                true => compared.columns.extend(columns),
                false => reads.columns.extend(columns),
            }
        }
    }
    let Some(key) = key else {
        return (reads, compared);
    };
    let named = |column: &ColumnId| key.iter().any(|one| one.0 == *column);
    reads.columns.extend(compared.columns);
    reads.columns.retain(|column| !named(column));
    (reads, ColumnSet::default())
}

/// Whether a statement by key may leave its row alone: it has conditions besides the key.
pub(super) fn is_conditional(part: &Part, key: &[(ColumnId, usize)]) -> bool {
    let named = |column: &ColumnId| key.iter().any(|one| one.0 == *column);
    let more = part
        .filter
        .columns_of(part.id)
        .iter()
        .any(|one| !named(one));
    more || part.filter.conjuncts().len() > key.len()
}

/// Whether a select's rows are rows of one table as they are.
pub(super) fn is_plain(statement: &Statement) -> bool {
    let plain = matches!(
        statement.parts.as_slice(),
        [Part {
            action: Action::Select(Select { .. }),
            ..
        }]
    );
    let shape = &statement.shape;
    plain && !shape.aggregate && shape.group_by.is_empty() && statement.nested.is_empty()
}

/// Whether the path goes this way only if a statement found no row.
fn finds_none(path: &Path, position: usize) -> bool {
    finds_at_most(path, position, 0)
}

/// Whether the path goes this way only if a statement found no more than so many rows.
pub(super) fn finds_at_most(path: &Path, position: usize, count: u32) -> bool {
    let is_none = |condition: &Condition| match condition {
        Condition::Not(inner) => matches!(
            &**inner,
            Condition::HasRow { statement, row: Row::Nth(row) }
                if statement.0 as usize == position && *row == count
        ),
        _ => false,
    };
    let mut guards = path.guards.iter();
    guards.any(|guard| guard.condition.conjuncts().into_iter().any(is_none))
}

/// Whether the path goes on only if a statement found (or changed) a row.
pub(super) fn is_confirmed(path: &Path, position: usize) -> bool {
    path.guards
        .iter()
        .any(|guard| confirmed(&guard.condition, position))
}
