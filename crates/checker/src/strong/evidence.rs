//! From cycles of events to cycles of transactions, with the operations behind every edge.

use super::known::{Known, Why};
use super::refutation::{Cycle, CycleWhy};
use super::topological::Label;
use crate::observe::{Link, Observed};
use history::{Edge, EdgeKind, KeyId, OpId, Reason, TxnId};

/// The cycles as edges between transactions. Orders that list reads show are facts; each one that
/// a read of an overwritten version rests on gets a cycle of its own that says so, unless that read shows it by itself.
pub fn edges(known: &Known<'_>, cycles: &[Cycle]) -> Vec<Vec<Edge>> {
    let mut all: Vec<Vec<Edge>> = Vec::new();
    let mut facts: Vec<Vec<Edge>> = Vec::new();
    for cycle in cycles {
        let mut writer = Writer {
            known,
            observed: known.observed,
            edges: Vec::new(),
            facts: &mut facts,
        };
        writer.write(cycle);
        all.push(writer.edges);
    }
    facts.sort_by_key(|cycle| (cycle[0].from, cycle[0].to, cycle[0].key));
    facts.dedup();
    all.extend(facts);
    all
}

struct Writer<'w> {
    known: &'w Known<'w>,
    observed: &'w Observed<'w>,
    edges: Vec<Edge>,
    facts: &'w mut Vec<Vec<Edge>>,
}

impl Writer<'_> {
    fn write(&mut self, cycle: &Cycle) {
        let first_completion = self.known.first_completion();
        let is_txn = |event: u32| event < first_completion;
        let begin = cycle.steps.iter().position(|&(from, ..)| is_txn(from));
        let begin = begin.expect("the line of completions has no cycle of its own");
        let steps = cycle.steps[begin..].iter().chain(&cycle.steps[..begin]);
        let mut left = 0;
        for &(from, to, why) in steps {
            if is_txn(from) {
                left = from;
            }
            if is_txn(to) {
                let shape = self.known.shape;
                self.step(shape.txn(left), shape.txn(to), why);
            }
        }
    }

    fn step(&mut self, from: u32, to: u32, why: CycleWhy) {
        let (from, to) = (TxnId(from), TxnId(to));
        match why {
            CycleWhy::Known(Why::Own | Why::Implied | Why::Choice(_)) => {}
            CycleWhy::Known(Why::Session) => self.plain(from, to, EdgeKind::So),
            CycleWhy::Known(Why::Time) => self.plain(from, to, EdgeKind::Rt),
            CycleWhy::Known(Why::Read(read)) => self.read(from, to, read, None),
            CycleWhy::Known(Why::ListOrder(place)) => {
                let edge = self.listed(place);
                self.edges.push(edge);
            }
            CycleWhy::Known(Why::ListRead(read, place)) => {
                let fact = self.listed(place);
                let key = fact.key.expect("a version order has a key");
                self.overwritten(from, to, read, None);
                let append = self.observed.write_to(to, key);
                if !append.is_some_and(|append| self.observed.lacks(OpId(read), append)) {
                    let opposite = self.older(fact.to, fact.from, key);
                    self.facts.push(vec![opposite, fact]);
                }
            }
            CycleWhy::Chosen(edge) => match edge.label {
                Label::Session => self.plain(from, to, EdgeKind::So),
                Label::Time => self.plain(from, to, EdgeKind::Rt),
                Label::Read(read) => {
                    let version = self.is_ambiguous(read).then_some(from);
                    self.read(from, to, read, version);
                }
                Label::Older(key) => {
                    let edge = self.older(from, to, KeyId(key));
                    self.edges.push(edge);
                }
                Label::Overwritten { read, version_of } => {
                    let version = self.is_ambiguous(read).then_some(TxnId(version_of));
                    self.overwritten(from, to, read, version);
                }
            },
        }
    }

    fn is_ambiguous(&self, read: u32) -> bool {
        self.observed.links[read as usize] == Link::AMBIGUOUS
    }

    fn key_of(&self, op: u32) -> KeyId {
        self.observed.history.ops().keys[op as usize]
    }

    fn plain(&mut self, from: TxnId, to: TxnId, kind: EdgeKind) {
        self.edges.push(Edge {
            from,
            to,
            kind,
            key: None,
            from_op: None,
            to_op: None,
            because: None,
        });
    }

    fn read(&mut self, from: TxnId, to: TxnId, read: u32, version: Option<TxnId>) {
        let key = self.key_of(read);
        self.edges.push(Edge {
            from,
            to,
            kind: EdgeKind::Wr,
            key: Some(key),
            from_op: self.observed.write_to(from, key),
            to_op: Some(OpId(read)),
            because: version.map(|writer| Reason::Version { writer }),
        });
    }

    fn overwritten(&mut self, from: TxnId, to: TxnId, read: u32, version: Option<TxnId>) {
        let key = self.key_of(read);
        self.edges.push(Edge {
            from,
            to,
            kind: EdgeKind::Rw,
            key: Some(key),
            from_op: Some(OpId(read)),
            to_op: self.observed.write_to(to, key),
            because: version.map(|writer| Reason::Version { writer }),
        });
    }

    fn older(&self, from: TxnId, to: TxnId, key: KeyId) -> Edge {
        Edge {
            from,
            to,
            kind: EdgeKind::Ww,
            key: Some(key),
            from_op: self.observed.write_to(from, key),
            to_op: self.observed.write_to(to, key),
            because: None,
        }
    }

    fn listed(&self, place: u32) -> Edge {
        let known = &self.observed.known[place as usize];
        Edge {
            from: known.from,
            to: known.to,
            kind: EdgeKind::Ww,
            key: Some(self.observed.history.op(known.from_op).key),
            from_op: Some(known.from_op),
            to_op: Some(known.to_op),
            because: Some(known.reason()),
        }
    }
}
