//! Which of several possible writers a read returned, by what happens before what.
//!
//! Definition: a transaction happens before another if sessions, settled reads and version orders
//! that follow from these lead from one to the other. A possible writer is ruled out if the reader
//! happens before it, or if another version of the key lies in between: its writer happens after
//! the one and before the reader.
//!
//! Steps: clocks along an order of sessions and reads; of each session the last writer of the key
//! that happens before a reader. Of those, any but the writer of a settled read is older than it.
//! A read with one possible writer left is settled. Repeat while that changes something.
//!
//! Cost: each round O(m·k) for m operations and k sessions, and 4·k bytes a transaction, so only
//! where that is not too much. Source: the pruning of VeriStrong (VLDB 2026), with clocks instead of
//! reachability between all pairs.
//!
//! What comes out is used to find an order, never as evidence against one.

use crate::Budget;
use crate::budget::Limit;
use crate::observe::{AmbiguousRead, Link, Observed};
use crate::order::{self, Forced, Predecessors};
use crate::writers::{BySession, Writers};
use history::{OpId, TxnId};
use rustc_hash::FxHashMap;

/// Rounds are given up after so many; most histories take three or four.
const ROUNDS_MAX: usize = 12;
/// What the clocks may take, in entries.
const ENTRIES_MAX: usize = 1 << 27;

/// A history with fewer ambiguous reads.
pub struct Resolution<'h> {
    pub observed: Observed<'h>,
    /// The reads that are settled there and were not before, with their writers.
    pub reads: Vec<(OpId, TxnId)>,
}

/// Rules out writers; see the module's text. None if nothing can be ruled out.
pub fn resolve<'h>(
    observed: &Observed<'h>,
    budget: &Budget<'_>,
) -> Result<Option<Resolution<'h>>, Limit> {
    let history = observed.history;
    let entries = history.txn_count().saturating_mul(history.session_count());
    if observed.ambiguous.is_empty() || entries > ENTRIES_MAX {
        return Ok(None);
    }
    let keys = observed.history.ops().keys.iter().map(|key| key.0);
    let writers = Writers::of_keys(observed, keys, None);
    let by_session = writers.by_session(observed);
    let mut reduced = observed.with_links(observed.links.clone(), observed.ambiguous.clone());
    let mut forced: Vec<Forced> = Vec::new();
    for _ in 0..ROUNDS_MAX {
        budget.check("resolve")?;
        let schedule = order::schedule(&reduced, &forced);
        if !schedule.complete {
            return Ok(None);
        }
        let clocks = Clocks::new(&reduced, &forced, &schedule.order);
        let found = Round::new(&reduced, &clocks, &by_session).run();
        if found.settled.is_empty() && found.forced.is_empty() && !found.is_narrower {
            break;
        }
        forced.extend(found.forced);
        let mut links = std::mem::take(&mut reduced.links);
        for (op, writer) in found.settled {
            links[op.index()] = writer.0;
        }
        reduced = observed.with_links(links, found.open);
    }
    let reads: Vec<(OpId, TxnId)> = observed
        .ambiguous
        .iter()
        .map(|read| (read.op, reduced.links[read.op.index()]))
        .filter(|&(_, link)| Link::is_txn(link))
        .map(|(op, link)| (op, TxnId(link)))
        .collect();
    Ok((!reads.is_empty()).then_some(Resolution {
        observed: reduced,
        reads,
    }))
}

/// By transaction and session, one more than the number of the last transaction that happens
/// before it or is it; 0 for none.
struct Clocks {
    width: usize,
    rows: Vec<u32>,
}

impl Clocks {
    fn new(observed: &Observed<'_>, forced: &[Forced], order: &[u32]) -> Clocks {
        let history = observed.history;
        let width = history.session_count();
        let before = Predecessors::of_forced(forced, history.txn_count());
        let mut rows = vec![0u32; width * history.txn_count()];
        let mut latest: Vec<u32> = vec![u32::MAX; width];
        let mut row = vec![0u32; width];
        for &txn in order {
            let session = history.session_of(TxnId(txn)).index();
            row.fill(0);
            let mut join = |other: u32| {
                let other_session = history.session_of(TxnId(other)).index();
                if row[other_session] > other {
                    return;
                }
                let other = &rows[other as usize * width..][..width];
                for (mine, theirs) in row.iter_mut().zip(other) {
                    *mine = (*mine).max(*theirs);
                }
            };
            if latest[session] != u32::MAX {
                join(latest[session]);
            }
            observed
                .reads(TxnId(txn))
                .for_each(|(_, _, writer)| join(writer.0));
            before.of(txn).iter().for_each(|&other| join(other));
            row[session] = txn + 1;
            latest[session] = txn;
            rows[txn as usize * width..][..width].copy_from_slice(&row);
        }
        Clocks { width, rows }
    }

    #[inline]
    fn row(&self, txn: u32) -> &[u32] {
        &self.rows[txn as usize * self.width..][..self.width]
    }
}

/// What a round found out.
#[derive(Default)]
struct Found {
    settled: Vec<(OpId, TxnId)>,
    open: Vec<AmbiguousRead>,
    forced: Vec<Forced>,
    /// Whether some read has fewer possible writers now.
    is_narrower: bool,
}

struct Round<'r> {
    observed: &'r Observed<'r>,
    clocks: &'r Clocks,
    writers: &'r BySession<'r>,
    ambiguous: FxHashMap<u32, u32>,
    /// Of the read at hand, the last writers of its key that happen before it, one a session.
    latest: Vec<u32>,
    found: Found,
}

impl<'r> Round<'r> {
    fn new(
        observed: &'r Observed<'r>,
        clocks: &'r Clocks,
        writers: &'r BySession<'r>,
    ) -> Round<'r> {
        let ambiguous = observed.ambiguous.iter().enumerate();
        Round {
            observed,
            clocks,
            writers,
            ambiguous: ambiguous
                .map(|(place, read)| (read.op.0, place as u32))
                .collect(),
            latest: Vec::new(),
            found: Found::default(),
        }
    }

    fn run(mut self) -> Found {
        let observed = self.observed;
        for txn in observed.history.txn_ids() {
            if !observed.taken[txn.index()] {
                continue;
            }
            for op in observed.history.op_range(txn) {
                let (link, key) = (observed.links[op], observed.history.ops().keys[op].0);
                if Link::is_txn(link) {
                    self.find_latest(txn.0, key);
                    self.order_before(link, op as u32, txn.0);
                } else if link == Link::AMBIGUOUS {
                    self.find_latest(txn.0, key);
                    self.narrow(op as u32);
                }
            }
        }
        let settled_or_open = |read: &&AmbiguousRead| !observed.taken[read.reader.index()];
        let optional = observed.ambiguous.iter().filter(settled_or_open).cloned();
        self.found.open.extend(optional);
        self.found.open.sort_unstable_by_key(|read| read.op);
        let pair = |edge: &Forced| (edge.to, edge.from);
        self.found.forced.sort_unstable_by_key(pair);
        self.found.forced.dedup_by_key(|edge| pair(edge));
        self.found
    }

    #[inline]
    fn happens_before(&self, txn: u32, other: u32) -> bool {
        let session = self.observed.history.session_of(TxnId(txn));
        self.clocks.row(other)[session.index()] > txn
    }

    fn find_latest(&mut self, reader: u32, key: u32) {
        self.latest.clear();
        let row = self.clocks.row(reader);
        for (session, writers) in self.writers.of(key) {
            let seen = writers.partition_point(|&txn| txn < row[session]);
            let seen = &writers[..seen];
            let last = match seen.last() {
                Some(&last) if last == reader => seen[..seen.len() - 1].last(),
                last => last,
            };
            self.latest.extend(last);
        }
    }

    /// Everything that happens before a reader and writes its key is older than what it returned.
    fn order_before(&mut self, writer: u32, read: u32, reader: u32) {
        for at in 0..self.latest.len() {
            let from = self.latest[at];
            if from != writer && !self.happens_before(from, writer) {
                self.found.forced.push(Forced {
                    to: writer,
                    from,
                    read,
                    reader,
                    direct: false,
                });
            }
        }
    }

    /// Rules out possible writers of an ambiguous read.
    fn narrow(&mut self, op: u32) {
        let read = &self.observed.ambiguous[self.ambiguous[&op] as usize];
        let is_possible = |writer: &TxnId| {
            let overwritten =
                |&other: &u32| other != writer.0 && self.happens_before(writer.0, other);
            !self.observed.taken[writer.index()]
                || !self.happens_before(read.reader.0, writer.0)
                    && !self.latest.iter().any(overwritten)
        };
        let left: Vec<TxnId> = read.writers.iter().copied().filter(is_possible).collect();
        match left[..] {
            [writer] if self.observed.taken[writer.index()] => {
                self.found.settled.push((read.op, writer));
            }
            _ => {
                self.found.is_narrower |= left.len() < read.writers.len();
                let writers = if left.is_empty() {
                    read.writers.clone()
                } else {
                    left.into()
                };
                self.found.open.push(AmbiguousRead {
                    writers,
                    ..read.clone()
                });
            }
        }
    }
}
