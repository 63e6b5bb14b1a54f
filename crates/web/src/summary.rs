//! A report in short: the verdict, the strongest levels, the anomalies each once.

use history::{AnomalyKind, Level};
use serde_json::{Value, json};

/// So many anomalies of a report are listed.
const ANOMALIES_MAX: usize = 300;

/// An anomaly of a report and the levels it was reported for, the weakest first.
pub(crate) struct Listed<'a> {
    pub anomaly: &'a Value,
    pub levels: Vec<&'a str>,
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The anomalies of a report, each instance once, however many levels it contradicts.
pub(crate) fn anomalies(report: &Value) -> Vec<Listed<'_>> {
    let mut found: Vec<Listed<'_>> = Vec::new();
    for result in list(&report["results"]) {
        let level = result["level"].as_str().unwrap_or_default();
        for anomaly in list(&result["anomalies"]) {
            let is_same = |other: &&mut Listed<'_>| {
                other.anomaly["kind"] == anomaly["kind"]
                    && other.anomaly["transactions"] == anomaly["transactions"]
                    && other.anomaly["operations"] == anomaly["operations"]
                    && other.anomaly["edges"] == anomaly["edges"]
            };
            if let Some(known) = found.iter_mut().find(is_same) {
                known.levels.push(level);
            } else if found.len() < ANOMALIES_MAX {
                found.push(Listed {
                    anomaly,
                    levels: vec![level],
                });
            }
        }
    }
    found
}

/// The levels with this verdict.
pub(crate) fn levels_with(report: &Value, verdict: &str) -> Vec<Level> {
    let results = list(&report["results"]).iter();
    results
        .filter(|result| result["verdict"] == verdict)
        .filter_map(|result| result["level"].as_str()?.parse().ok())
        .collect()
}

/// The weakest levels that are violated: what is above them follows.
pub(crate) fn weakest_violated(report: &Value) -> Vec<Level> {
    let violated = levels_with(report, "violated");
    let follows = |level: &Level| {
        let mut others = violated.iter().filter(|other| *other != level);
        others.any(|other| level.implies(*other))
    };
    violated
        .iter()
        .copied()
        .filter(|level| !follows(level))
        .collect()
}

/// The verdict of a report as one word. A run has one about what was promised; a check of all levels
/// tells whether any is violated.
pub(crate) fn verdict(report: &Value) -> &'static str {
    let answers = match report.get("held_to") {
        Some(held_to) => list(held_to),
        None => list(&report["results"]),
    };
    let any = |word: &str| answers.iter().any(|answer| answer["verdict"] == word);
    match () {
        () if any("violated") => "violated",
        () if any("unknown") || answers.is_empty() => "unknown",
        () => "holds",
    }
}

/// What the list of runs and files says of one.
pub(crate) fn short(report: &Value) -> Value {
    let names =
        |levels: Vec<Level>| -> Vec<&str> { levels.iter().map(|level| level.name()).collect() };
    let mut kinds: Vec<(&str, u64)> = Vec::new();
    for listed in anomalies(report) {
        let kind = listed.anomaly["kind"].as_str().unwrap_or_default();
        let count = listed.anomaly["count"].as_u64().unwrap_or(1);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, most)) => *most = count.max(*most),
            None => kinds.push((kind, count)),
        }
    }
    let kinds: Vec<Value> = kinds
        .iter()
        .map(|(kind, count)| json!({"kind": kind, "count": count}))
        .collect();
    json!({
        "verdict": verdict(report),
        "strongest": report["strongest"],
        "violated": names(weakest_violated(report)),
        "anomalies": kinds,
        "run": report.get("run"),
        "held_to": report.get("held_to"),
        "history": report.get("history"),
    })
}

/// What a kind of anomaly means, in a sentence.
pub(crate) fn meaning(kind: &str) -> &'static str {
    AnomalyKind::from_name(kind).map_or("", |kind| kind.row().meaning)
}

/// An anomaly in the list of a report.
pub(crate) fn entry(number: usize, listed: &Listed<'_>) -> Value {
    let anomaly = listed.anomaly;
    let kind = anomaly["kind"].as_str().unwrap_or_default();
    let edges: Vec<&Value> = list(&anomaly["edges"])
        .iter()
        .map(|edge| &edge["kind"])
        .collect();
    json!({
        "id": number,
        "kind": kind,
        "label": anomaly["label"],
        "meaning": meaning(kind),
        "count": anomaly["count"],
        "levels": listed.levels,
        "transactions": anomaly["transactions"],
        "edges": edges,
        "explanation": anomaly["explanation"],
    })
}
