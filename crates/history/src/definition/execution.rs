//! One interpretation of a history, as the relations that the axioms speak about.

use super::relation::Relation;
use crate::{KeyId, OpId};
use std::collections::BTreeMap;

/// The number of the initial transaction in every relation; the others follow.
pub(super) const INITIAL: usize = 0;

/// An external read and the transaction it read from.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadFrom {
    pub(super) reader: usize,
    /// Its place: reads of one transaction compare in program order.
    pub(super) op: OpId,
    pub(super) key: KeyId,
    pub(super) writer: usize,
}

/// The transactions taken as committed, and how they relate.
#[derive(Clone, Debug)]
pub(super) struct Execution {
    /// How many transactions there are, the initial one included.
    pub(super) count: usize,
    /// Session order, transitive. The initial transaction precedes all others.
    pub(super) so: Relation,
    /// Real time: ended before the other began.
    pub(super) rt: Relation,
    /// Who read from whom, all keys together.
    pub(super) wr: Relation,
    /// Every external read.
    pub(super) reads: Vec<ReadFrom>,
    /// The transactions that write a key, but for the initial one.
    pub(super) writers: BTreeMap<KeyId, Vec<usize>>,
    /// What list reads show of the version order of a key, and what follows from what they lack.
    pub(super) known_ww: BTreeMap<KeyId, Relation>,
    /// The part of it that is known where reads may be dirty, all keys together.
    pub(super) dirty_ww: Relation,
    /// Whether some read is impossible at every level but read-uncommitted.
    pub(super) has_impossible_read: bool,
    /// Whether some list shows an element twice, which is impossible at every level.
    pub(super) has_repeated_element: bool,
    /// Whether some transaction read two different versions of a key.
    pub(super) has_non_repeatable_read: bool,
}

impl Execution {
    /// The writers of a key other than the initial transaction.
    pub(super) fn writers(&self, key: KeyId) -> &[usize] {
        self.writers.get(&key).map_or(&[], Vec::as_slice)
    }

    /// What list reads show of the version orders of all keys together.
    pub(super) fn all_known_ww(&self) -> Relation {
        self.known_ww
            .values()
            .fold(Relation::EMPTY, |all, &of_key| all.union(of_key))
    }

    /// Two transactions read the same version of a key, and both write that key.
    pub(super) fn has_lost_update(&self) -> bool {
        let updates = |read: &&ReadFrom| self.writers(read.key).contains(&read.reader);
        self.reads.iter().filter(updates).any(|a| {
            self.reads
                .iter()
                .filter(updates)
                .any(|b| a.key == b.key && a.writer == b.writer && a.reader != b.reader)
        })
    }
}
