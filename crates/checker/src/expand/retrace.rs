//! An order of transactions that explains what was read of counters, searched for with second
//! thoughts.
//!
//! Steps: the next transaction of a session can come next if its counters have the values it read,
//! and if no transaction that is still missing ended before it started (where the clock counts).
//! One that increments nothing comes at once, since it changes nothing; of the others the one that
//! ended first is tried first, and the next one after it led nowhere. What is placed says what the
//! counters are, so how far each session got is the whole state, and none is entered twice.
//!
//! Cost: at most `STEPS_MAX` states, each times the sessions. Those that a wrong choice leads to
//! are few where the clock counts: what ran at the same time. Transactions that may not have
//! committed are left out, so where one was seen nothing is found.

use super::replay::Deeds;
use history::{History, Interval, Status, TxnId};
use rustc_hash::{FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};

const SESSIONS_MAX: usize = 256;
const STEPS_MAX: usize = 200_000;

/// An order of all committed transactions, if the search meets one.
pub fn order(history: &History, deeds: &[Deeds], by_time: bool) -> Option<Vec<TxnId>> {
    let sessions = history.sessions().map(|session| {
        let txns = history.session_txns(session).map(TxnId);
        txns.filter(|&txn| history.status(txn) == Status::Committed)
            .collect()
    });
    let sessions: Vec<Vec<TxnId>> = sessions.collect();
    if sessions.len() > SESSIONS_MAX {
        return None;
    }
    let counters = deeds.iter().flat_map(|deeds| &deeds.totals);
    let counters = counters.chain(deeds.iter().flat_map(|deeds| &deeds.reads));
    let count = counters.map(|&(counter, _)| counter + 1).max().unwrap_or(0);
    let search = Search {
        history,
        deeds,
        by_time,
        reached: vec![0; sessions.len()],
        sessions,
        sums: vec![0; count],
        order: Vec::new(),
        entered: FxHashSet::default(),
    };
    search.run()
}

struct Search<'a> {
    history: &'a History,
    deeds: &'a [Deeds],
    by_time: bool,
    /// The committed transactions of each session.
    sessions: Vec<Vec<TxnId>>,
    /// How many of each session are placed.
    reached: Vec<usize>,
    sums: Vec<i128>,
    /// The sessions whose turn it was.
    order: Vec<usize>,
    /// States by their hash: two with the same one cost an order at worst.
    entered: FxHashSet<u64>,
}

impl Search<'_> {
    fn run(mut self) -> Option<Vec<TxnId>> {
        let total: usize = self.sessions.iter().map(Vec::len).sum();
        // The choices of each step, those still to try.
        let mut open: Vec<Vec<usize>> = vec![self.choices()];
        let mut steps = 0;
        while self.order.len() < total {
            steps += 1;
            if steps > STEPS_MAX.max(2 * total) {
                return None;
            }
            match open.last_mut()?.pop() {
                Some(session) => {
                    self.place(session);
                    let choices = match self.enter() {
                        true => self.choices(),
                        false => Vec::new(),
                    };
                    open.push(choices);
                }
                None => {
                    open.pop();
                    self.take_back()?;
                }
            }
        }
        Some(self.placed())
    }

    /// Whether the state is new.
    fn enter(&mut self) -> bool {
        let mut hasher = FxHasher::default();
        self.reached.hash(&mut hasher);
        self.entered.insert(hasher.finish())
    }

    /// The sessions that can go on, the one to try first last.
    fn choices(&self) -> Vec<usize> {
        let heads = self.sessions.iter().zip(&self.reached);
        let heads: Vec<(usize, TxnId)> = heads
            .enumerate()
            .filter_map(|(session, (txns, &at))| Some((session, *txns.get(at)?)))
            .collect();
        let horizon = heads.iter().map(|&(_, txn)| self.end(txn)).min();
        let can_start = |txn: TxnId| {
            let start = self.history.interval(txn).map(|interval| interval.start);
            !self.by_time || start <= horizon
        };
        let mut fitting: Vec<(usize, TxnId)> = heads
            .into_iter()
            .filter(|&(_, txn)| can_start(txn) && self.matches(txn))
            .collect();
        let idle = |&&(_, txn): &&(usize, TxnId)| self.deeds[txn.index()].totals.is_empty();
        if let Some(&(session, _)) = fitting.iter().find(idle) {
            return vec![session];
        }
        fitting.sort_by_key(|&(_, txn)| std::cmp::Reverse(self.end(txn)));
        fitting.into_iter().map(|(session, _)| session).collect()
    }

    fn matches(&self, txn: TxnId) -> bool {
        let mut reads = self.deeds[txn.index()].reads.iter();
        reads.all(|&(counter, target)| self.sums[counter] == target)
    }

    fn end(&self, txn: TxnId) -> i64 {
        let interval = self.history.interval(txn);
        interval.map_or(Interval::NEVER, |interval| interval.completion())
    }

    fn place(&mut self, session: usize) {
        let txn = self.sessions[session][self.reached[session]];
        self.reached[session] += 1;
        self.order.push(session);
        for &(counter, total) in &self.deeds[txn.index()].totals {
            self.sums[counter] += total;
        }
    }

    fn take_back(&mut self) -> Option<()> {
        let session = self.order.pop()?;
        self.reached[session] -= 1;
        let txn = self.sessions[session][self.reached[session]];
        for &(counter, total) in &self.deeds[txn.index()].totals {
            self.sums[counter] -= total;
        }
        Some(())
    }

    fn placed(&self) -> Vec<TxnId> {
        let mut next = vec![0; self.sessions.len()];
        let txns = self.order.iter().map(|&session| {
            next[session] += 1;
            self.sessions[session][next[session] - 1]
        });
        txns.collect()
    }
}
