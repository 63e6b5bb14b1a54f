//! Decides pairs of versions that are far from each other, where only near ones could be thought of.
//!
//! Steps: decide those far pairs that are wrong in the order found, until none is. *Put right* what that leaves by deciding
//! others the other way round (`Likeliest::flip`), and begin again, until nothing is left or it gets no better.
//!
//! Cost: a walk for each time, and a search for each pair that is against the order.

use super::known::Known;
use super::likeliest::Likeliest;
use super::{Settled, conflicts, greedy};
use crate::Budget;
use crate::budget::Limit;
use rustc_hash::FxHashSet;

/// How often far pairs that are wrong are decided before others have their turn.
const ROUNDS_MAX: usize = 12;
/// How often what is left is put right, at most, and how often while that leaves no fewer than before.
const TIMES_MAX: usize = 32;
const PATIENCE: usize = 4;
/// Where transactions do overlap, one pair for so many events is left to those who move transactions.
const EVENTS_FOR_LEFT: usize = 256;

/// Decides far pairs that are wrong, and puts right what is left. `is_rough`: whether there may be no order, since transactions
/// are taken to happen at once; then it is given up once more and more is left, or little.
pub fn put_right(
    known: &Known<'_>,
    given: &[u32],
    is_rough: bool,
    likeliest: &mut Likeliest<'_>,
    budget: &Budget<'_>,
) -> Result<(), Limit> {
    let (mut fewest, mut since) = (usize::MAX, 0);
    for _ in 0..TIMES_MAX {
        decide_far(known, given, likeliest, budget)?;
        let left = likeliest.left.len();
        likeliest.flip(budget)?;
        let left_now = likeliest.left.len();
        since = if left_now < fewest { 0 } else { since + 1 };
        fewest = fewest.min(left_now);
        let is_growing = left_now > left + left / 2;
        let is_enough = left_now <= likeliest.order().len() / EVENTS_FOR_LEFT;
        if left_now == 0 && left == 0 || since >= PATIENCE || is_rough && (is_growing || is_enough)
        {
            break;
        }
    }
    Ok(())
}

/// Decides the pairs of versions that are far from each other in the order given and wrong in the one found.
pub fn decide_far(
    known: &Known<'_>,
    given: &[u32],
    likeliest: &mut Likeliest<'_>,
    budget: &Budget<'_>,
) -> Result<(), Limit> {
    let (observed, shape) = (known.observed, known.shape);
    let mut number = vec![0u32; known.events()];
    for (at, &event) in given.iter().enumerate() {
        number[event as usize] = at as u32;
    }
    let commit = |txn: u32| number[shape.commit(txn) as usize];
    for _ in 0..ROUNDS_MAX {
        budget.check_at("likely", &[("pairs open", likeliest.left.len() as u64)])?;
        let event = |&number: &u32| given[number as usize];
        let order: Vec<u32> = likeliest.order().iter().map(event).collect();
        let walk = conflicts::walk(observed, shape, &order, &Settled { observed });
        let left = likeliest.left.iter();
        let left: FxHashSet<[u32; 2]> = left.map(|&pair| likeliest.pairs.commits(pair)).collect();
        let mut wrong: Vec<(u32, [u32; 2])> = Vec::new();
        for conflict in &walk.conflicts {
            if let Some((key, older, newer, _)) = greedy::versions(*conflict) {
                let [a, b] = [older, newer].map(commit);
                if !left.contains(&[a, b]) && !left.contains(&[b, a]) {
                    wrong.push((key, [a, b]));
                }
            }
        }
        wrong.sort_unstable();
        wrong.dedup();
        if wrong.is_empty() {
            break;
        }
        likeliest.decide_more(wrong.into_iter());
    }
    Ok(())
}
