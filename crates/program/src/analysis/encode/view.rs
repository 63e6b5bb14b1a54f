//! What a statement sees: rows and cells after the writes that are visible to it.

use super::super::constraint::{Constraints, Formula, Linear};
use super::{Encoder, Symbol, View, Write, WriteKind};
use crate::schema::ColumnId;

impl Encoder<'_> {
    /// Whether two names are the same row.
    pub(super) fn same_row(&mut self, left: usize, right: usize) -> Formula {
        if left == right {
            return Constraints::TRUE;
        }
        let (a, b) = (&self.names[left], &self.names[right]);
        if a.table != b.table || a.key.is_empty() || a.apart || b.apart {
            return Constraints::FALSE;
        }
        let pairs: Vec<(Linear, Linear)> =
            a.key.iter().cloned().zip(b.key.iter().cloned()).collect();
        let mut all = Vec::new();
        for (a, b) in pairs {
            all.push(self.constraints.equal(&a, &b));
        }
        self.constraints.and(all)
    }

    /// Whether a write changed a row.
    pub(super) fn applied(&mut self, write: usize, name: usize) -> Formula {
        let found: &Write = &self.writes[write];
        if let Some(row) = found.rows.iter().find(|row| row.name == name) {
            return row.when;
        }
        if found.scan {
            return Constraints::FALSE;
        }
        let rows: Vec<(usize, Formula)> = found.rows.iter().map(|r| (r.name, r.when)).collect();
        let mut any = Vec::new();
        for (other, when) in rows {
            let same = self.same_row(other, name);
            any.push(self.constraints.and([same, when]));
        }
        self.constraints.or(any)
    }

    /// The value a write gave to a cell, where it changed the row.
    pub(super) fn written(&self, write: usize, name: usize, column: ColumnId) -> Option<Symbol> {
        let rows = &self.writes[write].rows;
        let exact = rows.iter().find(|row| row.name == name);
        let row = exact.or(rows.first())?;
        let value = row.values.iter().find(|(written, _)| *written == column);
        value.map(|(_, value)| value.clone())
    }

    /// Whether a row is there.
    pub(super) fn present(&mut self, name: usize, view: &View) -> Formula {
        let mut present = self.names[name].present;
        for write in view.iter().copied() {
            let kind = self.writes[write].kind;
            if self.writes[write].table != self.names[name].table || kind == WriteKind::Update {
                continue;
            }
            let applied = self.applied(write, name);
            present = match kind {
                WriteKind::Insert => self.constraints.or([applied, present]),
                _ => {
                    let kept = self.constraints.not(applied);
                    self.constraints.and([kept, present])
                }
            };
        }
        present
    }

    /// The value of a cell.
    pub(super) fn cell(&mut self, name: usize, column: ColumnId, view: &View) -> Symbol {
        let table = self.program.schema.table(self.names[name].table);
        if let Some(at) = table.primary_key.iter().position(|key| *key == column) {
            return Encoder::scalar(self.names[name].key[at].clone());
        }
        let mut cases: Vec<(Formula, Symbol)> = Vec::new();
        for write in view.iter().rev().copied() {
            if self.writes[write].table != self.names[name].table {
                continue;
            }
            let Some(value) = self.written(write, name, column) else {
                continue;
            };
            match self.applied(write, name) {
                Constraints::FALSE => {}
                applied => cases.push((applied, value)),
            }
            if let Some((Constraints::TRUE, _)) = cases.last() {
                break;
            }
        }
        let last = match cases.last() {
            Some((Constraints::TRUE, value)) => value.clone(),
            _ => self.initial(name, column),
        };
        self.choice(cases, last)
    }

    /// The first of these values whose condition holds.
    pub(super) fn choice(&mut self, cases: Vec<(Formula, Symbol)>, otherwise: Symbol) -> Symbol {
        let Symbol::Scalar {
            null: mut nothing,
            value: last,
        } = otherwise
        else {
            // Lists are not stored; the first that may hold is taken.
            return cases
                .into_iter()
                .next()
                .map_or(otherwise, |(_, value)| value);
        };
        let mut numbers = Vec::new();
        for (condition, value) in cases.iter().rev() {
            let Symbol::Scalar { null, value } = value else {
                continue;
            };
            let not = self.constraints.not(*condition);
            let here = self.constraints.and([*condition, *null]);
            let there = self.constraints.and([not, nothing]);
            nothing = self.constraints.or([here, there]);
            numbers.push((*condition, value.clone()));
        }
        numbers.reverse();
        for (_, value) in &numbers {
            self.link(value, &last.clone());
        }
        let value = self.constraints.cases(numbers.clone(), last.clone());
        for (_, case) in numbers {
            self.link(&case, &value);
        }
        self.link(&last, &value);
        Symbol::Scalar {
            null: nothing,
            value,
        }
    }

    /// The value of a cell before anything runs.
    fn initial(&mut self, name: usize, column: ColumnId) -> Symbol {
        if let Some(known) = self.names[name].cells.get(&column) {
            return known.clone();
        }
        let declared = &self.program.schema.table(self.names[name].table).columns[column.index()];
        let label = format!("r{name}.{}", declared.name);
        let mut symbol = self.fresh(label.clone(), declared.ty, false);
        if let (Symbol::Scalar { null, .. }, true) = (&mut symbol, declared.nullable) {
            *null = self.constraints.truth(format!("{label} is null"), false);
        }
        self.names[name].cells.insert(column, symbol.clone());
        symbol
    }

    /// A truth value as a number.
    pub(super) fn truth_value(&mut self, truth: Formula) -> Symbol {
        let value = match truth {
            Constraints::TRUE => Linear::constant(1),
            Constraints::FALSE => Linear::constant(0),
            _ => {
                let cases = vec![(truth, Linear::constant(1))];
                self.constraints.cases(cases, Linear::constant(0))
            }
        };
        if let Some(variable) = value.single() {
            self.types.insert(variable, crate::schema::Type::Boolean);
        }
        Encoder::scalar(value)
    }
}
