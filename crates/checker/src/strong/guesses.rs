//! Which guess to begin with, beside the first one.
//!
//! Steps: sort the first guess along what is known; while much is wrong with the best one so far, make
//! the next guess, by what the history has besides reads (`hints`, times), or by estimated time
//! (`estimate`), and keep it if less is wrong with it. Cost: that of a sort and a walk for each guess.

use super::conflicts;
use super::kept::Kept;
use super::known::Known;
use super::shape::Shape;
use super::topological::Step;
use super::{Settled, estimate, hints, sorted};
use crate::Budget;
use crate::budget::Limit;
use crate::observe::Observed;
use crate::order;
use history::{Interval, TxnId};

/// The best of several guesses, or the first if that is enough, and how many conflicts it has. It agrees with everything known; the
/// error is a cycle if nothing can. `known_wrong`: how many conflicts the first has, if that is known and it agrees with all that is.
#[allow(clippy::type_complexity)] // One caller, and each part is named there.
pub fn better_guess(
    known: &Known<'_>,
    first: Vec<u32>,
    known_wrong: Option<usize>,
    is_enough: bool,
    budget: &Budget<'_>,
) -> Result<Result<(usize, Vec<u32>), Vec<Step>>, Limit> {
    let (observed, shape) = (known.observed, known.shape);
    let conflicts_of = |events: &[u32]| {
        let walk = conflicts::walk(observed, shape, events, &Settled { observed });
        walk.conflicts.len()
    };
    let mut best = match known_wrong {
        Some(conflicts) => (conflicts, first),
        None => match sorted::sort(known, &first) {
            Ok(events) => (conflicts_of(&events), events),
            Err(steps) => return Ok(Err(steps)),
        },
    };
    let few = observed.history.txn_count() / FEW;
    for guess in GUESSES {
        if best.0 <= few || is_enough {
            break;
        }
        budget.check("guess")?;
        let Some(events) = guess(known, &best.1) else {
            continue;
        };
        let conflicts = conflicts_of(&events);
        if conflicts < best.0 {
            best = (conflicts, events);
        }
    }
    Ok(Ok(best))
}

/// With no more conflicts than one in so many transactions a guess is good enough.
pub const FEW: usize = 1000;

/// With one for no more than so many transactions, keys are many.
const TXNS_OF_MANY_KEYS: usize = 16;

/// So many sweeps spread transactions over time.
const SWEEPS: usize = 12;

/// A guess that agrees with everything known, made with the help of another.
type Guess = fn(&Known<'_>, &[u32]) -> Option<Vec<u32>>;

/// All of them but the first, those that are right more often or cost less before others.
const GUESSES: [Guess; 5] = [
    |known, given| (!known.shape.parallel).then(|| hints::by_versions(known, given))?,
    |known, _| {
        let has_intervals = known.observed.history.has_intervals();
        let events = has_intervals.then(|| by_clock(known.observed, known.shape))?;
        sorted::sort(known, &events).ok()
    },
    |known, _| {
        // About few keys, any order along what is known may be better than one that waits for readers.
        let is_tried = !has_many_keys(known.observed) || hints::labels_agree(known.observed);
        let events = is_tried.then(|| hints::by_labels(known))??;
        sorted::sort(known, &events).ok()
    },
    |known, given| (!known.shape.parallel).then(|| hints::by_values(known, given))?,
    |known, given| sorted::sort(known, &by_estimate(known, given)?).ok(),
];

fn has_many_keys(observed: &Observed<'_>) -> bool {
    let history = observed.history;
    history.keys().limit() >= history.txn_count() / TXNS_OF_MANY_KEYS
}

/// The events by estimated time. Sessions that do not count are respected where reads let them be.
fn by_estimate(known: &Known<'_>, given: &[u32]) -> Option<Vec<u32>> {
    let (observed, shape) = (known.observed, known.shape);
    let history = observed.history;
    let has_many_sessions = history.session_count() > 2 * estimate::LANDMARKS_MAX;
    if shape.sessions && has_many_sessions && has_many_keys(observed) {
        // Most sessions would be no landmarks: it is worse than the guess so far, unless all is about few keys.
        return None;
    }
    let schedule = order::schedule(observed, &[]);
    let by_time = if schedule.complete {
        estimate::by_time(observed, &schedule.order)
    } else if shape.sessions {
        return None;
    } else {
        let sessions = known.wished_sessions();
        let sorted = sorted::sort_along(known, given, &sessions).ok()?;
        let starts = sorted.into_iter().filter(|&event| shape.is_start(event));
        let txns: Vec<u32> = starts.map(|event| shape.txn(event)).collect();
        estimate::by_time(observed, &txns)
    };
    let events = |txn: u32| [shape.start(txn), shape.commit(txn)];
    let mut events: Vec<u32> = by_time.into_iter().flat_map(events).collect();
    events.dedup();
    Some(events)
}

/// The events as if each transaction took place at once, in the middle between the last that is known to precede it and the
/// first that it is known to precede.
pub fn by_room(known: &Known<'_>, given: &[u32]) -> Option<Vec<u32>> {
    if known.timeline.is_some() {
        return None;
    }
    let shape = known.shape;
    let starts = given.iter().filter(|&&event| shape.is_start(event));
    let txns: Vec<u32> = starts.map(|&event| shape.txn(event)).collect();
    let mut number = vec![0u32; known.observed.history.txn_count()];
    let mut edges = Vec::new();
    for (at, &txn) in (0u32..).zip(&txns) {
        number[txn as usize] = at;
        known.predecessors(shape.start(txn), |other, _| {
            edges.push((number[shape.txn(other) as usize], at));
        });
    }
    let mut kept = Kept::new((0..txns.len() as u32).collect(), &edges, 0);
    kept.spread(SWEEPS);
    let txns = kept.order().iter().map(|&number| txns[number as usize]);
    let mut events: Vec<u32> = txns
        .flat_map(|txn| [shape.start(txn), shape.commit(txn)])
        .collect();
    events.dedup();
    match known.observed.known.is_empty() {
        true => Some(events),
        false => sorted::sort(known, &events).ok(),
    }
}

/// The events by the middle of each transaction's time. Wrong times only make a worse guess.
fn by_clock(observed: &Observed<'_>, shape: Shape) -> Vec<u32> {
    let history = observed.history;
    let middle = |&txn: &u32| match history.interval(TxnId(txn)) {
        Some(times) if times.end != Interval::NEVER => {
            i128::from(times.start) + i128::from(times.completion())
        }
        Some(times) => 2 * i128::from(times.start),
        None => 0,
    };
    let mut txns: Vec<u32> = (0..history.txn_count() as u32)
        .filter(|&txn| observed.taken[txn as usize])
        .collect();
    txns.sort_by_key(middle);
    let events = |txn: u32| [shape.start(txn), shape.commit(txn)];
    let mut events: Vec<u32> = txns.into_iter().flat_map(events).collect();
    events.dedup();
    events
}
