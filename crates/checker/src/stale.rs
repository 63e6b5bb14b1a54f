//! What stale reads demand: for each, the writers of its key that come after the version read and
//! that the reader must have seen. Each of them contradicts the order at hand.
//!
//! Candidates are the writers of the key between the version read and the reader. Mostly there is
//! one, which the schedule has noted; otherwise the key's writers are collected by place. `causal`
//! answers for causality, `sight` for what sessions have read; `direct` decides read-committed and
//! read-atomic without this.

use crate::Budget;
use crate::budget::Limit;
use crate::causal::Causality;
use crate::observe::{Link, Observed};
use crate::order::{Forced, StaleRead};
use crate::rounds::Contradictions;
use crate::rule::Rule;
use crate::sight;
use crate::visible::Visible;
use crate::writers::Writers;
use history::TxnId;
use std::ops::Range;

/// The stale reads of one decision, round after round.
pub struct StaleReads<'a> {
    observed: &'a Observed<'a>,
    rule: Rule,
    visible: Visible<'a>,
    causality: Causality<'a>,
    /// The writers of every key, from the last round.
    writers: Option<Writers>,
}

impl<'a> StaleReads<'a> {
    pub fn new(observed: &'a Observed<'a>, rule: Rule) -> StaleReads<'a> {
        StaleReads {
            observed,
            rule,
            visible: Visible::new(observed, rule),
            causality: Causality::new(observed),
            writers: None,
        }
    }

    /// The edges that stale reads force in an order with these places. The reads of one reader lie
    /// next to each other, and readers are in order.
    pub fn contradictions(
        &mut self,
        order: &[u32],
        place: &[u32],
        stale: &[StaleRead],
        budget: &Budget<'_>,
    ) -> Result<Contradictions, Limit> {
        let known = self.writers.take();
        let known = known.and_then(|writers| writers.turned_to(place));
        let writers = known.unwrap_or_else(|| self.writers((order, place), stale));
        let writers = self.writers.insert(writers);
        let mut search = Search {
            observed: self.observed,
            place,
            writers,
            visible: &mut self.visible,
            found: Contradictions::default(),
        };
        if matches!(self.rule, Rule::MonotonicReads | Rule::WritesFollowReads) {
            search.by_sight(self.rule, order, stale, budget)?;
            return Ok(search.found);
        }
        let groups = stale.chunk_by(|a, b| a.reader == b.reader);
        if self.rule == Rule::Causal {
            self.causality.all(order, groups, budget, &mut search)?;
            return Ok(search.found);
        }
        for (count, stale) in groups.enumerate() {
            if count % 1024 == 0 {
                budget.check("stale reads")?;
            }
            search.reader(stale);
        }
        Ok(search.found)
    }

    /// The writers of keys with several versions in question.
    fn writers(&self, order: (&[u32], &[u32]), stale: &[StaleRead]) -> Writers {
        let looked_up = matches!(self.rule, Rule::ReadYourWrites | Rule::MonotonicWrites);
        let several_matter = self.rule == Rule::Causal;
        let keys = &self.observed.history.ops().keys;
        let several = stale
            .iter()
            .filter(|read| looked_up || (several_matter && read.between == StaleRead::SEVERAL))
            .map(|read| keys[read.op as usize].0);
        Writers::of_keys(
            self.observed,
            several,
            (self.rule == Rule::Causal).then_some(order),
        )
    }
}

/// The search for forced edges in one round.
pub struct Search<'s, 'a> {
    pub observed: &'a Observed<'a>,
    pub place: &'s [u32],
    writers: &'s Writers,
    pub visible: &'s mut Visible<'a>,
    found: Contradictions,
}

impl Search<'_, '_> {
    /// What sessions have read, for the rules that ask for it.
    pub fn by_sight(
        &mut self,
        rule: Rule,
        order: &[u32],
        stale: &[StaleRead],
        budget: &Budget<'_>,
    ) -> Result<(), Limit> {
        let order = (order, self.place);
        for (read, t2) in sight::later_seen(self.observed, rule, order, stale, budget)? {
            let read = stale[read as usize];
            self.visible.turn_to(read.reader);
            self.add(read, t2);
            self.found.open.push(read);
        }
        Ok(())
    }

    /// Leaves reads to the next round.
    pub fn leave_open(&mut self, stale: &[StaleRead]) {
        self.found.open.extend_from_slice(stale);
    }

    /// Whether anything was found so far.
    pub fn has_found(&self) -> bool {
        !self.found.forced.is_empty() || !self.found.initial.is_empty()
    }

    /// All stale reads of one reader.
    fn reader(&mut self, stale: &[StaleRead]) {
        match self.visible.rule() {
            Rule::ReadYourWrites | Rule::MonotonicWrites => {
                self.visible.begin(stale[0].reader);
                stale.iter().for_each(|&read| self.look_up(read));
            }
            // Answered by `direct`, `sight` and `causal`.
            Rule::ReadCommitted
            | Rule::ReadAtomic
            | Rule::MonotonicReads
            | Rule::WritesFollowReads
            | Rule::Causal => {}
        }
    }

    fn key(&self, read: &StaleRead) -> u32 {
        self.observed.history.ops().keys[read.op as usize].0
    }

    /// The place of the version read; none for the initial version.
    fn place_read(&self, stale: &StaleRead) -> Option<u32> {
        let link = self.observed.links[stale.op as usize];
        Link::is_txn(link).then(|| self.place[link as usize])
    }

    /// The versions between the one read and the reader, oldest first.
    pub fn candidates<'c>(&'c self, read: &'c StaleRead) -> &'c [u32] {
        if read.between != StaleRead::SEVERAL {
            return std::slice::from_ref(&read.between);
        }
        let (after, before) = (self.place_read(read), self.place[read.reader as usize]);
        let key = self.key(read);
        self.writers.between(key, after, before)
    }

    /// Those of them that are at these places.
    pub fn candidates_in<'c>(&'c self, read: &'c StaleRead, places: Range<u32>) -> &'c [u32] {
        if read.between != StaleRead::SEVERAL {
            let is_there = places.contains(&self.place[read.between as usize]);
            return &std::slice::from_ref(&read.between)[..usize::from(is_there)];
        }
        let after = self.place_read(read).max(places.start.checked_sub(1));
        let before = self.place[read.reader as usize].min(places.end);
        self.writers.between(self.key(read), after, before)
    }

    /// The last writer of a read's key in a session (given by its first transaction) before
    /// `limit`; the read has several versions in question.
    pub fn last_in_session(&self, read: &StaleRead, start: u32, limit: u32) -> Option<u32> {
        self.writers.last_in_session(self.key(read), start, limit)
    }

    /// Adds what a read forces; the reader is the current one.
    pub fn add(&mut self, stale: StaleRead, from: u32) {
        let to = self.observed.links[stale.op as usize];
        if to == Link::INITIAL {
            self.found.initial.push((stale, from));
            return;
        }
        let key = self.key(&stale);
        let direct = self.visible.read_of_other_key(from, key).is_some();
        self.found.forced.push(Forced {
            to,
            from,
            read: stale.op,
            reader: stale.reader,
            direct,
        });
    }

    /// For read-your-writes and monotonic writes: the last writer of the key in the own session,
    /// or in each session that the reader read from.
    fn look_up(&mut self, stale: StaleRead) {
        let history = self.observed.history;
        self.look_up_session(stale);
        if self.visible.rule() == Rule::MonotonicWrites {
            for at in 0..self.visible.read_from.len() {
                let (writer, _) = self.visible.read_from[at];
                let session = history.session_txns(history.session_of(TxnId(writer)));
                let last = self.last_in_session(&stale, session.start, writer);
                self.add_if_seen(stale, last);
            }
        }
    }

    fn look_up_session(&mut self, stale: StaleRead) {
        let history = self.observed.history;
        let session = history.session_txns(history.session_of(TxnId(stale.reader)));
        let last = self.last_in_session(&stale, session.start, stale.reader);
        self.add_if_seen(stale, last);
    }

    fn add_if_seen(&mut self, stale: StaleRead, t2: Option<u32>) {
        let version = self.observed.links[stale.op as usize];
        if let Some(t2) = t2.filter(|&t2| t2 != stale.reader && t2 != version)
            && self.visible.sees(t2, stale.op)
        {
            self.add(stale, t2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::by_blocks;
    use crate::causal::near_readers;
    use crate::observe::observe;
    use crate::order::schedule;
    use crate::reach::{self, Asked};
    use crate::rounds::places;
    use crate::windows::tests::random_history;
    use history::{Initial, KeyOrder};
    use std::collections::BTreeSet;

    /// The reads that are contradicted.
    fn reads(found: &Contradictions) -> BTreeSet<u32> {
        let forced = found.forced.iter().map(|edge| edge.read);
        forced
            .chain(found.initial.iter().map(|(read, _)| read.op))
            .collect()
    }

    #[test]
    fn what_sessions_reach_blocks_and_near_ancestors_contradict_as_clocks_do() {
        let budget = Budget::default();
        let mut contradicted = 0;
        for seed in 0..300 {
            let history = random_history(seed, 10 + seed % 90);
            let observed = observe(&history, &Initial::default(), KeyOrder::Free, &budget);
            let Ok(observed) = observed else { continue };
            let first = schedule(&observed, &[]);
            let (order, place) = (&first.order[..], &places(&observed, &first.order)[..]);
            if !first.complete {
                continue;
            }
            let mut stale_reads = StaleReads::new(&observed, Rule::Causal);
            let by_clocks = stale_reads.contradictions(order, place, &first.stale, &budget);
            let writers = stale_reads.writers((order, place), &first.stale);
            let mut search = Search {
                observed: &observed,
                place,
                writers: &writers,
                visible: &mut stale_reads.visible,
                found: Contradictions::default(),
            };
            let groups = first.stale.chunk_by(|a, b| a.reader == b.reader);
            let asked: Vec<Asked<'_>> = groups
                .map(|stale| {
                    let first = |read| search.candidates(read).first().copied();
                    let oldest = stale.iter().filter_map(first);
                    Asked {
                        stale,
                        oldest: oldest.map(|txn| place[txn as usize]).min().unwrap_or(0) as usize,
                        at: place[stale[0].reader as usize] as usize,
                    }
                })
                .collect();
            let found = reach::by_sessions(order, &asked, &budget, &mut search);
            assert!(found.is_ok(), "seed {seed}");
            let by_clocks = by_clocks.map(|found| reads(&found)).unwrap_or_default();
            contradicted += by_clocks.len();
            assert_eq!(reads(&search.found), by_clocks, "seed {seed}");
            search.found = Contradictions::default();
            let found = by_blocks(order, &asked, &budget, &mut search);
            assert!(found.is_ok(), "seed {seed}");
            assert_eq!(reads(&search.found), by_clocks, "seed {seed}");
            search.found = Contradictions::default();
            let found = near_readers(&observed, order, &asked, &budget, &mut search);
            assert!(found.is_ok(), "seed {seed}");
            assert_eq!(reads(&search.found), by_clocks, "seed {seed}");
        }
        assert!(contradicted > 300, "{contradicted} reads contradicted");
    }
}
