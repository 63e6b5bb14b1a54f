//! Lists that share their elements while a history is built.
//!
//! A list that is only appended to is read as ever longer prefixes of one list, so storing each read
//! whole would take the square of what was appended. Instead each key remembers the longest list read
//! so far: a list that is a prefix of it is a slice of it, and one that extends it is written behind
//! it, in room kept free there. Without room left, the list moves to a block twice as large; slices
//! of the old block stay as they are. Any other list is stored on its own, and is the one remembered
//! from then on if it is longer.
//!
//! Cost: a comparison with the remembered list for each read (none where a reader of text has compared
//! the texts), and less than four times the elements of the longest list for each key.

use crate::ValueCode;
use crate::history::Lists;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

/// The least number of elements a block has room for.
const CAPACITY_MIN: usize = 8;

/// The longest list of a key so far.
#[derive(Clone, Default, Debug)]
struct Longest {
    start: u64,
    len: u32,
    capacity: u32,
    /// How many bytes its elements take in the text that was read; 0 if they may not be compared.
    text_len: u32,
    /// Where they begin there.
    text_start: u64,
}

/// Keys below this are looked up in a table.
const TABLE_MAX: u32 = 1 << 20;
const NO_SLOT: u32 = u32::MAX;

/// The keys whose lists were read.
#[derive(Default, Debug)]
pub(crate) struct SharedLists {
    /// By key, for the small ones, its place; [`NO_SLOT`] if it has none yet.
    table: Vec<u32>,
    others: HashMap<u32, u32, BuildHasherDefault<NumberHasher>>,
    longest: Vec<Longest>,
}

impl SharedLists {
    /// The place of a key.
    #[inline]
    pub fn slot(&mut self, key: u32) -> usize {
        let next = self.longest.len() as u32;
        let slot = if key < TABLE_MAX {
            let place = key as usize;
            if place >= self.table.len() {
                self.table.resize(place + 1, NO_SLOT);
            }
            &mut self.table[place]
        } else {
            self.others.entry(key).or_insert(NO_SLOT)
        };
        if *slot == NO_SLOT {
            *slot = next;
            self.longest.push(Longest::default());
        }
        *slot as usize
    }

    /// Where the text of the longest list lies; empty if it is not known.
    #[inline]
    pub fn text(&self, slot: usize) -> Range<usize> {
        let longest = &self.longest[slot];
        let start = longest.text_start as usize;
        start..start + longest.text_len as usize
    }

    /// Remembers where the text of the longest list lies.
    pub fn set_text(&mut self, slot: usize, text: Range<usize>) {
        let longest = &mut self.longest[slot];
        longest.text_start = text.start as u64;
        // A text too long for the field is just not compared.
        longest.text_len = u32::try_from(text.len()).unwrap_or(0);
    }

    /// How many elements the longest list has.
    #[inline]
    pub fn longest_len(&self, slot: usize) -> usize {
        self.longest[slot].len as usize
    }

    /// Enters the list of the first `count` elements of the longest one.
    #[inline]
    pub fn push_prefix(&self, lists: &mut Lists, slot: usize, count: usize) -> ValueCode {
        let longest = &self.longest[slot];
        lists.push_span(longest.start, count.min(longest.len as usize) as u32)
    }

    /// Enters a list; true if it is the longest one now, and was not before.
    pub fn push(
        &mut self,
        lists: &mut Lists,
        slot: usize,
        elements: &[ValueCode],
    ) -> (ValueCode, bool) {
        let longest = &self.longest[slot];
        let known = lists.span(longest.start, longest.len);
        let shared = known.len().min(elements.len());
        let same = known[..shared] == elements[..shared];
        if same && shared == elements.len() {
            return (self.push_prefix(lists, slot, shared), false);
        }
        if same {
            return (self.extend(lists, slot, &elements[shared..]), true);
        }
        let longer = elements.len() > known.len();
        if !longer {
            return (lists.push(elements), false);
        }
        self.longest[slot] = Longest::default();
        (self.extend(lists, slot, elements), true)
    }

    /// Enters the longest list with `more` behind it, which is the longest then. Its text has to be
    /// set again.
    pub fn extend(&mut self, lists: &mut Lists, slot: usize, more: &[ValueCode]) -> ValueCode {
        let longest = &mut self.longest[slot];
        let len = longest.len as usize + more.len();
        // Nothing can have more elements than a file has bytes, but a number of them is 32 bits.
        let Ok(new_len) = u32::try_from(len) else {
            let whole = [lists.span(longest.start, longest.len), more].concat();
            return lists.push(&whole);
        };
        if len > longest.capacity as usize {
            let capacity = (2 * len).max(CAPACITY_MIN).min(u32::MAX as usize);
            longest.start = lists.move_block(longest.start, longest.len, capacity);
            longest.capacity = capacity as u32;
        }
        lists.fill(longest.start + u64::from(longest.len), more);
        longest.len = new_len;
        longest.text_len = 0;
        lists.push_span(longest.start, new_len)
    }
}

/// Hashes a number by one multiplication: keys are small and nobody gains by making them collide
/// but the owner of the file.
#[derive(Default)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    #[inline]
    fn write_i64(&mut self, number: i64) {
        self.write_u64(number as u64);
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        let product =
            u128::from(self.0 ^ number ^ 0x51_7c_c1_b7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(numbers: impl IntoIterator<Item = u32>) -> Vec<ValueCode> {
        numbers.into_iter().map(ValueCode).collect()
    }

    #[test]
    fn every_list_is_what_was_entered() {
        // A small generator with a fixed seed: prefixes, extensions and strangers, mixed.
        let mut state = 7u64;
        let mut below = |limit: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % limit
        };
        let (mut lists, mut shared) = (Lists::default(), SharedLists::default());
        let mut entered = Vec::new();
        let mut truth: Vec<Vec<ValueCode>> = vec![Vec::new(); 5];
        for _ in 0..3000 {
            let key = below(5) as usize;
            for _ in 0..below(3) {
                let next = ValueCode(truth[key].len() as u32);
                truth[key].push(next);
            }
            let mut list = truth[key][..below(truth[key].len() as u64 + 1) as usize].to_vec();
            if below(10) == 0 {
                list.push(ValueCode(1_000_000 + below(9) as u32));
            }
            if list.is_empty() {
                continue;
            }
            let slot = shared.slot(key as u32);
            entered.push((shared.push(&mut lists, slot, &list).0, list));
        }
        for (code, list) in &entered {
            assert_eq!(lists.get(*code), list);
        }
    }

    #[test]
    fn prefixes_take_no_room() {
        let (mut lists, mut shared) = (Lists::default(), SharedLists::default());
        for len in 1..=1000 {
            for key in 0..3 {
                let slot = shared.slot(key);
                shared.push(&mut lists, slot, &codes(0..len));
                shared.push(&mut lists, slot, &codes(0..len / 2 + 1));
            }
        }
        assert!(
            lists.element_count() < 3 * 4 * 1000,
            "{}",
            lists.element_count()
        );
    }
}
