//! The runs and history files of a directory.

use crate::folder::{Folder, OWN};
use crate::results::{Results, is_run};
use crate::summary;
use history::format::Format;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// How deep directories are looked into.
const DEPTH_MAX: usize = 6;
/// How many entries of directories are looked at.
const ENTRIES_MAX: usize = 20_000;
/// How many runs and files are listed.
const ITEMS_MAX: usize = 1_000;

/// A run, or a file that may hold a history.
struct Item {
    path: PathBuf,
    is_run: bool,
    bytes: u64,
    modified: u64,
}

/// All of them, the newest first.
pub(crate) fn list(folder: &Folder, results: &Results) -> Value {
    let mut walk = Walk {
        folder,
        items: Vec::new(),
        entries: 0,
        is_cut: false,
    };
    walk.go(folder.root());
    let uploads = Path::new(OWN).join("uploads");
    if uploads.to_str().is_some_and(|name| folder.keeps(name)) {
        walk.go(&folder.root().join(uploads));
    }
    walk.items
        .sort_by(|a, b| (b.modified, &a.path).cmp(&(a.modified, &b.path)));
    let count = walk.items.len();
    let shown = walk.items.iter().take(ITEMS_MAX);
    let items: Vec<Value> = shown
        .filter_map(|item| show(folder, results, item))
        .collect();
    json!({"items": items, "count": count, "cut": walk.is_cut || count > ITEMS_MAX})
}

fn show(folder: &Folder, results: &Results, item: &Item) -> Option<Value> {
    let name = folder.name(&item.path)?;
    let report = results.get(&item.path);
    Some(json!({
        "path": name,
        "kind": if item.is_run { "run" } else { "history" },
        "uploaded": name.starts_with(OWN),
        "bytes": item.bytes,
        "modified": item.modified,
        "summary": report.map(|report| summary::short(&report)),
    }))
}

struct Walk<'a> {
    folder: &'a Folder,
    items: Vec<Item>,
    entries: usize,
    is_cut: bool,
}

impl Walk<'_> {
    /// Looks into a directory and those below, the upper ones first.
    fn go(&mut self, root: &Path) {
        let mut waiting = std::collections::VecDeque::from([(root.to_path_buf(), 0)]);
        while let Some((directory, depth)) = waiting.pop_front() {
            if self.enter_run(&directory, depth) {
                continue;
            }
            let entries = std::fs::read_dir(&directory)
                .into_iter()
                .flatten()
                .flatten();
            for entry in entries {
                self.entries += 1;
                if self.entries > ENTRIES_MAX {
                    self.is_cut = true;
                    return;
                }
                let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
                // Links are not followed: what they lead to within is there anyway.
                let Ok(kind) = entry.file_type() else {
                    continue;
                };
                if is_hidden {
                    continue;
                }
                if kind.is_dir() && depth < DEPTH_MAX {
                    waiting.push_back((entry.path(), depth + 1));
                } else if kind.is_file() && is_history(&entry.path()) {
                    self.enter(entry.path(), false);
                }
            }
        }
    }

    /// Enters a directory that is a run.
    fn enter_run(&mut self, directory: &Path, depth: usize) -> bool {
        let is_run = depth > 0 && is_run(self.folder, directory);
        if is_run {
            self.enter(directory.to_path_buf(), true);
        }
        is_run
    }

    fn enter(&mut self, path: PathBuf, is_run: bool) {
        let file = if is_run {
            path.join("history.jsonl")
        } else {
            path.clone()
        };
        let Ok(metadata) = std::fs::metadata(file) else {
            return;
        };
        let modified = metadata.modified().ok();
        let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        self.items.push(Item {
            path,
            is_run,
            bytes: metadata.len(),
            modified: modified.map_or(0, |since| since.as_secs()),
        });
    }
}

/// Files that are not histories although their names end like those of some.
const OTHERS: [&str; 9] = [
    "report.json",
    "results.json",
    "package.json",
    "package-lock.json",
    "report.txt",
    "results.edn",
    "jepsen.txt",
    "CMakeLists.txt",
    "requirements.txt",
];

/// Whether a file may hold a history, by its name: what is in it is only looked at when asked for.
fn is_history(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return false;
    };
    let plain = name.trim_end_matches(".gz").trim_end_matches(".zst");
    !OTHERS.contains(&plain) && !is_drawing(plain) && Format::for_file_name(plain).is_some()
}

/// Whether a name is one of those that a report gives its drawings: `anomaly-1-write-skew.json`.
fn is_drawing(name: &str) -> bool {
    let number = name
        .strip_prefix("anomaly-")
        .and_then(|rest| rest.split_once('-'));
    number.is_some_and(|(digits, _)| digits.parse::<u32>().is_ok())
}
