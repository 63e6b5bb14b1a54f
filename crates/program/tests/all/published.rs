//! The rows that the CLOTHO paper publishes (tables 2 and 4), in our terms; see docs/programs.md.

use crate::plays::{Draw, seen_otherwise};
use program::analysis::{Analysis, Anomaly, Options, analyse};
use program::{EdgeKind, How, Program, Scenario, broken_invariants, play, read_sql_file};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

fn read(name: &str) -> Program {
    let path = format!("{}/../../programs/{name}.sql", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    read_sql_file(&text, name, None).unwrap_or_else(|error| panic!("{error}"))
}

/// The transactions of an anomaly, and the tables that its cycle goes through.
fn row_of(program: &Program, anomaly: &Anomaly) -> (Vec<String>, BTreeSet<String>) {
    let name = |at: &usize| program.transactions[*at].name.clone();
    let mut names: Vec<String> = anomaly.transactions.iter().map(name).collect();
    names.sort();
    let tables = anomaly.edges.iter().filter_map(|edge| edge.table);
    let tables = tables.map(|table| program.schema.table_name(table).to_string());
    (names, tables.collect())
}

/// The invariants that a scenario breaks, played as it says.
fn broken(program: &Program, scenario: &Scenario) -> BTreeSet<String> {
    let played = play(program, scenario, How::Given);
    let broken = played.and_then(|played| broken_invariants(program, scenario, &played));
    let broken = broken.unwrap_or_default().into_iter();
    let name = |one: program::Broken| program.invariants[one.invariant].name.clone();
    broken.map(name).collect()
}

type Row = (Vec<String>, BTreeSet<String>);

/// For each row how many anomalies there are, and what they break: as they are, and with any
/// other visibility of the same steps.
fn rows(
    program: &Program,
    analysis: &Analysis,
    others: usize,
) -> BTreeMap<Row, (usize, BTreeSet<String>, BTreeSet<String>)> {
    let mut draw = Draw::new(1);
    let mut found: BTreeMap<Row, (usize, BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    for anomaly in &analysis.anomalies {
        let entry = found.entry(row_of(program, anomaly)).or_default();
        entry.0 += 1;
        let Some(scenario) = anomaly.scenario() else {
            continue;
        };
        entry.1.extend(broken(program, scenario));
        for other in seen_otherwise(scenario, others, &mut draw) {
            entry.2.extend(broken(program, &other));
        }
    }
    found
}

/// `cargo test -p isolde-program --test all -- --ignored --nocapture table_two`
#[test]
#[ignore = "takes minutes"]
fn table_two() {
    let names = [
        "seats-ported",
        "tatp",
        "tpcc-ported",
        "smallbank-ported",
        "voter-ported",
        "voter",
        "twitter-ported",
        "wikipedia-ported",
    ];
    let two = vec![EdgeKind::WriteRead, EdgeKind::ReadWrite];
    let three = [two.clone(), vec![EdgeKind::WriteWrite]].concat();
    for name in names {
        let program = read(name);
        for (kinds, instances, external) in [
            (&two, 2, true),
            (&two, 2, false),
            (&two, 3, false),
            (&three, 2, true),
        ] {
            let options = Options {
                kinds: kinds.clone(),
                external,
                instances,
                time: Some(Duration::from_secs(60)),
                untried_max: 1,
                ..Options::default()
            };
            let started = Instant::now();
            let analysis = analyse(&program, &options);
            println!(
                "{name}: {} kinds, {instances} instances, external {external}: {} anomalies, {} \
                 groups, decided {}, {:?}",
                kinds.len(),
                analysis.anomalies.len(),
                analysis.groups.len(),
                analysis.scope.decided,
                started.elapsed(),
            );
        }
    }
}

/// `cargo test -p isolde-program --test all -- --ignored --nocapture table_four`
#[test]
#[ignore = "takes minutes"]
fn table_four() {
    let program = read("tpcc-ported");
    let options = Options {
        time: Some(Duration::from_secs(240)),
        untried_max: 1,
        ..Options::default()
    };
    let analysis = analyse(&program, &options);
    println!("{:?}", analysis.counts);
    for ((names, tables), (count, own, others)) in rows(&program, &analysis, 20) {
        println!("{names:?} {tables:?}: {count}; breaks {own:?}; otherwise {others:?}");
    }
}
