//! The levels defined by a graph.
//!
//! A level holds if the versions of every key can be ordered (the initial one first, and as far
//! as list reads show it, as they show it) such that the graph of ww (version order), wr and rw
//! (a reader of a version precedes the writers of later ones) satisfies the axiom. Versions are
//! placed one after another; an axiom that fails on a part of the graph fails on the whole.

use super::execution::{Execution, INITIAL};
use super::relation::Relation;
use crate::KeyId;
use crate::Level::{self, *};

/// Of the levels asked about, those that are defined by a graph and hold.
pub(super) fn levels_that_hold(execution: &Execution, asked: &[Level]) -> Vec<Level> {
    if execution.has_impossible_read || execution.has_non_repeatable_read {
        return Vec::new();
    }
    let mut search = Search {
        execution,
        keys: execution.writers.keys().copied().collect(),
        open: asked
            .iter()
            .copied()
            .filter(|&level| is_graph_level(level))
            .collect(),
        held: Vec::new(),
    };
    let start = Part {
        key_index: 0,
        placed: vec![INITIAL],
        ww: Relation::EMPTY,
        rw: Relation::EMPTY,
    };
    search.extend(&start, &search.open.clone());
    search.held
}

fn is_graph_level(level: Level) -> bool {
    matches!(
        level,
        NonMonotonicSnapshotIsolation
            | ParallelSnapshotIsolation
            | SnapshotIsolation
            | StrongSessionSnapshotIsolation
            | StrongSnapshotIsolation
            | Serializable
            | StrongSessionSerializable
            | StrictSerializable
    )
}

/// The axioms, one line each.
fn axiom(execution: &Execution, level: Level, ww: Relation, rw: Relation) -> bool {
    let Execution { so, rt, wr, .. } = *execution;
    let depends = wr.union(ww);
    match level {
        NonMonotonicSnapshotIsolation => depends.closure().compose(rw.optional()).is_irreflexive(),
        ParallelSnapshotIsolation => so
            .union(depends)
            .closure()
            .compose(rw.optional())
            .is_irreflexive(),
        SnapshotIsolation => depends.compose(rw.optional()).is_acyclic(),
        StrongSessionSnapshotIsolation => so.union(depends).compose(rw.optional()).is_acyclic(),
        StrongSnapshotIsolation => so
            .union(rt)
            .union(depends)
            .compose(rw.optional())
            .is_acyclic(),
        Serializable => depends.union(rw).is_acyclic(),
        StrongSessionSerializable => so.union(depends).union(rw).is_acyclic(),
        StrictSerializable => so.union(rt).union(depends).union(rw).is_acyclic(),
        _ => false,
    }
}

/// A part of the version orders: all of the keys before one, and the first versions of that one.
struct Part {
    key_index: usize,
    placed: Vec<usize>,
    ww: Relation,
    rw: Relation,
}

struct Search<'a> {
    execution: &'a Execution,
    keys: Vec<KeyId>,
    /// The levels that no version orders have satisfied yet.
    open: Vec<Level>,
    held: Vec<Level>,
}

impl Search<'_> {
    /// Tries every way to complete `part` for the levels that it does not contradict. As deep as
    /// there are versions, which the scope limits.
    fn extend(&mut self, part: &Part, candidates: &[Level]) {
        let possible: Vec<Level> = candidates
            .iter()
            .copied()
            .filter(|&level| {
                self.open.contains(&level) && axiom(self.execution, level, part.ww, part.rw)
            })
            .collect();
        if possible.is_empty() {
            return;
        }
        let Some(&key) = self.keys.get(part.key_index) else {
            self.open.retain(|level| !possible.contains(level));
            self.held.extend(possible);
            return;
        };
        let writers = self.execution.writers(key);
        if part.placed.len() == writers.len() + 1 {
            let next_key = Part {
                key_index: part.key_index + 1,
                placed: vec![INITIAL],
                ..*part
            };
            return self.extend(&next_key, &possible);
        }
        for &next in writers {
            if !part.placed.contains(&next) && self.known_before_are_placed(key, next, part) {
                self.extend(&self.place(key, next, part), &possible);
            }
        }
    }

    fn known_before_are_placed(&self, key: KeyId, next: usize, part: &Part) -> bool {
        let known = self
            .execution
            .known_ww
            .get(&key)
            .copied()
            .unwrap_or(Relation::EMPTY);
        (0..self.execution.count)
            .all(|before| !known.contains(before, next) || part.placed.contains(&before))
    }

    /// Makes `next` the next version of the key, with the ww and rw edges that come of it.
    fn place(&self, key: KeyId, next: usize, part: &Part) -> Part {
        let (mut ww, mut rw) = (part.ww, part.rw);
        for &earlier in &part.placed {
            ww.insert(earlier, next);
        }
        for read in &self.execution.reads {
            let overwritten = read.key == key && part.placed.contains(&read.writer);
            if overwritten && read.reader != next {
                rw.insert(read.reader, next);
            }
        }
        let mut placed = part.placed.clone();
        placed.push(next);
        Part {
            key_index: part.key_index,
            placed,
            ww,
            rw,
        }
    }
}
