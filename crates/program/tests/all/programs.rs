//! The benchmark programs of the repository: every file is read, whole.

use program::{Bounds, Program, read_sql_file};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.retain(|path| path.extension().is_some_and(|end| end == "sql"));
    found.sort();
    found
}

fn read(path: &Path) -> Program {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let name = path
        .file_name()
        .map_or("?".into(), |name| name.to_string_lossy());
    read_sql_file(&text, &name, None).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_program_is_read_without_a_note() {
    let mut all = files(&folder());
    all.extend(files(&folder().join("micro")));
    assert!(all.len() >= 20, "{} files", all.len());
    for path in all {
        let program = read(&path);
        let notes: Vec<String> = program.notes.iter().map(ToString::to_string).collect();
        assert_eq!(notes, Vec::<String>::new(), "{path:?}");
        for transaction in &program.transactions {
            let paths = transaction.paths(&program.schema, Bounds::default());
            assert!(paths.complete, "{path:?}: {}", transaction.name);
            assert!(!paths.paths.is_empty(), "{path:?}: {}", transaction.name);
        }
    }
}

#[test]
fn every_program_has_the_transactions_of_its_specification() {
    let expected = [
        ("auction", 2),
        ("seats", 6),
        ("seats-ported", 6),
        ("smallbank", 5),
        ("smallbank-benchbase", 6),
        ("smallbank-ported", 5),
        ("tatp", 7),
        ("tpcc", 5),
        ("tpcc-ported", 5),
        ("twitter", 5),
        ("twitter-ported", 5),
        ("voter", 1),
        ("voter-ported", 1),
        ("wikipedia", 5),
        ("wikipedia-ported", 5),
    ];
    let mut found: Vec<(String, usize)> = files(&folder())
        .iter()
        .map(|path| {
            let name = path
                .file_stem()
                .map_or("?".into(), |name| name.to_string_lossy());
            (name.into_owned(), read(path).transactions.len())
        })
        .collect();
    found.sort();
    let expected: Vec<(String, usize)> = expected
        .iter()
        .map(|(name, count)| ((*name).to_string(), *count))
        .collect();
    assert_eq!(found, expected);
}
