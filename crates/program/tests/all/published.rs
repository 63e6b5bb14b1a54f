//! The rows that the CLOTHO paper publishes (tables 2 and 4), in our terms: what docs/programs.md
//! says of them.

use crate::consequences::verify;
use program::analysis::{Anomaly, Consequence, Kind, Options, all_consequences, analyse};
use program::{Bounds, EdgeKind, How, Program, broken_invariants, play, read_sql_file};
use std::collections::{BTreeMap, BTreeSet};

fn text(name: &str) -> String {
    let path = format!("{}/../../programs/{name}.sql", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn read(name: &str) -> Program {
    read_sql_file(&text(name), name, None).unwrap_or_else(|error| panic!("{error}"))
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
        ("tpcc-ported", 79, 151),
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

#[test]
fn every_row_has_its_internal_anomalies() {
    let rows = [
        ("seats-ported", 144),
        ("tatp", 0),
        ("tpcc-ported", 83),
        ("smallbank-ported", 209),
        ("voter-ported", 0),
        ("voter", 3),
        ("twitter-ported", 2),
        ("wikipedia-ported", 48),
    ];
    for (name, expected) in rows {
        let analysis = analyse(&read(name), &options());
        assert_eq!(analysis.anomalies.len(), expected, "{name}");
        assert!(analysis.anomalies.iter().all(|one| one.internal), "{name}");
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
        "Delivery: 15, ncr3 ncr5",
        "Delivery NewOrder: 2, cr10 cr12 cr7a",
        "Delivery Payment: 9, cr10 cr12 ncr3 ncr4 ncr5 ncr7",
        "NewOrder: 7, cr4 ncr1 ncr2",
        "Payment: 50, cr1 cr10 cr8 cr9 ncr4 ncr7",
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

/// How many plays are tried for a row.
const PLAYS: usize = 1500;

/// A row of table 4: its number there, the transactions, the table in which these meet, our kind, and
/// what was found to break by the cycle alone, and with the help of others.
type Row = (
    &'static str,
    &'static [&'static str],
    &'static str,
    Kind,
    &'static str,
    &'static str,
);

const INTERNAL: [Row; 10] = [
    (
        "1",
        &["Payment", "Payment"],
        "warehouse",
        Kind::LostUpdate,
        "cr1 cr8",
        "cr9",
    ),
    (
        "2",
        &["Payment", "Payment"],
        "district",
        Kind::LostUpdate,
        "cr1 cr9",
        "cr8",
    ),
    (
        "3",
        &["NewOrder", "NewOrder"],
        "district",
        Kind::LostUpdate,
        "ncr5",
        "cr2 cr4 cr5a cr6 cr11",
    ),
    (
        "4",
        &["Delivery", "Delivery"],
        "customer",
        Kind::LostUpdate,
        "ncr5",
        "cr10 cr12 ncr3 ncr6",
    ),
    (
        "5",
        &["Delivery", "Delivery"],
        "new_order",
        Kind::Phantom,
        "ncr5 ncr6",
        "cr10 cr12 ncr3",
    ),
    (
        "6",
        &["Payment", "Payment"],
        "history",
        Kind::LostUpdate,
        "cr8 cr9 cr10 ncr7",
        "cr1 ncr4",
    ),
    (
        "7",
        &["NewOrder", "NewOrder", "NewOrder"],
        "stock",
        Kind::Cycle(3),
        "ncr1 ncr2",
        "",
    ),
    (
        "8",
        &["NewOrder", "NewOrder"],
        "stock",
        Kind::LostUpdate,
        "ncr1 ncr2",
        "cr4 cr6 cr7a cr10 cr12",
    ),
    (
        "11, 12",
        &["Delivery", "Payment"],
        "customer",
        Kind::LostUpdate,
        "cr10 cr12 ncr3",
        "cr1 cr8 cr9",
    ),
    (
        "13",
        &["Payment", "Payment"],
        "customer",
        Kind::LostUpdate,
        "cr10 ncr4 ncr7",
        "cr1 cr8 cr9",
    ),
];

#[test]
fn every_row_breaks_its_invariants() {
    let program = read("tpcc-ported");
    let analysis = analyse(&program, &options());
    let mut anomalies = Vec::new();
    for (row, transactions, table, kind, ..) in INTERNAL {
        let is_row = |anomaly: &&Anomaly| {
            let name = |at: &usize| program.transactions[*at].name.as_str();
            let mut names: Vec<&str> = anomaly.transactions.iter().map(name).collect();
            names.sort_unstable();
            let mut tables = anomaly.edges.iter().filter_map(|edge| edge.table);
            let in_table = tables.all(|id| program.schema.table_name(id) == table);
            anomaly.kind == kind && names == transactions && in_table
        };
        let found = analysis.anomalies.iter().find(is_row);
        anomalies.push(found.unwrap_or_else(|| panic!("row {row}")).clone());
    }
    let all = all_consequences(&program, &anomalies, PLAYS, &|_| {});
    for ((row, _, _, _, alone, helped), all) in INTERNAL.iter().zip(&all) {
        let told = |wanted: bool| {
            let own = all.found.iter().filter(|one| one.alone == wanted);
            let name = |one: &Consequence| program.invariants[one.invariant].name.clone();
            own.map(name).collect::<Vec<_>>().join(" ")
        };
        all.found.iter().for_each(|one| verify(&program, one));
        assert_eq!(
            (told(true), told(false)),
            (alone.to_string(), helped.to_string()),
            "row {row}"
        );
    }
}

/// Rows 9 and 10: an insert that overwrites the row that is there, as Cassandra's does.
#[test]
fn inserts_that_overwrite_make_the_rows_of_order_lines() {
    let text = text("tpcc-ported").replace("insert into", "replace into");
    let program = read_sql_file(&text, "overwriting", None).expect("a program");
    let options = Options {
        external: true,
        ..options()
    };
    let analysis = analyse(&program, &options);
    assert!(analysis.scope.decided, "{:?}", analysis.counts);
    let is_row = |anomaly: &&Anomaly| {
        let name = |at: &usize| program.transactions[*at].name.as_str();
        let mut names: Vec<&str> = anomaly.transactions.iter().map(name).collect();
        names.sort_unstable();
        let mut tables = anomaly.edges.iter().filter_map(|edge| edge.table);
        names == ["Delivery", "NewOrder", "OrderStatus"]
            && tables.all(|id| program.schema.table_name(id) == "order_line")
    };
    assert_eq!(analysis.anomalies.iter().filter(is_row).count(), 2);
}
