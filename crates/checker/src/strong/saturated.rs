//! A guess by saturation: version orders that follow from what is known are added until none is
//! new, and the events run again along all of them.
//!
//! Definition: a writer a of a key is older than a writer b if a's commit leads to the snapshot of
//! a reader of b's version; or, where no two writers of a key may overlap, if a's start leads to
//! b's commit. If b is older than a, every reader of b's version starts before a commits; not so in a parallel
//! level, where that read is wrong only if the reader depends on a.
//!
//! Steps: find what leads to what (`reach`), in one pass along an order; then readers and writers of
//! each key are asked for orders that this implies and the graph lacks: all of them where there are
//! few, else those that are near each other in the order, where it can be wrong. Sort again with the
//! new edges, and repeat. At last, run the events again (`ranked`) by how far the run had come at
//! each: the share of those that lead to it among all that are related to it. If much is wrong with
//! that order, decide what is likely step by step (`confident`). If the edges close a cycle, the level is violated; the last ones are taken back, and what is left still makes a guess.
//!
//! Where neither bits nor clocks are possible, only what is near in the order is followed, and what is far is taken to be
//! as the order has it (`Window`). Then an edge may be wrong: those that close a cycle are left out one by one, and the order
//! is kept, since it knows from sessions what reads do not tell.
//!
//! Cost: each round that of `reach`, and O(m) questions; most histories take four rounds. Source:
//! saturation in our brief on checkers.
//!
//! What comes out is used to find an order, never as evidence against one.

use super::conflicts::{self, Conflict};
use super::known::{Edges, Known};
use super::reach::Reach;
use super::replayed::Fact;
use super::versions::Versions;
use super::{Settled, Strategy, confident, ranked, sorted};
use crate::Budget;
use crate::budget::Limit;
use crate::observe::Link;

/// So many pairs of a reader and a writer are asked about in a round; if there are more, only near
/// ones.
const PAIRS_MAX: usize = 1 << 22;
/// How many versions before and after one are near it.
const NEAR: usize = 2;
/// Rounds are given up after so many.
const ROUNDS_MAX: usize = 12;
/// A round that finds no more than one edge for so many events is the last.
const LITTLE: usize = 128;
/// With more conflicts than one for so many events, an order is decided step by step; that takes
/// longer where there are many events, and then more has to be wrong.
const MANY: usize = 200;
const MANY_OF_MANY: usize = 10;
/// More events than this are many.
const MANY_EVENTS: usize = 1 << 13;

/// What came out.
pub struct Saturated<'a> {
    /// Everything known with what follows from it.
    pub known: Known<'a>,
    /// An order along that.
    pub events: Vec<u32>,
    /// Whether what follows closes a cycle, so that not all of it was kept.
    pub is_contradictory: bool,
    /// How many orders of versions were decided to find the order of events.
    pub decided: usize,
    /// The versions, where deciding their orders was possible but did not seem worth it.
    pub undecided: Option<Versions>,
    /// What the edges are about, each behind those that it follows from; also those that were not kept.
    /// None where some were only taken to follow.
    pub facts: Vec<Fact>,
}

/// Saturates; `given` is an order along what is known. None if that would take too much.
pub fn saturated<'a>(
    known: Known<'a>,
    given: &[u32],
    strategy: Strategy,
    budget: &Budget<'_>,
) -> Result<Option<Saturated<'a>>, Limit> {
    let Some(reach) = Reach::new(&known, given.len()) else {
        return Ok(None);
    };
    saturated_by(known, given, reach, strategy, budget).map(Some)
}

/// The same by these rows, which are empty.
fn saturated_by<'a>(
    known: Known<'a>,
    given: &[u32],
    reach: Reach,
    strategy: Strategy,
    budget: &Budget<'_>,
) -> Result<Saturated<'a>, Limit> {
    (budget.progress)("saturating");
    let versions = Versions::new(known.observed);
    let mut state = Saturation {
        asks_all: matches!(reach, Reach::Bits(_)) && versions.pairs() <= PAIRS_MAX,
        versions,
        reach,
        implied: Vec::new(),
        facts: Vec::new(),
        order: given.to_vec(),
        place: vec![0; known.events()],
        known,
    };
    state.place_all();
    let mut is_contradictory = false;
    for _ in 0..ROUNDS_MAX {
        budget.check_at(
            "saturate",
            &[("implied orders", state.implied.len() as u64)],
        )?;
        state.find_before();
        let found = state.find_implied();
        let is_little = found.len() <= given.len() / LITTLE;
        if !state.add(found) {
            is_contradictory = true;
            break;
        }
        if is_little {
            break;
        }
    }
    budget.check("saturate")?;
    state.find_before();
    state.keep_needed();
    // A window has no sessions to tell how far the run had come; the order given has that from places in them.
    let mut events = match state.reach {
        Reach::Window(_) => state.order.clone(),
        _ => {
            let rank = state.ranks();
            ranked::run_again(&state.known, &state.order, &rank)
        }
    };
    let (mut decided, mut undecided) = (0, None);
    if state.asks_all && !is_contradictory && !state.known.shape.parallel {
        state.reach = Reach::none();
        match strategy.stepwise && state.is_worth_deciding(&events) {
            true => {
                (events, decided) = decided_order(&state.known, &state.versions, events, budget)?
            }
            false => undecided = Some(state.versions),
        }
    }
    Ok(Saturated {
        known: state.known,
        events,
        is_contradictory,
        decided,
        undecided,
        facts: match state.reach {
            Reach::Window(_) => Vec::new(),
            _ => state.facts,
        },
    })
}

/// What one round finds.
#[derive(Default)]
struct Found {
    edges: Vec<(u32, u32)>,
    facts: Vec<Fact>,
}

impl Found {
    fn push(&mut self, from: u32, to: u32, fact: Fact) {
        self.edges.push((from, to));
        self.facts.push(fact);
    }
}

/// An order with fewer conflicts than the given one, if deciding the orders of versions step by step finds one; and how
/// many orders of versions were decided for it.
pub fn decided_order(
    known: &Known<'_>,
    versions: &Versions,
    given: Vec<u32>,
    budget: &Budget<'_>,
) -> Result<(Vec<u32>, usize), Limit> {
    let conflicts = conflicts_of(known, &given).len();
    let decided = confident::decided(known, versions, &given, budget)?;
    let better = decided.filter(|(events, _)| conflicts_of(known, events).len() < conflicts);
    Ok(better.unwrap_or((given, 0)))
}

fn conflicts_of(known: &Known<'_>, events: &[u32]) -> Vec<Conflict> {
    let observed = known.observed;
    conflicts::walk(observed, known.shape, events, &Settled { observed }).conflicts
}

struct Saturation<'a> {
    known: Known<'a>,
    versions: Versions,
    asks_all: bool,
    reach: Reach,
    /// Edges that follow, from and to.
    implied: Vec<(u32, u32)>,
    facts: Vec<Fact>,
    order: Vec<u32>,
    place: Vec<u32>,
}

impl Saturation<'_> {
    /// Whether so much is wrong with an order that versions are better decided step by step.
    fn is_worth_deciding(&self, given: &[u32]) -> bool {
        let conflicts = conflicts_of(&self.known, given);
        // Deciding version orders helps no read to its writer.
        let is_explained = |conflict: &&Conflict| !matches!(conflict, Conflict::Unexplained { .. });
        let explained = conflicts.iter().filter(is_explained).count();
        let many = match given.len() {
            0..=MANY_EVENTS => MANY,
            _ => MANY_OF_MANY,
        };
        explained > given.len() / many
    }

    fn place_all(&mut self) {
        for (at, &event) in self.order.iter().enumerate() {
            self.place[event as usize] = at as u32;
        }
    }

    fn find_before(&mut self) {
        self.reach
            .find_before(&self.known, &self.order, &self.place);
    }

    #[inline]
    fn leads_to(&self, event: u32, other: u32) -> bool {
        self.reach.leads_to(event, other, &self.place)
    }

    /// Adds edges; false, and they are not, if they close a cycle. Where some are only taken to follow, those
    /// that stand in the way of others are left out.
    fn add(&mut self, edges: Vec<(u32, u32)>) -> bool {
        let before = self.implied.len();
        self.implied.extend(edges);
        self.known.imply(&self.implied);
        if self.sort() {
            return true;
        }
        let edges = self.implied.split_off(before);
        self.known.imply(&self.implied);
        if !matches!(self.reach, Reach::Window(_)) {
            return false;
        }
        let reversed = edges.iter().map(|&(from, to)| (to, from));
        let wished = Edges::new(reversed, self.known.events());
        let Ok(order) = sorted::sort_along(&self.known, &self.order, &wished) else {
            return false;
        };
        self.order = order;
        self.place_all();
        let place = |event: u32| self.place[event as usize];
        let stands = |&(from, to): &(u32, u32)| place(from) < place(to);
        let standing = edges.into_iter().filter(stands);
        self.implied.extend(standing);
        self.known.imply(&self.implied);
        true
    }

    /// Drops the edges that follow from others.
    fn keep_needed(&mut self) {
        self.implied.sort_unstable_by_key(|&(from, to)| (to, from));
        self.implied.dedup();
        let mut needed = Vec::new();
        for of_event in self.implied.chunk_by(|a, b| a.1 == b.1) {
            let mut edges = of_event.to_vec();
            let event = of_event[0].1;
            self.reach
                .needed(&self.known, event, &mut edges, &self.place);
            needed.append(&mut edges);
        }
        self.implied = needed;
        self.known.imply(&self.implied);
    }

    /// The edges that follow and are not there. What they are about is noted.
    fn find_implied(&mut self) -> Vec<(u32, u32)> {
        let mut found = Found::default();
        self.ask_all(&mut found);
        self.facts.append(&mut found.facts);
        found.edges
    }

    fn ask_all(&self, found: &mut Found) {
        let shape = self.known.shape;
        let mut writers: Vec<u32> = Vec::new();
        for key in self.versions.keys() {
            writers.clear();
            writers.extend(self.versions.writers(key));
            if writers.is_empty() {
                continue;
            }
            let near = if self.asks_all { writers.len() } else { NEAR };
            let place = |writer: u32| self.place[shape.commit(writer) as usize];
            writers.sort_unstable_by_key(|&writer| place(writer));
            if shape.exclusive {
                for (at, &a) in writers.iter().enumerate() {
                    for &b in writers.iter().skip(at + 1).take(near) {
                        self.ask_overlap(key, a, b, found);
                        self.ask_overlap(key, b, a, found);
                    }
                }
            }
            for &(reader, writer) in self.versions.reads(key) {
                let start = self.place[shape.start(reader) as usize];
                let read_at = writers.partition_point(|&other| place(other) < start);
                let written_at = if writer == Link::INITIAL {
                    0
                } else {
                    writers.partition_point(|&other| place(other) < place(writer))
                };
                let high = written_at.max(read_at);
                let first = written_at.saturating_sub(near)..(written_at + near + 1).min(high);
                let last = high.saturating_sub(near).max(first.end)..high + near;
                for at in first.chain(last) {
                    if let Some(&other) = writers.get(at)
                        && other != writer
                        && other != reader
                    {
                        self.ask((key, reader, writer), other, found);
                    }
                }
            }
        }
    }

    /// What follows if a started before b committed, where the two may not overlap.
    fn ask_overlap(&self, key: u32, a: u32, b: u32, found: &mut Found) {
        let shape = self.known.shape;
        if self.leads_to(shape.start(a), shape.commit(b))
            && !self.leads_to(shape.commit(a), shape.start(b))
        {
            let fact = Fact::Overlap {
                key,
                older: a,
                newer: b,
            };
            found.push(shape.commit(a), shape.start(b), fact);
        }
    }

    /// What follows for a read, given by key, reader and writer, and another writer of the key.
    fn ask(&self, read: (u32, u32, u32), other: u32, found: &mut Found) {
        let shape = self.known.shape;
        let (key, reader, writer) = read;
        let (start, end) = (shape.start(reader), shape.commit(other));
        let fact = Fact::Read {
            key,
            reader,
            writer,
            other,
        };
        if shape.parallel {
            // A stale read is wrong only if it depends on who overwrote its version.
            let has_older = writer != Link::INITIAL;
            let writer = shape.commit(writer);
            if has_older && self.leads_to(end, start) && !self.leads_to(end, writer) {
                found.push(end, writer, fact);
            }
            return;
        }
        let is_newer = writer == Link::INITIAL || self.leads_to(shape.commit(writer), end);
        if is_newer {
            if !self.leads_to(start, end) {
                found.push(start, end, fact);
            }
            return;
        }
        if self.leads_to(end, start) {
            let to = if shape.exclusive {
                shape.start(writer)
            } else {
                shape.commit(writer)
            };
            if !self.leads_to(end, to) {
                found.push(end, to, fact);
            }
        }
    }

    /// By event, how far the run had come, and its place where that is the same. The rows are
    /// overwritten.
    fn ranks(&mut self) -> Vec<u64> {
        let (before, after) = self.reach.counts(&self.known, &self.order, &self.place);
        let mut ranks = vec![0u64; self.known.events()];
        for (at, &event) in self.order.iter().enumerate() {
            let (before, after) = (before[at] as f64, after[at] as f64);
            let share = before / (before + after).max(1.0) * f64::from(1 << 30);
            ranks[event as usize] = (share as u64) << 32 | at as u64;
        }
        ranks
    }

    /// Sorts the events along all edges, and otherwise as they are; false if there is a cycle.
    fn sort(&mut self) -> bool {
        let sorted = sorted::keeping_places(&self.order, &self.place, |event, call| {
            self.known.successors(event, |next, _| call(next));
        });
        let Some(sorted) = sorted else {
            return false;
        };
        self.order = sorted;
        self.place_all();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::reach::Window;
    use super::super::shape::Shape;
    use super::super::{Decision, Effort, search};
    use super::*;
    use crate::observe::observe;
    use crate::windows::tests::random_history;
    use history::{Initial, KeyOrder, Level, LevelResult, Verdict, certify};

    /// Whether a level holds by what is saturated in a window of 64 places, and by the search alone.
    fn by_both(seed: u64, level: Level, holds_by_window: &mut usize) {
        let history = random_history(seed, 8 + seed % 60);
        let (budget, initial) = (Budget::default(), Initial::default());
        let observed = observe(&history, &initial, KeyOrder::Free, &budget).unwrap();
        if !observed.read_anomalies.is_empty() {
            return;
        }
        let shape = Shape::of(level).unwrap();
        let new = || Known::new(&observed, shape, None);
        let known = new();
        let Ok(given) = sorted::sort(&known, &[]) else {
            return;
        };
        let reach = Reach::Window(Window::of_words(1));
        let saturated = saturated_by(new(), &given, reach, Strategy::default(), &budget).unwrap();
        let mut events = saturated.events.clone();
        events.sort_unstable();
        let mut all = given.clone();
        all.sort_unstable();
        assert_eq!(events, all, "seed {seed}, {level}");
        let decide = |known: &Known<'_>, events: Vec<u32>| {
            let (strategy, mut effort) = (Strategy::default(), Effort::default());
            search(known, events, &[], strategy, &budget, &mut effort).unwrap()
        };
        let Decision::Holds(order) = decide(&saturated.known, saturated.events) else {
            return;
        };
        *holds_by_window += 1;
        let alone = decide(&known, given);
        assert!(matches!(alone, Decision::Holds(_)), "seed {seed}, {level}");
        let verdict = Verdict::Holds(order);
        let result = LevelResult { level, verdict };
        let certified = certify(&history, &initial, &result);
        assert!(certified.is_ok(), "{certified:?}, seed {seed}, {level}");
    }

    #[test]
    fn what_holds_by_a_window_holds_and_certifies() {
        for level in Level::all().filter(|&level| Shape::of(level).is_some_and(|it| !it.real_time))
        {
            let mut held = 0;
            (0..600).for_each(|seed| by_both(seed, level, &mut held));
            assert!(held > 30, "{level}: {held}");
        }
    }
}
