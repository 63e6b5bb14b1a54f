//! The transactions in the order in which their operations lie in the columns.
//!
//! Transactions are numbered session by session, but a file mostly has them by time. With many
//! sessions a walk by number touches every cache line of the columns once for each transaction on
//! it; a walk in this order touches it once, and what a key's operations share is still at hand. For
//! the same reason the place of the operations is kept here: the rows of the transaction table are as
//! far apart as the numbers.
//!
//! Cost: linear; nothing where the transactions are numbered in that order, else 12 bytes a transaction, and 4 an operation
//! that are freed again.

use history::{History, Status, TxnId};
use std::ops::Range;

/// A transaction, and where its operations lie.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    pub txn: TxnId,
    start: u32,
    count: u32,
}

impl Placed {
    /// A transaction looked up by its number.
    #[inline]
    pub fn of(history: &History, txn: TxnId) -> Placed {
        let row = history.txn(txn);
        Placed {
            txn,
            start: row.ops_start,
            count: row.op_count,
        }
    }

    /// Where its operations lie in the columns.
    #[inline]
    pub fn ops(self) -> Range<usize> {
        self.start as usize..self.start as usize + self.count as usize
    }
}

/// All transactions by the place of their operations; those without any come last.
#[derive(Clone, Debug)]
pub struct FileOrder<'h> {
    history: &'h History,
    /// Nothing where that is the order of their numbers.
    placed: Option<Vec<Placed>>,
}

impl<'h> FileOrder<'h> {
    /// Finds the order.
    pub(super) fn of(history: &'h History) -> FileOrder<'h> {
        let is_numbered = history.txns().is_sorted_by_key(|txn| txn.ops_start);
        let placed = (!is_numbered).then(|| by_place(history));
        FileOrder { history, placed }
    }

    /// How many transactions there are.
    pub fn len(&self) -> usize {
        self.history.txn_count()
    }

    /// The transaction at a place.
    #[inline]
    pub fn at(&self, place: usize) -> Placed {
        match &self.placed {
            Some(placed) => placed[place],
            None => Placed::of(self.history, TxnId(place as u32)),
        }
    }

    /// All of them, one after another.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Placed> + Clone + '_ {
        (0..self.len()).map(|place| self.at(place))
    }
}

const NONE: u32 = u32::MAX;

/// All transactions by the place of their operations, looked up from there.
fn by_place(history: &History) -> Vec<Placed> {
    let op_count = history.op_count();
    let mut by_start = vec![NONE; op_count];
    let mut without = Vec::new();
    let mut placed_count = 0;
    for (txn, row) in (0u32..).zip(history.txns()) {
        if row.op_count > 0 {
            by_start[row.ops_start as usize] = txn;
            placed_count += row.op_count as usize;
        } else {
            without.push(Placed::of(history, TxnId(txn)));
        }
    }
    let mut order = Vec::with_capacity(history.txn_count());
    for (start, &txn) in (0u32..).zip(&by_start) {
        if txn != NONE {
            order.push(Placed {
                txn: TxnId(txn),
                start,
                count: 0,
            });
        }
    }
    drop(by_start);
    // Where every operation belongs to a transaction, each ends where the next one begins.
    let mut end = op_count as u32;
    for placed in order.iter_mut().rev() {
        placed.count = match placed_count == op_count {
            true => end - placed.start,
            false => history.txn(placed.txn).op_count,
        };
        end = placed.start;
    }
    order.extend(without);
    order
}

/// What became of each transaction, in as little room as possible.
pub(super) fn statuses(history: &History) -> Vec<Status> {
    history.txns().iter().map(|txn| txn.status).collect()
}
