//! Evidence for the patterns: the smallest cycle among the instances tried, with the operations
//! behind every edge.

use crate::evidence::Evidence;
use crate::graph::{Components, Graph, Step};
use crate::observe::Observed;
use crate::order::{Forced, ForcedEdges, StaleRead};
use crate::rule::Rule;
use history::{Anomaly, AnomalyKind, Edge, Reason, TxnId};

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
        let edges = cycle.iter().map(|&step| self.evidence().step(known, step));
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
            let edge = self.evidence().forced(&forced, &mut limit);
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
            let reason = self.evidence().forced(edge, &mut limit);
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
        let mut cycle = vec![self.evidence().forced(edge, &mut { u64::MAX })];
        cycle.extend(path.into_iter().map(|step| self.edge(step)));
        let mut reads: Vec<u32> = edges.iter().map(|edge| edge.read).collect();
        reads.sort_unstable();
        reads.dedup();
        self.anomaly(kind, reads.len() as u64, cycle)
    }

    fn evidence(&self) -> Evidence<'_> {
        Evidence {
            observed: self.observed,
            rule: self.rule,
        }
    }

    fn edge(&self, step: Step) -> Edge {
        self.evidence().step(self.graph.forced, step)
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
    let evidence = Evidence {
        observed,
        rule: Rule::ReadCommitted,
    };
    let edges = cycle.iter().map(|&step| evidence.step(known, step));
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
        otherwise: Vec::new(),
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
