//! The commit order itself: who is in it, and what it has to agree with before reads matter.

use super::{Refusal, name, require};
use crate::{CommitOrder, History, Status, TxnId};

/// A commit order with the place of each transaction. The initial transaction has place 0, the
/// first transaction of the order place 1.
pub(super) struct Order<'a> {
    pub(super) txns: &'a [TxnId],
    /// By transaction; 0 for one that is not taken as committed.
    places: Vec<u32>,
}

impl Order<'_> {
    /// Places the transactions: every committed one once, no aborted one, any indeterminate one
    /// at most once.
    pub(super) fn check<'a>(
        history: &History,
        evidence: &'a CommitOrder,
    ) -> Result<Order<'a>, Refusal> {
        let mut places = vec![0u32; history.txn_count()];
        for (index, &txn) in evidence.txns.iter().enumerate() {
            require!(
                txn.index() < history.txn_count(),
                "the order contains {} no transaction of the history",
                name(history, txn)
            );
            require!(
                history.status(txn) != Status::Aborted,
                "the order contains {}, which aborted",
                name(history, txn)
            );
            require!(
                places[txn.index()] == 0,
                "the order contains {} twice",
                name(history, txn)
            );
            places[txn.index()] = index as u32 + 1;
        }
        for txn in history.txn_ids() {
            require!(
                places[txn.index()] > 0 || history.status(txn) != Status::Committed,
                "the order lacks {}, which committed",
                name(history, txn)
            );
        }
        let txns = &evidence.txns;
        Ok(Order { txns, places })
    }

    /// The place of a transaction; 0 for the initial one and for those not taken as committed.
    #[inline]
    pub(super) fn place(&self, txn: TxnId) -> u32 {
        self.places.get(txn.index()).copied().unwrap_or(0)
    }

    /// Whether a transaction is taken as committed.
    #[inline]
    pub(super) fn takes(&self, txn: TxnId) -> bool {
        self.place(txn) > 0
    }

    /// The transaction at a place from 1 on.
    #[inline]
    pub(super) fn at(&self, place: u32) -> TxnId {
        self.txns[place as usize - 1]
    }

    /// The transactions of each session stand in session order.
    pub(super) fn check_sessions(&self, history: &History) -> Result<(), Refusal> {
        for session in history.sessions() {
            let mut last = None;
            for txn in history.session_txns(session).map(TxnId) {
                if !self.takes(txn) {
                    continue;
                }
                if let Some(before) = last.filter(|&before| self.place(before) > self.place(txn)) {
                    return Err(Refusal::new(format!(
                        "the order puts {} before {}, against session order",
                        name(history, txn),
                        name(history, before)
                    )));
                }
                last = Some(txn);
            }
        }
        Ok(())
    }
}
