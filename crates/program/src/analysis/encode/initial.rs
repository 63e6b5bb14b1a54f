//! The rows before anything runs: what two names of one row have in common, and what the schema
//! demands of rows.

use super::super::constraint::{Constraints, Formula};
use super::{Encoder, Symbol, View};
use crate::ir::Part;
use crate::schema::ColumnId;
use std::rc::Rc;

impl Encoder<'_> {
    /// Requires the initial rows to be possible.
    pub(super) fn initial_rows(&mut self) {
        for table in 0..self.by_table.len() {
            let names = self.by_table[table].clone();
            for (at, left) in names.iter().enumerate() {
                for right in &names[at + 1..] {
                    self.agree(*left, *right);
                    self.unique(*left, *right);
                }
            }
        }
        for name in 0..self.names.len() {
            self.refer(name);
        }
    }

    /// Two names of one row say the same about it.
    fn agree(&mut self, left: usize, right: usize) {
        let same = self.same_row(left, right);
        if same == Constraints::FALSE {
            return;
        }
        let (a, b) = (self.names[left].present, self.names[right].present);
        let differ = self.constraints.differ(a, b);
        let mut all = vec![self.constraints.not(differ)];
        let mut columns: Vec<ColumnId> = self.names[left].cells.keys().copied().collect();
        columns.sort();
        for column in columns {
            let other = self.names[right].cells.get(&column).cloned();
            let own = self.names[left].cells.get(&column).cloned();
            if let (
                Some(Symbol::Scalar { null: a, value: x }),
                Some(Symbol::Scalar { null: b, value: y }),
            ) = (own, other)
            {
                let nulls = self.constraints.differ(a, b);
                all.push(self.constraints.not(nulls));
                all.push(self.constraints.equal(&x, &y));
            }
        }
        let all = self.constraints.and(all);
        let agree = self.constraints.implies(same, all);
        self.constraints.require(agree);
    }

    /// Two rows do not have the same values where the schema forbids it.
    fn unique(&mut self, left: usize, right: usize) {
        let table = self.program.schema.table(self.names[left].table);
        for columns in &table.unique {
            let Some(equal) = self.equal_cells(left, columns, right, columns) else {
                continue;
            };
            let (a, b) = (self.names[left].present, self.names[right].present);
            let both = self.constraints.and([a, b, equal]);
            let same = self.same_row(left, right);
            let only = self.constraints.implies(both, same);
            self.constraints.require(only);
        }
    }

    /// Where these values are written to a row, no other row has the same where the schema forbids it:
    /// none that is visible on a replicated store, none at all on a server.
    pub(super) fn stay_unique(
        &mut self,
        instance: usize,
        (part, name): (&Part, usize),
        values: &[(ColumnId, Symbol)],
        when: Formula,
        view: &View,
    ) {
        let table = self.program.schema.table(part.table);
        if table.unique.is_empty() {
            return;
        }
        let now = match self.candidate.instances[instance].level {
            Some(_) => Rc::new((0..self.writes.len()).collect()),
            None => view.clone(),
        };
        for columns in &table.unique {
            let given = |column: &ColumnId| values.iter().find(|(known, _)| known == column);
            if !columns.iter().any(|column| given(column).is_some()) {
                continue;
            }
            for other in self.by_table[part.table.index()].clone() {
                if other == name {
                    continue;
                }
                let mut all = vec![when, self.present(other, &now)];
                for column in columns {
                    let new = match given(column) {
                        Some((_, value)) => value.clone(),
                        None => self.cell(name, *column, view),
                    };
                    let old = self.cell(other, *column, &now);
                    all.push(self.equal_symbols(&new, &old));
                }
                let both = self.constraints.and(all);
                let same = self.same_row(name, other);
                let only = self.constraints.implies(both, same);
                self.demand(instance, only);
            }
        }
    }

    /// That two values are equal and not NULL.
    fn equal_symbols(&mut self, left: &Symbol, right: &Symbol) -> Formula {
        let (Symbol::Scalar { null: a, value: x }, Symbol::Scalar { null: b, value: y }) =
            (left, right)
        else {
            return Constraints::FALSE;
        };
        let there = [*a, *b].map(|null| self.constraints.not(null));
        let equal = self.constraints.equal(x, y);
        self.constraints.and([there[0], there[1], equal])
    }

    /// That cells of two rows are equal and not NULL; nothing where one is never looked at.
    fn equal_cells(
        &mut self,
        left: usize,
        columns: &[ColumnId],
        right: usize,
        others: &[ColumnId],
    ) -> Option<Formula> {
        let mut all = Vec::new();
        for (column, other) in columns.iter().zip(others) {
            for (name, column) in [(left, column), (right, other)] {
                let table = self.program.schema.table(self.names[name].table);
                let known = self.names[name].cells.contains_key(column);
                if !known && !table.primary_key.contains(column) {
                    return None;
                }
            }
            let start = View::default();
            let (a, b) = (
                self.cell(left, *column, &start),
                self.cell(right, *other, &start),
            );
            let (Symbol::Scalar { null: a, value: x }, Symbol::Scalar { null: b, value: y }) =
                (a, b)
            else {
                return None;
            };
            self.link(&x, &y);
            all.push(self.constraints.not(a));
            all.push(self.constraints.not(b));
            all.push(self.constraints.equal(&x, &y));
        }
        Some(self.constraints.and(all))
    }

    /// A row that the named one refers to is there, if it has a name.
    fn refer(&mut self, name: usize) {
        let table = self.program.schema.table(self.names[name].table);
        for foreign in &table.foreign_keys {
            for parent in self.by_table[foreign.table.index()].clone() {
                let equal = self.equal_cells(name, &foreign.columns, parent, &foreign.referred);
                let Some(equal) = equal else {
                    continue;
                };
                let child = self.names[name].present;
                let refers = self.constraints.and([child, equal]);
                let present = self.names[parent].present;
                let there = self.constraints.implies(refers, present);
                self.constraints.require(there);
            }
        }
    }
}
