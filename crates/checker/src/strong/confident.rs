//! A guess by steps: what is nearly certain is decided first, then what follows from it, and so on.
//!
//! Definition: an *alternative* is two ways for the events to be ordered, one of which must be. For
//! two writers of a key that may not overlap: one or the other comes first, and before that all who
//! read the version that it overwrites. Where they may: for a reader of a version and another writer
//! of its key, the writer commits before that version, or after the reader's snapshot. A way is a few
//! edges; if the end of one leads to its start, the other way it must be.
//!
//! Steps: spread the events over time (`Dense::spread`). An edge is the likelier the longer it is,
//! measured by the gaps that its two ends have to move in, and a way as likely as its least likely
//! edge. Decide the likeliest share of the alternatives, add what follows, and repeat until the order
//! has one way of each. If a cycle closes, take the step back and go on with a smaller one; if a
//! single decision closes one, it must be the other way. If that closes one too, something decided
//! before was wrong: begin again from the order reached, with smaller steps.
//!
//! Cost: that of `Dense::settle` a few times a step, and a look at each open alternative; some fifty
//! steps. Source: decisions by order from our brief on checkers, here by how certain they are.
//!
//! What comes out is used to find an order, never as evidence against one.

use super::dense::{Dense, Edge};
use super::known::Known;
use super::versions::Versions;
use crate::Budget;
use crate::budget::Limit;
use crate::observe::Link;
use std::ops::Range;

/// A step decides no fewer, unless the one before was taken back.
const STEP_MIN: f64 = 64.0;
/// Steps are given up after so many.
const STEPS_MAX: usize = 400;
/// The share of the open alternatives that is decided in a step, at most, by attempt.
const SHARES: [f64; 3] = [0.15, 0.06, 0.03];
/// The share after a step that was taken back, and after one that was not.
const SMALLER: f64 = 0.4;
const LARGER: f64 = 1.3;
/// More sweeps spread the events no better.
const SWEEPS: usize = 6;

/// Where the edges of each of two ways are.
type Alternative = [Range<u32>; 2];

/// All alternatives.
struct Alternatives {
    edges: Vec<Edge>,
    all: Vec<Alternative>,
}

/// An order along everything known, and how many alternatives were decided for it. None if what is
/// known leaves no way out.
pub fn decided(
    known: &Known<'_>,
    versions: &Versions,
    events: &[u32],
    budget: &Budget<'_>,
) -> Result<Option<(Vec<u32>, usize)>, Limit> {
    let mut events = events.to_vec();
    let mut decided = 0;
    for share in SHARES {
        let Some(attempt) = attempt(known, versions, &events, share, budget)? else {
            return Ok(None);
        };
        events = attempt.events;
        decided = attempt.decided;
        if attempt.is_complete {
            break;
        }
    }
    Ok(Some((events, decided)))
}

/// What came of deciding step by step.
struct Attempt {
    events: Vec<u32>,
    decided: usize,
    /// Whether the order has one way of each alternative.
    is_complete: bool,
}

/// Decides step by step, at most this share of what is open at once. None if what is known leaves no
/// way out.
fn attempt(
    known: &Known<'_>,
    versions: &Versions,
    events: &[u32],
    share_max: f64,
    budget: &Budget<'_>,
) -> Result<Option<Attempt>, Limit> {
    let mut graph = Dense::new(known, events);
    let alternatives = Alternatives::new(known, versions, events);
    let all = (0..alternatives.all.len() as u32).collect();
    let Some(mut open) = settle(&mut graph, &alternatives, all) else {
        return Ok(None);
    };
    let (mut share, mut decided, mut is_complete) = (share_max, 0, false);
    for _ in 0..STEPS_MAX {
        budget.check_at("saturate", &[("alternatives open", open.len() as u64)])?;
        graph.reduce();
        let likely = by_likelihood(&mut graph, &alternatives, &open);
        is_complete = likely.iter().all(|step| step.is_settled);
        if is_complete {
            break;
        }
        let step_len = step_len(&likely, share, share / share_max);
        let edge_count = graph.edge_count();
        for step in &likely[..step_len] {
            alternatives.add(&mut graph, step.alternative, step.way);
        }
        if let Some(left) = settle(&mut graph, &alternatives, open.clone()) {
            open = left;
            decided += step_len;
            share = (share * LARGER).min(share_max);
            continue;
        }
        graph.truncate(edge_count);
        share *= SMALLER;
        if step_len == 1 {
            alternatives.add(&mut graph, likely[0].alternative, 1 - likely[0].way);
            match settle(&mut graph, &alternatives, open) {
                Some(left) => open = left,
                None => break,
            }
        }
    }
    let event = |&number: &u32| events[number as usize];
    Ok(Some(Attempt {
        events: graph.order().iter().map(event).collect(),
        decided,
        is_complete,
    }))
}

impl Alternatives {
    /// Between places in `events`.
    fn new(known: &Known<'_>, versions: &Versions, events: &[u32]) -> Alternatives {
        let mut number = vec![0u32; known.events()];
        for (at, &event) in events.iter().enumerate() {
            number[event as usize] = at as u32;
        }
        let start = |txn: u32| number[known.shape.start(txn) as usize];
        let commit = |txn: u32| number[known.shape.commit(txn) as usize];
        match known.shape.exclusive {
            true => Alternatives::of_writers(versions, start, commit),
            false => Alternatives::of_readers(versions, start, commit),
        }
    }

    fn of_readers(
        versions: &Versions,
        start: impl Fn(u32) -> u32,
        commit: impl Fn(u32) -> u32,
    ) -> Alternatives {
        let (mut edges, mut all) = (Vec::new(), Vec::new());
        each_other(versions, |reader, writer, other| {
            let first = edges.len() as u32;
            edges.push((commit(other), commit(writer)));
            edges.push((start(reader), commit(other)));
            all.push([first..first + 1, first + 1..first + 2]);
        });
        Alternatives { edges, all }
    }

    /// Two transactions have one order, however many keys both write.
    fn of_writers(
        versions: &Versions,
        start: impl Fn(u32) -> u32,
        commit: impl Fn(u32) -> u32,
    ) -> Alternatives {
        // The older and the newer one, and an edge that this means.
        let mut found: Vec<(u32, u32, Edge)> = Vec::new();
        for key in versions.keys() {
            let writers = versions.writers(key);
            for &older in writers {
                let newer = writers.iter().filter(|&&newer| newer != older);
                found.extend(newer.map(|&newer| (older, newer, (commit(older), start(newer)))));
            }
        }
        each_other(versions, |reader, writer, other| {
            found.push((writer, other, (start(reader), commit(other))));
        });
        let pair = |&(a, b, _): &(u32, u32, Edge)| (a.min(b), a.max(b));
        found.sort_unstable_by_key(|entry| (pair(entry), *entry));
        found.dedup();
        let (mut edges, mut all) = (Vec::with_capacity(found.len()), Vec::new());
        for of_pair in found.chunk_by(|a, b| pair(a) == pair(b)) {
            let first = edges.len() as u32;
            let middle = of_pair.partition_point(|&(older, newer, _)| older < newer) as u32;
            edges.extend(of_pair.iter().map(|&(_, _, edge)| edge));
            all.push([first..first + middle, first + middle..edges.len() as u32]);
        }
        Alternatives { edges, all }
    }

    /// The edges of the two ways of an alternative.
    #[inline]
    fn ways(&self, alternative: u32) -> [&[Edge]; 2] {
        let edges = |way: &Range<u32>| &self.edges[way.start as usize..way.end as usize];
        let [one, two] = &self.all[alternative as usize];
        [edges(one), edges(two)]
    }

    /// Adds the edges of one way.
    fn add(&self, graph: &mut Dense, alternative: u32, way: usize) {
        for &(from, to) in self.ways(alternative)[way] {
            if !graph.leads_to(from, to) {
                graph.add((from, to));
            }
        }
    }
}

/// Calls with the reader and the writer of every read and each other writer of the key.
fn each_other(versions: &Versions, mut call: impl FnMut(u32, u32, u32)) {
    for key in versions.keys() {
        for &(reader, writer) in versions.reads(key) {
            for &other in versions.writers(key) {
                if writer != Link::INITIAL && other != writer && other != reader {
                    call(reader, writer, other);
                }
            }
        }
    }
}

/// Adds what follows until nothing new does. Returns the alternatives still open; None if a cycle
/// closes or some alternative has no way out.
fn settle(graph: &mut Dense, alternatives: &Alternatives, mut open: Vec<u32>) -> Option<Vec<u32>> {
    loop {
        if !graph.settle() {
            return None;
        }
        let edge_count = graph.edge_count();
        let mut has_way_out = true;
        open.retain(|&alternative| {
            let ways = alternatives.ways(alternative);
            let stands = |way: &[Edge]| way.iter().all(|&(from, to)| graph.leads_to(from, to));
            if stands(ways[0]) || stands(ways[1]) {
                return false;
            }
            let can_be = |way: &[Edge]| !way.iter().any(|&(from, to)| graph.leads_to(to, from));
            match ways.map(can_be) {
                [true, true] => return true,
                [true, false] => alternatives.add(graph, alternative, 0),
                [false, true] => alternatives.add(graph, alternative, 1),
                [false, false] => has_way_out = false,
            }
            false
        });
        if !has_way_out {
            return None;
        }
        if graph.edge_count() == edge_count {
            return Some(open);
        }
    }
}

/// What to decide about an alternative.
struct Step {
    /// How likely it is; less than 0 if it runs against the order.
    margin: f64,
    alternative: u32,
    way: usize,
    /// Whether the order at the moment has one of the ways.
    is_settled: bool,
}

/// The open alternatives, the likeliest decisions first.
fn by_likelihood(graph: &mut Dense, alternatives: &Alternatives, open: &[u32]) -> Vec<Step> {
    let (time, width) = graph.spread(SWEEPS);
    let length = |&(from, to): &Edge| {
        let (from, to) = (from as usize, to as usize);
        (time[to] - time[from]) / (width[to] + width[from]).max(f64::MIN_POSITIVE)
    };
    let step = |&alternative: &u32| {
        let ways = alternatives.ways(alternative);
        let margins = ways.map(|way| way.iter().map(length).fold(f64::INFINITY, f64::min));
        let way = usize::from(margins[0] <= margins[1]);
        let agrees = |way: &[Edge]| way.iter().all(|&(from, to)| graph.is_before(from, to));
        Step {
            margin: margins[way],
            alternative,
            way,
            is_settled: ways.into_iter().any(agrees),
        }
    };
    let mut steps: Vec<Step> = open.iter().map(step).collect();
    steps.sort_unstable_by(|a, b| b.margin.total_cmp(&a.margin));
    steps
}

/// How many alternatives to decide at once: no edge against the order while there are others. `eagerness` is 1, and
/// less after steps that were taken back.
fn step_len(likely: &[Step], share: f64, eagerness: f64) -> usize {
    let least = STEP_MIN * eagerness;
    let wanted = ((likely.len() as f64 * share).max(least) as usize).clamp(1, likely.len());
    let forward = likely.partition_point(|step| step.margin > 0.0);
    if forward >= FORWARD_MIN {
        wanted.min(forward)
    } else {
        wanted
    }
}

/// With fewer edges along the order than this, others are decided with them.
const FORWARD_MIN: usize = 20;
