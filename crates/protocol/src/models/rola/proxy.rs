//! The proxy's side: what a transaction has read so far, and for whom it waits.

use super::{Change, Rola, RolaMessage, RolaSite};
use crate::context::Context;
use crate::id::{Key, KeySet, Site, Txn, Version};
use crate::models::waiting::{Waiting, first_reads, only};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a transaction waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Phase {
    /// Committed versions.
    First,
    /// Versions it asked for.
    Second,
    /// Votes.
    Prepare,
    /// COMMITTED.
    Commit,
    /// Votes, though it is aborted.
    Abort,
}

/// A transaction at its proxy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Running {
    phase: Phase,
    /// For which answers of whom.
    waiting: Waiting,
    /// What it read, with the metadata as long as they are needed.
    read: BTreeMap<Key, (Version, KeySet)>,
    /// The version of all it writes, once there is one.
    version: Version,
}

impl RolaSite {
    /// Whether these answers are all that the transaction still waits for.
    pub(super) fn is_last(&self, txn: Txn, from: Site, keys: KeySet) -> bool {
        let running = self.running.get(&txn);
        running.is_some_and(|running| running.waiting.is_last(from, keys))
    }

    fn in_phase(&mut self, txn: Txn, phase: Phase) -> Option<&mut Running> {
        self.running
            .get_mut(&txn)
            .filter(|running| running.phase == phase)
    }
}

impl Rola {
    pub(super) fn begin(
        &self,
        at: &mut RolaSite,
        txn: Txn,
        context: &mut Context<'_, RolaMessage>,
    ) {
        let reads = first_reads(context.setup(), txn);
        let waiting = Waiting::nearest(context.setup(), context.here(), reads);
        for (site, keys) in waiting.iter() {
            for key in keys.iter() {
                context.send(site, RolaMessage::Get(txn, key));
            }
        }
        let running = Running {
            phase: Phase::First,
            waiting,
            read: BTreeMap::new(),
            version: Version::INITIAL,
        };
        at.running.insert(txn, running);
        if reads.is_empty() {
            self.write(at, txn, context);
        }
    }

    pub(super) fn first(
        &self,
        at: &mut RolaSite,
        from: Site,
        txn: Txn,
        (key, version, keys): (Key, Version, KeySet),
        context: &mut Context<'_, RolaMessage>,
    ) {
        let Some(running) = at.in_phase(txn, Phase::First) else {
            return;
        };
        if !running.waiting.answered(from, only(key)) {
            return;
        }
        running.read.insert(key, (version, keys));
        if !running.waiting.is_over() {
            return;
        }
        let again = match self.change {
            Some(Change::NoSecondRound) => BTreeMap::new(),
            _ => missing(&running.read),
        };
        for (_, keys) in running.read.values_mut() {
            *keys = KeySet::EMPTY;
        }
        if again.is_empty() {
            context.rule("read: first round is enough");
            self.write(at, txn, context);
            return;
        }
        context.rule("read: second round");
        let keys = again.keys().copied().collect();
        running.phase = Phase::Second;
        running.waiting = Waiting::nearest(context.setup(), context.here(), keys);
        for (key, version) in again {
            let site = context.setup().nearest(key, context.here());
            context.send(site, RolaMessage::GetVersion(txn, key, version));
        }
    }

    pub(super) fn second(
        &self,
        at: &mut RolaSite,
        from: Site,
        txn: Txn,
        key: Key,
        version: Option<Version>,
        context: &mut Context<'_, RolaMessage>,
    ) {
        let Some(running) = at.in_phase(txn, Phase::Second) else {
            return;
        };
        if !running.waiting.answered(from, only(key)) {
            return;
        }
        if let Some(version) = version {
            running.read.insert(key, (version, KeySet::EMPTY));
        }
        if running.waiting.is_over() {
            self.write(at, txn, context);
        }
    }

    /// All is read. Begins to write, or commits if there is nothing to write.
    fn write(&self, at: &mut RolaSite, txn: Txn, context: &mut Context<'_, RolaMessage>) {
        let Some(running) = at.running.get_mut(&txn) else {
            return;
        };
        let mut latest = at.clock;
        let read = std::mem::take(&mut running.read);
        for (key, (version, _)) in &read {
            context.read(txn, *key, *version);
            if self.change != Some(Change::OwnClock) {
                latest = latest.max(version.number);
            }
        }
        let writes = context.setup().writes(txn);
        if writes.is_empty() {
            at.running.remove(&txn);
            context.commit(txn);
            return;
        }
        at.clock = latest + 1;
        let version = Version::new(at.clock, context.here());
        running.version = version;
        running.phase = Phase::Prepare;
        running.waiting = Waiting::everywhere(context.setup(), writes);
        for (site, keys) in running.waiting.iter() {
            for key in keys.iter() {
                let message = match read.get(&key) {
                    Some((read, _)) => RolaMessage::PrepareUpdate(txn, key, version, writes, *read),
                    None => RolaMessage::Prepare(txn, key, version, writes),
                };
                context.send(site, message);
            }
        }
        for key in writes.iter() {
            context.write(txn, key, version);
        }
    }

    pub(super) fn vote(
        &self,
        at: &mut RolaSite,
        from: Site,
        txn: Txn,
        key: Key,
        yes: bool,
        context: &mut Context<'_, RolaMessage>,
    ) {
        let Some(running) = at.running.get_mut(&txn) else {
            return;
        };
        let voting = matches!(running.phase, Phase::Prepare | Phase::Abort);
        if !voting || !running.waiting.answered(from, only(key)) {
            return;
        }
        let no = !yes && self.change != Some(Change::IgnoresNo);
        if no && running.phase == Phase::Prepare {
            running.phase = Phase::Abort;
            context.rule("abort");
            context.abort(txn);
            let voted = Waiting::everywhere(context.setup(), context.setup().writes(txn));
            for (site, keys) in voted.iter() {
                for other in keys.without(running.waiting.of(site)).iter() {
                    if (site, other) != (from, key) {
                        self.forget(site, other, running.version, context);
                    }
                }
            }
        } else if yes && running.phase == Phase::Abort {
            self.forget(from, key, running.version, context);
        }
        if !running.waiting.is_over() {
            return;
        }
        if running.phase == Phase::Abort {
            at.running.remove(&txn);
            return;
        }
        running.phase = Phase::Commit;
        running.waiting = Waiting::everywhere(context.setup(), context.setup().writes(txn));
        for (site, keys) in running.waiting.iter() {
            context.send(site, RolaMessage::Commit(txn, keys, running.version));
        }
    }

    /// Tells a server that accepted a version of a transaction that it is aborted.
    fn forget(
        &self,
        site: Site,
        key: Key,
        version: Version,
        context: &mut Context<'_, RolaMessage>,
    ) {
        if self.change != Some(Change::NoAbortMessage) {
            context.send(site, RolaMessage::Abort(key, version));
        }
    }

    pub(super) fn committed(
        &self,
        at: &mut RolaSite,
        from: Site,
        txn: Txn,
        keys: KeySet,
        context: &mut Context<'_, RolaMessage>,
    ) {
        let Some(running) = at.in_phase(txn, Phase::Commit) else {
            return;
        };
        running.waiting.answered(from, keys);
        if running.waiting.is_over() {
            at.running.remove(&txn);
            context.commit(txn);
        }
    }
}

/// The newest version of each key that belongs to what was read of another key, where that is newer
/// than what was read.
fn missing(read: &BTreeMap<Key, (Version, KeySet)>) -> BTreeMap<Key, Version> {
    let newest = |key: &Key, seen: Version| {
        let told = read.values().filter(|(_, keys)| keys.contains(*key));
        told.map(|(version, _)| *version)
            .max()
            .filter(|version| *version > seen)
    };
    read.iter()
        .filter_map(|(key, (seen, _))| Some((*key, newest(key, *seen)?)))
        .collect()
}
