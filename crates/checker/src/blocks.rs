//! Stale reads under causality with so many sessions that clocks are impossible and so many readers
//! that a search for each session takes too long: what happens before all of them, block by block.
//!
//! Definition: the order is cut into blocks of some thousand places. Of each block, every later
//! transaction has a row of bits: which of the block's transactions happen before it.
//!
//! Steps: for each block, a walk from its first place to the last reader with a version in question there; a row
//! unites those of the transactions before it by session and reads. A reader is asked about its
//! versions in question in the block when the walk comes by. The first and the last that contradict a read are given, so
//! that a long run of versions is put in order at once, and the read is asked about again.
//!
//! Cost: n²/128 words for each session or read edge of a transaction, n being the places between the
//! oldest version in question and the last reader; the rows of one block are kept, up to 64 MiB.
//! Source: ours; transitive closure by bits is usual, here it is never held as a whole.

use crate::Budget;
use crate::budget::Limit;
use crate::observe::{Link, Observed};
use crate::reach::Asked;
use crate::stale::Search;
use history::TxnId;
use std::ops::Range;

/// A block has so many words of 64 places at least and at most; rows take no more than this.
const WORDS_MIN: usize = 8;
const WORDS_MAX: usize = 64;
const ROWS_BYTES_MAX: usize = 64 << 20;
/// The budget is asked once in so many places.
const ASK_EVERY: usize = 1 << 14;

/// How many words are joined for each edge of a transaction, if all readers are asked about.
pub fn words(asked: &[Asked<'_>]) -> u64 {
    let oldest = asked.iter().map(|asked| asked.oldest).min();
    let last = asked.iter().map(|asked| asked.at).max();
    let places = last.unwrap_or(0).saturating_sub(oldest.unwrap_or(0)) as u64;
    places * (WORDS_MIN as u64 + places / 128)
}

/// Finds what stale reads force; readers are in order.
pub fn by_blocks(
    order: &[u32],
    asked: &[Asked<'_>],
    budget: &Budget<'_>,
    search: &mut Search<'_, '_>,
) -> Result<(), Limit> {
    let Some(oldest) = asked.iter().map(|asked| asked.oldest).min() else {
        return Ok(());
    };
    let end = asked[asked.len() - 1].at + 1;
    let mut blocks = Blocks::new(search.observed, search.place, order, oldest..end);
    let mut found: Vec<Vec<Ends>> = asked
        .iter()
        .map(|asked| vec![None; asked.stale.len()])
        .collect();
    let mut first = oldest;
    while first < end {
        let last = (first + blocks.width()).min(end);
        blocks.walk(first, asked, budget, |reader, row| {
            for (read, ends) in asked[reader].stale.iter().zip(&mut found[reader]) {
                let versions = search.candidates_in(read, first as u32..last as u32);
                let is_seen = |&&txn: &&u32| {
                    let at = search.place[txn as usize] as usize - first;
                    row[at / 64] >> (at % 64) & 1 == 1
                };
                if let Some(&newest) = versions.iter().rev().find(is_seen) {
                    let oldest = match *ends {
                        Some((oldest, _)) => oldest,
                        None => *versions.iter().find(is_seen).unwrap_or(&newest),
                    };
                    *ends = Some((oldest, newest));
                }
            }
        })?;
        first = last;
    }
    for (asked, found) in asked.iter().zip(found) {
        for (read, ends) in asked.stale.iter().zip(found) {
            let Some((oldest, newest)) = ends else {
                continue;
            };
            search.visible.turn_to(read.reader);
            search.leave_open(std::slice::from_ref(read));
            search.add(*read, oldest);
            if newest != oldest {
                search.add(*read, newest);
            }
        }
    }
    Ok(())
}

/// The first and the last writer that contradicts a read.
type Ends = Option<(u32, u32)>;

/// The rows of one block.
struct Blocks {
    /// Of which places there are rows.
    places: Range<usize>,
    /// By place, the places before it by session and reads that have rows.
    starts: Vec<u32>,
    before: Vec<u32>,
    words: usize,
    rows: Vec<u64>,
}

impl Blocks {
    fn new(observed: &Observed<'_>, place: &[u32], order: &[u32], places: Range<usize>) -> Blocks {
        let (mut starts, mut before) = (vec![0], Vec::new());
        for at in places.clone() {
            let txn = order[at];
            let range = observed.history.op_range(TxnId(txn));
            let links = observed.links[range].iter().copied();
            let read_from = links.filter(|&link| Link::is_txn(link));
            let own = before.len();
            for other in observed
                .session_predecessor(txn)
                .into_iter()
                .chain(read_from)
            {
                let other = place[other as usize];
                if (places.start..at).contains(&(other as usize)) && !before[own..].contains(&other)
                {
                    before.push(other);
                }
            }
            starts.push(before.len() as u32);
        }
        let words = ROWS_BYTES_MAX / 8 / places.len().max(1);
        Blocks {
            places,
            starts,
            before,
            words: words.clamp(WORDS_MIN, WORDS_MAX),
            rows: Vec::new(),
        }
    }

    /// How many places a block has.
    fn width(&self) -> usize {
        64 * self.words
    }

    /// Walks on from the first place of a block, and shows the readers with versions in question in
    /// it, each with its row.
    fn walk(
        &mut self,
        first: usize,
        asked: &[Asked<'_>],
        budget: &Budget<'_>,
        mut show: impl FnMut(usize, &[u64]),
    ) -> Result<(), Limit> {
        let words = self.words;
        let in_question = |asked: &Asked<'_>| asked.at > first && asked.oldest < first + 64 * words;
        let mut readers = (0..asked.len()).filter(|&reader| in_question(&asked[reader]));
        let last = asked.iter().rev().find(|asked| in_question(asked));
        let Some(last) = last.map(|asked| asked.at) else {
            return Ok(());
        };
        let mut next = readers.next();
        self.rows.resize(words * self.places.len(), 0);
        for at in first..=last {
            if at % ASK_EVERY == 0 {
                budget.check("stale reads")?;
            }
            let (done, rest) = self.rows.split_at_mut(words * (at - first));
            let row = &mut rest[..words];
            row.fill(0);
            let own = at - self.places.start;
            let before = &self.before[self.starts[own] as usize..self.starts[own + 1] as usize];
            for &other in before {
                let Some(other) = (other as usize).checked_sub(first) else {
                    continue;
                };
                let theirs = &done[words * other..][..words];
                for (mine, theirs) in row.iter_mut().zip(theirs) {
                    *mine |= theirs;
                }
            }
            if let Some(reader) = next
                && asked[reader].at == at
            {
                show(reader, row);
                next = readers.next();
            }
            let own = at - first;
            if own < 64 * words {
                row[own / 64] |= 1 << (own % 64);
            }
        }
        Ok(())
    }
}
