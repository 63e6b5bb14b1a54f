//! Anomalies as evidence: what the certifier accepts is a violation by the definition, and every
//! violation by the definition has evidence that it accepts.

mod search;
use crate::support;

use history::AnomalyKind::{self, *};
use history::EdgeKind::{So, Wr, Ww};
use history::certify::certify;
use history::definition::{OutOfScope, holds_all};
use history::{
    Anomaly, Edge, EdgeKind, History, Initial, KeyId, Level, LevelResult, OpId, Reason, TxnId,
    Verdict,
};
use search::{edge, some_evidence_is_accepted};
use support::{Shape, history_of, random_history};

fn anomaly(kind: AnomalyKind, ops: Vec<OpId>, edges: Vec<Edge>) -> Anomaly {
    Anomaly {
        kind,
        count: 1,
        transactions: Vec::new(),
        ops,
        edges,
        otherwise: Vec::new(),
        assuming: Vec::new(),
        explanation: String::new(),
    }
}

fn reason(history: &History, level: Level, anomalies: Vec<Anomaly>) -> String {
    let verdict = Verdict::Violated(anomalies);
    match certify(
        history,
        &Initial::default(),
        &LevelResult { level, verdict },
    ) {
        Ok(()) => "accepted".to_string(),
        Err(refusal) => refusal.to_string(),
    }
}

fn accepts(history: &History, level: Level, anomaly: Anomaly) -> bool {
    reason(history, level, vec![anomaly]) == "accepted"
}

#[test]
fn evidence_is_accepted_iff_the_level_is_violated() {
    for seed in 0..60 {
        let shape = Shape {
            sessions: 1 + seed % 3,
            txns: 3 + seed % 2,
            ops: 2 + seed % 2,
            keys: 1 + seed % 3,
            aborted: 8,
            indeterminate: 0,
            duplicates: false,
            timed: false,
            spare_sessions: 0,
        };
        let history = random_history(seed, &shape);
        for (level, holds) in holds_all(&history, &Initial::default()).expect("in scope") {
            let accepted = some_evidence_is_accepted(&history, level, true);
            let weak = Level::WEAK.contains(&level);
            assert!(!(accepted && holds), "seed {seed}, {level} holds");
            assert!(
                accepted || holds || !weak,
                "seed {seed}, {level} has no evidence"
            );
        }
    }
}

#[test]
fn evidence_about_uncertain_histories_is_accepted_only_if_the_level_is_violated() {
    let mut accepted_count = 0;
    for seed in 0..50 {
        let shape = Shape {
            sessions: 1 + seed % 3,
            txns: 3 + seed % 2,
            ops: 2 + seed % 2,
            keys: 1 + seed % 2,
            aborted: 5,
            indeterminate: 35,
            duplicates: true,
            timed: false,
            spare_sessions: 0,
        };
        let history = random_history(seed, &shape);
        let all = match holds_all(&history, &Initial::default()) {
            Err(OutOfScope::TooManyInterpretations) => continue,
            all => all.expect("in scope"),
        };
        for (level, holds) in all {
            for honest in [false, true] {
                let accepted = some_evidence_is_accepted(&history, level, honest);
                accepted_count += usize::from(accepted);
                assert!(!(accepted && holds), "seed {seed}, {level} holds");
            }
        }
    }
    assert!(
        accepted_count > 150,
        "only {accepted_count} pieces of evidence were accepted"
    );
}

/// The operation written so, in the only transaction that has it.
fn find(history: &History, txn: u32, text: &str) -> OpId {
    let mut found = history.txn_ops(TxnId(txn)).map(|(id, _)| id);
    found
        .find(|&id| history.op_text(id) == text)
        .expect("such an operation")
}

/// A wr edge by the texts of its operations.
fn wr(history: &History, from: u32, write: &str, to: u32, read: &str) -> Edge {
    let write = find(history, from, write);
    Edge {
        key: Some(history.op(write).key),
        from_op: Some(write),
        to_op: Some(find(history, to, read)),
        ..edge(TxnId(from), TxnId(to), Wr)
    }
}

/// Causality violation: s2 reads the second write of s1, then what it replaced.
fn causality_violation() -> (History, Anomaly) {
    let history = history_of("w(x,1) ; r(x,1) | w(x,2) w(y,1) ; r(y,1) | r(x,1)");
    let path = vec![
        wr(&history, 2, "w(y, 1)", 3, "r(y, 1)"),
        edge(TxnId(3), TxnId(4), So),
    ];
    let ww = Edge {
        key: Some(history.op(OpId(0)).key),
        from_op: Some(find(&history, 2, "w(x, 2)")),
        to_op: Some(find(&history, 0, "w(x, 1)")),
        because: Some(Reason::Read {
            read: find(&history, 4, "r(x, 1)"),
            path,
        }),
        ..edge(TxnId(2), TxnId(0), Ww)
    };
    let cycle = vec![
        wr(&history, 0, "w(x, 1)", 1, "r(x, 1)"),
        edge(TxnId(1), TxnId(2), So),
        ww,
    ];
    (history, anomaly(CausalityViolation, Vec::new(), cycle))
}

#[test]
fn a_true_cycle_is_accepted_where_its_path_is_admissible() {
    let (history, evidence) = causality_violation();
    for level in Level::all() {
        let accepted = accepts(&history, level, evidence.clone());
        let expect = level == Level::MonotonicReads || level.implies(Level::Causal);
        assert_eq!(accepted, expect, "{level}");
    }
}

#[test]
fn a_tampered_cycle_is_refused() {
    let (history, evidence) = causality_violation();
    type Tamper = fn(&mut Anomaly);
    fn path(anomaly: &mut Anomaly) -> &mut Vec<Edge> {
        match &mut anomaly.edges[2].because {
            Some(Reason::Read { path, .. }) => path,
            _ => panic!("the third edge has a path"),
        }
    }
    let tampered: [(Tamper, &str); 16] = [
        (|a| a.edges.clear(), "has no edges"),
        (|a| drop(a.edges.pop()), "the next begins at"),
        (|a| a.edges.swap(0, 1), "the next begins at"),
        (|a| a.edges[1].kind = EdgeKind::Rt, "is no evidence"),
        (|a| a.edges[1].kind = EdgeKind::Rw, "is no evidence"),
        (|a| a.edges[1].to = TxnId(0), "does not precede"),
        (|a| a.edges[1].to = TxnId(1000), "which does not exist"),
        (|a| a.edges[0].to_op = Some(OpId(1000)), "no external read"),
        (|a| a.edges[0].from_op = None, "lacks"),
        (|a| a.edges[0].key = Some(KeyId(7)), "is no write"),
        (|a| a.edges[2].because = None, "is no evidence"),
        (|a| a.edges[2].from_op = Some(OpId(3)), "is no write"),
        (|a| a.edges[2].to = TxnId::INITIAL, "is no write"),
        (|a| path(a).clear(), "lacks"),
        (|a| drop(path(a).remove(0)), "is broken"),
        (
            |a| a.kind = CyclicCausality,
            "the cycle is no cyclic-causality",
        ),
    ];
    for (number, (tamper, expect)) in tampered.into_iter().enumerate() {
        let mut anomaly = evidence.clone();
        tamper(&mut anomaly);
        let why = reason(&history, Level::Causal, vec![anomaly]);
        assert!(why.contains(expect), "number {number}: {why}");
    }
    assert!(reason(&history, Level::Causal, Vec::new()).contains("needs an anomaly"));
}

#[test]
fn one_false_anomaly_spoils_the_evidence() {
    let (history, evidence) = causality_violation();
    let false_one = anomaly(ThinAirRead, vec![OpId(1)], Vec::new());
    let why = reason(&history, Level::Causal, vec![evidence, false_one]);
    assert!(why.contains("returned something that was written"), "{why}");
}

#[test]
fn a_write_before_the_initial_version_is_a_contradiction_by_itself() {
    let history = history_of("w(x,1) | r(x,0)");
    let ww = Edge {
        key: Some(KeyId(0)),
        from_op: Some(OpId(0)),
        because: Some(Reason::Read {
            read: OpId(1),
            path: vec![edge(TxnId(0), TxnId(1), So)],
        }),
        ..edge(TxnId(0), TxnId::INITIAL, Ww)
    };
    let evidence = anomaly(InitialRead, Vec::new(), vec![ww]);
    for level in Level::all() {
        let accepted = accepts(&history, level, evidence.clone());
        let expect = level == Level::ReadYourWrites || level.implies(Level::ReadAtomic);
        assert_eq!(accepted, expect, "{level}");
    }
}

#[test]
fn single_anomalies_break_exactly_their_levels() {
    let all_but_read_uncommitted = |level| level != Level::ReadUncommitted;
    let check = |text: &str, kind, ops: &[u32], breaks: &dyn Fn(Level) -> bool| {
        let history = history_of(text);
        let ops: Vec<OpId> = ops.iter().copied().map(OpId).collect();
        for level in Level::all() {
            let accepted = accepts(&history, level, anomaly(kind, ops.clone(), Vec::new()));
            assert_eq!(accepted, breaks(level), "{text}, {level}");
        }
        let mut reversed = ops.clone();
        reversed.reverse();
        let symmetric = matches!(
            kind,
            ThinAirRead | NonRepeatableRead | DuplicateElement | IncompatibleOrder
        ) && ops.len() < 3;
        let evidence = anomaly(kind, reversed, Vec::new());
        assert_eq!(
            accepts(&history, Level::UpdateAtomic, evidence),
            symmetric,
            "{text} reversed"
        );
    };
    check("r(x,7)", ThinAirRead, &[0], &all_but_read_uncommitted);
    check(
        "a(x,1) ; l(x,[7 1])",
        ThinAirRead,
        &[1],
        &all_but_read_uncommitted,
    );
    check(
        "abort a(x,1) ; a(x,2) ; l(x,[1 2])",
        DirtyUpdate,
        &[0, 2],
        &all_but_read_uncommitted,
    );
    check("a(x,1) ; l(x,[1 1])", DuplicateElement, &[1], &|_| true);
    check(
        "a(x,1) ; a(x,2) ; l(x,[1]) ; l(x,[2])",
        IncompatibleOrder,
        &[2, 3],
        &all_but_read_uncommitted,
    );
    check(
        "a(x,1) a(x,2) ; l(x,[2])",
        IncompatibleOrder,
        &[0, 1, 2],
        &all_but_read_uncommitted,
    );
    check(
        "abort w(x,1) ; r(x,1)",
        AbortedRead,
        &[0, 1],
        &all_but_read_uncommitted,
    );
    check(
        "r(x,1) w(x,1)",
        FutureRead,
        &[0, 1],
        &all_but_read_uncommitted,
    );
    check(
        "w(x,1) ; w(x,2) r(x,1)",
        NotMyOwnWrite,
        &[1, 2],
        &all_but_read_uncommitted,
    );
    check(
        "w(x,1) w(x,2) r(x,1)",
        NotMyLastWrite,
        &[0, 1, 2],
        &all_but_read_uncommitted,
    );
    check(
        "w(x,1) w(x,2) ; r(x,1)",
        IntermediateRead,
        &[0, 1, 2],
        &all_but_read_uncommitted,
    );
    check(
        "w(x,1) ; r(x,0) r(x,1)",
        NonRepeatableRead,
        &[1, 2],
        &|level| {
            level.implies(Level::ReadAtomic) || level.implies(Level::NonMonotonicSnapshotIsolation)
        },
    );
    check(
        "r(x,0) w(x,1) ; r(x,0) w(x,2)",
        LostUpdate,
        &[0, 1, 2, 3],
        &|level| {
            level.implies(Level::CursorStability)
                || level.implies(Level::NonMonotonicSnapshotIsolation)
        },
    );
}

#[test]
fn reads_that_somebody_else_can_explain_are_no_anomalies() {
    let check = |text: &str, kind, ops: &[u32], expect: &str| {
        let ops = ops.iter().copied().map(OpId).collect();
        let evidence = anomaly(kind, ops, Vec::new());
        let why = reason(&history_of(text), Level::Causal, vec![evidence]);
        assert!(why.contains(expect), "{text}: {why}");
    };
    check(
        "abort w(x,1) ; maybe w(x,1) ; r(x,1)",
        AbortedRead,
        &[0, 2],
        "did not abort",
    );
    check(
        "w(x,1) w(x,2) ; w(x,1) ; r(x,1)",
        IntermediateRead,
        &[0, 1, 3],
        "last write",
    );
    check(
        "w(x,1) ; r(x,1) w(x,1)",
        FutureRead,
        &[1, 2],
        "alone wrote later",
    );
    check("r(x,0)", ThinAirRead, &[0], "was written");
    check("a(x,1) ; l(x,[1])", ThinAirRead, &[1], "was written");
    check("a(x,1) ; l(x,[1])", DuplicateElement, &[1], "more often");
    check(
        "a(x,1) ; r(x,1)",
        DuplicateElement,
        &[1],
        "both as a list and as a register",
    );
    check("a(x,1) ; r(y,1)", DuplicateElement, &[1], "read no list");
    check(
        "a(x,1) ; a(x,1) ; l(x,[1 1])",
        DuplicateElement,
        &[2],
        "more often",
    );
    check(
        "maybe a(x,1) ; l(x,[1])",
        DirtyUpdate,
        &[0, 1],
        "aborted transactions alone",
    );
    check(
        "abort a(x,1) ; a(x,1) ; l(x,[1])",
        DirtyUpdate,
        &[0, 2],
        "aborted transactions alone",
    );
    check(
        "abort a(x,1) ; l(x,[2])",
        DirtyUpdate,
        &[0, 1],
        "aborted transactions alone",
    );
    check(
        "abort a(x,1) ; l(x,[1])",
        DirtyUpdate,
        &[99, 1],
        "does not exist",
    );
    for text in ["a(x,1) a(x,2) ; l(x,[1 2])", "a(x,1) a(x,2) ; l(x,[1])"] {
        check(text, IncompatibleOrder, &[0, 1, 2], "which came first");
    }
    check(
        "a(x,1) ; a(x,2) ; l(x,[2])",
        IncompatibleOrder,
        &[0, 1, 2],
        "is no write of",
    );
    check(
        "l(x,[1]) ; l(x,[1 2])",
        IncompatibleOrder,
        &[0, 1],
        "contradict",
    );
    check(
        "l(x,[1]) ; l(y,[2])",
        IncompatibleOrder,
        &[0, 1],
        "contradict",
    );
    check(
        "l(x,[1]) ; maybe l(x,[2])",
        IncompatibleOrder,
        &[0, 1],
        "need not",
    );
    check(
        "l(x,[1]) ; maybe a(y,1) l(x,[2]) ; a(y,2) ; l(y,[1 2])",
        IncompatibleOrder,
        &[0, 2],
        "accepted",
    );
    check("maybe r(x,7)", ThinAirRead, &[0], "need not have committed");
    check("abort r(x,7)", ThinAirRead, &[0], "need not have committed");
    check(
        "maybe r(x,7) w(y,1) ; r(y,1)",
        ThinAirRead,
        &[0],
        "accepted",
    );
    check(
        "maybe r(x,7) w(y,1) ; maybe r(y,1) w(z,1) ; r(z,1)",
        ThinAirRead,
        &[0],
        "accepted",
    );
    check(
        "maybe r(x,7) w(y,1) ; w(y,1) ; r(y,1)",
        ThinAirRead,
        &[0],
        "need not have committed",
    );
}

/// A ww edge that a list read shows.
fn listed(from: u32, to: u32, key: u32, ops: (u32, u32), read: u32) -> Edge {
    Edge {
        key: Some(KeyId(key)),
        from_op: Some(OpId(ops.0)),
        to_op: Some(OpId(ops.1)),
        because: Some(Reason::List { read: OpId(read) }),
        ..edge(TxnId(from), TxnId(to), Ww)
    }
}

#[test]
fn lists_in_opposite_orders_are_a_dirty_write_at_every_level() {
    let history = history_of("a(x,1) a(y,1) ; a(x,2) a(y,2) ; l(x,[1 2]) ; l(y,[2 1])");
    let cycle = vec![listed(0, 1, 0, (0, 2), 4), listed(1, 0, 1, (3, 1), 5)];
    for level in Level::all() {
        let evidence = anomaly(DirtyWrite, Vec::new(), cycle.clone());
        assert!(accepts(&history, level, evidence), "{level}");
    }
    let wrong = vec![listed(0, 1, 0, (0, 2), 4), listed(1, 0, 0, (2, 0), 4)];
    let why = reason(
        &history,
        Level::Causal,
        vec![anomaly(DirtyWrite, Vec::new(), wrong)],
    );
    assert!(why.contains("does not show"), "{why}");
}

/// The same where each list lacks the second append; at read-uncommitted that counts unless another
/// list contradicts it.
#[test]
fn what_lists_lack_is_evidence_where_they_agree() {
    let text = "a(x,1) a(y,1) ; a(x,2) a(y,2) ; l(x,[1]) l(y,[2])";
    let cycle = vec![listed(0, 1, 0, (0, 2), 4), listed(1, 0, 1, (3, 1), 5)];
    let accepts = |text: &str, level| {
        let evidence = anomaly(DirtyWrite, Vec::new(), cycle.clone());
        accepts(&history_of(text), level, evidence)
    };
    for level in Level::all() {
        assert!(accepts(text, level), "{level}");
    }
    let contradicted = format!("{text} ; l(y,[1])");
    assert!(!accepts(&contradicted, Level::ReadUncommitted));
    let perhaps = format!("{text} ; maybe l(y,[1])");
    assert!(accepts(&perhaps, Level::ReadUncommitted));
}

/// Whoever wrote the 1 that s2 read: s2 did not see the 2 that came after it.
#[test]
fn assumptions_have_to_cover_every_choice() {
    let text = "w(x,1) | w(x,2) w(y,1) ; w(x,1) | w(x,3) w(z,1) ; r(y,1) | r(z,1) | r(x,1)";
    let history = history_of(text);
    let read = find(&history, 6, "r(x, 1)");
    let lost = |writer: u32, newer: u32, newer_write: &str, path: Vec<Edge>| {
        let ww = Edge {
            key: Some(KeyId(0)),
            from_op: Some(find(&history, newer, newer_write)),
            to_op: Some(find(&history, writer, "w(x, 1)")),
            because: Some(Reason::Read { read, path }),
            ..edge(TxnId(newer), TxnId(writer), Ww)
        };
        let cycle = vec![edge(TxnId(writer), TxnId(newer), So), ww];
        let mut found = anomaly(CausalityViolation, Vec::new(), cycle);
        found.assuming = vec![(read, TxnId(writer))];
        found
    };
    let so = |from, to| edge(TxnId(from), TxnId(to), So);
    let path = vec![wr(&history, 1, "w(y, 1)", 4, "r(y, 1)"), so(4, 6)];
    let first = lost(0, 1, "w(x, 2)", path);
    let path = vec![wr(&history, 3, "w(z, 1)", 5, "r(z, 1)"), so(5, 6)];
    let second = lost(2, 3, "w(x, 3)", path);
    let why = |anomalies| reason(&history, Level::Causal, anomalies);
    assert_eq!(why(vec![first.clone(), second.clone()]), "accepted");
    assert_eq!(
        why(vec![first.clone()]),
        "no anomaly is left if r(x, 1) reads from s1t2"
    );
    assert_eq!(
        why(vec![second.clone()]),
        "no anomaly is left if r(x, 1) reads from s0t0"
    );
    let mut unassuming = first.clone();
    unassuming.assuming.clear();
    assert!(why(vec![unassuming, second.clone()]).contains("several possible writers"));
    let mut impossible = first;
    impossible.assuming = vec![(read, TxnId(1))];
    assert!(why(vec![impossible, second]).contains("cannot have read from s0t1"));
}
