//! A guess at an order of starts and commits, as if each transaction took place at once.
//!
//! Steps: take the start and the commit of a transaction to be one event, as serializability does, and decide the
//! likeliest orders of versions (`likeliest`). What is certain of the level is certain then, too, or contradicts
//! itself, where transactions did overlap; what contradicts the rest is left out. Then let each transaction commit right behind its
//! start.
//!
//! Where transactions are short beside the time between two versions of a key, few reads are stale in that order, and
//! those are put right by moving starts and commits apart (`moves`).
//!
//! Cost: that of `likeliest` with half the events, and far fewer pairs, since two versions that nobody read need no order.
//! Source: ours.

use super::far::put_right;
use super::known::Known;
use super::likeliest::{Likeliest, Manner};
use super::pairs::Pairs;
use super::shape::Shape;
use super::sorted;
use super::versions::Versions;
use crate::Budget;
use crate::budget::Limit;

/// The events in such an order, and how many pairs were decided; None if reads and sessions forbid any, or if there are more pairs than this for each
/// transaction. `given` are all events in some order, by which versions are near each other.
pub fn order(
    known: &Known<'_>,
    versions: &Versions,
    given: &[u32],
    (near, pairs_for_each): (Option<usize>, usize),
    manner: Manner,
    budget: &Budget<'_>,
) -> Result<Option<(Vec<u32>, usize)>, Limit> {
    let split = known.shape;
    let shape = Shape {
        split: false,
        exclusive: false,
        ..split
    };
    let known = Known::new(known.observed, shape, None);
    let starts = given.iter().filter(|&&event| split.is_start(event));
    let starts: Vec<u32> = starts.map(|&event| shape.start(split.txn(event))).collect();
    let Ok(instants) = sorted::sort(&known, &starts) else {
        return Ok(None);
    };
    let mut pairs = Pairs::new(&known, versions, &instants, near);
    if pairs.open.len() > pairs_for_each * instants.len() {
        return Ok(None);
    }
    let place: Vec<u32> = (0..instants.len() as u32).collect();
    let kept = pairs.begin(&place);
    let kept = kept.unwrap_or_else(|| pairs.begin_anyhow());
    let mut likeliest = Likeliest::new(&mut pairs, kept, manner, budget)?;
    match near {
        Some(_) => put_right(&known, &instants, split.split, &mut likeliest, budget)?,
        None => likeliest.flip_few(budget)?,
    }
    let txns = likeliest.order().iter();
    let txns = txns.map(|&number| shape.txn(instants[number as usize]));
    let mut events: Vec<u32> = txns
        .flat_map(|txn| [split.start(txn), split.commit(txn)])
        .collect();
    events.dedup();
    Ok(Some((events, likeliest.pairs.open.len())))
}
