//! From a violated verdict to the smallest part of the history that still violates the level.
//!
//! Definition: *smallest* means that no transaction and no operation can be left out; there may be
//! another part with fewer. Steps:
//!
//! 1. start with the operations of the evidence, the writes of all versions these read, and for
//!    each indeterminate transaction a read that shows that it committed; if that does not violate
//!    the level, start with everything;
//! 2. leave out transactions, then reads and writes, in runs of halving length, and keep a part
//!    whenever it still violates the level.
//!
//! A part of a part that satisfies the level satisfies it too (see `part`), so what could not be
//! left out once never can, and one pass with runs of length one is enough.
//!
//! Cost: a check for each transaction and operation of the start, which is a handful. The sum of
//! the operations checked is limited; beyond, the smallest part so far is the result.
//!
//! Source: Zeller & Hildebrandt, Simplifying and Isolating Failure-Inducing Input (TSE 2002).

use crate::part::{Part, Selection, versions};
use history::{Anomaly, Edge, History, KeyId, Op, OpId, OpKind, Reason, Status, TxnId, ValueCode};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// The smallest part of a history that still violates a level, as far as `work` operations checked
/// allow. None if no start violates it within that.
pub fn smallest(
    history: &History,
    anomalies: &[Anomaly],
    violates: &dyn Fn(&History) -> bool,
    work: u64,
) -> Option<Part> {
    let mut trial = Trial { violates, work };
    let start = Part::take(history, &of_evidence(history, anomalies))?;
    let start = if trial.violates(&start.history) {
        start
    } else if 4 * history.op_count() as u64 <= trial.work {
        Part::take(history, &everything(history))?
    } else {
        return None;
    };
    let mut selection = everything(&start.history);
    trial.without_txns(&start.history, &mut selection);
    trial.without_ops(&start.history, &mut selection);
    // An element that two added is lost with the second of them, not with the first: then one is left with nothing.
    let mut fewer = selection.clone();
    fewer.retain(|(_, ops)| !ops.is_empty());
    if fewer.len() < selection.len() {
        trial.accept(&start.history, &mut selection, &fewer);
    }
    start.narrow(&selection)
}

struct Trial<'a> {
    violates: &'a dyn Fn(&History) -> bool,
    /// So many operations may still be checked.
    work: u64,
}

impl Trial<'_> {
    fn violates(&mut self, history: &History) -> bool {
        let cost = 16 + history.op_count() as u64;
        if cost > self.work {
            self.work = 0;
            return false;
        }
        self.work -= cost;
        (self.violates)(history)
    }

    /// Takes the selection if it still violates the level, less the reads that it loses.
    fn accept(&mut self, base: &History, selection: &mut Selection, fewer: &Selection) -> bool {
        let Some(part) = Part::take(base, fewer) else {
            return false;
        };
        if !self.violates(&part.history) {
            return false;
        }
        *selection = part.selection();
        true
    }

    fn without_txns(&mut self, base: &History, selection: &mut Selection) {
        let mut run = longest_run(selection.len());
        while run > 0 && self.work > 0 {
            let mut at = 0;
            while at < selection.len() {
                let mut fewer = selection.clone();
                fewer.drain(at..(at + run).min(selection.len()));
                if !self.accept(base, selection, &fewer) {
                    at += run;
                }
            }
            run /= 2;
        }
    }

    fn without_ops(&mut self, base: &History, selection: &mut Selection) {
        let mut run = longest_run(units(base, selection).len());
        while run > 0 && self.work > 0 {
            let mut at = 0;
            loop {
                let units = units(base, selection);
                if at >= units.len() {
                    break;
                }
                let dropped: BTreeSet<OpId> = units[at..(at + run).min(units.len())]
                    .iter()
                    .flatten()
                    .copied()
                    .collect();
                let mut fewer = selection.clone();
                for (_, ops) in &mut fewer {
                    ops.retain(|op| !dropped.contains(op));
                }
                if !self.accept(base, selection, &fewer) {
                    at += run;
                }
            }
            run /= 2;
        }
    }
}

/// Where halving starts: most of a small start is needed, most of a large one is not.
fn longest_run(count: usize) -> usize {
    if count <= 16 { 1 } else { count / 2 }
}

/// What can be left out by itself: a read, or all writes of a transaction to a key.
fn units(base: &History, selection: &Selection) -> Vec<Vec<OpId>> {
    let mut units: Vec<Vec<OpId>> = Vec::new();
    for (_, ops) in selection {
        let mut writes: BTreeMap<KeyId, Vec<OpId>> = BTreeMap::new();
        for &id in ops {
            let op = base.op(id);
            if op.kind.is_write() {
                writes.entry(op.key).or_default().push(id);
            } else {
                units.push(vec![id]);
            }
        }
        units.extend(writes.into_values());
    }
    units
}

fn everything(history: &History) -> Selection {
    let ops = |txn: TxnId| history.txn_ops(txn).map(|(id, _)| id).collect();
    history.txn_ids().map(|txn| (txn, ops(txn))).collect()
}

/// What evidence is about, and what gives it its meaning.
fn of_evidence(history: &History, anomalies: &[Anomaly]) -> Selection {
    let mut gathered = Gathered {
        history,
        ops: BTreeMap::new(),
    };
    for anomaly in anomalies {
        gathered.add_anomaly(anomaly);
    }
    gathered.add_commits();
    gathered.add_writers();
    let ops = gathered.ops.into_iter();
    ops.map(|(txn, ops)| (txn, ops.into_iter().collect()))
        .collect()
}

struct Gathered<'h> {
    history: &'h History,
    ops: BTreeMap<TxnId, BTreeSet<OpId>>,
}

impl Gathered<'_> {
    fn add_anomaly(&mut self, anomaly: &Anomaly) {
        for &txn in &anomaly.transactions {
            self.add_txn(txn);
        }
        let cycles = std::iter::once(&anomaly.edges).chain(&anomaly.otherwise);
        for edge in cycles.flatten() {
            self.add_edge(edge);
        }
        let assumed = anomaly.assuming.iter().map(|&(read, _)| read);
        for op in anomaly.ops.iter().copied().chain(assumed) {
            self.add_found(op);
        }
    }

    fn add_edge(&mut self, edge: &Edge) {
        for (txn, op) in [(edge.from, edge.from_op), (edge.to, edge.to_op)] {
            self.add_txn(txn);
            if let Some(op) = op {
                self.add(txn, op);
            }
        }
        match &edge.because {
            Some(Reason::Read { read, path }) => {
                // The edges of a path have no reason of their own, so this goes no deeper.
                path.iter().for_each(|step| self.add_edge(step));
                self.add_found(*read);
            }
            Some(Reason::List { read }) => self.add_found(*read),
            Some(Reason::Assumed { before, after }) => {
                self.add_found(*before);
                self.add_found(*after);
            }
            Some(Reason::Version { .. }) | None => {}
        }
    }

    fn add_txn(&mut self, txn: TxnId) {
        if txn != TxnId::INITIAL {
            self.ops.entry(txn).or_default();
        }
    }

    /// Adds an operation; of a write, all those of its transaction to the key.
    fn add(&mut self, txn: TxnId, op: OpId) {
        let ops = self.ops.entry(txn).or_default();
        let Op { kind, key, .. } = self.history.op(op);
        ops.insert(op);
        if kind.is_write() {
            let same = |(_, other): &(OpId, Op)| other.kind.is_write() && other.key == key;
            ops.extend(self.history.txn_ops(txn).filter(same).map(|(id, _)| id));
        }
    }

    /// Adds an operation of a transaction that is not known yet.
    fn add_found(&mut self, op: OpId) {
        let contains = |txn: &TxnId| self.history.op_range(*txn).contains(&op.index());
        let gathered = self.ops.keys().copied().find(|txn| contains(txn));
        if let Some(txn) = gathered.or_else(|| self.history.txn_ids().find(contains)) {
            self.add(txn, op);
        }
    }

    /// Adds the writes of all versions that are read; of sets, of those that somebody in the
    /// evidence added.
    fn add_writers(&mut self) {
        let history = self.history;
        let ops = || self.ops.values().flatten().map(|&id| history.op(id));
        let adds = ops().filter(|op| op.kind == OpKind::Add);
        let added: FxHashSet<(KeyId, ValueCode)> = adds.map(|op| (op.key, op.value)).collect();
        let mut read: FxHashSet<(KeyId, ValueCode)> = FxHashSet::default();
        for op in ops().filter(|op| !op.kind.is_write()) {
            let is_set = op.kind == OpKind::ReadSet;
            let shown = versions(history, op);
            read.extend(shown.filter(|version| !is_set || added.contains(version)));
        }
        for txn in history.txn_ids() {
            for (id, op) in history.txn_ops(txn) {
                if op.kind.is_write()
                    && versions(history, op).any(|version| read.contains(&version))
                {
                    self.add(txn, id);
                }
            }
        }
    }

    /// Adds, for each indeterminate transaction, a read that shows that it committed, and so on
    /// for the reader.
    fn add_commits(&mut self) {
        const CHAIN_MAX: usize = 8;
        let history = self.history;
        let mut shown: FxHashSet<TxnId> = FxHashSet::default();
        for _ in 0..CHAIN_MAX {
            let open = |txn: &&TxnId| {
                history.status(**txn) == Status::Indeterminate && !shown.contains(txn)
            };
            let open: Vec<TxnId> = self.ops.keys().filter(open).copied().collect();
            if open.is_empty() {
                return;
            }
            for (reader, read) in first_readers(history, &open) {
                self.add(reader, read);
            }
            shown.extend(open);
        }
    }
}

/// For each of the writers a read of one of its versions, of a committed transaction if there is
/// one.
fn first_readers(history: &History, writers: &[TxnId]) -> Vec<(TxnId, OpId)> {
    let mut versions_of: FxHashMap<(KeyId, ValueCode), usize> = FxHashMap::default();
    for (place, &writer) in writers.iter().enumerate() {
        let writes = history.txn_ops(writer).filter(|(_, op)| op.kind.is_write());
        let written = writes.flat_map(|(_, op)| versions(history, op));
        versions_of.extend(written.map(|version| (version, place)));
    }
    let mut found: Vec<Option<(Status, TxnId, OpId)>> = vec![None; writers.len()];
    for txn in history.txn_ids() {
        let status = history.status(txn);
        if status == Status::Aborted {
            continue;
        }
        for (id, op) in history.txn_ops(txn).filter(|(_, op)| !op.kind.is_write()) {
            for place in versions(history, op).filter_map(|version| versions_of.get(&version)) {
                let best = &mut found[*place];
                let is_better = best.is_none_or(|(other, ..)| status < other);
                if writers[*place] != txn && is_better {
                    *best = Some((status, txn, id));
                }
            }
        }
    }
    let found = found.into_iter().flatten();
    found.map(|(_, txn, op)| (txn, op)).collect()
}
