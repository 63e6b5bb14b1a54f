//! One JSON object a model. Field names are a contract; see docs/protocols.md.

use super::json;
use super::model::{Asked, Finding, Kind, explanation};
use crate::story::Lines;
use protocol::{Answer, Question, mermaid};
use serde_json::{Map, Value, json};

/// All answers about a model.
pub fn object(asked: &Asked<'_>) -> Value {
    let results: Vec<Value> = asked
        .outcome
        .answers
        .iter()
        .map(|(question, answer)| result(asked, *question, answer))
        .collect();
    let of_kind = |wanted: fn(&Kind) -> bool| -> Value {
        let found = asked.findings.iter().find(|finding| wanted(&finding.kind));
        found.map_or(Value::Null, run)
    };
    let promises: Vec<&str> = asked.entry.promises.iter().map(|p| p.name()).collect();
    json!({
        "protocol": asked.outcome.protocol,
        "promises": promises,
        "results": results,
        "evidence": asked.outcome.evidence,
        "stuck": of_kind(|kind| matches!(kind, Kind::Stuck { .. })),
        "model_error": of_kind(|kind| matches!(kind, Kind::Wrong(_))),
        "seconds": asked.seconds,
        "exit": asked.exit().code(),
    })
}

fn result(asked: &Asked<'_>, question: Question, answer: &Answer) -> Value {
    let mut object = Map::new();
    object.insert("property".into(), question.property.name().into());
    object.insert("form".into(), question.form.name().into());
    object.insert("promised".into(), asked.promised(question).into());
    object.insert("verdict".into(), verdict(answer).into());
    match answer {
        Answer::Holds => {}
        Answer::Vacuous(why) | Answer::Unknown(why) => {
            object.insert("reason".into(), why.as_str().into());
        }
        Answer::Violated(_) => {
            let of = |finding: &&Finding| finding.questions.iter().any(|(q, _)| *q == question);
            if let Some(finding) = asked.findings.iter().find(of) {
                let anomalies = finding.questions.iter().filter(|(q, _)| *q == question);
                let anomalies: Vec<Value> = anomalies
                    .flat_map(|(_, judged)| {
                        let all = judged.anomalies.iter();
                        all.map(|anomaly| json::anomaly(&judged.history, anomaly, &Lines::new()))
                    })
                    .collect();
                object.insert("anomalies".into(), anomalies.into());
                object.insert("counterexample".into(), run(finding));
            }
        }
    }
    object.into()
}

/// The name of an answer.
pub fn verdict(answer: &Answer) -> &'static str {
    match answer {
        Answer::Holds => "holds",
        Answer::Vacuous(_) => "vacuous",
        Answer::Violated(_) => "violated",
        Answer::Unknown(_) => "unknown",
    }
}

fn run(finding: &Finding) -> Value {
    let mut object = json!({
        "what": finding.name(),
        "explanation": explanation(finding),
        "setup": finding.run.setup.to_string(),
        "steps": finding.run.lines(),
        "mermaid": mermaid(&finding.run),
        "files": finding.files,
    });
    if let Kind::Stuck { txns, finals } = &finding.kind {
        let names: Vec<String> = txns.iter().map(|txn| txn.to_string()).collect();
        object["transactions"] = json!(names);
        object["finals"] = json!(finals);
    }
    object
}
