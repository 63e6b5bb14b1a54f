//! Every entry of the encyclopedia, judged by the executable definition and named by the checker.

use checker::{Options, check, cyclic_versions};
use history::{ANOMALIES, AnomalyKind, Initial, KeyOrder, Level, Verdict, definition};
use report::encyclopedia::{entries, entry, find};

/// Of the levels that do not hold, those that imply no other one of them.
fn weakest(levels: &[Level]) -> Vec<Level> {
    let is_implied = |level: Level| {
        levels
            .iter()
            .any(|&other| other != level && level.implies(other))
    };
    levels
        .iter()
        .copied()
        .filter(|&level| !is_implied(level))
        .collect()
}

#[test]
fn every_kind_has_an_entry() {
    let known: Vec<AnomalyKind> = entries().iter().map(|entry| entry.kind).collect();
    let wanted: Vec<AnomalyKind> = ANOMALIES.iter().map(|row| row.kind).collect();
    assert_eq!(known, wanted);
}

#[test]
fn each_example_violates_what_its_entry_says_and_keeps_the_rest() {
    let mut problems = Vec::new();
    for entry in entries() {
        let history = entry.example.history().expect("a readable example");
        let all = definition::holds_all(&history, &Initial::default()).expect("a small history");
        let of = |wanted: bool| -> Vec<Level> {
            let found = all.iter().filter(|(_, holds)| *holds == wanted);
            found.map(|(level, _)| *level).collect()
        };
        let (breaks, keeps) = (weakest(&of(false)), Level::strongest(&of(true)));
        let is_same = |one: &[Level], other: &[Level]| {
            one.len() == other.len() && one.iter().all(|level| other.contains(level))
        };
        if !is_same(entry.breaks, &breaks) || !is_same(entry.keeps, &keeps) {
            problems.push(format!(
                "{}: breaks {breaks:?}, keeps {keeps:?}",
                entry.kind
            ));
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn the_checker_finds_the_kind_in_each_example() {
    let mut problems = Vec::new();
    for entry in entries() {
        let history = entry.example.history().expect("a readable example");
        let mut found: Vec<AnomalyKind> = Vec::new();
        let levels: Vec<Level> = Level::all().collect();
        for answer in check(&history, &levels, &Options::default()) {
            if let Verdict::Violated(anomalies) = answer.result.verdict {
                found.extend(anomalies.iter().map(|anomaly| anomaly.kind));
            }
        }
        let options = Options {
            keys: KeyOrder::Sequential,
            ..Options::default()
        };
        let circle = cyclic_versions(&history, &options).expect("no limit");
        found.extend(circle.map(|circle| circle.kind));
        if !found.contains(&entry.kind) {
            found.sort_unstable();
            found.dedup();
            problems.push(format!("{}: only {found:?}", entry.kind));
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn entries_fit_the_terminal_and_name_the_databases() {
    for entry in entries() {
        for width in [60, 100] {
            let text = entry.text(width);
            let example: Vec<String> = entry.example.text().lines().map(String::from).collect();
            for line in text
                .lines()
                .filter(|line| !example.contains(&line.to_string()))
            {
                assert!(line.chars().count() <= width, "{}: {line}", entry.kind);
            }
            for engine in ["PostgreSQL", "MySQL", "MariaDB", "Oracle", "SQL Server"] {
                assert!(
                    text.contains(engine),
                    "{} says nothing of {engine}",
                    entry.kind
                );
            }
        }
    }
}

#[test]
fn kinds_are_found_by_their_names_in_the_literature() {
    assert_eq!(find("Lost Update"), Some(AnomalyKind::LostUpdate));
    assert_eq!(find("p4"), Some(AnomalyKind::LostUpdate));
    assert_eq!(find("A5B"), Some(AnomalyKind::WriteSkew));
    assert_eq!(find("g-single"), Some(AnomalyKind::GSingle));
    assert_eq!(find("G1a"), Some(AnomalyKind::AbortedRead));
    assert_eq!(find("nonsense"), None);
    assert!(entry(AnomalyKind::LongFork).is_some());
}
