//! A guess by saturation: version orders that follow from what is known are added until none is
//! new, and the events sorted along all of them.
//!
//! Definition: a writer a of a key is older than a writer b if a's commit leads to the snapshot of
//! a reader of b's version; or, where no two writers of a key may overlap, if a's start leads to
//! b's commit. If b is older than a, every reader of b's version starts before a commits.
//!
//! Steps: for each event the set of events that lead to it, as bits, in one pass along an order;
//! then all readers and writers of each key are asked for orders that these sets imply and the
//! graph lacks. Sort again with the new edges, and repeat. At last, sort by how far the run had come
//! at each event: the share of those that lead to it among all that are related to it.
//!
//! Cost: each round O(m·n / 64) for n events and m edges, and n²/8 bytes, so only where that is not
//! too much; most histories take four rounds. Source: saturation in our brief on checkers, with sets
//! in place of clocks, so that the number of sessions does not matter.
//!
//! What comes out is used to find an order, never as evidence against one.

use super::known::Known;
use super::versions::Versions;
use crate::Budget;
use crate::budget::Limit;
use crate::observe::Link;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// More events than this are not saturated.
const EVENTS_MAX: usize = 1 << 15;
/// So many pairs of a reader and a writer are asked about in a round.
const PAIRS_MAX: usize = 1 << 24;
/// Rounds are given up after so many.
const ROUNDS_MAX: usize = 10;

/// Everything known with what follows from it, and the events in an order along that; `given` is
/// one along what is known. None if there is too much to ask, or if there is no such order.
pub fn saturated<'a>(
    known: Known<'a>,
    given: &[u32],
    budget: &Budget<'_>,
) -> Result<Option<(Known<'a>, Vec<u32>)>, Limit> {
    if given.len() > EVENTS_MAX || known.shape.parallel {
        return Ok(None);
    }
    let versions = Versions::new(known.observed);
    if versions.pairs() > PAIRS_MAX {
        return Ok(None);
    }
    (budget.progress)("saturating");
    let mut state = Saturation {
        versions,
        implied: Vec::new(),
        words: given.len().div_ceil(64),
        order: given.to_vec(),
        place: vec![0; known.events()],
        rows: Vec::new(),
        known,
    };
    state.place_all();
    for _ in 0..ROUNDS_MAX {
        budget.check("saturate")?;
        state.find_ancestors();
        let found = state.implied();
        let is_little = found.len() <= given.len() / LITTLE;
        state.implied.extend(found);
        state.known.imply(&state.implied);
        if !state.sort(|_, place| u64::from(place)) {
            return Ok(None);
        }
        if is_little {
            break;
        }
    }
    state.find_ancestors();
    let shares = state.shares();
    let rank = |event: u32, place: u32| u64::from(shares[event as usize]) << 32 | u64::from(place);
    let is_sorted = state.sort(rank);
    Ok(is_sorted.then_some((state.known, state.order)))
}

/// A round that finds no more than one edge for so many events is the last.
const LITTLE: usize = 128;

struct Saturation<'a> {
    known: Known<'a>,
    versions: Versions,
    /// Edges that follow, from and to.
    implied: Vec<(u32, u32)>,
    words: usize,
    order: Vec<u32>,
    place: Vec<u32>,
    /// By place, the places that lead to it, as bits.
    rows: Vec<u64>,
}

impl Saturation<'_> {
    fn place_all(&mut self) {
        for (at, &event) in self.order.iter().enumerate() {
            self.place[event as usize] = at as u32;
        }
    }

    /// Fills the rows, along the order.
    fn find_ancestors(&mut self) {
        let words = self.words;
        self.rows.clear();
        self.rows.resize(words * self.order.len(), 0);
        for (at, &event) in self.order.iter().enumerate() {
            let (done, rest) = self.rows.split_at_mut(at * words);
            let row = &mut rest[..words];
            let mut join = |other: u32| {
                let other = self.place[other as usize] as usize;
                if other >= at || row[other / 64] >> (other % 64) & 1 != 0 {
                    return;
                }
                let used = other / 64 + 1;
                let theirs = &done[other * words..][..used];
                for (mine, theirs) in row.iter_mut().zip(theirs) {
                    *mine |= theirs;
                }
                row[other / 64] |= 1 << (other % 64);
            };
            self.known.predecessors(event, |other, _| join(other));
        }
    }

    #[inline]
    fn leads_to(&self, event: u32, other: u32) -> bool {
        let (from, to) = (self.place[event as usize], self.place[other as usize]);
        let word = self.rows[to as usize * self.words + from as usize / 64];
        word >> (from % 64) & 1 != 0
    }

    /// The edges that follow and are not there.
    fn implied(&self) -> Vec<(u32, u32)> {
        let shape = self.known.shape;
        let mut found = Vec::new();
        for key in self.versions.keys() {
            let writers = self.versions.writers(key);
            if shape.exclusive {
                for &a in writers {
                    for &b in writers {
                        let overlap_forbids =
                            a != b && self.leads_to(shape.start(a), shape.commit(b));
                        if overlap_forbids && !self.leads_to(shape.commit(a), shape.start(b)) {
                            found.push((shape.commit(a), shape.start(b)));
                        }
                    }
                }
            }
            for &(reader, writer) in self.versions.reads(key) {
                for &other in writers {
                    if other != writer && other != reader {
                        self.ask(reader, writer, other, &mut found);
                    }
                }
            }
        }
        found
    }

    /// What follows for a reader, the writer of its version and another writer of the key.
    fn ask(&self, reader: u32, writer: u32, other: u32, found: &mut Vec<(u32, u32)>) {
        let shape = self.known.shape;
        let (start, end) = (shape.start(reader), shape.commit(other));
        let is_newer = writer == Link::INITIAL || self.leads_to(shape.commit(writer), end);
        if is_newer {
            if !self.leads_to(start, end) {
                found.push((start, end));
            }
            return;
        }
        if self.leads_to(end, start) {
            let to = if shape.exclusive {
                shape.start(writer)
            } else {
                shape.commit(writer)
            };
            if !self.leads_to(end, to) {
                found.push((end, to));
            }
        }
    }

    /// By event, how far the run had come, of 2^20.
    fn shares(&mut self) -> Vec<u32> {
        let words = self.words;
        let count = self.order.len();
        let ones = |row: &[u64]| row.iter().map(|word| word.count_ones()).sum::<u32>();
        let past: Vec<u32> = self.rows.chunks(words).map(ones).collect();
        self.rows.fill(0);
        for at in (0..count).rev() {
            let (rest, done) = self.rows.split_at_mut(at * words);
            let row = &mut done[..words];
            row[at / 64] |= 1 << (at % 64);
            let from = at / 64;
            let mut join = |other: u32| {
                let other = self.place[other as usize] as usize;
                if other < at {
                    let theirs = &mut rest[other * words + from..][..words - from];
                    for (theirs, mine) in theirs.iter_mut().zip(&row[from..]) {
                        *theirs |= mine;
                    }
                }
            };
            let event = self.order[at];
            self.known.predecessors(event, |other, _| join(other));
        }
        let future = self.rows.chunks(words).map(ones);
        let mut shares = vec![0u32; self.known.events()];
        for ((&event, past), future) in self.order.iter().zip(past).zip(future) {
            let share = f64::from(past) / f64::from((past + future).max(1));
            shares[event as usize] = (share * f64::from(1 << 20)) as u32;
        }
        shares
    }

    /// Sorts the events along all edges, those with smaller ranks first; false if there is a cycle.
    fn sort(&mut self, rank: impl Fn(u32, u32) -> u64) -> bool {
        let mut open = vec![0u32; self.known.events()];
        for &event in &self.order {
            self.known
                .successors(event, |next, _| open[next as usize] += 1);
        }
        let ranked = |event: u32| Reverse((rank(event, self.place[event as usize]), event));
        let free = self
            .order
            .iter()
            .filter(|&&event| open[event as usize] == 0);
        let mut heap: BinaryHeap<_> = free.map(|&event| ranked(event)).collect();
        let mut sorted = Vec::with_capacity(self.order.len());
        while let Some(Reverse((_, event))) = heap.pop() {
            sorted.push(event);
            let mut close = |next: u32| {
                open[next as usize] -= 1;
                if open[next as usize] == 0 {
                    heap.push(ranked(next));
                }
            };
            self.known.successors(event, |next, _| close(next));
        }
        if sorted.len() < self.order.len() {
            return false;
        }
        self.order = sorted;
        self.place_all();
        true
    }
}
