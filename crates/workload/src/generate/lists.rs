//! The lists of the simulated store, and whatever else grows: for each slot the key it holds now, and that key's committed
//! elements in commit order.
//!
//! A list only grows, so every version of it is a prefix of its newest one: the elements of a key
//! lie next to each other, and reading a version copies a slice. A block of elements doubles when
//! it is full and stays with its slot when the key is retired; what a slot leaves behind when it
//! moves to a larger block is less than the block it moves to.

use super::client::{Client, Step};
use super::store::Version;
use super::view::Sight;
use history::ValueCode;

/// How many elements the first block of a slot holds.
const CAPACITY_MIN: u8 = 4;

#[derive(Clone, Copy)]
struct Slot {
    /// The key that the slot holds now.
    key: u32,
    /// Where its block begins.
    start: u32,
    length: u8,
    capacity: u8,
    /// How many elements were given out.
    allocated: u8,
}

/// Where the key distribution chooses among slots; a key leaves its slot when its list is long.
pub struct ListStore {
    /// A key is retired after this many appends.
    appends_max: u8,
    slots: Vec<Slot>,
    /// The commit of each element, and the element.
    commits: Vec<u32>,
    elements: Vec<ValueCode>,
}

impl ListStore {
    /// Slots that hold the keys below `count`.
    pub fn new(count: u32, appends_max: u8) -> ListStore {
        let slot = |key| Slot {
            key,
            start: 0,
            length: 0,
            capacity: 0,
            allocated: 0,
        };
        ListStore {
            appends_max,
            slots: (0..count).map(slot).collect(),
            commits: Vec::new(),
            elements: Vec::new(),
        }
    }

    /// The key in a slot.
    #[inline]
    pub fn key(&self, slot: u32) -> u32 {
        self.slots[slot as usize].key
    }

    /// The key in a slot and an element never given out for it, after retiring a list that is long
    /// enough for `next_key`. A transaction under way may still hold the old key; nobody will read
    /// what it appends there.
    #[inline]
    pub fn allocate(&mut self, slot: u32, next_key: &mut u32) -> (u32, u32) {
        let slot = &mut self.slots[slot as usize];
        if slot.allocated >= self.appends_max {
            slot.key = *next_key;
            slot.length = 0;
            slot.allocated = 0;
            *next_key += 1;
        }
        slot.allocated += 1;
        (slot.key, u32::from(slot.allocated))
    }

    /// The newest version of the list in a slot.
    pub fn latest(&self, slot: u32) -> Version {
        let slot = &self.slots[slot as usize];
        self.version(slot, usize::from(slot.length))
    }

    fn version(&self, slot: &Slot, length: usize) -> Version {
        if length == 0 {
            return Version::default();
        }
        let last = slot.start as usize + length - 1;
        Version {
            commit: self.commits[last],
            value: self.elements[last].0,
        }
    }

    /// The newest version whose commit `visible` lets through, else the empty one, and its elements.
    #[inline]
    pub fn read(&self, slot: u32, visible: impl Fn(u32) -> bool) -> (Version, &[ValueCode]) {
        let slot = &self.slots[slot as usize];
        let start = slot.start as usize;
        let commits = &self.commits[start..start + usize::from(slot.length)];
        let length = commits
            .iter()
            .rposition(|&commit| visible(commit))
            .map_or(0, |last| last + 1);
        (
            self.version(slot, length),
            &self.elements[start..start + length],
        )
    }

    /// The elements whose commits `visible` lets through, and the newest version among them.
    pub fn read_visible(
        &self,
        slot: u32,
        visible: impl Fn(u32) -> bool,
        elements: &mut Vec<ValueCode>,
    ) -> Version {
        let slot = &self.slots[slot as usize];
        let mut newest = Version::default();
        for place in slot.start as usize..slot.start as usize + usize::from(slot.length) {
            if visible(self.commits[place]) {
                elements.push(self.elements[place]);
                newest = Version {
                    commit: self.commits[place],
                    value: self.elements[place].0,
                };
            }
        }
        newest
    }

    /// Adds a committed element.
    pub fn append(&mut self, slot: u32, version: Version) {
        if self.slots[slot as usize].length == self.slots[slot as usize].capacity {
            self.grow(slot);
        }
        let slot = &mut self.slots[slot as usize];
        let place = slot.start as usize + usize::from(slot.length);
        self.commits[place] = version.commit;
        self.elements[place] = ValueCode(version.value);
        slot.length += 1;
    }

    fn grow(&mut self, slot: u32) {
        let slot = &mut self.slots[slot as usize];
        let old = slot.start as usize..slot.start as usize + usize::from(slot.length);
        slot.start = self.commits.len() as u32;
        slot.capacity = (slot.capacity * 2).max(CAPACITY_MIN);
        self.commits.extend_from_within(old.clone());
        self.elements.extend_from_within(old);
        let end = slot.start as usize + usize::from(slot.capacity);
        self.commits.resize(end, 0);
        self.elements.resize(end, ValueCode::NIL);
    }
}

/// Reads a list: what is committed and visible, and behind it the own appends. A version of a list
/// shows all that precedes it (`whole`); of anything else that grows, only what is visible itself.
#[inline]
pub fn read_list(
    lists: &ListStore,
    client: &mut Client,
    slot: u32,
    sight: Sight,
    origins: &[u32],
    whole: bool,
) -> Step {
    let (view, own) = (&client.view, client.number);
    let start = client.elements.len() as u32;
    let visible = |commit| view.sees(sight, commit, own, origins);
    let version = if whole {
        let (version, elements) = lists.read(slot, visible);
        client.elements.extend_from_slice(elements);
        version
    } else {
        lists.read_visible(slot, visible, &mut client.elements)
    };
    client.seen_now = client.seen_now.max(version.commit);
    let key = lists.key(slot);
    let shows_own = client.written.last(key).is_some();
    if shows_own {
        let appends = client.steps.iter().filter(|s| s.write && s.key == key);
        client.elements.extend(appends.map(|s| ValueCode(s.value)));
    }
    Step {
        write: false,
        key,
        slot,
        value: start,
        version: version.value,
        shows_own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_a_prefix_and_a_long_list_is_retired() {
        let mut lists = ListStore::new(3, 32);
        let mut next_key = 3;
        for commit in 1..=32 {
            let (key, value) = lists.allocate(1, &mut next_key);
            assert_eq!((key, value), (1, commit));
            lists.append(1, Version { commit, value });
            let (version, elements) = lists.read(1, |c| c <= commit / 2);
            assert_eq!(version.commit, commit / 2);
            let expected: Vec<ValueCode> = (1..=commit / 2).map(ValueCode).collect();
            assert_eq!(elements, expected);
        }
        assert_eq!(lists.allocate(1, &mut next_key), (3, 1));
        assert_eq!(lists.read(1, |_| true), (Version::default(), &[][..]));
        assert_eq!((lists.key(1), lists.key(2)), (3, 2));
    }
}
