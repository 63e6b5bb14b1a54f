//! Anomalies of lists: what their elements, and lists compared with each other, have to show.

use super::facts::Facts;
use super::single::taken_txn_of;
use super::{Refusal, require};
use crate::{History, KeyId, OpId, OpKind, Status, TxnId, ValueCode};

/// The elements of a list read.
fn list_of(history: &History, read: OpId) -> Option<&[ValueCode]> {
    let known = (read.index() < history.op_count()).then(|| history.op(read))?;
    let is_list = known.kind == OpKind::ReadList && known.value != ValueCode::UNKNOWN;
    is_list.then(|| history.list(known.value))
}

/// Whether a list shows an element that nobody appended.
pub(super) fn shows_a_stranger(facts: &Facts<'_>, read: OpId) -> bool {
    let history = facts.history;
    let nobody = |&element: &ValueCode| facts.writes(history.op(read).key, element).is_empty();
    list_of(history, read).is_some_and(|list| list.iter().any(nobody))
}

/// The list of a transaction that has to be taken as committed.
fn taken_list<'h>(
    facts: &Facts<'h>,
    takes: &dyn Fn(TxnId) -> bool,
    read: OpId,
) -> Result<&'h [ValueCode], Refusal> {
    taken_txn_of(facts, takes, read)?;
    list_of(facts.history, read)
        .ok_or_else(|| Refusal::new(format!("operation number {} read no list", read.0)))
}

/// A list shows an element of an aborted transaction, and that nobody else appended.
pub(super) fn dirty_update(
    facts: &Facts<'_>,
    takes: &dyn Fn(TxnId) -> bool,
    append: OpId,
    read: OpId,
) -> Result<(), Refusal> {
    let history = facts.history;
    let list = taken_list(facts, takes, read)?;
    let (key, element) = match append.index() < history.op_count() {
        true => (history.op(append).key, history.op(append).value),
        false => return Err(Refusal::new("the append does not exist")),
    };
    let writes = facts.writes(key, element);
    let all_aborted = writes
        .iter()
        .all(|&(txn, _)| history.status(txn) == Status::Aborted);
    let is_among = writes.iter().any(|&(_, op)| op == append);
    require!(
        history.op(read).key == key && list.contains(&element) && is_among && all_aborted,
        "{} does not show an element of aborted transactions alone",
        history.op_text(read)
    );
    Ok(())
}

/// A list shows an element more often than it was appended by transactions that did not abort. If
/// all aborted, or nobody appended it, once is too often for most levels, but then that is another
/// anomaly.
pub(super) fn duplicate_element(
    facts: &Facts<'_>,
    takes: &dyn Fn(TxnId) -> bool,
    read: OpId,
) -> Result<(), Refusal> {
    let history = facts.history;
    let mut list = taken_list(facts, takes, read)?.to_vec();
    list.sort_unstable();
    let key = history.op(read).key;
    let is_too_often = |same: &[ValueCode]| {
        let writes = facts.writes(key, same[0]);
        let aborted = |write: &&(TxnId, OpId)| history.status(write.0) == Status::Aborted;
        let aborted_count = writes.iter().filter(aborted).count();
        let count = match writes.len() - aborted_count {
            0 => aborted_count.max(1),
            alive => alive,
        };
        same.len() > count
    };
    require!(
        list.chunk_by(|a, b| a == b).any(is_too_often),
        "{} shows no element more often than it was appended",
        history.op_text(read)
    );
    Ok(())
}

/// Two lists of a key, neither the beginning of the other.
pub(super) fn incompatible_order(
    facts: &Facts<'_>,
    takes: &dyn Fn(TxnId) -> bool,
    first: OpId,
    second: OpId,
) -> Result<(), Refusal> {
    let history = facts.history;
    let a = taken_list(facts, takes, first)?;
    let b = taken_list(facts, takes, second)?;
    let same_key = history.op(first).key == history.op(second).key;
    require!(
        same_key && !a.starts_with(b) && !b.starts_with(a),
        "{} and {} do not contradict each other",
        history.op_text(first),
        history.op_text(second)
    );
    Ok(())
}

/// A list shows an append of a transaction, but not before it one that the transaction did first.
pub(super) fn skipped_append(
    facts: &Facts<'_>,
    takes: &dyn Fn(TxnId) -> bool,
    before: OpId,
    append: OpId,
    read: OpId,
) -> Result<(), Refusal> {
    let history = facts.history;
    let list = taken_list(facts, takes, read)?;
    let writer = taken_txn_of(facts, takes, append)?;
    let key = history.op(read).key;
    let elements = [
        facts.require_write(writer, before, key)?,
        facts.require_write(writer, append, key)?,
    ];
    let have_one_append = elements.iter().all(|&e| facts.has_one_append(key, e));
    let shown = list.iter().position(|&element| element == elements[1]);
    let is_skipped = shown.is_some_and(|place| !list[..place].contains(&elements[0]));
    require!(
        before < append && have_one_append && is_skipped,
        "{} does not show {} without {}, which came first",
        history.op_text(read),
        history.op_text(append),
        history.op_text(before)
    );
    Ok(())
}

/// Whether the lists that committed transactions read of a key are beginnings of one another.
pub(super) fn agree(history: &History, key: KeyId) -> bool {
    let committed = |txn: &TxnId| history.status(*txn) == Status::Committed;
    let ops = history.txn_ids().filter(committed);
    let ops = ops.flat_map(|txn| history.txn_ops(txn));
    let reads = ops.filter(|(_, op)| {
        op.kind == OpKind::ReadList && op.key == key && op.value != ValueCode::UNKNOWN
    });
    let mut longest: &[ValueCode] = &[];
    for (_, op) in reads {
        let list = history.list(op.value);
        if list.starts_with(longest) {
            longest = list;
        } else if !longest.starts_with(list) {
            return false;
        }
    }
    true
}
