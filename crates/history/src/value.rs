//! Values and keys, and their compact codes.
//!
//! Most histories use small integers for keys and values, so the columns of a history hold 32-bit
//! codes: an integer from 0 to 2³¹−1 is its own code, anything else is interned in a table.

use std::collections::HashMap;
use std::fmt;

/// A value or a key as a person would write it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Value {
    /// No value: the state of a key before anybody wrote it.
    Nil,
    /// Any integer that a 64-bit format can hold, signed or not.
    Int(i128),
    /// Anything else, as text. An EDN keyword keeps its colon.
    Text(Box<str>),
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Int(number.into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Int(number.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nil => f.write_str("nil"),
            Value::Int(number) => number.fmt(f),
            Value::Text(text) => f.write_str(text),
        }
    }
}

/// A value in 32 bits: a small integer itself, or a place in a [`ValueTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ValueCode(pub u32);

impl ValueCode {
    /// The code of [`Value::Nil`].
    pub const NIL: ValueCode = ValueCode(u32::MAX);
    /// A read whose result was not recorded; it constrains nothing.
    pub const UNKNOWN: ValueCode = ValueCode(u32::MAX - 1);
    /// Codes below this are the integer itself.
    pub const SMALL_LIMIT: u32 = 1 << 31;
    /// The code of the integer 0.
    pub const ZERO: ValueCode = ValueCode(0);
}

/// The values that do not fit into a code, each once.
#[derive(Clone, Default, Debug)]
pub struct ValueTable {
    interned: Vec<Value>,
    codes: HashMap<Value, u32>,
}

impl ValueTable {
    /// The code of `value`, entering it into the table if it is neither small nor known.
    ///
    /// # Panics
    /// If more than 2³¹−2 different large values are interned; a history has fewer operations.
    pub fn code(&mut self, value: &Value) -> ValueCode {
        if let Some(code) = Self::small(value) {
            return code;
        }
        if let Some(&index) = self.codes.get(value) {
            return ValueCode(ValueCode::SMALL_LIMIT + index);
        }
        let index = u32::try_from(self.interned.len()).expect("interned values fit 32 bits");
        assert!(
            index < ValueCode::SMALL_LIMIT - 2,
            "too many different values"
        );
        self.interned.push(value.clone());
        self.codes.insert(value.clone(), index);
        ValueCode(ValueCode::SMALL_LIMIT + index)
    }

    /// The code of an integer, without building a [`Value`] in the common case.
    #[inline]
    pub fn code_of_int(&mut self, number: i128) -> ValueCode {
        if (0..ValueCode::SMALL_LIMIT.into()).contains(&number) {
            return ValueCode(number as u32);
        }
        self.code(&Value::Int(number))
    }

    /// The code of `value` if it has one without changing the table.
    pub fn find(&self, value: &Value) -> Option<ValueCode> {
        Self::small(value).or_else(|| {
            self.codes
                .get(value)
                .map(|i| ValueCode(ValueCode::SMALL_LIMIT + i))
        })
    }

    /// The value behind a code. [`ValueCode::UNKNOWN`] has none and shows as nil.
    pub fn value(&self, code: ValueCode) -> Value {
        if code == ValueCode::NIL || code == ValueCode::UNKNOWN {
            Value::Nil
        } else if code.0 < ValueCode::SMALL_LIMIT {
            Value::Int(code.0.into())
        } else {
            self.interned[(code.0 - ValueCode::SMALL_LIMIT) as usize].clone()
        }
    }

    fn small(value: &Value) -> Option<ValueCode> {
        match value {
            Value::Nil => Some(ValueCode::NIL),
            Value::Int(n) if (0..ValueCode::SMALL_LIMIT.into()).contains(n) => {
                Some(ValueCode(*n as u32))
            }
            _ => None,
        }
    }
}

/// The names of the keys.
#[derive(Clone, Debug)]
pub enum KeyTable {
    /// The key with id `k` is the integer `k`; ids run up to `limit` (exclusive), and not every
    /// one need occur.
    Dense {
        /// One more than the largest key.
        limit: u32,
    },
    /// Each key has a name of its own.
    Named {
        /// The names by key id.
        names: Vec<Value>,
        /// The ids by name.
        ids: HashMap<Value, u32>,
    },
}

impl Default for KeyTable {
    fn default() -> KeyTable {
        KeyTable::Named {
            names: Vec::new(),
            ids: HashMap::new(),
        }
    }
}

impl KeyTable {
    /// An upper limit (exclusive) of the key ids, for tables indexed by key.
    pub fn limit(&self) -> usize {
        match self {
            KeyTable::Dense { limit } => *limit as usize,
            KeyTable::Named { names, .. } => names.len(),
        }
    }

    /// The name of a key.
    pub fn name(&self, key: crate::KeyId) -> Value {
        match self {
            KeyTable::Dense { .. } => Value::Int(key.0.into()),
            KeyTable::Named { names, .. } => names[key.index()].clone(),
        }
    }

    /// The key with this name, if it occurs.
    pub fn find(&self, name: &Value) -> Option<crate::KeyId> {
        match self {
            KeyTable::Dense { limit } => match name {
                Value::Int(n) if (0..i128::from(*limit)).contains(n) => {
                    Some(crate::KeyId(*n as u32))
                }
                _ => None,
            },
            KeyTable::Named { ids, .. } => ids.get(name).map(|&id| crate::KeyId(id)),
        }
    }

    /// The id of a named key, entering it if it is new.
    ///
    /// # Panics
    /// On a dense table, which names its keys by their numbers, and beyond 2³² keys.
    pub fn intern(&mut self, name: &Value) -> crate::KeyId {
        let KeyTable::Named { names, ids } = self else {
            panic!("a dense key table takes no new names");
        };
        if let Some(&id) = ids.get(name) {
            return crate::KeyId(id);
        }
        let id = u32::try_from(names.len()).expect("keys fit 32 bits");
        names.push(name.clone());
        ids.insert(name.clone(), id);
        crate::KeyId(id)
    }
}
