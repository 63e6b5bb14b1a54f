//! Evidence for the patterns: the smallest cycle among the instances tried, with the operations
//! behind every edge.

use crate::evidence::Evidence;
use crate::graph::{Components, Graph, Step};
use crate::observe::Observed;
use crate::onward::Onward;
use crate::order::{Forced, ForcedEdges, StaleRead};
use crate::rule::Rule;
use crate::versions::ByVersion;
use history::{Anomaly, AnomalyKind, Edge, Reason, TxnId};
use rustc_hash::FxHashSet;

/// Instances tried for the smallest cycle, and the steps that all searches of a kind for longer ones may take.
const TRIES_MAX: usize = 512;
const STEPS_MAX: u64 = 1_000_000;

/// The steps that may be spent on a cycle of more edges, for the sake of shorter reasons.
const MORE_STEPS_MAX: u64 = 200_000;

/// No path or reason with more steps is searched for; if there is no shorter one, any will do.
const LENGTHS_MAX: u32 = 8;

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
    /// Tells the readers behind the forced edges of the graph, where these do not.
    pub versions: Option<&'a dyn ByVersion>,
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
    /// way from the write to the reader, of those tried.
    pub fn initial(&self, reads: &[(StaleRead, u32)]) -> Anomaly {
        let forced = |&(read, t2): &(StaleRead, u32)| Forced {
            to: TxnId::INITIAL.0,
            from: t2,
            read: read.op,
            reader: read.reader,
            direct: false,
        };
        let tried: Vec<Forced> = reads.iter().take(TRIES_MAX).map(forced).collect();
        let mut limit = STEPS_MAX;
        let mut reasons = |longest: u32| {
            tried.iter().find(|edge| {
                let reason = self.evidence().reason_within(edge, longest, &mut limit);
                reason.is_some()
            })
        };
        let shortest = (1..=LENGTHS_MAX).find_map(&mut reasons);
        let shown = shortest.unwrap_or(&tried[0]);
        let edges = vec![self.evidence().forced(shown, &mut { u64::MAX })];
        self.anomaly(AnomalyKind::InitialRead, reads.len() as u64, edges)
    }

    /// Forced edges on cycles: the one with the smallest cycle, of those tried. `count` are the reads that force them.
    pub fn forced(&self, kind: AnomalyKind, edges: &[Forced], count: u64) -> Anomaly {
        use AnomalyKind::*;
        let plain = matches!(kind, NonMonotonicRead | FracturedRead | CausalityViolation);
        let (edge, path) = self.smallest(edges, plain).unwrap_or_else(|| {
            // Too large for the budget of the search: take the first without one.
            let (edge, within) = (&edges[0], Some(self.components));
            let path = self
                .graph
                .shortest_path(edge.to, edge.from, within, plain, &mut { u64::MAX });
            (edge, path.expect("an instance lies on a cycle"))
        });
        let mut cycle = vec![self.evidence().forced(edge, &mut { u64::MAX })];
        cycle.extend(path.into_iter().map(|step| self.edge(step)));
        self.anomaly(kind, count, cycle)
    }

    /// Of some forced edges, one whose path back is short, together with the reasons for it and for those on the path:
    /// the shortest paths come first, and longer ones as long as shorter reasons could make up for them.
    fn smallest<'e>(&self, edges: &'e [Forced], plain: bool) -> Option<(&'e Forced, Vec<Step>)> {
        let mut best: Option<(u32, &Forced, Vec<Step>)> = None;
        let mut limit = STEPS_MAX;
        let stride = edges.len().div_ceil(TRIES_MAX).max(1);
        let mut rest: Vec<&Forced> = edges.iter().step_by(stride).collect();
        let mut onward = Onward::of(self.graph, rest.iter().map(|edge| edge.to), plain);
        for longest in 1..=LENGTHS_MAX {
            let known = best.as_ref().map_or(u32::MAX, |&(size, ..)| size);
            if known <= longest + 1 {
                break;
            }
            let mut found: Vec<(&Forced, Vec<Step>)> = Vec::new();
            rest.retain(|edge| {
                let path = onward.path(edge.to, edge.from, longest, &mut limit);
                let is_longer = path.is_none();
                found.extend(path.map(|path| (*edge, path)));
                is_longer
            });
            let mut within = |reasons: u32| {
                let mut cycles = found.iter();
                cycles.position(|(edge, path)| self.are_within(edge, path, reasons, &mut limit))
            };
            let shorter = (known - longest - 1).min(LENGTHS_MAX);
            let reasons = (1..=shorter).find_map(|reasons| Some((reasons, within(reasons)?)));
            // A reason that is longer than any that is searched for counts as one step more.
            let any = || (best.is_none() && !found.is_empty()).then_some((LENGTHS_MAX + 1, 0));
            if let Some((length, at)) = reasons.or_else(any) {
                let (edge, path) = found.swap_remove(at);
                let size = longest + length * (1 + self.forced_by_reads(&path).count() as u32);
                if size < known {
                    best = Some((size, edge, path));
                    limit = limit.min(MORE_STEPS_MAX);
                }
            }
        }
        best.map(|(_, edge, path)| (edge, path))
    }

    /// Whether an edge and those of a path have no longer reasons.
    fn are_within(&self, edge: &Forced, path: &[Step], longest: u32, limit: &mut u64) -> bool {
        let all = std::iter::once(*edge).chain(self.forced_by_reads(path));
        let evidence = self.evidence();
        all.into_iter()
            .all(|edge| evidence.reason_within(&edge, longest, limit).is_some())
    }

    /// The steps of a path that have reasons.
    fn forced_by_reads(&self, path: &[Step]) -> impl Iterator<Item = Forced> {
        let forced = path.iter().filter_map(|&step| self.forced_of(step));
        forced.filter(|edge| edge.reader != Forced::KNOWN)
    }

    fn forced_of(&self, step: Step) -> Option<Forced> {
        let Step::Forced { index, .. } = step else {
            return None;
        };
        let edge = self.graph.forced.edges[index as usize];
        match self.versions {
            Some(versions) if edge.reader != Forced::KNOWN => Some(versions.with_reader(&edge)),
            _ => Some(edge),
        }
    }

    fn evidence(&self) -> Evidence<'_> {
        Evidence {
            observed: self.observed,
            rule: self.rule,
        }
    }

    fn edge(&self, step: Step) -> Edge {
        match self.forced_of(step) {
            Some(edge) => self.evidence().forced(&edge, &mut { u64::MAX }),
            None => self.evidence().step(self.graph.forced, step),
        }
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
    let reasons = edges.iter().filter_map(|edge| match &edge.because {
        Some(Reason::Read { path, .. }) => Some(path.iter()),
        _ => None,
    });
    let ends = |edge: &Edge| [edge.from, edge.to];
    let all = edges.iter().chain(reasons.flatten()).flat_map(ends);
    let transactions = each_once(all.filter(|&txn| txn != TxnId::INITIAL));
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

/// Transactions as they come, those left out that came before: a cycle that nothing shortens can have a million.
pub fn each_once(txns: impl Iterator<Item = TxnId>) -> Vec<TxnId> {
    let mut known: FxHashSet<TxnId> = FxHashSet::default();
    txns.filter(|&txn| known.insert(txn)).collect()
}

/// A smallest cycle among the transactions of the smallest non-trivial components.
fn smallest_cycle(graph: &Graph<'_>, components: &Components, plain: bool) -> Vec<Step> {
    let cyclic = |txn: &&u32| components.sizes[components.of[**txn as usize] as usize] > 1;
    let mut starts: Vec<u32> = components.order.iter().filter(cyclic).copied().collect();
    starts.sort_by_key(|&txn| components.sizes[components.of[txn as usize] as usize]);
    let mut best: Option<Vec<Step>> = None;
    let mut limit = STEPS_MAX;
    for &txn in starts.iter().take(TRIES_MAX) {
        let longest = best
            .as_ref()
            .map_or(u32::MAX, |known| known.len() as u32 - 1);
        let within = Some(components);
        let cycle = graph.search(txn, txn, within, plain, longest, &mut limit);
        best = cycle.or(best);
    }
    best.or_else(|| {
        graph.shortest_path(starts[0], starts[0], Some(components), plain, &mut {
            u64::MAX
        })
    })
    .expect("a component of several transactions has a cycle")
}

#[cfg(test)]
mod tests {
    use super::*;
    use history::EdgeKind;

    /// Without a set of what is named already, this takes minutes.
    #[test]
    fn a_cycle_of_very_many_transactions_names_each_once() {
        let count = 1_000_000;
        let edge = |from: u32| Edge {
            from: TxnId(from),
            to: TxnId((from + 1) % count),
            kind: EdgeKind::Wr,
            key: None,
            from_op: None,
            to_op: None,
            because: None,
        };
        let edges = (0..count).map(edge).collect();
        let found = anomaly(AnomalyKind::CyclicCausality, 1, edges);
        let named: Vec<TxnId> = (0..count).map(TxnId).collect();
        assert_eq!(found.transactions, named);
    }
}
