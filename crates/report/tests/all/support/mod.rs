//! What the tests share: histories written in a few letters, anomalies found in them, and a small
//! checker of XML.

use checker::{Options, check};
use history::{
    Anomaly, AnomalyKind, Builder, Edge, EdgeKind, History, Interval, KeyId, Level, Op, OpId,
    OpKind, Status, TxnId, Value, Verdict,
};

/// All anomalies of all levels, each kind once, with the weakest level it was found at.
pub fn anomalies(history: &History) -> Vec<(Level, Anomaly)> {
    let levels: Vec<Level> = Level::all().collect();
    let mut found: Vec<(Level, Anomaly)> = Vec::new();
    for answer in check(history, &levels, &Options::default()) {
        if let Verdict::Violated(anomalies) = answer.result.verdict {
            for anomaly in anomalies {
                if !found.iter().any(|(_, other)| other.kind == anomaly.kind) {
                    found.push((answer.result.level, anomaly));
                }
            }
        }
    }
    found
}

/// A circle of `count` transactions by rw edges: each reads what the next one overwrites. Keys and values
/// are made of `text`.
pub fn ring(count: usize, text: &str) -> (History, Anomaly) {
    let mut builder = Builder::new();
    for at in 0..count {
        let session = builder.session(at as i64);
        let next = (at + 1) % count;
        let read = builder.key(&Value::from(format!("{text}{next}").as_str()));
        let written = builder.key(&Value::from(format!("{text}{at}").as_str()));
        let value = builder.value(&Value::from(format!("{text}-{at}").as_str()));
        let nil = builder.value(&Value::Nil);
        let ops = [
            Op {
                kind: OpKind::Read,
                key: read,
                value: nil,
            },
            Op {
                kind: OpKind::Write,
                key: written,
                value,
            },
        ];
        let interval = Interval {
            start: at as i64,
            end: 100 + at as i64,
        };
        builder
            .push_txn(session, at as u64, Status::Committed, Some(interval), &ops)
            .expect("a small history");
    }
    let history = builder.finish();
    let edges: Vec<Edge> = (0..count)
        .map(|at| {
            let next = (at + 1) % count;
            let (from, to) = (TxnId(at as u32), TxnId(next as u32));
            let from_op = OpId(history.op_range(from).start as u32);
            Edge {
                from,
                to,
                kind: EdgeKind::Rw,
                key: Some(KeyId(history.op(from_op).key.0)),
                from_op: Some(from_op),
                to_op: Some(OpId(history.op_range(to).start as u32 + 1)),
                because: None,
            }
        })
        .collect();
    let anomaly = Anomaly {
        kind: AnomalyKind::G2Item,
        count: 1,
        transactions: edges.iter().map(|edge| edge.from).collect(),
        ops: Vec::new(),
        edges,
        otherwise: Vec::new(),
        assuming: Vec::new(),
        explanation: format!("because of {text}"),
    };
    (history, anomaly)
}

/// What is wrong with a text as XML: tags that do not nest, attributes without quotes or given twice,
/// entities that XML does not know. HTML's void elements are not known here.
pub fn xml_problem(text: &str) -> Option<String> {
    let mut open: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        if let Some(problem) = text_problem(&rest[..at]) {
            return Some(problem);
        }
        let tag_end = match tag_end(&rest[at..]) {
            Some(end) => at + end,
            None => return Some(format!("a tag without an end: {:.60}", &rest[at..])),
        };
        let tag = &rest[at + 1..tag_end];
        rest = &rest[tag_end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop().as_deref() != Some(name.trim()) {
                return Some(format!("</{name}> closes nothing"));
            }
            continue;
        }
        let is_closed = tag.ends_with('/');
        let tag = tag.trim_end_matches('/');
        let (name, attributes) = tag.split_once([' ', '\n']).unwrap_or((tag, ""));
        if !name.chars().all(|letter| letter.is_ascii_alphanumeric()) || name.is_empty() {
            return Some(format!("no name of a tag: {name}"));
        }
        if let Some(problem) = attributes_problem(attributes) {
            return Some(problem);
        }
        if name == "style" && !is_closed {
            let end = rest.find("</style>")?;
            rest = &rest[end + "</style>".len()..];
            continue;
        }
        if !is_closed {
            open.push(name.to_string());
        }
    }
    open.pop().map(|name| format!("<{name}> is not closed"))
}

fn tag_end(text: &str) -> Option<usize> {
    let mut is_quoted = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '>' if !is_quoted => return Some(at),
            '<' if at > 0 => return None,
            _ => {}
        }
    }
    None
}

fn text_problem(text: &str) -> Option<String> {
    if text.contains("]]>") {
        return Some("]]> in a text".to_string());
    }
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let end = rest[at..].find(';').map(|end| at + end);
        let entity = end.map_or("", |end| &rest[at + 1..end]);
        let known = ["amp", "lt", "gt", "quot"].contains(&entity)
            || entity
                .strip_prefix('#')
                .is_some_and(|code| code.parse::<u32>().is_ok());
        if !known {
            return Some(format!("no entity: {:.20}", &rest[at..]));
        }
        rest = &rest[at + 1..];
    }
    let bad = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
    text.chars()
        .find(|letter| bad(*letter))
        .map(|letter| format!("{letter:?} in a text"))
}

fn attributes_problem(text: &str) -> Option<String> {
    let mut seen: Vec<&str> = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let Some((name, after)) = rest.split_once("=\"") else {
            return Some(format!("an attribute without a value: {rest:.40}"));
        };
        let Some((value, next)) = after.split_once('"') else {
            return Some(format!("an attribute without an end: {rest:.40}"));
        };
        if seen.contains(&name) || name.contains(char::is_whitespace) {
            return Some(format!("an attribute given twice or misnamed: {name}"));
        }
        if let Some(problem) = text_problem(value) {
            return Some(problem);
        }
        seen.push(name);
        rest = next.trim_start();
    }
    None
}
