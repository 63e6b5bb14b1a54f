//! The rows that the parts of a statement stand on, and the conditions over them.
//!
//! A sub-query has no rows of its own in the result. A condition that compares with its columns
//! holds if it holds for some of its rows: that is what `in (select …)` means, and negated,
//! `not in`. Conditions joined by AND that compare with the same sub-query are about the same row
//! of it. Its column as a value is that of its first row.
//! Two tables belong to the same sub-query if the condition of one mentions the other.
//!
//! A nested query is one more part, numbered after those of the statement, whose rows are made by
//! [`super::select`] where they are asked for.

use super::super::environment::type_of_value;
use super::super::error::ExecuteError;
use super::super::evaluate::{Scope, either, evaluate, holds};
use super::super::ground::Bound;
use super::log::{RowId, RowState, Store, View, name_of};
use super::select::nested_rows;
use crate::access::Reach;
use crate::expr::{Condition, Expr, NestedId, PartId, Value};
use crate::ir::{Action, Lock, Nested, Part, Role};
use crate::schema::Type;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// How a part looked for its rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Looked {
    /// The keys it asked for.
    pub keys: BTreeSet<String>,
    /// Whether it searched.
    pub scanned: bool,
}

/// A statement at work on a view.
pub(in super::super) struct Work<'a, 'p> {
    pub store: &'a Store<'p>,
    pub view: &'a View,
    pub parts: &'a [Part],
    pub nested: &'a [Nested],
    pub looked: RefCell<Vec<Looked>>,
    /// What nested queries lock.
    pub locked: RefCell<Vec<(RowId, Lock)>>,
    tables: RefCell<BTreeMap<u32, Rc<Vec<Rc<RowState>>>>>,
}

/// The row of each part, where it has one.
pub(in super::super) type Standing = Vec<Option<Rc<RowState>>>;

type Found<T> = Result<T, ExecuteError>;

impl<'a, 'p> Work<'a, 'p> {
    pub fn new(store: &'a Store<'p>, view: &'a View, bound: &'a Bound) -> Work<'a, 'p> {
        Work {
            store,
            view,
            parts: &bound.parts,
            nested: &bound.nested,
            looked: RefCell::new(vec![Looked::default(); bound.parts.len()]),
            locked: RefCell::default(),
            tables: RefCell::default(),
        }
    }

    pub fn nowhere(&self) -> Standing {
        vec![None; self.parts.len() + self.nested.len()]
    }

    /// The number that a nested query has as a part.
    pub fn as_part(&self, id: NestedId) -> PartId {
        PartId(self.parts.len() as u32 + id.0)
    }

    fn nested(&self, part: PartId) -> Option<&'a Nested> {
        let at = (part.0 as usize).checked_sub(self.parts.len())?;
        self.nested.get(at)
    }

    fn filter(&self, part: PartId) -> &'a Condition {
        match self.nested(part) {
            Some(nested) => &nested.filter,
            None => &self.parts[part.0 as usize].filter,
        }
    }

    fn rows_of(&self, part: &Part) -> Rc<Vec<Rc<RowState>>> {
        let mut tables = self.tables.borrow_mut();
        let rows = || Rc::new(self.store.table(self.view, part.table));
        tables.entry(part.table.0).or_insert_with(rows).clone()
    }

    /// The rows among which a part finds its own, the others standing where they do.
    pub fn candidates(&self, part: &Part, standing: &Standing) -> Found<Vec<Rc<RowState>>> {
        let rows = self.rows_of(part);
        let table = self.store.schema.table(part.table);
        if let Reach::Key(bindings) = part.reach(self.store.schema) {
            let mut key = Vec::new();
            for binding in &bindings {
                if !self.is_ready(binding.value, standing) {
                    break;
                }
                let here = Here {
                    work: self,
                    standing,
                };
                key.push(evaluate(&here, binding.value, Type::Other)?);
            }
            if key.len() == bindings.len() {
                let Some(name) = name_of(table, &key) else {
                    return Ok(Vec::new());
                };
                let id = self.store.find(part.table, &name);
                self.looked.borrow_mut()[part.id.0 as usize]
                    .keys
                    .insert(name);
                let found = rows.iter().find(|row| Some(row.id) == id);
                return Ok(found.cloned().into_iter().collect());
            }
        }
        self.looked.borrow_mut()[part.id.0 as usize].scanned = true;
        Ok(rows.to_vec())
    }

    /// Whether every column of an expression belongs to a part that stands somewhere.
    fn is_ready(&self, expr: &Expr, standing: &Standing) -> bool {
        let ready = |expr: &&Expr| match expr {
            Expr::Column { part, .. } => standing
                .get(part.0 as usize)
                .is_some_and(|row| row.is_some()),
            Expr::Nested { nested, .. } => standing[self.as_part(*nested).0 as usize].is_some(),
            Expr::Aggregate { .. } => false,
            _ => true,
        };
        expr.all().iter().all(ready)
    }

    fn is_sub_query(&self, part: PartId) -> bool {
        if let Some(nested) = self.nested(part) {
            return nested.role == Role::SubQuery;
        }
        let part = self.parts.get(part.0 as usize);
        part.is_some_and(|part| match &part.action {
            Action::Select(select) => select.role == Role::SubQuery,
            _ => false,
        })
    }

    /// The query that makes rows of a part's rows, if there is one; the outermost.
    fn outermost(&self, part: PartId) -> PartId {
        let mut found = part;
        for (at, nested) in (0..).zip(self.nested) {
            let inside = nested.from.iter().any(|one| self.as_part(*one) == found);
            if inside || nested.parts.contains(&found) {
                found = self.as_part(NestedId(at));
            }
        }
        found
    }

    /// The sub-queries that a condition compares with and that stand nowhere yet.
    fn compared_with(&self, condition: &Condition, standing: &Standing) -> BTreeSet<PartId> {
        let mut found = BTreeSet::new();
        let mut waiting = condition.expressions();
        while let Some(expr) = waiting.pop() {
            let part = match expr {
                Expr::Aggregate { .. } => continue,
                Expr::Column { part, .. } => *part,
                Expr::Nested { nested, .. } if self.nested[nested.0 as usize].scalar => continue,
                Expr::Nested { nested, .. } => self.as_part(*nested),
                other => {
                    waiting.extend(other.children());
                    continue;
                }
            };
            let stands = standing.get(part.0 as usize).is_some_and(Option::is_some);
            if !stands && self.is_sub_query(part) {
                found.insert(part);
            }
        }
        found
    }

    /// The parts of the same sub-query.
    fn family(&self, first: PartId, standing: &Standing) -> BTreeSet<PartId> {
        let mut found = BTreeSet::from([first]);
        if self.nested(first).is_some() {
            return found;
        }
        loop {
            let before = found.len();
            for part in self.parts.iter().filter(|part| self.is_sub_query(part.id)) {
                if standing[part.id.0 as usize].is_some() {
                    continue;
                }
                for conjunct in part.filter.conjuncts() {
                    let mut mentioned = match conjunct {
                        Condition::Not(_) | Condition::Or(_) => BTreeSet::new(),
                        positive => self.compared_with(positive, standing),
                    };
                    mentioned.insert(part.id);
                    if !mentioned.is_disjoint(&found) {
                        found.extend(mentioned);
                    }
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }

    /// All ways in which the parts can stand on rows, each meeting its condition.
    pub fn join(&self, parts: &[PartId], standing: &Standing) -> Found<Vec<Standing>> {
        let mut ways = vec![standing.clone()];
        for id in self.order(parts, standing) {
            let filter = self.filter(id);
            let mut next = Vec::new();
            for way in ways {
                let before = next.len();
                let rows = match self.nested(id) {
                    Some(nested) => nested_rows(self, nested, &way)?,
                    None => self.candidates(&self.parts[id.0 as usize], &way)?,
                };
                for row in rows {
                    let mut way = way.clone();
                    way[id.0 as usize] = Some(row);
                    let here = Here {
                        work: self,
                        standing: &way,
                    };
                    if holds(&here, filter)? == Some(true) {
                        next.push(way);
                    }
                }
                if next.len() == before && self.is_outer(id) {
                    let mut way = way;
                    way[id.0 as usize] = Some(Rc::new(self.no_row(id)));
                    next.push(way);
                }
            }
            ways = next;
        }
        Ok(ways)
    }

    /// What an outer join shows where there is no match.
    fn no_row(&self, id: PartId) -> RowState {
        let columns = match self.nested(id) {
            Some(nested) => nested.outputs.len(),
            None => {
                let table = self.parts[id.0 as usize].table;
                self.store.schema.table(table).columns.len()
            }
        };
        RowState {
            id: RowId::NONE,
            values: vec![Value::Null; columns],
        }
    }

    fn is_outer(&self, id: PartId) -> bool {
        match self.nested(id) {
            Some(nested) => nested.role == Role::Outer,
            None => is_outer(&self.parts[id.0 as usize]),
        }
    }

    /// Whether a condition needs the row of a part, be it in a sub-query of it.
    fn needs(&self, condition: &Condition, wanted: PartId) -> bool {
        let mut seen = BTreeSet::new();
        let mut waiting: Vec<&Condition> = vec![condition];
        let mut values: Vec<&Expr> = Vec::new();
        loop {
            let mut asked = Vec::new();
            if let Some(condition) = waiting.pop() {
                values.extend(condition.expressions());
                asked.extend(
                    condition
                        .exists()
                        .into_iter()
                        .map(|one| self.outermost(one)),
                );
            } else if let Some(expr) = values.pop() {
                match expr {
                    Expr::Column { part, .. } => asked.push(*part),
                    Expr::Nested { nested, .. } => asked.push(self.as_part(*nested)),
                    other => values.extend(other.children()),
                }
            } else {
                return false;
            }
            for part in asked {
                if part == wanted {
                    return true;
                }
                if !self.is_sub_query(part) || !seen.insert(part) {
                    continue;
                }
                waiting.push(self.filter(part));
                if let Some(nested) = self.nested(part) {
                    waiting.extend(nested.parts.iter().map(|part| self.filter(*part)));
                    waiting.extend(nested.shape.filter.iter().chain(&nested.shape.having));
                    values.extend(nested.outputs.iter().map(|output| &output.value));
                }
            }
        }
    }

    /// The parts in an order in which the condition of each mentions only those before.
    fn order(&self, parts: &[PartId], standing: &Standing) -> Vec<PartId> {
        let mut left: Vec<PartId> = parts.to_vec();
        let mut order = Vec::new();
        left.retain(|part| standing[part.0 as usize].is_none());
        while !left.is_empty() {
            let ready = |id: &PartId| {
                let filter = self.filter(*id);
                let mut others = left.iter().filter(|other| *other != id);
                others.all(|other| !self.needs(filter, *other))
            };
            let at = left.iter().position(ready).unwrap_or(0);
            order.push(left.remove(at));
        }
        order
    }

    /// Whether some rows of the sub-query make all conditions true.
    fn some_row(&self, conditions: &[&Condition], first: PartId, standing: &Standing) -> Truth {
        let family: Vec<PartId> = self.family(first, standing).into_iter().collect();
        let mut found = Some(false);
        for way in self.join(&family, standing)? {
            let here = Here {
                work: self,
                standing: &way,
            };
            let mut all = Some(true);
            for condition in conditions {
                all = super::super::evaluate::both(all, holds(&here, condition)?);
            }
            found = either(found, all);
            if found == Some(true) {
                break;
            }
        }
        Ok(found)
    }

    fn all_of(&self, conditions: &[Condition], standing: &Standing) -> Truth {
        let here = Here {
            work: self,
            standing,
        };
        let mut found = Some(true);
        let mut left: Vec<(&Condition, BTreeSet<PartId>)> = Vec::new();
        for condition in conditions {
            let with = match condition {
                Condition::And(_) | Condition::Or(_) | Condition::Not(_) => BTreeSet::new(),
                plain => self.compared_with(plain, standing),
            };
            match with.is_empty() {
                true => found = super::super::evaluate::both(found, holds(&here, condition)?),
                false => left.push((condition, with)),
            }
            if found == Some(false) {
                return Ok(found);
            }
        }
        while let Some((_, with)) = left.first() {
            let Some(first) = with.first().copied() else {
                break;
            };
            let family = self.family(first, standing);
            let same = |with: &BTreeSet<PartId>| !with.is_disjoint(&family);
            let (these, others): (Vec<_>, Vec<_>) =
                left.into_iter().partition(|(_, with)| same(with));
            let these: Vec<&Condition> = these.iter().map(|(condition, _)| *condition).collect();
            let some = self.some_row(&these, first, standing)?;
            found = super::super::evaluate::both(found, some);
            left = others;
        }
        Ok(found)
    }
}

pub(super) fn is_outer(part: &Part) -> bool {
    match &part.action {
        Action::Select(select) => select.role == Role::Outer,
        _ => false,
    }
}

type Truth = Result<Option<bool>, ExecuteError>;

/// Parts standing on rows: where expressions over columns have a value.
pub(in super::super) struct Here<'w, 'a, 'p> {
    pub work: &'w Work<'a, 'p>,
    pub standing: &'w Standing,
}

impl Scope for Here<'_, '_, '_> {
    fn leaf(&self, expr: &Expr, _ty: Type) -> Result<Value, ExecuteError> {
        match expr {
            Expr::Column { part, column } => {
                let row = self.standing.get(part.0 as usize).and_then(Option::as_ref);
                if let Some(row) = row {
                    let value = row.values.get(column.index());
                    return Ok(value.cloned().unwrap_or(Value::Null));
                }
                if !self.work.is_sub_query(*part) {
                    return Ok(Value::Null);
                }
                let family = self.work.family(*part, self.standing);
                let family: Vec<PartId> = family.into_iter().collect();
                let ways = self.work.join(&family, self.standing)?;
                let row = ways.first().and_then(|way| way[part.0 as usize].as_ref());
                let value = row.and_then(|row| row.values.get(column.index()));
                Ok(value.cloned().unwrap_or(Value::Null))
            }
            Expr::Nested { nested, output, .. } => {
                let work = self.work;
                let inside = &work.nested[nested.0 as usize];
                let mut row = self.standing[work.as_part(*nested).0 as usize].clone();
                if row.is_none() && inside.role == Role::SubQuery {
                    row = nested_rows(work, inside, self.standing)?.into_iter().next();
                }
                let value = row.and_then(|row| row.values.get(*output as usize).cloned());
                Ok(value.unwrap_or(Value::Null))
            }
            _ => Err(ExecuteError::new(
                "a statement whose values were not put in",
            )),
        }
    }

    fn test(&self, condition: &Condition) -> Truth {
        match condition {
            Condition::Exists(part) if self.work.is_sub_query(*part) => {
                let asked = self.work.outermost(*part);
                self.work.some_row(&[], asked, self.standing)
            }
            _ => Ok(Some(false)),
        }
    }

    fn instead(&self, condition: &Condition) -> Option<Truth> {
        match condition {
            Condition::And(all) => Some(self.work.all_of(all, self.standing)),
            Condition::Compare { .. }
            | Condition::IsNull(_)
            | Condition::In { .. }
            | Condition::Between { .. }
            | Condition::Like { .. } => {
                let with = self.work.compared_with(condition, self.standing);
                let first = with.first().copied()?;
                Some(self.work.some_row(&[condition], first, self.standing))
            }
            _ => None,
        }
    }

    fn type_of(&self, expr: &Expr) -> Option<Type> {
        match expr {
            Expr::Constant(value) => type_of_value(value),
            _ => None,
        }
    }
}
