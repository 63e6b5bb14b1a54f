//! Which rows a statement finds, and the rows of its result.

use super::super::constraint::{Constraints, Formula, Linear};
use super::{Encoder, Here, Symbol, Tuple, View};
use crate::access::Reach;
use crate::expr::{Aggregate, Condition, Expr, NestedId, Value};
use crate::ir::{Action, Nested, Part, Role, Statement};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The most joined rows that are followed.
const TUPLES_MAX: usize = 48;

/// The parts whose columns a condition mentions.
fn parts_in(condition: &Condition) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    for expr in condition.expressions().into_iter().flat_map(|e| e.all()) {
        if let Expr::Column { part, .. } = expr {
            found.insert(part.0 as usize);
        }
    }
    found
}

/// The sub-queries that are only asked whether they find a row.
fn asked(statement: &Statement) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    for part in &statement.parts {
        let mut waiting = vec![&part.filter];
        while let Some(condition) = waiting.pop() {
            match condition {
                Condition::Exists(part) => {
                    found.insert(part.0 as usize);
                }
                Condition::And(all) | Condition::Or(all) => waiting.extend(all),
                Condition::Not(inner) => waiting.push(inner),
                _ => {}
            }
        }
    }
    found
}

/// How the rows of a part serve the statement. Those of a nested query may be missing where its rows are there: it may
/// count them, be the side of an outer join, or put rows of other tables beside them.
fn role(statement: &Statement, part: usize) -> Role {
    let role = match &statement.parts[part].action {
        Action::Select(select) => select.role,
        _ => Role::From,
    };
    let id = statement.parts[part].id;
    let missing = |at: usize| {
        let nested = &statement.nested[at];
        let one = nested.shape.aggregate && nested.shape.group_by.is_empty();
        let side = NestedId(at as u32);
        let united = |other: &Nested| other.set.is_some() && other.from.contains(&side);
        let combined = statement.nested.iter().any(united);
        nested.parts.contains(&id) && (one || combined || nested.role == Role::Outer)
    };
    match role == Role::From && (0..statement.nested.len()).any(missing) {
        true => Role::Outer,
        false => role,
    }
}

impl Encoder<'_> {
    /// The view a statement has when it is executed.
    pub(super) fn view_of(&self, instance: usize, statement: usize) -> View {
        let found = self.views.get(&(instance, statement));
        found.cloned().unwrap_or_default()
    }

    /// The rows a part may find.
    pub(super) fn candidates(&self, instance: usize, statement: usize, part: usize) -> Vec<usize> {
        match self.called.get(&(instance, statement, part)) {
            Some(name) => vec![*name],
            None => {
                let table = self.statement(instance, statement).parts[part].table;
                self.by_table[table.index()].clone()
            }
        }
    }

    /// The rows that a statement finds in a view.
    pub(super) fn matches(
        &mut self,
        instance: usize,
        statement: usize,
        view: &View,
    ) -> Rc<Vec<Tuple>> {
        let key = (instance, statement, view.clone());
        if let Some(known) = self.matched.get(&key) {
            return known.clone();
        }
        let found = Rc::new(self.join(instance, statement, view));
        self.matched.insert(key, found.clone());
        found
    }

    fn join(&mut self, instance: usize, position: usize, view: &View) -> Vec<Tuple> {
        let statement = self.statement(instance, position);
        // Rows that a nested query makes are taken for those it is made of.
        let shaped = |one: &Nested| one.role != Role::SubQuery;
        self.caps.not_followed |= statement.nested.iter().any(shaped);
        let asked = asked(statement);
        let searched = |part: &&Part| !matches!(part.action, Action::Insert(_));
        let mut conjuncts: Vec<(&Condition, BTreeSet<usize>)> = Vec::new();
        for part in statement.parts.iter().filter(searched) {
            if asked.contains(&(part.id.0 as usize)) {
                continue;
            }
            for conjunct in part.filter.conjuncts() {
                let mut mentioned = parts_in(conjunct);
                mentioned.insert(part.id.0 as usize);
                conjuncts.push((conjunct, mentioned));
            }
        }
        let mut tuples = vec![Tuple {
            rows: vec![None; statement.parts.len()],
            when: Constraints::TRUE,
        }];
        let mut bound: BTreeSet<usize> = asked.clone();
        for part in statement.parts.iter().filter(searched) {
            let at = part.id.0 as usize;
            if asked.contains(&at) {
                continue;
            }
            bound.insert(at);
            let now = conjuncts
                .iter()
                .filter(|(_, parts)| parts.contains(&at) && parts.is_subset(&bound));
            let now: Vec<&Condition> = now.map(|(condition, _)| *condition).collect();
            let outer = role(statement, at) == Role::Outer;
            tuples = self.extend(tuples, (instance, position, at), &now, outer, view);
        }
        if let Some((at, _)) = statement
            .parts
            .iter()
            .enumerate()
            .find(|(_, p)| !searched(p))
        {
            // What an insert returns is its row.
            for tuple in &mut tuples {
                tuple.rows[at] = self.called.get(&(instance, position, at)).copied();
            }
        }
        if let Some(filter) = &statement.shape.filter {
            for tuple in &mut tuples {
                let here = Here {
                    instance,
                    statement: position,
                    rows: tuple.rows.clone(),
                    view: view.clone(),
                };
                let holds = self.holds(filter, &here);
                tuple.when = self.constraints.and([tuple.when, holds]);
            }
        }
        self.without_sub_queries(statement, tuples)
    }

    /// Every row of one more part joined to the tuples.
    fn extend(
        &mut self,
        tuples: Vec<Tuple>,
        (instance, statement, part): (usize, usize, usize),
        conditions: &[&Condition],
        outer: bool,
        view: &View,
    ) -> Vec<Tuple> {
        let names = self.candidates(instance, statement, part);
        let mut joined = Vec::new();
        for tuple in tuples {
            let mut none = vec![tuple.when];
            for name in &names {
                let mut rows = tuple.rows.clone();
                rows[part] = Some(*name);
                let here = Here {
                    instance,
                    statement,
                    rows,
                    view: view.clone(),
                };
                let mut all = vec![tuple.when, self.present(*name, view)];
                for condition in conditions {
                    all.push(self.holds(condition, &here));
                }
                let when = self.constraints.and(all);
                if when != Constraints::FALSE {
                    none.push(self.constraints.not(when));
                    joined.push(Tuple {
                        rows: here.rows,
                        when,
                    });
                }
            }
            if outer {
                joined.push(Tuple {
                    rows: tuple.rows,
                    when: self.constraints.and(none),
                });
            }
        }
        if joined.len() > TUPLES_MAX {
            self.caps.joins = true;
            joined.truncate(TUPLES_MAX);
        }
        joined
    }

    /// Rows that differ in those of sub-queries only are one.
    fn without_sub_queries(&mut self, statement: &Statement, tuples: Vec<Tuple>) -> Vec<Tuple> {
        let inner = |at: &usize| role(statement, *at) == Role::SubQuery;
        let inner: Vec<usize> = (0..statement.parts.len()).filter(inner).collect();
        if inner.is_empty() {
            return tuples;
        }
        let mut merged: Vec<Tuple> = Vec::new();
        for mut tuple in tuples {
            for at in &inner {
                tuple.rows[*at] = None;
            }
            match merged.iter_mut().find(|known| known.rows == tuple.rows) {
                Some(known) => known.when = self.constraints.or([known.when, tuple.when]),
                None => merged.push(tuple),
            }
        }
        merged
    }

    /// That the result has that row.
    pub(super) fn has_row(
        &mut self,
        instance: usize,
        position: usize,
        row: u32,
        view: &View,
    ) -> Formula {
        let statement = self.statement(instance, position);
        if statement.shape.aggregate && statement.shape.group_by.is_empty() {
            return if row == 0 {
                Constraints::TRUE
            } else {
                Constraints::FALSE
            };
        }
        if let Some(Expr::Constant(Value::Integer(limit))) = &statement.shape.limit
            && i64::from(row) >= *limit
        {
            return Constraints::FALSE;
        }
        let tuples = self.matches(instance, position, view);
        if row == 0 {
            return self.constraints.or(tuples.iter().map(|tuple| tuple.when));
        }
        if tuples.len() <= row as usize || self.one_at_most(instance, position) {
            return Constraints::FALSE;
        }
        let count = self.count(&tuples);
        self.constraints
            .less(&Linear::constant(i64::from(row)), &count)
    }

    /// How many different rows are in the result.
    pub(super) fn count(&mut self, tuples: &[Tuple]) -> Linear {
        let mut sum = Linear::constant(0);
        for at in 0..tuples.len() {
            let counts = self.counts(tuples, at);
            let one = self
                .constraints
                .cases(vec![(counts, Linear::constant(1))], Linear::constant(0));
            sum = sum.plus(&one, 1);
        }
        sum
    }

    /// That a tuple is in the result, and is not another name for one before.
    pub(super) fn counts(&mut self, tuples: &[Tuple], at: usize) -> Formula {
        let mut all = vec![tuples[at].when];
        for other in &tuples[..at] {
            let same = self.same_tuple(other, &tuples[at]);
            all.push(self.constraints.not(same));
        }
        self.constraints.and(all)
    }

    fn same_tuple(&mut self, left: &Tuple, right: &Tuple) -> Formula {
        let mut all = vec![left.when];
        for pair in left.rows.iter().zip(&right.rows) {
            all.push(match pair {
                (Some(a), Some(b)) => self.same_row(*a, *b),
                (None, None) => Constraints::TRUE,
                _ => Constraints::FALSE,
            });
        }
        self.constraints.and(all)
    }

    /// A field of a result, in the view the statement had.
    pub(super) fn known_field(
        &mut self,
        instance: usize,
        statement: usize,
        row: u32,
        output: u32,
    ) -> Symbol {
        let view = self.view_of(instance, statement);
        self.field(instance, statement, row, output, &view)
    }

    /// A field of the result that a statement has in a view; NULL where it has no such row.
    pub(super) fn field(
        &mut self,
        instance: usize,
        position: usize,
        row: u32,
        output: u32,
        view: &View,
    ) -> Symbol {
        let key = (instance, position, row, output, view.clone());
        if let Some(known) = self.fields.get(&key) {
            return known.clone();
        }
        let statement = self.statement(instance, position);
        let Some(expr) = statement.outputs.get(output as usize).map(|o| &o.value) else {
            return self.opaque();
        };
        let tuples = self.matches(instance, position, view);
        let symbol = match statement.shape.aggregate {
            true => self.aggregate(expr, instance, position, &tuples, view),
            false => {
                let mut cases = Vec::new();
                for at in 0..tuples.len() {
                    let when = self.is_nth(instance, position, &tuples, at, row, view);
                    let here = Here {
                        instance,
                        statement: position,
                        rows: tuples[at].rows.clone(),
                        view: view.clone(),
                    };
                    cases.push((when, self.value(expr, &here)));
                }
                self.choice(cases, Encoder::null())
            }
        };
        self.fields.insert(key, symbol.clone());
        symbol
    }

    /// Whether keys allow one row of a result at most.
    fn one_at_most(&self, instance: usize, position: usize) -> bool {
        let statement = self.statement(instance, position);
        let parts = &statement.parts;
        let united = |nested: &Nested| nested.set.is_some();
        if statement.nested.iter().any(united) {
            return false;
        }
        let one = |part: &Part| {
            let reach = part.reach(&self.program.schema);
            matches!(reach, Reach::Key(_) | Reach::Unique(_))
        };
        parts.iter().all(one)
    }

    /// That a tuple is the row of that position.
    pub(super) fn is_nth(
        &mut self,
        instance: usize,
        position: usize,
        tuples: &[Tuple],
        at: usize,
        row: u32,
        view: &View,
    ) -> Formula {
        if tuples.len() == 1 || self.one_at_most(instance, position) {
            return if row == 0 {
                tuples[at].when
            } else {
                Constraints::FALSE
            };
        }
        let mut earlier = Vec::new();
        for other in 0..tuples.len() {
            if other != at {
                let before = self.before(instance, position, tuples, (other, at), view);
                let counts = match row {
                    0 => tuples[other].when,
                    _ => self.counts(tuples, other),
                };
                earlier.push(self.constraints.and([counts, before]));
            }
        }
        if row == 0 {
            let first: Vec<Formula> = earlier
                .into_iter()
                .map(|e| self.constraints.not(e))
                .collect();
            let first = self.constraints.and(first);
            return self.constraints.and([tuples[at].when, first]);
        }
        let mut sum = Linear::constant(0);
        for one in earlier {
            let one = self
                .constraints
                .cases(vec![(one, Linear::constant(1))], Linear::constant(0));
            sum = sum.plus(&one, 1);
        }
        let exact = self
            .constraints
            .equal(&sum, &Linear::constant(i64::from(row)));
        let counts = self.counts(tuples, at);
        self.constraints.and([counts, exact])
    }

    /// That one tuple comes before another: by the order asked for, then by keys.
    fn before(
        &mut self,
        instance: usize,
        position: usize,
        tuples: &[Tuple],
        (a, b): (usize, usize),
        view: &View,
    ) -> Formula {
        let statement = self.statement(instance, position);
        let mut keys: Vec<(Linear, Linear)> = Vec::new();
        for order in &statement.shape.order_by {
            let mut side = |tuple: &Tuple| {
                let here = Here {
                    instance,
                    statement: position,
                    rows: tuple.rows.clone(),
                    view: view.clone(),
                };
                self.scalar_of(&order.value, &here).1
            };
            let (left, right) = (side(&tuples[a]), side(&tuples[b]));
            keys.push(if order.descending {
                (right, left)
            } else {
                (left, right)
            });
        }
        for (left, right) in tuples[a].rows.iter().zip(&tuples[b].rows) {
            if let (Some(left), Some(right)) = (left, right) {
                let (left, right) = (&self.names[*left].key, &self.names[*right].key);
                keys.extend(left.iter().cloned().zip(right.iter().cloned()));
            }
        }
        self.lexically_less(&keys)
    }

    /// That the left sides are less than the right ones, the first pair that differs counts.
    pub(super) fn lexically_less(&mut self, pairs: &[(Linear, Linear)]) -> Formula {
        let mut before = Constraints::FALSE;
        for (left, right) in pairs.iter().rev() {
            let less = self.constraints.less(left, right);
            let equal = self.constraints.equal(left, right);
            let tie = self.constraints.and([equal, before]);
            before = self.constraints.or([less, tie]);
        }
        before
    }

    /// The value of an output that aggregates.
    fn aggregate(
        &mut self,
        expr: &Expr,
        instance: usize,
        position: usize,
        tuples: &[Tuple],
        view: &View,
    ) -> Symbol {
        let here = |rows: &[Option<usize>]| Here {
            instance,
            statement: position,
            rows: rows.to_vec(),
            view: view.clone(),
        };
        let (function, argument) = match expr {
            Expr::Aggregate {
                function, argument, ..
            } => (*function, argument.as_deref()),
            // A column that is grouped by.
            Expr::Column { .. } => {
                let mut cases = Vec::new();
                for tuple in tuples {
                    cases.push((tuple.when, self.value(expr, &here(&tuple.rows))));
                }
                return self.choice(cases, Encoder::null());
            }
            // Computed from aggregates, as coalesce(min(x), 0).
            Expr::Call { name, arguments } => {
                let mut given = Vec::new();
                for one in arguments {
                    given.push(self.aggregate(one, instance, position, tuples, view));
                }
                return self.called(name, given);
            }
            Expr::Arithmetic {
                operator,
                left,
                right,
            } => {
                let left = self.aggregate(left, instance, position, tuples, view);
                let right = self.aggregate(right, instance, position, tuples, view);
                return self.arithmetic(*operator, left, right);
            }
            Expr::Constant(_) | Expr::Parameter(_) => return self.value(expr, &here(&[])),
            _ => return self.opaque(),
        };
        let mut members: Vec<(Formula, Linear)> = Vec::new();
        for at in 0..tuples.len() {
            let counts = self.counts(tuples, at);
            let (null, value) = match argument {
                None => (Constraints::FALSE, Linear::constant(1)),
                Some(argument) => self.scalar_of(argument, &here(&tuples[at].rows)),
            };
            let there = self.constraints.not(null);
            members.push((self.constraints.and([counts, there]), value));
        }
        self.fold(function, members)
    }

    fn fold(&mut self, function: Aggregate, members: Vec<(Formula, Linear)>) -> Symbol {
        let any = self.constraints.or(members.iter().map(|(when, _)| *when));
        let null = self.constraints.not(any);
        let value = match function {
            Aggregate::Count | Aggregate::Sum => {
                let mut sum = Linear::constant(0);
                for (when, value) in members {
                    let value = if function == Aggregate::Count {
                        Linear::constant(1)
                    } else {
                        value
                    };
                    let one = self
                        .constraints
                        .cases(vec![(when, value)], Linear::constant(0));
                    sum = sum.plus(&one, 1);
                }
                if function == Aggregate::Count {
                    return Encoder::scalar(sum);
                }
                sum
            }
            Aggregate::Min | Aggregate::Max => {
                let mut cases = Vec::new();
                for (when, value) in &members {
                    let mut all = vec![*when];
                    for (other, against) in &members {
                        let best = match function {
                            Aggregate::Min => self.constraints.at_most(value, against),
                            _ => self.constraints.at_most(against, value),
                        };
                        all.push(self.constraints.implies(*other, best));
                    }
                    cases.push((self.constraints.and(all), value.clone()));
                }
                let first = members.first().map(|(_, value)| value.clone());
                for (_, value) in &members {
                    self.link(value, &first.clone().unwrap_or_default());
                }
                self.constraints.cases(cases, first.unwrap_or_default())
            }
            Aggregate::Average => return self.opaque(),
        };
        Symbol::Scalar { null, value }
    }
}
