//! Times, version numbers, the numbers of transactions and their places in the file are hints to the
//! levels that do not mention time: whatever they say, the verdict is the same as without them.
use crate::small::{Random, Shape, random_history, show};

use checker::{Options, check};
use history::{
    Builder, History, Initial, Interval, Level, Op, OpKind, Status, TxnId, UNLABELLED, Value,
    certify,
};

/// The levels that do not mention time.
fn timeless() -> Vec<Level> {
    Level::all()
        .filter(|level| !level.implies(Level::StrongSnapshotIsolation))
        .collect()
}

/// Adds the operations of a transaction, its writes with these version numbers; returns where they begin.
fn copy_ops(
    history: &History,
    txn: TxnId,
    builder: &mut Builder,
    version: &mut dyn FnMut() -> Option<u64>,
) -> usize {
    let start = builder.ops.len();
    for (_, op) in history.txn_ops(txn) {
        let key = builder.key(&history.key_name(op.key));
        builder.ops.push(Op { key, ..op });
        if op.kind == OpKind::Write
            && let Some(number) = version()
        {
            builder.record_version(number);
        }
    }
    start
}

/// The same history with other times and other version numbers.
fn hinted(
    history: &History,
    interval: &mut dyn FnMut(TxnId) -> Option<Interval>,
    version: &mut dyn FnMut() -> Option<u64>,
) -> History {
    let mut builder = Builder::new();
    for txn in history.txn_ids() {
        let row = history.txn(txn);
        let session = builder.session(history.session_label(row.session));
        let start = copy_ops(history, txn, &mut builder, version);
        let ended = builder.end_txn(session, row.label, row.status, interval(txn), start);
        ended.expect("small");
    }
    builder.finish()
}

fn verdicts(history: &History) -> Vec<(Level, &'static str)> {
    let answers = check(history, &timeless(), &Options::default());
    let name = |answer: checker::Checked| (answer.result.level, answer.result.verdict.name());
    answers.into_iter().map(name).collect()
}

fn change_nothing(shape: &Shape, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let history = random_history(shape, seed);
        let told = verdicts(&hinted(&history, &mut |_| None, &mut || None));
        let count = history.txn_count() as i64;
        let (mut times, mut numbers) = (Random(seed), Random(seed + 1));
        let forward = &mut |txn: TxnId| Some(during(10 * i64::from(txn.0), 5));
        let backward = &mut |txn: TxnId| Some(during(10 * (count - i64::from(txn.0)), 5));
        let together = &mut |_: TxnId| Some(during(7, 0));
        let unheard = &mut |_: TxnId| Some(during(i64::MAX - 1, 0));
        let random = &mut |_: TxnId| {
            let end = times.below(100) as i64;
            times.chance(70).then(|| Interval {
                start: times.below(100) as i64,
                end: if times.chance(10) {
                    Interval::NEVER
                } else {
                    end
                },
            })
        };
        let ways: [&mut dyn FnMut(TxnId) -> Option<Interval>; 5] =
            [forward, backward, together, unheard, random];
        for (way, interval) in ways.into_iter().enumerate() {
            let version = &mut || match way {
                0 => None,
                1 => Some(u64::MAX),
                _ => numbers.chance(60).then(|| numbers.below(9)),
            };
            let other = hinted(&history, interval, version);
            assert_eq!(
                verdicts(&other),
                told,
                "seed {seed}, {way}\n{}",
                show(&history)
            );
        }
    }
}

fn during(start: i64, length: i64) -> Interval {
    Interval {
        start,
        end: start + length,
    }
}

#[test]
fn hints_change_no_verdict_on_registers() {
    let shape = Shape {
        sessions: 5,
        txns: 9,
        keys: 3,
        ..Shape::default()
    };
    change_nothing(&shape, 30_000..30_400);
}

#[test]
fn hints_change_no_verdict_on_uncertain_histories() {
    let shape = Shape {
        sessions: 4,
        txns: 7,
        duplicates: 25,
        aborted: 10,
        indeterminate: 20,
        ..Shape::default()
    };
    change_nothing(&shape, 31_000..31_400);
}

/// The same history with its transactions in another order, sessions kept, and with other numbers.
fn renumbered(history: &History, random: &mut Random, way: usize) -> History {
    let sessions = history.sessions().map(|id| history.session_txns(id));
    let mut rest: Vec<std::ops::Range<u32>> = sessions.collect();
    let mut builder = Builder::new();
    let count = history.txn_count() as u64;
    for at in 0..count {
        rest.retain(|session| !session.is_empty());
        let chosen = random.below(rest.len() as u64) as usize;
        let txn = TxnId(rest[chosen].next().expect("not empty"));
        let row = history.txn(txn);
        let session = builder.session(history.session_label(row.session));
        let start = copy_ops(history, txn, &mut builder, &mut || None);
        let label = match way {
            0 => UNLABELLED,
            1 => at,
            2 => count - at,
            3 => u64::MAX / 3 * (at % 3),
            _ => random.below(1 << 40),
        };
        let ended = builder.end_txn(session, label, row.status, None, start);
        ended.expect("small");
    }
    builder.finish()
}

#[test]
fn numbers_and_places_of_transactions_change_no_verdict() {
    let certain = Shape {
        sessions: 5,
        txns: 9,
        keys: 3,
        ..Shape::default()
    };
    let uncertain = Shape {
        aborted: 10,
        indeterminate: 20,
        duplicates: 10,
        ..certain.clone()
    };
    for (shape, seeds) in [(certain, 32_000..32_300), (uncertain, 33_000..33_200)] {
        for seed in seeds {
            let history = random_history(&shape, seed);
            let told = verdicts(&history);
            let mut random = Random(seed);
            for way in 0..5 {
                let other = renumbered(&history, &mut random, way);
                let shown = || format!("seed {seed}, {way}\n{}", show(&other));
                assert_eq!(verdicts(&other), told, "{}", shown());
                for answer in check(&other, &timeless(), &Options::default()) {
                    let certified = certify(&other, &Initial::default(), &answer.result);
                    assert!(certified.is_ok(), "{certified:?} {}", shown());
                }
            }
        }
    }
}

/// Transactions on snapshots up to `lag` commits old, each of a session of its own: each reads keys at
/// random and writes one that nobody else has written for `KEYS` commits. Numbered by commits where
/// `numbered`, and in the file by commits or the other way round.
fn of_snapshots(lag: u64, numbered: bool, in_turn: bool, seed: u64) -> History {
    const KEYS: u64 = 50;
    const COUNT: u64 = 400;
    let mut random = Random(seed);
    let mut commits: Vec<(u64, Vec<Op>)> = Vec::new();
    let mut builder = Builder::new();
    let keys: Vec<_> = (0..KEYS)
        .map(|key| builder.key(&Value::Int(key.into())))
        .collect();
    for at in 0..COUNT {
        let snapshot = at - random.below(lag + 1).min(at);
        let mut ops = Vec::new();
        for _ in 0..4 {
            let key = random.below(KEYS);
            let last = (0..snapshot).rev().find(|commit| commit % KEYS == key);
            let value = builder.value(&Value::Int(last.map_or(0, |commit| i128::from(commit) + 1)));
            ops.push(Op {
                kind: OpKind::Read,
                key: keys[key as usize],
                value,
            });
        }
        let value = builder.value(&Value::Int(i128::from(at) + 1));
        ops.push(Op {
            kind: OpKind::Write,
            key: keys[(at % KEYS) as usize],
            value,
        });
        commits.push((at, ops));
    }
    if !in_turn {
        commits.reverse();
    }
    for (at, ops) in commits {
        let session = builder.session(at as i64 * 7 % 401);
        let start = builder.ops.len();
        ops.into_iter().for_each(|op| builder.ops.push(op));
        let label = if numbered { at } else { UNLABELLED };
        builder
            .end_txn(session, label, Status::Committed, None, start)
            .expect("small");
    }
    builder.finish()
}

#[test]
fn numbers_or_places_that_are_right_settle_the_question_at_once() {
    for (lag, level) in [
        (0, Level::StrongSessionSerializable),
        (0, Level::Serializable),
        (20, Level::SnapshotIsolation),
        (20, Level::StrongSessionSnapshotIsolation),
        (20, Level::Prefix),
    ] {
        for (numbered, in_turn) in [(true, false), (false, true)] {
            let history = of_snapshots(lag, numbered, in_turn, 5);
            let answer = &check(&history, &[level], &Options::default())[0];
            let verdict = answer.result.verdict.name();
            assert_eq!(verdict, "holds", "{level}, {numbered}, {in_turn}");
            let stages: Vec<&str> = answer.stages.iter().map(|stage| stage.name).collect();
            assert_eq!(
                stages,
                ["observe", "guess"],
                "{level}, {numbered}, {in_turn}"
            );
            assert!(certify(&history, &Initial::default(), &answer.result).is_ok());
        }
    }
}
