//! What one transaction may look like.

use super::{Bounds, Mix, Shape};
use crate::id::Key;
use crate::setup::Op;
use rustc_hash::FxHashMap;

/// All shapes of a transaction, by number.
pub(super) struct Shapes {
    pub all: Vec<Vec<Op>>,
    /// The share of an exact mix that each belongs to.
    pub share: Vec<usize>,
    /// How many there are if a key may be read twice.
    pub with_repeats: usize,
    numbers: FxHashMap<Vec<Op>, u16>,
}

impl Shapes {
    pub fn new(bounds: &Bounds) -> Shapes {
        let mut shapes = Shapes {
            all: Vec::new(),
            share: Vec::new(),
            with_repeats: 0,
            numbers: FxHashMap::default(),
        };
        match &bounds.mix {
            Mix::Any {
                ops, shapes: kinds, ..
            } => {
                for count in ops.clone() {
                    kinds
                        .iter()
                        .for_each(|kind| shapes.add(*kind, count, bounds, 0));
                }
            }
            Mix::Exactly(shares) => {
                for (place, (kind, count, _)) in shares.iter().enumerate() {
                    shapes.add(*kind, *count, bounds, place);
                }
            }
        }
        shapes
    }

    fn add(&mut self, kind: Shape, ops: usize, bounds: &Bounds, share: usize) {
        for ops in of_kind(kind, ops, bounds.keys) {
            let free = matches!(kind, Shape::ReadOnly | Shape::WriteOnly);
            if bounds.keys_in_order && free && !ops.is_sorted() {
                continue;
            }
            if self.numbers.contains_key(&ops) {
                continue;
            }
            self.with_repeats += 1;
            if !reads_twice(&ops) {
                self.numbers.insert(ops.clone(), self.all.len() as u16);
                self.all.push(ops);
                self.share.push(share);
            }
        }
    }

    /// What each becomes when keys are renamed.
    pub fn renamed(&self, keys: &[usize]) -> Vec<u16> {
        let rename = |op: &Op| match op {
            Op::Read(key) => Op::Read(Key(keys[key.index()] as u8)),
            Op::Write(key) => Op::Write(Key(keys[key.index()] as u8)),
        };
        let number = |ops: &Vec<Op>| {
            let mut ops: Vec<Op> = ops.iter().map(rename).collect();
            // Where keys are in order, only that order has a number.
            let found = self.numbers.get(&ops).copied();
            found.unwrap_or_else(|| {
                ops.sort();
                self.numbers[&ops]
            })
        };
        self.all.iter().map(number).collect()
    }
}

/// Whether a key is read, and read again before it is written: the second read is the first one's.
fn reads_twice(ops: &[Op]) -> bool {
    ops.iter().enumerate().any(|(place, op)| {
        let earlier = ops[..place]
            .iter()
            .rev()
            .find(|other| other.key() == op.key());
        matches!(op, Op::Read(_)) && earlier == Some(op)
    })
}

fn of_kind(kind: Shape, ops: usize, keys: usize) -> Vec<Vec<Op>> {
    let each: Vec<Vec<Op>> = Key::first(keys)
        .map(|key| match kind {
            Shape::ReadOnly => vec![Op::Read(key)],
            Shape::WriteOnly => vec![Op::Write(key)],
            Shape::ReadModifyWrite => vec![Op::Read(key), Op::Write(key)],
            Shape::General => vec![Op::Read(key)],
        })
        .collect();
    let (parts, distinct) = match kind {
        Shape::General => {
            let writes = Key::first(keys).map(|key| vec![Op::Write(key)]);
            (each.into_iter().chain(writes).collect::<Vec<_>>(), false)
        }
        _ => (each, true),
    };
    let mut found: Vec<Vec<Op>> = vec![Vec::new()];
    while found.first().is_some_and(|first| first.len() < ops) {
        let longer = |ops: &Vec<Op>| {
            let ops = ops.clone();
            let fits =
                |part: &&Vec<Op>| !distinct || ops.iter().all(|op| op.key() != part[0].key());
            let fitting = parts.iter().filter(fits);
            fitting
                .map(|part| [&ops[..], &part[..]].concat())
                .collect::<Vec<_>>()
        };
        found = found.iter().flat_map(longer).collect();
    }
    // An odd number of operations has no updates.
    found.retain(|found| found.len() == ops && ops > 0);
    found
}
