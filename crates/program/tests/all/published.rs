//! The rows that the CLOTHO paper publishes (tables 2 and 4), in our terms: what docs/programs.md
//! says of them.

use program::analysis::{Anomaly, Options, analyse};
use program::{Bounds, EdgeKind, How, Program, broken_invariants, play, read_sql_file};
use std::collections::{BTreeMap, BTreeSet};

fn read(name: &str) -> Program {
    let path = format!("{}/../../programs/{name}.sql", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    read_sql_file(&text, name, None).unwrap_or_else(|error| panic!("{error}"))
}

/// As the command line asks.
fn options() -> Options {
    Options {
        bounds: Bounds {
            iterations: 1,
            ..Bounds::default()
        },
        ..Options::default()
    }
}

#[test]
fn every_row_of_two_transactions_is_decided() {
    let rows = [
        ("seats-ported", 124, 237),
        ("tatp", 0, 1),
        ("tpcc-ported", 64, 130),
        ("smallbank-ported", 73, 147),
        ("voter-ported", 0, 0),
        ("voter", 1, 2),
        ("twitter-ported", 1, 2),
        ("wikipedia-ported", 76, 205),
    ];
    let two = vec![EdgeKind::WriteRead, EdgeKind::ReadWrite];
    let three = [two.clone(), vec![EdgeKind::WriteWrite]].concat();
    for (name, without, with) in rows {
        let program = read(name);
        for (kinds, expected) in [(&two, without), (&three, with)] {
            let options = Options {
                kinds: kinds.clone(),
                external: true,
                instances: 2,
                ..options()
            };
            let analysis = analyse(&program, &options);
            assert!(analysis.scope.decided, "{name}: {:?}", analysis.counts);
            assert_eq!(analysis.anomalies.len(), expected, "{name}");
        }
    }
}

/// The invariants that an anomaly's scenario breaks.
fn broken(program: &Program, anomaly: &Anomaly) -> Vec<String> {
    let Some(scenario) = anomaly.scenario() else {
        return Vec::new();
    };
    let played = play(program, scenario, How::Given).expect("it plays");
    let broken = broken_invariants(program, scenario, &played).expect("they can be asked");
    let name = |one: program::Broken| program.invariants[one.invariant].name.clone();
    broken.into_iter().map(name).collect()
}

#[test]
fn order_entry_breaks_its_invariants() {
    let program = read("tpcc-ported");
    let analysis = analyse(&program, &options());
    assert!(analysis.scope.decided, "{:?}", analysis.counts);
    let mut rows: BTreeMap<BTreeSet<&str>, (usize, BTreeSet<String>)> = BTreeMap::new();
    for anomaly in &analysis.anomalies {
        let name = |at: &usize| program.transactions[*at].name.as_str();
        let names = anomaly.transactions.iter().map(name).collect();
        let row = rows.entry(names).or_default();
        row.0 += 1;
        row.1.extend(broken(&program, anomaly));
    }
    let told = rows.into_iter().map(|(names, (count, broken))| {
        let list = |all: Vec<&str>| all.join(" ");
        let names = list(names.into_iter().collect());
        let broken = list(broken.iter().map(String::as_str).collect());
        format!("{names}: {count}, {broken}")
    });
    let expected = [
        "Delivery: 15, ncr5",
        "Delivery NewOrder: 2, cr10 cr12 cr7a",
        "Delivery Payment: 9, cr10 cr12 ncr4 ncr5",
        "NewOrder: 7, cr4 ncr1 ncr2",
        "Payment: 33, cr1 cr10 ncr4",
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

/// The rows of table 4: their numbers there, the transactions, and the table in which these meet.
const INTERNAL: [(&str, &[&str], &str); 9] = [
    ("1", &["Payment", "Payment"], "warehouse"),
    ("2", &["Payment", "Payment"], "district"),
    ("3", &["NewOrder", "NewOrder"], "district"),
    ("4", &["Delivery", "Delivery"], "customer"),
    ("5", &["Delivery", "Delivery"], "new_order"),
    ("6", &["Payment", "Payment"], "history"),
    ("8", &["NewOrder", "NewOrder"], "stock"),
    ("11, 12", &["Delivery", "Payment"], "customer"),
    ("13", &["Payment", "Payment"], "customer"),
];

#[test]
fn every_row_can_break_what_it_can() {
    let program = read("tpcc-ported");
    let analysis = analyse(&program, &options());
    for (row, transactions, table) in INTERNAL {
        let is_row = |anomaly: &&Anomaly| {
            let mut names: Vec<&str> = anomaly
                .transactions
                .iter()
                .map(|at| program.transactions[*at].name.as_str())
                .collect();
            names.sort_unstable();
            let mut tables = anomaly.edges.iter().filter_map(|edge| edge.table);
            names == transactions && tables.all(|id| program.schema.table_name(id) == table)
        };
        let rows: Vec<Anomaly> = analysis.anomalies.iter().filter(is_row).cloned().collect();
        let started = std::time::Instant::now();
        let all = program::analysis::all_consequences(&program, &rows, 2000, &|_| {});
        let mut alone = BTreeSet::new();
        let mut helped = BTreeSet::new();
        for one in all.iter().flat_map(|all| &all.found) {
            crate::consequences::verify(&program, one);
            let name = program.invariants[one.invariant].name.clone();
            match one.alone {
                true => alone.insert(name),
                false => helped.insert(name),
            };
        }
        let plays: Vec<usize> = all.iter().map(|all| all.plays).collect();
        eprintln!(
            "{row}: {} cycles, alone {alone:?} others {helped:?} {plays:?} {:?}",
            rows.len(),
            started.elapsed()
        );
    }
}
