//! Viper's logs.

use super::random::{self, PLAIN, Shape};
use super::{check_error, load, load_good, plain};
use history::format::{Format, Loaded, ReadOptions, Source, WriteError, read, write_logs};
use history::{OpKind, Status, ValueCode};

const FORMAT: Format = Format::Viper;

fn read_logs(files: &[(String, Vec<u8>)]) -> Result<Loaded, String> {
    let sources: Vec<Source> = files
        .iter()
        .map(|(name, bytes)| Source { name, bytes })
        .collect();
    read(&sources, &ReadOptions::default()).map_err(|error| error.to_string())
}

#[test]
fn round_trips_keep_everything_or_are_refused() {
    let mut held_count = 0;
    for seed in 0..3000 {
        let shape = Shape {
            nil: true,
            wide: seed % 8 == 7,
            empty_txns: true,
            ..PLAIN
        };
        let history = random::history(seed, shape);
        let files = match write_logs(&history, FORMAT) {
            Ok(files) => files,
            Err(error) => {
                assert!(error.to_string().contains("nobody wrote"), "{error}");
                continue;
            }
        };
        let back = read_logs(&files).expect("what was written can be read");
        assert_eq!(back.format, FORMAT);
        assert_eq!(plain(&back.history), plain(&history), "seed {seed}");
        assert_eq!(back.notes, [""; 0], "seed {seed}");
        held_count += 1;
    }
    assert!(held_count > 100, "{held_count}");
}

/// It would read back as a read of the initial version, and the violation would be gone.
#[test]
fn a_read_out_of_thin_air_is_refused() {
    let history = |ops: &str| load_good(&format!("{{\"session\":0,\"ops\":[{ops}]}}\n")).history;
    let error = write_logs(&history(r#"["w",1,4],["r",1,5]"#), FORMAT).expect_err("refused");
    let error = error.to_string();
    assert!(error.contains("r(1, 5) of s0n0: nobody wrote"), "{error}");
    // Two such values of a key stay as they are, and 0 is the initial one already.
    for ops in [r#"["r",1,5],["r",1,6]"#, r#"["r",1,0],["w",1,3]"#] {
        let history = history(ops);
        let files = write_logs(&history, FORMAT).expect("it can be held");
        let back = read_logs(&files).expect("what was written can be read");
        let zero_as_nil = back.history.ops().values[0] == ValueCode::NIL;
        assert_eq!(zero_as_nil, ops.contains("0"), "{ops}");
    }
}

#[test]
fn sessions_are_named_by_their_files() {
    let file = |name: &str, text: &str| (name.to_string(), text.as_bytes().to_vec());
    let files = [
        file("J12.log", "{\"value\": [[\"r\", 1, \"nil\", true]]}\n"),
        file(
            "J3.log",
            "{\"value\": [[\"i\", 1, -5, true], [\"d\", 1, 7, null, 1]], \"id\": {}}\n\n",
        ),
    ];
    let loaded = read_logs(&files).expect("good");
    let history = &loaded.history;
    let labels = history.sessions().map(|s| history.session_label(s));
    assert_eq!(labels.collect::<Vec<i64>>(), [3, 12]);
    assert_eq!(history.ops().kinds[..2], [OpKind::Write, OpKind::Write]);
    assert_eq!(history.ops().values[2], ValueCode::NIL);
    let twice = [files[0].clone(), file("J012.log", "")];
    let error = read_logs(&twice).expect_err("two sessions of one number");
    assert!(error.contains("are both session 12"), "{error}");
}

/// What the rest of a history makes of a value that nobody wrote.
#[test]
fn one_value_of_a_key_that_nobody_wrote_is_the_initial_one() {
    let text = "{\"value\": [[\"r\", 1, 7], [\"r\", 2, 5], [\"w\", 1, 8]]}\n\
                {\"value\": [[\"r\", 1, 7], [\"r\", 2, 6], [\"r\", 1, 8]]}\n";
    let loaded = load(text.as_bytes(), Some(FORMAT), 1).expect("good");
    let ops = loaded.history.ops();
    let nil: Vec<bool> = ops.values.iter().map(|v| *v == ValueCode::NIL).collect();
    assert_eq!(nil, [true, false, false, true, false, false]);
    assert!(loaded.notes[0].contains("(1)"), "{:?}", loaded.notes);
}

#[test]
fn a_cut_line_becomes_a_transaction_of_unknown_outcome() {
    let text = b"{\"value\": [[\"w\", 1, 1, true]]}\n{\"value\": [[\"w\", 1, 2, true], [\"w\", 2";
    let loaded = load(text, Some(FORMAT), 1).expect("good but for its end");
    let statuses: Vec<Status> = loaded.history.txns().iter().map(|t| t.status).collect();
    assert_eq!(statuses, [Status::Committed, Status::Indeterminate]);
    assert_eq!(loaded.history.op_count(), 2);
    assert!(loaded.notes[0].contains("is cut off"), "{:?}", loaded.notes);
    for end in 0..text.len() {
        let _ = load(&text[..end], Some(FORMAT), 1);
    }
}

#[test]
fn malformed_logs_are_explained() {
    let table = [
        ("", "no whole transaction"),
        ("[]", "expected `{`, a transaction"),
        ("{\"value\": 1}", "expected an array of operations"),
        ("{\"value\": [1]}", "expected an operation"),
        (
            "{\"value\": [[\"range\", 1, 2, [], []]]}",
            "the operation `range` is not read",
        ),
        ("{\"value\": [[\"w\", 1, null]]}", "a write without a value"),
        ("{\"value\": []} {}", "expected the end of the line"),
    ];
    for (text, expected) in table {
        check_error(text.as_bytes(), FORMAT, expected);
    }
}

#[test]
fn what_has_no_place_is_refused() {
    let aborted = Shape {
        aborted: true,
        ..PLAIN
    };
    let words = Shape {
        words: true,
        ..PLAIN
    };
    for (shape, expected) in [(aborted, "aborted"), (words, "are numbers")] {
        let refused = (0..20).any(|seed| {
            let written = write_logs(&random::history(seed, shape), FORMAT);
            matches!(written, Err(WriteError::CannotHold(what)) if what.contains(expected))
        });
        assert!(refused, "{expected}");
    }
}
