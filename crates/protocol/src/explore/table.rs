//! The fingerprints seen so far, and how each state was reached.
//!
//! Open addressing with linear probing; a fingerprint's home is its share of the range, once spread, so the
//! table can have any size and grows by half. 10 to 16 bytes a state, and 8 for the link.

/// A set of fingerprints. 0 is not one.
pub(crate) struct Table {
    slots: Vec<u64>,
    count: usize,
}

impl Table {
    pub fn new() -> Table {
        Table {
            slots: vec![0; 256],
            count: 0,
        }
    }

    /// Empties it; what it grew to is kept if the next use is likely to need it.
    pub fn clear(&mut self) {
        let likely = (2 * self.count).max(256);
        if likely < self.slots.len() / 2 {
            self.slots.truncate(likely);
            self.slots.shrink_to_fit();
        }
        self.slots.fill(0);
        self.count = 0;
    }

    #[inline]
    fn find(&self, fingerprint: u64) -> usize {
        let size = self.slots.len();
        // The least fingerprint of several renamings is a small number, so numbers are spread first.
        let spread = fingerprint.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut place = ((u128::from(spread) * size as u128) >> 64) as usize;
        while self.slots[place] != 0 && self.slots[place] != fingerprint {
            place += 1;
            if place == size {
                place = 0;
            }
        }
        place
    }

    /// Whether it is there.
    #[inline]
    pub fn contains(&self, fingerprint: u64) -> bool {
        self.slots[self.find(fingerprint)] == fingerprint
    }

    /// Puts it in; whether it was not there.
    #[inline]
    pub fn insert(&mut self, fingerprint: u64) -> bool {
        let place = self.find(fingerprint);
        if self.slots[place] == fingerprint {
            return false;
        }
        self.slots[place] = fingerprint;
        self.count += 1;
        if self.count * 5 > self.slots.len() * 4 {
            self.grow();
        }
        true
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 3 / 2;
        let old = std::mem::replace(&mut self.slots, vec![0; size]);
        for fingerprint in old.into_iter().filter(|slot| *slot != 0) {
            let place = self.find(fingerprint);
            self.slots[place] = fingerprint;
        }
    }

    pub fn bytes(&self) -> u64 {
        self.slots.len() as u64 * 8
    }
}

/// How a state was reached: from which one, by which of its moves, with which choices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Link {
    pub parent: u32,
    pub step: u16,
    pub choice: u16,
}

const CHUNK: usize = 1 << 15;

/// All links, in pieces, so that growing copies nothing.
pub(crate) struct Links {
    chunks: Vec<Vec<Link>>,
}

impl Links {
    pub fn new() -> Links {
        Links { chunks: Vec::new() }
    }

    pub fn clear(&mut self) {
        self.chunks.truncate(1);
        if let Some(first) = self.chunks.first_mut() {
            first.clear();
        }
    }

    pub fn len(&self) -> usize {
        let last = self.chunks.last().map_or(0, Vec::len);
        self.chunks.len().saturating_sub(1) * CHUNK + last
    }

    pub fn push(&mut self, link: Link) {
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            let first = self.chunks.is_empty();
            self.chunks
                .push(Vec::with_capacity(if first { 64 } else { CHUNK }));
        }
        if let Some(last) = self.chunks.last_mut() {
            last.push(link);
        }
    }

    /// The moves and choices that lead to a state.
    pub fn path(&self, place: u32) -> Vec<(u16, u16)> {
        let mut path = Vec::new();
        let mut place = place as usize;
        while place != 0 {
            let link = self.chunks[place / CHUNK][place % CHUNK];
            path.push((link.step, link.choice));
            place = link.parent as usize;
        }
        path.reverse();
        path
    }

    pub fn bytes(&self) -> u64 {
        let chunks = self.chunks.iter();
        chunks.map(|chunk| chunk.capacity() as u64 * 8).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_stays_in_while_it_grows() {
        let mut table = Table::new();
        for round in 0..2 {
            for number in 1..5000u64 {
                let fingerprint = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                assert!(!table.contains(fingerprint));
                assert!(table.insert(fingerprint), "round {round}");
                assert!(!table.insert(fingerprint));
            }
            // A run of neighbours at the very end wraps around.
            for number in 0..40 {
                assert!(table.insert(u64::MAX - number));
            }
            assert!((0..40).all(|number| table.contains(u64::MAX - number)));
            table.clear();
        }
    }

    #[test]
    fn small_numbers_do_not_crowd() {
        let mut table = Table::new();
        for number in 1..20_000u64 {
            table.insert(number << 20);
        }
        let size = table.slots.len();
        let runs = table
            .slots
            .chunk_by(|one, next| (*one != 0) == (*next != 0));
        let longest = runs.filter(|run| run[0] != 0).map(<[u64]>::len).max();
        assert!(longest < Some(size / 20), "{longest:?} of {size}");
    }

    #[test]
    fn a_path_leads_from_the_first_state() {
        let mut links = Links::new();
        for place in 0..(3 * CHUNK as u32) {
            links.push(Link {
                parent: place / 2,
                step: place as u16 & 1,
                choice: 7,
            });
        }
        assert_eq!(links.len(), 3 * CHUNK);
        let place = 2 * CHUNK as u32 + 5;
        let rebuilt = links
            .path(place)
            .iter()
            .fold(0, |at, (step, _)| 2 * at + u32::from(*step));
        assert_eq!(rebuilt, place);
    }
}
