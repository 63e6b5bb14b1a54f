//! The server's side: which versions it holds and shows.

use super::{Bug, Ramp, RampMessage, RampSite, Writes};
use crate::context::Context;
use crate::id::{Key, KeySet, Site, Txn, Version};
use crate::models::waiting::only;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a server holds of a key.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Stored {
    /// The version to show.
    committed: Version,
    /// All versions but the initial one, with their metadata.
    versions: BTreeMap<Version, KeySet>,
}

impl RampSite {
    pub(super) fn committed_version(&self, key: Key) -> Version {
        self.store
            .get(&key)
            .map_or(Version::INITIAL, |stored| stored.committed)
    }

    /// Shows the version from now on, unless a newer one is shown or it is not there.
    fn show(&mut self, key: Key, version: Version) {
        if let Some(stored) = self.store.get_mut(&key)
            && stored.versions.contains_key(&version)
        {
            stored.committed = stored.committed.max(version);
        }
    }
}

impl Ramp {
    pub(super) fn prepare(
        &self,
        at: &mut RampSite,
        from: Site,
        txn: Txn,
        (key, version, keys): (Key, Version, KeySet),
        context: &mut Context<'_, RampMessage>,
    ) {
        let stored = at.store.entry(key).or_default();
        stored.versions.insert(version, keys);
        if self.writes == Writes::AtOnce {
            context.rule("commit");
            at.show(key, version);
            context.send(from, RampMessage::Committed(txn, only(key)));
        } else {
            context.rule("prepare");
            context.send(from, RampMessage::Prepared(txn, key));
        }
    }

    pub(super) fn commit(
        &self,
        at: &mut RampSite,
        from: Site,
        txn: Txn,
        keys: KeySet,
        version: Version,
        context: &mut Context<'_, RampMessage>,
    ) {
        context.rule("commit");
        for key in keys.iter() {
            at.show(key, version);
        }
        if self.writes != Writes::OnePhase {
            context.send(from, RampMessage::Committed(txn, keys));
        }
    }

    pub(super) fn get(
        &self,
        at: &RampSite,
        from: Site,
        txn: Txn,
        key: Key,
        context: &mut Context<'_, RampMessage>,
    ) {
        let (mut version, mut keys) = (Version::INITIAL, KeySet::EMPTY);
        if let Some(stored) = at.store.get(&key) {
            version = stored.committed;
            if self.bug == Some(Bug::ShowsPrepared) {
                version = stored.versions.keys().copied().max().unwrap_or(version);
            }
            keys = stored.versions.get(&version).copied().unwrap_or_default();
        }
        context.send(from, RampMessage::First(txn, key, version, keys));
    }

    pub(super) fn get_among(
        &self,
        at: &mut RampSite,
        from: Site,
        txn: Txn,
        key: Key,
        among: &[Version],
        context: &mut Context<'_, RampMessage>,
    ) {
        let there = |version: &Version| {
            let stored = at.store.get(&key);
            stored.is_some_and(|stored| stored.versions.contains_key(version))
        };
        let mut all = among.iter().copied().filter(there);
        let found = match self.bug {
            Some(Bug::OldestVersion) => all.min(),
            Some(Bug::WrongVersion) => {
                let shown = at.committed_version(key);
                all.next().and((!shown.is_initial()).then_some(shown))
            }
            _ => all.max(),
        };
        if self.fast_commit
            && let Some(version) = found
            && version > at.committed_version(key)
        {
            context.rule("second read: taken for committed");
            at.show(key, version);
        }
        context.send(from, RampMessage::Second(txn, key, found));
    }
}
