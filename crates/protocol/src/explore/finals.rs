//! What one thread makes of the final states it meets.

use crate::id::{Key, Version};
use crate::log::{Log, Status};
use crate::property;
use crate::protocol::VersionOrder;
use crate::question::{Evidence, Question};
use crate::setup::Setup;
use rustc_hash::FxHashMap;

/// The final states of a part of a search, as far as anybody asks.
pub(crate) struct Finals {
    questions: Vec<Question>,
    order: VersionOrder,
    sessions: bool,
    /// Which questions each log met in this setup answers with no.
    judged: FxHashMap<u64, u64>,
    /// Counters of final states; the rest is filled in at the end.
    pub evidence: Evidence,
    /// The first final state of the present level that violates each question.
    pub violated: Vec<Option<u32>>,
    /// The first final state of the present level with a transaction that never ends.
    pub stuck: Option<u32>,
    /// In how many somebody is stuck.
    pub stuck_count: u64,
    /// The first state of the present level that no model may reach, and why.
    pub error: Option<(u32, String)>,
}

impl Finals {
    pub fn new(questions: &[Question], order: VersionOrder, sessions: bool) -> Finals {
        Finals {
            questions: questions.to_vec(),
            order,
            sessions,
            judged: FxHashMap::default(),
            evidence: Evidence::default(),
            violated: vec![None; questions.len()],
            stuck: None,
            stuck_count: 0,
            error: None,
        }
    }

    /// Of somebody who asks nothing.
    pub fn none() -> Finals {
        Finals::new(&[], VersionOrder::Installed, false)
    }

    /// Forgets what was particular to a setup.
    pub fn next_setup(&mut self) {
        self.evidence.histories += self.judged.len() as u64;
        self.judged.clear();
        self.violated.fill(None);
        self.stuck = None;
        self.error = None;
    }

    /// Notes that a state is wrong in itself.
    pub fn wrong(&mut self, place: u32, why: &str) {
        if self.error.as_ref().is_none_or(|(first, _)| place < *first) {
            self.error = Some((place, why.to_string()));
        }
    }

    /// Judges a final state; `key` tells its log from others of the setup.
    pub fn see(&mut self, setup: &Setup, place: u32, log: &Log, key: u64) {
        if let Some(error) = log.error.clone().or_else(|| thin_air(log)) {
            self.wrong(place, &error);
            return;
        }
        count(&mut self.evidence, log);
        if log.ended().len() < log.records.len() {
            self.stuck_count += 1;
            self.stuck = self.stuck.or(Some(place));
        }
        let violated = match self.judged.get(&key) {
            Some(violated) => *violated,
            None => {
                let found =
                    property::violated(setup, log, self.order, self.sessions, &self.questions);
                self.judged.insert(key, found);
                found
            }
        };
        for (number, first) in self.violated.iter_mut().enumerate() {
            if violated & (1 << number) != 0 && first.is_none_or(|first| place < first) {
                *first = Some(place);
            }
        }
    }
}

/// A version that was read and that nobody wrote.
fn thin_air(log: &Log) -> Option<String> {
    let written = |key: Key, version: Version| {
        let mut records = log.records.iter();
        version.is_initial() || records.any(|record| record.writes.contains(&(key, version)))
    };
    let reads = log.records.iter().flat_map(|record| &record.reads);
    let mut wrong = reads.filter(|(key, version)| !written(*key, *version));
    wrong
        .next()
        .map(|(key, version)| format!("version {version} of {key} was read, and nobody wrote it"))
}

fn count(evidence: &mut Evidence, log: &Log) {
    evidence.finals += 1;
    let committed: Vec<_> = log.with(Status::Committed).collect();
    evidence.finals_two_commits += u64::from(committed.len() >= 2);
    evidence.finals_aborts += u64::from(log.with(Status::Aborted).next().is_some());
    let reads_from = committed.iter().any(|reader| {
        committed.iter().any(|writer| {
            let reads = &log.record(*reader).reads;
            let mut writes = log.record(*writer).writes.iter();
            reader != writer && writes.any(|write| reads.contains(write))
        })
    });
    evidence.finals_reads_from += u64::from(reads_from);
}
