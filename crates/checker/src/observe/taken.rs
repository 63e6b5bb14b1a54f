//! Which transactions count as committed: one bit each.
//!
//! They are asked about in the order of the file, and numbered by session. With bits, those of ten
//! thousand sessions that are asked about at a time stay in the cache.

use std::ops::Index;

/// A set of transactions, by number.
#[derive(Clone, Default, Debug)]
pub struct Taken {
    words: Vec<u64>,
    len: usize,
}

impl Taken {
    /// How many transactions there are, in the set or not.
    pub fn len(&self) -> usize {
        self.len
    }

    /// How many are in the set.
    pub fn count(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Adds one, and says whether it was in the set before.
    pub fn insert(&mut self, txn: usize) -> bool {
        let was = self[txn];
        self.words[txn / 64] |= 1 << (txn % 64);
        was
    }

    /// For every transaction, whether it is in the set.
    pub fn iter(&self) -> impl Iterator<Item = bool> + '_ {
        (0..self.len).map(|txn| self[txn])
    }
}

impl Index<usize> for Taken {
    type Output = bool;

    #[inline]
    fn index(&self, txn: usize) -> &bool {
        match self.words[txn / 64] >> (txn % 64) & 1 {
            0 => &false,
            _ => &true,
        }
    }
}

impl FromIterator<bool> for Taken {
    fn from_iter<I: IntoIterator<Item = bool>>(all: I) -> Taken {
        let mut taken = Taken::default();
        for is_in in all {
            if taken.len.is_multiple_of(64) {
                taken.words.push(0);
            }
            if let Some(word) = taken.words.last_mut() {
                *word |= u64::from(is_in) << (taken.len % 64);
            }
            taken.len += 1;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::Taken;

    #[test]
    fn a_set_has_what_was_put_in() {
        let mut taken: Taken = (0..130).map(|txn| txn % 3 == 0).collect();
        assert_eq!((taken.len(), taken.count()), (130, 44));
        assert!(!taken.insert(64) && taken.insert(64) && taken.insert(129));
        let all: Vec<bool> = taken.iter().collect();
        assert!((0..130).all(|txn| all[txn] == (txn % 3 == 0 || txn == 64)));
    }
}
