//! The verdict on a recording: what the database was held to first, then every other level.

use super::bank::{self, Audits};
use super::drive::{Driven, held_to};
use crate::commands::check::{check_history, levels_worth_asking};
use crate::exit::{Exit, Failure};
use crate::input::{self, LoadError};
use crate::limits::Limits;
use crate::places;
use crate::progress::Progress;
use crate::report::Report;
use crate::story::Lines;
use checker::Checked;
use history::format::{Format, Loaded};
use history::{Initial, Level, Value, Verdict};

/// Seconds for the levels that nobody asked about, after a short run.
const REST_MIN: f64 = 10.0;

/// A recording and what is to be said of it.
pub struct Judged {
    pub file: String,
    pub loaded: Loaded,
    /// For every level worth asking about.
    pub answers: Vec<Checked>,
    /// What the database was held to.
    pub held_to: Vec<Level>,
    /// The audits, if the workload was a bank's.
    pub audits: Option<Audits>,
    /// Where the transactions of anomalies stand in the recording.
    lines: Lines,
}

/// Checks a recording, within so many seconds.
pub fn judge(
    driven: &Driven,
    levels: &[Level],
    timeout: f64,
    progress: &Progress,
) -> Result<Judged, Failure> {
    let file = driven.recording.display().to_string();
    let limits = Limits::new(Some(timeout), None);
    let loaded = match input::load(&file, Some(Format::Isolde), &limits, progress) {
        Ok(loaded) => loaded,
        Err(LoadError::Failure(failure)) => return Err(failure),
        Err(LoadError::Limit(reason)) => return Err(Failure::with(&file, reason)),
    };
    let held_to = held_to(levels, driven.isolation);
    let history = &loaded.history;
    let rest = levels_worth_asking(Some(history)).into_iter();
    let mut rest: Vec<Level> = rest.filter(|level| !held_to.contains(level)).collect();
    let initial = Initial::Value(Value::Int(0));
    // The promise comes first: it is what the time is for. Nobody wants to wait for the rest much longer
    // than for the run.
    let mut answers = check_history(history, &held_to, &initial, &limits, progress);
    let mut following = Vec::new();
    rest.retain(|&level| {
        let answer = checker::follows(&answers, level);
        let is_open = answer.is_none();
        following.extend(answer);
        is_open
    });
    answers.extend(following);
    let limits = Limits::new(Some(timeout.min(REST_MIN.max(2.0 * driven.seconds))), None);
    answers.extend(check_history(history, &rest, &initial, &limits, progress));
    answers.sort_by_key(|answer| Level::all().position(|level| level == answer.result.level));
    let audits = (driven.workload == "bank").then(|| bank::audits(&loaded.history));
    let mut judged = Judged {
        file,
        loaded,
        audits,
        answers,
        held_to,
        lines: Lines::new(),
    };
    let shown = judged.report().txns_shown();
    judged.lines = places::lines(&judged.file, &judged.loaded, &shown);
    Ok(judged)
}

impl Judged {
    /// All answers, as a report on the file.
    pub fn report(&self) -> Report<'_> {
        Report {
            lines: self.lines.clone(),
            ..Report::new(&self.file, &self.loaded, &self.answers, true)
        }
    }

    /// The answers about what the database was held to.
    pub fn promised(&self) -> impl Iterator<Item = &Checked> {
        let asked = |answer: &&Checked| self.held_to.contains(&answer.result.level);
        self.answers.iter().filter(asked)
    }

    /// The exit code: that of what the database was held to.
    pub fn exit(&self) -> Exit {
        let exits = self
            .promised()
            .map(|answer| Exit::of(&answer.result.verdict));
        let of_bank = match self.is_bank_broken() {
            true => Exit::Violated,
            false => Exit::Holds,
        };
        exits.fold(of_bank, Exit::and)
    }

    /// Whether the sum of a bank contradicts what the database was held to.
    fn is_bank_broken(&self) -> bool {
        let wrong = self.audits.as_ref().is_some_and(|audits| audits.wrong > 0);
        wrong
            && self
                .held_to
                .iter()
                .any(|level| level.implies(bank::CONTRADICTS))
    }

    /// Whether anything at all is violated.
    pub fn is_any_violated(&self) -> bool {
        let violated = |answer: &Checked| matches!(answer.result.verdict, Verdict::Violated(_));
        self.answers.iter().any(violated)
    }
}
