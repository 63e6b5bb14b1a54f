//! The invocations whose completion has not come yet, by process.
//!
//! Processes are small numbers mostly, so a table finds them without hashing; others are found by a
//! map. There may be tens of thousands of processes, and between two operations of one of them as
//! many others pass. So what is looked up is kept small: eight bytes a process, and of an open invocation
//! only what every completion needs, in a place that the last one completed left. Its map is
//! read again where the operation did not succeed.

use crate::SessionId;
use crate::shared_lists::NumberHasher;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// Processes below this have a place in the table.
const TABLE_MAX: i64 = 1 << 20;
const NONE: u32 = u32::MAX;

/// An invocation.
#[derive(Clone, Copy)]
pub(crate) struct Open {
    /// Where its map starts.
    pub at: usize,
    /// When it was.
    pub start: i64,
    /// What the transaction is called.
    pub label: u64,
}

/// What is known of a process.
#[derive(Clone, Copy)]
struct Slot {
    /// The place of its open invocation, or [`NONE`].
    open: u32,
    /// Its session, once a transaction of it is known, or [`NONE`].
    session: u32,
}

const NEW: Slot = Slot {
    open: NONE,
    session: NONE,
};

/// All processes.
#[derive(Default)]
pub(crate) struct Processes {
    table: Vec<Slot>,
    others: HashMap<i64, Slot, BuildHasherDefault<NumberHasher>>,
    /// Open invocations, and places that are free.
    open: Vec<Open>,
    free: Vec<u32>,
}

impl Processes {
    #[inline]
    fn slot(&mut self, process: i64) -> &mut Slot {
        if (0..TABLE_MAX).contains(&process) {
            let place = process as usize;
            if place >= self.table.len() {
                self.table.resize(place + 1, NEW);
            }
            &mut self.table[place]
        } else {
            self.others.entry(process).or_insert(NEW)
        }
    }

    /// Enters an invocation; false if the last one of the process is still open.
    #[inline]
    pub fn begin(&mut self, process: i64, open: Open) -> bool {
        let place = self
            .free
            .last()
            .map_or(self.open.len(), |&free| free as usize);
        let slot = self.slot(process);
        if slot.open != NONE {
            return false;
        }
        slot.open = place as u32;
        match self.free.pop() {
            Some(_) => self.open[place] = open,
            None => self.open.push(open),
        }
        true
    }

    /// Takes the open invocation of a process.
    #[inline]
    pub fn end(&mut self, process: i64) -> Option<Open> {
        let place = std::mem::replace(&mut self.slot(process).open, NONE);
        if place == NONE {
            return None;
        }
        self.free.push(place);
        Some(self.open[place as usize])
    }

    /// The session of a process; `new` makes one.
    #[inline]
    pub fn session(&mut self, process: i64, new: impl FnOnce() -> SessionId) -> SessionId {
        let slot = self.slot(process);
        if slot.session == NONE {
            slot.session = new().0;
        }
        SessionId(slot.session)
    }

    /// Takes all invocations that are left.
    pub fn take_all(&mut self) -> Vec<Open> {
        let slots = self.table.iter_mut().chain(self.others.values_mut());
        let places = slots.map(|slot| std::mem::replace(&mut slot.open, NONE));
        let left = places.filter(|&place| place != NONE);
        left.map(|place| self.open[place as usize]).collect()
    }
}
