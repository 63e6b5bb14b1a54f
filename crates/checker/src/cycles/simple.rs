//! Cycles that a breadth-first search may cross itself on: depth-first, longer and longer ones, up to
//! a limit on the work. Without recursion.

use super::graph::{Graph, INNER, RW, Rows};
use super::search::Wanted;

/// So many edges are looked at.
const WORK_MAX: u64 = 1 << 18;

/// A component of a graph.
pub struct Part<'p> {
    pub graph: &'p Graph<'p>,
    pub rows: &'p Rows,
    /// By node, its component, and the one that counts.
    pub of: &'p [u32],
    pub number: u32,
}

/// Where the search is: a node, how many of its edges are done, how it was reached.
struct Frame {
    node: u32,
    done: usize,
    edge: u32,
    steps: u32,
    rw_count: u32,
}

impl Part<'_> {
    /// The shortest cycle with fewer steps than `below` that visits no transaction twice.
    pub fn shortest(&self, members: &[u32], wanted: Wanted, below: u32) -> Option<Vec<u32>> {
        let mut work = 0;
        let most = below.min(members.len() as u32 + 1);
        for length in 2..most {
            for &start in members {
                let found = self.through(start, wanted, length, &mut work);
                if found.is_some() || work > WORK_MAX {
                    return found;
                }
            }
        }
        None
    }

    /// A cycle of so many steps through a transaction.
    fn through(&self, start: u32, wanted: Wanted, length: u32, work: &mut u64) -> Option<Vec<u32>> {
        let graph = self.graph;
        let mut path = vec![Frame {
            node: start,
            done: 0,
            edge: u32::MAX,
            steps: 0,
            rw_count: 0,
        }];
        while let Some(frame) = path.last_mut() {
            let (node, steps, rw_count, via) =
                (frame.node, frame.steps, frame.rw_count, frame.edge);
            let Some(&edge) = self.rows.of(node).get(frame.done) else {
                path.pop();
                continue;
            };
            frame.done += 1;
            *work += 1;
            if *work > WORK_MAX {
                return None;
            }
            let kind = graph.kinds[edge as usize];
            let to = graph.edges[edge as usize].to;
            let allowed = match (kind, via) {
                (INNER, _) => INNER,
                (_, u32::MAX) => wanted.first(),
                _ => wanted.between(graph.step_kind(via)),
            };
            let steps = steps + u32::from(kind != INNER);
            let rw_count = rw_count + u32::from(kind == RW);
            if kind & allowed == 0 || self.of[to as usize] != self.number || steps > length {
                continue;
            }
            if to == start {
                let is_last = graph.step_kind(edge) & wanted.last() != 0;
                if steps == length && is_last && rw_count >= wanted.rw_needed() {
                    let edges = path.iter().skip(1).map(|frame| frame.edge);
                    return Some(edges.chain([edge]).collect());
                }
                continue;
            }
            let is_new = !graph.is_txn(to) || path.iter().all(|frame| frame.node != to);
            if is_new {
                path.push(Frame {
                    node: to,
                    done: 0,
                    edge,
                    steps,
                    rw_count,
                });
            }
        }
        None
    }
}
