//! Real-time order, in a line: transactions by the time of their completion.
//!
//! A transaction comes after all those that had completed when it began: a prefix of the line, so
//! one number says it all. Transactions that never completed are on no prefix.

use crate::observe::Observed;
use history::{Interval, Status, TxnId};

/// The taken transactions that completed, by time.
#[derive(Clone)]
pub struct Timeline {
    completions: Vec<u32>,
    /// By transaction, how many completions precede its start.
    before: Vec<u32>,
    /// By transaction, its place among the completions.
    place: Vec<u32>,
    /// The taken transactions by `before`, and where those of each number begin.
    starting: Vec<u32>,
    starting_at: Vec<u32>,
}

impl Timeline {
    /// The line of a history with times.
    pub fn new(observed: &Observed<'_>) -> Option<Timeline> {
        let history = observed.history;
        if !history.has_intervals() {
            return None;
        }
        let interval = |txn: u32| {
            let unknown = Interval {
                start: i64::MIN,
                end: Interval::NEVER,
            };
            history.interval(TxnId(txn)).unwrap_or(unknown)
        };
        let taken = |txn: &u32| observed.taken[*txn as usize];
        // A transaction whose client heard nothing of it may have committed at any later time.
        let completed = |txn: &u32| {
            history.status(TxnId(*txn)) == Status::Committed
                && interval(*txn).end != Interval::NEVER
        };
        // Most files have them by time, or nearly so, and nothing is to be sorted or searched far.
        let all = || observed.file_order.iter().map(|txn| txn.0);
        let mut by_end: Vec<(i64, u32)> = all()
            .filter(taken)
            .filter(completed)
            .map(|txn| (interval(txn).completion(), txn))
            .collect();
        by_end.sort();
        let mut before = vec![0; history.txn_count()];
        let mut near = 0;
        for txn in all() {
            near = first_from(&by_end, interval(txn).start, near);
            before[txn as usize] = near as u32;
        }
        // From a reference: by value, the numbers would stay in the room of the pairs.
        let completions: Vec<u32> = by_end.iter().map(|&(_, txn)| txn).collect();
        drop(by_end);
        let mut place = vec![u32::MAX; history.txn_count()];
        for (at, &txn) in completions.iter().enumerate() {
            place[txn as usize] = at as u32;
        }
        let mut starting_at = vec![0u32; completions.len() + 2];
        let all = 0..history.txn_count() as u32;
        for txn in all.clone().filter(taken) {
            starting_at[before[txn as usize] as usize + 1] += 1;
        }
        for number in 0..=completions.len() {
            starting_at[number + 1] += starting_at[number];
        }
        let mut next = starting_at.clone();
        let mut starting = vec![0; starting_at[completions.len() + 1] as usize];
        for txn in all.filter(taken) {
            let slot = &mut next[before[txn as usize] as usize];
            starting[*slot as usize] = txn;
            *slot += 1;
        }
        Some(Timeline {
            completions,
            before,
            place,
            starting,
            starting_at,
        })
    }

    /// How many completions precede the start of a transaction.
    #[inline]
    pub fn completed_before(&self, txn: u32) -> u32 {
        self.before[txn as usize]
    }

    /// The transaction that completed at this place.
    #[inline]
    pub fn completion(&self, place: u32) -> Option<u32> {
        self.completions.get(place as usize).copied()
    }

    /// The place of a transaction among the completions.
    #[inline]
    pub fn place(&self, txn: u32) -> Option<u32> {
        Some(self.place[txn as usize]).filter(|&place| place != u32::MAX)
    }

    /// The transactions that began after the completion at this place and before the next.
    #[inline]
    pub fn starting_after(&self, place: u32) -> &[u32] {
        let at = |number: usize| self.starting_at[number] as usize;
        &self.starting[at(place as usize + 1)..at(place as usize + 2)]
    }

    /// How many transactions completed.
    pub fn len(&self) -> usize {
        self.completions.len()
    }
}

/// How many completions precede a time: a search outwards from a place that is probably near.
fn first_from(by_end: &[(i64, u32)], time: i64, near: usize) -> usize {
    let is_before = |place: usize| by_end[place].0 < time;
    let (mut low, mut high) = (near, near);
    let mut step = 1;
    while low > 0 && !is_before(low - 1) {
        high = low - 1;
        low = low.saturating_sub(step);
        step *= 2;
    }
    step = 1;
    while high < by_end.len() && is_before(high) {
        low = high + 1;
        high = (high + step).min(by_end.len());
        step *= 2;
    }
    low + by_end[low..high].partition_point(|&(end, _)| end < time)
}
