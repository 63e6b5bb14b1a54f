//! The anomalies of a history as SARIF 2.1.0, for tools that collect findings: a rule for each kind, a
//! result for each anomaly that contradicts a weakest level.

use super::Report;
use history::{Anomaly, AnomalyKind, Verdict};
use serde_json::{Value, json};

/// The document.
pub fn render(report: &Report<'_>) -> String {
    let mut kinds: Vec<AnomalyKind> = Vec::new();
    let mut results: Vec<Value> = Vec::new();
    for answer in report.weakest_violated() {
        let Verdict::Violated(anomalies) = &answer.result.verdict else {
            continue;
        };
        for anomaly in anomalies {
            if !kinds.contains(&anomaly.kind) {
                kinds.push(anomaly.kind);
            }
            results.push(result(report, answer.result.level.name(), anomaly));
        }
    }
    let rules: Vec<Value> = kinds.iter().map(|kind| rule(*kind)).collect();
    let driver = json!({
        "name": "isolde",
        "version": env!("CARGO_PKG_VERSION"),
        "rules": rules,
    });
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    });
    format!("{document}\n")
}

fn rule(kind: AnomalyKind) -> Value {
    let row = kind.row();
    json!({
        "id": row.name,
        "shortDescription": {"text": row.meaning},
        "help": {"text": row.label},
    })
}

fn result(report: &Report<'_>, level: &str, anomaly: &Anomaly) -> Value {
    let names: Vec<String> = match report.loaded {
        Some(loaded) => {
            let txns = anomaly.transactions.iter();
            txns.map(|&txn| loaded.history.txn_name(txn)).collect()
        }
        None => Vec::new(),
    };
    json!({
        "ruleId": anomaly.kind.name(),
        "level": "error",
        "message": {"text": format!("{level} is violated: {}", anomaly.explanation)},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": report.file}}}],
        "properties": {"level": level, "transactions": names, "count": anomaly.count},
    })
}
