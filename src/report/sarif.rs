//! The anomalies of histories as SARIF 2.1.0, for tools that collect findings: a rule for each kind, a
//! result for each anomaly that contradicts a weakest level.

use super::Report;
use history::{Anomaly, AnomalyKind, Verdict};
use report::encyclopedia;
use serde_json::{Value, json};

/// The findings of several histories.
#[derive(Default)]
pub struct Findings {
    kinds: Vec<AnomalyKind>,
    results: Vec<Value>,
    /// What went wrong with files that could not be read.
    failures: Vec<String>,
}

impl Findings {
    /// Adds what a report has found.
    pub fn add(&mut self, report: &Report<'_>) {
        for answer in report.weakest_violated() {
            let Verdict::Violated(anomalies) = &answer.result.verdict else {
                continue;
            };
            for anomaly in anomalies {
                if !self.kinds.contains(&anomaly.kind) {
                    self.kinds.push(anomaly.kind);
                }
                let level = answer.result.level.name();
                self.results.push(result(report, level, anomaly));
            }
        }
    }

    /// Adds a file that could not be read.
    pub fn fail(&mut self, message: &str) {
        self.failures.push(message.to_string());
    }

    /// The document.
    pub fn render(&self) -> String {
        let rules: Vec<Value> = self.kinds.iter().map(|kind| rule(*kind)).collect();
        let driver = json!({
            "name": "isolde",
            "version": env!("CARGO_PKG_VERSION"),
            "rules": rules,
        });
        let failure = |text: &String| json!({"level": "error", "message": {"text": text}});
        let failures: Vec<Value> = self.failures.iter().map(failure).collect();
        let invocation = json!({
            "executionSuccessful": failures.is_empty(),
            "toolExecutionNotifications": failures,
        });
        let document = json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": {"driver": driver},
                "invocations": [invocation],
                "results": self.results,
            }],
        });
        format!("{document}\n")
    }
}

fn rule(kind: AnomalyKind) -> Value {
    let row = kind.row();
    let about = match encyclopedia::entry(kind) {
        Some(entry) => format!("{} {}", entry.what, entry.matters),
        None => format!("{}.", row.meaning),
    };
    json!({
        "id": row.name,
        "shortDescription": {"text": row.meaning},
        "fullDescription": {"text": about},
        "help": {
            "text": format!("{about} Also called {}. 'isolde explain {}' tells what prevents it.", row.label, row.name),
        },
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
    let mut place = json!({"artifactLocation": {"uri": uri(report.file)}});
    let lines = anomaly.transactions.iter();
    let lines = lines.filter_map(|txn| report.lines.get(txn));
    if let Some(line) = lines.min() {
        place["region"] = json!({"startLine": line});
    }
    json!({
        "ruleId": anomaly.kind.name(),
        "level": "error",
        "message": {"text": format!("{level} is violated: {}", anomaly.explanation)},
        "locations": [{"physicalLocation": place}],
        "properties": {"level": level, "transactions": names, "count": anomaly.count},
    })
}

/// A path as a reference of a document to a file.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for &byte in path.as_bytes() {
        match byte {
            byte if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) => {
                out.push(byte as char);
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
