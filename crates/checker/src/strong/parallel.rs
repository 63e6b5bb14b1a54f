//! Parallel snapshot isolation: which stale reads are anomalies.
//!
//! Definition: with D the dependencies (sessions where they count, reads, version orders), a read of
//! an overwritten version is an anomaly if the overwriter reaches the reader by D. The order at hand
//! fixes all version orders, so D is complete: known edges, and every version after the one before.
//!
//! Steps: for each stale read go back along D from the reader, no further than the version that follows the one it
//! returned; a writer of the key that is met is an anomaly, and the path to it a cycle. Version
//! orders on the path become choices. Cost: the dependencies within that stretch for each stale
//! read.

use super::conflicts::Chosen;
use super::known::{Known, Why};
use super::shape::Shape;
use crate::observe::{Link, Observed};
use history::{OpId, TxnId};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// One step back: the transaction before, and either a known reason or the key of a version order.
#[derive(Clone, Copy)]
enum Back {
    Known(Why),
    Older(u32),
    Chosen(u32),
}

/// The dependencies under an order.
pub struct Dependencies<'a> {
    known: &'a Known<'a>,
    place: Vec<u32>,
    /// By write, the writer of the version before.
    previous: Vec<u32>,
    /// By write, the writer of the version after; by key, that of the first one.
    following: Vec<u32>,
    first: FxHashMap<u32, u32>,
    seen: Vec<u32>,
    parent: Vec<(u32, Back)>,
    search: u32,
    /// Whether transactions that need not count are among the events.
    has_optional: bool,
}

/// A path of dependencies from an overwriter to the reader of the version it overwrote.
pub struct Path {
    pub overwriter: u32,
    /// Known steps, and steps by version order with their key.
    pub steps: Vec<(u32, u32, Result<Why, PathChoice>)>,
}

/// A step of a path that rests on a choice.
#[derive(Clone, Copy)]
pub enum PathChoice {
    /// The version order of this key.
    Older(u32),
    /// This ambiguous read returned the first one's version.
    Read(u32),
}

impl<'a> Dependencies<'a> {
    /// `writers` are those of the ambiguous reads, by their operation.
    pub fn new(known: &'a Known<'a>, events: &[u32], chosen: &impl Chosen) -> Dependencies<'a> {
        let observed: &Observed<'_> = known.observed;
        let shape: Shape = known.shape;
        let txn_count = observed.history.txn_count();
        let mut place = vec![u32::MAX; txn_count];
        let mut previous = vec![Link::INITIAL; observed.history.op_count()];
        let mut following = vec![Link::INITIAL; observed.history.op_count()];
        let mut first: FxHashMap<u32, u32> = FxHashMap::default();
        let mut last: FxHashMap<u32, (u32, OpId)> = FxHashMap::default();
        for (at, &event) in events.iter().enumerate() {
            let txn = shape.txn(event);
            if event as usize >= txn_count || !chosen.counts(txn) {
                continue;
            }
            place[txn as usize] = at as u32;
            for (op, key) in observed.writes(TxnId(txn)) {
                match last.insert(key.0, (txn, op)) {
                    Some((before, write)) => {
                        previous[op.index()] = before;
                        following[write.index()] = txn;
                    }
                    None => {
                        first.insert(key.0, txn);
                    }
                }
            }
        }
        Dependencies {
            known,
            place,
            previous,
            following,
            first,
            seen: vec![0; txn_count],
            parent: vec![(0, Back::Known(Why::Own)); txn_count],
            search: 0,
            has_optional: events.len() > known.counted_events(),
        }
    }

    /// A path from a writer of a version of `key` newer than `writer`'s to the reader. `chosen_reads`
    /// are the ambiguous reads of a transaction with the writers they have.
    pub fn path_to(
        &mut self,
        reader: u32,
        key: u32,
        writer: u32,
        chosen_reads: &FxHashMap<u32, Vec<(u32, u32)>>,
    ) -> Option<Path> {
        let observed = self.known.observed;
        let limit = self.place[self.next_writer(key, writer)? as usize];
        self.search += 1;
        self.seen[reader as usize] = self.search;
        let mut queue = VecDeque::from([reader]);
        while let Some(txn) = queue.pop_front() {
            let writes = |other: u32| observed.write_to(TxnId(other), history::KeyId(key));
            if txn != reader && writes(txn).is_some() {
                return Some(self.path_from(txn, reader));
            }
            let Dependencies {
                known,
                place,
                previous,
                seen,
                parent,
                search,
                has_optional,
                ..
            } = self;
            let mut visit = |before: u32, back: Back| {
                let at = place[before as usize];
                if at != u32::MAX && at >= limit && seen[before as usize] != *search {
                    seen[before as usize] = *search;
                    parent[before as usize] = (txn, back);
                    queue.push_back(before);
                }
            };
            known.predecessors(txn, |before, why| visit(before, Back::Known(why)));
            if *has_optional {
                optional_predecessors(known, txn, |before, why| visit(before, Back::Known(why)));
            }
            for &(read, writer) in chosen_reads.get(&txn).into_iter().flatten() {
                visit(writer, Back::Chosen(read));
            }
            for (op, key) in observed.writes(TxnId(txn)) {
                let before = previous[op.index()];
                if before != Link::INITIAL {
                    visit(before, Back::Older(key.0));
                }
            }
        }
        None
    }

    /// Who wrote the version of a key that follows this writer's.
    fn next_writer(&self, key: u32, writer: u32) -> Option<u32> {
        let next = match writer {
            Link::INITIAL => self.first.get(&key).copied(),
            txn => {
                let observed = self.known.observed;
                let write = observed.write_to(TxnId(txn), history::KeyId(key))?;
                Some(self.following[write.index()])
            }
        };
        next.filter(|&txn| txn != Link::INITIAL)
    }

    fn path_from(&self, overwriter: u32, reader: u32) -> Path {
        let mut steps = Vec::new();
        let mut txn = overwriter;
        while txn != reader {
            let (after, back) = self.parent[txn as usize];
            let why = match back {
                Back::Known(why) => Ok(why),
                Back::Older(key) => Err(PathChoice::Older(key)),
                Back::Chosen(read) => Err(PathChoice::Read(read)),
            };
            steps.push((txn, after, why));
            txn = after;
        }
        Path { overwriter, steps }
    }
}

/// Calls with the predecessors of a transaction by edges with one that need not count at an end.
fn optional_predecessors(known: &Known<'_>, txn: u32, mut call: impl FnMut(u32, Why)) {
    let observed = known.observed;
    let is_certain = observed.taken[txn as usize];
    if !is_certain {
        for (read, _, writer) in observed.reads(TxnId(txn)) {
            call(writer.0, Why::Read(read.0));
        }
    }
    if !known.shape.sessions {
        return;
    }
    let session = observed.history.session_of(TxnId(txn));
    let range = observed.history.session_txns(session);
    for before in (range.start..txn).rev() {
        if !observed.taken[before as usize] {
            call(before, Why::Session);
            continue;
        }
        if !is_certain {
            call(before, Why::Session);
        }
        return;
    }
}
