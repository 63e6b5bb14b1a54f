//! Which statements may meet in a row, and how: the static conflict graph.

use crate::access::{ColumnSet, Reach};
use crate::expr::{Expr, Value};
use crate::ir::{Part, Program, Statement};
use crate::scenario::EdgeKind;
use crate::schema::{ColumnId, Schema, TableId};
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
    /// Whether they may meet in the value of a column of a row that stays.
    pub values: bool,
}

/// All conflicts of these kinds between statements of a program; those of a transaction with
/// itself are between two instances of it.
pub fn conflicts(program: &Program, kinds: &[EdgeKind]) -> Vec<Conflict> {
    let statements: Vec<Vec<&Statement>> = program
        .transactions
        .iter()
        .map(|txn| txn.statements())
        .collect();
    let mut nodes: Vec<(Node, &Statement)> = Vec::new();
    for (transaction, all) in statements.iter().enumerate() {
        for (statement, found) in all.iter().enumerate() {
            let node = Node {
                transaction,
                statement,
            };
            nodes.push((node, found));
        }
    }
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
                tables.insert(one.table);
                met.add(&left.common(&right));
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
        values: !met.columns.is_empty(),
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
