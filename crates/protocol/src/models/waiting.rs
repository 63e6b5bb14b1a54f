//! For whom a transaction waits at its proxy, when it asks several sites at once.

use crate::id::{Key, KeySet, Site, Txn};
use crate::setup::{Op, Setup};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The keys for which each site is to answer. An answer that comes twice is ticked off once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Waiting(BTreeMap<Site, KeySet>);

impl Waiting {
    /// Each key is asked of one site, that nearest to `here`.
    pub fn nearest(setup: &Setup, here: Site, keys: KeySet) -> Waiting {
        let mut all = Waiting::default();
        for key in keys.iter() {
            all.add(setup.nearest(key, here), key);
        }
        all
    }

    /// Each key is sent to all its sites.
    pub fn everywhere(setup: &Setup, keys: KeySet) -> Waiting {
        let mut all = Waiting::default();
        for key in keys.iter() {
            for site in setup.replicas(key) {
                all.add(*site, key);
            }
        }
        all
    }

    fn add(&mut self, site: Site, key: Key) {
        self.0.entry(site).or_default().insert(key);
    }

    /// Ticks answers off; says whether any was waited for.
    pub fn answered(&mut self, from: Site, keys: KeySet) -> bool {
        let Some(waiting) = self.0.get_mut(&from) else {
            return false;
        };
        let expected = !waiting.intersection(keys).is_empty();
        *waiting = waiting.without(keys);
        if waiting.is_empty() {
            self.0.remove(&from);
        }
        expected
    }

    /// Whether nothing is waited for.
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether these answers are all that is waited for.
    pub fn is_last(&self, from: Site, keys: KeySet) -> bool {
        let mut waiting = self.0.iter();
        waiting.all(|(site, rest)| *site == from && rest.without(keys).is_empty())
    }

    /// The keys for which a site is to answer.
    pub fn of(&self, site: Site) -> KeySet {
        self.0.get(&site).copied().unwrap_or_default()
    }

    /// All sites, with the keys for which they are to answer.
    pub fn iter(&self) -> impl Iterator<Item = (Site, KeySet)> {
        self.0.iter().map(|(site, keys)| (*site, *keys))
    }
}

/// The keys that a transaction reads before it writes them.
pub(super) fn first_reads(setup: &Setup, txn: Txn) -> KeySet {
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

/// The set of one key.
pub(super) fn only(key: Key) -> KeySet {
    [key].into_iter().collect()
}
