//! Real-time order, in a line: transactions by the time of their completion.
//!
//! A transaction comes after all those that had completed when it began: a prefix of the line, so
//! one number says it all. Transactions that never completed are on no prefix. They are named by their
//! numbers, or by their places in the file where whoever asks walks in that order.

use crate::observe::Observed;
use history::{Interval, Status, TxnId};

/// The taken transactions that completed, by time.
#[derive(Clone)]
pub struct Timeline {
    completions: Vec<u32>,
    /// By transaction, how many completions precede its start.
    before: Vec<u32>,
    /// By transaction, its place among the completions.
    place: Vec<u32>,
    /// The taken transactions by `before`, and where those of each number begin.
    starting: Vec<u32>,
    starting_at: Vec<u32>,
}

impl Timeline {
    /// The line of a history with times, by the numbers of transactions.
    pub fn new(observed: &Observed<'_>) -> Option<Timeline> {
        Timeline::by(observed, |_, txn| txn.0)
    }

    /// The same by the places of transactions in the file.
    pub fn in_file_order(observed: &Observed<'_>) -> Option<Timeline> {
        Timeline::by(observed, |place, _| place)
    }

    /// `number`: of a transaction by its place in the file.
    fn by(observed: &Observed<'_>, number: impl Fn(u32, TxnId) -> u32) -> Option<Timeline> {
        let history = observed.history;
        if !history.has_intervals() {
            return None;
        }
        let unknown = Interval {
            start: i64::MIN,
            end: Interval::NEVER,
        };
        let txn_count = history.txn_count();
        // Most files have them by time, or nearly so, and nothing is to be sorted.
        let mut by_end: Vec<(i64, u32)> = Vec::with_capacity(txn_count);
        let mut starts: Vec<(i64, u32)> = Vec::with_capacity(txn_count);
        for (place, placed) in (0u32..).zip(observed.file_order.iter()) {
            let (txn, interval) = (placed.txn, history.interval(placed.txn));
            let interval = interval.unwrap_or(unknown);
            let number = number(place, txn);
            starts.push((interval.start, number));
            // A transaction whose client heard nothing of it may have committed at any later time.
            let has_completed = observed.statuses[txn.index()] == Status::Committed
                && interval.end != Interval::NEVER;
            if observed.taken[txn.index()] && has_completed {
                by_end.push((interval.completion(), number));
            }
        }
        by_end.sort();
        let mut before = vec![0; txn_count];
        let ruler = Ruler::new(&by_end);
        for &(start, number) in &starts {
            before[number as usize] = ruler.count_before(&by_end, start) as u32;
        }
        drop(ruler);
        // From a reference: by value, the numbers would stay in the room of the pairs.
        let completions: Vec<u32> = by_end.iter().map(|&(_, number)| number).collect();
        drop(by_end);
        let mut place = vec![u32::MAX; txn_count];
        for (at, &number) in completions.iter().enumerate() {
            place[number as usize] = at as u32;
        }
        let taken = observed.file_order.iter().zip(&starts);
        let taken = taken.filter(|(placed, _)| observed.taken[placed.txn.index()]);
        let (starting, starting_at) = starting(
            &before,
            completions.len(),
            taken.map(|(_, &(_, number))| number),
        );
        Some(Timeline {
            completions,
            before,
            place,
            starting,
            starting_at,
        })
    }

    /// How many completions precede the start of a transaction.
    #[inline]
    pub fn completed_before(&self, txn: u32) -> u32 {
        self.before[txn as usize]
    }

    /// The transaction that completed at this place.
    #[inline]
    pub fn completion(&self, place: u32) -> Option<u32> {
        self.completions.get(place as usize).copied()
    }

    /// The place of a transaction among the completions.
    #[inline]
    pub fn place(&self, txn: u32) -> Option<u32> {
        Some(self.place[txn as usize]).filter(|&place| place != u32::MAX)
    }

    /// The transactions that began before any completion.
    pub fn starting_first(&self) -> &[u32] {
        &self.starting[..self.starting_at[1] as usize]
    }

    /// The transactions that began after the completion at this place and before the next.
    #[inline]
    pub fn starting_after(&self, place: u32) -> &[u32] {
        let at = |number: usize| self.starting_at[number] as usize;
        &self.starting[at(place as usize + 1)..at(place as usize + 2)]
    }

    /// How many transactions completed.
    pub fn len(&self) -> usize {
        self.completions.len()
    }
}

/// Transactions by the number of completions before them, and where those of each number begin.
fn starting(
    before: &[u32],
    completion_count: usize,
    taken: impl Iterator<Item = u32> + Clone,
) -> (Vec<u32>, Vec<u32>) {
    let mut starting_at = vec![0u32; completion_count + 2];
    for number in taken.clone() {
        starting_at[before[number as usize] as usize + 1] += 1;
    }
    for place in 0..=completion_count {
        starting_at[place + 1] += starting_at[place];
    }
    let mut next = starting_at.clone();
    let mut starting = vec![0; starting_at[completion_count + 1] as usize];
    for number in taken {
        let slot = &mut next[before[number as usize] as usize];
        starting[*slot as usize] = number;
        *slot += 1;
    }
    (starting, starting_at)
}

/// Finds places in a line of completions: time is cut into as many equal pieces as there are
/// completions, at least, and for each piece it is known how many completions lie before it.
struct Ruler {
    first: i64,
    /// A piece is so many bits of time long.
    shift: u32,
    /// By piece, how many completions lie before it; and at the end, how many there are.
    counts: Vec<u32>,
}

impl Ruler {
    fn new(by_end: &[(i64, u32)]) -> Ruler {
        let first = by_end.first().map_or(0, |&(end, _)| end);
        let last = by_end.last().map_or(0, |&(end, _)| end);
        let length = last.wrapping_sub(first) as u64;
        // At most twice as many pieces as completions.
        let bits = u64::BITS - length.leading_zeros();
        let shift = bits.saturating_sub(by_end.len().max(1).ilog2() + 1);
        let mut ruler = Ruler {
            first,
            shift,
            counts: vec![0; (length >> shift) as usize + 2],
        };
        for &(end, _) in by_end {
            let piece = ruler.piece(end);
            ruler.counts[piece + 1] += 1;
        }
        for piece in 1..ruler.counts.len() {
            ruler.counts[piece] += ruler.counts[piece - 1];
        }
        ruler
    }

    /// The piece of a time that is not before the first completion, nor behind the last.
    fn piece(&self, time: i64) -> usize {
        (time.wrapping_sub(self.first) as u64 >> self.shift) as usize
    }

    /// How many completions precede a time.
    #[inline]
    fn count_before(&self, by_end: &[(i64, u32)], time: i64) -> usize {
        match (by_end.first(), by_end.last()) {
            (Some(first), Some(last)) if first.0 < time && time <= last.0 => {
                let piece = self.piece(time);
                let (low, high) = (self.counts[piece] as usize, self.counts[piece + 1] as usize);
                low + by_end[low..high].partition_point(|&(end, _)| end < time)
            }
            (_, Some(last)) if last.0 < time => by_end.len(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ruler;

    #[test]
    fn completions_before_a_time_are_counted() {
        let lines: [&[i64]; 6] = [
            &[],
            &[5],
            &[5, 5, 5],
            &[i64::MIN, -1, 0, 7, i64::MAX],
            &[1, 2, 3, 1000, 1001, 1_000_000_000],
            &[-10, -3, -3, 0, 1, 2, 2, 2, 9, 100, 101, 102],
        ];
        for line in lines {
            let by_end: Vec<(i64, u32)> = line.iter().copied().zip(0..).collect();
            let ruler = Ruler::new(&by_end);
            let near = line
                .iter()
                .flat_map(|&end| [end.saturating_sub(1), end, end.saturating_add(1)]);
            for time in near.chain([i64::MIN, 0, i64::MAX]) {
                let expected = line.iter().filter(|&&end| end < time).count();
                assert_eq!(
                    ruler.count_before(&by_end, time),
                    expected,
                    "{time} in {line:?}"
                );
            }
        }
    }
}
