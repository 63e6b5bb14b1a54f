//! A cycle whose every edge is certain, in the form of the Elle paper: the transactions with what they
//! did that matters, then why each comes before the next, and the contradiction. Of long lists only the
//! part that matters is shown.

use super::Words;
use history::{Anomaly, AnomalyKind, Edge, EdgeKind, OpId, OpKind, Reason, TxnId};

/// So many steps of a cycle are told.
const STEPS_MAX: usize = 8;

/// Whether nothing about the cycle is assumed. Of registers, cycles with a story of their own (a write
/// skew, a long fork) and those up to causal are told elsewhere.
pub fn is_certain(words: &Words<'_>, anomaly: &Anomaly) -> bool {
    let history = words.observed.history;
    let is_list = |op: OpId| matches!(history.op(op).kind, OpKind::Append | OpKind::ReadList);
    let is_certain = |edge: &Edge| match (edge.kind, &edge.because) {
        (EdgeKind::Ww, Some(Reason::List { .. })) => true,
        (EdgeKind::Rw, None) => edge
            .from_op
            .is_some_and(|read| is_list(read) || words.reads_initial(read)),
        (EdgeKind::So | EdgeKind::Rt | EdgeKind::Wr, None) => true,
        _ => false,
    };
    let ops = anomaly.edges.iter().flat_map(|edge| edge.from_op);
    anomaly.otherwise.is_empty()
        && anomaly.assuming.is_empty()
        && anomaly.edges.len() > 1
        && anomaly.edges.iter().all(is_certain)
        && (ops.into_iter().any(is_list) || is_plain(anomaly.kind))
}

/// Whether a kind says nothing but what edges a cycle above causal has.
fn is_plain(kind: AnomalyKind) -> bool {
    use AnomalyKind::{
        CircularFlowRealtime, DirtyWriteRealtime, G2Item, G2ItemProcess, G2ItemRealtime,
        GNonadjacent, GNonadjacentProcess, GNonadjacentRealtime, GSingle, GSingleProcess,
        GSingleRealtime,
    };
    matches!(
        kind,
        GSingle
            | GSingleProcess
            | GSingleRealtime
            | GNonadjacent
            | GNonadjacentProcess
            | GNonadjacentRealtime
            | G2Item
            | G2ItemProcess
            | G2ItemRealtime
            | CircularFlowRealtime
            | DirtyWriteRealtime
    )
}

/// The explanation of such a cycle.
pub fn explain(words: &Words<'_>, anomaly: &Anomaly) -> String {
    let edges = &anomaly.edges;
    let shown = edges.len().min(STEPS_MAX);
    let txns: Vec<String> = edges[..shown]
        .iter()
        .map(|edge| {
            format!(
                "{} = {}",
                words.txn(edge.from),
                relevant(words, anomaly, edge.from)
            )
        })
        .collect();
    let (last, others) = edges.split_last().expect("a cycle has edges");
    let mut steps: Vec<String> = others[..shown - 1]
        .iter()
        .map(|edge| step(words, edge))
        .collect();
    if let Some(more @ 1..) = others.len().checked_sub(shown - 1) {
        steps.push(format!("and {more} more steps to {}", words.txn(last.from)));
    }
    format!(
        "Let {}. Then: {}. However, {}: a contradiction!",
        txns.join(", "),
        steps.join("; "),
        step(words, last)
    )
}

/// The operations of a transaction that edges of the cycle rest on; of an update that was lost, all
/// that it did to the key.
fn relevant(words: &Words<'_>, anomaly: &Anomaly, txn: TxnId) -> String {
    let history = words.observed.history;
    let mut ops: Vec<OpId> = Vec::new();
    for edge in &anomaly.edges {
        ops.extend(edge.from_op.filter(|_| edge.from == txn));
        ops.extend(edge.to_op.filter(|_| edge.to == txn));
    }
    if anomaly.kind == AnomalyKind::LostUpdate {
        let key = anomaly.edges[0].key;
        let of_key = history.txn_ops(txn).filter(|(_, op)| Some(op.key) == key);
        ops.extend(of_key.map(|(id, _)| id));
    }
    ops.sort_unstable();
    ops.dedup();
    let mut texts: Vec<String> = ops.iter().map(|&op| words.op(op)).collect();
    if ops.len() < history.op_range(txn).len() {
        texts.push("…".to_string());
    }
    format!("[{}]", texts.join(" "))
}

/// Why one transaction comes before another.
fn step(words: &Words<'_>, edge: &Edge) -> String {
    let (from, to) = (words.txn(edge.from), words.txn(edge.to));
    let why = match (edge.kind, edge.from_op, edge.to_op) {
        (EdgeKind::Wr, Some(write), _) => format!("{to} observed {from}'s {}", did(words, write)),
        (EdgeKind::Rw, _, Some(write)) => {
            format!("{from} did not observe {to}'s {}", did(words, write))
        }
        (EdgeKind::Ww, Some(first), Some(second)) => {
            let shown = match edge.because {
                Some(Reason::List { read }) => shown(words, read, first, second),
                _ => String::new(),
            };
            format!(
                "{from}'s {} came before {to}'s {}{shown}",
                did(words, first),
                did(words, second)
            )
        }
        (EdgeKind::Rt, ..) => words.real_time(edge),
        _ => words.step(edge),
    };
    format!("{from} < {to}, because {why}")
}

/// A write as a noun: `append of 8 to 255`.
fn did(words: &Words<'_>, write: OpId) -> String {
    let history = words.observed.history;
    let op = history.op(write);
    let noun = match op.kind {
        OpKind::Append => "append",
        _ => "write",
    };
    format!(
        "{noun} of {} to {}",
        history.value(op.value),
        history.key_name(op.key)
    )
}

/// How a list read shows the order of two appends.
fn shown(words: &Words<'_>, read: OpId, first: OpId, second: OpId) -> String {
    let history = words.observed.history;
    let pair = [history.op(first).value, history.op(second).value];
    let list = history.list(history.op(read).value);
    let verb = if list.contains(&pair[1]) {
        "shows"
    } else {
        "shows the first and not the second"
    };
    format!(
        ", as {}'s {} {verb}",
        words.owner(read),
        history.op_text_around(read, &pair)
    )
}
