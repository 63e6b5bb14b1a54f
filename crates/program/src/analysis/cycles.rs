//! Candidate cycles: what an anomaly may look like, before anything is said about values.
//!
//! Definition (Rahmani et al., OOPSLA 2019): nodes are statements of instances, edges are
//! dependencies between instances and sibling edges within one; every node is on two edges; there
//! are two dependencies joined by a sibling edge. So a cycle goes through its instances one after
//! the other; it enters an instance at one statement and leaves it at the same or another. That no
//! sibling edge is needed where a statement both reads and writes is ours: two updates that each
//! search for what the other one changes are a write skew.
//! Steps: depth first over the conflicts, each instance adds a dependency and, where it is left at
//! another statement, a sibling edge. Of all rotations of a cycle the least is kept; instances have
//! no names, so there is nothing else to rename.
//! Cost: the number of walks of the length in the conflict graph.

use super::conflict::{Conflict, Node};
use crate::scenario::EdgeKind;
use std::ops::ControlFlow;

/// An instance on a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Segment {
    /// The transaction.
    pub transaction: usize,
    /// The statement at which the cycle enters, by position in [`crate::Transaction::statements`].
    pub enter: usize,
    /// The statement at which it leaves.
    pub leave: usize,
    /// Whether the two are the same execution. Where not, but the statements are the same, it is
    /// that of different iterations of a loop.
    pub single: bool,
    /// The dependency to the next instance.
    pub kind: EdgeKind,
    /// Its position in the conflicts.
    pub conflict: usize,
}

impl Segment {
    /// How many edges it has, that to the next included.
    fn length(&self) -> usize {
        if self.single { 1 } else { 2 }
    }
}

/// A cycle, in its least rotation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cycle {
    /// The instances in order; the last leads to the first.
    pub segments: Vec<Segment>,
}

impl Cycle {
    /// Whether it has no sibling edge: every instance is entered and left at one statement.
    pub fn is_single(&self) -> bool {
        self.segments.iter().all(|segment| segment.single)
    }

    /// The number of its edges.
    pub fn length(&self) -> usize {
        self.segments.iter().map(Segment::length).sum()
    }
}

/// How large cycles may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The greatest number of edges.
    pub length: usize,
    /// The greatest number of instances.
    pub instances: usize,
}

/// Which statements of a transaction can be on a path together.
pub(super) trait Together {
    /// Whether some path executes both; where `single` is false, as two executions.
    fn together(&self, transaction: usize, first: usize, second: usize, single: bool) -> bool;
}

/// Visits all cycles, until told to stop; those without a sibling edge only where asked for.
pub(super) fn cycles(
    conflicts: &[Conflict],
    limits: Limits,
    single: bool,
    together: &impl Together,
    visit: &mut impl FnMut(&Cycle) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut walk = Walk {
        conflicts,
        limits,
        single,
        together,
        segments: Vec::new(),
    };
    for first in 0..conflicts.len() {
        walk.start(first, visit)?;
    }
    ControlFlow::Continue(())
}

struct Walk<'a, T> {
    conflicts: &'a [Conflict],
    limits: Limits,
    single: bool,
    together: &'a T,
    segments: Vec<Segment>,
}

impl<T: Together> Walk<'_, T> {
    /// Cycles whose first instance is left by that conflict. Where the first instance is entered
    /// is known only at the end.
    fn start(
        &mut self,
        first: usize,
        visit: &mut impl FnMut(&Cycle) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let conflict = &self.conflicts[first];
        let segment = Segment {
            transaction: conflict.from.transaction,
            enter: conflict.from.statement,
            leave: conflict.from.statement,
            single: true,
            kind: conflict.kind,
            conflict: first,
        };
        self.segments.push(segment);
        let flow = self.step(conflict.to, 1, visit);
        self.segments.pop();
        flow
    }

    /// Goes on from the statement at which the next instance is entered. The depth is at most the
    /// number of instances.
    fn step(
        &mut self,
        enter: Node,
        length: usize,
        visit: &mut impl FnMut(&Cycle) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if self.segments.len() >= self.limits.instances {
            return ControlFlow::Continue(());
        }
        let start = self.segments[0];
        for (number, conflict) in self.conflicts.iter().enumerate() {
            if conflict.from.transaction != enter.transaction {
                continue;
            }
            let leave = conflict.from.statement;
            for single in [true, false] {
                let length = length + if single { 1 } else { 2 };
                let possible = (!single || leave == enter.statement)
                    && length <= self.limits.length
                    && self
                        .together
                        .together(enter.transaction, enter.statement, leave, single);
                if !possible {
                    continue;
                }
                let segment = Segment {
                    transaction: enter.transaction,
                    enter: enter.statement,
                    leave,
                    single,
                    kind: conflict.kind,
                    conflict: number,
                };
                // The first segment is the least one, as in the least rotation.
                if (segment.transaction, segment.conflict) < (start.transaction, start.conflict) {
                    continue;
                }
                self.segments.push(segment);
                let flow = self.close(conflict.to, length, visit);
                let flow = match flow {
                    ControlFlow::Continue(()) => self.step(conflict.to, length, visit),
                    stop => stop,
                };
                self.segments.pop();
                flow?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Closes the cycle at the first instance, where it can be.
    fn close(
        &mut self,
        enter: Node,
        length: usize,
        visit: &mut impl FnMut(&Cycle) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let start = self.segments[0];
        if enter.transaction != start.transaction {
            return ControlFlow::Continue(());
        }
        for single in [true, false] {
            let length = length + usize::from(!single);
            let possible = (!single || enter.statement == start.leave)
                && length <= self.limits.length
                && self
                    .together
                    .together(start.transaction, enter.statement, start.leave, single);
            if !possible {
                continue;
            }
            let mut cycle = Cycle {
                segments: self.segments.clone(),
            };
            cycle.segments[0].enter = enter.statement;
            cycle.segments[0].single = single;
            if (self.single || !cycle.is_single()) && is_least(&cycle.segments) {
                visit(&cycle)?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// What rotations are compared by. The conflict comes first, so that a walk can be cut early.
fn rank(segment: &Segment) -> (usize, usize, usize, bool) {
    (
        segment.transaction,
        segment.conflict,
        segment.enter,
        segment.single,
    )
}

fn is_least(segments: &[Segment]) -> bool {
    let rotated = |by: usize| {
        let (left, right) = segments.split_at(by);
        right.iter().chain(left).map(rank)
    };
    (1..segments.len()).all(|by| segments.iter().map(rank).le(rotated(by)))
}
