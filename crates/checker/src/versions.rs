//! What causality forces and what contradicts it, version by version, where all rows of clocks are at hand.
//!
//! Definition: a version is what one transaction wrote to one key. All who read it had to see, of each session, the
//! writers of the key up to some transaction; the last of these stands for the others, and the readers together have seen
//! what the entries' largest say. So a version has one forced edge for each session at most, however many read it.
//!
//! Steps: reads are grouped by the version they returned. For the forced edges, the rows of a version's readers are
//! joined, and each session that writes the key is asked for the last writer up to there, unless it happens before the
//! version anyway. For the instances, each read is asked for one writer that happens after its version and one that
//! contradicts it only together with others, and no further once it has both, unless all instances so far are few. Only a
//! read that is stale in an order along so ∪ wr can have one of the first kind.
//!
//! Cost: a row for each read, and a binary search for each version and session that writes its key. `saturate` asks
//! for each read and session, and keeps few rows.

use crate::Budget;
use crate::budget::Limit;
use crate::clocks::{AllRows, Count, RowsOf, join};
use crate::graph::Components;
use crate::instances::Instances;
use crate::observe::{Link, Observed};
use crate::order::Forced;
use crate::shared_keys::READS_MAX;
use crate::windows::Stale;
use crate::writers::{BySession, Writers};
use history::{SessionId, TxnId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;

/// After so many versions it is asked whether to go on.
const ASKED: usize = 1024;

/// After so many reads it is: one version can have them all.
const READS_ASKED: usize = 1 << 14;

/// The versions that were read, with their readers.
struct Versions<'a, C> {
    observed: &'a Observed<'a>,
    rows: &'a RowsOf<C>,
    by_session: BySession<'a>,
    /// By writer, where its reads begin.
    starts: Vec<u32>,
    /// By writer and key.
    reads: Vec<Read>,
    large: RefCell<LargeReaders>,
}

/// A read and its transaction.
#[derive(Clone, Copy)]
struct Read {
    key: u32,
    op: u32,
    reader: u32,
}

/// [`Versions`] of any size of entries.
pub trait ByVersion {
    /// Calls `found` for the forced edges of the reads that are wanted, one a version and session: those for whose
    /// version and operation `wanted` holds. The edges name any of the version's reads: see `with_reader`.
    fn edges(
        &self,
        wanted: &dyn Fn(u32, u32) -> bool,
        budget: &Budget<'_>,
        found: &mut dyn FnMut(Forced),
    ) -> Result<(), Limit>;
    /// The same edge with a read that forces it.
    fn with_reader(&self, edge: &Forced) -> Forced;
    /// Adds what contradicts each read of a version on a cycle, other than what its reader read from itself; and each
    /// stale read of an initial version. The places of transactions in an order along so ∪ wr, and which reads are stale
    /// in it, tell most others apart.
    fn instances(
        &self,
        components: &Components,
        order: (&[u32], &Stale),
        budget: &Budget<'_>,
        instances: &mut Instances,
    ) -> Result<(), Limit>;
}

/// The versions of a history with these rows; `writers` are those of all keys that are read.
pub fn by_version<'a>(
    observed: &'a Observed<'a>,
    rows: &'a AllRows,
    writers: &'a Writers,
) -> Box<dyn ByVersion + 'a> {
    match rows {
        AllRows::Bytes(rows) => Box::new(Versions::new(observed, rows, writers)),
        AllRows::Shorts(rows) => Box::new(Versions::new(observed, rows, writers)),
        AllRows::Words(rows) => Box::new(Versions::new(observed, rows, writers)),
    }
}

impl<'a, C: Count> Versions<'a, C> {
    /// `writers` are those of all keys that are read.
    fn new(
        observed: &'a Observed<'a>,
        rows: &'a RowsOf<C>,
        writers: &'a Writers,
    ) -> Versions<'a, C> {
        let history = observed.history;
        let mut starts = vec![0u32; history.txn_count() + 1];
        let taken = || history.txn_ids().filter(|txn| observed.taken[txn.index()]);
        for txn in taken() {
            let links = observed.links[history.op_range(txn)].iter();
            for &link in links.filter(|&&link| Link::is_txn(link)) {
                starts[link as usize + 1] += 1;
            }
        }
        for txn in 0..history.txn_count() {
            starts[txn + 1] += starts[txn];
        }
        let (key, op, reader) = (0, 0, 0);
        let mut reads = vec![Read { key, op, reader }; starts[history.txn_count()] as usize];
        let mut next = starts.clone();
        for txn in taken() {
            for (op, key, writer) in observed.reads(txn) {
                let place = &mut next[writer.index()];
                let (key, op, reader) = (key.0, op.0, txn.0);
                reads[*place as usize] = Read { key, op, reader };
                *place += 1;
            }
        }
        for range in starts.windows(2) {
            reads[range[0] as usize..range[1] as usize].sort_by_key(|read| read.key);
        }
        let by_session = writers.by_session(observed);
        Versions {
            observed,
            rows,
            by_session,
            starts,
            reads,
            large: RefCell::default(),
        }
    }

    /// The reads of each version, with its writer.
    fn each(&self) -> impl Iterator<Item = (u32, &[Read])> {
        let groups = |(txn, range): (usize, &[u32])| {
            let reads = &self.reads[range[0] as usize..range[1] as usize];
            let groups = reads.chunk_by(|one, other| one.key == other.key);
            groups.map(move |group| (txn as u32, group))
        };
        self.starts.windows(2).enumerate().flat_map(groups)
    }

    /// Those of a session's writers that are among its first transactions, so many of them.
    fn seen<'w>(&self, session: usize, writers: &'w [u32], count: C) -> &'w [u32] {
        let start = self
            .observed
            .history
            .session_txns(SessionId(session as u32))
            .start;
        let limit = start + count.into();
        match writers[0] < limit {
            true => &writers[..writers.partition_point(|&txn| txn < limit)],
            false => &[],
        }
    }

    fn forced(&self, to: u32, from: u32, read: &Read, direct: bool) -> Forced {
        Forced {
            to,
            from,
            read: read.op,
            reader: read.reader,
            direct,
        }
    }

    fn of_read(
        &self,
        version: u32,
        read: &Read,
        (components, place): (&Components, &[u32]),
        is_stale: bool,
        instances: &mut Instances,
    ) {
        let row = self.rows.row(read.reader);
        let counts = |txn: &&u32| {
            **txn != version && **txn != read.reader && !self.reads_directly(read, **txn)
        };
        let on_cycle = |txn: u32| components.same(txn, version);
        // The place is known at once, and the row lies far away.
        let is_after = |txn: u32| {
            place[txn as usize] > place[version as usize] && self.rows.precedes(version, txn)
        };
        let (mut wants_plain, mut wants_other) = (is_stale, true);
        for (session, writers) in self.by_session.of(read.key) {
            let seen = self.seen(session, writers, row[session]);
            if !wants_other && !seen.last().is_some_and(|&last| is_after(last)) {
                continue;
            }
            let Some(at) = seen.iter().rposition(|txn| counts(&txn)) else {
                continue;
            };
            let (seen, last) = (&seen[..=at], seen[at]);
            if !on_cycle(last) {
                continue;
            }
            if wants_plain && is_after(last) {
                wants_plain = instances.are_few();
                instances.add(&self.forced(version, last, read, false), true);
            }
            if wants_other {
                // Those on the cycle are neighbours: session order connects the ones in between. What happens after the
                // version has only such behind it.
                let from = seen.partition_point(|&txn| !on_cycle(txn));
                let first = seen[from..].iter().find(counts).copied().unwrap_or(last);
                if !is_after(first) {
                    wants_other = instances.are_few();
                    instances.add(&self.forced(version, first, read, false), false);
                }
            }
            if !wants_plain && !wants_other {
                break;
            }
        }
    }

    /// Whether the reader read another key from a transaction.
    fn reads_directly(&self, read: &Read, txn: u32) -> bool {
        let range = self.observed.history.op_range(TxnId(read.reader));
        if range.len() > READS_MAX {
            return self
                .large
                .borrow_mut()
                .read_other_key(self.observed, read, txn);
        }
        let keys = self.observed.history.ops().keys[range.clone()].iter();
        let mut links = self.observed.links[range].iter().zip(keys);
        links.any(|(&link, key)| (link == txn) & (key.0 != read.key))
    }

    fn of_initial(&self, reader: u32, op: u32, instances: &mut Instances) {
        let key = self.observed.history.ops().keys[op as usize].0;
        let row = self.rows.row(reader);
        let seen = |(session, writers)| {
            let mut seen = self.seen(session, writers, row[session]).iter();
            seen.rfind(|&&txn| txn != reader).copied()
        };
        let found = self.by_session.of(key).find_map(seen);
        let read = Read { key, op, reader };
        found.into_iter().for_each(|from| {
            instances.add_initial(&self.forced(TxnId::INITIAL.0, from, &read, false));
        });
    }
}

/// What large readers read from whom, noted when it is first asked: looking through all their operations for each read
/// and writer would be quadratic.
#[derive(Default)]
struct LargeReaders {
    noted: FxHashSet<u32>,
    /// By reader and transaction, the key that was read; [`SEVERAL_KEYS`] if there are others.
    keys: FxHashMap<(u32, u32), u32>,
}

const SEVERAL_KEYS: u32 = u32::MAX;

impl LargeReaders {
    fn read_other_key(&mut self, observed: &Observed<'_>, read: &Read, txn: u32) -> bool {
        if self.noted.insert(read.reader) {
            for (_, key, writer) in observed.reads(TxnId(read.reader)) {
                let known = self.keys.entry((read.reader, writer.0)).or_insert(key.0);
                if *known != key.0 {
                    *known = SEVERAL_KEYS;
                }
            }
        }
        let known = self.keys.get(&(read.reader, txn));
        known.is_some_and(|&key| key != read.key)
    }
}

impl<C: Count> ByVersion for Versions<'_, C> {
    fn edges(
        &self,
        wanted: &dyn Fn(u32, u32) -> bool,
        budget: &Budget<'_>,
        found: &mut dyn FnMut(Forced),
    ) -> Result<(), Limit> {
        let mut joined = vec![C::default(); self.observed.history.session_count()];
        for (count, (version, reads)) in self.each().enumerate() {
            if count % ASKED == 0 {
                budget.check("forced edges")?;
            }
            let mine = || reads.iter().filter(|read| wanted(version, read.op));
            let Some(any) = mine().next() else { continue };
            joined.fill(C::default());
            for read in mine() {
                // The reader itself is no other writer, but those before it in its session are.
                let (session, own) = self.rows.number(read.reader);
                let known = joined[session];
                join(&mut joined, self.rows.row(read.reader));
                joined[session] = known.max(C::of(own.into() - 1));
            }
            for (session, writers) in self.by_session.of(reads[0].key) {
                let last = self.seen(session, writers, joined[session]).last();
                let Some(&last) = last.filter(|&&last| !self.rows.precedes(last, version)) else {
                    continue;
                };
                found(self.forced(version, last, any, false));
            }
        }
        Ok(())
    }

    fn with_reader(&self, edge: &Forced) -> Forced {
        let key = self.observed.history.ops().keys[edge.read as usize].0;
        let range =
            self.starts[edge.to as usize] as usize..self.starts[edge.to as usize + 1] as usize;
        let (session, number) = self.rows.number(edge.from);
        let saw = |read: &&Read| {
            let saw = self.rows.row(read.reader)[session] >= number;
            read.key == key && read.reader != edge.from && saw
        };
        let read = self.reads[range].iter().find(saw);
        read.map_or(*edge, |read| self.forced(edge.to, edge.from, read, false))
    }

    fn instances(
        &self,
        components: &Components,
        order: (&[u32], &Stale),
        budget: &Budget<'_>,
        instances: &mut Instances,
    ) -> Result<(), Limit> {
        let (place, stale) = order;
        let mut count = 0;
        for (version, reads) in self.each() {
            let component = components.of[version as usize] as usize;
            if components
                .sizes
                .get(component)
                .is_some_and(|&size| size > 1)
            {
                for read in reads {
                    if count % READS_ASKED == 0 {
                        budget.check("classifying")?;
                    }
                    count += 1;
                    let is_stale = stale.has(read.op);
                    self.of_read(version, read, (components, place), is_stale, instances);
                }
            }
        }
        let history = self.observed.history;
        let taken = |txn: &TxnId| self.observed.taken[txn.index()];
        for txn in history.txn_ids().filter(taken) {
            for op in history.op_range(txn) {
                if self.observed.links[op] == Link::INITIAL && stale.has(op as u32) {
                    self.of_initial(txn.0, op as u32, instances);
                }
            }
        }
        Ok(())
    }
}
