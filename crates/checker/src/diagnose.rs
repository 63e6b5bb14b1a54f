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
    let is_cyclic = base.sizes.iter().any(|&size| size > 1);
    let known = crate::rounds::known_edges(observed);
    let saturates = match rule {
        Rule::ReadCommitted | Rule::ReadAtomic => true,
        Rule::Causal => clocks::affordable(observed),
        _ => false,
    };
    let mut edges = known.edges.clone();
    if saturates {
        let mut seen: FxHashSet<(u32, u32)> = FxHashSet::default();
        saturate(observed, rule, &base, budget, Wanted::Forced, &mut |edge| {
            if edge.to != TxnId::INITIAL.0 && seen.insert((edge.to, edge.from)) {
                edges.push(edge);
            }
        })?;
    } else {
        edges.extend(found.forced.edges.iter().copied());
    }
    let all = ForcedEdges::new(edges);
    let graph = Graph {
        observed,
        forced: &all,
        base: true,
    };
    let components = graph.components();
    let mut instances = Instances {
        edges: Vec::new(),
        initial: found.initial,
        components: &components,
    };
    if saturates {
        instances.initial.clear();
        let wanted = Wanted::OnCycles(&components);
        saturate(observed, rule, &base, budget, wanted, &mut |edge| {
            instances.add(edge)
        })?;
    } else {
        found
            .forced
            .edges
            .iter()
            .for_each(|&edge| instances.add(edge));
    }
    instances.tidy();
    let before = happens_before(observed, &instances.edges, &base, budget)?;
    let mut by_kind: BTreeMap<AnomalyKind, Vec<Forced>> = BTreeMap::new();
    for (edge, plain) in instances.edges.iter().zip(before) {
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
    if is_cyclic {
        anomalies.push(witnesses.cyclic());
    } else if !known.edges.is_empty() {
        anomalies.extend(witnesses.cyclic_with_known(&known));
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
            let read = StaleRead {
                op: edge.read,
                reader: edge.reader,
            };
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

/// Calls `found` for the forced edges of a rule.
fn saturate(
    observed: &Observed<'_>,
    rule: Rule,
    base: &Components,
    budget: &Budget<'_>,
    wanted: Wanted<'_>,
    found: &mut dyn FnMut(Forced),
) -> Result<(), Limit> {
    saturate::direct_edges(observed, rule, found);
    budget.check("forced edges")?;
    if rule == Rule::ReadAtomic {
        saturate::session_edges(observed, found);
    }
    if rule == Rule::Causal {
        saturate::causal_edges(observed, &base.order, Some(base), budget, wanted, found)?;
    }
    Ok(())
}

/// For each edge `t2 → t1`: whether `t1` happens before `t2`.
fn happens_before(
    observed: &Observed<'_>,
    edges: &[Forced],
    base: &Components,
    budget: &Budget<'_>,
) -> Result<Vec<bool>, Limit> {
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
            budget.check("classifying")?;
            let mut limit = u64::MAX;
            *answer = graph
                .shortest_path(edge.to, edge.from, None, true, &mut limit)
                .is_some();
        }
        return Ok(answers);
    }
    let mut asked: Vec<u32> = (0..edges.len() as u32).collect();
    asked.sort_unstable_by_key(|&index| edges[index as usize].from);
    let history = observed.history;
    clocks::walk(observed, &base.order, Some(base), budget, |txn, row, _| {
        let start = asked.partition_point(|&index| edges[index as usize].from < txn);
        for &index in &asked[start..] {
            let edge = edges[index as usize];
            if edge.from != txn {
                break;
            }
            answers[index as usize] = row[history.session_of(TxnId(edge.to)).index()] > edge.to;
        }
    })?;
    Ok(answers)
}
