//! An order of the transactions from the values that they wrote, where one counter gave all of them, as many clients do
//! to tell values apart.
//!
//! Definition: a hint as in `hinted`, never a fact.
//!
//! Steps: of some transactions, ask whether they wrote larger values than the one before them in their session and than
//! those whom they read from. If nearly all did, sort by the largest value that each one wrote or read; who wrote a value
//! comes before those who only read it.
//!
//! Cost: one scan of the values, a sort of the transactions; 8 bytes a transaction that are freed again. Values that count
//! key by key, or do not count at all, are found out from a few transactions.

use crate::observe::{Link, Observed};
use history::{OpKind, TxnId, ValueCode};

/// So many transactions are asked.
const ASKED: usize = 128;

/// The fewest answers, and the share of them that have to agree.
const ANSWERS_MIN: usize = 8;
const AGREE: (usize, usize) = (7, 8);

/// The taken transactions by their values; None where these do not count.
pub fn by_values(observed: &Observed<'_>) -> Option<Vec<u32>> {
    if !counts(observed) {
        return None;
    }
    let taken =
        (0..observed.history.txn_count() as u32).filter(|&txn| observed.taken[txn as usize]);
    let mut order: Vec<u64> = taken
        .map(|txn| u64::from(last_value(observed, txn)) << 32 | u64::from(txn))
        .collect();
    order.sort_unstable();
    Some(order.into_iter().map(|entry| entry as u32).collect())
}

/// Twice the largest value of a transaction, and one more if it only read that value.
fn last_value(observed: &Observed<'_>, txn: u32) -> u32 {
    let ops = observed.history.ops();
    let range = observed.history.op_range(TxnId(txn));
    let columns = ops.kinds[range.clone()].iter().zip(&ops.values[range]);
    let values = columns.map(|(kind, value)| {
        let is_number = (value.0 < ValueCode::SMALL_LIMIT) & (*kind != OpKind::ReadList);
        let number = if is_number { value.0 } else { 0 };
        2 * number + u32::from(!kind.is_write())
    });
    values.max().unwrap_or(0)
}

/// Whether values seem to count across keys.
fn counts(observed: &Observed<'_>) -> bool {
    let txn_count = observed.history.txn_count();
    let (mut asked, mut agreed) = (0, 0);
    for txn in (0..txn_count).step_by(txn_count.div_ceil(ASKED).max(1)) {
        let txn = txn as u32;
        let Some(own) = last_written(observed, txn) else {
            continue;
        };
        let range = observed.history.op_range(TxnId(txn));
        let links = observed.links[range].iter().copied();
        let before = links.filter(|&link| Link::is_txn(link)).take(2);
        let before = before.chain(observed.session_predecessor(txn));
        for other in before.filter_map(|before| last_written(observed, before)) {
            asked += 1;
            agreed += usize::from(other < own);
        }
    }
    asked >= ANSWERS_MIN && agreed * AGREE.1 >= asked * AGREE.0
}

/// The largest value that a taken transaction wrote, if it is a number.
fn last_written(observed: &Observed<'_>, txn: u32) -> Option<u32> {
    let values = &observed.history.ops().values;
    let writes = observed.writes(TxnId(txn));
    let last = writes.map(|(op, _)| values[op.index()].0).max()?;
    (observed.taken[txn as usize] && last < ValueCode::SMALL_LIMIT).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Budget;
    use crate::observe::observe;
    use history::format::jsonl;
    use history::{Initial, KeyOrder};

    /// Two sessions, one after the other in the file, that took turns: each transaction reads what the one before it wrote.
    fn order_of(value: impl Fn(usize) -> usize) -> Option<Vec<u32>> {
        let mut lines = String::new();
        for session in 0..2 {
            for turn in (session..20).step_by(2) {
                let read = match turn {
                    0 => "null".to_string(),
                    _ => value(turn - 1).to_string(),
                };
                let (key, before, own) = (turn % 3, (turn + 2) % 3, value(turn));
                lines.push_str(&format!(
                    "{{\"session\":{session},\"ops\":[[\"r\",{before},{read}],[\"w\",{key},{own}]]}}\n"
                ));
            }
        }
        let history = jsonl::read(lines.as_bytes(), &mut Vec::new()).expect("a history");
        let budget = Budget::default();
        let observed = observe(&history, &Initial::default(), KeyOrder::Free, &budget);
        observed.ok().and_then(|observed| by_values(&observed))
    }

    #[test]
    fn values_of_one_counter_put_transactions_in_order() {
        let in_turns: Vec<u32> = (0..20).map(|turn| turn % 2 * 10 + turn / 2).collect();
        assert_eq!(order_of(|turn| turn + 1), Some(in_turns));
    }

    #[test]
    fn values_that_do_not_count_are_no_order() {
        assert_eq!(order_of(|turn| (turn * 7 + 3) % 23 + 1), None);
        assert_eq!(order_of(|turn| 100 - turn), None);
    }
}
