//! Cobra's logs.

use super::random::{self, PLAIN, Random, Shape};
use super::{corpus, load, plain};
use history::format::{Format, Loaded, ReadOptions, Source, WriteError, detect, read, write_logs};
use history::{Builder, History, Op, OpKind, Status, UNLABELLED, Value, ValueCode};

fn load_files(files: &[(String, Vec<u8>)]) -> Result<Loaded, String> {
    let sources: Vec<Source> = files
        .iter()
        .map(|(name, bytes)| Source { name, bytes })
        .collect();
    assert_eq!(detect(&sources), Ok(Format::Cobra));
    read(&sources, &ReadOptions::default()).map_err(|error| error.to_string())
}

fn record(letter: u8, numbers: &[u64]) -> Vec<u8> {
    let numbers = numbers.iter().flat_map(|number| number.to_be_bytes());
    [letter].into_iter().chain(numbers).collect()
}

/// Every write has a value of its own, and reads see one of them or nil.
fn history_of_unique_writes(seed: u64) -> History {
    let mut random = Random::new(seed);
    let mut builder = Builder::new();
    let mut written: Vec<(u64, u64)> = Vec::new();
    for session in 0..4 {
        let session = builder.session(session * 10);
        for _ in 0..4 {
            let label = random.next() >> 1;
            let start = builder.ops.len();
            for _ in 0..random.below(4) {
                let pick = (!written.is_empty()).then(|| random.below(written.len() as u64));
                let (kind, (key, value)) = match pick.filter(|_| random.once_in(2)) {
                    Some(pick) => (OpKind::Read, written[pick as usize]),
                    None => {
                        written.push((random.below(5) << 61, random.next()));
                        (OpKind::Write, written[written.len() - 1])
                    }
                };
                let nil = kind == OpKind::Read && random.once_in(5);
                let key = builder.key(&Value::from(key));
                let value = builder.value(&Value::from(value));
                let value = if nil { ValueCode::NIL } else { value };
                builder.ops.push(Op { kind, key, value });
            }
            builder
                .end_txn(session, label, Status::Committed, None, start)
                .expect("small");
        }
    }
    builder.finish()
}

#[test]
fn round_trip_keeps_everything() {
    for seed in 0..200 {
        let history = history_of_unique_writes(seed);
        let files = write_logs(&history, Format::Cobra).expect("cobra can hold it");
        let loaded = load_files(&files).expect("good");
        assert_eq!(plain(&loaded.history), plain(&history), "seed {seed}");
        assert!(loaded.notes.is_empty());
    }
}

#[test]
fn a_value_of_two_writers_or_of_none_is_refused() {
    let mut refused = 0;
    for seed in 0..50 {
        match write_logs(&random::history(seed, PLAIN), Format::Cobra) {
            Err(WriteError::CannotHold(_)) => refused += 1,
            other => assert!(other.is_ok()),
        }
    }
    assert!(refused > 25, "{refused}");
    let shape = Shape {
        aborted: true,
        ..PLAIN
    };
    assert!((0..50).any(|seed| write_logs(&random::history(seed, shape), Format::Cobra).is_err()));
}

#[test]
fn a_read_means_the_write_it_names() {
    let first = [
        record(b'S', &[1]),
        record(b'W', &[7, 100, 5]),
        record(b'C', &[1]),
        record(b'S', &[2]),
        record(b'W', &[7, 100, 6]),
        record(b'C', &[2]),
    ];
    let second = [
        record(b'S', &[3]),
        record(b'R', &[2, 7, 100, 6]),
        record(b'R', &[1, 7, 100, 5]),
        record(b'R', &[9, 7, 100, 5]),
        record(b'R', &[0, 0xdead_beef, 100, 0]),
        record(b'C', &[3]),
    ];
    let files = [
        ("T1.log".to_string(), first.concat()),
        ("T0.log".to_string(), second.concat()),
    ];
    let history = load_files(&files).expect("good").history;
    let values: Vec<String> = history
        .txn_ids()
        .flat_map(|txn| history.op_range(txn))
        .map(|op| history.value(history.ops().values[op]).to_string())
        .collect();
    assert_eq!(values, ["7@2", "7", "7@9", "nil", "7", "7@2"]);
    assert_eq!(history.session_label(history::SessionId(0)), 0);
}

/// VeriStrong's logs of values written twice have one id for all writes.
#[test]
fn writes_without_a_name_are_told_by_their_values() {
    const UNNAMED: u64 = 0xabdd_efee;
    let bytes = [
        record(b'S', &[1]),
        record(b'W', &[UNNAMED, 5, 9]),
        record(b'C', &[1]),
        record(b'S', &[2]),
        record(b'W', &[UNNAMED, 5, 9]),
        record(b'W', &[9, 5, 0]),
        record(b'C', &[2]),
        record(b'S', &[3]),
        record(b'R', &[UNNAMED, UNNAMED, 5, 9]),
        record(b'R', &[0xbebe_ebee, 0xbebe_ebee, 6, 9]),
        record(b'C', &[3]),
    ]
    .concat();
    let history = load(&bytes, Some(Format::Cobra), 1).expect("good").history;
    let values: Vec<String> = (0..5)
        .map(|op| history.value(history.ops().values[op]).to_string())
        .collect();
    assert_eq!(values, ["9@", "9@", "9", "9@", "nil"]);
}

#[test]
fn a_write_id_of_zero_is_no_initial_value() {
    let bytes = [
        record(b'S', &[1]),
        record(b'W', &[0, 5, 9]),
        record(b'C', &[1]),
        record(b'S', &[2]),
        record(b'R', &[1, 0, 6, 9]),
        record(b'C', &[2]),
    ]
    .concat();
    let history = load(&bytes, Some(Format::Cobra), 1).expect("good").history;
    let read = history.op(history::OpId(1));
    assert_eq!(history.value(read.value), Value::from("0@1"));
}

#[test]
fn a_value_written_twice_by_one_transaction_is_refused() {
    // As fresh write ids, the read in between would name the later write.
    let text = "w(1,5,0,0)\nr(1,5,0,0)\nw(1,6,0,0)\nw(1,5,0,0)\n";
    let history = load(text.as_bytes(), None, 1).expect("good").history;
    match write_logs(&history, Format::Cobra) {
        Err(WriteError::CannotHold(what)) => assert!(what.contains("w(1, 5) twice"), "{what}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_log_that_stops_leaves_its_last_transaction_in_doubt() {
    let bytes = [record(b'S', &[1]), record(b'W', &[7, 1, 5]), vec![b'W', 0]].concat();
    let loaded = load(&bytes, Some(Format::Cobra), 1).expect("good");
    let txn = history::TxnId(0);
    assert_eq!(loaded.history.status(txn), Status::Indeterminate);
    assert_eq!(loaded.history.op_count(), 1);
    assert!(loaded.notes[0].contains("cut off"), "{:?}", loaded.notes);
}

#[test]
fn malformed_logs_are_explained() {
    let (start, commit) = (record(b'S', &[1]), record(b'C', &[1]));
    let write = record(b'W', &[7, 1, 5]);
    let table: [(Vec<u8>, &str); 4] = [
        (
            [&start[..], b"xyz"].concat(),
            "T0.log: byte 9: expected a record S, R, W, C or A",
        ),
        (
            [&start[..], &start].concat(),
            "transaction 1 starts within 1",
        ),
        (
            [&start[..], &commit, &write].concat(),
            "byte 18: expected S",
        ),
        (
            [&start[..], &record(b'C', &[2])].concat(),
            "expected the end of 1, found that of 2",
        ),
    ];
    for (bytes, expected) in table {
        let source = Source {
            name: "T0.log",
            bytes: &bytes,
        };
        let options = ReadOptions {
            format: Some(Format::Cobra),
            ..ReadOptions::default()
        };
        let error = read(&[source], &options).expect_err("bad").to_string();
        assert!(error.contains(expected), "{error}\n expected {expected}");
    }
}

#[test]
fn every_cut_of_a_log_keeps_its_whole_transactions() {
    let files = write_logs(&history_of_unique_writes(1), Format::Cobra).expect("cobra can hold it");
    let (name, bytes) = &files[0];
    for end in 0..bytes.len() {
        let Ok(loaded) = load(&bytes[..end], Some(Format::Cobra), 1) else {
            continue;
        };
        let whole = loaded
            .history
            .txns()
            .iter()
            .map(|txn| txn.op_count as usize);
        assert_eq!(
            whole.sum::<usize>(),
            loaded.history.op_count(),
            "{name} to {end}"
        );
    }
}

#[test]
fn cobra_directories_load() {
    let Some(folder) = corpus("cobra") else {
        return;
    };
    let table = [
        ("cock-G2", 10, 446, 1338),
        ("chengRW-1000", 24, 961, 7688),
        ("rubis-10000", 24, 9358, 47027),
        ("twitter-10000", 24, 9990, 47980),
    ];
    for (name, sessions, txns, ops) in table {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder.join(name)).expect("readable") {
            let entry = entry.expect("readable");
            let bytes = std::fs::read(entry.path()).expect("readable");
            files.push((entry.file_name().to_string_lossy().into_owned(), bytes));
        }
        let history = load_files(&files).expect("good").history;
        let counts = (
            history.session_count(),
            history.txn_count(),
            history.op_count(),
        );
        assert_eq!(counts, (sessions, txns, ops), "{name}");
        assert!(history.txns().iter().all(|txn| txn.label != UNLABELLED));
        let texts = history.ops().values.iter();
        let foreign = texts.filter(|&&code| matches!(history.value(code), Value::Text(_)));
        assert_eq!(
            foreign.count(),
            0,
            "{name}: every read names a write of the log"
        );
        let again = write_logs(&history, Format::Cobra).expect("cobra can hold it");
        let again = load_files(&again).expect("good").history;
        assert_eq!(plain(&again), plain(&history), "{name}");
    }
}
