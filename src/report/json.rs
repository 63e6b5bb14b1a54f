//! One JSON object a history. Field names are a contract; see docs/schema.

use super::Report;
use crate::story::Lines;
use checker::{Checked, Stage};
use history::{Anomaly, Edge, History, OpId, Reason, TxnId, Verdict};
use serde_json::{Map, Value, json};

/// The object, on one line.
pub fn render(report: &Report<'_>) -> String {
    let mut object = Map::new();
    object.insert("file".into(), report.file.into());
    if let Some(loaded) = report.loaded {
        let history = &loaded.history;
        object.insert("format".into(), loaded.format.name().into());
        object.insert(
            "history".into(),
            json!({
                "sessions": history.session_count(),
                "transactions": history.txn_count(),
                "operations": history.op_count(),
                "keys": history.key_count(),
            }),
        );
        object.insert("notes".into(), json!(loaded.notes));
    }
    let history = report.loaded.map(|loaded| &loaded.history);
    let results: Vec<Value> = report
        .answers
        .iter()
        .map(|answer| result(history, answer, &report.lines))
        .collect();
    object.insert("results".into(), results.into());
    let strongest: Vec<&str> = report
        .strongest()
        .iter()
        .map(|level| level.name())
        .collect();
    object.insert("strongest".into(), json!(strongest));
    if let (Some((assumed, circle)), Some(history)) = (&report.keys, history) {
        let verdict = if circle.is_some() {
            "violated"
        } else {
            "holds"
        };
        let anomalies: Vec<Value> = circle
            .iter()
            .map(|found| anomaly(history, found, &report.lines))
            .collect();
        object.insert(
            "keys".into(),
            json!({"assumed": assumed.name(), "verdict": verdict, "anomalies": anomalies}),
        );
    }
    format!("{}\n", Value::from(object))
}

fn result(history: Option<&History>, answer: &Checked, lines: &Lines) -> Value {
    let mut object = Map::new();
    object.insert("level".into(), answer.result.level.name().into());
    object.insert("verdict".into(), answer.result.verdict.name().into());
    let anomalies = match (&answer.result.verdict, history) {
        (Verdict::Violated(anomalies), Some(history)) => anomalies
            .iter()
            .map(|found| anomaly(history, found, lines))
            .collect(),
        _ => Vec::new(),
    };
    object.insert("anomalies".into(), anomalies.into());
    if let Verdict::Unknown(reason) = &answer.result.verdict {
        object.insert("reason".into(), reason.as_str().into());
    }
    object.insert("seconds".into(), json!(answer.seconds));
    let stages = answer.stages.iter().map(stage);
    object.insert("stages".into(), stages.collect());
    object.into()
}

fn stage(stage: &Stage) -> Value {
    let counts = stage.counts.iter();
    let counts: Map<String, Value> = counts
        .map(|&(what, number)| (what.to_string(), number.into()))
        .collect();
    json!({"name": stage.name, "seconds": stage.seconds, "counts": counts})
}

/// The name of a transaction; the implicit first one is `init`.
fn name(history: &History, txn: TxnId) -> String {
    if txn == TxnId::INITIAL {
        "init".to_string()
    } else {
        history.txn_name(txn)
    }
}

/// An anomaly as an object.
pub fn anomaly(history: &History, anomaly: &Anomaly, lines: &Lines) -> Value {
    let names: Vec<String> = anomaly
        .transactions
        .iter()
        .map(|&txn| name(history, txn))
        .collect();
    let ops: Vec<String> = anomaly.ops.iter().map(|&op| history.op_text(op)).collect();
    let mut object = Map::new();
    object.insert("kind".into(), anomaly.kind.name().into());
    object.insert("label".into(), anomaly.kind.row().label.into());
    object.insert("count".into(), anomaly.count.into());
    object.insert("transactions".into(), json!(names));
    if !lines.is_empty() {
        let line = |txn: &TxnId| lines.get(txn).map_or(Value::Null, |&line| line.into());
        object.insert(
            "lines".into(),
            anomaly.transactions.iter().map(line).collect(),
        );
    }
    object.insert("operations".into(), json!(ops));
    let edges: Vec<Value> = anomaly
        .edges
        .iter()
        .map(|found| edge(history, found))
        .collect();
    object.insert("edges".into(), edges.into());
    if !anomaly.otherwise.is_empty() {
        let cycle = |edges: &Vec<Edge>| -> Value {
            edges.iter().map(|found| edge(history, found)).collect()
        };
        let cycles = anomaly.otherwise.iter().map(cycle);
        object.insert("otherwise".into(), cycles.collect());
    }
    if !anomaly.assuming.is_empty() {
        let choice = |&(read, writer): &(OpId, TxnId)| json!({"read": history.op_text(read), "writer": name(history, writer)});
        object.insert(
            "assuming".into(),
            anomaly.assuming.iter().map(choice).collect(),
        );
    }
    object.insert("explanation".into(), anomaly.explanation.as_str().into());
    object.into()
}

fn edge(history: &History, found: &Edge) -> Value {
    let mut object = Map::new();
    object.insert("from".into(), name(history, found.from).into());
    object.insert("to".into(), name(history, found.to).into());
    object.insert("kind".into(), found.kind.name().into());
    if let Some(key) = found.key {
        object.insert("key".into(), history.key_name(key).to_string().into());
    }
    if let Some(op) = found.from_op {
        object.insert("from_operation".into(), history.op_text(op).into());
    }
    if let Some(op) = found.to_op {
        object.insert("to_operation".into(), history.op_text(op).into());
    }
    match &found.because {
        Some(Reason::Read { read, path }) => {
            // A path is made of so and wr edges, which have no reason of their own.
            let path: Vec<Value> = path.iter().map(|step| edge(history, step)).collect();
            let because = json!({"read": history.op_text(*read), "path": path});
            object.insert("because".into(), because);
        }
        Some(Reason::List { read }) => {
            object.insert("because".into(), json!({"list": history.op_text(*read)}));
        }
        Some(Reason::Assumed { before, after }) => {
            let because = json!({
                "assumed": [history.op_text(*before), history.op_text(*after)],
            });
            object.insert("because".into(), because);
        }
        Some(Reason::Version { writer }) => {
            let because = json!({"version_of": history.txn_name(*writer)});
            object.insert("because".into(), because);
        }
        None => {}
    }
    object.into()
}
