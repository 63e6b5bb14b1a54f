//! Stale reads under causality with so many sessions that clocks are impossible: what happens before
//! the readers of one session, found once for all of them.
//!
//! Steps: the readers of a session whose versions in question lie in overlapping stretches of the
//! order are taken together, in session order. What happens before one of them happens before the
//! next, so a backward search goes on where the last one stopped; it never goes further back than
//! the oldest version in question. The writes of what it reaches are entered by key and place; a
//! read is contradicted by any that comes after the version read. The first and the last are given,
//! so that a long run of versions is put in order at once, and the read is asked about again.
//!
//! Cost: for each group of readers the transactions and operations between its oldest version in
//! question and its last reader, and a logarithm for each write and read in question.

use crate::Budget;
use crate::budget::Limit;
use crate::observe::{Link, Observed};
use crate::order::StaleRead;
use crate::stale::Search;
use history::TxnId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// A reader with versions in question, and the places of the oldest one and of itself.
#[derive(Clone, Copy)]
pub struct Asked<'s> {
    pub stale: &'s [StaleRead],
    pub oldest: usize,
    pub at: usize,
}

impl Asked<'_> {
    fn reader(&self) -> u32 {
        self.stale[0].reader
    }
}

/// Finds what stale reads force.
pub fn by_sessions(
    order: &[u32],
    asked: &[Asked<'_>],
    budget: &Budget<'_>,
    search: &mut Search<'_, '_>,
) -> Result<(), Limit> {
    let observed = search.observed;
    let keys = &observed.history.ops().keys;
    let mut asked = asked.to_vec();
    asked.sort_unstable_by_key(Asked::reader);
    let reads = asked.iter().flat_map(|asked| asked.stale);
    let mut reached = Reached {
        observed,
        place: search.place,
        keys: reads.map(|read| keys[read.op as usize].0).collect(),
        stamps: vec![0; observed.history.txn_count()],
        stamp: 0,
        floor: 0,
        places: FxHashMap::default(),
        stack: Vec::new(),
    };
    let mut rest = &asked[..];
    for (floor, count) in groups(observed, &asked) {
        reached.restart(floor);
        let (mine, others) = rest.split_at(count);
        rest = others;
        for asked in mine {
            budget.check("stale reads")?;
            reached.go_on_to(asked.reader());
            for read in asked.stale {
                let found = reached.after(read).map(|place| order[place as usize]);
                let found: Vec<u32> = found.collect();
                if !found.is_empty() {
                    search.visible.turn_to(read.reader);
                    search.leave_open(std::slice::from_ref(read));
                    found.into_iter().for_each(|t2| search.add(*read, t2));
                }
            }
        }
    }
    Ok(())
}

/// How many transactions the searches come upon at most.
pub fn steps(observed: &Observed<'_>, asked: &[Asked<'_>]) -> u64 {
    let mut asked = asked.to_vec();
    asked.sort_unstable_by_key(Asked::reader);
    let mut rest = &asked[..];
    let mut sum = 0;
    for (floor, count) in groups(observed, &asked) {
        let (mine, others) = rest.split_at(count);
        rest = others;
        let last = mine.iter().map(|asked| asked.at).max();
        sum += last.map_or(0, |last| (last - floor) as u64);
    }
    sum
}

/// The readers that are taken together, as the oldest place in question and how many they are; they
/// are sorted by session.
fn groups(observed: &Observed<'_>, asked: &[Asked<'_>]) -> Vec<(usize, usize)> {
    let session = |asked: &Asked<'_>| observed.history.session_of(TxnId(asked.reader()));
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut last = None;
    for asked in asked.iter().rev() {
        match found.last_mut() {
            Some((floor, count)) if last == Some(session(asked)) && asked.at >= *floor => {
                *floor = asked.oldest.min(*floor);
                *count += 1;
            }
            _ => found.push((asked.oldest, 1)),
        }
        last = Some(session(asked));
    }
    found.reverse();
    found
}

/// What happens before the readers so far.
struct Reached<'a> {
    observed: &'a Observed<'a>,
    place: &'a [u32],
    /// The keys in question.
    keys: FxHashSet<u32>,
    /// By transaction, the last search that reached it.
    stamps: Vec<u32>,
    stamp: u32,
    floor: usize,
    /// By key in question, the places of the writers that were reached.
    places: FxHashMap<u32, BTreeSet<u32>>,
    stack: Vec<u32>,
}

impl Reached<'_> {
    fn restart(&mut self, floor: usize) {
        self.stamp += 1;
        self.floor = floor;
        self.places.clear();
    }

    fn go_on_to(&mut self, reader: u32) {
        self.stack.push(reader);
        while let Some(txn) = self.stack.pop() {
            let range = self.observed.history.op_range(TxnId(txn));
            let so = self.observed.session_predecessor(txn);
            let links = self.observed.links[range].iter().copied();
            for before in so
                .into_iter()
                .chain(links.filter(|&link| Link::is_txn(link)))
            {
                let is_new = self.stamps[before as usize] != self.stamp;
                if is_new && self.place[before as usize] as usize >= self.floor {
                    self.stamps[before as usize] = self.stamp;
                    self.stack.push(before);
                    self.enter(before);
                }
            }
        }
    }

    fn enter(&mut self, txn: u32) {
        for (_, key) in self.observed.writes(TxnId(txn)) {
            if self.keys.contains(&key.0) {
                let places = self.places.entry(key.0).or_default();
                places.insert(self.place[txn as usize]);
            }
        }
    }

    /// The first and the last writer after the version read, of those reached.
    fn after(&self, read: &StaleRead) -> impl Iterator<Item = u32> {
        let key = self.observed.history.ops().keys[read.op as usize].0;
        let link = self.observed.links[read.op as usize];
        let after = self.place.get(link as usize).map_or(0, |&place| place + 1);
        let mut ends = [None, None];
        if let Some(places) = self.places.get(&key) {
            let mut later = places.range(after..);
            ends = [later.next().copied(), later.next_back().copied()];
        }
        ends.into_iter().flatten()
    }
}
