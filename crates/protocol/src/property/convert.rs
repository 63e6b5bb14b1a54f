//! A log as a history, with the order of versions that the protocol declared.
//!
//! Every version has a value of its own: the number of the transaction that wrote it, from 1, and
//! above that the place among its writes of the key. Reads come in the order of the program. Times
//! are made from what each start came after: those sets grow with time, so their sizes are a clock.

use crate::id::{Key, Txn, Version};
use crate::log::{Detail, Log, Record, Status as Ended};
use crate::protocol::VersionOrder;
use crate::setup::{Op as Planned, Setup};
use history::{Builder, History, Interval, Op, OpKind, Status, Value, ValueCode};

/// The history that a log records. With `sessions`, transactions of a session are in one session;
/// without, each is alone in its own. Transactions are labelled with their numbers, from 1,
/// and so are sessions.
pub fn to_history(setup: &Setup, log: &Log, order: VersionOrder, sessions: bool) -> History {
    history_of(setup, log, order, sessions, |_| true)
}

/// The same, of some transactions only.
pub(super) fn history_of(
    setup: &Setup,
    log: &Log,
    order: VersionOrder,
    sessions: bool,
    wanted: impl Fn(&Record) -> bool,
) -> History {
    let orders: Vec<Vec<Version>> = setup.keys().map(|key| versions(log, order, key)).collect();
    let mut builder = Builder::new();
    let mut ops = Vec::new();
    for txn in setup.txns() {
        let record = log.record(txn);
        if record.status == Ended::Waiting || !wanted(record) {
            continue;
        }
        let session = if sessions {
            setup.session(txn)
        } else {
            txn.index()
        };
        let session = builder.session(session as i64 + 1);
        let ops_start = builder.ops.len();
        operations(setup, txn, record, &mut ops);
        for &(kind, key, version) in &ops {
            let op = Op {
                kind,
                key: builder.key(&Value::Text(key.to_string().into())),
                value: value(&mut builder, log, key, version),
            };
            builder.ops.push(op);
            if let Some(number) = number(&orders[key.index()], version) {
                builder.record_version(number);
            }
        }
        let status = match record.status {
            Ended::Committed => Status::Committed,
            Ended::Aborted => Status::Aborted,
            Ended::Running | Ended::Waiting => Status::Indeterminate,
        };
        let interval = (log.detail != Detail::Untimed).then(|| interval(log, txn));
        builder
            .end_txn(session, u64::from(txn.0) + 1, status, interval, ops_start)
            .expect("a setup has few transactions");
    }
    builder.finish()
}

/// What a transaction did, in the order of its program. What the program does not say is a read
/// that a model makes before it writes: it stands before the first write of the key, or at the end
/// if there is none.
pub(super) fn operations(
    setup: &Setup,
    txn: Txn,
    record: &Record,
    ops: &mut Vec<(OpKind, Key, Version)>,
) {
    ops.clear();
    let (mut read, mut written) = (0u64, 0u64);
    for op in setup.ops(txn) {
        let (kind, list, used) = match op {
            Planned::Read(_) => (OpKind::Read, &record.reads, &mut read),
            Planned::Write(_) => (OpKind::Write, &record.writes, &mut written),
        };
        let unused = |place: &usize| list[*place].0 == op.key() && *used & bit(*place) == 0;
        if let Some(place) = (0..list.len()).find(unused) {
            *used |= bit(place);
            ops.push((kind, op.key(), list[place].1));
        }
    }
    for (place, (key, version)) in record.writes.iter().enumerate() {
        if written & bit(place) == 0 {
            ops.push((OpKind::Write, *key, *version));
        }
    }
    for (place, (key, version)) in record.reads.iter().enumerate() {
        if read & bit(place) == 0 {
            let first_write =
                |(kind, other, _): &(OpKind, Key, Version)| *kind == OpKind::Write && other == key;
            let at = ops.iter().position(first_write).unwrap_or(ops.len());
            ops.insert(at, (OpKind::Read, *key, *version));
        }
    }
}

/// A transaction has few operations; those beyond 64 of a kind share a bit.
fn bit(place: usize) -> u64 {
    1 << (place & 63)
}

/// Who wrote a version, and how many versions of the key it wrote before. A transaction that
/// committed goes first, as a version may be named again after an abort.
pub(super) fn writer(log: &Log, key: Key, version: Version) -> Option<(usize, usize)> {
    let mut found: Option<(usize, usize)> = None;
    for (txn, record) in log.records.iter().enumerate() {
        let mut own = record.writes.iter().filter(|(other, _)| *other == key);
        if let Some(place) = own.position(|(_, other)| *other == version)
            && (found.is_none() || record.status == Ended::Committed)
        {
            found = Some((txn, place));
        }
    }
    found
}

fn value(builder: &mut Builder, log: &Log, key: Key, version: Version) -> ValueCode {
    if version.is_initial() {
        return ValueCode::NIL;
    }
    let number = writer(log, key, version).map(|(txn, place)| txn + 1 + 100 * place);
    // Nobody wrote it, which the exploration reports as an error of the model.
    let number = number.unwrap_or(10_000_000 + usize::from(version.number));
    builder.value(&Value::Int(number as i128))
}

/// The committed versions of a key in the order of the protocol.
pub(super) fn versions(log: &Log, order: VersionOrder, key: Key) -> Vec<Version> {
    let committed = log
        .records
        .iter()
        .filter(|record| record.status == Ended::Committed)
        .flat_map(|record| &record.writes)
        .filter(|(other, _)| *other == key)
        .map(|(_, version)| *version);
    let mut all: Vec<Version> = committed.collect();
    match order {
        VersionOrder::Compared => {
            all.sort();
            all
        }
        VersionOrder::Installed => {
            let installed = log.installed[key.index()].iter().copied();
            installed.filter(|version| all.contains(version)).collect()
        }
    }
}

fn number(order: &[Version], version: Version) -> Option<u64> {
    if version.is_initial() {
        return Some(0);
    }
    let place = order.iter().position(|other| *other == version)?;
    Some(place as u64 + 1)
}

/// The sets of transactions that starts came after grow with time, so twice their size is a time.
fn interval(log: &Log, txn: Txn) -> Interval {
    let start = 2 * log.record(txn).after.len() as i64 + 1;
    let seen = log
        .records
        .iter()
        .filter(|record| record.after.contains(txn));
    let end = seen.map(|record| 2 * record.after.len() as i64).min();
    let last = 2 * log.records.len() as i64 + 2;
    let ended = matches!(log.record(txn).status, Ended::Committed | Ended::Aborted);
    let end = end.or(ended.then_some(last)).unwrap_or(Interval::NEVER);
    Interval { start, end }
}
