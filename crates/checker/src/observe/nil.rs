//! Writes of nil. A read of nil is one of the initial version; where nil was written, too, it may as well be one of that
//! write, and nothing tells which.
//!
//! Cost: one look at the kinds and values of all operations; a second one where nil is written.

use history::{History, OpKind, Status, ValueCode};

/// Why nothing can be said of the history: nil is written to a key, and another transaction read it.
pub(super) fn undecidable(history: &History) -> Option<String> {
    let ops = history.ops();
    let is_nil = |(&kind, &value): (&OpKind, &ValueCode)| {
        (kind == OpKind::Write) & (value == ValueCode::NIL)
    };
    // All are looked at: the processor takes many at once where nothing ends the loop.
    let all = ops.kinds.iter().zip(&ops.values);
    if !all.fold(false, |found, op| found | is_nil(op)) {
        return None;
    }
    let mut is_written = vec![false; history.keys().limit()];
    let did_not_abort = |txn: &_| history.status(*txn) != Status::Aborted;
    for txn in history.txn_ids().filter(did_not_abort) {
        for (_, op) in history.txn_ops(txn) {
            is_written[op.key.index()] |= is_nil((&op.kind, &op.value));
        }
    }
    for txn in history.txn_ids().filter(did_not_abort) {
        let mut own = Vec::new();
        for (_, op) in history.txn_ops(txn) {
            let is_read = op.kind == OpKind::Read && op.value == ValueCode::NIL;
            if is_read && is_written[op.key.index()] && !own.contains(&op.key) {
                let key = history.key_name(op.key);
                return Some(format!(
                    "nil is written to {key} and read from it; such a read may be one of that write or of the \
                     initial version, and nothing tells which: write a value that stands for nothing instead"
                ));
            }
            if op.kind == OpKind::Write && is_written[op.key.index()] {
                own.push(op.key);
            }
        }
    }
    None
}
