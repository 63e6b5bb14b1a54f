//! Repairs a witness order that forced edges contradict, moving as little as possible.
//!
//! Steps: go through the order; before a transaction that lacks a forced predecessor, place that
//! predecessor with everything it needs (by so, wr and forced edges) that is still missing. What is
//! placed early has *moved*; everything else keeps its relative order. A transaction that needs
//! itself is a cycle, and every edge of it was given or forced.
//!
//! Which reads may be contradicted now that were not before: a read of `t1`'s version is
//! contradicted by a `t2` that the reader must have seen and that comes after `t1`. What is seen
//! does not depend on the order, and `t2` was before `t1`; so `t1` has moved.
//!
//! Cost: linear in the transactions and forced edges, and in the operations of what moved. Source:
//! depth-first topological sort; cf. dynamic topological orders (Pearce and Kelly).

use crate::observe::Observed;
use crate::order::Predecessors;
use history::TxnId;

/// What a repair did.
pub enum Repaired {
    /// The new order, and the transactions that moved to the front.
    Order { order: Vec<u32>, moved: Vec<u32> },
    /// The edges close a cycle.
    Cycle,
}

/// An order of all taken transactions along so ∪ wr that follows a given one as far as it can; each is
/// shown when it is placed. None if so ∪ wr has a cycle, or more than `moved_max` would have to move.
pub fn follow(
    observed: &Observed<'_>,
    given: &[u32],
    moved_max: usize,
    mut show: impl FnMut(u32),
) -> Option<Vec<u32>> {
    let mut repair = Repair::new(observed, given.len(), Predecessors::none());
    for &txn in given {
        if repair.mark[txn as usize] == Mark::Placed {
            continue;
        }
        let before = repair.order.len();
        if repair.next_missing(txn, 0).is_none() {
            repair.place(txn);
        } else if !repair.place_with_missing(txn) || repair.moved.len() > moved_max {
            return None;
        }
        repair.order[before..].iter().for_each(|&txn| show(txn));
    }
    Some(repair.order)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    Open,
    Placed,
}

struct Repair<'a> {
    observed: &'a Observed<'a>,
    forced: Predecessors,
    /// By transaction, with a spare entry at the end for reads of nobody, which lack nothing.
    mark: Vec<Mark>,
    order: Vec<u32>,
    moved: Vec<u32>,
    /// Transactions being placed, each with the number of its next predecessor to look at.
    stack: Vec<(u32, u32)>,
}

/// Repairs an order of all taken transactions that obeys so ∪ wr and all but the newest edges.
pub fn repair(observed: &Observed<'_>, order: &[u32], forced: Predecessors) -> Repaired {
    let mut repair = Repair::new(observed, order.len(), forced);
    for &txn in order {
        if repair.mark[txn as usize] == Mark::Placed {
            continue;
        }
        let ready = |&from: &u32| repair.mark[from as usize] == Mark::Placed;
        if repair.forced.of(txn).iter().all(ready) {
            repair.place(txn);
        } else if !repair.place_with_missing(txn) {
            return Repaired::Cycle;
        }
    }
    Repaired::Order {
        order: repair.order,
        moved: repair.moved,
    }
}

impl<'a> Repair<'a> {
    fn new(observed: &'a Observed<'a>, count: usize, forced: Predecessors) -> Repair<'a> {
        let mark = |is_taken| {
            if is_taken { Mark::New } else { Mark::Placed }
        };
        let taken = observed.taken.iter().chain([false]);
        Repair {
            observed,
            forced,
            mark: taken.map(mark).collect(),
            order: Vec::with_capacity(count),
            moved: Vec::new(),
            stack: Vec::new(),
        }
    }

    fn place(&mut self, txn: u32) {
        self.mark[txn as usize] = Mark::Placed;
        self.order.push(txn);
    }

    /// False if something is missing that needs itself.
    fn place_with_missing(&mut self, root: u32) -> bool {
        self.mark[root as usize] = Mark::Open;
        self.stack.push((root, 0));
        while let Some(&(txn, at)) = self.stack.last() {
            let top = self.stack.len() - 1;
            let Some((before, at)) = self.next_missing(txn, at) else {
                self.stack.pop();
                self.place(txn);
                if txn != root {
                    self.moved.push(txn);
                }
                continue;
            };
            if self.mark[before as usize] == Mark::Open {
                return false;
            }
            self.stack[top].1 = at;
            self.mark[before as usize] = Mark::Open;
            self.stack.push((before, 0));
        }
        true
    }

    /// The first predecessor of `txn` from number `at` on that is not placed, and the number after
    /// it. Number 0 is the session predecessor, then come the operations, then forced edges.
    fn next_missing(&self, txn: u32, at: u32) -> Option<(u32, u32)> {
        let links = &self.observed.links[self.observed.history.op_range(TxnId(txn))];
        let forced = self.forced.of(txn);
        let missing = |before: u32| self.mark[before as usize] != Mark::Placed;
        if at == 0
            && let Some(before) = self.observed.session_predecessor(txn)
            && missing(before)
        {
            return Some((before, 1));
        }
        let from = (at as usize).max(1) - 1;
        let nobody = self.mark.len() - 1;
        for (number, &link) in links.iter().enumerate().skip(from) {
            // Reads and writes alternate at random; whether something is missing is no such toss. Links that are no
            // transactions lie beyond the last.
            let before = (link as usize).min(nobody);
            if self.mark[before] != Mark::Placed {
                return Some((link, number as u32 + 2));
            }
        }
        let from = from.saturating_sub(links.len());
        let found = forced[from..].iter().position(|&before| missing(before))?;
        let number = links.len() + from + found;
        Some((forced[from + found], number as u32 + 2))
    }
}
