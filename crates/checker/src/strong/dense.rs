//! A graph of not too many events with what leads to what as bits, kept while edges are added.
//!
//! Definition: the events have numbers, their places in the order given first. Of each event there
//! is a row of bits, those that lead to it. `settle` takes in the edges added since: it sorts again
//! if one of them runs against the order, and passes on along the order the blocks of a row in which
//! something is new: mostly a few, since numbers that are near are of events that were near.
//!
//! Cost: `settle` takes O(m) for m edges, and the changed blocks for each edge behind a row that
//! changed; a sort O(m + n log n). n² / 8 bytes. Taking edges back means filling the rows again.

use super::known::{Edges, Known};
use super::reach::BITS_EVENTS_MAX;
use super::sorted;
use std::cmp::Reverse;

/// An edge from one event to another.
pub type Edge = (u32, u32);

/// Rows are read and written in blocks of so many bits.
const BLOCK: usize = 512;
type Block = [u64; BLOCK / 64];
/// Some of the blocks of a row, a bit for each.
type Blocks = u64;
const _: () = assert!(BITS_EVENTS_MAX.div_ceil(BLOCK) <= Blocks::BITS as usize);

/// See the module's text.
pub struct Dense {
    count: usize,
    /// How many blocks a row has.
    blocks: usize,
    edges: Vec<Edge>,
    /// How many edges the rows and the order agree with.
    settled: usize,
    order: Vec<u32>,
    place: Vec<u32>,
    rows: Vec<Block>,
    /// By event, the blocks of its row that are not empty.
    used: Vec<Blocks>,
}

impl Dense {
    /// The events in an order along everything known, with the known edges. Nothing is settled yet.
    pub fn new(known: &Known<'_>, events: &[u32]) -> Dense {
        let count = events.len();
        let mut number = vec![u32::MAX; known.events()];
        for (at, &event) in events.iter().enumerate() {
            number[event as usize] = at as u32;
        }
        let mut edges = Vec::new();
        for (at, &event) in events.iter().enumerate() {
            known.predecessors(event, |other, _| {
                edges.push((number[other as usize], at as u32));
            });
        }
        let blocks = count.div_ceil(BLOCK);
        Dense {
            count,
            blocks,
            edges,
            settled: 0,
            order: (0..count as u32).collect(),
            place: (0..count as u32).collect(),
            rows: vec![[0; BLOCK / 64]; blocks * count],
            used: vec![0; count],
        }
    }

    /// The numbers of the events in order.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    #[inline]
    pub fn is_before(&self, event: u32, other: u32) -> bool {
        self.place[event as usize] < self.place[other as usize]
    }

    /// Whether one event leads to another, as far as edges are settled.
    #[inline]
    pub fn leads_to(&self, event: u32, other: u32) -> bool {
        let block = &self.rows[other as usize * self.blocks + event as usize / BLOCK];
        block[event as usize % BLOCK / 64] >> (event % 64) & 1 != 0
    }

    pub fn add(&mut self, edge: Edge) {
        self.edges.push(edge);
    }

    pub fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// Takes in the edges added; false if they close a cycle.
    #[must_use]
    pub fn settle(&mut self) -> bool {
        let new = &self.edges[self.settled..];
        let agrees = |&(from, to): &Edge| self.is_before(from, to);
        if !new.iter().all(agrees) && !self.sort() {
            return false;
        }
        let new = Edges::new(self.edges[self.settled..].iter().copied(), self.count);
        let before = Edges::new(self.edges.iter().copied(), self.count);
        // By event, the blocks of its row that changed.
        let mut changed: Vec<Blocks> = vec![0; self.count];
        for &event in &self.order {
            let (mut mine, at) = (0, event as usize);
            for &other in new.of(event) {
                let (block, word) = (other as usize / BLOCK, other as usize % BLOCK / 64);
                let bit = 1u64 << (other % 64);
                if self.rows[at * self.blocks + block][word] & bit == 0 {
                    let theirs = self.used[other as usize];
                    mine |= join(&mut self.rows, self.blocks, at, other as usize, theirs);
                    self.rows[at * self.blocks + block][word] |= bit;
                    mine |= 1 << block;
                }
            }
            for &other in before.of(event) {
                let theirs = changed[other as usize];
                if theirs != 0 {
                    mine |= join(&mut self.rows, self.blocks, at, other as usize, theirs);
                }
            }
            changed[at] = mine;
            self.used[at] |= mine;
        }
        self.settled = self.edges.len();
        true
    }

    /// Takes back the edges behind the first so many.
    pub fn truncate(&mut self, edge_count: usize) {
        self.edges.truncate(edge_count);
        self.rows.fill([0; BLOCK / 64]);
        self.used.fill(0);
        self.settled = 0;
        let is_sorted = self.settle();
        debug_assert!(is_sorted, "what was sorted with more edges is sorted");
    }

    /// Drops the edges that others make superfluous. Everything is settled.
    pub fn reduce(&mut self) {
        let place = &self.place;
        self.edges
            .sort_unstable_by_key(|&(from, to)| (to, Reverse(place[from as usize])));
        self.edges.dedup();
        let mut needed: Vec<Edge> = Vec::with_capacity(self.edges.len());
        for of_event in self.edges.chunk_by(|a, b| a.1 == b.1) {
            let first = needed.len();
            for &(from, to) in of_event {
                let covers = |&(other, _): &Edge| self.leads_to(from, other);
                if !needed[first..].iter().any(covers) {
                    needed.push((from, to));
                }
            }
        }
        self.edges = needed;
        self.settled = self.edges.len();
    }

    /// Spreads the events over time from 0 to 1, each between the latest before it and the earliest
    /// after it, and puts them in that order. Returns the times and how wide each one's gap is.
    pub fn spread(&mut self, sweeps: usize) -> (Vec<f64>, Vec<f64>) {
        let count = self.count;
        let before = Edges::new(self.edges.iter().copied(), count);
        let after = Edges::new(self.edges.iter().map(|&(from, to)| (to, from)), count);
        let share = |&place: &u32| (f64::from(place) + 0.5) / count as f64;
        let mut time: Vec<f64> = self.place.iter().map(share).collect();
        let mut width = vec![1.0; count];
        for sweep in 0..sweeps {
            for at in 0..count {
                let at = if sweep % 2 == 0 { at } else { count - 1 - at };
                let event = self.order[at];
                let times = |others: &[u32], from: f64, choose: fn(f64, f64) -> f64| {
                    let times = others.iter().map(|&other| time[other as usize]);
                    times.fold(from, choose)
                };
                let low = times(before.of(event), 0.0, f64::max);
                let high = times(after.of(event), 1.0, f64::min);
                time[event as usize] = (low + high) / 2.0;
                width[event as usize] = high - low;
            }
        }
        let place = std::mem::take(&mut self.place);
        // Times never decrease along an edge, and where they are the same the order so far decides.
        let by_time = |a: &u32, b: &u32| {
            let (a, b) = (*a as usize, *b as usize);
            time[a].total_cmp(&time[b]).then(place[a].cmp(&place[b]))
        };
        self.order.sort_unstable_by(by_time);
        self.place = place;
        self.place_all();
        (time, width)
    }

    fn place_all(&mut self) {
        for (at, &event) in self.order.iter().enumerate() {
            self.place[event as usize] = at as u32;
        }
    }

    /// Sorts the events along all edges, and otherwise as they are; false if there is a cycle.
    fn sort(&mut self) -> bool {
        let after = Edges::new(self.edges.iter().map(|&(from, to)| (to, from)), self.count);
        let sorted = sorted::keeping_places(&self.order, &self.place, |event, call| {
            after.of(event).iter().for_each(|&next| call(next));
        });
        let Some(sorted) = sorted else {
            return false;
        };
        self.order = sorted;
        self.place_all();
        true
    }
}

/// Adds these blocks of one event's row to that of another. Returns the blocks that changed.
#[inline]
fn join(rows: &mut [Block], blocks: usize, to: usize, from: usize, mut of: Blocks) -> Blocks {
    let (theirs, mine) = if from < to {
        let (low, high) = rows.split_at_mut(to * blocks);
        (&low[from * blocks..][..blocks], &mut high[..blocks])
    } else {
        let (low, high) = rows.split_at_mut(from * blocks);
        (&high[..blocks], &mut low[to * blocks..][..blocks])
    };
    let mut changed = 0;
    while of != 0 {
        let at = of.trailing_zeros() as usize;
        of &= of - 1;
        let mut new = 0;
        for (mine, theirs) in mine[at].iter_mut().zip(&theirs[at]) {
            new |= theirs & !*mine;
            *mine |= theirs;
        }
        changed |= Blocks::from(new != 0) << at;
    }
    changed
}
