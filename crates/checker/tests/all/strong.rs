//! The strong levels against the executable definitions, on small random histories. Every verdict
//! is certified.
use crate::small;

use checker::{Options, Strategy, check};
use history::{AnomalyKind, Builder, History, Initial, Level, Op, TxnId, Value, Verdict};
use small::{Shape, Tally, random_history, seeds, show};

/// Whoever cannot wait for the strong levels knows the weak ones once the strongest is violated.
#[test]
fn weak_levels_are_answered_before_the_other_strong_ones() {
    let shape = Shape::default();
    let seed = (0..1000).find(|seed| {
        let history = random_history(&shape, *seed);
        let answers = check(&history, &[Level::StrictSerializable], &Options::default());
        matches!(answers[0].result.verdict, Verdict::Violated(_))
    });
    let history = random_history(&shape, seed.expect("a violated history"));
    let told = std::sync::Mutex::new(Vec::new());
    let remember = |answer: &checker::Checked| {
        told.lock().expect("one thread").push(answer.result.level);
    };
    let options = Options {
        answered: &remember,
        ..Options::default()
    };
    let levels: Vec<Level> = Level::all().collect();
    let answers = check(&history, &levels, &options);
    let order: Vec<Level> = answers.iter().map(|answer| answer.result.level).collect();
    assert_eq!(order, levels, "as they were asked");
    let told = told.lock().expect("one thread");
    assert_eq!(told[0], Level::StrictSerializable);
    let weak = &told[1..=Level::WEAK.len()];
    assert!(
        weak.iter().all(|level| Level::WEAK.contains(level)),
        "{told:?}"
    );
}

/// A level that holds proves every weaker one, without another look at the history.
#[test]
fn what_follows_from_a_stronger_level_certifies() {
    let shape = Shape::default();
    let mut held = 0;
    for seed in seeds(0, 60) {
        let history = random_history(&shape, seed);
        let known = check(
            &history,
            &[Level::StrongSessionSerializable],
            &Options::default(),
        );
        let holds = matches!(known[0].result.verdict, Verdict::Holds(_));
        held += usize::from(holds);
        for level in Level::all() {
            let answer = checker::follows(&known, level);
            let is_weaker = Level::StrongSessionSerializable.implies(level);
            assert_eq!(answer.is_some(), holds && is_weaker, "seed {seed}: {level}");
            let Some(answer) = answer else { continue };
            assert_eq!(answer.result.level, level);
            let refusal = history::certify(&history, &Initial::default(), &answer.result);
            assert_eq!(refusal, Ok(()), "seed {seed}: {level}");
        }
    }
    assert!(held > 5, "{held} hold");
}

/// Two transactions that read the same version and both overwrite it are looked at before an order of all is looked for.
#[test]
fn a_lost_update_is_found_before_versions_are_ordered() {
    let mut lines = String::from("{\"session\":0,\"ops\":[[\"w\",0,1]]}\n");
    for (session, value) in [(1, 2), (2, 3)] {
        let ops = format!("[\"r\",0,1],[\"w\",0,{value}]");
        lines += &format!("{{\"session\":{session},\"ops\":[{ops}]}}\n");
    }
    // Others, so that the two are a small part.
    for session in 3..40 {
        let ops = format!("[\"w\",1,{session}],[\"w\",2,{session}]");
        lines += &format!("{{\"session\":{session},\"ops\":[{ops}]}}\n");
    }
    let history = small::parse(&lines);
    let forbidding = |level: &Level| level.implies(Level::NonMonotonicSnapshotIsolation);
    for level in Level::all().filter(forbidding) {
        let answer = &check(&history, &[level], &Options::default())[0];
        let Verdict::Violated(anomalies) = &answer.result.verdict else {
            panic!("{level} forbids it");
        };
        assert_eq!(anomalies[0].kind, AnomalyKind::LostUpdate, "{level}");
        let refusal = history::certify(&history, &Initial::default(), &answer.result);
        assert_eq!(refusal, Ok(()), "{level}");
        let is_search = |name| ["likely", "saturate", "repair", "solve"].contains(&name);
        let mut stages = answer.stages.iter();
        assert!(!stages.any(|stage| is_search(stage.name)), "{level}");
    }
    let answer = &check(&history, &[Level::Prefix], &Options::default())[0];
    assert!(matches!(answer.result.verdict, Verdict::Holds(_)));
}

/// Every strong level must get the verdict of the definition. Prints the seed on failure.
fn agree(shape: &Shape, seeds: std::ops::Range<u64>) {
    let levels: Vec<Level> = Level::all()
        .filter(|level| !Level::WEAK.contains(level))
        .collect();
    let mut tally = Tally::default();
    for seed in seeds {
        let history = random_history(shape, seed);
        let checked = tally.add(&history, &levels, &Options::default(), false);
        checked.unwrap_or_else(|wrong| panic!("seed {seed}, {wrong}"));
    }
    println!("{tally:?}");
    assert!(
        tally.violated > 0 && tally.held > 0,
        "both verdicts should occur"
    );
}

#[test]
fn registers_agree_with_the_definition() {
    agree(&Shape::default(), seeds(0, 3000));
}

#[test]
fn lists_beside_values_written_again_agree_with_the_definition() {
    let shape = Shape {
        lists: true,
        mixed: true,
        duplicates: 60,
        indeterminate: 35,
        txns: 5,
        ..Shape::default()
    };
    agree(&shape, seeds(700_000, 4000));
}

/// Most choices of writers contradict lists, so that one choice after another has to be tried.
#[test]
fn lists_that_rule_writers_out_agree_with_the_definition() {
    let shape = Shape {
        lists: true,
        mixed: true,
        keys: 3,
        ops: 4,
        duplicates: 70,
        aborted: 5,
        indeterminate: 45,
        wild: 4,
        timed: true,
        ..Shape::default()
    };
    agree(&shape, seeds(750_000, 1500));
}

#[test]
fn blind_writes_on_one_key_agree_with_the_definition() {
    agree(
        &Shape {
            keys: 1,
            txns: 7,
            ..Shape::default()
        },
        seeds(100_000, 1500),
    );
}

#[test]
fn many_sessions_agree_with_the_definition() {
    agree(
        &Shape {
            sessions: 7,
            txns: 7,
            ops: 4,
            keys: 3,
            ..Shape::default()
        },
        seeds(200_000, 2000),
    );
}

#[test]
fn indeterminate_transactions_agree_with_the_definition() {
    agree(
        &Shape {
            aborted: 10,
            indeterminate: 30,
            ..Shape::default()
        },
        seeds(300_000, 2000),
    );
}

/// Numbers of versions, some of them wrong, that nobody was told to believe.
#[test]
fn version_numbers_change_no_verdict() {
    agree(
        &Shape {
            recorded: 80,
            sessions: 4,
            keys: 3,
            txns: 6,
            ..Shape::default()
        },
        seeds(1_300_000, 1500),
    );
}

#[test]
fn read_modify_writes_agree_with_the_definition() {
    agree(
        &Shape {
            read_modify_write: 70,
            ..Shape::default()
        },
        seeds(400_000, 2000),
    );
}

#[test]
fn values_written_twice_agree_with_the_definition() {
    agree(
        &Shape {
            duplicates: 40,
            txns: 5,
            ..Shape::default()
        },
        seeds(500_000, 2000),
    );
}

#[test]
fn values_written_twice_perhaps_agree_with_the_definition() {
    agree(
        &Shape {
            duplicates: 40,
            indeterminate: 25,
            txns: 5,
            ..Shape::default()
        },
        seeds(600_000, 2000),
    );
}

#[test]
fn real_time_agrees_with_the_definition() {
    for (lists, start) in [(false, 1_100_000), (true, 1_200_000)] {
        let shape = Shape {
            timed: true,
            sessions: 5,
            indeterminate: 10,
            lists,
            ..Shape::default()
        };
        agree(&shape, seeds(start, 1500));
    }
}

#[test]
fn times_and_values_written_twice_agree_with_the_definition() {
    let shape = Shape {
        timed: true,
        duplicates: 40,
        indeterminate: 20,
        txns: 5,
        ..Shape::default()
    };
    agree(&shape, seeds(1_300_000, 1500));
}

#[test]
fn lists_agree_with_the_definition() {
    agree(
        &Shape {
            lists: true,
            ..Shape::default()
        },
        seeds(700_000, 2000),
    );
}

#[test]
fn uncertain_and_spoilt_lists_agree_with_the_definition() {
    for (wild, start) in [(0, 710_000), (6, 720_000)] {
        let shape = Shape {
            lists: true,
            aborted: 8,
            indeterminate: 20,
            timed: true,
            wild,
            ..Shape::default()
        };
        agree(&shape, seeds(start, 2000));
    }
}

/// Without a guess, without pruning, without repair: the verdicts stay the same.
#[test]
fn shortcuts_change_no_verdict() {
    let shapes = [
        Shape {
            sessions: 5,
            txns: 10,
            keys: 3,
            ..Shape::default()
        },
        Shape {
            txns: 8,
            keys: 2,
            duplicates: 30,
            indeterminate: 10,
            ..Shape::default()
        },
    ];
    let levels = [
        Level::Prefix,
        Level::SnapshotIsolation,
        Level::StrongSessionSnapshotIsolation,
        Level::Serializable,
        Level::StrongSessionSerializable,
    ];
    for (shape, seed) in shapes.iter().zip([800_000, 900_000]) {
        for seed in seeds(seed, 600) {
            let history = random_history(shape, seed);
            let verdicts = |bits: u32| -> Vec<&'static str> {
                let options = Options {
                    strategy: Strategy {
                        cycles: true,
                        guess: bits & 1 != 0,
                        prune: bits & 2 != 0,
                        repair: bits & 4 != 0,
                        ..Strategy::default()
                    },
                    ..Options::default()
                };
                let checked = check(&history, &levels, &options);
                for answer in &checked {
                    let decided = !matches!(answer.result.verdict, Verdict::Unknown(_));
                    let refusal = history::certify(&history, &Initial::default(), &answer.result);
                    let is_proved = refusal.is_ok() || !decided;
                    assert!(is_proved, "seed {seed}, shortcuts {bits}: {refusal:?}");
                }
                checked
                    .iter()
                    .map(|answer| answer.result.verdict.name())
                    .collect()
            };
            let all = verdicts(7);
            for bits in 0..7 {
                assert_eq!(
                    verdicts(bits),
                    all,
                    "seed {seed}, shortcuts {bits}\n{}",
                    show(&history)
                );
            }
        }
    }
}

/// Renaming keys, turning sessions round and leaving out a transaction that nobody read from: a level
/// that holds still holds; the first two change nothing at all.
#[test]
fn verdicts_survive_renaming_and_reordering() {
    let shape = Shape {
        sessions: 4,
        txns: 9,
        keys: 3,
        ..Shape::default()
    };
    let levels: Vec<Level> = Level::all().collect();
    let verdicts = |history: &History| -> Vec<&'static str> {
        let checked = check(history, &levels, &Options::default());
        checked
            .iter()
            .map(|answer| answer.result.verdict.name())
            .collect()
    };
    for seed in seeds(1_000_000, 500) {
        let history = random_history(&shape, seed);
        let told = verdicts(&history);
        assert_eq!(
            verdicts(&rebuilt(&history, None)),
            told,
            "seed {seed}\n{}",
            show(&history)
        );
        for left_out in history.txn_ids().filter(|&txn| is_unread(&history, txn)) {
            let fewer = verdicts(&rebuilt(&history, Some(left_out)));
            for (before, after) in told.iter().zip(fewer) {
                let keeps = *before != "holds" || after == "holds";
                assert!(
                    keeps,
                    "seed {seed} without {left_out:?}\n{}",
                    show(&history)
                );
            }
        }
        for (at, &level) in levels.iter().enumerate() {
            for (other, verdict) in levels.iter().zip(&told) {
                let keeps = told[at] != "holds" || !level.implies(*other) || *verdict == "holds";
                assert!(
                    keeps,
                    "seed {seed}: {level} holds, {other} does not\n{}",
                    show(&history)
                );
            }
        }
    }
}

/// The same history with other names of keys and the sessions the other way round, perhaps without
/// one transaction.
fn rebuilt(history: &History, left_out: Option<TxnId>) -> History {
    let mut builder = Builder::new();
    let sessions: Vec<_> = history.sessions().collect();
    for session in sessions.into_iter().rev() {
        let id = builder.session(history.session_label(session));
        for txn in history.session_txns(session).map(TxnId) {
            if Some(txn) == left_out {
                continue;
            }
            let ops: Vec<Op> = history
                .txn_ops(txn)
                .map(|(_, op)| Op {
                    key: builder.key(&Value::Text(
                        format!("renamed {}", history.key_name(op.key)).into(),
                    )),
                    ..op
                })
                .collect();
            builder
                .push_txn(id, u64::from(txn.0), history.status(txn), None, &ops)
                .expect("few enough");
        }
    }
    builder.finish()
}

fn is_unread(history: &History, writer: TxnId) -> bool {
    let written = |op: &Op| {
        let mut writes = history.txn_ops(writer).map(|(_, write)| write);
        writes.any(|write| write.kind.is_write() && (write.key, write.value) == (op.key, op.value))
    };
    let mut others = history.txn_ids().filter(|&txn| txn != writer);
    !others.any(|txn| {
        history
            .txn_ops(txn)
            .any(|(_, op)| !op.kind.is_write() && written(&op))
    })
}
