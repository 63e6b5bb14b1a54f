//! Anomalies that are cycles: each edge has to be true, and admissible at the level.

use super::facts::Facts;
use super::read::{op_of, txn_of};
use super::{Refusal, key_order, lists, name, require, shape};
use crate::AnomalyKind::{CyclicCausality, DirtyWrite, InitialRead};
use crate::{Anomaly, Edge, EdgeKind, History, Level, OpId, OpKind, Reason, TxnId};

/// What the edges of one anomaly are checked against.
pub(super) struct Scene<'a> {
    pub(super) facts: &'a Facts<'a>,
    pub(super) level: Level,
    /// Which transactions are taken as committed.
    pub(super) takes: &'a dyn Fn(TxnId) -> bool,
    /// Whom a read of a transaction reads from.
    pub(super) writer: &'a dyn Fn(TxnId, OpId) -> Result<TxnId, Refusal>,
}

impl Scene<'_> {
    /// Re-checks a cycle, or a single edge that puts a version before the initial one.
    pub(super) fn check(&self, anomaly: &Anomaly) -> Result<(), Refusal> {
        let edges = &anomaly.edges;
        let Some(first) = edges.first() else {
            return Err(Refusal::new(format!("{} has no edges", anomaly.kind)));
        };
        require!(
            anomaly.otherwise.is_empty(),
            "{} orders no versions, so further cycles are no evidence",
            self.level
        );
        for edge in edges {
            self.check_edge(edge)?;
        }
        let before_initial = edges.len() == 1 && first.to == TxnId::INITIAL;
        if !before_initial {
            let next = edges.iter().skip(1).chain([first]);
            for (edge, next) in edges.iter().zip(next) {
                require!(
                    edge.to == next.from,
                    "{}: an edge ends at {} and the next begins at {}",
                    anomaly.kind,
                    self.name(edge.to),
                    self.name(next.from)
                );
            }
        }
        let is_listed = |edge: &Edge| {
            let because = &edge.because;
            matches!(because, Some(Reason::List { .. } | Reason::Assumed { .. }))
        };
        let is_named_rightly = match anomaly.kind {
            DirtyWrite => edges.iter().all(is_listed),
            CyclicCausality => {
                edges
                    .iter()
                    .all(|edge| edge.kind != EdgeKind::Ww || is_listed(edge))
                    && edges.iter().any(|edge| edge.kind != EdgeKind::Ww)
            }
            InitialRead => before_initial,
            kind if shape::is_strong(kind) => shape::fits(kind, edges, &anomaly.otherwise),
            _ => edges.iter().any(|edge| edge.kind == EdgeKind::Ww),
        };
        require!(is_named_rightly, "the cycle is no {}", anomaly.kind);
        Ok(())
    }

    fn check_edge(&self, edge: &Edge) -> Result<(), Refusal> {
        match (edge.kind, &edge.because) {
            (EdgeKind::So | EdgeKind::Wr, None) => {
                let sessionless = self.is_sessionless() && edge.kind == EdgeKind::So;
                require!(
                    self.level != Level::ReadUncommitted && !sessionless,
                    "a {} edge proves nothing at {}",
                    edge.kind.name(),
                    self.level
                );
                self.check_dependency(edge)
            }
            (EdgeKind::Ww, Some(Reason::Read { read, path })) => {
                self.check_overlooked(edge, *read, path)
            }
            (EdgeKind::Ww, Some(Reason::List { read })) => self.check_listed(edge, *read),
            (EdgeKind::Ww, Some(Reason::Assumed { before, after })) => {
                self.check_assumed(edge, *before, *after)
            }
            _ => Err(Refusal::new(format!(
                "the {} edge from {} to {} is no evidence",
                edge.kind.name(),
                self.name(edge.from),
                self.name(edge.to)
            ))),
        }
    }

    /// Levels that know no sessions: their axioms leave session order out.
    fn is_sessionless(&self) -> bool {
        matches!(
            self.level,
            Level::NonMonotonicSnapshotIsolation | Level::SnapshotIsolation | Level::Serializable
        )
    }

    /// A so or wr edge.
    pub(super) fn check_dependency(&self, edge: &Edge) -> Result<(), Refusal> {
        let (from, to) = (edge.from, edge.to);
        self.require_taken(from)?;
        self.require_taken(to)?;
        let history = self.facts.history;
        match (edge.kind, edge.key, edge.from_op, edge.to_op) {
            (EdgeKind::So, ..) => require!(
                history.session_of(from) == history.session_of(to) && from < to,
                "{} does not precede {} in a session",
                self.name(from),
                self.name(to)
            ),
            (EdgeKind::Wr, Some(key), Some(write), Some(read)) => {
                let version = self.facts.external(to, read)?;
                let written = self.facts.require_last_write(from, write, key)?;
                require!(
                    from != to && history.op(read).key == key && written == version,
                    "{} is not what {} wrote",
                    history.op_text(read),
                    self.name(from)
                );
                self.require_writer(to, read, from)?;
            }
            _ => {
                return Err(Refusal::new(
                    "a wr edge lacks its key, its write or its read",
                ));
            }
        }
        Ok(())
    }

    /// A ww edge because a read returned the version of `to` although it had to see `from`'s.
    pub(super) fn check_overlooked(
        &self,
        edge: &Edge,
        read: OpId,
        path: &[Edge],
    ) -> Result<(), Refusal> {
        let (from, to) = (edge.from, edge.to);
        let history = self.facts.history;
        let (Some(key), Some(write), Some(last)) = (edge.key, edge.from_op, path.last()) else {
            return Err(Refusal::new(
                "a ww edge lacks its key, its write or its path",
            ));
        };
        let reader = last.to;
        for step in path {
            require!(
                matches!(step.kind, EdgeKind::So | EdgeKind::Wr) && step.because.is_none(),
                "the path of a ww edge consists of so and wr edges"
            );
            self.check_dependency(step)?;
        }
        let chained = path.windows(2).all(|pair| pair[0].to == pair[1].from);
        require!(
            path[0].from == from && chained,
            "the path from {} to {} is broken",
            self.name(from),
            self.name(reader)
        );
        require!(
            is_admissible(self.level, path, read),
            "{} says nothing about what {} sees of {} by this path",
            self.level,
            self.name(reader),
            self.name(from)
        );
        self.require_taken(from)?;
        self.facts.external(reader, read)?;
        require!(
            history.op(read).key == key && from != to && from != reader,
            "{} of {} does not order {} before {}",
            history.op_text(read),
            self.name(reader),
            self.name(from),
            self.name(to)
        );
        self.facts.require_last_write(from, write, key)?;
        match edge.to_op {
            Some(overwriting) => {
                self.facts.require_last_write(to, overwriting, key)?;
            }
            None => require!(to == TxnId::INITIAL, "a ww edge lacks its second write"),
        }
        self.require_writer(reader, read, to)
    }

    /// A ww edge that a list read shows: one element before the other, or the first in the list and
    /// the second not.
    pub(super) fn check_listed(&self, edge: &Edge, read: OpId) -> Result<(), Refusal> {
        let history = self.facts.history;
        let (Some(key), Some(first), Some(second)) = (edge.key, edge.from_op, edge.to_op) else {
            return Err(Refusal::new("a ww edge lacks its key or a write"));
        };
        let reader = txn_of(history, read).unwrap_or(TxnId::INITIAL);
        for txn in [edge.from, edge.to, reader] {
            self.require_taken(txn)?;
        }
        let list = op_of(history, reader, read)
            .filter(|op| op.kind == OpKind::ReadList && op.key == key)
            .map_or(&[][..], |op| history.list(op.value));
        let before = self.facts.require_write(edge.from, first, key)?;
        let after = self.facts.require_write(edge.to, second, key)?;
        for element in [before, after] {
            require!(
                self.facts.has_one_append(key, element),
                "{} was not appended to {} by one transaction alone",
                history.value(element),
                history.key_name(key)
            );
        }
        let place = |element| list.iter().position(|&shown| shown == element);
        let (first, second) = (place(before), place(after));
        let in_order = first.is_some() && first < second;
        // Where dirty reads are legal, nothing follows from what a list lacks if another one
        // contradicts it.
        let unseen = first.is_some()
            && second.is_none()
            && (self.level != Level::ReadUncommitted || lists::agree(history, key));
        require!(
            edge.from != edge.to && (in_order || unseen),
            "the list that {} read does not show {} before {}",
            self.name(reader),
            self.name(edge.from),
            self.name(edge.to)
        );
        Ok(())
    }

    /// A ww edge that follows from what is assumed of each key.
    pub(super) fn check_assumed(
        &self,
        edge: &Edge,
        before: OpId,
        after: OpId,
    ) -> Result<(), Refusal> {
        self.require_taken(edge.from)?;
        self.require_taken(edge.to)?;
        let (Some(key), Some(first), Some(second)) = (edge.key, edge.from_op, edge.to_op) else {
            return Err(Refusal::new("a ww edge lacks its key or a write"));
        };
        self.facts.require_last_write(edge.from, first, key)?;
        self.facts.require_last_write(edge.to, second, key)?;
        key_order::check_pair(self.facts, key, (edge.from, before), (edge.to, after))
    }

    fn require_taken(&self, txn: TxnId) -> Result<(), Refusal> {
        require!(
            (self.takes)(txn),
            "{} need not have committed",
            self.name(txn)
        );
        Ok(())
    }

    fn require_writer(&self, reader: TxnId, read: OpId, expected: TxnId) -> Result<(), Refusal> {
        let writer = (self.writer)(reader, read)?;
        require!(
            writer == expected,
            "{} of {} reads from {}, not from {}",
            self.facts.history.op_text(read),
            self.name(reader),
            self.name(writer),
            self.name(expected)
        );
        Ok(())
    }

    fn name(&self, txn: TxnId) -> String {
        name(self.history(), txn)
    }

    fn history(&self) -> &History {
        self.facts.history
    }
}

/// Whether the level makes a transaction see whoever such a path comes from.
fn is_admissible(level: Level, path: &[Edge], read: OpId) -> bool {
    use EdgeKind::{So, Wr};
    let kinds: Vec<EdgeKind> = path.iter().map(|edge| edge.kind).collect();
    match level {
        Level::ReadUncommitted => false,
        Level::ReadCommitted | Level::CursorStability => {
            kinds == [Wr] && path[0].to_op.is_some_and(|earlier| earlier < read)
        }
        Level::ReadYourWrites => kinds == [So],
        Level::MonotonicReads => kinds == [Wr, So],
        Level::MonotonicWrites => kinds == [So, Wr],
        Level::WritesFollowReads => kinds == [Wr, Wr] || kinds == [Wr, So, Wr],
        Level::ReadAtomic | Level::UpdateAtomic => kinds == [So] || kinds == [Wr],
        Level::NonMonotonicSnapshotIsolation | Level::SnapshotIsolation | Level::Serializable => {
            kinds.iter().all(|&kind| kind == Wr)
        }
        _ => level.implies(Level::Causal),
    }
}
