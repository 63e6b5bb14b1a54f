//! The name of a cycle.

use crate::cycles::kinds::{self, Class, Scope};
use history::{AnomalyKind, Edge, EdgeKind, History, OpId, TxnId};

/// The kind of anomaly that a cycle is; `by_cases` if no single cycle closes for sure.
pub fn kind(history: &History, edges: &[Edge], by_cases: bool) -> AnomalyKind {
    if by_cases {
        return AnomalyKind::NoVersionOrder;
    }
    let is_rw = |edge: &Edge| edge.kind == EdgeKind::Rw;
    let has = |kind: EdgeKind| edges.iter().any(|edge| edge.kind == kind);
    let scope = match (has(EdgeKind::Rt), has(EdgeKind::So)) {
        (true, _) => Scope::RealTime,
        (false, true) => Scope::Sessions,
        (false, false) => Scope::Data,
    };
    let rw_count = edges.iter().filter(|edge| is_rw(edge)).count();
    if rw_count == 0 {
        let is_flow = scope == Scope::Data || has(EdgeKind::Wr);
        let class = if is_flow {
            Class::Flow
        } else {
            Class::Versions
        };
        return kinds::name(class, scope);
    }
    if is_lost_update(history, edges) {
        return AnomalyKind::LostUpdate;
    }
    if edges.len() == 2 && rw_count == 2 {
        return AnomalyKind::WriteSkew;
    }
    if is_long_fork(edges) {
        return AnomalyKind::LongFork;
    }
    let next = |at: usize| &edges[(at + 1) % edges.len()];
    let adjacent = (0..edges.len()).any(|at| is_rw(&edges[at]) && is_rw(next(at)));
    let class = match rw_count {
        1 => Class::Single,
        _ if adjacent => Class::Adjacent,
        _ => Class::Nonadjacent,
    };
    kinds::name(class, scope)
}

/// Two transactions that read the same version of a key and both overwrote it.
fn is_lost_update(history: &History, edges: &[Edge]) -> bool {
    let [first, second] = edges else {
        return false;
    };
    if first.key.is_none() || first.key != second.key {
        return false;
    }
    let read = |txn: TxnId| -> Option<OpId> {
        let mut ops = history.txn_ops(txn);
        ops.find(|(_, op)| Some(op.key) == first.key)
            .filter(|(_, op)| !op.kind.is_write())
            .map(|(id, _)| id)
    };
    let writes = |txn: TxnId| {
        let mut ops = history.txn_ops(txn);
        ops.any(|(_, op)| Some(op.key) == first.key && op.kind.is_write())
    };
    let (a, b) = (first.from, second.from);
    match (read(a), read(b)) {
        (Some(one), Some(other)) => {
            let value = |op: OpId| history.op(op).value;
            let is_list = history.op(one).kind.reads_list();
            !is_list && value(one) == value(other) && writes(a) && writes(b)
        }
        _ => false,
    }
}

/// Two readers that saw two writes in opposite orders: wr, rw, wr, rw.
pub fn is_long_fork(edges: &[Edge]) -> bool {
    use EdgeKind::{Rw, Wr};
    let kinds: Vec<EdgeKind> = edges.iter().map(|edge| edge.kind).collect();
    kinds == [Wr, Rw, Wr, Rw] || kinds == [Rw, Wr, Rw, Wr]
}
