//! Who appended which element to which list: all appends, sorted by key and element.
//!
//! Cost: linear for a counting sort by key, and a sort of each key's elements. A lookup is one
//! access where the elements of a key are consecutive numbers, as generators make them, and a
//! binary search otherwise.

use super::Observed;
use history::{KeyId, OpId, OpKind, Status, TxnId, ValueCode};
use std::ops::Range;

/// One append.
#[derive(Clone, Copy, Debug)]
pub(super) struct Append {
    pub element: ValueCode,
    pub op: OpId,
    pub txn: TxnId,
    pub status: Status,
    /// Whether its transaction had appended to the key before.
    pub follows: bool,
}

/// All appends of a history.
pub(super) struct Appends {
    /// `starts[k]..starts[k + 1]` are the appends to key `k`.
    starts: Vec<u32>,
    all: Vec<Append>,
}

impl Appends {
    /// Gathers them.
    pub fn of(observed: &Observed<'_>) -> Appends {
        let history = observed.history;
        let ops = history.ops();
        let is_append = |op: &usize| ops.kinds[*op] == OpKind::Append;
        let mut starts = vec![0u32; history.keys().limit() + 1];
        for op in (0..ops.len()).filter(is_append) {
            starts[ops.keys[op].index() + 1] += 1;
        }
        for key in 1..starts.len() {
            starts[key] += starts[key - 1];
        }
        let none = Append {
            element: ValueCode::NIL,
            op: OpId(0),
            txn: TxnId(0),
            status: Status::Aborted,
            follows: false,
        };
        let mut all = vec![none; starts.last().map_or(0, |&end| end as usize)];
        let mut next = starts.clone();
        for placed in observed.file_order.iter() {
            let txn = placed.txn;
            for op in placed.ops().filter(is_append) {
                let key = ops.keys[op].index();
                let place = &mut next[key];
                let follows = *place > starts[key] && all[*place as usize - 1].txn == txn;
                all[*place as usize] = Append {
                    element: ops.values[op],
                    op: OpId(op as u32),
                    txn,
                    status: observed.statuses[txn.index()],
                    follows,
                };
                *place += 1;
            }
        }
        for key in 1..starts.len() {
            let of_key = &mut all[starts[key - 1] as usize..starts[key] as usize];
            let by_element = |append: &Append| (append.element, append.op);
            if !of_key.is_sorted_by_key(by_element) {
                of_key.sort_unstable_by_key(by_element);
            }
        }
        Appends { starts, all }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The places of the appends to a key.
    pub fn of_key(&self, key: KeyId) -> Range<usize> {
        self.starts[key.index()] as usize..self.starts[key.index() + 1] as usize
    }

    /// The append at a place.
    pub fn at(&self, place: usize) -> Append {
        self.all[place]
    }

    /// The places of the appends of an element to a key, of whatever transactions.
    #[inline]
    pub fn find(&self, key: KeyId, element: ValueCode) -> Range<usize> {
        let range = self.of_key(key);
        let of_key = &self.all[range.clone()];
        let Some(first) = of_key.first() else {
            return range;
        };
        let guess = element.0.wrapping_sub(first.element.0) as usize;
        let is_at = |place: usize| of_key.get(place).is_some_and(|a| a.element == element);
        let start = match is_at(guess) {
            true if !is_at(guess + 1) && !is_at(guess.wrapping_sub(1)) => {
                return range.start + guess..range.start + guess + 1;
            }
            true => guess,
            false => of_key.partition_point(|append| append.element < element),
        };
        let same = |append: &&Append| append.element == element;
        let start = start - of_key[..start].iter().rev().take_while(same).count();
        let count = of_key[start..].iter().take_while(same).count();
        range.start + start..range.start + start + count
    }
}

/// Whose element it is, as far as that can be told.
#[derive(Clone, Copy, Debug)]
pub(super) enum Author {
    /// Nobody appended it.
    Nobody,
    /// Only aborted transactions did.
    Aborted(Append),
    /// One transaction that did not abort.
    One(Append),
    /// Several that did not abort, or one twice.
    Several,
}

impl Appends {
    /// Whose element it is, and the place of its first append.
    #[inline]
    pub fn author(&self, key: KeyId, element: ValueCode) -> (Author, usize) {
        let found = self.find(key, element);
        let aborted = |append: &Append| append.status == Status::Aborted;
        let appends = &self.all[found.clone()];
        let author = match appends {
            [] => Author::Nobody,
            [one] if !aborted(one) => Author::One(*one),
            _ => {
                let mut others = appends.iter().filter(|append| !aborted(append));
                match (others.next(), others.next()) {
                    (None, _) => Author::Aborted(appends[0]),
                    (Some(one), None) => Author::One(*one),
                    _ => Author::Several,
                }
            }
        };
        (author, found.start)
    }
}
