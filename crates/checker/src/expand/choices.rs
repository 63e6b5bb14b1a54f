//! Unclear reads of counters, one explanation after another.
//!
//! Where the ways to explain all unclear reads are few, each is checked as a history of its own. A
//! level that holds in one of them holds; a level that none satisfies is violated, with the
//! anomalies of each way, which say what they assume.
//!
//! Cost: one check for each way.

use super::counters::{Counter, Sight};
use super::{Check, Choice, Expanded};
use crate::{Checked, Options};
use history::{Anomaly, Level, Status, TxnId, Verdict};

/// So many ways are tried, with so many operations in all.
const WAYS_MAX: usize = 256;
const OPS_MAX: usize = 1 << 20;
/// Subsets are enumerated of so few increments only.
const INCREMENTS_MAX: usize = 12;

/// An unclear read, by counter and place, and every set that explains it.
struct Unclear {
    counter: usize,
    place: usize,
    ways: Vec<Vec<u32>>,
}

/// Settles the answers that are unknown, if there are few ways to explain everything.
pub(super) fn settle(expanded: &Expanded<'_>, answers: &mut [Checked], check: Check) {
    let Some(unclear) = unclear(expanded) else {
        return;
    };
    let count: usize = unclear.iter().map(|read| read.ways.len()).product();
    let is_open = |one: &Checked| matches!(one.result.verdict, Verdict::Unknown(_));
    let mut evidence: Vec<Option<Vec<Anomaly>>> = vec![Some(Vec::new()); answers.len()];
    for number in 0..count {
        let open: Vec<usize> = (0..answers.len())
            .filter(|&at| is_open(&answers[at]))
            .collect();
        let levels: Vec<Level> = open.iter().map(|&at| answers[at].result.level).collect();
        if levels.is_empty() {
            return;
        }
        let sights = chosen_sights(expanded, &unclear, number);
        let keys = super::counters::gather(expanded.history).unwrap_or_default();
        let Ok(way) = Expanded::with(expanded.history, expanded.options, keys, sights) else {
            return;
        };
        let quiet = Options {
            answered: &|_| {},
            ..expanded.options.clone()
        };
        for (&at, one) in open.iter().zip(&check(&way.part.history, &levels, &quiet)) {
            match way.whole(one).result.verdict {
                Verdict::Holds(order) => answers[at].result.verdict = Verdict::Holds(order),
                Verdict::Violated(found) => {
                    let found = with_assumptions(&way, &unclear, found);
                    if let Some(so_far) = &mut evidence[at] {
                        so_far.extend(found);
                    }
                }
                Verdict::Unknown(_) => evidence[at] = None,
            }
        }
    }
    let committed = |read: &Unclear| {
        let (_, counter) = &expanded.keys[read.counter];
        let reader = counter.reads[read.place].reader;
        expanded.history.status(reader) == Status::Committed
    };
    if !unclear.iter().all(committed) {
        return;
    }
    for (answer, found) in answers.iter_mut().zip(evidence) {
        if let (true, Some(anomalies)) = (is_open(answer), found) {
            answer.result.verdict = Verdict::Violated(anomalies);
        }
    }
}

/// The unclear reads with all their explanations, unless these are too many.
fn unclear(expanded: &Expanded<'_>) -> Option<Vec<Unclear>> {
    let mut found = Vec::new();
    let mut count = 1usize;
    for (at, ((_, counter), sights)) in expanded.keys.iter().zip(&expanded.sights).enumerate() {
        for (place, _) in sights
            .iter()
            .enumerate()
            .filter(|(_, s)| **s == Sight::Unclear)
        {
            let ways = ways(counter, place)?;
            count = count.checked_mul(ways.len()).filter(|&n| n <= WAYS_MAX)?;
            found.push(Unclear {
                counter: at,
                place,
                ways,
            });
        }
    }
    let ops = expanded.part.history.op_count().checked_mul(count)?;
    (ops <= OPS_MAX).then_some(found)
}

/// Every set that explains a read; none if there are too many, or none at all.
fn ways(counter: &Counter, place: usize) -> Option<Vec<Vec<u32>>> {
    let read = counter.reads[place];
    let others: Vec<u32> = (0..counter.increments.len() as u32)
        .filter(|&at| counter.increments[at as usize].txn != read.reader)
        .collect();
    if others.len() > INCREMENTS_MAX {
        return None;
    }
    let mut ways = Vec::new();
    for subset in 0..1u32 << others.len() {
        let chosen = (0..others.len()).filter(|bit| subset & (1 << bit) != 0);
        let chosen: Vec<u32> = chosen.map(|bit| others[bit]).collect();
        let totals = chosen.iter();
        let sum: i128 = totals
            .map(|&at| counter.increments[at as usize].total)
            .sum();
        if sum == read.target {
            ways.push(chosen);
        }
    }
    (!ways.is_empty()).then_some(ways)
}

fn chosen_sights(expanded: &Expanded<'_>, unclear: &[Unclear], number: usize) -> Vec<Vec<Sight>> {
    let mut sights = expanded.sights.clone();
    let mut rest = number;
    for read in unclear {
        let way = read.ways[rest % read.ways.len()].clone();
        rest /= read.ways.len();
        sights[read.counter][read.place] = Sight::Decoded(way);
    }
    sights
}

/// The anomalies of one way, as many as are needed, with what unclear reads are taken to have seen.
fn with_assumptions(
    way: &Expanded<'_>,
    unclear: &[Unclear],
    mut found: Vec<Anomaly>,
) -> Vec<Anomaly> {
    let mut assuming: Vec<Choice> = Vec::new();
    for read in unclear {
        let (_, counter) = &way.keys[read.counter];
        let op = counter.reads[read.place].op;
        if let Sight::Decoded(seen) = &way.sights[read.counter][read.place] {
            let writers = seen.iter().map(|&at| counter.increments[at as usize].txn);
            assuming.extend(writers.map(|writer| (op, writer)));
            if seen.is_empty() {
                assuming.push((op, TxnId::INITIAL));
            }
        }
    }
    if let Some(at) = found.iter().position(|anomaly| anomaly.assuming.is_empty()) {
        found = vec![found.swap_remove(at)];
    }
    for anomaly in &mut found {
        anomaly.assuming.extend(assuming.iter().copied());
    }
    found
}
