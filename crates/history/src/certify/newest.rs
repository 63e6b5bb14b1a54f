//! The newest version of some keys that was visible so far, and whom it was learned from. Tables
//! by key and by transaction that start anew without being cleared.

use crate::{KeyId, TxnId};
use std::hash::{BuildHasherDefault, Hasher};

/// A map for dense ids, which need no protection from whoever chose them.
pub(super) type IdMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<IdHasher>>;

/// Multiplies and folds; enough for ids, and an order of magnitude cheaper than the default.
#[derive(Default)]
pub(super) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(byte.into());
        }
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        let mixed = (self.0 ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }

    fn finish(&self) -> u64 {
        self.0.wrapping_mul(0xd6e8_feb8_6659_fd93)
    }
}

#[derive(Clone, Copy, Default)]
struct Entry {
    round: u32,
    place: u32,
}

/// For the keys in question, the place of the newest version known.
pub(super) struct Newest {
    round: u32,
    by_key: Vec<Entry>,
    keys: Vec<KeyId>,
    /// By transaction: the round in which it was last seen.
    seen: Vec<u32>,
}

impl Newest {
    pub(super) fn new(key_limit: usize, txn_count: usize) -> Newest {
        Newest {
            round: 0,
            by_key: vec![Entry::default(); key_limit],
            keys: Vec::new(),
            seen: vec![0; txn_count],
        }
    }

    /// Starts anew, with nothing known of these keys.
    pub(super) fn begin(&mut self, keys: impl Iterator<Item = KeyId>) {
        self.round += 1;
        self.keys.clear();
        for key in keys {
            let entry = &mut self.by_key[key.index()];
            if entry.round != self.round {
                (entry.round, entry.place) = (self.round, 0);
                self.keys.push(key);
            }
        }
    }

    /// The keys in question.
    pub(super) fn keys(&self) -> &[KeyId] {
        &self.keys
    }

    /// Whether the transaction is seen for the first time since the beginning.
    #[inline]
    pub(super) fn see(&mut self, txn: TxnId) -> bool {
        let seen = &mut self.seen[txn.index()];
        std::mem::replace(seen, self.round) != self.round
    }

    /// Enters a version, if the key is in question.
    #[inline]
    pub(super) fn raise(&mut self, key: KeyId, place: u32) {
        let entry = &mut self.by_key[key.index()];
        if entry.round == self.round && entry.place < place {
            entry.place = place;
        }
    }

    /// The place of the newest version; 0 if there is none.
    pub(super) fn place(&self, key: KeyId) -> u32 {
        self.by_key[key.index()].place
    }
}
