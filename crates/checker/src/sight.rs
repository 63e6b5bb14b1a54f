//! Stale reads under monotonic-reads and writes-follow-reads: the writers of the key that some
//! session had read from by some time.
//!
//! Definition: monotonic-reads asks what the reader's own session had read from before the reader;
//! writes-follow-reads asks, for each transaction the reader read from, what that one's session had
//! read from up to and with it. A question is a session, a time and a key; the answer is the writers
//! of the key after the version read. The first and the last of them are given: the first, so that
//! a long run of versions is put in order at once, the last, so that no round is in vain.
//!
//! Steps: sort the questions by session and time; walk each session, and for every transaction that
//! it reads from for the first time enter that one's writes of keys in question; answer on the way.
//!
//! Cost: a logarithm for each question, and for each session and each transaction it read from the
//! writes of that one. No window of versions is walked, so a key that everybody writes and
//! everybody reads stale costs no more than others.

use crate::Budget;
use crate::budget::Limit;
use crate::observe::Observed;
use crate::op_set::OpSet;
use crate::order::StaleRead;
use crate::rule::Rule;
use history::TxnId;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// What a session knew of a key once it had come to a transaction.
struct Question {
    until: u32,
    key: u32,
    read: u32,
}

/// How many questions are answered before the budget is asked again.
const ASKED_BETWEEN: usize = 1 << 12;

/// For stale reads, by their place in `stale`, writers after the version read that were to be seen:
/// not all of them, but some if there are any.
pub fn later_seen(
    observed: &Observed<'_>,
    rule: Rule,
    (order, place): (&[u32], &[u32]),
    stale: &[StaleRead],
    budget: &Budget<'_>,
) -> Result<Vec<(u32, u32)>, Limit> {
    let mut questions = questions(observed, rule, stale);
    questions.sort_unstable_by_key(|question| (question.until, question.read));
    let mut asked = OpSet::none(observed.history.keys().limit());
    questions
        .iter()
        .for_each(|question| asked.insert(question.key as usize));
    let session_of = |question: &Question| observed.history.session_of(TxnId(question.until));
    let mut found = Vec::new();
    let mut known = Known {
        observed,
        place,
        asked,
        entered: vec![NOBODY; observed.history.txn_count()],
        places: FxHashMap::default(),
        read_from: Vec::new(),
        written: Vec::new(),
    };
    for mine in questions.chunk_by(|a, b| session_of(a) == session_of(b)) {
        known.places.clear();
        let session = session_of(&mine[0]);
        let mut next = observed.history.session_txns(session).start;
        for (at, question) in mine.iter().enumerate() {
            if at % ASKED_BETWEEN == 0 {
                budget.check("what sessions saw")?;
            }
            while next <= question.until {
                known.enter_reads(session.0, next);
                next += 1;
            }
            let link = observed.links[stale[question.read as usize].op as usize];
            let after = place.get(link as usize).map_or(0, |&version| version + 1);
            if let Some(places) = known.places.get(&question.key) {
                let mut later = places.range(after..);
                let ends = [later.next(), later.next_back()];
                let ends = ends.into_iter().flatten();
                found.extend(ends.map(|&place| (question.read, order[place as usize])));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
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

/// No session.
const NOBODY: u32 = u32::MAX;

/// What one session knows so far.
struct Known<'a> {
    observed: &'a Observed<'a>,
    place: &'a [u32],
    /// The keys in question.
    asked: OpSet,
    /// By transaction, the last session that knew it.
    entered: Vec<u32>,
    /// The places of the writers of each key in question.
    places: FxHashMap<u32, BTreeSet<u32>>,
    /// Room for what a transaction read from, and for what that wrote.
    read_from: Vec<u32>,
    written: Vec<u32>,
}

impl Known<'_> {
    fn enter_reads(&mut self, session: u32, txn: u32) {
        let observed = self.observed;
        if !observed.taken[txn as usize] {
            return;
        }
        for &writer in observed.read_from(TxnId(txn), &mut self.read_from) {
            if std::mem::replace(&mut self.entered[writer as usize], session) == session {
                continue;
            }
            for &key in observed.written(TxnId(writer), &mut self.written) {
                if self.asked.has(key as usize) {
                    let places = self.places.entry(key).or_default();
                    places.insert(self.place[writer as usize]);
                }
            }
        }
    }
}
