//! The cycles of list histories, whose reads show the order of versions.
//!
//! Definition: the serialization graph has a ww edge from a version's writer to the next one's, a wr
//! edge from a writer to each reader, a rw edge from a reader to the writer of the next version, and
//! so and rt edges. Of these only those are kept that every interpretation of the history has
//! (`graph`, `gaps`). A cycle contradicts levels by its edges (`kinds`).
//!
//! Steps:
//! 1. run the transactions again (`replay`): an order in which that succeeds proves all levels whose
//!    orders it keeps. The graph is built only where it fails;
//! 2. sort the events of the level (`sort`). If that succeeds, nothing contradicts the level, and the
//!    order, walked along once more, proves it, unless something else is open;
//! 3. else find the strongly connected components of what is left (`components`), by nested sets of
//!    edges: ww; with wr; with rw; each first alone, then with so, then with so and rt;
//! 4. in each of them, the shortest cycle of each class (`search`), with so or rt edges only if there
//!    is none without.
//!
//! Cost: linear for the first two steps; the first one is all that a history of lists without anomalies
//! takes. A search is bounded for each component.
//!
//! Source: Adya, PhD thesis 1999; Kingsbury & Alvaro, VLDB 2020. Where we differ: real time is a line
//! of barriers with a linear number of edges; a history without cycles is proved to have its level
//! by an order that can be checked again.

mod components;
mod evidence;
mod gaps;
mod graph;
pub mod kinds;
mod replay;
mod search;
mod simple;
mod sort;

use crate::Budget;
use crate::budget::Limit;
use crate::observe::Observed;
use crate::strong::{self, shape::Shape};
use graph::{Graph, Kinds, Rows};
use history::{Anomaly, AnomalyKind, CommitOrder, Edge, Level, TxnId};
use kinds::{Class, Scope};
use search::{Search, Wanted};
use std::collections::BTreeMap;

/// A shortest cycle of a component.
struct Found {
    class: Class,
    scope: Scope,
    edges: Vec<Edge>,
    kind: AnomalyKind,
}

/// The graph of a history, and the cycles found so far.
pub struct Cycles<'a> {
    observed: &'a Observed<'a>,
    graph: Option<Graph<'a>>,
    /// The least scope in which running the transactions again failed.
    failed: Option<Scope>,
    /// By what may not precede rw: the cycles, and up to which scope they were looked for.
    found: Vec<(Kinds, Scope, Vec<Found>)>,
}

/// What the graph says about a level.
pub enum Finding {
    /// The level holds.
    Order(CommitOrder),
    /// The cycles that contradict the level, one for each kind.
    Contradictions(Vec<Anomaly>),
    /// Nothing: something besides the graph is open.
    Open,
}

impl<'a> Cycles<'a> {
    pub fn new(observed: &'a Observed<'a>) -> Cycles<'a> {
        Cycles {
            observed,
            graph: None,
            failed: None,
            found: Vec::new(),
        }
    }

    /// What the graph says about a level above causal. `may_hold`: no single read contradicts it.
    pub fn finding(
        &mut self,
        level: Level,
        may_hold: bool,
        budget: &Budget<'_>,
    ) -> Result<Finding, Limit> {
        let shape = Shape::of(level).expect("a strong level has a shape");
        let serial = Shape {
            split: false,
            exclusive: false,
            parallel: false,
            ..shape
        };
        let snapshots = Shape {
            split: true,
            exclusive: level != Level::Prefix,
            parallel: false,
            ..shape
        };
        let is_serial = level.implies(Level::Serializable);
        let (_, scope) = kinds::forbidden(level);
        if may_hold && let Some(order) = self.replay(scope) {
            return Ok(Finding::Order(order));
        }
        let kinds = Class::Adjacent.kinds() | scope.kinds();
        let graph = &*self.graph.get_or_insert_with(|| Graph::new(self.observed));
        let mut left = Vec::new();
        let mut is_sorted = false;
        for shape in [Some(serial), (!is_serial).then_some(snapshots)] {
            let Some(shape) = shape else { continue };
            budget.check("cycles")?;
            match sort::sort(graph, shape, kinds) {
                Ok(events) => {
                    is_sorted = true;
                    if may_hold
                        && let Some(order) = strong::prove_placed(self.observed, shape, events)
                    {
                        return Ok(Finding::Order(order));
                    }
                }
                Err(nodes) if left.is_empty() => left = nodes,
                Err(_) => {}
            }
        }
        if is_sorted {
            return Ok(Finding::Open);
        }
        let anomalies = self.contradictions(level, &left, budget)?;
        Ok(if anomalies.is_empty() {
            Finding::Open
        } else {
            Finding::Contradictions(anomalies)
        })
    }

    /// A serial order by which every read returns the last version before it, found without the graph.
    fn replay(&mut self, scope: Scope) -> Option<CommitOrder> {
        // What fails with fewer orders to keep fails with more.
        if self.failed.is_some_and(|failed| failed <= scope) {
            return None;
        }
        let order = replay::serial_order(self.observed, scope);
        if order.is_none() {
            self.failed = Some(scope);
        }
        order
    }

    /// How many edges the graph has, if it was needed.
    pub fn edge_count(&self) -> Option<usize> {
        self.graph.as_ref().map(|graph| graph.edges.len())
    }

    /// All kinds of cycles that contradict a level, among the nodes left by a sort.
    fn contradictions(
        &mut self,
        level: Level,
        left: &[bool],
        budget: &Budget<'_>,
    ) -> Result<Vec<Anomaly>, Limit> {
        let (class, scope) = kinds::forbidden(level);
        let before_rw = kinds::before_rw(level);
        let is_known =
            |entry: &&(Kinds, Scope, Vec<Found>)| entry.0 == before_rw && entry.1 >= scope;
        if self.found.iter().find(is_known).is_none() {
            let graph = self.graph.get_or_insert_with(|| Graph::new(self.observed));
            let found = find(graph, left, before_rw, scope, budget)?;
            self.found.push((before_rw, scope, found));
        }
        let (_, _, found) = self
            .found
            .iter()
            .find(is_known)
            .expect("it was found just now");
        let mut by_kind: BTreeMap<AnomalyKind, (u64, &Found)> = BTreeMap::new();
        for cycle in found
            .iter()
            .filter(|c| c.class <= class && c.scope <= scope)
        {
            let entry = by_kind.entry(cycle.kind).or_insert((0, cycle));
            entry.0 += 1;
            if cycle.edges.len() < entry.1.edges.len() {
                entry.1 = cycle;
            }
        }
        Ok(by_kind
            .into_values()
            .map(|(count, cycle)| cycle.anomaly(count))
            .collect())
    }
}

impl Found {
    fn anomaly(&self, count: u64) -> Anomaly {
        Anomaly {
            kind: self.kind,
            count,
            transactions: self
                .edges
                .iter()
                .map(|edge| edge.from)
                .collect::<Vec<TxnId>>(),
            ops: Vec::new(),
            edges: self.edges.clone(),
            otherwise: Vec::new(),
            assuming: Vec::new(),
            explanation: String::new(),
        }
    }
}

/// The shortest cycle of every class and scope in every component.
fn find(
    graph: &Graph<'_>,
    left: &[bool],
    before_rw: Kinds,
    most: Scope,
    budget: &Budget<'_>,
) -> Result<Vec<Found>, Limit> {
    (budget.progress)("looking for cycles");
    // What is left also has what cycles precede; only cycles are looked at from here on.
    let is_left = |node: &u32| left[*node as usize];
    let nodes: Vec<u32> = (0..graph.txns).filter(is_left).collect();
    let kinds = Class::Adjacent.kinds() | most.kinds();
    let cyclic = components::components(graph, &Rows::new(graph), &nodes, kinds);
    let nodes = cyclic.members.concat();
    let graph = &graph.part(&cyclic.are_members());
    let rows = Rows::new(graph);
    let mut search = Search::new(graph, &rows, budget);
    let mut found: Vec<Found> = Vec::new();
    for class in Class::ALL {
        // One transaction on each cycle of this class, whatever its scope.
        let mut known: Vec<u32> = Vec::new();
        for scope in Scope::ALL.into_iter().filter(|&scope| scope <= most) {
            budget.check("cycles")?;
            let kinds = class.kinds() | scope.kinds();
            let components = components::components(graph, &rows, &nodes, kinds);
            let mut has_one = vec![false; components.members.len()];
            for &txn in &known {
                if let Some(has) = has_one.get_mut(components.of[txn as usize] as usize) {
                    *has = true;
                }
            }
            let wanted = Wanted {
                class,
                kinds,
                before_rw,
            };
            for number in (0..components.members.len()).filter(|&number| !has_one[number]) {
                let cycle = search.shortest(&components, number as u32, wanted)?;
                if let Some(cycle) = cycle {
                    let first = graph.edges[cycle[0] as usize].from;
                    let edges = evidence::edges(graph, &cycle);
                    if !evidence::is_certain(graph.observed, &edges) {
                        continue;
                    }
                    known.push(first);
                    // One that needs less may be found only here: a search that needs less may have ended at one that
                    // is not certain, or at its limit.
                    let scope = evidence::scope(&edges);
                    let kind = evidence::name(graph.observed, class, scope, &edges);
                    found.push(Found {
                        class,
                        scope,
                        edges,
                        kind,
                    });
                }
            }
        }
    }
    Ok(found)
}
