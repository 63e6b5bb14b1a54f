//! The functions that are interpreted. Any other is some function of its arguments: the same
//! arguments give the same value, and nothing else is promised.

use super::error::ExecuteError;
use super::value::{combine, compare, text_of, total_order, truth};
use crate::expr::{Comparison, Operator, Value};
use crate::resolve::{FIELD, OBJECT, STORE, WITH};
use std::hash::{Hash, Hasher};

/// The value of `name(arguments)`.
pub(super) fn call(name: &str, arguments: &[Value]) -> Result<Value, ExecuteError> {
    if let Some(found) = structure(name, arguments) {
        return Ok(found);
    }
    match name {
        "coalesce" | "ifnull" | "nvl" => {
            let given = arguments.iter().find(|value| **value != Value::Null);
            return Ok(given.cloned().unwrap_or(Value::Null));
        }
        "concat" => {
            let all: Vec<String> = arguments.iter().map(text_of).collect();
            return Ok(Value::Text(all.concat()));
        }
        "values" if arguments.len() == 1 => return Ok(arguments[0].clone()),
        "nullif" => {
            if let [a, b] = arguments {
                let same = compare(Comparison::Equal, a, b) == Some(true);
                return Ok(if same { Value::Null } else { a.clone() });
            }
        }
        _ => {}
    }
    if arguments.contains(&Value::Null) {
        return Ok(Value::Null);
    }
    match strict(name, arguments) {
        Some(found) => found,
        None => Ok(uninterpreted(name, arguments)),
    }
}

/// Functions that are NULL where an argument is.
fn strict(name: &str, arguments: &[Value]) -> Option<Result<Value, ExecuteError>> {
    let found = match (name, arguments) {
        ("upper" | "ucase" | "touppercase", [text]) => Value::Text(text_of(text).to_uppercase()),
        ("lower" | "lcase" | "tolowercase", [text]) => Value::Text(text_of(text).to_lowercase()),
        ("trim", [text]) => Value::Text(text_of(text).trim().to_string()),
        ("length" | "char_length" | "character_length", [text]) => {
            Value::Integer(text_of(text).chars().count() as i64)
        }
        ("abs", [Value::Integer(number)]) => match number.checked_abs() {
            Some(number) => Value::Integer(number),
            None => return Some(Err(ExecuteError::new("a number is out of range"))),
        },
        ("abs", [Value::Real(number)]) => Value::Real(number.abs()),
        ("floor" | "ceil" | "ceiling" | "round", [Value::Integer(number)]) => {
            Value::Integer(*number)
        }
        ("floor", [Value::Real(number)]) => Value::Real(number.floor()),
        ("ceil" | "ceiling", [Value::Real(number)]) => Value::Real(number.ceil()),
        ("round", [Value::Real(number)]) => Value::Real(number.round()),
        ("mod", [a, b]) => return Some(combine(Operator::Remainder, a, b)),
        ("greatest" | "max", [_, ..]) => extreme(arguments, true),
        ("least" | "min", [_, ..]) => extreme(arguments, false),
        ("substring" | "substr", [text, rest @ ..]) => substring(&text_of(text), rest)?,
        ("if", [condition, then, otherwise]) => match truth(condition) {
            Some(true) => then.clone(),
            _ => otherwise.clone(),
        },
        _ => return None,
    };
    Some(Ok(found))
}

fn extreme(arguments: &[Value], greatest: bool) -> Value {
    let by = |a: &&Value, b: &&Value| total_order(a, b);
    let found = match greatest {
        true => arguments.iter().max_by(by),
        false => arguments.iter().min_by(by),
    };
    found.cloned().unwrap_or(Value::Null)
}

/// `substring(text, from[, length])`, from 1.
fn substring(text: &str, rest: &[Value]) -> Option<Value> {
    let (from, length) = match rest {
        [Value::Integer(from)] => (*from, i64::MAX),
        [Value::Integer(from), Value::Integer(length)] => (*from, *length),
        _ => return None,
    };
    let end = from.saturating_add(length);
    let inside = |at: usize| (at as i64) + 1 >= from && (at as i64) + 1 < end;
    let chars = text.chars().enumerate();
    let kept: String = chars
        .filter(|(at, _)| inside(*at))
        .map(|(_, c)| c)
        .collect();
    Some(Value::Text(kept))
}

/// Lists with an element replaced or added, and objects, which are lists of names and values.
fn structure(name: &str, arguments: &[Value]) -> Option<Value> {
    match (name, arguments) {
        (STORE, [Value::List(all), Value::Integer(at), value]) => {
            let mut all = all.clone();
            let at = usize::try_from(*at).ok().filter(|at| *at < 100_000)?;
            if at >= all.len() {
                all.resize(at + 1, Value::Null);
            }
            all[at] = value.clone();
            Some(Value::List(all))
        }
        ("append", [Value::List(all), value]) => {
            let mut all = all.clone();
            all.push(value.clone());
            Some(Value::List(all))
        }
        (OBJECT, all) => Some(Value::List(all.to_vec())),
        (WITH, [Value::List(all), field, value]) => {
            let mut all = all.clone();
            match all.iter().step_by(2).position(|name| name == field) {
                Some(at) if 2 * at + 1 < all.len() => all[2 * at + 1] = value.clone(),
                _ => all.extend([field.clone(), value.clone()]),
            }
            Some(Value::List(all))
        }
        (field, [Value::List(all)]) => {
            let field = Value::Text(field.strip_prefix(FIELD)?.to_string());
            let at = all.iter().step_by(2).position(|name| *name == field)?;
            all.get(2 * at + 1).cloned()
        }
        _ => None,
    }
}

/// A whole number that depends on the name and the arguments alone, and is small enough for a short text.
fn uninterpreted(name: &str, arguments: &[Value]) -> Value {
    let mut hasher = rustc_hash::FxHasher::default();
    name.hash(&mut hasher);
    for argument in arguments {
        text_of(argument).hash(&mut hasher);
    }
    Value::Integer((hasher.finish() >> 47) as i64)
}
