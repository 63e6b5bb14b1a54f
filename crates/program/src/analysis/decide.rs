//! One cycle decided: on paths that pass it, in every order a level allows.

use super::blocks::Layout;
use super::candidate::{
    Candidate, Infeasible, Run, is_contradictory, visible_by_level, witness_unlike, witness_within,
};
use super::conflict::{Conflict, Node};
use super::cycles::{Cycle, Segment};
use super::dependencies::with_siblings;
use super::encode::Caps;
use super::implied_by;
use super::orders::{Order, Told, mixed_orders, orders};
use super::report::LevelWitness;
use super::routes::Choice;
use super::search::Search;
use super::slice::{Slice, Slices};
use crate::execute::{Fate, How, Judgement, allows, judge, lets_write, play};
use crate::ir::Program;
use crate::paths::Path;
use crate::scenario::{Edge, EdgeKind, Event, Scenario, StoreLevel};
use std::sync::Arc;
use std::time::Instant;

/// How many sets of values are tried for one order, where a serial order does the same in spite of
/// what was asked for.
const VARIATIONS: u32 = 3;
/// From how many serial orders a scenario is asked to differ.
const UNLIKE_MAX: usize = 6;

/// What became of a cycle.
#[derive(Default)]
pub(super) struct Decided {
    /// Whether every read on it matters to the database.
    pub internal: bool,
    /// Whether it was left out for that.
    pub left_out: bool,
    /// Whether the time was over before it was decided.
    pub late: bool,
    /// The levels it was neither found nor refuted at.
    pub undecided: Vec<Option<StoreLevel>>,
    /// Whether it was not found at some level.
    pub open: bool,
    /// Whether it happens where a serial order does the same.
    pub benign: bool,
    /// Whether there are more combinations of paths than were tried.
    pub combinations_cut: bool,
    /// The levels with more orders than were tried.
    pub orders_cut: Vec<Option<StoreLevel>>,
    /// What the constraints leave out.
    pub caps: Caps,
    /// Where it is an anomaly.
    pub found: Vec<LevelWitness>,
    /// Its edges there.
    pub edges: Vec<Edge>,
    /// How many candidates were tried.
    pub candidates: usize,
    /// Slices of these, and whether they are contradictory.
    slices: Slices,
    /// These candidates, where they are watched.
    pub watched: Vec<(Candidate, Result<Scenario, Infeasible>)>,
}

/// What became of an attempt.
enum Attempt {
    Found(Scenario),
    /// It happens, but some serial order does the same.
    Benign,
    Contradiction,
    Undecided,
}

impl Search<'_> {
    /// Whether every read on the cycle matters to the database.
    fn is_internal(&self, cycle: &Cycle) -> bool {
        let matters = |node: Node, conflict: &Conflict| {
            self.routes.uses[node.transaction][node.statement].matters(conflict)
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

    /// Decides a cycle.
    pub(super) fn decide(&self, cycle: &Cycle) -> Decided {
        let mut decided = Decided {
            internal: self.is_internal(cycle),
            ..Decided::default()
        };
        if !decided.internal && !self.options.external {
            decided.left_out = true;
            return decided;
        }
        if self.is_late() {
            decided.late = true;
            return decided;
        }
        let mut remaining = self.options.asked();
        let (combinations, cut) = self.routes.combinations(cycle, self.options.combinations);
        for choices in combinations {
            if remaining.is_empty() || self.is_late() {
                break;
            }
            self.attempt(cycle, &choices, &mut remaining, &mut decided);
        }
        decided.slices = Slices::default();
        decided.open = !remaining.is_empty();
        decided.undecided.retain(|level| remaining.contains(level));
        decided.orders_cut.retain(|level| remaining.contains(level));
        decided.combinations_cut = cut && decided.open;
        decided.late = decided.open && self.is_late();
        decided
    }

    fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() > until)
    }

    /// Tries the levels that remain on these paths.
    fn attempt(
        &self,
        cycle: &Cycle,
        choices: &[Choice],
        remaining: &mut Vec<Option<StoreLevel>>,
        decided: &mut Decided,
    ) {
        let edges = self.edges(cycle, choices);
        let paths: Vec<Arc<Path>> = choices.iter().map(|choice| choice.path.clone()).collect();
        let layout = self.layout(cycle, &paths, &edges);
        let slices = Slice::all(&layout);
        let mut asked = Vec::new();
        for level in remaining.iter() {
            asked.push((*level, self.orders_at(cycle, &layout, *level, decided)));
        }
        let first = decided.found.is_empty();
        remaining.clear();
        for (level, orders) in asked {
            let known = decided.found.iter().find(|one: &&LevelWitness| {
                let pair = level.zip(one.level);
                pair.is_some_and(|(asked, found)| implied_by(asked, found))
            });
            // Where a level has no order for it, nothing that another one found happens there.
            if let Some(known) = known.filter(|_| !orders.is_empty()).cloned() {
                decided.found.push(LevelWitness { level, ..known });
                continue;
            }
            let asked = (level, orders);
            match self.try_orders(cycle, &layout, &slices, asked, decided) {
                Attempt::Found(scenario) => {
                    decided.found.push(LevelWitness {
                        level,
                        scenario,
                        paths: paths.clone(),
                    });
                    continue;
                }
                Attempt::Undecided => decided.undecided.push(level),
                Attempt::Benign => decided.benign = true,
                Attempt::Contradiction => {}
            }
            remaining.push(level);
        }
        if first && !decided.found.is_empty() {
            decided.edges = with_siblings(&edges);
        }
    }

    /// The orders that a level allows; none stands for the levels of the transactions.
    fn orders_at(
        &self,
        cycle: &Cycle,
        layout: &Layout<'_>,
        level: Option<StoreLevel>,
        decided: &mut Decided,
    ) -> Vec<Order> {
        let (orders, cut) = match level {
            Some(level) if level.is_replicated() && cycle.is_single() => (Vec::new(), false),
            Some(level) => orders(layout, level, self.options.partitions),
            None => {
                let own = |segment: &Segment| self.options.level_of(segment.transaction);
                let levels: Vec<StoreLevel> = cycle.segments.iter().map(own).collect();
                mixed_orders(layout, &levels)
            }
        };
        if cut {
            decided.orders_cut.push(level);
        }
        orders
    }

    fn try_orders(
        &self,
        cycle: &Cycle,
        layout: &Layout<'_>,
        slices: &[Slice],
        (level, orders): (Option<StoreLevel>, Vec<Order>),
        decided: &mut Decided,
    ) -> Attempt {
        let (mut undecided, mut benign) = (false, false);
        let timed = |level: StoreLevel| !level.is_replicated();
        for mut order in orders {
            let told = std::mem::take(&mut order.told);
            let level_of = |segment: &Segment| match level {
                None => Some(self.options.level_of(segment.transaction)),
                Some(level) => Some(level).filter(|level| timed(*level)),
            };
            let candidate = candidate_of(cycle, layout, order, level_of);
            decided.candidates += 1;
            let whole = (&candidate, told.as_slice());
            let mut coarse_to_fine = slices.iter();
            if coarse_to_fine.any(|slice| self.is_refuted(slice, whole, decided)) {
                if self.watched {
                    let answer = Err(Infeasible::Contradiction);
                    decided.watched.push((candidate, answer));
                }
                continue;
            }
            match self.solve(candidate, level, decided) {
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

    /// Whether a candidate is contradictory already in what concerns the tables of its cycle.
    fn is_refuted(
        &self,
        slice: &Slice,
        whole: (&Candidate, &[Told]),
        decided: &mut Decided,
    ) -> bool {
        let Decided { slices, caps, .. } = decided;
        slices.is_refuted(slice, whole, |part| {
            let (refuted, met) = is_contradictory(self.program, part, self.until);
            if refuted {
                caps.add(met);
            }
            refuted
        })
    }

    /// A scenario that no serial order does the same as. Where one does, it is asked for another one
    /// that differs from that order as well, until there is none.
    fn solve(
        &self,
        candidate: Candidate,
        level: Option<StoreLevel>,
        decided: &mut Decided,
    ) -> Attempt {
        let (mut answer, caps) = witness_within(self.program, &candidate, 0, self.until);
        decided.caps.add(caps);
        if self.watched {
            decided.watched.push((candidate.clone(), answer.clone()));
        }
        let mut same: Vec<Vec<usize>> = Vec::new();
        let (mut variation, mut unplayed) = (0, false);
        while variation < VARIATIONS && same.len() <= UNLIKE_MAX {
            let scenario = match answer {
                Ok(scenario) => scenario,
                Err(Infeasible::Contradiction) if same.is_empty() => return Attempt::Contradiction,
                Err(Infeasible::Contradiction) => return Attempt::Benign,
                Err(_) => return Attempt::Undecided,
            };
            match self.played(scenario, level) {
                Played::Found(scenario) => return Attempt::Found(scenario),
                Played::Same(order) if !same.contains(&order) => same.push(order),
                Played::Same(_) => variation += 1,
                Played::Failed => (variation, unplayed) = (variation + 1, true),
            }
            answer = witness_unlike(self.program, &candidate, &same, variation, self.until);
        }
        match unplayed {
            true => Attempt::Undecided,
            false => Attempt::Benign,
        }
    }

    /// Plays a scenario at a level.
    fn played(&self, mut scenario: Scenario, level: Option<StoreLevel>) -> Played {
        say_what_is_seen(&mut scenario, level);
        if level.is_some() {
            scenario
                .instances
                .iter_mut()
                .for_each(|one| one.level = None);
        }
        match judged(self.program, &scenario, level) {
            Some(Judgement::NotSerializable) => Played::Found(scenario),
            Some(Judgement::Serializable { order }) => Played::Same(order),
            None => Played::Failed,
        }
    }
}

/// What a play of a scenario was.
enum Played {
    /// What no serial order does.
    Found(Scenario),
    /// What that order does.
    Same(Vec<usize>),
    /// It cannot be played.
    Failed,
}

/// A cycle on these paths in that order.
fn candidate_of(
    cycle: &Cycle,
    layout: &Layout<'_>,
    order: Order,
    level_of: impl Fn(&Segment) -> Option<StoreLevel>,
) -> Candidate {
    let run = |(segment, path): (&Segment, &Arc<Path>)| Run {
        transaction: segment.transaction,
        path: path.clone(),
        level: level_of(segment),
    };
    Candidate {
        instances: cycle.segments.iter().zip(layout.paths).map(run).collect(),
        edges: layout.edges.to_vec(),
        schedule: order.schedule,
        apart: order.apart,
    }
}

/// Whether some serial order does the same as a scenario; nothing where it cannot be played, or where the level forbids
/// what happens then: values that the solver takes for any value are known only when it is played.
fn judged(program: &Program, scenario: &Scenario, level: Option<StoreLevel>) -> Option<Judgement> {
    let played = play(program, scenario, How::Given).ok()?;
    if played.runs.iter().any(|run| run.fate != Fate::Committed) {
        return None;
    }
    let judgement = judge(program, scenario, &played).ok()?;
    let own = |at: usize| level.or(scenario.instances.get(at)?.level);
    let allowed = level.is_none_or(|level| allows(level, &played)) && lets_write(own, &played);
    match judgement {
        Judgement::NotSerializable if !allowed => None,
        known => Some(known),
    }
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
