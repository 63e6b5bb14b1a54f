//! What can stand for a value or a key: numbers, texts, bytes, nothing, and whatever can be shown.

use crate::Value;
use std::fmt::{Display, Write};

macro_rules! from_integers {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Value {
            fn from(number: $integer) -> Value {
                // No integer of the language but a u128 is beyond what a value holds.
                i128::try_from(number).map_or_else(|_| Value::display(number), Value::Int)
            }
        }

        impl From<&$integer> for Value {
            fn from(number: &$integer) -> Value {
                Value::from(*number)
            }
        }
    )*};
}

from_integers!(
    i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize
);

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Value {
        Value::from(text.as_str())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text.into())
    }
}

impl From<char> for Value {
    fn from(letter: char) -> Value {
        Value::display(letter)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Value {
        Value::display(truth)
    }
}

/// Bytes that are text are that text; others are shown in hexadecimal digits: `0x00ff`.
impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Value {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return Value::from(text);
        }
        let mut digits = String::from("0x");
        for byte in bytes {
            // Writing to a string cannot fail.
            let _ = write!(digits, "{byte:02x}");
        }
        Value::from(digits)
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Value {
        Value::from(bytes.as_slice())
    }
}

impl From<&Vec<u8>> for Value {
    fn from(bytes: &Vec<u8>) -> Value {
        Value::from(bytes.as_slice())
    }
}

impl<const N: usize> From<&[u8; N]> for Value {
    fn from(bytes: &[u8; N]) -> Value {
        Value::from(bytes.as_slice())
    }
}

/// Nothing is [`Value::Nil`]: what a store returns for a key that nobody wrote.
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Nil, Into::into)
    }
}

impl From<&Value> for Value {
    fn from(value: &Value) -> Value {
        value.clone()
    }
}

impl Value {
    /// Anything that can be shown, as the text that shows it.
    pub fn display(thing: impl Display) -> Value {
        Value::from(thing.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_texts_bytes_and_nothing_become_values() {
        assert_eq!(Value::from(-3), Value::Int(-3));
        assert_eq!(Value::from(&7u8), Value::Int(7));
        assert_eq!(
            Value::from(u128::MAX),
            Value::from(u128::MAX.to_string().as_str())
        );
        assert_eq!(Value::from("x"), Value::from(b"x"));
        assert_eq!(Value::from(vec![0u8, 0xff]), Value::from("0x00ff"));
        assert_eq!(Value::from(Some(5)), Value::Int(5));
        assert_eq!(Value::from(None::<&str>), Value::Nil);
        assert_eq!(Value::display(1.5), Value::from("1.5"));
        assert_eq!(Value::from(true), Value::from("true"));
        assert_eq!(Value::from('x'), Value::from("x"));
    }
}
