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
/// without, each is alone in its own.
pub fn to_history(setup: &Setup, log: &Log, order: VersionOrder, sessions: bool) -> History {
    let orders: Vec<Vec<Version>> = setup.keys().map(|key| versions(log, order, key)).collect();
    let mut builder = Builder::new();
    for txn in setup.txns() {
        let record = log.record(txn);
        if record.status == Ended::Waiting {
            continue;
        }
        let session = if sessions {
            setup.session(txn)
        } else {
            txn.index()
        };
        let session = builder.session(session as i64);
        let ops_start = builder.ops.len();
        for (kind, key, version) in operations(setup, txn, record) {
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
            .end_txn(session, txn.0.into(), status, interval, ops_start)
            .expect("a setup has few transactions");
    }
    builder.finish()
}

/// What a transaction did, in the order of its program.
fn operations(setup: &Setup, txn: Txn, record: &Record) -> Vec<(OpKind, Key, Version)> {
    let mut reads = record.reads.clone();
    let mut writes = record.writes.clone();
    let take = |list: &mut Vec<(Key, Version)>, key: Key| {
        let place = list.iter().position(|(other, _)| *other == key)?;
        Some(list.remove(place).1)
    };
    let mut ops = Vec::new();
    for op in setup.ops(txn) {
        let (kind, version) = match op {
            Planned::Read(key) => (OpKind::Read, take(&mut reads, *key)),
            Planned::Write(key) => (OpKind::Write, take(&mut writes, *key)),
        };
        ops.extend(version.map(|version| (kind, op.key(), version)));
    }
    // What the program does not say: a model that reads before it writes, or writes once for all.
    ops.extend(
        reads
            .into_iter()
            .map(|(key, version)| (OpKind::Read, key, version)),
    );
    ops.extend(
        writes
            .into_iter()
            .map(|(key, version)| (OpKind::Write, key, version)),
    );
    ops
}

fn value(builder: &mut Builder, log: &Log, key: Key, version: Version) -> ValueCode {
    if version.is_initial() {
        return ValueCode::NIL;
    }
    let number = log.records.iter().enumerate().find_map(|(txn, record)| {
        let mut own = record.writes.iter().filter(|(other, _)| *other == key);
        let place = own.position(|(_, other)| *other == version)?;
        Some(txn + 1 + 100 * place)
    });
    // Nobody wrote it, which the exploration reports as an error of the model.
    let number = number.unwrap_or(10_000 + usize::from(version.number));
    builder.value(&Value::Int(number as i128))
}

/// The committed versions of a key in the order of the protocol.
fn versions(log: &Log, order: VersionOrder, key: Key) -> Vec<Version> {
    let committed = log
        .records
        .iter()
        .filter(|record| record.status == Ended::Committed)
        .flat_map(|record| &record.writes)
        .filter(|(other, _)| *other == key)
        .map(|(_, version)| *version);
    match order {
        VersionOrder::Compared => {
            let mut all: Vec<Version> = committed.collect();
            all.sort();
            all
        }
        VersionOrder::Installed => {
            let committed: Vec<Version> = committed.collect();
            let installed = log.installed[key.index()].iter().copied();
            installed
                .filter(|version| committed.contains(version))
                .collect()
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
