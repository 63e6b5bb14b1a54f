//! One EDN map a history, with the keys of Elle's results where it has them, for programs in Clojure.
//! Keys are a contract; see docs/formats.md.

use super::Report;
use history::{Anomaly, AnomalyKind, Edge, History, Level, OpId, TxnId, Value, ValueCode, Verdict};
use std::collections::BTreeMap;

/// The map, on one line.
pub fn render(report: &Report<'_>) -> String {
    let mut map = EdnMap::default();
    map.put(":valid?", valid(report));
    map.put(":file", string(report.file));
    if let Some(loaded) = report.loaded {
        let history = &loaded.history;
        map.put(":format", keyword(loaded.format.name()));
        let mut counts = EdnMap::default();
        counts.put(":sessions", history.session_count());
        counts.put(":transactions", history.txn_count());
        counts.put(":operations", history.op_count());
        counts.put(":keys", history.key_count());
        map.put(":history", counts.end());
        map.put(
            ":notes",
            vector(loaded.notes.iter().map(|note| string(note))),
        );
    }
    let history = report.loaded.map(|loaded| &loaded.history);
    let anomalies = anomalies(report, history);
    let types = anomalies.keys().map(|kind| keyword(kind));
    map.put(":anomaly-types", vector(types));
    let mut by_type = EdnMap::default();
    for (kind, found) in &anomalies {
        by_type.put(&keyword(kind), vector(found.iter().cloned()));
    }
    map.put(":anomalies", by_type.end());
    let weakest: Vec<Level> = report
        .weakest_violated()
        .iter()
        .map(|answer| answer.result.level)
        .collect();
    map.put(":not", set(&weakest));
    let also = |level: &Level| {
        let implied = |&other: &Level| level.implies(other);
        !weakest.contains(level) && weakest.iter().any(implied)
    };
    map.put(
        ":also-not",
        set(&Level::all().filter(also).collect::<Vec<_>>()),
    );
    let answers = report.answers.iter().map(|answer| &answer.result);
    let held = answers
        .clone()
        .filter(|r| matches!(r.verdict, Verdict::Holds(_)));
    map.put(
        ":holds",
        set(&held.map(|result| result.level).collect::<Vec<_>>()),
    );
    let mut unknown = EdnMap::default();
    for result in answers {
        if let Verdict::Unknown(reason) = &result.verdict {
            unknown.put(&keyword(model_name(result.level)), string(reason));
        }
    }
    map.put(":unknown", unknown.end());
    format!("{}\n", map.end())
}

fn valid(report: &Report<'_>) -> &'static str {
    let any = |wanted: &dyn Fn(&Verdict) -> bool| {
        report
            .answers
            .iter()
            .any(|answer| wanted(&answer.result.verdict))
    };
    if any(&|verdict| matches!(verdict, Verdict::Violated(_))) {
        "false"
    } else if any(&|verdict| matches!(verdict, Verdict::Unknown(_))) {
        ":unknown"
    } else {
        "true"
    }
}

/// Elle's name of a level, where it has one.
pub fn model_name(level: Level) -> &'static str {
    match level {
        Level::Causal => "causal-cerone",
        other => other.name(),
    }
}

/// Elle's name of a kind of anomaly, where it has one.
pub fn type_name(kind: AnomalyKind) -> &'static str {
    match kind.name() {
        "aborted-read" => "G1a",
        "intermediate-read" => "G1b",
        "not-my-own-write" | "not-my-last-write" | "non-repeatable-read" => "internal",
        "duplicate-element" => "duplicate-elements",
        name => name,
    }
}

/// All anomalies by their types, each kind as it breaks the first level that it breaks.
fn anomalies(
    report: &Report<'_>,
    history: Option<&History>,
) -> BTreeMap<&'static str, Vec<String>> {
    let mut found: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    let mut shown = Vec::new();
    let Some(history) = history else {
        return found;
    };
    for answer in report.answers {
        let Verdict::Violated(anomalies) = &answer.result.verdict else {
            continue;
        };
        for anomaly in anomalies {
            if shown.contains(&anomaly.kind) {
                continue;
            }
            shown.push(anomaly.kind);
            let text = one_anomaly(history, answer.result.level, anomaly);
            found.entry(type_name(anomaly.kind)).or_default().push(text);
        }
    }
    found
}

fn one_anomaly(history: &History, level: Level, anomaly: &Anomaly) -> String {
    let mut map = EdnMap::default();
    map.put(":kind", keyword(anomaly.kind.name()));
    map.put(":breaks", keyword(model_name(level)));
    map.put(":count", anomaly.count);
    let txns = anomaly.transactions.iter();
    map.put(":txns", vector(txns.map(|&txn| one_txn(history, txn))));
    if !anomaly.ops.is_empty() {
        map.put(
            ":mops",
            vector(anomaly.ops.iter().map(|&op| micro_op(history, op))),
        );
    }
    let cycle = |edges: &[Edge]| vector(edges.iter().map(|edge| one_edge(history, edge)));
    map.put(":steps", cycle(&anomaly.edges));
    if !anomaly.otherwise.is_empty() {
        map.put(
            ":otherwise",
            vector(anomaly.otherwise.iter().map(|edges| cycle(edges))),
        );
    }
    if !anomaly.assuming.is_empty() {
        let choice = |&(read, writer): &(OpId, TxnId)| {
            let mut map = EdnMap::default();
            map.put(":read", micro_op(history, read));
            map.put(":writer", name(history, writer));
            map.end()
        };
        map.put(":assuming", vector(anomaly.assuming.iter().map(choice)));
    }
    map.put(":explanation", string(&anomaly.explanation));
    map.end()
}

fn name(history: &History, txn: TxnId) -> String {
    if txn == TxnId::INITIAL {
        return string("init");
    }
    string(&history.txn_name(txn))
}

fn one_txn(history: &History, txn: TxnId) -> String {
    let mut map = EdnMap::default();
    map.put(":name", name(history, txn));
    if txn != TxnId::INITIAL {
        let row = history.txn(txn);
        map.put(":process", history.session_label(row.session));
        if row.label != history::UNLABELLED {
            map.put(":index", row.label);
        }
        let status = match row.status {
            history::Status::Committed => ":ok",
            history::Status::Aborted => ":fail",
            history::Status::Indeterminate => ":info",
        };
        map.put(":type", status);
        let ops = history.txn_ops(txn).map(|(op, _)| micro_op(history, op));
        map.put(":value", vector(ops));
    }
    map.end()
}

fn one_edge(history: &History, edge: &Edge) -> String {
    let mut map = EdnMap::default();
    map.put(":from", name(history, edge.from));
    map.put(":to", name(history, edge.to));
    let kind = match edge.kind.name() {
        "so" => "process",
        "rt" => "realtime",
        other => other,
    };
    map.put(":type", keyword(kind));
    if let Some(key) = edge.key {
        map.put(":key", value(&history.key_name(key)));
    }
    if let Some(op) = edge.from_op {
        map.put(":from-mop", micro_op(history, op));
    }
    if let Some(op) = edge.to_op {
        map.put(":to-mop", micro_op(history, op));
    }
    map.end()
}

/// An operation as Jepsen writes it; a result that is unknown is missing.
fn micro_op(history: &History, id: OpId) -> String {
    use history::OpKind::{Add, Append, Increment, Write};
    let op = history.op(id);
    let tag = match op.kind {
        Write => ":w",
        Append => ":append",
        Add => ":add",
        Increment => ":inc",
        _ => ":r",
    };
    let key = value(&history.key_name(op.key));
    if op.value == ValueCode::UNKNOWN {
        return format!("[{tag} {key}]");
    }
    let shown = match op.kind.reads_list() {
        true => vector(
            history
                .list(op.value)
                .iter()
                .map(|&e| value(&history.value(e))),
        ),
        false => value(&history.value(op.value)),
    };
    format!("[{tag} {key} {shown}]")
}

fn value(value: &Value) -> String {
    match value {
        Value::Nil => "nil".to_string(),
        Value::Int(number) if i64::try_from(*number).is_err() => format!("{number}N"),
        Value::Int(number) => number.to_string(),
        Value::Text(text) if is_keyword(text) => text.to_string(),
        Value::Text(text) => string(text),
    }
}

/// Whether a text is a keyword that EDN can read.
fn is_keyword(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".*+!-_?$%&=<>/".contains(&byte);
    text.strip_prefix(':').is_some_and(|name| {
        name.bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_alphabetic())
            && name.bytes().all(fits)
            && name.bytes().filter(|&byte| byte == b'/').count() <= 1
            && !name.ends_with('/')
    })
}

fn keyword(name: &str) -> String {
    format!(":{name}")
}

fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

fn vector(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(" "))
}

fn set(levels: &[Level]) -> String {
    let mut names: Vec<String> = levels.iter().map(|&l| keyword(model_name(l))).collect();
    names.sort();
    format!("#{{{}}}", names.join(" "))
}

/// A map under construction.
#[derive(Default)]
struct EdnMap(Vec<String>);

impl EdnMap {
    fn put(&mut self, key: &str, value: impl std::fmt::Display) {
        self.0.push(format!("{key} {value}"));
    }

    fn end(&self) -> String {
        format!("{{{}}}", self.0.join(", "))
    }
}
