//! Evidence about sets and counters as evidence about their registers. An edge is about the element
//! that its write is about, and so are its reads.

use super::registers::{Element, Registers};
use crate::certify::read::{Seen, op_of, seen, txn_of};
use crate::certify::{Refusal, require};
use crate::{Anomaly, AnomalyKind, Edge, KeyId, OpId, OpKind, Reason, Status, TxnId, ValueCode};
use std::collections::{BTreeMap, HashMap, HashSet};

type Choice = (OpId, TxnId);

impl Registers<'_> {
    pub(super) fn anomaly(&self, anomaly: &Anomaly) -> Result<Anomaly, Refusal> {
        let cycle = |edges: &[Edge]| -> Result<Vec<Edge>, Refusal> {
            edges.iter().map(|edge| self.edge(edge)).collect()
        };
        let otherwise = anomaly.otherwise.iter().map(|edges| cycle(edges));
        Ok(Anomaly {
            ops: self.single_ops(anomaly.kind, &anomaly.ops)?,
            edges: cycle(&anomaly.edges)?,
            otherwise: otherwise.collect::<Result<_, _>>()?,
            assuming: self.choices(&anomaly.assuming)?,
            ..anomaly.clone()
        })
    }

    /// Whether an operation of the original is one on a set or a counter.
    fn is_of_element(&self, op: OpId) -> Result<bool, Refusal> {
        require!(
            op.index() < self.original.op_count(),
            "operation number {} does not exist",
            op.0
        );
        let kind = self.original.op(op).kind;
        Ok(!matches!(
            kind,
            OpKind::Read | OpKind::Write | OpKind::Append | OpKind::ReadList
        ))
    }

    /// The register that a write of an element is about.
    fn register_of(&self, txn: Option<TxnId>, write: OpId) -> Option<KeyId> {
        let txn = txn.or_else(|| txn_of(self.original, write))?;
        let op = op_of(self.original, txn, write)?;
        match op.kind {
            OpKind::Add => self.register(op.key, Element::Value(op.value)),
            OpKind::Increment => self.register(op.key, Element::Of(txn)),
            _ => None,
        }
    }

    /// An operation of the original as one on the register, or as itself.
    fn op(&self, op: OpId, register: Option<KeyId>) -> Result<OpId, Refusal> {
        let found = if self.is_of_element(op)? {
            register.and_then(|register| self.op_on(op, register))
        } else {
            self.ops(op).next()
        };
        found.ok_or_else(|| {
            Refusal::new(format!(
                "{} says nothing about the element in question",
                self.original.op_text(op)
            ))
        })
    }

    fn edge(&self, edge: &Edge) -> Result<Edge, Refusal> {
        let ends = [(edge.from, edge.from_op), (edge.to, edge.to_op)];
        let written = ends
            .iter()
            .find_map(|&(txn, op)| self.register_of(Some(txn), op?));
        let key = match written {
            Some(register) => {
                let of_key = ends.iter().filter_map(|&(_, op)| op);
                let mut of_key = of_key.map(|op| self.original.op(op).key);
                require!(
                    edge.key.is_some_and(|key| of_key.all(|other| other == key)),
                    "an edge names another key than its operations"
                );
                Some(register)
            }
            None => edge.key,
        };
        let op = |op: Option<OpId>| op.map(|op| self.op(op, written)).transpose();
        let because = match &edge.because {
            Some(Reason::Read { read, path }) => {
                let steps = path.iter().map(|step| {
                    // A path has no reasons of its own, so this goes no deeper.
                    require!(step.because.is_none(), "a step of a path has a reason");
                    self.edge(step)
                });
                Some(Reason::Read {
                    read: self.op(*read, written)?,
                    path: steps.collect::<Result<_, _>>()?,
                })
            }
            Some(Reason::List { read }) => Some(Reason::List {
                read: self.op(*read, written)?,
            }),
            Some(Reason::Assumed { .. }) => {
                return Err(Refusal::new("nothing is assumed of keys here"));
            }
            other => other.clone(),
        };
        Ok(Edge {
            key,
            from_op: op(edge.from_op)?,
            to_op: op(edge.to_op)?,
            because,
            ..edge.clone()
        })
    }

    /// The operations of an anomaly of single reads.
    fn single_ops(&self, kind: AnomalyKind, ops: &[OpId]) -> Result<Vec<OpId>, Refusal> {
        for &op in ops {
            self.is_of_element(op)?;
        }
        let written = ops.iter().find_map(|&op| self.register_of(None, op));
        let register = match (written, kind, ops) {
            (Some(register), ..) => Some(register),
            (None, AnomalyKind::ThinAirRead, &[read]) => self.unwritten(read),
            (None, AnomalyKind::NonRepeatableRead, &[first, second]) => self.changed(first, second),
            _ => None,
        };
        ops.iter().map(|&op| self.op(op, register)).collect()
    }

    /// A register that a read shows although nobody wrote it.
    fn unwritten(&self, read: OpId) -> Option<KeyId> {
        let ops = self.ops(read).map(|id| self.history.op(id));
        let mut shown = ops.filter(|op| op.value == self.present);
        shown.find(|op| !self.is_written(op.key)).map(|op| op.key)
    }

    /// A register that two reads of one transaction both read from outside, and differently.
    fn changed(&self, first: OpId, second: OpId) -> Option<KeyId> {
        let txn = txn_of(self.original, first)?;
        let values = |read: OpId| self.ops(read).map(|id| (self.history.op(id), id));
        let before: HashMap<KeyId, ValueCode> =
            values(first).map(|(op, _)| (op.key, op.value)).collect();
        let differs = |(op, id): (crate::Op, OpId)| {
            let is_other = before.get(&op.key).is_some_and(|&value| value != op.value);
            let outside = matches!(seen(&self.history, txn, id), Some(Seen::External(_)));
            (is_other && outside).then_some(op.key)
        };
        values(second).find_map(differs)
    }

    /// Chosen writers. Those of a set read come in the order of the elements they are for; the
    /// initial transaction stands for no choice.
    pub(super) fn choices(&self, choices: &[Choice]) -> Result<Vec<Choice>, Refusal> {
        let mut of_registers = Vec::new();
        let mut of_sets: BTreeMap<OpId, Vec<TxnId>> = BTreeMap::new();
        for &(read, writer) in choices {
            if !self.is_of_element(read)? {
                of_registers.push((self.op(read, None)?, writer));
            } else {
                of_sets.entry(read).or_default().push(writer);
            }
        }
        for (read, writers) in of_sets {
            let ambiguous = self.ambiguous(read);
            require!(
                ambiguous.len() == writers.len(),
                "{} needs {} writers chosen, not {}",
                self.original.op_text(read),
                ambiguous.len(),
                writers.len()
            );
            let chosen = ambiguous.into_iter().zip(writers);
            of_registers.extend(chosen.filter(|&(_, writer)| writer != TxnId::INITIAL));
        }
        Ok(of_registers)
    }

    /// The elements that a set read shows and did not add itself before, and that two or more
    /// other transactions that did not abort added.
    fn ambiguous(&self, read: OpId) -> Vec<OpId> {
        let history = &self.history;
        let Some(reader) = txn_of(self.original, read) else {
            return Vec::new();
        };
        let mut adders: HashMap<KeyId, HashSet<TxnId>> = HashMap::new();
        for id in self.ops(read) {
            adders.insert(history.op(id).key, HashSet::new());
        }
        let others = history
            .txn_ids()
            .filter(|&txn| txn != reader && history.status(txn) != Status::Aborted);
        for txn in others {
            for (_, op) in history.txn_ops(txn).filter(|(_, op)| op.kind.is_write()) {
                if let Some(adders) = adders.get_mut(&op.key) {
                    adders.insert(txn);
                }
            }
        }
        let is_ambiguous = |id: &OpId| {
            let op = history.op(*id);
            let is_own = || {
                let mut before = history.txn_ops(reader).take_while(|(other, _)| other < id);
                before.any(|(_, other)| other.kind.is_write() && other.key == op.key)
            };
            op.value == self.present && adders[&op.key].len() > 1 && !is_own()
        };
        self.ops(read).filter(is_ambiguous).collect()
    }
}
