//! Within one transaction: which reads are external, which writes are final.
//!
//! A read of a key that its transaction wrote before must return that transaction's last write
//! (else *not-my-own-write* or *not-my-last-write*); any other read is external. Two external reads
//! of a key with different values are a *non-repeatable read*. Only the last write to a key is a
//! version.
//!
//! Cost: for each operation whose key may occur again in its transaction, one lookup in a table of
//! twice their number, which stays in the nearest cache for ordinary transactions and is cleared by
//! raising a stamp.

use super::{Link, Observed, Placed, ReadAnomaly};
use history::{AnomalyKind, KeyId, OpId, OpKind, Status, TxnId, ValueCode};
use std::ops::Range;

const NONE: u32 = u32::MAX;

/// What a transaction has done to a key so far.
#[derive(Clone, Copy)]
struct Touched {
    stamp: u32,
    key: u32,
    /// The last write, or [`NONE`].
    write: u32,
    /// The first external read, or [`NONE`].
    read: u32,
}

/// The keys a transaction has touched: open addressing, cleared in constant time.
struct TouchedKeys {
    slots: Vec<Touched>,
    stamp: u32,
    mask: usize,
}

impl TouchedKeys {
    fn new() -> TouchedKeys {
        TouchedKeys {
            slots: Vec::new(),
            stamp: 0,
            mask: 0,
        }
    }

    /// Makes room for a transaction of `op_count` operations and forgets the last one.
    fn begin(&mut self, op_count: usize) {
        let size = (2 * op_count).next_power_of_two().max(16);
        if size > self.slots.len() || self.stamp == u32::MAX {
            let empty = Touched {
                stamp: 0,
                key: 0,
                write: NONE,
                read: NONE,
            };
            self.slots = vec![empty; size.max(self.slots.len())];
            self.stamp = 0;
        }
        self.stamp += 1;
        self.mask = size - 1;
    }

    #[inline]
    fn get(&mut self, key: u32) -> &mut Touched {
        let mut at = (key.wrapping_mul(0x9E37_79B1) >> 7) as usize & self.mask;
        loop {
            let slot = &self.slots[at];
            if slot.stamp != self.stamp {
                let fresh = Touched {
                    stamp: self.stamp,
                    key,
                    write: NONE,
                    read: NONE,
                };
                self.slots[at] = fresh;
                break;
            }
            if slot.key == key {
                break;
            }
            at = (at + 1) & self.mask;
        }
        &mut self.slots[at]
    }
}

/// Up to so many operations of a transaction are first looked at without a branch.
const SMALL: usize = 64;

/// Which keys occur twice in a small transaction, by a hash: two sets of bits.
struct Repeated {
    once: [u64; Repeated::WORDS],
    twice: [u64; Repeated::WORDS],
}

impl Repeated {
    const WORDS: usize = 16;

    fn place(key: u32) -> (usize, u32) {
        let bit = key.wrapping_mul(0x9E37_79B1) >> (32 - 10);
        (bit as usize / 64, bit % 64)
    }

    fn of(keys: &[KeyId]) -> Repeated {
        let mut sets = Repeated {
            once: [0; Repeated::WORDS],
            twice: [0; Repeated::WORDS],
        };
        for key in keys {
            let (word, bit) = Repeated::place(key.0);
            sets.twice[word] |= sets.once[word] & (1 << bit);
            sets.once[word] |= 1 << bit;
        }
        sets
    }

    fn has(&self, key: u32) -> bool {
        let (word, bit) = Repeated::place(key);
        self.twice[word] >> bit & 1 == 1
    }
}

/// Gives every operation its first link: `PENDING` for external reads, `WRITE` for final writes.
pub(super) fn classify(observed: &mut Observed<'_>) {
    let mut touched = TouchedKeys::new();
    let mut anomalies = Vec::new();
    let mut repeated = vec![0; SMALL];
    for at in 0..observed.file_order.len() {
        let placed = observed.file_order.at(at);
        let op_count = placed.ops().len();
        let reads_count = observed.statuses[placed.txn.index()] != Status::Aborted;
        if op_count > repeated.len() {
            repeated.resize(op_count, 0);
        }
        let count = classify_alone(observed, placed, reads_count, &mut repeated);
        if count > 0 {
            touched.begin(count);
            let repeated = &repeated[..count];
            classify_repeated(observed, placed, repeated, &mut touched, &mut anomalies);
        }
    }
    anomalies.sort_by_key(|anomaly| anomaly.txn);
    observed.read_anomalies.append(&mut anomalies);
}

/// The links of operations as if each was the only one of its transaction on its key; enters those
/// that may not be into `repeated` and returns how many these are.
fn classify_alone(
    observed: &mut Observed<'_>,
    placed: Placed,
    reads_count: bool,
    repeated: &mut [u32],
) -> usize {
    let ops = observed.history.ops();
    let range = placed.ops();
    let keys = &ops.keys[range.clone()];
    let columns = ops.kinds[range.clone()]
        .iter()
        .zip(&observed.values[range.clone()]);
    // Which of these an operation is, is a coin toss to the processor.
    let links = &mut observed.links[range.clone()];
    for (link, (kind, &value)) in links.iter_mut().zip(columns) {
        let is_nil = value == ValueCode::NIL;
        let external = if is_nil { Link::INITIAL } else { Link::PENDING };
        let is_known = reads_count & (value != ValueCode::UNKNOWN);
        let read = if is_known { external } else { Link::SKIP };
        *link = if kind.is_write() { Link::WRITE } else { read };
    }
    let may_repeat = (keys.len() <= SMALL).then(|| Repeated::of(keys));
    let mut count = 0;
    for (at, key) in keys.iter().enumerate() {
        repeated[count] = at as u32;
        count += usize::from(may_repeat.as_ref().is_none_or(|sets| sets.has(key.0)));
    }
    count
}

/// The links of those operations of a transaction that may share their keys.
fn classify_repeated(
    observed: &mut Observed<'_>,
    placed: Placed,
    repeated: &[u32],
    touched: &mut TouchedKeys,
    anomalies: &mut Vec<ReadAnomaly>,
) {
    let ops = observed.history.ops();
    let (txn, range) = (placed.txn, placed.ops());
    let (kinds, keys) = (&ops.kinds[range.clone()], &ops.keys[range.clone()]);
    let values = &observed.values[range.clone()];
    let links = &mut observed.links[range.clone()];
    let mut wrong = Vec::new();
    for &place in repeated {
        let at = place as usize;
        if links[at] == Link::SKIP {
            continue;
        }
        let seen = touched.get(keys[at].0);
        if kinds[at].is_write() {
            if seen.write != NONE {
                links[seen.write as usize] = Link::SKIP;
            }
            seen.write = place;
            continue;
        }
        let value = values[at];
        if seen.write != NONE && kinds[at] != OpKind::ReadList {
            if values[seen.write as usize] != value {
                wrong.push((at, seen.write as usize));
            }
            links[at] = Link::SKIP;
            continue;
        }
        if seen.read == NONE {
            seen.read = place;
        } else if values[seen.read as usize] != value {
            anomalies.push(ReadAnomaly {
                kind: AnomalyKind::NonRepeatableRead,
                txn,
                ops: vec![op_id(&range, seen.read as usize), op_id(&range, at)],
            });
        }
    }
    for (read, last) in wrong {
        let (read, last) = (range.start + read, range.start + last);
        anomalies.push(not_my_write(observed, txn, read, last));
    }
}

fn op_id(range: &Range<usize>, at: usize) -> OpId {
    OpId((range.start + at) as u32)
}

/// A read that did not return its own transaction's last write: was it an earlier one of its own?
fn not_my_write(observed: &Observed<'_>, txn: TxnId, read: usize, last: usize) -> ReadAnomaly {
    let ops = observed.history.ops();
    let earlier = (observed.history.op_range(txn).start..last).find(|&op| {
        ops.kinds[op].is_write()
            && ops.keys[op] == ops.keys[read]
            && ops.values[op] == ops.values[read]
    });
    let (last, read) = (OpId(last as u32), OpId(read as u32));
    match earlier {
        Some(op) => ReadAnomaly {
            kind: AnomalyKind::NotMyLastWrite,
            txn,
            ops: vec![OpId(op as u32), last, read],
        },
        None => ReadAnomaly {
            kind: AnomalyKind::NotMyOwnWrite,
            txn,
            ops: vec![last, read],
        },
    }
}
