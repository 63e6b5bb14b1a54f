//! The search: every candidate cycle, on paths that pass it, in every order a level allows.
//!
//! Definition: an anomaly is a cycle with a witness: arguments, rows and an order of the steps,
//! allowed by the level, in which every dependency of the cycle is real.
//! Steps: the cycles of the conflict graph; for each, paths of its transactions that execute its
//! statements; for these, first an order on a store that promises nothing, since what is
//! contradictory there is so everywhere; then the levels asked for, the strongest first, since what
//! one allows the weaker ones do.
//! Complete within: the iterations of loops, the rows of a search, the number of combinations of
//! paths, and the orders of the statements that are not on the cycle, which run together with those
//! that are. Every answer says what was not decided.
//! Source: Rahmani et al. (OOPSLA 2019), with enumeration in place of one formula.

use super::blocks::Layout;
use super::candidate::{Candidate, Infeasible, Run, visible_by_level, witness, witness_varied};
use super::conflict::{Conflict, Node, conflicts};
use super::cycles::{Cycle, Limits, Segment, cycles};
use super::kind::kind_of;
use super::orders::{Order, mixed_orders, orders};
use super::report::{Analysis, Anomaly, Counts, LevelWitness, Site, Watch};
use super::routes::{Choice, Routes};
use super::{Options, implied_by};
use crate::execute::{Fate, How, Judgement, judge, play};
use crate::ir::Program;
use crate::paths::Path;
use crate::scenario::{Edge, EdgeKind, Event, Point, Scenario, StoreLevel, Turn};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

/// The search for anomalies of a program.
pub(super) struct Search<'a> {
    program: &'a Program,
    options: &'a Options,
    watch: &'a mut dyn Watch,
    routes: Routes<'a>,
    conflicts: Vec<Conflict>,
    overwriting: FxHashSet<(Node, Node)>,
    pairs: FxHashMap<PairKey, bool>,
    counts: Counts,
    anomalies: Vec<Anomaly>,
    undecided: Vec<Cycle>,
    started: Instant,
}

/// A dependency between two paths: the conflict, and the paths with their statements.
type PairKey = (usize, (usize, u32), (usize, u32));

/// How many sets of values are tried for one order, where a serial order does the same.
const VARIATIONS: u32 = 3;

/// What became of an attempt.
enum Attempt {
    Found(Scenario),
    /// It happens, but some serial order does the same.
    Benign,
    Contradiction,
    Undecided,
}

impl<'a> Search<'a> {
    /// Prepares paths and conflicts.
    pub fn new(program: &'a Program, options: &'a Options, watch: &'a mut dyn Watch) -> Search<'a> {
        let both = conflicts(program, &[EdgeKind::WriteWrite]);
        let routes = Routes::new(program, options.bounds);
        let counts = Counts {
            paths: routes.paths.iter().map(Vec::len).sum(),
            ..Counts::default()
        };
        Search {
            program,
            options,
            watch,
            routes,
            conflicts: conflicts(program, &options.kinds),
            overwriting: both.iter().map(|c| (c.from, c.to)).collect(),
            pairs: FxHashMap::default(),
            counts,
            anomalies: Vec::new(),
            undecided: Vec::new(),
            started: Instant::now(),
        }
    }

    /// Searches.
    pub fn run(mut self) -> Analysis {
        let limits = Limits {
            length: self.options.length,
            instances: self.options.instances,
        };
        let executed = self.routes.executed();
        let conflicts = self.conflicts.clone();
        let mut late = false;
        let _ = cycles(&conflicts, limits, &executed, &mut |cycle: &Cycle| {
            let budget = self.options.time;
            if late || budget.is_some_and(|budget| self.started.elapsed() > budget) {
                late = true;
                self.counts.untried += 1;
                return match self.counts.untried < self.options.untried_max {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                };
            }
            self.decide(cycle);
            self.watch.progress(&self.counts);
            ControlFlow::Continue(())
        });
        Analysis::new(
            self.options,
            self.anomalies,
            self.counts,
            self.undecided,
            self.routes.complete,
        )
    }

    /// Whether every read on the cycle matters to the database.
    fn is_internal(&self, cycle: &Cycle) -> bool {
        let matters = |node: Node, conflict: &Conflict| {
            let used = self.routes.uses[node.transaction][node.statement];
            (used.values && conflict.values) || (used.rows && conflict.exists)
        };
        cycle.segments.iter().all(|segment| {
            let conflict = &self.conflicts[segment.conflict];
            match segment.kind {
                EdgeKind::WriteRead => matters(conflict.to, conflict),
                EdgeKind::ReadWrite => matters(conflict.from, conflict),
                EdgeKind::WriteWrite | EdgeKind::Sibling => true,
            }
        })
    }

    fn decide(&mut self, cycle: &Cycle) {
        self.counts.cycles += 1;
        let internal = self.is_internal(cycle);
        if !internal && !self.options.external {
            self.counts.external += 1;
            return;
        }
        let mut found: Vec<LevelWitness> = Vec::new();
        let mut edges: Vec<Edge> = Vec::new();
        let (mut undecided, mut benign) = (false, false);
        let mut remaining = self.options.asked();
        let (combinations, cut) = self.routes.combinations(cycle, self.options.combinations);
        for choices in combinations {
            if remaining.is_empty() {
                break;
            }
            let attempt = self.attempt(cycle, &choices, &mut remaining);
            undecided |= attempt.undecided;
            benign |= attempt.benign;
            if found.is_empty() && !attempt.found.is_empty() {
                edges = attempt.edges;
            }
            found.extend(attempt.found);
        }
        if cut && !remaining.is_empty() {
            self.counts.combinations_cut += 1;
        }
        match found.is_empty() {
            true if undecided => {
                self.counts.undecided += 1;
                self.undecided.push(cycle.clone());
            }
            true if benign => self.counts.benign += 1,
            true => self.counts.infeasible += 1,
            false => self.keep(cycle, internal, edges, found),
        }
    }

    /// Tries the levels that remain on these paths.
    fn attempt(
        &mut self,
        cycle: &Cycle,
        choices: &[Choice],
        remaining: &mut Vec<Option<StoreLevel>>,
    ) -> Attempted {
        let edges = self.edges(cycle, choices);
        let paths: Vec<Arc<Path>> = choices.iter().map(|choice| choice.path.clone()).collect();
        let layout = Layout::new(&paths, &edges, self.overwrites(cycle, &paths));
        let mut attempted = Attempted {
            found: Vec::new(),
            undecided: false,
            benign: false,
            edges: with_siblings(&edges),
        };
        let mut asked = Vec::new();
        for level in remaining.iter() {
            asked.push((*level, self.orders_at(cycle, &layout, *level)));
        }
        let none = asked.iter().all(|(_, orders)| orders.is_empty());
        if none || !self.pairs_possible(cycle, choices) {
            return attempted;
        }
        let free = Some(StoreLevel::Eventual);
        let orders = self.orders_at(cycle, &layout, free);
        let base = self.try_orders(cycle, &layout, free, orders);
        match &base {
            Attempt::Contradiction if self.options.partitions > 1 => return attempted,
            Attempt::Benign if self.options.partitions > 1 => {
                attempted.benign = true;
                return attempted;
            }
            _ => {}
        }
        remaining.clear();
        for (level, orders) in asked {
            let known = attempted.found.iter().find(|one: &&LevelWitness| {
                let pair = level.zip(one.level);
                pair.is_some_and(|(asked, found)| implied_by(asked, found))
            });
            let answer = match (known, &base) {
                (Some(known), _) => Attempt::Found(known.scenario.clone()),
                (None, Attempt::Found(scenario)) if level == free => {
                    Attempt::Found(scenario.clone())
                }
                (None, _) => self.try_orders(cycle, &layout, level, orders),
            };
            match answer {
                Attempt::Found(scenario) => {
                    attempted.found.push(LevelWitness { level, scenario });
                    continue;
                }
                Attempt::Undecided => attempted.undecided = true,
                Attempt::Benign => attempted.benign = true,
                Attempt::Contradiction => {}
            }
            remaining.push(level);
        }
        attempted
    }

    /// The orders that a level allows; none stands for the levels of the transactions.
    fn orders_at(
        &self,
        cycle: &Cycle,
        layout: &Layout<'_>,
        level: Option<StoreLevel>,
    ) -> Vec<Order> {
        match level {
            Some(level) => orders(layout, level, self.options.partitions),
            None => {
                let own = |segment: &Segment| self.options.level_of(segment.transaction);
                let levels: Vec<StoreLevel> = cycle.segments.iter().map(own).collect();
                mixed_orders(layout, &levels)
            }
        }
    }

    fn try_orders(
        &mut self,
        cycle: &Cycle,
        layout: &Layout<'_>,
        level: Option<StoreLevel>,
        orders: Vec<Order>,
    ) -> Attempt {
        let (mut undecided, mut benign) = (false, false);
        let timed = |level: StoreLevel| !level.is_replicated();
        for order in orders {
            let level_of = |segment: &Segment| match level {
                None => Some(self.options.level_of(segment.transaction)),
                Some(level) => Some(level).filter(|level| timed(*level)),
            };
            let run = |(segment, path): (&Segment, &Arc<Path>)| Run {
                transaction: segment.transaction,
                path: path.clone(),
                level: level_of(segment),
            };
            let candidate = Candidate {
                instances: cycle.segments.iter().zip(layout.paths).map(run).collect(),
                edges: layout.edges.to_vec(),
                schedule: order.schedule,
                apart: order.apart,
            };
            match self.solve(&candidate, level) {
                Attempt::Found(scenario) => return Attempt::Found(scenario),
                Attempt::Contradiction => {}
                Attempt::Benign => benign = true,
                Attempt::Undecided => undecided = true,
            }
        }
        match (undecided, benign) {
            (true, _) => Attempt::Undecided,
            (false, true) => Attempt::Benign,
            (false, false) => Attempt::Contradiction,
        }
    }

    /// A scenario that no serial order does the same as; other values are tried where one does.
    fn solve(&mut self, candidate: &Candidate, level: Option<StoreLevel>) -> Attempt {
        self.counts.candidates += 1;
        let mut answer = witness(self.program, candidate);
        self.watch.candidate(candidate, &answer);
        let mut worst = Attempt::Benign;
        for variation in 1..=VARIATIONS {
            let mut scenario = match answer {
                Ok(scenario) => scenario,
                Err(Infeasible::Contradiction) => return Attempt::Contradiction,
                Err(_) => return Attempt::Undecided,
            };
            say_what_is_seen(&mut scenario, level);
            if level.is_some() {
                scenario
                    .instances
                    .iter_mut()
                    .for_each(|one| one.level = None);
            }
            match shown(self.program, &scenario) {
                Some(true) => return Attempt::Found(scenario),
                Some(false) => {}
                None => worst = Attempt::Undecided,
            }
            answer = witness_varied(self.program, candidate, variation);
        }
        worst
    }

    /// Whether each dependency of the cycle is possible between the two paths alone. What the
    /// writer of it has read before is left open, so only those are asked that did not depend on
    /// another instance themselves.
    fn pairs_possible(&mut self, cycle: &Cycle, choices: &[Choice]) -> bool {
        let count = choices.len();
        let edges = self.edges(cycle, choices);
        for (at, edge) in edges.iter().enumerate() {
            let before = &edges[(at + count - 1) % count];
            if before.kind == EdgeKind::WriteRead {
                continue;
            }
            let next = (at + 1) % count;
            let path = |at: usize| Arc::as_ptr(&choices[at].path) as usize;
            let key = (
                cycle.segments[at].conflict,
                (path(at), edge.from.statement),
                (path(next), edge.to.statement),
            );
            let possible = match self.pairs.get(&key) {
                Some(known) => *known,
                None => {
                    let pair = [
                        cycle.segments[at].transaction,
                        cycle.segments[next].transaction,
                    ];
                    let paths = [choices[at].path.clone(), choices[next].path.clone()];
                    let candidate = pair_alone(pair, paths, edge);
                    let answer = witness(self.program, &candidate);
                    let possible = answer != Err(Infeasible::Contradiction);
                    self.pairs.insert(key, possible);
                    possible
                }
            };
            if !possible {
                return false;
            }
        }
        true
    }

    /// The dependencies of a cycle between the statements of these paths.
    fn edges(&self, cycle: &Cycle, choices: &[Choice]) -> Vec<Edge> {
        let count = cycle.segments.len();
        let mut edges = Vec::new();
        for (at, segment) in cycle.segments.iter().enumerate() {
            let next = (at + 1) % count;
            let conflict = &self.conflicts[segment.conflict];
            let table = conflict.tables.first().copied();
            edges.push(Edge {
                from: Point {
                    instance: at,
                    statement: choices[at].leave,
                },
                to: Point {
                    instance: next,
                    statement: choices[next].enter,
                },
                kind: segment.kind,
                table: table.filter(|_| conflict.tables.len() == 1),
                columns: conflict.columns.clone(),
            });
        }
        edges
    }

    /// Pairs of statements of different instances that may write the same row.
    fn overwrites(&self, cycle: &Cycle, paths: &[Arc<Path>]) -> Vec<(Point, Point)> {
        let mut points: Vec<(Point, Node)> = Vec::new();
        for (instance, (segment, path)) in cycle.segments.iter().zip(paths).enumerate() {
            let origins = self.routes.origins(segment.transaction, path);
            for (position, origin) in origins.into_iter().enumerate() {
                let node = Node {
                    transaction: segment.transaction,
                    statement: origin,
                };
                let point = Point {
                    instance,
                    statement: position as u32,
                };
                points.push((point, node));
            }
        }
        let mut found = Vec::new();
        for (at, (first, one)) in points.iter().enumerate() {
            for (second, other) in &points[at + 1..] {
                let apart = first.instance != second.instance;
                if apart && self.overwriting.contains(&(*one, *other)) {
                    found.push((*first, *second));
                }
            }
        }
        found
    }

    fn keep(&mut self, cycle: &Cycle, internal: bool, edges: Vec<Edge>, found: Vec<LevelWitness>) {
        let mut sites = Vec::new();
        for edge in &edges {
            let segment = &cycle.segments[edge.from.instance];
            let sibling = edge.kind == EdgeKind::Sibling;
            let statement = if sibling {
                segment.enter
            } else {
                segment.leave
            };
            sites.push(Site {
                point: edge.from,
                transaction: segment.transaction,
                statement,
                place: self.routes.statements[segment.transaction][statement]
                    .place
                    .clone(),
            });
        }
        self.counts.anomalies += 1;
        self.anomalies.push(Anomaly {
            kind: kind_of(self.program, &self.conflicts, cycle),
            internal,
            transactions: cycle.segments.iter().map(|s| s.transaction).collect(),
            edges,
            sites,
            witnesses: found,
            cycle: cycle.clone(),
        });
    }
}

struct Attempted {
    found: Vec<LevelWitness>,
    undecided: bool,
    benign: bool,
    edges: Vec<Edge>,
}

/// Whether no serial order does the same as a scenario; nothing where it cannot be played.
fn shown(program: &Program, scenario: &Scenario) -> Option<bool> {
    let played = play(program, scenario, How::Given).ok()?;
    if played.runs.iter().any(|run| run.fate != Fate::Committed) {
        return None;
    }
    let judgement = judge(program, scenario, &played).ok()?;
    Some(judgement == Judgement::NotSerializable)
}

/// Two instances with one dependency, and nothing else that one sees of the other.
fn pair_alone(transactions: [usize; 2], paths: [Arc<Path>; 2], edge: &Edge) -> Candidate {
    let point = |instance: usize, point: Point| Point {
        instance,
        statement: point.statement,
    };
    let edge = Edge {
        from: point(0, edge.from),
        to: point(1, edge.to),
        ..edge.clone()
    };
    let mut schedule: Vec<Turn> = Vec::new();
    let mut source = None;
    for (instance, path) in paths.iter().enumerate() {
        for statement in 0..path.statements.len() as u32 {
            let this = Point {
                instance,
                statement,
            };
            let reads = edge.kind == EdgeKind::WriteRead && this == edge.to;
            if this == edge.from {
                source = Some(schedule.len());
            }
            schedule.push(Turn {
                instance,
                event: Event::Statement(statement),
                sees: Some(source.filter(|_| reads).into_iter().collect()),
            });
        }
    }
    let run = |(transaction, path)| Run {
        transaction,
        path,
        level: None,
    };
    Candidate {
        instances: transactions.into_iter().zip(paths).map(run).collect(),
        edges: vec![edge],
        schedule,
        apart: Vec::new(),
    }
}

/// The dependencies with the sibling edges between them: where an instance is entered, then left.
fn with_siblings(edges: &[Edge]) -> Vec<Edge> {
    let mut all = Vec::new();
    for (at, edge) in edges.iter().enumerate() {
        let before = &edges[(at + edges.len() - 1) % edges.len()];
        if before.to != edge.from {
            all.push(Edge {
                from: before.to,
                to: edge.from,
                kind: EdgeKind::Sibling,
                table: None,
                columns: BTreeSet::new(),
            });
        }
        all.push(edge.clone());
    }
    all
}

/// Says what the statements see that have nothing said about it, for a store that has no clock.
/// Without a level, each instance has its own.
fn say_what_is_seen(scenario: &mut Scenario, level: Option<StoreLevel>) {
    let before = scenario.schedule.clone();
    let statement = |event: &Event| matches!(event, Event::Statement(_));
    for (at, turn) in scenario.schedule.iter_mut().enumerate() {
        if turn.sees.is_some() || !statement(&turn.event) {
            continue;
        }
        let level = level.or(scenario.instances[turn.instance].level);
        let seen = |earlier: &usize| {
            let one = &before[*earlier];
            let other = one.instance != turn.instance && statement(&one.event);
            other && visible_by_level(&before, level, *earlier, at)
        };
        turn.sees = Some((0..at).filter(seen).collect());
    }
}
