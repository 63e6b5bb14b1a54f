//! A program made ready: its paths, and from them the answer for any part of it at any levels.

use super::confirm::{Effort, confirm};
use super::counters::numbered;
use super::cycles::{Cycle, CycleKind, Search};
use super::edges::{Dependency, Graph, Relations};
use super::facts::Facts;
use super::templates::{self, Split};
use super::unit::Unit;
use super::variants::variants;
use super::versions::versioned;
use super::ways::Ways;
use super::{
    Counterexample, Doubt, Level, Method, Proof, RobustOptions, Robustness, SplitInstance,
};
use crate::analysis::Infeasible;
use crate::ir::{Program, Step};
use crate::paths::{End, Path};
use crate::place::NoteKind;
use crate::scenario::{Edge, EdgeKind, Event, Point, Turn};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The most cycles for which arguments and rows are looked for.
const CYCLES_MAX: usize = 60;

/// The most paths looked at of a transaction that has more than are followed: nothing is proved
/// then, but it may be refuted.
const INCOMPLETE_MAX: usize = 30;

/// A program and the paths of its transactions.
pub struct Workload<'a> {
    program: &'a Program,
    options: RobustOptions,
    paths: Vec<Vec<Arc<Path>>>,
    complete: Vec<bool>,
    loops: Vec<bool>,
}

impl<'a> Workload<'a> {
    /// Follows all paths.
    pub fn new(program: &'a Program, options: &RobustOptions) -> Workload<'a> {
        let mut workload = Workload {
            program,
            options: *options,
            paths: Vec::new(),
            complete: Vec::new(),
            loops: Vec::new(),
        };
        for transaction in &program.transactions {
            let found = transaction.paths(&program.schema, options.bounds);
            let commits = found
                .paths
                .into_iter()
                .filter(|path| path.end == End::Commit);
            workload.paths.push(commits.map(Arc::new).collect());
            workload.complete.push(found.complete);
            workload.loops.push(has_loop(&transaction.body));
        }
        workload
    }

    /// The program.
    pub fn program(&self) -> &'a Program {
        self.program
    }

    /// The answer for the transactions that have a level; those without are left out.
    pub fn check(&self, levels: &[Option<Level>]) -> Robustness {
        let taken = |at: &usize| levels.get(*at).copied().flatten().is_some();
        let taken: Vec<usize> = (0..self.paths.len()).filter(taken).collect();
        let answer = self.looked_at(&taken, levels);
        // What was not looked at can break it, but mends nothing.
        if matches!(answer, Robustness::NotRobust(_)) {
            return answer;
        }
        let all_serializable = |at: &usize| levels[*at] == Some(Level::Serializable);
        let missing = self.program.left_out();
        if missing > 0 && !taken.iter().all(all_serializable) {
            let reason = format!(
                "{missing} statements or calls of the sources are left out, as they were not understood; \
                 the notes say which, and what to do"
            );
            return Robustness::Unproved(Box::new(Doubt {
                suspect: None,
                reason,
            }));
        }
        match taken.iter().find(|at| !self.complete[**at]) {
            Some(at) => {
                let name = &self.program.transactions[*at].name;
                let most = self.options.bounds.paths;
                Robustness::Unproved(Box::new(Doubt {
                    suspect: None,
                    reason: format!("{name} has more than {most} paths; not all were looked at"),
                }))
            }
            _ => answer,
        }
    }

    /// The answer as far as the paths at hand go.
    fn looked_at(&self, taken: &[usize], levels: &[Option<Level>]) -> Robustness {
        let all_serializable = taken
            .iter()
            .all(|at| levels[*at] == Some(Level::Serializable));
        let transactions = taken.iter().map(|at| &self.program.transactions[*at]);
        let paths = taken.iter().flat_map(|at| &self.paths[*at]);
        let versions = versioned(paths.map(|path| &**path));
        let facts = Facts::of(&self.program.schema, transactions).with_versions(versions);
        let units = self.units(taken, &facts);
        if all_serializable {
            return Robustness::Robust(self.proof(Method::Definition, &units, &[]));
        }
        let of_unit = |units: &[Unit]| -> Vec<Option<Level>> {
            units.iter().map(|unit| levels[unit.transaction]).collect()
        };
        let straight = taken.iter().all(|at| !self.loops[*at]);
        if self.options.method != Some(Method::Programs)
            && straight
            && templates::applies(&units)
            && let Some(units) = all_variants(&units)
        {
            match templates::find(&units, &of_unit(&units)) {
                None => return Robustness::Robust(self.proof(Method::Templates, &units, &[])),
                Some(split) if templates::holds(&split, &units) => {
                    return self.exact(&split, &units, levels);
                }
                Some(_) => {}
            }
        }
        let paths: Vec<&Path> = units.iter().map(|unit| &*unit.path).collect();
        let numbered = match self.options.relations {
            Relations::Keys => numbered(&self.program.schema, &facts, &paths),
            Relations::None | Relations::SameRow => Vec::new(),
        };
        let edges = Graph {
            units: &units,
            facts: &facts,
            numbered: &numbered,
            relations: self.options.relations,
            on_snapshots: taken.iter().all(|at| levels[*at] >= Some(Level::Snapshot)),
        }
        .edges();
        let transactions: Vec<usize> = units.iter().map(|unit| unit.transaction).collect();
        let search = Search {
            transactions: &transactions,
            edges: &edges,
            levels: &of_unit(&units),
            kind: self.options.cycles,
        };
        match search.find() {
            None => Robustness::Robust(self.proof(Method::Programs, &units, &edges)),
            Some(cycle) => self.suspected(cycle, &search, &units, levels),
        }
    }

    fn units(&self, taken: &[usize], facts: &Facts) -> Vec<Unit> {
        let schema = &self.program.schema;
        let mut units: Vec<Unit> = Vec::new();
        for &at in taken {
            let most = match self.complete[at] {
                true => usize::MAX,
                false => INCOMPLETE_MAX,
            };
            for path in self.paths[at].iter().take(most) {
                let mut unit = Unit::new(schema, facts, at, path.clone());
                if self.options.relations != Relations::Keys {
                    unit = unit.without_relations(schema);
                }
                match units.iter_mut().find(|known| known.is_like(&unit)) {
                    Some(known) => known.alike.push(path.clone()),
                    None => units.push(unit),
                }
            }
        }
        units
    }

    fn proof(&self, method: Method, units: &[Unit], edges: &[Dependency]) -> Proof {
        let mut assumptions = vec![
            "A row that a statement looks up by its key is there, in tables that no transaction \
             inserts into or deletes from."
                .to_string(),
        ];
        if method == Method::Programs && self.options.relations == Relations::Keys {
            assumptions.push(
                "Rows there at the beginning have smaller numbers than the counters that number \
                 them, and refer to rows that are there."
                    .to_string(),
            );
        }
        let noted = |kind: NoteKind| self.program.notes.iter().any(|note| note.kind == kind);
        if noted(NoteKind::Boundary) {
            assumptions.push(
                "Each transaction is one: what the notes tell of where they begin does not matter."
                    .to_string(),
            );
        }
        if noted(NoteKind::Unread) {
            assumptions.push(
                "What was left out (see the notes) are queries, and no transaction writes."
                    .to_string(),
            );
        }
        if noted(NoteKind::Statement) || noted(NoteKind::LeftOut) {
            assumptions.push(
                "What was not understood of statements (see the notes) does not matter."
                    .to_string(),
            );
        }
        let counterflow = |edge: &&Dependency| edge.counterflow || edge.counterflow_on_snapshot;
        Proof {
            method,
            paths: units.len(),
            edges: edges.len(),
            counterflow: edges.iter().filter(counterflow).count(),
            assumptions,
        }
    }

    /// The split run that a cycle suggests: P is split behind the read that B overwrites.
    fn of_cycle(
        &self,
        cycle: &Cycle,
        edges: &[Dependency],
        units: &[Unit],
        levels: &[Option<Level>],
    ) -> Counterexample {
        let turn = self.turn(cycle, edges);
        let turned: Vec<&Dependency> = cycle[turn..]
            .iter()
            .chain(&cycle[..turn])
            .map(|at| &edges[*at])
            .collect();
        let instances: Vec<usize> = turned.iter().map(|edge| edge.from).collect();
        let hops: Vec<(usize, usize)> = turned.iter().map(|e| (e.source, e.target)).collect();
        let kinds: Vec<EdgeKind> = turned.iter().map(|edge| edge.kind).collect();
        self.split_run(
            Method::Programs,
            &instances,
            &hops,
            Some(&kinds),
            units,
            levels,
        )
    }

    /// Where in the cycle the counterflow edge out of P is.
    fn turn(&self, cycle: &Cycle, edges: &[Dependency]) -> usize {
        match (cycle.len(), self.options.cycles) {
            (0 | 1, _) => 0,
            (_, CycleKind::TypeII) => 1,
            (_, CycleKind::TypeI) => {
                let backwards = |at: &usize| edges[*at].counterflow;
                cycle.iter().position(backwards).unwrap_or(0)
            }
        }
    }

    fn split_run(
        &self,
        method: Method,
        instances: &[usize],
        hops: &[(usize, usize)],
        kinds: Option<&[EdgeKind]>,
        units: &[Unit],
        levels: &[Option<Level>],
    ) -> Counterexample {
        let count = instances.len();
        let mut edges = Vec::new();
        for (at, (source, target)) in hops.iter().enumerate() {
            let next = (at + 1) % count;
            let a = &units[instances[at]].accesses[*source];
            let b = &units[instances[next]].accesses[*target];
            let mut possible = super::edges::kinds(a, b);
            // From the read that is overwritten, and back to what T1 writes, by reading.
            possible.sort_by_key(|(kind, _)| match kind {
                EdgeKind::ReadWrite if at == 0 || next == 0 => 0,
                EdgeKind::WriteWrite => 1,
                _ => 2,
            });
            if let Some(kinds) = kinds {
                possible.retain(|(kind, _)| *kind == kinds[at]);
            }
            let Some((kind, columns)) = possible.into_iter().next() else {
                continue;
            };
            edges.push(Edge {
                from: Point {
                    instance: at,
                    statement: a.statement as u32,
                },
                to: Point {
                    instance: next,
                    statement: b.statement as u32,
                },
                kind,
                table: Some(a.table),
                columns: columns.columns,
            });
        }
        let split = hops.first().map_or(0, |hop| {
            let first = &units[instances[0]];
            match levels[first.transaction] {
                Some(Level::ReadCommitted) => first.accesses[hop.0].statement + 1,
                // The snapshot is there; nothing more needs to be held.
                _ => 1,
            }
        });
        let instances: Vec<SplitInstance> = instances
            .iter()
            .map(|at| SplitInstance {
                transaction: units[*at].transaction,
                level: levels[units[*at].transaction].unwrap_or(Level::ReadCommitted),
                path: units[*at].path.clone(),
            })
            .collect();
        Counterexample {
            method,
            schedule: schedule(&instances, split),
            instances,
            edges,
            scenario: None,
        }
    }

    /// The answer where the exact method found a split run.
    fn exact(&self, split: &Split, units: &[Unit], levels: &[Option<Level>]) -> Robustness {
        let method = Method::Templates;
        let mut found = self.split_run(method, &split.units, &split.hops, None, units, levels);
        if self.options.confirm {
            let alike: Vec<_> = split
                .units
                .iter()
                .map(|at| units[*at].alike.clone())
                .collect();
            match confirm(self.program, &mut found, &alike, Effort::All) {
                Ok(scenario) => found.scenario = Some(scenario),
                Err(Infeasible::Contradiction) => {
                    return Robustness::Unproved(Box::new(Doubt {
                        suspect: Some(found),
                        reason: "the rows allow a run that is not serializable, but there are no \
                                 values with which the branches go that way"
                            .to_string(),
                    }));
                }
                Err(Infeasible::Undecided | Infeasible::Malformed(_)) => {}
            }
        }
        Robustness::NotRobust(Box::new(found))
    }

    /// The answer where there is a cycle of dependencies, which may be impossible.
    fn suspected(
        &self,
        cycle: Cycle,
        search: &Search<'_>,
        units: &[Unit],
        levels: &[Option<Level>],
    ) -> Robustness {
        let first = self.of_cycle(&cycle, search.edges, units, levels);
        let attempt = |cycle: &Cycle, effort: Effort| {
            let mut found = self.of_cycle(cycle, search.edges, units, levels);
            let from = |at: &usize| search.edges[*at].from;
            let mut alike: Vec<_> = cycle
                .iter()
                .map(|at| units[from(at)].alike.clone())
                .collect();
            alike.rotate_left(self.turn(cycle, search.edges));
            let several = alike.iter().any(|paths| paths.len() > 1);
            match confirm(self.program, &mut found, &alike, effort) {
                Ok(scenario) => found.scenario = Some(scenario),
                Err(problem) => return Err(several || problem != Infeasible::Contradiction),
            }
            Ok(found)
        };
        // What happens is mostly found soon, and what does not is refuted slowly: each cycle is tried for a little
        // while before any is tried for long.
        let (mut tried, mut confirmed) = (0, None);
        let mut open: Vec<Cycle> = Vec::new();
        if self.options.confirm {
            Ways { search, units }.some(CYCLES_MAX, &mut |cycle| {
                tried += 1;
                match attempt(cycle, Effort::Little) {
                    Ok(found) => {
                        confirmed = Some(found);
                        return ControlFlow::Break(());
                    }
                    Err(true) => open.push(cycle.clone()),
                    Err(false) => {}
                }
                ControlFlow::Continue(())
            });
        }
        let mut rest = open.iter();
        let others = || rest.find_map(|cycle| attempt(cycle, Effort::All).ok());
        if let Some(found) = confirmed.or_else(others) {
            return Robustness::NotRobust(Box::new(found));
        }
        let reason = match tried {
            0 => "a cycle of dependencies was found, which may be impossible".to_string(),
            _ => format!(
                "cycles of dependencies were found, but for none of the {tried} tried are there \
                 arguments and rows with which it happens"
            ),
        };
        Robustness::Unproved(Box::new(Doubt {
            suspect: Some(first),
            reason,
        }))
    }
}

/// The first instance up to a statement, the others, the rest of the first.
fn schedule(instances: &[SplitInstance], split: usize) -> Vec<Turn> {
    let mut turns = Vec::new();
    let mut add = |instance: usize, event: Event| {
        turns.push(Turn {
            instance,
            event,
            sees: None,
        });
    };
    let length = |instance: usize| instances[instance].path.statements.len();
    add(0, Event::Begin);
    for statement in 0..split.min(length(0)) {
        add(0, Event::Statement(statement as u32));
    }
    for other in 1..instances.len() {
        add(other, Event::Begin);
        for statement in 0..length(other) {
            add(other, Event::Statement(statement as u32));
        }
        add(other, Event::Commit);
    }
    for statement in split..length(0) {
        add(0, Event::Statement(statement as u32));
    }
    add(0, Event::Commit);
    turns
}

fn all_variants(units: &[Unit]) -> Option<Vec<Unit>> {
    let all: Option<Vec<Vec<Unit>>> = units.iter().map(variants).collect();
    Some(all?.into_iter().flatten().collect())
}

fn has_loop(steps: &[Step]) -> bool {
    let mut waiting: Vec<&Step> = steps.iter().collect();
    while let Some(step) = waiting.pop() {
        if matches!(step, Step::Loop { .. }) {
            return true;
        }
        waiting.extend(step.inner());
    }
    false
}
