//! The instances of a rule's violation, counted by kind, with some of each to show.
//!
//! Definition: as in `diagnose`. An instance counts once for each read, whatever forces it.
//!
//! Steps: each forced edge on a cycle is named and marks its read; of those of a kind every one is kept at first, and
//! every second, fourth, … one as they become more, so that what is kept is spread over all.
//!
//! Cost: a bit for each operation and kind.

use crate::observe::Link;
use crate::op_set::OpSet;
use crate::order::{Forced, StaleRead};
use crate::rule::Rule;
use history::AnomalyKind;
use std::collections::BTreeMap;

/// So many instances of a kind are kept, and up to twice as many for a while.
const KEPT: usize = 512;

/// What was found so far.
pub struct Instances {
    rule: Rule,
    op_count: usize,
    pub by_kind: BTreeMap<AnomalyKind, OfKind>,
    /// Reads of an initial version, each with a writer that was to be seen.
    pub initial: Vec<(StaleRead, u32)>,
}

/// The instances of one kind.
pub struct OfKind {
    reads: OpSet,
    /// How many reads they are of.
    pub read_count: u64,
    /// Some of them.
    pub kept: Vec<Forced>,
    seen: usize,
    stride: usize,
}

impl Instances {
    pub fn new(rule: Rule, op_count: usize) -> Instances {
        Instances {
            rule,
            op_count,
            by_kind: BTreeMap::new(),
            initial: Vec::new(),
        }
    }

    /// Takes a forced edge `t2 → t1` on a cycle; `plain` if `t1` happens before `t2`.
    pub fn add(&mut self, edge: &Forced, plain: bool) {
        let kind = kind_of(self.rule, edge, plain);
        let op_count = self.op_count;
        let of_kind = self.by_kind.entry(kind).or_insert_with(|| OfKind {
            reads: OpSet::none(op_count),
            read_count: 0,
            kept: Vec::new(),
            seen: 0,
            stride: 1,
        });
        of_kind.add(edge);
    }

    /// Takes a read of the initial version that had to see a write.
    pub fn add_initial(&mut self, edge: &Forced) {
        debug_assert_eq!(edge.to, Link::INITIAL);
        let read = StaleRead::new(edge.read, edge.reader);
        self.initial.push((read, edge.from));
    }

    /// Keeps one writer for each read of the initial version.
    pub fn tidy(&mut self) {
        self.initial
            .sort_unstable_by_key(|(read, t2)| (read.op, *t2));
        self.initial.dedup_by_key(|(read, _)| read.op);
    }
}

impl OfKind {
    fn add(&mut self, edge: &Forced) {
        if !self.reads.has(edge.read as usize) {
            self.reads.insert(edge.read as usize);
            self.read_count += 1;
        }
        if self.seen.is_multiple_of(self.stride) {
            self.kept.push(*edge);
            if self.kept.len() == 2 * KEPT {
                let mut place = 0;
                self.kept.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.stride *= 2;
            }
        }
        self.seen += 1;
    }
}

/// What an instance is called.
fn kind_of(rule: Rule, edge: &Forced, plain: bool) -> AnomalyKind {
    use AnomalyKind::*;
    match (rule, edge.direct, plain) {
        (Rule::ReadCommitted, _, true) => NonMonotonicRead,
        (Rule::ReadCommitted, _, false) => NonMonotonicReadConflict,
        (Rule::ReadAtomic | Rule::Causal, true, true) => FracturedRead,
        (Rule::ReadAtomic | Rule::Causal, true, false) => FracturedReadConflict,
        (_, _, true) => CausalityViolation,
        (_, _, false) => ConflictingOrder,
    }
}
