//! Random histories from a seed.

use history::{Builder, History, Op, OpKind, Status, UNLABELLED, Value, ValueCode};

/// A xorshift generator.
pub struct Random(u64);

impl Random {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below a limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// What a random history may contain.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Aborted transactions, never two in a row in a session.
    pub aborted: bool,
    /// Reads of nil.
    pub nil: bool,
    /// Transactions without operations.
    pub empty_txns: bool,
    /// Keys and values over all 64 bits rather than small ones.
    pub wide: bool,
    /// Keys that are words.
    pub words: bool,
    /// Whether transactions have numbers, unique in the history; else their place in the session.
    pub unique_labels: bool,
}

/// The plainest histories.
pub const PLAIN: Shape = Shape {
    aborted: false,
    nil: false,
    empty_txns: false,
    wide: false,
    words: false,
    unique_labels: false,
};

/// A history of registers.
pub fn history(seed: u64, shape: Shape) -> History {
    let mut random = Random::new(seed);
    let mut builder = Builder::new();
    let mut label = 0;
    let session_count = 1 + random.below(5) as i64;
    for session_label in 0..session_count {
        let session = builder.session(session_label);
        let mut after_aborted = false;
        for place in 0..1 + random.below(6) {
            label += 1 + random.below(3);
            let aborted = shape.aborted && !after_aborted && random.once_in(4);
            after_aborted = aborted;
            let least = if shape.empty_txns { 0 } else { 1 };
            let count = least + random.below(5);
            let ops: Vec<Op> = (0..count)
                .map(|_| op(&mut builder, &mut random, shape))
                .collect();
            let (label, status) = match aborted {
                true if shape.unique_labels => (UNLABELLED, Status::Aborted),
                true => (place, Status::Aborted),
                false if shape.unique_labels => (label, Status::Committed),
                false => (place, Status::Committed),
            };
            builder
                .push_txn(session, label, status, None, &ops)
                .expect("a small history");
        }
    }
    builder.finish()
}

fn op(builder: &mut Builder, random: &mut Random, shape: Shape) -> Op {
    let number = |random: &mut Random| match shape.wide {
        true => random.next() >> random.below(64),
        false => random.below(9),
    };
    let key = match shape.words {
        true => Value::from(["x", "y_1", "_z", "balance"][random.below(4) as usize]),
        false => Value::from(number(random)),
    };
    let key = builder.key(&key);
    let kind = if random.once_in(2) {
        OpKind::Write
    } else {
        OpKind::Read
    };
    let value = match kind {
        OpKind::Read if shape.nil && random.once_in(4) => ValueCode::NIL,
        _ => builder.value(&Value::from(1 + number(random) / 2)),
    };
    Op { kind, key, value }
}
