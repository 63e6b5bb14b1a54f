//! The three formats of dbcop.

use super::random::{self, PLAIN, Shape};
use super::{check_error, check_refused, load, load_good, plain, through};
use history::format::{Format, write};
use history::{Status, TxnId, Value, ValueCode};

#[test]
fn round_trips_keep_everything() {
    for seed in 0..200 {
        let shape = Shape {
            aborted: true,
            wide: seed % 2 == 1,
            ..PLAIN
        };
        let nil = Shape { nil: true, ..shape };
        let words = Shape { words: true, ..nil };
        let empty_txns = |shape| Shape {
            empty_txns: true,
            ..shape
        };
        let table = [
            (Format::DbcopBincode, empty_txns(shape)),
            (Format::DbcopJson, empty_txns(nil)),
            (Format::DbcopJson, words),
            (Format::DbcopHist, nil),
            (Format::DbcopHist, words),
        ];
        for (format, shape) in table {
            let history = random::history(seed, shape);
            let back = through(&history, format).expect("it can be held");
            assert_eq!(plain(&back), plain(&history), "seed {seed}, {format}");
        }
    }
}

#[test]
fn hist_text_means_what_dbcop_says() {
    let text =
        "// first\n[x:=1 y==2]\n [z==? x:=2]![5==1\n w_1:=0]\n--\n// nothing\n----\n[x==1]\n";
    let loaded = load_good(text);
    let history = &loaded.history;
    assert_eq!(loaded.format, Format::DbcopHist);
    assert_eq!((history.session_count(), history.txn_count()), (3, 4));
    let statuses: Vec<Status> = history.txns().iter().map(|txn| txn.status).collect();
    use Status::{Aborted, Committed};
    assert_eq!(statuses, [Committed, Aborted, Committed, Committed]);
    assert_eq!(history.ops().values[2], ValueCode::NIL);
    assert!(history.keys().find(&Value::from(5u64)).is_some());
}

#[test]
fn json_may_be_the_bare_array() {
    let text = r#" [[{"events": [{"Write": {"variable": 0, "version": 1}},
        {"Read": {"variable": "x", "version": null}}], "committed": false}], []]"#;
    let loaded = load_good(text);
    assert_eq!(loaded.format, Format::DbcopJson);
    assert_eq!(loaded.history.session_count(), 2);
    assert_eq!(loaded.history.status(history::TxnId(0)), Status::Aborted);
    assert_eq!(loaded.history.ops().values[1], ValueCode::NIL);
}

#[test]
fn malformed_text_is_explained() {
    let hist = [
        ("", "the file is empty"),
        ("[x:=1]\ny:=2\n", "line 2, column 1: expected a transaction"),
        ("[x:=1 +]\n", "line 1, column 7: expected a variable or ]"),
        ("[x=1]\n", "line 1, column 3: expected := or =="),
        ("[x:=-1]\n", "line 1, column 5: expected a version"),
        (
            "[x:=?]\n",
            "expected a version, an unsigned number, found `?]`",
        ),
        ("[x:=1y]\n", "line 1, column 5: expected a version"),
        ("[x:=18446744073709551616]\n", "a version below 2^64"),
    ];
    for (text, expected) in hist {
        check_error(text.as_bytes(), Format::DbcopHist, expected);
    }
    check_error(
        b"[x:=1]\n\xff",
        Format::DbcopHist,
        "line 2, column 1: expected UTF-8",
    );
    let json = [
        ("", "the file is empty"),
        ("{\"params\": {}, \"data\": [", "the file is cut off"),
        ("{\"params\": {}}", "missing field `data`"),
        (
            "[[{\"events\": [{\"Swap\": {}}], \"committed\": true}]]",
            "unknown variant `Swap`",
        ),
        (
            "[[{\"events\": [],\n\"committed\": 1}]]",
            "line 2, column 14: invalid type",
        ),
        ("[[{\"events\": []}]]", "missing field `committed`"),
    ];
    for (text, expected) in json {
        check_error(text.as_bytes(), Format::DbcopJson, expected);
    }
    let deep = "[".repeat(1_000_000);
    check_error(
        deep.as_bytes(),
        Format::DbcopJson,
        "line 1, column 5: expected value",
    );
}

#[test]
fn a_hist_file_without_transactions_is_no_history() {
    // Such files were read as one empty session, which is written as an empty file.
    for text in ["[", "//", "\u{b}", "[x:"] {
        check_error(text.as_bytes(), Format::DbcopHist, "neither a transaction");
    }
    let two = load(b"---", Some(Format::DbcopHist), 1).expect("two empty sessions");
    assert_eq!(two.history.session_count(), 2);
    let mut builder = history::Builder::new();
    builder.session(0);
    check_refused(&builder.finish(), Format::DbcopHist, "without transactions");
}

#[test]
fn a_cut_hist_file_leaves_its_last_transaction_in_doubt() {
    let text = "[x:=1]\n[y:=12 z==?";
    for end in 8..=text.len() {
        let loaded = load(&text.as_bytes()[..end], Some(Format::DbcopHist), 1);
        let loaded = loaded.unwrap_or_else(|error| panic!("{end}: {error}"));
        let op_count = if end < 14 { 1 } else { 2 } + usize::from(end == text.len());
        assert_eq!(loaded.history.op_count(), op_count, "{end}");
        if op_count > 1 {
            assert_eq!(loaded.history.status(TxnId(1)), Status::Indeterminate);
        }
        assert_eq!(loaded.notes.len(), 1, "{end}");
    }
}

#[test]
fn no_length_of_a_bincode_file_is_trusted() {
    let history = random::history(5, PLAIN);
    let mut good = Vec::new();
    write(&history, Format::DbcopBincode, &mut good).expect("it can be held");
    for end in 0..good.len() {
        let cut = load(&good[..end], Some(Format::DbcopBincode), 1);
        cut.expect_err("a cut file is refused");
    }
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] = 0xff;
        let _ = load(&bad, Some(Format::DbcopBincode), 1);
    }
    good.push(0);
    check_error(
        &good,
        Format::DbcopBincode,
        "expected the end of the file, found 1 more bytes",
    );
    check_error(&[], Format::DbcopBincode, "the file is empty");
    let huge = [[0xffu8; 8].as_slice(), &[0; 32], &[0xff; 8]].concat();
    check_error(&huge, Format::DbcopBincode, "room for 0");
}

#[test]
fn success_of_events_and_transactions_is_read() {
    let events = [(1u8, 3u64, 4u64, 1u8), (0, 3, 9, 0)];
    let file = |txn_success: u8, write_success: u8| {
        let mut bytes = vec![0u8; 64];
        bytes.extend([1u64, 1, 2].iter().flat_map(|n| n.to_le_bytes()));
        for (write, variable, value, success) in events {
            bytes.push(write);
            bytes.extend(variable.to_le_bytes());
            bytes.extend(value.to_le_bytes());
            bytes.push(if write == 1 { write_success } else { success });
        }
        bytes.push(txn_success);
        bytes
    };
    for (txn, write, status, op_count) in [
        (1, 1, Status::Committed, 2),
        (0, 1, Status::Aborted, 2),
        (0, 0, Status::Aborted, 2),
        // What did not succeed was not done; the rest was.
        (1, 0, Status::Committed, 1),
    ] {
        let loaded = load(&file(txn, write), None, 1).expect("good");
        assert_eq!(loaded.format, Format::DbcopBincode);
        assert_eq!(loaded.history.status(history::TxnId(0)), status);
        assert_eq!(loaded.history.op_count(), op_count);
        assert_eq!(loaded.notes.len(), usize::from(op_count == 1));
        assert_eq!(
            loaded.history.ops().values.last(),
            Some(&ValueCode::UNKNOWN)
        );
        let back = through(&loaded.history, Format::DbcopBincode).expect("it can be held");
        assert_eq!(plain(&back), plain(&loaded.history));
        check_refused(&loaded.history, Format::DbcopHist, "whose value is unknown");
    }
}
