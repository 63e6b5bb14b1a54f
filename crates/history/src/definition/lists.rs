//! What the lists that were read of a key say together.
//!
//! Every list that a committed transaction read is a beginning of one and the same list, which
//! committed transactions appended element by element, each in the order of its operations; what no
//! list shows was appended after. Where
//! that cannot be so, only read-uncommitted is left, which asks no more than that what lists show of
//! the order of versions goes in no circle and no element occurs twice. Of a key whose lists
//! contradict each other, some were dirty reads of what never came to be, so there nothing follows
//! from what a list lacks.

use super::observation::writes;
use super::relation::Relation;
use crate::{History, KeyId, OpKind, Status, TxnId, ValueCode};

/// The lists that the transactions taken as committed read of a key.
pub(super) struct Lists<'h> {
    lists: Vec<&'h [ValueCode]>,
    /// Those that transactions read which committed for certain.
    certain: Vec<&'h [ValueCode]>,
    /// What each transaction taken appended to the key, in program order.
    appended: Vec<Vec<ValueCode>>,
}

impl Lists<'_> {
    pub(super) fn of<'h>(history: &'h History, taken: &[TxnId], key: KeyId) -> Lists<'h> {
        let read_by = |txn: TxnId| {
            let ops = history.txn_ops(txn);
            let reads = ops.filter(|(_, op)| op.kind == OpKind::ReadList && op.key == key);
            let known = reads.filter(|(_, op)| op.value != ValueCode::UNKNOWN);
            known.map(|(_, op)| history.list(op.value))
        };
        let is_certain = |txn: &TxnId| history.status(*txn) == Status::Committed;
        let certain = taken.iter().copied().filter(is_certain);
        Lists {
            lists: taken.iter().copied().flat_map(read_by).collect(),
            certain: certain.flat_map(read_by).collect(),
            appended: taken.iter().map(|&txn| writes(history, txn, key)).collect(),
        }
    }

    /// Whether some list shows an element twice. (No element is appended twice.)
    pub(super) fn repeat_an_element(&self) -> bool {
        let repeats = |list: &[ValueCode]| (1..list.len()).any(|i| list[..i].contains(&list[i]));
        self.lists.iter().any(|list| repeats(list))
    }

    /// Whether the lists cannot be explained: two contradict each other, or one shows an element
    /// that no committed transaction appended, or that its transaction appended after one that does
    /// not stand before it.
    pub(super) fn are_impossible(&self) -> bool {
        let stranger = |list: &&[ValueCode]| list.iter().any(|&e| self.author(e).is_none());
        self.repeat_an_element()
            || contradict_each_other(&self.lists)
            || self.lists.iter().any(stranger)
            || self.lists.iter().any(|list| self.skips_an_append(list))
    }

    fn skips_an_append(&self, list: &[ValueCode]) -> bool {
        let place = |element| list.iter().position(|&shown| shown == element);
        let mut pairs = self.appended.iter().flat_map(|own| own.windows(2));
        pairs.any(|pair| match place(pair[1]) {
            Some(second) => place(pair[0]).is_none_or(|first| first > second),
            None => false,
        })
    }

    /// The number, in the relations, of the transaction that appended an element.
    fn author(&self, element: ValueCode) -> Option<usize> {
        let place = self.appended.iter().position(|own| own.contains(&element));
        place.map(|place| place + 1)
    }

    /// The order of versions as the lists show them.
    fn shown_order(&self) -> Relation {
        let mut order = Relation::EMPTY;
        for list in &self.lists {
            let authors: Vec<usize> = list.iter().filter_map(|&e| self.author(e)).collect();
            for pair in authors.windows(2).filter(|pair| pair[0] != pair[1]) {
                order.insert(pair[0], pair[1]);
            }
        }
        order
    }

    /// What the longest of some lists lacks comes after all that it shows.
    fn unseen_order(&self, lists: &[&[ValueCode]]) -> Relation {
        let mut order = Relation::EMPTY;
        let longest = lists.iter().max_by_key(|list| list.len());
        let longest = longest.copied().unwrap_or_default();
        let Some(last) = longest.iter().rev().find_map(|&e| self.author(e)) else {
            return order;
        };
        for (place, own) in self.appended.iter().enumerate() {
            let is_unseen = own.iter().any(|element| !longest.contains(element));
            if is_unseen && last != place + 1 {
                order.insert(last, place + 1);
            }
        }
        order
    }

    /// The order of versions where no read is dirty.
    pub(super) fn version_order(&self) -> Relation {
        self.shown_order().union(self.unseen_order(&self.lists))
    }

    /// The order of versions where reads may be dirty.
    pub(super) fn order_of_dirty_reads(&self) -> Relation {
        if contradict_each_other(&self.certain) {
            return self.shown_order();
        }
        self.shown_order().union(self.unseen_order(&self.certain))
    }
}

fn contradict_each_other(lists: &[&[ValueCode]]) -> bool {
    let disagree = |a: &[ValueCode], b: &[ValueCode]| !a.starts_with(b) && !b.starts_with(a);
    let mut pairs = lists.iter().flat_map(|a| lists.iter().map(move |b| (a, b)));
    pairs.any(|(a, b)| disagree(a, b))
}
