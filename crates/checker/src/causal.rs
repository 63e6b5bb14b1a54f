//! Stale reads under causality: which writers of the key, later than the version read, happen
//! before the reader.
//!
//! Mostly the versions in question are near the reader, and a walk along the order knows the
//! ancestors of each transaction among the last few thousand (`ancestors`). For the readers with an
//! older version in question clocks tell: all rows where they fit, else a walk that keeps few. With
//! few such readers the reader's ancestors are searched back to the oldest version in question; with
//! so many sessions that clocks are impossible, those of all readers of a session together (`reach`),
//! or those of all readers at once as bits (`blocks`), whichever is less.
//!
//! Cost: linear, with up to 128 words for each read (near); O(sessions) for each read (clocks); a
//! search is as long as the order between the oldest version in question and the reader.

use crate::Budget;
use crate::ancestors::{Ancestors, WIDTH_MAX};
use crate::blocks;
use crate::budget::Limit;
use crate::clocks::{self, AllRows, Count, RowsOf};
use crate::observe::Observed;
use crate::order::StaleRead;
use crate::reach::{self, Asked};
use crate::rule::Rule;
use crate::stale::Search;
use history::{SessionId, TxnId};

/// What is kept from round to round.
pub struct Causality<'a> {
    observed: &'a Observed<'a>,
    rows: Option<AllRows>,
}

/// A search is worth so many entries of clock rows; a few are always worth a try. One that finds
/// more ancestors than this is given up for clocks.
const ROW_ENTRIES_A_SEARCH: usize = 8192;
const FEW_SEARCHES: usize = 2;
const ANCESTORS_MAX: usize = 4096;

/// A step of a search, which looks up what lies far apart, is worth so many words of bits.
const WORDS_A_STEP: u64 = 16;

/// With so few sessions, or where all clock rows take so few bytes, clocks cost less than anything
/// else.
const FEW_SESSIONS: usize = 128;
const FEW_BYTES: usize = 16 << 20;

/// So many writers that contradict one read are enough for a round.
const MANY: usize = 8;

/// A window longer than this many sessions is not walked: each session is asked for its last
/// writer instead.
const LONG_WINDOW: usize = 8;

impl<'a> Causality<'a> {
    pub fn new(observed: &'a Observed<'a>) -> Causality<'a> {
        Causality {
            observed,
            rows: None,
        }
    }

    /// Finds what the stale reads of all readers force.
    pub fn all<'s>(
        &mut self,
        order: &[u32],
        groups: impl Iterator<Item = &'s [StaleRead]>,
        budget: &Budget<'_>,
        search: &mut Search<'_, '_>,
    ) -> Result<(), Limit> {
        let (mut near, mut far) = (Vec::new(), Vec::new());
        let by_clocks = self.observed.history.session_count() <= FEW_SESSIONS
            || clocks::all_rows_bytes(self.observed) <= FEW_BYTES;
        if by_clocks && self.rows.is_none() {
            self.rows = AllRows::new(self.observed, order);
        }
        if let Some(rows) = &self.rows {
            budget.check("stale reads")?;
            groups.for_each(|stale| by_row(stale, rows, search));
            return Ok(());
        }
        for stale in groups {
            let candidates = stale
                .iter()
                .filter_map(|read| search.candidates(read).first());
            let places = candidates.map(|&first| search.place[first as usize] as usize);
            let at = search.place[stale[0].reader as usize] as usize;
            let Some(oldest) = places.min() else { continue };
            let asked = Asked { stale, oldest, at };
            if at - oldest < WIDTH_MAX {
                near.push(asked);
            } else {
                far.push(asked);
            }
        }
        near_readers(self.observed, order, &near, budget, search)?;
        self.far_readers(order, &far, budget, search)
    }

    /// Answers for few readers by searches; returns the readers that are left to clocks.
    fn search_far<'f, 's>(
        &self,
        far: &'f [Asked<'s>],
        budget: &Budget<'_>,
        search: &mut Search<'_, '_>,
    ) -> Result<&'f [Asked<'s>], Limit> {
        let history = self.observed.history;
        let worth = history.txn_count() * history.session_count() / ROW_ENTRIES_A_SEARCH;
        if far.len() > worth.max(FEW_SEARCHES) {
            return Ok(far);
        }
        for (count, asked) in far.iter().enumerate() {
            budget.check("stale reads")?;
            let floor = asked.oldest.checked_sub(1).map(|place| place as u32);
            search.visible.begin(asked.stale[0].reader);
            if !search
                .visible
                .search_ancestors(search.place, floor, ANCESTORS_MAX)
            {
                return Ok(&far[count..]);
            }
            for read in asked.stale {
                let is_seen = |t2: u32| search.visible.found_ancestor(t2);
                let seen = last_of_each_session(search.observed, search.candidates(read), is_seen);
                add_all(read, seen, search);
            }
        }
        Ok(&[])
    }

    fn far_readers(
        &mut self,
        order: &[u32],
        far: &[Asked<'_>],
        budget: &Budget<'_>,
        search: &mut Search<'_, '_>,
    ) -> Result<(), Limit> {
        if !clocks::affordable(self.observed) {
            let steps = reach::steps(self.observed, far);
            if steps.saturating_mul(WORDS_A_STEP) > blocks::words(far) {
                return blocks::by_blocks(order, far, budget, search);
            }
            // Searches are long. What the own session has read is quickly known, and where it
            // contradicts the order, the rest can wait for a better one.
            let stale: Vec<StaleRead> = far.iter().flat_map(|asked| asked.stale).copied().collect();
            search.by_sight(Rule::MonotonicReads, order, &stale, budget)?;
            if search.has_found() {
                search.leave_open(&stale);
                return Ok(());
            }
            return reach::by_sessions(order, far, budget, search);
        }
        let rest = self.search_far(far, budget, search)?;
        if rest.is_empty() {
            return Ok(());
        }
        self.rows = AllRows::new(self.observed, order);
        if let Some(rows) = &self.rows {
            let all = rest.iter();
            all.for_each(|asked| by_row(asked.stale, rows, search));
            return Ok(());
        }
        let last = rest[rest.len() - 1].at;
        let mut rest = rest.iter();
        let mut next = rest.next();
        clocks::walk(
            self.observed,
            &order[..=last],
            None,
            budget,
            |txn, row, _| {
                if let Some(asked) = next
                    && asked.stale[0].reader == txn
                {
                    let history = self.observed.history;
                    let is_seen = |t2: u32| row[history.session_of(TxnId(t2)).index()] > t2;
                    by_clock(asked.stale, &|session| row[session], &is_seen, search);
                    next = rest.next();
                }
            },
        )
    }
}

/// Answers for readers with near versions by a walk over the stretches of the order they need.
pub fn near_readers(
    observed: &Observed<'_>,
    order: &[u32],
    near: &[Asked<'_>],
    budget: &Budget<'_>,
    search: &mut Search<'_, '_>,
) -> Result<(), Limit> {
    let Some(distance) = near.iter().map(|asked| asked.at - asked.oldest).max() else {
        return Ok(());
    };
    let place = search.place;
    let mut ancestors = Ancestors::new(observed, place, distance);
    let mut rest = near;
    for (start, count) in stretches(near) {
        budget.check("stale reads")?;
        ancestors.restart(start);
        let (mine, others) = rest.split_at(count);
        rest = others;
        let mut at = start;
        for asked in mine {
            while at <= asked.at {
                ancestors.step(order[at], at);
                at += 1;
            }
            for read in asked.stale {
                by_ancestors(read, &mut ancestors, search);
            }
        }
    }
    Ok(())
}

/// Newest first; what happens before a writer already found adds nothing. Where many are left, some
/// of the newest and of the oldest put the rest in order, and the read is asked about again.
fn by_ancestors(read: &StaleRead, ancestors: &mut Ancestors<'_>, search: &mut Search<'_, '_>) {
    ancestors.uncover();
    let mut seen = Vec::new();
    let candidates = search.candidates(read);
    for &t2 in candidates.iter().rev() {
        let place = search.place[t2 as usize];
        if ancestors.contain(place) && !ancestors.covered(place) {
            ancestors.cover(place);
            seen.push(t2);
            if seen.len() == MANY {
                break;
            }
        }
    }
    if seen.len() == MANY {
        let is_seen = |t2: &&u32| ancestors.contain(search.place[**t2 as usize]);
        seen.extend(candidates.iter().filter(is_seen).take(MANY));
    }
    add_all(read, seen, search);
}

/// Where the walk has to start, and for how many readers it goes on from there without a gap.
fn stretches(near: &[Asked<'_>]) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for asked in near.iter().rev() {
        match found.last_mut() {
            Some((start, count)) if asked.at >= *start => {
                *start = asked.oldest.min(*start);
                *count += 1;
            }
            _ => found.push((asked.oldest, 1)),
        }
    }
    found.reverse();
    found
}

/// By one of all clock rows.
fn by_row(stale: &[StaleRead], rows: &AllRows, search: &mut Search<'_, '_>) {
    match rows {
        AllRows::Bytes(rows) => by_row_of(stale, rows, search),
        AllRows::Shorts(rows) => by_row_of(stale, rows, search),
        AllRows::Words(rows) => by_row_of(stale, rows, search),
    }
}

fn by_row_of<C: Count>(stale: &[StaleRead], rows: &RowsOf<C>, search: &mut Search<'_, '_>) {
    let history = search.observed.history;
    let row = rows.row(stale[0].reader);
    let start = |session| history.session_txns(SessionId(session as u32)).start;
    let clock = |session: usize| start(session) + row[session].into();
    let is_seen = |t2: u32| {
        let (session, own) = rows.number(t2);
        row[session] >= own
    };
    by_clock(stale, &clock, &is_seen, search);
}

/// By the clock of the reader: for each session, one more than the last transaction that happens
/// before it.
fn by_clock(
    stale: &[StaleRead],
    clock: &impl Fn(usize) -> u32,
    is_seen: &impl Fn(u32) -> bool,
    search: &mut Search<'_, '_>,
) {
    let history = search.observed.history;
    for read in stale {
        let candidates = search.candidates(read);
        let (Some(&first), Some(&last)) = (candidates.first(), candidates.last()) else {
            continue;
        };
        let seen = if candidates.len() <= LONG_WINDOW * history.session_count() {
            last_of_each_session(search.observed, candidates, is_seen)
        } else {
            let places = search.place[first as usize]..=search.place[last as usize];
            let mut seen = last_of_sessions(read, clock, search);
            seen.retain(|&t2| places.contains(&search.place[t2 as usize]));
            seen
        };
        add_all(read, seen, search);
    }
}

/// The last writer of the key in each session that happens before the reader.
fn last_of_sessions(
    read: &StaleRead,
    clock: &impl Fn(usize) -> u32,
    search: &Search<'_, '_>,
) -> Vec<u32> {
    let history = search.observed.history;
    let last = |session| {
        let txns = history.session_txns(session);
        let is_own = txns.contains(&read.reader);
        let limit = if is_own {
            read.reader
        } else {
            clock(session.index()).min(txns.end)
        };
        search.last_in_session(read, txns.start, limit)
    };
    history.sessions().filter_map(last).collect()
}

/// Of the candidates that are seen, the last of each session. Where these are many, some of the
/// newest and of the oldest.
fn last_of_each_session(
    observed: &Observed<'_>,
    candidates: &[u32],
    is_seen: impl Fn(u32) -> bool,
) -> Vec<u32> {
    let session_of = |txn: u32| observed.history.session_of(TxnId(txn));
    let mut kept: Vec<u32> = Vec::new();
    for &txn in candidates.iter().rev().filter(|&&txn| is_seen(txn)) {
        if !kept
            .iter()
            .any(|&other| session_of(other) == session_of(txn))
        {
            kept.push(txn);
            if kept.len() == MANY {
                let oldest = candidates.iter().filter(|&&txn| is_seen(txn));
                kept.extend(oldest.take(MANY));
                break;
            }
        }
    }
    kept
}

/// Adds what a read forces. Where that is much, there may be more, and the read is left open.
fn add_all(read: &StaleRead, seen: Vec<u32>, search: &mut Search<'_, '_>) {
    if !seen.is_empty() {
        search.visible.turn_to(read.reader);
        if seen.len() >= MANY {
            search.leave_open(std::slice::from_ref(read));
        }
        seen.into_iter().for_each(|t2| search.add(*read, t2));
    }
}
