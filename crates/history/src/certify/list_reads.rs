//! A commit order against what list reads show of the order of appends.
//!
//! The elements of a list stand in the order of their transactions and, of one transaction, of its
//! operations, and an element that nobody saw comes after all that somebody saw. From read-committed up, all lists of a key are beginnings of
//! one list, which shows nothing but what transactions of the order appended, each element once.
//! At read-uncommitted, lists may contradict each other as long as no order does; where those that
//! committed transactions read of a key do not, what these lack comes after what they show.

use super::order::Order;
use super::{Refusal, name, require};
use crate::{History, KeyId, Level, Op, OpKind, Status, TxnId, ValueCode};
use std::collections::{BTreeMap, HashSet};

struct Append {
    key: KeyId,
    element: ValueCode,
    txn: TxnId,
    /// What the transaction appended to the key right before.
    before: Option<ValueCode>,
}

/// Lists of a key, none the beginning of another.
type Lists<'h> = BTreeMap<KeyId, Vec<&'h [ValueCode]>>;

/// Refuses an order that contradicts a list.
pub(super) fn check(history: &History, order: &Order<'_>, level: Level) -> Result<(), Refusal> {
    let is_strict = level != Level::ReadUncommitted;
    let lists = lists(history, order.txns.iter().copied(), is_strict)?;
    if lists.is_empty() {
        return Ok(());
    }
    let appends = appends(history, order, &lists)?;
    for (&key, lists) in &lists {
        for list in lists {
            check_list(history, order, key, list, &appends, is_strict)?;
        }
    }
    if is_strict {
        return check_unseen(history, order, &lists, &appends);
    }
    let certain = order.txns.iter().copied();
    let certain = certain.filter(|&txn| history.status(txn) == Status::Committed);
    check_unseen(
        history,
        order,
        &self::lists(history, certain, false)?,
        &appends,
    )
}

/// What the longest list of a key lacks, unless another one contradicts it.
fn check_unseen(
    history: &History,
    order: &Order<'_>,
    lists: &Lists<'_>,
    appends: &[Append],
) -> Result<(), Refusal> {
    for (&key, lists) in lists {
        let [list] = lists.as_slice() else {
            continue;
        };
        let mut shown = list.iter().rev();
        let last = shown.find_map(|&element| append_of(appends, key, element));
        let last = last.map(|append| append.txn);
        let start = appends.partition_point(|append| append.key < key);
        let of_key = appends[start..].iter();
        let of_key = of_key.take_while(|append| append.key == key);
        let seen: HashSet<ValueCode> = list.iter().copied().collect();
        for append in of_key.filter(|append| !seen.contains(&append.element)) {
            check_pair(history, order, key, last, append.txn)?;
        }
    }
    Ok(())
}

/// The append of an element by a transaction of the order.
fn append_of(appends: &[Append], key: KeyId, element: ValueCode) -> Option<&Append> {
    let found = appends.binary_search_by_key(&(key, element), |a| (a.key, a.element));
    found.ok().map(|index| &appends[index])
}

/// Goes through a list.
fn check_list(
    history: &History,
    order: &Order<'_>,
    key: KeyId,
    list: &[ValueCode],
    appends: &[Append],
    is_strict: bool,
) -> Result<(), Refusal> {
    let mut last: Option<TxnId> = None;
    let mut seen = HashSet::new();
    for &element in list {
        let append = append_of(appends, key, element);
        require!(
            append.is_some() || !is_strict,
            "a list {} shows an element that no transaction in the order appended",
            history.key_name(key)
        );
        require!(
            seen.insert(element) || (!is_strict && is_of_aborted(history, key, element, list)),
            "a list {} shows {} twice",
            history.key_name(key),
            history.value(element)
        );
        if let Some(append) = append {
            let is_skipped = |before: &ValueCode| is_strict && !seen.contains(before);
            if let Some(before) = append.before.filter(is_skipped) {
                return Err(Refusal::new(format!(
                    "a list {} shows {} of {}, but not before it {}, which that had appended first",
                    history.key_name(key),
                    history.value(element),
                    name(history, append.txn),
                    history.value(before)
                )));
            }
            check_pair(history, order, key, last, append.txn)?;
            last = Some(append.txn);
        }
    }
    Ok(())
}

/// Whether a list shows an element no more often than aborted transactions appended it, and nobody else did: where reads
/// may be dirty, that is no repetition.
fn is_of_aborted(history: &History, key: KeyId, element: ValueCode, list: &[ValueCode]) -> bool {
    let (mut aborted_count, mut others) = (0, false);
    for txn in history.txn_ids() {
        let ops = history.txn_ops(txn);
        let is_append = |op: &Op| op.kind.is_write() && op.key == key && op.value == element;
        let count = ops.filter(|(_, op)| is_append(op)).count();
        match history.status(txn) {
            Status::Aborted => aborted_count += count,
            _ => others |= count > 0,
        }
    }
    let shown_count = list.iter().filter(|&&shown| shown == element).count();
    !others && shown_count <= aborted_count
}

fn check_pair(
    history: &History,
    order: &Order<'_>,
    key: KeyId,
    before: Option<TxnId>,
    after: TxnId,
) -> Result<(), Refusal> {
    let Some(before) = before.filter(|&before| before != after) else {
        return Ok(());
    };
    require!(
        order.place(before) < order.place(after),
        "the order puts {} before {}, but list reads show their appends to {} the other way",
        name(history, after),
        name(history, before),
        history.key_name(key)
    );
    Ok(())
}

/// The longest lists that transactions read of each key.
fn lists<'h>(
    history: &'h History,
    txns: impl Iterator<Item = TxnId>,
    is_strict: bool,
) -> Result<Lists<'h>, Refusal> {
    let mut lists = Lists::new();
    if !history.ops().kinds.contains(&OpKind::ReadList) {
        return Ok(lists);
    }
    for txn in txns {
        for (_, op) in history.txn_ops(txn) {
            if op.kind != OpKind::ReadList || op.value == ValueCode::UNKNOWN {
                continue;
            }
            let list = history.list(op.value);
            let known = lists.entry(op.key).or_default();
            if known.iter().any(|known| known.starts_with(list)) {
                continue;
            }
            match known.iter_mut().find(|known| list.starts_with(known)) {
                Some(shorter) => *shorter = list,
                None => known.push(list),
            }
            require!(
                known.len() == 1 || !is_strict,
                "{} read a list {} that contradicts another read of it",
                name(history, txn),
                history.key_name(op.key)
            );
        }
    }
    Ok(lists)
}

/// The appends to keys that were read, of the transactions taken, sorted by key and element.
fn appends(history: &History, order: &Order<'_>, read: &Lists<'_>) -> Result<Vec<Append>, Refusal> {
    let mut appends = Vec::new();
    let mut own = BTreeMap::new();
    for &txn in order.txns {
        own.clear();
        for (_, op) in history.txn_ops(txn) {
            if op.kind.is_write() && read.contains_key(&op.key) {
                require!(
                    op.kind == OpKind::Append,
                    "{} uses {} as a register, others as a list",
                    name(history, txn),
                    history.key_name(op.key)
                );
                let (key, element) = (op.key, op.value);
                let before = own.insert(key, element);
                appends.push(Append {
                    key,
                    element,
                    txn,
                    before,
                });
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
