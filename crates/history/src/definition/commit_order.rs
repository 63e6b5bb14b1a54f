//! The levels defined by a commit order.
//!
//! A level holds if there is a total order CO of the committed transactions, the initial one
//! first, that extends so ∪ wr and what is known of ww, such that for every external read of x by
//! t3 from t1 and every other writer t2 of x: if t2 is *visible* to the read, then t2 CO t1. The
//! levels differ in who is visible. (Biswas & Enea, OOPSLA 2019.)

use super::execution::{Execution, INITIAL, ReadFrom};
use super::relation::Relation;
use crate::Level::{self, *};
use std::ops::ControlFlow;

/// Of the levels asked about, those that are defined by a commit order and hold.
pub(super) fn levels_that_hold(execution: &Execution, asked: &[Level]) -> Vec<Level> {
    let known_ww = execution.all_known_ww();
    let mut held = Vec::new();
    let is_ordered = execution.dirty_ww.is_acyclic() && !execution.has_repeated_element;
    if asked.contains(&ReadUncommitted) && is_ordered {
        held.push(ReadUncommitted);
    }
    let mut open: Vec<Level> = asked
        .iter()
        .copied()
        .filter(|&level| is_defined_by_commit_order(level) && reads_allow(execution, level))
        .collect();
    let must_extend = execution.so.union(execution.wr).union(known_ww);
    for_each_total_order(execution.count, must_extend, &mut |co| {
        let (holding, rest) = open
            .iter()
            .partition(|&&level| versions_read_are_newest(execution, level, co));
        held.extend::<Vec<Level>>(holding);
        open = rest;
        if open.is_empty() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    held
}

fn is_defined_by_commit_order(level: Level) -> bool {
    matches!(
        level,
        ReadCommitted
            | CursorStability
            | ReadYourWrites
            | MonotonicReads
            | MonotonicWrites
            | WritesFollowReads
            | ReadAtomic
            | UpdateAtomic
            | Causal
            | Prefix
    )
}

/// What a level demands of reads and updates before any order is considered.
fn reads_allow(execution: &Execution, level: Level) -> bool {
    let repeatable = matches!(level, ReadAtomic | UpdateAtomic | Causal | Prefix);
    let no_lost_update = matches!(level, CursorStability | UpdateAtomic);
    !(execution.has_impossible_read
        || repeatable && execution.has_non_repeatable_read
        || no_lost_update && execution.has_lost_update())
}

/// The axiom: whatever is visible to a read is no newer than what it returned.
fn versions_read_are_newest(execution: &Execution, level: Level, co: Relation) -> bool {
    let visible = visible_to_transaction(execution, level, co);
    let mut older = Relation::EMPTY;
    for read in &execution.reads {
        let (t1, t3) = (read.writer, read.reader);
        for &t2 in execution.writers(read.key) {
            let phi = visible.contains(t2, t3) || visible_to_read(execution, level, t2, read);
            if t2 != t1 && t2 != t3 && phi {
                older.insert(t2, t1);
            }
        }
    }
    older.is_within(co)
}

/// `phi(t2, t3)`: whose writes a transaction has to see.
fn visible_to_transaction(execution: &Execution, level: Level, co: Relation) -> Relation {
    let Execution { so, wr, .. } = *execution;
    match level {
        ReadYourWrites => so,
        MonotonicReads => wr.compose(so),
        MonotonicWrites => so.compose(wr),
        WritesFollowReads => wr.compose(so.optional()).compose(wr),
        ReadAtomic | UpdateAtomic => so.union(wr),
        Causal => so.union(wr).closure(),
        Prefix => co.optional().compose(so.union(wr)),
        _ => Relation::EMPTY,
    }
}

/// `phi(t2, read)` of read-committed: whose writes the transaction saw before this read.
fn visible_to_read(execution: &Execution, level: Level, t2: usize, read: &ReadFrom) -> bool {
    matches!(level, ReadCommitted | CursorStability)
        && execution.reads.iter().any(|earlier| {
            earlier.reader == read.reader && earlier.writer == t2 && earlier.op < read.op
        })
}

/// Shows every total order that extends a relation, until `visit` breaks off.
fn for_each_total_order(
    count: usize,
    must_extend: Relation,
    visit: &mut dyn FnMut(Relation) -> ControlFlow<()>,
) {
    let _ = place_next(count, must_extend, &mut vec![INITIAL], visit);
}

fn place_next(
    count: usize,
    must_extend: Relation,
    placed: &mut Vec<usize>,
    visit: &mut dyn FnMut(Relation) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if placed.len() == count {
        return visit(Relation::total_order(placed));
    }
    for next in 0..count {
        let is_due = |before| !must_extend.contains(before, next) || placed.contains(&before);
        if !placed.contains(&next) && (0..count).all(is_due) {
            placed.push(next);
            place_next(count, must_extend, placed, visit)?;
            placed.pop();
        }
    }
    ControlFlow::Continue(())
}
