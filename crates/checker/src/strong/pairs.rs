//! Pairs of versions of a key and what either order of the two means.
//!
//! Definition: two versions of a key, at least one of them read, have an order. That a is older than
//! b means a few edges: every reader of a starts before b commits, and a commits before b does, or
//! before b starts where no two writers of a key may overlap. If the writer of b read a, a is
//! older. The readers of an initial version start before anybody overwrites it.
//!
//! Cost: for each key, its writers times its writers and reads.

use super::kept::{Edge, Kept, NOBODY, Time};
use super::known::{Edges, Known};
use super::sorted;
use super::versions::Versions;
use crate::observe::Link;
use std::ops::Range;

/// A version: its writer's events, and where its readers are.
#[derive(Clone)]
struct Version {
    start: u32,
    commit: u32,
    readers: Range<u32>,
}

/// All pairs of versions, by the numbers of events in the order given.
pub struct Pairs {
    versions: Vec<Version>,
    /// The starts of readers.
    readers: Vec<u32>,
    /// Edges that need no decision; those that are known without a version's order come last, from this place on.
    certain: Vec<Edge>,
    first_known: usize,
    numbers: usize,
    /// Pairs to decide, as places in `versions`.
    pub open: Vec<(u32, u32)>,
    is_exclusive: bool,
    /// The keys, each with the place of its first version.
    keys: Vec<(u32, u32)>,
}

impl Pairs {
    /// All pairs, or only those of each version and so many before it; `events` are all of them.
    pub fn new(
        known: &Known<'_>,
        versions: &Versions,
        events: &[u32],
        near: Option<usize>,
    ) -> Pairs {
        let mut number = vec![0u32; known.events()];
        for (at, &event) in events.iter().enumerate() {
            number[event as usize] = at as u32;
        }
        let shape = known.shape;
        let start = |txn: u32| number[shape.start(txn) as usize];
        let commit = |txn: u32| number[shape.commit(txn) as usize];
        let mut pairs = Pairs {
            versions: Vec::new(),
            readers: Vec::new(),
            certain: Vec::new(),
            first_known: 0,
            numbers: events.len(),
            open: Vec::new(),
            is_exclusive: shape.exclusive,
            keys: Vec::new(),
        };
        let (mut reads, mut writers): (Vec<(u32, u32)>, Vec<u32>) = (Vec::new(), Vec::new());
        for key in versions.keys() {
            reads.clear();
            let read = versions.reads(key).iter();
            reads.extend(read.map(|&(reader, writer)| (writer, reader)));
            reads.sort_unstable();
            let first = pairs.versions.len();
            pairs.keys.push((key, first as u32));
            writers.clear();
            writers.extend(versions.writers(key));
            if near.is_some() {
                writers.sort_unstable_by_key(|&writer| commit(writer));
            }
            for &writer in &writers {
                let from = pairs.readers.len() as u32;
                let at = reads.partition_point(|&(other, _)| other < writer);
                let own = reads[at..].iter().take_while(|read| read.0 == writer);
                pairs.readers.extend(own.map(|&(_, reader)| start(reader)));
                pairs.versions.push(Version {
                    start: start(writer),
                    commit: commit(writer),
                    readers: from..pairs.readers.len() as u32,
                });
            }
            let of_initial = reads.iter().filter(|read| read.0 == Link::INITIAL);
            for &(_, reader) in of_initial {
                let others = versions
                    .writers(key)
                    .iter()
                    .filter(|&&other| other != reader);
                let edges = others.map(|&other| (start(reader), commit(other)));
                pairs.certain.extend(edges);
            }
            pairs.add_pairs(first, near.unwrap_or(usize::MAX));
        }
        pairs.first_known = pairs.certain.len();
        for (at, &event) in events.iter().enumerate() {
            known.predecessors(event, |other, _| {
                pairs.certain.push((number[other as usize], at as u32));
            });
        }
        pairs
    }

    /// The numbers in an order along everything known, where these are one, and along as much of what is certain besides as
    /// contradicts nothing before it.
    pub fn begin_anyhow(&self) -> Kept {
        let order = (0..self.numbers as u32).collect();
        let (certain, known) = self.certain.split_at(self.first_known);
        let mut kept = Kept::new(order, known, self.open.len());
        kept.insert_all(certain.iter().map(|&edge| (edge, NOBODY)));
        let is_against = |edge: &Edge| !kept.is_before(edge.0, edge.1);
        let against: Vec<Edge> = certain.iter().copied().filter(is_against).collect();
        kept.take_back(against.iter().copied(), NOBODY);
        for edge in against {
            // What contradicts the rest is left out.
            let _ = kept.insert(edge, NOBODY);
        }
        kept
    }

    /// What is certain by the starts of the edges.
    fn certain_after(&self) -> Edges {
        let reversed = self.certain.iter().map(|&(from, to)| (to, from));
        Edges::new(reversed, self.numbers)
    }

    /// Adds the pairs of the versions from this place on, which are of one key, with so many before each.
    fn add_pairs(&mut self, first: usize, near: usize) {
        for b in first..self.versions.len() {
            for a in first.max(b.saturating_sub(near))..b {
                let [older, newer] = [a, b].map(|at| &self.versions[at]);
                let reads =
                    |reader: &Version, of: &Version| self.readers_of(of).contains(&reader.start);
                if reads(newer, older) {
                    self.be_certain(a, b);
                } else if reads(older, newer) {
                    self.be_certain(b, a);
                } else if self.is_exclusive
                    || !older.readers.is_empty()
                    || !newer.readers.is_empty()
                {
                    self.open.push((a as u32, b as u32));
                }
            }
        }
    }

    fn be_certain(&mut self, a: usize, b: usize) {
        let mut certain = std::mem::take(&mut self.certain);
        certain.extend(self.edges(a as u32, b as u32));
        self.certain = certain;
    }

    fn readers_of(&self, version: &Version) -> &[u32] {
        &self.readers[version.readers.start as usize..version.readers.end as usize]
    }

    /// The edges that a's being older than b means.
    #[inline]
    fn edges(&self, a: u32, b: u32) -> impl Iterator<Item = Edge> {
        let [older, newer] = [a, b].map(|at| &self.versions[at as usize]);
        let writers = if self.is_exclusive {
            Some((older.commit, newer.start))
        } else {
            older
                .readers
                .is_empty()
                .then_some((older.commit, newer.commit))
        };
        let others = self
            .readers_of(older)
            .iter()
            .filter(|&&reader| reader != newer.start);
        writers
            .into_iter()
            .chain(others.map(|&reader| (reader, newer.commit)))
    }

    /// The numbers in an order along everything certain and otherwise by these places; None if there is none.
    pub fn begin(&self, place: &[u32]) -> Option<Kept> {
        let numbers: Vec<u32> = (0..place.len() as u32).collect();
        let after = self.certain_after();
        let order = sorted::keeping_places(&numbers, place, |event, call| {
            after.of(event).iter().for_each(|&to| call(to));
        })?;
        Some(Kept::new(order, &self.certain, self.open.len()))
    }

    /// The margin of a's being older than b.
    #[inline]
    pub fn margin(&self, kept: &Kept, a: u32, b: u32) -> f32 {
        let [older, newer] = [a, b].map(|at| &self.versions[at as usize]);
        let margin = |from: u32, to: Time| {
            let from = kept.time(from);
            let gap = to.gap + from.gap;
            // No gap is not a number, which `f32::max` would look for.
            let gap = if gap > 0.0 { gap } else { f32::MIN_POSITIVE };
            (to.at - from.at) / gap
        };
        let readers = self.readers_of(older);
        let commit = kept.time(newer.commit);
        let mut least = match (self.is_exclusive, readers.is_empty()) {
            (true, _) => margin(older.commit, kept.time(newer.start)),
            (false, true) => margin(older.commit, commit),
            (false, false) => f32::INFINITY,
        };
        for &reader in readers.iter().filter(|&&reader| reader != newer.start) {
            let margin = margin(reader, commit);
            least = if margin < least { margin } else { least };
        }
        least
    }

    /// The pair of the versions of a key with these commits, if it can be open. It is new.
    pub fn add(&mut self, key: u32, commits: [u32; 2]) -> Option<u32> {
        let at = self.keys.binary_search_by_key(&key, |&(key, _)| key).ok()?;
        let first = self.keys[at].1 as usize;
        let end = self.keys.get(at + 1).map(|&(_, first)| first as usize);
        let own = &self.versions[first..end.unwrap_or(self.versions.len())];
        let place = |commit: u32| own.iter().position(|version| version.commit == commit);
        let [a, b] = commits.map(place);
        self.open.push(((first + a?) as u32, (first + b?) as u32));
        Some(self.open.len() as u32 - 1)
    }

    /// The commits of the two versions of a pair.
    pub fn commits(&self, pair: u32) -> [u32; 2] {
        let (a, b) = self.open[pair as usize];
        [a, b].map(|at| self.versions[at as usize].commit)
    }

    /// The edges of a pair as it says, or the other way round.
    pub fn edges_of(&self, pair: u32, way: bool) -> impl Iterator<Item = Edge> {
        let (a, b) = self.open[pair as usize];
        if way {
            self.edges(a, b)
        } else {
            self.edges(b, a)
        }
    }
}
