//! Stale reads under monotonic-reads and writes-follow-reads: the latest writer of the key that
//! some session had read from by some time.
//!
//! Definition: monotonic-reads asks what the reader's own session had read from before the reader;
//! writes-follow-reads asks, for each transaction the reader read from, what that one's session had
//! read from up to and with it. A question is a session, a time and a key; the answer is the writer
//! of the key with the latest place, and it contradicts the order if that is after the version read.
//!
//! Steps: sort the questions by session and time; walk each session, and for every transaction that
//! it reads from for the first time enter that one's writes of keys in question; answer on the way.
//!
//! Cost: linear in the questions, and for each session and each transaction it read from the
//! writes of that one. No window of versions is walked, so a key that everybody writes and
//! everybody reads stale costs no more than others.

use crate::observe::Observed;
use crate::order::StaleRead;
use crate::rule::Rule;
use history::TxnId;
use rustc_hash::{FxHashMap, FxHashSet};

/// What a session knew of a key once it had come to a transaction.
struct Question {
    until: u32,
    key: u32,
    read: u32,
}

/// For stale reads, by their place in `stale`, the latest writers that were to be seen.
pub fn latest_seen(
    observed: &Observed<'_>,
    rule: Rule,
    place: &[u32],
    stale: &[StaleRead],
) -> Vec<(u32, u32)> {
    let mut questions = questions(observed, rule, stale);
    questions.sort_unstable_by_key(|question| (question.until, question.read));
    let asked: FxHashSet<u32> = questions.iter().map(|question| question.key).collect();
    let session_of = |question: &Question| observed.history.session_of(TxnId(question.until));
    let mut found = Vec::new();
    let mut known = Known {
        observed,
        place,
        asked,
        entered: FxHashSet::default(),
        latest: FxHashMap::default(),
    };
    for mine in questions.chunk_by(|a, b| session_of(a) == session_of(b)) {
        known.entered.clear();
        known.latest.clear();
        let mut next = observed.history.session_txns(session_of(&mine[0])).start;
        for question in mine {
            while next <= question.until {
                known.enter_reads(next);
                next += 1;
            }
            let link = observed.links[stale[question.read as usize].op as usize];
            let version = place.get(link as usize);
            if let Some(&t2) = known.latest.get(&question.key)
                && version.is_none_or(|&version| place[t2 as usize] > version)
            {
                found.push((question.read, t2));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn questions(observed: &Observed<'_>, rule: Rule, stale: &[StaleRead]) -> Vec<Question> {
    let history = observed.history;
    let mut questions = Vec::new();
    let mut middles: Vec<u32> = Vec::new();
    let mut reader = None;
    for (at, read) in stale.iter().enumerate() {
        if reader != Some(read.reader) {
            reader = Some(read.reader);
            middles.clear();
            if rule == Rule::MonotonicReads {
                middles.extend(observed.session_predecessor(read.reader));
            } else {
                middles.extend(observed.reads(TxnId(read.reader)).map(|(_, _, txn)| txn.0));
                // Of one session the last knows what the others knew.
                middles.sort_unstable_by(|a, b| b.cmp(a));
                middles.dedup_by_key(|txn| history.session_of(TxnId(*txn)));
            }
        }
        let key = history.ops().keys[read.op as usize].0;
        questions.extend(middles.iter().map(|&until| Question {
            until,
            key,
            read: at as u32,
        }));
    }
    questions
}

/// What one session knows so far.
struct Known<'a> {
    observed: &'a Observed<'a>,
    place: &'a [u32],
    asked: FxHashSet<u32>,
    entered: FxHashSet<u32>,
    /// The latest writer of each key in question.
    latest: FxHashMap<u32, u32>,
}

impl Known<'_> {
    fn enter_reads(&mut self, txn: u32) {
        let observed = self.observed;
        if !observed.taken[txn as usize] {
            return;
        }
        for (_, _, writer) in observed.reads(TxnId(txn)) {
            if !self.entered.insert(writer.0) {
                continue;
            }
            for (_, key) in observed.writes(writer) {
                if self.asked.contains(&key.0) {
                    let latest = self.latest.entry(key.0).or_insert(writer.0);
                    if self.place[*latest as usize] < self.place[writer.index()] {
                        *latest = writer.0;
                    }
                }
            }
        }
    }
}
