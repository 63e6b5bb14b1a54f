//! PolySI text.

use super::random::{self, PLAIN, Random, Shape};
use super::{check_error, check_refused, corpus, load, load_good, plain, through};
use history::format::Format;
use history::{
    Builder, Initial, KeyTable, Level, Op, OpKind, Status, TxnId, UNLABELLED, Value, ValueCode,
};

const TEXT: Shape = Shape {
    aborted: true,
    unique_labels: true,
    ..PLAIN
};

#[test]
fn round_trip_keeps_everything() {
    for seed in 0..200 {
        let wide = seed % 2 == 1;
        let history = random::history(seed, Shape { wide, ..TEXT });
        let back = through(&history, Format::Text).expect("text can hold it");
        assert_eq!(plain(&back), plain(&history), "seed {seed}");
    }
}

#[test]
fn lines_in_any_allowed_form_mean_the_same() {
    let usual = load_good("w(1,2,3,4)\nr(1,2,3,5)\n");
    let odd = load_good(
        "\u{feff}# a comment\r\n\r\n  W ( 1 , 2 , 3 , 4 ) # and another\r\n\t\nr(01,2,3,5)",
    );
    assert_eq!(plain(&odd.history), plain(&usual.history));
    assert!(odd.notes.is_empty());
}

#[test]
fn the_largest_numbers_are_read() {
    let max = u64::MAX;
    let text = format!("w({max},{max},9223372036854775807,1)\nr(0,2147483648,0,2)\n");
    let history = load_good(&text).history;
    let values: Vec<Value> = history
        .ops()
        .values
        .iter()
        .map(|&v| history.value(v))
        .collect();
    assert_eq!(values, [Value::from(max), Value::from(1u64 << 31)]);
    assert!(matches!(history.keys(), KeyTable::Sorted { .. }));
    let key = history
        .keys()
        .find(&Value::from(max))
        .expect("the key occurs");
    assert_eq!(history.key_name(key), Value::from(max));
    assert_eq!(history.session_label(history::SessionId(0)), i64::MAX);
}

/// Lines are compared with the end of the one before, up to a length; spaces send a line past that.
#[test]
fn owners_of_any_length_are_told_apart() {
    for digits in 1..=19 {
        let longest = 10u64.pow(digits) - 1;
        let mut lines = Vec::new();
        for session in [longest.min(i64::MAX as u64), 3] {
            for txn in [longest - 1, longest - 1, longest, longest] {
                let op = lines.len();
                lines.push(format!("w({op},{op},{session},{txn})\n"));
            }
        }
        // Longer than what the parser looks at together, so that no line is left to the end of the file.
        lines.push(" ".repeat(200));
        let usual = lines.concat();
        let spaced = usual.replace("w(", "w (");
        let (usual, spaced) = (load_good(&usual).history, load_good(&spaced).history);
        assert_eq!(plain(&usual), plain(&spaced), "{digits} digits");
        assert_eq!(usual.txn_count(), 4, "{digits} digits");
        assert!(usual.txns().iter().all(|txn| txn.op_count == 2));
    }
}

#[test]
fn sessions_may_interleave() {
    let text = "w(1,1,0,0)\nw(2,2,1,0)\nr(3,0,0,0)\nw(4,4,1,0)\nr(1,1,1,7)\nr(5,0,0,9)\n";
    let sorted = "w(1,1,0,0)\nr(3,0,0,0)\nr(5,0,0,9)\nw(2,2,1,0)\nw(4,4,1,0)\nr(1,1,1,7)\n";
    let (mixed, sorted) = (load_good(text), load_good(sorted));
    assert_eq!(plain(&mixed.history), plain(&sorted.history));
}

#[test]
fn consecutive_aborted_operations_of_a_session_are_one_transaction() {
    let text = "w(1,1,0,-1)\nw(1,2,1,-1)\nw(2,1,0,-1)\nr(1,0,0,3)\nw(3,1,0,-1)\n";
    let history = load_good(text).history;
    let rows: Vec<(u32, Status, u64, u32)> = history
        .txns()
        .iter()
        .map(|txn| (txn.session.0, txn.status, txn.label, txn.op_count))
        .collect();
    let expected = [
        (0, Status::Aborted, UNLABELLED, 2),
        (0, Status::Committed, 3, 1),
        (0, Status::Aborted, UNLABELLED, 1),
        (1, Status::Aborted, UNLABELLED, 1),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn a_large_file_reads_the_same_with_any_number_of_threads() {
    let mut random = Random::new(7);
    let mut text = String::new();
    let mut txn = 0;
    while text.len() < 5 << 20 {
        let session = random.below(9);
        txn += 1;
        for _ in 0..random.below(9) {
            let kind = ["r", "w"][random.below(2) as usize];
            let value = random.next() >> random.below(64);
            let (key, end) = (
                random.below(1 << 30),
                ["\n", "\r\n", " \n"][random.below(3) as usize],
            );
            text.push_str(&format!("{kind}({key},{value},{session},{txn}){end}"));
        }
    }
    let one = load(text.as_bytes(), None, 1).expect("good").history;
    for threads in [2, 5] {
        let many = load(text.as_bytes(), None, threads).expect("good").history;
        assert_eq!(plain(&many), plain(&one));
    }
    let bad = format!("{text}w(1,2,3,x)\n");
    let line = text.lines().count() + 1;
    let error = load(bad.as_bytes(), None, 2).expect_err("bad");
    assert!(error.contains(&format!("line {line}, column 9")), "{error}");
}

#[test]
fn malformed_lines_are_explained() {
    let table = [
        ("", "the file is empty"),
        (" \n\n", "the file is empty"),
        ("# nothing\n", "no whole operation"),
        ("w(1,2,3,4)\nw 1 2\n", "AWDIT"),
        (
            "w(1,2,3,4)\n-----\n",
            "line 2, column 1: expected r(…) or w(…), found `-----`",
        ),
        (
            "w(1,2,3,4\nr(1,2,3,4)\n",
            "line 1, column 10: expected ) after the transaction",
        ),
        ("w1,2,3,4)\n", "expected ( after the kind"),
        (
            "w(-1,2,3,4)\n",
            "line 1, column 3: expected the key as an unsigned number",
        ),
        ("w(1,-2,3,4)\n", "only the transaction may be negative"),
        ("w(1,2,3,-2)\n", "or -1 for an aborted transaction"),
        ("w(1,2,3,-11)\n", "or -1 for an aborted transaction"),
        (
            "w(1,18446744073709551616,3,4)\n",
            "the value as a number below 2^64",
        ),
        ("w(1,99999999999999999999999,3,4)\n", "too large"),
        (
            "w(1,2,9223372036854775808,4)\n",
            "a session number below 2^63",
        ),
        (
            "w(1,2,3)\n",
            "and the transaction after the session, found `)`",
        ),
        ("w(1,2,3,4,5)\n", "line 1, column 10: expected )"),
        ("w(1,2,3,4)x\n", "the end of the line"),
        ("w(1,a,3,4)\n", "unsigned numbers in this format"),
        ("w(1,\"a\",3,4)\n", "unsigned numbers in this format"),
        ("d(1,2,3,4)\n", "expected r(…) or w(…)"),
        ("{\"a\": 1}\n", "JSON or EDN"),
        ("w(1,2,3,4)\n\u{fffd}\n", "line 2, column 1"),
        ("w(1,2,", "expected the session"),
        (
            "w(1,1,7,5)\nw(1,2,7,6)\nr(1,1,8,5)\nw(1,3,7,5)\n",
            "line 4, column 1: transaction 5 of session 7, begun in line 1, \
             goes on after transaction 6 began in line 2",
        ),
        (
            "w(1,1,7,5)\nw(1,2,7,-1)\nw(1,3,7,5)\n",
            "goes on after an aborted transaction",
        ),
    ];
    for (text, expected) in table {
        check_error(text.as_bytes(), Format::Text, expected);
    }
    let zeros = format!("w({},1,2,3)\n", "0".repeat(200)).repeat(3);
    assert_eq!(load_good(&zeros).history.op_count(), 3);
}

#[test]
fn every_cut_of_a_file_is_read_or_explained() {
    let text = "w(1,1,0,0)\nw(12,2,1,10)\nr(1,1,0,0)\nw(4,4,1,11)\nr(1,1,1,-1)\nr(5,0,0,9)\n";
    for end in 0..text.len() {
        match load(&text.as_bytes()[..end], Some(Format::Text), 1) {
            Ok(loaded) => {
                let cut = !matches!(text.as_bytes()[end - 1], b'\n' | b')');
                assert_eq!(cut, !loaded.notes.is_empty(), "{end}");
            }
            Err(error) => assert!(!error.is_empty()),
        }
    }
}

/// The outcomes of the transactions of a cut file, session by session.
fn outcomes(text: &str) -> Vec<Status> {
    let loaded = load_good(text);
    let note = &loaded.notes[0];
    assert!(note.contains("cut off in line 4"), "{note}");
    assert!(note.contains("thin air"), "{note}");
    loaded.history.txns().iter().map(|txn| txn.status).collect()
}

#[test]
fn a_cut_recording_leaves_its_last_transactions_in_doubt() {
    use Status::{Aborted, Committed, Indeterminate};
    let same = outcomes("w(1,1,0,0)\nw(1,2,1,1)\nw(2,2,1,1)\nw(3,2,1,1");
    assert_eq!(same, [Committed, Indeterminate]);
    let other = outcomes("w(1,1,0,0)\nw(1,2,1,1)\nw(2,2,2,2)\nw(3,2,0,");
    let why = "the last of session 0 and of the file may go on";
    assert_eq!(other, [Indeterminate, Committed, Indeterminate], "{why}");
    let interleaved = outcomes("w(1,1,0,0)\nw(1,2,1,1)\nw(2,2,0,0)\nw(3");
    assert_eq!(interleaved, [Indeterminate, Indeterminate]);
    let aborted = outcomes("w(1,1,0,0)\nw(1,2,1,1)\nw(2,2,1,-1)\nw(3");
    assert_eq!(aborted, [Committed, Committed, Aborted]);
}

#[test]
fn a_read_of_a_transaction_that_was_cut_keeps_its_writer() {
    let text = "w(1,1,0,0)\nr(1,5,0,1)\nw(1,5,1,2)\nw(2,7,1,";
    let history = load_good(text).history;
    assert_eq!(history.status(TxnId(2)), Status::Indeterminate);
    for level in [Level::ReadCommitted, Level::Causal, Level::Serializable] {
        let holds = history::definition::holds(&history, level, &Initial::default());
        assert_eq!(holds.ok(), Some(true), "{level}");
    }
}

#[test]
fn what_text_cannot_hold_is_refused() {
    let cases: [(Status, OpKind, Value, &str); 4] = [
        (
            Status::Indeterminate,
            OpKind::Read,
            Value::from(1u64),
            "outcome is unknown",
        ),
        (
            Status::Committed,
            OpKind::Append,
            Value::from(1u64),
            "append(1, 1)",
        ),
        (Status::Committed, OpKind::Write, Value::Nil, "w(1, nil)"),
        (
            Status::Committed,
            OpKind::Write,
            Value::from(-1i64),
            "unsigned",
        ),
    ];
    for (status, kind, value, expected) in cases {
        let mut builder = Builder::new();
        let session = builder.session(0);
        let key = builder.key(&Value::from(1u64));
        let value = builder.value(&value);
        let op = Op { kind, key, value };
        builder
            .push_txn(session, 0, status, None, &[op])
            .expect("small");
        check_refused(&builder.finish(), Format::Text, expected);
    }
    let mut builder = Builder::new();
    let session = builder.session(0);
    let key = builder.key(&Value::from(1u64));
    let zero = Op {
        kind: OpKind::Write,
        key,
        value: ValueCode::ZERO,
    };
    let nil = Op {
        kind: OpKind::Read,
        key,
        value: ValueCode::NIL,
    };
    builder
        .push_txn(session, 0, Status::Aborted, None, &[nil])
        .expect("small");
    builder
        .push_txn(session, 1, Status::Aborted, None, &[nil])
        .expect("small");
    check_refused(&builder.finish(), Format::Text, "the one before it");
    let mut builder = Builder::new();
    let session = builder.session(0);
    let key = builder.key(&Value::from(1u64));
    assert_eq!(key, zero.key);
    builder
        .push_txn(session, 0, Status::Committed, None, &[nil, zero])
        .expect("small");
    check_refused(&builder.finish(), Format::Text, "to which 0 is written");
}

#[test]
fn numbers_used_in_several_sessions_are_replaced() {
    let history = random::history(3, PLAIN);
    let back = through(&history, Format::Text).expect("text can hold it");
    let mut labels: Vec<u64> = back.txns().iter().map(|txn| txn.label).collect();
    labels.dedup();
    assert_eq!(labels, (0..history.txn_count() as u64).collect::<Vec<_>>());
}

#[test]
fn isovista_files_load() {
    let Some(folder) = corpus("isovista-text") else {
        return;
    };
    for (name, txns) in [("pg_ser_bug.txt", 11), ("yugabyte_tcc.txt", 11)] {
        let bytes = std::fs::read(folder.join(name)).expect("readable");
        let history = load(&bytes, None, 1).expect("good").history;
        assert!(
            history.txn_count() >= txns,
            "{name}: {}",
            history.txn_count()
        );
        assert!(history.op_count() >= history.txn_count());
    }
}
