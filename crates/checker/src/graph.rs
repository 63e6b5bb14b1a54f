//! The graph so ∪ wr ∪ forced, seen from its predecessors: nothing but the links and the forced
//! edges is stored, so the graph itself costs no memory.
//!
//! Components: Tarjan's algorithm without recursion, over predecessors. A component is finished
//! after everything that leads to it, so components come out in topological order.
//! Shortest paths: breadth-first search backwards, within one component.

use crate::observe::{Link, Observed};
use crate::order::ForcedEdges;
use history::TxnId;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A step of a path: how `to` is preceded by `from`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Session order.
    So { from: u32, to: u32 },
    /// `to` read from `from` at this operation.
    Wr { from: u32, to: u32, read: u32 },
    /// A forced edge, by its place in [`ForcedEdges`].
    Forced { from: u32, to: u32, index: u32 },
}

impl Step {
    /// The earlier transaction.
    pub fn from(self) -> u32 {
        match self {
            Step::So { from, .. } | Step::Wr { from, .. } | Step::Forced { from, .. } => from,
        }
    }

    /// The later transaction.
    pub fn to(self) -> u32 {
        match self {
            Step::So { to, .. } | Step::Wr { to, .. } | Step::Forced { to, .. } => to,
        }
    }
}

/// so ∪ wr ∪ forced over the taken transactions.
pub struct Graph<'a> {
    pub observed: &'a Observed<'a>,
    pub forced: &'a ForcedEdges,
    /// Whether so ∪ wr belong to the graph, or only the forced edges.
    pub base: bool,
}

/// Which strongly connected component each transaction is in.
pub struct Components {
    /// By transaction; `u32::MAX` for those not taken.
    pub of: Vec<u32>,
    /// The taken transactions, component by component, in topological order of the components.
    pub order: Vec<u32>,
    /// How many transactions each component has.
    pub sizes: Vec<u32>,
}

impl Components {
    /// Whether two transactions lie on a common cycle.
    pub fn same(&self, a: u32, b: u32) -> bool {
        self.of[a as usize] == self.of[b as usize] && self.of[a as usize] != u32::MAX
    }
}

impl Graph<'_> {
    /// The predecessor of `txn` number `at`, counting: 0 the session predecessor, then one for
    /// each operation, then the forced edges. `None` past the end; `Some(None)` where there is no
    /// edge at this number.
    fn predecessor(&self, txn: u32, at: u32) -> Option<Option<Step>> {
        if at == 0 {
            if !self.base {
                return Some(None);
            }
            return Some(
                self.observed
                    .session_predecessor(txn)
                    .map(|from| Step::So { from, to: txn }),
            );
        }
        let range = self.observed.history.op_range(TxnId(txn));
        let op = range.start + at as usize - 1;
        if op < range.end {
            let from = self.observed.links[op];
            let edge = self.base && Link::is_txn(from);
            return Some(edge.then_some(Step::Wr {
                from,
                to: txn,
                read: op as u32,
            }));
        }
        let forced = self.forced.before(txn);
        let index = forced.start + op - range.end;
        let edge = self.forced.edges[..forced.end].get(index)?;
        Some(Some(Step::Forced {
            from: edge.from,
            to: txn,
            index: index as u32,
        }))
    }

    /// The steps to a transaction, but for session order.
    pub fn steps_to(&self, to: u32) -> impl Iterator<Item = Step> + '_ {
        let range = self.observed.history.op_range(TxnId(to));
        let links = (range.start as u32..).zip(&self.observed.links[range]);
        let reads = links.filter(|&(_, &link)| self.base && Link::is_txn(link));
        let reads = reads.map(move |(read, &from)| Step::Wr { from, to, read });
        let forced = self.forced.before(to);
        let forced = (forced.start as u32..).zip(&self.forced.edges[forced]);
        reads.chain(forced.map(move |(index, edge)| {
            let from = edge.from;
            Step::Forced { from, to, index }
        }))
    }

    /// All strongly connected components of the taken transactions.
    pub fn components(&self) -> Components {
        let txn_count = self.observed.history.txn_count();
        const NEW: u32 = u32::MAX;
        let mut found = Components {
            of: vec![NEW; txn_count],
            order: Vec::new(),
            sizes: Vec::new(),
        };
        let mut index = vec![NEW; txn_count];
        let mut low = vec![0u32; txn_count];
        let mut stack: Vec<u32> = Vec::new();
        let mut path: Vec<(u32, u32)> = Vec::new();
        let mut next_index = 0;
        for root in (0..txn_count as u32).filter(|&txn| self.observed.taken[txn as usize]) {
            if index[root as usize] != NEW {
                continue;
            }
            path.push((root, 0));
            while let Some((txn, at)) = path.last_mut() {
                let txn = *txn;
                if *at == 0 {
                    index[txn as usize] = next_index;
                    low[txn as usize] = next_index;
                    next_index += 1;
                    stack.push(txn);
                }
                let step = self.predecessor(txn, *at);
                *at += 1;
                match step {
                    Some(None) => {}
                    Some(Some(step)) => {
                        let from = step.from();
                        if index[from as usize] == NEW {
                            path.push((from, 0));
                        } else if found.of[from as usize] == NEW {
                            low[txn as usize] = low[txn as usize].min(index[from as usize]);
                        }
                    }
                    None => {
                        path.pop();
                        if let Some(&(parent, _)) = path.last() {
                            low[parent as usize] = low[parent as usize].min(low[txn as usize]);
                        }
                        if low[txn as usize] == index[txn as usize] {
                            close(&mut found, &mut stack, txn);
                        }
                    }
                }
            }
        }
        found
    }

    /// A shortest path from `from` to `to` (at least one step), by so and wr alone if `plain`, and
    /// inside their common component if one is given. Session order is transitive, so a run of so
    /// steps counts as one. `None` if there is no path, or if `limit` steps were looked at.
    pub fn shortest_path(
        &self,
        from: u32,
        to: u32,
        components: Option<&Components>,
        plain: bool,
        limit: &mut u64,
    ) -> Option<Vec<Step>> {
        self.search(from, to, components, plain, u32::MAX, limit)
    }

    /// The same, among paths of at most `longest` steps.
    pub fn search(
        &self,
        from: u32,
        to: u32,
        components: Option<&Components>,
        plain: bool,
        longest: u32,
        limit: &mut u64,
    ) -> Option<Vec<Step>> {
        let mut reached: FxHashMap<State, Reached> = FxHashMap::default();
        let mut queue = VecDeque::new();
        let start = State {
            txn: to,
            by_so: false,
        };
        let mut current = (start, 0);
        loop {
            let (state, distance) = current;
            let mut at = 0;
            while let Some(step) = self.predecessor(state.txn, at) {
                at += 1;
                *limit = limit.checked_sub(1)?;
                let Some(step) = step else { continue };
                if plain && matches!(step, Step::Forced { .. }) {
                    break;
                }
                if components.is_some_and(|found| !found.same(step.from(), to)) {
                    continue;
                }
                let next = State {
                    txn: step.from(),
                    by_so: matches!(step, Step::So { .. }),
                };
                let free = state.by_so && next.by_so;
                let distance = distance + u32::from(!free);
                let known = reached.get(&next);
                if distance > longest || known.is_some_and(|known| known.distance <= distance) {
                    continue;
                }
                reached.insert(
                    next,
                    Reached {
                        distance,
                        step,
                        towards: state,
                    },
                );
                if free {
                    queue.push_front((next, distance));
                } else {
                    queue.push_back((next, distance));
                }
            }
            current = loop {
                let (state, distance) = queue.pop_front()?;
                if reached[&state].distance == distance {
                    break (state, distance);
                }
            };
            if current.0.txn == from {
                return Some(path_from(current.0, start, &reached));
            }
        }
    }
}

/// A transaction on a path, and whether the path goes on from it by session order.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    txn: u32,
    by_so: bool,
}

/// How a state leads on to the end of the path.
#[derive(Clone, Copy)]
struct Reached {
    distance: u32,
    step: Step,
    towards: State,
}

fn close(found: &mut Components, stack: &mut Vec<u32>, root: u32) {
    let component = found.sizes.len() as u32;
    let mut size = 0;
    loop {
        let txn = stack.pop().expect("the root is on the stack");
        found.of[txn as usize] = component;
        found.order.push(txn);
        size += 1;
        if txn == root {
            break;
        }
    }
    found.sizes.push(size);
}

fn path_from(mut state: State, end: State, reached: &FxHashMap<State, Reached>) -> Vec<Step> {
    let mut path: Vec<Step> = Vec::new();
    loop {
        let Reached { step, towards, .. } = reached[&state];
        match (path.last_mut(), step) {
            (Some(Step::So { to, .. }), Step::So { to: further, .. }) => *to = further,
            _ => path.push(step),
        }
        if towards == end {
            return path;
        }
        state = towards;
    }
}
