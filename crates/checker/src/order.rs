//! A witness order: transactions scheduled along session order, reads and extra edges.
//!
//! Steps: every session offers its next transaction; a transaction can go once everything it read
//! from (and every extra predecessor) has gone. Sessions take turns, first in, first out. A session
//! whose next transaction must wait is put on the list of the transaction it waits for, so every
//! read is looked at once. If nobody can go while somebody waits, there is a cycle.
//!
//! While scheduling, each key's last writer is kept; a read that does not return the last writer's
//! version is *stale* and reported. A read that is not stale contradicts no level, because no other
//! version lies between the one read and the reader.
//!
//! Cost: linear in the operations and extra edges. Memory: one entry a key and a few a transaction.

use crate::observe::{Link, Observed};
use history::{LargeEntry, LargeTable, TxnId};
use std::ops::Range;

/// An edge that some read forces: `from` before `to`. Sorted by `to` for the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forced {
    pub to: u32,
    pub from: u32,
    /// The read behind it (an operation), or a place in `Observed::known`.
    pub read: u32,
    /// The reader.
    pub reader: u32,
    /// Whether the reader read another key from `from`: a fractured read rather than a longer path.
    pub direct: bool,
}

impl Forced {
    /// In `reader`: the edge is from a known version order, and `read` its index there.
    pub const KNOWN: u32 = u32::MAX;
}

/// Edges sorted by their end and start, each once: for graphs and evidence.
#[derive(Default)]
pub struct ForcedEdges {
    pub edges: Vec<Forced>,
    /// By transaction, where the edges to it begin; none behind the last that has any.
    starts: Vec<u32>,
}

impl ForcedEdges {
    /// Sorts by end and start and keeps one edge for each pair and directness. The ends are few and near each other, so
    /// they are counted first, and what is sorted are the edges to one of them.
    pub fn new(edges: Vec<Forced>) -> ForcedEdges {
        let Some(last) = edges.iter().map(|edge| edge.to).max() else {
            return ForcedEdges::default();
        };
        let mut next = vec![0u32; last as usize + 2];
        for edge in &edges {
            next[edge.to as usize + 1] += 1;
        }
        for txn in 0..next.len() - 1 {
            next[txn + 1] += next[txn];
        }
        let mut sorted = edges.clone();
        for edge in edges {
            let place = &mut next[edge.to as usize];
            sorted[*place as usize] = edge;
            *place += 1;
        }
        // Each number is now where the edges to its transaction end, which is where those to the next one begin.
        let (mut start, mut count) = (0, 0);
        let mut starts = vec![0u32; last as usize + 2];
        for txn in 0..=last as usize {
            let end = next[txn] as usize;
            sorted[start..end].sort_unstable_by_key(|e| (e.from, !e.direct, e.read, e.reader));
            for at in start..end {
                let edge = sorted[at];
                let is_known = count > starts[txn] as usize
                    && (sorted[count - 1].from, sorted[count - 1].direct)
                        == (edge.from, edge.direct);
                sorted[count] = edge;
                count += usize::from(!is_known);
            }
            start = end;
            starts[txn + 1] = count as u32;
        }
        sorted.truncate(count);
        ForcedEdges {
            edges: sorted,
            starts,
        }
    }

    /// The places of the edges to a transaction.
    #[inline]
    pub fn before(&self, txn: u32) -> Range<usize> {
        match self.starts.get(txn as usize..txn as usize + 2) {
            Some(range) => range[0] as usize..range[1] as usize,
            None => 0..0,
        }
    }
}

/// The extra predecessors of each transaction.
pub struct Predecessors {
    /// By transaction, where its own begin; empty if there are none at all.
    starts: Vec<u32>,
    from: Vec<u32>,
}

impl Predecessors {
    /// No transaction has any.
    pub fn none() -> Predecessors {
        Predecessors {
            starts: Vec::new(),
            from: Vec::new(),
        }
    }

    /// From pairs of a transaction and one before it.
    pub fn new(edges: impl Iterator<Item = (u32, u32)> + Clone, txn_count: usize) -> Predecessors {
        if edges.clone().next().is_none() {
            return Predecessors::none();
        }
        let mut starts = vec![0u32; txn_count + 1];
        let mut count = 0;
        for (to, _) in edges.clone() {
            starts[to as usize + 1] += 1;
            count += 1;
        }
        for txn in 0..txn_count {
            starts[txn + 1] += starts[txn];
        }
        let mut next = starts.clone();
        let mut from = vec![0; count];
        for (to, before) in edges {
            from[next[to as usize] as usize] = before;
            next[to as usize] += 1;
        }
        Predecessors { starts, from }
    }

    /// From forced edges.
    pub fn of_forced(edges: &[Forced], txn_count: usize) -> Predecessors {
        Predecessors::new(edges.iter().map(|edge| (edge.to, edge.from)), txn_count)
    }

    pub fn of(&self, txn: u32) -> &[u32] {
        match self.starts.get(txn as usize..txn as usize + 2) {
            Some(range) => &self.from[range[0] as usize..range[1] as usize],
            None => &[],
        }
    }
}

/// A read of a version that is not the last one in the witness order.
#[derive(Clone, Copy, Debug)]
pub struct StaleRead {
    pub op: u32,
    pub reader: u32,
    /// The only version between the one read and the reader, or [`StaleRead::SEVERAL`].
    pub between: u32,
}

impl StaleRead {
    /// In `between`: there may be several.
    pub const SEVERAL: u32 = u32::MAX;

    /// A read of which nothing else is known.
    pub fn new(op: u32, reader: u32) -> StaleRead {
        let between = StaleRead::SEVERAL;
        StaleRead {
            op,
            reader,
            between,
        }
    }
}

/// What is kept of a key's versions so far. Writers are stored with their bits turned, so that zeros
/// are initial versions.
pub trait Last: LargeEntry {
    fn writer(self) -> u32;
    /// The version between the one read and the reader, if there is only one.
    fn between(self, read: u32) -> u32;
    fn then(self, writer: u32) -> Self;
}

/// The last version: for histories with so many keys that more would not fit.
impl Last for u32 {
    #[inline]
    fn writer(self) -> u32 {
        !self
    }

    fn between(self, _: u32) -> u32 {
        StaleRead::SEVERAL
    }

    #[inline]
    fn then(self, writer: u32) -> u32 {
        !writer
    }
}

/// The last version and the one before: most stale reads returned that one.
impl Last for [u32; 2] {
    #[inline]
    fn writer(self) -> u32 {
        !self[0]
    }

    #[inline]
    fn between(self, read: u32) -> u32 {
        if self[1] == !read {
            !self[0]
        } else {
            StaleRead::SEVERAL
        }
    }

    #[inline]
    fn then(self, writer: u32) -> [u32; 2] {
        [!writer, self[0]]
    }
}

/// Up to so many keys have their last two versions kept.
const TWO_VERSIONS_KEYS_MAX: usize = 1 << 28;

/// Whether the last two versions of each key are kept.
pub fn keeps_two_versions(observed: &Observed<'_>) -> bool {
    observed.history.keys().limit() <= TWO_VERSIONS_KEYS_MAX
}

/// For so many stale reads room is made at once at most.
const ROOM_MAX: usize = 1 << 24;

/// Room at once, which costs nothing until it is used: a vector that grows leaves its older selves
/// behind in the heap.
pub fn room_for_stale(observed: &Observed<'_>) -> Vec<StaleRead> {
    Vec::with_capacity((observed.links.len() / 4).min(ROOM_MAX))
}

/// What scheduling found.
pub struct Schedule {
    /// The transactions in order; all taken ones, unless there is a cycle.
    pub order: Vec<u32>,
    /// Whether every taken transaction could go.
    pub complete: bool,
    pub stale: Vec<StaleRead>,
    /// Whether it follows a hint, so that little is likely to contradict it.
    pub hinted: bool,
}

const NONE: u32 = u32::MAX;

/// The state of one scheduling.
struct Scheduler<'a> {
    observed: &'a Observed<'a>,
    extra: Predecessors,
    /// By transaction, with a spare entry at the end that is always done.
    done: Vec<bool>,
    /// The next transaction of each session and its end.
    next: Vec<u32>,
    end: Vec<u32>,
    /// The first session that waits for a transaction, and the session after it on that list.
    waiting: Vec<u32>,
    waiting_after: Vec<u32>,
    /// How many operations, and then extra edges, of each session's next transaction are known to
    /// be ready.
    ready: Vec<u32>,
    queue: std::collections::VecDeque<u32>,
}

/// Schedules all taken transactions; see the module's text.
pub fn schedule(observed: &Observed<'_>, forced: &[Forced]) -> Schedule {
    let history = observed.history;
    let txn_count = history.txn_count();
    let mut scheduler = Scheduler {
        observed,
        extra: Predecessors::of_forced(forced, txn_count),
        done: observed
            .taken
            .iter()
            .map(|taken| !taken)
            .chain([true])
            .collect(),
        next: history
            .sessions()
            .map(|s| history.session_txns(s).start)
            .collect(),
        end: history
            .sessions()
            .map(|s| history.session_txns(s).end)
            .collect(),
        waiting: vec![NONE; txn_count],
        waiting_after: vec![NONE; history.session_count()],
        ready: vec![0; history.session_count()],
        queue: (0..history.session_count() as u32).collect(),
    };
    if keeps_two_versions(observed) {
        scheduler.run::<[u32; 2]>()
    } else {
        scheduler.run::<u32>()
    }
}

impl Scheduler<'_> {
    fn run<L: Last>(&mut self) -> Schedule {
        let taken_count = self.observed.taken.count();
        let mut last_writer = LargeTable::<L>::zeros(self.observed.history.keys().limit());
        let last_writer = last_writer.as_mut_slice();
        let mut order = Vec::with_capacity(taken_count);
        let mut stale = room_for_stale(self.observed);
        while let Some(session) = self.queue.pop_front() {
            let Some(txn) = self.next_of(session) else {
                continue;
            };
            if let Some(blocker) = self.blocker(session, txn) {
                self.waiting_after[session as usize] = self.waiting[blocker as usize];
                self.waiting[blocker as usize] = session;
                continue;
            }
            apply(self.observed, txn, last_writer, &mut stale);
            order.push(txn);
            self.done[txn as usize] = true;
            self.next[session as usize] += 1;
            self.ready[session as usize] = 0;
            self.wake(txn);
            self.queue.push_back(session);
        }
        Schedule {
            complete: order.len() == taken_count,
            order,
            stale,
            hinted: false,
        }
    }

    /// The next taken transaction of a session.
    fn next_of(&mut self, session: u32) -> Option<u32> {
        let next = &mut self.next[session as usize];
        let end = self.end[session as usize];
        while *next < end && !self.observed.taken[*next as usize] {
            *next += 1;
        }
        (*next < end).then_some(*next)
    }

    /// A transaction that must go before `txn` and has not. Goes on where it stopped the last time,
    /// so that a transaction with very many reads is not looked through again and again.
    fn blocker(&mut self, session: u32, txn: u32) -> Option<u32> {
        let links = &self.observed.links[self.observed.history.op_range(TxnId(txn))];
        let ready = &mut self.ready[session as usize];
        let nothing = self.done.len() - 1;
        for (at, &link) in links.iter().enumerate().skip(*ready as usize) {
            // Reads and writes alternate at random: links that are no transactions lie beyond the last, and
            // wait for the spare entry, which is done, so that the branch below is almost never taken.
            let writer = (link as usize).min(nothing);
            if !self.done[writer] {
                *ready = at as u32;
                return Some(link);
            }
        }
        *ready = (*ready).max(links.len() as u32);
        for &from in &self.extra.of(txn)[*ready as usize - links.len()..] {
            if !self.done[from as usize] {
                return Some(from);
            }
            *ready += 1;
        }
        None
    }

    fn wake(&mut self, txn: u32) {
        let mut session = std::mem::replace(&mut self.waiting[txn as usize], NONE);
        while session != NONE {
            self.queue.push_back(session);
            session = self.waiting_after[session as usize];
        }
    }
}

/// So many operations are looked at before those that are stale are told.
const STALE_AT_ONCE: usize = 64;

/// Reads, then writes, of one transaction against the last writers. A list read may follow an
/// append of its own transaction and still be external, hence all reads come first.
#[inline]
pub fn apply<L: Last>(
    observed: &Observed<'_>,
    txn: u32,
    last: &mut [L],
    stale: &mut Vec<StaleRead>,
) {
    let range = observed.history.op_range(TxnId(txn));
    let keys = &observed.history.ops().keys[range.clone()];
    let links = &observed.links[range.clone()];
    let mut found = [0u32; STALE_AT_ONCE];
    for start in (0..links.len()).step_by(STALE_AT_ONCE) {
        let end = links.len().min(start + STALE_AT_ONCE);
        let ops = keys[start..end].iter().zip(&links[start..end]);
        let mut count = 0;
        for (at, (key, &link)) in (start as u32..).zip(ops) {
            // Stored whether it is stale or not: what an operation is, is a coin toss to the processor.
            let is_read = Link::is_txn(link) | (link == Link::INITIAL);
            found[count] = at;
            count += usize::from(is_read & (link != last[key.index()].writer()));
        }
        let stale_read = |&at: &u32| {
            let (key, link) = (keys[at as usize], links[at as usize]);
            StaleRead {
                op: range.start as u32 + at,
                reader: txn,
                between: last[key.index()].between(link),
            }
        };
        stale.extend(found[..count].iter().map(stale_read));
    }
    for (key, &link) in keys.iter().zip(links) {
        let last = &mut last[key.index()];
        *last = if link == Link::WRITE {
            last.then(txn)
        } else {
            *last
        };
    }
}
