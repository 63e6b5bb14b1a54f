//! A set of 64-bit integers, each with a dense number in order of entry: the integers in one
//! column, and an open-addressing table of their numbers, at most four fifths full, which can be given back
//! when nothing more is entered.

use crate::ValueCode;

/// A place of the table: a slot, and half of what the integer is spread to, which tells most integers
/// apart without a look at the column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    half: u32,
    slot: u32,
}

/// The fullest a table may be, as (integers, places). Nearly every look-up finds its integer or adds it, and the table was
/// emptier when most were added: three places are looked at on average, in one or two cache lines. A table that is at most
/// half full looks at fewer, and takes twice the memory.
const FULL: (usize, usize) = (4, 5);

const EMPTY: Place = Place {
    half: 0,
    slot: u32::MAX,
};

/// So many integers are looked up together: their places are then loaded at the same time, and not one
/// after another.
const TOGETHER: usize = 32;

/// Integers by dense number, and back.
#[derive(Clone, Default, Debug)]
pub(crate) struct WideInts {
    numbers: Vec<u64>,
    /// A power of two places, or none: before the first integer is entered, and after
    /// [`WideInts::forget_table`].
    table: Vec<Place>,
    /// The slots that are not in the table, ascending.
    reserved: Vec<u32>,
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

    /// The slots that were reserved, ascending.
    pub fn reserved(&self) -> &[u32] {
        &self.reserved
    }

    /// The slot of `number`, a new one if it is new.
    #[inline]
    pub fn enter(&mut self, number: u64) -> u32 {
        let entered = self.numbers.len() - self.reserved.len();
        if !fits(entered + 1, self.table.len()) {
            self.make_table(2 * entered);
        }
        let place = self.place(number);
        match self.table[place] {
            EMPTY => {
                let slot = self.add(number);
                let (_, half) = spread(number);
                self.table[place] = Place { half, slot };
                slot
            }
            known => known.slot,
        }
    }

    /// Replaces each integer by its slot, a new one if it is new.
    pub fn enter_all(&mut self, numbers: &mut [u64]) {
        for numbers in numbers.chunks_mut(TOGETHER) {
            let mut places = [EMPTY; TOGETHER];
            let mut found = [0u64; TOGETHER];
            if let Some(mask) = self.table.len().checked_sub(1) {
                for (place, &number) in places.iter_mut().zip(&*numbers) {
                    *place = self.table[spread(number).0 & mask];
                }
                for (found, place) in found.iter_mut().zip(&places) {
                    *found = self.numbers.get(place.slot as usize).copied().unwrap_or(0);
                }
            }
            for ((number, place), found) in numbers.iter_mut().zip(places).zip(found) {
                let is_known = (place != EMPTY) & (found == *number);
                *number = match is_known {
                    true => place.slot.into(),
                    false => self.enter(*number).into(),
                };
            }
        }
    }

    /// Makes room for so many more integers.
    pub fn expect(&mut self, more: usize) {
        let entered = self.numbers.len() - self.reserved.len();
        if !fits(entered + more, self.table.len()) {
            self.make_table(entered + more);
        }
        self.numbers.reserve_exact(more);
    }

    /// The slot of `number`, if it was entered. Linear once the table is forgotten.
    pub fn find(&self, number: u64) -> Option<u32> {
        if self.table.is_empty() {
            let mut entered = self.entered();
            return entered
                .find(|&(_, other)| other == number)
                .map(|(slot, _)| slot);
        }
        match self.table[self.place(number)] {
            EMPTY => None,
            known => Some(known.slot),
        }
    }

    /// Where `number` is in the table, or would be.
    #[inline]
    fn place(&self, number: u64) -> usize {
        let mask = self.table.len() - 1;
        let (start, half) = spread(number);
        let mut place = start & mask;
        loop {
            let known = self.table[place];
            let is_it = known.half == half
                && self
                    .numbers
                    .get(known.slot as usize)
                    .is_some_and(|&other| other == number);
            if known == EMPTY || is_it {
                return place;
            }
            place = (place + 1) & mask;
        }
    }

    /// Takes a slot that [`WideInts::find`] does not find, for a payload of the caller's.
    ///
    /// # Panics
    /// Beyond 2³¹−2 slots; a history has fewer operations.
    pub fn reserve_slot(&mut self, payload: u64) -> u32 {
        let slot = self.add(payload);
        self.reserved.push(slot);
        slot
    }

    /// Gives back the memory of the table, which is made again by the next integer that is entered.
    pub fn forget_table(&mut self) {
        self.table = Vec::new();
        self.numbers.shrink_to_fit();
    }

    fn add(&mut self, number: u64) -> u32 {
        let slot = self.numbers.len();
        assert!(
            slot < (ValueCode::SMALL_LIMIT - 2) as usize,
            "too many different values"
        );
        self.numbers.push(number);
        slot as u32
    }

    /// The slots that are, or were, in the table, with their integers.
    fn entered(&self) -> impl Iterator<Item = (u32, u64)> {
        let mut reserved = self.reserved.iter().copied().peekable();
        let all = (0..).zip(self.numbers.iter().copied());
        all.filter(move |&(slot, _)| reserved.next_if_eq(&slot).is_none())
    }

    /// Makes the table anew, for so many integers.
    fn make_table(&mut self, count: usize) {
        let size = (count * FULL.1 / FULL.0 + 1).next_power_of_two().max(64);
        self.table = Vec::new();
        let mut table = vec![EMPTY; size];
        let mask = size - 1;
        for (slot, number) in self.entered() {
            let (start, half) = spread(number);
            let mut place = start & mask;
            while table[place] != EMPTY {
                place = (place + 1) & mask;
            }
            table[place] = Place { half, slot };
        }
        self.table = table;
    }
}

/// Whether a table has room for so many integers.
fn fits(count: usize, places: usize) -> bool {
    count * FULL.1 <= places * FULL.0
}

/// Multiplies by 2⁶⁴ over the golden ratio and folds the high half, which every bit reaches; that half
/// comes second.
#[inline]
fn spread(number: u64) -> (usize, u32) {
    let product = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let half = (product >> 32) as u32;
    ((product ^ u64::from(half)) as usize, half)
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

    #[test]
    fn integers_entered_together_have_the_slots_of_those_entered_one_by_one() {
        for len in [0, 1, 31, 32, 33, 1000] {
            let numbers: Vec<u64> = (0..len).map(|i| (i * i) % 97 * 0x0123_4567_89ab).collect();
            let (mut one_by_one, mut all) = (WideInts::default(), WideInts::default());
            let slots: Vec<u64> = numbers
                .iter()
                .map(|&n| one_by_one.enter(n).into())
                .collect();
            let mut together = numbers.clone();
            all.enter_all(&mut together);
            assert_eq!(together, slots, "{len}");
            assert_eq!(all.numbers(), one_by_one.numbers());
        }
    }

    #[test]
    fn a_forgotten_table_is_made_again_without_the_reserved_slots() {
        let mut ints = WideInts::default();
        for number in 0..100 {
            ints.enter(number * 7);
            if number % 10 == 0 {
                ints.reserve_slot(number * 7 + 1);
            }
        }
        let before = ints.clone();
        ints.forget_table();
        for number in 0..800 {
            assert_eq!(ints.find(number), before.find(number), "{number}");
        }
        assert_eq!(ints.enter(1), 110);
        for number in (0..700).step_by(7) {
            assert_eq!(Some(ints.enter(number)), before.find(number), "{number}");
        }
        assert_eq!(ints.len(), 111);
    }
}
