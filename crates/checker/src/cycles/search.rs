//! Shortest cycles of a class within a strongly connected component.
//!
//! Definition: a cycle of a class that visits no transaction twice. Steps: breadth-first search from
//! a transaction back to it, where the first edge, the edges in between and the last one have to be of
//! given kinds:
//!
//! | class | first | between | last |
//! |---|---|---|---|
//! | G0 | any | any but wr, rw | any |
//! | G1c | wr | any but rw | any |
//! | G-single | rw | any but rw | any |
//! | G-nonadjacent | rw | any; rw not after rw | not rw, and a second rw lies before it |
//! | G2-item | rw | any | rw |
//!
//! The search does not go on from its start, so what it finds visits no transaction twice: exactly
//! the shortest such cycle through the start. G-nonadjacent is the exception, since it may visit a
//! transaction once with one rw edge behind it and once with two. If the component has no cycle with
//! fewer rw edges, a shortest one does not do that (it would split there into a shorter one and a
//! rest, which both have two). If it has, finding such a cycle is the problem of disjoint paths, which
//! is NP-hard; up to a limit it is looked for by `simple`, beyond it may be missed. No verdict depends
//! on it: what G-nonadjacent contradicts, the cycle with fewer rw edges contradicts too.
//!
//! Cost: one search through the component for each start, cut off at the length of the best cycle
//! so far. All starts are tried, up to [`WORK_MAX`] edges for a component and a class; where that does
//! not suffice, the cycle is the shortest of those through the starts tried.

use super::components::Components;
use super::graph::{Graph, INNER, Kinds, RW, Rows, WR};
use super::kinds::Class;
use super::simple;
use crate::Budget;
use crate::budget::Limit;

/// So many edges are looked at for one component and class.
pub const WORK_MAX: u64 = 1 << 23;
/// How often the budget is asked.
const WORK_BETWEEN: u64 = 1 << 16;

/// Which cycles are looked for.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub class: Class,
    /// All kinds of edges.
    pub kinds: Kinds,
    /// After which rw may not follow, but in cycles with two rw in a row.
    pub before_rw: Kinds,
}

impl Wanted {
    pub fn first(self) -> Kinds {
        match self.class {
            Class::Versions => self.kinds,
            Class::Flow => WR,
            _ => RW,
        }
    }

    /// Kinds that may follow an edge of kind `last`, when so many rw lie behind.
    pub fn between(self, last: Kinds) -> Kinds {
        match self.class {
            Class::Nonadjacent if last & self.before_rw != 0 => self.kinds & !RW,
            Class::Single => self.kinds & !RW,
            _ => self.kinds,
        }
    }

    /// Kinds of the last edge.
    pub fn last(self) -> Kinds {
        match self.class {
            Class::Versions | Class::Flow => self.kinds,
            Class::Single | Class::Nonadjacent => self.kinds & !RW & !self.before_rw,
            Class::Adjacent => RW,
        }
    }

    /// No cycle is shorter.
    fn least(self) -> u32 {
        match self.class {
            Class::Nonadjacent => 4,
            _ => 2,
        }
    }

    pub fn rw_needed(self) -> u32 {
        match self.class {
            Class::Nonadjacent => 2,
            _ => 0,
        }
    }
}

/// Searches in one graph; reused for all components.
pub struct Search<'s> {
    graph: &'s Graph<'s>,
    rows: &'s Rows,
    budget: &'s Budget<'s>,
    /// By node and state: in which search it was seen, from which node and state, by which edge.
    seen: Vec<u32>,
    parents: Vec<(u32, u32)>,
    stamp: u32,
    queue: Vec<u32>,
    /// Edges looked at for the present component and class, and since the budget was asked.
    work: u64,
    unasked: u64,
}

/// How many states a node has: whether a second rw lies behind, and whether rw may follow.
const STATES: u32 = 4;
const NONE: u32 = u32::MAX;

impl<'s> Search<'s> {
    pub fn new(graph: &'s Graph<'s>, rows: &'s Rows, budget: &'s Budget<'s>) -> Search<'s> {
        let states = (graph.nodes * STATES) as usize;
        Search {
            graph,
            rows,
            budget,
            seen: vec![0; states],
            parents: vec![(NONE, NONE); states],
            stamp: 0,
            queue: Vec::new(),
            work: 0,
            unasked: 0,
        }
    }

    /// The shortest cycle found in a component, as edges of the graph.
    pub fn shortest(
        &mut self,
        components: &Components,
        number: u32,
        wanted: Wanted,
    ) -> Result<Option<Vec<u32>>, Limit> {
        self.work = 0;
        let mut best: Option<Vec<u32>> = None;
        let mut length = u32::MAX;
        let mut is_crossed = false;
        for &start in &components.members[number as usize] {
            if length <= wanted.least() || self.work > WORK_MAX {
                break;
            }
            if self.unasked > WORK_BETWEEN {
                self.unasked = 0;
                self.budget.check("cycles")?;
            }
            let Some(cycle) = self.through(start, &components.of, number, wanted, length) else {
                continue;
            };
            if self.is_simple(&cycle) {
                length = self.steps(&cycle);
                best = Some(cycle);
            } else {
                is_crossed = true;
            }
        }
        if is_crossed {
            let members = &components.members[number as usize];
            let part = simple::Part {
                graph: self.graph,
                rows: self.rows,
                of: &components.of,
                number,
            };
            best = part.shortest(members, wanted, length).or(best);
        }
        Ok(best)
    }

    /// The shortest cycle through a transaction that is shorter than `below`.
    fn through(
        &mut self,
        start: u32,
        of: &[u32],
        number: u32,
        wanted: Wanted,
        below: u32,
    ) -> Option<Vec<u32>> {
        self.stamp += 1;
        self.queue.clear();
        let (mut at, mut length) = (0, 1);
        if let Some(end) = self.leave(start, NONE, start, of, number, wanted) {
            return Some(self.path(end));
        }
        let mut level_end = self.queue.len();
        while at < self.queue.len() && length + 1 < below {
            if at == level_end {
                length += 1;
                level_end = self.queue.len();
                continue;
            }
            let state = self.queue[at];
            at += 1;
            let node = state / STATES;
            if let Some(end) = self.leave(node, state, start, of, number, wanted) {
                return Some(self.path(end));
            }
        }
        None
    }

    /// Follows the edges of a transaction, through nodes that are none; the last edge, with the
    /// state it leaves, if one leads back to the start.
    fn leave(
        &mut self,
        node: u32,
        state: u32,
        start: u32,
        of: &[u32],
        number: u32,
        wanted: Wanted,
    ) -> Option<(u32, u32)> {
        let mut inner: Vec<(u32, u32)> = vec![(node, state)];
        while let Some((node, state)) = inner.pop() {
            for &edge in self.rows.of(node) {
                self.work += 1;
                self.unasked += 1;
                let to = self.graph.edges[edge as usize].to;
                let Some(next) = self.next(state, edge, wanted) else {
                    continue;
                };
                if of[to as usize] != number {
                    continue;
                }
                if to == start {
                    if state != NONE && self.may_end(next, edge, wanted) {
                        return Some((state, edge));
                    }
                    continue;
                }
                let next = to * STATES + next;
                if self.seen[next as usize] == self.stamp {
                    continue;
                }
                self.seen[next as usize] = self.stamp;
                self.parents[next as usize] = (state, edge);
                if self.graph.is_txn(to) {
                    self.queue.push(next);
                } else {
                    inner.push((to, next));
                }
            }
        }
        None
    }

    /// The state after an edge, if the edge may follow: bit 0 says that no rw may follow, bit 1 that
    /// two rw lie behind. Only cycles with several rw have states.
    #[inline]
    fn next(&self, state: u32, edge: u32, wanted: Wanted) -> Option<u32> {
        let kind = self.graph.kinds[edge as usize];
        if kind == INNER {
            return Some(state % STATES);
        }
        if state == NONE {
            let has_state = u32::from(wanted.class == Class::Nonadjacent);
            return (kind & wanted.first() != 0).then_some(has_state);
        }
        let bits = state % STATES;
        if wanted.class != Class::Nonadjacent {
            return (kind & wanted.between(0) != 0).then_some(0);
        }
        let last = if bits & 1 != 0 { wanted.before_rw } else { 0 };
        if kind & wanted.between(last) == 0 {
            return None;
        }
        let blocks = u32::from(kind & (wanted.before_rw | RW) != 0);
        let second = if kind == RW { 2 } else { bits & 2 };
        Some(second | blocks)
    }

    fn may_end(&self, bits: u32, edge: u32, wanted: Wanted) -> bool {
        let is_last = self.graph.step_kind(edge) & wanted.last() != 0;
        is_last && (wanted.rw_needed() < 2 || bits & 2 != 0)
    }

    /// The edges that led to a state, and the last one.
    fn path(&self, (mut state, last): (u32, u32)) -> Vec<u32> {
        let mut edges = vec![last];
        while state != NONE {
            let (before, edge) = self.parents[state as usize];
            edges.push(edge);
            state = before;
        }
        edges.reverse();
        edges
    }

    fn steps(&self, cycle: &[u32]) -> u32 {
        let is_step = |&&edge: &&u32| self.graph.kinds[edge as usize] != INNER;
        cycle.iter().filter(is_step).count() as u32
    }

    fn is_simple(&self, cycle: &[u32]) -> bool {
        let mut txns: Vec<u32> = cycle
            .iter()
            .map(|&edge| self.graph.edges[edge as usize].from)
            .filter(|&node| self.graph.is_txn(node))
            .collect();
        let count = txns.len();
        txns.sort_unstable();
        txns.dedup();
        txns.len() == count
    }
}
