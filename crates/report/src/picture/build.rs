//! A picture of evidence: which boxes, which of their operations, which arrows.
//!
//! The circle comes first. What explains its arrows (the paths behind inferred ones, the circles
//! that close if an order is the other way round) is added while there is room.

use super::reason::Reasons;
use super::{Arrow, ArrowKind, Certainty, Line, Picture, Role, TxnBox};
use crate::words::{Words, status_word};
use history::{
    Anomaly, AnomalyKind, Edge, EdgeKind, History, OpId, Reason, Status, TxnId, ValueCode,
};
use std::collections::HashSet;

/// Nobody reads a picture of more boxes.
const BOXES_MAX: usize = 12;
/// Nor of more arrows.
const ARROWS_MAX: usize = 28;
/// A transaction of so few operations is shown whole.
const SHOWN_WHOLE_MAX: usize = 4;
/// So many operations of others are shown at most.
const LINES_MAX: usize = 6;

impl Picture {
    /// The picture of an anomaly of a history.
    pub fn of(history: &History, anomaly: &Anomaly) -> Picture {
        let words = Words::new(history);
        let edges = edges(&words, anomaly);
        let support = support(anomaly, &edges);
        let near = near(&words, anomaly, &edges, &support);
        let relevant = relevant(&words, edges.iter().chain(&support));
        let reasons = Reasons {
            words,
            relevant: &relevant,
            near: &near,
            has_others: !anomaly.otherwise.is_empty(),
        };
        let mut sketch = Sketch {
            reasons,
            txns: Vec::new(),
            ops: anomaly
                .ops
                .iter()
                .copied()
                .filter(|op| words.has_op(*op))
                .collect(),
            arrows: Vec::new(),
            left_out: HashSet::new(),
        };
        for edge in &edges {
            sketch.add(edge, Role::Circle);
        }
        for edge in &support {
            sketch.add(edge, Role::Support);
        }
        let named: HashSet<TxnId> = anomaly.transactions.iter().copied().collect();
        for &txn in &near {
            if edges.is_empty() || named.contains(&txn) {
                sketch.place(txn);
            }
        }
        sketch.finish(anomaly)
    }
}

/// The circle; of an anomaly of single reads, what its operations say.
fn edges(words: &Words<'_>, anomaly: &Anomaly) -> Vec<Edge> {
    let sound = |edge: &&Edge| {
        let ops = [edge.from_op, edge.to_op].into_iter().flatten();
        words.has_txn(edge.from)
            && words.has_txn(edge.to)
            && ops.into_iter().all(|op| words.has_op(op))
    };
    if !anomaly.edges.is_empty() {
        return anomaly.edges.iter().filter(sound).cloned().collect();
    }
    let edge = |kind: EdgeKind, from: usize, to: usize| -> Option<Edge> {
        let (from_op, to_op) = (*anomaly.ops.get(from)?, *anomaly.ops.get(to)?);
        let owner = |op: OpId| {
            words
                .has_op(op)
                .then(|| words.owner(op, &anomaly.transactions))?
        };
        Some(Edge {
            from: owner(from_op)?,
            to: owner(to_op)?,
            kind,
            key: Some(words.history.op(from_op).key),
            from_op: Some(from_op),
            to_op: Some(to_op),
            because: None,
        })
    };
    use AnomalyKind::*;
    let found = match anomaly.kind {
        AbortedRead | DirtyUpdate => vec![edge(EdgeKind::Wr, 0, 1)],
        IntermediateRead => vec![edge(EdgeKind::Wr, 0, 2)],
        LostUpdate => vec![edge(EdgeKind::Rw, 0, 3), edge(EdgeKind::Rw, 2, 1)],
        _ => Vec::new(),
    };
    let found = found.into_iter().flatten();
    found.filter(|edge| edge.from != edge.to).collect()
}

/// What explains the edges: paths behind them, and the other circles.
fn support(anomaly: &Anomaly, edges: &[Edge]) -> Vec<Edge> {
    let mut found: Vec<Edge> = Vec::new();
    let others = anomaly.otherwise.iter().flatten();
    for edge in edges.iter().chain(others.clone()) {
        if let Some(Reason::Read { path, .. }) = &edge.because {
            found.extend(path.iter().cloned());
        }
    }
    found.extend(others.cloned());
    found
}

/// All transactions that the evidence names, in the order of the circle.
fn near(words: &Words<'_>, anomaly: &Anomaly, edges: &[Edge], support: &[Edge]) -> Vec<TxnId> {
    let mut near: Vec<TxnId> = Vec::new();
    let ends = edges
        .iter()
        .chain(support)
        .flat_map(|edge| [edge.from, edge.to]);
    let mut seen = HashSet::new();
    for txn in ends.chain(anomaly.transactions.iter().copied()) {
        if words.has_txn(txn) && seen.insert(txn) {
            near.push(txn);
        }
    }
    near
}

/// The values that edges are about: of long lists only these are shown.
fn relevant<'a>(words: &Words<'_>, edges: impl Iterator<Item = &'a Edge>) -> Vec<ValueCode> {
    let ops = edges.flat_map(|edge| [edge.from_op, edge.to_op]).flatten();
    let ops = ops
        .filter(|op| words.has_op(*op))
        .map(|op| words.history.op(op));
    let mut values: Vec<ValueCode> = ops
        .filter(|op| op.kind.is_write())
        .map(|op| op.value)
        .collect();
    values.sort_unstable();
    values.dedup();
    values.truncate(64);
    values
}

struct Sketch<'a> {
    reasons: Reasons<'a>,
    txns: Vec<TxnId>,
    /// The operations that matter.
    ops: Vec<OpId>,
    arrows: Vec<Arrow>,
    left_out: HashSet<TxnId>,
}

impl Sketch<'_> {
    /// The place of a transaction, if there is room for it.
    fn place(&mut self, txn: TxnId) -> Option<usize> {
        if let Some(place) = self.txns.iter().position(|other| *other == txn) {
            return Some(place);
        }
        if self.txns.len() >= BOXES_MAX {
            self.left_out.insert(txn);
            return None;
        }
        self.txns.push(txn);
        Some(self.txns.len() - 1)
    }

    fn add(&mut self, edge: &Edge, role: Role) {
        let words = self.reasons.words;
        let key = edge.key.map_or(String::new(), |key| words.key(key));
        let is_known = !words.has_txn(edge.from) || !words.has_txn(edge.to) || edge.from == edge.to;
        if is_known || self.arrows.len() >= ARROWS_MAX {
            return;
        }
        // The boxes of long circles are cut in order, so that what is left is a chain.
        let (Some(from), Some(to)) = (self.place(edge.from), self.place(edge.to)) else {
            return;
        };
        let kind = ArrowKind::Of(edge.kind);
        let is_same = |arrow: &Arrow| {
            (arrow.from, arrow.to, arrow.kind) == (from, to, kind) && arrow.key == key
        };
        if role == Role::Support && self.arrows.iter().any(is_same) {
            return;
        }
        let ends = [(edge.from, edge.from_op), (edge.to, edge.to_op)];
        let mut operations = Vec::new();
        for (txn, op) in ends {
            if let Some(op) = op.filter(|op| words.has_op(*op)) {
                self.ops.push(op);
                operations.push(format!(
                    "{}: {}",
                    words.txn(txn),
                    words.op(op, self.reasons.relevant)
                ));
            }
        }
        if let Some(Reason::Read { read, .. } | Reason::List { read }) = edge.because
            && words.has_op(read)
        {
            self.ops.push(read);
            let owner = words.owner(read, self.reasons.near);
            let owner = owner.map_or("?".to_string(), |txn| words.txn(txn));
            operations.push(format!(
                "{owner}: {}",
                words.op(read, self.reasons.relevant)
            ));
        }
        self.arrows.push(Arrow {
            from,
            to,
            kind,
            key,
            certainty: self.reasons.certainty(edge),
            role,
            reason: self.reasons.sentence(edge),
            operations,
        });
    }

    fn finish(mut self, anomaly: &Anomaly) -> Picture {
        self.ops.sort_unstable();
        self.ops.dedup();
        let boxes: Vec<TxnBox> = self
            .txns
            .iter()
            .map(|&txn| self.txn_box(anomaly, txn))
            .collect();
        let certain = |arrow: &Arrow| arrow.certainty == Certainty::Seen;
        debug_assert!(
            self.arrows
                .iter()
                .all(|arrow| certain(arrow) || !arrow.reason.is_empty())
        );
        Picture {
            title: format!("{}: {}", anomaly.kind, anomaly.kind.row().meaning),
            boxes,
            arrows: self.arrows,
            left_out: self.left_out.len(),
        }
    }

    fn txn_box(&self, anomaly: &Anomaly, txn: TxnId) -> TxnBox {
        let words = self.reasons.words;
        if txn == TxnId::INITIAL {
            return TxnBox {
                name: words.txn(txn),
                note: "the state before all".to_string(),
                ..TxnBox::default()
            };
        }
        let history = words.history;
        let status = history.status(txn);
        let range = history.op_range(txn);
        let keys: Vec<_> = anomaly.edges.iter().filter_map(|edge| edge.key).collect();
        let matters = |op: OpId| {
            self.ops.binary_search(&op).is_ok()
                || (anomaly.kind == AnomalyKind::LostUpdate && keys.contains(&history.op(op).key))
        };
        let is_shown = |op: &OpId| range.len() <= SHOWN_WHOLE_MAX || matters(*op);
        let shown = range
            .clone()
            .map(|index| OpId(index as u32))
            .filter(is_shown);
        let lines: Vec<Line> = shown
            .take(LINES_MAX)
            .map(|op| Line {
                op: Some(op),
                text: words.op(op, self.reasons.relevant),
                matters: matters(op),
            })
            .collect();
        let mut note = format!("session {}", words.session(txn));
        if status != Status::Committed {
            note = format!("{note}, {}", status_word(status));
        }
        TxnBox {
            txn: Some(txn),
            name: words.txn(txn),
            note,
            is_doubtful: status != Status::Committed,
            more: range.len() - lines.len(),
            lines,
        }
    }
}
