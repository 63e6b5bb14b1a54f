//! An estimate of when each transaction took place, from sessions and reads alone.
//!
//! Definition: of a few *landmark* sessions, count the transactions that happen before t (its past)
//! and those that t happens before (its future); past / (past + future) says how far the run had
//! come. Along an edge the past grows and the future shrinks, so the estimate never contradicts
//! sessions or reads. Where sessions do not count and reads contradict some, those of its session that precede t in
//! the order given happen before it.
//!
//! Steps: one pass along a topological order takes, for each landmark session, the last transaction
//! seen by anything that t follows; one pass back the first one that follows. Sort by the share.
//!
//! Cost: O(m·l) for m operations and l landmarks, n log n for the sort; 2·l bytes a transaction, or
//! 4·l where a session is long.
//! Source: the priority of the second guess in our brief on checkers; landmarks keep it linear
//! however many sessions there are.

use crate::clocks::Count;
use crate::observe::Observed;
use history::{SessionId, TxnId};

/// More landmarks sharpen the estimate little.
pub const LANDMARKS_MAX: usize = 64;
/// The place of a transaction that is not taken.
const NOWHERE: u32 = u32::MAX;
/// What the rows may take.
const ROWS_BYTES_MAX: usize = 1 << 30;

/// The taken transactions by estimated time. `order` is one along reads, and along sessions where that is possible.
pub fn by_time(observed: &Observed<'_>, order: &[u32]) -> Vec<u32> {
    let history = observed.history;
    let txn_count = history.txn_count();
    let count = LANDMARKS_MAX
        .min(ROWS_BYTES_MAX / (4 * txn_count.max(1)))
        .clamp(4, LANDMARKS_MAX)
        .min(history.session_count());
    let landmarks = Landmarks::new(observed, count, order);
    // Short entries are compared more at a time.
    let (past, future) = match landmarks
        .lengths
        .iter()
        .all(|&length| length < u16::MAX.into())
    {
        true => (landmarks.past::<u16>(order), landmarks.future::<u16>(order)),
        false => (landmarks.past::<u32>(order), landmarks.future::<u32>(order)),
    };
    let mut ranked: Vec<(f32, u32, u32)> = Vec::with_capacity(order.len());
    for (at, &txn) in order.iter().enumerate() {
        let (past, future) = (past[txn as usize], future[txn as usize]);
        let share = past as f32 / (past + future).max(1) as f32;
        ranked.push((share, at as u32, txn));
    }
    ranked.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    ranked.into_iter().map(|(_, _, txn)| txn).collect()
}

struct Landmarks<'a> {
    observed: &'a Observed<'a>,
    /// How many columns there are: as many as landmarks, or a few more, so that eight are compared at a time.
    width: usize,
    /// By transaction, its place in the order.
    place: Vec<u32>,
    /// How many transactions before one in its session are asked: two where some session does not run along the
    /// order, so that each one is asked by somebody.
    neighbours: usize,
    /// By session, its column; `u32::MAX` for those that are no landmark.
    column: Vec<u32>,
    /// By column, how many transactions the session has.
    lengths: Vec<u32>,
}

impl<'a> Landmarks<'a> {
    /// Landmarks spread evenly over the sessions.
    fn new(observed: &'a Observed<'a>, count: usize, order: &[u32]) -> Landmarks<'a> {
        let history = observed.history;
        let mut place = vec![NOWHERE; history.txn_count()];
        for (at, &txn) in order.iter().enumerate() {
            place[txn as usize] = at as u32;
        }
        let taken = |&txn: &u32| observed.taken[txn as usize];
        let keeps_order = |session| {
            let own = history.session_txns(session).filter(taken);
            own.is_sorted_by_key(|txn| place[txn as usize])
        };
        let is_along_sessions = history.sessions().all(keeps_order);
        let session_count = history.session_count();
        let mut column = vec![u32::MAX; session_count];
        let mut lengths = Vec::with_capacity(count);
        for number in 0..count {
            let session = number * session_count / count;
            column[session] = number as u32;
            lengths.push(history.session_txns(SessionId(session as u32)).len() as u32);
        }
        Landmarks {
            observed,
            width: count.next_multiple_of(8),
            place,
            neighbours: if is_along_sessions { 1 } else { 2 },
            column,
            lengths,
        }
    }

    /// The column and the place in the session of a transaction of a landmark.
    fn place(&self, txn: u32) -> Option<(usize, u32)> {
        let history = self.observed.history;
        let session = history.session_of(TxnId(txn));
        let column = self.column[session.index()];
        (column != u32::MAX).then(|| {
            let first = history.session_txns(session).start;
            (column as usize, txn - first)
        })
    }

    /// The last few transactions before one in its session that precede it in the order, too.
    fn previous(&self, txn: u32) -> impl Iterator<Item = u32> {
        let session = self.observed.history.session_of(TxnId(txn));
        let first = self.observed.history.session_txns(session).start;
        let at = self.place[txn as usize];
        let earlier = move |&other: &u32| self.place[other as usize] < at;
        let found = (first..txn).rev().filter(earlier);
        found.take(self.neighbours)
    }

    /// By transaction, how many landmark transactions happen before it or are it.
    fn past<T: Count>(&self, order: &[u32]) -> Vec<u64> {
        let mut rows = vec![T::default(); self.width * self.observed.history.txn_count()];
        let mut sums = vec![0; self.observed.history.txn_count()];
        let mut row = vec![T::default(); self.width];
        for &txn in order {
            row.fill(T::default());
            let writers = self
                .observed
                .reads(TxnId(txn))
                .map(|(_, _, writer)| writer.0);
            for before in writers.chain(self.previous(txn)) {
                let other = &rows[before as usize * self.width..][..self.width];
                for (mine, theirs) in row.iter_mut().zip(other) {
                    *mine = (*mine).max(*theirs);
                }
            }
            if let Some((column, place)) = self.place(txn) {
                row[column] = row[column].max(T::of(place + 1));
            }
            sums[txn as usize] = row.iter().map(|&entry| u64::from(entry.into())).sum();
            rows[txn as usize * self.width..][..self.width].copy_from_slice(&row);
        }
        sums
    }

    /// By transaction, how many landmark transactions it happens before.
    fn future<T: Count>(&self, order: &[u32]) -> Vec<u64> {
        // Counted from the end of each session, so that more is later here too.
        let mut rows = vec![T::default(); self.width * self.observed.history.txn_count()];
        let mut sums = vec![0; self.observed.history.txn_count()];
        let mut row = vec![T::default(); self.width];
        for &txn in order.iter().rev() {
            row.copy_from_slice(&rows[txn as usize * self.width..][..self.width]);
            sums[txn as usize] = row.iter().map(|&entry| u64::from(entry.into())).sum();
            if let Some((column, place)) = self.place(txn) {
                row[column] = row[column].max(T::of(self.lengths[column] - place));
            }
            let writers = self
                .observed
                .reads(TxnId(txn))
                .map(|(_, _, writer)| writer.0);
            for before in writers.chain(self.previous(txn)) {
                let other = &mut rows[before as usize * self.width..][..self.width];
                for (theirs, mine) in other.iter_mut().zip(&row) {
                    *theirs = (*theirs).max(*mine);
                }
            }
        }
        sums
    }
}
