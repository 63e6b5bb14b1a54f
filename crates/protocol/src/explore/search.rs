//! Breadth-first search over encoded states, in levels, by any number of threads.
//!
//! Steps: take a block of the level; each thread expands a part of it and offers successors whose
//! fingerprints are not yet in the table; then the offers are merged in order, which keeps numbers,
//! shortest paths and counts the same for any number of threads. Only the present level and the
//! next are kept as states; of all others, the fingerprint and the link to the parent.
//!
//! Cost: one expansion a state, one look into the table a generated state.

use super::table::{Link, Links, Table};

/// Something with states that can be told apart by fingerprints.
pub trait Machine: Sync {
    /// What one thread works with.
    type Worker: Send;

    /// The first state's fingerprint; its bytes are appended.
    fn initial(&self, worker: &mut Self::Worker, to: &mut Vec<u8>) -> u64;

    /// Offers every successor. `place` is the number of the state.
    fn expand(&self, worker: &mut Self::Worker, place: u32, state: &[u8], sink: &mut Sink<'_>);
}

/// Where successors go.
pub struct Sink<'a> {
    seen: &'a Table,
    offers: &'a mut Offers,
    place: u32,
}

/// A fingerprint, how it was reached, and where its bytes end.
type Offer = (u64, Link, usize);

/// Successors that were new when a block began.
#[derive(Default)]
struct Offers {
    list: Vec<Offer>,
    bytes: Vec<u8>,
    generated: u64,
}

impl Sink<'_> {
    /// Offers the successor with this fingerprint, reached by the move `step` with the `choice`-th
    /// outcome of its choices. `fill` appends its bytes, and is called only if they are needed.
    #[inline]
    pub fn offer(
        &mut self,
        fingerprint: u64,
        step: u16,
        choice: u16,
        fill: impl FnOnce(&mut Vec<u8>),
    ) {
        self.offers.generated += 1;
        if self.seen.contains(fingerprint) {
            return;
        }
        fill(&mut self.offers.bytes);
        let link = Link {
            parent: self.place,
            step,
            choice,
        };
        self.offers
            .list
            .push((fingerprint, link, self.offers.bytes.len()));
    }
}

/// What a search of a [`Machine`] found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Searched {
    /// States visited.
    pub states: u64,
    /// States generated, those seen before included.
    pub generated: u64,
    /// The length of the longest of all shortest runs.
    pub depth: u32,
    /// The most bytes held.
    pub bytes: u64,
}

/// Visits all states of a machine, with one thread for each worker.
pub fn search<M: Machine>(machine: &M, workers: &mut [M::Worker]) -> Searched {
    let mut space = Space::new();
    space.search(machine, workers, &mut |_, _| true, |_, _| ());
    Searched {
        states: space.states(),
        generated: space.generated,
        depth: space.depth.saturating_sub(1),
        bytes: space.bytes_max,
    }
}

/// States of a level, one after another, in pieces that are given up as soon as they are expanded.
#[derive(Default)]
struct Level {
    chunks: Vec<Chunk>,
    spare: Vec<Chunk>,
    bytes: usize,
}

#[derive(Default)]
struct Chunk {
    /// The number of its first state.
    first: usize,
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

const CHUNK_BYTES: usize = 1 << 18;
const SPARE_MAX: usize = 8;

impl Chunk {
    fn state(&self, place: usize) -> &[u8] {
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.bytes[start as usize..self.ends[place] as usize]
    }

    fn held(&self) -> usize {
        self.bytes.capacity() + 4 * self.ends.capacity()
    }
}

impl Level {
    /// Adds the state with this number; numbers ascend without a gap.
    fn push(&mut self, number: usize, state: &[u8]) {
        let full = |chunk: &Chunk| chunk.bytes.len() + state.len() > CHUNK_BYTES;
        if self.chunks.last().is_none_or(full) {
            let mut chunk = self.spare.pop().unwrap_or_default();
            chunk.first = number;
            chunk.bytes.clear();
            chunk.ends.clear();
            if !self.chunks.is_empty() {
                chunk.bytes.reserve_exact(CHUNK_BYTES);
            }
            self.bytes += chunk.held();
            self.chunks.push(chunk);
        }
        if let Some(chunk) = self.chunks.last_mut() {
            let held = chunk.held();
            chunk.bytes.extend_from_slice(state);
            chunk.ends.push(chunk.bytes.len() as u32);
            self.bytes += chunk.held() - held;
        }
    }

    /// Gives up a chunk that was taken from the level.
    fn give_up(&mut self, chunk: Chunk) {
        if self.spare.len() < SPARE_MAX {
            self.spare.push(chunk);
        }
    }
}

/// The space searched, reused from search to search.
pub(crate) struct Space {
    seen: Table,
    pub links: Links,
    next: Level,
    offers: Vec<Offers>,
    /// States generated, seen before or not.
    pub generated: u64,
    /// The number of the last level.
    pub depth: u32,
    /// The most bytes held at any time.
    pub bytes_max: u64,
    /// How many of them somebody has taken note of.
    pub bytes_noted: u64,
}

/// Told after every block: states so far, bytes held. Answers whether to go on.
pub(crate) type Watch<'a> = &'a mut dyn FnMut(u64, u64) -> bool;

const BLOCK: usize = 64;
const PARALLEL_MIN: usize = 512;

impl Space {
    pub fn new() -> Space {
        Space {
            seen: Table::new(),
            links: Links::new(),
            next: Level::default(),
            offers: Vec::new(),
            generated: 0,
            depth: 0,
            bytes_max: 0,
            bytes_noted: 0,
        }
    }

    /// How many states were visited.
    pub fn states(&self) -> u64 {
        self.links.len() as u64
    }

    /// Searches everything; whether it was not stopped before the end. `after_level` sees the
    /// workers after every level, with its number.
    pub fn search<M: Machine>(
        &mut self,
        machine: &M,
        workers: &mut [M::Worker],
        watch: Watch<'_>,
        mut after_level: impl FnMut(&mut [M::Worker], u32),
    ) -> bool {
        self.reset(workers.len());
        let Some(first) = workers.first_mut() else {
            return false;
        };
        let mut bytes = Vec::new();
        let fingerprint = machine.initial(first, &mut bytes);
        self.next.push(0, &bytes);
        self.seen.insert(fingerprint);
        self.links.push(Link {
            parent: 0,
            step: 0,
            choice: 0,
        });
        while !self.next.chunks.is_empty() {
            let mut whole = true;
            let chunks = std::mem::take(&mut self.next.chunks);
            self.next.bytes = 0;
            let mut waiting: usize = chunks.iter().map(Chunk::held).sum();
            for chunk in chunks {
                let states = chunk.ends.len();
                let block = match workers.len() > 1 && states >= PARALLEL_MIN {
                    true => states,
                    false => BLOCK,
                };
                for start in (0..states).step_by(block) {
                    let range = start..states.min(start + block);
                    self.expand(machine, workers, &chunk, range);
                    whole &= self.merge(waiting) && watch(self.states(), self.bytes_max);
                    if !whole {
                        after_level(workers, self.depth);
                        return false;
                    }
                }
                waiting -= chunk.held();
                self.next.give_up(chunk);
            }
            after_level(workers, self.depth);
            self.depth += 1;
        }
        true
    }

    fn reset(&mut self, workers: usize) {
        self.seen.clear();
        self.links.clear();
        for chunk in std::mem::take(&mut self.next.chunks) {
            self.next.give_up(chunk);
        }
        self.next.bytes = 0;
        self.offers.resize_with(workers, Offers::default);
        self.generated = 0;
        self.depth = 0;
    }

    fn expand<M: Machine>(
        &mut self,
        machine: &M,
        workers: &mut [M::Worker],
        chunk: &Chunk,
        block: std::ops::Range<usize>,
    ) {
        let seen = &self.seen;
        let part = |worker: &mut M::Worker, offers: &mut Offers, range: std::ops::Range<usize>| {
            for at in range {
                let place = (chunk.first + at) as u32;
                let mut sink = Sink {
                    seen,
                    offers,
                    place,
                };
                machine.expand(worker, place, chunk.state(at), &mut sink);
            }
        };
        if workers.len() == 1 || block.len() < PARALLEL_MIN {
            part(&mut workers[0], &mut self.offers[0], block);
            return;
        }
        let share = block.len().div_ceil(workers.len());
        std::thread::scope(|scope| {
            for (number, (worker, offers)) in workers.iter_mut().zip(&mut self.offers).enumerate() {
                let start = (block.start + number * share).min(block.end);
                let end = (start + share).min(block.end);
                let part = &part;
                scope.spawn(move || part(worker, offers, start..end));
            }
        });
    }

    /// Takes in what is new; false if there are more states than can be numbered. `waiting` bytes
    /// are held by what is still to be expanded.
    fn merge(&mut self, waiting: usize) -> bool {
        let mut offered = 0;
        for offers in &mut self.offers {
            self.generated += offers.generated;
            let mut start = 0;
            for (fingerprint, link, end) in offers.list.drain(..) {
                if self.seen.insert(fingerprint) {
                    self.next.push(self.links.len(), &offers.bytes[start..end]);
                    self.links.push(link);
                }
                start = end;
            }
            offers.bytes.clear();
            offers.generated = 0;
            offered += offers.bytes.capacity() + offers.list.capacity() * size_of::<Offer>();
        }
        let states = waiting + self.next.bytes + offered;
        let bytes = self.seen.bytes() + self.links.bytes() + states as u64;
        self.bytes_max = self.bytes_max.max(bytes);
        self.links.len() < u32::MAX as usize - (1 << 24)
    }
}
