//! What is looked up in a history, made once.
//!
//! **Definition.** The operations of each key, the transaction of each operation, the transactions by
//! the time they began.
//!
//! **Steps.** A counting sort of the operations by key; a sort of the transactions by where their
//! operations begin, and by when they began.
//!
//! **Cost.** Linear in the operations, n log n in the transactions; four bytes an operation, four to
//! eight a transaction, four a key.

use history::{History, KeyId, OpId, TxnId};

/// The tables.
pub(crate) struct Index {
    /// `key_starts[k]..key_starts[k + 1]` are the places in `ops` of the operations of key `k`.
    key_starts: Vec<u32>,
    ops: Vec<OpId>,
    /// The transactions with operations, by where those begin.
    by_place: Vec<TxnId>,
    /// The transactions by the time they began, if that is known.
    by_time: Option<Vec<TxnId>>,
    /// When the first began.
    epoch: i64,
}

impl Index {
    pub fn of(history: &History) -> Index {
        let keys = &history.ops().keys;
        let mut key_starts = vec![0u32; history.keys().limit() + 1];
        for key in keys {
            key_starts[key.index() + 1] += 1;
        }
        for place in 1..key_starts.len() {
            key_starts[place] += key_starts[place - 1];
        }
        let mut next = key_starts.clone();
        let mut ops = vec![OpId(0); keys.len()];
        for (place, key) in keys.iter().enumerate() {
            let slot = &mut next[key.index()];
            ops[*slot as usize] = OpId(place as u32);
            *slot += 1;
        }
        let mut by_place: Vec<TxnId> = history.txn_ids().collect();
        by_place.retain(|&txn| history.txn(txn).op_count > 0);
        by_place.sort_unstable_by_key(|&txn| history.txn(txn).ops_start);
        let start = |txn: TxnId| history.interval(txn).map_or(0, |interval| interval.start);
        let by_time = history.has_intervals().then(|| {
            let mut txns: Vec<TxnId> = history.txn_ids().collect();
            txns.sort_unstable_by_key(|&txn| (start(txn), txn));
            txns
        });
        let first = by_time.as_ref().and_then(|txns| txns.first().copied());
        Index {
            key_starts,
            ops,
            by_place,
            by_time,
            epoch: first.map_or(0, start),
        }
    }

    /// The operations of a key, in the order of the columns.
    pub fn of_key(&self, key: KeyId) -> &[OpId] {
        let (start, end) = (
            self.key_starts[key.index()],
            self.key_starts[key.index() + 1],
        );
        &self.ops[start as usize..end as usize]
    }

    /// The transaction of an operation.
    pub fn owner(&self, history: &History, op: OpId) -> TxnId {
        let after = self
            .by_place
            .partition_point(|&txn| history.txn(txn).ops_start <= op.0);
        self.by_place[after.saturating_sub(1)]
    }

    /// The transactions by the time they began.
    pub fn by_time(&self) -> Option<&[TxnId]> {
        self.by_time.as_deref()
    }

    /// When the first transaction began; times are shown from there.
    pub fn epoch(&self) -> i64 {
        self.epoch
    }
}
