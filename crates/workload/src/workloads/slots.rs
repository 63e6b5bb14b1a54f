//! Keys that retire: of a number of places, each stands for a row until that row has been added to often
//! enough, and then for a fresh one, so that lists and sets do not grow for ever.
//!
//! Source: Elle's generator (`max-writes-per-key`).

use super::Shape;
use crate::generate::keys::KeyChoice;
use crate::generate::random::Random;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

pub struct Slots {
    choice: KeyChoice,
    live: u64,
    adds_max: u64,
    /// How often each place has been added to; shared by all clients.
    adds: Mutex<HashMap<u64, u64>>,
}

impl Slots {
    /// So many places, whose rows retire after `adds_max` additions.
    pub fn new(shape: &Shape, live: u64, adds_max: u64) -> Slots {
        Slots {
            choice: shape.choice(live),
            live,
            adds_max,
            adds: Mutex::new(HashMap::new()),
        }
    }

    /// A row to read.
    pub fn row(&self, random: &mut Random) -> u64 {
        let place = self.place(random);
        let adds = self.adds.lock().unwrap_or_else(PoisonError::into_inner);
        self.row_of(place, adds.get(&place).copied().unwrap_or(0))
    }

    /// A row to add to, and the number of the addition, from 0 on.
    pub fn add(&self, random: &mut Random) -> (u64, u64) {
        let place = self.place(random);
        let mut adds = self.adds.lock().unwrap_or_else(PoisonError::into_inner);
        let count = adds.entry(place).or_default();
        let before = *count;
        *count += 1;
        (self.row_of(place, before), before % self.adds_max)
    }

    fn place(&self, random: &mut Random) -> u64 {
        u64::from(self.choice.draw(random))
    }

    fn row_of(&self, place: u64, adds: u64) -> u64 {
        place + self.live * (adds / self.adds_max)
    }
}
