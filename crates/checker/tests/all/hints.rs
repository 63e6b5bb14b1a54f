//! Times and version numbers are hints to the levels that do not mention time: whatever they say,
//! the verdict is the same as without them.
use crate::small::{Random, Shape, random_history, show};

use checker::{Options, check};
use history::{Builder, History, Interval, Level, Op, OpKind, TxnId};

/// The levels that do not mention time.
fn timeless() -> Vec<Level> {
    Level::all()
        .filter(|level| !level.implies(Level::StrongSnapshotIsolation))
        .collect()
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
