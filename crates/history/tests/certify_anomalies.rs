//! Anomalies as evidence: what the certifier accepts is a violation by the definition, and every
//! violation by the definition has evidence that it accepts.

mod support;

use history::AnomalyKind::{self, *};
use history::EdgeKind::{So, Wr, Ww};
use history::certify::certify;
use history::definition::{OutOfScope, holds_all};
use history::{
    Anomaly, Edge, EdgeKind, History, Initial, KeyId, Level, LevelResult, Op, OpId, Reason, Status,
    TxnId, Verdict,
};
use support::{Shape, history_of, random_history};

fn anomaly(kind: AnomalyKind, ops: Vec<OpId>, edges: Vec<Edge>) -> Anomaly {
    Anomaly {
        kind,
        count: 1,
        transactions: Vec::new(),
        ops,
        edges,
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

/// All operations with their transactions, in program order.
fn ops(history: &History) -> Vec<(TxnId, OpId, Op)> {
    let of_txn = |txn| history.txn_ops(txn).map(move |(id, op)| (txn, id, op));
    history.txn_ids().flat_map(of_txn).collect()
}

fn edge(from: TxnId, to: TxnId, kind: EdgeKind) -> Edge {
    Edge {
        from,
        to,
        kind,
        key: None,
        from_op: None,
        to_op: None,
        because: None,
    }
}

/// Session order, and every pair of a write and a read of its value, be it external or not.
fn dependencies(history: &History) -> Vec<Edge> {
    let mut edges = Vec::new();
    for a in history.txn_ids() {
        for b in history.txn_ids().filter(|&b| a < b) {
            if history.session_of(a) == history.session_of(b) {
                edges.push(edge(a, b, So));
            }
        }
    }
    for (from, write, w) in ops(history).into_iter().filter(|row| row.2.kind.is_write()) {
        for (to, read, r) in ops(history)
            .into_iter()
            .filter(|row| !row.2.kind.is_write())
        {
            if from != to && (w.key, w.value) == (r.key, r.value) {
                edges.push(Edge {
                    key: Some(w.key),
                    from_op: Some(write),
                    to_op: Some(read),
                    ..edge(from, to, Wr)
                });
            }
        }
    }
    edges
}

/// Every path of up to `steps` edges from one transaction to another.
fn paths(edges: &[Edge], from: TxnId, to: TxnId, steps: usize) -> Vec<Vec<Edge>> {
    let mut found = Vec::new();
    let mut open: Vec<Vec<Edge>> = vec![Vec::new()];
    for _ in 0..steps {
        let mut longer = Vec::new();
        for path in &open {
            let end = path.last().map_or(from, |edge| edge.to);
            for next in edges.iter().filter(|next| next.from == end) {
                longer.push([path.as_slice(), std::slice::from_ref(next)].concat());
            }
        }
        longer.truncate(2000);
        found.extend(
            longer
                .iter()
                .filter(|path| path[path.len() - 1].to == to)
                .cloned(),
        );
        open = longer;
    }
    found
}

fn last_write(history: &History, txn: TxnId, key: KeyId) -> Option<OpId> {
    let writes = history
        .txn_ops(txn)
        .filter(|(_, op)| op.kind.is_write() && op.key == key);
    writes.last().map(|write| write.0)
}

/// Every version order that some read might force.
fn forced_orders(history: &History, edges: &[Edge]) -> Vec<Edge> {
    let mut orders = Vec::new();
    for (t3, read, r) in ops(history)
        .into_iter()
        .filter(|row| !row.2.kind.is_write())
    {
        let writers = edges
            .iter()
            .filter(|edge| edge.to_op == Some(read))
            .map(|edge| edge.from);
        for t1 in writers.chain([TxnId::INITIAL]) {
            for t2 in history.txn_ids().filter(|&t2| t2 != t1 && t2 != t3) {
                let Some(write) = last_write(history, t2, r.key) else {
                    continue;
                };
                let to_op = (t1 != TxnId::INITIAL)
                    .then(|| last_write(history, t1, r.key))
                    .flatten();
                orders.extend(paths(edges, t2, t3, 3).into_iter().map(|path| Edge {
                    key: Some(r.key),
                    from_op: Some(write),
                    to_op,
                    because: Some(Reason::Read { read, path }),
                    ..edge(t2, t1, Ww)
                }));
            }
        }
    }
    orders
}

/// The shortest cycle through an edge.
fn cycle_through(edges: &[Edge], first: &Edge) -> Option<Vec<Edge>> {
    if first.to == TxnId::INITIAL {
        return Some(vec![first.clone()]);
    }
    let mut reached: Vec<(TxnId, Vec<Edge>)> = vec![(first.to, vec![first.clone()])];
    let mut next = 0;
    while next < reached.len() {
        let (end, path) = reached[next].clone();
        if end == first.from {
            return Some(path);
        }
        for edge in edges.iter().filter(|edge| edge.from == end) {
            if !reached.iter().any(|(txn, _)| *txn == edge.to) {
                reached.push((
                    edge.to,
                    [path.as_slice(), std::slice::from_ref(edge)].concat(),
                ));
            }
        }
        next += 1;
    }
    None
}

/// Whether the level admits an edge: a path of a shape that it speaks about.
fn is_admissible(level: Level, edge: &Edge) -> bool {
    let Some(Reason::Read { read, path }) = &edge.because else {
        return true;
    };
    let kinds: Vec<EdgeKind> = path.iter().map(|step| step.kind).collect();
    match level {
        Level::ReadCommitted | Level::CursorStability => {
            kinds == [Wr] && path[0].to_op.is_some_and(|earlier| earlier < *read)
        }
        Level::ReadYourWrites => kinds == [So],
        Level::MonotonicReads => kinds == [Wr, So],
        Level::MonotonicWrites => kinds == [So, Wr],
        Level::WritesFollowReads => kinds == [Wr, Wr] || kinds == [Wr, So, Wr],
        Level::ReadAtomic | Level::UpdateAtomic => path.len() == 1,
        _ => true,
    }
}

/// Whether some evidence is accepted, of all operations and cycles that might be evidence.
fn some_evidence_is_accepted(history: &History, level: Level, honest: bool) -> bool {
    let ops = ops(history);
    let ids: Vec<OpId> = ops.iter().map(|row| row.1).collect();
    for &a in &ids {
        let single = |kind, ops| accepts(history, level, anomaly(kind, ops, Vec::new()));
        if single(ThinAirRead, vec![a]) {
            return true;
        }
        for &b in ids
            .iter()
            .filter(|b| history.op(**b).key == history.op(a).key)
        {
            let kinds = [AbortedRead, FutureRead, NotMyOwnWrite, NonRepeatableRead];
            if kinds.into_iter().any(|kind| single(kind, vec![a, b])) {
                return true;
            }
            for &c in ids
                .iter()
                .filter(|c| history.op(**c).key == history.op(a).key)
            {
                let kinds = [NotMyLastWrite, IntermediateRead];
                if kinds.into_iter().any(|kind| single(kind, vec![a, b, c])) {
                    return true;
                }
                let is_update = !history.op(a).kind.is_write() && history.op(b).kind.is_write();
                let is_read = !history.op(c).kind.is_write();
                let last = |&&d: &&OpId| history.op(d).key == history.op(a).key;
                if is_update
                    && is_read
                    && ids
                        .iter()
                        .filter(last)
                        .any(|&d| single(LostUpdate, vec![a, b, c, d]))
                {
                    return true;
                }
            }
        }
    }
    let committed =
        |txn: TxnId| !honest || txn == TxnId::INITIAL || history.status(txn) == Status::Committed;
    let mut edges = dependencies(history);
    edges.retain(|edge| committed(edge.from) && committed(edge.to));
    let forced = forced_orders(history, &edges);
    let forced = forced.into_iter().filter(|edge| is_admissible(level, edge));
    // Cycles are only searched for along edges that hold by themselves; the others are refused.
    let is_true = |edge: &Edge| {
        let alone = anomaly(ConflictingOrder, Vec::new(), vec![edge.clone()]);
        let why = reason(history, level, vec![alone]);
        why == "accepted" || why.contains("the next begins at") || why.contains("no conflicting")
    };
    edges.extend(forced);
    if honest {
        edges.retain(is_true);
    }
    edges.iter().any(|first| {
        cycle_through(&edges, first).is_some_and(|cycle| {
            let pure = cycle.iter().all(|edge| edge.kind != Ww);
            let kind = if pure {
                CyclicCausality
            } else {
                ConflictingOrder
            };
            accepts(history, level, anomaly(kind, Vec::new(), cycle))
        })
    })
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
        let symmetric = matches!(kind, ThinAirRead | NonRepeatableRead);
        let evidence = anomaly(kind, reversed, Vec::new());
        assert_eq!(
            accepts(&history, Level::UpdateAtomic, evidence),
            symmetric,
            "{text} reversed"
        );
    };
    check("r(x,7)", ThinAirRead, &[0], &all_but_read_uncommitted);
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

#[test]
fn lists_in_opposite_orders_are_a_dirty_write_at_every_level() {
    let history = history_of("a(x,1) a(y,1) ; a(x,2) a(y,2) ; l(x,[1 2]) ; l(y,[2 1])");
    let ww = |from: u32, to: u32, key: u32, ops: (u32, u32), read: u32| Edge {
        key: Some(KeyId(key)),
        from_op: Some(OpId(ops.0)),
        to_op: Some(OpId(ops.1)),
        because: Some(Reason::List { read: OpId(read) }),
        ..edge(TxnId(from), TxnId(to), Ww)
    };
    let cycle = vec![ww(0, 1, 0, (0, 2), 4), ww(1, 0, 1, (3, 1), 5)];
    for level in Level::all() {
        let evidence = anomaly(DirtyWrite, Vec::new(), cycle.clone());
        assert!(accepts(&history, level, evidence), "{level}");
    }
    let wrong = vec![ww(0, 1, 0, (0, 2), 4), ww(1, 0, 0, (2, 0), 4)];
    let why = reason(
        &history,
        Level::Causal,
        vec![anomaly(DirtyWrite, Vec::new(), wrong)],
    );
    assert!(why.contains("does not show"), "{why}");
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
