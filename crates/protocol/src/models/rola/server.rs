//! The server's side: which versions it holds, in which order they came, and which it shows.

use super::{Change, Rola, RolaMessage, RolaSite};
use crate::context::Context;
use crate::id::{Key, KeySet, Site, Txn, Version};
use serde::{Deserialize, Serialize};

/// What a server holds of a key.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Stored {
    /// The version to show.
    committed: Version,
    /// All versions but the initial one, with the keys of their transactions, as they came.
    versions: Vec<(Version, KeySet)>,
}

impl Stored {
    /// When a version came, none being before all.
    fn place(&self, version: Version) -> Option<usize> {
        self.versions.iter().position(|(one, _)| *one == version)
    }

    fn last(&self) -> Version {
        self.versions
            .last()
            .map_or(Version::INITIAL, |(version, _)| *version)
    }
}

impl RolaSite {
    pub(super) fn holds(&self, key: Key, version: Version) -> bool {
        let stored = self.store.get(&key);
        stored.is_some_and(|stored| stored.place(version).is_some())
    }

    pub(super) fn keep(&mut self, key: Key, version: Version, keys: KeySet) {
        let stored = self.store.entry(key).or_default();
        if stored.place(version).is_none() {
            stored.versions.push((version, keys));
        }
    }

    /// Shows the version of these keys, unless what is shown came later or it is not there.
    pub(super) fn show(&mut self, keys: KeySet, version: Version) {
        for key in keys.iter() {
            if let Some(stored) = self.store.get_mut(&key)
                && stored.place(version) > stored.place(stored.committed)
            {
                stored.committed = version;
            }
        }
    }

    pub(super) fn forget(&mut self, key: Key, version: Version) {
        if let Some(stored) = self.store.get_mut(&key) {
            stored.versions.retain(|(one, _)| *one != version);
            if stored.versions.is_empty() {
                self.store.remove(&key);
            }
        }
    }
}

impl Rola {
    pub(super) fn get(
        &self,
        at: &RolaSite,
        from: Site,
        txn: Txn,
        key: Key,
        context: &mut Context<'_, RolaMessage>,
    ) {
        let (mut version, mut keys) = (Version::INITIAL, KeySet::EMPTY);
        if let Some(stored) = at.store.get(&key) {
            version = match self.change {
                Some(Change::ShowsPrepared) => stored.last(),
                _ => stored.committed,
            };
            if let Some(place) = stored.place(version) {
                keys = stored.versions[place].1;
            }
        }
        context.send(from, RolaMessage::First(txn, key, version, keys));
    }

    /// Whether an update of a key for which `read` was read can be kept.
    pub(super) fn accepts(&self, at: &RolaSite, key: Key, version: Version, read: Version) -> bool {
        let Some(stored) = at.store.get(&key) else {
            return true;
        };
        let latest = match self.change {
            Some(Change::NoCheck) => read,
            Some(Change::ChecksCommitted) => stored.committed,
            _ => stored.last(),
        };
        // A message that comes twice is answered twice the same.
        latest == read || stored.place(version).is_some()
    }
}
