//! Whether a first order already obeys what reads force under read-committed and read-atomic.
//!
//! Definition: as in `direct`. A writer that a reader has seen directly and that writes the key of a
//! stale read goes before the version read. The order disobeys only if that writer comes *after* the
//! version in it.
//!
//! Steps: for each stale read, go through what the reader read from, take those that come after the
//! version read, and look for the key among what they write. With many stale reads, two words for each
//! transaction with a bit for each key that it writes answer mostly; these are looked up once for all stale reads of
//! a reader. Under read-atomic, also ask for the last
//! writer of the key in the reader's own session. The first that is found ends it: `direct` then asks
//! for all that reads force. Where versions in question are recent, as on hot keys, hardly anything
//! comes after them, so this is much less than what `direct` collects.
//!
//! Cost: linear in the operations; what would take more is left to `direct`, which takes the smaller
//! side of each pair. 4 bytes a transaction, 12 more with many stale reads, 4 a key under read-atomic.

use crate::Budget;
use crate::budget::Limit;
use crate::observe::{Link, Observed};
use crate::order::{Schedule, StaleRead};
use crate::rounds::places;
use crate::rule::Rule;
use history::{KeyId, TxnId};
use std::ops::BitOr;

/// Operations looked at, for each one of the history, before this is given up.
const EFFORT: usize = 16;

/// Stale reads are many if they are more than one in so many operations.
const MANY_STALE: usize = 16;

/// Whether the order obeys all that reads force; false also where that takes too long to tell.
pub fn obeys(
    observed: &Observed<'_>,
    rule: Rule,
    first: &Schedule,
    budget: &Budget<'_>,
) -> Result<bool, Limit> {
    let place = places(observed, &first.order);
    let told = told(observed, &place, first.stale.len());
    let mut asking = Asking {
        observed,
        rule,
        // What is told of a transaction has its place, too.
        place: if told.is_empty() { place } else { Vec::new() },
        told,
        near: Vec::new(),
        effort: EFFORT * observed.links.len(),
    };
    for (count, stale) in first.stale.chunk_by(same_reader).enumerate() {
        if count % 1024 == 0 {
            budget.check("stale reads")?;
        }
        if asking.disobeys(stale) {
            return Ok(false);
        }
    }
    Ok(rule != Rule::ReadAtomic || asking.sessions_obey(&first.stale))
}

fn same_reader(a: &StaleRead, b: &StaleRead) -> bool {
    a.reader == b.reader
}

/// What is told at once of a transaction that was read from.
#[derive(Clone, Copy, Default)]
struct Told {
    /// The place behind it in the order; 0 if it has none.
    behind: u32,
    /// The bits of the keys that it writes.
    keys: Bits,
}

/// Two bits for a key, one in each word: a key that is none of ten others is taken for one of them once in fourteen times.
#[derive(Clone, Copy, Default)]
struct Bits([u32; 2]);

impl Bits {
    #[inline]
    fn of(key: u32) -> Bits {
        let mixed = key.wrapping_mul(0x9E37_79B1);
        Bits([1 << (mixed >> 27), 1 << (mixed >> 22 & 31)])
    }

    /// With those of an operation if that is a write, which is a coin toss: nothing branches on it.
    #[inline]
    fn with(self, key: u32, link: u32) -> Bits {
        let mask = u32::from(link == Link::WRITE).wrapping_neg();
        let more = Bits::of(key);
        Bits([
            self.0[0] | (more.0[0] & mask),
            self.0[1] | (more.0[1] & mask),
        ])
    }

    #[inline]
    fn may_have(self, key: Bits) -> bool {
        (self.0[0] & key.0[0] != 0) & (self.0[1] & key.0[1] != 0)
    }
}

/// By transaction, with one more at the end for operations that read from none; empty where stale reads are few.
fn told(observed: &Observed<'_>, place: &[u32], stale_count: usize) -> Vec<Told> {
    if stale_count <= observed.links.len() / MANY_STALE {
        return Vec::new();
    }
    let history = observed.history;
    let tell = |txn: TxnId| {
        let range = history.op_range(txn);
        let keys = history.ops().keys[range.clone()].iter();
        let ops = keys.zip(&observed.links[range]);
        Told {
            behind: place[txn.index()].wrapping_add(1),
            keys: ops.fold(Bits::default(), |all, (key, &link)| all.with(key.0, link)),
        }
    };
    let nobody = Told::default();
    history.txn_ids().map(tell).chain([nobody]).collect()
}

struct Asking<'a> {
    observed: &'a Observed<'a>,
    rule: Rule,
    /// By transaction; empty if more is told.
    place: Vec<u32>,
    told: Vec<Told>,
    /// For each operation of the reader at hand: what is told of the transaction that it read from.
    near: Vec<Told>,
    /// Operations that may still be looked at.
    effort: usize,
}

impl Asking<'_> {
    /// Whether one of a reader's stale reads contradicts the order, or the effort is used up.
    fn disobeys(&mut self, stale: &[StaleRead]) -> bool {
        let (observed, history) = (self.observed, self.observed.history);
        let all = history.op_range(TxnId(stale[0].reader));
        self.come_near(&observed.links[all.clone()]);
        for read in stale {
            let mut seen = all.clone();
            if self.rule == Rule::ReadCommitted {
                seen.end = read.op as usize;
            }
            let key = history.ops().keys[read.op as usize];
            let after = self.place_behind(read.op);
            self.effort = self.effort.saturating_sub(seen.len());
            if !self.may_disobey(seen.len(), after, key) {
                continue;
            }
            for &writer in &observed.links[seen.clone()] {
                if self.is_from(writer, after) && (self.effort == 0 || self.writes(writer, key)) {
                    return true;
                }
            }
        }
        self.effort == 0
    }

    /// Looks up whom a reader read from, once for all its stale reads.
    fn come_near(&mut self, links: &[u32]) {
        self.near.clear();
        let Some(nobody) = self.told.len().checked_sub(1) else {
            return;
        };
        // Links that are no transactions lie beyond the last.
        let told = |&link: &u32| self.told[(link as usize).min(nobody)];
        self.near.extend(links.iter().map(told));
    }

    /// Whether one of the first operations may be a read from somebody who writes this key and comes at this place
    /// or behind it. Where that is so is a coin toss, so nothing branches on it.
    #[inline]
    fn may_disobey(&self, count: usize, after: u32, key: KeyId) -> bool {
        let wanted = Bits::of(key.0);
        let may = |told: &Told| (told.behind > after) & told.keys.may_have(wanted);
        self.near.is_empty() || self.near[..count].iter().map(may).fold(false, BitOr::bitor)
    }

    /// The place behind the version that a read returned; the initial version comes before all.
    #[inline]
    fn place_behind(&self, read: u32) -> u32 {
        self.behind(self.observed.links[read as usize]).unwrap_or(0)
    }

    /// The place behind a transaction, if the link is to one.
    #[inline]
    fn behind(&self, link: u32) -> Option<u32> {
        match self.told.is_empty() {
            true => self
                .place
                .get(link as usize)
                .map(|&place| place.wrapping_add(1)),
            false => self.told.get(link as usize).map(|told| told.behind),
        }
    }

    /// Whether a link is to a transaction at this place or behind it.
    #[inline]
    fn is_from(&self, link: u32, place: u32) -> bool {
        self.behind(link).is_some_and(|behind| behind > place)
    }

    #[inline]
    fn writes(&mut self, writer: u32, key: KeyId) -> bool {
        let told = self.told.get(writer as usize);
        if told.is_some_and(|told| !told.keys.may_have(Bits::of(key.0))) {
            return false;
        }
        let range = self.observed.history.op_range(TxnId(writer));
        self.effort = self.effort.saturating_sub(range.len());
        let keys = &self.observed.history.ops().keys[range.clone()];
        let links = &self.observed.links[range];
        // Without an early end, several operations are compared at once.
        let is_write = |(&written, &link)| (written == key) & (link == Link::WRITE);
        keys.iter()
            .zip(links)
            .map(is_write)
            .fold(false, BitOr::bitor)
    }

    /// Whether no stale read comes from before the last write of its own session to its key.
    fn sessions_obey(&self, stale: &[StaleRead]) -> bool {
        let history = self.observed.history;
        // By reader, the end of its reads, which are next to each other.
        let mut ends = vec![0; history.txn_count()];
        for (at, read) in stale.iter().enumerate() {
            ends[read.reader as usize] = at + 1;
        }
        // Of whatever session: those of earlier ones have smaller numbers than the first of this one.
        let mut last = vec![u32::MAX; history.keys().limit()];
        let mut buffer = Vec::new();
        for txn in history
            .txn_ids()
            .filter(|txn| self.observed.taken[txn.index()])
        {
            let start = history.session_txns(history.session_of(txn)).start;
            let to_end = stale[..ends[txn.index()]].iter().rev();
            for read in to_end.take_while(|read| read.reader == txn.0) {
                let writer = last[history.ops().keys[read.op as usize].index()];
                let is_own = writer != u32::MAX && writer >= start;
                if is_own && self.is_from(writer, self.place_behind(read.op)) {
                    return false;
                }
            }
            for &key in self.observed.written(txn, &mut buffer) {
                last[key as usize] = txn.0;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::direct::tests::obeys_all;
    use crate::hinted;
    use crate::observe::observe;
    use crate::windows::tests::random_history;
    use history::{Initial, KeyOrder};

    #[test]
    fn an_order_is_taken_just_where_it_obeys_all_that_reads_force() {
        let budget = Budget::default();
        let mut verdicts = [0, 0];
        for seed in 0..600 {
            let history = random_history(seed, 4 + seed % 40);
            let observed = observe(&history, &Initial::default(), KeyOrder::Free, &budget);
            let Ok(observed) = observed else { continue };
            let first = hinted::first(&observed);
            if !first.complete {
                continue;
            }
            for rule in [Rule::ReadCommitted, Rule::ReadAtomic] {
                let all = obeys_all(&observed, rule, &first.order);
                let told = obeys(&observed, rule, &first, &budget);
                assert!(
                    matches!(told, Ok(told) if told == all),
                    "seed {seed}, {rule:?}"
                );
                verdicts[usize::from(all)] += 1;
            }
        }
        assert!(verdicts[0] > 100 && verdicts[1] > 100, "{verdicts:?}");
    }
}
