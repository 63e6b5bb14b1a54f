//! The dependencies of a cycle, between the statements of paths.

use super::blocks::Layout;
use super::conflict::Node;
use super::cycles::Cycle;
use super::routes::Choice;
use super::search::Search;
use crate::access::Reach;
use crate::ir::{Action, Part};
use crate::paths::Path;
use crate::scenario::{Edge, EdgeKind, Point};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Search<'_> {
    /// The dependencies of a cycle between the statements of these paths.
    pub(super) fn edges(&self, cycle: &Cycle, choices: &[Choice]) -> Vec<Edge> {
        let count = cycle.segments.len();
        let mut edges = Vec::new();
        for (at, segment) in cycle.segments.iter().enumerate() {
            let next = (at + 1) % count;
            let conflict = &self.conflicts[segment.conflict];
            let table = conflict.tables.first().copied();
            edges.push(Edge {
                from: Point {
                    instance: at,
                    statement: choices[at].leave,
                },
                to: Point {
                    instance: next,
                    statement: choices[next].enter,
                },
                kind: segment.kind,
                table: table.filter(|_| conflict.tables.len() == 1),
                columns: conflict.columns.clone(),
            });
        }
        edges
    }

    /// The statements of the instances.
    fn points(&self, cycle: &Cycle, paths: &[Arc<Path>]) -> Vec<(Point, Node)> {
        let mut points: Vec<(Point, Node)> = Vec::new();
        for (instance, (segment, path)) in cycle.segments.iter().zip(paths).enumerate() {
            let origins = self.routes.origins(segment.transaction, path);
            for (position, origin) in origins.into_iter().enumerate() {
                let node = Node {
                    transaction: segment.transaction,
                    statement: origin,
                };
                let point = Point {
                    instance,
                    statement: position as u32,
                };
                points.push((point, node));
            }
        }
        points
    }

    /// The instances on these paths, and where the cycle passes.
    pub(super) fn layout<'l>(
        &self,
        cycle: &Cycle,
        paths: &'l [Arc<Path>],
        edges: &'l [Edge],
    ) -> Layout<'l> {
        let points = self.points(cycle, paths);
        let (mut overwrites, mut locks, mut meetings) = (Vec::new(), Vec::new(), Vec::new());
        for (at, (first, one)) in points.iter().enumerate() {
            for (next, (second, other)) in points.iter().enumerate() {
                if first.instance == second.instance {
                    continue;
                }
                if at < next && self.overwriting.contains(&(*one, *other)) {
                    overwrites.push((*first, *second));
                }
                if at < next && self.locking.contains(&(*one, *other)) {
                    locks.push((*first, *second));
                }
                if self.meeting.contains(&(*one, *other)) {
                    meetings.push((*first, *second));
                }
            }
        }
        let mut layout = Layout::new(paths, edges, overwrites);
        layout.locks = locks;
        layout.exclusive = self.exclusive(paths, edges);
        layout.meetings = meetings;
        layout
    }
}

impl Search<'_> {
    /// The anti-dependencies that are there only if both statements write the same row: the first changes or removes the
    /// row of a key whatever is in it, the second changes or removes rows. What the first finds is then the row that both
    /// write.
    fn exclusive(&self, paths: &[Arc<Path>], edges: &[Edge]) -> Vec<(Point, Point)> {
        let schema = &self.program.schema;
        let changed = |point: Point| {
            let statement = &paths[point.instance].statements[point.statement as usize];
            let [part] = statement.parts.as_slice() else {
                return None;
            };
            let changes = matches!(part.action, Action::Update { .. } | Action::Delete);
            changes.then_some(part)
        };
        let by_key_alone = |part: &Part| {
            let key = &schema.table(part.table).primary_key;
            let reach = part.reach(schema);
            matches!(reach, Reach::Key(_)) && part.filter.conjuncts().len() == key.len()
        };
        let is_exclusive = |edge: &&Edge| {
            let both = changed(edge.from).zip(changed(edge.to));
            let same =
                both.is_some_and(|(one, other)| one.table == other.table && by_key_alone(one));
            edge.kind == EdgeKind::ReadWrite && same
        };
        let found = edges.iter().filter(is_exclusive);
        found.map(|edge| (edge.from, edge.to)).collect()
    }
}

/// The dependencies with the sibling edges between them: where an instance is entered, then left.
pub(super) fn with_siblings(edges: &[Edge]) -> Vec<Edge> {
    let mut all = Vec::new();
    for (at, edge) in edges.iter().enumerate() {
        let before = &edges[(at + edges.len() - 1) % edges.len()];
        if before.to != edge.from {
            all.push(Edge {
                from: before.to,
                to: edge.from,
                kind: EdgeKind::Sibling,
                table: None,
                columns: BTreeSet::new(),
            });
        }
        all.push(edge.clone());
    }
    all
}
