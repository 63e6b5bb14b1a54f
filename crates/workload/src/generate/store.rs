//! The simulated multi-version store: the versions of each key in commit order, newest first.
//!
//! An entry holds the newest version and a chain of older ones. The chain is cut behind the newest
//! *stable* version, one that every reader, present and future, may see; nobody reads past it.
//! Entries lie in a direct table where the keys are few for the writes, else in an open-addressing
//! table of the keys that were written.

/// A committed version: the commit that wrote it (from 1; 0 is the initial version) and its value.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Version {
    pub commit: u32,
    pub value: u32,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    slot: u32,
    /// How many values were given out; a free entry of the hashed table has 0.
    allocated: u32,
    latest: Version,
    /// The chain of older versions; 0 is its end.
    older: u32,
}

#[derive(Clone, Copy, Default)]
struct Node {
    version: Version,
    next: u32,
}

/// How much of the past an install keeps.
#[derive(Clone, Copy)]
pub enum Keep {
    /// Only the newest version.
    Latest,
    /// Whatever is not older than the newest version committed at or before this.
    Since(u32),
}

pub struct Store {
    table: Vec<Entry>,
    /// The hashed table's size is 2^bits; `None` is the direct table.
    bits: Option<u32>,
    used: usize,
    nodes: Vec<Node>,
    free: u32,
}

const INITIAL_BITS: u32 = 16;

impl Store {
    /// A store for slots below `limit`, about `writes` of which will be written.
    pub fn new(limit: u64, writes: u64) -> Store {
        let (size, bits) = if limit <= (2 * writes).max(1 << 16) {
            (limit as usize, None)
        } else {
            (1 << INITIAL_BITS, Some(INITIAL_BITS))
        };
        Store {
            table: vec![Entry::default(); size],
            bits,
            used: 0,
            nodes: vec![Node::default()],
            free: 0,
        }
    }

    /// The place of a slot, or the free place where it would go.
    #[inline]
    fn place(&self, slot: u32) -> usize {
        let Some(bits) = self.bits else {
            return slot as usize;
        };
        let hash = u64::from(slot).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut place = (hash >> (64 - bits)) as usize;
        let mask = self.table.len() - 1;
        loop {
            let entry = &self.table[place];
            if entry.allocated == 0 || entry.slot == slot {
                return place;
            }
            place = (place + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let bits = self.bits.unwrap_or(INITIAL_BITS) + 1;
        let old = std::mem::replace(&mut self.table, vec![Entry::default(); 1 << bits]);
        self.bits = Some(bits);
        for entry in old {
            if entry.allocated > 0 {
                let place = self.place(entry.slot);
                self.table[place] = entry;
            }
        }
    }

    /// A value that was never given out for this slot.
    #[inline]
    pub fn allocate(&mut self, slot: u32) -> u32 {
        let mut place = self.place(slot);
        if self.bits.is_some() && self.table[place].allocated == 0 {
            self.used += 1;
            if self.used * 4 > self.table.len() * 3 {
                self.grow();
                place = self.place(slot);
            }
            self.table[place].slot = slot;
        }
        let entry = &mut self.table[place];
        entry.allocated += 1;
        entry.allocated
    }

    #[inline]
    pub fn latest(&self, slot: u32) -> Version {
        self.table[self.place(slot)].latest
    }

    /// The newest version that `visible` lets through, else the initial one.
    #[inline]
    pub fn read(&self, slot: u32, visible: impl Fn(u32) -> bool) -> Version {
        let entry = &self.table[self.place(slot)];
        if entry.latest.commit == 0 || visible(entry.latest.commit) {
            return entry.latest;
        }
        let mut next = entry.older;
        while next != 0 {
            let node = &self.nodes[next as usize];
            if visible(node.version.commit) {
                return node.version;
            }
            next = node.next;
        }
        Version::default()
    }

    /// Adds a committed version; its slot had a value allocated.
    #[inline]
    pub fn install(&mut self, slot: u32, version: Version, keep: Keep) {
        let place = self.place(slot);
        let old = self.table[place].latest;
        self.table[place].latest = version;
        if old.commit == 0 || matches!(keep, Keep::Latest) {
            return;
        }
        let older = self.table[place].older;
        let node = Node {
            version: old,
            next: older,
        };
        let index = self.new_node(node);
        self.table[place].older = index;
        // Cutting one time in four keeps a hot key's chain short at a quarter of the walks.
        if let Keep::Since(stable) = keep
            && (old.commit <= stable || version.commit.is_multiple_of(4))
        {
            self.cut(index, stable);
        }
    }

    fn new_node(&mut self, node: Node) -> u32 {
        if self.free != 0 {
            let index = self.free;
            self.free = self.nodes[index as usize].next;
            self.nodes[index as usize] = node;
            return index;
        }
        self.nodes.push(node);
        (self.nodes.len() - 1) as u32
    }

    /// Frees what follows the first stable version from `index` on.
    fn cut(&mut self, mut index: u32, stable: u32) {
        while index != 0 && self.nodes[index as usize].version.commit > stable {
            index = self.nodes[index as usize].next;
        }
        if index != 0 {
            let rest = std::mem::take(&mut self.nodes[index as usize].next);
            self.free_chain(rest);
        }
    }

    fn free_chain(&mut self, mut index: u32) {
        while index != 0 {
            let next = self.nodes[index as usize].next;
            self.nodes[index as usize].next = self.free;
            self.free = index;
            index = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hashed_store_answers_as_a_direct_one() {
        let mut direct = Store::new(1 << 20, 1 << 20);
        let mut hashed = Store::new(1 << 20, 0);
        assert!(hashed.bits.is_some());
        let mut random = super::super::random::Random::new(5);
        for commit in 1..200_000 {
            let slot = random.below(1 << 20) as u32;
            for store in [&mut direct, &mut hashed] {
                let value = store.allocate(slot);
                let stable = commit - commit.min(9);
                store.install(slot, Version { commit, value }, Keep::Since(stable));
            }
            let asked = random.below(1 << 20) as u32;
            let visible = |c: u32| c + 3 < commit;
            assert_eq!(direct.read(asked, visible), hashed.read(asked, visible));
        }
    }

    #[test]
    fn old_versions_are_pruned_and_recent_ones_kept() {
        let mut store = Store::new(1, 1);
        for commit in 1..10_000u32 {
            let value = store.allocate(0);
            let keep = Keep::Since(commit.saturating_sub(20));
            store.install(0, Version { commit, value }, keep);
            let wanted = commit - commit.min(15);
            assert_eq!(store.read(0, |c| c <= wanted).commit, wanted);
        }
        assert!(store.nodes.len() < 40, "{}", store.nodes.len());
    }
}
