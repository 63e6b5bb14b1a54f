//! The transactions in the order in which their operations lie in the columns.
//!
//! Transactions are numbered session by session, but a file mostly has them by time. With many
//! sessions a walk by number touches every cache line of the columns once for each transaction on
//! it; a walk in this order touches it once, and what a key's operations share is still at hand.
//!
//! Cost: linear; 4 bytes a transaction, and 4 an operation that are freed again.

use history::{History, TxnId};

const NONE: TxnId = TxnId(u32::MAX);

/// All transactions by the place of their operations; those without any come last.
pub(super) fn file_order(history: &History) -> Vec<TxnId> {
    if history.txns().is_sorted_by_key(|txn| txn.ops_start) {
        return history.txn_ids().collect();
    }
    let mut order = vec![NONE; history.op_count()];
    let mut without = Vec::new();
    for txn in history.txn_ids() {
        let row = history.txn(txn);
        if row.op_count > 0 {
            order[row.ops_start as usize] = txn;
        } else {
            without.push(txn);
        }
    }
    order.retain(|&txn| txn != NONE);
    order.extend(without);
    order.shrink_to_fit();
    order
}
