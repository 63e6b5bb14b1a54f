//! The instances of a cycle cut into blocks, and interleaved.

use super::orders::Order;
use crate::paths::Path;
use crate::scenario::{Edge, Event, Point, Turn};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The instances of a cycle, and where it passes.
pub(super) struct Layout<'a> {
    /// The paths of the instances.
    pub paths: &'a [Arc<Path>],
    /// The dependencies: the first leads from the first instance to the second, and so on.
    pub edges: &'a [Edge],
    /// Statements of different instances that may write the same row, each pair once.
    pub overwrites: Vec<(Point, Point)>,
    /// For each instance, its statements on the cycle.
    passed: Vec<Vec<u32>>,
    /// For each instance, the positions after which it is cut.
    cuts: Vec<Vec<u32>>,
}

/// What an instance does.
type Step = (usize, Event);

/// When an instance does what.
pub(super) struct Spot {
    pub begin: usize,
    pub statements: Vec<usize>,
    pub commit: usize,
}

impl<'a> Layout<'a> {
    pub fn new(
        paths: &'a [Arc<Path>],
        edges: &'a [Edge],
        overwrites: Vec<(Point, Point)>,
    ) -> Layout<'a> {
        let mut passed: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); paths.len()];
        for point in edges.iter().flat_map(|edge| [edge.from, edge.to]) {
            passed[point.instance].insert(point.statement);
        }
        let mut cuts = passed.clone();
        if paths.len() == 2 {
            for point in between(&passed, &overwrites) {
                cuts[point.instance].insert(point.statement);
            }
        }
        let sorted = |all: Vec<BTreeSet<u32>>| -> Vec<Vec<u32>> {
            all.into_iter().map(|of| of.into_iter().collect()).collect()
        };
        Layout {
            paths,
            edges,
            overwrites,
            passed: sorted(passed),
            cuts: sorted(cuts),
        }
    }

    pub fn instances(&self) -> usize {
        self.paths.len()
    }

    /// The statements of the cycle.
    pub fn points(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for (instance, passed) in self.passed.iter().enumerate() {
            points.extend(passed.iter().map(|statement| Point {
                instance,
                statement: *statement,
            }));
        }
        points
    }

    /// How many blocks each instance has; the commit may be one of its own.
    pub fn block_counts(&self, commits: bool) -> Vec<usize> {
        let extra = usize::from(commits);
        self.cuts
            .iter()
            .map(|cuts| cuts.len().max(1) + extra)
            .collect()
    }

    /// The statements of a block: up to the next one of the cycle; the last has the rest as well.
    fn block(&self, instance: usize, block: usize) -> std::ops::Range<u32> {
        let cuts = &self.cuts[instance];
        let from = block.checked_sub(1).and_then(|at| cuts.get(at));
        let from = from.map_or(0, |cut| cut + 1);
        let all = self.paths[instance].statements.len() as u32;
        match block + 1 < cuts.len() {
            true => from..cuts[block] + 1,
            false => from..all,
        }
    }

    /// The steps of an interleaving.
    pub fn turns(&self, order: &[usize], commits: bool) -> Vec<Turn> {
        let counts = self.block_counts(false);
        let mut done = vec![0usize; self.instances()];
        let mut turns = Vec::new();
        for instance in order.iter().copied() {
            let block = done[instance];
            done[instance] += 1;
            let mut push = |event| {
                turns.push(Turn {
                    instance,
                    event,
                    sees: None,
                });
            };
            if block == 0 {
                push(Event::Begin);
            }
            if block < counts[instance] {
                for statement in self.block(instance, block) {
                    push(Event::Statement(statement));
                }
            }
            let last = counts[instance] - usize::from(!commits);
            if block == last {
                push(Event::Commit);
            }
        }
        turns
    }

    /// The turn of a statement.
    pub fn position(&self, turns: &[Turn], point: Point) -> Option<usize> {
        turns.iter().position(|turn| {
            turn.instance == point.instance && turn.event == Event::Statement(point.statement)
        })
    }

    /// The blocks of an interleaving, in order, and whether they write.
    fn blocks(&self, order: &[usize]) -> Vec<((usize, usize), bool)> {
        let counts = self.block_counts(false);
        let mut done = vec![0usize; self.instances()];
        let mut found = Vec::new();
        for instance in order.iter().copied() {
            let block = done[instance];
            done[instance] += 1;
            if block >= counts[instance] {
                continue;
            }
            let statements = &self.paths[instance].statements;
            let mut range = self.block(instance, block);
            let writes = range.any(|at| statements[at as usize].is_write());
            found.push(((instance, block), writes));
        }
        found
    }

    /// The order of those blocks that write.
    pub fn writing(&self, order: &[usize]) -> Vec<(usize, usize)> {
        let blocks = self.blocks(order).into_iter();
        blocks
            .filter(|(_, writes)| *writes)
            .map(|(block, _)| block)
            .collect()
    }

    /// Which of two blocks comes first, for all pairs of different instances one of which writes.
    pub fn meetings(&self, order: &[usize]) -> Vec<((usize, usize), (usize, usize))> {
        let blocks = self.blocks(order);
        let mut found = Vec::new();
        for (at, (first, one)) in blocks.iter().enumerate() {
            for (second, other) in &blocks[at + 1..] {
                if first.0 != second.0 && (*one || *other) {
                    found.push((*first, *second));
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// What turns see, said without the numbers of turns.
    pub fn named(&self, turns: &[Turn], sees: &[BTreeSet<usize>]) -> Vec<Vec<Step>> {
        let mut named: Vec<(Step, Vec<Step>)> = Vec::new();
        for (turn, sees) in turns.iter().zip(sees) {
            let mut seen: Vec<Step> = sees
                .iter()
                .map(|at| (turns[*at].instance, turns[*at].event))
                .collect();
            seen.sort();
            named.push(((turn.instance, turn.event), seen));
        }
        named.sort();
        named.into_iter().map(|(_, seen)| seen).collect()
    }

    /// When each instance does what.
    pub fn spots(&self, turns: &[Turn]) -> Vec<Spot> {
        let spot = |path: &Arc<Path>| Spot {
            begin: 0,
            statements: vec![0; path.statements.len()],
            commit: turns.len(),
        };
        let mut spots: Vec<Spot> = self.paths.iter().map(spot).collect();
        for (at, turn) in turns.iter().enumerate() {
            let spot = &mut spots[turn.instance];
            match turn.event {
                Event::Begin => spot.begin = at,
                Event::Statement(statement) => spot.statements[statement as usize] = at,
                Event::Commit => spot.commit = at,
            }
        }
        spots
    }

    /// Whole instances one after the other, each seeing those that the relation says.
    pub fn whole_order(
        &self,
        order: &[usize],
        seen: &BTreeSet<(usize, usize)>,
        exclusive: bool,
    ) -> Order {
        let mut turns: Vec<Turn> = Vec::new();
        for instance in order.iter().copied() {
            let visible = |turn: &Turn| {
                matches!(turn.event, Event::Statement(_))
                    && seen.contains(&(turn.instance, instance))
            };
            let sees: BTreeSet<usize> = turns
                .iter()
                .enumerate()
                .filter(|(_, turn)| visible(turn))
                .map(|(at, _)| at)
                .collect();
            let statements = 0..self.paths[instance].statements.len() as u32;
            let events = std::iter::once(Event::Begin)
                .chain(statements.map(Event::Statement))
                .chain([Event::Commit]);
            for event in events {
                let statement = matches!(event, Event::Statement(_));
                turns.push(Turn {
                    instance,
                    event,
                    sees: statement.then(|| sees.clone()),
                });
            }
        }
        let unrelated = |(a, b): &&(Point, Point)| {
            let pair = (a.instance, b.instance);
            !seen.contains(&pair) && !seen.contains(&(pair.1, pair.0))
        };
        let apart = match exclusive {
            true => self.overwrites.iter().filter(unrelated).copied().collect(),
            false => Vec::new(),
        };
        Order {
            schedule: turns,
            apart,
        }
    }
}

/// Writes off the cycle, between statements on it, of what the other instance writes there: the
/// other may come between them and what follows.
fn between(passed: &[BTreeSet<u32>], overwrites: &[(Point, Point)]) -> Vec<Point> {
    let on = |point: &Point| passed[point.instance].contains(&point.statement);
    let inside = |point: &Point| {
        let own = &passed[point.instance];
        let first = own.first().is_some_and(|first| *first < point.statement);
        first && own.last().is_some_and(|last| *last > point.statement)
    };
    let pairs = overwrites.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
    pairs
        .filter(|(one, other)| on(one) && !on(other) && inside(other))
        .map(|(_, other)| other)
        .collect()
}

/// All ways to merge sequences of these lengths, by whose turn it is.
pub(super) fn interleavings(lengths: &[usize], most: usize) -> Vec<Vec<usize>> {
    let total: usize = lengths.iter().sum();
    let mut found = Vec::new();
    let mut left = lengths.to_vec();
    let mut order: Vec<usize> = Vec::new();
    let mut next = 0;
    loop {
        if order.len() == total {
            found.push(order.clone());
            if found.len() >= most {
                return found;
            }
            next = lengths.len();
        }
        match (next..lengths.len()).find(|at| left[*at] > 0) {
            Some(at) => {
                left[at] -= 1;
                order.push(at);
                next = 0;
            }
            None => match order.pop() {
                Some(at) => {
                    left[at] += 1;
                    next = at + 1;
                }
                None => return found,
            },
        }
    }
}
