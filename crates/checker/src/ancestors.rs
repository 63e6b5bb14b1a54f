//! Ancestors among the last few thousand transactions of an order, for one transaction after
//! another: who happens before whom, as long as the two are not far apart.
//!
//! Definition: row `q` has a bit for each of the last `width` places of the order up to `q`; it is
//! set iff the transaction there happens before (or is) the one at `q`. The order extends so ∪ wr,
//! so every path between two places stays between them, and the bits are exact.
//!
//! Steps: a row is the union of the rows of its direct predecessors, the newest first, cut to the
//! places that are still within the width. Places are taken modulo the width, for rows and for bits,
//! so nothing is ever shifted, and only the last `width` rows exist.
//!
//! Cost: width / 64 words for each predecessor within the width that is not yet covered; width² / 8
//! bytes in all, whatever the number of sessions. Clocks cost a word a session instead.

use crate::observe::Observed;
use history::TxnId;

/// The last rows of a walk along an order.
pub struct Ancestors<'a> {
    observed: &'a Observed<'a>,
    place: &'a [u32],
    width: usize,
    words: usize,
    rows: Vec<u64>,
    row: Vec<u64>,
    /// The union of some rows.
    cover: Vec<u64>,
    /// Places before this one are not known.
    start: usize,
    /// What a transaction read from, and the places of its predecessors.
    buffer: Vec<u32>,
    places: Vec<usize>,
}

/// The largest width: its rows take 8 MB.
pub const WIDTH_MAX: usize = 8192;

impl<'a> Ancestors<'a> {
    /// Knows ancestors that are up to `distance` places before their transaction, at most
    /// [`WIDTH_MAX`] − 1.
    pub fn new(observed: &'a Observed<'a>, place: &'a [u32], distance: usize) -> Ancestors<'a> {
        let width = (distance + 1).next_power_of_two().clamp(64, WIDTH_MAX);
        let words = width / 64;
        Ancestors {
            observed,
            place,
            width,
            words,
            rows: vec![0; width * words],
            row: vec![0; words],
            cover: vec![0; words],
            start: 0,
            buffer: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Goes on at a place further on and forgets everything before.
    pub fn restart(&mut self, place: usize) {
        self.start = place;
    }

    /// Takes the transaction at the next place.
    pub fn step(&mut self, txn: u32, at: usize) {
        self.row.fill(0);
        let oldest = self.start.max((at + 1).saturating_sub(self.width));
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        let session = self.observed.session_predecessor(txn);
        let read_from = self.observed.read_from(TxnId(txn), &mut self.buffer);
        let place = |before: &u32| self.place[*before as usize] as usize;
        let is_known = |place: &usize| (oldest..at).contains(place);
        places.extend(session.iter().chain(read_from).map(place).filter(is_known));
        // The newest first: most of the others happen before it.
        places.sort_unstable_by(|a, b| b.cmp(a));
        for &place in &places {
            self.join(place, oldest);
        }
        self.places = places;
        let slot = at % self.width;
        self.row[slot / 64] |= 1 << (slot % 64);
        self.rows[slot * self.words..][..self.words].copy_from_slice(&self.row);
    }

    #[inline]
    fn join(&mut self, place: usize, oldest: usize) {
        let slot = place % self.width;
        if self.row[slot / 64] >> (slot % 64) & 1 == 1 {
            return;
        }
        let other = &self.rows[slot * self.words..][..self.words];
        let first = oldest % self.width;
        if first <= slot {
            unite(&mut self.row, other, first, slot);
        } else {
            unite(&mut self.row, other, first, self.width - 1);
            unite(&mut self.row, other, 0, slot);
        }
    }

    /// Whether the transaction at a place happens before the one taken last. The place is within
    /// the distance and not before the start.
    #[inline]
    pub fn contain(&self, place: u32) -> bool {
        let slot = place as usize % self.width;
        self.row[slot / 64] >> (slot % 64) & 1 == 1
    }

    /// Begins a new cover.
    pub fn uncover(&mut self) {
        self.cover.fill(0);
    }

    /// Covers what happens before the transaction at a place, for older places: those between it
    /// and the current one may be covered by mistake.
    pub fn cover(&mut self, place: u32) {
        let slot = place as usize % self.width;
        let other = &self.rows[slot * self.words..][..self.words];
        for (mine, theirs) in self.cover.iter_mut().zip(other) {
            *mine |= theirs;
        }
    }

    /// Whether a place is covered.
    #[inline]
    pub fn covered(&self, place: u32) -> bool {
        let slot = place as usize % self.width;
        self.cover[slot / 64] >> (slot % 64) & 1 == 1
    }
}

/// Adds the bits `first..=last` of `other`.
#[inline]
fn unite(row: &mut [u64], other: &[u64], first: usize, last: usize) {
    let (from, to) = (first / 64, last / 64);
    let head = u64::MAX << (first % 64);
    let tail = u64::MAX >> (63 - last % 64);
    if from == to {
        row[from] |= other[from] & head & tail;
        return;
    }
    row[from] |= other[from] & head;
    row[to] |= other[to] & tail;
    for (mine, theirs) in row[from + 1..to].iter_mut().zip(&other[from + 1..to]) {
        *mine |= theirs;
    }
}
