//! What reads of counters say about the increments they saw.
//!
//! Definition: the increments of one transaction to one key count together or not at all, so a read
//! saw a set of other transactions whose totals, with what its own transaction had added before it,
//! sum up to the value read. A read is *decoded* if there is exactly one such set, *impossible* if
//! there is none, and *unclear* otherwise. Totals of 0 are left out: nobody can tell.
//!
//! Steps: the largest and the smallest sum have one set each, and nothing lies beyond them; sums
//! are multiples of the greatest common divisor; where the sums of a key are few, or few
//! transactions increment it, the number of sets for each sum is counted (up to 2). Whatever
//! remains is unclear.
//!
//! Cost: linear, and for each key with few sums their number times the transactions; again for
//! each reader that increments the key itself, with a smaller limit.

use history::{History, KeyId, Op, OpId, OpKind, Status, TxnId, Value, ValueCode};
use rustc_hash::FxHashMap;

/// Sums are counted if so many are possible at most.
const SUMS_MAX: i128 = 1024;
/// The same for a reader that is among those who increment.
const SUMS_WITHOUT_READER_MAX: i128 = 128;
/// Or if there are so few transactions that all their sets can be looked at.
const FEW: usize = 10;

/// What a transaction that did not abort adds to a counter, never 0.
#[derive(Clone, Copy, Debug)]
pub struct Increments {
    pub txn: TxnId,
    pub total: i128,
    /// Its last increment of that counter.
    pub last: OpId,
}

/// A read of a counter by a transaction that did not abort.
#[derive(Clone, Copy, Debug)]
pub struct CounterRead {
    pub reader: TxnId,
    pub op: OpId,
    /// What other transactions' increments have to sum up to.
    pub target: i128,
}

/// A counter key.
#[derive(Default, Debug)]
pub struct Counter {
    /// By transaction.
    pub increments: Vec<Increments>,
    /// In order of their operations within transactions, and of the transactions.
    pub reads: Vec<CounterRead>,
}

/// What a read saw, as places in [`Counter::increments`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sight {
    Decoded(Vec<u32>),
    Impossible,
    Unclear,
}

/// The counters of a history, or why they are none.
pub fn gather(history: &History) -> Result<Vec<(KeyId, Counter)>, String> {
    let mut places: FxHashMap<KeyId, usize> = FxHashMap::default();
    let mut counters: Vec<(KeyId, Counter)> = Vec::new();
    let mut own: FxHashMap<KeyId, (i128, OpId)> = FxHashMap::default();
    for txn in history.txn_ids() {
        if history.status(txn) == Status::Aborted {
            continue;
        }
        own.clear();
        for (id, op) in history.txn_ops(txn) {
            let is_read = op.kind == OpKind::ReadCounter && op.value != ValueCode::UNKNOWN;
            if op.kind != OpKind::Increment && !is_read {
                continue;
            }
            let number = number(history, op)?;
            if op.kind == OpKind::Increment {
                let sum = own.entry(op.key).or_insert((0, id));
                *sum = (sum.0 + number, id);
                continue;
            }
            let target = number - own.get(&op.key).map_or(0, |sum| sum.0);
            let place = place_of(op.key, &mut places, &mut counters);
            counters[place].1.reads.push(CounterRead {
                reader: txn,
                op: id,
                target,
            });
        }
        for (&key, &(total, last)) in own.iter().filter(|(_, sum)| sum.0 != 0) {
            let place = place_of(key, &mut places, &mut counters);
            let increments = Increments { txn, total, last };
            counters[place].1.increments.push(increments);
        }
    }
    Ok(counters)
}

fn place_of(
    key: KeyId,
    places: &mut FxHashMap<KeyId, usize>,
    counters: &mut Vec<(KeyId, Counter)>,
) -> usize {
    *places.entry(key).or_insert_with(|| {
        counters.push((key, Counter::default()));
        counters.len() - 1
    })
}

/// The number that an operation on a counter is about; one that was never set is 0.
fn number(history: &History, op: Op) -> Result<i128, String> {
    match history.value(op.value) {
        Value::Nil if op.value == ValueCode::NIL => Ok(0),
        Value::Int(number) if number.unsigned_abs() < 1 << 64 => Ok(number),
        _ => Err(format!(
            "counter {} was incremented by, or read as, something that is no integer of up to 127 bits",
            history.key_name(op.key)
        )),
    }
}

impl Counter {
    /// What each read saw.
    pub fn sights(&self) -> Vec<Sight> {
        let items: Vec<(u32, i128)> = (0..)
            .zip(self.increments.iter().map(|own| own.total))
            .collect();
        let all = Sums::new(&items, SUMS_MAX);
        let sight = |read: &CounterRead| {
            let found = self
                .increments
                .binary_search_by_key(&read.reader, |own| own.txn);
            let Ok(own) = found else {
                return all.sight(&items, read.target);
            };
            let mut others = items.clone();
            others.remove(own);
            Sums::new(&others, SUMS_WITHOUT_READER_MAX).sight(&others, read.target)
        };
        self.reads.iter().map(sight).collect()
    }
}

/// The sums of all subsets of some numbers.
pub struct Sums {
    least: i128,
    greatest: i128,
    divisor: i128,
    /// `counts[i][s]`: how many subsets of the first i numbers have the sum `least + s`, no
    /// further than 2. Empty if there are too many sums.
    counts: Vec<Vec<u8>>,
    /// For few numbers: each sum with the number of its subsets up to 2, and one of them.
    of_few: Option<FxHashMap<i128, (u8, u32)>>,
}

impl Sums {
    /// Counts the subsets of each sum if there are at most so many sums.
    pub fn new(items: &[(u32, i128)], sums_max: i128) -> Sums {
        let mut sums = Sums {
            least: items.iter().map(|item| item.1.min(0)).sum(),
            greatest: items.iter().map(|item| item.1.max(0)).sum(),
            divisor: items.iter().fold(0, |divisor, item| gcd(divisor, item.1)),
            counts: Vec::new(),
            of_few: (items.len() <= FEW).then(|| of_few(items)),
        };
        let width = sums.greatest - sums.least + 1;
        if width > sums_max || sums.of_few.is_some() {
            return sums;
        }
        let mut row = vec![0u8; width as usize];
        row[-sums.least as usize] = 1;
        sums.counts.push(row);
        for &(_, number) in items {
            let before = &sums.counts[sums.counts.len() - 1];
            let mut row = before.clone();
            for (sum, count) in row.iter_mut().enumerate() {
                let without = usize::try_from(sum as i128 - number);
                let with = without.ok().and_then(|at| before.get(at)).copied();
                *count = (*count + with.unwrap_or(0)).min(2);
            }
            sums.counts.push(row);
        }
        sums
    }

    /// Whether no subset can have this sum.
    pub fn excludes(&self, sum: i128) -> bool {
        if sum < self.least || sum > self.greatest {
            return true;
        }
        if let Some(known) = &self.of_few {
            return !known.contains_key(&sum);
        }
        match self.counts.last() {
            Some(row) => row[(sum - self.least) as usize] == 0,
            None => sum % self.divisor.max(1) != 0,
        }
    }

    fn sight(&self, items: &[(u32, i128)], target: i128) -> Sight {
        if self.excludes(target) {
            return Sight::Impossible;
        }
        let chosen = |keep: &dyn Fn(i128) -> bool| {
            let kept = items.iter().filter(|item| keep(item.1));
            Sight::Decoded(kept.map(|item| item.0).collect())
        };
        if target == self.greatest {
            return chosen(&|number| number > 0);
        }
        if target == self.least {
            return chosen(&|number| number < 0);
        }
        if let Some((1, subset)) = self.of_few.as_ref().and_then(|known| known.get(&target)) {
            let members = (0..items.len()).filter(|bit| subset >> bit & 1 == 1);
            return Sight::Decoded(members.map(|bit| items[bit].0).collect());
        }
        let count = |row: usize, sum: i128| {
            let at = usize::try_from(sum - self.least).ok();
            at.and_then(|at| self.counts.get(row)?.get(at)).copied()
        };
        if count(items.len(), target) != Some(1) {
            return Sight::Unclear;
        }
        let mut seen = Vec::new();
        let mut sum = target;
        for (row, &(place, number)) in items.iter().enumerate().rev() {
            if count(row, sum) != Some(1) {
                sum -= number;
                seen.push(place);
            }
        }
        seen.reverse();
        Sight::Decoded(seen)
    }
}

fn of_few(items: &[(u32, i128)]) -> FxHashMap<i128, (u8, u32)> {
    let mut known: FxHashMap<i128, (u8, u32)> = FxHashMap::default();
    for subset in 0..1u32 << items.len() {
        let members = (0..items.len()).filter(|bit| subset >> bit & 1 == 1);
        let sum = members.map(|bit| items[bit].1).sum();
        let (count, one) = known.entry(sum).or_default();
        *count = (*count + 1).min(2);
        *one = subset;
    }
    known
}

fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(numbers: &[i128], target: i128) -> Sight {
        let items: Vec<(u32, i128)> = (0..).zip(numbers.iter().copied()).collect();
        Sums::new(&items, SUMS_MAX).sight(&items, target)
    }

    #[test]
    fn a_sum_of_one_subset_is_decoded() {
        assert_eq!(sight(&[1, 2, 4], 5), Sight::Decoded(vec![0, 2]));
        assert_eq!(sight(&[1, 2, 3], 3), Sight::Unclear);
        assert_eq!(sight(&[1, 2, 3], 6), Sight::Decoded(vec![0, 1, 2]));
        assert_eq!(sight(&[1, -2, 3], -2), Sight::Decoded(vec![1]));
        assert_eq!(sight(&[2, 4], 3), Sight::Impossible);
        assert_eq!(sight(&[], 0), Sight::Decoded(vec![]));
        assert_eq!(sight(&[], 1), Sight::Impossible);
        assert_eq!(sight(&[5000, 10_000], 5000), Sight::Decoded(vec![0]));
        assert_eq!(sight(&[5000, 10_000], 15_001), Sight::Impossible);
    }

    #[test]
    fn many_increments_are_counted_if_their_sums_are_few() {
        let mut numbers = vec![10; 12];
        assert_eq!(sight(&numbers, 5), Sight::Impossible);
        assert_eq!(sight(&numbers, 50), Sight::Unclear);
        numbers.push(3);
        assert_eq!(sight(&numbers, 3), Sight::Decoded(vec![12]));
        assert_eq!(sight(&numbers, 5), Sight::Impossible);
        numbers[0] = 50_000;
        assert_eq!(sight(&numbers, 3), Sight::Unclear);
        numbers.pop();
        assert_eq!(sight(&numbers, 3), Sight::Impossible);
    }
}
