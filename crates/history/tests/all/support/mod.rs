//! Histories for tests, written in a line.
#![allow(dead_code, missing_docs)] // Each test file uses its part.

pub mod plausible;

use history::{Builder, History, Interval, KeyId, Op, OpKind, Status, Value, ValueCode};

/// Reads `w(x,1) r(y,nil) | r(x,1) ; a(l,1) l(l,[1 2])`: sessions are separated by `;`,
/// transactions by `|`. A transaction that begins with `abort` was aborted, with `maybe` it is
/// indeterminate, with `@3-7` it ran from 3 to 7. `r(x,?)` is a read whose result is unknown.
/// Transactions are numbered from 0 in the order written: the third, in the second session, is
/// `s1t2`.
pub fn history_of(text: &str) -> History {
    let mut builder = Builder::new();
    let mut label = 0;
    for (number, session_text) in text.split(';').enumerate() {
        let session = builder.session(number as i64);
        for txn_text in session_text
            .split('|')
            .filter(|text| !text.trim().is_empty())
        {
            let mut rest = txn_text.trim();
            let (mut status, mut interval) = (Status::Committed, None);
            if let Some(text) = rest.strip_prefix("abort") {
                (status, rest) = (Status::Aborted, text.trim());
            } else if let Some(text) = rest.strip_prefix("maybe") {
                (status, rest) = (Status::Indeterminate, text.trim());
            }
            if let Some(text) = rest.strip_prefix('@') {
                let (times, text) = text.split_once(' ').expect("operations after the times");
                let (start, end) = times.split_once('-').expect("start-end");
                let (start, end) = (start.parse().unwrap(), end.parse().unwrap());
                (interval, rest) = (Some(Interval { start, end }), text);
            }
            let ops: Vec<Op> = rest
                .split_inclusive(')')
                .filter(|text| !text.trim().is_empty())
                .map(|text| op_of(&mut builder, text.trim()))
                .collect();
            builder
                .push_txn(session, label, status, interval, &ops)
                .expect("small history");
            label += 1;
        }
    }
    builder.finish()
}

fn op_of(builder: &mut Builder, text: &str) -> Op {
    let bad = || panic!("not an operation: {text}");
    let (kind, arguments) = text.split_once('(').unwrap_or_else(bad);
    let (key, value) = arguments
        .strip_suffix(')')
        .and_then(|arguments| arguments.split_once(','))
        .unwrap_or_else(bad);
    let key: KeyId = builder.key(&Value::from(key.trim()));
    let value = value.trim();
    let kind = match kind {
        "r" => OpKind::Read,
        "w" => OpKind::Write,
        "a" => OpKind::Append,
        "l" => OpKind::ReadList,
        "add" => OpKind::Add,
        _ => panic!("not an operation: {text}"),
    };
    let value = match value.strip_prefix('[') {
        Some(list) => {
            let elements: Vec<ValueCode> = list
                .trim_end_matches(']')
                .split_whitespace()
                .map(|element| value_of(builder, element))
                .collect();
            builder.lists.push(&elements)
        }
        None => value_of(builder, value),
    };
    Op { kind, key, value }
}

fn value_of(builder: &mut Builder, text: &str) -> ValueCode {
    match text {
        "?" => ValueCode::UNKNOWN,
        "nil" => ValueCode::NIL,
        _ => match text.parse::<i64>() {
            Ok(number) => builder.value(&Value::from(number)),
            Err(_) => builder.value(&Value::from(text)),
        },
    }
}

/// A small generator of pseudo-random numbers (splitmix64), so that a seed means the same
/// everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// What a random history may contain.
pub struct Shape {
    pub sessions: u64,
    pub txns: u64,
    pub ops: u64,
    pub keys: u64,
    /// Out of 100 transactions, how many are aborted, and how many indeterminate.
    pub aborted: u64,
    pub indeterminate: u64,
    /// Whether a value may be written twice to a key.
    pub duplicates: bool,
    pub timed: bool,
    /// Sessions without transactions, in addition.
    pub spare_sessions: u64,
}

/// A random history of registers; reads return something that was written to the key, mostly.
pub fn random_history(seed: u64, shape: &Shape) -> History {
    let mut random = Random(seed);
    let mut builder = Builder::new();
    builder.keys = history::KeyTable::Dense {
        limit: shape.keys as u32,
    };
    let sessions: Vec<_> = (0..shape.sessions)
        .map(|s| builder.session(s as i64))
        .collect();
    for spare in 0..shape.spare_sessions {
        builder.session((shape.sessions + spare) as i64);
    }
    let op_counts: Vec<u64> = (0..shape.txns)
        .map(|_| 1 + random.below(shape.ops))
        .collect();
    let mut plan: Vec<Vec<Op>> = Vec::new();
    let mut written: Vec<Vec<ValueCode>> = vec![vec![ValueCode::ZERO]; shape.keys as usize];
    for &count in &op_counts {
        let mut ops = Vec::new();
        for _ in 0..count {
            let key = KeyId(random.below(shape.keys) as u32);
            let of_key = &mut written[key.index()];
            let fresh = !shape.duplicates || random.below(3) > 0;
            if random.below(2) == 0 {
                let value = if fresh {
                    ValueCode(of_key.len() as u32)
                } else {
                    ValueCode(1 + random.below(of_key.len() as u64) as u32)
                };
                of_key.push(value);
                ops.push(Op {
                    kind: OpKind::Write,
                    key,
                    value,
                });
            } else {
                ops.push(Op {
                    kind: OpKind::Read,
                    key,
                    value: ValueCode::UNKNOWN,
                });
            }
        }
        plan.push(ops);
    }
    let mut clock = 0;
    for (label, mut ops) in plan.into_iter().enumerate() {
        fill_reads(&mut random, &written, &mut ops);
        let status = match random.below(100) {
            roll if roll < shape.aborted => Status::Aborted,
            roll if roll < shape.aborted + shape.indeterminate => Status::Indeterminate,
            _ => Status::Committed,
        };
        let start = clock + random.below(4) as i64;
        let end = start + 1 + random.below(6) as i64;
        clock += 1 + random.below(3) as i64;
        let interval = shape.timed.then_some(Interval { start, end });
        let session = sessions[random.below(shape.sessions) as usize];
        builder
            .push_txn(session, label as u64, status, interval, &ops)
            .expect("small history");
    }
    builder.finish()
}

/// Mostly what a transaction would read: its own write, or what it read before.
fn fill_reads(random: &mut Random, written: &[Vec<ValueCode>], ops: &mut [Op]) {
    for index in 0..ops.len() {
        if ops[index].kind != OpKind::Read {
            continue;
        }
        let key = ops[index].key;
        let earlier = ops[..index]
            .iter()
            .rev()
            .find(|op| op.key == key)
            .map(|op| op.value);
        let of_key = &written[key.index()];
        let any = of_key[random.below(of_key.len() as u64) as usize];
        ops[index].value = match earlier {
            Some(value) if random.below(12) > 0 => value,
            _ => any,
        };
    }
}
