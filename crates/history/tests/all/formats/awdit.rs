//! AWDIT's test text.

use super::random::{self, PLAIN, Shape};
use super::{check_error, check_refused, corpus, load, load_good, plain, through};
use history::format::Format;
use history::{Status, TxnId};

#[test]
fn round_trip_keeps_everything() {
    for seed in 0..200 {
        let shape = Shape {
            wide: seed % 2 == 1,
            empty_txns: true,
            ..PLAIN
        };
        let history = random::history(seed, shape);
        if history.op_count() == 0 {
            continue;
        }
        let back = through(&history, Format::Awdit).expect("awdit can hold it");
        assert_eq!(plain(&back), plain(&history), "seed {seed}");
    }
}

#[test]
fn separators_stand_between() {
    let history = load_good("w 0 1\r\n-----\n\n-\n r 0  1 \n===\n# nothing\n=====\nr 0 1").history;
    let counts: Vec<(i64, u64, u32)> = history
        .txns()
        .iter()
        .map(|txn| (history.session_label(txn.session), txn.label, txn.op_count))
        .collect();
    assert_eq!(
        counts,
        [(0, 0, 1), (0, 1, 0), (0, 2, 1), (1, 0, 0), (2, 0, 1)]
    );
}

#[test]
fn a_byte_order_mark_is_no_operation() {
    let history = load_good("\u{feff}w 0 1\n-\nr 0 1\n").history;
    assert_eq!((history.txn_count(), history.op_count()), (2, 2));
}

#[test]
fn malformed_lines_are_explained() {
    let table = [
        ("", "the file is empty"),
        (
            "w 0 1\nx 0 1\n",
            "line 2, column 1: expected r, w, a line of - or a line of =",
        ),
        (
            "w 0 1\n  w a 1\n",
            "line 2, column 5: expected the key as a number",
        ),
        (
            "w 0\nr 0 1\n",
            "line 1, column 4: expected the value as a number below 2^64, found the end",
        ),
        ("w 0 -1\n", "line 1, column 5: expected the value"),
        ("w 0 +1\n", "expected the value"),
        ("w 0 18446744073709551616\n", "2^64"),
        (
            "w 0 1 2\n",
            "line 1, column 7: expected the end of the line, found `2`",
        ),
        ("w 0 1\nw(1,2,3,4)\n", "looks like PolySI text"),
        ("w", "expected the key"),
    ];
    for (text, expected) in table {
        check_error(text.as_bytes(), Format::Awdit, expected);
    }
}

#[test]
fn a_file_of_comments_is_no_history() {
    // It was read as one empty transaction, which is written as an empty file.
    check_error(b"#", Format::Awdit, "neither an operation nor a separator");
    assert_eq!(load_good("-----\n").history.txn_count(), 2);
    let mut builder = history::Builder::new();
    let session = builder.session(0);
    let pushed = builder.push_txn(session, 0, Status::Committed, None, &[]);
    pushed.expect("small");
    check_refused(&builder.finish(), Format::Awdit, "without operations");
}

#[test]
fn a_cut_recording_leaves_its_last_transaction_in_doubt() {
    let loaded = load_good("w 0 1\n-----\nw 1 1\nw 2");
    assert_eq!(loaded.history.op_count(), 2);
    assert_eq!(loaded.history.status(TxnId(1)), Status::Indeterminate);
    assert_eq!(load_good("w 0 1\n-----\nw 2").history.txn_count(), 1);
    assert!(loaded.notes[0].contains("line 4"), "{:?}", loaded.notes);
}

#[test]
fn aborted_transactions_are_refused() {
    let shape = Shape {
        aborted: true,
        ..PLAIN
    };
    let history = (0..)
        .map(|seed| random::history(seed, shape))
        .find(|history| {
            history
                .txns()
                .iter()
                .any(|t| t.status == history::Status::Aborted)
        });
    check_refused(
        &history.expect("some abort"),
        Format::Awdit,
        "the aborted transaction",
    );
}

#[test]
fn awdit_files_load() {
    let Some(folder) = corpus("awdit-text") else {
        return;
    };
    let table = [
        ("read-atomic/biswas-enea.txt", 3, 4, 6),
        ("causal/long-fork.txt", 3, 5, 8),
        ("none/hb-cycle.txt", 2, 4, 4),
        ("read-committed/test-rc.txt", 5, 8, 14),
    ];
    for (name, sessions, txns, ops) in table {
        let bytes = std::fs::read(folder.join(name)).expect("readable");
        let loaded = load(&bytes, None, 1).expect("good");
        let history = &loaded.history;
        let counts = (
            history.session_count(),
            history.txn_count(),
            history.op_count(),
        );
        assert_eq!(
            (loaded.format, counts),
            (Format::Awdit, (sessions, txns, ops)),
            "{name}"
        );
    }
}
