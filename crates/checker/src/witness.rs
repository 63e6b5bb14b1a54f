//! Evidence for the patterns: the smallest cycle among the instances tried, with the operations
//! behind every edge.

use crate::graph::{Components, Graph, Step};
use crate::observe::Observed;
use crate::order::{Forced, ForcedEdges, StaleRead};
use crate::rule::Rule;
use history::{Anomaly, AnomalyKind, Edge, EdgeKind, KeyId, OpId, Reason, TxnId};

/// Instances tried for the smallest cycle, and the steps that all tries of a kind may take.
const TRIES_MAX: usize = 512;
const STEPS_MAX: u64 = 8_000_000;

/// Builds evidence for a rule from its graph.
pub struct Witnesses<'a> {
    pub observed: &'a Observed<'a>,
    pub rule: Rule,
    /// so ∪ wr ∪ forced.
    pub graph: &'a Graph<'a>,
    /// Its components.
    pub components: &'a Components,
    /// The components of so ∪ wr alone.
    pub base: &'a Components,
}

impl Witnesses<'_> {
    /// A smallest cycle of so ∪ wr.
    pub fn cyclic(&self) -> Anomaly {
        let count = self.base.sizes.iter().filter(|&&size| size > 1).count() as u64;
        let cycle = self.smallest_cycle(self.base, self.graph, true);
        self.anomaly(AnomalyKind::CyclicCausality, count, cycle)
    }

    /// A cycle of so ∪ wr and known version orders, where so ∪ wr alone has none.
    pub fn cyclic_with_known(&self, known: &ForcedEdges) -> Option<Anomaly> {
        let graph = Graph {
            observed: self.observed,
            forced: known,
            base: true,
        };
        let components = graph.components();
        let count = components.sizes.iter().filter(|&&size| size > 1).count() as u64;
        if count == 0 {
            return None;
        }
        let only_known = Graph {
            observed: self.observed,
            forced: known,
            base: false,
        };
        let dirty = only_known.components().sizes.iter().any(|&size| size > 1);
        if dirty {
            return Some(dirty_write(self.observed, known));
        }
        let cycle = smallest_cycle(&graph, &components, false);
        let edges = cycle
            .iter()
            .map(|&step| edge_of(self.observed, self.rule, known, step));
        Some(anomaly(
            AnomalyKind::CyclicCausality,
            count,
            edges.collect(),
        ))
    }

    fn smallest_cycle(&self, components: &Components, graph: &Graph<'_>, plain: bool) -> Vec<Edge> {
        let cycle = smallest_cycle(graph, components, plain);
        cycle.iter().map(|&step| self.edge(step)).collect()
    }

    /// A read of an initial version although a write was to be seen: the one with the shortest
    /// way from the write to the reader.
    pub fn initial(&self, reads: &[(StaleRead, u32)]) -> Anomaly {
        let mut best: Option<Edge> = None;
        let mut limit = STEPS_MAX;
        for &(read, t2) in reads.iter().take(TRIES_MAX) {
            let forced = Forced {
                to: TxnId::INITIAL.0,
                from: t2,
                read: read.op,
                reader: read.reader,
                direct: false,
            };
            let edge = forced_edge(self.observed, self.rule, &forced, &mut limit);
            let length = |edge: &Edge| reason_length(edge);
            if best
                .as_ref()
                .is_none_or(|known| length(&edge) < length(known))
            {
                best = Some(edge);
            }
            if limit == 0 {
                break;
            }
        }
        let edges = best.into_iter().collect();
        self.anomaly(AnomalyKind::InitialRead, reads.len() as u64, edges)
    }

    /// Forced edges on cycles: the one with the smallest cycle.
    pub fn forced(&self, kind: AnomalyKind, edges: &[Forced]) -> Anomaly {
        use AnomalyKind::*;
        let plain = matches!(kind, NonMonotonicRead | FracturedRead | CausalityViolation);
        let mut limit = STEPS_MAX;
        let mut best: Option<(usize, &Forced, Vec<Step>)> = None;
        let stride = edges.len().div_ceil(TRIES_MAX).max(1);
        for edge in edges.iter().step_by(stride) {
            let within = Some(self.components);
            let Some(path) = self
                .graph
                .shortest_path(edge.to, edge.from, within, plain, &mut limit)
            else {
                if limit == 0 { break } else { continue }
            };
            let reason = forced_edge(self.observed, self.rule, edge, &mut limit);
            let size = path.len() + reason_length(&reason);
            if best.as_ref().is_none_or(|(known, ..)| size < *known) {
                best = Some((size, edge, path));
            }
        }
        let (edge, path) = match best {
            Some((_, edge, path)) => (edge, path),
            // Too large for the budget of the search: take the first without one.
            None => {
                let edge = &edges[0];
                let within = Some(self.components);
                let path = self
                    .graph
                    .shortest_path(edge.to, edge.from, within, plain, &mut { u64::MAX });
                (edge, path.expect("an instance lies on a cycle"))
            }
        };
        let mut cycle = vec![forced_edge(self.observed, self.rule, edge, &mut {
            u64::MAX
        })];
        cycle.extend(path.into_iter().map(|step| self.edge(step)));
        let mut reads: Vec<u32> = edges.iter().map(|edge| edge.read).collect();
        reads.sort_unstable();
        reads.dedup();
        self.anomaly(kind, reads.len() as u64, cycle)
    }

    fn edge(&self, step: Step) -> Edge {
        edge_of(self.observed, self.rule, self.graph.forced, step)
    }

    fn anomaly(&self, kind: AnomalyKind, count: u64, edges: Vec<Edge>) -> Anomaly {
        anomaly(kind, count, edges)
    }
}

/// A cycle of known version orders.
pub fn dirty_write(observed: &Observed<'_>, known: &ForcedEdges) -> Anomaly {
    let graph = Graph {
        observed,
        forced: known,
        base: false,
    };
    let components = graph.components();
    let count = components.sizes.iter().filter(|&&size| size > 1).count() as u64;
    let cycle = smallest_cycle(&graph, &components, false);
    let edges = cycle
        .iter()
        .map(|&step| edge_of(observed, Rule::ReadCommitted, known, step));
    anomaly(AnomalyKind::DirtyWrite, count, edges.collect())
}

fn anomaly(kind: AnomalyKind, count: u64, edges: Vec<Edge>) -> Anomaly {
    let mut transactions: Vec<TxnId> = Vec::new();
    let reasons = edges.iter().filter_map(|edge| match &edge.because {
        Some(Reason::Read { path, .. }) => Some(path.iter()),
        _ => None,
    });
    let ends = |edge: &Edge| [edge.from, edge.to];
    for txn in edges.iter().chain(reasons.flatten()).flat_map(ends) {
        if txn != TxnId::INITIAL && !transactions.contains(&txn) {
            transactions.push(txn);
        }
    }
    let (ops, assuming, explanation) = (Vec::new(), Vec::new(), String::new());
    Anomaly {
        kind,
        count,
        transactions,
        ops,
        edges,
        assuming,
        explanation,
    }
}

/// A smallest cycle among the transactions of the smallest non-trivial components.
fn smallest_cycle(graph: &Graph<'_>, components: &Components, plain: bool) -> Vec<Step> {
    let cyclic = |txn: &&u32| components.sizes[components.of[**txn as usize] as usize] > 1;
    let mut starts: Vec<u32> = components.order.iter().filter(cyclic).copied().collect();
    starts.sort_by_key(|&txn| components.sizes[components.of[txn as usize] as usize]);
    let mut best: Option<Vec<Step>> = None;
    let mut limit = STEPS_MAX;
    for &txn in starts.iter().take(TRIES_MAX) {
        let cycle = graph.shortest_path(txn, txn, Some(components), plain, &mut limit);
        if let Some(cycle) = cycle
            && best.as_ref().is_none_or(|known| cycle.len() < known.len())
        {
            best = Some(cycle);
        }
    }
    best.or_else(|| {
        graph.shortest_path(starts[0], starts[0], Some(components), plain, &mut {
            u64::MAX
        })
    })
    .expect("a component of several transactions has a cycle")
}

fn reason_length(edge: &Edge) -> usize {
    match &edge.because {
        Some(Reason::Read { path, .. }) => path.len(),
        _ => 0,
    }
}

fn so_edge(from: u32, to: u32) -> Edge {
    Edge {
        from: TxnId(from),
        to: TxnId(to),
        kind: EdgeKind::So,
        key: None,
        from_op: None,
        to_op: None,
        because: None,
    }
}

fn wr_edge(observed: &Observed<'_>, from: u32, to: u32, read: u32) -> Edge {
    let key = observed.history.ops().keys[read as usize];
    Edge {
        from: TxnId(from),
        to: TxnId(to),
        kind: EdgeKind::Wr,
        key: Some(key),
        from_op: observed.write_to(TxnId(from), key),
        to_op: Some(OpId(read)),
        because: None,
    }
}

fn edge_of(observed: &Observed<'_>, rule: Rule, forced: &ForcedEdges, step: Step) -> Edge {
    match step {
        Step::So { from, to } => so_edge(from, to),
        Step::Wr { from, to, read } => wr_edge(observed, from, to, read),
        Step::Forced { index, .. } => {
            let edge = forced.edges[index as usize];
            forced_edge(observed, rule, &edge, &mut { u64::MAX })
        }
    }
}

fn forced_edge(observed: &Observed<'_>, rule: Rule, edge: &Forced, limit: &mut u64) -> Edge {
    let (from, to) = (TxnId(edge.from), TxnId(edge.to));
    if edge.reader == Forced::KNOWN {
        let known = observed.known[edge.read as usize];
        return Edge {
            from,
            to,
            kind: EdgeKind::Ww,
            key: Some(observed.history.op(known.read).key),
            from_op: Some(known.from_op),
            to_op: Some(known.to_op),
            because: Some(Reason::List { read: known.read }),
        };
    }
    let key = observed.history.ops().keys[edge.read as usize];
    let path = reason_path(observed, rule, edge, key, limit);
    Edge {
        from,
        to,
        kind: EdgeKind::Ww,
        key: Some(key),
        from_op: observed.write_to(from, key),
        to_op: if to == TxnId::INITIAL {
            None
        } else {
            observed.write_to(to, key)
        },
        because: Some(Reason::Read {
            read: OpId(edge.read),
            path,
        }),
    }
}

/// Why the reader had to see `edge.from`, in the form the rule demands.
fn reason_path(
    observed: &Observed<'_>,
    rule: Rule,
    edge: &Forced,
    key: KeyId,
    limit: &mut u64,
) -> Vec<Edge> {
    let (t2, t3) = (edge.from, edge.reader);
    let history = observed.history;
    let same_session = history.session_of(TxnId(t2)) == history.session_of(TxnId(t3)) && t2 < t3;
    let read_of = |reader: u32, writer: u32| {
        observed
            .reads(TxnId(reader))
            .find(|&(_, _, w)| w.0 == writer)
            .map(|(op, ..)| op.0)
    };
    let other_key = || {
        let mut reads = observed.reads(TxnId(t3));
        reads
            .find(|&(_, other, w)| w.0 == t2 && other != key)
            .map(|(op, ..)| op.0)
    };
    match rule {
        Rule::ReadYourWrites => vec![so_edge(t2, t3)],
        Rule::ReadAtomic => match other_key() {
            None if same_session => vec![so_edge(t2, t3)],
            other => {
                let read = other
                    .or_else(|| read_of(t3, t2))
                    .expect("the reader read from it");
                vec![wr_edge(observed, t2, t3, read)]
            }
        },
        Rule::ReadCommitted => {
            let read = read_of(t3, t2).expect("the reader read from it");
            vec![wr_edge(observed, t2, t3, read)]
        }
        Rule::MonotonicReads => {
            let start = history.session_txns(history.session_of(TxnId(t3))).start;
            let middle = first_reader(observed, start..t3, t2).expect("the session read from it");
            vec![
                wr_edge(observed, t2, middle.0, middle.1),
                so_edge(middle.0, t3),
            ]
        }
        Rule::MonotonicWrites => {
            let session = history.session_of(TxnId(t2));
            let (op, _, middle) = observed
                .reads(TxnId(t3))
                .find(|&(_, _, w)| history.session_of(w) == session && w.0 > t2)
                .expect("the reader read from the session");
            vec![so_edge(t2, middle.0), wr_edge(observed, middle.0, t3, op.0)]
        }
        Rule::WritesFollowReads => observed
            .reads(TxnId(t3))
            .find_map(|(op, _, middle)| {
                let start = history.session_txns(history.session_of(middle)).start;
                let first = first_reader(observed, start..middle.0 + 1, t2)?;
                let mut path = vec![wr_edge(observed, t2, first.0, first.1)];
                if first.0 != middle.0 {
                    path.push(so_edge(first.0, middle.0));
                }
                path.push(wr_edge(observed, middle.0, t3, op.0));
                Some(path)
            })
            .expect("the reader read from a session that had read from it"),
        Rule::Causal => {
            if let Some(read) = other_key() {
                return vec![wr_edge(observed, t2, t3, read)];
            }
            let none = ForcedEdges::default();
            let graph = Graph {
                observed,
                forced: &none,
                base: true,
            };
            let path = graph
                .shortest_path(t2, t3, None, true, limit)
                .or_else(|| graph.shortest_path(t2, t3, None, true, &mut { u64::MAX }));
            let path = path.expect("it happens before the reader");
            path.iter()
                .map(|&step| edge_of(observed, rule, &none, step))
                .collect()
        }
    }
}

/// The first transaction of a range that read from `writer`, and the read.
fn first_reader(
    observed: &Observed<'_>,
    range: std::ops::Range<u32>,
    writer: u32,
) -> Option<(u32, u32)> {
    range
        .filter(|&txn| observed.taken[txn as usize])
        .find_map(|txn| {
            let read = observed.reads(TxnId(txn)).find(|&(_, _, w)| w.0 == writer);
            read.map(|(op, ..)| (txn, op.0))
        })
}
