//! The causal axiom: no version that happened before a stale read is newer than what it returned.
//!
//! t2 happens before t3 if a path of session order and reads leads from t2 to t3. With few
//! sessions each transaction gets a clock (by session, how many transactions of it happened
//! before), computed in commit order and dropped after its last use. With many sessions clocks
//! would be larger than the history, so each reader of stale versions searches backwards instead;
//! since paths follow the order, nothing older than the versions in question has to be visited.

use super::newest::IdMap;
use super::visible::Scene;
use super::walk::StaleRead;
use super::{Refusal, require};
use crate::{KeyId, TxnId};
use std::collections::HashMap;
use std::hash::Hash;

const SESSIONS_MAX: usize = 4096;
/// How many clock entries may be alive at a time: 1 GiB of them.
const ENTRIES_MAX: usize = 1 << 28;
const NEVER: u32 = 0;

pub(super) fn check(scene: &Scene<'_>) -> Result<(), Refusal> {
    let sessions = scene.history.session_count();
    let uses = Uses::find(scene);
    if sessions <= SESSIONS_MAX && uses.alive_max.saturating_mul(sessions) <= ENTRIES_MAX {
        check_by_clocks(scene, &uses)
    } else {
        check_by_search(scene, &uses)
    }
}

/// Who uses whose clock.
struct Uses {
    /// By transaction: the one before it in its session that is taken as committed.
    previous: Vec<Option<TxnId>>,
    /// By place: the place of the last transaction that follows it directly.
    last_use: Vec<u32>,
    /// How many transactions at a time are still to be used.
    alive_max: usize,
    /// The place of the last reader of a stale version.
    end: u32,
}

impl Uses {
    fn find(scene: &Scene<'_>) -> Uses {
        let (history, order) = (scene.history, scene.order);
        let mut previous = vec![None; history.txn_count()];
        let mut last_of_session: Vec<Option<TxnId>> = vec![None; history.session_count()];
        let end = scene
            .walk
            .stale
            .last()
            .map_or(0, |read| order.place(read.reader));
        let mut last_use = vec![NEVER; end as usize + 1];
        for place in 1..=end {
            let txn = order.at(place);
            let last = &mut last_of_session[history.session_of(txn).index()];
            previous[txn.index()] = last.replace(txn);
            let before = previous[txn.index()].into_iter();
            for used in before.chain(scene.writers_read(txn).map(|(_, writer)| writer)) {
                last_use[order.place(used) as usize] = place;
            }
        }
        let mut dropped_at = vec![0u32; end as usize + 1];
        for &place in last_use.iter().filter(|&&place| place != NEVER) {
            dropped_at[place as usize] += 1;
        }
        let (mut alive, mut alive_max) = (0usize, 0);
        for place in 1..=end as usize {
            alive += usize::from(last_use[place] != NEVER);
            alive_max = alive_max.max(alive + 1);
            alive -= dropped_at[place] as usize;
        }
        Uses {
            previous,
            last_use,
            alive_max,
            end,
        }
    }
}

/// Clock rows in one table; rows of transactions that nobody needs any more are used again.
pub(super) struct Rows<Id> {
    width: usize,
    entries: Vec<u32>,
    free: Vec<u32>,
    row_of: IdMap<Id, u32>,
}

impl<Id: Hash + Eq> Rows<Id> {
    pub(super) fn new(width: usize) -> Rows<Id> {
        Rows {
            width,
            entries: Vec::new(),
            free: Vec::new(),
            row_of: IdMap::default(),
        }
    }

    pub(super) fn row(&self, txn: Id) -> &[u32] {
        let start = self.row_of[&txn] as usize * self.width;
        &self.entries[start..start + self.width]
    }

    pub(super) fn keep(&mut self, txn: Id, clock: &[u32]) {
        let row = self.free.pop().unwrap_or_else(|| {
            self.entries.resize(self.entries.len() + self.width, 0);
            (self.entries.len() / self.width - 1) as u32
        });
        let start = row as usize * self.width;
        self.entries[start..start + self.width].copy_from_slice(clock);
        self.row_of.insert(txn, row);
    }

    pub(super) fn forget(&mut self, txn: Id) {
        self.free.extend(self.row_of.remove(&txn));
    }
}

fn check_by_clocks(scene: &Scene<'_>, uses: &Uses) -> Result<(), Refusal> {
    let (history, order) = (scene.history, scene.order);
    let width = history.session_count();
    let mut rows = Rows::new(width);
    let mut by_session = BySession::default();
    let mut stale = scene.stale_by_reader().peekable();
    let mut clock = vec![0u32; width];
    let mut used: Vec<TxnId> = Vec::new();
    for place in 1..=uses.end {
        let txn = order.at(place);
        used.clear();
        used.extend(uses.previous[txn.index()]);
        used.extend(scene.writers_read(txn).map(|(_, writer)| writer));
        clock.fill(0);
        for &before in &used {
            // Whoever happened before something that happened before adds nothing.
            let session = history.session_of(before);
            if clock[session.index()] <= index_in_session(scene, before) {
                for (entry, &other) in clock.iter_mut().zip(rows.row(before)) {
                    *entry = other.max(*entry);
                }
            }
        }
        if let Some(reads) = stale.next_if(|reads| reads[0].reader == txn) {
            for read in reads {
                by_session.check(scene, read, &clock)?;
            }
        }
        clock[history.session_of(txn).index()] = index_in_session(scene, txn) + 1;
        if uses.last_use[place as usize] != NEVER {
            rows.keep(txn, &clock);
        }
        for &before in &used {
            if uses.last_use[order.place(before) as usize] == place {
                rows.forget(before);
            }
        }
    }
    Ok(())
}

fn index_in_session(scene: &Scene<'_>, txn: TxnId) -> u32 {
    let session = scene.history.session_of(txn);
    txn.0 - scene.history.session_txns(session).start
}

/// The versions of keys that were read very stale, by session.
#[derive(Default)]
struct BySession {
    of_key: HashMap<KeyId, HashMap<u32, Vec<TxnId>>>,
}

impl BySession {
    /// Looks at every newer version, or if these are many, at the last one of each session.
    fn check(&mut self, scene: &Scene<'_>, read: &StaleRead, clock: &[u32]) -> Result<(), Refusal> {
        let order = scene.order;
        let happened = |txn: TxnId| {
            index_in_session(scene, txn) < clock[scene.history.session_of(txn).index()]
        };
        let places = scene.versions.places(read.key);
        let (after, until) = (order.place(read.writer), order.place(read.reader));
        let start = places.partition_point(|&place| place <= after);
        let end = places.partition_point(|&place| place < until);
        if end - start <= 64 + 4 * clock.len() {
            let newer = places[start..end].iter().map(|&place| order.at(place));
            return match newer.into_iter().find(|&txn| happened(txn)) {
                Some(txn) => Err(scene.overlooked(read, txn)),
                None => Ok(()),
            };
        }
        let sessions = self.of_key.entry(read.key).or_insert_with(|| {
            let mut sessions: HashMap<u32, Vec<TxnId>> = HashMap::new();
            for txn in places.iter().map(|&place| order.at(place)) {
                sessions
                    .entry(scene.history.session_of(txn).0)
                    .or_default()
                    .push(txn);
            }
            sessions
        });
        for txns in sessions.values() {
            let count = txns.partition_point(|&txn| happened(txn));
            if let Some(&txn) = txns[..count]
                .last()
                .filter(|&&txn| order.place(txn) > after)
            {
                return Err(scene.overlooked(read, txn));
            }
        }
        Ok(())
    }
}

/// How many steps all searches together may take, for each operation of the history.
const STEPS_PER_OP: usize = 200;

fn check_by_search(scene: &Scene<'_>, uses: &Uses) -> Result<(), Refusal> {
    let (history, order) = (scene.history, scene.order);
    let mut visited_for = vec![u32::MAX; history.txn_count()];
    let mut steps_left = STEPS_PER_OP * (history.op_count() + 1000);
    let mut open: Vec<TxnId> = Vec::new();
    for (number, reads) in scene.stale_by_reader().enumerate() {
        let reader = reads[0].reader;
        let mut oldest: IdMap<KeyId, &StaleRead> = IdMap::default();
        for read in reads {
            let known = oldest.entry(read.key).or_insert(read);
            if order.place(read.writer) < order.place(known.writer) {
                *known = read;
            }
        }
        // The oldest version that could have been overlooked; nothing before it matters.
        let first_newer = |read: &&StaleRead| {
            let places = scene.versions.places(read.key);
            let newer = places.partition_point(|&place| place <= order.place(read.writer));
            places.get(newer).copied()
        };
        let Some(first) = oldest.values().filter_map(first_newer).min() else {
            continue;
        };
        open.push(reader);
        while let Some(txn) = open.pop() {
            let range = history.op_range(txn);
            require!(
                steps_left > range.len(),
                "the order has too many reads of old versions to re-check"
            );
            steps_left -= range.len() + 1;
            for index in range {
                let is_write = txn != reader && history.ops().kinds[index].is_write();
                let read = oldest.get(&history.ops().keys[index]).filter(|_| is_write);
                if let Some(read) = read
                    && order.place(txn) > order.place(read.writer)
                {
                    return Err(scene.overlooked(read, txn));
                }
            }
            let before = uses.previous[txn.index()].into_iter();
            for next in before.chain(scene.writers_read(txn).map(|(_, writer)| writer)) {
                let visited = &mut visited_for[next.index()];
                if order.place(next) >= first && *visited != number as u32 {
                    *visited = number as u32;
                    open.push(next);
                }
            }
        }
    }
    Ok(())
}
