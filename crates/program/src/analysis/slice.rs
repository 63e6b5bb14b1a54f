//! What of a candidate concerns the tables of its cycle.
//!
//! Definition: a slice of a candidate has the statements that touch the tables of the cycle, and with these the
//! tables that such a statement joins to them. A value that comes from a statement left out may be anything,
//! and conditions on these do not matter. So whatever the candidate does, its slice does: where a slice is
//! contradictory, so is every candidate that has it.
//! Why: the paths of a transaction differ mostly in what the cycle does not touch, and each combination of them
//! would be refuted on its own.
//! Two slices are one where their statements see the same of what matters to them, and their writes that may meet come in
//! the same order: when transactions begin and commit matters no more then. What is contradictory stays so where more
//! writes must be kept apart.
//! Cost: one more, smaller, set of constraints for each slice; few candidates have a slice of their own.

use super::blocks::Layout;
use super::candidate::{Candidate, Run};
use super::orders::Told;
use crate::expr::{Condition, Expr, StatementId};
use crate::paths::{Guard, Path};
use crate::resolve::{Bindings, Instance, Resolver};
use crate::scenario::{Edge, Event, Point, Turn};
use crate::schema::TableId;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many slices of a kind, of the candidates of a cycle, may be possible before no more are looked at.
const IN_VAIN_MAX: usize = 4;

/// The paths of a cycle's instances, without what does not concern it.
pub(super) struct Slice {
    paths: Vec<Arc<Path>>,
    /// The position of each statement of the whole paths, where it is kept.
    places: Vec<Vec<Option<u32>>>,
    /// Which of the meetings of the layout are between statements that are kept.
    meets: Vec<bool>,
    /// Which of the slices of a cycle it is: those of single dependencies, the coarse one, the fine one.
    kind: usize,
}

/// What makes the constraints of a slice, but for the writes that must be kept apart.
#[derive(PartialEq, Eq, Hash)]
struct Essence {
    /// The paths, by position among those known.
    paths: Vec<usize>,
    edges: Vec<Option<(Point, Point)>>,
    told: Vec<Told>,
    /// Whether it is of a server.
    timed: Vec<bool>,
}

/// Slices of the candidates of a cycle.
#[derive(Default)]
pub(super) struct Slices {
    paths: Vec<Arc<Path>>,
    known: FxHashMap<Essence, Vec<Looked>>,
    /// How many were not refuted, of each kind.
    in_vain: FxHashMap<usize, usize>,
}

/// A slice that was looked at.
struct Looked {
    apart: Vec<(Point, Point)>,
    refuted: bool,
}

impl Slices {
    /// Whether a slice is contradictory; if it is not known, `ask` is asked.
    pub fn is_refuted(
        &mut self,
        slice: &Slice,
        (whole, told): (&Candidate, &[Told]),
        ask: impl FnOnce(&Candidate) -> bool,
    ) -> bool {
        if self
            .in_vain
            .get(&slice.kind)
            .is_some_and(|count| *count >= IN_VAIN_MAX)
        {
            return false;
        }
        let paths = slice.paths.iter().map(|path| self.number(path)).collect();
        let pair = |(one, other): (Point, Point)| Some((slice.point(one)?, slice.point(other)?));
        let edges = whole.edges.iter().map(|edge| pair((edge.from, edge.to)));
        let told = told.iter().zip(&slice.meets).filter(|(_, meets)| **meets);
        let essence = Essence {
            paths,
            edges: edges.collect(),
            told: told.map(|(told, _)| *told).collect(),
            timed: whole
                .instances
                .iter()
                .map(|run| run.level.is_some())
                .collect(),
        };
        let apart: Vec<(Point, Point)> = whole.apart.iter().filter_map(|two| pair(*two)).collect();
        let looked = self.known.entry(essence).or_default();
        let within = |one: &&Looked| match one.refuted {
            true => one.apart.iter().all(|two| apart.contains(two)),
            false => one.apart == apart,
        };
        if let Some(known) = looked.iter().find(within) {
            return known.refuted;
        }
        let refuted = ask(&slice.candidate(whole));
        looked.push(Looked { apart, refuted });
        *self.in_vain.entry(slice.kind).or_default() += usize::from(!refuted);
        refuted
    }

    fn number(&mut self, path: &Arc<Path>) -> usize {
        let known = self.paths.iter().position(|known| known == path);
        known.unwrap_or_else(|| {
            self.paths.push(path.clone());
            self.paths.len() - 1
        })
    }
}

impl Slice {
    /// The slices of these paths, the coarsest first: for the tables of single dependencies, then of the cycle.
    pub fn all(layout: &Layout<'_>) -> Vec<Slice> {
        let whole = kept(layout.paths, layout.edges);
        let mut tried: Vec<Vec<Vec<bool>>> = vec![whole.clone()];
        let mut found: Vec<Slice> = Vec::new();
        for (kind, edge) in layout.edges.iter().enumerate() {
            let part = kept(layout.paths, std::slice::from_ref(edge));
            if !tried.contains(&part) {
                found.push(Slice::of(layout, &part, kind, true));
                tried.push(part);
            }
        }
        let kind = layout.edges.len();
        found.push(Slice::of(layout, &whole, kind, true));
        if !whole.iter().flatten().all(|kept| *kept) {
            let fine = Slice::of(layout, &whole, kind + 1, false);
            if found.last().is_none_or(|coarse| coarse.paths != fine.paths) {
                found.push(fine);
            }
        }
        found
    }

    /// What is kept of these paths; of the conditions all, or only those on whether rows are found: how many rows a
    /// search goes over depends on these.
    fn of(layout: &Layout<'_>, kept: &[Vec<bool>], kind: usize, coarse: bool) -> Slice {
        let sliced = layout.paths.iter().zip(kept);
        let sliced = sliced.map(|(path, kept)| Arc::new(sliced_path(path, kept, coarse)));
        let places = |kept: &Vec<bool>| {
            let mut next = 0..;
            let place = |kept: &bool| kept.then(|| next.next()).flatten();
            kept.iter().map(place).collect()
        };
        let stays = |point: &Point| kept[point.instance][point.statement as usize];
        let meets = |(one, write): &(Point, Point)| stays(one) && stays(write);
        Slice {
            paths: sliced.collect(),
            places: kept.iter().map(places).collect(),
            meets: layout.meetings.iter().map(meets).collect(),
            kind,
        }
    }

    fn point(&self, point: Point) -> Option<Point> {
        let statement = self.places[point.instance][point.statement as usize]?;
        Some(Point { statement, ..point })
    }

    /// The part of a candidate on these paths.
    fn candidate(&self, whole: &Candidate) -> Candidate {
        let mut positions: BTreeMap<usize, usize> = BTreeMap::new();
        let mut schedule: Vec<Turn> = Vec::new();
        for (at, turn) in whole.schedule.iter().enumerate() {
            let event = match turn.event {
                Event::Statement(statement) => {
                    let place = self.places[turn.instance][statement as usize];
                    match place {
                        Some(place) => Event::Statement(place),
                        None => continue,
                    }
                }
                other => other,
            };
            positions.insert(at, schedule.len());
            let seen = |sees: &BTreeSet<usize>| -> BTreeSet<usize> {
                let kept = sees.iter().filter_map(|seen| positions.get(seen));
                kept.copied().collect()
            };
            schedule.push(Turn {
                instance: turn.instance,
                event,
                sees: turn.sees.as_ref().map(seen),
            });
        }
        let run = |(run, path): (&Run, &Arc<Path>)| Run {
            path: path.clone(),
            ..run.clone()
        };
        let edge = |edge: &Edge| {
            let (from, to) = (self.point(edge.from)?, self.point(edge.to)?);
            Some(Edge {
                from,
                to,
                ..edge.clone()
            })
        };
        let apart = |(one, other): &(Point, Point)| Some((self.point(*one)?, self.point(*other)?));
        Candidate {
            instances: whole.instances.iter().zip(&self.paths).map(run).collect(),
            edges: whole.edges.iter().filter_map(edge).collect(),
            schedule,
            apart: whole.apart.iter().filter_map(apart).collect(),
        }
    }
}

/// Which statements touch the tables of the cycle. All statements of a table are kept or none: a search goes
/// over the rows that the others name.
fn kept(paths: &[Arc<Path>], edges: &[Edge]) -> Vec<Vec<bool>> {
    let touched = |point: Point| {
        let statement = &paths[point.instance].statements[point.statement as usize];
        statement.parts.iter().map(|part| part.table)
    };
    let points = edges.iter().flat_map(|edge| [edge.from, edge.to]);
    let mut tables: BTreeSet<TableId> = points.flat_map(touched).collect();
    let mut kept: Vec<Vec<bool>> = Vec::new();
    let mut count = 0;
    while count != tables.len() {
        count = tables.len();
        kept.clear();
        for path in paths {
            let mut own = Vec::new();
            for statement in &path.statements {
                let parts = || statement.parts.iter().map(|part| part.table);
                let keeps = parts().any(|table| tables.contains(&table));
                if keeps {
                    tables.extend(parts());
                }
                own.push(keeps);
            }
            kept.push(own);
        }
    }
    kept
}

fn sliced_path(path: &Path, kept: &[bool], coarse: bool) -> Path {
    let mut bindings = Bindings {
        lost: Some(Vec::new()),
        ..Bindings::default()
    };
    let mine = kept.iter().enumerate().filter(|(_, kept)| **kept);
    for (next, (at, _)) in (0..).zip(mine) {
        let instance = Instance {
            position: StatementId(next),
            advanced: 0,
        };
        bindings.instances.insert(at as u32, instance);
    }
    let mut resolver = Resolver::new(&mut bindings);
    let mut statements = Vec::new();
    for (statement, _) in path.statements.iter().zip(kept).filter(|(_, kept)| **kept) {
        let position = StatementId(statements.len() as u32);
        statements.push(resolver.statement(statement, position));
    }
    let mut guards = Vec::new();
    let stays = |guard: &&Guard| is_about(guard, kept) && (!coarse || is_about_rows(guard));
    for guard in path.guards.iter().filter(stays) {
        guards.push(Guard {
            condition: resolver.condition(&guard.condition),
            after: kept[..guard.after].iter().filter(|kept| **kept).count(),
            place: guard.place.clone(),
        });
    }
    Path {
        statements,
        guards,
        end: path.end,
        cut: path.cut,
        unknowns: bindings.origins,
    }
}

/// Whether a condition says that a row is found or not.
fn is_about_rows(guard: &Guard) -> bool {
    let mut conditions = vec![&guard.condition];
    while let Some(condition) = conditions.pop() {
        match condition {
            Condition::HasRow { .. } => return true,
            Condition::And(all) | Condition::Or(all) => conditions.extend(all),
            Condition::Not(inner) => conditions.push(inner),
            _ => {}
        }
    }
    false
}

/// Whether a condition is about nothing but kept statements, arguments and unknowns.
fn is_about(guard: &Guard, kept: &[bool]) -> bool {
    let mut conditions = vec![&guard.condition];
    let mut expressions: Vec<&Expr> = Vec::new();
    let is_kept = |statement: &StatementId| kept[statement.0 as usize];
    while let Some(condition) = conditions.pop() {
        match condition {
            Condition::HasRow { statement, .. } if !is_kept(statement) => return false,
            Condition::And(all) | Condition::Or(all) => conditions.extend(all),
            Condition::Not(inner) => conditions.push(inner),
            other => expressions.extend(other.expressions()),
        }
    }
    let mut all = expressions.into_iter().flat_map(|expr| expr.all());
    all.all(|expr| match expr {
        Expr::Field { statement, .. } | Expr::RowCount(statement) => is_kept(statement),
        Expr::If { .. } => false,
        _ => true,
    })
}
