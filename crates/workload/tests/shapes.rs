//! The benchmark shapes and read-modify-write by their door: determinism, proportions, and what makes
//! each shape what it is.

use history::format::{self, Format};
use history::{History, KeyId, Level, OpId, Status, TxnId, ValueCode};
use std::collections::{BTreeMap, BTreeSet};
use workload::{Benchmark, Config, Datatype, Shape, generate};

fn run(config: &Config) -> History {
    generate(config).expect("a good configuration").history
}

/// FNV-1a over the history as text.
fn digest(history: &History) -> u64 {
    let mut bytes = Vec::new();
    format::write(history, Format::Text, &mut bytes).expect("text holds it");
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// Reads and writes of a history, and the writes whose transaction did not read the key before.
#[derive(Default)]
struct Counts {
    reads: usize,
    writes: usize,
    /// How many transactions wrote a key blindly.
    blind: BTreeMap<KeyId, usize>,
}

impl Counts {
    fn of(history: &History) -> Counts {
        let mut counts = Counts::default();
        for txn in history.txn_ids() {
            let mut known = BTreeSet::new();
            for (_, op) in history.txn_ops(txn) {
                if !op.kind.is_write() {
                    counts.reads += 1;
                } else {
                    counts.writes += 1;
                    if !known.contains(&op.key) {
                        *counts.blind.entry(op.key).or_default() += 1;
                    }
                }
                known.insert(op.key);
            }
        }
        counts
    }

    fn read_share(&self) -> f64 {
        self.reads as f64 / (self.reads + self.writes) as f64
    }

    fn blind_share(&self) -> f64 {
        self.blind.values().sum::<usize>() as f64 / self.writes as f64
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_everywhere() {
    let digests = Benchmark::REGISTERS.map(|benchmark| {
        let config = Config {
            seed: 42,
            level: Level::SnapshotIsolation,
            ..benchmark.config()
        };
        digest(&run(&config))
    });
    assert_eq!(
        digests, GOLDEN,
        "a change of the generator changes every published seed"
    );
}

const GOLDEN: [u64; 6] = [
    17_110_046_258_850_553_303,
    9_993_576_502_728_947_424,
    8_841_920_551_107_919_806,
    16_006_667_080_876_022_916,
    15_057_313_798_278_241_541,
    10_653_281_475_205_029_885,
];

#[test]
fn every_benchmark_has_the_size_of_the_paper() {
    for benchmark in Benchmark::REGISTERS {
        let history = run(&benchmark.config());
        let name = benchmark.name();
        assert_eq!(history.session_count(), 25, "{name}");
        assert_eq!(history.txn_count(), 10_000, "{name}");
        let counts = Counts::of(&history);
        let ops = (counts.reads + counts.writes) as f64 / 10_000.0;
        let (length, reads) = match benchmark {
            Benchmark::TpcC => (25.0..31.0, 0.50..0.60),
            Benchmark::Rubis => (4.5..5.5, 0.70..0.80),
            Benchmark::Twitter => (4.5..5.5, 0.60..0.70),
            Benchmark::GeneralRh => (8.0..8.1, 0.94..0.96),
            Benchmark::GeneralRw => (8.0..8.1, 0.49..0.51),
            Benchmark::GeneralWh | Benchmark::ListAppend => (8.0..8.1, 0.29..0.31),
        };
        assert!(length.contains(&ops), "{name}: {ops} operations each");
        let share = counts.read_share();
        assert!(reads.contains(&share), "{name}: {share} of them reads");
    }
}

#[test]
fn written_values_are_unique() {
    for benchmark in Benchmark::ALL {
        let history = run(&benchmark.config());
        let mut seen = BTreeSet::new();
        for op in (0..history.op_count()).map(|op| history.op(OpId(op as u32))) {
            if op.kind.is_write() {
                assert!(op.value.0 > 0 && seen.insert((op.key, op.value)), "{op:?}");
            }
        }
    }
}

#[test]
fn tpcc_and_rubis_insert_a_row_once_and_read_it_before_every_update() {
    for benchmark in [Benchmark::TpcC, Benchmark::Rubis] {
        for level in [Level::Serializable, Level::SnapshotIsolation] {
            let config = Config {
                level,
                ..benchmark.config()
            };
            let counts = Counts::of(&run(&config));
            let most = counts.blind.values().max();
            assert_eq!(most, Some(&1), "{} {level}", benchmark.name());
        }
    }
}

#[test]
fn twitter_follows_blindly() {
    let counts = Counts::of(&run(&Benchmark::Twitter.config()));
    assert!(counts.blind.values().any(|&writers| writers > 1));
}

#[test]
fn hot_rows_are_contended() {
    for (benchmark, at_least) in [
        (Benchmark::TpcC, 300),
        (Benchmark::Rubis, 40),
        (Benchmark::Twitter, 200),
    ] {
        let history = run(&benchmark.config());
        let mut writers: BTreeMap<KeyId, BTreeSet<TxnId>> = BTreeMap::new();
        for txn in history.txn_ids() {
            for (_, op) in history.txn_ops(txn).filter(|(_, op)| op.kind.is_write()) {
                writers.entry(op.key).or_default().insert(txn);
            }
        }
        let most = writers.values().map(BTreeSet::len).max().unwrap_or(0);
        assert!(most >= at_least, "{}: {most}", benchmark.name());
    }
}

#[test]
fn updates_take_the_share_asked_for_and_leave_the_reads_as_they_are() {
    for level in [Level::Causal, Level::Serializable] {
        for (rmw_share, read_share) in [(0.0, 0.5), (0.5, 0.5), (1.0, 0.6), (0.25, 0.9)] {
            let counts = Counts::of(&run(&Config {
                rmw_share,
                read_share,
                level,
                keys: 1_000_000,
                ..Config::default()
            }));
            let (reads, blind) = (counts.read_share(), counts.blind_share());
            // What has no room left for its write stays a read.
            assert!(
                (-0.01..0.04).contains(&(reads - read_share)),
                "{reads} reads, not {read_share}"
            );
            let updates = 1.0 - blind;
            assert!((updates - rmw_share).abs() < 0.04, "{updates}, {rmw_share}");
        }
    }
}

#[test]
fn with_nothing_but_updates_no_write_is_blind() {
    for (ops_per_txn, read_share) in [(1, 0.0), (2, 0.0), (7, 0.2), (20, 0.5)] {
        let counts = Counts::of(&run(&Config {
            rmw_share: 1.0,
            ops_per_txn,
            read_share,
            level: Level::SnapshotIsolation,
            ..Config::default()
        }));
        assert!(counts.blind.is_empty());
        assert_eq!(counts.writes > 0, ops_per_txn > 1);
    }
}

#[test]
fn what_a_shape_cannot_do_is_refused() {
    let lists = Config {
        datatype: Datatype::Lists,
        shape: Shape::TpcC,
        ..Config::default()
    };
    assert_eq!(generate(&lists).expect_err("lists").field, "datatype");
    let share = Config {
        rmw_share: -0.5,
        ..Config::default()
    };
    assert_eq!(generate(&share).expect_err("a share").field, "rmw_share");
}

#[test]
fn list_append_histories_are_those_of_the_paper() {
    let history = run(&Config {
        sessions: 20,
        txns_per_session: 500,
        seed: 7,
        ..Benchmark::ListAppend.config()
    });
    let mut lengths = [0; 6];
    let mut appends: BTreeMap<KeyId, BTreeSet<ValueCode>> = BTreeMap::new();
    for txn in history.txn_ids() {
        lengths[history.txn_ops(txn).count()] += 1;
        for (_, op) in history.txn_ops(txn).filter(|(_, op)| op.kind.is_write()) {
            assert!(appends.entry(op.key).or_default().insert(op.value));
        }
    }
    assert!(lengths[0] == 0 && lengths[1..].iter().all(|&count| count > 1500));
    assert!(appends.values().all(|elements| elements.len() <= 100));
    let full = appends.values().filter(|elements| elements.len() == 100);
    assert!(full.count() >= appends.len() - 100);
    assert!(history.has_intervals());
    // A crash ends a process, and another takes its place.
    let crashes = history
        .txn_ids()
        .filter(|&txn| history.status(txn) == Status::Indeterminate);
    assert!(history.session_count() > 20 && crashes.count() >= history.session_count() - 20);
}

#[test]
fn list_append_histories_read_back_and_need_no_labels_in_edn() {
    let history = run(&Benchmark::ListAppend.config());
    let mut bytes = Vec::new();
    format::write(&history, Format::JepsenEdn, &mut bytes).expect("EDN holds it");
    let text = String::from_utf8(bytes).expect("text");
    assert!(!text.contains("isolde/label"));
    let options = format::ReadOptions::default();
    let source = format::Source {
        name: "history.edn",
        bytes: text.as_bytes(),
    };
    let back = format::read(&[source], &options).expect("EDN").history;
    assert_eq!(back.txn_count(), history.txn_count());
    let mut again = Vec::new();
    format::write(&back, Format::JepsenEdn, &mut again).expect("EDN holds it");
    let again = String::from_utf8(again).expect("text");
    // Those of unknown outcome end last, in the order of their sessions, which are numbered anew.
    let heard = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.contains(":info"));
        lines.map(str::to_string).collect()
    };
    assert_eq!(heard(&again), heard(&text));
}
