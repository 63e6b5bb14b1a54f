//! What is wrong with an order of events, found in one walk along it.
//!
//! A read is *stale* if the last version before the reader's snapshot is not the one it returned:
//! some version lies in between. Two writers of a key *overlap* if one commits between the start
//! and the commit of the other, where the level forbids that. An order with neither is a proof.
//!
//! For a stale read the versions named are the one that directly follows the version read and the
//! last one before the snapshot: putting either order right often settles those in between.
//!
//! Cost: linear in the operations; a second walk over the keys with stale reads.

use super::shape::Shape;
use crate::observe::{Link, Observed, Placed};
use history::TxnId;
use rustc_hash::FxHashMap;

/// Something wrong with an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conflict {
    /// `other`'s version of the key lies between the version read, `writer`'s, and the reader.
    Stale {
        read: u32,
        reader: u32,
        key: u32,
        writer: u32,
        other: u32,
    },
    /// None of the possible writers of this read directly precedes it; the last one before it is
    /// `last`.
    Unexplained { ambiguous: u32, last: u32 },
    /// `first` committed while `second`, which overwrote the key later, was under way.
    Overlap { key: u32, first: u32, second: u32 },
}

/// What the walk needs to know about choices made.
pub trait Chosen {
    /// Whether a transaction counts as committed.
    fn counts(&self, txn: u32) -> bool;
    /// Whether the ambiguous read, by its place in `Observed::ambiguous`, may be taken to have
    /// returned this writer's version.
    fn may_read(&self, ambiguous: u32, writer: u32) -> bool;
}

/// The walk's result.
pub struct Walk {
    pub conflicts: Vec<Conflict>,
    /// The writers that the ambiguous reads have in this order, by place in `Observed::ambiguous`;
    /// `u32::MAX - 1` where unexplained or where the reader does not count.
    pub writers: Vec<u32>,
}

/// In [`Walk::writers`]: no writer.
pub const NO_WRITER: u32 = u32::MAX - 1;

/// Walks along an order of events.
pub fn walk(observed: &Observed<'_>, shape: Shape, events: &[u32], chosen: &impl Chosen) -> Walk {
    let mut walk = walk_once(observed, shape, events, chosen, |txn| {
        Placed::of(observed.history, TxnId(txn))
    });
    add_next_versions(observed, shape, events, chosen, &mut walk.conflicts);
    walk
}

/// The same along events of transactions that `placed` finds by the numbers used; a stale read is
/// entered once.
pub fn walk_once(
    observed: &Observed<'_>,
    shape: Shape,
    events: &[u32],
    chosen: &impl Chosen,
    placed: impl Fn(u32) -> Placed,
) -> Walk {
    let history = observed.history;
    let first_other = shape.events(history.txn_count()) as u32;
    let mut state = State {
        observed,
        last: vec![Link::INITIAL; history.keys().limit()],
        committed_at: vec![],
        started_at: vec![],
        ambiguous: observed
            .ambiguous
            .iter()
            .enumerate()
            .map(|(place, read)| (read.op.0, place as u32))
            .collect(),
        walk: Walk {
            conflicts: Vec::new(),
            writers: vec![NO_WRITER; observed.ambiguous.len()],
        },
    };
    if shape.exclusive {
        state.committed_at = vec![0; history.txn_count()];
        state.started_at = vec![0; history.txn_count()];
    }
    for (at, &event) in events.iter().enumerate() {
        if event >= first_other {
            continue;
        }
        let placed = placed(shape.txn(event));
        let txn = placed.txn.0;
        if !chosen.counts(txn) {
            continue;
        }
        if shape.is_start(event) {
            if shape.exclusive {
                state.started_at[txn as usize] = at as u32;
            }
            state.read(placed, chosen);
        }
        if shape.is_commit(event) {
            if shape.exclusive {
                state.committed_at[txn as usize] = at as u32;
            }
            state.write(placed, shape);
        }
    }
    state.walk
}

struct State<'a> {
    observed: &'a Observed<'a>,
    last: Vec<u32>,
    committed_at: Vec<u32>,
    started_at: Vec<u32>,
    ambiguous: FxHashMap<u32, u32>,
    walk: Walk,
}

impl State<'_> {
    #[inline]
    fn read(&mut self, placed: Placed, chosen: &impl Chosen) {
        let (txn, range) = (placed.txn.0, placed.ops());
        let keys = &self.observed.history.ops().keys[range.clone()];
        let links = &self.observed.links[range.clone()];
        for ((op, &link), key) in range.zip(links).zip(keys) {
            let is_read = Link::is_txn(link) | (link == Link::INITIAL);
            let last = self.last[key.index()];
            if is_read & (link != last) {
                self.walk.conflicts.push(Conflict::Stale {
                    read: op as u32,
                    reader: txn,
                    key: key.0,
                    writer: link,
                    other: last,
                });
            } else if link == Link::AMBIGUOUS {
                let place = self.ambiguous[&(op as u32)];
                if chosen.may_read(place, last) {
                    self.walk.writers[place as usize] = last;
                } else {
                    self.walk.conflicts.push(Conflict::Unexplained {
                        ambiguous: place,
                        last,
                    });
                }
            }
        }
    }

    #[inline]
    fn write(&mut self, placed: Placed, shape: Shape) {
        let (txn, range) = (placed.txn.0, placed.ops());
        let keys = &self.observed.history.ops().keys[range.clone()];
        for (&link, key) in self.observed.links[range].iter().zip(keys) {
            if link != Link::WRITE {
                continue;
            }
            let last = &mut self.last[key.index()];
            if shape.exclusive && *last != Link::INITIAL {
                let other_end = self.committed_at[*last as usize];
                if other_end > self.started_at[txn as usize] {
                    self.walk.conflicts.push(Conflict::Overlap {
                        key: key.0,
                        first: *last,
                        second: txn,
                    });
                }
            }
            *last = txn;
        }
    }
}

/// Whether an event is where a transaction commits.
#[inline]
fn is_commit_of_txn(observed: &Observed<'_>, shape: Shape, event: u32) -> bool {
    (event as usize) < shape.events(observed.history.txn_count()) && shape.is_commit(event)
}

/// The place of the first event that wrote one of these versions: what follows any of them comes behind. A version of
/// nobody was there from the beginning.
fn first_read(
    observed: &Observed<'_>,
    shape: Shape,
    events: &[u32],
    versions: &FxHashMap<(u32, u32), Option<u32>>,
) -> usize {
    let mut is_writer = vec![0u64; observed.history.txn_count().div_ceil(64)];
    for &(_, writer) in versions.keys() {
        match is_writer.get_mut(writer as usize / 64) {
            Some(word) => *word |= 1 << (writer % 64),
            None => return 0,
        }
    }
    let is_first = |&event: &u32| {
        let txn = shape.txn(event) as usize;
        let is_wanted = |word: &u64| word & (1 << (txn % 64)) != 0;
        is_writer.get(txn / 64).is_some_and(is_wanted) && is_commit_of_txn(observed, shape, event)
    };
    let first = events.iter().position(is_first);
    first.unwrap_or(events.len())
}

/// For each stale read, adds the version that directly follows the one read.
fn add_next_versions(
    observed: &Observed<'_>,
    shape: Shape,
    events: &[u32],
    chosen: &impl Chosen,
    conflicts: &mut Vec<Conflict>,
) {
    // The version that follows each that was read, as far as it is known; none may.
    let mut next: FxHashMap<(u32, u32), Option<u32>> = FxHashMap::default();
    for conflict in conflicts.iter() {
        if let Conflict::Stale { key, writer, .. } = *conflict {
            next.insert((key, writer), None);
        }
    }
    if next.is_empty() {
        return;
    }
    let mut is_stale = vec![0u64; observed.history.keys().limit().div_ceil(64)];
    for &(key, _) in next.keys() {
        is_stale[key as usize / 64] |= 1 << (key % 64);
    }
    let mut missing = next.len();
    let mut last: FxHashMap<u32, u32> = FxHashMap::default();
    for &event in &events[first_read(observed, shape, events, &next)..] {
        if missing == 0 {
            break;
        }
        let txn = shape.txn(event);
        if !is_commit_of_txn(observed, shape, event) || !chosen.counts(txn) {
            continue;
        }
        let range = observed.history.op_range(TxnId(txn));
        let keys = &observed.history.ops().keys[range.clone()];
        for (&link, key) in observed.links[range].iter().zip(keys) {
            if link == Link::WRITE && is_stale[key.index() / 64] & (1 << (key.0 % 64)) != 0 {
                let before = last.insert(key.0, txn).unwrap_or(Link::INITIAL);
                if let Some(after @ None) = next.get_mut(&(key.0, before)) {
                    *after = Some(txn);
                    missing -= 1;
                }
            }
        }
    }
    for place in 0..conflicts.len() {
        if let Conflict::Stale {
            read,
            reader,
            key,
            writer,
            other,
        } = conflicts[place]
        {
            let after = next[&(key, writer)].filter(|&after| after != other && after != reader);
            if let Some(after) = after {
                conflicts.push(Conflict::Stale {
                    read,
                    reader,
                    key,
                    writer,
                    other: after,
                });
            }
        }
    }
}
