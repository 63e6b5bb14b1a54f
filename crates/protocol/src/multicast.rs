//! Atomic multicast, as an ordering oracle rather than as an algorithm.
//!
//! Definition: write `m < n` if some destination of both delivered `m` and not yet `n`. A
//! delivery is allowed if `<` stays acyclic. Any two messages are then delivered in one order
//! wherever both go, and no longer cycle of orders exists either. Every finite run can be
//! completed: a minimal pending message under `<` can always be delivered.
//!
//! Cost: a closure over the multicasts of a run, of which there are few.

use crate::id::{Site, SiteSet};
use serde::{Deserialize, Serialize};

/// All atomic multicasts of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Multicasts {
    sent: Vec<Multicast>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Multicast {
    pending: SiteSet,
    /// The destinations of this message that delivered it.
    delivered: SiteSet,
    /// The messages that come before it.
    before: u64,
}

impl Multicasts {
    /// Whether there was none.
    pub(crate) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// A new message to `to`; its number.
    pub(crate) fn send(&mut self, to: SiteSet) -> u8 {
        let mut before = 0;
        for (other, multicast) in self.sent.iter().enumerate() {
            if !multicast.delivered.intersection(to).is_empty() {
                before |= 1 << other;
            }
        }
        self.sent.push(Multicast {
            pending: to,
            delivered: SiteSet::EMPTY,
            before,
        });
        (self.sent.len() - 1) as u8
    }

    /// Whether `site` may deliver message `number` now.
    pub(crate) fn may_deliver(&self, number: u8, site: Site) -> bool {
        let number = usize::from(number);
        let after: u64 = self
            .sent
            .iter()
            .enumerate()
            .filter(|(other, multicast)| *other != number && multicast.pending.contains(site))
            .map(|(other, _)| 1 << other)
            .sum();
        self.ancestors(number) & after == 0
    }

    /// Notes that `site` delivered message `number`.
    pub(crate) fn deliver(&mut self, number: u8, site: Site) {
        let number = usize::from(number);
        for (other, multicast) in self.sent.iter_mut().enumerate() {
            if other != number && multicast.pending.contains(site) {
                multicast.before |= 1 << number;
            }
        }
        let multicast = &mut self.sent[number];
        multicast.pending.remove(site);
        multicast.delivered.insert(site);
    }

    /// Everything that comes before a message, through any number of others.
    fn ancestors(&self, number: usize) -> u64 {
        let mut found = self.sent[number].before;
        loop {
            let mut next = found;
            for (other, multicast) in self.sent.iter().enumerate() {
                if found & (1 << other) != 0 {
                    next |= multicast.before;
                }
            }
            if next == found {
                return found;
            }
            found = next;
        }
    }
}
