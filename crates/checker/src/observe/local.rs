//! Within one transaction: which reads are external, which writes are final.
//!
//! A read of a key that its transaction wrote before must return that transaction's last write
//! (else *not-my-own-write* or *not-my-last-write*); any other read is external. Two external reads
//! of a key with different values are a *non-repeatable read*. Only the last write to a key is a
//! version.
//!
//! Cost: one lookup an operation in a table of twice the transaction's size, which stays in the
//! nearest cache for ordinary transactions and is cleared by raising a stamp.

use super::{Link, Observed, Placed, ReadAnomaly};
use history::{AnomalyKind, OpId, OpKind, Status, TxnId, ValueCode};

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

/// Gives every operation its first link: `PENDING` for external reads, `WRITE` for final writes.
pub(super) fn classify(observed: &mut Observed<'_>) {
    let mut touched = TouchedKeys::new();
    let mut anomalies = Vec::new();
    for at in 0..observed.file_order.len() {
        let placed = observed.file_order[at];
        touched.begin(placed.ops().len());
        classify_txn(observed, placed, &mut touched, &mut anomalies);
    }
    anomalies.sort_by_key(|anomaly| anomaly.txn);
    observed.read_anomalies.append(&mut anomalies);
}

fn classify_txn(
    observed: &mut Observed<'_>,
    placed: Placed,
    touched: &mut TouchedKeys,
    anomalies: &mut Vec<ReadAnomaly>,
) {
    let ops = observed.history.ops();
    let values = &observed.values;
    let txn = placed.txn;
    let reads_count = observed.statuses[txn.index()] != Status::Aborted;
    for op in placed.ops() {
        let key = ops.keys[op].0;
        let kind = ops.kinds[op];
        if kind.is_write() {
            let seen = touched.get(key);
            if seen.write != NONE {
                observed.links[seen.write as usize] = Link::SKIP;
            }
            seen.write = op as u32;
            observed.links[op] = Link::WRITE;
            continue;
        }
        if !reads_count || values[op] == ValueCode::UNKNOWN {
            continue;
        }
        let seen = touched.get(key);
        if seen.write != NONE && kind != OpKind::ReadList {
            if values[seen.write as usize] != values[op] {
                anomalies.push(not_my_write(observed, txn, op, seen.write as usize));
            }
            continue;
        }
        if seen.read == NONE {
            seen.read = op as u32;
        } else if values[seen.read as usize] != values[op] {
            anomalies.push(ReadAnomaly {
                kind: AnomalyKind::NonRepeatableRead,
                txn,
                ops: vec![OpId(seen.read), OpId(op as u32)],
            });
        }
        let is_nil = values[op] == ValueCode::NIL;
        observed.links[op] = if is_nil { Link::INITIAL } else { Link::PENDING };
    }
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
