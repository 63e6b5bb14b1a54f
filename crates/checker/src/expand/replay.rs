//! Orders of transactions that may explain what was read of counters.
//!
//! Steps: transactions become *ready* when those before them in their session, or by the clock, are
//! placed. A ready reader whose counters have the right values is placed at once, since it changes
//! nothing; then one that read the right values and increments some. Otherwise some ready
//! increments are chosen that sum up to what a ready reader lacks; if no such choice is found for
//! any, the increment that ended first is placed. Transactions that may not have committed are
//! placed only where a reader lacks their increments.
//!
//! A second way is to go back where nothing fits (`retrace`).
//!
//! A guess: nothing here is proved, and only counters are looked at. Cost: transactions times those
//! ready at a time, which are few where there are times or sessions.

use super::counters::Counter;
use super::retrace;
use history::{CommitOrder, History, Interval, KeyId, Status, TxnId};
use std::collections::BTreeMap;

/// Without sessions and times everything is ready, so only short histories are tried.
const UNORDERED_MAX: usize = 2000;
/// So many increments are combined at most, and so many sums of them.
const COMBINED_MAX: usize = 48;
const SUMS_MAX: usize = 4096;

/// A few orders, the one that respects most first.
pub fn orders(history: &History, counters: &[(KeyId, Counter)]) -> Vec<CommitOrder> {
    let mut orders = Vec::new();
    for (by_session, by_time) in [(true, true), (true, false), (false, false)] {
        let is_short = history.txn_count() <= UNORDERED_MAX;
        if (by_time && !history.has_intervals()) || !(by_session || is_short) {
            continue;
        }
        orders.extend(Guess::new(history, counters, by_session, by_time).run());
    }
    let deeds = deeds(history, counters);
    for by_time in [true, false] {
        if !by_time || history.has_intervals() {
            orders.extend(retrace::order(history, &deeds, by_time));
        }
    }
    let order = |txns| CommitOrder {
        txns,
        ..CommitOrder::default()
    };
    orders.into_iter().map(order).collect()
}

/// What a transaction does to counters.
#[derive(Clone, Default)]
pub struct Deeds {
    /// The counter and what others have to sum up to.
    pub reads: Vec<(usize, i128)>,
    /// The counter and what is added to it.
    pub totals: Vec<(usize, i128)>,
}

fn deeds(history: &History, counters: &[(KeyId, Counter)]) -> Vec<Deeds> {
    let mut deeds = vec![Deeds::default(); history.txn_count()];
    for (at, (_, counter)) in counters.iter().enumerate() {
        for own in &counter.increments {
            deeds[own.txn.index()].totals.push((at, own.total));
        }
        for read in &counter.reads {
            deeds[read.reader.index()].reads.push((at, read.target));
        }
    }
    deeds
}

struct Guess<'a> {
    history: &'a History,
    by_session: bool,
    deeds: Vec<Deeds>,
    sums: Vec<i128>,
    placed: Vec<bool>,
    order: Vec<TxnId>,
    ready: Vec<TxnId>,
    /// Transactions that wait for the clock, the next one last.
    waiting: Vec<TxnId>,
    /// Committed transactions by their end, the next one last. Empty without times.
    ends: Vec<TxnId>,
    by_time: bool,
}

impl Guess<'_> {
    fn new<'a>(
        history: &'a History,
        counters: &[(KeyId, Counter)],
        by_session: bool,
        by_time: bool,
    ) -> Guess<'a> {
        let may_commit = |txn: &TxnId| history.status(*txn) != Status::Aborted;
        let mut waiting: Vec<TxnId> = history.txn_ids().filter(may_commit).collect();
        let mut ends = Vec::new();
        if by_time {
            let committed = |txn: &&TxnId| history.status(**txn) == Status::Committed;
            ends.extend(waiting.iter().filter(committed));
            ends.sort_by_key(|&txn| std::cmp::Reverse(end(history, txn)));
            waiting.sort_by_key(|&txn| std::cmp::Reverse(start(history, txn)));
        } else {
            waiting.reverse();
        }
        Guess {
            history,
            by_session,
            deeds: deeds(history, counters),
            sums: vec![0; counters.len()],
            placed: vec![false; history.txn_count()],
            order: Vec::new(),
            ready: Vec::new(),
            waiting,
            ends,
            by_time,
        }
    }

    fn run(mut self) -> Option<Vec<TxnId>> {
        loop {
            self.admit();
            if self.place_matching() || self.place_matching_update() {
                continue;
            }
            let is_done = |txn: &TxnId| !self.is_certain(*txn);
            if self.ready.iter().chain(&self.waiting).all(is_done) {
                return Some(self.order);
            }
            if !self.place_what_a_reader_lacks() && !self.place_first_increment() {
                return None;
            }
        }
    }

    fn is_certain(&self, txn: TxnId) -> bool {
        self.history.status(txn) == Status::Committed
    }

    /// Makes those ready whose time has come.
    fn admit(&mut self) {
        while self.ends.last().is_some_and(|txn| self.placed[txn.index()]) {
            self.ends.pop();
        }
        let horizon = self.ends.last().map(|&txn| end(self.history, txn));
        while let Some(&txn) = self.waiting.last() {
            let is_late = self.by_time && horizon.is_some_and(|end| start(self.history, txn) > end);
            if is_late {
                break;
            }
            self.waiting.pop();
            self.ready.push(txn);
        }
    }

    /// Whether all that precede the transaction in its session are placed, or need not be.
    fn is_next(&self, txn: TxnId) -> bool {
        let session = self.history.session_txns(self.history.session_of(txn));
        !self.by_session
            || (session.start..txn.0)
                .rev()
                .map(TxnId)
                .find(|&before| self.is_certain(before))
                .is_none_or(|before| self.placed[before.index()])
    }

    fn matches(&self, txn: TxnId) -> bool {
        let mut reads = self.deeds[txn.index()].reads.iter();
        reads.all(|&(counter, target)| self.sums[counter] == target)
    }

    fn place(&mut self, txn: TxnId) {
        self.placed[txn.index()] = true;
        self.order.push(txn);
        for &(counter, total) in &self.deeds[txn.index()].totals {
            self.sums[counter] += total;
        }
        self.ready.retain(|&other| other != txn);
    }

    /// Places a committed transaction that increments nothing and has read the right values.
    fn place_matching(&mut self) -> bool {
        let fits = |&&txn: &&TxnId| {
            self.is_certain(txn)
                && self.deeds[txn.index()].totals.is_empty()
                && self.matches(txn)
                && self.is_next(txn)
        };
        let found = self.ready.iter().find(fits).copied();
        found.inspect(|&txn| self.place(txn)).is_some()
    }

    /// Places a committed transaction that has read the right values and increments some: the next
    /// increment of another one might make its reads wrong.
    fn place_matching_update(&mut self) -> bool {
        let fits = |&&txn: &&TxnId| {
            self.is_certain(txn)
                && !self.deeds[txn.index()].reads.is_empty()
                && self.matches(txn)
                && self.is_next(txn)
        };
        let fitting = self.ready.iter().filter(fits).copied();
        let found = fitting.min_by_key(|&txn| end(self.history, txn));
        found.inspect(|&txn| self.place(txn)).is_some()
    }

    /// Ready increments whose own reads are right, committed ones and early ends first.
    fn increments(&self) -> Vec<TxnId> {
        let fits = |&&txn: &&TxnId| {
            !self.deeds[txn.index()].totals.is_empty() && self.matches(txn) && self.is_next(txn)
        };
        let mut found: Vec<TxnId> = self.ready.iter().filter(fits).copied().collect();
        found.sort_by_key(|&txn| (!self.is_certain(txn), end(self.history, txn)));
        found
    }

    fn place_what_a_reader_lacks(&mut self) -> bool {
        let reads =
            |&&txn: &&TxnId| self.is_certain(txn) && !self.matches(txn) && self.is_next(txn);
        let mut readers: Vec<TxnId> = self.ready.iter().filter(reads).copied().collect();
        readers.sort_by_key(|&txn| (self.gap(txn).1.abs(), end(self.history, txn)));
        let increments = self.increments();
        for reader in readers {
            let (counter, gap) = self.gap(reader);
            let others = increments.iter().filter(|&&txn| txn != reader);
            let others: Vec<TxnId> = others.take(COMBINED_MAX).copied().collect();
            if let Some(chosen) = self.combination(&others, counter, gap) {
                chosen.into_iter().for_each(|txn| self.place(txn));
                return true;
            }
        }
        false
    }

    /// The first counter that a reader read as something else, and by how much.
    fn gap(&self, reader: TxnId) -> (usize, i128) {
        let mut reads = self.deeds[reader.index()].reads.iter();
        let gaps = reads.find_map(|&(counter, target)| {
            let gap = target - self.sums[counter];
            (gap != 0).then_some((counter, gap))
        });
        gaps.unwrap_or((0, 0))
    }

    /// Some of the increments that sum up to the gap.
    fn combination(&self, txns: &[TxnId], counter: usize, gap: i128) -> Option<Vec<TxnId>> {
        let mut reached: BTreeMap<i128, Vec<TxnId>> = BTreeMap::from([(0, Vec::new())]);
        for &txn in txns {
            let totals = self.deeds[txn.index()].totals.iter();
            let total: i128 = totals.filter(|own| own.0 == counter).map(|own| own.1).sum();
            if total == 0 {
                continue;
            }
            let known: Vec<(i128, Vec<TxnId>)> =
                reached.iter().map(|(sum, by)| (*sum, by.clone())).collect();
            for (sum, mut by) in known {
                by.push(txn);
                reached.entry(sum + total).or_insert(by);
            }
            if reached.contains_key(&gap) || reached.len() > SUMS_MAX {
                break;
            }
        }
        reached.remove(&gap)
    }

    fn place_first_increment(&mut self) -> bool {
        let certain = self
            .increments()
            .into_iter()
            .find(|&txn| self.is_certain(txn));
        certain.inspect(|&txn| self.place(txn)).is_some()
    }
}

fn start(history: &History, txn: TxnId) -> i64 {
    history.interval(txn).map_or(0, |interval| interval.start)
}

/// The end of a transaction as far as anybody knows.
fn end(history: &History, txn: TxnId) -> i64 {
    match history.interval(txn) {
        Some(interval) if history.status(txn) == Status::Committed => interval.completion(),
        _ => Interval::NEVER,
    }
}
