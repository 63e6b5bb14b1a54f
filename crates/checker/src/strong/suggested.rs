//! Orders of commits that a history suggests: by the numbers of its transactions, and by their places
//! in the file. A recording often numbers what it runs, or has it by time.
//!
//! Definition: given an order of commits, a transaction can start no earlier than behind those it
//! read from, the one before it in its session and, where no two writers of a key may overlap, those
//! who wrote its keys before it. Starting any later can only make its reads stale. So there is an order of all events
//! with these commits just if the earliest starts make one. A transaction with reads that several may have served
//! starts behind the last snapshot that explains them (`snapshots`).
//!
//! Steps: one pass along the commits finds the earliest starts, and ends once more than a few reads are of
//! versions that are still to come or have no snapshot, which is soon where the numbers are only names. The events in that
//! order are then looked at like any other guess (`conflicts`), and one with few conflicts is what
//! repair begins with: numbers are never taken for facts.
//!
//! Cost: linear, however many sessions there are; 12 bytes a transaction and 4 a key, besides what `snapshots` takes.
//! Source: ours; the papers have no use for numbers.

use super::guesses;
use super::shape::Shape;
use super::snapshots::Snapshots;
use crate::hinted;
use crate::observe::{Link, Observed};
use history::TxnId;

const NONE: u32 = u32::MAX;

/// The suggested orders of events that the reads do not rule out at once.
pub fn orders(observed: &Observed<'_>, shape: Shape) -> impl Iterator<Item = Vec<u32>> {
    let is_timed = shape.real_time && observed.history.has_intervals();
    let suggested: &[Suggestion] = match is_timed || !observed.known.is_empty() {
        true => &[],
        false => &[hinted::by_numbers, |observed| {
            Some(hinted::by_places(observed))
        }],
    };
    suggested
        .iter()
        .filter_map(move |commits| with_starts(observed, shape, commits(observed)?))
}

/// An order of commits, if there is one.
type Suggestion = fn(&Observed<'_>) -> Option<Vec<u32>>;

/// The events with these commits and the earliest starts; None if more than a few would read versions that
/// are still to come or are in no snapshot, or a session runs backwards.
fn with_starts(observed: &Observed<'_>, shape: Shape, commits: Vec<u32>) -> Option<Vec<u32>> {
    let history = observed.history;
    let keys = &history.ops().keys;
    let has_choice = shape.split && !observed.ambiguous.is_empty();
    let mut snapshots = has_choice.then(|| Snapshots::new(observed));
    // By transaction, how many have committed with it; 0 before that.
    let mut committed = vec![0u32; history.txn_count()];
    let mut last_of_session = vec![NONE; history.session_count()];
    let of_keys = shape.split && shape.exclusive;
    let mut written = vec![0u32; if of_keys { history.keys().limit() } else { 0 }];
    let mut starts = Vec::with_capacity(if shape.split { commits.len() } else { 0 });
    let (mut unexplained, few) = (0, history.txn_count() / guesses::FEW);
    for (at, &txn) in (1u32..).zip(&commits) {
        let mut start = 0;
        if shape.sessions {
            let session = history.session_of(TxnId(txn)).index();
            let before = std::mem::replace(&mut last_of_session[session], txn);
            if before != NONE {
                if before > txn {
                    return None;
                }
                start = committed[before as usize];
            }
        }
        for op in history.op_range(TxnId(txn)) {
            let link = observed.links[op];
            if Link::is_txn(link) {
                let seen = committed[link as usize];
                if seen == 0 {
                    unexplained += 1;
                }
                start = start.max(seen);
            } else if of_keys && link == Link::WRITE {
                let before = std::mem::replace(&mut written[keys[op].index()], at);
                start = start.max(before);
            }
        }
        if let Some(snapshots) = &mut snapshots {
            if snapshots.has_choice(txn) {
                match snapshots.latest(txn, start, at - 1) {
                    Some(latest) => start = latest,
                    None => unexplained += 1,
                }
            }
            snapshots.commit(txn, at);
        }
        if unexplained > few {
            return None;
        }
        committed[txn as usize] = at;
        if shape.split {
            starts.push(start);
        }
    }
    Some(match shape.split {
        true => merged(shape, &commits, &starts),
        false => commits,
    })
}

/// Commits, and each start behind as many of them as it says, in the order of the commits.
fn merged(shape: Shape, commits: &[u32], starts: &[u32]) -> Vec<u32> {
    let mut ends = vec![0u32; commits.len() + 1];
    for &start in starts {
        ends[start as usize] += 1;
    }
    let mut sum = 0;
    for end in &mut ends {
        sum += std::mem::replace(end, sum);
    }
    // Now where the starts behind so many commits begin, among the starts; then where they end.
    let mut by_start = vec![0u32; starts.len()];
    for (&start, &txn) in starts.iter().zip(commits) {
        let place = &mut ends[start as usize];
        by_start[*place as usize] = txn;
        *place += 1;
    }
    let mut events = Vec::with_capacity(2 * commits.len());
    let mut first = 0;
    for (at, &end) in ends.iter().enumerate() {
        let started = &by_start[first as usize..end as usize];
        events.extend(started.iter().map(|&txn| shape.start(txn)));
        events.extend(commits.get(at).map(|&txn| shape.commit(txn)));
        first = end;
    }
    events
}
