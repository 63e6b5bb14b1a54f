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
    /// Statements of different instances that may lock the same row, one of them by a select; each pair once.
    pub locks: Vec<(Point, Point)>,
    /// Dependencies that are there only if both statements write the same row.
    pub exclusive: Vec<(Point, Point)>,
    /// Statements and the writes of other instances that may matter to them.
    pub meetings: Vec<(Point, Point)>,
    /// For each instance, the positions after which it is cut.
    cuts: Vec<Vec<u32>>,
}

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
            locks: Vec::new(),
            exclusive: Vec::new(),
            meetings: Vec::new(),
            cuts: sorted(cuts),
        }
    }

    pub fn instances(&self) -> usize {
        self.paths.len()
    }

    /// Whether a statement writes.
    pub fn is_write(&self, point: Point) -> bool {
        self.paths[point.instance].statements[point.statement as usize].is_write()
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
        let place = |instance: usize| order.iter().position(|one| *one == instance);
        let told = |(one, write): &(Point, Point)| {
            let later = place(write.instance) < place(one.instance);
            let sees = seen.contains(&(write.instance, one.instance));
            (sees, later && self.is_write(*one))
        };
        Order {
            schedule: turns,
            apart,
            told: self.meetings.iter().map(told).collect(),
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
