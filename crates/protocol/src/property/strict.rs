//! Strict form: what the checker says of the history that a log records.

use super::convert::history_of;
use crate::log::{Log, Record};
use crate::protocol::VersionOrder;
use crate::question::Property;
use crate::setup::Setup;
use history::{Anomaly, History, KeyOrder, Level, Verdict};

/// The history that a property is asked about: all of it, or the transactions that wrote.
pub(super) fn history(
    setup: &Setup,
    log: &Log,
    order: VersionOrder,
    sessions: bool,
    property: Property,
) -> History {
    let wanted = |record: &Record| match property {
        Property::Level(_) => true,
        Property::UpdateSerializable => !record.writes.is_empty(),
    };
    history_of(setup, log, order, sessions, wanted)
}

/// What is asked of [`history`].
fn level(property: Property) -> Level {
    match property {
        Property::Level(level) => level,
        Property::UpdateSerializable => Level::Serializable,
    }
}

/// The verdicts of several levels on one history.
pub(super) fn verdicts(history: &History, properties: &[Property]) -> Vec<Verdict> {
    let options = checker::Options {
        keys: KeyOrder::Recorded,
        ..checker::Options::default()
    };
    let levels: Vec<Level> = properties.iter().map(|property| level(*property)).collect();
    let checked = checker::check(history, &levels, &options);
    checked
        .into_iter()
        .map(|checked| checked.result.verdict)
        .collect()
}

/// What is wrong with a history, in the checker's words.
pub(super) fn explain(history: &History, property: Property) -> (Vec<Anomaly>, String) {
    let verdict = verdicts(history, &[property]).into_iter().next();
    let Some(Verdict::Violated(anomalies)) = verdict else {
        return (Vec::new(), String::new());
    };
    let words: Vec<&str> = anomalies
        .iter()
        .map(|anomaly| anomaly.explanation.as_str())
        .collect();
    let words = words.join("\n");
    (anomalies, words)
}
