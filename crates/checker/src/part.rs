//! A part of a history as a history of its own, with a table back to the whole.
//!
//! Definition: a part keeps some transactions and some of their operations, such that every read
//! means what it meant in the whole. So a transaction keeps all its writes to a key or none, and a
//! read stays only if all writes of the value it returned stay, whoever wrote it: it can then
//! neither lose its writer, nor gain certainty about it, nor turn into a read of the initial
//! version. The elements of a set are independent of each other, so a set read loses an element
//! instead, and all adds of it go; a counter read needs all increments of its key. Sessions,
//! numbers, outcomes, times and recorded versions stay as they are.
//!
//! An order that proves a level for the whole proves it for each part, once what is not in the
//! part is left out. So a part that violates a level shows that the whole does, and what is
//! evidence in the part is evidence in the whole.
//!
//! Cost: linear in the whole; see [`Part::take`].

use history::{
    Anomaly, Builder, Edge, History, KeyId, Op, OpId, OpKind, Reason, TxnId, Value, ValueCode,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Transactions in ascending order, each with the operations to keep in program order.
pub type Selection = Vec<(TxnId, Vec<OpId>)>;

/// A part of a history, and where everything in it comes from.
#[derive(Clone, Debug)]
pub struct Part {
    /// The part as a history of its own.
    pub history: History,
    txns: Vec<TxnId>,
    ops: Vec<OpId>,
    keys: Vec<KeyId>,
}

impl Part {
    /// What is left of a selection once reads that would change their meaning are dropped. None if
    /// the columns of a history cannot hold it, which those of the whole could.
    pub(crate) fn take(whole: &History, selection: &Selection) -> Option<Part> {
        Part::without(whole, selection, &lost_versions(whole, selection))
    }

    /// The same for a selection that has the writers of all versions it reads, and no read that has several; the whole
    /// is not looked at.
    pub(crate) fn take_closed(whole: &History, selection: &Selection) -> Option<Part> {
        Part::without(whole, selection, &FxHashSet::default())
    }

    /// A selection without the reads of lost versions.
    fn without(
        whole: &History,
        selection: &Selection,
        lost: &FxHashSet<(KeyId, ValueCode)>,
    ) -> Option<Part> {
        let mut builder = Builder::new();
        let (mut txns, mut ops, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        let mut key_ids: FxHashMap<KeyId, KeyId> = FxHashMap::default();
        for (txn, selected) in selection {
            let row = whole.txn(*txn);
            let session = builder.session(whole.session_label(row.session));
            let ops_start = builder.ops.len();
            for &id in selected {
                let op = whole.op(id);
                let has_lost = versions(whole, op).any(|version| lost.contains(&version));
                let is_of_set = matches!(op.kind, OpKind::Add | OpKind::ReadSet);
                if has_lost && (op.kind == OpKind::Add || !op.kind.is_write() && !is_of_set) {
                    continue;
                }
                let key = *key_ids.entry(op.key).or_insert_with(|| {
                    // Names are numbered as they come, so the place here is the new id.
                    keys.push(op.key);
                    builder.keys.intern(&whole.key_name(op.key))
                });
                let value = if has_lost && op.kind == OpKind::ReadSet {
                    let kept = versions(whole, op).filter(|version| !lost.contains(version));
                    let kept: Vec<Value> = kept.map(|(_, value)| whole.value(value)).collect();
                    let kept: Vec<ValueCode> = kept.iter().map(|v| builder.value(v)).collect();
                    builder.lists.push(&kept)
                } else {
                    copied_value(whole, &mut builder, op)
                };
                builder.ops.push(Op { key, value, ..op });
                if let Some(version) = whole.recorded_version(id) {
                    builder.record_version(version);
                }
                ops.push(id);
            }
            let interval = whole.interval(*txn);
            let ended = builder.end_txn(session, row.label, row.status, interval, ops_start);
            ended.ok()?;
            txns.push(*txn);
        }
        Some(Part {
            history: builder.finish(),
            txns,
            ops,
            keys,
        })
    }

    /// A history that says the same as the whole in other operations, with the transactions,
    /// operations and keys of the whole that its own stand for.
    pub(crate) fn of_tables(
        history: History,
        txns: Vec<TxnId>,
        ops: Vec<OpId>,
        keys: Vec<KeyId>,
    ) -> Part {
        Part {
            history,
            txns,
            ops,
            keys,
        }
    }

    /// A part of this part, as one of the whole.
    pub(crate) fn narrow(&self, selection: &Selection) -> Option<Part> {
        let part = Part::take(&self.history, selection)?;
        Some(Part {
            txns: part.txns.iter().map(|&txn| self.whole_txn(txn)).collect(),
            ops: part.ops.iter().map(|&op| self.whole_op(op)).collect(),
            keys: part
                .keys
                .iter()
                .map(|&key| self.keys[key.index()])
                .collect(),
            history: part.history,
        })
    }

    /// What of the whole is in the part.
    pub(crate) fn selection(&self) -> Selection {
        let ops = |txn: TxnId| self.history.op_range(txn).map(|op| self.ops[op]).collect();
        let txns = self.history.txn_ids();
        txns.map(|txn| (self.whole_txn(txn), ops(txn))).collect()
    }

    /// The transaction of the whole history that a transaction of the part is.
    pub fn whole_txn(&self, txn: TxnId) -> TxnId {
        if txn == TxnId::INITIAL {
            return txn;
        }
        self.txns[txn.index()]
    }

    /// The operation of the whole history that an operation of the part is.
    pub fn whole_op(&self, op: OpId) -> OpId {
        self.ops[op.index()]
    }

    /// An anomaly of the part as one of the whole history.
    pub fn whole_anomaly(&self, anomaly: &Anomaly) -> Anomaly {
        let cycle = |edges: &Vec<Edge>| edges.iter().map(|edge| self.whole_edge(edge)).collect();
        Anomaly {
            kind: anomaly.kind,
            count: anomaly.count,
            transactions: anomaly
                .transactions
                .iter()
                .map(|&txn| self.whole_txn(txn))
                .collect(),
            ops: anomaly.ops.iter().map(|&op| self.whole_op(op)).collect(),
            edges: cycle(&anomaly.edges),
            otherwise: anomaly.otherwise.iter().map(cycle).collect(),
            assuming: anomaly
                .assuming
                .iter()
                .map(|&(op, txn)| (self.whole_op(op), self.whole_txn(txn)))
                .collect(),
            explanation: anomaly.explanation.clone(),
        }
    }

    fn whole_edge(&self, edge: &Edge) -> Edge {
        let because = edge.because.as_ref().map(|reason| match reason {
            // The edges of a path have no reason of their own, so this goes no deeper.
            Reason::Read { read, path } => Reason::Read {
                read: self.whole_op(*read),
                path: path.iter().map(|step| self.whole_edge(step)).collect(),
            },
            Reason::List { read } => Reason::List {
                read: self.whole_op(*read),
            },
            Reason::Assumed { before, after } => Reason::Assumed {
                before: self.whole_op(*before),
                after: self.whole_op(*after),
            },
            Reason::Version { writer } => Reason::Version {
                writer: self.whole_txn(*writer),
            },
        });
        Edge {
            from: self.whole_txn(edge.from),
            to: self.whole_txn(edge.to),
            kind: edge.kind,
            key: edge.key.map(|key| self.keys[key.index()]),
            from_op: edge.from_op.map(|op| self.whole_op(op)),
            to_op: edge.to_op.map(|op| self.whole_op(op)),
            because,
        }
    }
}

/// The versions that a read shows, or the one that a write makes; those of a counter are not told
/// apart.
pub fn versions(history: &History, op: Op) -> impl Iterator<Item = (KeyId, ValueCode)> + '_ {
    let (one, many) = if op.kind.reads_list() {
        (None, history.list(op.value))
    } else if matches!(op.kind, OpKind::Increment | OpKind::ReadCounter) {
        (Some(ValueCode::NIL), &[][..])
    } else {
        (Some(op.value), &[][..])
    };
    one.into_iter()
        .chain(many.iter().copied())
        .map(move |value| (op.key, value))
}

/// Of the versions that the selection reads, those with a write that is not in the selection.
fn lost_versions(whole: &History, selection: &Selection) -> FxHashSet<(KeyId, ValueCode)> {
    let mut read: FxHashSet<(KeyId, ValueCode)> = FxHashSet::default();
    for &id in selection.iter().flat_map(|(_, ops)| ops) {
        let op = whole.op(id);
        if !op.kind.is_write() {
            read.extend(versions(whole, op));
        }
    }
    let mut lost = FxHashSet::default();
    if read.is_empty() {
        return lost;
    }
    let mut selected = selection.iter().peekable();
    for txn in whole.txn_ids() {
        let kept = selected.next_if(|(other, _)| *other == txn);
        let kept: &[OpId] = kept.map_or(&[], |(_, ops)| ops);
        for (id, op) in whole.txn_ops(txn) {
            if op.kind.is_write() && kept.binary_search(&id).is_err() {
                lost.extend(versions(whole, op).filter(|version| read.contains(version)));
            }
        }
    }
    lost
}

/// The value of an operation in the tables of another history.
pub fn copied_value(whole: &History, builder: &mut Builder, op: Op) -> ValueCode {
    if op.value == ValueCode::NIL || op.value == ValueCode::UNKNOWN {
        return op.value;
    }
    if !op.kind.reads_list() {
        return builder.value(&whole.value(op.value));
    }
    let values: Vec<Value> = whole
        .list(op.value)
        .iter()
        .map(|&v| whole.value(v))
        .collect();
    let codes: Vec<ValueCode> = values.iter().map(|value| builder.value(value)).collect();
    builder.lists.push(&codes)
}
