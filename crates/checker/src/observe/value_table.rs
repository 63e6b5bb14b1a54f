//! The writes of a history by value alone: for values that nobody writes to two keys, as those of one
//! counter for the whole store, or drawn at random from many.
//!
//! Steps: find the largest written number, or, where that is too large, how many are too large; give every
//! number up to it a place in one table, and one to every value that is not its own code. The few numbers that are
//! too large (of numbers drawn below 2⁴⁰, one in 500 is its own code) have a table by hash. The place remembers the
//! key. Where a value is written to a second key, where places would take more than [`PLACES`] allows, or where more
//! than [`LARGE`] of the numbers are too large, there is no such table.
//!
//! Cost: one scan of the columns, 8 bytes a place, one access a read or write. A table by hash takes
//! 18 to 36 bytes a write, or twice as many scans.

use super::Observed;
use super::table_join::{EMPTY, Table};
use history::ValueCode;
use rustc_hash::FxHashMap;

/// The most places, as (places, operations): what the other ways to join take, too.
const PLACES: (usize, usize) = (3, 4);

/// The most numbers that are too large, as (numbers, operations).
const LARGE: (usize, usize) = (1, 64);

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
    /// The places of numbers that are too large.
    large: FxHashMap<u32, Place>,
}

const NOBODY: Place = Place { key: 0, tag: EMPTY };

impl ValueTable {
    /// An empty table for all writes of a history, if that takes little.
    pub(super) fn new(observed: &Observed<'_>) -> Option<ValueTable> {
        let ops = observed.history.ops();
        let places_max = ops.len() * PLACES.0 / PLACES.1;
        let interned = observed.history.values().interned_count();
        let limit = places_max.checked_sub(interned)? as u32;
        let columns = ops.kinds.iter().zip(&*observed.values);
        let (mut largest, mut large_count) = (0, 0);
        // Not a branch, since reads and writes alternate at random.
        for (kind, value) in columns {
            let is_number = kind.is_write() & (value.0 < ValueCode::SMALL_LIMIT);
            let is_large = value.0 >= limit;
            largest = largest.max(if is_number & !is_large { value.0 } else { 0 });
            large_count += usize::from(is_number & is_large);
        }
        if large_count > ops.len() * LARGE.0 / LARGE.1 {
            return None;
        }
        let numbers = largest + 1;
        Some(ValueTable {
            places: vec![NOBODY; numbers as usize + interned],
            numbers,
            large: FxHashMap::default(),
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
        let place = match self.places.get_mut(place) {
            Some(place) => place,
            None if value < ValueCode::SMALL_LIMIT => self.large.entry(value).or_insert(NOBODY),
            None => return None,
        };
        if (place.tag != EMPTY) & (place.key != key) {
            return None;
        }
        place.key = key;
        Some(&mut place.tag)
    }

    #[inline]
    fn find(&self, key: u32, value: u32) -> u32 {
        let place = self.places.get(self.place(value));
        match place.or_else(|| self.large.get(&value)) {
            Some(place) if place.key == key => place.tag,
            _ => EMPTY,
        }
    }
}
