//! The graph of a small list history, and all its simple cycles, by the definition.

use history::{Edge, EdgeKind, History, Interval, KeyId, Level, OpKind, Status, TxnId, ValueCode};
use std::collections::{BTreeMap, BTreeSet};

/// A class (0 G0, 1 G1c, 2 G-single, 3 G-nonadjacent, 4 G2-item) and a scope (0 data, 1 sessions,
/// 2 real time).
pub type Shape = (usize, usize);

/// All edges between transactions.
pub struct Known {
    txns: usize,
    edges: Vec<Vec<BTreeSet<EdgeKind>>>,
}

/// The external part of a list read.
fn external(history: &History, txn: TxnId, read: usize) -> Vec<ValueCode> {
    let ops = history.ops();
    let own = history.op_range(txn).filter(|&op| {
        op < read && ops.keys[op] == ops.keys[read] && ops.kinds[op] == OpKind::Append
    });
    let list = history.list(ops.values[read]);
    list[..list.len() - own.count().min(list.len())].to_vec()
}

impl Known {
    /// None where lists do not agree, show what nobody appended for certain, or show appends of one
    /// transaction in another order than it made them in.
    pub fn new(history: &History) -> Option<Known> {
        let mut appended: BTreeMap<(KeyId, ValueCode), TxnId> = BTreeMap::new();
        for txn in history.txn_ids() {
            for (_, op) in history.txn_ops(txn).filter(|(_, op)| op.kind.is_write()) {
                if appended.insert((op.key, op.value), txn).is_some() {
                    return None;
                }
            }
        }
        let taken = taken(history, &appended);
        let mut longest: BTreeMap<KeyId, Vec<ValueCode>> = BTreeMap::new();
        let mut reads: Vec<(TxnId, usize, KeyId)> = Vec::new();
        for &txn in &taken {
            for (id, op) in history
                .txn_ops(txn)
                .filter(|(_, op)| op.kind == OpKind::ReadList)
            {
                let list = history.list(op.value).to_vec();
                reads.push((txn, id.index(), op.key));
                let best = longest.entry(op.key).or_default();
                let common = best.iter().zip(&list).take_while(|(a, b)| a == b).count();
                if common < best.len().min(list.len()) {
                    return None;
                }
                if list.len() > best.len() {
                    *best = list;
                }
            }
        }
        let mut known = Known {
            txns: history.txn_count(),
            edges: vec![vec![BTreeSet::new(); history.txn_count()]; history.txn_count()],
        };
        let keys: BTreeSet<KeyId> = appended.keys().map(|&(key, _)| key).collect();
        for key in keys {
            let list = longest.get(&key).cloned().unwrap_or_default();
            let is_certain = |e: &ValueCode| {
                appended
                    .get(&(key, *e))
                    .is_some_and(|txn| taken.contains(txn))
            };
            if !list.iter().all(is_certain) {
                return None;
            }
            let writer = |element: &ValueCode| appended[&(key, *element)];
            for &txn in &taken {
                let ops = history.txn_ops(txn).map(|(_, op)| op);
                let made = ops.filter(|op| op.key == key && op.kind.is_write());
                let mut made = made.map(|op| op.value);
                let mut shown = list.iter().filter(|element| writer(element) == txn);
                if !shown.all(|&element| made.next() == Some(element)) {
                    return None;
                }
            }
            let unseen = appended.iter().filter(|((other, element), txn)| {
                *other == key && taken.contains(txn) && !list.contains(element)
            });
            let unseen: Vec<TxnId> = unseen.map(|(_, &txn)| txn).collect();
            for pair in list.windows(2) {
                known.add(writer(&pair[0]), writer(&pair[1]), EdgeKind::Ww);
            }
            for &txn in &unseen {
                if let Some(last) = list.last() {
                    known.add(writer(last), txn, EdgeKind::Ww);
                }
            }
            for &(reader, op, _) in reads.iter().filter(|read| read.2 == key) {
                let seen = external(history, reader, op);
                if let Some(last) = seen.last() {
                    known.add(writer(last), reader, EdgeKind::Wr);
                }
                match list.get(seen.len()) {
                    Some(next) => known.add(reader, writer(next), EdgeKind::Rw),
                    None => {
                        for &txn in &unseen {
                            known.add(reader, txn, EdgeKind::Rw);
                        }
                    }
                }
            }
        }
        for &first in &taken {
            for &second in taken.iter().filter(|&&txn| txn != first) {
                let session = |txn| history.session_of(txn);
                if session(first) == session(second) && first < second {
                    known.add(first, second, EdgeKind::So);
                }
                if is_before(history, first, second) {
                    known.add(first, second, EdgeKind::Rt);
                }
            }
        }
        Some(known)
    }

    fn add(&mut self, from: TxnId, to: TxnId, kind: EdgeKind) {
        if from != to {
            self.edges[from.index()][to.index()].insert(kind);
        }
    }

    pub fn has(&self, edge: &Edge) -> bool {
        self.edges[edge.from.index()][edge.to.index()].contains(&edge.kind)
    }

    /// What a check of the level has to report: by shape, the components that have such a cycle and
    /// none of the same class with a smaller scope; and the shortest length.
    pub fn expected(&self, level: Level) -> BTreeMap<Shape, (u64, usize)> {
        let cycles = self.cycles(level);
        let mut expected: BTreeMap<Shape, (u64, usize)> = BTreeMap::new();
        for class in 0..5 {
            for scope in 0..3 {
                let component = self.components(class, scope);
                let of_class = || cycles.iter().filter(|cycle| cycle.0.0 == class);
                let lesser: BTreeSet<usize> = of_class()
                    .filter(|cycle| cycle.0.1 < scope)
                    .map(|cycle| component[cycle.1])
                    .collect();
                let mut shortest: BTreeMap<usize, usize> = BTreeMap::new();
                for &(_, txn, length) in of_class().filter(|cycle| cycle.0.1 == scope) {
                    if !lesser.contains(&component[txn]) {
                        let best = shortest.entry(component[txn]).or_insert(length);
                        *best = length.min(*best);
                    }
                }
                if let Some(&length) = shortest.values().min() {
                    expected.insert((class, scope), (shortest.len() as u64, length));
                }
            }
        }
        expected
    }

    /// By transaction, the smallest one that it reaches and that reaches it.
    fn components(&self, class: usize, scope: usize) -> Vec<usize> {
        use EdgeKind::*;
        let kinds = [
            &[Ww][..],
            &[Ww, Wr],
            &[Ww, Wr, Rw],
            &[Ww, Wr, Rw],
            &[Ww, Wr, Rw],
        ][class];
        let orders = [&[][..], &[So], &[So, Rt]][scope];
        let count = self.txns;
        let mut reaches = vec![vec![false; count]; count];
        for (from, row) in self.edges.iter().enumerate() {
            for (to, found) in row.iter().enumerate() {
                let is_edge = |kind: &EdgeKind| kinds.contains(kind) || orders.contains(kind);
                reaches[from][to] = from == to || found.iter().any(is_edge);
            }
        }
        for via in 0..count {
            for from in 0..count {
                for to in 0..count {
                    reaches[from][to] |= reaches[from][via] && reaches[via][to];
                }
            }
        }
        let first =
            |txn: usize| (0..count).find(|&other| reaches[txn][other] && reaches[other][txn]);
        (0..count).map(|txn| first(txn).unwrap()).collect()
    }

    /// Every simple cycle that the level forbids: its shape, a transaction of it, its length.
    fn cycles(&self, level: Level) -> BTreeSet<(Shape, usize, usize)> {
        let mut found = BTreeSet::new();
        for start in 0..self.txns {
            self.extend(level, start, &mut vec![start], &mut Vec::new(), &mut found);
        }
        found
    }

    fn extend(
        &self,
        level: Level,
        start: usize,
        path: &mut Vec<usize>,
        kinds: &mut Vec<EdgeKind>,
        found: &mut BTreeSet<(Shape, usize, usize)>,
    ) {
        let last = *path.last().unwrap();
        for to in start..self.txns {
            for &kind in &self.edges[last][to] {
                kinds.push(kind);
                if to == start && is_forbidden(level, kinds) {
                    found.insert((shape(kinds), start, kinds.len()));
                } else if !path.contains(&to) {
                    path.push(to);
                    self.extend(level, start, path, kinds, found);
                    path.pop();
                }
                kinds.pop();
            }
        }
    }
}

/// Transactions that count: committed ones, and those whose elements they saw.
fn taken(history: &History, appended: &BTreeMap<(KeyId, ValueCode), TxnId>) -> BTreeSet<TxnId> {
    let committed = |txn: &TxnId| history.status(*txn) == Status::Committed;
    let mut open: Vec<TxnId> = history.txn_ids().filter(committed).collect();
    let mut taken = BTreeSet::new();
    while let Some(txn) = open.pop() {
        if history.status(txn) == Status::Aborted || !taken.insert(txn) {
            continue;
        }
        for (_, op) in history
            .txn_ops(txn)
            .filter(|(_, op)| op.kind == OpKind::ReadList)
        {
            let elements = history.list(op.value).iter();
            open.extend(elements.filter_map(|&element| appended.get(&(op.key, element))));
        }
    }
    taken
}

fn is_before(history: &History, first: TxnId, second: TxnId) -> bool {
    let (Some(one), Some(other)) = (history.interval(first), history.interval(second)) else {
        return false;
    };
    let has_ended = history.status(first) == Status::Committed && one.end != Interval::NEVER;
    has_ended && one.completion() < other.start
}

/// The class and scope of a cycle.
pub fn cycle_shape(edges: &[Edge]) -> Shape {
    let kinds: Vec<EdgeKind> = edges.iter().map(|edge| edge.kind).collect();
    shape(&kinds)
}

fn shape(kinds: &[EdgeKind]) -> Shape {
    let count = |wanted: EdgeKind| kinds.iter().filter(|&&kind| kind == wanted).count();
    let adjacent = has_pair(kinds, &[EdgeKind::Rw]);
    let class = match (count(EdgeKind::Rw), count(EdgeKind::Wr)) {
        (0, 0) => 0,
        (0, _) => 1,
        (1, _) => 2,
        _ if !adjacent => 3,
        _ => 4,
    };
    let scope = match (count(EdgeKind::Rt), count(EdgeKind::So)) {
        (0, 0) => 0,
        (0, _) => 1,
        _ => 2,
    };
    (class, scope)
}

fn has_pair(kinds: &[EdgeKind], first: &[EdgeKind]) -> bool {
    let next = kinds.iter().cycle().skip(1);
    let mut pairs = kinds.iter().zip(next);
    pairs.any(|(one, other)| first.contains(one) && *other == EdgeKind::Rw)
}

/// Whether the level forbids a cycle of these edges.
fn is_forbidden(level: Level, kinds: &[EdgeKind]) -> bool {
    use EdgeKind::{Rt, Rw, So, Ww};
    let with_sessions =
        level.implies(Level::Prefix) || level.implies(Level::ParallelSnapshotIsolation);
    let with_time = level.implies(Level::StrongSnapshotIsolation);
    let counts = |kind: &EdgeKind| match kind {
        So => with_sessions,
        Rt => with_time,
        _ => true,
    };
    let rw_count = kinds.iter().filter(|&&kind| kind == Rw).count();
    kinds.len() > 1
        && kinds.iter().all(counts)
        && match level {
            _ if level.implies(Level::Serializable) => true,
            _ if level.implies(Level::SnapshotIsolation) => rw_count < 2 || !has_pair(kinds, &[Rw]),
            Level::Prefix => !has_pair(kinds, &[Ww, Rw]),
            _ => rw_count <= 1,
        }
}
