//! The value of an expression and the truth of a condition, in three-valued logic. What the leaves
//! are is for the [`Scope`] to say: a running transaction, or rows of a statement.

use super::error::ExecuteError;
use super::function::call;
use super::value::{combine, compare, like, text_of};
use crate::expr::{Comparison, Condition, Expr, Value};
use crate::schema::Type;

/// Deeper expressions are refused; the front ends refuse them earlier.
const DEPTH_MAX: usize = 500;

type Truth = Result<Option<bool>, ExecuteError>;

/// What an expression can mention.
pub(super) trait Scope {
    /// The value of a parameter, a variable, a column, a field, a row count, an aggregate, a nested query
    /// or an unknown; the type is what its place asks for.
    fn leaf(&self, expr: &Expr, ty: Type) -> Result<Value, ExecuteError>;

    /// The truth of `exists`, of a row being there, or of an unknown.
    fn test(&self, condition: &Condition) -> Truth;

    /// The truth of a condition that is not to be evaluated in the usual way.
    fn instead(&self, _condition: &Condition) -> Option<Truth> {
        None
    }

    /// The type of an expression, where it is known.
    fn type_of(&self, expr: &Expr) -> Option<Type>;
}

/// The value of an expression.
pub(super) fn evaluate(scope: &dyn Scope, expr: &Expr, ty: Type) -> Result<Value, ExecuteError> {
    value(scope, expr, ty, 0)
}

/// The truth of a condition.
pub(super) fn holds(scope: &dyn Scope, condition: &Condition) -> Truth {
    truth_of(scope, condition, 0)
}

fn deeper(depth: usize) -> Result<usize, ExecuteError> {
    match depth < DEPTH_MAX {
        true => Ok(depth + 1),
        false => Err(ExecuteError::new(format!(
            "an expression is nested more than {DEPTH_MAX} deep"
        ))),
    }
}

fn value(scope: &dyn Scope, expr: &Expr, ty: Type, depth: usize) -> Result<Value, ExecuteError> {
    let depth = deeper(depth)?;
    match expr {
        Expr::Constant(value) => Ok(value.clone()),
        Expr::Parameter(_)
        | Expr::Variable(_)
        | Expr::Column { .. }
        | Expr::Field { .. }
        | Expr::RowCount(_)
        | Expr::Aggregate { .. }
        | Expr::Nested { .. }
        | Expr::Unknown { .. } => scope.leaf(expr, ty),
        Expr::Arithmetic {
            operator,
            left,
            right,
        } => {
            let a = value(scope, left, scope.type_of(right).unwrap_or(ty), depth)?;
            let b = value(scope, right, scope.type_of(left).unwrap_or(ty), depth)?;
            combine(*operator, &a, &b)
        }
        Expr::If {
            condition,
            then,
            otherwise,
        } => match truth_of(scope, condition, depth)? {
            Some(true) => value(scope, then, ty, depth),
            _ => value(scope, otherwise, ty, depth),
        },
        Expr::List(all) => {
            let all = all.iter().map(|one| value(scope, one, ty, depth));
            Ok(Value::List(all.collect::<Result<_, _>>()?))
        }
        Expr::Element { list, index } => {
            let list = value(scope, list, Type::List, depth)?;
            let index = value(scope, index, Type::Integer, depth)?;
            Ok(element(&list, &index))
        }
        Expr::Size(list) => match value(scope, list, Type::List, depth)? {
            Value::List(all) => Ok(Value::Integer(all.len() as i64)),
            Value::Text(text) => Ok(Value::Integer(text.chars().count() as i64)),
            _ => Ok(Value::Integer(0)),
        },
        Expr::Call { name, arguments } => {
            let all = arguments.iter().map(|one| value(scope, one, ty, depth));
            call(name, &all.collect::<Result<Vec<_>, _>>()?)
        }
    }
}

fn element(list: &Value, index: &Value) -> Value {
    match (list, index) {
        (Value::List(all), Value::Integer(at)) => {
            let at = usize::try_from(*at).ok();
            at.and_then(|at| all.get(at).cloned())
                .unwrap_or(Value::Null)
        }
        _ => Value::Null,
    }
}

fn truth_of(scope: &dyn Scope, condition: &Condition, depth: usize) -> Truth {
    let depth = deeper(depth)?;
    if let Some(truth) = scope.instead(condition) {
        return truth;
    }
    match condition {
        Condition::True => Ok(Some(true)),
        Condition::False => Ok(Some(false)),
        Condition::Compare {
            comparison,
            left,
            right,
        } => {
            let (left, right) = pair(scope, left, right, depth)?;
            Ok(compare(*comparison, &left, &right))
        }
        Condition::IsNull(one) => {
            let one = value(scope, one, Type::Other, depth)?;
            Ok(Some(one == Value::Null))
        }
        Condition::In {
            value: one,
            members,
        } => is_in(scope, one, members, depth),
        Condition::Between {
            value: one,
            low,
            high,
        } => {
            let (least, _) = pair(scope, low, one, depth)?;
            let (one, high) = pair(scope, one, high, depth)?;
            let above = compare(Comparison::GreaterOrEqual, &one, &least);
            let below = compare(Comparison::LessOrEqual, &one, &high);
            Ok(both(above, below))
        }
        Condition::Like {
            value: one,
            pattern,
        } => {
            let one = value(scope, one, Type::Text, depth)?;
            let pattern = value(scope, pattern, Type::Text, depth)?;
            if one == Value::Null || pattern == Value::Null {
                return Ok(None);
            }
            Ok(Some(like(&text_of(&one), &text_of(&pattern))))
        }
        Condition::Exists(_) | Condition::HasRow { .. } | Condition::Unknown { .. } => {
            scope.test(condition)
        }
        Condition::And(all) => all_hold(scope, all, depth),
        Condition::Or(all) => one_holds(scope, all, depth),
        Condition::Not(inner) => Ok(truth_of(scope, inner, depth)?.map(|truth| !truth)),
    }
}

fn all_hold(scope: &dyn Scope, all: &[Condition], depth: usize) -> Truth {
    let mut found = Some(true);
    for one in all {
        found = both(found, truth_of(scope, one, depth)?);
        if found == Some(false) {
            break;
        }
    }
    Ok(found)
}

fn one_holds(scope: &dyn Scope, all: &[Condition], depth: usize) -> Truth {
    let mut found = Some(false);
    for one in all {
        found = either(found, truth_of(scope, one, depth)?);
        if found == Some(true) {
            break;
        }
    }
    Ok(found)
}

/// Two values, each of the type of the other where its own is not known.
fn pair(
    scope: &dyn Scope,
    left: &Expr,
    right: &Expr,
    depth: usize,
) -> Result<(Value, Value), ExecuteError> {
    let ty = |expr: &Expr| scope.type_of(expr).unwrap_or(Type::Other);
    let one = value(scope, left, ty(right), depth)?;
    Ok((one, value(scope, right, ty(left), depth)?))
}

fn is_in(scope: &dyn Scope, one: &Expr, members: &[Expr], depth: usize) -> Truth {
    let ty = scope.type_of(one).unwrap_or(Type::Other);
    let one = value(scope, one, ty, depth)?;
    let mut found = Some(false);
    for member in members {
        let member = value(scope, member, ty, depth)?;
        let alternatives = match (&one, member) {
            (Value::List(_), Value::List(all)) if !all.iter().any(is_list) => {
                vec![Value::List(all)]
            }
            (_, Value::List(all)) => all,
            (_, single) => vec![single],
        };
        for other in &alternatives {
            found = either(found, compare(Comparison::Equal, &one, other));
        }
    }
    Ok(found)
}

fn is_list(value: &Value) -> bool {
    matches!(value, Value::List(_))
}

/// AND of three-valued truths.
pub(super) fn both(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// OR of three-valued truths.
pub(super) fn either(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}
