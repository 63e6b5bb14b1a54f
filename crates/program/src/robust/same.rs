//! Which values of several paths are equal once some of them are.
//!
//! Steps: union-find over the terms of all paths, closed under two rules: rows of one table with
//! equal keys have equal columns, where nobody changes these; rows with an equal value in a column
//! that is UNIQUE have equal keys. Equal constants are one value, and two different constants in
//! one class are a contradiction.
//! Cost: a few dozen terms, so the rules are tried until nothing changes.

use super::unit::{Access, Derived, Unit};
use crate::expr::Expr;
use std::rc::Rc;

/// Classes of equal values.
#[derive(Clone, Debug)]
pub(super) struct Same<'a> {
    units: Vec<&'a Unit>,
    starts: Vec<usize>,
    parents: Vec<usize>,
    /// The values of one column of one table, by twos.
    pairs: Rc<Vec<Twins<'a>>>,
}

/// Two values of one column, each with the slot of its unit.
type Twins<'a> = ((usize, &'a Derived), (usize, &'a Derived));

impl<'a> Same<'a> {
    /// Nothing is equal but the constants.
    pub fn new(units: &[&'a Unit]) -> Same<'a> {
        let mut starts = Vec::new();
        let mut count = 0;
        for unit in units {
            starts.push(count);
            count += unit.terms.len();
        }
        let mut same = Same {
            units: units.to_vec(),
            starts,
            parents: (0..count).collect(),
            pairs: Rc::new(twins(units)),
        };
        let mut constants: Vec<(&Expr, (usize, usize))> = Vec::new();
        for (slot, unit) in units.iter().enumerate() {
            for (term, expr) in unit.terms.iter().enumerate() {
                if !matches!(expr, Expr::Constant(_)) {
                    continue;
                }
                match constants.iter().find(|known| known.0 == expr) {
                    Some((_, known)) => {
                        same.join(*known, (slot, term));
                    }
                    None => constants.push((expr, (slot, term))),
                }
            }
        }
        same
    }

    /// The class of a term of a unit.
    pub fn class(&self, slot: usize, term: usize) -> usize {
        let mut at = self.starts[slot] + term;
        while self.parents[at] != at {
            at = self.parents[at];
        }
        at
    }

    /// Two terms are equal.
    pub fn join(&mut self, one: (usize, usize), two: (usize, usize)) -> bool {
        let (one, two) = (self.class(one.0, one.1), self.class(two.0, two.1));
        self.parents[one.max(two)] = one.min(two);
        one != two
    }

    /// Draws all conclusions; false where there is a contradiction.
    pub fn close(&mut self) -> bool {
        while self.conclude() {}
        let mut constants: Vec<(usize, &Expr)> = Vec::new();
        for (slot, unit) in self.units.iter().enumerate() {
            for (term, expr) in unit.terms.iter().enumerate() {
                if matches!(expr, Expr::Constant(_)) {
                    constants.push((self.class(slot, term), expr));
                }
            }
        }
        let differ = |(class, expr): &(usize, &Expr)| {
            let mut others = constants.iter();
            others.any(|(other, value)| other == class && value != expr)
        };
        !constants.iter().any(differ)
    }

    fn conclude(&mut self) -> bool {
        let mut changed = false;
        for ((slot, one), (next, two)) in self.pairs.clone().iter() {
            let pairs = one.key.iter().zip(&two.key);
            let equal = |(a, b): (&usize, &usize)| self.class(*slot, *a) == self.class(*next, *b);
            if pairs.clone().all(equal) {
                changed |= self.join((*slot, one.term), (*next, two.term));
            } else if one.unique && self.class(*slot, one.term) == self.class(*next, two.term) {
                for (a, b) in pairs {
                    changed |= self.join((*slot, *a), (*next, *b));
                }
            }
        }
        changed
    }

    /// Whether two accesses by key are certainly of one row.
    pub fn is_one_row(&self, one: (usize, &Access), two: (usize, &Access)) -> bool {
        let (Some(left), Some(right)) = (&one.1.key, &two.1.key) else {
            return false;
        };
        one.1.table == two.1.table
            && left.len() == right.len()
            && left
                .iter()
                .zip(right)
                .all(|(a, b)| a.0 == b.0 && self.class(one.0, a.1) == self.class(two.0, b.1))
    }
}

fn twins<'a>(units: &[&'a Unit]) -> Vec<Twins<'a>> {
    let all = units.iter().enumerate();
    let all: Vec<(usize, &'a Derived)> = all
        .flat_map(|(slot, unit)| unit.derived.iter().map(move |one| (slot, one)))
        .collect();
    let mut found = Vec::new();
    for (at, (slot, one)) in all.iter().enumerate() {
        for (next, two) in &all[at + 1..] {
            if one.table == two.table && one.column == two.column {
                found.push(((*slot, *one), (*next, *two)));
            }
        }
    }
    found
}
