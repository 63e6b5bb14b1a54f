//! What is told while a strong level is decided, and where a limit ends it.
use crate::formulas;

use checker::{Budget, Checked, Count, Options, Strategy, check};
use history::{Level, Verdict};
use std::sync::Mutex;

/// What was told, in turn: stages, and what was counted in them.
#[derive(Default)]
struct Told {
    stages: Vec<String>,
    counts: Vec<(String, Vec<Count>)>,
}

/// Decides a formula of which only a search can tell that it has no solution; ends in a stage.
fn decide(ends_in: &str, strategy: Strategy) -> (Checked, Told) {
    let history = formulas::unsatisfiable();
    let told = Mutex::new(Told::default());
    let progress = |stage: &str| {
        let mut told = told.lock().expect("one thread");
        told.stages.push(stage.to_string());
    };
    let counts = |counts: &[Count]| {
        let mut told = told.lock().expect("one thread");
        let stage = told.stages.last().cloned().unwrap_or_default();
        told.counts.push((stage, counts.to_vec()));
    };
    let probe = || {
        let told = told.lock().expect("one thread");
        let is_over = told.stages.last().is_some_and(|stage| stage == ends_in);
        is_over.then(|| "enough".to_string())
    };
    let options = Options {
        budget: Budget {
            probe: &probe,
            progress: &progress,
            counts: &counts,
        },
        strategy,
        ..Options::default()
    };
    let answer = check(&history, &[Level::Serializable], &options).remove(0);
    (answer, told.into_inner().expect("one thread"))
}

#[test]
fn every_stage_tells_how_far_it_is() {
    let (answer, told) = decide("never", Strategy::default());
    assert!(matches!(answer.result.verdict, Verdict::Violated(_)));
    let expected = [
        "observing",
        "serializable",
        "guessing an order",
        "pruning",
        "repairing",
        "solving",
        "making the evidence smaller",
    ];
    let mut stages = told.stages.iter();
    for stage in expected {
        assert!(
            stages.any(|told| told == stage),
            "{stage}: {:?}",
            told.stages
        );
    }
    for stage in ["pruning", "repairing", "solving"] {
        let mut counts = told.counts.iter().filter(|(at, _)| at == stage);
        let left = |(_, counts): &(String, Vec<Count>)| counts.iter().any(is_left);
        assert!(counts.any(left), "{stage}: {:?}", told.counts);
    }
    let names: Vec<&str> = answer.stages.iter().map(|stage| stage.name).collect();
    assert_eq!(
        names,
        [
            "observe",
            "weak levels",
            "guess",
            "prune",
            "repair",
            "solve",
            "evidence"
        ]
    );
}

fn is_left(&(what, left): &Count) -> bool {
    what == "conflicts left" && left > 0
}

#[test]
fn a_limit_names_the_stage_and_how_far_it_was() {
    for (ends_in, stage, last) in [
        ("pruning", "(stage: prune", "prune"),
        ("repairing", "(stage: repair", "repair"),
        ("solving", "(stage: solve", "solve"),
    ] {
        let (answer, _) = decide(ends_in, Strategy::default());
        let Verdict::Unknown(reason) = &answer.result.verdict else {
            panic!("{ends_in}: {:?}", answer.result.verdict);
        };
        assert!(
            reason.starts_with("enough ") && reason.contains(stage),
            "{reason}"
        );
        // What it took so far is not lost.
        let name = answer.stages.last().map(|stage| stage.name);
        assert_eq!(name, Some(last), "{ends_in}: {:?}", answer.stages);
    }
}

/// A strong level that takes long makes way for the weak ones, and is decided behind them.
#[test]
fn weak_levels_do_not_wait_for_a_search() {
    let told = Mutex::new(Vec::new());
    let remember = |answer: &Checked| {
        let mut told = told.lock().expect("one thread");
        told.push(answer.result.level);
    };
    let options = Options {
        answered: &remember,
        patience: std::time::Duration::ZERO,
        ..Options::default()
    };
    let levels = [Level::Serializable, Level::ReadCommitted, Level::Causal];
    let answers = check(&formulas::unsatisfiable(), &levels, &options);
    let is_violated: Vec<bool> = answers
        .iter()
        .map(|answer| matches!(answer.result.verdict, Verdict::Violated(_)))
        .collect();
    assert_eq!(is_violated, [true, false, false]);
    let told = told.into_inner().expect("one thread");
    assert_eq!(told.last(), Some(&Level::Serializable));
}
