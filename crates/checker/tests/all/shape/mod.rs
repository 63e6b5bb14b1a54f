//! Histories of extreme shapes, in any size: each is legal at every level unless its text says
//! otherwise, and can be damaged.

use history::{Builder, History, KeyId, KeyTable, Op, OpKind, SessionId, Status, ValueCode};

/// What is added to a shape so that it violates levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Damage {
    /// Nothing.
    None,
    /// Two readers that see two writers in opposite orders, on keys of their own.
    Apart,
    /// Readers that see the newest version of the first key and then none at all.
    Within,
}

/// An operation: whether it writes, the key, the value.
pub type Event = (bool, u32, u32);

/// Reads a value of a key.
pub fn r(key: u32, value: u32) -> Event {
    (false, key, value)
}

/// Writes a value to a key.
pub fn w(key: u32, value: u32) -> Event {
    (true, key, value)
}

/// A shape: its name, and how it is built with about so many transactions.
pub type Shape = (&'static str, fn(&mut Script, u32));

/// Every shape.
pub const SHAPES: [Shape; 19] = [
    ("hot key, updates", |s, n| hot_updates(s, n, 10)),
    ("hot key, updates, n/10 sessions", |s, n| {
        hot_updates(s, n, n / 10)
    }),
    ("hot key, blind writes", |s, n| hot_blind(s, n, 10)),
    ("hot key, blind writes, n/10 sessions", |s, n| {
        hot_blind(s, n, n / 10)
    }),
    ("hot key, stale readers", |s, n| hot_stale(s, n, 10)),
    ("hot key, read in reverse", hot_reversed),
    ("one reads all", one_reads_all),
    ("one writes all", one_writes_all),
    ("two write all", two_write_all),
    ("sessions of one transaction", |s, n| {
        serial(s, n, n, Status::Committed)
    }),
    ("chain of reads, n sessions", |s, n| chain(s, n, n)),
    ("chain of reads, 10 sessions", |s, n| chain(s, n, 10)),
    ("10000 sessions", |s, n| {
        serial(s, n, 10_000, Status::Committed)
    }),
    ("one session", |s, n| serial(s, n, 1, Status::Committed)),
    ("all aborted", |s, n| serial(s, n, 10, Status::Aborted)),
    ("all indeterminate", |s, n| {
        serial(s, n, 10, Status::Indeterminate)
    }),
    ("one value for all", |s, n| duplicates(s, n, n)),
    ("every value twice", |s, n| duplicates(s, n, 2)),
    ("a few values twice", few_duplicates),
];

/// Builds a shape.
pub fn build(shape: Shape, size: u32, damage: Damage) -> History {
    let mut script = Script::default();
    shape.1(&mut script, size);
    script.damage(damage);
    let keys = script.key_limit;
    script.builder.keys = KeyTable::Dense { limit: keys };
    script.builder.finish()
}

/// A history under construction.
#[derive(Default)]
pub struct Script {
    builder: Builder,
    key_limit: u32,
    session_limit: u32,
    /// The last value written to key 0.
    newest: u32,
}

impl Script {
    fn txn(&mut self, session: u32, status: Status, events: &[Event]) {
        let op = |&(write, key, value): &Event| Op {
            kind: if write { OpKind::Write } else { OpKind::Read },
            key: KeyId(key),
            value: ValueCode(value),
        };
        let ops: Vec<Op> = events.iter().map(op).collect();
        for &(write, key, value) in events {
            self.key_limit = self.key_limit.max(key + 1);
            if write && key == 0 {
                self.newest = value;
            }
        }
        self.session_limit = self.session_limit.max(session + 1);
        let session: SessionId = self.builder.session(session.into());
        let label = self.builder.txn_count() as u64;
        self.builder
            .push_txn(session, label, status, None, &ops)
            .expect("fewer than the limit");
    }

    fn commit(&mut self, session: u32, events: &[Event]) {
        self.txn(session, Status::Committed, events);
    }

    fn damage(&mut self, damage: Damage) {
        let (x, y, s) = (self.key_limit, self.key_limit + 1, self.session_limit);
        match damage {
            Damage::None => {}
            Damage::Apart => {
                self.commit(s, &[w(x, 1), w(y, 1)]);
                self.commit(s + 1, &[w(x, 2), w(y, 2)]);
                self.commit(s + 2, &[r(y, 2), r(x, 1)]);
                self.commit(s + 3, &[r(y, 1), r(x, 2)]);
            }
            Damage::Within => {
                let newest = self.newest;
                self.commit(s, &[r(0, newest), r(0, 0)]);
                self.commit(s + 1, &[r(0, newest)]);
                self.commit(s + 1, &[r(0, 0)]);
            }
        }
    }
}

/// Spreads transactions over sessions without a pattern that a key shares.
fn session(number: u32, sessions: u32) -> u32 {
    (number.wrapping_mul(2_654_435_769) >> 8) % sessions.max(1)
}

fn hot_updates(script: &mut Script, size: u32, sessions: u32) {
    for i in 1..=size {
        script.commit(session(i, sessions), &[r(0, i - 1), w(0, i)]);
    }
}

fn hot_blind(script: &mut Script, size: u32, sessions: u32) {
    for i in 1..=size / 2 {
        script.commit(session(i, sessions), &[w(0, i)]);
        script.commit(session(i + size, sessions), &[r(0, i)]);
    }
}

/// Half of the sessions write, the others read behind, each at a distance of its own.
fn hot_stale(script: &mut Script, size: u32, sessions: u32) {
    for i in 1..=size / 2 {
        let reader = session(i + size, sessions / 2);
        script.commit(session(i, sessions / 2), &[w(0, i)]);
        let read = i.saturating_sub(reader * size / 50);
        script.commit(sessions / 2 + reader, &[r(0, read)]);
    }
}

/// Sessions of one write each, and a reader that sees the last first.
fn hot_reversed(script: &mut Script, size: u32) {
    for i in 1..=size / 2 {
        script.commit(i, &[w(0, i)]);
    }
    for i in (1..=size / 2).rev() {
        script.commit(0, &[r(0, i)]);
    }
}

fn one_reads_all(script: &mut Script, size: u32) {
    for i in 0..size {
        script.commit(session(i, 10), &[w(i, 1)]);
    }
    let reads: Vec<Event> = (0..size).map(|i| r(i, 1)).collect();
    script.commit(10, &reads);
}

fn one_writes_all(script: &mut Script, size: u32) {
    let writes: Vec<Event> = (0..size).map(|i| w(i, 1)).collect();
    script.commit(10, &writes);
    for i in 0..size {
        script.commit(session(i, 10), &[r(i, 1)]);
    }
}

fn two_write_all(script: &mut Script, size: u32) {
    let writes = |value| (0..size).map(|i| w(i, value)).collect::<Vec<Event>>();
    script.commit(10, &writes(2));
    script.commit(11, &writes(1));
    for i in 0..size {
        let value = 1 + u32::from(i >= size / 2);
        script.commit(
            session(i, 10) + if value == 1 { 12 } else { 0 },
            &[r(i, value)],
        );
    }
}

fn chain(script: &mut Script, size: u32, sessions: u32) {
    script.commit(0, &[w(0, 1)]);
    for i in 1..size {
        script.commit(i % sessions, &[r(i - 1, 1), w(i, 1)]);
    }
}

/// One transaction after another on a thousand keys, two reads and two writes each.
fn serial(script: &mut Script, size: u32, sessions: u32, status: Status) {
    let mut values = [0u32; 1000];
    for i in 1..=size {
        let mix = i.wrapping_mul(0x9e37_79b9);
        let key = |part: u32| mix.rotate_left(11 * part) % 250 + 250 * part;
        let events = [
            r(key(0), values[key(0) as usize]),
            w(key(0), i),
            r(key(1), values[key(1) as usize]),
            w(key(2), i),
        ];
        if status == Status::Committed {
            values[key(0) as usize] = i;
            values[key(2) as usize] = i;
        }
        script.txn(session(i, sessions), status, &events);
    }
}

/// Each value of a key is written so many times, and read as often.
fn duplicates(script: &mut Script, size: u32, times: u32) {
    for i in 0..size / 2 {
        let (key, value) = (i % 10, i / 10 / times + 1);
        script.commit(session(i, 10), &[w(key, value)]);
        script.commit(session(i + size, 10), &[r(key, value)]);
    }
}

/// A serial history in which two values are written twice.
fn few_duplicates(script: &mut Script, size: u32) {
    serial(script, size, 10, Status::Committed);
    for key in [1000, 1001] {
        script.commit(10, &[w(key, 1)]);
        script.commit(11, &[w(key, 1)]);
        script.commit(12, &[r(key, 1)]);
    }
}
