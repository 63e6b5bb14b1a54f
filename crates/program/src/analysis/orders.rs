//! The orders and visibilities that a level allows for a cycle.
//!
//! Definition: a level allows an order of the steps together with what each statement sees if its
//! axioms hold. Levels about operations (Rahmani et al., table 1) speak of statements; levels about
//! transactions (Cerone, Bernardi, Gotsman 2015) of whole transactions, read committed of what is
//! committed before each statement, as in multiversion databases.
//! Steps: only where the statements of the cycle stand relative to each other matters, so an
//! instance is cut into blocks that end with them; the blocks are interleaved in all ways. For
//! levels about operations, what must be seen (the dependencies of the cycle) is closed under the
//! axioms; the least such relation is the best, since every edge also says what is not seen. For
//! the others, begin and commit are interleaved as well; for those that no single clock gives
//! (read atomic, parallel snapshot), orders and visibilities of whole transactions are.
//! Two orders are one if every statement sees the same of what matters to it, and writes that may meet
//! come in the same order: then the same values do the same. What matters to a statement is what is
//! written to its tables, and to those that foreign keys join to them.
//! Cost: the interleavings of a few blocks, at most [`ORDERS_MAX`].

use super::blocks::{Layout, Spot, interleavings};
use super::closure::close;
use crate::scenario::{EdgeKind, Event, Point, StoreLevel, Turn};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// The most orders of one cycle.
pub(super) const ORDERS_MAX: usize = 4000;

/// The most instances for which all visibilities between whole transactions are tried.
const WHOLE_MAX: usize = 5;

/// An order that a level allows.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// The steps.
    pub schedule: Vec<Turn>,
    /// Statements that must not write the same row.
    pub apart: Vec<(Point, Point)>,
    /// For each meeting of the layout, whether the statement sees the write, and whether it is a write that comes
    /// later.
    pub told: Vec<Told>,
}

/// Whether a statement sees a write, and whether it is itself a write that comes later.
pub(super) type Told = (bool, bool);

/// The orders of one level, and whether there may be more.
pub(super) fn orders(
    layout: &Layout<'_>,
    level: StoreLevel,
    partitions: usize,
) -> (Vec<Order>, bool) {
    use StoreLevel as L;
    let found = all_orders(layout, level, partitions);
    let cut = match level {
        L::Serial | L::Serializable => false,
        L::ReadAtomic | L::ParallelSnapshot => {
            found.len() >= ORDERS_MAX || layout.instances() > WHOLE_MAX
        }
        L::Snapshot => ways(&vec![2; layout.instances()]) > ORDERS_MAX,
        L::ReadUncommitted | L::ReadCommitted | L::Prefix => {
            ways(&layout.block_counts(true)) > ORDERS_MAX
        }
        _ => ways(&layout.block_counts(false)) > ORDERS_MAX,
    };
    (found, cut)
}

/// How many ways there are to merge sequences of these lengths.
fn ways(lengths: &[usize]) -> usize {
    let (mut ways, mut total) = (1usize, 0);
    for length in lengths {
        for step in 1..=*length {
            total += 1;
            // Always whole: it is a binomial coefficient times the ways so far.
            ways = ways.saturating_mul(total) / step;
        }
    }
    ways
}

fn all_orders(layout: &Layout<'_>, level: StoreLevel, partitions: usize) -> Vec<Order> {
    use StoreLevel as L;
    match level {
        L::Serial | L::Serializable => Vec::new(),
        L::LinearizableOperations => one_copy(layout),
        L::Eventual | L::CausalVisibility | L::CausalOperations if partitions < 2 => {
            one_copy(layout)
        }
        L::Eventual | L::CausalVisibility | L::CausalOperations => {
            let mut all = one_copy(layout);
            all.extend(replicated(layout, level));
            all
        }
        L::ReadCommittedOperations | L::RepeatableReadOperations | L::AtomicOperations => {
            match partitions < 2 {
                // Everything earlier is seen, so atomic visibility is a serial order.
                true => Vec::new(),
                false => replicated(layout, level),
            }
        }
        L::ReadUncommitted | L::ReadCommitted | L::Prefix | L::Snapshot => {
            committed(layout, &vec![level; layout.instances()])
        }
        L::ReadAtomic | L::ParallelSnapshot => whole(layout, level),
    }
}

/// Orders where every instance has a level of its own, and whether there may be more.
pub(super) fn mixed_orders(layout: &Layout<'_>, levels: &[StoreLevel]) -> (Vec<Order>, bool) {
    let serializable = |at: usize| levels[at % levels.len()] == StoreLevel::Serializable;
    let count = layout.instances();
    if (0..count).all(serializable) {
        return (Vec::new(), false);
    }
    // Serializable transactions among themselves do not have two anti-dependencies in a row.
    let anti = |at: usize| layout.edges[at % count].kind == EdgeKind::ReadWrite;
    for at in 0..count {
        let three = serializable(at) && serializable(at + 1) && serializable((at + 2) % count);
        if three && anti(at) && anti(at + 1) {
            return (Vec::new(), false);
        }
    }
    let cut = ways(&layout.block_counts(true)) > ORDERS_MAX;
    (committed(layout, levels), cut)
}

/// A single copy without isolation: everything earlier is seen.
fn one_copy(layout: &Layout<'_>) -> Vec<Order> {
    let mut found = Vec::new();
    let mut seen = FxHashSet::default();
    for order in interleavings(&layout.block_counts(false), ORDERS_MAX) {
        let turns = layout.turns(&order, false);
        let spots = layout.spots(&turns);
        let at = |point: Point| spots[point.instance].statements[point.statement as usize];
        let follows = |edge: &crate::scenario::Edge| at(edge.from) < at(edge.to);
        let before = |(one, write): &(Point, Point)| {
            let earlier = at(*write) < at(*one);
            (earlier, earlier && layout.is_write(*one))
        };
        if !layout.edges.iter().all(follows) {
            continue;
        }
        let told: Vec<Told> = layout.meetings.iter().map(before).collect();
        if seen.insert(told.clone()) {
            found.push(Order {
                schedule: turns,
                apart: Vec::new(),
                told,
            });
        }
    }
    found
}

/// Copies that see what they must, and nothing else.
fn replicated(layout: &Layout<'_>, level: StoreLevel) -> Vec<Order> {
    let mut found = Vec::new();
    let mut known = FxHashSet::default();
    for order in interleavings(&layout.block_counts(false), ORDERS_MAX) {
        let mut turns = layout.turns(&order, false);
        let Some(sees) = close(layout, &turns, level) else {
            continue;
        };
        let spots = layout.spots(&turns);
        let at = |point: Point| spots[point.instance].statements[point.statement as usize];
        let met = layout.meetings.iter();
        let told = met.map(|(one, write)| {
            (
                sees[at(*one)].contains(&at(*write)),
                at(*write) < at(*one) && layout.is_write(*one),
            )
        });
        let told: Vec<Told> = told.collect();
        if !known.insert(told.clone()) {
            continue;
        }
        for (turn, sees) in turns.iter_mut().zip(sees) {
            if let Event::Statement(_) = turn.event {
                turn.sees = Some(sees);
            }
        }
        found.push(Order {
            schedule: turns,
            apart: Vec::new(),
            told,
        });
    }
    found
}

/// Transactions with begin and commit on one copy with versions.
fn committed(layout: &Layout<'_>, levels: &[StoreLevel]) -> Vec<Order> {
    let mut found = Vec::new();
    let mut known = FxHashSet::default();
    for order in with_commits(layout, levels) {
        let turns = layout.turns(&order, true);
        let clock = Clock::new(layout, &turns, levels);
        let allowed = layout.edges.iter().all(|edge| match edge.kind {
            EdgeKind::WriteRead => clock.sees(edge.to, edge.from),
            EdgeKind::ReadWrite => !clock.sees(edge.from, edge.to),
            EdgeKind::WriteWrite => clock.at(edge.from) < clock.at(edge.to),
            EdgeKind::Sibling => true,
        });
        if !allowed {
            continue;
        }
        let apart = clock.apart();
        // Both would have to write the row that they must not both write.
        let forbidden = |(one, other): &(Point, Point)| {
            apart.contains(&(*one, *other)) || apart.contains(&(*other, *one))
        };
        if layout.exclusive.iter().any(forbidden) {
            continue;
        }
        let told = clock.views();
        if known.insert((told.clone(), apart.clone())) {
            found.push(Order {
                schedule: turns,
                apart,
                told,
            });
        }
    }
    found
}

/// The interleavings of blocks and commits. At snapshot isolation it matters only when transactions
/// begin and commit: what they read is that of their begin, and who wrote the same as another one
/// did not run at the same time. So their blocks come together.
fn with_commits(layout: &Layout<'_>, levels: &[StoreLevel]) -> Vec<Vec<usize>> {
    let counts = layout.block_counts(true);
    if levels.iter().any(|level| *level != StoreLevel::Snapshot) {
        return interleavings(&counts, ORDERS_MAX);
    }
    let mut orders = Vec::new();
    for order in interleavings(&vec![2; counts.len()], ORDERS_MAX) {
        let mut begun = vec![false; counts.len()];
        let mut whole = Vec::new();
        for instance in order {
            let is_commit = std::mem::replace(&mut begun[instance], true);
            let steps = if is_commit { 1 } else { counts[instance] - 1 };
            whole.extend(std::iter::repeat_n(instance, steps));
        }
        orders.push(whole);
    }
    orders
}

/// When things happen in an order with begin and commit.
struct Clock<'a> {
    layout: &'a Layout<'a>,
    levels: &'a [StoreLevel],
    spots: Vec<Spot>,
}

impl<'a> Clock<'a> {
    fn new(layout: &'a Layout<'a>, turns: &[Turn], levels: &'a [StoreLevel]) -> Clock<'a> {
        Clock {
            layout,
            levels,
            spots: layout.spots(turns),
        }
    }

    fn at(&self, point: Point) -> usize {
        self.spots[point.instance].statements[point.statement as usize]
    }

    /// Whether the reader sees the write.
    fn sees(&self, reader: Point, write: Point) -> bool {
        let committed = self.spots[write.instance].commit;
        match self.levels[reader.instance] {
            StoreLevel::ReadUncommitted => self.at(write) < self.at(reader),
            StoreLevel::ReadCommitted => committed < self.at(reader),
            _ => committed < self.spots[reader.instance].begin,
        }
    }

    /// What each statement sees of the writes that matter to it, and which of two writes is first.
    fn views(&self) -> Vec<Told> {
        let met = self.layout.meetings.iter();
        met.map(|(one, write)| {
            let first = self.at(*write) < self.at(*one) && self.layout.is_write(*one);
            (self.sees(*one, *write), first)
        })
        .collect()
    }

    /// Writes that a lock or the rule of the first committer keeps apart.
    fn apart(&self) -> Vec<(Point, Point)> {
        let mut apart = Vec::new();
        for (first, second) in self.layout.overwrites.iter().chain(&self.layout.locks) {
            let (first, second) = match self.at(*first) < self.at(*second) {
                true => (*first, *second),
                false => (*second, *first),
            };
            let committed = self.spots[first.instance].commit;
            let locked = committed > self.at(second);
            let snapshot = matches!(
                self.levels[second.instance],
                StoreLevel::Snapshot | StoreLevel::Serializable
            );
            // A lock alone is gone with its transaction; a write is a newer version.
            let written = self.layout.is_write(first);
            let stale = snapshot && written && committed > self.spots[second.instance].begin;
            if (locked || stale) && !apart.contains(&(first, second)) {
                apart.push((first, second));
            }
        }
        apart
    }
}

/// Whole transactions one after the other, each seeing all or nothing of those before.
fn whole(layout: &Layout<'_>, level: StoreLevel) -> Vec<Order> {
    let count = layout.instances();
    let mut found = Vec::new();
    for order in interleavings(&vec![1; count], ORDERS_MAX) {
        let place = |instance: usize| order.iter().position(|at| *at == instance).unwrap_or(0);
        let mut must: BTreeSet<(usize, usize)> = BTreeSet::new();
        let mut never: BTreeSet<(usize, usize)> = BTreeSet::new();
        let mut possible = true;
        for edge in layout.edges {
            let (from, to) = (edge.from.instance, edge.to.instance);
            match edge.kind {
                EdgeKind::WriteRead => drop(must.insert((from, to))),
                EdgeKind::ReadWrite => drop(never.insert((to, from))),
                EdgeKind::WriteWrite if level == StoreLevel::ParallelSnapshot => {
                    must.insert((from, to));
                }
                EdgeKind::WriteWrite => possible &= place(from) < place(to),
                EdgeKind::Sibling => {}
            }
        }
        if !possible || must.iter().any(|(from, to)| place(*from) > place(*to)) {
            continue;
        }
        for seen in visibilities(&order, &must, &never, level) {
            found.push(layout.whole_order(&order, &seen, level == StoreLevel::ParallelSnapshot));
            if found.len() >= ORDERS_MAX {
                return found;
            }
        }
    }
    found
}

/// The relations between whole transactions that contain what must be seen and nothing that must
/// not, the least first.
fn visibilities(
    order: &[usize],
    must: &BTreeSet<(usize, usize)>,
    never: &BTreeSet<(usize, usize)>,
    level: StoreLevel,
) -> Vec<BTreeSet<(usize, usize)>> {
    let mut free: Vec<(usize, usize)> = Vec::new();
    for (at, first) in order.iter().enumerate() {
        for second in &order[at + 1..] {
            let pair = (*first, *second);
            if !must.contains(&pair) && !never.contains(&pair) {
                free.push(pair);
            }
        }
    }
    // Read atomic has no rule that more visibility would help to keep.
    let choices = match level {
        StoreLevel::ParallelSnapshot => 1u32 << free.len().min(10),
        _ => 1,
    };
    let mut found: Vec<BTreeSet<(usize, usize)>> = Vec::new();
    for choice in 0..choices {
        let mut seen = must.clone();
        let chosen = free
            .iter()
            .enumerate()
            .filter(|(at, _)| choice & (1 << at) != 0);
        seen.extend(chosen.map(|(_, pair)| *pair));
        let transitive = seen.iter().all(|(a, b)| {
            let mut next = seen.iter().filter(|(from, _)| from == b);
            next.all(|(_, c)| seen.contains(&(*a, *c)))
        });
        if transitive || level == StoreLevel::ReadAtomic {
            found.push(seen);
        }
    }
    found.sort_by_key(BTreeSet::len);
    found
}
