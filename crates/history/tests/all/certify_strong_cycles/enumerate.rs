//! Every cycle that a level forbids, in a small history, under whatever premises.

use history::EdgeKind::{self, Rt, Rw, So, Wr, Ww};
use history::{
    Edge, History, Initial, KeyId, Level, OpId, OpKind, Reason, Status, TxnId, ValueCode,
};

/// An external read with all who can have written what it returned.
pub struct ExternalRead {
    pub reader: TxnId,
    pub read: OpId,
    pub key: KeyId,
    pub writers: Vec<TxnId>,
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

pub fn last_write(history: &History, txn: TxnId, key: KeyId) -> Option<OpId> {
    let writes = history
        .txn_ops(txn)
        .filter(|(_, op)| op.kind.is_write() && op.key == key);
    writes.last().map(|write| write.0)
}

fn not_aborted(history: &History) -> Vec<TxnId> {
    let kept = |txn: &TxnId| history.status(*txn) != Status::Aborted;
    history.txn_ids().filter(kept).collect()
}

/// The external reads of a transaction with their versions, or nothing if some read contradicts
/// the transaction itself.
fn external_versions(history: &History, txn: TxnId) -> Option<Vec<(OpId, KeyId, ValueCode)>> {
    let mut found: Vec<(OpId, KeyId, ValueCode)> = Vec::new();
    for (id, op) in history.txn_ops(txn) {
        if op.kind.is_write() || op.value == ValueCode::UNKNOWN {
            continue;
        }
        let own: Vec<ValueCode> = history
            .txn_ops(txn)
            .filter(|(other, w)| *other < id && w.kind.is_write() && w.key == op.key)
            .map(|(_, w)| w.value)
            .collect();
        let version = if op.kind == OpKind::ReadList {
            let outside = history.list(op.value).strip_suffix(own.as_slice())?;
            outside.last().copied().unwrap_or(ValueCode::NIL)
        } else if own.is_empty() {
            op.value
        } else if own.last() == Some(&op.value) {
            continue;
        } else {
            return None;
        };
        let differs = |row: &(OpId, KeyId, ValueCode)| row.1 == op.key && row.2 != version;
        if found.iter().any(differs) {
            return None;
        }
        found.push((id, op.key, version));
    }
    Some(found)
}

fn writers(history: &History, reader: TxnId, read: OpId, version: ValueCode) -> Vec<TxnId> {
    let op = history.op(read);
    let all = history.txn_ids().flat_map(|txn| history.txn_ops(txn));
    let is_written = all
        .into_iter()
        .any(|(_, w)| w.kind.is_write() && w.key == op.key && w.value == version);
    let initial = Initial::default().code(history.values());
    let reads_initial = op.kind == OpKind::Read && Some(version) == initial && !is_written;
    if version == ValueCode::NIL || reads_initial {
        return vec![TxnId::INITIAL];
    }
    let wrote_it = |txn: &TxnId| {
        let last = last_write(history, *txn, op.key);
        *txn != reader && last.is_some_and(|write| history.op(write).value == version)
    };
    not_aborted(history).into_iter().filter(wrote_it).collect()
}

/// The external reads of everybody who did not abort and whose reads agree with each other.
pub fn external_reads(history: &History) -> Vec<ExternalRead> {
    let mut reads = Vec::new();
    for reader in not_aborted(history) {
        for (read, key, version) in external_versions(history, reader).unwrap_or_default() {
            let writers = writers(history, reader, read, version);
            reads.push(ExternalRead {
                reader,
                read,
                key,
                writers,
            });
        }
    }
    reads
}

/// Whether the reads of the transactions taken can all be explained, whatever the orders.
pub fn reads_are_possible(history: &History, taken: &[TxnId]) -> bool {
    taken.iter().all(|&txn| {
        external_versions(history, txn).is_some_and(|reads| {
            reads.into_iter().all(|(read, _, version)| {
                let writers = writers(history, txn, read, version);
                let is_taken = |writer: &TxnId| *writer == TxnId::INITIAL || taken.contains(writer);
                writers.iter().any(is_taken)
            })
        })
    })
}

fn ended_before(history: &History, a: TxnId, b: TxnId) -> bool {
    match (history.interval(a), history.interval(b)) {
        (Some(first), Some(second)) => {
            history.status(a) == Status::Committed && first.end < second.start
        }
        _ => false,
    }
}

/// Every edge between transactions that did not abort.
pub fn edges(history: &History) -> Vec<Edge> {
    let txns = not_aborted(history);
    let pairs = || txns.iter().flat_map(|&a| txns.iter().map(move |&b| (a, b)));
    let mut all = Vec::new();
    for (a, b) in pairs().filter(|(a, b)| a != b) {
        if a < b && history.session_of(a) == history.session_of(b) {
            all.push(edge(a, b, So));
        }
        if ended_before(history, a, b) {
            all.push(edge(a, b, Rt));
        }
        for key in (0..history.keys().limit() as u32).map(KeyId) {
            let writes = (last_write(history, a, key), last_write(history, b, key));
            if let (Some(first), Some(second)) = writes {
                all.push(Edge {
                    key: Some(key),
                    from_op: Some(first),
                    to_op: Some(second),
                    ..edge(a, b, Ww)
                });
            }
        }
    }
    for read in external_reads(history) {
        for &writer in &read.writers {
            let because = (read.writers.len() > 1).then_some(Reason::Version { writer });
            let (key, id) = (Some(read.key), Some(read.read));
            if writer != TxnId::INITIAL {
                all.push(Edge {
                    key,
                    from_op: last_write(history, writer, read.key),
                    to_op: id,
                    because: because.clone(),
                    ..edge(writer, read.reader, Wr)
                });
            }
            for &later in txns
                .iter()
                .filter(|&&txn| txn != writer && txn != read.reader)
            {
                if let Some(write) = last_write(history, later, read.key) {
                    all.push(Edge {
                        key,
                        from_op: id,
                        to_op: Some(write),
                        because: because.clone(),
                        ..edge(read.reader, later, Rw)
                    });
                }
            }
        }
    }
    all.extend(listed(history, &txns));
    all
}

/// The version orders that list reads show.
fn listed(history: &History, txns: &[TxnId]) -> Vec<Edge> {
    let appends = |key: KeyId| {
        let of_txn = move |txn: TxnId| history.txn_ops(txn).map(move |(id, op)| (txn, id, op));
        let all = txns.iter().copied().flat_map(of_txn);
        all.filter(move |(_, _, op)| op.kind == OpKind::Append && op.key == key)
            .collect::<Vec<_>>()
    };
    let mut found = Vec::new();
    for (read, op) in txns.iter().flat_map(|&txn| history.txn_ops(txn)) {
        if op.kind != OpKind::ReadList {
            continue;
        }
        let list = history.list(op.value);
        for &(from, first, before) in &appends(op.key) {
            for &(to, second, after) in &appends(op.key) {
                let adjacent = list.windows(2).any(|p| p == [before.value, after.value]);
                let unseen = list.last() == Some(&before.value) && !list.contains(&after.value);
                if from != to && (adjacent || unseen) {
                    found.push(Edge {
                        key: Some(op.key),
                        from_op: Some(first),
                        to_op: Some(second),
                        because: Some(Reason::List { read }),
                        ..edge(from, to, Ww)
                    });
                }
            }
        }
    }
    found
}

fn admits(level: Level, kind: EdgeKind) -> bool {
    use Level::*;
    match kind {
        So => !matches!(
            level,
            NonMonotonicSnapshotIsolation | SnapshotIsolation | Serializable
        ),
        Rt => matches!(level, StrongSnapshotIsolation | StrictSerializable),
        Wr | Ww | Rw => true,
    }
}

/// As the levels' definitions say it, edge by edge.
pub fn is_forbidden(level: Level, cycle: &[Edge]) -> bool {
    use Level::*;
    let kinds: Vec<EdgeKind> = cycle.iter().map(|edge| edge.kind).collect();
    let after = |index: usize| kinds[(index + 1) % kinds.len()];
    let follows =
        |first: EdgeKind| (0..kinds.len()).any(|index| kinds[index] == first && after(index) == Rw);
    if !kinds.iter().all(|&kind| admits(level, kind)) {
        return false;
    }
    match level {
        Serializable | StrongSessionSerializable | StrictSerializable => true,
        SnapshotIsolation | StrongSessionSnapshotIsolation | StrongSnapshotIsolation => {
            !follows(Rw)
        }
        Prefix => !follows(Rw) && !follows(Ww),
        _ => kinds.iter().filter(|&&kind| kind == Rw).count() <= 1,
    }
}

/// Whether a cycle assumes different writers for one read.
fn contradicts_itself(cycle: &[Edge]) -> bool {
    let assumed: Vec<(Option<OpId>, &Reason)> = cycle
        .iter()
        .filter_map(|edge| {
            let read = if edge.kind == Rw {
                edge.from_op
            } else {
                edge.to_op
            };
            let reason = edge.because.as_ref()?;
            matches!(reason, Reason::Version { .. }).then_some((read, reason))
        })
        .collect();
    let differ = |a: &(Option<OpId>, &Reason)| assumed.iter().any(|b| a.0 == b.0 && a.1 != b.1);
    assumed.iter().any(differ)
}

/// Every cycle without a repeated transaction, up to a limit.
pub fn cycles(edges: &[Edge], limit: usize) -> Option<Vec<Vec<Edge>>> {
    let mut found = Vec::new();
    let mut open: Vec<Vec<&Edge>> = edges.iter().map(|edge| vec![edge]).collect();
    while let Some(path) = open.pop() {
        let (start, end) = (path[0].from, path[path.len() - 1].to);
        for next in edges.iter().filter(|next| next.from == end) {
            let mut longer = path.clone();
            longer.push(next);
            if next.to == start {
                let cycle: Vec<Edge> = longer.into_iter().cloned().collect();
                if !contradicts_itself(&cycle) {
                    found.push(cycle);
                }
            } else if next.to > start && path.iter().all(|edge| edge.from != next.to) {
                open.push(longer);
            }
        }
        if found.len() > limit {
            return None;
        }
    }
    // Those that begin at their first transaction stand for all rotations.
    found.retain(|cycle| cycle.iter().all(|edge| cycle[0].from <= edge.from));
    Some(found)
}
