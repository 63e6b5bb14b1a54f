//! Shortest ways from a few transactions, looked for from both ends.
//!
//! Definition: as in `short_paths`, for many ways whose beginnings are known in advance.
//!
//! Steps: one walk over all reads notes who read from the beginnings. Their steps are sorted by beginning and by where
//! they lead, so that each can be looked up, and, since session order is transitive, the first that leads to a session.
//! A way of two steps is one of these to whoever comes right before the end. For longer ones, what comes before the end
//! is gone through breadth first, until one of those steps leads there: so the last level of the search, which is most
//! of it, is a look-up. All of a session before a transaction is one step away; a session is gone through once.
//!
//! Cost: linear in the operations, and the sort, once. Then as many look-ups as there are steps before the end by fewer
//! steps than the way has.

use crate::graph::{Graph, Step};
use crate::observe::Link;
use crate::op_set::OpSet;
use history::TxnId;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// What follows right after some transactions.
pub struct Onward<'g, 'a> {
    graph: &'g Graph<'a>,
    /// By reads alone, not by forced edges.
    plain: bool,
    /// Ascending by where they begin, then by where they lead. Session order is not among them.
    steps: Vec<Step>,
    /// The beginning at hand, and the steps from there.
    from: Option<u32>,
    ahead: Range<usize>,
    /// What follows it in its session.
    own: Range<u32>,
    seen: Seen,
}

impl<'g, 'a> Onward<'g, 'a> {
    /// What follows these.
    pub fn of(graph: &'g Graph<'a>, txns: impl Iterator<Item = u32>, plain: bool) -> Self {
        let observed = graph.observed;
        let mut wanted = OpSet::none(observed.history.txn_count());
        txns.for_each(|txn| wanted.insert(txn as usize));
        let mut steps = Vec::new();
        for placed in observed.file_order.iter() {
            let to = placed.txn.0;
            let links = &observed.links[placed.ops()];
            for (read, &from) in (placed.ops().start as u32..).zip(links) {
                if Link::is_txn(from) && wanted.has(from as usize) && observed.taken[to as usize] {
                    steps.push(Step::Wr { from, to, read });
                }
            }
        }
        for (index, edge) in (0..).zip(&graph.forced.edges).filter(|_| !plain) {
            let (from, to) = (edge.from, edge.to);
            if wanted.has(from as usize) {
                steps.push(Step::Forced { from, to, index });
            }
        }
        steps.sort_by_key(|step| (step.from(), step.to()));
        Onward {
            graph,
            plain,
            steps,
            from: None,
            ahead: 0..0,
            own: 0..0,
            seen: Seen::default(),
        }
    }

    /// A shortest way, of at most `longest` steps. None also if `limit` steps were looked at.
    pub fn path(&mut self, from: u32, to: u32, longest: u32, limit: &mut u64) -> Option<Vec<Step>> {
        self.turn_to(from);
        if let Some(step) = self.step_to(to) {
            return Some(vec![step]);
        }
        if longest < 2 {
            return None;
        }
        if let Some(steps) = self.two_to(to, limit) {
            return Some(steps.to_vec());
        }
        match longest {
            2 => None,
            _ => self.longer(to, longest, limit),
        }
    }

    /// From now on, ways begin here.
    fn turn_to(&mut self, from: u32) {
        if self.from != Some(from) {
            let start = self.steps.partition_point(|step| step.from() < from);
            let count = self.steps[start..].partition_point(|step| step.from() == from);
            self.ahead = start..start + count;
            self.from = Some(from);
            let observed = self.graph.observed;
            let session = observed.history.session_of(TxnId(from));
            let end = observed.history.session_txns(session).end;
            self.own = from + 1..if observed.taken[from as usize] {
                end
            } else {
                0
            };
        }
    }

    /// The step from where ways begin to this one, or else to the next behind it.
    #[inline]
    fn step_to_or_behind(&self, to: u32) -> Option<Step> {
        let ahead = &self.steps[self.ahead.clone()];
        let at = ahead.partition_point(|step| step.to() < to);
        ahead.get(at).copied()
    }

    /// The step from where ways begin.
    #[inline]
    fn step_to(&self, to: u32) -> Option<Step> {
        if self.own.contains(&to) {
            let from = self.own.start - 1;
            return Some(Step::So { from, to });
        }
        let step = self.step_to_or_behind(to);
        step.filter(|step| step.to() == to)
    }

    /// The steps to a transaction, but for session order.
    fn before(&self, to: u32) -> impl Iterator<Item = Step> + use<'g, 'a> {
        let plain = self.plain;
        let steps = self.graph.steps_to(to);
        steps.filter(move |step| !(plain && matches!(step, Step::Forced { .. })))
    }

    fn two_to(&self, to: u32, limit: &mut u64) -> Option<[Step; 2]> {
        for last in self.before(to) {
            *limit = limit.checked_sub(1)?;
            if let Some(first) = self.step_to(last.from()) {
                return Some([first, last]);
            }
        }
        let history = self.graph.observed.history;
        let session = history.session_txns(history.session_of(TxnId(to)));
        let first = self.step_to_or_behind(session.start)?;
        let from = first.to();
        (from < to).then_some([first, Step::So { from, to }])
    }

    /// A way of more than two steps: breadth first from its end.
    fn longer(&mut self, to: u32, longest: u32, limit: &mut u64) -> Option<Vec<Step>> {
        let end = Reached {
            txn: to,
            distance: 0,
            onward: None,
        };
        let mut reached = vec![end];
        self.seen.forget(self.graph.observed.history.txn_count());
        self.seen.is_new(to);
        let mut steps = Vec::new();
        let mut at = 0;
        // One more step to whoever comes before, and one from the beginning to them.
        while let Some(&Reached { txn, distance, .. }) = reached.get(at)
            && distance + 2 <= longest
        {
            steps.clear();
            steps.extend(self.before(txn));
            self.add_own_before(txn, &mut steps);
            *limit = limit.checked_sub(steps.len() as u64)?;
            let is_last = distance + 2 == longest;
            for &step in &steps {
                let txn = step.from();
                if let Some(first) = self.step_to(txn) {
                    return Some(way([first, step], &reached, at));
                }
                if !is_last && self.seen.is_new(txn) {
                    reached.push(Reached {
                        txn,
                        distance: distance + 1,
                        onward: Some((step, at)),
                    });
                }
            }
            at += 1;
        }
        None
    }

    /// Adds the steps from those before a transaction in its session that were not reached so, yet.
    fn add_own_before(&mut self, to: u32, steps: &mut Vec<Step>) {
        let observed = self.graph.observed;
        let session = observed.history.session_of(TxnId(to));
        let start = observed.history.session_txns(session).start;
        let until = self.seen.until.entry(session.0).or_insert(start);
        let from = std::mem::replace(until, to.max(*until));
        let own = (from..to).filter(|&txn| observed.taken[txn as usize]);
        steps.extend(own.map(|from| Step::So { from, to }));
    }
}

/// A transaction that ways lead through to their end, and how they go on: the step, and the place of whom it leads to.
struct Reached {
    txn: u32,
    distance: u32,
    onward: Option<(Step, usize)>,
}

/// What a search has seen.
#[derive(Default)]
struct Seen {
    /// By transaction, the last search that saw it.
    stamps: Vec<u32>,
    search: u32,
    /// By session, up to where it was gone through.
    until: FxHashMap<u32, u32>,
}

impl Seen {
    /// Begins another search.
    fn forget(&mut self, txn_count: usize) {
        if self.search == u32::MAX {
            self.stamps.clear();
            self.search = 0;
        }
        self.stamps.resize(txn_count, 0);
        self.search += 1;
        self.until.clear();
    }

    /// Whether a transaction was not seen before.
    #[inline]
    fn is_new(&mut self, txn: u32) -> bool {
        std::mem::replace(&mut self.stamps[txn as usize], self.search) != self.search
    }
}

/// The way that begins with these steps, the last of them to one that was reached.
fn way(first: [Step; 2], reached: &[Reached], mut at: usize) -> Vec<Step> {
    let mut way = first.to_vec();
    while let Some((step, next)) = reached[at].onward {
        way.push(step);
        at = next;
    }
    way
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::short_paths::tests::{each_random_graph, same_length};

    #[test]
    fn a_way_that_is_looked_up_is_as_short_as_one_that_is_searched_for() {
        let mut lengths = [0; 7];
        each_random_graph(|seed, graph| {
            for plain in [true, false] {
                let mut onward = Onward::of(graph, 0..40, plain);
                for (from, to) in (0..40).flat_map(|from| (0..40).map(move |to| (from, to))) {
                    for longest in (1..=6).filter(|_| from != to) {
                        let limit = &mut u64::MAX.clone();
                        let found = onward.path(from, to, longest, limit);
                        let searched = graph.search(from, to, None, plain, longest, limit);
                        let asked = format_args!(
                            "seed {seed}: {from} to {to}, plain {plain}, at most {longest}"
                        );
                        lengths[same_length(&found, &searched, asked)] += 1;
                        let mut ends = found.iter().flatten().map(|step| (step.from(), step.to()));
                        let joined =
                            ends.try_fold(from, |at, (from, to)| (at == from).then_some(to));
                        assert!(found.is_none() || joined == Some(to), "{found:?}");
                    }
                }
            }
        });
        assert!(lengths[..6].iter().all(|&count| count > 50), "{lengths:?}");
    }
}
