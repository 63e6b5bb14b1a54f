//! Single values of Fressian, and values made to exhaust memory, time or the stack.

use super::encode::{FRESSIAN, File, STREAM, Writer, test_map};
use super::load;

/// Writes a value.
type Value<'a> = &'a dyn Fn(&mut Writer) -> &mut Writer;

/// A file with one committed transaction that appends the value which `write` writes.
fn with_value(write: Value<'_>) -> Vec<u8> {
    let mut w = Writer::default();
    w.tag("jepsen.history.Op", 7)
        .int(0)
        .int(5)
        .cached_keyword("ok")
        .int(0);
    w.cached_keyword("txn")
        .list(1)
        .list(3)
        .keyword("append")
        .int(1);
    write(&mut w);
    w.code(0xf7);
    file(&w.bytes)
}

fn file(stream: &[u8]) -> Vec<u8> {
    let mut file = File::new(1, 28);
    file.block(1, STREAM, stream);
    file.block(2, FRESSIAN, &test_map(1)).index(2);
    file.bytes
}

fn appended(write: Value<'_>) -> String {
    let loaded = load(&with_value(write)).unwrap_or_else(|error| panic!("{error}"));
    let history = loaded.history;
    let (_, op) = history.txn_ops(history::TxnId(0)).next().expect("one");
    history.value(op.value).to_string()
}

#[test]
fn integers_of_every_length_are_read() {
    let mut numbers = vec![0, 1, -1, 63, 64, i64::MAX, i64::MIN];
    for bits in 0..63 {
        numbers.extend([1 << bits, (1 << bits) - 1, -(1 << bits), -(1 << bits) - 1]);
    }
    for number in numbers {
        let text = appended(&|w| w.int(number));
        assert_eq!(text, number.to_string());
    }
}

#[test]
fn every_kind_of_value_has_a_text() {
    let table: &[(Value<'_>, &str)] = &[
        (&|w| w.text(""), ""),
        (&|w| w.text("seven77"), "seven77"),
        (
            &|w| w.text("more than seven \"\n\\"),
            "more than seven \"\n\\",
        ),
        (
            &|w| w.code(0xe2).int(2).code(b'a').code(b'b').text("c"),
            "abc",
        ),
        // A character beyond 16 bits, as Java writes it.
        (
            &|w| w.raw(&[0xe0, 0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]),
            "\u{1F600}",
        ),
        (&|w| w.keyword("word"), ":word"),
        (&|w| w.code(0xca).text("space").text("word"), ":space/word"),
        (&|w| w.code(0xca).code(0xf7).text("two words"), ":two words"),
        (&|w| w.code(0xc9).code(0xf7).text("symbol"), "symbol"),
        (&|w| w.code(0xf5), "true"),
        (&|w| w.code(0xf6), "false"),
        // Numbers without a fraction are integers.
        (&|w| w.code(0xfb), "0"),
        (&|w| w.code(0xfc), "1"),
        (&|w| w.raw(&[0xfa, 0x40, 4, 0, 0, 0, 0, 0, 0]), "2.5"),
        (&|w| w.raw(&[0xf9, 0x40, 0x20, 0, 0]), "2.5"),
        (&|w| w.raw(&[0xfa, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0]), "##NaN"),
        (&|w| w.code(0xc6).code(0xd1).code(0xff), "-1"),
        (
            &|w| w.raw(&[0xc6, 0xd9, 9, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
            "18446744073709551616",
        ),
        (&|w| w.code(0xd2).code(1).code(0xab), "#bytes \"01ab\""),
        (&|w| w.code(0xc3).code(0xd1).code(7), "#uuid #bytes \"07\""),
        (&|w| w.code(0xc8).int(12), "#inst 12"),
        (
            &|w| w.code(0xc7).code(0xd1).code(7).int(2),
            "#bigdec [#bytes \"07\" 2]",
        ),
        (&|w| w.code(0xb3).int(2).int(5).int(6), "[5 6]"),
        (&|w| w.tag("atom", 1).int(9), "9"),
        (&|w| w.tag("char", 1).int(97), "#char 97"),
        (&|w| w.tag("map-entry", 2).int(1).int(2), "[1 2]"),
        (&|w| w.tag("strange tag", 0), "#unknown []"),
        (&|w| w.tag("ratio", 2).int(1).int(2), "#ratio [1 2]"),
        (
            &|w| {
                w.tag("record", 2)
                    .code(0xc9)
                    .code(0xf7)
                    .text("R")
                    .code(0xc0)
                    .list(0)
            },
            "{}",
        ),
        (&|w| w.code(0xc1).list(2).int(1).int(2), "#{1 2}"),
        (&|w| w.tag("persistent-sorted-set", 1).code(0xf7), "#{}"),
        (&|w| w.code(0xcd).list(2).int(7).code(0xf7), "[7 nil]"),
        (
            &|w| {
                w.code(0xcf)
                    .code(0xcf)
                    .code(0xcf)
                    .code(0xcf)
                    .text("12345678")
                    .int(3)
            },
            "#",
        ),
        (&|w| w.code(0xfe).int(4), "4"),
    ];
    for (place, (write, expected)) in table.iter().enumerate() {
        if *expected == "#" {
            // A footer in the middle of a value: read or refused, but never worse.
            let _ = load(&with_value(*write));
            continue;
        }
        assert_eq!(appended(*write), *expected, "row {place}");
    }
}

#[test]
fn nesting_without_end_is_refused() {
    for nest in [&[0xe5][..], &[0xed], &[0xcd], &[0xef, 0xdb, b'x', 2]] {
        let bytes = nest.repeat(100_000);
        let error = load(&file(&bytes)).expect_err("too deep");
        assert!(error.contains("nest deeper"), "{error}");
    }
    // Tags of one value need no stack.
    let tags = [&[0xef, 0xdb, b'x', 1][..], &[0xa0; 100_000]].concat();
    assert!(load(&file(&tags)).is_err());
}

/// Lists of lists of …, each eight times in the next: 8^30 elements in 300 bytes.
#[test]
fn repetition_without_end_is_refused() {
    let mut w = Writer::default();
    w.code(0xcd).text("ten letters");
    for level in 0..30u8 {
        w.code(0xcd).list(8);
        for _ in 0..8 {
            w.code(0x80 + level);
        }
    }
    let bomb = w.bytes;
    let bytes = file(&bomb);
    let error = load(&bytes).expect_err("a bomb");
    assert!(
        error.contains("operation") || error.contains("repetitions"),
        "{error}"
    );
    let error = load(&with_value(&|w| {
        // As one list, so that all of it is one value; the places begin behind those of the names.
        let first = 5;
        w.list(31).code(0xcd).text("ten letters");
        for level in 0..30u8 {
            w.code(0xcd).list(8);
            for _ in 0..8 {
                let place = first + level;
                if place < 32 {
                    w.code(0x80 + place);
                } else {
                    w.code(0xcc).int(place.into());
                }
            }
        }
        w
    }))
    .expect_err("a bomb");
    assert!(error.contains("repetitions unpack"), "{error}");
}

#[test]
fn lengths_beyond_the_file_are_refused() {
    for code in [0xec, 0xe3, 0xd9, 0xe2, 0xd8, 0xb0] {
        for length in [1 << 20, 1 << 40, i64::MAX, -5] {
            let mut w = Writer::default();
            w.code(code).int(length);
            assert!(load(&file(&w.bytes)).is_err());
            assert!(load(&with_value(&|w| w.code(code).int(length))).is_err());
        }
    }
}

/// Every byte at every place of a small stream: read or refused.
#[test]
fn any_byte_anywhere_does_not_panic() {
    let mut w = Writer::default();
    w.tag("jepsen.history.Op", 7)
        .int(0)
        .int(500)
        .cached_keyword("ok")
        .int(0);
    w.cached_keyword("txn")
        .list(1)
        .list(3)
        .keyword("append")
        .int(1)
        .int(2)
        .code(0xf7);
    w.tag("jepsen.history.Op", 7)
        .int(1)
        .int(600)
        .cached_keyword("ok");
    w.keyword("nemesis")
        .keyword("f")
        .code(0xc0)
        .list(2)
        .text("a")
        .code(0xf7)
        .code(0xf7);
    for at in 0..w.bytes.len() {
        for byte in 0..=255 {
            let mut bytes = w.bytes.clone();
            bytes[at] = byte;
            let _ = load(&file(&bytes));
        }
    }
}
