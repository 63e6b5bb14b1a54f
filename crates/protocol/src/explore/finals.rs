//! What one thread makes of the final states it meets.

use crate::log::Log;
use crate::property::{Judge, malformed};
use crate::protocol::VersionOrder;
use crate::question::{Evidence, Question};
use crate::setup::Setup;
use rustc_hash::FxHashMap;

/// The final states of a part of a search, as far as anybody asks.
pub(crate) struct Finals {
    /// Remembers verdicts by history, for all setups.
    pub judge: Judge,
    /// The questions for which a run as long as those met now would be the shortest so far.
    pub wanted: u64,
    /// Which wanted questions each log met in this setup answers with no. Runs get longer within a
    /// setup, so whatever is wanted later was wanted before.
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
            judge: Judge::new(questions, order, sessions),
            wanted: u64::MAX,
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
        if let Some(error) = log.error.clone().or_else(|| malformed(log)) {
            self.wrong(place, &error);
            return;
        }
        self.evidence.count(setup, log);
        if log.ended().len() < log.records.len() {
            self.stuck_count += 1;
            self.stuck = self.stuck.or(Some(place));
        }
        let violated = match self.judged.get(&key) {
            Some(violated) => *violated,
            None => {
                let found = self.judge.violated_of(setup, log, self.wanted);
                self.judged.insert(key, found);
                found
            }
        };
        for (number, first) in self.violated.iter_mut().enumerate() {
            if violated & self.wanted & (1 << number) != 0
                && first.is_none_or(|first| place < first)
            {
                *first = Some(place);
            }
        }
    }
}
