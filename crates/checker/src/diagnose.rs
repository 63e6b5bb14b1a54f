//! What is wrong with a history that breaks a rule: every pattern present, counted, with a
//! smallest instance.
//!
//! Definition: an instance is a forced edge `t2 → t1` (some reader read a key from `t1` and had to
//! see `t2`) on a cycle of so ∪ wr ∪ forced. If `t1` happens before `t2` the pattern is the plain
//! one (the reader saw an overwritten version), otherwise only the forced edges together contradict
//! each other. A reader that read another key from `t2` directly saw a part of `t2`'s writes.
//!
//! Steps: the cycles of so ∪ wr (cyclic causality); the forced edges of the rule where cycles can be
//! (`windows`); the components of the whole; the edges inside them are the instances; one walk of
//! clocks tells which `t1` happen before `t2`; breadth-first search finds the smallest cycle among a
//! bounded number of instances.
//!
//! Cost: as `saturate` for what lies around the contradictions, a few linear walks, and one search
//! for each instance tried.

use crate::Budget;
use crate::budget::Limit;
use crate::clocks;
use crate::graph::{Components, Graph};
use crate::observe::{Link, Observed};
use crate::order::{Forced, ForcedEdges, StaleRead};
use crate::rounds::Contradictions;
use crate::rule::Rule;
use crate::saturate::{self, Wanted};
use crate::windows::{Stale, Windows};
use crate::witness::Witnesses;
use history::{Anomaly, AnomalyKind, TxnId};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Instances kept in memory; those beyond are not counted.
const INSTANCES_MAX: usize = 4 << 20;

/// Forced edges kept in memory. Where there are more, some instances are not seen.
const EDGES_MAX: usize = 8 << 20;

/// Everything that contradicts a rule, as anomalies with evidence.
pub fn diagnose(
    observed: &Observed<'_>,
    rule: Rule,
    found: Contradictions,
    budget: &Budget<'_>,
) -> Result<Vec<Anomaly>, Limit> {
    (budget.progress)("diagnosing");
    let none = ForcedEdges::default();
    let base = Graph {
        observed,
        forced: &none,
        base: true,
    }
    .components();
    let known = crate::rounds::known_edges(observed);
    let stale = found.order.as_ref().map(|order| Stale::of(observed, order));
    let search = Diagnosis {
        observed,
        rule,
        base: &base,
        stale: stale.as_ref(),
        budget,
    };
    let all = search.forced_edges(&known, &found)?;
    let graph = Graph {
        observed,
        forced: &all,
        base: true,
    };
    let components = graph.components();
    let instances = search.instances(&components, found)?;
    let plain = search.happens_before(&instances.edges)?;
    let mut by_kind: BTreeMap<AnomalyKind, Vec<Forced>> = BTreeMap::new();
    for (edge, plain) in instances.edges.iter().zip(plain) {
        by_kind
            .entry(kind_of(rule, edge, plain))
            .or_default()
            .push(*edge);
    }
    let witnesses = Witnesses {
        observed,
        rule,
        graph: &graph,
        components: &components,
        base: &base,
    };
    let mut anomalies = Vec::new();
    if base.sizes.iter().any(|&size| size > 1) {
        anomalies.push(witnesses.cyclic());
    } else if !known.is_empty() {
        anomalies.extend(witnesses.cyclic_with_known(&ForcedEdges::new(known)));
    }
    if !instances.initial.is_empty() {
        anomalies.push(witnesses.initial(&instances.initial));
    }
    for (kind, edges) in by_kind {
        budget.check("explaining")?;
        anomalies.push(witnesses.forced(kind, &edges));
    }
    Ok(anomalies)
}

/// What the stages of one diagnosis share.
struct Diagnosis<'a> {
    observed: &'a Observed<'a>,
    rule: Rule,
    /// The components of so ∪ wr.
    base: &'a Components,
    /// The reads that are stale in the last order, if there was one.
    stale: Option<&'a Stale>,
    budget: &'a Budget<'a>,
}

impl Diagnosis<'_> {
    /// Whether all forced edges are generated; otherwise those that the rounds found stand.
    fn saturates(&self) -> bool {
        saturate::is_possible(self.observed, self.rule)
    }

    /// Known version orders and the forced edges that cycles can consist of, each once.
    fn forced_edges(&self, known: &[Forced], found: &Contradictions) -> Result<ForcedEdges, Limit> {
        let mut edges = Edges::of(known);
        match (&found.order, self.stale) {
            _ if !self.saturates() => {}
            (Some(order), Some(stale)) => self.edges_in_windows(order, stale, &mut edges)?,
            _ => self.saturate(Wanted::ALL, &mut |edge| edges.add(edge))?,
        }
        if !self.saturates() || edges.kept.len() >= EDGES_MAX {
            // These contradict each other, whatever else there is.
            edges.kept.extend(found.forced.iter().copied());
        }
        Ok(ForcedEdges::new(edges.kept))
    }

    /// The forced edges that cycles can consist of, by an order and its stale reads.
    fn edges_in_windows(
        &self,
        order: &[u32],
        stale: &Stale,
        edges: &mut Edges,
    ) -> Result<(), Limit> {
        let is_stale = |op: u32| stale.has(op);
        let of_stale = Wanted {
            reads: &is_stale,
            on_cycles: None,
        };
        self.saturate(of_stale, &mut |edge| edges.add(edge))?;
        let windows = Windows::new(self.observed, order, &edges.kept);
        let links = &self.observed.links;
        let reads_window = |op: u32| {
            let link = links[op as usize];
            Link::is_txn(link) && windows.has(link) && !stale.has(op)
        };
        let of_windows = Wanted {
            reads: &reads_window,
            on_cycles: None,
        };
        self.saturate(of_windows, &mut |edge| {
            if windows.same(edge.from, edge.to) {
                edges.add(edge);
            }
        })
    }

    /// The forced edges on cycles, with all reads that force them.
    fn instances<'c>(
        &self,
        components: &'c Components,
        found: Contradictions,
    ) -> Result<Instances<'c>, Limit> {
        let mut instances = Instances {
            edges: Vec::new(),
            initial: Vec::new(),
            components,
        };
        if self.saturates() {
            let may_contradict = |op: u32| {
                let is_initial = self.observed.links[op as usize] == Link::INITIAL;
                !is_initial || self.stale.is_none_or(|stale| stale.has(op))
            };
            let wanted = Wanted {
                reads: &may_contradict,
                on_cycles: Some(components),
            };
            self.saturate(wanted, &mut |edge| instances.add(edge))?;
        } else {
            instances.initial = found.initial;
            found.forced.iter().for_each(|&edge| instances.add(edge));
        }
        instances.tidy();
        Ok(instances)
    }

    /// Calls `found` for the forced edges of the rule.
    fn saturate(&self, wanted: Wanted<'_>, found: &mut dyn FnMut(Forced)) -> Result<(), Limit> {
        let Diagnosis {
            observed,
            rule,
            base,
            budget,
            ..
        } = *self;
        saturate::edges_of_rule(observed, rule, base, budget, wanted, found)
    }

    /// For each edge `t2 → t1`: whether `t1` happens before `t2`.
    fn happens_before(&self, edges: &[Forced]) -> Result<Vec<bool>, Limit> {
        let observed = self.observed;
        let mut answers = vec![false; edges.len()];
        if edges.is_empty() {
            return Ok(answers);
        }
        if !clocks::affordable(observed) {
            let none = ForcedEdges::default();
            let graph = Graph {
                observed,
                forced: &none,
                base: true,
            };
            for (answer, edge) in answers.iter_mut().zip(edges) {
                self.budget.check("classifying")?;
                let path = graph.shortest_path(edge.to, edge.from, None, true, &mut { u64::MAX });
                *answer = path.is_some();
            }
            return Ok(answers);
        }
        let mut asked: Vec<u32> = (0..edges.len() as u32).collect();
        asked.sort_unstable_by_key(|&index| edges[index as usize].from);
        let history = observed.history;
        clocks::walk(
            observed,
            &self.base.order,
            Some(self.base),
            self.budget,
            |txn, row, _| {
                let start = asked.partition_point(|&index| edges[index as usize].from < txn);
                let mine = asked[start..]
                    .iter()
                    .take_while(|&&i| edges[i as usize].from == txn);
                for &index in mine {
                    let t1 = edges[index as usize].to;
                    answers[index as usize] = row[history.session_of(TxnId(t1)).index()] > t1;
                }
            },
        )?;
        Ok(answers)
    }
}

/// What an instance is called.
fn kind_of(rule: Rule, edge: &Forced, plain: bool) -> AnomalyKind {
    use AnomalyKind::*;
    match (rule, edge.direct, plain) {
        (Rule::ReadCommitted, _, true) => NonMonotonicRead,
        (Rule::ReadCommitted, _, false) => NonMonotonicReadConflict,
        (Rule::ReadAtomic | Rule::Causal, true, true) => FracturedRead,
        (Rule::ReadAtomic | Rule::Causal, true, false) => FracturedReadConflict,
        (_, _, true) => CausalityViolation,
        (_, _, false) => ConflictingOrder,
    }
}

/// Forced edges, each once.
struct Edges {
    kept: Vec<Forced>,
    seen: FxHashSet<(u32, u32)>,
}

impl Edges {
    /// Begins with version orders that are known.
    fn of(known: &[Forced]) -> Edges {
        Edges {
            kept: known.to_vec(),
            seen: FxHashSet::default(),
        }
    }

    fn add(&mut self, edge: Forced) {
        let is_new = edge.to != TxnId::INITIAL.0
            && edge.reader != Forced::KNOWN
            && self.kept.len() < EDGES_MAX
            && self.seen.insert((edge.to, edge.from));
        if is_new {
            self.kept.push(edge);
        }
    }
}

/// The instances of a rule's violation.
struct Instances<'a> {
    edges: Vec<Forced>,
    /// Reads of an initial version, each with a writer that was to be seen.
    initial: Vec<(StaleRead, u32)>,
    components: &'a Components,
}

impl Instances<'_> {
    /// Keeps a forced edge if it contradicts something.
    fn add(&mut self, edge: Forced) {
        if edge.to == TxnId::INITIAL.0 {
            let read = StaleRead::new(edge.read, edge.reader);
            self.initial.push((read, edge.from));
        } else if edge.reader != Forced::KNOWN
            && self.components.same(edge.from, edge.to)
            && self.edges.len() < INSTANCES_MAX
        {
            self.edges.push(edge);
        }
    }

    fn tidy(&mut self) {
        self.edges
            .sort_unstable_by_key(|e| (e.to, e.from, e.read, e.reader, !e.direct));
        self.edges
            .dedup_by_key(|edge| (edge.to, edge.from, edge.read));
        self.initial
            .sort_unstable_by_key(|(read, t2)| (read.op, *t2));
        self.initial.dedup_by_key(|(read, _)| read.op);
    }
}
