//! A guess along ranks: the events are run again, always the one with the smallest rank that can go.
//!
//! Steps: an event can go once everything known to precede it has gone; a commit only once nobody
//! still has to read a version that it overwrites, and a start, where no two writers of a key may
//! overlap, only while no other writer of its keys is under way. A commit follows its start at once
//! if it can. If nobody can go, the first of those that wait goes nonetheless.
//!
//! Cost: O(m log n) for n events and m edges and operations, up to the times an event is woken in
//! vain, which are bounded. Where it differs from `guess`: ranks that say how far the run had come
//! take the place of turns, and edges that follow from the known ones are kept to.

use super::known::Known;
use super::versions::{ReaderCounts, Writes};
use crate::observe::Link;
use history::TxnId;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An event that was woken so often in vain waits for nobody any more.
const WAKES_MAX: u8 = 100;

/// Runs the events again; `events` are all of them, in any order.
pub fn run_again(known: &Known<'_>, events: &[u32], rank: &[u64]) -> Vec<u32> {
    let mut run = Run::new(known, events, rank);
    loop {
        while let Some(Reverse((_, event))) = run.free.pop() {
            run.attempt(event);
        }
        let Some(Reverse((_, event))) = run.waiting.pop() else {
            return run.placed;
        };
        if !run.is_placed[event as usize] {
            run.place(event);
        }
    }
}

type ByRank = BinaryHeap<Reverse<(u64, u32)>>;

struct Run<'a> {
    known: &'a Known<'a>,
    rank: &'a [u64],
    /// By event, how many events known to precede it have not gone.
    open: Vec<u32>,
    free: ByRank,
    /// Events that wait for a key; some have gone since.
    waiting: ByRank,
    at_key: FxHashMap<u32, Vec<u32>>,
    wakes: Vec<u8>,
    is_placed: Vec<bool>,
    placed: Vec<u32>,
    /// By write, how many reads returned its version.
    counts: Vec<u32>,
    /// By key, the writer of the last version and how many have still to read it.
    last: Vec<(u32, u32)>,
    /// By key, who is under way and will write it.
    locks: FxHashMap<u32, u32>,
}

impl<'a> Run<'a> {
    fn new(known: &'a Known<'a>, events: &[u32], rank: &'a [u64]) -> Run<'a> {
        let observed = known.observed;
        let counts = ReaderCounts::new(observed, &Writes::new(observed));
        let mut open = vec![0u32; known.events()];
        for &event in events {
            known.successors(event, |next, _| open[next as usize] += 1);
        }
        let free = events.iter().filter(|&&event| open[event as usize] == 0);
        let free = free.map(|&event| Reverse((rank[event as usize], event)));
        let initial = |&pending: &u32| (Link::INITIAL, pending);
        Run {
            known,
            rank,
            free: free.collect(),
            open,
            waiting: ByRank::new(),
            at_key: FxHashMap::default(),
            wakes: vec![0; known.events()],
            is_placed: vec![false; known.events()],
            placed: Vec::with_capacity(events.len()),
            last: counts.of_initial.iter().map(initial).collect(),
            counts: counts.by_write,
            locks: FxHashMap::default(),
        }
    }

    /// Lets an event go if it can; else it waits for a key.
    fn attempt(&mut self, event: u32) {
        if self.is_placed[event as usize] {
            return;
        }
        match self.blocking_key(event) {
            Some(key) if self.wakes[event as usize] < WAKES_MAX => {
                self.at_key.entry(key).or_default().push(event);
                if self.wakes[event as usize] == 0 {
                    let rank = self.rank[event as usize];
                    self.waiting.push(Reverse((rank, event)));
                }
            }
            _ => self.place(event),
        }
    }

    /// A key that the event may not touch yet.
    fn blocking_key(&self, event: u32) -> Option<u32> {
        let (known, shape) = (self.known, self.known.shape);
        if event >= known.first_completion() {
            return None;
        }
        let txn = shape.txn(event);
        let (is_start, is_commit) = (shape.is_start(event), shape.is_commit(event));
        let mut writes = known.observed.writes(TxnId(txn)).map(|(_, key)| key.0);
        writes.find(|&key| {
            let (writer, pending) = self.last[key as usize];
            let is_locked = || {
                let owner = self.locks.get(&key);
                is_start && shape.exclusive && owner.is_some_and(|&owner| owner != txn)
            };
            let own = || is_start && self.reads(txn, key, writer);
            is_commit && pending > u32::from(pending > 0 && own()) || is_locked()
        })
    }

    /// Whether a transaction read this writer's version of a key.
    fn reads(&self, txn: u32, key: u32, writer: u32) -> bool {
        let observed = self.known.observed;
        let mut ops = observed.history.op_range(TxnId(txn));
        let keys = &observed.history.ops().keys;
        ops.any(|op| keys[op].0 == key && observed.links[op] == writer)
    }

    fn place(&mut self, event: u32) {
        let (known, shape) = (self.known, self.known.shape);
        self.is_placed[event as usize] = true;
        self.placed.push(event);
        if event < known.first_completion() {
            let txn = shape.txn(event);
            if shape.is_start(event) {
                self.start(txn);
            }
            if shape.is_commit(event) {
                self.commit(txn);
            }
        }
        let mut commit = None;
        let Run {
            open, rank, free, ..
        } = self;
        known.successors(event, |next, _| {
            open[next as usize] -= 1;
            if open[next as usize] == 0 {
                let is_own = shape.split && next == event + 1 && shape.is_start(event);
                if is_own && next < known.first_completion() {
                    commit = Some(next);
                } else {
                    free.push(Reverse((rank[next as usize], next)));
                }
            }
        });
        if let Some(commit) = commit {
            self.attempt(commit);
        }
    }

    fn start(&mut self, txn: u32) {
        let observed = self.known.observed;
        for op in observed.history.op_range(TxnId(txn)) {
            let (link, key) = (observed.links[op], observed.history.ops().keys[op].0);
            let last = &mut self.last[key as usize];
            if (Link::is_txn(link) || link == Link::INITIAL) && last.0 == link {
                last.1 -= 1;
                // Who waits may be the last reader itself.
                if last.1 <= 1 {
                    self.wake(key);
                }
            } else if link == Link::WRITE && self.known.shape.exclusive {
                self.locks.insert(key, txn);
            }
        }
    }

    fn commit(&mut self, txn: u32) {
        let observed = self.known.observed;
        for (op, key) in observed.writes(TxnId(txn)) {
            self.last[key.index()] = (txn, self.counts[op.index()]);
            if self.locks.get(&key.0) == Some(&txn) {
                self.locks.remove(&key.0);
            }
            self.wake(key.0);
        }
    }

    fn wake(&mut self, key: u32) {
        if self.at_key.is_empty() {
            return;
        }
        for event in self.at_key.remove(&key).unwrap_or_default() {
            let wakes = &mut self.wakes[event as usize];
            *wakes = wakes.saturating_add(1);
            self.free.push(Reverse((self.rank[event as usize], event)));
        }
    }
}
