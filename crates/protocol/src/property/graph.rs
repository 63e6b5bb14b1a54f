//! A small directed graph of transactions, and a shortest cycle in it.

use crate::id::{Txn, TxnSet};

/// Who comes directly before whom, a set of successors for each.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    next: [TxnSet; crate::id::MOST],
}

impl Graph {
    pub fn new() -> Graph {
        Graph {
            next: [TxnSet::EMPTY; crate::id::MOST],
        }
    }

    /// One before another; nobody comes before itself.
    pub fn insert(&mut self, from: Txn, to: Txn) {
        if from != to {
            self.next[from.index()].insert(to);
        }
    }

    /// Whether there is a cycle: what is left when all that nothing follows is taken away, again
    /// and again.
    pub fn is_cyclic(&self) -> bool {
        let mut left: TxnSet = Txn::first(crate::id::MOST)
            .filter(|txn| !self.next[txn.index()].is_empty())
            .collect();
        loop {
            let last = |txn: &Txn| self.next[txn.index()].intersection(left).is_empty();
            let gone: TxnSet = left.iter().filter(last).collect();
            if gone.is_empty() {
                return !left.is_empty();
            }
            left = left.without(gone);
        }
    }

    /// A shortest cycle: each comes before the next, the last before the first.
    pub fn cycle(&self) -> Option<Vec<Txn>> {
        let all = Txn::first(crate::id::MOST);
        all.filter_map(|first| self.cycle_through(first))
            .min_by_key(Vec::len)
    }

    fn cycle_through(&self, first: Txn) -> Option<Vec<Txn>> {
        let mut found = vec![(first, 0)];
        let mut seen = TxnSet::EMPTY;
        let mut place = 0;
        while let Some(&(txn, _)) = found.get(place) {
            for next in self.next[txn.index()].iter() {
                if next == first {
                    let mut path = Vec::new();
                    let mut at = place;
                    while at != 0 {
                        path.push(found[at].0);
                        at = found[at].1;
                    }
                    path.push(first);
                    path.reverse();
                    return Some(path);
                }
                if seen.insert(next) {
                    found.push((next, place));
                }
            }
            place += 1;
        }
        None
    }
}
