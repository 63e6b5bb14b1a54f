//! `certify`: accepts the evidence of `check`, and refuses it changed or with another history.

use super::{Folder, HOLDS, Run, VIOLATED, corpus, isolde};
use serde_json::{Value, json};

/// A history's certificate, and a place to write changed ones to.
struct Case {
    folder: Folder,
    history: String,
    certificate: Value,
}

impl Case {
    fn new(test: &str, history: &str, code: i32) -> Case {
        let folder = Folder::new(test);
        let path = folder.path("certificate.json");
        isolde(&["check", &corpus(history), "--certificate", &path]).exits(code);
        let text = std::fs::read_to_string(&path).expect("a certificate");
        Case {
            folder,
            history: corpus(history),
            certificate: serde_json::from_str(&text).expect("JSON"),
        }
    }

    /// Certifies with a certificate changed in some way.
    fn changed(&self, change: impl FnOnce(&mut Value)) -> Run {
        let mut certificate = self.certificate.clone();
        change(&mut certificate);
        let path = self.folder.file("changed.json", certificate.to_string());
        isolde(&["certify", &self.history, &path])
    }
}

/// The result of a level in a certificate.
fn result<'a>(certificate: &'a mut Value, level: &str) -> &'a mut Value {
    certificate["results"]
        .as_array_mut()
        .expect("results")
        .iter_mut()
        .find(|result| result["level"] == level)
        .expect("the level")
}

#[test]
fn every_verdict_is_certified() {
    let case = Case::new("certified-holds", HOLDS, 0);
    let run = case.changed(|_| {}).exits(0);
    assert_eq!(run.out.matches("certified").count(), 17, "{}", run.out);
    let case = Case::new("certified-violated", VIOLATED, 1);
    case.changed(|_| {}).exits(0).says(&[
        "certified  causal: violated",
        "certified  read-committed: holds",
    ]);
}

#[test]
fn an_unknown_verdict_has_nothing_to_certify() {
    let folder = Folder::new("certified-unknown");
    let path = folder.path("certificate.json");
    let both = "{\"session\":0,\"ops\":[[\"add\",\"s\",1],[\"w\",\"s\",1]]}\n";
    let set = folder.file("set.jsonl", both);
    isolde(&["check", &set, "--certificate", &path]).exits(3);
    isolde(&["certify", &set, &path])
        .exits(3)
        .says(&["nothing to certify"]);
}

#[test]
fn a_changed_order_is_refused() {
    let case = Case::new("changed-order", HOLDS, 0);
    case.changed(|certificate| {
        let order = result(certificate, "causal")["order"]
            .as_array_mut()
            .expect("an order");
        order.reverse();
    })
    .exits(1)
    .says(&["refused    causal: holds"]);
    case.changed(|certificate| {
        result(certificate, "causal")["order"]
            .as_array_mut()
            .expect("an order")
            .pop();
    })
    .exits(1);
    case.changed(|certificate| {
        let order = result(certificate, "causal")["order"]
            .as_array_mut()
            .expect("an order");
        let first = order[0].clone();
        order.push(first);
    })
    .exits(1);
}

#[test]
fn a_claim_that_is_not_true_is_refused() {
    let violated = Case::new("false-holds", VIOLATED, 1);
    violated
        .changed(|certificate| {
            let order = result(certificate, "read-committed")["order"].clone();
            *result(certificate, "causal") =
                json!({"level": "causal", "verdict": "holds", "order": order, "reads": []});
        })
        .exits(1)
        .says(&["refused    causal: holds"]);
    let holds = Case::new("false-violated", HOLDS, 0);
    holds
        .changed(|certificate| {
            *result(certificate, "causal") =
                json!({"level": "causal", "verdict": "violated", "anomalies": []});
        })
        .exits(1);
}

#[test]
fn a_changed_cycle_is_refused() {
    let case = Case::new("changed-cycle", VIOLATED, 1);
    case.changed(|certificate| {
        let edges = &mut result(certificate, "causal")["anomalies"][0]["edges"];
        let from = edges[0]["from"].clone();
        edges[0]["from"] = edges[0]["to"].clone();
        edges[0]["to"] = from;
    })
    .exits(1)
    .says(&["refused    causal: violated"]);
    case.changed(|certificate| {
        result(certificate, "causal")["anomalies"][0]["edges"][0]["kind"] = "so".into();
    })
    .exits(1);
    case.changed(|certificate| {
        result(certificate, "causal")["anomalies"][0]["kind"] = "thin-air-read".into();
    })
    .exits(1);
    case.changed(|certificate| {
        let edges = &mut result(certificate, "causal")["anomalies"][0]["edges"];
        edges.as_array_mut().expect("edges").pop();
    })
    .exits(1);
}

#[test]
fn a_certificate_of_another_history_is_bad_input() {
    let case = Case::new("other-history", HOLDS, 0);
    let path = case.folder.path("certificate.json");
    isolde(&["certify", &corpus(VIOLATED), &path])
        .exits(2)
        .complains(&["another history"]);
    case.changed(|certificate| certificate["history"]["digest"] = "00".into())
        .exits(2)
        .complains(&["another history"]);
    case.changed(|certificate| result(certificate, "causal")["order"][0] = "s9t9".into())
        .exits(2)
        .complains(&["s9t9"]);
}

#[test]
fn what_is_no_certificate_is_bad_input() {
    let folder = Folder::new("no-certificate");
    for text in [
        "",
        "{}",
        "[1, 2",
        "w(1,1,0,0)\n",
        "{\"isolde_certificate\": 99}",
    ] {
        let path = folder.file("x.json", text);
        isolde(&["certify", &corpus(HOLDS), &path])
            .exits(2)
            .complains(&["no certificate"]);
    }
    isolde(&["certify", &corpus(HOLDS), &folder.path("missing")]).exits(2);
}

/// Evidence is about transactions, not about files: it outlives a conversion.
#[test]
fn a_certificate_outlives_a_conversion() {
    let case = Case::new("converted", VIOLATED, 1);
    let certificate = case.folder.path("certificate.json");
    for name in ["history.parquet", "history.jsonl", "history.edn"] {
        let converted = case.folder.path(name);
        isolde(&["convert", &case.history, &converted]).exits(0);
        isolde(&["certify", &converted, &certificate]).exits(0);
    }
}
