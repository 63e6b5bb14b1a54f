//! Anomalies above causal: cycles that leave no way to order versions.
//!
//! Where nothing shows which of two versions is older, a cycle closes for one order of them only,
//! and further cycles have to rule out the other. Each cycle is re-checked by itself: its edges are
//! true under premises that are collected, and the level forbids its shape. `premises` then decides
//! whether the cycles together leave anything.

use super::cycle::Scene;
use super::facts::Facts;
use super::premises::{Clauses, Premise};
use super::read::{Seen, seen};
use super::{Refusal, name, require, shape};
use crate::{
    Anomaly, AnomalyKind, Edge, EdgeKind, Interval, KeyId, Level, OpId, OpKind, Reason, Status,
    TxnId,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Whether an anomaly is to be judged here: it has cycles with premises, or a name that stands for
/// such cycles.
pub(super) fn is_alternative(level: Level, anomaly: &Anomaly) -> bool {
    let has_premise = |edge: &Edge| match edge.kind {
        EdgeKind::Rw | EdgeKind::Rt => true,
        EdgeKind::Ww => edge.because.is_none(),
        EdgeKind::So | EdgeKind::Wr => edge.because.is_some(),
    };
    let lost_update = anomaly.kind == AnomalyKind::LostUpdate;
    !Level::WEAK.contains(&level)
        && anomaly.ops.is_empty()
        && !anomaly.edges.is_empty()
        && (lost_update || !super::single::is_single(anomaly.kind))
        && (lost_update
            || shape::is_strong(anomaly.kind)
            || !anomaly.otherwise.is_empty()
            || anomaly.edges.iter().any(has_premise))
}

/// Re-checks the cycles. `assumed` are the writers that the whole anomaly assumes.
pub(super) fn check(
    facts: &Facts<'_>,
    level: Level,
    anomaly: &Anomaly,
    assumed: &BTreeMap<OpId, TxnId>,
) -> Result<(), Refusal> {
    let mut clauses = Clauses::new(facts);
    for (&read, &writer) in assumed {
        if let Some(reader) = super::read::txn_of(facts.history, read) {
            let premise = Premise::ReadsFrom {
                reader,
                read,
                writer,
            };
            clauses.explain_read(reader, read)?;
            clauses.imply(&[], premise);
        }
    }
    for edges in [&anomaly.edges].into_iter().chain(&anomaly.otherwise) {
        let cycle = Cycle::new(facts, level, edges, assumed)?;
        cycle.check(&mut clauses)?;
    }
    let fits = shape::fits(anomaly.kind, &anomaly.edges, &anomaly.otherwise);
    let is_update = anomaly.kind != AnomalyKind::LostUpdate || is_lost_update(facts, anomaly);
    require!(fits && is_update, "the cycle is no {}", anomaly.kind);
    clauses.check()
}

/// One cycle and what it rests on.
struct Cycle<'a> {
    facts: &'a Facts<'a>,
    level: Level,
    edges: &'a [Edge],
    /// The writers of ambiguous reads that the cycle assumes.
    assumed: BTreeMap<OpId, TxnId>,
    premises: RefCell<BTreeSet<Premise>>,
}

impl Cycle<'_> {
    fn new<'a>(
        facts: &'a Facts<'a>,
        level: Level,
        edges: &'a [Edge],
        of_anomaly: &BTreeMap<OpId, TxnId>,
    ) -> Result<Cycle<'a>, Refusal> {
        let mut cycle = Cycle {
            facts,
            level,
            edges,
            assumed: of_anomaly.clone(),
            premises: RefCell::default(),
        };
        for edge in edges {
            cycle.assume(edge)?;
        }
        Ok(cycle)
    }

    /// Notes the writer that a wr or rw edge assumes for an ambiguous read.
    fn assume(&mut self, edge: &Edge) -> Result<(), Refusal> {
        let named = match edge.because {
            Some(Reason::Version { writer }) => Some(writer),
            _ => None,
        };
        let (reader, read, writer) = match edge.kind {
            EdgeKind::Wr => (edge.to, edge.to_op, named.or(Some(edge.from))),
            EdgeKind::Rw => (edge.from, edge.from_op, named),
            EdgeKind::So | EdgeKind::Ww | EdgeKind::Rt => return Ok(()),
        };
        let (Some(read), Some(writer)) = (read, writer) else {
            return Ok(());
        };
        let version = self.facts.external(reader, read)?;
        let possible = self.facts.possible_writers(reader, read, version);
        require!(
            possible.contains(&writer),
            "{} of {} cannot have read from {}",
            self.facts.history.op_text(read),
            self.name(reader),
            self.name(writer)
        );
        if possible.len() > 1 {
            let known = *self.assumed.entry(read).or_insert(writer);
            require!(
                known == writer,
                "a cycle assumes two writers for {} of {}",
                self.facts.history.op_text(read),
                self.name(reader)
            );
        }
        Ok(())
    }

    /// Re-checks the edges and the shape, and adds that one of the premises has to be false.
    fn check(&self, clauses: &mut Clauses<'_>) -> Result<(), Refusal> {
        let Some(first) = self.edges.first() else {
            return Err(Refusal::new("a cycle has no edges"));
        };
        let mut all = BTreeSet::new();
        for edge in self.edges {
            self.check_edge(edge)?;
            let premises = self.premises.take();
            if let (
                Some(Reason::Read { .. } | Reason::List { .. } | Reason::Assumed { .. }),
                Some(key),
            ) = (&edge.because, edge.key)
                && edge.kind == EdgeKind::Ww
            {
                let (first, second) = (edge.from, edge.to);
                clauses.imply(&premises, Premise::Order { key, first, second });
            }
            all.extend(premises);
        }
        let next = self.edges.iter().skip(1).chain([first]);
        for (edge, next) in self.edges.iter().zip(next) {
            require!(
                edge.to == next.from,
                "an edge of a cycle ends at {} and the next begins at {}",
                self.name(edge.to),
                self.name(next.from)
            );
        }
        require!(
            shape::is_forbidden(self.level, self.edges),
            "{} allows a cycle of {}",
            self.level,
            self.shape()
        );
        for premise in &all {
            if let Premise::ReadsFrom { reader, read, .. } = *premise {
                clauses.explain_read(reader, read)?;
            }
        }
        clauses.forbid(&all);
        Ok(())
    }

    fn check_edge(&self, edge: &Edge) -> Result<(), Refusal> {
        require!(
            shape::admits(self.level, edge.kind),
            "a {} edge proves nothing at {}",
            edge.kind.name(),
            self.level
        );
        require!(
            edge.to != TxnId::INITIAL && edge.from != TxnId::INITIAL,
            "a cycle leads through the initial transaction, which precedes all others"
        );
        let takes = |txn: TxnId| self.takes(txn);
        let writer = |reader: TxnId, read: OpId| self.writer(reader, read);
        let scene = Scene {
            facts: self.facts,
            level: self.level,
            takes: &takes,
            writer: &writer,
        };
        match (edge.kind, &edge.because) {
            (EdgeKind::So, None) | (EdgeKind::Wr, None | Some(Reason::Version { .. })) => {
                scene.check_dependency(edge)
            }
            (EdgeKind::Ww, Some(Reason::Read { read, path })) => {
                scene.check_overlooked(edge, *read, path)
            }
            (EdgeKind::Ww, Some(Reason::List { read })) => scene.check_listed(edge, *read),
            (EdgeKind::Ww, Some(Reason::Assumed { before, after })) => {
                scene.check_assumed(edge, *before, *after)
            }
            (EdgeKind::Ww, None) => self.check_order(edge),
            (EdgeKind::Rw, None | Some(Reason::Version { .. })) => self.check_overwritten(edge),
            (EdgeKind::Rt, None) => self.check_real_time(edge),
            _ => Err(Refusal::new(format!(
                "the reason of the {} edge from {} to {} is none",
                edge.kind.name(),
                self.name(edge.from),
                self.name(edge.to)
            ))),
        }
    }

    /// A ww edge that nothing forces: its order is a premise.
    fn check_order(&self, edge: &Edge) -> Result<(), Refusal> {
        let (Some(key), Some(write), Some(later)) = (edge.key, edge.from_op, edge.to_op) else {
            return Err(Refusal::new("a ww edge lacks its key or a write"));
        };
        self.require_taken(edge.from)?;
        self.require_taken(edge.to)?;
        self.facts.require_last_write(edge.from, write, key)?;
        self.facts.require_last_write(edge.to, later, key)?;
        require!(
            edge.from != edge.to,
            "a ww edge leads from {} to itself",
            self.name(edge.from)
        );
        let (first, second) = (edge.from, edge.to);
        self.add(Premise::Order { key, first, second });
        Ok(())
    }

    /// A rw edge: the premise is that the version read is older than the one written.
    fn check_overwritten(&self, edge: &Edge) -> Result<(), Refusal> {
        let history = self.facts.history;
        let (Some(key), Some(read), Some(write)) = (edge.key, edge.from_op, edge.to_op) else {
            return Err(Refusal::new(
                "a rw edge lacks its key, its read or its write",
            ));
        };
        self.require_taken(edge.from)?;
        self.require_taken(edge.to)?;
        self.facts.external(edge.from, read)?;
        self.facts.require_last_write(edge.to, write, key)?;
        let writer = self.writer(edge.from, read)?;
        require!(
            history.op(read).key == key && edge.from != edge.to && writer != edge.to,
            "{} does not overwrite what {} of {} returned",
            self.name(edge.to),
            history.op_text(read),
            self.name(edge.from)
        );
        if writer != TxnId::INITIAL && !self.shows_no(read, write) {
            let (first, second) = (writer, edge.to);
            self.add(Premise::Order { key, first, second });
        }
        Ok(())
    }

    /// Whether a list read shows by itself that an append came later: its element is not in the
    /// list, whoever else appended that.
    fn shows_no(&self, read: OpId, append: OpId) -> bool {
        let history = self.facts.history;
        let (list, element) = (history.op(read), history.op(append));
        list.kind == OpKind::ReadList
            && element.kind == OpKind::Append
            && !history.list(list.value).contains(&element.value)
    }

    fn check_real_time(&self, edge: &Edge) -> Result<(), Refusal> {
        let history = self.facts.history;
        self.require_taken(edge.from)?;
        self.require_taken(edge.to)?;
        let ended_before = match (history.interval(edge.from), history.interval(edge.to)) {
            (Some(from), Some(to)) => {
                history.status(edge.from) == Status::Committed
                    && from.end != Interval::NEVER
                    && from.completion() < to.start
            }
            _ => false,
        };
        require!(
            ended_before && edge.from != edge.to,
            "{} had not ended before {} began",
            self.name(edge.from),
            self.name(edge.to)
        );
        Ok(())
    }

    fn add(&self, premise: Premise) {
        self.premises.borrow_mut().insert(premise);
    }

    /// Whether a transaction can be taken as committed; that it is, is a premise unless certain.
    fn takes(&self, txn: TxnId) -> bool {
        let history = self.facts.history;
        if txn.index() >= history.txn_count() || history.status(txn) == Status::Aborted {
            return false;
        }
        if !self.facts.is_taken(txn) {
            self.add(Premise::Taken(txn));
        }
        true
    }

    fn require_taken(&self, txn: TxnId) -> Result<(), Refusal> {
        require!(self.takes(txn), "{} did not commit", self.name(txn));
        Ok(())
    }

    /// Whom a read reads from, which is a premise where it is ambiguous.
    fn writer(&self, reader: TxnId, read: OpId) -> Result<TxnId, Refusal> {
        match self.assumed.get(&read) {
            Some(&writer) => {
                self.add(Premise::ReadsFrom {
                    reader,
                    read,
                    writer,
                });
                Ok(writer)
            }
            None => super::choices::only_writer(self.facts, reader, read),
        }
    }

    fn shape(&self) -> String {
        let kinds: Vec<&str> = self.edges.iter().map(|edge| edge.kind.name()).collect();
        kinds.join(", ")
    }

    fn name(&self, txn: TxnId) -> String {
        name(self.facts.history, txn)
    }
}

/// Two transactions read the same version of a key and both write it; the first cycle is theirs.
fn is_lost_update(facts: &Facts<'_>, anomaly: &Anomaly) -> bool {
    let txns: BTreeSet<TxnId> = anomaly.edges.iter().map(|edge| edge.from).collect();
    let txns: Vec<TxnId> = txns.into_iter().collect();
    let &[a, b] = txns.as_slice() else {
        return false;
    };
    let mut keys = anomaly.edges.iter().filter_map(|edge| edge.key);
    keys.any(|key| {
        let of_a = update_of(facts, a, key);
        of_a.is_some() && of_a == update_of(facts, b, key)
    })
}

/// The version of a key that a transaction read from outside, if it also writes the key.
fn update_of(facts: &Facts<'_>, txn: TxnId, key: KeyId) -> Option<crate::ValueCode> {
    let history = facts.history;
    let mut ops = history.txn_ops(txn).filter(|(_, op)| op.key == key);
    let version = ops.find_map(|(id, _)| match seen(history, txn, id) {
        Some(Seen::External(version)) => Some(version),
        _ => None,
    })?;
    let mut ops = history.txn_ops(txn).filter(|(_, op)| op.key == key);
    ops.any(|(_, op)| op.kind.is_write()).then_some(version)
}
