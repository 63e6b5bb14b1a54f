//! What is wrong with a history that breaks a rule: every pattern present, counted, with a
//! smallest instance.
//!
//! Definition: an instance is a forced edge `t2 → t1` (some reader read a key from `t1` and had to
//! see `t2`) on a cycle of so ∪ wr ∪ forced. If `t1` happens before `t2` the pattern is the plain
//! one (the reader saw an overwritten version), otherwise only the forced edges together contradict
//! each other. A reader that read another key from `t2` directly saw a part of `t2`'s writes.
//!
//! Steps: the cycles of so ∪ wr (cyclic causality); the forced edges of the rule where cycles can be
//! (`windows`); the components of the whole; the edges inside them are the instances; clocks tell which
//! `t1` happen before `t2`; the smallest cycle among a bounded number of instances is looked up (`witness`).
//!
//! Cost: as `saturate` for what lies around the contradictions, a few linear walks, and a few look-ups
//! for each instance tried.

use crate::Budget;
use crate::budget::Limit;
use crate::clocks::{self, AllRows};
use crate::graph::{Components, Graph};
use crate::instances::Instances;
use crate::observe::{Link, Observed};
use crate::order::{Forced, ForcedEdges};
use crate::rounds::Contradictions;
use crate::rule::Rule;
use crate::saturate::{self, Wanted};
use crate::versions::{ByVersion, by_version};
use crate::windows::{Stale, Windows};
use crate::witness::Witnesses;
use crate::writers::Writers;
use history::{Anomaly, AnomalyKind, TxnId};

/// Edges kept in memory to be asked what happens before what; those beyond are not counted.
const INSTANCES_MAX: usize = 4 << 20;

/// Forced edges kept in memory. Where there are more, some instances are not seen.
const EDGES_MAX: usize = 8 << 20;

/// All rows of clocks are used up to so many bytes: they tell at once what happens before what.
const ROWS_MAX: usize = 256 << 20;

/// Everything that contradicts a rule, as anomalies with evidence.
pub fn diagnose(
    observed: &Observed<'_>,
    rule: Rule,
    found: Contradictions,
    budget: &Budget<'_>,
) -> Result<Vec<Anomaly>, Limit> {
    (budget.progress)("diagnosing");
    let base = base_components(observed, found.order.as_deref());
    let known = crate::rounds::known_edges(observed);
    let stale = found.order.as_ref().map(|order| Stale::of(observed, order));
    let has_rows = found.order.is_some() && clocks::all_rows_bytes(observed) <= ROWS_MAX;
    let rows = has_rows.then(|| AllRows::new(observed, &base.order));
    let rows = rows.flatten();
    let writers = || Writers::of_keys(observed, read_keys(observed), None);
    let writers = (rule == Rule::Causal && rows.is_some()).then(writers);
    let with_writers = rows.as_ref().zip(writers.as_ref());
    let search = Diagnosis {
        observed,
        rule,
        base: &base,
        stale: stale.as_ref(),
        rows: rows.as_ref(),
        versions: with_writers.map(|(rows, writers)| by_version(observed, rows, writers)),
        budget,
    };
    let edges = search.forced_edges(&known, &found)?;
    let graph = Graph {
        observed,
        forced: &edges.graph,
        base: true,
    };
    let components = graph.components();
    let instances = search.instances(&components, edges.of_reads, found)?;
    let witnesses = Witnesses {
        observed,
        rule,
        graph: &graph,
        components: &components,
        base: &base,
        versions: search.versions.as_deref(),
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
    for (kind, of_kind) in &instances.by_kind {
        budget.check("explaining")?;
        anomalies.push(witnesses.forced(*kind, &of_kind.kept, of_kind.read_count));
    }
    Ok(anomalies)
}

/// The keys of external reads.
fn read_keys<'o>(observed: &'o Observed<'_>) -> impl Iterator<Item = u32> + 'o {
    let links = observed.links.iter().zip(&observed.history.ops().keys);
    let reads = links.filter(|&(&link, _)| Link::is_txn(link) || link == Link::INITIAL);
    reads.map(|(_, key)| key.0)
}

/// The components of so ∪ wr: single transactions if an order extends it.
fn base_components(observed: &Observed<'_>, order: Option<&[u32]>) -> Components {
    let Some(order) = order else {
        let none = ForcedEdges::default();
        let graph = Graph {
            observed,
            forced: &none,
            base: true,
        };
        return graph.components();
    };
    Components {
        of: crate::rounds::places(observed, order),
        order: order.to_vec(),
        sizes: vec![1; order.len()],
    }
}

/// What the stages of one diagnosis share.
struct Diagnosis<'a> {
    observed: &'a Observed<'a>,
    rule: Rule,
    /// The components of so ∪ wr.
    base: &'a Components,
    /// The reads that are stale in the last order, if there was one.
    stale: Option<&'a Stale>,
    /// What happens before what, if that takes little.
    rows: Option<&'a AllRows>,
    /// For causality, if there are rows.
    versions: Option<Box<dyn ByVersion + 'a>>,
    budget: &'a Budget<'a>,
}

/// Known version orders and the forced edges that cycles can consist of.
struct Edges {
    graph: ForcedEdges,
    /// The forced ones for each read, and those before initial versions; none if they were not collected.
    of_reads: Option<Vec<Forced>>,
}

impl Diagnosis<'_> {
    /// Whether all forced edges are generated; otherwise those that the rounds found stand.
    fn saturates(&self) -> bool {
        saturate::is_possible(self.observed, self.rule)
    }

    fn forced_edges(&self, known: &[Forced], found: &Contradictions) -> Result<Edges, Limit> {
        let is_direct = matches!(self.rule, Rule::ReadCommitted | Rule::ReadAtomic);
        if let (Some(order), Some(stale)) = (&found.order, self.stale)
            && is_direct
            && let Some(edges) = self.direct_edges(order, stale, &found.forced)?
        {
            let is_between = |edge: &&Forced| edge.to != TxnId::INITIAL.0;
            let between = edges.iter().filter(is_between).chain(known).copied();
            return Ok(Edges {
                graph: ForcedEdges::new(between.collect()),
                of_reads: Some(edges),
            });
        }
        if let (Some(order), Some(stale)) = (&found.order, self.stale)
            && let Some(versions) = &self.versions
        {
            let mut edges = self.version_edges(&**versions, order, stale, known)?;
            if edges.len() >= EDGES_MAX {
                edges.extend(&found.forced);
            }
            return Ok(Edges {
                graph: ForcedEdges::new(edges),
                of_reads: None,
            });
        }
        let mut edges = Distinct::of(known);
        match (&found.order, self.stale) {
            _ if !self.saturates() => {}
            (Some(order), Some(stale)) => self.edges_in_windows(order, stale, &mut edges)?,
            _ => self.saturate(Wanted::ALL, &mut |edge| edges.add(edge))?,
        }
        if !self.saturates() || edges.kept.len() >= EDGES_MAX {
            // These contradict each other, whatever else there is.
            edges.kept.extend(found.forced.iter().copied());
        }
        Ok(Edges {
            graph: ForcedEdges::new(edges.kept),
            of_reads: None,
        })
    }

    /// For read-committed and read-atomic, of which all edges that contradict the order were found: all in the windows
    /// that these make. None if they are too many.
    fn direct_edges(
        &self,
        order: &[u32],
        stale: &Stale,
        found: &[Forced],
    ) -> Result<Option<Vec<Forced>>, Limit> {
        let windows = Windows::new(self.observed, order, found);
        let links = &self.observed.links;
        let may_contradict = |op: u32| match links[op as usize] {
            Link::INITIAL => stale.has(op),
            link => Link::is_txn(link) && windows.has(link),
        };
        let wanted = Wanted {
            reads: &may_contradict,
            on_cycles: None,
        };
        let mut edges = Vec::new();
        self.saturate(wanted, &mut |edge| {
            let is_initial = edge.to == TxnId::INITIAL.0;
            if edges.len() <= EDGES_MAX && (is_initial || windows.same(edge.from, edge.to)) {
                edges.push(edge);
            }
        })?;
        Ok((edges.len() <= EDGES_MAX).then_some(edges))
    }

    /// For causality: those of all versions in the windows.
    fn version_edges(
        &self,
        versions: &dyn ByVersion,
        order: &[u32],
        stale: &Stale,
        known: &[Forced],
    ) -> Result<Vec<Forced>, Limit> {
        let place = crate::rounds::places(self.observed, order);
        let mut backward: Vec<Forced> = Vec::new();
        let is_stale = |_: u32, op: u32| stale.has(op);
        // Of those to one version, the one that spans most.
        versions.edges(
            &is_stale,
            self.budget,
            &mut |edge| match backward.last_mut() {
                Some(last) if last.to == edge.to => {
                    if place[last.from as usize] < place[edge.from as usize] {
                        *last = edge;
                    }
                }
                _ => backward.push(edge),
            },
        )?;
        let windows = Windows::new(self.observed, order, &backward);
        let mut edges = known.to_vec();
        let is_in_window = |version: u32, _: u32| windows.has(version);
        versions.edges(&is_in_window, self.budget, &mut |edge| {
            if windows.same(edge.from, edge.to) && edges.len() < EDGES_MAX {
                edges.push(edge);
            }
        })?;
        Ok(edges)
    }

    /// The forced edges that cycles can consist of, by an order and its stale reads.
    fn edges_in_windows(
        &self,
        order: &[u32],
        stale: &Stale,
        edges: &mut Distinct,
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
    fn instances(
        &self,
        components: &Components,
        of_reads: Option<Vec<Forced>>,
        found: Contradictions,
    ) -> Result<Instances, Limit> {
        let observed = self.observed;
        let mut instances = Instances::new(self.rule, observed.history.op_count());
        let mut asked = Vec::new();
        let mut add = |edge: Forced| {
            if edge.to == TxnId::INITIAL.0 {
                instances.add_initial(&edge);
            } else if edge.reader == Forced::KNOWN || !components.same(edge.from, edge.to) {
            } else if let Some(rows) = &self.rows {
                instances.add(&edge, rows.precedes(edge.to, edge.from));
            } else if asked.len() < INSTANCES_MAX {
                asked.push(edge);
            }
        };
        if let Some(edges) = of_reads {
            edges.into_iter().for_each(&mut add);
        } else if self.saturates() {
            let may_contradict = |op: u32| {
                let is_initial = observed.links[op as usize] == Link::INITIAL;
                !is_initial || self.stale.is_none_or(|stale| stale.has(op))
            };
            let wanted = Wanted {
                reads: &may_contradict,
                on_cycles: Some(components),
            };
            match self.versions {
                Some(_) => self.saturate_directly(wanted, &mut add)?,
                None => self.saturate(wanted, &mut add)?,
            }
        } else {
            found.forced.into_iter().for_each(&mut add);
            instances.initial = found.initial;
        }
        if let (Some(versions), Some(stale)) = (&self.versions, self.stale) {
            let order = (&self.base.of[..], stale);
            versions.instances(components, order, self.budget, &mut instances)?;
        }
        if self.rule == Rule::ReadAtomic {
            asked.extend(self.earlier_in_session(components, &instances));
            self.budget.check("forced edges")?;
        }
        match self.rows {
            Some(rows) => asked
                .iter()
                .for_each(|edge| instances.add(edge, rows.precedes(edge.to, edge.from))),
            None => (asked.iter().zip(self.happens_before(&asked)?))
                .for_each(|(edge, plain)| instances.add(edge, plain)),
        }
        instances.tidy();
        Ok(instances)
    }

    /// For read-atomic, the edges on cycles that the last writers of a session imply, of reads that these do not name
    /// already: what happens before no last writer happens before no earlier one.
    fn earlier_in_session(&self, components: &Components, known: &Instances) -> Vec<Forced> {
        let counted = known.reads_of(AnomalyKind::ConflictingOrder);
        let is_done = |op: u32, last: u32| match (self.rows, counted) {
            (Some(rows), Some(counted)) => {
                let to = self.observed.links[op as usize];
                counted.has(op as usize) && (last == to || !rows.precedes(to, last))
            }
            _ => false,
        };
        let mut edges = Vec::new();
        saturate::earlier_in_session(self.observed, components, &is_done, &mut |edge| {
            if edges.len() < INSTANCES_MAX {
                edges.push(edge);
            }
        });
        edges
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

    /// Calls `found` for those that the reads of a transaction give without clocks.
    fn saturate_directly(
        &self,
        wanted: Wanted<'_>,
        found: &mut dyn FnMut(Forced),
    ) -> Result<(), Limit> {
        saturate::wanted_directly(self.observed, self.rule, wanted, found);
        self.budget.check("forced edges")
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

/// Forced edges, nearly each once: those that come again soon are left out.
struct Distinct {
    kept: Vec<Forced>,
    /// By a hash of the two transactions, the last edge.
    last: Vec<(u32, u32)>,
}

impl Distinct {
    const PLACES: usize = 1 << 15;

    /// Begins with version orders that are known.
    fn of(known: &[Forced]) -> Distinct {
        Distinct {
            kept: known.to_vec(),
            last: vec![(u32::MAX, u32::MAX); Distinct::PLACES],
        }
    }

    fn add(&mut self, edge: Forced) {
        let pair = (edge.to, edge.from);
        let mixed =
            (u64::from(pair.0) << 32 | u64::from(pair.1)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let last = &mut self.last[(mixed >> 49) as usize];
        let counts = edge.to != TxnId::INITIAL.0 && edge.reader != Forced::KNOWN;
        if !counts || *last == pair || self.kept.len() >= EDGES_MAX {
            return;
        }
        *last = pair;
        self.kept.push(edge);
        if self.kept.len() == EDGES_MAX {
            let kept = std::mem::take(&mut self.kept);
            self.kept = ForcedEdges::new(kept).edges;
        }
    }
}
