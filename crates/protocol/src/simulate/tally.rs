//! What the runs of a simulation amount to.

use super::Found;
use super::schedule::Run;
use crate::id::Txn;
use crate::log::Log;
use crate::property::{Judge, malformed, to_history};
use crate::protocol::Protocol;
use crate::question::{Counterexample, Evidence, Question, Request};
use crate::setup::Setup;
use rustc_hash::FxHashSet;

/// Counts over some runs.
#[derive(Default)]
pub(crate) struct Tally {
    pub runs: u64,
    pub steps: u64,
    pub given_up: u64,
    pub rules: u64,
    pub chains: usize,
    pub evidence: Evidence,
    /// By question.
    pub found: Vec<Option<Found>>,
    /// The seed of the first run in which somebody got no answer, and how many runs were so.
    pub stuck: Option<(u64, u64)>,
    /// The first error of the model, and the seed of the run.
    pub error: Option<(String, u64)>,
    /// Why a run could not be judged, if one could not.
    pub undecided: Option<String>,
    /// Fingerprints of the different logs.
    logs: FxHashSet<u64>,
}

impl Tally {
    pub fn new(questions: usize) -> Tally {
        Tally {
            found: vec![None; questions],
            ..Tally::default()
        }
    }

    /// Counts the run of a seed.
    pub fn count<P: Protocol>(&mut self, run: &Run<'_, '_, P>, seed: u64, judge: &mut Judge) {
        let (walk, setup) = (&run.walk, run.walk.system.setup);
        let log = &walk.state.log;
        let steps = walk.trace.len();
        self.runs += 1;
        self.steps += steps as u64;
        self.rules |= walk.rules;
        self.chains = self.chains.max(run.chains);
        self.evidence.setups += 1;
        self.evidence.setups_raw += 1;
        self.evidence.states += steps as u64;
        self.evidence.generated += steps as u64;
        self.evidence.depth = self.evidence.depth.max(steps as u32);
        if let Some(error) = log.error.clone().or_else(|| malformed(log)) {
            self.error.get_or_insert((error, seed));
            return;
        }
        if !run.finished {
            self.given_up += 1;
            return;
        }
        if self.logs.insert(fingerprint(setup, log)) {
            self.evidence.histories += 1;
        }
        self.evidence.count(setup, log);
        if !unanswered(setup, log).is_empty() {
            self.stuck.get_or_insert((seed, 0)).1 += 1;
        }
        let violated = judge.violated(setup, log);
        for (place, found) in self.found.iter_mut().enumerate() {
            if violated & (1 << place) != 0 {
                let first = Found {
                    seed,
                    steps,
                    runs: 0,
                };
                found.get_or_insert(first).runs += 1;
            }
        }
    }

    /// Adds the counts of later runs.
    pub fn add(&mut self, later: Tally) {
        self.runs += later.runs;
        self.steps += later.steps;
        self.given_up += later.given_up;
        self.rules |= later.rules;
        self.chains = self.chains.max(later.chains);
        for (found, later) in self.found.iter_mut().zip(later.found) {
            match (found.as_mut(), later) {
                (Some(found), Some(later)) => found.runs += later.runs,
                (None, Some(later)) => *found = Some(later),
                (_, None) => {}
            }
        }
        match (self.stuck.as_mut(), later.stuck) {
            (Some((_, runs)), Some((_, more))) => *runs += more,
            (None, later) => self.stuck = later,
            (_, None) => {}
        }
        self.error = self.error.take().or(later.error);
        self.undecided = self.undecided.take().or(later.undecided);
        self.logs.extend(later.logs);
        let (all, more) = (&mut self.evidence, later.evidence);
        all.setups += more.setups;
        all.setups_raw += more.setups_raw;
        all.states += more.states;
        all.generated += more.generated;
        all.add_finals(&more);
        all.histories = self.logs.len() as u64;
        all.depth = all.depth.max(more.depth);
    }
}

/// The transactions whose clients got no answer.
pub(crate) fn unanswered(setup: &Setup, log: &Log) -> Vec<Txn> {
    let ended = log.ended();
    setup.txns().filter(|txn| !ended.contains(*txn)).collect()
}

/// A run as it is shown, with what is wrong with it under a question.
pub(crate) fn counterexample<P: Protocol>(
    run: &Run<'_, '_, P>,
    request: &Request<'_>,
    question: Option<Question>,
) -> Counterexample {
    let (walk, system) = (&run.walk, run.walk.system);
    let (setup, log) = (system.setup, &walk.state.log);
    let order = system.protocol.version_order();
    let asked: Vec<Question> = question.into_iter().collect();
    let judge = Judge::new(&asked, order, request.sessions);
    let explained = question.map(|question| judge.explain(setup, log, question));
    let (anomalies, explanation) = explained.unwrap_or_default();
    Counterexample {
        setup: setup.clone(),
        trace: walk.trace.clone(),
        log: log.clone(),
        history: match question {
            Some(question) => judge.history(setup, log, question.property),
            None => to_history(setup, log, order, request.sessions),
        },
        anomalies,
        explanation,
    }
}

fn fingerprint(setup: &Setup, log: &Log) -> u64 {
    crate::explore::fingerprint(&serde_json::to_vec(&(setup, log)).unwrap_or_default())
}
