//! The writes of a history by value alone: for values that nobody writes to two keys, as those of one
//! counter for the whole store, or drawn at random from many.
//!
//! Steps: find the largest written number; give every number up to it a place in one table, and one to
//! every value that is not its own code. The place remembers the key. Where a value is written to a
//! second key, or where places would take more than [`PLACES`] allows, there is no such table.
//!
//! Cost: one scan of the columns, 8 bytes a place, one access a read or write. A table by hash takes
//! 18 to 36 bytes a write, or twice as many scans.

use super::Observed;
use super::table_join::{EMPTY, Table};
use history::ValueCode;

/// The most places, as (places, operations): what the other ways to join take, too.
const PLACES: (usize, usize) = (3, 4);

#[derive(Clone, Copy)]
struct Place {
    key: u32,
    tag: u32,
}

/// A place for each value.
pub(super) struct ValueTable {
    places: Vec<Place>,
    /// How many of the places, the first ones, are those of numbers.
    numbers: u32,
}

impl ValueTable {
    /// An empty table for all writes of a history, if that takes little.
    pub(super) fn new(observed: &Observed<'_>) -> Option<ValueTable> {
        let ops = observed.history.ops();
        let columns = ops.kinds.iter().zip(&*observed.values);
        // Not a branch, since reads and writes alternate at random.
        let largest = columns.fold(0, |largest: u32, (kind, value)| {
            let counts = kind.is_write() & (value.0 < ValueCode::SMALL_LIMIT);
            largest.max(if counts { value.0 } else { 0 })
        });
        let numbers = largest + 1;
        let count = numbers as usize + observed.history.values().interned_count();
        if count > ops.len() * PLACES.0 / PLACES.1 {
            return None;
        }
        let empty = Place { key: 0, tag: EMPTY };
        Some(ValueTable {
            places: vec![empty; count],
            numbers,
        })
    }

    #[inline]
    fn place(&self, value: u32) -> usize {
        match value.checked_sub(ValueCode::SMALL_LIMIT) {
            Some(slot) => self.numbers as usize + slot as usize,
            None if value < self.numbers => value as usize,
            None => usize::MAX,
        }
    }
}

impl Table for ValueTable {
    #[inline]
    fn enter(&mut self, key: u32, value: u32) -> Option<&mut u32> {
        let place = self.place(value);
        let place = self.places.get_mut(place)?;
        if (place.tag != EMPTY) & (place.key != key) {
            return None;
        }
        place.key = key;
        Some(&mut place.tag)
    }

    #[inline]
    fn find(&self, key: u32, value: u32) -> u32 {
        match self.places.get(self.place(value)) {
            Some(place) if place.key == key => place.tag,
            _ => EMPTY,
        }
    }
}
