//! Two reports side by side: which levels changed, which anomalies are new, gone, still there.
//!
//! **Definition.** Two anomalies are the same by kind if they have the same name, and the same by
//! structure if besides their circles are the same but for the names of transactions and keys: the
//! kinds of edges in order, and which of them share a key.
//!
//! **Steps.** A circle is written from each of its edges on, with keys numbered as they first occur;
//! the least of these texts stands for the structure.
//!
//! **Cost.** Quadratic in the edges of an anomaly, which are few.

use crate::summary;
use history::Level;
use serde_json::{Value, json};

/// So many edges of a circle are compared.
const EDGES_MAX: usize = 60;

/// One structure of a report.
struct Shape<'a> {
    kind: &'a str,
    structure: String,
    id: usize,
    count: u64,
}

/// What changed from the first report to the second.
pub(crate) fn compare(before: &Value, after: &Value) -> Value {
    let (old, new) = (shapes(before), shapes(after));
    json!({
        "levels": levels(before, after),
        "kinds": kinds(&old, &new),
        "structures": structures(&old, &new),
        "before": summary::short(before),
        "after": summary::short(after),
    })
}

fn verdict_of(report: &Value, level: Level) -> Option<&str> {
    let results = report["results"].as_array()?;
    let found = results
        .iter()
        .find(|result| result["level"] == level.name())?;
    found["verdict"].as_str()
}

fn levels(before: &Value, after: &Value) -> Vec<Value> {
    let row = |level: Level| {
        let (old, new) = (verdict_of(before, level), verdict_of(after, level));
        let is_asked = old.is_some() || new.is_some();
        is_asked.then(
            || json!({"level": level.name(), "before": old, "after": new, "changed": old != new}),
        )
    };
    Level::all().filter_map(row).collect()
}

fn shapes(report: &Value) -> Vec<Shape<'_>> {
    let listed = summary::anomalies(report);
    let mut shapes: Vec<Shape<'_>> = Vec::new();
    for (id, found) in listed.iter().enumerate() {
        let anomaly = found.anomaly;
        let kind = anomaly["kind"].as_str().unwrap_or_default();
        let structure = structure(anomaly);
        let count = anomaly["count"].as_u64().unwrap_or(1);
        let known = shapes
            .iter_mut()
            .find(|shape| shape.kind == kind && shape.structure == structure);
        match known {
            Some(shape) => shape.count = shape.count.max(count),
            None => shapes.push(Shape {
                kind,
                structure,
                id,
                count,
            }),
        }
    }
    shapes
}

/// The circle of an anomaly without names.
fn structure(anomaly: &Value) -> String {
    let edges = anomaly["edges"].as_array().map_or(&[][..], Vec::as_slice);
    let edges = &edges[..edges.len().min(EDGES_MAX)];
    if edges.is_empty() {
        let count = anomaly["transactions"].as_array().map_or(0, Vec::len);
        return format!("{count} transaction{}", if count == 1 { "" } else { "s" });
    }
    let from = |first: usize| {
        let mut keys: Vec<&str> = Vec::new();
        let mut words: Vec<String> = Vec::new();
        for place in 0..edges.len() {
            let edge = &edges[(first + place) % edges.len()];
            let kind = edge["kind"].as_str().unwrap_or("?");
            let word = match edge["key"].as_str() {
                None => kind.to_string(),
                Some(key) => {
                    let number = keys.iter().position(|known| *known == key);
                    let number = number.unwrap_or_else(|| {
                        keys.push(key);
                        keys.len() - 1
                    });
                    format!("{kind} {}", letter(number))
                }
            };
            words.push(word);
        }
        words.join(" → ")
    };
    (0..edges.len()).map(from).min().unwrap_or_default()
}

/// x, y, z, k3, k4 …
fn letter(number: usize) -> String {
    match number {
        0 => "x".to_string(),
        1 => "y".to_string(),
        2 => "z".to_string(),
        more => format!("k{more}"),
    }
}

fn change(old: bool, new: bool) -> &'static str {
    match (old, new) {
        (true, true) => "still there",
        (true, false) => "gone",
        _ => "new",
    }
}

fn kinds(old: &[Shape<'_>], new: &[Shape<'_>]) -> Vec<Value> {
    let mut names: Vec<&str> = old.iter().chain(new).map(|shape| shape.kind).collect();
    names.sort_unstable();
    names.dedup();
    let most = |shapes: &[Shape<'_>], kind: &str| {
        let counts = shapes.iter().filter(|shape| shape.kind == kind);
        counts.map(|shape| shape.count).max()
    };
    let row = |kind: &str| {
        let (before, after) = (most(old, kind), most(new, kind));
        json!({
            "kind": kind,
            "meaning": summary::meaning(kind),
            "before": before,
            "after": after,
            "change": change(before.is_some(), after.is_some()),
        })
    };
    names.into_iter().map(row).collect()
}

fn structures(old: &[Shape<'_>], new: &[Shape<'_>]) -> Vec<Value> {
    let same = |shapes: &[Shape<'_>], shape: &Shape<'_>| {
        let found = shapes
            .iter()
            .find(|other| other.kind == shape.kind && other.structure == shape.structure);
        found.map(|other| other.id)
    };
    let mut rows: Vec<Value> = Vec::new();
    for shape in old {
        let after = same(new, shape);
        rows.push(json!({
            "kind": shape.kind, "structure": shape.structure, "before": shape.id, "after": after,
            "change": change(true, after.is_some()),
        }));
    }
    for shape in new.iter().filter(|shape| same(old, shape).is_none()) {
        rows.push(json!({
            "kind": shape.kind, "structure": shape.structure, "before": null, "after": shape.id,
            "change": "new",
        }));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(kind: &str, key: &str) -> Value {
        json!({"kind": kind, "key": key, "from": "s0t0", "to": "s1t1"})
    }

    fn report(verdict: &str, anomalies: Value) -> Value {
        json!({"results": [{"level": "causal", "verdict": verdict, "anomalies": anomalies}]})
    }

    #[test]
    fn a_circle_is_the_same_wherever_it_begins_and_whatever_its_keys_are_called() {
        let one = json!({"edges": [edge("rw", "a"), edge("wr", "b"), edge("rw", "a")]});
        let two = json!({"edges": [edge("wr", "5"), edge("rw", "7"), edge("rw", "7")]});
        assert_eq!(structure(&one), structure(&two));
        let three = json!({"edges": [edge("wr", "5"), edge("rw", "7"), edge("rw", "5")]});
        assert_ne!(structure(&one), structure(&three));
        assert_eq!(
            structure(&json!({"transactions": ["s0t1"]})),
            "1 transaction"
        );
    }

    #[test]
    fn anomalies_are_new_gone_or_still_there() {
        let skew =
            json!({"kind": "write-skew", "count": 2, "edges": [edge("rw", "a"), edge("rw", "b")]});
        let other_skew =
            json!({"kind": "write-skew", "count": 9, "edges": [edge("rw", "1"), edge("rw", "2")]});
        let lost =
            json!({"kind": "lost-update", "count": 1, "edges": [edge("rw", "a"), edge("ww", "a")]});
        let aborted = json!({"kind": "aborted-read", "count": 1, "transactions": ["s0t0"]});
        let before = report("violated", json!([skew, lost]));
        let after = report("violated", json!([other_skew, aborted]));
        let found = compare(&before, &after);
        let change = |kind: &str| {
            let rows = found["structures"].as_array().unwrap();
            let row = rows.iter().find(|row| row["kind"] == kind).unwrap();
            row["change"].as_str().unwrap().to_string()
        };
        assert_eq!(change("write-skew"), "still there");
        assert_eq!(change("lost-update"), "gone");
        assert_eq!(change("aborted-read"), "new");
        let levels = compare(&before, &report("holds", json!([])));
        assert_eq!(levels["levels"][0]["changed"], true);
    }
}
