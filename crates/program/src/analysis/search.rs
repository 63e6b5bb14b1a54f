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
use super::candidate::{Candidate, Infeasible, Run, visible_by_level, witness};
use super::conflict::{Conflict, Node, conflicts};
use super::cycles::{Cycle, Limits, Segment, Together, cycles};
use super::flow::{Use, uses};
use super::kind::kind_of;
use super::orders::{Order, mixed_orders, orders};
use super::report::{Analysis, Anomaly, Counts, LevelWitness, Site, Watch};
use super::{Options, implied_by};
use crate::ir::{Program, Statement};
use crate::paths::{End, Path};
use crate::scenario::{Edge, EdgeKind, Event, Point, Scenario, StoreLevel};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

/// A path that executes two statements, and where.
#[derive(Clone, Debug)]
struct Choice {
    path: Arc<Path>,
    enter: u32,
    leave: u32,
}

struct Executed(FxHashSet<(usize, usize, usize, bool)>);

impl Together for Executed {
    fn together(&self, transaction: usize, first: usize, second: usize, single: bool) -> bool {
        self.0.contains(&(transaction, first, second, single))
    }
}

type ChoiceKey = (usize, usize, usize, bool);

/// The search for anomalies of a program.
pub(super) struct Search<'a> {
    program: &'a Program,
    options: &'a Options,
    watch: &'a mut dyn Watch,
    statements: Vec<Vec<&'a Statement>>,
    paths: Vec<Vec<Arc<Path>>>,
    uses: Vec<Vec<Use>>,
    conflicts: Vec<Conflict>,
    overwriting: FxHashSet<(Node, Node)>,
    choices: FxHashMap<ChoiceKey, Arc<Vec<Choice>>>,
    counts: Counts,
    anomalies: Vec<Anomaly>,
    undecided: Vec<Cycle>,
    started: Instant,
    complete: bool,
}

/// What became of an attempt.
enum Attempt {
    Found(Scenario),
    Contradiction,
    Undecided,
}

impl<'a> Search<'a> {
    /// Prepares paths and conflicts.
    pub fn new(program: &'a Program, options: &'a Options, watch: &'a mut dyn Watch) -> Search<'a> {
        let statements = program
            .transactions
            .iter()
            .map(|txn| txn.statements())
            .collect();
        let both = conflicts(program, &[EdgeKind::WriteWrite]);
        let mut search = Search {
            program,
            options,
            watch,
            statements,
            paths: Vec::new(),
            uses: Vec::new(),
            conflicts: conflicts(program, &options.kinds),
            overwriting: both.iter().map(|c| (c.from, c.to)).collect(),
            choices: FxHashMap::default(),
            counts: Counts::default(),
            anomalies: Vec::new(),
            undecided: Vec::new(),
            started: Instant::now(),
            complete: true,
        };
        search.prepare();
        search
    }

    /// The paths that commit, and that some arguments and rows lead along.
    fn prepare(&mut self) {
        for (number, transaction) in self.program.transactions.iter().enumerate() {
            let found = transaction.paths(&self.program.schema, self.options.bounds);
            self.complete &= found.complete;
            self.uses.push(uses(transaction, &found.paths));
            let mut kept: Vec<Arc<Path>> = Vec::new();
            for path in found.paths {
                if path.end == End::Abort || path.cut || path.statements.is_empty() {
                    continue;
                }
                let path = Arc::new(path);
                if self.possible(number, &path) {
                    kept.push(path);
                }
            }
            kept.sort_by_key(|path| path.statements.len());
            self.counts.paths += kept.len();
            self.paths.push(kept);
        }
    }

    fn possible(&self, transaction: usize, path: &Arc<Path>) -> bool {
        let layout = Layout::new(std::slice::from_ref(path), &[], Vec::new());
        let candidate = Candidate {
            instances: vec![Run {
                transaction,
                path: path.clone(),
                level: None,
            }],
            schedule: layout.turns(&[0], false),
            ..Candidate::default()
        };
        witness(self.program, &candidate) != Err(Infeasible::Contradiction)
    }

    /// Searches.
    pub fn run(mut self) -> Analysis {
        let limits = Limits {
            length: self.options.length,
            instances: self.options.instances,
        };
        let executed = self.executed();
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
            self.program,
            self.options,
            self.anomalies,
            self.counts,
            self.undecided,
            self.complete,
        )
    }

    fn executed(&self) -> Executed {
        let mut found = FxHashSet::default();
        for (transaction, paths) in self.paths.iter().enumerate() {
            for path in paths {
                let origins = self.origins(transaction, path);
                for (at, first) in origins.iter().enumerate() {
                    for (other, second) in origins.iter().enumerate() {
                        found.insert((transaction, *first, *second, at == other));
                    }
                }
            }
        }
        Executed(found)
    }

    /// The statements of a path, by position in the text.
    fn origins(&self, transaction: usize, path: &Path) -> Vec<usize> {
        let all = &self.statements[transaction];
        let origin = |statement: &Statement| {
            let same = |one: &&Statement| one.id == statement.origin;
            all.iter().position(same).unwrap_or(usize::MAX)
        };
        path.statements.iter().map(origin).collect()
    }

    /// The paths for an instance of a cycle, those that get there sooner first.
    fn choices(&mut self, segment: &Segment) -> Arc<Vec<Choice>> {
        let key = (
            segment.transaction,
            segment.enter,
            segment.leave,
            segment.single,
        );
        if let Some(known) = self.choices.get(&key) {
            return known.clone();
        }
        let mut found: Vec<Choice> = Vec::new();
        for path in &self.paths[segment.transaction] {
            let origins = self.origins(segment.transaction, path);
            let positions = |of: usize| {
                let all = origins.iter().enumerate();
                all.filter(move |(_, origin)| **origin == of)
                    .map(|(at, _)| at as u32)
            };
            let pairs = positions(segment.enter).flat_map(|enter| {
                let leave = positions(segment.leave);
                leave.map(move |leave| (enter, leave))
            });
            for (enter, leave) in pairs.filter(|(a, b)| (a == b) == segment.single) {
                found.push(Choice {
                    path: path.clone(),
                    enter,
                    leave,
                });
            }
        }
        found.sort_by_key(|choice| (choice.enter.max(choice.leave), choice.path.statements.len()));
        let found = Arc::new(found);
        self.choices.insert(key, found.clone());
        found
    }

    /// Whether every read on the cycle matters to the database.
    fn is_internal(&self, cycle: &Cycle) -> bool {
        let matters = |node: Node, conflict: &Conflict| {
            let used = self.uses[node.transaction][node.statement];
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
        let mut undecided = false;
        let mut remaining = self.options.asked();
        for choices in self.combinations(cycle) {
            if remaining.is_empty() {
                break;
            }
            let attempt = self.attempt(cycle, &choices, &mut remaining);
            undecided |= attempt.undecided;
            if found.is_empty() && !attempt.found.is_empty() {
                edges = attempt.edges;
            }
            found.extend(attempt.found);
        }
        match found.is_empty() {
            true if undecided => {
                self.counts.undecided += 1;
                self.undecided.push(cycle.clone());
            }
            true => self.counts.infeasible += 1,
            false => self.keep(cycle, internal, edges, found),
        }
    }

    /// Paths for all instances of a cycle.
    fn combinations(&mut self, cycle: &Cycle) -> Vec<Vec<Choice>> {
        let each: Vec<Arc<Vec<Choice>>> = cycle.segments.iter().map(|s| self.choices(s)).collect();
        let mut found: Vec<Vec<Choice>> = vec![Vec::new()];
        for choices in &each {
            let mut next = Vec::new();
            for partial in &found {
                for choice in choices.iter() {
                    let mut longer = partial.clone();
                    longer.push(choice.clone());
                    next.push(longer);
                }
            }
            found = next;
            if found.len() > 4096 {
                self.counts.combinations_cut += 1;
                found.truncate(4096);
            }
        }
        found.sort_by_key(|all| {
            let length = |choice: &Choice| choice.path.statements.len();
            all.iter().map(length).sum::<usize>()
        });
        if found.len() > self.options.combinations {
            self.counts.combinations_cut += 1;
            found.truncate(self.options.combinations);
        }
        found
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
            edges: with_siblings(&edges),
        };
        let free = StoreLevel::Eventual;
        let base = self.try_orders(
            cycle,
            &layout,
            Some(free),
            orders(&layout, free, self.options.partitions),
        );
        match &base {
            Attempt::Contradiction if self.options.partitions > 1 => return attempted,
            Attempt::Undecided => attempted.undecided = true,
            _ => {}
        }
        let mut left = Vec::new();
        for level in remaining.drain(..) {
            let known = attempted.found.iter().find(|one: &&LevelWitness| {
                level
                    .zip(one.level)
                    .is_some_and(|(asked, found)| implied_by(asked, found))
            });
            let scenario = match (known, level, &base) {
                (Some(known), _, _) => Attempt::Found(known.scenario.clone()),
                (None, Some(StoreLevel::Eventual), Attempt::Found(scenario)) => {
                    Attempt::Found(scenario.clone())
                }
                (None, Some(asked), _) => {
                    let all = orders(&layout, asked, self.options.partitions);
                    self.try_orders(cycle, &layout, level, all)
                }
                (None, None, _) => {
                    let own = |s: &Segment| self.options.level_of(s.transaction);
                    let levels: Vec<StoreLevel> = cycle.segments.iter().map(own).collect();
                    let all = mixed_orders(&layout, &levels);
                    self.try_orders(cycle, &layout, None, all)
                }
            };
            match scenario {
                Attempt::Found(scenario) => attempted.found.push(LevelWitness { level, scenario }),
                Attempt::Undecided => {
                    attempted.undecided = true;
                    left.push(level);
                }
                Attempt::Contradiction => left.push(level),
            }
        }
        *remaining = left;
        attempted
    }

    fn try_orders(
        &mut self,
        cycle: &Cycle,
        layout: &Layout<'_>,
        level: Option<StoreLevel>,
        orders: Vec<Order>,
    ) -> Attempt {
        let mut undecided = false;
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
            self.counts.candidates += 1;
            let answer = witness(self.program, &candidate);
            self.watch.candidate(&candidate, &answer);
            match answer {
                Ok(mut scenario) => {
                    say_what_is_seen(&mut scenario, level);
                    if level.is_some() {
                        scenario
                            .instances
                            .iter_mut()
                            .for_each(|one| one.level = None);
                    }
                    return Attempt::Found(scenario);
                }
                Err(Infeasible::Contradiction) => {}
                Err(_) => undecided = true,
            }
        }
        match undecided {
            true => Attempt::Undecided,
            false => Attempt::Contradiction,
        }
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
            let origins = self.origins(segment.transaction, path);
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
                place: self.statements[segment.transaction][statement]
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
    edges: Vec<Edge>,
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
