//! A simulated client and its transaction under way.

use super::shapes::Plan;
use super::view::View;
use history::{Interval, Op, SessionId, Status, ValueCode};

/// What the scheduler decided to become of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Commit,
    Abort,
    /// The client learns nothing, but it commits.
    CommitUnheard,
    /// The client learns nothing, and it does not commit.
    AbortUnheard,
}

impl Fate {
    pub fn commits(self) -> bool {
        matches!(self, Fate::Commit | Fate::CommitUnheard)
    }

    pub fn status(self) -> Status {
        match self {
            Fate::Commit => Status::Committed,
            Fate::Abort => Status::Aborted,
            Fate::CommitUnheard | Fate::AbortUnheard => Status::Indeterminate,
        }
    }
}

/// An operation of a transaction under way.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub write: bool,
    pub key: u32,
    /// Where the store keeps the key; list keys move, see `simulate`.
    pub slot: u32,
    /// The value written or read; for a list read, where its elements begin.
    pub value: u32,
    /// The committed version that a read saw, or [`Step::OWN`].
    pub version: u32,
    /// A list read that shows own elements behind that version.
    pub shows_own: bool,
}

impl Step {
    /// Marks a read of the own last write.
    pub const OWN: u32 = u32::MAX;
}

/// A finished transaction that waits to change places with its successor.
#[derive(Debug)]
pub struct Held {
    pub ops: Vec<Op>,
    pub status: Status,
    pub interval: Interval,
    /// The line of its invocation.
    pub line: u64,
}

/// A client.
pub struct Client {
    /// The recorded session; a new one after an indeterminate transaction.
    pub session: SessionId,
    /// The client's number, which stays; the origin of its commits.
    pub number: u32,
    pub remaining: u32,
    pub running: bool,
    pub fate: Fate,
    pub view: View,
    pub site: usize,
    pub steps: Vec<Step>,
    /// How many operations the running transaction has.
    pub length: u32,
    /// What it does, if a script says.
    pub plan: Plan,
    /// Where the next operation has to write, to finish an update.
    pub update: Option<u32>,
    /// The elements of list reads.
    pub elements: Vec<ValueCode>,
    pub written: Written,
    pub started: i64,
    /// The line of the running transaction's invocation, where every event is a line.
    pub line: u64,
    /// Added to all times of this client.
    pub skew: i64,
    pub last_commit: u32,
    /// The newest commit that finished transactions read from, and the running one.
    pub seen: u32,
    pub seen_now: u32,
    pub held: Option<Held>,
}

impl Client {
    pub fn new(number: u32, session: SessionId, txns: u32, ops: u32) -> Client {
        Client {
            session,
            number,
            remaining: txns,
            running: false,
            fate: Fate::Commit,
            view: View::default(),
            site: 0,
            steps: Vec::new(),
            length: ops,
            plan: Plan::default(),
            update: None,
            elements: Vec::new(),
            written: Written::new(ops),
            started: 0,
            line: 0,
            skew: 0,
            last_commit: 0,
            seen: 0,
            seen_now: 0,
            held: None,
        }
    }

    /// Forgets the operations so far.
    pub fn clear(&mut self) {
        self.steps.clear();
        self.elements.clear();
        self.written.clear();
        self.update = None;
        self.seen_now = 0;
    }
}

/// The keys that a transaction wrote, with the place of the last write of each: open addressing,
/// emptied in constant time by a new stamp.
pub struct Written {
    places: Vec<(u32, u32, u32)>,
    stamp: u32,
    bits: u32,
    limit: usize,
    used: usize,
}

impl Written {
    fn new(ops: u32) -> Written {
        // Most transactions are short; a table grows when it is more than half full.
        let bits = (u64::from(ops) * 2)
            .clamp(8, 64)
            .next_power_of_two()
            .ilog2();
        Written {
            places: vec![(0, 0, 0); 1 << bits],
            stamp: 1,
            bits,
            limit: 1 << (bits - 1),
            used: 0,
        }
    }

    fn clear(&mut self) {
        self.used = 0;
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.places.fill((0, 0, 0));
            self.stamp = 1;
        }
    }

    #[inline]
    fn place(&self, key: u32) -> usize {
        let hash = u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut place = (hash >> (64 - self.bits)) as usize;
        loop {
            let (stamp, at, _) = self.places[place];
            if stamp != self.stamp || at == key {
                return place;
            }
            place = (place + 1) & (self.places.len() - 1);
        }
    }

    /// The place of the last write to a key.
    #[inline]
    pub fn last(&self, key: u32) -> Option<u32> {
        let (stamp, _, step) = self.places[self.place(key)];
        (stamp == self.stamp).then_some(step)
    }

    #[inline]
    pub fn set(&mut self, key: u32, step: u32) {
        let place = self.place(key);
        if self.places[place].0 != self.stamp {
            self.used += 1;
            if self.used > self.limit {
                self.grow();
                return self.set(key, step);
            }
        }
        self.places[place] = (self.stamp, key, step);
    }

    fn grow(&mut self) {
        let size = self.places.len() * 2;
        let old = std::mem::replace(&mut self.places, vec![(0, 0, 0); size]);
        self.bits += 1;
        self.limit *= 2;
        self.used = 0;
        let stamp = self.stamp;
        for (_, key, step) in old.into_iter().filter(|entry| entry.0 == stamp) {
            let place = self.place(key);
            self.places[place] = (stamp, key, step);
            self.used += 1;
        }
    }
}
