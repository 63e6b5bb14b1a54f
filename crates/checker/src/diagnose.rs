//! What is wrong with a history that breaks a rule: every pattern present, counted, with a
//! smallest instance.
//!
//! Definition: an instance is a forced edge `t2 → t1` (some reader read a key from `t1` and had to
//! see `t2`) on a cycle of so ∪ wr ∪ forced. If `t1` happens before `t2` the pattern is the plain
//! one (the reader saw an overwritten version), otherwise only the forced edges together contradict
//! each other. A reader that read another key from `t2` directly saw a part of `t2`'s writes.
//!
//! Steps: the cycles of so ∪ wr (cyclic causality); all forced edges of the rule; the components of
//! the whole; the edges inside them are the instances; one walk of clocks tells which `t1` happen
//! before `t2`; breadth-first search finds the smallest cycle among a bounded number of instances.
//!
//! Cost: as `saturate`, plus one search for each instance tried.

use crate::Budget;
use crate::budget::Limit;
use crate::clocks;
use crate::graph::{Components, Graph};
use crate::observe::Observed;
use crate::order::{Forced, ForcedEdges, StaleRead};
use crate::rounds::Contradictions;
use crate::rule::Rule;
use crate::saturate::{self, Wanted};
use crate::witness::Witnesses;
use history::{Anomaly, AnomalyKind, TxnId};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Instances kept in memory; those beyond are not counted.
const INSTANCES_MAX: usize = 4 << 20;

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
    let search = Diagnosis {
        observed,
        rule,
        base: &base,
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
    budget: &'a Budget<'a>,
}

impl Diagnosis<'_> {
    /// Whether all forced edges are generated; otherwise those that the rounds found stand.
    fn saturates(&self) -> bool {
        saturate::is_possible(self.observed, self.rule)
    }

    /// Known version orders and all forced edges, each once.
    fn forced_edges(&self, known: &[Forced], found: &Contradictions) -> Result<ForcedEdges, Limit> {
        let mut edges = known.to_vec();
        if self.saturates() {
            let mut seen: FxHashSet<(u32, u32)> = FxHashSet::default();
            self.saturate(Wanted::Forced, &mut |edge| {
                if edge.to != TxnId::INITIAL.0 && seen.insert((edge.to, edge.from)) {
                    edges.push(edge);
                }
            })?;
        } else {
            edges.extend(found.forced.iter().copied());
        }
        Ok(ForcedEdges::new(edges))
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
            self.saturate(Wanted::OnCycles(components), &mut |edge| {
                instances.add(edge)
            })?;
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
