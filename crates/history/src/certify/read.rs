//! What a single read saw, by looking at its own transaction.

use crate::{History, Op, OpId, OpKind, TxnId, ValueCode};

/// What a read saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seen {
    /// The history does not say.
    Unknown,
    /// The own last write.
    Own,
    /// An own write that was no longer the last.
    OwnOverwritten,
    /// Something else although the transaction had written the key.
    NotOwn,
    /// A version from outside; nil is the initial one.
    External(ValueCode),
}

/// The operation, if it is one of the transaction's.
pub(super) fn op_of(history: &History, txn: TxnId, id: OpId) -> Option<Op> {
    let in_txn = txn.index() < history.txn_count() && history.op_range(txn).contains(&id.index());
    in_txn.then(|| history.op(id))
}

/// The transaction that an operation belongs to.
pub(super) fn txn_of(history: &History, id: OpId) -> Option<TxnId> {
    history
        .txn_ids()
        .find(|&txn| history.op_range(txn).contains(&id.index()))
}

/// What the read saw, if it is a read of the transaction.
pub(super) fn seen(history: &History, txn: TxnId, id: OpId) -> Option<Seen> {
    let op = op_of(history, txn, id).filter(|op| !op.kind.is_write())?;
    if op.value == ValueCode::UNKNOWN {
        return Some(Seen::Unknown);
    }
    let own: Vec<ValueCode> = (history.op_range(txn).start..id.index())
        .map(|index| history.op(OpId(index as u32)))
        .filter(|earlier| earlier.key == op.key && earlier.kind.is_write())
        .map(|earlier| earlier.value)
        .collect();
    if op.kind == OpKind::ReadList {
        let outside = history.list(op.value).strip_suffix(own.as_slice());
        return Some(match outside {
            Some(list) => Seen::External(list.last().copied().unwrap_or(ValueCode::NIL)),
            None => Seen::NotOwn,
        });
    }
    Some(match own.last() {
        None => Seen::External(op.value),
        Some(last) if *last == op.value => Seen::Own,
        Some(_) if own.contains(&op.value) => Seen::OwnOverwritten,
        Some(_) => Seen::NotOwn,
    })
}

/// The last write of a transaction to the key that the operation is about.
pub(super) fn last_write(history: &History, txn: TxnId, op: Op) -> Option<OpId> {
    history
        .op_range(txn)
        .rev()
        .map(|index| OpId(index as u32))
        .find(|&id| {
            let other = history.op(id);
            other.key == op.key && other.kind.is_write()
        })
}
