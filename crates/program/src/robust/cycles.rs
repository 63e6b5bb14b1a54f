//! Cycles of the summary graph that no order of commits excludes.
//!
//! Definition: take a cycle of dependencies in a run. Edges that are not counterflow go forward in
//! the order of commits, so there is a counterflow edge P → B. Let A → P be the edge before it. If
//! A commits before P reads what B overwrites, then A commits before B, and the two edges together
//! go forward as well; were that so everywhere, the cycle would be an order. So in a run that is not
//! serializable there are two edges A → P → B where
//! - P → B is counterflow, and
//! - P runs at read committed, and A → P is counterflow too, or P can read for B before it comes to
//!   wait for A (*type II*); or P runs on a snapshot, A → P is rw, and the two overlap (a
//!   *dangerous structure*); and
//! - not all three are serializable, and B leads back to A.
//!
//! Without such edges every run is serializable. The converse does not hold: a cycle found here may
//! be impossible.
//! *Type I* is the older test: a cycle with a counterflow edge.
//! Steps: distances between all paths; then for every P the worst edge from each A and to each B.
//! Cost: cubic in the number of paths.
//! Sources: Vandevoort and others, EDBT 2023 (type II); Alomari and Fekete, "Serializable use of Read
//! Committed isolation level", AICCSA 2015 (type I); Fekete and others, "Making snapshot isolation
//! serializable", TODS 2005. We differ: the levels can be mixed.

use super::Level;
use super::edges::Dependency;
use crate::scenario::EdgeKind;
use std::collections::BTreeMap;

/// Which cycles count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CycleKind {
    /// Any with a counterflow edge, at read committed.
    TypeI,
    /// Those with two edges in sequence that no order of commits excludes.
    TypeII,
}

/// The most pairs of edges looked at for the same three paths.
const ALIKE_MAX: usize = 12;

/// A graph whose nodes have levels.
pub(super) struct Search<'a> {
    pub edges: &'a [Dependency],
    /// The level of each unit; none for those left out.
    pub levels: &'a [Option<Level>],
    pub kind: CycleKind,
    /// The transaction of each unit.
    pub transactions: &'a [usize],
}

/// Edges in the order of the cycle: A → P, P → B, and the way back from B to A.
pub(super) type Cycle = Vec<usize>;

/// The edges A → P and P → B of a dangerous cycle.
pub(super) struct Pair {
    pub first: usize,
    pub second: usize,
    /// Whether the way back from B to A needs a step.
    pub moves: bool,
}

impl Search<'_> {
    /// A shortest dangerous cycle.
    pub fn find(&self) -> Option<Cycle> {
        let used = self.used();
        let steps = Steps::new(self.levels.len(), &used, self.edges);
        let mut best: Option<(usize, Cycle)> = None;
        let mut offer = |length: Option<usize>, cycle: Cycle| {
            if let Some(length) = length
                && best.as_ref().is_none_or(|(known, _)| length < *known)
            {
                best = Some((length, cycle));
            }
        };
        for pivot in 0..self.levels.len() {
            let out = self.leaving(pivot, &used);
            if out.is_empty() {
                continue;
            }
            let into = self.entering(pivot, &used);
            for second in out {
                let from = self.edges[second].to;
                if self.kind == CycleKind::TypeI {
                    offer(steps.length(from, pivot, true), vec![second]);
                    continue;
                }
                for &first in &into {
                    let Some(moves) = self.unsafe_pair(first, second) else {
                        continue;
                    };
                    offer(
                        steps.length(from, self.edges[first].from, moves),
                        vec![first, second],
                    );
                }
            }
        }
        let (_, mut cycle) = best?;
        let start = self.edges[*cycle.first()?].from;
        let end = self.edges[*cycle.last()?].to;
        // A way of no step closes a cycle only where A → P goes forward.
        let moves = match cycle.as_slice() {
            [first, second] => self.unsafe_pair(*first, *second).unwrap_or(true),
            _ => true,
        };
        cycle.extend(steps.path(end, start, moves));
        Some(cycle)
    }

    /// Two dangerous edges each, a few for every A, P and B: of each three transactions one, those
    /// with shorter ways back first, then of each the next.
    pub fn pairs(&self, steps: &Steps<'_>) -> Vec<Pair> {
        let used = self.used();
        let mut found: Vec<(usize, usize, Pair)> = Vec::new();
        let mut ranks: BTreeMap<(usize, usize, usize), usize> = BTreeMap::new();
        for &second in &used {
            let two = &self.edges[second];
            if !self.is_counterflow(two) {
                continue;
            }
            for &first in used.iter().filter(|at| self.edges[**at].to == two.from) {
                let from = self.edges[first].from;
                let Some(moves) = self.unsafe_pair(first, second) else {
                    continue;
                };
                let Some(length) = steps.length(two.to, from, moves) else {
                    continue;
                };
                let rank = ranks.entry((from, two.from, two.to)).or_default();
                if *rank < ALIKE_MAX {
                    let pair = Pair {
                        first,
                        second,
                        moves,
                    };
                    found.push((length, *rank, pair));
                    *rank += 1;
                }
            }
        }
        found.sort_by_key(|one| (one.0, one.1));
        let mut turns: BTreeMap<[usize; 3], usize> = BTreeMap::new();
        let mut ordered: Vec<(usize, usize, Pair)> = Vec::new();
        for (length, _, pair) in found {
            let (first, second) = (&self.edges[pair.first], &self.edges[pair.second]);
            let who = [first.from, second.from, second.to].map(|unit| self.transactions[unit]);
            let turn = turns.entry(who).or_default();
            ordered.push((*turn, length, pair));
            *turn += 1;
        }
        ordered.sort_by_key(|(turn, length, _)| (*turn, *length));
        ordered.into_iter().map(|(_, _, pair)| pair).collect()
    }

    /// The edges between units that are not left out.
    pub fn used(&self) -> Vec<usize> {
        let all = 0..self.edges.len();
        all.filter(|at| self.is_used(*at)).collect()
    }

    fn is_used(&self, at: usize) -> bool {
        let edge = &self.edges[at];
        self.levels[edge.from].is_some() && self.levels[edge.to].is_some()
    }

    fn is_counterflow(&self, edge: &Dependency) -> bool {
        match self.levels[edge.from] {
            Some(Level::ReadCommitted) => edge.counterflow,
            _ => edge.counterflow_on_snapshot,
        }
    }

    /// For each B, the counterflow edge to it that P takes first; one of each kind where it depends on what
    /// else P does whether it can be taken.
    fn leaving(&self, pivot: usize, used: &[usize]) -> Vec<usize> {
        let mut best: BTreeMap<_, usize> = BTreeMap::new();
        for &at in used {
            let edge = &self.edges[at];
            if edge.from != pivot || !self.is_counterflow(edge) {
                continue;
            }
            let depends = edge.misses || !edge.absent.is_empty();
            let kind = (edge.to, depends.then_some((edge.source, &edge.absent)));
            let known = best.entry(kind).or_insert(at);
            if self.edges[*known].leave > edge.leave {
                *known = at;
            }
        }
        best.into_values().collect()
    }

    /// For each A, the edges from it that can be the first of a dangerous pair: one that is
    /// counterflow, one that overlaps, the one that enters last; of each, one for every access of P that
    /// changes a row.
    fn entering(&self, pivot: usize, used: &[usize]) -> Vec<usize> {
        let mut best: BTreeMap<_, usize> = BTreeMap::new();
        for &at in used {
            let edge = &self.edges[at];
            if edge.to != pivot {
                continue;
            }
            let overlaps = edge.kind == EdgeKind::ReadWrite && !edge.apart;
            let changes = (edge.kind != EdgeKind::WriteRead).then_some(edge.target);
            let kind = (edge.from, self.is_counterflow(edge), overlaps, changes);
            let known = best.entry(kind).or_insert(at);
            if self.edges[*known].entry < edge.entry {
                *known = at;
            }
        }
        best.into_values().collect()
    }

    /// Whether no order of commits excludes the two edges, and if so, whether the way back needs a
    /// step (both are counterflow).
    fn unsafe_pair(&self, first: usize, second: usize) -> Option<bool> {
        let (one, two) = (&self.edges[first], &self.edges[second]);
        let level = self.levels[two.from]?;
        let serializable = |unit: usize| self.levels[unit] == Some(Level::Serializable);
        if serializable(one.from) && serializable(two.from) && serializable(two.to) {
            return None;
        }
        // One statement does not both change a row and find none.
        let changes = one.kind != EdgeKind::WriteRead;
        if two.misses && changes && one.target == two.source {
            return None;
        }
        // Nor does a snapshot have a row for one statement and none for the other.
        if level != Level::ReadCommitted && changes && two.absent.contains(&one.target) {
            return None;
        }
        let forward = match level {
            Level::ReadCommitted => one.entry > two.leave,
            Level::Snapshot | Level::Serializable => one.kind == EdgeKind::ReadWrite && !one.apart,
        };
        match (forward, self.is_counterflow(one)) {
            (true, _) => Some(false),
            (false, true) => Some(true),
            (false, false) => None,
        }
    }
}

/// Shortest ways between units.
pub(super) struct Steps<'a> {
    edges: &'a [Dependency],
    out: Vec<Vec<usize>>,
    /// For each two units: the length of a shortest way of at least one step.
    lengths: Vec<Vec<Option<usize>>>,
}

impl<'a> Steps<'a> {
    pub fn new(count: usize, used: &[usize], edges: &'a [Dependency]) -> Steps<'a> {
        let mut out: Vec<Vec<usize>> = vec![Vec::new(); count];
        for &at in used {
            let edge = &edges[at];
            if !out[edge.from]
                .iter()
                .any(|known| edges[*known].to == edge.to)
            {
                out[edge.from].push(at);
            }
        }
        let mut steps = Steps {
            edges,
            out,
            lengths: Vec::new(),
        };
        steps.lengths = (0..count).map(|from| steps.lengths_from(from)).collect();
        steps
    }

    fn lengths_from(&self, from: usize) -> Vec<Option<usize>> {
        let mut lengths = vec![None; self.out.len()];
        let mut level = vec![from];
        let mut length = 0;
        while !level.is_empty() {
            length += 1;
            let mut next = Vec::new();
            for unit in level {
                for &at in &self.out[unit] {
                    let to = self.edges[at].to;
                    if lengths[to].is_none() {
                        lengths[to] = Some(length);
                        next.push(to);
                    }
                }
            }
            level = next;
        }
        lengths
    }

    /// The length of a shortest way; of at least one step where it must move.
    pub fn length(&self, from: usize, to: usize, moves: bool) -> Option<usize> {
        match from == to && !moves {
            true => Some(0),
            false => self.lengths[from][to],
        }
    }

    /// The edges of a shortest way.
    fn path(&self, from: usize, to: usize, moves: bool) -> Vec<usize> {
        let mut way = Vec::new();
        let mut at = from;
        let Some(mut left) = self.length(from, to, moves) else {
            return way;
        };
        while left > 0 {
            let leads = |edge: &&usize| {
                let next = self.edges[**edge].to;
                match left {
                    1 => next == to,
                    _ => self.lengths[next][to] == Some(left - 1),
                }
            };
            let Some(edge) = self.out[at].iter().find(leads) else {
                return way;
            };
            way.push(*edge);
            at = self.edges[*edge].to;
            left -= 1;
        }
        way
    }
}
