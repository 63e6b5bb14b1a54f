//! Judges what a run left behind.

mod convert;

pub use convert::to_history;

use crate::log::Log;
use crate::protocol::VersionOrder;
use crate::question::{Property, Question};
use crate::setup::Setup;
use history::{Anomaly, KeyOrder, Verdict};

/// Which of the questions a final log answers with no.
pub(crate) fn violated(
    setup: &Setup,
    log: &Log,
    order: VersionOrder,
    sessions: bool,
    questions: &[Question],
) -> u64 {
    let mut found = 0;
    for (place, question) in questions.iter().enumerate() {
        if !explain(setup, log, order, sessions, *question).is_empty() {
            found |= 1 << place;
        }
    }
    found
}

/// What is wrong with a final log.
pub(crate) fn explain(
    setup: &Setup,
    log: &Log,
    order: VersionOrder,
    sessions: bool,
    question: Question,
) -> Vec<Anomaly> {
    let Property::Level(level) = question.property else {
        return Vec::new();
    };
    let history = to_history(setup, log, order, sessions);
    let options = checker::Options {
        keys: KeyOrder::Recorded,
        ..checker::Options::default()
    };
    let checked = checker::check(&history, &[level], &options);
    match checked
        .into_iter()
        .next()
        .map(|checked| checked.result.verdict)
    {
        Some(Verdict::Violated(anomalies)) => anomalies,
        _ => Vec::new(),
    }
}
