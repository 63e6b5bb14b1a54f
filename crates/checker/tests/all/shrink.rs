//! Shrunk histories and the evidence of strong levels: nothing in them can be left out, as the
//! executable definitions and the certifier see it.
use crate::small;

use checker::{Options, check, shrink};
use history::{Anomaly, Builder, History, Initial, KeyId, Level, LevelResult, Op, OpId, Verdict};
use history::{ValueCode, definition};
use small::{Shape, random_history, show};
use std::collections::HashSet;

fn levels() -> Vec<Level> {
    Level::all().collect()
}

/// What can be left out by itself: a transaction, a read, or all writes of one to a key.
fn units(history: &History) -> Vec<Vec<OpId>> {
    let mut units: Vec<Vec<OpId>> = Vec::new();
    for txn in history.txn_ids() {
        let ops: Vec<(OpId, Op)> = history.txn_ops(txn).collect();
        units.push(ops.iter().map(|&(id, _)| id).collect());
        for (id, op) in &ops {
            let same = |(_, other): &&(OpId, Op)| other.kind.is_write() && other.key == op.key;
            units.push(match op.kind.is_write() {
                true => ops.iter().filter(same).map(|&(id, _)| id).collect(),
                false => vec![*id],
            });
        }
    }
    units
}

/// A history without some operations, and without the reads of what they wrote; a transaction that
/// loses all is gone.
fn without(history: &History, dropped: &[OpId]) -> History {
    let writes = dropped.iter().map(|&id| history.op(id));
    let writes = writes.filter(|op| op.kind.is_write());
    let lost: HashSet<(KeyId, ValueCode)> = writes.map(|op| (op.key, op.value)).collect();
    let is_lost = |op: &Op| {
        if op.kind.reads_list() {
            let elements = history.list(op.value).iter();
            return elements
                .map(|&element| (op.key, element))
                .any(|version| lost.contains(&version));
        }
        !op.kind.is_write() && lost.contains(&(op.key, op.value))
    };
    let mut builder = Builder::new();
    for txn in history.txn_ids() {
        if history.txn_ops(txn).all(|(id, _)| dropped.contains(&id)) {
            continue;
        }
        let row = history.txn(txn);
        let session = builder.session(history.session_label(row.session));
        let mut ops: Vec<Op> = Vec::new();
        let keeps = |(id, op): &(OpId, Op)| !dropped.contains(id) && !is_lost(op);
        for (_, mut op) in history.txn_ops(txn).filter(keeps) {
            op.key = builder.key(&history.key_name(op.key));
            if op.kind.reads_list() {
                op.value = builder.lists.push(history.list(op.value));
            }
            ops.push(op);
        }
        builder
            .push_txn(session, row.label, row.status, history.interval(txn), &ops)
            .expect("small");
    }
    builder.finish()
}

/// Shrinks the violations of random histories; the seed is printed on failure.
fn shrinks(shape: &Shape, seeds: std::ops::Range<u64>) {
    let initial = Initial::default();
    let options = Options::default();
    let mut shrunk_count = 0;
    for seed in seeds {
        let history = random_history(shape, seed);
        if definition::holds_all(&history, &initial).is_err() {
            continue;
        }
        for answer in check(&history, &levels(), &options) {
            let level = answer.result.level;
            if !matches!(answer.result.verdict, Verdict::Violated(_)) {
                continue;
            }
            let context = || format!("seed {seed}, {level}\n{}", show(&history));
            let part = shrink(&history, &answer.result, &options);
            let part = part.unwrap_or_else(|| panic!("not shrunk: {}", context()));
            let small = &part.history;
            let holds = |history: &History| definition::holds(history, level, &initial);
            assert_eq!(holds(small), Ok(false), "{}{}", context(), show(small));
            for ops in units(small) {
                let smaller = without(small, &ops);
                let text = || format!("{}{}", context(), show(small));
                assert_eq!(holds(&smaller), Ok(true), "without {ops:?}: {}", text());
            }
            let again = &check(small, &[level], &options)[0].result;
            let is_rejected = matches!(again.verdict, Verdict::Violated(_));
            assert!(is_rejected, "not rejected again: {}", context());
            let certified = history::certify(small, &initial, again);
            assert!(certified.is_ok(), "{certified:?}: {}", context());
            assert_part(&history, &part);
            shrunk_count += 1;
        }
    }
    println!("{shrunk_count} violations shrunk");
    assert!(shrunk_count >= 300, "only {shrunk_count} violations");
}

/// Every operation of the part is one of the whole, and in the same transaction.
fn assert_part(history: &History, part: &checker::Part) {
    for txn in part.history.txn_ids() {
        let whole = part.whole_txn(txn);
        assert_eq!(history.txn(whole).label, part.history.txn(txn).label);
        for (id, _) in part.history.txn_ops(txn) {
            let whole_op = part.whole_op(id);
            assert!(history.op_range(whole).contains(&whole_op.index()));
            assert_eq!(history.op_text(whole_op), part.history.op_text(id));
        }
    }
}

#[test]
fn registers_shrink() {
    shrinks(&Shape::default(), 0..200);
}

#[test]
fn many_transactions_shrink() {
    let shape = Shape {
        sessions: 4,
        txns: 7,
        ops: 4,
        keys: 3,
        read_modify_write: 30,
        ..Shape::default()
    };
    shrinks(&shape, 1_000..1_100);
}

#[test]
fn wild_reads_and_outcomes_shrink() {
    let shape = Shape {
        aborted: 10,
        indeterminate: 25,
        wild: 10,
        ..Shape::default()
    };
    shrinks(&shape, 2_000..2_150);
}

#[test]
fn values_written_twice_shrink() {
    let shape = Shape {
        duplicates: 30,
        txns: 5,
        ..Shape::default()
    };
    shrinks(&shape, 3_000..3_200);
}

#[test]
fn lists_shrink() {
    let shape = Shape {
        lists: true,
        ..Shape::default()
    };
    shrinks(&shape, 4_000..4_200);
}

/// The cycles of an anomaly, less one of them.
fn without_cycle(anomaly: &Anomaly, place: usize) -> Anomaly {
    let mut cycles = vec![anomaly.edges.clone()];
    cycles.extend(anomaly.otherwise.iter().cloned());
    cycles.remove(place);
    let mut fewer = anomaly.clone();
    fewer.edges = cycles.remove(0);
    fewer.otherwise = cycles;
    fewer
}

/// No cycle of the evidence of a strong level can be left out.
#[test]
fn evidence_of_strong_levels_has_nothing_to_spare() {
    let strong = Level::all().filter(|level| !Level::WEAK.contains(level));
    let strong: Vec<Level> = strong.collect();
    let initial = Initial::default();
    let mut checked = 0;
    for seed in 5_000..9_000 {
        let shape = Shape {
            sessions: 4,
            txns: 7,
            keys: 2 + seed % 2,
            ..Shape::default()
        };
        let history = random_history(&shape, seed);
        for answer in check(&history, &strong, &Options::default()) {
            let Verdict::Violated(anomalies) = &answer.result.verdict else {
                continue;
            };
            let level = answer.result.level;
            history::certify(&history, &initial, &answer.result)
                .unwrap_or_else(|refusal| panic!("seed {seed}, {level}: {refusal}"));
            for anomaly in anomalies.iter().filter(|found| !found.otherwise.is_empty()) {
                for place in 0..=anomaly.otherwise.len() {
                    let verdict = Verdict::Violated(vec![without_cycle(anomaly, place)]);
                    let fewer = LevelResult { level, verdict };
                    assert!(
                        history::certify(&history, &initial, &fewer).is_err(),
                        "seed {seed}, {level}: cycle {place} is not needed\n{}{anomaly:#?}",
                        show(&history),
                    );
                }
                checked += 1;
            }
        }
    }
    println!("{checked} anomalies");
    assert!(checked > 150, "only {checked} anomalies");
}

/// Of two transactions that added the same element to a set, either can be left out, but not one by one.
#[test]
fn no_transaction_is_left_with_nothing() {
    let history = small::parse(
        "{\"session\":1,\"txn\":0,\"ops\":[[\"add\",1,2]]}\n{\"session\":2,\"txn\":2,\"ops\":[[\"add\",1,2]]}\n\
         {\"session\":1,\"txn\":3,\"ops\":[[\"rset\",1,[2]],[\"add\",1,3],[\"rset\",1,[3]]]}\n",
    );
    for answer in check(&history, &levels(), &Options::default()) {
        if let Some(part) = shrink(&history, &answer.result, &Options::default()) {
            let txns = part.history.txn_ids();
            let is_empty = |txn| part.history.txn_ops(txn).next().is_none();
            assert!(!txns.into_iter().any(is_empty), "{}", answer.result.level);
        }
    }
}
