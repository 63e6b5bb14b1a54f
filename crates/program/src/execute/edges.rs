//! The dependencies that happened between the committed instances of a play.
//!
//! Write-read: the version read. Read-write: every later version of a cell that was read.
//! Write-write: every later version of a cell that was written. So the edges along the versions of
//! a cell are closed, and a reader knows from the edge alone which two statements meet.

use super::store::{Cell, Store};
use super::trace::Operation;
use crate::scenario::{Edge, EdgeKind, Point};
use crate::schema::{ColumnId, TableId};
use std::collections::{BTreeMap, BTreeSet};

type Pair = (Point, Point, EdgeKind, TableId);

/// All dependencies.
pub(super) fn edges(store: &Store<'_>, operations: &[Operation], commits: &[usize]) -> Vec<Edge> {
    let mut found: BTreeMap<Pair, BTreeSet<ColumnId>> = BTreeMap::new();
    let committed = |op: usize| -> Option<Point> {
        let operation = operations.get(op.checked_sub(1)?)?;
        let point = operation.point;
        (!operation.undone && commits.contains(&point.instance)).then_some(point)
    };
    let mut add = |from: Option<Point>, to: Option<Point>, kind: EdgeKind, cell: Cell| {
        if let (Some(from), Some(to)) = (from, to)
            && from.instance != to.instance
        {
            let pair = (from, to, kind, store.table_of(cell.row));
            found.entry(pair).or_default().extend(cell.column);
        }
    };
    for (at, operation) in operations.iter().enumerate() {
        let here = committed(at + 1);
        for (cell, version) in &operation.reads {
            let seen = version.map(|version| store.writes()[version].op);
            add(seen.and_then(committed), here, EdgeKind::WriteRead, *cell);
            for later in later_writers(store, *cell, *version) {
                add(here, committed(later), EdgeKind::ReadWrite, *cell);
            }
        }
        for position in &operation.writes {
            let cell = store.writes()[*position].cell;
            for later in later_writers(store, cell, Some(*position)) {
                add(here, committed(later), EdgeKind::WriteWrite, cell);
            }
        }
    }
    let edge = |((from, to, kind, table), columns): (Pair, BTreeSet<ColumnId>)| Edge {
        from,
        to,
        kind,
        table: Some(table),
        columns,
    };
    found.into_iter().map(edge).collect()
}

/// The operations that wrote a cell after that write.
fn later_writers(
    store: &Store<'_>,
    cell: Cell,
    version: Option<usize>,
) -> impl Iterator<Item = usize> {
    let from = version.map_or(0, |version| version + 1);
    let later = store.writes().iter().skip(from);
    later
        .filter(move |write| write.cell == cell)
        .map(|write| write.op)
}
