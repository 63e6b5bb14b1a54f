//! An order of all events that agrees with everything known, as close to a given one as that allows;
//! or the cycle that forbids any.
//!
//! Steps: take events without open predecessors, always the one that comes first in the given order.
//! If none is left, going back from predecessor to predecessor among the rest finds a cycle.
//! Cost: O(m log n) for n events and m known edges.

use super::known::{Known, Why};
use super::topological::Step;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Sorts the events of transactions that count, and those of the line of completions.
pub fn sort(known: &Known<'_>, given: &[u32]) -> Result<Vec<u32>, Vec<Step>> {
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
    }
    let free = events.iter().filter(|&&event| open[event as usize] == 0);
    let mut heap: BinaryHeap<Reverse<(u32, u32)>> = free
        .map(|&event| Reverse((rank[event as usize], event)))
        .collect();
    let mut sorted = Vec::with_capacity(events.len());
    while let Some(Reverse((_, event))) = heap.pop() {
        sorted.push(event);
        known.successors(event, |next, _| {
            open[next as usize] -= 1;
            if open[next as usize] == 0 {
                heap.push(Reverse((rank[next as usize], next)));
            }
        });
    }
    match events.into_iter().find(|&event| open[event as usize] > 0) {
        None => Ok(sorted),
        Some(event) => Err(cycle(known, event, &open)),
    }
}

/// A cycle among the events that are still open.
fn cycle(known: &Known<'_>, start: u32, open: &[u32]) -> Vec<Step> {
    let mut place = vec![u32::MAX; open.len()];
    let mut path: Vec<Step> = Vec::new();
    let mut event = start;
    loop {
        if place[event as usize] != u32::MAX {
            let mut steps = path.split_off(place[event as usize] as usize);
            steps.reverse();
            return steps;
        }
        place[event as usize] = path.len() as u32;
        let mut before: Option<(u32, Why)> = None;
        known.predecessors(event, |other, why| {
            if before.is_none() && open[other as usize] > 0 {
                before = Some((other, why));
            }
        });
        let (other, why) = before.expect("an open event has an open predecessor");
        path.push((other, event, why));
        event = other;
    }
}
