//! The named anomalies, one small history each, and what is wrong with evidence spoiled.

use super::enumerate::{cycles, edge, edges, last_write};
use super::support::history_of;
use super::{anomaly, reason};
use history::AnomalyKind::{self, *};
use history::EdgeKind::{self, Rt, Rw, So, Wr, Ww};
use history::{Anomaly, Edge, History, KeyId, Level, OpId, Reason, TxnId};

/// The cycle through these transactions by edges of these kinds.
fn cycle(history: &History, steps: &[(u32, EdgeKind)]) -> Vec<Edge> {
    let all = edges(history);
    let next = steps.iter().cycle().skip(1);
    let edge = |(step, next): (&(u32, EdgeKind), &(u32, EdgeKind))| {
        let is_it = |edge: &&Edge| {
            (edge.from, edge.to, edge.kind) == (TxnId(step.0), TxnId(next.0), step.1)
        };
        all.iter().find(is_it).cloned().expect("such an edge")
    };
    steps.iter().zip(next).map(edge).collect()
}

const WRITE_SKEW: &str = "r(x,0) w(y,1) ; r(y,0) w(x,1)";
const LONG_FORK: &str = "w(x,1) ; w(y,1) ; r(x,1) r(y,0) ; r(y,1) r(x,0)";
const READ_SKEW: &str = "w(x,1) w(y,1) ; r(x,1) r(y,0)";
const LOST_UPDATE: &str = "r(x,0) w(x,1) ; r(x,0) w(x,2)";

/// Which levels a single cycle breaks, under each name that fits.
fn check(text: &str, steps: &[(u32, EdgeKind)], names: &[AnomalyKind], breaks: &[Level]) {
    let history = history_of(text);
    let cycle = cycle(&history, steps);
    for level in Level::all() {
        for &kind in names {
            let why = reason(&history, level, anomaly(kind, vec![cycle.clone()]));
            assert_eq!(
                why == "accepted",
                breaks.contains(&level),
                "{text}, {level}, {kind}: {why}"
            );
        }
    }
    let strong = [
        CircularFlow,
        WriteSkew,
        LongFork,
        GSingle,
        GNonadjacent,
        G2Item,
        NoVersionOrder,
    ];
    for kind in strong.into_iter().filter(|kind| !names.contains(kind)) {
        let evidence = anomaly(kind, vec![cycle.clone()]);
        let why = reason(&history, Level::StrictSerializable, evidence);
        assert_eq!(why, format!("the cycle is no {kind}"), "{text}");
    }
}

const SERIALIZABLE: [Level; 3] = [
    Level::Serializable,
    Level::StrongSessionSerializable,
    Level::StrictSerializable,
];
const SNAPSHOT: [Level; 3] = [
    Level::SnapshotIsolation,
    Level::StrongSessionSnapshotIsolation,
    Level::StrongSnapshotIsolation,
];
const PARALLEL: [Level; 2] = [
    Level::NonMonotonicSnapshotIsolation,
    Level::ParallelSnapshotIsolation,
];

#[test]
fn each_name_fits_its_shape_and_breaks_its_levels() {
    check(
        WRITE_SKEW,
        &[(0, Rw), (1, Rw)],
        &[WriteSkew, G2Item],
        &SERIALIZABLE,
    );
    let of_fork = [
        SERIALIZABLE.as_slice(),
        SNAPSHOT.as_slice(),
        &[Level::Prefix],
    ];
    check(
        LONG_FORK,
        &[(0, Wr), (2, Rw), (1, Wr), (3, Rw)],
        &[LongFork, GNonadjacent],
        &of_fork.concat(),
    );
    let of_skew = [of_fork.concat().as_slice(), PARALLEL.as_slice()].concat();
    check(
        READ_SKEW,
        &[(0, Wr), (1, Rw)],
        &[GSingle, FracturedRead],
        &of_skew,
    );
    let flow = "r(x,1) w(y,1) ; r(y,1) w(x,1)";
    let names = [CircularFlow, CyclicCausality];
    let all_but_one: Vec<Level> = Level::all().skip(1).collect();
    check(flow, &[(0, Wr), (1, Wr)], &names, &all_but_one);
    let with_time = "@3-4 w(x,1) ; @1-2 r(x,1)";
    check(
        with_time,
        &[(0, Wr), (1, Rt)],
        &names,
        &[Level::StrongSnapshotIsolation, Level::StrictSerializable],
    );
    let stale = "@1-2 w(x,1) ; @3-4 r(x,0)";
    check(
        stale,
        &[(0, Rt), (1, Rw)],
        &[GSingle],
        &[Level::StrongSnapshotIsolation, Level::StrictSerializable],
    );
    let session = "w(x,1) | r(x,0)";
    let with_sessions: Vec<Level> = Level::all()
        .filter(|level| {
            level.implies(Level::Prefix) || level.implies(Level::ParallelSnapshotIsolation)
        })
        .collect();
    check(session, &[(0, So), (1, Rw)], &[GSingle], &with_sessions);
}

/// Either order of the two updates closes a cycle.
fn lost_update(history: &History) -> Vec<Vec<Edge>> {
    vec![
        cycle(history, &[(0, Ww), (1, Rw)]),
        cycle(history, &[(1, Ww), (0, Rw)]),
    ]
}

#[test]
fn a_lost_update_takes_both_orders() {
    let history = history_of(LOST_UPDATE);
    let why = |level, kind, cycles| reason(&history, level, anomaly(kind, cycles));
    let both = lost_update(&history);
    for level in Level::all().filter(|level| !Level::WEAK.contains(level)) {
        for kind in [LostUpdate, GSingle, NoVersionOrder] {
            let accepted = why(level, kind, both.clone());
            let expect = level != Level::Prefix;
            assert_eq!(
                accepted == "accepted",
                expect,
                "{level}, {kind}: {accepted}"
            );
        }
    }
    let si = Level::SnapshotIsolation;
    assert_eq!(
        why(si, LostUpdate, both[..1].to_vec()),
        "no cycle is left if s1t1 wrote x before s0t0"
    );
    assert_eq!(
        why(si, NoVersionOrder, both[1..].to_vec()),
        "the cycle is no no-version-order"
    );
    let skew = history_of(WRITE_SKEW);
    let cycle = cycle(&skew, &[(0, Rw), (1, Rw)]);
    let evidence = anomaly(LostUpdate, vec![cycle]);
    assert_eq!(
        reason(&skew, Level::Serializable, evidence),
        "the cycle is no lost-update"
    );
}

/// The version that both read has a writer, whose place in the version order has to be proved.
#[test]
fn a_lost_update_of_a_written_version_takes_four_cycles() {
    let history = history_of("w(x,7) ; r(x,7) w(x,1) ; r(x,7) w(x,2)");
    let cycles = vec![
        cycle(&history, &[(1, Ww), (2, Rw)]),
        cycle(&history, &[(2, Ww), (1, Rw)]),
        cycle(&history, &[(1, Ww), (0, Wr)]),
        cycle(&history, &[(2, Ww), (0, Wr)]),
    ];
    let level = Level::ParallelSnapshotIsolation;
    let accepted = |cycles| reason(&history, level, anomaly(LostUpdate, cycles));
    assert_eq!(accepted(cycles.clone()), "accepted");
    for index in 0..4 {
        let mut fewer = cycles.clone();
        fewer.remove(index);
        let why = accepted(fewer);
        assert_ne!(why, "accepted", "without {index}");
    }
}

#[test]
fn spoiled_cycles_are_refused() {
    let history = history_of(LOST_UPDATE);
    type Spoil = fn(&mut Anomaly);
    let spoiled: [(Spoil, &str); 17] = [
        (|a| a.edges.clear(), "has no edges"),
        (|a| a.otherwise[0].clear(), "a cycle has no edges"),
        (|a| drop(a.otherwise[0].pop()), "the next begins at"),
        (|a| a.edges[0].from_op = None, "lacks its key or a write"),
        (
            |a| a.edges[1].to_op = None,
            "lacks its key, its read or its write",
        ),
        (|a| a.edges[0].key = Some(KeyId(9)), "is no write"),
        (|a| a.edges[0].to = TxnId(0), "is no write"),
        (|a| a.edges[0].to = TxnId(9), "did not commit"),
        (
            |a| a.edges[0].to = TxnId::INITIAL,
            "through the initial transaction",
        ),
        (|a| a.edges[0].from_op = Some(OpId(0)), "is no write"),
        (|a| a.edges[1].from_op = Some(OpId(3)), "no external read"),
        (|a| a.edges[1].from_op = Some(OpId(99)), "no external read"),
        (|a| a.edges[0].kind = So, "proves nothing at"),
        (|a| a.edges[0].kind = Rt, "proves nothing at"),
        (|a| a.edges[0].kind = Wr, "no external read"),
        (
            |a| a.edges[1].because = Some(Reason::Version { writer: TxnId(0) }),
            "cannot have read from s0t0",
        ),
        (
            |a| a.edges[1].because = Some(Reason::List { read: OpId(0) }),
            "is none",
        ),
    ];
    for (number, (spoil, expect)) in spoiled.into_iter().enumerate() {
        let mut evidence = anomaly(LostUpdate, lost_update(&history));
        spoil(&mut evidence);
        let why = reason(&history, Level::SnapshotIsolation, evidence);
        if number == 0 {
            assert!(why.contains("takes other operations"), "{why}");
        } else {
            assert!(why.contains(expect), "number {number}: {why}");
        }
    }
}

#[test]
fn further_cycles_are_no_evidence_where_versions_are_not_ordered() {
    let history = history_of("r(x,1) w(y,1) ; r(y,1) w(x,1)");
    let cycle = cycle(&history, &[(0, Wr), (1, Wr)]);
    let evidence = anomaly(CyclicCausality, vec![cycle.clone(), cycle]);
    let why = reason(&history, Level::Causal, evidence);
    assert!(why.contains("further cycles are no evidence"), "{why}");
}

/// Whichever of two equal writes was read, the reader missed what followed it.
#[test]
fn cycles_for_every_writer_of_an_ambiguous_read_are_accepted() {
    let text = "w(x,1) | w(x,2) w(y,1) ; w(x,1) | w(x,3) w(z,1) ; r(y,1) r(z,1) r(x,1)";
    let history = history_of(text);
    let all = cycles(&edges(&history), 100_000).expect("few cycles");
    let level = Level::StrongSessionSnapshotIsolation;
    let of = |writer: u32| {
        let (writer, newer) = (TxnId(writer), TxnId(writer + 1));
        let assumes = |edge: &Edge| edge.because == Some(Reason::Version { writer });
        let found = |cycle: &&Vec<Edge>| {
            cycle.len() == 2 && cycle.iter().any(assumes) && cycle.iter().any(|e| e.from == newer)
                || cycle.len() == 2
                    && cycle[0].kind == So
                    && cycle[1].kind == Ww
                    && cycle[0].from == writer
        };
        all.iter().filter(found).cloned().collect::<Vec<_>>()
    };
    let (first, second) = (of(0), of(2));
    let judge = |cycles: Vec<Vec<Edge>>| reason(&history, level, anomaly(NoVersionOrder, cycles));
    assert_eq!(judge([first.clone(), second.clone()].concat()), "accepted");
    let why = judge(first);
    assert!(why.contains("r(x, 1) reads from s1t2"), "{why}");
    let why = judge(second);
    assert!(why.contains("r(x, 1) reads from s0t0"), "{why}");
}

/// An indeterminate transaction that somebody read from has committed, whoever else might have
/// been read from has not.
#[test]
fn a_cycle_through_an_indeterminate_transaction_counts_if_it_must_have_committed() {
    let skew = |last: &str| format!("maybe r(x,0) w(y,1) ; r(y,0) w(x,1) ; {last}");
    let judge = |last: &str| {
        let history = history_of(&skew(last));
        let cycle = cycle(&history, &[(0, Rw), (1, Rw)]);
        reason(
            &history,
            Level::Serializable,
            anomaly(WriteSkew, vec![cycle]),
        )
    };
    assert_eq!(judge("r(y,1)"), "accepted");
    assert_eq!(judge("r(z,0)"), "no cycle is left if s0t0 did not commit");
    assert_ne!(judge("r(y,1) ; maybe w(y,1)"), "accepted");
    assert_eq!(judge("r(y,1) ; maybe r(z,9) w(y,1)"), "accepted");
}

#[test]
fn versions_that_a_read_orders_are_facts() {
    // s1 saw 2 and then read 1, so 2 is older; but 1 is older by session order.
    let history = history_of("w(x,1) | w(x,2) w(y,1) ; r(y,1) | r(x,1)");
    let wr = cycle(&history, &[(1, Wr), (2, So), (3, Rw)])[0].clone();
    let path = vec![wr, edge(TxnId(2), TxnId(3), So)];
    let forced = Edge {
        key: Some(KeyId(0)),
        from_op: last_write(&history, TxnId(1), KeyId(0)),
        to_op: last_write(&history, TxnId(0), KeyId(0)),
        because: Some(Reason::Read {
            read: OpId(4),
            path,
        }),
        ..edge(TxnId(1), TxnId(0), Ww)
    };
    let cycle = vec![edge(TxnId(0), TxnId(1), So), forced];
    let judge = |level| reason(&history, level, anomaly(CircularFlow, vec![cycle.clone()]));
    assert_eq!(judge(Level::StrongSessionSerializable), "accepted");
    assert_eq!(judge(Level::ParallelSnapshotIsolation), "accepted");
    assert_eq!(judge(Level::Prefix), "accepted");
    assert!(judge(Level::Serializable).contains("proves nothing at"));
}
