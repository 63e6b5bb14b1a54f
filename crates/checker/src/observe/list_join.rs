//! Joins list reads to the appends whose elements they returned, where a history has nothing else.
//!
//! The table of appends, which the order of versions needs anyway, is sorted by key and element. So
//! each read is one lookup in it, and walking in the order of the file stays among the few keys that
//! are live at a time; `join` would hash and scatter all operations first.
//!
//! Cost: linear where the elements of a key are consecutive numbers, else a binary search a read.

use super::appends::Appends;
use super::join::Unsettled;
use super::{Link, Observed};
use history::{History, OpKind, Status};

/// Whether every operation appends to a list or reads one.
pub(super) fn has_only_lists(history: &History) -> bool {
    let mut kinds = history.ops().kinds.iter();
    kinds.all(|kind| matches!(kind, OpKind::Append | OpKind::ReadList))
}

/// Links every external read that returned the final append of one other, committed transaction;
/// returns the rest.
pub(super) fn join(observed: &mut Observed<'_>, appends: &Appends) -> Unsettled {
    let history = observed.history;
    let keys = &history.ops().keys;
    let mut unsettled = Unsettled { reads: Vec::new() };
    for placed in observed.file_order.iter() {
        let txn = placed.txn;
        for op in placed.ops() {
            if observed.links[op] != Link::PENDING {
                continue;
            }
            let found = appends.find(keys[op], observed.values[op]);
            let is_plain = found.len() == 1 && {
                let append = appends.at(found.start);
                let is_final = observed.links[append.op.index()] == Link::WRITE;
                is_final && append.txn != txn && append.status == Status::Committed
            };
            if is_plain {
                observed.links[op] = appends.at(found.start).txn.0;
            } else {
                unsettled.reads.push((op as u32, txn));
            }
        }
    }
    unsettled.reads.sort_unstable_by_key(|&(op, txn)| (txn, op));
    unsettled
}
