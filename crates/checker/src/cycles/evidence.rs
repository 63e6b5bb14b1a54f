//! From edges of the graph to evidence: the operations behind each edge, and the name of the cycle.

use super::graph::{Graph, INNER, RW, WR, WW, edge_kind};
use super::kinds;
use super::kinds::{Class, Scope};
use crate::observe::{Link, Observed};
use crate::strong::classify;
use history::{AnomalyKind, Edge, EdgeKind, KeyId, OpId, OpKind, TxnId};

/// A cycle of the graph as edges between transactions. It begins with an edge that leaves one.
pub fn edges(graph: &Graph<'_>, cycle: &[u32]) -> Vec<Edge> {
    let observed = graph.observed;
    let mut edges = Vec::new();
    let mut at = 0;
    while at < cycle.len() {
        let first = graph.edges[cycle[at] as usize];
        let kind = graph.kinds[cycle[at] as usize];
        let mut to = first.to;
        at += 1;
        while at < cycle.len() && graph.kinds[cycle[at] as usize] == INNER {
            to = graph.edges[cycle[at] as usize].to;
            at += 1;
        }
        let (from, to) = (graph.txn(first.from), graph.txn(to));
        let op_key = |op: OpId| observed.history.ops().keys[op.index()];
        let read = OpId(first.why);
        let mut edge = Edge {
            from,
            to,
            kind: edge_kind(kind),
            key: None,
            from_op: None,
            to_op: None,
            because: None,
        };
        match kind {
            WW => {
                let known = &observed.known[first.why as usize];
                edge.key = Some(op_key(known.from_op));
                edge.from_op = Some(known.from_op);
                edge.to_op = Some(known.to_op);
                edge.because = Some(known.reason());
            }
            WR => {
                edge.key = Some(op_key(read));
                edge.from_op = observed.write_to(from, op_key(read));
                edge.to_op = Some(read);
            }
            RW => {
                edge.key = Some(op_key(read));
                edge.from_op = Some(read);
                edge.to_op = observed.write_to(to, op_key(read));
            }
            _ => {}
        }
        edges.push(edge);
    }
    edges
}

/// Whether every rw edge is one by itself: a list that was read does not show what overwrote it. Lists
/// that show one transaction's appends in another order than it made them in leave that open.
pub fn is_certain(observed: &Observed<'_>, edges: &[Edge]) -> bool {
    let history = observed.history;
    let is_shown = |edge: &Edge| match (edge.kind, edge.from_op, edge.to_op) {
        (EdgeKind::Rw, Some(read), Some(write)) => {
            let read = history.op(read);
            let element = history.op(write).value;
            read.kind == OpKind::ReadList && history.list(read.value).contains(&element)
        }
        _ => false,
    };
    !edges.iter().any(is_shown)
}

/// Which orders a cycle needs besides those of the data.
pub fn scope(edges: &[Edge]) -> Scope {
    let has = |kind: EdgeKind| edges.iter().any(|edge| edge.kind == kind);
    match (has(EdgeKind::Rt), has(EdgeKind::So)) {
        (true, _) => Scope::RealTime,
        (false, true) => Scope::Sessions,
        (false, false) => Scope::Data,
    }
}

/// The name of a cycle of a class and a scope: a story, where it is one.
pub fn name(observed: &Observed<'_>, class: Class, scope: Scope, edges: &[Edge]) -> AnomalyKind {
    match class {
        Class::Single if is_lost_update(observed, edges) => AnomalyKind::LostUpdate,
        Class::Nonadjacent if classify::is_long_fork(edges) => AnomalyKind::LongFork,
        Class::Adjacent if edges.len() == 2 => AnomalyKind::WriteSkew,
        _ => kinds::name(class, scope),
    }
}

/// Two transactions that read the same version of a key from outside and both wrote the key.
fn is_lost_update(observed: &Observed<'_>, edges: &[Edge]) -> bool {
    let [first, second] = edges else {
        return false;
    };
    let is_order = |edge: &Edge| matches!(edge.kind, EdgeKind::Ww | EdgeKind::Rw);
    let Some(key) = first.key.filter(|_| first.key == second.key) else {
        return false;
    };
    let version = |txn: TxnId| version_updated(observed, txn, key);
    is_order(first)
        && is_order(second)
        && version(first.from).is_some()
        && version(first.from) == version(second.from)
}

/// The version of a key that a transaction read before it wrote another one.
fn version_updated(observed: &Observed<'_>, txn: TxnId, key: KeyId) -> Option<u32> {
    observed.write_to(txn, key)?;
    let mut ops = observed.history.op_range(txn);
    let all = observed.history.ops();
    let read = ops.find(|&op| all.keys[op] == key && !all.kinds[op].is_write())?;
    let link = observed.links[read];
    (Link::is_txn(link) || link == Link::INITIAL).then_some(link)
}
