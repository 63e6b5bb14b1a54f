//! Files that are cut off, damaged, or point where they should not.

use super::encode::{
    BIG_VECTOR, FRESSIAN, File, PARTIAL_MAP, STREAM, Writer, big_vector, test_map,
};
use super::{OPS, edn, expected, in_chunks, in_one_block, load, load_good, ops, stream};
use history::format::store::check_whole;
use history::format::{Format, write};

/// Makes a file wrong.
type Change<'a> = &'a dyn Fn(&mut File) -> &mut File;

fn refused(bytes: &[u8], parts: &[&str]) {
    let error = match load(bytes) {
        Ok(loaded) => panic!("accepted: {:?}", loaded.notes),
        Err(error) => error,
    };
    for part in parts {
        assert!(error.contains(part), "no {part:?} in: {error}");
    }
}

#[test]
fn every_cut_leaves_whole_operations_or_an_error() {
    let whole = in_chunks(28).bytes;
    let mut most = 0;
    for end in 0..whole.len() {
        let cut = &whole[..end];
        assert!(check_whole(cut).is_err(), "a cut at {end} is not noticed");
        let Ok(loaded) = load(cut) else { continue };
        most = most.max(loaded.history.txn_count());
        let notes = loaded.notes.join("; ");
        assert!(notes.contains("cut off"), "cut at {end}: {notes}");
        assert!(notes.contains("whole operations"), "cut at {end}: {notes}");
    }
    assert_eq!(most, 4, "all operations are there before the last blocks");
    check_whole(&whole).expect("a whole file");
}

#[test]
fn a_cut_in_a_single_block_leaves_whole_operations() {
    for (version, map) in [(0, true), (1, false)] {
        let whole = in_one_block(version, &[0xec, OPS.len() as u8], &[], map);
        let mut counts = Vec::new();
        for end in 0..whole.len() {
            let Ok(loaded) = load(&whole[..end]) else {
                assert!(counts.is_empty(), "nothing of {end} bytes");
                continue;
            };
            assert!(loaded.notes[0].contains("cut off"), "cut at {end}");
            counts.push(loaded.history.txn_count());
        }
        assert!(counts.is_sorted() && counts[0] < 2);
        assert_eq!(counts.last(), Some(&4));
    }
}

/// A test that is written when it is over has its results first: they are no operations.
#[test]
fn results_are_not_taken_for_operations() {
    let mut results = Writer::default();
    results.code(0xc0).list(2).keyword("valid?").code(0xf5);
    let mut file = File::new(1, 28);
    file.block(1, PARTIAL_MAP, &[&[0; 4], &results.bytes[..]].concat());
    // The block that comes next has no header yet, which is written last.
    file.bytes.extend_from_slice(&[0; 28]);
    file.bytes.extend_from_slice(&results.bytes);
    refused(&file.bytes, &["no block index was ever written"]);
    let mut list = Writer::default();
    list.list(1).raw(&results.bytes);
    let mut file = File::new(1, 28);
    file.block(1, FRESSIAN, &list.bytes);
    refused(&file.bytes, &["no block index was ever written"]);
}

#[test]
fn a_damaged_byte_is_noticed_or_does_no_harm() {
    let whole = in_chunks(28).bytes;
    let good = expected(true);
    for at in 0..whole.len() {
        for flip in [1, 0x80, 0xff] {
            let mut bad = whole.clone();
            bad[at] ^= flip;
            if let Ok(loaded) = load(&bad) {
                let cut = loaded.notes.iter().any(|note| note.contains("cut off"));
                assert!(cut || edn(&loaded.history) == good, "byte {at} ^ {flip}");
            }
        }
    }
}

#[test]
fn operations_not_yet_made_a_block_of_are_read() {
    let mut file = File::new(1, 28);
    let all = ops();
    file.block(5, STREAM, &stream(&all[..2]));
    file.block(1, BIG_VECTOR, &big_vector(2, &[(0, 5)]));
    file.block(2, FRESSIAN, &test_map(1)).index(2);
    let tail = stream(&all[2..]);
    file.bytes.extend_from_slice(&[0; 28]);
    let sealed = file.bytes.len();
    for end in 0..=tail.len() {
        let bytes = [&file.bytes[..sealed], &tail[..end]].concat();
        let loaded = load_good(&bytes);
        assert!(loaded.notes[0].contains("stopped while it ran"));
        assert!(check_whole(&bytes).is_err());
        if end == tail.len() {
            assert_eq!(edn(&loaded.history), expected(true));
        }
    }
}

#[test]
fn headers_that_are_wrong_are_refused() {
    let good = in_chunks(28).bytes;
    let with = |at: usize, bytes: &[u8]| {
        let mut bad = good.clone();
        bad[at..at + bytes.len()].copy_from_slice(bytes);
        bad
    };
    refused(
        &with(6, &[0, 0, 0, 2]),
        &["byte 6", "version 0 or 1", "found 2", "hint"],
    );
    refused(&with(6, &[0xff; 4]), &["found -1"]);
    refused(&with(10, &[0xff; 8]), &["block index is -1"]);
    refused(&with(10, &[0, 0, 0, 0, 0, 0, 0, 3]), &["block index is 3"]);
    refused(
        &with(10, &18i64.to_be_bytes()),
        &["expected the block index"],
    );
    refused(&with(10, &40i64.to_be_bytes()), &["byte 40", "hint"]);
    let chunk = in_chunks(28).offset(10);
    refused(
        &with(chunk + 8, &[0, 0, 0, 0]),
        &["checksum 00000000", "hint"],
    );
    refused(&good[..12], &["ends within its header", "hint"]);
    refused(b"JEPSEN", &["ends within its header"]);
    refused(b"", &["empty", "hint"]);
    // Without the first letters nothing tells that it was meant to be one.
    refused(&with(0, b"JEPSON"), &["format is unknown"]);
    let error = history::format::store::read(&with(0, b"JEPSON"), &mut Vec::new());
    let error = error.expect_err("no magic").to_string();
    assert!(
        error.contains("expected `JEPSEN`, found `JEPSON`"),
        "{error}"
    );
}

#[test]
fn blocks_that_do_not_fit_are_refused() {
    let all = stream(&ops());
    let file = |change: Change<'_>| {
        let mut file = File::new(1, 28);
        file.block(5, STREAM, &all);
        file.block(1, BIG_VECTOR, &big_vector(8, &[(0, 5)]));
        file.block(2, FRESSIAN, &test_map(1));
        change(&mut file);
        file.bytes
    };
    fn vector<'a>(file: &'a mut File, count: i64, chunks: &[(i64, i32)]) -> &'a mut File {
        let data = big_vector(count, chunks);
        file.block(1, BIG_VECTOR, &data).index(2)
    }
    let table: &[(Change<'_>, &str)] = &[
        (&|f| f.index(0), "names no root block"),
        (&|f| f.index(99), "does not know block 99"),
        (&|f| f.index(5), "expected the map of a test"),
        (&|f| vector(f, 8, &[(0, 77)]), "does not know block 77"),
        (
            &|f| vector(f, 9, &[(0, 5)]),
            "should have 9 operations, it has 8",
        ),
        (
            &|f| vector(f, 8, &[(1, 5)]),
            "should begin with operation 1",
        ),
        (&|f| vector(f, 8, &[(0, 5), (8, 5)]), "twice in the history"),
        (&|f| vector(f, 8, &[(0, 1)]), "twice in the history"),
        (
            &|f| vector(f, 8, &[(0, 2)]),
            "expected a list of operations",
        ),
        (
            &|f| f.block(1, BIG_VECTOR, &[0; 13]).index(2),
            "whole pairs",
        ),
        (
            &|f| f.block(1, PARTIAL_MAP, &[0; 13]).index(2),
            "found a block of PartialMap",
        ),
        (&|f| f.block(1, 9, &[]).index(2), "no blocks of type 9"),
        (
            &|f| f.block(1, STREAM, &[5]).index(2),
            "expected an operation, found `5`",
        ),
        (
            &|f| f.block(1, STREAM, &all[..9]).index(2),
            "ends in the middle of a value",
        ),
        (
            &|f| f.block(2, FRESSIAN, &[0xc0, 0xe4]).index(2),
            "has no :history",
        ),
        (
            &|f| f.block(2, FRESSIAN, &[0xf5]).index(2),
            "the map of a test",
        ),
        (
            &|f| f.block(2, PARTIAL_MAP, &[0, 0, 0, 2, 0xc0, 0xe4]).index(2),
            "no :history",
        ),
        (&|f| f.block(2, PARTIAL_MAP, &[0]).index(2), "has no data"),
    ];
    for (change, expected) in table {
        refused(&file(*change), &[expected]);
    }
}

/// Random changes of the data with right checksums around it, which reach what a damaged file does
/// not: read or refused, and what was read can be written and read again.
#[test]
fn random_data_with_right_checksums_does_not_panic() {
    let good = stream(&ops());
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % limit
    };
    let mut read_count = 0;
    for _ in 0..20_000 {
        let mut data = good.clone();
        for _ in 0..1 + below(3) {
            let (from, to) = (below(data.len()), below(data.len()));
            match below(5) {
                0 => data[from] = below(256) as u8,
                1 => data[from] = 0x80 + below(128) as u8,
                2 => data[to] = data[from],
                3 => drop(data.remove(from)),
                _ => data.insert(from, below(256) as u8),
            }
        }
        let mut file = File::new(1, 28);
        file.block(1, STREAM, &data);
        file.block(2, FRESSIAN, &test_map(1)).index(2);
        let Ok(loaded) = load(&file.bytes) else {
            continue;
        };
        read_count += 1;
        let mut written = Vec::new();
        if write(&loaded.history, Format::JepsenStore, &mut written).is_ok() {
            assert_eq!(edn(&load_good(&written).history), edn(&loaded.history));
        }
    }
    assert!(read_count > 500, "{read_count}");
}
