//! What the history says about the values that evidence mentions: who wrote them, and which
//! indeterminate transactions must have committed. Gathered in a few passes over the history.

use super::last_writers::LastWriters;
use super::newest::IdMap;
use super::read::{Seen, last_write, op_of, seen};
use super::{Refusal, name, require};
use crate::{
    Anomaly, Edge, History, Initial, KeyId, KeyOrder, Level, Op, OpId, OpKind, Reason, Status,
    TxnId, ValueCode,
};
use std::collections::{HashMap, HashSet};

type Version = (KeyId, ValueCode);

pub(super) struct Facts<'a> {
    pub(super) history: &'a History,
    /// What is assumed of each key.
    pub(super) keys: KeyOrder,
    initial: Option<ValueCode>,
    /// Every write, by whomever, of a version that the evidence mentions.
    writes: IdMap<Version, Vec<(TxnId, OpId)>>,
    /// Indeterminate transactions without which some committed one read something impossible.
    forced: HashSet<TxnId>,
}

impl Facts<'_> {
    pub(super) fn gather<'a>(
        history: &'a History,
        initial: &Initial,
        keys: KeyOrder,
        level: Level,
        anomalies: &[Anomaly],
    ) -> Facts<'a> {
        let mut writes: IdMap<Version, Vec<(TxnId, OpId)>> = IdMap::default();
        // Cycles above causal, and anomalies that assume a writer, may rest on whether an indeterminate
        // transaction committed, and that on anything it read or wrote.
        let may_be_open = !Level::WEAK.contains(&level)
            || anomalies.iter().any(|anomaly| !anomaly.assuming.is_empty());
        let is_open = |txn: &TxnId| may_be_open && history.status(*txn) == Status::Indeterminate;
        let open = history.txn_ids().filter(is_open);
        let ops_of_open = open.flat_map(|txn| history.txn_ops(txn).map(|(id, _)| id));
        for id in anomalies.iter().flat_map(ops_of_anomaly).chain(ops_of_open) {
            if id.index() >= history.op_count() {
                continue;
            }
            let op = history.op(id);
            let values = [op.value];
            let versions = if op.kind == OpKind::ReadList {
                history.list(op.value)
            } else {
                &values[..]
            };
            for &value in versions {
                writes.entry((op.key, value)).or_default();
            }
        }
        let mut is_wanted = vec![false; history.keys().limit()];
        for (key, _) in writes.keys() {
            is_wanted[key.index()] = true;
        }
        for txn in history.txn_ids() {
            for (id, op) in history.txn_ops(txn) {
                if op.kind.is_write()
                    && is_wanted[op.key.index()]
                    && let Some(found) = writes.get_mut(&(op.key, op.value))
                {
                    found.push((txn, id));
                }
            }
        }
        Facts {
            history,
            keys,
            initial: initial.code(history.values()),
            writes,
            forced: forced_transactions(history),
        }
    }

    /// Every write of a version.
    pub(super) fn writes(&self, key: KeyId, version: ValueCode) -> &[(TxnId, OpId)] {
        self.writes.get(&(key, version)).map_or(&[], Vec::as_slice)
    }

    /// Whether a list shows whose element this is: one append of it did not abort. Those that did
    /// do not count, since clients try again with the same element.
    pub(super) fn has_one_append(&self, key: KeyId, element: ValueCode) -> bool {
        self.one_append(key, element).is_some()
    }

    /// The transaction whose element this is, if a list shows that.
    pub(super) fn one_append(&self, key: KeyId, element: ValueCode) -> Option<TxnId> {
        let writes = self.writes(key, element).iter();
        let mut alive = writes.filter(|write| self.history.status(write.0) != Status::Aborted);
        let &(txn, op) = alive.next()?;
        let is_append = self.history.op(op).kind == OpKind::Append;
        (is_append && alive.next().is_none()).then_some(txn)
    }

    /// Whether every interpretation in which all reads are possible takes the transaction.
    pub(super) fn is_taken(&self, txn: TxnId) -> bool {
        txn.index() < self.history.txn_count()
            && match self.history.status(txn) {
                Status::Committed => true,
                Status::Aborted => false,
                Status::Indeterminate => self.forced.contains(&txn),
            }
    }

    /// Whom every interpretation takes that takes these, and has no impossible read: those that they read from, where
    /// nobody else can have served the read, all whose elements their lists show, and whom those read from in turn.
    pub(super) fn taken_with(&self, txns: impl Iterator<Item = TxnId>) -> HashSet<TxnId> {
        let mut taken = HashSet::new();
        let mut open: Vec<TxnId> = txns.collect();
        while let Some(txn) = open.pop() {
            if txn.index() >= self.history.txn_count() || !taken.insert(txn) {
                continue;
            }
            for (id, op) in self.history.txn_ops(txn) {
                let mut writers = Vec::new();
                if let Some(Seen::External(version)) = seen(self.history, txn, id)
                    && let [writer] = self.possible_writers(txn, id, version)[..]
                {
                    writers.push(writer);
                }
                if op.kind == OpKind::ReadList && op.value != ValueCode::UNKNOWN {
                    let list = self.history.list(op.value).iter();
                    writers.extend(list.filter_map(|&element| self.one_append(op.key, element)));
                }
                open.extend(writers.into_iter().filter(|&writer| !self.is_taken(writer)));
            }
        }
        taken
    }

    /// Whether a read of this version reads the initial one.
    pub(super) fn is_initial(&self, read: OpId, version: ValueCode) -> bool {
        let op = self.history.op(read);
        version == ValueCode::NIL
            || op.kind == OpKind::Read
                && Some(version) == self.initial
                && self.writes(op.key, version).is_empty()
    }

    /// The transactions that an external read can have read from, each once: those not aborted
    /// whose last write to the key is the version.
    pub(super) fn possible_writers(
        &self,
        reader: TxnId,
        read: OpId,
        version: ValueCode,
    ) -> Vec<TxnId> {
        if self.is_initial(read, version) {
            return vec![TxnId::INITIAL];
        }
        let op = self.history.op(read);
        let mut writers: Vec<TxnId> = self
            .writes(op.key, version)
            .iter()
            .filter(|&&(txn, id)| {
                txn != reader
                    && self.history.status(txn) != Status::Aborted
                    && last_write(self.history, txn, op) == Some(id)
            })
            .map(|&(txn, _)| txn)
            .collect();
        writers.dedup();
        writers
    }

    /// The version that an external read of the transaction returned.
    pub(super) fn external(&self, txn: TxnId, read: OpId) -> Result<ValueCode, Refusal> {
        match seen(self.history, txn, read) {
            Some(Seen::External(version)) => Ok(version),
            _ => Err(Refusal::new(format!(
                "operation number {} is no external read of {}",
                read.0,
                name(self.history, txn)
            ))),
        }
    }

    /// Refuses unless the operation is a write of the transaction to the key.
    pub(super) fn require_write(
        &self,
        txn: TxnId,
        write: OpId,
        key: KeyId,
    ) -> Result<ValueCode, Refusal> {
        let op = op_of(self.history, txn, write);
        let op = op.filter(|op| op.kind.is_write() && op.key == key);
        match op {
            Some(op) => Ok(op.value),
            None => Err(Refusal::new(format!(
                "operation number {} is no write of {} to the key in question",
                write.0,
                name(self.history, txn)
            ))),
        }
    }

    /// Refuses unless the operation is the transaction's last write to the key.
    pub(super) fn require_last_write(
        &self,
        txn: TxnId,
        write: OpId,
        key: KeyId,
    ) -> Result<ValueCode, Refusal> {
        let value = self.require_write(txn, write, key)?;
        require!(
            last_write(self.history, txn, self.history.op(write)) == Some(write),
            "{} overwrites {} later",
            name(self.history, txn),
            self.history.op_text(write)
        );
        Ok(value)
    }
}

/// Every operation that an anomaly mentions.
fn ops_of_anomaly(anomaly: &Anomaly) -> Vec<OpId> {
    let mut ops = anomaly.ops.clone();
    ops.extend(anomaly.assuming.iter().map(|&(op, _)| op));
    let cycles = anomaly.otherwise.iter().flatten();
    for edge in anomaly.edges.iter().chain(cycles) {
        ops.extend(ops_of_edge(edge));
        match &edge.because {
            Some(Reason::Read { read, path }) => {
                ops.push(*read);
                ops.extend(path.iter().flat_map(ops_of_edge));
            }
            Some(Reason::List { read }) => ops.push(*read),
            Some(Reason::Assumed { before, after }) => ops.extend([*before, *after]),
            Some(Reason::Version { .. }) | None => {}
        }
    }
    ops
}

fn ops_of_edge(edge: &Edge) -> impl Iterator<Item = OpId> + use<> {
    edge.from_op.into_iter().chain(edge.to_op)
}

/// The indeterminate transactions that a committed one read from, directly or through other
/// indeterminate ones, by a read that nobody else can have served: an interpretation without one
/// of them contains an aborted or an intermediate read. A list was read from all who appended to it.
fn forced_transactions(history: &History) -> HashSet<TxnId> {
    let mut forced = HashSet::new();
    let mut writers: IdMap<Version, LastWriters> = IdMap::default();
    let last_writes = |status: Status| {
        let with_status = move |txn: &TxnId| history.status(*txn) == status;
        let ops = move |txn| history.txn_ops(txn).map(move |(id, op)| (txn, id, op));
        let ops = history.txn_ids().filter(with_status).flat_map(ops);
        ops.filter(|(_, _, op)| op.kind.is_write())
    };
    let is_version = |txn: TxnId, id: OpId, op: Op| {
        op.kind == OpKind::Append || last_write(history, txn, op) == Some(id)
    };
    for (txn, id, op) in last_writes(Status::Indeterminate) {
        if is_version(txn, id, op) {
            writers.entry((op.key, op.value)).or_default().add(txn);
        }
    }
    if writers.is_empty() {
        return forced;
    }
    for (txn, id, op) in last_writes(Status::Committed) {
        if let Some(known) = writers.get_mut(&(op.key, op.value))
            && is_version(txn, id, op)
        {
            known.add(txn);
        }
    }
    let mut read_from: HashMap<TxnId, Vec<TxnId>> = HashMap::new();
    let mut open: Vec<TxnId> = Vec::new();
    for txn in history
        .txn_ids()
        .filter(|&txn| history.status(txn) != Status::Aborted)
    {
        for writer in only_writers(history, &writers, txn) {
            match history.status(txn) {
                Status::Committed => open.push(writer),
                _ => read_from.entry(txn).or_default().push(writer),
            }
        }
    }
    while let Some(txn) = open.pop() {
        if history.status(txn) == Status::Indeterminate && forced.insert(txn) {
            open.extend(read_from.get(&txn).into_iter().flatten());
        }
    }
    forced
}

/// The transactions that a transaction must have read from, of the versions given.
fn only_writers(
    history: &History,
    writers: &IdMap<Version, LastWriters>,
    txn: TxnId,
) -> Vec<TxnId> {
    let mut found = Vec::new();
    for (id, op) in history.txn_ops(txn).filter(|(_, op)| !op.kind.is_write()) {
        let only = |version: ValueCode| {
            let known = writers.get(&(op.key, version))?;
            known.only_other(txn)
        };
        if op.kind == OpKind::ReadList {
            let list = history.list(op.value).iter();
            found.extend(list.filter_map(|&element| only(element)));
        } else if writers.contains_key(&(op.key, op.value))
            && let Some(Seen::External(version)) = seen(history, txn, id)
            && version != ValueCode::NIL
        {
            found.extend(only(version));
        }
    }
    found
}
