//! Histories with known verdicts: our own in `tests/corpus`, and other people's where they are at
//! hand. Each is checked at every level, its evidence certified through a certificate file,
//! and small ones are compared with the executable definitions.
#![allow(missing_docs)]

use checker::{Options, check};
use history::format::{self, Loaded, ReadOptions, Source};
use history::{
    AnomalyKind, History, Initial, KeyOrder, Level, LevelResult, Verdict, certificate, certify,
};
use history::{LEVELS, definition};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The most transactions that the definitions are asked about here.
const SMALL: usize = 7;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Loads a file, or the files of a directory, as the command line does.
fn load(path: &Path) -> Result<Loaded, String> {
    let mut paths = vec![path.to_path_buf()];
    if path.is_dir() {
        let entries = std::fs::read_dir(path).expect("a readable folder");
        paths = entries
            .map(|entry| entry.expect("an entry").path())
            .collect();
        paths.sort();
    }
    let file = |path: &PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy();
        let bytes = std::fs::read(path).expect("a readable file");
        let plain = format::decompress(&bytes).expect("a whole compressed file");
        (name.into_owned(), plain.unwrap_or(bytes))
    };
    let files: Vec<(String, Vec<u8>)> = paths.iter().map(file).collect();
    let sources: Vec<Source<'_>> = files
        .iter()
        .map(|(name, bytes)| Source { name, bytes })
        .collect();
    format::read(&sources, &ReadOptions::default()).map_err(|error| error.to_string())
}

/// The verdicts at every level, each certified after a trip through a certificate file.
fn certified_verdicts(name: &str, history: &History) -> Vec<LevelResult> {
    let initial = Initial::default();
    let levels: Vec<Level> = Level::all().collect();
    let results: Vec<LevelResult> = check(history, &levels, &Options::default())
        .into_iter()
        .map(|answer| answer.result)
        .collect();
    let text = certificate::to_json(history, &initial, KeyOrder::Free, &results);
    let read = certificate::from_json(history, &text).expect("a certificate just written");
    assert_eq!(read.results, results, "{name}: evidence changes in a file");
    let decided = |result: &&LevelResult| !matches!(result.verdict, Verdict::Unknown(_));
    for result in read.results.iter().filter(decided) {
        if let Err(refusal) = certify(history, &read.initial, result) {
            panic!("{name}: {} is refused: {refusal}", result.level);
        }
    }
    results
}

fn held(results: &[LevelResult]) -> BTreeSet<Level> {
    results
        .iter()
        .filter(|result| matches!(result.verdict, Verdict::Holds(_)))
        .map(|result| result.level)
        .collect()
}

fn kinds(results: &[LevelResult]) -> BTreeSet<AnomalyKind> {
    let of = |result: &LevelResult| match &result.verdict {
        Verdict::Violated(anomalies) => anomalies.iter().map(|anomaly| anomaly.kind).collect(),
        _ => Vec::new(),
    };
    results.iter().flat_map(of).collect()
}

/// Everything that the levels named imply.
fn closure(strongest: &[Level]) -> BTreeSet<Level> {
    Level::all()
        .filter(|&level| strongest.iter().any(|strong| strong.implies(level)))
        .collect()
}

/// A line of `expected.txt`.
struct Expected {
    file: String,
    held: BTreeSet<Level>,
    kinds: BTreeSet<AnomalyKind>,
}

fn names(field: &str) -> impl Iterator<Item = &str> {
    field.split(',').filter(|&name| name != "-")
}

fn expectations() -> Vec<Expected> {
    let text = std::fs::read_to_string(root().join("tests/corpus/expected.txt")).expect("the list");
    let line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [file, strongest, found] = fields[..] else {
            panic!("expected.txt: expected a file, levels and anomalies in: {line}");
        };
        let level = |name: &str| name.parse::<Level>().expect("a level");
        let kind = |name: &str| AnomalyKind::from_name(name).expect("an anomaly");
        Expected {
            file: file.to_string(),
            held: closure(&names(strongest).map(level).collect::<Vec<_>>()),
            kinds: names(found).map(kind).collect(),
        }
    };
    text.lines()
        .filter(|text| !text.trim().is_empty() && !text.starts_with('#'))
        .map(line)
        .collect()
}

/// The verdicts and patterns of the definitions, where the history is small enough.
fn compare_with_the_definition(name: &str, history: &History, results: &[LevelResult]) -> bool {
    let initial = Initial::default();
    if history.txn_count() > SMALL {
        return false;
    }
    let Ok(truth) = definition::holds_all(history, &initial) else {
        return false;
    };
    let held_by_definition = truth.iter().filter(|row| row.1).map(|row| row.0);
    let truth: BTreeSet<Level> = held_by_definition.collect();
    assert_eq!(
        held(results),
        truth,
        "{name}: the definition says otherwise"
    );
    if let Ok(patterns) = definition::patterns(history, &initial) {
        let at = |level: Level| results.iter().filter(move |result| result.level == level);
        let mut found = kinds(&at(Level::Causal).cloned().collect::<Vec<_>>());
        let lost = kinds(&at(Level::UpdateAtomic).cloned().collect::<Vec<_>>());
        found.extend(lost.get(&AnomalyKind::LostUpdate));
        assert_eq!(found, patterns, "{name}: the definition has other patterns");
    }
    true
}

#[test]
fn our_histories_get_their_verdicts() {
    let mut compared = 0;
    for expected in expectations() {
        let name = &expected.file;
        let loaded = load(&root().join("tests/corpus").join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(loaded.notes.is_empty(), "{name}: {:?}", loaded.notes);
        let results = certified_verdicts(name, &loaded.history);
        assert_eq!(held(&results), expected.held, "{name}: levels that hold");
        assert_eq!(kinds(&results), expected.kinds, "{name}: anomalies");
        compared += usize::from(compare_with_the_definition(name, &loaded.history, &results));
    }
    assert!(
        compared > 40,
        "only {compared} were compared with the definitions"
    );
}

#[test]
fn every_file_is_on_the_list_and_every_anomaly_in_a_file() {
    let listed = expectations();
    let mut folders = vec![root().join("tests/corpus")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("an entry").path();
            let name = path
                .strip_prefix(root().join("tests/corpus"))
                .expect("inside");
            let known = listed
                .iter()
                .any(|expected| Path::new(&expected.file) == name);
            if path.is_dir() && !known {
                folders.push(path);
            } else if name != Path::new("expected.txt") {
                assert!(known, "{} is not in expected.txt", name.display());
            }
        }
    }
    for row in &history::ANOMALIES {
        // Found only where something is assumed of keys.
        if row.kind == AnomalyKind::CyclicVersions {
            continue;
        }
        let shown = listed
            .iter()
            .any(|expected| expected.kinds.contains(&row.kind));
        assert!(shown, "no file shows {}", row.name);
    }
    for row in &LEVELS {
        let fails = listed
            .iter()
            .any(|expected| !expected.held.contains(&row.level));
        assert!(fails, "no file violates {}", row.name);
    }
}

#[test]
fn one_history_is_the_same_in_every_format() {
    let mut digests = BTreeSet::new();
    let mut formats = BTreeSet::new();
    for expected in expectations() {
        if expected.file.starts_with("formats/") {
            let loaded =
                load(&root().join("tests/corpus").join(&expected.file)).expect("a history");
            digests.insert(history_as_text(&loaded.history));
            formats.insert(loaded.format);
        }
    }
    assert_eq!(formats.len(), format::Format::all().count());
    assert_eq!(digests.len(), 1, "{digests:#?}");
}

/// Sessions, transactions and operations, without the names that some formats do not keep.
fn history_as_text(history: &History) -> String {
    let txn = |txn| {
        let ops = history.txn_ops(txn).map(|(op, _)| history.op_text(op));
        format!(
            "{:?} {}",
            history.txn(txn).session,
            ops.collect::<Vec<_>>().join(" ")
        )
    };
    history.txn_ids().map(txn).collect::<Vec<_>>().join("\n")
}

// ---- other people's histories

/// The folder of other people's histories, if it is there.
fn foreign(name: &str) -> Option<PathBuf> {
    let path = root().join("../shared/corpus").join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {name} is not here");
    None
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("LICENSE") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn foreign_verdicts(path: &Path) -> Vec<LevelResult> {
    let name = path.display().to_string();
    let loaded = load(path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let results = certified_verdicts(&name, &loaded.history);
    compare_with_the_definition(&name, &loaded.history, &results);
    results
}

/// The folders name the strongest of three levels that holds. AWDIT takes a first session of
/// initial values for ordered before the others and Isolde does not, but in none of these files
/// does a verdict depend on it.
#[test]
fn awdit_histories_get_the_verdicts_of_their_folders() {
    let Some(folder) = foreign("awdit-text") else {
        return;
    };
    let three = [Level::ReadCommitted, Level::ReadAtomic, Level::Causal];
    for path in files_below(&folder) {
        let below = path.strip_prefix(&folder).expect("inside");
        let strongest = below.iter().next().expect("a folder").to_string_lossy();
        let expected = match strongest.as_ref() {
            "none" => BTreeSet::new(),
            name => closure(&[name.parse().expect("a level")]),
        };
        let held = held(&foreign_verdicts(&path));
        for level in three {
            let same = held.contains(&level) == expected.contains(&level);
            assert!(same, "{}: {level}", path.display());
        }
    }
}

#[test]
fn bugs_of_real_databases_are_found_where_the_level_shows_them() {
    if let Some(path) = foreign("isovista-text/yugabyte_tcc.txt") {
        assert!(!held(&foreign_verdicts(&path)).contains(&Level::Causal));
    }
    // PostgreSQL's and CockroachDB's bugs are ones of serializability: nothing else is violated.
    for name in ["isovista-text/pg_ser_bug.txt", "cobra/cock-G2"] {
        if let Some(path) = foreign(name) {
            let results = foreign_verdicts(&path);
            let unbroken = closure(&[Level::StrongSnapshotIsolation]);
            assert_eq!(held(&results), unbroken, "{name}");
        }
    }
}

#[test]
fn cobra_logs_of_sound_runs_hold_every_level() {
    for name in ["chengRW-1000", "rubis-10000", "twitter-10000"] {
        if let Some(path) = foreign(&format!("cobra/{name}")) {
            assert_eq!(held(&foreign_verdicts(&path)).len(), LEVELS.len(), "{name}");
        }
    }
}

#[test]
fn elle_histories_get_an_answer_or_a_reason() {
    for folder in ["elle", "elle-cli"] {
        let Some(folder) = foreign(folder) else {
            continue;
        };
        for path in files_below(&folder) {
            match load(&path) {
                Ok(loaded) => {
                    let results = certified_verdicts(&path.display().to_string(), &loaded.history);
                    assert_eq!(results.len(), LEVELS.len());
                }
                Err(error) => assert!(error.contains("bank"), "{}: {error}", path.display()),
            }
        }
    }
}
