//! The generator against the definitions: every level's store gives that level, by brute force, and
//! what it is meant to lack shows up missing.

use history::definition::{OutOfScope, holds_all};
use history::{Initial, Level, OpId, Status};
use workload::{Benchmark, Config, Datatype, Distribution, Generated, generate};

const SEEDS: u64 = 300;

/// A small configuration with few keys, so that much happens in few transactions.
fn small(level: Level, datatype: Datatype, seed: u64) -> Config {
    let shapes = [
        (2, 2, 3),
        (3, 2, 2),
        (2, 3, 2),
        (5, 1, 3),
        (1, 5, 2),
        (4, 1, 4),
    ];
    let (sessions, txns_per_session, ops_per_txn) = shapes[seed as usize % shapes.len()];
    Config {
        sessions,
        txns_per_session,
        ops_per_txn,
        rmw_share: if seed.is_multiple_of(7) { 0.6 } else { 0.0 },
        keys: 1 + seed / 6 % 3,
        distribution: if seed.is_multiple_of(5) {
            Distribution::Zipfian(0.9)
        } else {
            Distribution::Uniform
        },
        aborted_share: if seed.is_multiple_of(3) { 0.2 } else { 0.0 },
        indeterminate_share: if seed.is_multiple_of(4) { 0.15 } else { 0.0 },
        level,
        datatype,
        times: seed.is_multiple_of(2),
        seed,
        ..Config::default()
    }
}

fn text(generated: &Generated) -> String {
    let history = &generated.history;
    let mut text = String::new();
    for txn in history.txn_ids() {
        let ops: Vec<String> = history
            .op_range(txn)
            .map(|op| history.op_text(OpId(op as u32)))
            .collect();
        let (name, status) = (history.txn_name(txn), history.status(txn));
        let interval = history.interval(txn);
        text += &format!("{name} {status:?} {} {interval:?}\n", ops.join(" "));
    }
    text
}

fn indeterminate(generated: &Generated) -> bool {
    let txns = generated.history.txns();
    txns.iter().any(|txn| txn.status == Status::Indeterminate)
}

/// Checks `seeds` histories of a level and counts how often each other level was missing.
fn check(level: Level, datatype: Datatype, seeds: u64) -> Vec<(Level, u32)> {
    let mut missing: Vec<(Level, u32)> = Level::all().map(|level| (level, 0)).collect();
    for seed in 0..seeds {
        check_one(&small(level, datatype, seed), &mut missing);
    }
    missing
}

/// Checks one history and counts the levels that it lacks.
fn check_one(config: &Config, missing: &mut [(Level, u32)]) {
    let Config {
        level,
        datatype,
        seed,
        ..
    } = *config;
    let generated = generate(config).expect("a good configuration");
    let verdicts = match holds_all(&generated.history, &Initial::default()) {
        Ok(verdicts) => verdicts,
        Err(OutOfScope::TooManyInterpretations | OutOfScope::TooManyTransactions { .. }) => {
            return;
        }
        // The definitions do not take a list that shows an indeterminate append and more.
        Err(OutOfScope::UnrecoverableLists) if indeterminate(&generated) => return,
        Err(error) => panic!("{level} {datatype:?} {seed}: {error}\n{}", text(&generated)),
    };
    for ((asked, count), (_, holds)) in missing.iter_mut().zip(verdicts) {
        let wrong = level.implies(*asked) && !holds;
        let shown = || text(&generated);
        assert!(
            !wrong,
            "{level} {datatype:?} {seed}: not {asked}\n{}",
            shown()
        );
        *count += u32::from(!holds);
    }
}

#[test]
fn every_store_gives_its_level_for_registers() {
    for level in Level::all() {
        check(level, Datatype::Registers, SEEDS);
    }
}

#[test]
fn every_store_gives_its_level_for_lists() {
    for level in Level::all() {
        check(level, Datatype::Lists, SEEDS);
    }
}

#[test]
fn every_store_gives_its_level_for_sets_and_counters() {
    for level in Level::all() {
        for datatype in [Datatype::Sets, Datatype::Counters, Datatype::Mixed] {
            check(level, datatype, SEEDS / 2);
        }
    }
}

#[test]
fn every_store_gives_its_level_for_benchmarks() {
    for level in Level::all() {
        let mut missing: Vec<(Level, u32)> = Level::all().map(|level| (level, 0)).collect();
        for benchmark in Benchmark::ALL {
            for seed in 0..20 {
                let config = Config {
                    sessions: 3,
                    txns_per_session: 2,
                    level,
                    seed,
                    ..benchmark.config()
                };
                check_one(&config, &mut missing);
            }
        }
    }
}

/// Run with `--ignored --nocapture` for more histories and a table of what was missing.
#[test]
#[ignore = "prints a table; the tests above check the same"]
fn table_of_missing_levels() {
    for datatype in [Datatype::Registers, Datatype::Lists] {
        for level in Level::all() {
            let missing = check(level, datatype, 1500);
            let shown: Vec<String> = missing
                .iter()
                .filter(|(_, count)| *count > 0)
                .map(|(asked, count)| format!("{asked} {count}"))
                .collect();
            println!("{datatype:?} {level}: {}", shown.join(", "));
        }
    }
}
