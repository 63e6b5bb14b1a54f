//! A short circle among versions of a key that contradict each other.
//!
//! Steps: a version before the initial one is a contradiction by itself. Otherwise breadth-first
//! from some of the versions left; by real time, a version precedes all that start after its end,
//! and each version is visited once, so a pointer into them by start is enough.
//!
//! Cost: linear in the versions left and their pairs, for each start; shortest through a start.

use super::key_order::{Pair, Versions};
use history::TxnId;

/// From so many versions a circle is looked for.
const STARTS_MAX: usize = 32;

/// The shortest circle found among these versions, of which there is one.
pub(super) fn shortest(versions: &Versions, left: &[u32]) -> Vec<Pair> {
    let is_first = |v: &u32| versions.all[*v as usize].writer == TxnId::INITIAL;
    if let Some(&first) = left.iter().find(|v| is_first(v)) {
        let by_session = versions.pairs.iter().find(|pair| pair.to == first);
        let earlier = left.iter().find(|&&v| versions.in_time(v, first));
        let in_time = earlier.map(|&v| pair_in_time(versions, v, first));
        if let Some(pair) = by_session.copied().or(in_time) {
            return vec![pair];
        }
    }
    let mut by_start = left.to_vec();
    by_start.sort_unstable_by_key(|&v| std::cmp::Reverse(versions.all[v as usize].start.0));
    let mut starts = left.to_vec();
    starts.sort_unstable_by_key(|&v| versions.all[v as usize].end.0);
    let mut best: Vec<Pair> = Vec::new();
    for &start in starts.iter().take(STARTS_MAX) {
        let found = through(versions, &by_start, start);
        if !found.is_empty() && (best.is_empty() || found.len() < best.len()) {
            best = found;
        }
        if best.len() == 2 {
            break;
        }
    }
    best
}

fn pair_in_time(versions: &Versions, from: u32, to: u32) -> Pair {
    Pair {
        from,
        to,
        before: versions.all[from as usize].end.1,
        after: versions.all[to as usize].start.1,
    }
}

/// The shortest circle through a version; empty if there is none.
fn through(versions: &Versions, by_start: &[u32], start: u32) -> Vec<Pair> {
    let mut reached: Vec<Option<Pair>> = vec![None; versions.all.len()];
    let mut queue = vec![start];
    let mut next_by_start = 0;
    let mut at = 0;
    while at < queue.len() {
        let from = queue[at];
        at += 1;
        let closes = versions
            .pairs
            .iter()
            .find(|pair| pair.from == from && pair.to == start)
            .copied()
            .or_else(|| {
                let in_time = versions.in_time(from, start);
                in_time.then(|| pair_in_time(versions, from, start))
            });
        if let Some(last) = closes {
            return path(&reached, start, last);
        }
        let mut reach = |pair: Pair| {
            let known = &mut reached[pair.to as usize];
            if pair.to != start && known.is_none() {
                *known = Some(pair);
                queue.push(pair.to);
            }
        };
        for pair in versions.pairs.iter().filter(|pair| pair.from == from) {
            reach(*pair);
        }
        while let Some(&to) = by_start.get(next_by_start)
            && (to == from || versions.in_time(from, to))
        {
            if to != from {
                reach(pair_in_time(versions, from, to));
            }
            next_by_start += 1;
        }
    }
    Vec::new()
}

fn path(reached: &[Option<Pair>], start: u32, last: Pair) -> Vec<Pair> {
    let mut pairs = vec![last];
    let mut at = last.from;
    while at != start {
        let Some(pair) = reached[at as usize] else {
            break;
        };
        pairs.push(pair);
        at = pair.from;
    }
    pairs.reverse();
    pairs
}
