//! Looks for an order by moving one transaction at a time to where least is wrong.
//!
//! Definition: every event has a time. *Wrong* are: a version that commits behind the start of a reader, or between
//! another version and the start of a reader of that; where no two writers of a key may overlap, two that do; and a known order that the
//! times are against. Each counts for as much as its *weight*.
//!
//! Steps: take any transaction with which something is wrong. What is wrong with it by time is a sum of steps at the times of those that
//! it has to do with; move it to where that is least: both its events, or one of them, and not farther than a few versions of the keys
//! that it writes. What is still wrong there weighs more from now on, so that others make room, and those others are taken later.
//! Weights are halved now and then. If nothing is wrong any more, the times are an order.
//!
//! Cost: for each move, a few versions of each key of the transaction, and a sort of those; valid histories took three to seven moves a
//! transaction, from a guess that was wrong about most. No bound is known; it is given up after so many moves.
//! Source: min-conflicts (Minton et al., AIJ 1992) with the weights of the breakout method (Morris, AAAI 1993); here the
//! variables are places in one order.
//!
//! What comes out is used to find an order, never as evidence against one.

use super::conflicts::Conflict;
use super::known::Known;
use super::lines::Lines;
use super::steps::{Cost, Target};
use super::versions::Versions;
use crate::Budget;
use crate::budget::Limit;
use crate::observe::Link;
use history::TxnId;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// What counts that was never in the way.
pub const UNIT: i64 = 4;
/// A transaction moves past at most so many versions of a key that it writes; with fewer, some find no place.
pub const NEAR: usize = 8;
/// Of a hundred moves, so many are to any of the best places, and not to the nearest.
const RANDOM: u64 = 10;
/// Weights are halved after so many moves, or one for two transactions if those are more.
const HALVED_MIN: usize = 5000;
/// The budget is asked once in so many moves.
const ASK_EVERY: usize = 1024;

/// Which events of a transaction move.
#[derive(Clone, Copy)]
enum Moved {
    Both,
    Start,
    Commit,
}

/// See the module's text.
pub struct Moves<'a> {
    pub known: &'a Known<'a>,
    pub lines: Lines,
    pub starts: Vec<f64>,
    pub commits: Vec<f64>,
    /// Of two transactions of which something was wrong, what it weighs beside [`UNIT`].
    pub weights: FxHashMap<(u32, u32), u32>,
    pub has_weights: Vec<bool>,
    /// Transactions with which something may be wrong.
    queue: Vec<u32>,
    is_queued: Vec<bool>,
    seed: u64,
    /// Of the transaction looked at: what is wrong by the time of its start, of its commit, and with whom it may not overlap.
    pub of_start: Cost,
    pub of_commit: Cost,
    pub overlaps: Vec<(f64, f64, i64)>,
    pub window: Range<f64>,
    /// Sums of these, so that their memory is used again.
    sum: Cost,
    of_both: Cost,
    overlap: Cost,
    /// What is wrong with it, as two transactions each, and who else has to do with that.
    pub wrong: Vec<(u32, u32)>,
    pub others: Vec<u32>,
}

impl<'a> Moves<'a> {
    /// Begins with an order of all events, and numbers by chance that follow from a seed; there is no real time among the
    /// events.
    pub fn new(known: &'a Known<'a>, versions: &Versions, order: &[u32], seed: u64) -> Moves<'a> {
        let count = known.observed.history.txn_count();
        let (mut starts, mut commits) = (vec![0.0; count], vec![0.0; count]);
        place(known, order, &mut starts, &mut commits);
        Moves {
            known,
            lines: Lines::new(versions, &commits),
            starts,
            commits,
            weights: FxHashMap::default(),
            has_weights: vec![false; count],
            queue: Vec::new(),
            is_queued: vec![false; count],
            seed,
            of_start: Cost::default(),
            of_commit: Cost::default(),
            overlaps: Vec::new(),
            window: f64::NEG_INFINITY..f64::INFINITY,
            sum: Cost::default(),
            of_both: Cost::default(),
            overlap: Cost::default(),
            wrong: Vec::new(),
            others: Vec::new(),
        }
    }

    /// The events by their times.
    pub fn order(&self) -> Vec<u32> {
        let (observed, shape) = (self.known.observed, self.known.shape);
        let mut timed: Vec<(f64, u32)> = Vec::new();
        for txn in observed.history.txn_ids() {
            if observed.taken[txn.index()] {
                timed.push((self.starts[txn.index()], shape.start(txn.0)));
                if shape.split {
                    timed.push((self.commits[txn.index()], shape.commit(txn.0)));
                }
            }
        }
        timed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        timed.into_iter().map(|(_, event)| event).collect()
    }

    /// Moves transactions until nothing is wrong with any of those taken, or so often; returns how often.
    pub fn run(&mut self, moves_max: usize, budget: &Budget<'_>) -> Result<usize, Limit> {
        let mut moves = 0;
        let halved_every = HALVED_MIN.max(self.starts.len() / 2);
        let mut halve_at = halved_every;
        while !self.queue.is_empty() {
            let at = self.chance() as usize % self.queue.len();
            let txn = self.queue.swap_remove(at);
            self.is_queued[txn as usize] = false;
            if !self.is_moved(txn) {
                continue;
            }
            moves += 1;
            if moves >= moves_max {
                break;
            }
            if moves.is_multiple_of(ASK_EVERY) {
                let left = self.queue.len() as u64;
                budget.check_at("likely", &[("transactions to move", left)])?;
            }
            if moves >= halve_at {
                halve_at = moves + halved_every;
                self.weights.retain(|_, weight| {
                    *weight /= 2;
                    *weight > 0
                });
            }
        }
        Ok(moves)
    }

    /// Takes the transactions first that what is wrong with the order is about.
    pub fn begin(&mut self, conflicts: &[Conflict]) {
        for &conflict in conflicts {
            match conflict {
                Conflict::Stale {
                    reader,
                    writer,
                    other,
                    ..
                } => {
                    self.enqueue(reader);
                    self.enqueue(other);
                    if writer != Link::INITIAL {
                        self.enqueue(writer);
                    }
                }
                Conflict::Overlap { first, second, .. } => {
                    self.enqueue(first);
                    self.enqueue(second);
                }
                Conflict::Unexplained { .. } => {}
            }
        }
    }

    fn enqueue(&mut self, txn: u32) {
        if !std::mem::replace(&mut self.is_queued[txn as usize], true) {
            self.queue.push(txn);
        }
    }

    /// Moves a transaction, if something is wrong with it.
    fn is_moved(&mut self, txn: u32) -> bool {
        self.weigh(txn);
        let (start, commit) = (self.starts[txn as usize], self.commits[txn as usize]);
        let (of_start, of_commit) = (self.of_start.at(start), self.of_commit.at(commit));
        let overlaps = self.overlaps.iter();
        let is_any = overlaps
            .clone()
            .any(|other| commit > other.0 && start < other.1);
        if of_start + of_commit == 0 && !is_any {
            return false;
        }
        let mut seed = self.seed;
        let is_random = chance(&mut seed) % 100 < RANDOM;
        let mut pick = is_random.then_some(|ties| chance(&mut seed).is_multiple_of(ties));
        let window = self.window.clone();
        let mut sum = std::mem::take(&mut self.sum);
        let mut of_both = std::mem::take(&mut self.of_both);
        let mut overlap = std::mem::take(&mut self.overlap);
        self.of_start.sort();
        self.of_commit.sort();
        of_both.be_sum(&self.of_start, &self.of_commit);
        overlap.clear();
        for &(from, to, weight) in &self.overlaps {
            overlap.between(from, to, weight);
        }
        overlap.sort();
        sum.be_sum(&of_both, &overlap);
        let mut best = (sum.best(start, window.clone(), pick.as_mut()), Moved::Both);
        if self.known.shape.split {
            overlap.clear();
            overlap.base = of_commit;
            for &(_, to, weight) in self.overlaps.iter().filter(|other| commit > other.0) {
                overlap.before(to, weight);
            }
            overlap.sort();
            sum.be_sum(&self.of_start, &overlap);
            let target = sum.best(start, window.start..commit, pick.as_mut());
            best = self.better(best, (target, Moved::Start));
            overlap.clear();
            overlap.base = of_start;
            for &(from, _, weight) in self.overlaps.iter().filter(|other| start < other.1) {
                overlap.behind(from, weight);
            }
            overlap.sort();
            sum.be_sum(&self.of_commit, &overlap);
            let target = sum.best(commit, start..window.end, pick.as_mut());
            best = self.better(best, (target, Moved::Commit));
        }
        self.of_both = of_both;
        self.overlap = overlap;
        self.sum = sum;
        self.seed = seed;
        self.go(txn, best.0, best.1);
        true
    }

    /// The one with less wrong, or either.
    fn better(&mut self, one: (Target, Moved), other: (Target, Moved)) -> (Target, Moved) {
        match other.0.cost.cmp(&one.0.cost) {
            std::cmp::Ordering::Less => other,
            std::cmp::Ordering::Equal if self.chance().is_multiple_of(2) => other,
            _ => one,
        }
    }

    /// Moves events of a transaction to any time of a stretch.
    fn go(&mut self, txn: u32, target: Target, moved: Moved) {
        let count = self.starts.len() as f64;
        let low = target.low.max(target.high.min(0.0) - 1.0);
        let high = target.high.min(target.low.max(2.0 * count) + 1.0);
        let shares = [0; 2].map(|_: u64| self.chance() as f64 / f64::from(1u32 << 31));
        let [first, second] = shares.map(|share| low + (high - low) * share);
        let (first, second) = (first.min(second), first.max(second));
        if !(low < first && first < second && second < high) {
            // Times are too close to each other to come between.
            let order = self.order();
            place(self.known, &order, &mut self.starts, &mut self.commits);
            self.enqueue(txn);
            return;
        }
        let before = self.commits[txn as usize];
        let commit = match moved {
            Moved::Both if self.known.shape.split => second,
            Moved::Both | Moved::Commit => first,
            Moved::Start => before,
        };
        if !matches!(moved, Moved::Commit) {
            self.starts[txn as usize] = first;
        }
        if commit != before {
            self.put(txn, commit);
        }
        self.look(txn);
        let wrong = std::mem::take(&mut self.wrong);
        for &(a, b) in &wrong {
            *self.weights.entry((a.min(b), a.max(b))).or_default() += 1;
            self.has_weights[a as usize] = true;
            self.has_weights[b as usize] = true;
        }
        self.wrong = wrong;
        let others = std::mem::take(&mut self.others);
        others.iter().for_each(|&other| self.enqueue(other));
        self.others = others;
    }

    /// Changes the time of a commit.
    fn put(&mut self, txn: u32, commit: f64) {
        let observed = self.known.observed;
        let places: Vec<(u32, usize)> = observed
            .writes(TxnId(txn))
            .map(|(_, key)| (key.0, self.lines.place(key.0, txn, &self.commits)))
            .collect();
        self.commits[txn as usize] = commit;
        for (key, place) in places {
            self.lines.put(key, place, &self.commits);
        }
    }

    fn chance(&mut self) -> u64 {
        chance(&mut self.seed)
    }
}

/// The next number by chance, the same in every run.
fn chance(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
    *seed >> 33
}

/// Gives the events times by their places.
fn place(known: &Known<'_>, order: &[u32], starts: &mut [f64], commits: &mut [f64]) {
    let shape = known.shape;
    for (at, &event) in order.iter().enumerate() {
        let txn = shape.txn(event) as usize;
        if shape.is_start(event) {
            starts[txn] = at as f64;
        }
        if shape.is_commit(event) {
            commits[txn] = at as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape::Shape;
    use super::super::{Settled, conflicts, sorted};
    use super::*;
    use crate::observe::observe;
    use crate::windows::tests::random_history;
    use history::{Initial, KeyOrder, Level};

    /// Moves the transactions of a random history; whether that ended with nothing wrong.
    fn is_settled(seed: u64, level: Level) -> bool {
        let history = random_history(seed, 20 + seed % 60);
        let (budget, initial) = (Budget::default(), Initial::default());
        let observed = observe(&history, &initial, KeyOrder::Free, &budget).unwrap();
        let known = Known::new(&observed, Shape::of(level).unwrap(), None);
        let Ok(given) = sorted::sort(&known, &[]) else {
            return false;
        };
        let mut moves = Moves::new(&known, &Versions::new(&observed), &given, 1);
        let settled = Settled {
            observed: &observed,
        };
        let walk = conflicts::walk(&observed, known.shape, &given, &settled);
        moves.begin(&walk.conflicts);
        let is_settled = moves.run(2000, &budget).unwrap() < 2000;
        let mut order = moves.order();
        if is_settled && observed.ambiguous.is_empty() {
            let settled = Settled {
                observed: &observed,
            };
            let sorted = sorted::sort(&known, &order).unwrap();
            let walk = conflicts::walk(&observed, known.shape, &sorted, &settled);
            assert!(walk.conflicts.is_empty(), "seed {seed}, {level}");
        }
        order.sort_unstable();
        let mut given = given;
        given.sort_unstable();
        assert_eq!(order, given, "seed {seed}, {level}");
        is_settled
    }

    #[test]
    fn an_order_with_nothing_wrong_has_no_conflicts_and_all_events() {
        let mut count = 0;
        for seed in 0..150 {
            for level in [
                Level::Serializable,
                Level::StrongSessionSerializable,
                Level::SnapshotIsolation,
                Level::Prefix,
            ] {
                count += usize::from(is_settled(seed, level));
            }
        }
        assert!(count > 30, "{count}");
    }
}
