//! Schedules in which one instance is interrupted by the others, each of which runs without a break.
//!
//! Steps: for each instance of the cycle, each order of the others, and each place where each of them
//! may come between its statements: who sees whom is as the level has it, or both ways where it leaves
//! that open. An order that contradicts the positions of the cycle's statements is left out.
//! Cost: the statements of the interrupted instance to the power of the others, times their orders.

use crate::execute::{Play, orders};
use crate::scenario::{Edge, EdgeKind, Event, Point, StoreLevel, Turn};
use std::collections::BTreeSet;

/// Statements of one instance without a break.
struct Block {
    instance: usize,
    from: u32,
    /// Nothing for the rest of it.
    to: Option<u32>,
    /// The earlier blocks whose writes it sees.
    sees: Vec<usize>,
}

/// Whether the interrupted one sees those that came between, and these see what it did before.
#[derive(Clone, Copy)]
struct Sight {
    of_others: bool,
    of_interrupted: bool,
}

fn sights(level: Option<StoreLevel>) -> Vec<Sight> {
    let sight = |of_others, of_interrupted| Sight {
        of_others,
        of_interrupted,
    };
    match level {
        Some(level) if level.is_replicated() => {
            vec![
                sight(true, true),
                sight(false, false),
                sight(true, false),
                sight(false, true),
            ]
        }
        Some(StoreLevel::ReadUncommitted) => vec![sight(true, true)],
        Some(StoreLevel::ReadCommitted) => vec![sight(true, false)],
        _ => vec![sight(false, false)],
    }
}

/// The schedules of instances that execute so many statements, of which the first `cycle` are on the
/// cycle.
pub(super) fn splits(
    lengths: &[u32],
    cycle: usize,
    level: Option<StoreLevel>,
    edges: &[Edge],
) -> Vec<Vec<Turn>> {
    let mut found: Vec<Vec<Turn>> = Vec::new();
    let sights = sights(level);
    for split in 0..cycle.min(lengths.len()) {
        let others: Vec<usize> = (0..lengths.len()).filter(|at| *at != split).collect();
        let length = lengths[split];
        let near = near(split, length, edges);
        for order in orders(&others) {
            // Of three or more, those of the cycle come only where it matters to the cycle.
            let places = |one: &usize| match order.len() > 1 && *one < cycle {
                true => near.clone(),
                false => (0..=length).collect(),
            };
            let places: Vec<Vec<u32>> = order.iter().map(places).collect();
            for gaps in gaps(&places) {
                for sight in &sights {
                    // Nothing came before, or nothing comes after: it does not matter who sees it.
                    let first = sight.of_interrupted && gaps.iter().all(|gap| *gap == 0);
                    let last = sight.of_others && gaps.iter().all(|gap| *gap == length);
                    if sights.len() > 1 && (first || last) {
                        continue;
                    }
                    let plan = plan(split, &order, &gaps, *sight);
                    if edges.iter().all(|edge| keeps(&plan, edge)) {
                        found.push(turns(&plan));
                    }
                }
            }
        }
    }
    found
}

/// Before and after the statements that the cycle has in an instance.
fn near(split: usize, length: u32, edges: &[Edge]) -> Vec<u32> {
    let points = edges.iter().flat_map(|edge| [edge.from, edge.to]);
    let own = points.filter(|point| point.instance == split);
    let mut found: Vec<u32> = own
        .flat_map(|point| [point.statement, point.statement + 1])
        .filter(|place| *place <= length)
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Where each of them comes between: before the statement of that number, one of those given for it;
/// not before the one ahead of it.
fn gaps(places: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut found: Vec<Vec<u32>> = vec![Vec::new()];
    for places in places {
        let mut longer = Vec::new();
        for gaps in &found {
            let first = gaps.last().copied().unwrap_or(0);
            for gap in places.iter().filter(|gap| **gap >= first) {
                longer.push([gaps.as_slice(), &[*gap]].concat());
            }
        }
        found = longer;
    }
    found
}

fn plan(split: usize, order: &[usize], gaps: &[u32], sight: Sight) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut done = 0;
    let mut add = |instance: usize, from: u32, to: Option<u32>| {
        let seen = |(at, block): (usize, &Block)| {
            let both = (instance == split, block.instance == split);
            let sees = match both {
                (true, true) => false,
                (true, false) => sight.of_others,
                (false, true) => sight.of_interrupted,
                (false, false) => true,
            };
            sees.then_some(at)
        };
        let sees = blocks.iter().enumerate().filter_map(seen).collect();
        blocks.push(Block {
            instance,
            from,
            to,
            sees,
        });
    };
    for (instance, gap) in order.iter().zip(gaps) {
        if *gap > done {
            add(split, done, Some(*gap));
            done = *gap;
        }
        add(*instance, 0, None);
    }
    add(split, done, None);
    blocks
}

/// Whether the order allows a dependency of the cycle, as far as positions say.
fn keeps(plan: &[Block], edge: &Edge) -> bool {
    let block = |point: Point| {
        plan.iter().position(|block| {
            block.instance == point.instance
                && block.from <= point.statement
                && block.to.is_none_or(|to| point.statement < to)
        })
    };
    let (Some(from), Some(to)) = (block(edge.from), block(edge.to)) else {
        return false;
    };
    match edge.kind {
        EdgeKind::ReadWrite => !plan[from].sees.contains(&to),
        EdgeKind::WriteRead => plan[to].sees.contains(&from),
        EdgeKind::WriteWrite | EdgeKind::Sibling => from < to,
    }
}

fn turns(plan: &[Block]) -> Vec<Turn> {
    let mut found: Vec<Turn> = Vec::new();
    let mut of_block: Vec<Vec<usize>> = Vec::new();
    for block in plan {
        let seen = block.sees.iter().flat_map(|at| of_block[*at].clone());
        let sees: BTreeSet<usize> = seen.collect();
        let first = found.len();
        let mut add = |event: Event| {
            found.push(Turn {
                instance: block.instance,
                event,
                sees: Some(sees.clone()),
            });
        };
        match block.to {
            Some(to) => (block.from..to).for_each(|at| add(Event::Statement(at))),
            None => add(Event::Commit),
        }
        of_block.push((first..found.len()).collect());
    }
    found
}

/// What was played, each statement as a turn, with what it saw; `timed` where transactions begin.
pub(crate) fn explicit(played: &Play, timed: bool) -> Vec<Turn> {
    let mut found: Vec<Turn> = Vec::new();
    let mut turn_of: Vec<usize> = Vec::new();
    let mut begun: BTreeSet<usize> = BTreeSet::new();
    for number in 0..=played.operations.len() {
        let commits = played.commits.iter().zip(&played.commit_times);
        for (instance, _) in commits.filter(|(_, time)| **time == number) {
            found.push(Turn {
                instance: *instance,
                event: Event::Commit,
                sees: None,
            });
        }
        let Some(operation) = played.operations.get(number) else {
            break;
        };
        let instance = operation.point.instance;
        if timed && begun.insert(instance) {
            found.push(Turn {
                instance,
                event: Event::Begin,
                sees: None,
            });
        }
        let seen = operation.sees.iter().filter_map(|op| {
            let op = op.checked_sub(1)?;
            let other = played.operations.get(op)?.point.instance != instance;
            other.then(|| turn_of.get(op).copied()).flatten()
        });
        let sees = Some(seen.collect());
        turn_of.push(found.len());
        found.push(Turn {
            instance,
            event: Event::Statement(operation.point.statement),
            sees,
        });
    }
    found
}
