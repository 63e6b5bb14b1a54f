//! Histories as plain data, to compare what was read with what was written and read again.

use history::format::Format;
use history::{History, Interval, OpKind, SessionId, Status, TxnId, UNLABELLED, Value, ValueCode};
use std::collections::HashMap;

/// Which of the things a format may lose it keeps for a given history.
#[derive(Clone, Copy)]
pub struct Kept {
    txn_labels: bool,
    session_order: bool,
    times: bool,
    values: bool,
}

impl Kept {
    /// What writing `history` in the format it was read from keeps.
    pub fn by(format: Format, history: &History) -> Kept {
        let mut labels: Vec<u64> = history
            .txns()
            .iter()
            .filter(|txn| txn.status != Status::Aborted)
            .map(|txn| txn.label)
            .collect();
        labels.sort_unstable();
        let unique = labels.windows(2).all(|pair| pair[0] < pair[1]);
        // Numbers near the end of their range leave no room for fresh ones.
        let room = labels.last().is_none_or(|&last| last < UNLABELLED / 2);
        let renumbers = matches!(format, Format::Text | Format::Cobra | Format::TimeKiller);
        let jepsen = matches!(
            format,
            Format::JepsenEdn | Format::JepsenJson | Format::JepsenStore
        );
        Kept {
            txn_labels: !renumbers || (unique && room),
            session_order: !jepsen,
            times: !jepsen,
            values: format != Format::Cobra,
        }
    }
}

/// What an operation read or wrote.
#[derive(PartialEq, Debug)]
pub enum PlainValue {
    /// Nobody knows.
    Unknown,
    /// One value.
    One(Value),
    /// A list or set.
    Many(Vec<Value>),
    /// A version of a key by its number in order of first mention.
    Version(usize),
}

/// A transaction.
#[derive(PartialEq, Debug)]
pub struct PlainTxn {
    label: Option<u64>,
    status: Status,
    interval: Option<Interval>,
    ops: Vec<(OpKind, Value, PlainValue)>,
}

/// Everything a history says that is kept.
pub fn plain(history: &History, kept: Kept) -> Vec<(i64, Vec<PlainTxn>)> {
    let mut versions = HashMap::new();
    let mut txn = |txn: TxnId| PlainTxn {
        label: kept.txn_labels.then_some(history.txn(txn).label),
        status: history.status(txn),
        interval: history.interval(txn).filter(|_| kept.times),
        ops: history
            .txn_ops(txn)
            .map(|(_, op)| {
                let value = match kept.values || op.value == ValueCode::NIL {
                    true => plain_value(history, op.kind, op.value),
                    false => {
                        let next = versions.len();
                        let version = versions.entry((op.key, op.value)).or_insert(next);
                        PlainValue::Version(*version)
                    }
                };
                (op.kind, history.key_name(op.key), value)
            })
            .collect(),
    };
    let mut session = |session: SessionId| {
        let txns = history.session_txns(session).map(TxnId).map(&mut txn);
        (history.session_label(session), txns.collect())
    };
    let mut sessions: Vec<(i64, Vec<PlainTxn>)> = history.sessions().map(&mut session).collect();
    if !kept.session_order {
        sessions.sort_by_key(|(label, _)| *label);
    }
    sessions
}

fn plain_value(history: &History, kind: OpKind, code: ValueCode) -> PlainValue {
    if code == ValueCode::UNKNOWN {
        return PlainValue::Unknown;
    }
    if !kind.reads_list() {
        return PlainValue::One(history.value(code));
    }
    let elements = history.list(code).iter();
    PlainValue::Many(elements.map(|&element| history.value(element)).collect())
}

/// Every operation belongs to exactly one transaction, and everything a column names is there.
pub fn consistent(history: &History) {
    let mut owned = vec![false; history.op_count()];
    let mut session = None;
    for id in history.txn_ids() {
        let row = history.txn(id);
        assert!(row.session.index() < history.session_count());
        assert!(history.session_txns(row.session).contains(&id.0));
        assert!(session <= Some(row.session), "numbered session by session");
        session = Some(row.session);
        for place in history.op_range(id) {
            assert!(!owned[place], "an operation of two transactions");
            owned[place] = true;
        }
        for (op_id, op) in history.txn_ops(id) {
            assert!(op.key.index() < history.keys().limit());
            let name = history.key_name(op.key);
            assert_eq!(history.keys().find(&name), Some(op.key), "{name:?}");
            let _ = history.op_text(op_id);
            let codes = match op.kind.reads_list() {
                true => history.list(op.value),
                false => std::slice::from_ref(&op.value),
            };
            for &code in codes.iter().filter(|&&code| code != ValueCode::UNKNOWN) {
                let value = history.value(code);
                assert_eq!(history.values().find(&value), Some(code), "{value:?}");
            }
        }
        let _ = history.txn_name(id);
    }
    assert!(owned.iter().all(|&owned| owned), "an orphan operation");
    assert!(history.key_count() <= history.keys().limit());
}
