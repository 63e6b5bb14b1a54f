//! The strong levels against the executable definitions, on small random histories. Every verdict
//! is certified.
#![allow(missing_docs)]

mod small;

use checker::{Options, check};
use history::{Initial, Level, Verdict, definition};
use small::{Shape, random_history, show};

/// How many seeds a test tries at most; `ISOLDE_SEEDS` asks for more.
fn seeds(start: u64, count: u64) -> std::ops::Range<u64> {
    let factor = std::env::var("ISOLDE_SEEDS").ok();
    let factor: u64 = factor.and_then(|text| text.parse().ok()).unwrap_or(1);
    start..start + count * factor
}

/// Every strong level must get the verdict of the definition. Prints the seed on failure.
fn agree(shape: &Shape, seeds: std::ops::Range<u64>) {
    let levels: Vec<Level> = Level::all()
        .filter(|level| !Level::WEAK.contains(level))
        .collect();
    let (mut violated, mut held, mut unknown) = (0u64, 0u64, 0u64);
    for seed in seeds {
        let history = random_history(shape, seed);
        let Ok(truth) = definition::holds_all(&history, &Initial::default()) else {
            continue;
        };
        for answer in check(&history, &levels, &Options::default()) {
            let level = answer.result.level;
            let holds = truth
                .iter()
                .find(|(other, _)| *other == level)
                .expect("every level")
                .1;
            let said = match &answer.result.verdict {
                Verdict::Holds(_) => true,
                Verdict::Violated(_) => false,
                Verdict::Unknown(why) => {
                    assert!(
                        shape.lists || (shape.duplicates > 0 && shape.indeterminate > 0),
                        "seed {seed}, {level}: {why}\n{}",
                        show(&history)
                    );
                    unknown += 1;
                    continue;
                }
            };
            assert_eq!(
                said,
                holds,
                "seed {seed}, {level}: the definition says holds = {holds}\n{}\n{:#?}",
                show(&history),
                answer.result.verdict
            );
            if let Err(refusal) = history::certify(&history, &Initial::default(), &answer.result) {
                panic!(
                    "seed {seed}, {level}: {refusal}\n{}\n{:#?}",
                    show(&history),
                    answer.result.verdict
                );
            }
            violated += u64::from(!holds);
            held += u64::from(holds);
        }
    }
    println!("{held} hold, {violated} are violated, {unknown} unknown");
    assert!(violated > 0 && held > 0, "both verdicts should occur");
    assert!(
        unknown * 20 < violated + held,
        "{unknown} answers are unknown"
    );
}

#[test]
fn registers_agree_with_the_definition() {
    agree(&Shape::default(), seeds(0, 3000));
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
fn lists_agree_with_the_definition() {
    agree(
        &Shape {
            lists: true,
            ..Shape::default()
        },
        seeds(700_000, 2000),
    );
}
