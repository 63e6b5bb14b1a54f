//! The engine against the executable definitions, on thousands of small random histories. Every
//! verdict is certified.
use crate::small;

use checker::{Options, check};
use history::{Initial, Level, Verdict, definition};
use small::{Shape, random_history, show};
use std::collections::BTreeSet;

/// Every weak level must get the verdict of the definition. Prints the seed on failure.
fn agree(shape: &Shape, seeds: std::ops::Range<u64>) {
    let levels = Level::WEAK;
    let mut violated = 0;
    for seed in seeds {
        let history = random_history(shape, seed);
        let truth = match definition::holds_all(&history, &Initial::default()) {
            Ok(truth) => truth,
            Err(reason) => panic!("seed {seed} is out of scope: {reason}"),
        };
        let checked = check(&history, &levels, &Options::default());
        for answer in checked {
            let level = answer.result.level;
            let holds = truth
                .iter()
                .find(|(other, _)| *other == level)
                .expect("every level")
                .1;
            let said = match &answer.result.verdict {
                Verdict::Holds(_) => true,
                Verdict::Violated(_) => false,
                Verdict::Unknown(why) => panic!("seed {seed}, {level}: {why}\n{}", show(&history)),
            };
            violated += u64::from(!holds);
            if let Err(refusal) = history::certify(&history, &Initial::default(), &answer.result) {
                panic!(
                    "seed {seed}, {level}: {refusal}\n{}\n{:#?}",
                    show(&history),
                    answer.result.verdict
                );
            }
            assert_eq!(
                said,
                holds,
                "seed {seed}, {level}: the definition says holds = {holds}\n{}\n{:#?}",
                show(&history),
                answer.result.verdict
            );
        }
    }
    assert!(violated > 0, "the histories should not all be fine");
}

#[test]
fn registers_agree_with_the_definition() {
    agree(&Shape::default(), 0..3000);
}

#[test]
fn aborted_and_indeterminate_transactions_agree_with_the_definition() {
    agree(
        &Shape {
            aborted: 20,
            indeterminate: 25,
            ..Shape::default()
        },
        10_000..12_000,
    );
}

#[test]
fn values_written_twice_agree_with_the_definition() {
    agree(
        &Shape {
            duplicates: 30,
            indeterminate: 10,
            txns: 5,
            ..Shape::default()
        },
        20_000..21_500,
    );
}

#[test]
fn values_written_again_by_whoever_may_have_committed_agree_with_the_definition() {
    agree(
        &Shape {
            duplicates: 60,
            indeterminate: 40,
            txns: 5,
            ..Shape::default()
        },
        25_000..27_000,
    );
}

#[test]
fn read_modify_writes_agree_with_the_definition() {
    agree(
        &Shape {
            keys: 1,
            read_modify_write: 70,
            ..Shape::default()
        },
        30_000..31_500,
    );
}

#[test]
fn odd_reads_agree_with_the_definition() {
    agree(
        &Shape {
            wild: 12,
            aborted: 10,
            ..Shape::default()
        },
        40_000..42_000,
    );
}

#[test]
fn lists_agree_with_the_definition() {
    agree(
        &Shape {
            lists: true,
            ..Shape::default()
        },
        50_000..52_000,
    );
}

#[test]
fn lists_of_uncertain_transactions_agree_with_the_definition() {
    agree(
        &Shape {
            lists: true,
            aborted: 10,
            indeterminate: 25,
            ..Shape::default()
        },
        53_000..56_000,
    );
}

#[test]
fn spoilt_lists_agree_with_the_definition() {
    agree(
        &Shape {
            lists: true,
            wild: 10,
            aborted: 10,
            indeterminate: 15,
            ..Shape::default()
        },
        56_000..60_000,
    );
}

/// A register's value written again makes a transaction of unknown outcome count, and with it what it appended.
#[test]
fn lists_beside_values_written_again_agree_with_the_definition() {
    agree(
        &Shape {
            lists: true,
            mixed: true,
            duplicates: 60,
            indeterminate: 35,
            txns: 5,
            ..Shape::default()
        },
        60_000..66_000,
    );
}

#[test]
fn patterns_agree_with_their_definitions() {
    let shape = Shape {
        txns: 7,
        keys: 2,
        wild: 3,
        ..Shape::default()
    };
    let mut seen = BTreeSet::new();
    for seed in 60_000..66_000 {
        let history = random_history(&shape, seed);
        let truth = definition::patterns(&history, &Initial::default()).expect("in scope");
        let levels = [Level::Causal, Level::UpdateAtomic];
        let checked = check(&history, &levels, &Options::default());
        let mut said = BTreeSet::new();
        for (answer, only_lost_updates) in checked.iter().zip([false, true]) {
            if let Verdict::Violated(anomalies) = &answer.result.verdict {
                let kinds = anomalies.iter().map(|anomaly| anomaly.kind);
                said.extend(kinds.filter(|&kind| {
                    !only_lost_updates || kind == history::AnomalyKind::LostUpdate
                }));
            }
        }
        assert_eq!(said, truth, "seed {seed}\n{}", show(&history));
        seen.extend(truth);
    }
    assert!(seen.len() >= 12, "only {seen:?} were met");
}
