//! The check while a run goes on: the recording is read again and again, as far as it is written, and the
//! weak levels are asked about.
//!
//! A recording that ends between two lines is a history in which whatever is under way is indeterminate,
//! since a transaction's start is written before it has any effect. So what is found in the beginning of a
//! recording is true of the whole. When the recording has grown larger than the window, only its end is looked
//! at, without the reads of what was written before: a part of a history that violates a weak level
//! shows that the history does. That works for registers; other recordings are left to the check at the end.
//!
//! Memory is bounded by the window. A check rests nine times as long as it took, so that the clients keep
//! most of the processor.

use checker::Options;
use history::format::jsonl;
use history::{Builder, History, Level, OpKind, ValueCode, Verdict};
use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How much of the recording is looked at.
const WINDOW_BYTES: u64 = 12 << 20;

/// What is asked: the levels that cost little.
const LEVELS: [Level; 4] = [
    Level::ReadCommitted,
    Level::CursorStability,
    Level::ReadAtomic,
    Level::Causal,
];

/// A check that follows a recording.
pub struct Live {
    file: File,
    seen: u64,
    rest_until: Instant,
    found: Vec<(Level, &'static str)>,
}

impl Live {
    pub fn follow(path: &Path) -> std::io::Result<Live> {
        Ok(Live {
            file: File::open(path)?,
            seen: 0,
            rest_until: Instant::now() + Duration::from_millis(300),
            found: Vec::new(),
        })
    }

    /// Looks at what is new, unless it is time to rest.
    pub fn look(&mut self, written: u64) {
        if Instant::now() < self.rest_until || written < self.seen + self.seen / 4 + 1 {
            return;
        }
        let began = Instant::now();
        self.seen = written;
        if let Some(history) = self.read(written) {
            self.check(&history);
        }
        self.rest_until = Instant::now() + began.elapsed() * 9 + Duration::from_millis(200);
    }

    /// The levels found violated so far, each with an anomaly.
    pub fn found(&self) -> &[(Level, &'static str)] {
        &self.found
    }

    fn check(&mut self, history: &History) {
        for answer in checker::check(history, &LEVELS, &Options::default()) {
            let Verdict::Violated(anomalies) = &answer.result.verdict else {
                continue;
            };
            let level = answer.result.level;
            let is_new = !self.found.iter().any(|(known, _)| *known == level);
            if let (true, Some(anomaly)) = (is_new, anomalies.first()) {
                self.found.push((level, anomaly.kind.name()));
            }
        }
    }

    /// The history in the window; nothing where it cannot be told.
    fn read(&self, written: u64) -> Option<History> {
        let start = written.saturating_sub(WINDOW_BYTES);
        let mut bytes = vec![0; (written - start) as usize];
        self.file.read_exact_at(&mut bytes, start).ok()?;
        let end = bytes.iter().rposition(|&byte| byte == b'\n')? + 1;
        let first = match start {
            0 => 0,
            _ => bytes.iter().position(|&byte| byte == b'\n')? + 1,
        };
        let whole = jsonl::read(bytes.get(first..end)?, &mut Vec::new()).ok()?;
        if start == 0 {
            return Some(whole);
        }
        without_dangling_reads(&whole)
    }
}

/// The history without reads of what no transaction in it wrote; nothing if it has other things than
/// registers.
fn without_dangling_reads(history: &History) -> Option<History> {
    let mut written: HashSet<(u32, ValueCode)> = HashSet::new();
    for txn in history.txn_ids() {
        for (_, op) in history.txn_ops(txn) {
            match op.kind {
                OpKind::Write => {
                    written.insert((op.key.0, op.value));
                }
                OpKind::Read => {}
                _ => return None,
            }
        }
    }
    let mut part = Builder::new();
    for txn in history.txn_ids() {
        let session = part.session(history.session_label(history.session_of(txn)));
        let start = part.ops.len();
        for (_, op) in history.txn_ops(txn) {
            if op.kind == OpKind::Write || written.contains(&(op.key.0, op.value)) {
                let key = part.key(&history.key_name(op.key));
                let value = part.value(&history.value(op.value));
                part.ops.push(history::Op { key, value, ..op });
            }
        }
        let record = history.txn(txn);
        let ended = part.end_txn(
            session,
            record.label,
            record.status,
            history.interval(txn),
            start,
        );
        ended.ok()?;
    }
    Some(part.finish())
}
