//! A digest of what a history says, whatever file it was read from.
//!
//! Covers the sessions with their labels, their transactions in order with labels and outcomes,
//! and the operations with the names of keys and the values. It does not depend on how keys and
//! values were numbered nor on the order of sessions, and leaves times out, which some formats
//! cannot hold. Two multiplicative lanes of 64 bits; it tells histories apart by accident, not
//! against somebody who wants two of them to collide.

use crate::{History, KeyTable, OpId, OpKind, SessionId, TxnId, Value, ValueCode};

struct Lanes {
    low: u64,
    high: u64,
}

impl Lanes {
    fn new(seed: u64) -> Lanes {
        Lanes {
            low: seed ^ 0x9e37_79b9_7f4a_7c15,
            high: seed ^ 0xc2b2_ae3d_27d4_eb4f,
        }
    }

    #[inline]
    fn add(&mut self, word: u64) {
        self.low = (self.low ^ word)
            .wrapping_mul(0xff51_afd7_ed55_8ccd)
            .rotate_left(31);
        self.high = (self.high ^ word)
            .wrapping_mul(0xc4ce_b9fe_1a85_ec53)
            .rotate_left(27);
    }

    fn finish(mut self) -> u128 {
        for _ in 0..2 {
            self.add(self.low ^ self.high.rotate_left(32));
        }
        u128::from(self.low) | u128::from(self.high) << 64
    }
}

/// A digest of the history's contents: equal contents have equal digests.
pub fn digest(history: &History) -> u128 {
    let mut words = Words::of(history);
    let mut sessions: Vec<SessionId> = history.sessions().collect();
    sessions.sort_unstable_by_key(|&session| history.session_label(session));
    let mut lanes = Lanes::new(sessions.len() as u64);
    for session in sessions {
        lanes.add(history.session_label(session) as u64);
        let txns = history.session_txns(session);
        lanes.add(txns.len() as u64);
        for txn in txns.map(TxnId) {
            let row = history.txn(txn);
            lanes.add(row.label);
            lanes.add(u64::from(row.op_count) << 8 | row.status as u64);
            for index in history.op_range(txn) {
                words.add_op(&mut lanes, OpId(index as u32));
            }
        }
    }
    lanes.finish()
}

/// Keys and values as words that do not depend on how they were numbered.
struct Words<'a> {
    history: &'a History,
    /// By key id; empty where the id is the name.
    keys: Vec<u64>,
    /// By place in the table of values that are no small integers; 0 until needed.
    values: Vec<u64>,
}

impl Words<'_> {
    fn of(history: &History) -> Words<'_> {
        let keys = match history.keys() {
            KeyTable::Dense { .. } => Vec::new(),
            KeyTable::Sorted { numbers } => numbers
                .iter()
                .map(|&number| word_of(&Value::from(number)))
                .collect(),
            KeyTable::Named { names, .. } => names.iter().map(word_of).collect(),
        };
        Words {
            history,
            keys,
            values: Vec::new(),
        }
    }

    #[inline]
    fn add_op(&mut self, lanes: &mut Lanes, id: OpId) {
        let op = self.history.op(id);
        let key = self.keys.get(op.key.index()).copied();
        lanes.add(key.unwrap_or(u64::from(op.key.0)));
        lanes.add(op.kind as u64 | u64::from(op.value == ValueCode::UNKNOWN) << 8);
        if op.value == ValueCode::UNKNOWN {
            return;
        }
        if matches!(op.kind, OpKind::ReadList | OpKind::ReadSet) {
            let list = self.history.list(op.value);
            lanes.add(list.len() as u64);
            for &element in list {
                lanes.add(self.value(element));
            }
        } else {
            lanes.add(self.value(op.value));
        }
    }

    #[inline]
    fn value(&mut self, code: ValueCode) -> u64 {
        if code.0 < ValueCode::SMALL_LIMIT {
            return u64::from(code.0);
        }
        if code == ValueCode::NIL || code == ValueCode::UNKNOWN {
            return word_of(&Value::Nil);
        }
        let index = (code.0 - ValueCode::SMALL_LIMIT) as usize;
        if self.values.len() <= index {
            self.values.resize(index + 1, 0);
        }
        if self.values[index] == 0 {
            self.values[index] = word_of(&self.history.value(code));
        }
        self.values[index]
    }
}

/// A small integer is itself; anything else has the highest bit set.
fn word_of(value: &Value) -> u64 {
    let limit = i128::from(ValueCode::SMALL_LIMIT);
    let digest = match value {
        Value::Int(number) if (0..limit).contains(number) => return *number as u64,
        Value::Nil => Lanes::new(1).finish(),
        Value::Int(number) => {
            let mut lanes = Lanes::new(2);
            lanes.add(*number as u64);
            lanes.add((*number >> 64) as u64);
            lanes.finish()
        }
        Value::Text(text) => {
            let mut lanes = Lanes::new(3 + text.len() as u64);
            for chunk in text.as_bytes().chunks(8) {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                lanes.add(u64::from_le_bytes(word));
            }
            lanes.finish()
        }
    };
    (digest as u64) | 1 << 63
}
