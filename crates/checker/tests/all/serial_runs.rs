//! Histories of a few hundred transactions that were really run one after another, too large for
//! the definition but known to hold: with many sessions, and with few values for each key.
use crate::small::{Random, show};

use checker::{Options, Strategy, check};
use history::{Builder, History, Initial, Interval, Level, Op, OpKind, Status, Value, Verdict};

struct Run {
    sessions: u64,
    txns: u64,
    keys: u64,
    /// How many different values a key can have; 0 for a new one at every write.
    values: u64,
    /// Whether a new value says nothing about when it was written.
    scrambled: bool,
    numbers: Numbers,
    times: Times,
}

/// When transactions are said to have run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Times {
    None,
    Right,
    Backwards,
    Wrong,
}

/// The numbers of versions that the database is said to have given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    None,
    Right,
    Wrong,
}

/// Operations, each with the number of its version, and when they ran.
type Plan = (Vec<(Op, u64)>, Option<Interval>);

/// Transactions of five operations that each see all before them.
fn serial_run(run: &Run, seed: u64) -> History {
    let mut random = Random(seed);
    let mut builder = Builder::new();
    let sessions: Vec<_> = (0..run.sessions)
        .map(|label| builder.session(label as i64))
        .collect();
    let mut last: Vec<Option<u64>> = vec![None; run.keys as usize];
    let mut plans: Vec<Vec<Plan>> = vec![Vec::new(); run.sessions as usize];
    for txn in 0..run.txns {
        let mut ops: Vec<(Op, u64)> = Vec::new();
        for op in 0..5 {
            let number = random.below(run.keys);
            let key = builder.key(&Value::from(number));
            if ops.iter().any(|(other, _)| other.key == key) {
                continue;
            }
            let (kind, value) = if random.chance(50) {
                let written = match run.values {
                    0 if run.scrambled => (5 * txn + op + 1) * 0x9e37_79b1 % (1 << 32),
                    0 => 5 * txn + op + 1,
                    values => 1 + random.below(values),
                };
                last[number as usize] = Some(written);
                (OpKind::Write, Some(written))
            } else {
                (OpKind::Read, last[number as usize])
            };
            let value = builder.value(&value.map_or(Value::Nil, Value::from));
            let number = match run.numbers {
                Numbers::Wrong => random.below(50),
                _ => txn,
            };
            ops.push((Op { kind, key, value }, number));
        }
        let start = match run.times {
            Times::None => None,
            Times::Right => Some(10 * txn),
            Times::Backwards => Some(10 * (run.txns - txn)),
            Times::Wrong => Some(random.below(10 * run.txns)),
        };
        let interval = start.map(|start| Interval {
            start: start as i64,
            end: start as i64 + 5,
        });
        plans[random.below(run.sessions) as usize].push((ops, interval));
    }
    let mut label = 0;
    for (session, txns) in sessions.into_iter().zip(plans) {
        for (ops, interval) in txns {
            label += 1;
            let start = builder.ops.len();
            for (op, number) in ops {
                builder.ops.push(op);
                if op.kind == OpKind::Write && run.numbers != Numbers::None {
                    builder.record_version(number);
                }
            }
            let ended = builder.end_txn(session, label, Status::Committed, interval, start);
            ended.expect("few enough");
        }
    }
    builder.finish()
}

/// Every strong level holds, with evidence; where times are wrong, every one that ignores them.
fn all_hold(run: &Run, seeds: std::ops::Range<u64>) {
    let is_wrong = matches!(run.times, Times::Backwards | Times::Wrong);
    let levels: Vec<Level> = Level::all()
        .filter(|level| !Level::WEAK.contains(level))
        .filter(|level| !is_wrong || !level.implies(Level::StrongSnapshotIsolation))
        .collect();
    for seed in seeds {
        let history = serial_run(run, seed);
        for level in &levels {
            for answer in check(&history, &[*level], &Options::default()) {
                let verdict = &answer.result.verdict;
                let holds = matches!(verdict, Verdict::Holds(_));
                assert!(holds, "seed {seed}, {level}: {}", show(&history));
                let refusal = history::certify(&history, &Initial::default(), &answer.result);
                assert_eq!(refusal, Ok(()), "seed {seed}, {level}");
            }
        }
    }
}

#[test]
fn serial_runs_of_many_sessions_hold() {
    let run = Run {
        sessions: 100,
        txns: 300,
        keys: 60,
        values: 0,
        scrambled: false,
        numbers: Numbers::None,
        times: Times::None,
    };
    all_hold(&run, 0..4);
}

/// Nothing but reads says what came first, and most versions are in no order by themselves.
#[test]
fn serial_runs_of_a_session_a_transaction_hold() {
    let run = Run {
        sessions: 100_000,
        txns: 1500,
        keys: 900,
        values: 0,
        scrambled: true,
        numbers: Numbers::None,
        times: Times::None,
    };
    let levels = [
        Level::StrongSessionSerializable,
        Level::StrongSessionSnapshotIsolation,
        Level::Prefix,
    ];
    for level in levels {
        let history = serial_run(&run, 40);
        // Without repair, likely orders are decided together with what follows from them.
        for (repair, name) in [(true, "likely"), (false, "saturate")] {
            let options = Options {
                strategy: Strategy {
                    repair,
                    ..Strategy::default()
                },
                ..Options::default()
            };
            let answer = &check(&history, &[level], &options)[0];
            let verdict = &answer.result.verdict;
            assert!(matches!(verdict, Verdict::Holds(_)), "{level}, {name}");
            let refusal = history::certify(&history, &Initial::default(), &answer.result);
            assert_eq!(refusal, Ok(()), "{level}, {name}");
            let stages = answer.stages.iter().filter(|stage| stage.name == name);
            let counts = stages.flat_map(|stage| &stage.counts);
            let decided: u64 = counts
                .filter(|count| count.0 == "decided orders")
                .map(|count| count.1)
                .sum();
            assert!(decided > 0, "{level} was not decided by what is {name}");
        }
    }
}

/// The numbers help, and wrong ones do no harm.
#[test]
fn serial_runs_with_version_numbers_hold() {
    for numbers in [Numbers::Right, Numbers::Wrong] {
        let run = Run {
            sessions: 100,
            txns: 300,
            keys: 60,
            values: 0,
            scrambled: false,
            numbers,
            times: Times::None,
        };
        all_hold(&run, 20..22);
        if numbers == Numbers::Right {
            let level = Level::StrongSessionSnapshotIsolation;
            let answers = check(&serial_run(&run, 20), &[level], &Options::default());
            let mut stages = answers[0].stages.iter();
            let guess = stages.find(|stage| stage.name == "guess");
            let guess = guess.expect("an order was guessed");
            assert_eq!(guess.counts, [("conflicts", 0)]);
        }
    }
}

#[test]
fn serial_runs_with_few_values_hold() {
    for (sessions, keys, values) in [(8, 100, 6), (8, 150, 4), (30, 150, 6)] {
        let run = Run {
            sessions,
            txns: 200,
            keys,
            values,
            scrambled: false,
            numbers: Numbers::None,
            times: Times::None,
        };
        all_hold(&run, 10..12);
    }
}

/// With three values a key, most reads have a handful of possible writers, and the solver has too many choices.
#[test]
fn serial_runs_with_three_values_hold() {
    let levels = [
        Level::StrongSessionSerializable,
        Level::StrongSessionSnapshotIsolation,
        Level::StrictSerializable,
    ];
    for (sessions, txns, keys) in [(2, 600, 50), (10, 100, 30), (10, 150, 50)] {
        let run = Run {
            sessions,
            txns,
            keys,
            values: 3,
            scrambled: false,
            numbers: Numbers::None,
            times: Times::Right,
        };
        let history = serial_run(&run, 50);
        for answer in check(&history, &levels, &Options::default()) {
            let verdict = &answer.result.verdict;
            assert!(matches!(verdict, Verdict::Holds(_)), "{sessions}, {txns}");
            let refusal = history::certify(&history, &Initial::default(), &answer.result);
            assert_eq!(refusal, Ok(()), "{sessions}, {txns}");
        }
        // As above, one at a time and without times to go by.
        let run = Run {
            times: Times::None,
            ..run
        };
        let history = serial_run(&run, 51);
        for level in &levels[..2] {
            let answer = &check(&history, &[*level], &Options::default())[0];
            let verdict = &answer.result.verdict;
            assert!(matches!(verdict, Verdict::Holds(_)), "{sessions}, {txns}");
            let refusal = history::certify(&history, &Initial::default(), &answer.result);
            assert_eq!(refusal, Ok(()), "{sessions}, {txns}");
        }
    }
}

/// Times help, and wrong ones do no harm.
#[test]
fn serial_runs_with_times_hold() {
    for times in [Times::Right, Times::Backwards, Times::Wrong] {
        let run = Run {
            sessions: 100,
            txns: 300,
            keys: 60,
            values: 0,
            scrambled: false,
            numbers: Numbers::None,
            times,
        };
        all_hold(&run, 30..32);
    }
}
