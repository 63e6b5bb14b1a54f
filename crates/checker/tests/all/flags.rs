//! Histories of flags: two or three values a key, each written again and again, recorded in the order
//! of commits. Every read has many possible writers, and the order of the file tells which.
use crate::small::{Random, parse};

use checker::{Options, check};
use history::{History, Initial, Level, Verdict};
use std::fmt::Write;

const KEYS: u64 = 20;
const SESSIONS: u64 = 8;

/// A transaction that runs: how many had committed when it began, what it read and what it writes.
struct Running {
    began: usize,
    ops: String,
    writes: Vec<(u64, u64)>,
}

/// By key, after how many commits it got which value.
type Versions = Vec<Vec<(usize, u64)>>;

fn begin(random: &mut Random, versions: &Versions, committed: usize, values: u64) -> Running {
    let (mut ops, mut writes): (String, Vec<(u64, u64)>) = Default::default();
    for _ in 0..6 {
        let key = random.below(KEYS);
        if writes.iter().any(|&(other, _)| other == key) {
            continue;
        }
        let separator = if ops.is_empty() { "" } else { "," };
        if random.chance(50) {
            let value = random.below(values);
            writes.push((key, value));
            let _ = write!(ops, "{separator}[\"w\",{key},{value}]");
        } else {
            let value = versions[key as usize].last();
            let value = value.map_or("null".to_string(), |(_, value)| value.to_string());
            let _ = write!(ops, "{separator}[\"r\",{key},{value}]");
        }
    }
    Running {
        began: committed,
        ops,
        writes,
    }
}

/// A history of a store with snapshots, in which of two writers of a key at a time the second aborts; in
/// which nobody runs beside another, if `serial`.
fn history(seed: u64, txn_count: usize, values: u64, serial: bool) -> History {
    let mut random = Random(seed);
    let mut versions: Versions = vec![Vec::new(); KEYS as usize];
    let mut running: Vec<Option<Running>> = (0..SESSIONS).map(|_| None).collect();
    let mut lines = String::new();
    let mut committed = 0;
    while committed < txn_count {
        let session = random.below(SESSIONS) as usize;
        let found = match running[session].take() {
            None if !serial => {
                running[session] = Some(begin(&mut random, &versions, committed, values));
                continue;
            }
            None => begin(&mut random, &versions, committed, values),
            Some(found) => found,
        };
        let is_free = |&(key, _): &(u64, u64)| {
            let last = versions[key as usize].last();
            last.is_none_or(|&(number, _)| number <= found.began)
        };
        if !found.writes.iter().all(is_free) || found.ops.is_empty() {
            continue;
        }
        committed += 1;
        for &(key, value) in &found.writes {
            versions[key as usize].push((committed, value));
        }
        let _ = writeln!(lines, "{{\"session\":{session},\"ops\":[{}]}}", found.ops);
    }
    parse(&lines)
}

/// Whether every one of these levels holds, certified.
fn all_hold(history: &History, levels: &[Level]) -> bool {
    let checked = check(history, levels, &Options::default());
    checked.iter().all(|checked| {
        let certified = history::certify(history, &Initial::default(), &checked.result);
        matches!(checked.result.verdict, Verdict::Holds(_)) && certified.is_ok()
    })
}

#[test]
fn flags_of_a_serial_store_are_serializable() {
    let levels = [
        Level::ReadCommitted,
        Level::ReadAtomic,
        Level::Causal,
        Level::SnapshotIsolation,
        Level::StrongSessionSerializable,
    ];
    for seed in 0..20 {
        let history = history(seed, 500, 2 + seed % 2, true);
        assert!(all_hold(&history, &levels), "seed {seed}");
    }
}

#[test]
fn flags_of_a_store_with_snapshots_are_snapshot_isolated() {
    let levels = [
        Level::ReadCommitted,
        Level::Causal,
        Level::ParallelSnapshotIsolation,
        Level::SnapshotIsolation,
        Level::StrongSessionSnapshotIsolation,
    ];
    for seed in 0..20 {
        let history = history(seed, 500, 2 + seed % 2, false);
        assert!(all_hold(&history, &levels), "seed {seed}");
    }
}

/// More writers of one value than are listed.
#[test]
fn one_value_written_ten_thousand_times_is_read_in_order() {
    let mut lines = String::new();
    for txn in 0..20_000 {
        let session = txn % 7;
        let op = if txn % 2 == 0 { "w" } else { "r" };
        let _ = writeln!(lines, "{{\"session\":{session},\"ops\":[[\"{op}\",0,1]]}}");
    }
    let history = parse(&lines);
    let levels = [Level::Causal, Level::Serializable];
    assert!(all_hold(&history, &levels));
}
