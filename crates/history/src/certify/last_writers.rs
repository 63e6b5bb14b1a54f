//! The transactions whose last write to a key is a certain version, as far as it matters: whether
//! there is exactly one that a reader can have read from.

use crate::TxnId;

/// The first two of them, and whether there are more.
#[derive(Clone, Copy, Default)]
pub(super) struct LastWriters {
    first: Option<TxnId>,
    second: Option<TxnId>,
    more: bool,
}

impl LastWriters {
    /// One more; a transaction counts once.
    pub(super) fn add(&mut self, txn: TxnId) {
        match (self.first, self.second) {
            (None, _) => self.first = Some(txn),
            (Some(first), _) if first == txn => {}
            (_, None) => self.second = Some(txn),
            (_, Some(second)) => self.more |= txn != second,
        }
    }

    /// How many transactions other than `reader` there are, counting no further than 2, and one
    /// of them.
    pub(super) fn others(&self, reader: TxnId) -> (usize, Option<TxnId>) {
        let named = [self.first, self.second].into_iter().flatten();
        let others: Vec<TxnId> = named.filter(|&txn| txn != reader).collect();
        (
            others.len() + usize::from(self.more),
            others.first().copied(),
        )
    }

    /// The only one that `reader` can have read from.
    pub(super) fn only_other(&self, reader: TxnId) -> Option<TxnId> {
        match self.others(reader) {
            (1, other) => other,
            _ => None,
        }
    }
}
