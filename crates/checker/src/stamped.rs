//! A map from small numbers to small numbers that is emptied in constant time: what a loop over
//! transactions needs to look at one after another without allocating.

/// Open addressing; a slot counts only if it carries the current stamp.
pub struct StampedMap {
    slots: Vec<Slot>,
    stamp: u32,
    mask: usize,
    len: usize,
}

#[derive(Clone, Copy)]
struct Slot {
    stamp: u32,
    key: u32,
    value: u32,
}

impl StampedMap {
    /// An empty map.
    pub fn new() -> StampedMap {
        let empty = Slot {
            stamp: 0,
            key: 0,
            value: 0,
        };
        StampedMap {
            slots: vec![empty; 16],
            stamp: 1,
            mask: 15,
            len: 0,
        }
    }

    /// Forgets everything, and makes room for `count` keys.
    pub fn reset(&mut self, count: usize) {
        let size = (2 * count).next_power_of_two().max(16);
        if size > self.slots.len() || self.stamp == u32::MAX {
            let empty = Slot {
                stamp: 0,
                key: 0,
                value: 0,
            };
            self.slots = vec![empty; size.max(self.slots.len())];
            self.stamp = 0;
        }
        self.stamp += 1;
        self.mask = size - 1;
        self.len = 0;
    }

    #[inline]
    fn place(&self, key: u32) -> usize {
        let mut at = (key.wrapping_mul(0x9E37_79B1) >> 7) as usize & self.mask;
        while self.slots[at].stamp == self.stamp && self.slots[at].key != key {
            at = (at + 1) & self.mask;
        }
        at
    }

    /// The value of a key.
    #[inline]
    pub fn get(&self, key: u32) -> Option<u32> {
        let slot = &self.slots[self.place(key)];
        (slot.stamp == self.stamp).then_some(slot.value)
    }

    /// Enters a value unless the key has one; returns the value it has now. Room must have been
    /// made by [`StampedMap::reset`].
    #[inline]
    pub fn get_or_insert(&mut self, key: u32, value: u32) -> u32 {
        let at = self.place(key);
        if self.slots[at].stamp != self.stamp {
            self.len += 1;
            debug_assert!(self.len <= self.mask, "reset makes room for every key");
            self.slots[at] = Slot {
                stamp: self.stamp,
                key,
                value,
            };
        }
        self.slots[at].value
    }

    /// Enters or replaces a value.
    #[inline]
    pub fn insert(&mut self, key: u32, value: u32) {
        self.get_or_insert(key, value);
        let at = self.place(key);
        self.slots[at].value = value;
    }
}
