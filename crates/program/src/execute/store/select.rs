//! The rows of a result: outputs, groups, aggregates, order, and limit.

use super::super::environment::ResultSet;
use super::super::error::ExecuteError;
use super::super::evaluate::evaluate;
use super::super::ground::Bound;
use super::super::value::{combine, total_order};
use super::log::RowId;
use super::rows::{Here, Standing, Work};
use crate::expr::{Aggregate, Expr, Operator, PartId, Value};
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
    if let Some(limit) = &bound.shape.limit {
        let nowhere = work.nowhere();
        let here = Here {
            work,
            standing: &nowhere,
        };
        if let Value::Integer(most) = evaluate(&here, limit, Type::Integer)? {
            groups.truncate(usize::try_from(most).unwrap_or(0));
        }
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
    // HAVING is kept with the keys by what it reads: aggregates there are no keys.
    let plain = |key: &&Expr| {
        !key.all()
            .iter()
            .any(|e| matches!(e, Expr::Aggregate { .. }))
    };
    let keys: Vec<&Expr> = bound.shape.group_by.iter().filter(plain).collect();
    if keys.is_empty() && !bound.shape.aggregate {
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
            condition: condition.clone(),
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
