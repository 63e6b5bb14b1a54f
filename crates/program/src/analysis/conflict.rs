//! Which statements may meet in a row, and how: the static conflict graph.

use crate::access::{ColumnSet, Reach};
use crate::expr::{Expr, Value};
use crate::ir::{Action, Lock, OnConflict, Part, Program, Statement};
use crate::scenario::EdgeKind;
use crate::schema::{ColumnId, Schema, TableId};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// A statement of the body of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node {
    /// The position in [`Program::transactions`].
    pub transaction: usize,
    /// The position in [`crate::Transaction::statements`].
    pub statement: usize,
}

/// Two statements that may meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// From.
    pub from: Node,
    /// To.
    pub to: Node,
    /// How: the first writes what the second reads, and so on.
    pub kind: EdgeKind,
    /// The tables they may meet in.
    pub tables: BTreeSet<TableId>,
    /// The columns they may meet in, of the only table; empty where there are several.
    pub columns: BTreeSet<ColumnId>,
    /// Whether they may meet in the existence of a row.
    pub exists: bool,
    /// Whether they may meet in a column that decides which rows the reader finds.
    pub chooses: bool,
    /// The columns of the reader's result, by position, that may depend on where they meet.
    pub outputs: BTreeSet<u32>,
}

/// The statements of a program.
fn nodes(program: &Program) -> Vec<(Node, &Statement)> {
    let mut nodes = Vec::new();
    for (transaction, body) in program.transactions.iter().enumerate() {
        for (statement, found) in body.statements().into_iter().enumerate() {
            let node = Node {
                transaction,
                statement,
            };
            nodes.push((node, found));
        }
    }
    nodes
}

/// Pairs of a statement and a write that may matter to it: to its tables, or to those that foreign
/// keys join to what it writes.
pub(super) fn meetings(program: &Program) -> FxHashSet<(Node, Node)> {
    let schema = &program.schema;
    let all = nodes(program);
    let mut found = FxHashSet::default();
    for (one, statement) in &all {
        let mut tables: BTreeSet<TableId> = statement.parts.iter().map(|p| p.table).collect();
        let written = statement.writes(schema);
        for (table, _) in &written {
            let above = schema
                .table(*table)
                .foreign_keys
                .iter()
                .map(|key| key.table);
            tables.extend(above);
            tables.extend(schema.table_ids().filter(|other| {
                let mut keys = schema.table(*other).foreign_keys.iter();
                keys.any(|key| key.table == *table)
            }));
        }
        for (other, write) in &all {
            let writes = write.writes(schema);
            if writes.iter().any(|(table, _)| tables.contains(table)) {
                found.insert((*one, *other));
            }
        }
    }
    found
}

/// Pairs of statements that lock the same row if they meet in it, whichever columns they are about.
pub(super) fn lockings(program: &Program) -> FxHashSet<(Node, Node)> {
    let all = nodes(program);
    let mut found = FxHashSet::default();
    for (one, first) in &all {
        for (other, second) in &all {
            let mut pairs = first
                .parts
                .iter()
                .flat_map(|a| second.parts.iter().map(move |b| (a, b)));
            let meet = |(a, b): (&Part, &Part)| {
                let shared = lock_of(a) == Lock::Share && lock_of(b) == Lock::Share;
                let locked = lock_of(a) != Lock::None && lock_of(b) != Lock::None;
                a.table == b.table && locked && !shared
            };
            if pairs.any(meet) {
                found.insert((*one, *other));
            }
        }
    }
    found
}

/// The lock on rows that are there; a new row is nobody else's.
fn lock_of(part: &Part) -> Lock {
    match &part.action {
        Action::Select(select) => select.lock,
        Action::Update { .. } | Action::Delete => Lock::Update,
        Action::Insert(insert) => match insert.on_conflict {
            OnConflict::Update(_) | OnConflict::Replace => Lock::Update,
            OnConflict::Fail | OnConflict::Ignore => Lock::None,
        },
    }
}

/// All conflicts of these kinds between statements of a program; those of a transaction with
/// itself are between two instances of it.
pub fn conflicts(program: &Program, kinds: &[EdgeKind]) -> Vec<Conflict> {
    let nodes = nodes(program);
    let mut found = Vec::new();
    for (from, first) in &nodes {
        for (to, second) in &nodes {
            for kind in kinds {
                found.extend(conflict(
                    &program.schema,
                    (*from, first),
                    (*to, second),
                    *kind,
                ));
            }
        }
    }
    found
}

fn conflict(
    schema: &Schema,
    (from, first): (Node, &Statement),
    (to, second): (Node, &Statement),
    kind: EdgeKind,
) -> Option<Conflict> {
    let mut tables = BTreeSet::new();
    let mut met = ColumnSet::default();
    let mut read = Read::default();
    for one in &first.parts {
        for other in &second.parts {
            if one.table != other.table || differ_in_constants(schema, one, other) {
                continue;
            }
            let (left, right) = match kind {
                EdgeKind::WriteRead => (one.writes(schema), other.reads(schema)),
                EdgeKind::ReadWrite => (one.reads(schema), other.writes(schema)),
                EdgeKind::WriteWrite => (one.writes(schema), other.writes(schema)),
                EdgeKind::Sibling => continue,
            };
            if left.meets(&right) {
                let common = left.common(&right);
                match kind {
                    EdgeKind::WriteRead => read.add(second, other, &common),
                    EdgeKind::ReadWrite => read.add(first, one, &common),
                    EdgeKind::WriteWrite | EdgeKind::Sibling => {}
                }
                tables.insert(one.table);
                met.add(&common);
            }
        }
    }
    if tables.is_empty() {
        return None;
    }
    let columns = match tables.len() {
        1 => met.columns.clone(),
        _ => BTreeSet::new(),
    };
    Some(Conflict {
        from,
        to,
        kind,
        tables,
        columns,
        exists: met.exists,
        chooses: read.chooses,
        outputs: read.outputs,
    })
}

/// What columns that are met do in the statement that reads them.
#[derive(Default)]
struct Read {
    chooses: bool,
    outputs: BTreeSet<u32>,
}

impl Read {
    /// Adds the columns of a part. One that is in no result and in no order is taken to choose rows.
    fn add(&mut self, statement: &Statement, part: &Part, met: &ColumnSet) {
        let shape = &statement.shape;
        let filters = statement.parts.iter().map(|one| &one.filter);
        let mut choosing: BTreeSet<ColumnId> = filters
            .chain(&shape.having)
            .chain(&shape.filter)
            .flat_map(|condition| condition.columns_of(part.id))
            .collect();
        let grouped = shape.group_by.iter();
        choosing.extend(grouped.flat_map(|expr| expr.columns_of(part.id)));
        choosing.extend(chosen_inside(statement).flat_map(|expr| expr.columns_of(part.id)));
        for column in &met.columns {
            let inside = |expr: &Expr| expr.columns_of(part.id).contains(column);
            let shown = (0..).zip(&statement.outputs);
            let shown = shown.filter(|(_, output)| inside(&output.value));
            let shown: Vec<u32> = shown.map(|(at, _)| at).collect();
            let ordered = shape.order_by.iter().any(|order| inside(&order.value));
            // Which row is first decides about every value.
            let all = (0..).zip(&statement.outputs).filter(|_| ordered);
            self.outputs.extend(all.map(|(at, _)| at));
            self.chooses |= choosing.contains(column)
                || (shape.distinct && !shown.is_empty())
                || (shown.is_empty() && !ordered);
            self.outputs.extend(shown);
        }
    }
}

/// What decides which rows the queries inside of a statement have.
fn chosen_inside(statement: &Statement) -> impl Iterator<Item = &Expr> {
    statement.nested.iter().flat_map(|nested| {
        let shape = &nested.shape;
        let conditions = shape.filter.iter().chain(&shape.having);
        let mut found: Vec<&Expr> = conditions.flat_map(|one| one.expressions()).collect();
        found.extend(nested.filter.expressions());
        found.extend(&shape.group_by);
        found.extend(shape.order_by.iter().map(|order| &order.value));
        let whole = shape.distinct || nested.set.is_some();
        let outputs = nested.outputs.iter().filter(|_| whole);
        found.extend(outputs.map(|output| &output.value));
        found
    })
}

/// Whether two parts look up rows whose keys are different constants.
fn differ_in_constants(schema: &Schema, one: &Part, other: &Part) -> bool {
    let (Reach::Key(left), Reach::Key(right)) = (one.reach(schema), other.reach(schema)) else {
        return false;
    };
    let constant = |expr: &Expr| match expr {
        Expr::Constant(value) if !matches!(value, Value::Null) => Some(value.clone()),
        _ => None,
    };
    left.iter()
        .zip(&right)
        .any(|(a, b)| match (constant(a.value), constant(b.value)) {
            (Some(Value::Integer(a)), Some(Value::Integer(b))) => a != b,
            (Some(Value::Text(a)), Some(Value::Text(b))) => a != b,
            _ => false,
        })
}
