//! The dependencies of a cycle, between the statements of paths.

use super::candidate::{Candidate, Infeasible, Run, witness_within};
use super::conflict::Node;
use super::cycles::Cycle;
use super::routes::Choice;
use super::search::Search;
use crate::paths::Path;
use crate::scenario::{Edge, EdgeKind, Event, Point, Turn};
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

/// A dependency between two paths: the conflict, and the paths with their statements.
pub(super) type PairKey = (usize, (usize, u32), (usize, u32));

impl Search<'_> {
    /// Whether each dependency of the cycle is possible between the two paths alone. What the
    /// writer of it has read before is left open, so only those are asked that did not depend on
    /// another instance themselves.
    pub(super) fn pairs_possible(&self, cycle: &Cycle, choices: &[Choice]) -> bool {
        let count = choices.len();
        let edges = self.edges(cycle, choices);
        for (at, edge) in edges.iter().enumerate() {
            let before = &edges[(at + count - 1) % count];
            if before.kind == EdgeKind::WriteRead {
                continue;
            }
            let next = (at + 1) % count;
            let path = |at: usize| Arc::as_ptr(&choices[at].path) as usize;
            let key = (
                cycle.segments[at].conflict,
                (path(at), edge.from.statement),
                (path(next), edge.to.statement),
            );
            let pairs = || self.pairs.lock().unwrap_or_else(PoisonError::into_inner);
            let known = pairs().get(&key).copied();
            let possible = match known {
                Some(known) => known,
                None => {
                    let pair = [
                        cycle.segments[at].transaction,
                        cycle.segments[next].transaction,
                    ];
                    let paths = [choices[at].path.clone(), choices[next].path.clone()];
                    let candidate = pair_alone(pair, paths, edge);
                    let (answer, _) = witness_within(self.program, &candidate, 0, self.until);
                    let possible = answer != Err(Infeasible::Contradiction);
                    pairs().insert(key, possible);
                    possible
                }
            };
            if !possible {
                return false;
            }
        }
        true
    }

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

    /// Pairs of statements of different instances that may write the same row.
    pub(super) fn overwrites(&self, cycle: &Cycle, paths: &[Arc<Path>]) -> Vec<(Point, Point)> {
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
        let mut found = Vec::new();
        for (at, (first, one)) in points.iter().enumerate() {
            for (second, other) in &points[at + 1..] {
                let apart = first.instance != second.instance;
                if apart && self.overwriting.contains(&(*one, *other)) {
                    found.push((*first, *second));
                }
            }
        }
        found
    }
}

/// Two instances with one dependency, and nothing else that one sees of the other.
fn pair_alone(transactions: [usize; 2], paths: [Arc<Path>; 2], edge: &Edge) -> Candidate {
    let point = |instance: usize, point: Point| Point {
        instance,
        statement: point.statement,
    };
    let edge = Edge {
        from: point(0, edge.from),
        to: point(1, edge.to),
        ..edge.clone()
    };
    // What a reader wrote itself must not hide what it reads: it did that before.
    let first = match edge.kind {
        EdgeKind::WriteRead => edge.to.statement,
        _ => 0,
    };
    let own = |instance: usize, statements: std::ops::Range<u32>| {
        statements.map(move |statement| Point {
            instance,
            statement,
        })
    };
    let [from, to] = [0, 1].map(|at: usize| paths[at].statements.len() as u32);
    let order = own(1, 0..first)
        .chain(own(0, 0..from))
        .chain(own(1, first..to));
    let mut schedule: Vec<Turn> = Vec::new();
    let mut source = None;
    for this in order {
        let reads = edge.kind == EdgeKind::WriteRead && this == edge.to;
        if this == edge.from {
            source = Some(schedule.len());
        }
        schedule.push(Turn {
            instance: this.instance,
            event: Event::Statement(this.statement),
            sees: Some(source.filter(|_| reads).into_iter().collect()),
        });
    }
    let run = |(transaction, path)| Run {
        transaction,
        path,
        level: None,
    };
    Candidate {
        instances: transactions.into_iter().zip(paths).map(run).collect(),
        edges: vec![edge],
        schedule,
        apart: Vec::new(),
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
