//! TimeKiller's JSON.

use super::random::{self, PLAIN, Shape};
use super::{check_error, check_refused, load_good, plain, through};
use history::format::Format;
use history::{Builder, History, Interval, Op, OpKind, Status, TxnId, Value, ValueCode};

const FORMAT: Format = Format::TimeKiller;

/// The same history with times: transaction after transaction.
fn timed(history: &History) -> History {
    let mut builder = Builder::new();
    for txn in history.txn_ids() {
        let label = history.session_label(history.session_of(txn));
        let session = builder.session(label);
        let mut ops = Vec::new();
        for (_, op) in history.txn_ops(txn) {
            let key = builder.key(&history.key_name(op.key));
            let value = match op.value {
                ValueCode::NIL => ValueCode::NIL,
                value => builder.value(&history.value(value)),
            };
            ops.push(Op { key, value, ..op });
        }
        let start = 3 * i64::from(txn.0) - 7;
        let end = start + 5;
        let row = history.txn(txn);
        builder
            .push_txn(
                session,
                row.label,
                row.status,
                Some(Interval { start, end }),
                &ops,
            )
            .expect("a small history");
    }
    builder.finish()
}

#[test]
fn round_trips_keep_everything() {
    for seed in 0..200 {
        let shape = Shape {
            nil: true,
            empty_txns: true,
            unique_labels: true,
            ..PLAIN
        };
        let history = timed(&random::history(seed, shape));
        let back = through(&history, FORMAT).expect("it can be held");
        assert_eq!(plain(&back), plain(&history), "seed {seed}");
    }
}

#[test]
fn fields_come_in_any_order() {
    let loaded = load_good(
        r#"[ {"cts": {"l": 0, "p": "9"}, "ops": [{"k": 3, "t": "READ"}, {"v": -2, "k": 3, "t": "w"}],
        "sid": 4, "more": [{}], "sts": {"p": 8}, "tid": "12"},
        {"sid": "4", "ops": [], "sts": 10, "cts": 11, "tid": "a"} ]"#,
    );
    let history = &loaded.history;
    assert_eq!((loaded.format, history.session_count()), (FORMAT, 1));
    assert_eq!(history.txn(TxnId(0)).label, 12);
    let ops: Vec<Op> = history.txn_ops(TxnId(0)).map(|(_, op)| op).collect();
    assert_eq!((ops[0].kind, ops[0].value), (OpKind::Read, ValueCode::NIL));
    assert_eq!(history.value(ops[1].value), Value::Int(-2));
    let times = |start, end| Some(Interval { start, end });
    assert_eq!(history.interval(TxnId(0)), times(8, 9));
    assert_eq!(history.interval(TxnId(1)), times(10, 11));
}

#[test]
fn logical_parts_order_equal_times() {
    let loaded = load_good(
        r#"[{"sid": 0, "sts": {"p": 70, "l": 1}, "cts": {"p": 70, "l": 4}, "ops": []},
        {"sid": 1, "sts": {"p": 70, "l": 2}, "cts": {"p": 90, "l": 0}, "ops": []},
        {"sid": 2, "sts": {"p": 70, "l": 4}, "cts": {"p": 71, "l": 0}, "ops": []}]"#,
    );
    let interval = |txn| loaded.history.interval(TxnId(txn)).expect("times");
    let times: Vec<(i64, i64)> = (0..3).map(interval).map(|i| (i.start, i.end)).collect();
    assert_eq!(times, [(0, 2), (1, 4), (2, 3)]);
}

#[test]
fn sessions_called_by_names_are_kept_apart() {
    let loaded = load_good(
        r#"[{"sid": "b", "cts": 1, "sts": 1, "ops": []}, {"sid": 0, "sts": 1, "cts": 1, "ops": []},
        {"sid": "a", "sts": 1, "cts": 1, "ops": []}, {"sid": "b", "sts": 1, "cts": 1, "ops": []}]"#,
    );
    let history = &loaded.history;
    let sessions = history.sessions();
    let labels: Vec<i64> = sessions.map(|s| history.session_label(s)).collect();
    assert_eq!(labels, [0, 1, 2]);
    let of_first = history.session_txns(history.session_of(TxnId(0)));
    assert_eq!(of_first.len(), 2);
}

#[test]
fn where_there_are_lists_a_read_of_nothing_is_one_of_an_empty_list() {
    let loaded = load_good(
        r#"[{"sid": 0, "sts": 1, "cts": 2, "ops": [{"t": "a", "k": 1, "v": 5}, {"t": "r", "k": 2}]},
        {"sid": 0, "sts": 3, "cts": 4, "ops": [{"t": "r", "k": 1, "v": [5]}, {"t": "r", "k": 2, "v": null}]}]"#,
    );
    let history = &loaded.history;
    use OpKind::{Append, ReadList};
    assert_eq!(history.ops().kinds, [Append, ReadList, ReadList, ReadList]);
    let list = history.list(history.ops().values[2]);
    assert_eq!(list.len(), 1);
    let back = through(history, FORMAT).expect("lists can be held");
    assert_eq!(back.ops().kinds, history.ops().kinds);
    assert_eq!(back.list(back.ops().values[2]).len(), 1);
}

#[test]
fn some_without_timestamps_leave_none() {
    let loaded = load_good(
        r#"[{"sid": 0, "sts": 1, "cts": 2, "ops": []}, {"sid": 0, "sts": 3, "ops": []}]"#,
    );
    assert!(!loaded.history.has_intervals());
    assert!(
        loaded.notes[0].contains("no timestamps"),
        "{:?}",
        loaded.notes
    );
}

#[test]
fn a_commit_before_its_start_leaves_no_times() {
    let loaded = load_good(
        r#"[{"sid": 0, "sts": 1, "cts": 2, "ops": []}, {"sid": 1, "sts": {"p": 5, "l": 1}, "cts": 5, "ops": []}]"#,
    );
    assert!(!loaded.history.has_intervals());
    let note = &loaded.notes[0];
    assert!(
        note.contains("1 transactions have a `cts` before"),
        "{note}"
    );
}

#[test]
fn malformed_files_are_explained() {
    let table = [
        ("", "the file is empty"),
        ("{}", "line 1, column 1: expected `[`"),
        (
            "[{\"sid\": 0, \"ops\": [",
            "the file is cut off: copy it again",
        ),
        (
            "[{\"sid\": 0}] x",
            "expected nothing after the last transaction",
        ),
        ("[{\"ops\": []}]", "a transaction without `sid`"),
        (
            "[{\"sid\": 0, \"ops\": [{\"t\": \"x\", \"k\": 1}]}]",
            "expected \"r\", \"w\" or \"a\"",
        ),
        (
            "[{\"sid\": 0, \"ops\": [{\"t\": \"w\", \"k\": 1}]}]",
            "a write or append without",
        ),
        (
            "[{\"sid\": 0, \"ops\": [{\"t\": \"r\"}]}]",
            "an operation without `t` or `k`",
        ),
        (
            "[{\"sid\": 0, \"sts\": {\"l\": 1}}]",
            "a timestamp without `p`",
        ),
        (
            "[{\"sid\": 0, \"sts\": {\"p\": \"x\"}}]",
            "expected a 64-bit number",
        ),
        (
            "[{\"sid\": [], \"sts\": 1}]",
            "expected a number or a text as `sid`",
        ),
    ];
    for (text, expected) in table {
        check_error(text.as_bytes(), FORMAT, expected);
    }
}

#[test]
fn what_has_no_place_is_refused() {
    let untimed = random::history(1, PLAIN);
    check_refused(&untimed, FORMAT, "which has no times");
    let words = Shape {
        words: true,
        ..PLAIN
    };
    check_refused(&timed(&random::history(1, words)), FORMAT, "64-bit numbers");
    let mut builder = Builder::new();
    let session = builder.session(0);
    let interval = Some(Interval { start: 0, end: 1 });
    builder
        .push_txn(session, 0, Status::Aborted, interval, &[])
        .expect("a small history");
    check_refused(&builder.finish(), FORMAT, "which did not commit");
}
