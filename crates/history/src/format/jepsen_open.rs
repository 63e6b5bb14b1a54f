//! The invocations whose completion has not come yet, by process.
//!
//! Processes are small numbers mostly, so a table finds their slots without hashing, and a slot is
//! used again by every operation of its process. Others are found by a map.

use super::jepsen_event::Event;
use crate::SessionId;
use crate::shared_lists::NumberHasher;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// Processes below this have a place in the table.
const TABLE_MAX: i64 = 1 << 20;
const NONE: u32 = u32::MAX;

/// An invocation.
#[derive(Clone, Copy)]
pub(crate) struct Open<'a> {
    pub event: Event<'a>,
    pub start: i64,
    pub number: u64,
}

/// What is known of a process.
#[derive(Default)]
pub(crate) struct Slot<'a> {
    pub open: Option<Open<'a>>,
    /// Its session, once a transaction of it is known.
    pub session: Option<SessionId>,
}

/// All processes.
#[derive(Default)]
pub(crate) struct Processes<'a> {
    table: Vec<u32>,
    others: HashMap<i64, u32, BuildHasherDefault<NumberHasher>>,
    slots: Vec<Slot<'a>>,
}

impl<'a> Processes<'a> {
    /// The slot of a process.
    #[inline]
    pub fn slot(&mut self, process: i64) -> &mut Slot<'a> {
        let next = self.slots.len() as u32;
        let number = if (0..TABLE_MAX).contains(&process) {
            let place = process as usize;
            if place >= self.table.len() {
                self.table.resize(place + 1, NONE);
            }
            &mut self.table[place]
        } else {
            self.others.entry(process).or_insert(NONE)
        };
        if *number == NONE {
            *number = next;
            self.slots.push(Slot::default());
        }
        &mut self.slots[*number as usize]
    }

    /// Takes all invocations that are left.
    pub fn take_all(&mut self) -> Vec<Open<'a>> {
        let slots = self.slots.iter_mut();
        slots.filter_map(|slot| slot.open.take()).collect()
    }
}
