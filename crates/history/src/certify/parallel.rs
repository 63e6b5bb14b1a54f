//! Orders as evidence for parallel and for non-monotonic snapshot isolation.
//!
//! **Definition.** The order of the transactions gives the version order of each key, and with it
//! the dependencies D: reads and version orders, and session order at parallel snapshot isolation.
//! The order proves the level if it extends D and no reader of a version depends on (D+) the
//! writer of a later version of that key.
//!
//! **Steps.** D contains the version orders, so of the later versions only the next one has to be
//! looked at; and that only for reads that are stale in the order. For each such reader, a search
//! goes backwards along D, no further than the oldest version in question. Where the searches take
//! too many steps, clocks answer the rest: D is covered by chains (sessions, where they count;
//! otherwise each transaction continues the chain of one it depends on, if that is still the
//! chain's last), and a clock says how much of each chain a transaction depends on.
//!
//! **Cost.** Linear in the history plus a bounded number of steps for each operation; clocks take
//! one word for each chain and dependency. Beyond the limits the evidence is refused.

use super::causal::Rows;
use super::order::Order;
use super::versions::Versions;
use super::walk::{NO_TXN, StaleRead, Walk, walk};
use super::{Refusal, name, require};
use crate::{CommitOrder, History, Initial, Level};

/// How many steps the searches may take for each operation of the history.
const STEPS_PER_OP: usize = 64;
const CHAINS_MAX: usize = 4096;
/// How many clock entries may be alive at a time: 1 GiB of them.
const ENTRIES_MAX: usize = 1 << 28;
/// How many clock entries may be looked at in all.
const CLOCK_STEPS_MAX: usize = 1 << 36;
const NEVER: u32 = 0;
const NO_CHAIN: u32 = u32::MAX;

/// Does `reader` depend on the transaction at place `newer`, whose version replaced the one read?
struct Question {
    reader: u32,
    newer: u32,
    read: StaleRead,
}

pub(super) fn check(
    history: &History,
    initial: &Initial,
    level: Level,
    order: &Order<'_>,
    evidence: &CommitOrder,
) -> Result<(), Refusal> {
    let sessions = level == Level::ParallelSnapshotIsolation;
    if sessions {
        order.check_sessions(history)?;
    }
    let mut walk = walk(history, initial, order, evidence, level)?;
    let versions = Versions::find(history, order, &mut walk)?;
    let questions = questions(order, &walk, &versions);
    let Some(last) = questions.last() else {
        return Ok(());
    };
    let depends = Dependencies::find(history, order, &walk, sessions, last.reader);
    let budget = STEPS_PER_OP * (history.op_count() + 1000);
    let found = match depends.search(&questions, budget) {
        Ok(found) => found,
        Err(rest) => {
            let last_use = depends.last_uses();
            let chains = if sessions {
                let session = |place: u32| history.session_of(order.at(place)).0;
                Chains::given((1..=last.reader).map(session), history.session_count())
            } else {
                Chains::cover(&depends, &last_use)
            };
            depends.clocks(&chains, &last_use, rest)?
        }
    };
    match found {
        None => Ok(()),
        Some(question) => Err(Refusal::new(format!(
            "{} of {} returned the version of {}, but depends on {}, which replaced that version",
            history.op_text(question.read.op),
            name(history, question.read.reader),
            name(history, question.read.writer),
            name(history, order.at(question.newer))
        ))),
    }
}

/// The questions in the order of their readers.
fn questions(order: &Order<'_>, walk: &Walk, versions: &Versions) -> Vec<Question> {
    let question = |read: &StaleRead| {
        let reader = order.place(read.reader);
        let places = versions.places(read.key);
        let next = places.partition_point(|&place| place <= order.place(read.writer));
        let newer = places.get(next).copied().filter(|&newer| newer < reader)?;
        let read = *read;
        Some(Question {
            reader,
            newer,
            read,
        })
    };
    walk.stale.iter().filter_map(question).collect()
}

/// On whom each transaction depends directly, by places in the order.
struct Dependencies {
    /// Where those of a place start in `befores`; one more at the end.
    starts: Vec<usize>,
    befores: Vec<u32>,
}

impl Dependencies {
    /// The dependencies of the places up to `end`.
    fn find(
        history: &History,
        order: &Order<'_>,
        walk: &Walk,
        sessions: bool,
        end: u32,
    ) -> Dependencies {
        let ops = history.ops();
        let mut last_writer = vec![NEVER; history.keys().limit()];
        let mut last_of_session = vec![NEVER; history.session_count()];
        let (mut starts, mut befores) = (vec![0, 0], Vec::new());
        for place in 1..=end {
            let txn = order.at(place);
            let start = befores.len();
            if sessions {
                let last = &mut last_of_session[history.session_of(txn).index()];
                befores.push(std::mem::replace(last, place));
            }
            for index in history.op_range(txn) {
                if ops.kinds[index].is_write() {
                    let last = &mut last_writer[ops.keys[index].index()];
                    befores.push(std::mem::replace(last, place));
                } else if walk.writers[index] != NO_TXN {
                    befores.push(order.place(walk.writers[index]));
                }
            }
            let mut kept = start;
            befores[start..].sort_unstable();
            for index in start..befores.len() {
                let before = befores[index];
                let again = kept > start && befores[kept - 1] == before;
                if before != NEVER && before != place && !again {
                    befores[kept] = before;
                    kept += 1;
                }
            }
            befores.truncate(kept);
            starts.push(befores.len());
        }
        Dependencies { starts, befores }
    }

    fn end(&self) -> u32 {
        (self.starts.len() - 2) as u32
    }

    fn of(&self, place: u32) -> &[u32] {
        let place = place as usize;
        &self.befores[self.starts[place]..self.starts[place + 1]]
    }

    /// The first question whose answer is yes; or, once the budget is spent, those left.
    fn search<'q>(
        &self,
        questions: &'q [Question],
        mut budget: usize,
    ) -> Result<Option<&'q Question>, &'q [Question]> {
        let mut visited_for = vec![NEVER; self.end() as usize + 1];
        let mut open: Vec<u32> = Vec::new();
        let mut done = 0;
        for of_reader in questions.chunk_by(|a, b| a.reader == b.reader) {
            let reader = of_reader[0].reader;
            let oldest = of_reader.iter().map(|question| question.newer).min();
            let oldest = oldest.unwrap_or(reader);
            open.clear();
            open.push(reader);
            while let Some(place) = open.pop() {
                let befores = self.of(place);
                if budget < befores.len() {
                    return Err(&questions[done..]);
                }
                budget -= befores.len();
                for &before in befores.iter().rev().take_while(|&&before| before >= oldest) {
                    if visited_for[before as usize] != reader {
                        visited_for[before as usize] = reader;
                        open.push(before);
                    }
                }
            }
            let is_reached = |question: &&Question| visited_for[question.newer as usize] == reader;
            if let Some(question) = of_reader.iter().find(is_reached) {
                return Ok(Some(question));
            }
            done += of_reader.len();
        }
        Ok(None)
    }

    /// The first question whose answer is yes, by clocks.
    fn clocks<'q>(
        &self,
        chains: &Chains,
        last_use: &[u32],
        questions: &'q [Question],
    ) -> Result<Option<&'q Question>, Refusal> {
        let width = chains.count;
        require!(
            width <= CHAINS_MAX
                && alive_max(last_use).saturating_mul(width) <= ENTRIES_MAX
                && self.befores.len().saturating_mul(width) <= CLOCK_STEPS_MAX,
            "the order has too many reads of old versions to re-check"
        );
        let mut rows = Rows::new(width);
        let mut clock = vec![0u32; width];
        let mut open = questions.iter().peekable();
        for place in 1..=self.end() {
            clock.fill(0);
            for &before in self.of(place).iter().rev() {
                let (chain, rank) = chains.of(before);
                // Whoever is depended on through another adds nothing.
                if clock[chain] < rank {
                    for (entry, &other) in clock.iter_mut().zip(rows.row(before)) {
                        *entry = other.max(*entry);
                    }
                }
            }
            while let Some(question) = open.next_if(|question| question.reader == place) {
                if last_use[question.newer as usize] == NEVER {
                    continue;
                }
                let (chain, rank) = chains.of(question.newer);
                if clock[chain] >= rank {
                    return Ok(Some(question));
                }
            }
            if last_use[place as usize] != NEVER {
                let (chain, rank) = chains.of(place);
                clock[chain] = rank;
                rows.keep(place, &clock);
            }
            for &before in self.of(place) {
                if last_use[before as usize] == place {
                    rows.forget(before);
                }
            }
        }
        Ok(None)
    }

    /// By place: the last place that depends on it directly.
    fn last_uses(&self) -> Vec<u32> {
        let mut last_use = vec![NEVER; self.end() as usize + 1];
        for place in 1..=self.end() {
            for &before in self.of(place) {
                last_use[before as usize] = place;
            }
        }
        last_use
    }
}

/// How many transactions at a time are still to be used.
fn alive_max(last_use: &[u32]) -> usize {
    let mut dropped_at = vec![0usize; last_use.len()];
    for &place in last_use.iter().filter(|&&place| place != NEVER) {
        dropped_at[place as usize] += 1;
    }
    let (mut alive, mut most) = (0usize, 0);
    for place in 1..last_use.len() {
        alive += usize::from(last_use[place] != NEVER);
        most = most.max(alive);
        alive -= dropped_at[place];
    }
    most
}

/// Chains: each one's transactions depend on those before them in the chain.
struct Chains {
    count: usize,
    /// By place: the chain and the rank in it, from 1.
    rows: Vec<(u32, u32)>,
}

impl Chains {
    fn of(&self, place: u32) -> (usize, u32) {
        let (chain, rank) = self.rows[place as usize];
        (chain as usize, rank)
    }

    fn given(chains: impl Iterator<Item = u32>, count: usize) -> Chains {
        let mut lengths = vec![0u32; count];
        let mut rows = vec![(NO_CHAIN, 0)];
        for chain in chains {
            lengths[chain as usize] += 1;
            rows.push((chain, lengths[chain as usize]));
        }
        Chains { count, rows }
    }

    /// Whoever nobody depends on needs no place in a chain.
    fn cover(depends: &Dependencies, last_use: &[u32]) -> Chains {
        let mut lasts: Vec<u32> = Vec::new();
        let mut rows: Vec<(u32, u32)> = vec![(NO_CHAIN, 0)];
        for place in 1..=depends.end() {
            if last_use[place as usize] == NEVER {
                rows.push((NO_CHAIN, 0));
                continue;
            }
            let befores = depends.of(place).iter().rev();
            let continued = befores
                .map(|&before| (before, rows[before as usize]))
                .find(|&(before, (chain, _))| lasts[chain as usize] == before);
            let row = match continued {
                Some((_, (chain, rank))) => (chain, rank + 1),
                None => {
                    lasts.push(place);
                    (lasts.len() as u32 - 1, 1)
                }
            };
            lasts[row.0 as usize] = place;
            rows.push(row);
        }
        let count = lasts.len();
        Chains { count, rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depends(befores: &[&[u32]]) -> Dependencies {
        let mut all = Dependencies {
            starts: vec![0, 0],
            befores: Vec::new(),
        };
        for before in befores {
            all.befores.extend_from_slice(before);
            all.starts.push(all.befores.len());
        }
        all
    }

    #[test]
    fn chains_follow_dependencies_and_leave_out_whoever_nobody_needs() {
        let depends = depends(&[&[], &[1], &[1], &[2, 3], &[4], &[]]);
        let chains = Chains::cover(&depends, &depends.last_uses());
        assert_eq!(chains.count, 2);
        assert_eq!(chains.rows[1..4], [(0, 1), (0, 2), (1, 1)]);
        assert_eq!(chains.rows[4], (1, 2));
        assert_eq!(chains.rows[5], (NO_CHAIN, 0));
        assert_eq!(alive_max(&depends.last_uses()), 3);
    }

    #[test]
    fn searches_and_clocks_give_the_same_answers() {
        let mut state = 1u32;
        let mut below = |limit: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % limit
        };
        let mut found_count = 0;
        for _ in 0..2000 {
            let count = 2 + below(9);
            let befores: Vec<Vec<u32>> = (1..=count)
                .map(|place| (1..place).filter(|_| below(4) == 0).collect())
                .collect();
            let befores: Vec<&[u32]> = befores.iter().map(Vec::as_slice).collect();
            let depends = depends(&befores);
            let mut questions: Vec<Question> = (0..3)
                .map(|_| {
                    let reader = 2 + below(count - 1);
                    question(reader, 1 + below(reader - 1))
                })
                .collect();
            questions.sort_by_key(|question| question.reader);
            let last_use = depends.last_uses();
            let chains = Chains::cover(&depends, &last_use);
            let clocks = depends.clocks(&chains, &last_use, &questions);
            let by_clocks = clocks.expect("few chains").map(|found| found.reader);
            let by_search = match depends.search(&questions, 1000) {
                Ok(found) => found.map(|found| found.reader),
                Err(_) => panic!("a large budget"),
            };
            assert_eq!(by_clocks, by_search);
            found_count += usize::from(by_search.is_some());
            let spent = depends.search(&questions, 0);
            assert!(matches!(spent, Err(_) | Ok(None)) || by_search.is_some());
        }
        assert!(found_count > 300 && found_count < 1700, "{found_count}");
    }

    fn question(reader: u32, newer: u32) -> Question {
        let read = StaleRead {
            reader: crate::TxnId(reader),
            op: crate::OpId(0),
            key: crate::KeyId(0),
            version: crate::ValueCode::ZERO,
            writer: crate::TxnId(0),
        };
        Question {
            reader,
            newer,
            read,
        }
    }
}
