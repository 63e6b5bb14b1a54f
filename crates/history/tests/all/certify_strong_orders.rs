//! Orders as evidence for the levels above causal: the certifier accepts one iff the definition
//! says that the level holds.

use crate::support;

use history::certify::certify;
use history::definition::{OutOfScope, holds_all};
use history::{
    CommitOrder, History, Initial, Level, LevelResult, OpId, OpKind, TxnId, ValueCode, Verdict,
};
use std::collections::HashMap;
use support::plausible::{plausible_history, plausible_lists, subsets};
use support::{Shape, history_of, random_history};

fn reason_of(history: &History, level: Level, order: &CommitOrder) -> Result<(), String> {
    let verdict = Verdict::Holds(order.clone());
    let result = LevelResult { level, verdict };
    certify(history, &Initial::default(), &result).map_err(|refusal| refusal.to_string())
}

fn accepts(history: &History, level: Level, order: &CommitOrder) -> bool {
    reason_of(history, level, order).is_ok()
}

/// Every permutation of the transactions.
fn permutations(txns: &[TxnId]) -> Vec<Vec<TxnId>> {
    let mut all = vec![Vec::new()];
    for &txn in txns {
        let longer = |shorter: &Vec<TxnId>| {
            let with = |place| {
                let mut order = shorter.clone();
                order.insert(place, txn);
                order
            };
            (0..=shorter.len()).map(with).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// Every way to choose snapshots for so many transactions.
fn snapshots(count: usize) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new()];
    for index in 0..count as u32 {
        let longer = |shorter: &Vec<u32>| {
            let with = |snapshot| [shorter.as_slice(), &[snapshot]].concat();
            (0..=index).rev().map(with).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// Every way to choose among several transactions that wrote the value a read returned.
fn choices(history: &History, taken: &[TxnId]) -> Vec<Vec<(OpId, TxnId)>> {
    let mut all = vec![Vec::new()];
    for &txn in taken {
        for (id, op) in history
            .txn_ops(txn)
            .filter(|(_, op)| op.kind == OpKind::Read)
        {
            let last = |other: TxnId| {
                let writes = history.txn_ops(other).filter(|(_, w)| w.kind.is_write());
                writes.filter(|(_, w)| w.key == op.key).last()
            };
            let wrote_it = |other: &&TxnId| {
                **other != txn && last(**other).is_some_and(|write| write.1.value == op.value)
            };
            let mut earlier = history.txn_ops(txn).take_while(|&(other, _)| other < id);
            let is_internal = earlier.any(|(_, w)| w.kind.is_write() && w.key == op.key);
            let writers: Vec<TxnId> = taken.iter().filter(wrote_it).copied().collect();
            if writers.len() > 1 && !is_internal && op.value != ValueCode::UNKNOWN {
                let with = |chosen: &Vec<(OpId, TxnId)>| {
                    let longer = |&writer| [chosen.as_slice(), &[(id, writer)]].concat();
                    writers.iter().map(longer).collect::<Vec<_>>()
                };
                all = all.iter().flat_map(with).collect();
            }
        }
    }
    all
}

fn is_parallel(level: Level) -> bool {
    matches!(
        level,
        Level::NonMonotonicSnapshotIsolation | Level::ParallelSnapshotIsolation
    )
}

/// Some order that is accepted, of all that there are.
fn accepted_order(history: &History, level: Level) -> Option<CommitOrder> {
    for taken in subsets(history) {
        let (reads, snapshots) = if is_parallel(level) {
            (choices(history, &taken), vec![Vec::new()])
        } else if level.implies(Level::Serializable) {
            (vec![Vec::new()], vec![Vec::new()])
        } else {
            (vec![Vec::new()], snapshots(taken.len()))
        };
        for txns in permutations(&taken) {
            for reads in &reads {
                for snapshots in &snapshots {
                    let order = CommitOrder {
                        txns: txns.clone(),
                        reads: reads.clone(),
                        snapshots: snapshots.clone(),
                    };
                    if accepts(history, level, &order) {
                        return Some(order);
                    }
                }
            }
        }
    }
    None
}

fn strong_levels() -> impl Iterator<Item = Level> {
    Level::all().filter(|level| !Level::WEAK.contains(level))
}

/// What the definition says of each level above causal, if it says anything.
fn truth(history: &History) -> Option<Vec<(Level, bool)>> {
    let all = match holds_all(history, &Initial::default()) {
        Err(OutOfScope::TooManyInterpretations | OutOfScope::UnrecoverableLists) => return None,
        all => all.expect("in scope"),
    };
    let strong = all.into_iter().filter(|row| !Level::WEAK.contains(&row.0));
    Some(strong.collect())
}

/// An order accepted for a level is accepted for those it implies, and spoiled it is refused.
fn check_accepted(history: &History, level: Level, order: &CommitOrder, seed: u64) {
    for weaker in strong_levels().filter(|&weaker| level.implies(weaker)) {
        let accepted = reason_of(history, weaker, order);
        assert_eq!(accepted, Ok(()), "seed {seed}, {level} for {weaker}");
    }
    let spoil = |change: fn(&mut CommitOrder)| {
        let mut spoiled = order.clone();
        change(&mut spoiled);
        assert!(!accepts(history, level, &spoiled), "seed {seed}, {level}");
    };
    spoil(|order| order.txns.push(TxnId::INITIAL));
    spoil(|order| order.reads.push((OpId(1000), TxnId(0))));
    spoil(|order| order.snapshots = vec![0; order.txns.len() + 1]);
    if !order.txns.is_empty() {
        spoil(|order| order.txns.push(order.txns[0]));
        spoil(|order| order.txns[0] = TxnId(1000));
        spoil(|order| order.snapshots = vec![u32::MAX; order.txns.len()]);
        spoil(|order| order.snapshots = (1..=order.txns.len() as u32).collect());
    }
}

fn check_agreement(seeds: std::ops::Range<u64>, history: impl Fn(u64) -> History) {
    let mut held: HashMap<Level, usize> = HashMap::new();
    let mut count = 0;
    for seed in seeds {
        let history = history(seed);
        let Some(truth) = truth(&history) else {
            continue;
        };
        count += 1;
        for (level, holds) in truth {
            *held.entry(level).or_default() += usize::from(holds);
            let accepted = accepted_order(&history, level);
            assert_eq!(accepted.is_some(), holds, "seed {seed}, {level}");
            if let Some(order) = accepted {
                check_accepted(&history, level, &order, seed);
            }
        }
    }
    for level in strong_levels() {
        let held = held[&level];
        let few = held * 20 < count || held == count;
        assert!(!few, "{level} holds {held} times of {count}");
    }
}

#[test]
fn an_order_is_accepted_iff_the_level_holds() {
    check_agreement(0..500, |seed| {
        let shape = Shape {
            sessions: 1 + seed % 3,
            txns: 2 + seed % 3,
            ops: 2 + seed % 3,
            keys: 1 + seed % 3,
            aborted: 5,
            indeterminate: 0,
            duplicates: false,
            timed: seed % 2 == 1,
            spare_sessions: 0,
        };
        if seed % 4 == 0 {
            random_history(seed, &shape)
        } else {
            plausible_history(seed, &shape)
        }
    });
}

#[test]
fn an_order_is_accepted_iff_the_level_holds_in_some_interpretation() {
    check_agreement(10_000..10_300, |seed| {
        let shape = Shape {
            sessions: 1 + seed % 3,
            txns: 3 + seed % 2,
            ops: 3,
            keys: 1 + seed % 2,
            aborted: 5,
            indeterminate: 25,
            duplicates: true,
            timed: seed % 2 == 1,
            spare_sessions: 0,
        };
        plausible_history(seed, &shape)
    });
}

#[test]
fn an_order_of_list_histories_is_accepted_iff_the_level_holds() {
    check_agreement(20_000..20_300, |seed| {
        let shape = Shape {
            sessions: 1 + seed % 3,
            txns: 3 + seed % 2,
            ops: 3,
            keys: 1 + seed % 3,
            aborted: 0,
            indeterminate: 0,
            duplicates: false,
            timed: seed % 2 == 1,
            spare_sessions: 0,
        };
        plausible_lists(seed, &shape)
    });
}

/// Five transactions where all orders are few enough.
#[test]
fn an_order_of_five_transactions_is_accepted_iff_the_level_holds() {
    for seed in 30_000..30_150 {
        let shape = Shape {
            sessions: 1 + seed % 4,
            txns: 5,
            ops: 4,
            keys: 2 + seed % 2,
            aborted: 0,
            indeterminate: 0,
            duplicates: false,
            timed: true,
            spare_sessions: 0,
        };
        let history = plausible_history(seed, &shape);
        for (level, holds) in truth(&history).expect("in scope") {
            if is_parallel(level) || level.implies(Level::Serializable) || seed % 10 == 0 {
                let accepted = accepted_order(&history, level).is_some();
                assert_eq!(accepted, holds, "seed {seed}, {level}");
            }
        }
    }
}

fn reason(text: &str, level: Level, txns: &[u32], snapshots: &[u32]) -> String {
    let order = CommitOrder {
        txns: txns.iter().copied().map(TxnId).collect(),
        reads: Vec::new(),
        snapshots: snapshots.to_vec(),
    };
    match reason_of(&history_of(text), level, &order) {
        Ok(()) => "accepted".to_string(),
        Err(refusal) => refusal,
    }
}

#[test]
fn a_snapshot_explains_write_skew_but_no_lost_update() {
    let skew = "r(x,0) w(y,1) ; r(y,0) w(x,1)";
    let si = Level::SnapshotIsolation;
    assert_eq!(reason(skew, si, &[0, 1], &[0, 0]), "accepted");
    assert!(reason(skew, si, &[0, 1], &[]).contains("the last version in its snapshot"));
    let serial = reason(skew, Level::Serializable, &[0, 1], &[0, 0]);
    assert!(serial.contains("does not see everything"), "{serial}");
    let lost = "r(x,0) w(x,1) ; r(x,0) w(x,2)";
    assert!(reason(lost, si, &[0, 1], &[0, 0]).contains("neither sees the other"));
    assert_eq!(reason(lost, Level::Prefix, &[0, 1], &[0, 0]), "accepted");
}

#[test]
fn sessions_and_real_time_count_where_the_level_says_so() {
    let session = "w(x,1) | r(x,0)";
    let si = Level::SnapshotIsolation;
    assert_eq!(reason(session, si, &[0, 1], &[0, 0]), "accepted");
    assert_eq!(reason(session, si, &[1, 0], &[]), "accepted");
    let strong_session = Level::StrongSessionSnapshotIsolation;
    assert!(reason(session, strong_session, &[0, 1], &[0, 0]).contains("in its session"));
    assert!(reason(session, strong_session, &[1, 0], &[]).contains("in its session"));
    let timed = "@1-2 w(x,1) ; @3-4 r(x,0)";
    assert_eq!(reason(timed, strong_session, &[0, 1], &[0, 0]), "accepted");
    let late = reason(timed, Level::StrongSnapshotIsolation, &[0, 1], &[0, 0]);
    assert!(late.contains("had ended before it began"), "{late}");
    let overlapping = "@1-3 w(x,1) ; @3-4 r(x,0)";
    let strict = Level::StrictSerializable;
    assert_eq!(reason(overlapping, strict, &[1, 0], &[]), "accepted");
    // Whoever heard nothing of a transaction cannot know that it had ended.
    let unheard = "maybe @1-2 w(x,1) ; @3-4 r(x,0) ; @5-6 r(x,1)";
    assert_eq!(reason(unheard, strict, &[1, 0, 2], &[]), "accepted");
}

#[test]
fn snapshots_that_no_order_has_are_refused() {
    let text = "w(x,1) ; r(x,1)";
    let si = Level::SnapshotIsolation;
    assert!(reason(text, si, &[0, 1], &[0]).contains("2 transactions and 1 snapshots"));
    assert!(reason(text, si, &[0, 1], &[0, 2]).contains("only 1 committed before"));
    assert!(reason(text, si, &[0, 1], &[1, 1]).contains("only 0 committed before"));
    assert_eq!(reason(text, si, &[0, 1], &[0, 1]), "accepted");
}

#[test]
fn a_reader_may_miss_what_it_does_not_depend_on() {
    let fork = "w(x,1) ; w(y,1) ; r(x,1) r(y,0) ; r(y,1) r(x,0)";
    let (psi, nmsi) = (
        Level::ParallelSnapshotIsolation,
        Level::NonMonotonicSnapshotIsolation,
    );
    for level in [psi, nmsi] {
        assert_eq!(reason(fork, level, &[0, 1, 2, 3], &[]), "accepted");
        assert!(reason(fork, level, &[2, 0, 1, 3], &[]).contains("before s0t0"));
    }
    let seen = "w(x,1) w(y,1) ; r(x,1) w(z,1) ; r(z,1) r(y,0)";
    assert!(reason(seen, nmsi, &[0, 1, 2], &[]).contains("depends on s0t0"));
    let session = "w(x,1) w(y,1) ; r(x,1) | r(y,0)";
    assert_eq!(reason(session, nmsi, &[0, 1, 2], &[]), "accepted");
    assert!(reason(session, psi, &[0, 1, 2], &[]).contains("depends on s0t0"));
    let lost = "r(x,0) w(x,1) ; r(x,0) w(x,2)";
    assert!(reason(lost, nmsi, &[0, 1], &[]).contains("depends on s0t0"));
}

#[test]
fn a_list_with_a_stranger_proves_nothing() {
    let text = "a(x,1) ; a(x,3) ; l(x,[1 2 3])";
    let why = reason(text, Level::Serializable, &[0, 1, 2], &[]);
    assert!(
        why.contains("no transaction in the order appended"),
        "{why}"
    );
}
