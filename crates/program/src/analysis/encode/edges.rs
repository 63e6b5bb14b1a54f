//! Edges as formulas.
//!
//! A read depends on a write if its result were another without it; it precedes a write if its
//! result were another with it. Comparing results (not cells) makes both real for searches,
//! aggregates and limits alike: a new row that a minimum does not notice is no conflict.

use super::super::constraint::{Constraints, Formula};
use super::{Encoder, Here, Symbol, Tuple, View};
use crate::expr::{Expr, Value};
use crate::ir::{Action, Lock, OnConflict, Part, Statement};
use crate::scenario::{Edge, EdgeKind, Point};
use crate::schema::TableId;
use std::rc::Rc;

impl Encoder<'_> {
    /// Requires an edge to be real.
    pub(super) fn edge(&mut self, edge: &Edge) {
        let formula = match edge.kind {
            EdgeKind::Sibling => return,
            EdgeKind::WriteRead => self.reads_from(edge),
            EdgeKind::ReadWrite => {
                let view = self.view_at(edge.from);
                let writes = self.writes_of(edge.to, edge.table);
                let none_seen = !writes.iter().any(|write| view.contains(write));
                let mut with: Vec<usize> = view.iter().copied().chain(writes.clone()).collect();
                with.sort_unstable();
                match none_seen && !writes.is_empty() {
                    true => self.results_differ(edge.from, &view, &Rc::new(with)),
                    false => Constraints::FALSE,
                }
            }
            EdgeKind::WriteWrite => self.overwrites(edge),
        };
        self.constraints.require(formula);
    }

    /// The read has another result without the write; or, where that is the last one of its
    /// transaction, without all of that: it may repeat what an earlier one did.
    fn reads_from(&mut self, edge: &Edge) -> Formula {
        let view = self.view_at(edge.to);
        let writes = self.writes_of(edge.from, edge.table);
        if writes.is_empty() || !writes.iter().all(|write| view.contains(write)) {
            return Constraints::FALSE;
        }
        let own = |at: &usize| {
            let write = &self.writes[*at];
            let here = edge.table.is_none_or(|table| write.table == table);
            here && write.point.instance == edge.from.instance
        };
        let mut left_out = vec![writes.clone()];
        let all: Vec<usize> = view.iter().copied().filter(own).collect();
        if all.len() > writes.len() && all.iter().max() == writes.iter().max() {
            left_out.push(all);
        }
        let mut any = Vec::new();
        for left_out in left_out {
            let stays = |write: &usize| !left_out.contains(write);
            let without: Vec<usize> = view.iter().copied().filter(stays).collect();
            any.push(self.results_differ(edge.to, &Rc::new(without), &view));
        }
        self.constraints.or(any)
    }

    fn view_at(&self, point: Point) -> View {
        self.view_of(point.instance, point.statement as usize)
    }

    fn writes_of(&self, point: Point, table: Option<TableId>) -> Vec<usize> {
        let all = self.writes.iter().enumerate();
        let own = all.filter(|(_, write)| {
            write.point == point && table.is_none_or(|table| write.table == table)
        });
        own.map(|(at, _)| at).collect()
    }

    /// The two write different values to the same cell, the second later.
    fn overwrites(&mut self, edge: &Edge) -> Formula {
        let mut any = Vec::new();
        for first in self.writes_of(edge.from, edge.table) {
            for second in self.writes_of(edge.to, edge.table) {
                if first >= second {
                    continue;
                }
                for name in self.touched(first, second) {
                    let both = [self.applied(first, name), self.applied(second, name)];
                    let both = self.constraints.and(both);
                    let differ = self.values_differ(first, second, name);
                    any.push(self.constraints.and([both, differ]));
                }
            }
        }
        self.constraints.or(any)
    }

    /// The names that two writes may both have changed.
    fn touched(&self, first: usize, second: usize) -> Vec<usize> {
        let (a, b) = (&self.writes[first], &self.writes[second]);
        if a.table != b.table {
            return Vec::new();
        }
        let rows = if a.scan && !b.scan { &b.rows } else { &a.rows };
        rows.iter().map(|row| row.name).collect()
    }

    /// Two writes leave a row different.
    fn values_differ(&mut self, first: usize, second: usize, name: usize) -> Formula {
        if self.writes[first].kind != self.writes[second].kind {
            return Constraints::TRUE;
        }
        let table = self.program.schema.table(self.names[name].table);
        let mut any = Vec::new();
        for column in table.column_ids() {
            let pair = (
                self.written(first, name, column),
                self.written(second, name, column),
            );
            if let (Some(left), Some(right)) = pair {
                any.push(self.symbols_differ(&left, &right));
            }
        }
        self.constraints.or(any)
    }

    pub(super) fn symbols_differ(&mut self, left: &Symbol, right: &Symbol) -> Formula {
        let (Symbol::Scalar { null: a, value: x }, Symbol::Scalar { null: b, value: y }) =
            (left, right)
        else {
            return Constraints::FALSE;
        };
        let nulls = self.constraints.differ(*a, *b);
        let equal = self.constraints.equal(x, y);
        let others = [*a, *b, equal].map(|formula| self.constraints.not(formula));
        let numbers = self.constraints.and(others);
        self.constraints.or([numbers, nulls])
    }

    /// The two statements change no row in common.
    pub(super) fn keep_apart(&mut self, first: Point, second: Point) {
        let selects = |point: Point| {
            let statement = self.statement(point.instance, point.statement as usize);
            statement.parts.iter().any(locks)
        };
        if selects(first) || selects(second) {
            return self.keep_locks_apart(first, second);
        }
        for one in self.writes_of(first, None) {
            for other in self.writes_of(second, None) {
                for name in self.touched(one, other) {
                    let both = [self.applied(one, name), self.applied(other, name)];
                    let both = self.constraints.and(both);
                    let apart = self.constraints.not(both);
                    self.constraints.require(apart);
                }
            }
        }
    }

    /// The two statements lock no row in common.
    fn keep_locks_apart(&mut self, first: Point, second: Point) {
        let (one, two) = (self.locked_rows(first), self.locked_rows(second));
        for (left, when) in one {
            for (right, other) in &two {
                let same = self.same_row(left, *right);
                let both = self.constraints.and([same, when, *other]);
                let apart = self.constraints.not(both);
                self.constraints.require(apart);
            }
        }
    }

    /// The rows that a statement writes, or locks by selecting them, and whether it does.
    fn locked_rows(&mut self, point: Point) -> Vec<(usize, Formula)> {
        let (instance, position) = (point.instance, point.statement as usize);
        let mut found = Vec::new();
        for write in self.writes_of(point, None) {
            found.extend(
                self.writes[write]
                    .rows
                    .iter()
                    .map(|row| (row.name, row.when)),
            );
        }
        let statement = self.statement(instance, position);
        // Of a result that is cut only what is returned is locked; which rows these are is not followed
        // but for the first.
        let cut = statement.shape.limit.is_some() || statement.shape.offset.is_some();
        if !statement.parts.iter().any(locks) || (cut && !one_row(statement)) {
            return found;
        }
        let view = self.view_at(point);
        let tuples = self.matches(instance, position, &view);
        for at in 0..tuples.len() {
            let when = match cut {
                true => self.is_nth(instance, position, &tuples, at, 0, &view),
                false => tuples[at].when,
            };
            for part in statement.parts.iter().filter(|part| locks(part)) {
                let name = tuples[at].rows[part.id.0 as usize];
                found.extend(name.map(|name| (name, when)));
            }
        }
        found
    }

    /// That a statement has another result in one view than in another.
    fn results_differ(&mut self, point: Point, one: &View, two: &View) -> Formula {
        let (instance, position) = (point.instance, point.statement as usize);
        let statement = self.statement(instance, position);
        let mut any = Vec::new();
        let upserts = self.upserts_differ(point, one, two);
        any.push(upserts);
        let selects = statement
            .parts
            .iter()
            .any(|part| !matches!(part.action, Action::Insert(_)));
        if selects && one_row(statement) {
            any.push(self.first_rows_differ(instance, position, one, two));
        } else if selects {
            let (left, right) = (
                self.matches(instance, position, one),
                self.matches(instance, position, two),
            );
            let used = used(statement);
            any.push(self.tuples_differ(point, (&left, one), (&right, two), &used));
        }
        self.constraints.or(any)
    }

    /// That the first row of a result is there in one view only, or has other values in the other.
    pub(super) fn first_rows_differ(
        &mut self,
        instance: usize,
        position: usize,
        one: &View,
        two: &View,
    ) -> Formula {
        let first = self.has_row(instance, position, 0, one);
        let second = self.has_row(instance, position, 0, two);
        let mut any = vec![self.constraints.differ(first, second)];
        let has = self.constraints.and([first, second]);
        for output in 0..self.statement(instance, position).outputs.len() as u32 {
            let left = self.field(instance, position, 0, output, one);
            let right = self.field(instance, position, 0, output, two);
            let differ = self.symbols_differ(&left, &right);
            any.push(self.constraints.and([has, differ]));
        }
        self.constraints.or(any)
    }

    /// That two results differ in which rows they have, or in what is used of them.
    pub(super) fn tuples_differ(
        &mut self,
        point: Point,
        (left, one): (&[Tuple], &View),
        (right, two): (&[Tuple], &View),
        used: &[&Expr],
    ) -> Formula {
        let mut any = Vec::new();
        for tuple in left {
            let Some(other) = right.iter().find(|other| other.rows == tuple.rows) else {
                any.push(tuple.when);
                continue;
            };
            any.push(self.constraints.differ(tuple.when, other.when));
            let here = |view: &View| Here {
                instance: point.instance,
                statement: point.statement as usize,
                rows: tuple.rows.clone(),
                view: view.clone(),
            };
            let both = self.constraints.and([tuple.when, other.when]);
            for expr in used {
                let (a, b) = (self.value(expr, &here(one)), self.value(expr, &here(two)));
                let differ = self.symbols_differ(&a, &b);
                any.push(self.constraints.and([both, differ]));
            }
        }
        for tuple in right {
            if !left.iter().any(|other| other.rows == tuple.rows) {
                any.push(tuple.when);
            }
        }
        self.constraints.or(any)
    }

    /// That an insert that goes on where its row exists finds another row.
    fn upserts_differ(&mut self, point: Point, one: &View, two: &View) -> Formula {
        let (instance, position) = (point.instance, point.statement as usize);
        let statement = self.statement(instance, position);
        let mut any = Vec::new();
        for part in &statement.parts {
            let Action::Insert(insert) = &part.action else {
                continue;
            };
            let at = part.id.0 as usize;
            let name = self.called.get(&(instance, position, at)).copied();
            let (Some(name), false) = (name, insert.on_conflict == OnConflict::Fail) else {
                continue;
            };
            let (first, second) = (self.present(name, one), self.present(name, two));
            any.push(self.constraints.differ(first, second));
            let both = self.constraints.and([first, second]);
            for column in part.used().columns {
                let (a, b) = (self.cell(name, column, one), self.cell(name, column, two));
                let differ = self.symbols_differ(&a, &b);
                any.push(self.constraints.and([both, differ]));
            }
        }
        self.constraints.or(any)
    }
}

/// Whether a part locks rows by selecting them.
fn locks(part: &Part) -> bool {
    matches!(&part.action, Action::Select(select) if select.lock != Lock::None)
}

/// Whether a result is one row made of many, or the first of many.
pub(super) fn one_row(statement: &Statement) -> bool {
    let first = matches!(
        statement.shape.limit,
        Some(Expr::Constant(Value::Integer(1)))
    );
    statement.shape.aggregate || (first && !statement.outputs.is_empty())
}

/// What a statement makes of each of its rows.
fn used(statement: &Statement) -> Vec<&Expr> {
    let mut found: Vec<&Expr> = statement.outputs.iter().map(|o| &o.value).collect();
    for part in &statement.parts {
        if let Action::Update { sets } = &part.action {
            found.extend(sets.iter().map(|set| &set.value));
        }
    }
    found
}
