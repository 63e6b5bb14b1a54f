//! Values and keys, and their compact codes.
//!
//! Most histories use small integers for keys and values, so the columns of a history hold 32-bit
//! codes: an integer from 0 to 2³¹−1 is its own code, anything else is interned in a table.

use crate::wide::WideInts;
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

/// The values that do not fit into a code, each once. An integer below 2⁶⁴ takes some 20 bytes at
/// most, since histories with millions of random 64-bit values are common; anything else more.
#[derive(Clone, Default, Debug)]
pub struct ValueTable {
    /// By code less [`ValueCode::SMALL_LIMIT`]: the integer, or, reserved, a place in `others`.
    slots: WideInts,
    /// The values that are no integer below 2⁶⁴.
    others: Vec<Value>,
    other_codes: HashMap<Value, u32>,
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
        if let Value::Int(number) = value
            && let Ok(number) = u64::try_from(*number)
        {
            return self.code_of_wide(number);
        }
        if let Some(&slot) = self.other_codes.get(value) {
            return ValueCode(ValueCode::SMALL_LIMIT + slot);
        }
        let slot = self.slots.reserve_slot(self.others.len() as u64);
        self.others.push(value.clone());
        self.other_codes.insert(value.clone(), slot);
        ValueCode(ValueCode::SMALL_LIMIT + slot)
    }

    /// The code of an integer, without building a [`Value`] in the common case.
    #[inline]
    pub fn code_of_int(&mut self, number: i128) -> ValueCode {
        if (0..ValueCode::SMALL_LIMIT.into()).contains(&number) {
            return ValueCode(number as u32);
        }
        self.code(&Value::Int(number))
    }

    /// The code of an unsigned integer, small or not.
    #[inline]
    pub fn code_of_unsigned(&mut self, number: u64) -> ValueCode {
        if number < ValueCode::SMALL_LIMIT.into() {
            return ValueCode(number as u32);
        }
        self.code_of_wide(number)
    }

    /// Replaces each integer, all of 2³¹ or more, by its code.
    pub(crate) fn codes_of_wide(&mut self, numbers: &mut [u64]) {
        self.slots.enter_all(numbers);
        for number in numbers {
            *number += u64::from(ValueCode::SMALL_LIMIT);
        }
    }

    /// Makes room for so many more integers of 2³¹ or more.
    pub(crate) fn expect_wide(&mut self, more: usize) {
        self.slots.expect(more);
    }

    /// Gives back what only entering values takes.
    pub(crate) fn forget_table(&mut self) {
        self.slots.forget_table();
    }

    fn code_of_wide(&mut self, number: u64) -> ValueCode {
        ValueCode(ValueCode::SMALL_LIMIT + self.slots.enter(number))
    }

    /// The code of `value` if it has one without changing the table.
    pub fn find(&self, value: &Value) -> Option<ValueCode> {
        if let Some(code) = Self::small(value) {
            return Some(code);
        }
        let slot = match value {
            Value::Int(number) if u64::try_from(*number).is_ok() => self.slots.find(*number as u64),
            _ => self.other_codes.get(value).copied(),
        };
        slot.map(|slot| ValueCode(ValueCode::SMALL_LIMIT + slot))
    }

    /// The value behind a code. [`ValueCode::UNKNOWN`] has none and shows as nil.
    pub fn value(&self, code: ValueCode) -> Value {
        if code == ValueCode::NIL || code == ValueCode::UNKNOWN {
            return Value::Nil;
        }
        if code.0 < ValueCode::SMALL_LIMIT {
            return Value::Int(code.0.into());
        }
        let slot = code.0 - ValueCode::SMALL_LIMIT;
        match self.slots.reserved().binary_search(&slot) {
            Ok(index) => self.others[index].clone(),
            Err(_) => Value::Int(self.slots.number(slot).into()),
        }
    }

    /// How many values were interned: their codes run from [`ValueCode::SMALL_LIMIT`] on.
    pub fn interned_count(&self) -> usize {
        self.slots.len()
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
    /// The keys are integers with gaps; the id of a key is its rank.
    Sorted {
        /// The keys that occur, ascending.
        numbers: Vec<u64>,
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
            KeyTable::Sorted { numbers } => numbers.len(),
            KeyTable::Named { names, .. } => names.len(),
        }
    }

    /// The name of a key.
    pub fn name(&self, key: crate::KeyId) -> Value {
        match self {
            KeyTable::Dense { .. } => Value::Int(key.0.into()),
            KeyTable::Sorted { numbers } => Value::Int(numbers[key.index()].into()),
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
            KeyTable::Sorted { numbers } => match name {
                Value::Int(n) => {
                    let number = u64::try_from(*n).ok()?;
                    let rank = numbers.binary_search(&number).ok()?;
                    Some(crate::KeyId(rank as u32))
                }
                _ => None,
            },
            KeyTable::Named { ids, .. } => ids.get(name).map(|&id| crate::KeyId(id)),
        }
    }

    /// The id of a named key, entering it if it is new.
    ///
    /// # Panics
    /// On a dense or sorted table, which names its keys by their numbers, and beyond 2³² keys.
    pub fn intern(&mut self, name: &Value) -> crate::KeyId {
        let KeyTable::Named { names, ids } = self else {
            panic!("a table of numbered keys takes no new names");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_kind_are_found_again() {
        let mut table = ValueTable::default();
        let values = [
            Value::Nil,
            Value::from(0u64),
            Value::from(u64::MAX),
            Value::from("x"),
            Value::from(1u64 << 31),
            Value::from(-1i64),
            Value::Int(i128::from(u64::MAX) + 1),
            Value::from((1u64 << 31) - 1),
        ];
        for round in 0..2 {
            let codes: Vec<ValueCode> = values.iter().map(|value| table.code(value)).collect();
            for (value, code) in values.iter().zip(codes) {
                assert_eq!(&table.value(code), value, "round {round}");
                assert_eq!(table.find(value), Some(code));
            }
            assert_eq!(table.interned_count(), 5);
        }
        assert_eq!(table.find(&Value::from("y")), None);
        assert_eq!(table.find(&Value::from(1u64 << 40)), None);
    }
}
