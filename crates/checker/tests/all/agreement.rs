//! The engine against the executable definitions, on thousands of small random histories. Every
//! verdict is certified.
use crate::small;

use checker::{Options, check};
use history::{Initial, Level, Verdict, definition};
use small::{Shape, Tally, random_history, seeds, show};
use std::collections::BTreeSet;

/// Every weak level must get the verdict of the definition. Prints the seed on failure.
fn agree(shape: &Shape, seeds: std::ops::Range<u64>) {
    let mut tally = Tally::default();
    for seed in seeds {
        let history = random_history(shape, seed);
        let checked = tally.add(&history, &Level::WEAK, &Options::default(), false);
        checked.unwrap_or_else(|wrong| panic!("seed {seed}, {wrong}"));
    }
    assert_eq!(tally.out_of_scope, 0);
    assert!(tally.violated > 0, "the histories should not all be fine");
}

#[test]
fn registers_agree_with_the_definition() {
    agree(&Shape::default(), seeds(0, 3000));
}

#[test]
fn aborted_and_indeterminate_transactions_agree_with_the_definition() {
    agree(
        &Shape {
            aborted: 20,
            indeterminate: 25,
            ..Shape::default()
        },
        seeds(10_000, 2000),
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
        seeds(20_000, 1500),
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
        seeds(25_000, 2000),
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
        seeds(30_000, 1500),
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
        seeds(40_000, 2000),
    );
}

#[test]
fn lists_agree_with_the_definition() {
    agree(
        &Shape {
            lists: true,
            ..Shape::default()
        },
        seeds(50_000, 2000),
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
        seeds(53_000, 3000),
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
        seeds(56_000, 4000),
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
        seeds(60_000, 6000),
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
    for seed in seeds(60_000, 6000) {
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
