//! The proxy's side: what a transaction has read so far, and for whom it waits.

use super::{Bug, Ramp, RampMessage, RampSite, Reads, Writes, only};
use crate::context::Context;
use crate::id::{Key, KeySet, Site, Txn, Version};
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
    waiting: BTreeMap<Site, KeySet>,
    /// What it read, with the metadata as long as they are needed.
    read: BTreeMap<Key, (Version, KeySet)>,
    /// The version of all it writes, once there is one.
    version: Version,
}

impl Running {
    /// Ticks answers off; says whether any was waited for.
    fn answered(&mut self, from: Site, keys: KeySet) -> bool {
        let Some(waiting) = self.waiting.get_mut(&from) else {
            return false;
        };
        let expected = !waiting.intersection(keys).is_empty();
        *waiting = waiting.without(keys);
        if waiting.is_empty() {
            self.waiting.remove(&from);
        }
        expected
    }
}

impl RampSite {
    /// Whether these answers are all that the transaction still waits for.
    pub(super) fn is_last(&self, txn: Txn, from: Site, keys: KeySet) -> bool {
        self.running.get(&txn).is_some_and(|running| {
            let mut waiting = running.waiting.iter();
            waiting.all(|(site, rest)| *site == from && rest.without(keys).is_empty())
        })
    }

    fn in_phase(&mut self, txn: Txn, phase: Phase) -> Option<&mut Running> {
        self.running
            .get_mut(&txn)
            .filter(|running| running.phase == phase)
    }
}

/// The keys that a transaction reads before it writes them.
pub(crate) fn first_reads(setup: &Setup, txn: Txn) -> KeySet {
    let (mut reads, mut written) = (KeySet::EMPTY, KeySet::EMPTY);
    for op in setup.ops(txn) {
        match *op {
            Op::Read(key) if !written.contains(key) => reads.insert(key),
            Op::Read(_) => continue,
            Op::Write(key) => written.insert(key),
        };
    }
    reads
}

/// Whom a transaction waits for when each of `keys` is asked of one site.
pub(crate) fn nearest(setup: &Setup, here: Site, keys: KeySet) -> BTreeMap<Site, KeySet> {
    let mut waiting: BTreeMap<Site, KeySet> = BTreeMap::new();
    for key in keys.iter() {
        let site = setup.nearest(key, here);
        waiting.entry(site).or_default().insert(key);
    }
    waiting
}

/// Whom a transaction waits for when each of `keys` is sent to all its sites.
pub(crate) fn everywhere(setup: &Setup, keys: KeySet) -> BTreeMap<Site, KeySet> {
    let mut waiting: BTreeMap<Site, KeySet> = BTreeMap::new();
    for key in keys.iter() {
        for site in setup.replicas(key) {
            waiting.entry(*site).or_default().insert(key);
        }
    }
    waiting
}

impl Ramp {
    pub(super) fn begin(
        &self,
        at: &mut RampSite,
        txn: Txn,
        context: &mut Context<'_, RampMessage>,
    ) {
        let reads = first_reads(context.setup(), txn);
        let waiting = nearest(context.setup(), context.here(), reads);
        for (site, keys) in &waiting {
            for key in keys.iter() {
                context.send(*site, RampMessage::Get(txn, key));
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
        if !running.answered(from, only(key)) {
            return;
        }
        running.read.insert(key, (version, keys));
        if !running.waiting.is_empty() {
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
        running.waiting = nearest(context.setup(), context.here(), keys);
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
        if !running.answered(from, only(key)) {
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
        if running.waiting.is_empty() {
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
        running.waiting = everywhere(context.setup(), writes);
        let keys = self.metadata(writes, context);
        for (site, waiting) in &running.waiting {
            for key in waiting.iter() {
                let version = self.version_of(version, txn, key, context.setup());
                context.send(*site, RampMessage::Prepare(txn, key, version, keys));
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
        running.answered(from, only(key));
        let enough = match self.bug {
            Some(Bug::EarlyCommit) => true,
            Some(Bug::OneReplica) => context.setup().writes(txn).iter().all(|key| {
                let waits = |site: &Site| {
                    let keys = running.waiting.get(site);
                    keys.is_some_and(|keys| keys.contains(key))
                };
                !context.setup().replicas(key).iter().all(waits)
            }),
            _ => running.waiting.is_empty(),
        };
        if !enough {
            return;
        }
        running.phase = Phase::Commit;
        running.waiting = everywhere(context.setup(), context.setup().writes(txn));
        for (site, keys) in &running.waiting {
            context.send(*site, RampMessage::Commit(txn, *keys, running.version));
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
        running.answered(from, keys);
        if running.waiting.is_empty() {
            at.running.remove(&txn);
            context.commit(txn);
        }
    }
}
