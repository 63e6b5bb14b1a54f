//! The reports of what was checked: those that runs wrote, and those that the page asked for.
//!
//! A report the page asked for is kept in the page's own corner of the directory, with the size and
//! time of the file it is about; it counts only as long as those are the same.

use crate::browse::Stamp;
use crate::folder::{Folder, OWN};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// A report is not longer.
const REPORT_BYTES_MAX: u64 = 64 << 20;
/// So many are kept in memory.
const KEPT_MAX: usize = 400;

/// The reports of a directory.
pub(crate) struct Results {
    folder: Folder,
    /// Read before, by the file they are kept in.
    kept: Mutex<HashMap<PathBuf, (Stamp, Arc<Value>)>>,
    /// Where nothing can be written, what was asked for since the start.
    unwritten: Mutex<HashMap<PathBuf, Arc<Value>>>,
}

impl Results {
    pub fn new(folder: Folder) -> Results {
        Results {
            folder,
            kept: Mutex::default(),
            unwritten: Mutex::default(),
        }
    }

    /// The report on a run or a file, if there is one that still counts.
    pub fn get(&self, path: &Path) -> Option<Arc<Value>> {
        if let Some(report) = run_report(&self.folder, path) {
            return self.read(&report, None);
        }
        let about = Stamp::of(path).ok()?;
        let unwritten = {
            let unwritten = lock(&self.unwritten);
            unwritten.get(path).cloned()
        };
        if let Some(record) = unwritten {
            return current(&record, about);
        }
        let place = self.folder.file(&self.place(path)?)?;
        self.read(&place, Some(about))
    }

    /// Keeps a report on a file.
    pub fn put(&self, path: &Path, report: Value) -> Result<(), String> {
        let stamp = Stamp::of(path)?;
        let record = json!({"bytes": stamp.bytes, "modified": nanoseconds(stamp.modified), "report": report});
        let written = self.write(path, &record.to_string());
        let mut unwritten = lock(&self.unwritten);
        if unwritten.len() >= KEPT_MAX {
            unwritten.clear();
        }
        match written {
            Ok(()) => unwritten.remove(path),
            Err(_) => unwritten.insert(path.to_path_buf(), Arc::new(record)),
        };
        Ok(())
    }

    fn write(&self, path: &Path, text: &str) -> std::io::Result<()> {
        self.folder.own("results")?;
        let place = self.place(path).ok_or(std::io::ErrorKind::InvalidInput)?;
        // Another reader sees the old report or the new one, never half of one.
        let new = place.with_extension("new");
        // Whatever is there under this name is not written through: it may be a link that leads out.
        let _ = std::fs::remove_file(&new);
        std::fs::File::create_new(&new)?.write_all(text.as_bytes())?;
        std::fs::rename(&new, &place)
    }

    /// Forgets the report on a file.
    pub fn forget(&self, path: &Path) {
        lock(&self.unwritten).remove(path);
        if let Some(place) = self.place(path) {
            // There may be none.
            let _ = std::fs::remove_file(place);
        }
    }

    /// Where the report on a file is kept.
    fn place(&self, path: &Path) -> Option<PathBuf> {
        let name = self.folder.name(path)?;
        let own = self.folder.root().join(OWN).join("results");
        Some(own.join(format!("{:016x}.json", fingerprint(&name))))
    }

    /// Reads a report, or takes the one read before if its file is the same.
    fn read(&self, place: &Path, about: Option<Stamp>) -> Option<Arc<Value>> {
        let stamp = Stamp::of(place).ok()?;
        let known = {
            let kept = lock(&self.kept);
            let known = kept.get(place).filter(|(known, _)| *known == stamp);
            known.map(|(_, value)| Arc::clone(value))
        };
        let value = match known {
            Some(value) => value,
            None => {
                if stamp.bytes > REPORT_BYTES_MAX {
                    return None;
                }
                let text = std::fs::read_to_string(place).ok()?;
                let value = Arc::new(serde_json::from_str(&text).ok()?);
                let mut kept = lock(&self.kept);
                if kept.len() >= KEPT_MAX {
                    kept.clear();
                }
                kept.insert(place.to_path_buf(), (stamp, Arc::clone(&value)));
                value
            }
        };
        match about {
            None => Some(value),
            Some(about) => current(&value, about),
        }
    }
}

/// The report of a record, if it is about the file as it is.
fn current(record: &Value, about: Stamp) -> Option<Arc<Value>> {
    let is_current = record["bytes"].as_u64() == Some(about.bytes)
        && record["modified"].as_u64() == Some(nanoseconds(about.modified));
    is_current.then(|| Arc::new(record["report"].clone()))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The report that a run wrote beside its recording.
fn run_report(folder: &Folder, path: &Path) -> Option<PathBuf> {
    let directory = match path.is_dir() {
        true => path,
        false if path.file_name()? == RECORDING => path.parent()?,
        false => return None,
    };
    folder.file(&directory.join(REPORT))
}

/// The recording and the report of a run, by their names in its directory.
const RECORDING: &str = "history.jsonl";
const REPORT: &str = "report.json";

/// Whether a directory is a run. One whose files are links that lead out is none.
pub(crate) fn is_run(folder: &Folder, directory: &Path) -> bool {
    let has = |name: &str| folder.file(&directory.join(name)).is_some();
    has(REPORT) && has(RECORDING)
}

/// The recording of a run, or the file itself.
pub(crate) fn history_file(folder: &Folder, path: &Path) -> Result<PathBuf, String> {
    let file = match path.is_dir() {
        true => folder.file(&path.join(RECORDING)),
        false => folder.file(path),
    };
    file.ok_or_else(|| "there is no history of this name in the directory".to_string())
}

fn nanoseconds(time: Option<SystemTime>) -> u64 {
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// FNV-1a: the same in every version of Isolde. A clash shows as a report that does not count.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
