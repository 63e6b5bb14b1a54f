//! The histories that are open: parsed once, the least used given up when there are too many.

use super::index::Index;
use super::opening::{Opening, Tell};
use history::format::Loaded;
use history::{History, TxnId};
use report::{Fault, Recording, RecordingIndex};
use serde_json::Value;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

/// Reads the history of a file, and tells how far it is: bytes read, and how many there are.
pub type Loader = Arc<dyn Fn(&Path, Tell) -> Result<Loaded, String> + Send + Sync>;

/// A history to walk through.
pub(crate) struct Opened {
    pub loaded: Loaded,
    pub index: Index,
    /// Where the lines are, if it is a recording.
    recorded: RecordingIndex,
    path: PathBuf,
    /// The history in numbers, once somebody asked.
    pub overview: OnceLock<Value>,
    weight: u64,
}

impl Opened {
    /// What the recording tells of these transactions, if it is one.
    pub fn recording(&self, txns: &[TxnId]) -> Recording {
        match File::open(&self.path) {
            Ok(file) => self.recorded.read(file, &self.loaded.history, txns),
            Err(_) => self.recorded.whole().clone(),
        }
    }

    /// What was done to the servers.
    pub fn faults(&self) -> &[Fault] {
        &self.recorded.whole().faults
    }
}

/// Finds the lines of a recording; what is none has none.
fn recorded(path: &Path, history: &History, opening: &Opening) -> RecordingIndex {
    let is_recording = path.extension().is_some_and(|ending| ending == "jsonl");
    let total = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    match File::open(path) {
        Ok(file) if is_recording => {
            let lines = BufReader::with_capacity(1 << 18, file);
            RecordingIndex::of(lines, history, &|done| {
                opening.tell("finding its lines", done, total);
            })
        }
        _ => RecordingIndex::default(),
    }
}

type Slot = Arc<OnceLock<Result<Arc<Opened>, String>>>;

struct Entry {
    path: PathBuf,
    stamp: Stamp,
    slot: Slot,
    opening: Arc<Opening>,
    used: u64,
}

/// What tells a file from what it was before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    pub bytes: u64,
    pub modified: Option<SystemTime>,
}

impl Stamp {
    pub fn of(path: &Path) -> Result<Stamp, String> {
        let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
        Ok(Stamp {
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
        })
    }
}

/// The open histories.
pub(crate) struct Histories {
    load: Loader,
    entries: Mutex<(Vec<Entry>, u64)>,
    /// Bytes that all of them may take.
    weight_max: u64,
}

const OPEN_MAX: usize = 4;

impl Histories {
    pub fn new(load: Loader, weight_max: u64) -> Histories {
        Histories {
            load,
            entries: Mutex::new((Vec::new(), 0)),
            weight_max,
        }
    }

    /// The history of a file, read now if it is not open. Two who ask at a time read it once.
    pub fn open(&self, path: &Path) -> Result<Arc<Opened>, String> {
        let stamp = Stamp::of(path)?;
        // A parsed history takes about as much as its file, seldom more.
        if stamp.bytes > self.weight_max {
            return Err("too large to walk through here; 'isolde check' takes it".to_string());
        }
        let (slot, opening) = self.slot(path, stamp);
        let opened = slot.get_or_init(|| self.read(path, &opening)).clone();
        self.make_room(&slot);
        opened
    }

    /// How far the reading of a file is, if it is being read.
    pub fn opening(&self, path: &Path) -> Option<Value> {
        let locked = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entries = locked.0.iter();
        let entry = entries.find(|entry| entry.path == path && entry.slot.get().is_none())?;
        Some(entry.opening.json())
    }

    fn slot(&self, path: &Path, stamp: Stamp) -> (Slot, Arc<Opening>) {
        let mut locked = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let (entries, clock) = &mut *locked;
        *clock += 1;
        entries.retain(|entry| entry.path != path || entry.stamp == stamp);
        if let Some(entry) = entries.iter_mut().find(|entry| entry.path == path) {
            entry.used = *clock;
            return (Arc::clone(&entry.slot), Arc::clone(&entry.opening));
        }
        let (slot, opening) = (Slot::default(), Arc::new(Opening::new()));
        entries.push(Entry {
            path: path.to_path_buf(),
            stamp,
            slot: Arc::clone(&slot),
            opening: Arc::clone(&opening),
            used: *clock,
        });
        (slot, opening)
    }

    fn read(&self, path: &Path, opening: &Arc<Opening>) -> Result<Arc<Opened>, String> {
        let tell: Tell = {
            let opening = Arc::clone(opening);
            Arc::new(move |done, total| opening.tell("reading", done, total))
        };
        let loaded = (self.load)(path, tell)?;
        let history = &loaded.history;
        let (ops, txns) = (history.op_count() as u64, history.txn_count() as u64);
        let elements = history.lists().element_count() as u64;
        let weight = ops * 16 + txns * 48 + elements * 4 + history.keys().limit() as u64 * 8;
        if weight > self.weight_max {
            return Err("too large to walk through here; 'isolde check' takes it".to_string());
        }
        let recorded = recorded(path, history, opening);
        opening.tell("sorting", 0, 0);
        Ok(Arc::new(Opened {
            index: Index::of(history),
            weight: weight + recorded.bytes(),
            recorded,
            path: path.to_path_buf(),
            overview: OnceLock::new(),
            loaded,
        }))
    }

    /// Gives up the least used ones, but never the one just asked for. Those who still look at
    /// one keep it until they are done.
    fn make_room(&self, kept: &Slot) {
        let mut locked = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = &mut locked.0;
        let weight = |entry: &Entry| match entry.slot.get() {
            Some(Ok(opened)) => opened.weight,
            _ => 0,
        };
        loop {
            let total: u64 = entries.iter().map(weight).sum();
            if entries.len() <= OPEN_MAX && total <= self.weight_max {
                return;
            }
            let least = entries
                .iter()
                .enumerate()
                .filter(|(_, entry)| !Arc::ptr_eq(&entry.slot, kept) && entry.slot.get().is_some())
                .min_by_key(|(_, entry)| entry.used);
            let Some((place, _)) = least else { return };
            entries.remove(place);
        }
    }
}
