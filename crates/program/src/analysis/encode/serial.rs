//! That serial orders do not do the same, as a formula.
//!
//! Definition: an order of the instances does the same as a candidate if they, with the same
//! arguments and unknown values, one after the other on the same initial rows, have the same results
//! and leave the same rows.
//! Steps: for each order asked about, a copy of every instance is executed after everything else; it
//! sees the copies before it in that order, and nothing of the candidate. What a statement needs in
//! order to succeed is not required of a copy: where it fails, its order does not do the same.
//! Results are compared statement by statement with the inputs of the candidate: as long as those
//! before are the same, inputs and path are too.
//! Cost: that of the candidate for every order, so only those are asked about that did the same as an
//! earlier witness.
//! Where we differ from [`crate::execute::judge`]: rows of a result are compared by what they are, not
//! by their values, so a play has the last word.

use super::super::candidate::{Candidate, Run};
use super::super::constraint::{Constraints, Formula};
use super::edges::one_row;
use super::{Encoder, View};
use crate::ir::{Action, OnConflict, Part};
use crate::scenario::{Event, Point, Turn};
use crate::schema::{ColumnId, TableId};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A candidate followed by serial orders of its instances.
pub(in super::super) struct Copied {
    /// The candidate with the copies.
    pub candidate: Candidate,
    /// Which instance each of its instances is a copy of; itself where it is none.
    original: Vec<usize>,
    /// The copies in each order.
    orders: Vec<Vec<usize>>,
}

/// The candidate and those orders of its instances.
pub(in super::super) fn copied(candidate: &Candidate, orders: &[Vec<usize>]) -> Copied {
    let mut found = Copied {
        candidate: candidate.clone(),
        original: (0..candidate.instances.len()).collect(),
        orders: Vec::new(),
    };
    for order in orders {
        let mut copies = Vec::new();
        let schedule = &mut found.candidate.schedule;
        let first = schedule.len();
        for instance in order {
            let path = candidate.instances[*instance].path.clone();
            let copy = found.original.len();
            let before: BTreeSet<usize> = (first..schedule.len()).collect();
            for statement in 0..path.statements.len() as u32 {
                schedule.push(Turn {
                    instance: copy,
                    event: Event::Statement(statement),
                    sees: Some(before.clone()),
                });
            }
            found.candidate.instances.push(Run {
                transaction: candidate.instances[*instance].transaction,
                path,
                level: None,
            });
            found.original.push(*instance);
            copies.push(copy);
        }
        found.orders.push(copies);
    }
    found
}

impl<'a> Encoder<'a> {
    /// As [`Encoder::new`], and none of the serial orders does the same.
    pub fn unlike(program: &'a crate::Program, copied: &'a Copied, variation: u32) -> Encoder<'a> {
        let original = copied.original.clone();
        let mut encoder = Encoder::of(program, &copied.candidate, original, variation);
        encoder.encode();
        for order in &copied.orders {
            encoder.differ_from(order);
        }
        encoder.initial_rows();
        encoder
    }

    /// Whether an instance is a copy.
    pub(super) fn is_copy(&self, instance: usize) -> bool {
        self.original[instance] != instance
    }

    /// What an instance needs in order to go on.
    pub(super) fn demand(&mut self, instance: usize, formula: Formula) {
        match self.is_copy(instance) {
            true => self.demanded.push((instance, formula)),
            false => self.constraints.require(formula),
        }
    }

    /// The name that the original of a copy has for the row of a part, where they cannot differ.
    pub(super) fn shared_name(&mut self, at: (usize, usize, usize), part: &Part) -> Option<usize> {
        let original = self.original[at.0];
        let same = match self.key_of(part) {
            Some(bindings) => bindings
                .iter()
                .all(|bound| self.early(original, bound.value).is_some()),
            None => matches!(part.action, Action::Insert(_)),
        };
        let name = self.called.get(&(original, at.1, at.2)).copied();
        name.filter(|_| same)
    }

    /// The copies of an order fail, have other results, or leave other rows.
    fn differ_from(&mut self, copies: &[usize]) {
        let mut any = Vec::new();
        for (instance, formula) in self.demanded.clone() {
            if copies.contains(&instance) {
                any.push(self.constraints.not(formula));
            }
        }
        for copy in copies {
            let original = self.original[*copy];
            for position in 0..self.candidate.instances[*copy].path.statements.len() {
                let one = self.view_of(original, position);
                let two = self.view_of(*copy, position);
                any.push(self.outcomes_differ((original, position), &one, &two));
            }
        }
        let one = self.writes_by(|encoder, instance| !encoder.is_copy(instance));
        let two = self.writes_by(|_, instance| copies.contains(&instance));
        any.push(self.rows_differ(&one, &two));
        let differ = self.constraints.or(any);
        self.constraints.require(differ);
    }

    fn writes_by(&self, whose: impl Fn(&Encoder<'_>, usize) -> bool) -> View {
        let all = self.writes.iter().enumerate();
        let own = all.filter(|(_, write)| whose(self, write.point.instance));
        Rc::new(own.map(|(at, _)| at).collect())
    }

    /// That what a statement returns in one view is not what it returns in another.
    fn outcomes_differ(
        &mut self,
        (instance, position): (usize, usize),
        one: &View,
        two: &View,
    ) -> Formula {
        let statement = self.statement(instance, position);
        let mut any = Vec::new();
        for part in &statement.parts {
            let Action::Insert(insert) = &part.action else {
                continue;
            };
            let at = (instance, position, part.id.0 as usize);
            if let (Some(name), false) = (
                self.called.get(&at).copied(),
                insert.on_conflict == OnConflict::Fail,
            ) {
                let (first, second) = (self.present(name, one), self.present(name, two));
                any.push(self.constraints.differ(first, second));
            }
        }
        let found = statement
            .parts
            .iter()
            .any(|part| !matches!(part.action, Action::Insert(_)));
        let keyed = self.called.contains_key(&(instance, position, 0));
        if found && (one_row(statement) || (keyed && statement.parts.len() == 1)) {
            any.push(self.first_rows_differ(instance, position, one, two));
        } else if found {
            let left = self.matches(instance, position, one);
            let right = self.matches(instance, position, two);
            if statement.outputs.is_empty() {
                let (left, right) = (self.count(&left), self.count(&right));
                let equal = self.constraints.equal(&left, &right);
                any.push(self.constraints.not(equal));
            } else {
                let point = Point {
                    instance,
                    statement: position as u32,
                };
                let outputs: Vec<_> = statement.outputs.iter().map(|o| &o.value).collect();
                any.push(self.tuples_differ(point, (&left, one), (&right, two), &outputs));
            }
        }
        self.constraints.or(any)
    }

    /// That the rows after some writes are not those after others.
    fn rows_differ(&mut self, one: &View, two: &View) -> Formula {
        let mut written: BTreeMap<TableId, BTreeSet<ColumnId>> = BTreeMap::new();
        for write in &self.writes {
            let columns = written.entry(write.table).or_default();
            let values = write.rows.iter().flat_map(|row| &row.values);
            columns.extend(values.map(|(column, _)| *column));
        }
        let mut any = vec![Constraints::FALSE];
        for (table, columns) in written {
            for name in self.by_table[table.index()].clone() {
                let (first, second) = (self.present(name, one), self.present(name, two));
                any.push(self.constraints.differ(first, second));
                let both = self.constraints.and([first, second]);
                for column in &columns {
                    let left = self.cell(name, *column, one);
                    let right = self.cell(name, *column, two);
                    let differ = self.symbols_differ(&left, &right);
                    any.push(self.constraints.and([both, differ]));
                }
            }
        }
        self.constraints.or(any)
    }
}
