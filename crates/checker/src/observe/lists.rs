//! Lists as registers: an append writes the version named by its element, and a list read returns
//! the version named by the last element that is not the reader's own.
//!
//! A transaction that appended to a key must find exactly its own appends at the end of what it
//! reads (else *not-my-own-write*). The order of a key's versions is read off its lists, in
//! `list_order`.
//!
//! Cost: linear in the elements read.

use super::{Link, Observed, ReadAnomaly};
use history::{AnomalyKind, History, KeyId, OpId, OpKind, Status, TxnId, ValueCode};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// Why nothing can be said of the history: a key that is both a list and a register. What a register
/// write does to a list, or an append to a register, is defined nowhere.
pub(super) fn undecidable(history: &History) -> Option<String> {
    let ops = history.ops();
    let is_list = |kind: OpKind| matches!(kind, OpKind::Append | OpKind::ReadList);
    // All are looked at: the processor takes many at once where nothing ends the loop.
    let (has_lists, has_others) = ops
        .kinds
        .iter()
        .fold((false, false), |(lists, others), &kind| {
            (lists | is_list(kind), others | !is_list(kind))
        });
    if !has_lists || !has_others {
        return None;
    }
    const LIST: u8 = 1;
    const REGISTER: u8 = 2;
    let mut uses = vec![0u8; history.keys().limit()];
    for (&kind, key) in ops.kinds.iter().zip(&ops.keys) {
        uses[key.index()] |= if is_list(kind) { LIST } else { REGISTER };
    }
    let both = uses.iter().position(|&found| found == LIST | REGISTER)?;
    let name = history.key_name(KeyId(both as u32));
    Some(format!(
        "the key {name} is used both as a list and as a register, which no level is defined for"
    ))
}

/// Replaces the value of every list read by the version it saw.
pub(super) fn reduce(observed: &mut Observed<'_>) {
    let history = observed.history;
    let kinds = &history.ops().kinds;
    if !kinds.contains(&OpKind::ReadList) {
        return;
    }
    let mut values = history.ops().values.clone();
    let mut own = OwnAppends::default();
    for at in 0..observed.file_order.len() {
        let placed = observed.file_order.at(at);
        let (txn, range) = (placed.txn, placed.ops());
        own.begin(history, range.clone());
        for op in range.clone() {
            if kinds[op] == OpKind::ReadList && values[op] != ValueCode::UNKNOWN {
                let appended = own.before(history, range.start..op, op);
                values[op] = version_read(observed, txn, OpId(op as u32), appended);
            }
        }
    }
    observed.values = Cow::Owned(values);
    observed.read_anomalies.sort_by_key(|anomaly| anomaly.txn);
}

/// What a transaction appended itself. A scan for every read, or a map where that would be many.
#[derive(Default)]
struct OwnAppends {
    found: Vec<OpId>,
    by_key: HashMap<KeyId, Vec<OpId>>,
    is_long: bool,
}

/// Transactions of more operations are searched by a map.
const SCANNED_MAX: usize = 32;

impl OwnAppends {
    fn begin(&mut self, history: &History, range: Range<usize>) {
        self.is_long = range.len() > SCANNED_MAX;
        if !self.is_long {
            return;
        }
        self.by_key.clear();
        let kinds = &history.ops().kinds;
        for op in range.filter(|&op| kinds[op] == OpKind::Append) {
            let of_key = self.by_key.entry(history.ops().keys[op]).or_default();
            of_key.push(OpId(op as u32));
        }
    }

    /// The appends among the operations `before` a read to the key of the read.
    fn before(&mut self, history: &History, before: Range<usize>, read: usize) -> &[OpId] {
        let ops = history.ops();
        let key = ops.keys[read];
        if self.is_long {
            let of_key = self.by_key.get(&key).map_or(&[][..], Vec::as_slice);
            return &of_key[..of_key.partition_point(|op| op.index() < read)];
        }
        self.found.clear();
        let own = before.filter(|&op| ops.kinds[op] == OpKind::Append && ops.keys[op] == key);
        self.found.extend(own.map(|op| OpId(op as u32)));
        &self.found
    }
}

/// The version a list read saw, without the reader's own appends.
fn version_read(
    observed: &mut Observed<'_>,
    txn: TxnId,
    read: OpId,
    appended: &[OpId],
) -> ValueCode {
    let history = observed.history;
    let list = history.list(history.op(read).value);
    let foreign_count = list.len().saturating_sub(appended.len());
    let own_part = &list[foreign_count..];
    let matches = own_part.len() == appended.len()
        && own_part
            .iter()
            .zip(appended)
            .all(|(&element, &op)| history.op(op).value == element);
    if !matches {
        if history.status(txn) != Status::Aborted {
            let last = *appended.last().expect("an empty suffix always matches");
            let kind = AnomalyKind::NotMyOwnWrite;
            observed.read_anomalies.push(ReadAnomaly {
                kind,
                txn,
                ops: vec![last, read],
            });
        }
        return ValueCode::UNKNOWN;
    }
    list[..foreign_count]
        .last()
        .copied()
        .unwrap_or(ValueCode::NIL)
}

/// Takes back that lists ending in the initial value read the initial version: only the empty list
/// does. To be settled with the other reads.
pub(super) fn leave_only_empty_initial(observed: &mut Observed<'_>) {
    let Cow::Owned(values) = &observed.values else {
        return;
    };
    let kinds = &observed.history.ops().kinds;
    for (op, link) in observed.links.iter_mut().enumerate() {
        let is_list = kinds[op] == OpKind::ReadList && values[op] != ValueCode::NIL;
        if *link == Link::INITIAL && is_list {
            *link = Link::PENDING;
        }
    }
}
