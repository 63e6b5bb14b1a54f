//! The cycles of list histories: verdicts against the executable definitions, evidence against the
//! certifier, and the cycles themselves against all simple cycles of a graph made by hand.
use crate::small;
use crate::support;

mod known;

use checker::{Checked, Options, Strategy, check};
use history::{Anomaly, AnomalyKind, History, Initial, Level, Verdict, definition};
use known::{Known, Shape, cycle_shape};
use small::{random_history, seeds, show};
use std::collections::BTreeMap;

fn strong_levels() -> Vec<Level> {
    let is_strong = |level: &Level| !Level::WEAK.contains(level);
    Level::all().filter(is_strong).collect()
}

#[derive(Default, Debug)]
struct Tally {
    held: u64,
    violated: u64,
    unknown: u64,
    by_cycles: u64,
    kinds: BTreeMap<&'static str, u64>,
}

/// Holds every strong verdict on a history against the definition, the certifier and the cycles.
fn agree(history: &History, seed: u64, tally: &mut Tally) {
    let Ok(truth) = definition::holds_all(history, &Initial::default()) else {
        return;
    };
    let known = Known::new(history);
    for answer in check(history, &strong_levels(), &Options::default()) {
        let level = answer.result.level;
        let context = || format!("seed {seed}, {level}\n{}", show(history));
        let holds = truth.iter().find(|(other, _)| *other == level).unwrap().1;
        let verdict = &answer.result.verdict;
        match verdict {
            Verdict::Unknown(why) => {
                tally.unknown += 1;
                println!("{why}: {}", context());
                continue;
            }
            Verdict::Holds(_) => tally.held += 1,
            Verdict::Violated(_) => tally.violated += 1,
        }
        let said = matches!(verdict, Verdict::Holds(_));
        assert_eq!(said, holds, "{}\n{verdict:#?}", context());
        if let Err(refusal) = history::certify(history, &Initial::default(), &answer.result) {
            panic!("{refusal}: {}\n{verdict:#?}", context());
        }
        if let (Some(known), Verdict::Violated(anomalies)) = (&known, verdict) {
            check_cycles(known, level, anomalies, tally, &context);
        }
    }
}

/// Every class of cycles that contradicts the level is reported, with a shortest one, and counted.
fn check_cycles(
    known: &Known,
    level: Level,
    anomalies: &[Anomaly],
    tally: &mut Tally,
    context: &dyn Fn() -> String,
) {
    let expected = known.expected(level);
    if expected.is_empty() {
        return;
    }
    tally.by_cycles += 1;
    let mut reported: BTreeMap<Shape, (u64, usize)> = BTreeMap::new();
    for anomaly in anomalies.iter().filter(|anomaly| anomaly.ops.is_empty()) {
        let shape = cycle_shape(&anomaly.edges);
        assert!(
            is_named(anomaly.kind, shape),
            "{} is {shape:?}: {}\n{anomaly:#?}",
            anomaly.kind,
            context()
        );
        for edge in &anomaly.edges {
            assert!(known.has(edge), "{edge:?}: {}", context());
        }
        *tally.kinds.entry(anomaly.kind.name()).or_default() += 1;
        let entry = reported.entry(shape).or_insert((0, usize::MAX));
        entry.0 += anomaly.count;
        entry.1 = entry.1.min(anomaly.edges.len());
    }
    // Of a read that is impossible nobody says which version it returned.
    if anomalies.iter().any(|anomaly| !anomaly.ops.is_empty()) {
        return;
    }
    assert_eq!(reported, expected, "{}\n{anomalies:#?}", context());
}

/// Whether a name is one for cycles of this class (0 to 4) and scope (0 to 2).
fn is_named(kind: AnomalyKind, (class, scope): Shape) -> bool {
    let suffix = ["", "-process", "-realtime"][scope];
    let name = ["G0", "G1c", "G-single", "G-nonadjacent", "G2-item"][class];
    let story = match class {
        2 => "lost-update",
        3 => "long-fork",
        4 => "write-skew",
        _ => "",
    };
    kind.name() == format!("{name}{suffix}") || (scope == 0 && kind.name() == story)
}

fn run(seeds: std::ops::Range<u64>, kinds: &[&str], history_of: impl Fn(u64) -> History) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        agree(&history_of(seed), seed, &mut tally);
    }
    println!("{tally:?}");
    assert!(tally.held > 0 && tally.by_cycles > 100, "{tally:?}");
    assert!(
        tally.unknown * 20 < tally.held + tally.violated,
        "{tally:?}"
    );
    for kind in kinds {
        assert!(tally.kinds.contains_key(kind), "no {kind}: {tally:?}");
    }
    tally
}

/// Lists that contradict each other: the first cycle of a search is not certain, and one that is comes up only where
/// real time is looked at, which it does not need.
#[test]
fn regression_a_cycle_is_named_after_the_orders_it_needs() {
    small::all_agree(
        "{\"session\":0,\"ops\":[[\"append\",0,12]],\"start\":35,\"end\":49}\n\
         {\"session\":0,\"ops\":[[\"append\",0,13],[\"append\",0,14],[\"rlist\",0,[1,5,6,7,8,9,10,11,12,13,14]]],\"start\":47,\"end\":57}\n\
         {\"session\":1,\"ops\":[[\"append\",0,5],[\"rlist\",0,[1,7,8,9,10,11,12,13,14,5]],[\"append\",0,6],[\"rlist\",0,[1,7,8,9,5,6]]],\"start\":13,\"end\":23}\n\
         {\"session\":2,\"ops\":[[\"append\",0,7],[\"rlist\",0,[1,5,6,10,11,12,13,14,7]],[\"rlist\",0,[1,5,6,10,11,12,7]],[\"append\",0,9]],\"start\":24,\"end\":31}\n",
    );
}

#[test]
fn random_lists_agree() {
    let shape = small::Shape {
        lists: true,
        ..small::Shape::default()
    };
    let kinds = [
        "G0",
        "G1c",
        "G-single",
        "G2-item",
        "write-skew",
        "lost-update",
    ];
    run(seeds(0, 1500), &kinds, |seed| random_history(&shape, seed));
}

#[test]
fn random_lists_with_times_agree() {
    let shape = small::Shape {
        lists: true,
        timed: true,
        sessions: 5,
        keys: 3,
        ..small::Shape::default()
    };
    let kinds = [
        "G0-realtime",
        "G1c-realtime",
        "G-single-realtime",
        "G-single-process",
    ];
    run(seeds(10_000, 1500), &kinds, |seed| {
        random_history(&shape, seed)
    });
}

/// Many appends that nobody read, and many readers of what came before.
#[test]
fn appends_that_nobody_read_agree() {
    let shape = small::Shape {
        lists: true,
        keys: 1,
        txns: 7,
        ops: 2,
        ..small::Shape::default()
    };
    run(seeds(20_000, 1500), &["lost-update"], |seed| {
        random_history(&shape, seed)
    });
}

#[test]
fn plausible_lists_agree() {
    let shape = support::Shape {
        sessions: 4,
        txns: 6,
        ops: 3,
        keys: 3,
        aborted: 0,
        indeterminate: 0,
        duplicates: false,
        timed: true,
        spare_sessions: 0,
    };
    let kinds = [
        "write-skew",
        "G2-item-process",
        "G2-item-realtime",
        "G1c-realtime",
    ];
    run(seeds(30_000, 2000), &kinds, |seed| {
        support::plausible::plausible_lists(seed, &shape)
    });
}

#[test]
fn aborted_and_indeterminate_transactions_agree() {
    let shape = support::Shape {
        sessions: 3,
        txns: 6,
        ops: 3,
        keys: 2,
        aborted: 10,
        indeterminate: 25,
        duplicates: false,
        timed: true,
        spare_sessions: 0,
    };
    run(seeds(40_000, 2000), &["G2-item-process"], |seed| {
        support::plausible::plausible_lists(seed, &shape)
    });
}

/// The graph is a shortcut: without it the verdicts are the same.
#[test]
fn the_graph_changes_no_verdict() {
    let shape = support::Shape {
        sessions: 6,
        txns: 14,
        ops: 4,
        keys: 4,
        aborted: 0,
        indeterminate: 0,
        duplicates: false,
        timed: true,
        spare_sessions: 0,
    };
    for seed in seeds(50_000, 300) {
        let history = support::plausible::plausible_lists(seed, &shape);
        let verdicts = |cycles: bool| -> Vec<&'static str> {
            let options = Options {
                strategy: Strategy {
                    cycles,
                    ..Strategy::default()
                },
                ..Options::default()
            };
            let checked = check(&history, &strong_levels(), &options);
            let is_open = |answer: &&Checked| matches!(answer.result.verdict, Verdict::Unknown(_));
            for answer in checked.iter().filter(|answer| !is_open(answer)) {
                let refusal = history::certify(&history, &Initial::default(), &answer.result);
                assert!(
                    refusal.is_ok(),
                    "seed {seed}: {refusal:?}\n{}",
                    show(&history)
                );
            }
            checked
                .iter()
                .map(|answer| answer.result.verdict.name())
                .collect()
        };
        assert_eq!(
            verdicts(true),
            verdicts(false),
            "seed {seed}\n{}",
            show(&history)
        );
    }
}
