//! Every piece of evidence that a small history might have, tried one after the other.

use super::{accepts, anomaly, reason};
use history::AnomalyKind::*;
use history::EdgeKind::{So, Wr, Ww};
use history::{Edge, EdgeKind, History, KeyId, Level, Op, OpId, Reason, Status, TxnId};

/// All operations with their transactions, in program order.
fn ops(history: &History) -> Vec<(TxnId, OpId, Op)> {
    let of_txn = |txn| history.txn_ops(txn).map(move |(id, op)| (txn, id, op));
    history.txn_ids().flat_map(of_txn).collect()
}

pub fn edge(from: TxnId, to: TxnId, kind: EdgeKind) -> Edge {
    Edge {
        from,
        to,
        kind,
        key: None,
        from_op: None,
        to_op: None,
        because: None,
    }
}

/// Session order, and every pair of a write and a read of its value, be it external or not.
fn dependencies(history: &History) -> Vec<Edge> {
    let mut edges = Vec::new();
    for a in history.txn_ids() {
        for b in history.txn_ids().filter(|&b| a < b) {
            if history.session_of(a) == history.session_of(b) {
                edges.push(edge(a, b, So));
            }
        }
    }
    for (from, write, w) in ops(history).into_iter().filter(|row| row.2.kind.is_write()) {
        for (to, read, r) in ops(history)
            .into_iter()
            .filter(|row| !row.2.kind.is_write())
        {
            if from != to && (w.key, w.value) == (r.key, r.value) {
                edges.push(Edge {
                    key: Some(w.key),
                    from_op: Some(write),
                    to_op: Some(read),
                    ..edge(from, to, Wr)
                });
            }
        }
    }
    edges
}

/// Every path of up to `steps` edges from one transaction to another.
fn paths(edges: &[Edge], from: TxnId, to: TxnId, steps: usize) -> Vec<Vec<Edge>> {
    let mut found = Vec::new();
    let mut open: Vec<Vec<Edge>> = vec![Vec::new()];
    for _ in 0..steps {
        let mut longer = Vec::new();
        for path in &open {
            let end = path.last().map_or(from, |edge| edge.to);
            for next in edges.iter().filter(|next| next.from == end) {
                longer.push([path.as_slice(), std::slice::from_ref(next)].concat());
            }
        }
        longer.truncate(2000);
        found.extend(
            longer
                .iter()
                .filter(|path| path[path.len() - 1].to == to)
                .cloned(),
        );
        open = longer;
    }
    found
}

fn last_write(history: &History, txn: TxnId, key: KeyId) -> Option<OpId> {
    let writes = history
        .txn_ops(txn)
        .filter(|(_, op)| op.kind.is_write() && op.key == key);
    writes.last().map(|write| write.0)
}

/// Every version order that some read might force.
fn forced_orders(history: &History, edges: &[Edge]) -> Vec<Edge> {
    let mut orders = Vec::new();
    for (t3, read, r) in ops(history)
        .into_iter()
        .filter(|row| !row.2.kind.is_write())
    {
        let writers = edges
            .iter()
            .filter(|edge| edge.to_op == Some(read))
            .map(|edge| edge.from);
        for t1 in writers.chain([TxnId::INITIAL]) {
            for t2 in history.txn_ids().filter(|&t2| t2 != t1 && t2 != t3) {
                let Some(write) = last_write(history, t2, r.key) else {
                    continue;
                };
                let to_op = (t1 != TxnId::INITIAL)
                    .then(|| last_write(history, t1, r.key))
                    .flatten();
                orders.extend(paths(edges, t2, t3, 3).into_iter().map(|path| Edge {
                    key: Some(r.key),
                    from_op: Some(write),
                    to_op,
                    because: Some(Reason::Read { read, path }),
                    ..edge(t2, t1, Ww)
                }));
            }
        }
    }
    orders
}

/// The shortest cycle through an edge.
fn cycle_through(edges: &[Edge], first: &Edge) -> Option<Vec<Edge>> {
    if first.to == TxnId::INITIAL {
        return Some(vec![first.clone()]);
    }
    let mut reached: Vec<(TxnId, Vec<Edge>)> = vec![(first.to, vec![first.clone()])];
    let mut next = 0;
    while next < reached.len() {
        let (end, path) = reached[next].clone();
        if end == first.from {
            return Some(path);
        }
        for edge in edges.iter().filter(|edge| edge.from == end) {
            if !reached.iter().any(|(txn, _)| *txn == edge.to) {
                reached.push((
                    edge.to,
                    [path.as_slice(), std::slice::from_ref(edge)].concat(),
                ));
            }
        }
        next += 1;
    }
    None
}

/// Whether the level admits an edge: a path of a shape that it speaks about.
fn is_admissible(level: Level, edge: &Edge) -> bool {
    let Some(Reason::Read { read, path }) = &edge.because else {
        return true;
    };
    let kinds: Vec<EdgeKind> = path.iter().map(|step| step.kind).collect();
    match level {
        Level::ReadCommitted | Level::CursorStability => {
            kinds == [Wr] && path[0].to_op.is_some_and(|earlier| earlier < *read)
        }
        Level::ReadYourWrites => kinds == [So],
        Level::MonotonicReads => kinds == [Wr, So],
        Level::MonotonicWrites => kinds == [So, Wr],
        Level::WritesFollowReads => kinds == [Wr, Wr] || kinds == [Wr, So, Wr],
        Level::ReadAtomic | Level::UpdateAtomic => path.len() == 1,
        _ => true,
    }
}

/// Whether some evidence is accepted, of all operations and cycles that might be evidence.
pub fn some_evidence_is_accepted(history: &History, level: Level, honest: bool) -> bool {
    let ops = ops(history);
    let ids: Vec<OpId> = ops.iter().map(|row| row.1).collect();
    for &a in &ids {
        let single = |kind, ops| accepts(history, level, anomaly(kind, ops, Vec::new()));
        if single(ThinAirRead, vec![a]) {
            return true;
        }
        for &b in ids
            .iter()
            .filter(|b| history.op(**b).key == history.op(a).key)
        {
            let kinds = [AbortedRead, FutureRead, NotMyOwnWrite, NonRepeatableRead];
            if kinds.into_iter().any(|kind| single(kind, vec![a, b])) {
                return true;
            }
            for &c in ids
                .iter()
                .filter(|c| history.op(**c).key == history.op(a).key)
            {
                let kinds = [NotMyLastWrite, IntermediateRead];
                if kinds.into_iter().any(|kind| single(kind, vec![a, b, c])) {
                    return true;
                }
                let is_update = !history.op(a).kind.is_write() && history.op(b).kind.is_write();
                let is_read = !history.op(c).kind.is_write();
                let last = |&&d: &&OpId| history.op(d).key == history.op(a).key;
                if is_update
                    && is_read
                    && ids
                        .iter()
                        .filter(last)
                        .any(|&d| single(LostUpdate, vec![a, b, c, d]))
                {
                    return true;
                }
            }
        }
    }
    let committed =
        |txn: TxnId| !honest || txn == TxnId::INITIAL || history.status(txn) == Status::Committed;
    let mut edges = dependencies(history);
    edges.retain(|edge| committed(edge.from) && committed(edge.to));
    let forced = forced_orders(history, &edges);
    let forced = forced.into_iter().filter(|edge| is_admissible(level, edge));
    // Cycles are only searched for along edges that hold by themselves; the others are refused.
    let is_true = |edge: &Edge| {
        let alone = anomaly(ConflictingOrder, Vec::new(), vec![edge.clone()]);
        let why = reason(history, level, vec![alone]);
        why == "accepted" || why.contains("the next begins at") || why.contains("no conflicting")
    };
    edges.extend(forced);
    if honest {
        edges.retain(is_true);
    }
    edges.iter().any(|first| {
        cycle_through(&edges, first).is_some_and(|cycle| {
            let pure = cycle.iter().all(|edge| edge.kind != Ww);
            let kind = if pure {
                CyclicCausality
            } else {
                ConflictingOrder
            };
            accepts(history, level, anomaly(kind, Vec::new(), cycle))
        })
    })
}
