//! An order of all events that agrees with everything known, as close to a given one as that allows;
//! or the cycle that forbids any.
//!
//! Steps: take events without open predecessors, always the one that comes first in the given order.
//! If none is left, going back from predecessor to predecessor among the rest finds a cycle. If an
//! edge of it is only wished for, that edge is given up, and sorting goes on.
//! Cost: O(m) where the given order agrees, else O(m log n) for n events and m edges, and as much as the rest for each edge given up.

use super::known::{Edges, Known, Why};
use super::topological::Step;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Sorts the events of transactions that count, and those of the line of completions.
pub fn sort(known: &Known<'_>, given: &[u32]) -> Result<Vec<u32>, Vec<Step>> {
    if agrees(known, given) {
        return Ok(given.to_vec());
    }
    sort_along(known, given, &Edges::default())
}

/// Whether an order has all events, and agrees with everything known.
fn agrees(known: &Known<'_>, given: &[u32]) -> bool {
    if given.len() != known.counted_events() {
        return false;
    }
    let mut has_gone = vec![false; known.events()];
    for &event in given {
        let mut is_free = !has_gone[event as usize];
        known.predecessors(event, |other, _| is_free &= has_gone[other as usize]);
        if !is_free {
            return false;
        }
        has_gone[event as usize] = true;
    }
    true
}

/// Sorts events along all edges, and otherwise by their places; None if there is a cycle. `successors` calls with
/// the events behind one.
pub fn keeping_places(
    events: &[u32],
    place: &[u32],
    successors: impl Fn(u32, &mut dyn FnMut(u32)),
) -> Option<Vec<u32>> {
    let mut open = vec![0u32; place.len()];
    for &event in events {
        successors(event, &mut |next| open[next as usize] += 1);
    }
    let ranked = |event: u32| Reverse((place[event as usize], event));
    let free = events.iter().filter(|&&event| open[event as usize] == 0);
    let mut heap: BinaryHeap<_> = free.map(|&event| ranked(event)).collect();
    let mut sorted = Vec::with_capacity(events.len());
    while let Some(Reverse((_, event))) = heap.pop() {
        sorted.push(event);
        successors(event, &mut |next| {
            open[next as usize] -= 1;
            if open[next as usize] == 0 {
                heap.push(ranked(next));
            }
        });
    }
    (sorted.len() == events.len()).then_some(sorted)
}

/// Once this many edges were given up one by one, and more than one for so many events sorted, all
/// others are: they are no help.
const GIVEN_UP_MAX: usize = 100;
const SORTED_FOR_EACH: usize = 1000;

/// Sorts along edges that are wished for too, where that is possible. The edges are by their starts.
pub fn sort_along(known: &Known<'_>, given: &[u32], wished: &Edges) -> Result<Vec<u32>, Vec<Step>> {
    let mut sorter = Sorter::new(known, given, wished);
    let mut wished_into: Option<Edges> = None;
    loop {
        sorter.run();
        let Some(start) = sorter.first_open() else {
            return Ok(sorter.sorted);
        };
        if sorter.given_up.len() > GIVEN_UP_MAX + sorter.sorted.len() / SORTED_FOR_EACH {
            sorter.give_up_all();
            continue;
        }
        let into = wished_into.get_or_insert_with(|| wished.reversed(known.events()));
        let cycle = sorter.cycle(start, into);
        match cycle.iter().find(|step| sorter.is_wished(step)) {
            Some(&(from, to, _)) => sorter.give_up(from, to),
            None => return Err(cycle),
        }
    }
}

struct Sorter<'a> {
    known: &'a Known<'a>,
    wished: &'a Edges,
    events: Vec<u32>,
    rank: Vec<u32>,
    /// By event, how many predecessors are not sorted yet.
    open: Vec<u32>,
    /// Wishes given up.
    given_up: FxHashSet<(u32, u32)>,
    heap: BinaryHeap<Reverse<(u32, u32)>>,
    sorted: Vec<u32>,
    /// All events of `events` before this place are sorted.
    first: usize,
}

impl<'a> Sorter<'a> {
    fn new(known: &'a Known<'a>, given: &[u32], wished: &'a Edges) -> Sorter<'a> {
        let count = known.events();
        let mut rank: Vec<u32> = (0..count as u32)
            .map(|event| event + count as u32)
            .collect();
        for (at, &event) in given.iter().enumerate() {
            rank[event as usize] = at as u32;
        }
        let shape = known.shape;
        let first_completion = known.first_completion();
        let exists = |event: &u32| {
            *event >= first_completion || known.observed.taken[shape.txn(*event) as usize]
        };
        let events: Vec<u32> = (0..count as u32).filter(exists).collect();
        let mut open = vec![0u32; count];
        for &event in &events {
            known.successors(event, |next, _| open[next as usize] += 1);
            for &next in wished.of(event) {
                open[next as usize] += 1;
            }
        }
        let free = events.iter().filter(|&&event| open[event as usize] == 0);
        let heap = free.map(|&event| Reverse((rank[event as usize], event)));
        Sorter {
            heap: heap.collect(),
            sorted: Vec::with_capacity(events.len()),
            known,
            wished,
            events,
            rank,
            open,
            given_up: FxHashSet::default(),
            first: 0,
        }
    }

    /// Takes events until none is free.
    fn run(&mut self) {
        while let Some(Reverse((_, event))) = self.heap.pop() {
            self.sorted.push(event);
            let mut close = |next: u32| {
                self.open[next as usize] -= 1;
                if self.open[next as usize] == 0 {
                    self.heap.push(Reverse((self.rank[next as usize], next)));
                }
            };
            self.known.successors(event, |next, _| close(next));
            for &next in self.wished.of(event) {
                if self.given_up.is_empty() || !self.given_up.contains(&(event, next)) {
                    close(next);
                }
            }
        }
    }

    fn first_open(&mut self) -> Option<u32> {
        let rest = &self.events[self.first..];
        let is_open = |&event: &u32| self.open[event as usize] > 0;
        self.first += rest.iter().position(is_open).unwrap_or(rest.len());
        self.events.get(self.first).copied()
    }

    fn is_wished(&self, &(from, to, why): &Step) -> bool {
        why == Why::Implied && self.wished.of(from).contains(&to)
    }

    /// Leaves one wish out of account, however often it was wished.
    fn give_up(&mut self, from: u32, to: u32) {
        let times = self.wished.of(from).iter().filter(|&&next| next == to);
        self.open[to as usize] -= times.count() as u32;
        self.given_up.insert((from, to));
        if self.open[to as usize] == 0 {
            self.heap.push(Reverse((self.rank[to as usize], to)));
        }
    }

    /// Leaves all wishes among the rest out of account.
    fn give_up_all(&mut self) {
        self.wished = &NO_EDGES;
        let is_open = |event: &u32| self.open[*event as usize] > 0;
        let rest = self.events[self.first..].iter().copied();
        let rest: Vec<u32> = rest.filter(is_open).collect();
        for &event in &rest {
            self.open[event as usize] = 0;
        }
        for &event in &rest {
            let open = &mut self.open;
            self.known
                .successors(event, |next, _| open[next as usize] += 1);
        }
        for event in rest {
            if self.open[event as usize] == 0 {
                self.heap.push(Reverse((self.rank[event as usize], event)));
            }
        }
    }

    /// A cycle among the events that are still open; wishes are [`Why::Implied`].
    fn cycle(&self, start: u32, wished_into: &Edges) -> Vec<Step> {
        let mut place: FxHashMap<u32, usize> = FxHashMap::default();
        let mut path: Vec<Step> = Vec::new();
        let mut event = start;
        loop {
            if let Some(&at) = place.get(&event) {
                let mut steps = path.split_off(at);
                steps.reverse();
                return steps;
            }
            place.insert(event, path.len());
            let mut before: Option<(u32, Why)> = None;
            self.known.predecessors(event, |other, why| {
                if before.is_none() && self.open[other as usize] > 0 {
                    before = Some((other, why));
                }
            });
            for &other in wished_into.of(event) {
                let stands = !self.given_up.contains(&(other, event));
                if before.is_none() && self.open[other as usize] > 0 && stands {
                    before = Some((other, Why::Implied));
                }
            }
            let (other, why) = before.expect("an open event has an open predecessor");
            path.push((other, event, why));
            event = other;
        }
    }
}

static NO_EDGES: Edges = Edges::NONE;
