//! The rows of a result: outputs, groups, aggregates, order, and limit.

use super::super::environment::ResultSet;
use super::super::error::ExecuteError;
use super::super::evaluate::{evaluate, holds};
use super::super::ground::Bound;
use super::super::value::{combine, total_order};
use super::log::{RowId, RowState};
use super::rows::{Here, Standing, Work};
use crate::expr::{Aggregate, Condition, Expr, NestedId, Operator, PartId, Value};
use crate::ir::{Action, Lock, Nested, Output, Role, SetKind, SetOperation, Shape};
use crate::schema::Type;
use std::cmp::Ordering;
use std::rc::Rc;

type Found<T> = Result<T, ExecuteError>;

/// A result and the rows that a `for update` or `for share` locks.
pub(super) struct Selected {
    pub result: ResultSet,
    pub locks: Vec<(RowId, Lock)>,
}

/// Rows that belong together in the result, and what they are ordered by.
struct Group {
    ways: Vec<Standing>,
    outputs: Vec<Value>,
    order: Vec<Value>,
}

pub(super) fn select(work: &Work<'_, '_>, bound: &Bound) -> Found<Selected> {
    let nowhere = work.nowhere();
    let query = Query {
        work,
        from: sources(work),
        outputs: &bound.outputs,
        shape: &bound.shape,
        outside: &nowhere,
    };
    let groups = query.groups()?;
    let mut selected = Selected {
        result: ResultSet::default(),
        locks: work.locked.borrow().clone(),
    };
    for group in groups {
        for way in &group.ways {
            lock(work, way, &mut selected.locks);
        }
        selected.result.rows.push(group.outputs);
    }
    Ok(selected)
}

/// The rows of a nested query, where others stand on their rows.
pub(super) fn nested_rows(
    work: &Work<'_, '_>,
    nested: &Nested,
    outside: &Standing,
) -> Found<Vec<Rc<RowState>>> {
    if let Some(set) = nested.set {
        let mut sides = Vec::new();
        for side in &nested.from {
            let inside = &work.nested[side.0 as usize];
            sides.push(nested_rows(work, inside, outside)?);
        }
        return Ok(combined(set, sides));
    }
    let mut from = nested.parts.clone();
    from.extend(nested.from.iter().map(|one| work.as_part(*one)));
    let query = Query {
        work,
        from,
        outputs: &nested.outputs,
        shape: &nested.shape,
        outside,
    };
    let mut rows = Vec::new();
    for group in query.groups()? {
        for way in &group.ways {
            lock(work, way, &mut work.locked.borrow_mut());
        }
        rows.push(Rc::new(RowState {
            id: RowId::NONE,
            values: group.outputs,
        }));
    }
    Ok(rows)
}

/// What a set operation makes of the rows of its sides.
fn combined(set: SetOperation, sides: Vec<Vec<Rc<RowState>>>) -> Vec<Rc<RowState>> {
    let mut sides = sides.into_iter();
    let mut found = sides.next().unwrap_or_default();
    let mut right = sides.next().unwrap_or_default();
    let same = |a: &Rc<RowState>, b: &Rc<RowState>| by_keys(&a.values, &b.values, &[]).is_eq();
    match set.kind {
        SetKind::Union => found.append(&mut right),
        SetKind::Intersect | SetKind::Except => found.retain(|row| {
            let at = right.iter().position(|other| same(row, other));
            // With ALL, a row on the right counts once.
            if let (Some(at), true) = (at, set.all) {
                right.remove(at);
            }
            at.is_some() == (set.kind == SetKind::Intersect)
        }),
    }
    if !set.all {
        let mut kept: Vec<Rc<RowState>> = Vec::new();
        found.retain(|row| {
            let new = !kept.iter().any(|other| same(row, other));
            kept.extend(new.then(|| row.clone()));
            new
        });
    }
    found
}

/// A query at work: what it joins, and the rows on which those outside of it stand.
struct Query<'q, 'w, 'a, 'p> {
    work: &'w Work<'a, 'p>,
    from: Vec<PartId>,
    outputs: &'q [Output],
    shape: &'q Shape,
    outside: &'q Standing,
}

impl Query<'_, '_, '_, '_> {
    /// Its rows, in order.
    fn groups(&self) -> Found<Vec<Group>> {
        let mut groups = Vec::new();
        for ways in self.grouped()? {
            if let Some(having) = &self.shape.having
                && !self.holds_over(having, &ways)?
            {
                continue;
            }
            let mut outputs = Vec::new();
            for output in self.outputs {
                outputs.push(over(self.work, &output.value, &ways, self.outside)?);
            }
            let mut order = Vec::new();
            for key in &self.shape.order_by {
                order.push(over(self.work, &key.value, &ways, self.outside)?);
            }
            groups.push(Group {
                ways,
                outputs,
                order,
            });
        }
        let descending: Vec<bool> = self.shape.order_by.iter().map(|o| o.descending).collect();
        groups.sort_by(|a, b| by_keys(&a.order, &b.order, &descending));
        if self.shape.distinct {
            let mut seen: Vec<Vec<Value>> = Vec::new();
            groups.retain(|group| {
                let same = |other: &Vec<Value>| by_keys(other, &group.outputs, &[]).is_eq();
                let known = seen.iter().any(same);
                if !known {
                    seen.push(group.outputs.clone());
                }
                !known
            });
        }
        if let Some(offset) = number(self.work, self.shape.offset.as_ref())? {
            groups.drain(..offset.min(groups.len()));
        }
        if let Some(limit) = number(self.work, self.shape.limit.as_ref())? {
            groups.truncate(limit);
        }
        Ok(groups)
    }

    /// The joined rows in groups: one each without aggregates, all together without keys.
    fn grouped(&self) -> Found<Vec<Vec<Standing>>> {
        let work = self.work;
        let mut ways = work.join(&self.from, self.outside)?;
        if let Some(filter) = &self.shape.filter {
            let mut kept = Vec::new();
            for way in ways {
                let here = Here {
                    work,
                    standing: &way,
                };
                if holds(&here, filter)? == Some(true) {
                    kept.push(way);
                }
            }
            ways = kept;
        }
        // What HAVING reads is among the keys: aggregates and constants are none.
        let plain = |key: &&Expr| {
            let all = key.all();
            let aggregate = |e: &&Expr| matches!(e, Expr::Aggregate { .. });
            let column = |e: &&Expr| matches!(e, Expr::Column { .. } | Expr::Nested { .. });
            !all.iter().any(aggregate) && all.iter().any(column)
        };
        let keys: Vec<&Expr> = self.shape.group_by.iter().filter(plain).collect();
        if keys.is_empty() && !self.shape.aggregate && self.shape.having.is_none() {
            return Ok(ways.into_iter().map(|way| vec![way]).collect());
        }
        if keys.is_empty() {
            return Ok(vec![ways]);
        }
        let mut groups: Vec<(Vec<Value>, Vec<Standing>)> = Vec::new();
        for way in ways {
            let here = Here {
                work,
                standing: &way,
            };
            let mut key = Vec::new();
            for expr in &keys {
                key.push(evaluate(&here, expr, Type::Other)?);
            }
            match groups
                .iter_mut()
                .find(|(known, _)| by_keys(known, &key, &[]).is_eq())
            {
                Some((_, group)) => group.push(way),
                None => groups.push((key, vec![way])),
            }
        }
        Ok(groups.into_iter().map(|(_, ways)| ways).collect())
    }

    /// Whether a condition holds of a group.
    fn holds_over(&self, condition: &Condition, ways: &[Standing]) -> Found<bool> {
        let condition = tested(self.work, condition, ways, 0)?;
        let here = Here {
            work: self.work,
            standing: ways.first().unwrap_or(self.outside),
        };
        Ok(holds(&here, &condition)? == Some(true))
    }
}

/// The value of a LIMIT or an OFFSET.
fn number(work: &Work<'_, '_>, expr: Option<&Expr>) -> Found<Option<usize>> {
    let Some(expr) = expr else {
        return Ok(None);
    };
    let nowhere = work.nowhere();
    let here = Here {
        work,
        standing: &nowhere,
    };
    Ok(match evaluate(&here, expr, Type::Integer)? {
        Value::Integer(number) => Some(usize::try_from(number).unwrap_or(0)),
        _ => None,
    })
}

/// The parts whose rows make the result.
pub(super) fn sources(work: &Work<'_, '_>) -> Vec<PartId> {
    let inside = |part: &PartId| work.nested.iter().any(|one| one.parts.contains(part));
    let from = work.parts.iter().filter(|part| match &part.action {
        Action::Select(select) => select.role != Role::SubQuery && !inside(&part.id),
        _ => false,
    });
    let mut found: Vec<PartId> = from.map(|part| part.id).collect();
    for (at, nested) in (0..).zip(work.nested) {
        let id = NestedId(at);
        let inside = work.nested.iter().any(|one| one.from.contains(&id));
        if nested.role != Role::SubQuery && !inside {
            found.push(work.as_part(id));
        }
    }
    found
}

fn lock(work: &Work<'_, '_>, way: &Standing, locks: &mut Vec<(RowId, Lock)>) {
    for (part, row) in work.parts.iter().zip(way) {
        if let (Action::Select(select), Some(row)) = (&part.action, row) {
            let wanted = (row.id, select.lock);
            if select.lock != Lock::None && row.id != RowId::NONE && !locks.contains(&wanted) {
                locks.push(wanted);
            }
        }
    }
}

fn by_keys(a: &[Value], b: &[Value], descending: &[bool]) -> Ordering {
    for (at, (a, b)) in a.iter().zip(b).enumerate() {
        let order = match descending.get(at) {
            Some(true) => total_order(b, a),
            _ => total_order(a, b),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// The value of an expression over a group: its aggregates over all rows, the rest of the first.
pub(super) fn over(
    work: &Work<'_, '_>,
    expr: &Expr,
    ways: &[Standing],
    outside: &Standing,
) -> Found<Value> {
    let expr = with_aggregates(work, expr, ways, 0)?;
    let here = Here {
        work,
        standing: ways.first().unwrap_or(outside),
    };
    evaluate(&here, &expr, Type::Other)
}

/// The condition with its aggregates replaced by their values.
fn tested(
    work: &Work<'_, '_>,
    condition: &Condition,
    ways: &[Standing],
    depth: usize,
) -> Found<Condition> {
    let value = |expr: &Expr| with_aggregates(work, expr, ways, 0);
    let values = |all: &[Expr]| all.iter().map(value).collect::<Found<Vec<Expr>>>();
    if depth > 100 {
        return Ok(condition.clone());
    }
    let inner = |one: &Condition| tested(work, one, ways, depth + 1);
    let inners = |all: &[Condition]| all.iter().map(inner).collect::<Found<Vec<Condition>>>();
    Ok(match condition {
        Condition::Compare {
            comparison,
            left,
            right,
        } => Condition::compare(*comparison, value(left)?, value(right)?),
        Condition::IsNull(one) => Condition::IsNull(value(one)?),
        Condition::In {
            value: one,
            members,
        } => Condition::In {
            value: value(one)?,
            members: values(members)?,
        },
        Condition::Between {
            value: one,
            low,
            high,
        } => Condition::Between {
            value: value(one)?,
            low: value(low)?,
            high: value(high)?,
        },
        Condition::And(all) => Condition::And(inners(all)?),
        Condition::Or(all) => Condition::Or(inners(all)?),
        Condition::Not(one) => Condition::Not(Box::new(inner(one)?)),
        other => other.clone(),
    })
}

/// The expression with its aggregates replaced by their values.
fn with_aggregates(
    work: &Work<'_, '_>,
    expr: &Expr,
    ways: &[Standing],
    depth: usize,
) -> Found<Expr> {
    let has = |expr: &Expr| {
        expr.all()
            .iter()
            .any(|e| matches!(e, Expr::Aggregate { .. }))
    };
    if !has(expr) || depth > 100 {
        return Ok(expr.clone());
    }
    let inner = |expr: &Expr| with_aggregates(work, expr, ways, depth + 1);
    Ok(match expr {
        Expr::Aggregate { .. } => Expr::Constant(aggregate(work, expr, ways)?),
        Expr::Arithmetic {
            operator,
            left,
            right,
        } => Expr::arithmetic(*operator, inner(left)?, inner(right)?),
        Expr::Call { name, arguments } => Expr::Call {
            name: name.clone(),
            arguments: arguments.iter().map(inner).collect::<Found<_>>()?,
        },
        Expr::If {
            condition,
            then,
            otherwise,
        } => Expr::If {
            condition: Box::new(tested(work, condition, ways, depth + 1)?),
            then: Box::new(inner(then)?),
            otherwise: Box::new(inner(otherwise)?),
        },
        other => other.clone(),
    })
}

/// The value of an aggregate over rows.
fn aggregate(work: &Work<'_, '_>, expr: &Expr, ways: &[Standing]) -> Found<Value> {
    let Expr::Aggregate {
        function,
        argument,
        distinct,
    } = expr
    else {
        return Ok(Value::Null);
    };
    let mut values = Vec::new();
    for way in ways {
        let here = Here {
            work,
            standing: way,
        };
        let value = match argument {
            Some(argument) => evaluate(&here, argument, Type::Other)?,
            None => Value::Integer(1),
        };
        let known = *distinct
            && values
                .iter()
                .any(|other| total_order(other, &value).is_eq());
        if value != Value::Null && !known {
            values.push(value);
        }
    }
    let count = Value::Integer(values.len() as i64);
    let by = |a: &&Value, b: &&Value| total_order(a, b);
    let found = match function {
        Aggregate::Count => Some(count),
        Aggregate::Sum => sum(&values)?,
        Aggregate::Min => values.iter().min_by(by).cloned(),
        Aggregate::Max => values.iter().max_by(by).cloned(),
        Aggregate::Average => match sum(&values)? {
            Some(sum) => {
                let sum = combine(Operator::Multiply, &sum, &Value::Real(1.0))?;
                Some(combine(Operator::Divide, &sum, &count)?)
            }
            None => None,
        },
    };
    Ok(found.unwrap_or(Value::Null))
}

fn sum(values: &[Value]) -> Found<Option<Value>> {
    let mut total: Option<Value> = None;
    for value in values {
        total = Some(match total {
            None => value.clone(),
            Some(total) => combine(Operator::Add, &total, value)?,
        });
    }
    Ok(total)
}
