//! The commit order itself: who is in it, and what it has to agree with before reads matter.

use super::{Refusal, name, require};
use crate::{CommitOrder, History, KeyId, OpKind, Status, TxnId, ValueCode};
use std::collections::HashMap;

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

    /// The order agrees with what list reads show of the order of appends: the elements of a list
    /// stand in the order of their transactions, and an element that nobody saw comes after all
    /// that somebody saw. With `no_strangers`, a list shows nothing but what transactions of the
    /// order appended.
    pub(super) fn check_list_reads(
        &self,
        history: &History,
        no_strangers: bool,
    ) -> Result<(), Refusal> {
        let longest = self.longest_lists(history)?;
        if longest.is_empty() {
            return Ok(());
        }
        let appends = self.appends(history, &longest)?;
        let mut keys: Vec<KeyId> = longest.keys().copied().collect();
        keys.sort_unstable();
        for key in keys {
            let list = longest[&key];
            let mut last: Option<TxnId> = None;
            for element in list {
                let author = appends.binary_search_by_key(&(key, *element), |a| (a.key, a.element));
                let Some(author) = author.ok().map(|index| appends[index].txn) else {
                    require!(
                        !no_strangers,
                        "a list {} shows an element that no transaction in the order appended",
                        history.key_name(key)
                    );
                    continue;
                };
                self.check_pair(history, key, last, author)?;
                last = Some(author);
            }
            let start = appends.partition_point(|append| append.key < key);
            let of_key = appends[start..]
                .iter()
                .take_while(|append| append.key == key);
            let seen: std::collections::HashSet<ValueCode> = list.iter().copied().collect();
            for append in of_key.filter(|append| !seen.contains(&append.element)) {
                self.check_pair(history, key, last, append.txn)?;
            }
        }
        Ok(())
    }

    fn check_pair(
        &self,
        history: &History,
        key: KeyId,
        before: Option<TxnId>,
        after: TxnId,
    ) -> Result<(), Refusal> {
        let Some(before) = before.filter(|&before| before != after) else {
            return Ok(());
        };
        require!(
            self.place(before) < self.place(after),
            "the order puts {} before {}, but list reads show their appends to {} the other way",
            name(history, after),
            name(history, before),
            history.key_name(key)
        );
        Ok(())
    }

    /// The longest list read of each key; all others have to be its beginnings.
    fn longest_lists<'h>(
        &self,
        history: &'h History,
    ) -> Result<HashMap<KeyId, &'h [ValueCode]>, Refusal> {
        let mut longest: HashMap<KeyId, &[ValueCode]> = HashMap::new();
        if !history.ops().kinds.contains(&OpKind::ReadList) {
            return Ok(longest);
        }
        for &txn in self.txns {
            for (_, op) in history.txn_ops(txn) {
                if op.kind != OpKind::ReadList || op.value == ValueCode::UNKNOWN {
                    continue;
                }
                let list = history.list(op.value);
                let known = longest.entry(op.key).or_insert(list);
                require!(
                    known.starts_with(list) || list.starts_with(known),
                    "{} read a list {} that contradicts another read of it",
                    name(history, txn),
                    history.key_name(op.key)
                );
                if list.len() > known.len() {
                    *known = list;
                }
            }
        }
        Ok(longest)
    }

    /// The appends to keys that were read, of the transactions taken, sorted by key and element.
    fn appends(
        &self,
        history: &History,
        read: &HashMap<KeyId, &[ValueCode]>,
    ) -> Result<Vec<Append>, Refusal> {
        let mut appends = Vec::new();
        for &txn in self.txns {
            for (_, op) in history.txn_ops(txn) {
                if op.kind.is_write() && read.contains_key(&op.key) {
                    require!(
                        op.kind == OpKind::Append,
                        "{} uses {} as a register, others as a list",
                        name(history, txn),
                        history.key_name(op.key)
                    );
                    let (key, element) = (op.key, op.value);
                    appends.push(Append { key, element, txn });
                }
            }
        }
        appends.sort_unstable_by_key(|append| (append.key, append.element));
        for pair in appends.windows(2) {
            require!(
                (pair[0].key, pair[0].element) != (pair[1].key, pair[1].element),
                "{} and {} append the same element to {}, so lists do not show their order",
                name(history, pair[0].txn),
                name(history, pair[1].txn),
                history.key_name(pair[0].key)
            );
        }
        Ok(appends)
    }
}

struct Append {
    key: KeyId,
    element: ValueCode,
    txn: TxnId,
}
