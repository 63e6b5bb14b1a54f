//! A picture as JSON, for whoever draws it again.

use super::{Arrow, Picture, Role, TxnBox};
use serde_json::{Value, json};

impl Picture {
    /// The picture as JSON: boxes, and arrows by the places of boxes.
    pub fn json(&self) -> Value {
        json!({
            "title": self.title,
            "boxes": self.boxes.iter().map(txn_box).collect::<Vec<Value>>(),
            "arrows": self.arrows.iter().map(arrow).collect::<Vec<Value>>(),
            "left_out": self.left_out,
        })
    }
}

fn txn_box(txn: &TxnBox) -> Value {
    let lines: Vec<Value> = txn
        .lines
        .iter()
        .map(|line| json!({"text": line.text, "matters": line.matters}))
        .collect();
    json!({
        "name": txn.name,
        "note": txn.note,
        "doubtful": txn.is_doubtful,
        "operations": lines,
        "more": txn.more,
    })
}

fn arrow(arrow: &Arrow) -> Value {
    json!({
        "from": arrow.from,
        "to": arrow.to,
        "kind": arrow.kind.name(),
        "key": arrow.key,
        "certainty": arrow.certainty.name(),
        "circle": arrow.role == Role::Circle,
        "reason": arrow.reason,
        "operations": arrow.operations,
    })
}
