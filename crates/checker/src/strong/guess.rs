//! A guess at an order of events: the transactions are run again, one after another, on a store
//! that keeps only the last version of each key.
//!
//! Steps: every session offers its next transaction. It can go once everything that it read from
//! has gone, and once nobody still has to read a version that it overwrites; until then it waits
//! for that transaction or that key. Sessions take turns, first in, first out. If nobody can go:
//! where starts and commits are two events, a waiting transaction takes its snapshot, which leaves
//! one reader less to wait for (but keeps others from its keys until it commits, where the level
//! wants that); else the transaction that waits longest goes, and some reads become stale.
//!
//! Cost: linear in the operations for histories that were run this way in the first place, up to
//! the times a transaction is woken in vain, which are bounded. Memory: two entries a key, one an
//! operation, a few a transaction. No clocks: the number of sessions does not matter.
//!
//! Where we differ: the papers prune by reachability first; an order that passes needs none.

use super::shape::Shape;
use super::timeline::Timeline;
use super::versions::{ReaderCounts, Writes};
use crate::Budget;
use crate::budget::Limit;
use crate::observe::{Link, Observed};
use history::TxnId;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

const NONE: u32 = u32::MAX;

/// A transaction that was woken so often in vain goes without waiting for readers any more.
const WAKES_MAX: u8 = 200;

/// How many waiting transactions are looked at for one that can take its snapshot.
const STARTS_TRIED_MAX: usize = 256;

/// With more sessions than these, nobody waits for readers any more once one transaction in so many was woken in vain: then
/// the guess is far off, and waiting makes it no better.
const SESSIONS_PATIENT: usize = 128;
const WOKEN_FEW: usize = 32;

/// A key's last version.
#[derive(Clone, Copy)]
struct Last {
    writer: u32,
    /// Reads of it that have not gone yet; the top bit says that somebody waits for the key.
    pending: u32,
}

const AWAITED: u32 = 1 << 31;

/// The order found.
pub struct Guess {
    /// The events in order, all of them unless `complete` is false.
    pub events: Vec<u32>,
    /// Whether sessions, reads and time let all transactions go.
    pub complete: bool,
}

/// How many transactions are tried before the budget is asked again.
const TRIED_BETWEEN: u32 = 1 << 16;

/// Runs the transactions again; see the module's text.
pub fn guess(
    observed: &Observed<'_>,
    shape: Shape,
    timeline: Option<&Timeline>,
    budget: &Budget<'_>,
) -> Result<Guess, Limit> {
    let mut replay = Replay::new(observed, shape, timeline);
    replay.run(budget)?;
    let taken_count = observed.taken.count();
    Ok(Guess {
        complete: replay.events.len() == shape.events(taken_count),
        events: replay.events,
    })
}

struct Replay<'a> {
    observed: &'a Observed<'a>,
    shape: Shape,
    timeline: Option<&'a Timeline>,
    counts: Vec<u32>,
    /// By operation, the place in `Observed::ambiguous`.
    ambiguous: FxHashMap<u32, u32>,
    last: Vec<Last>,
    committed: Vec<bool>,
    started: Vec<bool>,
    wakes: Vec<u8>,
    /// How often anybody may still be woken in vain before nobody waits for readers.
    patience: usize,
    /// The next transaction of each lane and its end. A lane is a session, or one transaction
    /// where sessions do not count.
    next: Vec<u32>,
    end: Vec<u32>,
    /// By lane, how many operations of its next transaction, from the first on, read from nobody who has yet
    /// to commit; so that a long transaction is not looked at from its beginning whenever it is woken.
    served: Vec<u32>,
    /// The first lane that waits for a transaction, and the lane after it on that list.
    waiting: Vec<u32>,
    waiting_after: Vec<u32>,
    /// The lanes that wait for a key, and the key each lane waits for: an entry of the first that
    /// the second does not confirm is out of date.
    at_key: FxHashMap<u32, Vec<u32>>,
    awaited_key: Vec<u32>,
    /// Keys of transactions that have started early and may not be overwritten by others.
    locks: FxHashMap<u32, u32>,
    /// Lanes that wait for a key, oldest first; some have gone since.
    blocked: VecDeque<(u32, u32)>,
    queue: VecDeque<u32>,
    /// How many completions, by time, have all committed; and the lanes that wait for more.
    frontier: u32,
    at_time: FxHashMap<u32, Vec<u32>>,
    events: Vec<u32>,
}

/// What a lane's next transaction waits for.
enum Blocker {
    Txn(u32),
    Time(u32),
    Key(u32),
}

impl<'a> Replay<'a> {
    fn new(observed: &'a Observed<'a>, shape: Shape, timeline: Option<&'a Timeline>) -> Replay<'a> {
        let history = observed.history;
        let counts = ReaderCounts::new(observed, &Writes::new(observed));
        let initial = |&pending: &u32| Last {
            writer: Link::INITIAL,
            pending,
        };
        let (next, end): (Vec<u32>, Vec<u32>) = if shape.sessions {
            let ranges = history.sessions().map(|s| history.session_txns(s));
            ranges.map(|range| (range.start, range.end)).unzip()
        } else {
            (0..history.txn_count() as u32).map(|t| (t, t + 1)).unzip()
        };
        Replay {
            observed,
            shape,
            timeline,
            ambiguous: observed
                .ambiguous
                .iter()
                .enumerate()
                .map(|(place, read)| (read.op.0, place as u32))
                .collect(),
            last: counts.of_initial.iter().map(initial).collect(),
            counts: counts.by_write,
            committed: observed.taken.iter().map(|taken| !taken).collect(),
            started: vec![false; history.txn_count()],
            wakes: vec![0; history.txn_count()],
            patience: match history.session_count() > SESSIONS_PATIENT {
                true => history.txn_count() / WOKEN_FEW,
                false => usize::MAX,
            },
            waiting: vec![NONE; history.txn_count()],
            waiting_after: vec![NONE; next.len()],
            at_key: FxHashMap::default(),
            awaited_key: vec![NONE; next.len()],
            locks: FxHashMap::default(),
            blocked: VecDeque::new(),
            queue: lane_order(observed, shape),
            served: vec![0; next.len()],
            next,
            end,
            frontier: 0,
            at_time: FxHashMap::default(),
            events: Vec::new(),
        }
    }

    fn run(&mut self, budget: &Budget<'_>) -> Result<(), Limit> {
        let mut tried = 0u32;
        loop {
            while let Some(lane) = self.queue.pop_front() {
                tried = tried.wrapping_add(1);
                if tried.is_multiple_of(TRIED_BETWEEN) {
                    budget.check("guess")?;
                }
                let Some(txn) = self.next_of(lane) else {
                    continue;
                };
                match self.blocker(lane, txn) {
                    None => self.go(lane, txn),
                    Some(Blocker::Txn(other)) => {
                        self.waiting_after[lane as usize] = self.waiting[other as usize];
                        self.waiting[other as usize] = lane;
                    }
                    Some(Blocker::Time(place)) => {
                        self.at_time.entry(place).or_default().push(lane);
                    }
                    Some(Blocker::Key(key)) => self.wait_for_key(lane, txn, key),
                }
            }
            if !self.break_deadlock() {
                return Ok(());
            }
        }
    }

    /// The next taken transaction of a lane.
    fn next_of(&mut self, lane: u32) -> Option<u32> {
        let next = &mut self.next[lane as usize];
        let end = self.end[lane as usize];
        while *next < end && !self.observed.taken[*next as usize] {
            *next += 1;
        }
        (*next < end).then_some(*next)
    }

    fn blocker(&mut self, lane: u32, txn: u32) -> Option<Blocker> {
        if !self.started[txn as usize] {
            let range = self.observed.history.op_range(TxnId(txn));
            let served = &mut self.served[lane as usize];
            for &link in &self.observed.links[range.start + *served as usize..range.end] {
                if Link::is_txn(link) && !self.committed[link as usize] {
                    return Some(Blocker::Txn(link));
                }
                *served += 1;
            }
            if let Some(timeline) = self.timeline {
                let place = timeline.completed_before(txn);
                if place > self.frontier {
                    return Some(Blocker::Time(place));
                }
            }
        }
        if self.wakes[txn as usize] >= WAKES_MAX || self.patience == 0 {
            return None;
        }
        if !self.ambiguous.is_empty()
            && !self.started[txn as usize]
            && let Some(key) = self.unexplained_key(txn)
        {
            return Some(Blocker::Key(key));
        }
        self.blocking_key(txn).map(Blocker::Key)
    }

    /// A key whose last version the transaction cannot have read, while one that it can is to come.
    fn unexplained_key(&self, txn: u32) -> Option<u32> {
        let observed = self.observed;
        for op in observed.history.op_range(TxnId(txn)) {
            if observed.links[op] != Link::AMBIGUOUS {
                continue;
            }
            let key = observed.history.ops().keys[op];
            let writers = &observed.ambiguous[self.ambiguous[&(op as u32)] as usize].writers;
            let last = TxnId(self.last[key.index()].writer);
            let to_come = |writer: &TxnId| !self.committed[writer.index()];
            if writers.binary_search(&last).is_err() && writers.iter().any(to_come) {
                return Some(key.0);
            }
        }
        None
    }

    /// A key that the transaction may not overwrite yet.
    fn blocking_key(&mut self, txn: u32) -> Option<u32> {
        let started = self.started[txn as usize];
        let range = self.observed.history.op_range(TxnId(txn));
        if !self.observed.links[range.clone()].contains(&Link::WRITE) {
            return None;
        }
        if !started {
            self.count_reads(txn, false);
        }
        let (keys, links) = (&self.observed.history.ops().keys, &self.observed.links);
        let mut found = None;
        for op in range {
            if links[op] == Link::WRITE {
                let key = keys[op].0;
                let is_locked = !self.locks.is_empty()
                    && self.locks.get(&key).is_some_and(|&owner| owner != txn);
                if is_locked || self.last[key as usize].pending & !AWAITED != 0 {
                    found = Some(key);
                    break;
                }
            }
        }
        if !started {
            self.count_reads(txn, true);
        }
        found
    }

    /// Takes the transaction's own reads out of, or back into, the counts of pending reads.
    #[inline]
    fn count_reads(&mut self, txn: u32, back: bool) {
        let range = self.observed.history.op_range(TxnId(txn));
        let (keys, links) = (&self.observed.history.ops().keys, &self.observed.links);
        for op in range {
            let link = links[op];
            let last = &mut self.last[keys[op].index()];
            let is_read = Link::is_txn(link) | (link == Link::INITIAL);
            if is_read & (link == last.writer) {
                last.pending = if back {
                    last.pending + 1
                } else {
                    last.pending - 1
                };
            }
        }
    }

    fn wait_for_key(&mut self, lane: u32, txn: u32, key: u32) {
        self.last[key as usize].pending |= AWAITED;
        self.at_key.entry(key).or_default().push(lane);
        self.awaited_key[lane as usize] = key;
        if self.wakes[txn as usize] == 0 {
            self.blocked.push_back((lane, txn));
        }
    }

    /// Commits a transaction, and starts it if it has not.
    fn go(&mut self, lane: u32, txn: u32) {
        if !self.started[txn as usize] {
            self.start(txn);
        }
        let range = self.observed.history.op_range(TxnId(txn));
        let observed = self.observed;
        for op in range {
            if observed.links[op] == Link::WRITE {
                let key = observed.history.ops().keys[op].0;
                if !self.locks.is_empty() && self.locks.get(&key) == Some(&txn) {
                    self.locks.remove(&key);
                }
                let pending = self.counts[op];
                let last = &mut self.last[key as usize];
                let awaited = last.pending & AWAITED;
                *last = Last {
                    writer: txn,
                    pending: pending | awaited,
                };
                if awaited != 0 {
                    self.wake_key(key);
                }
            }
        }
        if self.shape.split {
            self.events.push(self.shape.commit(txn));
        }
        self.committed[txn as usize] = true;
        self.next[lane as usize] = txn + 1;
        self.served[lane as usize] = 0;
        self.wake_txn(txn);
        self.queue.push_back(lane);
    }

    /// Lets a transaction take its snapshot.
    fn start(&mut self, txn: u32) {
        let range = self.observed.history.op_range(TxnId(txn));
        let observed = self.observed;
        for op in range {
            let link = observed.links[op];
            if !Link::is_txn(link) && link != Link::INITIAL {
                continue;
            }
            let key = observed.history.ops().keys[op].0;
            let last = &mut self.last[key as usize];
            if last.writer == link {
                last.pending -= 1;
                // A writer that waits may be the last reader itself.
                if last.pending & AWAITED != 0 && last.pending & !AWAITED <= 1 {
                    self.wake_key(key);
                }
            }
        }
        self.started[txn as usize] = true;
        self.events.push(self.shape.start(txn));
    }

    fn wake_key(&mut self, key: u32) {
        self.last[key as usize].pending &= !AWAITED;
        for lane in self.at_key.remove(&key).unwrap_or_default() {
            if self.awaited_key[lane as usize] != key {
                continue;
            }
            self.awaited_key[lane as usize] = NONE;
            if let Some(txn) = self.next_of(lane) {
                let wakes = &mut self.wakes[txn as usize];
                *wakes = wakes.saturating_add(1);
                self.patience = self.patience.saturating_sub(1);
            }
            self.queue.push_back(lane);
        }
    }

    fn wake_txn(&mut self, txn: u32) {
        let mut lane = std::mem::replace(&mut self.waiting[txn as usize], NONE);
        while lane != NONE {
            self.queue.push_back(lane);
            lane = self.waiting_after[lane as usize];
        }
        let Some(timeline) = self.timeline else {
            return;
        };
        while let Some(first) = timeline.completion(self.frontier) {
            if !self.committed[first as usize] {
                return;
            }
            self.frontier += 1;
            if let Some(lanes) = self.at_time.remove(&self.frontier) {
                self.queue.extend(lanes);
            }
        }
    }

    /// Lets somebody who waits for a key start or go. False if nobody waits for a key.
    fn break_deadlock(&mut self) -> bool {
        let gone = |this: &Self, &(lane, txn): &(u32, u32)| this.next[lane as usize] != txn;
        while self.blocked.front().is_some_and(|entry| gone(self, entry)) {
            self.blocked.pop_front();
        }
        if self.shape.split {
            for at in 0..self.blocked.len().min(STARTS_TRIED_MAX) {
                let (lane, txn) = self.blocked[at];
                if self.next[lane as usize] != txn || self.started[txn as usize] {
                    continue;
                }
                if self.reads_current(txn) && self.can_lock(txn) {
                    self.start(txn);
                    self.lock(txn);
                    return true;
                }
            }
        }
        while let Some((lane, txn)) = self.blocked.pop_front() {
            if self.next[lane as usize] == txn && self.awaited_key[lane as usize] != NONE {
                self.awaited_key[lane as usize] = NONE;
                self.wakes[txn as usize] = WAKES_MAX;
                self.queue.push_back(lane);
                return true;
            }
        }
        false
    }

    /// Whether every read of a transaction would return the last version.
    fn reads_current(&self, txn: u32) -> bool {
        let range = self.observed.history.op_range(TxnId(txn));
        let (keys, links) = (&self.observed.history.ops().keys, &self.observed.links);
        range.into_iter().all(|op| {
            let link = links[op];
            let is_read = Link::is_txn(link) || link == Link::INITIAL;
            !is_read || self.last[keys[op].index()].writer == link
        })
    }

    fn can_lock(&self, txn: u32) -> bool {
        let writes = self.observed.writes(TxnId(txn));
        let mut keys = writes.map(|(_, key)| key.0);
        keys.all(|key| !self.locks.contains_key(&key))
    }

    fn lock(&mut self, txn: u32) {
        if self.shape.exclusive {
            for (_, key) in self.observed.writes(TxnId(txn)) {
                self.locks.insert(key.0, txn);
            }
        }
    }
}

/// Which lane comes first: sessions as they are; single transactions by their place in the session.
fn lane_order(observed: &Observed<'_>, shape: Shape) -> VecDeque<u32> {
    let history = observed.history;
    if shape.sessions {
        return (0..history.session_count() as u32).collect();
    }
    let mut lanes: Vec<u32> = (0..history.txn_count() as u32).collect();
    let place = |&txn: &u32| {
        let session = history.session_of(TxnId(txn));
        (txn - history.session_txns(session).start, session.0)
    };
    lanes.sort_by_key(place);
    lanes.into()
}
