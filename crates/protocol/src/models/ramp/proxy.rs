//! The proxy's side: what a transaction has read so far, and for whom it waits.

use super::{Bug, Ramp, RampMessage, RampSite, Reads, Writes};
use crate::context::Context;
use crate::id::{Key, KeySet, Site, Txn, Version};
use crate::models::waiting::{Waiting, first_reads, only};
use crate::setup::{Op, Setup};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a transaction waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum Phase {
    /// Committed versions.
    First,
    /// Versions it asked for.
    Second,
    /// PREPARED.
    Prepare,
    /// COMMITTED.
    Commit,
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

impl RampSite {
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

impl Ramp {
    pub(super) fn begin(
        &self,
        at: &mut RampSite,
        txn: Txn,
        context: &mut Context<'_, RampMessage>,
    ) {
        let reads = first_reads(context.setup(), txn);
        let waiting = Waiting::nearest(context.setup(), context.here(), reads);
        for (site, keys) in waiting.iter() {
            for key in keys.iter() {
                context.send(site, RampMessage::Get(txn, key));
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
        at: &mut RampSite,
        from: Site,
        txn: Txn,
        (key, version, keys): (Key, Version, KeySet),
        context: &mut Context<'_, RampMessage>,
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
        let mut again = self.second_round(&running.read);
        if self.bug == Some(Bug::NoSecondRound) {
            again.clear();
        }
        for (_, keys) in running.read.values_mut() {
            *keys = KeySet::EMPTY;
        }
        if again.is_empty() {
            if self.reads != Reads::Small {
                context.rule("read: first round is enough");
            }
            self.write(at, txn, context);
            return;
        }
        context.rule("read: second round");
        let keys = again.keys().copied().collect();
        running.phase = Phase::Second;
        running.waiting = Waiting::nearest(context.setup(), context.here(), keys);
        for (key, among) in again {
            let site = context.setup().nearest(key, context.here());
            context.send(site, RampMessage::GetAmong(txn, key, among));
        }
    }

    /// Which keys to read again, and which versions to ask for.
    fn second_round(&self, read: &BTreeMap<Key, (Version, KeySet)>) -> BTreeMap<Key, Vec<Version>> {
        let mut again = BTreeMap::new();
        for (key, (seen, _)) in read {
            let told = |(version, keys): &&(Version, KeySet)| match self.reads {
                Reads::Small => !version.is_initial(),
                Reads::Fast | Reads::Hybrid => keys.contains(*key) && version > seen,
            };
            let told = read.values().filter(told).map(|(version, _)| *version);
            let among: Vec<Version> = match self.reads {
                Reads::Fast => told.max().into_iter().collect(),
                Reads::Small | Reads::Hybrid => {
                    let mut all: Vec<Version> = told.collect();
                    all.sort();
                    all.dedup();
                    all
                }
            };
            if self.reads == Reads::Small || !among.is_empty() {
                again.insert(*key, among);
            }
        }
        again
    }

    pub(super) fn second(
        &self,
        at: &mut RampSite,
        from: Site,
        txn: Txn,
        key: Key,
        version: Option<Version>,
        context: &mut Context<'_, RampMessage>,
    ) {
        let Some(running) = at.in_phase(txn, Phase::Second) else {
            return;
        };
        if !running.waiting.answered(from, only(key)) {
            return;
        }
        match (version, self.reads) {
            (Some(version), _) => {
                running.read.insert(key, (version, KeySet::EMPTY));
            }
            (None, Reads::Fast) => context.rule("second read: not there yet"),
            (None, Reads::Hybrid) => context.rule("second read: false positive"),
            // All that was seen is initial.
            (None, Reads::Small) => {}
        }
        if running.waiting.is_over() {
            self.write(at, txn, context);
        }
    }

    /// All is read. Begins to write, or commits if there is nothing to write.
    fn write(&self, at: &mut RampSite, txn: Txn, context: &mut Context<'_, RampMessage>) {
        let Some(running) = at.running.get_mut(&txn) else {
            return;
        };
        let mut latest = at.clock;
        for (key, (version, _)) in std::mem::take(&mut running.read) {
            context.read(txn, key, version);
            if self.bug != Some(Bug::OwnClock) {
                latest = latest.max(version.number);
            }
        }
        let writes = context.setup().writes(txn);
        if writes.is_empty() {
            at.running.remove(&txn);
            context.commit(txn);
            return;
        }
        context.rule("write");
        at.clock = latest + 1;
        let version = Version::new(at.clock, context.here());
        running.version = version;
        running.phase = match self.writes {
            Writes::TwoPhase | Writes::OnePhase => Phase::Prepare,
            Writes::Alone | Writes::AtOnce => Phase::Commit,
        };
        running.waiting = Waiting::everywhere(context.setup(), writes);
        let keys = self.metadata(writes, context);
        for (site, waiting) in running.waiting.iter() {
            for key in waiting.iter() {
                let version = self.version_of(version, txn, key, context.setup());
                context.send(site, RampMessage::Prepare(txn, key, version, keys));
            }
        }
        for key in writes.iter() {
            let version = self.version_of(version, txn, key, context.setup());
            at.clock = at.clock.max(version.number);
            context.write(txn, key, version);
        }
    }

    /// The version of one key of a transaction: that of all of them, unless a bug counts on.
    fn version_of(&self, first: Version, txn: Txn, key: Key, setup: &Setup) -> Version {
        if self.bug != Some(Bug::ManyTimestamps) {
            return first;
        }
        let before = setup
            .ops(txn)
            .iter()
            .take_while(|op| **op != Op::Write(key));
        Version::new(first.number + before.count() as u16, first.site)
    }

    /// What each version tells of its transaction.
    fn metadata(&self, writes: KeySet, context: &mut Context<'_, RampMessage>) -> KeySet {
        if self.reads == Reads::Small || self.bug == Some(Bug::NoMetadata) {
            return KeySet::EMPTY;
        }
        let mut keys = writes;
        if self.reads == Reads::Hybrid {
            for key in context.setup().keys() {
                if !writes.contains(key) && context.choose(2) == 1 {
                    keys.insert(key);
                }
            }
        }
        keys
    }

    pub(super) fn prepared(
        &self,
        at: &mut RampSite,
        from: Site,
        txn: Txn,
        key: Key,
        context: &mut Context<'_, RampMessage>,
    ) {
        if self.writes == Writes::Alone {
            if let Some(running) = at.in_phase(txn, Phase::Commit) {
                let version = self.version_of(running.version, txn, key, context.setup());
                context.send(from, RampMessage::Commit(txn, only(key), version));
            }
            return;
        }
        let Some(running) = at.in_phase(txn, Phase::Prepare) else {
            return;
        };
        running.waiting.answered(from, only(key));
        let enough = match self.bug {
            Some(Bug::EarlyCommit) => true,
            Some(Bug::OneReplica) => context.setup().writes(txn).iter().all(|key| {
                let waits = |site: &Site| running.waiting.of(*site).contains(key);
                !context.setup().replicas(key).iter().all(waits)
            }),
            _ => running.waiting.is_over(),
        };
        if !enough {
            return;
        }
        running.phase = Phase::Commit;
        running.waiting = Waiting::everywhere(context.setup(), context.setup().writes(txn));
        for (site, keys) in running.waiting.iter() {
            context.send(site, RampMessage::Commit(txn, keys, running.version));
        }
        if self.writes == Writes::OnePhase {
            at.running.remove(&txn);
            context.commit(txn);
        }
    }

    pub(super) fn committed(
        &self,
        at: &mut RampSite,
        from: Site,
        txn: Txn,
        keys: KeySet,
        context: &mut Context<'_, RampMessage>,
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
