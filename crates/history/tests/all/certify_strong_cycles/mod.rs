//! Cycles as evidence against the levels above causal: together, all cycles that a level forbids
//! are accepted iff the definition says that the level is violated.

mod enumerate;
mod named;
use crate::support;

use enumerate::{cycles, edges, is_forbidden, reads_are_possible};
use history::AnomalyKind::{self, NoVersionOrder};
use history::certify::certify;
use history::definition::{OutOfScope, holds_all};
use history::{
    Anomaly, Edge, EdgeKind, History, Initial, KeyId, Level, LevelResult, OpId, Reason, TxnId,
    Verdict,
};
use std::collections::HashMap;
use support::plausible::{plausible_history, plausible_lists, subsets};
use support::{Random, Shape, random_history};

/// The first cycle, otherwise the others.
fn anomaly(kind: AnomalyKind, mut cycles: Vec<Vec<Edge>>) -> Anomaly {
    let edges = cycles.remove(0);
    Anomaly {
        kind,
        count: 1,
        transactions: Vec::new(),
        ops: Vec::new(),
        edges,
        otherwise: cycles,
        assuming: Vec::new(),
        explanation: String::new(),
    }
}

/// What the certifier says of an anomaly.
fn reason(history: &History, level: Level, anomaly: Anomaly) -> String {
    let verdict = Verdict::Violated(vec![anomaly]);
    let result = LevelResult { level, verdict };
    match certify(history, &Initial::default(), &result) {
        Ok(()) => "accepted".to_string(),
        Err(refusal) => refusal.to_string(),
    }
}

/// What the certifier says of these cycles. One alone is repeated, since the name means several.
fn judge(history: &History, level: Level, cycles: &[Vec<Edge>]) -> String {
    let cycles = if cycles.len() == 1 {
        [cycles, cycles].concat()
    } else {
        cycles.to_vec()
    };
    reason(history, level, anomaly(NoVersionOrder, cycles))
}

/// As few of the cycles as are still accepted.
fn minimal(history: &History, level: Level, mut cycles: Vec<Vec<Edge>>) -> Vec<Vec<Edge>> {
    cycles.sort_by_key(Vec::len);
    let mut step = cycles.len() / 2;
    while step > 0 {
        let mut start = 0;
        while start < cycles.len() {
            let mut fewer = cycles.clone();
            fewer.drain(start..(start + step).min(cycles.len()));
            if !fewer.is_empty() && judge(history, level, &fewer) == "accepted" {
                cycles = fewer;
            } else {
                start += step;
            }
        }
        step /= 2;
    }
    cycles
}

/// Changes something somewhere.
fn spoil(random: &mut Random, history: &History, cycles: &mut [Vec<Edge>]) {
    let cycle_index = random.below(cycles.len() as u64) as usize;
    let cycle = &mut cycles[cycle_index];
    let edge_index = random.below(cycle.len() as u64) as usize;
    let edge = &mut cycle[edge_index];
    let txn = TxnId(random.below(history.txn_count() as u64) as u32);
    let op = OpId(random.below(history.op_count() as u64 + 1) as u32);
    let kinds = [
        EdgeKind::So,
        EdgeKind::Wr,
        EdgeKind::Ww,
        EdgeKind::Rw,
        EdgeKind::Rt,
    ];
    match random.below(9) {
        0 => edge.from = txn,
        1 => edge.to = txn,
        2 => edge.kind = kinds[random.below(5) as usize],
        3 => edge.from_op = Some(op),
        4 => edge.to_op = Some(op),
        5 => edge.key = Some(KeyId(random.below(history.keys().limit() as u64) as u32)),
        6 => edge.because = Some(Reason::Version { writer: txn }),
        7 => edge.because = None,
        _ => edge.because = Some(Reason::List { read: op }),
    }
}

#[derive(Default)]
struct Counts {
    histories: usize,
    violated: HashMap<Level, usize>,
    largest: usize,
}

fn check_history(seed: u64, history: &History, counts: &mut Counts) {
    let all = match holds_all(history, &Initial::default()) {
        Err(OutOfScope::TooManyInterpretations | OutOfScope::UnrecoverableLists) => return,
        all => all.expect("in scope"),
    };
    // Where some read is impossible in every interpretation, that is the evidence, not a cycle.
    let possible = |taken: &Vec<TxnId>| reads_are_possible(history, taken);
    if !subsets(history).iter().any(possible) {
        return;
    }
    let Some(all_cycles) = cycles(&edges(history), 6000) else {
        return;
    };
    counts.histories += 1;
    let mut random = Random(seed);
    for (level, holds) in all.into_iter().filter(|row| !Level::WEAK.contains(&row.0)) {
        let forbidden = |cycle: &&Vec<Edge>| is_forbidden(level, cycle);
        let forbidden: Vec<Vec<Edge>> = all_cycles.iter().filter(forbidden).cloned().collect();
        if forbidden.is_empty() {
            assert!(holds, "seed {seed}, {level}");
            continue;
        }
        let why = judge(history, level, &forbidden);
        assert_eq!(why == "accepted", !holds, "seed {seed}, {level}: {why}");
        if holds {
            assert!(why.starts_with("no cycle is left if"), "seed {seed}: {why}");
            for _ in 0..40 {
                let mut spoiled = forbidden.clone();
                spoil(&mut random, history, &mut spoiled);
                let why = judge(history, level, &spoiled);
                assert_ne!(why, "accepted", "seed {seed}, {level}: {spoiled:?}");
            }
            continue;
        }
        *counts.violated.entry(level).or_default() += 1;
        let few = minimal(history, level, forbidden);
        counts.largest = counts.largest.max(few.len());
        let allowed = all_cycles.iter().find(|cycle| !is_forbidden(level, cycle));
        if let Some(allowed) = allowed {
            let with_allowed = [few.as_slice(), std::slice::from_ref(allowed)].concat();
            let why = judge(history, level, &with_allowed);
            let named = why.contains("allows a cycle") || why.contains("proves nothing at");
            assert!(named, "seed {seed}, {level}: {why}");
        }
    }
}

fn check(seeds: std::ops::Range<u64>, history: impl Fn(u64) -> History) {
    let mut counts = Counts::default();
    for seed in seeds {
        check_history(seed, &history(seed), &mut counts);
    }
    let all = counts.histories;
    for level in Level::all().filter(|level| !Level::WEAK.contains(level)) {
        let violated = counts.violated.get(&level).copied().unwrap_or(0);
        let few = violated < 12 || violated == all;
        assert!(!few, "{level} is violated {violated} times of {all}");
    }
    assert!(counts.largest > 2, "no evidence needs several cycles");
}

#[test]
fn all_cycles_are_accepted_iff_the_level_is_violated() {
    check(0..400, |seed| {
        let shape = Shape {
            sessions: 1 + seed % 3,
            txns: 3 + seed % 2,
            ops: 2 + seed % 4,
            keys: 1 + seed % 3,
            aborted: 5,
            indeterminate: 0,
            duplicates: false,
            timed: seed % 2 == 1,
            spare_sessions: 0,
        };
        if seed % 3 == 0 {
            random_history(seed, &shape)
        } else {
            plausible_history(seed, &shape)
        }
    });
}

#[test]
fn all_cycles_are_accepted_iff_every_interpretation_violates_the_level() {
    check(10_000..10_600, |seed| {
        let shape = Shape {
            sessions: 1 + seed % 3,
            txns: 3 + seed % 2,
            ops: 2 + seed % 3,
            keys: 1 + seed % 3,
            aborted: 5,
            indeterminate: 25,
            duplicates: true,
            timed: seed % 2 == 1,
            spare_sessions: 0,
        };
        if seed % 2 == 0 {
            random_history(seed, &shape)
        } else {
            plausible_history(seed, &shape)
        }
    });
}

#[test]
fn all_cycles_of_list_histories_are_accepted_iff_the_level_is_violated() {
    check(20_000..20_300, |seed| {
        let shape = Shape {
            sessions: 1 + seed % 3,
            txns: 3 + seed % 2,
            ops: 2 + seed % 2,
            keys: 1 + seed % 2,
            aborted: 0,
            indeterminate: 0,
            duplicates: false,
            timed: seed % 2 == 1,
            spare_sessions: 0,
        };
        plausible_lists(seed, &shape)
    });
}
