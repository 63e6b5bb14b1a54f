//! Jepsen's `test.jepsen`: every block type and version, damage at every byte, and values made to hurt.
mod damage;
mod encode;
mod values;

use encode::{
    BIG_VECTOR, FRESSIAN, File, Micro, Op, PARTIAL_MAP, STREAM, Writer, big_vector, test_map,
};
use history::History;
use history::format::{Format, Loaded, ReadOptions, Source, jepsen, read, write};

/// Reads a file of any format, detected.
fn load(bytes: &[u8]) -> Result<Loaded, String> {
    let source = Source {
        name: "test.jepsen",
        bytes,
    };
    read(&[source], &ReadOptions::default()).map_err(|error| error.to_string())
}

fn load_good(bytes: &[u8]) -> Loaded {
    let loaded = load(bytes).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(loaded.format, Format::JepsenStore);
    loaded
}

/// A history as EDN, to compare two.
fn edn(history: &History) -> String {
    let mut bytes = Vec::new();
    write(history, Format::JepsenEdn, &mut bytes).expect("Jepsen's histories can be written");
    String::from_utf8(bytes).expect("text")
}

/// The value of an operation.
type MicroOps = &'static [(&'static str, i64, Micro)];

/// Four transactions on lists: committed, committed, failed, open.
const OPS: &[(i64, &str, i64, MicroOps)] = &[
    (
        1,
        "invoke",
        0,
        &[("append", 1, Micro::Int(70)), ("r", 2, Micro::Nil)],
    ),
    (1 << 13, "info", -1, &[]),
    (
        1 << 20,
        "ok",
        0,
        &[("append", 1, Micro::Int(70)), ("r", 2, Micro::Nil)],
    ),
    (1 << 26, "invoke", 1, &[("r", 1, Micro::Nil)]),
    (1 << 34, "invoke", 2, &[("append", 2, Micro::Int(-5000))]),
    (1 << 42, "fail", 2, &[("append", 2, Micro::Int(-5000))]),
    (1 << 50, "invoke", 0, &[("append", 2, Micro::Int(i64::MAX))]),
    (
        i64::MAX - 1,
        "ok",
        1,
        &[("r", 1, Micro::List(&[70, 1 << 40]))],
    ),
];

fn ops() -> Vec<Op<'static>> {
    let op = |(index, &(time, phase, process, value)): (usize, &_)| Op {
        index: index as i64,
        time,
        phase,
        process,
        value,
    };
    OPS.iter().enumerate().map(op).collect()
}

/// The same as `history.edn`; `:index` only where the file has it.
fn expected(has_index: bool) -> String {
    let mut text = String::new();
    for op in ops() {
        let micro = op.value.iter().map(|(tag, key, value)| match value {
            Micro::Nil => format!("[:{tag} {key} nil]"),
            Micro::Int(number) => format!("[:{tag} {key} {number}]"),
            Micro::List(numbers) => format!("[:{tag} {key} {numbers:?}]"),
        });
        let value = micro.collect::<Vec<_>>().join(" ");
        let index = if has_index {
            format!(":index {}", op.index)
        } else {
            String::new()
        };
        let process = if op.process < 0 {
            ":nemesis".into()
        } else {
            op.process.to_string()
        };
        text.push_str(&format!(
            "{{:type :{}, :process {process}, :f :txn, :time {}, :value [{value}] {index}}}\n",
            op.phase, op.time
        ));
    }
    let history = jepsen::read_edn(text.as_bytes(), &mut Vec::new()).expect("good EDN");
    edn(&history)
}

fn stream(ops: &[Op<'_>]) -> Vec<u8> {
    let mut w = Writer::default();
    ops.iter().for_each(|op| {
        w.op(op);
    });
    w.bytes
}

/// A file as Jepsen writes it while a test runs: chunks of two operations.
fn in_chunks(header: usize) -> File {
    let mut file = File::new(1, header);
    file.block(1, FRESSIAN, &[0xf7]);
    file.block(2, FRESSIAN, &test_map(1)).index(2);
    let mut chunks = Vec::new();
    for (place, two) in ops().chunks(2).enumerate() {
        let id = 10 + place as i32;
        file.block(id, STREAM, &stream(two));
        chunks.push((2 * place as i64, id));
        let vector = big_vector(2 * place as i64 + two.len() as i64, &chunks);
        file.block(1, BIG_VECTOR, &vector).index(2);
    }
    file.block(3, FRESSIAN, &test_map(1)).index(3);
    file
}

/// The whole history in one block, as `map` writes an operation.
fn in_one_block(version: i32, begin: &[u8], end: &[u8], map: bool) -> Vec<u8> {
    let mut w = Writer::default();
    if version == 1 {
        w.tag("vec", 1);
    }
    w.raw(begin);
    for op in ops() {
        match map {
            true => w.map(&op),
            false => w.op(&op),
        };
    }
    w.bytes.extend_from_slice(end);
    let mut file = File::new(version, 28);
    file.block(4, FRESSIAN, &w.bytes);
    file.block(7, FRESSIAN, &test_map(4)).index(7);
    file.bytes
}

#[test]
fn a_history_in_chunks_is_that_of_the_edn() {
    for header in [28, 14] {
        let loaded = load_good(&in_chunks(header).bytes);
        assert_eq!(edn(&loaded.history), expected(true), "header {header}");
        assert_eq!(loaded.notes.len(), 1, "{:?}", loaded.notes);
        assert!(loaded.notes[0].contains("nemesis"));
    }
}

#[test]
fn a_history_in_one_block_is_that_of_the_edn() {
    let count = OPS.len() as u8;
    for (begin, end) in [
        (&[0xec, count][..], &[][..]),
        (&[0xed], &[0xfd]),
        (&[0xee], &[0xfd]),
        (&[0xee], &[]),
    ] {
        for (version, map) in [(0, true), (1, false), (1, true)] {
            let loaded = load_good(&in_one_block(version, begin, end, map));
            assert_eq!(edn(&loaded.history), expected(!map), "{begin:?} {version}");
        }
    }
}

/// The map of the test in parts, and vectors in vectors.
#[test]
fn partial_maps_and_nested_vectors_are_followed() {
    let all = ops();
    let mut file = File::new(1, 28);
    file.block(5, STREAM, &stream(&all[..3]));
    file.block(6, STREAM, &stream(&all[3..4]));
    file.block(8, STREAM, &stream(&all[4..]));
    file.block(7, BIG_VECTOR, &big_vector(5, &[(0, 6), (1, 8)]));
    file.block(9, BIG_VECTOR, &big_vector(8, &[(0, 5), (3, 7)]));
    let mut valid = Writer::default();
    valid.code(0xc0).list(2).keyword("valid?").code(0xf5);
    let first = [&11i32.to_be_bytes()[..], &valid.bytes].concat();
    file.block(10, PARTIAL_MAP, &first);
    let second = [&0i32.to_be_bytes()[..], &test_map(9)].concat();
    file.block(11, PARTIAL_MAP, &second).index(10);
    assert_eq!(edn(&load_good(&file.bytes).history), expected(true));
}

/// Blocks need not follow each other without gaps.
#[test]
fn padding_between_blocks_is_skipped() {
    let mut file = File::new(1, 28);
    file.block(1, STREAM, &stream(&ops()));
    file.bytes.extend_from_slice(&[0; 100]);
    file.block(2, FRESSIAN, &test_map(1));
    file.bytes.extend_from_slice(&[0; 7]);
    file.index(2);
    assert_eq!(edn(&load_good(&file.bytes).history), expected(true));
}

#[test]
fn a_test_without_operations_has_an_empty_history() {
    let mut file = File::new(1, 28);
    file.block(1, FRESSIAN, &[0xf7]);
    file.block(2, FRESSIAN, &test_map(1)).index(2);
    let loaded = load_good(&file.bytes);
    assert_eq!(loaded.history.txn_count(), 0);
    assert!(
        loaded.notes[0].contains("no operation"),
        "{:?}",
        loaded.notes
    );
}

#[test]
fn what_is_written_is_read_back() {
    let first = load_good(&in_chunks(28).bytes).history;
    let mut bytes = Vec::new();
    write(&first, Format::JepsenStore, &mut bytes).expect("it can be held");
    history::format::store::check_whole(&bytes).expect("a whole file");
    assert_eq!(edn(&load_good(&bytes).history), edn(&first));
}

/// More operations than one stream holds, and every odd value.
#[test]
fn long_histories_and_odd_values_are_read_back() {
    let odd = [
        "\"\\u2028 😀 \\\\ \\\"\"",
        ":key/word",
        ":a",
        "-9999999999999999999999",
        "18446744073709551615",
        "\"\"",
        "\"true\"",
        "-4097",
        "\":with space\"",
    ];
    let mut text = String::new();
    for place in 0..20_000 {
        let (process, value) = (place % 7, odd[place % odd.len()]);
        for phase in ["invoke", "ok"] {
            text.push_str(&format!(
                "{{:type :{phase}, :process {process}, :f :txn, :time {place}, :value [[:append \
                 {value} {place}] [:w 5 {value}] [:add #inst \"x\" 1]], :index {}}}\n",
                3 * place
            ));
        }
    }
    let first = jepsen::read_edn(text.as_bytes(), &mut Vec::new()).expect("good EDN");
    let mut bytes = Vec::new();
    write(&first, Format::JepsenStore, &mut bytes).expect("it can be held");
    assert_eq!(edn(&load_good(&bytes).history), edn(&first));
}
