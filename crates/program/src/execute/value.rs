//! Arithmetic and comparison of values, as SQL has them.
//!
//! NULL makes everything NULL. Whole numbers stay whole (`7 / 2` is 3, as in PostgreSQL) unless a
//! real number takes part; a result that does not fit, or a division by zero, is an error and never
//! a wrong number. A text against a number is read as a number where it is one. Truth has three
//! values: `None` is SQL's unknown.

use super::error::ExecuteError;
use crate::expr::{Comparison, Operator, Value};
use crate::schema::Type;
use std::cmp::Ordering;

/// The value that stands for something of which only the type is known.
pub fn default_of(ty: Type) -> Value {
    match ty {
        Type::Integer | Type::Other => Value::Integer(0),
        Type::Real => Value::Real(0.0),
        Type::Text | Type::Binary => Value::Text(String::new()),
        Type::Boolean => Value::Boolean(false),
        Type::Timestamp => Value::Text("2000-01-01 00:00:00".to_string()),
        Type::Date => Value::Text("2000-01-01".to_string()),
        Type::Time => Value::Text("00:00:00".to_string()),
        Type::List => Value::List(Vec::new()),
    }
}

/// The value as a column of that type stores it.
pub(super) fn stored_as(value: Value, ty: Type) -> Value {
    match (ty, &value) {
        (Type::Integer, Value::Real(real)) => whole(*real).map_or(value, Value::Integer),
        (Type::Integer, Value::Boolean(truth)) => Value::Integer(i64::from(*truth)),
        (Type::Integer, Value::Text(text)) => match number(text) {
            Some(Value::Real(real)) => whole(real).map_or(value, Value::Integer),
            Some(number) => number,
            None => value,
        },
        (Type::Real, Value::Integer(whole)) => Value::Real(*whole as f64),
        (Type::Real, Value::Text(text)) => match number(text) {
            Some(Value::Integer(whole)) => Value::Real(whole as f64),
            Some(number) => number,
            None => value,
        },
        (Type::Boolean, Value::Integer(number)) => Value::Boolean(*number != 0),
        (Type::Text, Value::Integer(_) | Value::Real(_) | Value::Boolean(_)) => {
            Value::Text(text_of(&value))
        }
        // Of something that is not followed; no server takes a number for a time.
        (Type::Timestamp | Type::Date | Type::Time, Value::Integer(number)) => {
            let (day, second) = (number.rem_euclid(28) + 1, number.rem_euclid(86_400));
            let (hour, minute) = (second / 3600, second / 60 % 60);
            let text = format!("2000-01-{day:02} {hour:02}:{minute:02}:{:02}", second % 60);
            stored_as(Value::Text(text), ty)
        }
        (Type::Date, Value::Text(text)) if is_moment(text) => Value::Text(text[..10].to_string()),
        (Type::Time, Value::Text(text)) if is_moment(text) => Value::Text(text[11..].to_string()),
        (Type::Timestamp, Value::Text(text)) if is_date(text) => {
            Value::Text(format!("{text} 00:00:00"))
        }
        _ => value,
    }
}

/// Whether a text is a date.
fn is_date(text: &str) -> bool {
    let fits = |(at, c): (usize, u8)| match at {
        4 | 7 => c == b'-',
        _ => c.is_ascii_digit(),
    };
    text.len() == 10 && text.bytes().enumerate().all(fits)
}

/// Whether a text is a date with a time.
fn is_moment(text: &str) -> bool {
    text.is_ascii() && text.len() >= 19 && is_date(&text[..10])
}

/// The order of two texts. A date is the first moment of its day.
fn order_of_texts(left: &str, right: &str) -> Ordering {
    match (
        is_date(left) && is_moment(right),
        is_moment(left) && is_date(right),
    ) {
        (true, _) => format!("{left} 00:00:00").as_str().cmp(right),
        (_, true) => left.cmp(&format!("{right} 00:00:00")),
        _ => left.cmp(right),
    }
}

/// The nearest whole number, if it fits.
fn whole(real: f64) -> Option<i64> {
    let rounded = real.round();
    let fits = rounded >= -(2f64.powi(63)) && rounded < 2f64.powi(63);
    fits.then_some(rounded as i64)
}

fn number(text: &str) -> Option<Value> {
    let text = text.trim();
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Value::Integer(whole));
    }
    let real = text.parse::<f64>().ok()?;
    real.is_finite().then_some(Value::Real(real))
}

/// The value as a text, the way databases print it.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Boolean(truth) => truth.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::List(all) => {
            let all: Vec<String> = all.iter().map(text_of).collect();
            format!("{{{}}}", all.join(","))
        }
    }
}

/// A number as a number; a text that is one, too.
fn numeric(value: &Value) -> Option<Value> {
    match value {
        Value::Integer(_) | Value::Real(_) => Some(value.clone()),
        Value::Boolean(truth) => Some(Value::Integer(i64::from(*truth))),
        Value::Text(text) => number(text),
        Value::Null | Value::List(_) => None,
    }
}

fn real(value: &Value) -> f64 {
    match value {
        Value::Integer(number) => *number as f64,
        Value::Real(number) => *number,
        _ => 0.0,
    }
}

/// `left operator right`.
pub(super) fn combine(
    operator: Operator,
    left: &Value,
    right: &Value,
) -> Result<Value, ExecuteError> {
    if *left == Value::Null || *right == Value::Null {
        return Ok(Value::Null);
    }
    let texts = matches!(left, Value::Text(_)) || matches!(right, Value::Text(_));
    if operator == Operator::Concatenate {
        return Ok(Value::Text(format!("{}{}", text_of(left), text_of(right))));
    }
    match (numeric(left), numeric(right)) {
        (Some(Value::Integer(a)), Some(Value::Integer(b))) => combine_whole(operator, a, b),
        (Some(a), Some(b)) => combine_real(operator, real(&a), real(&b)),
        // Java's + joins texts.
        _ if operator == Operator::Add && texts => {
            Ok(Value::Text(format!("{}{}", text_of(left), text_of(right))))
        }
        _ => Err(ExecuteError::new(format!(
            "`{}` and `{}` are not both numbers",
            text_of(left),
            text_of(right)
        ))),
    }
}

fn combine_whole(operator: Operator, a: i64, b: i64) -> Result<Value, ExecuteError> {
    let divides = matches!(operator, Operator::Divide | Operator::Remainder);
    if divides && b == 0 {
        return Err(ExecuteError::new("division by zero"));
    }
    let found = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide => a.checked_div(b),
        Operator::Remainder => a.checked_rem(b),
        Operator::Concatenate => None,
    };
    let overflow = || ExecuteError::new("a number is out of range");
    found.map(Value::Integer).ok_or_else(overflow)
}

fn combine_real(operator: Operator, a: f64, b: f64) -> Result<Value, ExecuteError> {
    let divides = matches!(operator, Operator::Divide | Operator::Remainder);
    if divides && b == 0.0 {
        return Err(ExecuteError::new("division by zero"));
    }
    let found = match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::Remainder => a % b,
        Operator::Concatenate => f64::NAN,
    };
    match found.is_finite() {
        true => Ok(Value::Real(found)),
        false => Err(ExecuteError::new("a number is out of range")),
    }
}

/// The order of two values; none where one is NULL or they cannot be compared.
pub(super) fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::Integer(a), Value::Integer(b)) => Some(a.cmp(b)),
        (Value::Text(a), Value::Text(b)) => Some(order_of_texts(a, b)),
        (Value::Boolean(a), Value::Boolean(b)) => Some(a.cmp(b)),
        (Value::List(a), Value::List(b)) => {
            for (a, b) in a.iter().zip(b) {
                match total_order(a, b) {
                    Ordering::Equal => {}
                    unequal => return Some(unequal),
                }
            }
            Some(a.len().cmp(&b.len()))
        }
        (Value::List(_), _) | (_, Value::List(_)) => None,
        _ => match (numeric(left), numeric(right)) {
            (Some(a), Some(b)) => real(&a).partial_cmp(&real(&b)),
            _ => Some(text_of(left).cmp(&text_of(right))),
        },
    }
}

/// An order of all values, for ORDER BY, DISTINCT and keys: NULL last.
pub(crate) fn total_order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Greater,
        (_, Value::Null) => Ordering::Less,
        _ => order(left, right).unwrap_or(Ordering::Equal),
    }
}

/// Whether a comparison holds; `None` where a side is NULL.
pub(super) fn compare(comparison: Comparison, left: &Value, right: &Value) -> Option<bool> {
    Some(comparison.holds(order(left, right)?))
}

/// Whether a value counts as true.
pub(super) fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Null => None,
        Value::Boolean(truth) => Some(*truth),
        Value::Integer(number) => Some(*number != 0),
        Value::Real(number) => Some(*number != 0.0),
        Value::Text(text) => Some(text.eq_ignore_ascii_case("true") || text == "1" || text == "t"),
        Value::List(all) => Some(!all.is_empty()),
    }
}

/// SQL's LIKE: `%` any characters, `_` one, a backslash before either is that character. Case
/// matters, as in PostgreSQL. Greedy with one point of return, so linear times the pattern.
pub(super) fn like(text: &str, pattern: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let pattern = like_tokens(pattern);
    let (mut at, mut token) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(token) {
            Some(Like::Any) => {
                back = Some((at, token));
                token += 1;
            }
            Some(Like::One) => (at, token) = (at + 1, token + 1),
            Some(Like::Exactly(c)) if *c == text[at] => (at, token) = (at + 1, token + 1),
            _ => match back {
                Some((from, any)) => {
                    back = Some((from + 1, any));
                    (at, token) = (from + 1, any + 1);
                }
                None => return false,
            },
        }
    }
    pattern[token..].iter().all(|token| *token == Like::Any)
}

#[derive(Clone, Copy, PartialEq)]
enum Like {
    Any,
    One,
    Exactly(char),
}

fn like_tokens(pattern: &str) -> Vec<Like> {
    let mut tokens = Vec::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        tokens.push(match c {
            '%' => Like::Any,
            '_' => Like::One,
            '\\' => Like::Exactly(chars.next().unwrap_or('\\')),
            other => Like::Exactly(other),
        });
    }
    tokens
}
