//! Strict form: what the checker says of the history that a log records.

use super::convert::history_of;
use crate::log::{Log, Record};
use crate::protocol::VersionOrder;
use crate::question::Property;
use crate::setup::Setup;
use history::{Anomaly, AnomalyKind, History, KeyOrder, Level, Verdict};

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

/// What is wrong with a history, nothing if the property holds; or why that was not decided.
pub(super) fn wrong(history: &History, property: Property) -> Result<Vec<Anomaly>, String> {
    let options = checker::Options {
        keys: KeyOrder::Recorded,
        ..checker::Options::default()
    };
    let level = level(property);
    let checked = checker::check(history, &[level], &options);
    match checked.into_iter().next().map(|one| one.result.verdict) {
        Some(Verdict::Violated(anomalies)) => Ok(unordered(level, anomalies)),
        Some(Verdict::Unknown(why)) => Err(why),
        Some(Verdict::Holds(_)) | None => Ok(Vec::new()),
    }
}

/// What of it is wrong whatever the order of a transaction's reads. Protocols read several keys at
/// once, so that which read came first is nobody's promise; without it read committed is Adya's
/// PL-2, as in the paper.
fn unordered(level: Level, mut anomalies: Vec<Anomaly>) -> Vec<Anomaly> {
    let by_order = [
        AnomalyKind::NonMonotonicRead,
        AnomalyKind::NonMonotonicReadConflict,
        AnomalyKind::InitialRead,
    ];
    if matches!(level, Level::ReadCommitted | Level::CursorStability) {
        anomalies.retain(|anomaly| !by_order.contains(&anomaly.kind));
    }
    anomalies
}

/// What is wrong with a history, in the checker's words.
pub(super) fn explain(history: &History, property: Property) -> (Vec<Anomaly>, String) {
    let anomalies = wrong(history, property).unwrap_or_default();
    let words: Vec<&str> = anomalies
        .iter()
        .map(|anomaly| anomaly.explanation.as_str())
        .collect();
    let words = words.join("\n");
    (anomalies, words)
}
