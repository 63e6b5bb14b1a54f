//! Happens-before clocks: for each transaction, the latest transaction of every session that
//! reaches it by session order and reads.
//!
//! A row has one entry a session: one more than the number of the latest transaction of that
//! session that happens before (or is) the row's own, 0 for none. Transactions are numbered session
//! by session, so `t2` happens before `t3` iff `row(t3)[session(t2)] > t2`.
//!
//! Steps: walk the transactions in an order that extends so ∪ wr; a row is the maximum of the
//! session's row and the rows of the transactions read from, skipping those already covered. A
//! transaction's row is kept only until its last reader has gone. Where so ∪ wr has cycles, the
//! transactions of one component lie next to each other in the order and share one row.
//!
//! Cost: O(sessions) for each read from a transaction not yet covered. Memory: a row for each
//! session and for each transaction that is still to be read from. Source: vector clocks; the C4
//! paper keeps all rows and compares tree clocks, here most rows are short-lived instead.

use crate::Budget;
use crate::budget::Limit;
use crate::graph::Components;
use crate::observe::{Link, Observed};
use history::{LargeEntry, LargeTable, TxnId};

/// The rows that are alive at some moment of the walk.
pub struct Rows<'a> {
    observed: &'a Observed<'a>,
    width: usize,
    /// The row of each session's last transaction so far.
    session_rows: Vec<u32>,
    /// Rows kept for later readers, and which of them each transaction has.
    slab: Vec<u32>,
    free: Vec<u32>,
    slot_of: Vec<u32>,
    readers_left: Vec<u32>,
}

const NO_SLOT: u32 = u32::MAX;

impl<'a> Rows<'a> {
    fn new(observed: &'a Observed<'a>) -> Rows<'a> {
        let history = observed.history;
        let width = history.session_count();
        let mut readers_left = vec![0u32; history.txn_count()];
        for txn in history.txn_ids().filter(|txn| observed.taken[txn.index()]) {
            for (_, _, writer) in observed.reads(txn) {
                readers_left[writer.index()] += 1;
            }
        }
        Rows {
            observed,
            width,
            session_rows: vec![0; width * width],
            slab: Vec::new(),
            free: Vec::new(),
            slot_of: vec![NO_SLOT; history.txn_count()],
            readers_left,
        }
    }

    /// The row of a transaction that is still to be read from (its last reader has not gone).
    pub fn kept(&self, txn: u32) -> Option<&[u32]> {
        let slot = self.slot_of[txn as usize];
        (slot != NO_SLOT).then(|| &self.slab[slot as usize * self.width..][..self.width])
    }

    /// Joins into `row` the rows of everything that the transaction read from.
    fn join_reads(&self, txn: u32, row: &mut [u32]) {
        for op in self.observed.history.op_range(TxnId(txn)) {
            let writer = self.observed.links[op];
            if !Link::is_txn(writer) {
                continue;
            }
            let session = self.observed.history.session_of(TxnId(writer)).index();
            if row[session] > writer {
                continue;
            }
            if let Some(kept) = self.kept(writer) {
                join(row, kept);
            }
        }
    }

    fn keep(&mut self, txn: u32, row: &[u32]) {
        if self.readers_left[txn as usize] == 0 {
            return;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            let slot = (self.slab.len() / self.width.max(1)) as u32;
            self.slab.resize(self.slab.len() + self.width, 0);
            slot
        });
        self.slab[slot as usize * self.width..][..self.width].copy_from_slice(row);
        self.slot_of[txn as usize] = slot;
    }

    /// Lets go of the rows that the transaction was the last to read from.
    fn release_reads(&mut self, txn: u32) {
        for op in self.observed.history.op_range(TxnId(txn)) {
            let writer = self.observed.links[op];
            if !Link::is_txn(writer) {
                continue;
            }
            let left = &mut self.readers_left[writer as usize];
            *left -= 1;
            if *left == 0 && self.slot_of[writer as usize] != NO_SLOT {
                self.free.push(self.slot_of[writer as usize]);
                self.slot_of[writer as usize] = NO_SLOT;
            }
        }
    }
}

/// Walks `order` and shows each transaction's row, with the rows of everything it read from still
/// kept. `components` is given where so ∪ wr is cyclic, and `order` lists them one by one.
pub fn walk<'a>(
    observed: &'a Observed<'a>,
    order: &[u32],
    components: Option<&Components>,
    budget: &Budget<'_>,
    mut visit: impl FnMut(u32, &[u32], &Rows<'a>),
) -> Result<(), Limit> {
    let mut rows = Rows::new(observed);
    let width = rows.width;
    let mut row = vec![0u32; width];
    let mut at = 0;
    while at < order.len() {
        if at % 4096 == 0 {
            budget.check("happens-before clocks")?;
        }
        let group = group_at(order, at, components);
        row.fill(0);
        for &txn in group {
            let session = observed.history.session_of(TxnId(txn)).index();
            let so = &rows.session_rows[session * width..][..width];
            join(&mut row, so);
            rows.join_reads(txn, &mut row);
        }
        for &txn in group {
            let session = observed.history.session_of(TxnId(txn)).index();
            row[session] = row[session].max(txn + 1);
        }
        for &txn in group {
            let session = observed.history.session_of(TxnId(txn)).index();
            rows.keep(txn, &row);
            rows.session_rows[session * width..][..width].copy_from_slice(&row);
        }
        for &txn in group {
            visit(txn, &row, &rows);
        }
        for &txn in group {
            rows.release_reads(txn);
        }
        at += group.len();
    }
    Ok(())
}

/// All rows at once, for histories small enough: rounds that ask again need no second walk.
///
/// An entry counts the transactions of a session that happen before (or are) the row's own, in as
/// few bytes as the longest session needs.
pub enum AllRows {
    /// For sessions of up to 255 transactions.
    Bytes(RowsOf<u8>),
    /// For sessions of up to 65 535 transactions.
    Shorts(RowsOf<u16>),
    /// For all others.
    Words(RowsOf<u32>),
}

/// The most memory that [`AllRows`] may take.
const ALL_ROWS_BYTES_MAX: usize = 512 << 20;

impl AllRows {
    /// The rows of every transaction of an order that extends so ∪ wr; `None` if they are too many.
    pub fn new(observed: &Observed<'_>, order: &[u32]) -> Option<AllRows> {
        let entry_bytes = entry_bytes(observed);
        if all_rows_bytes(observed) > ALL_ROWS_BYTES_MAX {
            return None;
        }
        Some(match entry_bytes {
            1 => AllRows::Bytes(RowsOf::new(observed, order)),
            2 => AllRows::Shorts(RowsOf::new(observed, order)),
            _ => AllRows::Words(RowsOf::new(observed, order)),
        })
    }
}

impl AllRows {
    /// Whether one transaction happens before (or is) another.
    #[inline]
    pub fn precedes(&self, before: u32, txn: u32) -> bool {
        match self {
            AllRows::Bytes(rows) => rows.precedes(before, txn),
            AllRows::Shorts(rows) => rows.precedes(before, txn),
            AllRows::Words(rows) => rows.precedes(before, txn),
        }
    }
}

fn entry_bytes(observed: &Observed<'_>) -> usize {
    let history = observed.history;
    let lengths = history.sessions().map(|s| history.session_txns(s).len());
    match lengths.max().unwrap_or(0) {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        _ => 4,
    }
}

/// The memory that [`AllRows`] would take.
pub fn all_rows_bytes(observed: &Observed<'_>) -> usize {
    let history = observed.history;
    history.session_count() * history.txn_count() * entry_bytes(observed)
}

/// A count of transactions.
pub trait Count: LargeEntry + Ord + Default + Into<u32> {
    /// A count known to fit.
    fn of(count: u32) -> Self;
}

impl Count for u8 {
    fn of(count: u32) -> u8 {
        count as u8
    }
}

impl Count for u16 {
    fn of(count: u32) -> u16 {
        count as u16
    }
}

impl Count for u32 {
    fn of(count: u32) -> u32 {
        count
    }
}

/// All rows, with entries of one size.
pub struct RowsOf<C> {
    width: usize,
    rows: LargeTable<C>,
    /// By transaction, its session and one more than its place there.
    numbers: Vec<(u32, C)>,
}

impl<C: Count> RowsOf<C> {
    fn new(observed: &Observed<'_>, order: &[u32]) -> RowsOf<C> {
        let history = observed.history;
        let width = history.session_count();
        let mut all = RowsOf {
            width,
            rows: LargeTable::zeros(width * history.txn_count()),
            numbers: Vec::with_capacity(history.txn_count()),
        };
        for session in history.sessions() {
            let count = history.session_txns(session).len() as u32;
            let numbers = (1..=count).map(|number| (session.0, C::of(number)));
            all.numbers.extend(numbers);
        }
        let mut last: Vec<Option<u32>> = vec![None; width];
        let mut row = vec![C::default(); width];
        let mut buffer = Vec::new();
        for &txn in order {
            let (session, own) = all.number(txn);
            match last[session] {
                Some(before) => row.copy_from_slice(all.row(before)),
                None => row.fill(C::default()),
            }
            for &writer in observed.read_from(TxnId(txn), &mut buffer) {
                let (session, needed) = all.number(writer);
                if row[session] < needed {
                    join(&mut row, all.row(writer));
                }
            }
            row[session] = own;
            all.rows.as_mut_slice()[txn as usize * width..][..width].copy_from_slice(&row);
            last[session] = Some(txn);
        }
        all
    }

    /// The session of a transaction, and one more than its place there.
    #[inline]
    pub fn number(&self, txn: u32) -> (usize, C) {
        let (session, number) = self.numbers[txn as usize];
        (session as usize, number)
    }

    /// Whether one transaction happens before (or is) another.
    #[inline]
    pub fn precedes(&self, before: u32, txn: u32) -> bool {
        let (session, number) = self.number(before);
        self.row(txn)[session] >= number
    }

    /// For each session, how many of its transactions happen before (or are) `txn`.
    #[inline]
    pub fn row(&self, txn: u32) -> &[C] {
        &self.rows.as_slice()[txn as usize * self.width..][..self.width]
    }
}

/// The larger one of each two entries.
#[inline]
pub fn join<C: Count>(row: &mut [C], other: &[C]) {
    for (mine, theirs) in row.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

/// The transactions at `at` that share a component.
fn group_at<'o>(order: &'o [u32], at: usize, components: Option<&Components>) -> &'o [u32] {
    let Some(components) = components else {
        return &order[at..at + 1];
    };
    let of = |txn: u32| components.of[txn as usize];
    let len = order[at..]
        .iter()
        .take_while(|&&txn| of(txn) == of(order[at]))
        .count();
    &order[at..at + len]
}

/// Whether clocks are affordable: with very many sessions, rows are as long as the history.
pub fn affordable(observed: &Observed<'_>) -> bool {
    let sessions = observed.history.session_count();
    sessions <= 2048 || sessions * (observed.history.txn_count() + sessions) * 4 <= 1 << 30
}
