//! Directories of Jepsen's store: one run, or several.
//!
//! A run is a directory with `test.jepsen`, `history.edn` and much else. Of the files that hold
//! its history the first of [`FILES`] is read; if that is damaged or cut off, the next.

use crate::exit::Failure;
use history::format::Format;
use std::path::{Path, PathBuf};

/// The files that may hold the history of a run, best first.
const FILES: [&str; 7] = [
    "test.jepsen",
    "history.edn",
    "history.edn.gz",
    "history.edn.zst",
    "history.json",
    "history.json.gz",
    "history.txt",
];

/// How many runs are named.
const SHOWN_MAX: usize = 8;

/// The files of a run to try, in this order; nothing if the directory is no run of Jepsen. With a
/// format, those that are usually of that format. A directory of one run stands for that run; one
/// of several is refused.
pub fn files(directory: &Path, format: Option<Format>) -> Result<Vec<PathBuf>, Failure> {
    let found = files_of_run(directory, format);
    if !found.is_empty() {
        return Ok(found);
    }
    let runs = runs_below(directory);
    match &runs[..] {
        [] => Ok(Vec::new()),
        [run] => Ok(files_of_run(run, format)),
        runs => Err(several(directory, runs)),
    }
}

fn files_of_run(directory: &Path, format: Option<Format>) -> Vec<PathBuf> {
    let fits = |name: &str| {
        let plain = name.trim_end_matches(".gz").trim_end_matches(".zst");
        format.is_none_or(|format| Format::for_file_name(plain) == Some(format))
    };
    let there = |path: &PathBuf| path.is_file();
    let all = || FILES.iter().map(|name| directory.join(name)).filter(there);
    let fitting: Vec<PathBuf> = FILES
        .iter()
        .filter(|name| fits(name))
        .map(|name| directory.join(name))
        .filter(there)
        .collect();
    // The content decides, so a file of another usual format is better than none.
    match fitting.is_empty() {
        true => all().collect(),
        false => fitting,
    }
}

/// The runs of a store (`test/time`) or of one test of it (`time`). Links such as `latest` lead to
/// runs that are there anyway.
fn runs_below(directory: &Path) -> Vec<PathBuf> {
    let below = |directory: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut paths: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let is_run = |path: &PathBuf| !files_of_run(path, None).is_empty();
    let (mut runs, others): (Vec<PathBuf>, Vec<PathBuf>) =
        below(directory).into_iter().partition(is_run);
    for other in others {
        runs.extend(below(&other).into_iter().filter(is_run));
    }
    runs
}

fn several(directory: &Path, runs: &[PathBuf]) -> Failure {
    let name = directory.display().to_string();
    let shown: Vec<String> = runs
        .iter()
        .take(SHOWN_MAX)
        .map(|run| run.display().to_string())
        .collect();
    let more = match runs.len().saturating_sub(SHOWN_MAX) {
        0 => String::new(),
        count => format!("\n    … and {count} more"),
    };
    let latest = directory.join("latest");
    let hint = match latest.is_dir() {
        true => format!("name one of them, such as {}", latest.display()),
        false => "name one of them".to_string(),
    };
    Failure::with(
        &name,
        format!(
            "this is a store with {} runs:\n    {}{more}\n  hint: {hint}",
            runs.len(),
            shown.join("\n    ")
        ),
    )
}
