//! A set of 64-bit integers, each with a dense number in order of entry: the integers in one
//! column, and an open-addressing table of their numbers, at most half full.

use crate::ValueCode;

const EMPTY: u32 = u32::MAX;

/// Integers by dense number, and back.
#[derive(Clone, Default, Debug)]
pub(crate) struct WideInts {
    numbers: Vec<u64>,
    /// A power of two places, each a slot or [`EMPTY`].
    table: Vec<u32>,
    /// How many of the slots are in the table.
    entered: usize,
}

impl WideInts {
    /// How many slots are taken.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The integer in a slot.
    #[inline]
    pub fn number(&self, slot: u32) -> u64 {
        self.numbers[slot as usize]
    }

    /// All integers by slot.
    pub fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// The slot of `number`, a new one if it is new.
    #[inline]
    pub fn enter(&mut self, number: u64) -> u32 {
        if self.entered * 2 >= self.table.len() {
            self.grow();
        }
        let mask = self.table.len() - 1;
        let mut place = spread(number) & mask;
        loop {
            let slot = self.table[place];
            if slot == EMPTY {
                let slot = self.reserve_slot(number);
                self.table[place] = slot;
                self.entered += 1;
                return slot;
            }
            if self.numbers[slot as usize] == number {
                return slot;
            }
            place = (place + 1) & mask;
        }
    }

    /// The slot of `number`, if it was entered.
    pub fn find(&self, number: u64) -> Option<u32> {
        if self.table.is_empty() {
            return None;
        }
        let mask = self.table.len() - 1;
        let mut place = spread(number) & mask;
        loop {
            let slot = self.table[place];
            if slot == EMPTY {
                return None;
            }
            if self.numbers[slot as usize] == number {
                return Some(slot);
            }
            place = (place + 1) & mask;
        }
    }

    /// Takes a slot that [`WideInts::find`] does not find, for a payload of the caller's.
    ///
    /// # Panics
    /// Beyond 2³¹−2 slots; a history has fewer operations.
    pub fn reserve_slot(&mut self, payload: u64) -> u32 {
        let slot = self.numbers.len();
        assert!(
            slot < (ValueCode::SMALL_LIMIT - 2) as usize,
            "too many different values"
        );
        self.numbers.push(payload);
        slot as u32
    }

    fn grow(&mut self) {
        let size = (self.table.len() * 2).max(64);
        let old = std::mem::replace(&mut self.table, vec![EMPTY; size]);
        let mask = size - 1;
        for slot in old {
            if slot == EMPTY {
                continue;
            }
            let mut place = spread(self.numbers[slot as usize]) & mask;
            while self.table[place] != EMPTY {
                place = (place + 1) & mask;
            }
            self.table[place] = slot;
        }
    }
}

/// Multiplies by 2⁶⁴ over the golden ratio and folds the high half, which every bit reaches.
#[inline]
fn spread(number: u64) -> usize {
    let product = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (product ^ (product >> 32)) as usize
}

#[cfg(test)]
mod tests {
    use super::WideInts;

    #[test]
    fn every_integer_has_one_slot() {
        let mut ints = WideInts::default();
        for round in 0..2 {
            for i in 0..10_000u64 {
                let slot = ints.enter(i.wrapping_mul(0x0123_4567_89ab_cdef));
                assert_eq!(slot as u64, i, "round {round}");
            }
        }
        assert_eq!(ints.len(), 10_000);
        assert_eq!(ints.find(7u64.wrapping_mul(0x0123_4567_89ab_cdef)), Some(7));
        assert_eq!(ints.find(1), None);
    }
}
