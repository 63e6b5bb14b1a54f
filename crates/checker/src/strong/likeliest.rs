//! A guess by likelihood, without finding out what leads to what.
//!
//! Definition: the *margin* of an edge is the time between its ends by the gaps that they have to
//! move in (`kept`), that of an order of two versions (`pairs`) the least of its edges. One of the two orders
//! is the likelier the more its margin exceeds that of the other.
//!
//! Steps: begin with what is certain. Then, in rounds: spread the events over time; decide the
//! likeliest share of the pairs still open, one by one; where that closes a cycle, decide the other
//! way round; where that does too, leave the pair. A *careful* attempt decides a smaller share, and once most pairs are decided first looks which of
//! those that are against the times both ways can only be one way. *Flip* decides each of a few pairs left with one other pair
//! the other way round, or else takes back those in its way and goes on with them. *Repair* decides what is left by taking back
//! others that are in the way, those first that were taken back least often, and then those that were decided last.
//!
//! Cost: a round takes the edges a few times, a look at every open pair and a sort of the events;
//! some ten rounds, since each decides a share. Insertions take what they move, which is
//! little: an order that is against the times is decided only if the other one is much more so. The
//! sessions do not matter, and no event has a row of anything.
//! Source: ours. `confident` measures a decision by its own margin alone, and needs bits for what follows from each.
//!
//! What comes out is used to find an order, never as evidence against one.

use super::kept::Kept;
use super::pairs::Pairs;
use crate::Budget;
use crate::budget::Limit;
use std::cmp::Reverse;
use std::collections::VecDeque;

/// So many edges are looked at for each event before it is given up; in repair, fewer.
const VISITS_FOR_EACH: u64 = 5000;
const REPAIR_VISITS_FOR_EACH: u64 = 500;
/// How many pairs repair decides before it is given up, at least, and for each that was left.
const STEPS_MIN: usize = 1000;
const STEPS_FOR_EACH: usize = 20;
/// How many others are taken back for one pair before others have their turn.
const TRIES_MAX: usize = 8;
/// With more pairs left than one for so many events, flips cost more than to move transactions.
const EVENTS_FOR_FLIP: usize = 128;
/// Flips are given up after so many for each pair left at first, and after so many edges looked at for each event.
const FLIPS_FOR_EACH: usize = 7;
const FLIP_VISITS_FOR_EACH: u64 = 150;
const FLIP_TRIES_MAX: usize = 6;
/// The budget is asked once in so many steps.
const ASK_EVERY: usize = 64;
const ASK_FLIPPING_EVERY: usize = 256;

/// How to decide.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// The share of the open pairs that is decided in a round.
    pub share: f64,
    /// A round decides at least one pair for so many events.
    pub events_for_each: usize,
    /// Sweeps that spread the events over time before that, and before the first round.
    pub sweeps: usize,
    pub first_sweeps: usize,
    /// Whether to look first what can only be one way.
    pub is_careful: bool,
}

/// How a pair was decided.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Open,
    /// As the pair says or the other way round, after so many others.
    Is(bool, u32),
}

/// Pairs decided, and the order that they make.
pub struct Likeliest<'a> {
    pub pairs: &'a mut Pairs,
    pub kept: Kept,
    pub ways: Vec<Way>,
    /// How many decisions were made.
    turn: u32,
    /// How often each pair was in the way of others and taken back.
    weights: Vec<u32>,
    /// Pairs that could be decided neither way.
    pub left: VecDeque<u32>,
}

impl<'a> Likeliest<'a> {
    /// Decides the pairs, beginning with an order along what is certain.
    pub fn new(
        pairs: &'a mut Pairs,
        kept: Kept,
        manner: Manner,
        budget: &Budget<'_>,
    ) -> Result<Likeliest<'a>, Limit> {
        let event_count = kept.order().len();
        let pair_count = pairs.open.len();
        let mut open: Vec<u32> = (0..pair_count as u32).collect();
        let mut likeliest = Likeliest {
            pairs,
            kept,
            ways: vec![Way::Open; open.len()],
            turn: 0,
            weights: vec![0; pair_count],
            left: VecDeque::new(),
        };
        let least = 1 + event_count / manner.events_for_each;
        let visits_max = VISITS_FOR_EACH * event_count as u64;
        let mut sweeps = manner.first_sweeps;
        while !open.is_empty() && likeliest.kept.visits < visits_max {
            budget.check_at("likely", &[("pairs open", open.len() as u64)])?;
            likeliest.kept.spread(sweeps);
            sweeps = manner.sweeps;
            if manner.is_careful && open.len() * 5 <= pair_count * 2 {
                open.retain(|&pair| !likeliest.decide_if_forced(pair));
            }
            let count = ((open.len() as f64 * manner.share) as usize).max(least);
            for (pair, way) in likeliest.take_likeliest(&mut open, count, None) {
                if likeliest.decide(pair, way).is_err() && likeliest.decide(pair, !way).is_err() {
                    likeliest.left.push_back(pair);
                }
            }
        }
        likeliest.left.extend(open);
        Ok(likeliest)
    }

    /// Decides pairs that were not thought of, as keys and commits.
    pub fn decide_more(&mut self, more: impl Iterator<Item = (u32, [u32; 2])>) {
        for (key, commits) in more {
            let Some(pair) = self.pairs.add(key, commits) else {
                continue;
            };
            self.ways.push(Way::Open);
            self.weights.push(0);
            let way = self.lead(pair) > 0.0;
            if self.decide(pair, way).is_err() && self.decide(pair, !way).is_err() {
                self.left.push_back(pair);
            }
        }
    }

    /// The numbers of the events in order.
    pub fn order(&self) -> &[u32] {
        self.kept.order()
    }

    /// By number, its place in the order.
    pub fn places(&self) -> &[u32] {
        self.kept.places()
    }

    /// How much likelier a pair is as it says than the other way round.
    #[inline]
    fn lead(&self, pair: u32) -> f32 {
        let (a, b) = self.pairs.open[pair as usize];
        self.pairs.margin(&self.kept, a, b) - self.pairs.margin(&self.kept, b, a)
    }

    /// Takes out the likeliest so many, the likelier ones first, with the likelier way. A seed makes some seem likelier
    /// than they are, and others less likely.
    pub fn take_likeliest(
        &self,
        open: &mut Vec<u32>,
        count: usize,
        seed: Option<u64>,
    ) -> Vec<(u32, bool)> {
        let ranked = |&pair: &u32| {
            let lead = self.lead(pair) * seed.map_or(1.0, |seed| noise(seed, pair));
            // The largest leads come first; sizes have the order of their bits.
            let rank = !lead.abs().to_bits();
            u64::from(rank) << 32 | u64::from(pair) << 1 | u64::from(lead > 0.0)
        };
        let mut likely: Vec<u64> = open.iter().map(ranked).collect();
        let count = count.min(likely.len());
        if count < likely.len() {
            likely.select_nth_unstable(count);
        }
        likely[..count].sort_unstable();
        let pair = |rank: u64| (rank as u32) >> 1;
        open.clear();
        open.extend(likely[count..].iter().map(|&rank| pair(rank)));
        let likeliest = likely[..count].iter();
        likeliest.map(|&rank| (pair(rank), rank & 1 == 1)).collect()
    }

    /// Decides a pair. If that closes a cycle it is not decided, and the pairs that the cycle is made of are
    /// returned.
    pub fn decide(&mut self, pair: u32, way: bool) -> Result<(), Vec<u32>> {
        for (count, edge) in self.pairs.edges_of(pair, way).enumerate() {
            if let Err(owners) = self.kept.insert(edge, pair) {
                let inserted = self.pairs.edges_of(pair, way).take(count);
                self.kept.take_back(inserted, pair);
                return Err(owners);
            }
        }
        self.ways[pair as usize] = Way::Is(way, self.turn);
        self.turn += 1;
        Ok(())
    }

    /// Takes back a decision.
    pub fn take_back(&mut self, pair: u32, way: bool) {
        let edges = self.pairs.edges_of(pair, way);
        self.kept.take_back(edges, pair);
        self.ways[pair as usize] = Way::Open;
    }

    /// Decides a pair that is against the times both ways and closes a cycle one way; whether it did.
    pub fn decide_if_forced(&mut self, pair: u32) -> bool {
        let is_against = |way: bool| {
            let mut edges = self.pairs.edges_of(pair, way);
            edges.any(|(from, to)| !self.kept.is_before(from, to))
        };
        if !is_against(true) || !is_against(false) {
            return false;
        }
        let can_be = [true, false].map(|way| {
            let mut edges = self.pairs.edges_of(pair, way);
            !edges.any(|(from, to)| self.kept.leads_to(to, from))
        });
        can_be[0] != can_be[1] && self.decide(pair, can_be[0]).is_ok()
    }

    /// Flips what is left, if that is little.
    pub fn flip_few(&mut self, budget: &Budget<'_>) -> Result<(), Limit> {
        if self.left.len() <= self.kept.order().len() / EVENTS_FOR_FLIP {
            self.flip(budget)?;
        }
        Ok(())
    }

    /// Decides what few pairs are left: where that is enough, by deciding another one in the way the other way round; and else
    /// those in the way are left, which mostly can be decided then.
    pub fn flip(&mut self, budget: &Budget<'_>) -> Result<(), Limit> {
        let event_count = self.kept.order().len();
        let visits_max = self.kept.visits + FLIP_VISITS_FOR_EACH * event_count as u64;
        for step in 0..FLIPS_FOR_EACH * self.left.len() {
            if step.is_multiple_of(ASK_FLIPPING_EVERY) {
                budget.check_at("likely", &[("pairs open", self.left.len() as u64)])?;
            }
            let Some(pair) = self.left.pop_front() else {
                break;
            };
            if !self.is_decided_by_a_flip(pair) {
                self.force(pair, FLIP_TRIES_MAX);
            }
            if self.kept.visits > visits_max {
                break;
            }
        }
        Ok(())
    }

    /// Whether a pair can be decided if one of those in its way is decided the other way round, which they are then.
    fn is_decided_by_a_flip(&mut self, pair: u32) -> bool {
        let first = (self.turn ^ pair).wrapping_mul(0x9E37_79B9) >> 31 == 0;
        for way in [first, !first] {
            let Err(mut others) = self.decide(pair, way) else {
                return true;
            };
            others.sort_unstable();
            others.dedup();
            for other in others {
                let Way::Is(given, _) = self.ways[other as usize] else {
                    continue;
                };
                self.take_back(other, given);
                if self.decide(pair, way).is_ok() {
                    if self.decide(other, !given).is_ok() {
                        return true;
                    }
                    self.take_back(pair, way);
                }
                let is_again = self.decide(other, given);
                debug_assert!(is_again.is_ok(), "what stood together stands again");
            }
        }
        false
    }

    /// Decides what is left, until nothing is or it has gone on for too long.
    pub fn repair(&mut self, budget: &Budget<'_>) -> Result<(), Limit> {
        let steps_max = STEPS_MIN + STEPS_FOR_EACH * self.left.len();
        let event_count = self.kept.order().len() as u64;
        let visits_max = self.kept.visits + REPAIR_VISITS_FOR_EACH * event_count;
        for step in 0..steps_max {
            if step.is_multiple_of(ASK_EVERY) {
                budget.check_at("likely", &[("pairs open", self.left.len() as u64)])?;
            }
            let Some(pair) = self.left.pop_front() else {
                break;
            };
            self.force(pair, TRIES_MAX);
            if self.kept.visits > visits_max {
                break;
            }
        }
        Ok(())
    }

    /// Decides a pair, taking back others that are in the way, which are left then.
    fn force(&mut self, pair: u32, tries_max: usize) {
        for _ in 0..tries_max {
            let mut cheapest: Option<(u32, Reverse<u32>, u32)> = None;
            for way in [true, false] {
                let Err(others) = self.decide(pair, way) else {
                    return;
                };
                let weighed = others.into_iter().filter_map(|other| {
                    let Way::Is(_, turn) = self.ways[other as usize] else {
                        return None;
                    };
                    Some((self.weights[other as usize], Reverse(turn), other))
                });
                cheapest = cheapest.into_iter().chain(weighed).min();
            }
            let Some((_, _, other)) = cheapest else {
                break;
            };
            self.weights[other as usize] += 1;
            if let Way::Is(way, _) = self.ways[other as usize] {
                self.take_back(other, way);
                self.left.push_back(other);
            }
        }
        self.left.push_back(pair);
    }
}

/// A number by chance between a half and one and a half.
fn noise(seed: u64, pair: u32) -> f32 {
    let mixed = (seed ^ u64::from(pair)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40;
    0.5 + mixed as f32 / (1 << 24) as f32
}

#[cfg(test)]
impl Likeliest<'_> {
    /// Looks whether the order obeys all decisions, and what is left is open.
    pub fn assert_kept(&self) {
        for (pair, way) in self.ways.iter().enumerate() {
            let is_left = self.left.contains(&(pair as u32));
            assert_eq!(is_left, *way == Way::Open, "pair {pair}");
            if let Way::Is(way, _) = *way {
                let mut edges = self.pairs.edges_of(pair as u32, way);
                assert!(
                    edges.all(|(from, to)| self.kept.is_before(from, to)),
                    "pair {pair}"
                );
            }
        }
    }
}
