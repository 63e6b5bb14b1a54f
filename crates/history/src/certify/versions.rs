//! The keys that were read stale: who wrote the versions read, and all their versions in order.

use super::last_writers::LastWriters;
use super::newest::IdMap;
use super::order::Order;
use super::walk::{NO_TXN, StaleRead, Walk};
use super::{Refusal, name, require};
use crate::{History, KeyId, TxnId, ValueCode};

const NO_SLOT: u32 = u32::MAX;

/// The versions of the keys with stale reads.
pub(super) struct Versions {
    /// By key: its place in `places`, if it has a stale read.
    slots: Vec<u32>,
    /// The places of the writers of a key with stale reads, in commit order.
    places: Vec<Vec<u32>>,
}

impl Versions {
    /// Finds the writer of every stale read, and refuses a read that has none before it.
    pub(super) fn find(
        history: &History,
        order: &Order<'_>,
        walk: &mut Walk,
    ) -> Result<Versions, Refusal> {
        let mut versions = Versions {
            slots: vec![NO_SLOT; history.keys().limit()],
            places: Vec::new(),
        };
        if walk.stale.is_empty() {
            return Ok(versions);
        }
        for read in &walk.stale {
            let slot = &mut versions.slots[read.key.index()];
            if *slot == NO_SLOT {
                *slot = versions.places.len() as u32;
                versions.places.push(Vec::new());
            }
        }
        let writers = versions.writers_of(history, order, &walk.stale);
        for read in &mut walk.stale {
            if read.writer == NO_TXN {
                read.writer = writer_of(history, &writers, read)?;
                walk.writers[read.op.index()] = read.writer;
            }
            require!(
                order.place(read.writer) < order.place(read.reader),
                "the order puts {}, which read {}, before {}, which wrote that",
                name(history, read.reader),
                history.op_text(read.op),
                name(history, read.writer)
            );
        }
        for (index, &txn) in order.txns.iter().enumerate() {
            let place = index as u32 + 1;
            for (_, op) in history.txn_ops(txn) {
                if op.kind.is_write() && versions.is_stale(op.key) {
                    let slot = versions.slots[op.key.index()];
                    let places = &mut versions.places[slot as usize];
                    if places.last() != Some(&place) {
                        places.push(place);
                    }
                }
            }
        }
        Ok(versions)
    }

    /// The transactions taken as committed whose last write to a key is a version that some stale
    /// read returned.
    fn writers_of(
        &self,
        history: &History,
        order: &Order<'_>,
        stale: &[StaleRead],
    ) -> IdMap<(KeyId, ValueCode), LastWriters> {
        let mut writers: IdMap<(KeyId, ValueCode), LastWriters> = stale
            .iter()
            .filter(|read| read.writer == NO_TXN)
            .map(|read| ((read.key, read.version), LastWriters::default()))
            .collect();
        if writers.is_empty() {
            return writers;
        }
        let mut later_write_place = vec![0u32; self.slots.len()];
        for &txn in order.txns {
            for index in history.op_range(txn).rev() {
                let key = history.ops().keys[index];
                if !self.is_stale(key) || !history.ops().kinds[index].is_write() {
                    continue;
                }
                if later_write_place[key.index()] == order.place(txn) {
                    continue;
                }
                later_write_place[key.index()] = order.place(txn);
                if let Some(entry) = writers.get_mut(&(key, history.ops().values[index])) {
                    entry.add(txn);
                }
            }
        }
        writers
    }

    /// Whether a key was read stale.
    #[inline]
    pub(super) fn is_stale(&self, key: KeyId) -> bool {
        self.slots[key.index()] != NO_SLOT
    }

    /// The places of the writers of a key with stale reads, in commit order.
    pub(super) fn places(&self, key: KeyId) -> &[u32] {
        let slot = self.slots[key.index()] as usize;
        self.places.get(slot).map_or(&[], Vec::as_slice)
    }

    /// Whether the transaction at a place writes a key with stale reads.
    pub(super) fn is_written_at(&self, key: KeyId, place: u32) -> bool {
        self.places(key).binary_search(&place).is_ok()
    }

    /// No two transactions read the same version of a key and both write the key. The later one
    /// of such a pair reads stale, so only versions with stale reads matter.
    pub(super) fn check_lost_updates(
        &self,
        history: &History,
        order: &Order<'_>,
        walk: &Walk,
    ) -> Result<(), Refusal> {
        let read_stale: IdMap<(KeyId, TxnId), ()> = walk
            .stale
            .iter()
            .map(|read| ((read.key, read.writer), ()))
            .collect();
        if read_stale.is_empty() {
            return Ok(());
        }
        let mut updates: IdMap<(KeyId, TxnId), TxnId> = IdMap::default();
        for &txn in order.txns {
            for (id, op) in history.txn_ops(txn) {
                let version = (op.key, walk.writers[id.index()]);
                if version.1 == NO_TXN
                    || !self.is_stale(op.key)
                    || !read_stale.contains_key(&version)
                    || !self.is_written_at(op.key, order.place(txn))
                {
                    continue;
                }
                let first = *updates.entry(version).or_insert(txn);
                require!(
                    first == txn,
                    "{} and {} read the same version of {} and both write it: a lost update",
                    name(history, first),
                    name(history, txn),
                    history.key_name(op.key)
                );
            }
        }
        Ok(())
    }
}

fn writer_of(
    history: &History,
    writers: &IdMap<(KeyId, ValueCode), LastWriters>,
    read: &StaleRead,
) -> Result<TxnId, Refusal> {
    let known = writers
        .get(&(read.key, read.version))
        .copied()
        .unwrap_or_default();
    let (op, reader) = (history.op_text(read.op), name(history, read.reader));
    match known.others(read.reader) {
        (1, Some(writer)) => Ok(writer),
        (0, _) => Err(Refusal::new(format!(
            "{op} of {reader} returned nothing that a transaction in the order wrote last"
        ))),
        _ => Err(Refusal::new(format!(
            "{op} of {reader} has several possible writers and the certificate chooses none"
        ))),
    }
}
