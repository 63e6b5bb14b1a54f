//! Commit orders as evidence: the certifier accepts one iff the definition says the level holds.

use crate::support;

use history::certify::certify;
use history::definition::{OutOfScope, holds_all};
use history::{
    CommitOrder, History, Initial, Level, LevelResult, OpId, Status, TxnId, ValueCode, Verdict,
};
use std::collections::HashMap;
use support::{Shape, history_of, random_history};

fn holds(level: Level, txns: &[TxnId], reads: &[(OpId, TxnId)]) -> LevelResult {
    let order = CommitOrder {
        txns: txns.to_vec(),
        reads: reads.to_vec(),
        snapshots: Vec::new(),
    };
    LevelResult {
        level,
        verdict: Verdict::Holds(order),
    }
}

fn accepts(history: &History, level: Level, txns: &[TxnId], reads: &[(OpId, TxnId)]) -> bool {
    certify(history, &Initial::default(), &holds(level, txns, reads)).is_ok()
}

/// Every permutation of the transactions.
fn permutations(txns: &[TxnId]) -> Vec<Vec<TxnId>> {
    let mut all = vec![Vec::new()];
    for &txn in txns {
        let longer = |shorter: &Vec<TxnId>| {
            (0..=shorter.len())
                .map(|place| {
                    let mut order = shorter.clone();
                    order.insert(place, txn);
                    order
                })
                .collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// Every way to take indeterminate transactions.
fn subsets(history: &History) -> Vec<Vec<TxnId>> {
    let mut all = vec![Vec::new()];
    for txn in history.txn_ids() {
        let with = |taken: &Vec<TxnId>| [taken.as_slice(), &[txn]].concat();
        match history.status(txn) {
            Status::Committed => all = all.iter().map(with).collect(),
            Status::Aborted => {}
            Status::Indeterminate => all.extend(all.iter().map(with).collect::<Vec<_>>()),
        }
    }
    all
}

/// Every way to choose among several transactions that wrote the value a read returned.
fn choices(history: &History, taken: &[TxnId]) -> Vec<Vec<(OpId, TxnId)>> {
    let mut all = vec![Vec::new()];
    for &txn in taken {
        for (id, op) in history.txn_ops(txn).filter(|(_, op)| !op.kind.is_write()) {
            let wrote_last = |other: &TxnId| {
                let writes = history.txn_ops(*other).filter(|(_, w)| w.kind.is_write());
                *other != txn
                    && writes
                        .filter(|(_, w)| w.key == op.key)
                        .last()
                        .map(|w| w.1.value)
                        == Some(op.value)
            };
            let earlier = history.txn_ops(txn).take_while(|&(other, _)| other < id);
            let is_internal = earlier
                .into_iter()
                .any(|(_, w)| w.kind.is_write() && w.key == op.key);
            let writers: Vec<TxnId> = taken.iter().copied().filter(wrote_last).collect();
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

fn some_order_is_accepted(history: &History, level: Level) -> bool {
    subsets(history).iter().any(|taken| {
        let reads = choices(history, taken);
        let orders = permutations(taken);
        orders.iter().any(|order| {
            reads
                .iter()
                .any(|reads| accepts(history, level, order, reads))
        })
    })
}

fn check_agreement(seeds: std::ops::Range<u64>, shape: impl Fn(u64) -> Shape) {
    let mut held: HashMap<Level, usize> = HashMap::new();
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let history = random_history(seed, &shape(seed));
        let all = match holds_all(&history, &Initial::default()) {
            Err(OutOfScope::TooManyInterpretations) => continue,
            all => all.expect("in scope"),
        };
        for (level, holds) in all.into_iter().filter(|row| Level::WEAK.contains(&row.0)) {
            *held.entry(level).or_default() += usize::from(holds);
            let accepted = some_order_is_accepted(&history, level);
            assert_eq!(accepted, holds, "seed {seed}, {level}");
        }
    }
    for level in Level::WEAK.into_iter().skip(1) {
        let held = held[&level] as u64;
        assert!(
            held > count / 20 && held < count,
            "{level} holds {held} times of {count}"
        );
    }
}

#[test]
fn an_order_is_accepted_iff_the_level_holds() {
    check_agreement(0..700, |seed| Shape {
        sessions: 1 + seed % 4,
        txns: 3 + seed % 3,
        ops: 2 + seed % 3,
        keys: 1 + seed % 3,
        aborted: 5,
        indeterminate: 0,
        duplicates: false,
        timed: false,
        spare_sessions: 0,
    });
}

#[test]
fn an_order_is_accepted_iff_the_level_holds_in_some_interpretation() {
    check_agreement(10_000..10_300, |seed| Shape {
        sessions: 1 + seed % 3,
        txns: 3 + seed % 3,
        ops: 3,
        keys: 2,
        aborted: 5,
        indeterminate: 20,
        duplicates: true,
        timed: false,
        spare_sessions: 0,
    });
}

/// Too many sessions for clocks: the certifier searches instead.
#[test]
fn an_order_is_accepted_iff_the_level_holds_with_very_many_sessions() {
    check_agreement(20_000..20_080, |seed| Shape {
        sessions: 1 + seed % 4,
        txns: 4,
        ops: 3,
        keys: 2,
        aborted: 0,
        indeterminate: 0,
        duplicates: false,
        timed: false,
        spare_sessions: 4096,
    });
}

fn reason(text: &str, level: Level, txns: &[u32], reads: &[(u32, u32)]) -> String {
    let txns: Vec<TxnId> = txns.iter().copied().map(TxnId).collect();
    let reads: Vec<(OpId, TxnId)> = reads.iter().map(|r| (OpId(r.0), TxnId(r.1))).collect();
    match certify(
        &history_of(text),
        &Initial::default(),
        &holds(level, &txns, &reads),
    ) {
        Ok(()) => "accepted".to_string(),
        Err(refusal) => refusal.to_string(),
    }
}

#[test]
fn an_order_with_the_wrong_transactions_is_refused() {
    let text = "w(x,1) ; abort w(x,2) ; maybe w(x,3) ; r(x,1)";
    let reason = |txns: &[u32]| reason(text, Level::Causal, txns, &[]);
    assert_eq!(reason(&[0, 3]), "accepted");
    assert_eq!(reason(&[0, 3, 2]), "accepted");
    assert_eq!(reason(&[0, 3, 0]), "the order contains s0t0 twice");
    assert_eq!(reason(&[0, 2, 3, 2]), "the order contains s2t2 twice");
    assert_eq!(reason(&[0]), "the order lacks s3t3, which committed");
    assert_eq!(reason(&[0, 1, 3]), "the order contains s1t1, which aborted");
    assert!(reason(&[0, 3, 99]).contains("does not exist"));
    assert!(reason(&[0, 3, u32::MAX]).contains("no transaction of the history"));
    assert!(reason(&[3, 0]).contains("before s0t0, which wrote that"));
}

#[test]
fn a_choice_of_writers_is_re_checked() {
    let text = "w(x,1) | w(x,2) | r(x,1) ; w(x,1)";
    let reason = |reads: &[(u32, u32)]| reason(text, Level::Causal, &[0, 3, 1, 2], reads);
    assert!(reason(&[]).contains("several possible writers"));
    assert!(reason(&[(2, 0)]).contains("had to be seen"));
    assert_eq!(
        reason(&[(2, 1)]),
        "r(x, 1) of s0t2 cannot have read from s0t1"
    );
    assert!(reason(&[(2, 77)]).contains("which does not exist"));
    assert!(reason(&[(2, 3), (2, 3)]).contains("twice"));
    assert!(reason(&[(2, 3), (50, 3)]).contains("no external read"));
    assert!(reason(&[(2, u32::MAX)]).contains("cannot have read from the initial"));
}

#[test]
fn list_reads_bind_the_order_even_at_read_uncommitted() {
    let text = "a(x,1) ; a(x,2) ; l(x,[1 2]) ; a(x,3)";
    let reason = |txns: &[u32]| reason(text, Level::ReadUncommitted, txns, &[]);
    assert_eq!(reason(&[0, 1, 2, 3]), "accepted");
    assert_eq!(reason(&[2, 0, 1, 3]), "accepted");
    assert!(reason(&[1, 0, 2, 3]).contains("the other way"));
    assert!(reason(&[0, 3, 1, 2]).contains("the other way"));
    // What a list lacks says nothing where another one shows that some are dirty reads.
    let text = format!("{text} ; l(x,[2])");
    let reason = |level, txns: &[u32]| self::reason(&text, level, txns, &[]);
    assert_eq!(reason(Level::ReadUncommitted, &[0, 3, 1, 2, 4]), "accepted");
    let clean = reason(Level::ReadCommitted, &[0, 1, 2, 3, 4]);
    assert!(clean.contains("contradicts another read"), "{clean}");
    // That of a transaction which may have aborted shows nothing of the kind.
    let text = "a(x,1) ; a(x,2) ; l(x,[1 2]) ; a(x,3) ; maybe l(x,[2])";
    let reason = |txns: &[u32]| self::reason(text, Level::ReadUncommitted, txns, &[]);
    assert!(reason(&[0, 3, 1, 2, 4]).contains("the other way"));
}

#[test]
fn a_list_that_skips_an_append_proves_no_order() {
    let text = "a(x,1) a(x,2) ; l(x,[2])";
    let reason = |level| reason(text, level, &[0, 1], &[]);
    assert_eq!(reason(Level::ReadUncommitted), "accepted");
    for level in [Level::ReadCommitted, Level::StrictSerializable] {
        assert!(reason(level).contains("which that had appended first"));
    }
}

#[test]
fn kinds_without_certificates_are_refused() {
    let reason = reason("add(x,1) ; w(x,1)", Level::Causal, &[0, 1], &[]);
    assert!(reason.contains("different datatypes"), "{reason}");
    let unknown = LevelResult {
        level: Level::Causal,
        verdict: Verdict::Unknown("time".into()),
    };
    assert!(certify(&history_of("w(x,1)"), &Initial::default(), &unknown).is_err());
}
