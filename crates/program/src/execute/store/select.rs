//! The rows of a result: outputs, groups, aggregates, order, and limit.

use super::super::environment::ResultSet;
use super::super::error::ExecuteError;
use super::super::evaluate::{evaluate, holds};
use super::super::ground::Bound;
use super::super::value::{combine, total_order};
use super::log::RowId;
use super::rows::{Here, Standing, Work};
use crate::expr::{Aggregate, Condition, Expr, Operator, PartId, Value};
use crate::ir::{Action, Lock, Role};
use crate::schema::Type;
use std::cmp::Ordering;

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
    let mut groups = Vec::new();
    for ways in grouped(work, bound, work.join(&sources(work), &work.nowhere())?)? {
        if let Some(having) = &bound.shape.having
            && !holds_over(work, having, &ways)?
        {
            continue;
        }
        let mut outputs = Vec::new();
        for output in &bound.outputs {
            outputs.push(over(work, &output.value, &ways)?);
        }
        let mut order = Vec::new();
        for key in &bound.shape.order_by {
            order.push(over(work, &key.value, &ways)?);
        }
        groups.push(Group {
            ways,
            outputs,
            order,
        });
    }
    let descending: Vec<bool> = bound.shape.order_by.iter().map(|o| o.descending).collect();
    groups.sort_by(|a, b| by_keys(&a.order, &b.order, &descending));
    if bound.shape.distinct {
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
    if let Some(offset) = number(work, bound.shape.offset.as_ref())? {
        groups.drain(..offset.min(groups.len()));
    }
    if let Some(limit) = number(work, bound.shape.limit.as_ref())? {
        groups.truncate(limit);
    }
    let mut selected = Selected {
        result: ResultSet::default(),
        locks: Vec::new(),
    };
    for group in groups {
        for way in &group.ways {
            lock(work, way, &mut selected.locks);
        }
        selected.result.rows.push(group.outputs);
    }
    Ok(selected)
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
    let from = work.parts.iter().filter(|part| match &part.action {
        Action::Select(select) => select.role != Role::SubQuery,
        _ => false,
    });
    from.map(|part| part.id).collect()
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

/// The rows in groups: one each without aggregates, all together without keys.
fn grouped(work: &Work<'_, '_>, bound: &Bound, ways: Vec<Standing>) -> Found<Vec<Vec<Standing>>> {
    // What HAVING reads is among the keys: aggregates and constants are none.
    let plain = |key: &&Expr| {
        let all = key.all();
        let aggregate = |e: &&Expr| matches!(e, Expr::Aggregate { .. });
        let column = |e: &&Expr| matches!(e, Expr::Column { .. });
        !all.iter().any(aggregate) && all.iter().any(column)
    };
    let keys: Vec<&Expr> = bound.shape.group_by.iter().filter(plain).collect();
    if keys.is_empty() && !bound.shape.aggregate && bound.shape.having.is_none() {
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

/// The value of an expression over a group: its aggregates over all rows, the rest of the first.
pub(super) fn over(work: &Work<'_, '_>, expr: &Expr, ways: &[Standing]) -> Found<Value> {
    let expr = with_aggregates(work, expr, ways, 0)?;
    let nowhere = work.nowhere();
    let here = Here {
        work,
        standing: ways.first().unwrap_or(&nowhere),
    };
    evaluate(&here, &expr, Type::Other)
}

/// Whether a condition holds of a group.
fn holds_over(work: &Work<'_, '_>, condition: &Condition, ways: &[Standing]) -> Found<bool> {
    let condition = tested(work, condition, ways, 0)?;
    let nowhere = work.nowhere();
    let here = Here {
        work,
        standing: ways.first().unwrap_or(&nowhere),
    };
    Ok(holds(&here, &condition)? == Some(true))
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
        Expr::Aggregate { .. } if is_of_sub_query(work, expr) => expr.clone(),
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

fn is_of_sub_query(work: &Work<'_, '_>, expr: &Expr) -> bool {
    let from = sources(work);
    let inside = expr.children().into_iter().flat_map(|child| child.all());
    let mut columns = inside.filter_map(|expr| match expr {
        Expr::Column { part, .. } => Some(*part),
        _ => None,
    });
    columns.any(|part| !from.contains(&part))
}

/// The value of an aggregate over rows.
pub(super) fn aggregate(work: &Work<'_, '_>, expr: &Expr, ways: &[Standing]) -> Found<Value> {
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
