//! Where the lines of a recording are, found out once.
//!
//! **Definition.** For each transaction the offset and the number of its last line, which has the
//! outcome; besides, what is about the whole run.
//!
//! **Steps.** One pass over the lines. A line names a session and a number; sessions mostly go on
//! where they were, so the transaction behind the last one is tried first, and looked up otherwise.
//!
//! **Cost.** One pass, and twelve bytes a transaction. To look at some transactions afterwards takes
//! one read of the file for each.

use super::{LINE_MAX, Recording, owner, scan};
use history::{History, SessionId, TxnId, UNLABELLED};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

/// The places of a recording's lines.
#[derive(Clone, Debug, Default)]
pub struct RecordingIndex {
    /// By transaction, [`NOWHERE`] for those without a line.
    offsets: Vec<u64>,
    numbers: Vec<u32>,
    /// What is about no transaction.
    whole: Recording,
}

const NOWHERE: u64 = u64::MAX;
/// So many bytes of a line are read at first; most have fewer.
const FIRST_READ: usize = 4 << 10;
/// Progress is told every so many lines.
const TOLD_EVERY: usize = 1 << 12;

impl RecordingIndex {
    /// Reads the lines of a recording of this history; `tell` is told how many bytes were read.
    pub fn of(lines: impl BufRead, history: &History, tell: &dyn Fn(u64)) -> RecordingIndex {
        let mut index = RecordingIndex {
            offsets: vec![NOWHERE; history.txn_count()],
            numbers: vec![0; history.txn_count()],
            whole: Recording::default(),
        };
        let mut names = Names::of(history);
        let mut events = 0;
        scan(lines, &mut |place, line| {
            if place.number % TOLD_EVERY == 0 {
                tell(place.offset);
            }
            if index.whole.is_of_all(place, line, &mut events) {
                return;
            }
            if let Some(txn) = owner(line).and_then(|(session, label)| names.find(session, label)) {
                index.offsets[txn.index()] = place.offset;
                index.numbers[txn.index()] = u32::try_from(place.number).unwrap_or(u32::MAX);
            }
        });
        index
    }

    /// What is about the whole run: faults, statements; nothing of any transaction.
    pub fn whole(&self) -> &Recording {
        &self.whole
    }

    /// How many bytes of memory it takes, about.
    pub fn bytes(&self) -> u64 {
        self.offsets.len() as u64 * 12
    }

    /// What the recording tells of these transactions. Lines that are not what they were are passed over.
    pub fn read(
        &self,
        mut source: impl Read + Seek,
        history: &History,
        txns: &[TxnId],
    ) -> Recording {
        let mut recording = self.whole.clone();
        let has_line = |txn: &&TxnId| {
            **txn != TxnId::INITIAL
                && self
                    .offsets
                    .get(txn.index())
                    .is_some_and(|&at| at != NOWHERE)
        };
        for &txn in txns.iter().filter(has_line) {
            let Some(line) = line_at(&mut source, self.offsets[txn.index()]) else {
                continue;
            };
            let row = history.txn(txn);
            let is_its = owner(&line) == Some((history.session_label(row.session), row.label));
            if is_its {
                recording.note(txn, self.numbers[txn.index()] as usize, &line);
            }
        }
        recording
    }
}

/// The line that begins at an offset.
fn line_at(source: &mut (impl Read + Seek), offset: u64) -> Option<Vec<u8>> {
    source.seek(SeekFrom::Start(offset)).ok()?;
    let mut line = Vec::new();
    let mut lines = BufReader::with_capacity(FIRST_READ, source).take(LINE_MAX);
    lines.read_until(b'\n', &mut line).ok()?;
    Some(line)
}

/// Finds transactions by session and number.
struct Names<'a> {
    history: &'a History,
    sessions: HashMap<i64, SessionId>,
    /// By session, the transaction that was found last.
    last: Vec<u32>,
    /// All by session and number, once the order of the file is not that of the sessions.
    all: Option<HashMap<(SessionId, u64), TxnId>>,
}

impl<'a> Names<'a> {
    fn of(history: &'a History) -> Names<'a> {
        Names {
            history,
            sessions: history
                .sessions()
                .map(|session| (history.session_label(session), session))
                .collect(),
            last: history
                .sessions()
                .map(|session| history.session_txns(session).start)
                .collect(),
            all: None,
        }
    }

    fn find(&mut self, session: i64, label: u64) -> Option<TxnId> {
        let session = *self.sessions.get(&session)?;
        let history = self.history;
        let last = &mut self.last[session.index()];
        let mine = history.session_txns(session);
        let is_it = |txn: &u32| mine.contains(txn) && history.txn(TxnId(*txn)).label == label;
        if label == UNLABELLED {
            return None;
        }
        if let Some(found) = [*last, last.saturating_add(1)].into_iter().find(is_it) {
            *last = found;
            return Some(TxnId(found));
        }
        let all = self.all.get_or_insert_with(|| {
            let txns = history.txn_ids();
            txns.map(|txn| ((history.session_of(txn), history.txn(txn).label), txn))
                .collect()
        });
        let found = *all.get(&(session, label))?;
        *last = found.0;
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use history::format::jsonl;
    use std::io::Cursor;

    const LINES: &str = concat!(
        "{\"isolde\":\"history\",\"version\":1}\n",
        "{\"session\":1,\"txn\":4,\"status\":\"started\",\"start\":1,\"ops\":[[\"w\",7,5]]}\n",
        "{\"session\":2,\"txn\":9,\"start\":1,\"end\":3,\"ops\":[[\"w\",7,6]],\"info\":{\"xid\":\"nine\"}}\n",
        "{\"event\":\"kill\",\"at\":2,\"node\":1,\"text\":\"begins\"}\n",
        "{\"session\":1,\"txn\":4,\"start\":1,\"end\":9,\"ops\":[[\"w\",7,5]],\"info\":{\"xid\":\"four\"}}\n",
        "{\"session\":2,\"txn\":3,\"start\":4,\"end\":5,\"ops\":[],\"info\":{\"xid\":\"three\"}}\n",
    );

    #[test]
    fn the_index_tells_what_a_pass_over_the_file_tells() {
        let history = jsonl::read(LINES.as_bytes(), &mut Vec::new()).expect("a history");
        let index = RecordingIndex::of(LINES.as_bytes(), &history, &|_| {});
        for txn in history.txn_ids() {
            let passed = Recording::read(LINES.as_bytes(), &history, &[txn]);
            let looked_up = index.read(Cursor::new(LINES), &history, &[txn]);
            let details = looked_up.details(&history, txn);
            assert_eq!(details, passed.details(&history, txn));
            assert_eq!(details.ids.len(), 1, "{details:?}");
            assert_eq!(looked_up.faults, passed.faults);
        }
        assert_eq!(index.whole().faults.len(), 1);
    }

    #[test]
    fn a_file_that_was_replaced_tells_nothing_of_others() {
        let history = jsonl::read(LINES.as_bytes(), &mut Vec::new()).expect("a history");
        let index = RecordingIndex::of(LINES.as_bytes(), &history, &|_| {});
        let all: Vec<TxnId> = history.txn_ids().collect();
        let other = LINES.replace("\"session\":2", "\"session\":3");
        let found = index.read(Cursor::new(other), &history, &all);
        let known = |txn: &&TxnId| !found.details(&history, **txn).ids.is_empty();
        assert_eq!(all.iter().filter(known).count(), 1);
        let none = index.read(Cursor::new(""), &history, &all);
        assert!(
            all.iter()
                .all(|&txn| none.details(&history, txn).ids.is_empty())
        );
    }
}
