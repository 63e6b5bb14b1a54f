//! Decides pairs of versions again, round those that could be decided neither way.
//!
//! Definition: *in the way* of a pair that could be decided neither way are those on the cycles that it closes. A pair is
//! *round* it if both its versions commit in stretches of the order about the commits of these.
//!
//! Steps: take a pair that is left, and stretches of some length. Take back all pairs round it, decide the one that
//! was left, either way, and then the others, a share at a time: first those that can only be one way, then the likeliest,
//! which are not quite the same ones each time. If no more are left than before, this stands; else all is as it was.
//! So what is wrong wanders until it comes to a place where it can be put right.
//!
//! Cost: for each turn, the edges of the stretches some fifty times, and a search for each pair that is against the times
//! both ways. No bound is known on the turns; they end once nothing gets better. Source: large neighbourhood search
//! (Shaw, CP 1998) with the choices of `likeliest`.

use super::likeliest::{Likeliest, Way};
use crate::Budget;
use crate::budget::Limit;
use std::ops::Range;

/// A stretch goes so many places to either side, or twice, four or eight times as many.
const REACH: usize = 64;
const DOUBLINGS: u64 = 4;
/// A round decides this share of the open pairs, and at least one for so many places.
const SHARE: f64 = 0.3;
const PLACES_FOR_EACH: usize = 40;
/// Sweeps that spread the events of a stretch over time.
const SWEEPS: usize = 4;
/// Turns that bring nothing better before it is given up.
const PATIENCE: usize = 40;

/// By commit, the pairs whose first version it is.
pub struct Again {
    starts: Vec<u32>,
    pairs: Vec<u32>,
    seed: u64,
}

impl Again {
    pub fn new(likeliest: &Likeliest<'_>) -> Again {
        let pair_count = likeliest.pairs.open.len();
        let commit = |pair: u32| likeliest.pairs.commits(pair)[0] as usize;
        let mut starts = vec![0u32; likeliest.order().len() + 1];
        for pair in 0..pair_count as u32 {
            starts[commit(pair) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut pairs = vec![0; pair_count];
        for pair in 0..pair_count as u32 {
            let at = &mut next[commit(pair)];
            pairs[*at as usize] = pair;
            *at += 1;
        }
        Again {
            starts,
            pairs,
            seed: 1,
        }
    }

    /// Decides again until nothing is left or it comes no closer.
    pub fn run(&mut self, likeliest: &mut Likeliest<'_>, budget: &Budget<'_>) -> Result<(), Limit> {
        let (mut fewest, mut since) = (usize::MAX, 0);
        while since <= PATIENCE {
            let left = likeliest.left.len();
            budget.check_at("likely", &[("pairs open", left as u64)])?;
            since = if left < fewest { 0 } else { since + 1 };
            fewest = fewest.min(left);
            let Some(pair) = likeliest.left.pop_front() else {
                break;
            };
            likeliest.left.push_back(pair);
            let reach = REACH << (self.chance() % DOUBLINGS);
            self.decide_round(likeliest, pair, reach);
        }
        Ok(())
    }

    /// Decides again what is round a pair, if no more are left then.
    fn decide_round(&mut self, likeliest: &mut Likeliest<'_>, pair: u32, reach: usize) {
        let stretches = stretches(likeliest, pair, reach);
        let (decided, left) = self.round(likeliest, &stretches);
        for &(pair, way) in &decided {
            likeliest.take_back(pair, way);
        }
        let way = self.chance().is_multiple_of(2);
        if likeliest.decide(pair, way).is_err() {
            // If it is decided neither way, others may let it be once they are.
            let _ = likeliest.decide(pair, !way);
        }
        let taken_back = decided.iter().map(|&(pair, _)| pair);
        let all: Vec<u32> = taken_back.chain(left.iter().copied()).collect();
        let failed = self.decide(likeliest, all.clone(), &stretches);
        if failed.len() <= left.len() {
            let ways = &likeliest.ways;
            likeliest
                .left
                .retain(|&pair| ways[pair as usize] == Way::Open && !failed.contains(&pair));
            likeliest.left.extend(failed);
            return;
        }
        for pair in all {
            if let Way::Is(way, _) = likeliest.ways[pair as usize] {
                likeliest.take_back(pair, way);
            }
        }
        for (pair, way) in decided {
            let is_again = likeliest.decide(pair, way);
            debug_assert!(is_again.is_ok(), "what stood together stands again");
        }
    }

    /// The pairs round stretches: those decided, with the way, and those left.
    fn round(
        &self,
        likeliest: &Likeliest<'_>,
        stretches: &[Range<usize>],
    ) -> (Vec<(u32, bool)>, Vec<u32>) {
        let (mut decided, mut left) = (Vec::new(), Vec::new());
        let is_in = |event: u32| {
            let place = likeliest.places()[event as usize] as usize;
            stretches.iter().any(|stretch| stretch.contains(&place))
        };
        let events = stretches
            .iter()
            .flat_map(|part| &likeliest.order()[part.clone()]);
        for &event in events {
            let own = self.starts[event as usize]..self.starts[event as usize + 1];
            for &pair in &self.pairs[own.start as usize..own.end as usize] {
                if !is_in(likeliest.pairs.commits(pair)[1]) {
                    continue;
                }
                match likeliest.ways[pair as usize] {
                    Way::Is(way, _) => decided.push((pair, way)),
                    Way::Open => left.push(pair),
                }
            }
        }
        (decided, left)
    }

    /// Decides those of the pairs that are open; returns those that can be decided neither way.
    fn decide(
        &mut self,
        likeliest: &mut Likeliest<'_>,
        mut open: Vec<u32>,
        stretches: &[Range<usize>],
    ) -> Vec<u32> {
        open.retain(|&pair| likeliest.ways[pair as usize] == Way::Open);
        let places: usize = stretches.iter().map(Range::len).sum();
        let least = 1 + places / PLACES_FOR_EACH;
        let mut failed = Vec::new();
        while !open.is_empty() {
            for stretch in stretches {
                likeliest.kept.spread_between(stretch.clone(), SWEEPS);
            }
            open.retain(|&pair| !likeliest.decide_if_forced(pair));
            let count = least + (open.len() as f64 * SHARE) as usize;
            let seed = self.chance();
            for (pair, way) in likeliest.take_likeliest(&mut open, count, Some(seed)) {
                if likeliest.decide(pair, way).is_err() && likeliest.decide(pair, !way).is_err() {
                    failed.push(pair);
                }
            }
        }
        failed
    }

    /// The next number by chance, the same in every run.
    fn chance(&mut self) -> u64 {
        self.seed = self
            .seed
            .wrapping_mul(0x5851_F42D_4C95_7F2D)
            .wrapping_add(1);
        self.seed >> 33
    }
}

/// The places about the commits of a pair and of those in its way.
fn stretches(likeliest: &mut Likeliest<'_>, pair: u32, reach: usize) -> Vec<Range<usize>> {
    let mut round = vec![pair];
    for way in [true, false] {
        match likeliest.decide(pair, way) {
            Ok(()) => likeliest.take_back(pair, way),
            Err(others) => round.extend(others),
        }
    }
    let count = likeliest.order().len();
    let commits = round.iter().flat_map(|&pair| likeliest.pairs.commits(pair));
    let mut places: Vec<usize> = commits
        .map(|event| likeliest.places()[event as usize] as usize)
        .collect();
    places.sort_unstable();
    let mut stretches: Vec<Range<usize>> = Vec::new();
    for at in places {
        let stretch = at.saturating_sub(reach)..(at + reach + 1).min(count);
        match stretches.last_mut() {
            Some(last) if stretch.start <= last.end => last.end = stretch.end,
            _ => stretches.push(stretch),
        }
    }
    stretches
}
