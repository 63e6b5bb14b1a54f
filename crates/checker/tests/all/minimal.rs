//! Counterexamples of the strong levels are minimal in the sense of the PolySI paper (appendix E):
//! whatever is chosen for what they leave open, their edges contradict the level, and without any
//! one of these edges something can be chosen. Judged here by graphs alone, without the checker and
//! the certifier.
use crate::small;

use checker::{Options, check};
use history::{Anomaly, AnomalyKind, Edge, EdgeKind, History, KeyId, Level, OpId, Reason};
use history::{Initial, LevelResult, TxnId, Verdict};
use small::{Shape, random_history, show};
use std::collections::{BTreeMap, BTreeSet};

/// What an edge rests on, besides what was observed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Premise {
    Older(KeyId, TxnId, TxnId),
    ReadsFrom(OpId, TxnId),
}

/// The transactions whose last write to the key of a read is what it returned.
fn writers(history: &History, reader: TxnId, read: OpId) -> Vec<TxnId> {
    let wanted = history.op(read);
    let last = |txn: TxnId| {
        let ops = history.txn_ops(txn).map(|(_, op)| op);
        let writes = ops.filter(|op| op.kind.is_write() && op.key == wanted.key);
        writes.last()
    };
    let wrote =
        |&txn: &TxnId| txn != reader && last(txn).is_some_and(|op| op.value == wanted.value);
    history.txn_ids().filter(wrote).collect()
}

/// None if an edge is not of the kind that leaves choices open.
fn premises(history: &History, edge: &Edge) -> Option<Vec<Premise>> {
    let named = match edge.because {
        None => None,
        Some(Reason::Version { writer }) => Some(writer),
        Some(_) => return None,
    };
    let mut premises = Vec::new();
    let mut reads_from = |reader: TxnId, read: OpId, named: Option<TxnId>| {
        let possible = writers(history, reader, read);
        let writer = named.or(possible.first().copied());
        let writer = writer.unwrap_or(TxnId::INITIAL);
        if possible.len() > 1 {
            premises.push(Premise::ReadsFrom(read, writer));
        }
        writer
    };
    match edge.kind {
        EdgeKind::So | EdgeKind::Rt => {}
        EdgeKind::Wr => {
            reads_from(edge.to, edge.to_op?, Some(edge.from));
        }
        EdgeKind::Ww => premises.push(Premise::Older(edge.key?, edge.from, edge.to)),
        EdgeKind::Rw => {
            let writer = reads_from(edge.from, edge.from_op?, named);
            if writer != TxnId::INITIAL {
                premises.push(Premise::Older(edge.key?, writer, edge.to));
            }
        }
    }
    Some(premises)
}

/// Everything that can be chosen about what the premises leave open.
fn assignments(history: &History, edges: &[(Edge, Vec<Premise>)]) -> Vec<BTreeSet<Premise>> {
    let mut pairs: BTreeSet<(KeyId, TxnId, TxnId)> = BTreeSet::new();
    let mut reads: BTreeMap<OpId, Vec<TxnId>> = BTreeMap::new();
    for premise in edges.iter().flat_map(|(_, premises)| premises) {
        match *premise {
            Premise::Older(key, older, newer) => {
                pairs.insert((key, older.min(newer), older.max(newer)));
            }
            Premise::ReadsFrom(read, _) => {
                let mut txns = history.txn_ids();
                let reader = txns.find(|&txn| history.op_range(txn).contains(&read.index()));
                let reader = reader.expect("a read is in a transaction");
                reads.insert(read, writers(history, reader, read));
            }
        }
    }
    let mut all = vec![BTreeSet::new()];
    let mut branch = |ways: Vec<Premise>| {
        let with = |chosen: &BTreeSet<Premise>, way: Premise| {
            let mut chosen = chosen.clone();
            chosen.insert(way);
            chosen
        };
        all = all
            .iter()
            .flat_map(|chosen| ways.iter().map(|&way| with(chosen, way)))
            .collect();
        assert!(all.len() <= 1 << 16, "too many choices for a small history");
    };
    for (key, first, second) in pairs {
        branch(vec![
            Premise::Older(key, first, second),
            Premise::Older(key, second, first),
        ]);
    }
    for (read, writers) in reads {
        let way = |writer| Premise::ReadsFrom(read, writer);
        branch(writers.into_iter().map(way).collect());
    }
    all
}

/// Whether edges contradict a level.
fn contradict(level: Level, edges: &[&Edge]) -> bool {
    use Level::{NonMonotonicSnapshotIsolation, ParallelSnapshotIsolation};
    if matches!(
        level,
        NonMonotonicSnapshotIsolation | ParallelSnapshotIsolation
    ) {
        return contradict_parallel(edges);
    }
    // A start and a commit by transaction, the same where the level has no snapshots.
    let start = |txn: TxnId| 2 * u64::from(txn.0);
    let has_snapshots = !level.implies(Level::Serializable);
    let commit = |txn: TxnId| start(txn) + u64::from(has_snapshots);
    let mut steps: BTreeSet<(u64, u64)> = BTreeSet::new();
    for edge in edges {
        steps.insert(match edge.kind {
            EdgeKind::Rw => (start(edge.from), commit(edge.to)),
            EdgeKind::Ww if level == Level::Prefix => (commit(edge.from), commit(edge.to)),
            _ => (commit(edge.from), start(edge.to)),
        });
        if has_snapshots {
            steps.extend([edge.from, edge.to].map(|txn| (start(txn), commit(txn))));
        }
    }
    has_cycle(steps)
}

/// Leaves out steps to where nothing goes on from; what is left has a cycle.
fn has_cycle(mut steps: BTreeSet<(u64, u64)>) -> bool {
    loop {
        let froms: BTreeSet<u64> = steps.iter().map(|step| step.0).collect();
        let before = steps.len();
        steps.retain(|step| froms.contains(&step.1));
        if steps.len() == before {
            return before > 0;
        }
    }
}

/// A cycle with at most one read of an overwritten version.
fn contradict_parallel(edges: &[&Edge]) -> bool {
    let is_rw = |edge: &&&Edge| edge.kind == EdgeKind::Rw;
    let step = |edge: &Edge| (u64::from(edge.from.0), u64::from(edge.to.0));
    let others = edges.iter().filter(|edge| !is_rw(edge));
    let others: BTreeSet<(u64, u64)> = others.map(|edge| step(edge)).collect();
    has_cycle(others.clone())
        || edges.iter().filter(is_rw).any(|edge| {
            let mut with = others.clone();
            with.insert(step(edge));
            has_cycle(with)
        })
}

/// Whether every choice leaves a contradiction.
fn is_refuted(
    level: Level,
    edges: &[(Edge, Vec<Premise>)],
    choices: &[BTreeSet<Premise>],
    without: Option<usize>,
) -> bool {
    choices.iter().all(|chosen| {
        let stands = |(at, (_, premises)): &(usize, &(Edge, Vec<Premise>))| {
            Some(*at) != without && premises.iter().all(|premise| chosen.contains(premise))
        };
        let standing = edges.iter().enumerate().filter(stands);
        let standing: Vec<&Edge> = standing.map(|(_, (edge, _))| edge).collect();
        contradict(level, &standing)
    })
}

/// Deletes each edge of a counterexample, and tells the first that is not needed. None if it is no
/// counterexample that leaves anything open to choose.
fn spare_edge(
    history: &History,
    level: Level,
    anomaly: &Anomaly,
    at: &str,
) -> Option<Option<String>> {
    let mut edges: Vec<(Edge, Vec<Premise>)> = Vec::new();
    for edge in anomaly
        .edges
        .iter()
        .chain(anomaly.otherwise.iter().flatten())
    {
        let premises = premises(history, edge)?;
        if !edges.iter().any(|(other, _)| other == edge) {
            edges.push((edge.clone(), premises));
        }
    }
    // A lost update is shown by the two that overwrote the same version, not by a cycle.
    let is_pair = anomaly.kind == AnomalyKind::LostUpdate && anomaly.otherwise.is_empty();
    if edges.is_empty() || is_pair {
        return None;
    }
    let choices = assignments(history, &edges);
    let shown = || format!("{at}, {level}\n{}{anomaly:#?}", show(history));
    assert!(
        is_refuted(level, &edges, &choices, None),
        "something can be chosen: {}",
        shown()
    );
    let is_spare = |&place: &usize| is_refuted(level, &edges, &choices, Some(place));
    let spare = (0..edges.len()).find(is_spare);
    Some(spare.map(|place| format!("not needed: {:?}, {}", edges[place].0, shown())))
}

fn minimal(shape: &Shape, seeds: std::ops::Range<u64>) {
    let strong = Level::all().filter(|level| !Level::WEAK.contains(level));
    let strong: Vec<Level> = strong.collect();
    let (mut judged, mut by_cases) = (BTreeMap::new(), 0);
    let mut problems: Vec<String> = Vec::new();
    for seed in seeds {
        let history = random_history(shape, seed);
        for answer in check(&history, &strong, &Options::default()) {
            let Verdict::Violated(anomalies) = &answer.result.verdict else {
                continue;
            };
            let level = answer.result.level;
            let is_whole = |anomaly: &&Anomaly| anomaly.assuming.is_empty();
            for anomaly in anomalies.iter().filter(is_whole) {
                if let Some(spare) = spare_edge(&history, level, anomaly, &format!("seed {seed}")) {
                    *judged.entry(level.name()).or_insert(0u32) += 1;
                    by_cases += u32::from(anomaly.kind == AnomalyKind::NoVersionOrder);
                    problems.extend(spare);
                }
            }
        }
    }
    println!("{judged:?}, {by_cases} of them by cases");
    let of_every_level = strong.iter().all(|level| judged.contains_key(level.name()));
    assert!(of_every_level, "{judged:?}");
    let count = problems.len();
    assert_eq!(problems.first(), None, "{count} counterexamples");
}

#[test]
fn counterexamples_of_registers_have_no_edge_to_spare() {
    let shape = Shape {
        sessions: 4,
        txns: 7,
        keys: 3,
        ..Shape::default()
    };
    minimal(&shape, 20_000..22_000);
}

#[test]
fn counterexamples_of_few_keys_have_no_edge_to_spare() {
    let shape = Shape {
        sessions: 6,
        txns: 7,
        ops: 4,
        read_modify_write: 20,
        ..Shape::default()
    };
    minimal(&shape, 22_000..24_000);
}

#[test]
fn counterexamples_with_times_have_no_edge_to_spare() {
    let shape = Shape {
        timed: true,
        sessions: 5,
        ..Shape::default()
    };
    minimal(&shape, 24_000..26_000);
}

#[test]
fn counterexamples_of_values_written_twice_have_no_edge_to_spare() {
    let shape = Shape {
        duplicates: 30,
        sessions: 4,
        txns: 6,
        ..Shape::default()
    };
    minimal(&shape, 26_000..28_000);
}

/// How many cycles beside the main one the counterexamples of a history have, each of which the certifier misses.
fn needed_cycles(history: &History, context: &str) -> usize {
    let strong: Vec<Level> = Level::all()
        .filter(|level| !Level::WEAK.contains(level))
        .collect();
    let mut count = 0;
    for answer in check(history, &strong, &Options::default()) {
        let Verdict::Violated(anomalies) = &answer.result.verdict else {
            continue;
        };
        let level = answer.result.level;
        for anomaly in anomalies {
            for place in 0..anomaly.otherwise.len() {
                let mut fewer = anomaly.clone();
                fewer.otherwise.remove(place);
                let verdict = Verdict::Violated(vec![fewer]);
                let result = LevelResult { level, verdict };
                let certified = history::certify(history, &Initial::default(), &result);
                assert!(certified.is_err(), "{context}, {level}: cycle {place}");
                count += 1;
            }
        }
    }
    count
}

/// A list that lacks an element shows by itself that it was appended later; no other read has to.
#[test]
fn a_list_that_lacks_an_element_needs_no_other_to_show_the_order() {
    let text = r#"{"session":0,"txn":0,"ops":[["rlist",3,[]],["append",1,1],["rlist",2,[]]]}
{"session":0,"txn":2,"ops":[["append",0,1],["rlist",0,[1]],["append",3,1]]}
{"session":0,"txn":3,"ops":[["rlist",1,[1]],["append",2,1],["rlist",2,[1]],["rlist",2,[1]]]}
{"session":1,"txn":4,"ops":[["append",3,2],["rlist",2,[]],["rlist",0,[]],["append",1,2]]}
{"session":1,"txn":5,"ops":[["rlist",1,[1,2]],["append",3,3]]}"#;
    let history = history::format::jsonl::read(text.as_bytes(), &mut Vec::new()).unwrap();
    assert!(needed_cycles(&history, "the history") > 0);
}

#[test]
fn counterexamples_of_lists_have_no_cycle_to_spare() {
    let shape = Shape {
        lists: true,
        sessions: 3,
        txns: 8,
        ops: 4,
        keys: 4,
        ..Shape::default()
    };
    let mut count = 0;
    for seed in 26_000..29_000 {
        let history = random_history(&shape, seed);
        count += needed_cycles(&history, &format!("seed {seed}"));
    }
    assert!(count > 10, "{count} cycles");
}
