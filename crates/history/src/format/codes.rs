//! Keys and values on their way into a history's columns, as 32-bit codes.
//!
//! Readers enter keys like values (a small integer is its own code) and only at the end decide
//! whether the keys are dense enough to be named by their own numbers.

use super::decimal;
use super::edn::{Atom, Scan, Scanner};
use crate::{KeyId, KeyTable, Value, ValueCode, ValueTable};
use std::collections::HashMap;

/// A [`ValueTable`] that looks texts up without allocating.
#[derive(Default, Debug)]
pub(crate) struct Codes {
    /// The table behind.
    pub table: ValueTable,
    texts: HashMap<Box<str>, ValueCode>,
    ints: HashMap<i128, ValueCode>,
}

impl Codes {
    /// The code of an integer.
    #[inline]
    pub fn int(&mut self, number: i128) -> ValueCode {
        if (0..ValueCode::SMALL_LIMIT.into()).contains(&number) {
            return ValueCode(number as u32);
        }
        let table = &mut self.table;
        *self
            .ints
            .entry(number)
            .or_insert_with(|| table.code(&Value::Int(number)))
    }

    /// The code of a text.
    pub fn text(&mut self, text: &str) -> ValueCode {
        if let Some(&code) = self.texts.get(text) {
            return code;
        }
        let code = self.table.code(&Value::from(text));
        self.texts.insert(text.into(), code);
        code
    }

    /// The code of a text that begins so in the file: one that begins like a number may be one.
    #[cold]
    fn word(&mut self, text: &str, first: u8) -> ValueCode {
        let is_number = matches!(first, b'0'..=b'9' | b'-' | b'+');
        match decimal::value(text).filter(|_| is_number) {
            Some(Value::Int(number)) => self.int(number),
            Some(Value::Text(text)) => self.text(&text),
            Some(Value::Nil) | None => self.text(text),
        }
    }

    /// Reads one value; a collection becomes the text it is written as.
    #[inline]
    pub fn scan<const JSON: bool>(&mut self, scanner: &mut Scanner<'_, JSON>) -> Scan<ValueCode> {
        scanner.space()?;
        if let Some(number) = scanner.unsigned() {
            return Ok(self.int(number.into()));
        }
        let start = scanner.pos;
        match scanner.atom()? {
            Atom::Int(number) => Ok(self.int(number)),
            Atom::Nil => Ok(ValueCode::NIL),
            Atom::Text(text) => Ok(self.word(&text, scanner.bytes[start])),
            Atom::List | Atom::Set | Atom::Map => {
                scanner.pos = start;
                scanner.skip()?;
                let text = scanner.text(start)?;
                Ok(self.text(&text))
            }
        }
    }
}

/// With at most so many numbers to choose from for each operation, keys are ranked by a set of bits.
const NUMBERS_FOR_EACH: usize = 256;

/// Turns key codes into key ids, in place, and returns their names. Keys that are small integers
/// without wide gaps keep their numbers; those that are many and have gaps are numbered by rank;
/// otherwise ids follow the first mention.
pub(crate) fn key_table(keys: &mut [KeyId], codes: &ValueTable) -> KeyTable {
    let mut limit = 0u32;
    let mut all_small = true;
    for key in keys.iter() {
        if key.0 < ValueCode::SMALL_LIMIT {
            limit = limit.max(key.0 + 1);
        } else {
            all_small = false;
        }
    }
    let dense_limit = (4 * keys.len()).max(1 << 20);
    if all_small && limit as usize <= dense_limit && !keys.is_empty() {
        return KeyTable::Dense { limit };
    }
    if all_small && limit as usize / NUMBERS_FOR_EACH <= keys.len() {
        return by_rank(keys, limit);
    }
    let mut table = KeyTable::default();
    let mut ids: HashMap<u32, KeyId> = HashMap::new();
    let mut previous = None;
    for key in keys.iter_mut() {
        let code = key.0;
        *key = match previous {
            Some((same, id)) if same == code => id,
            _ => *ids
                .entry(code)
                .or_insert_with(|| table.intern(&codes.value(ValueCode(code)))),
        };
        previous = Some((code, *key));
    }
    table
}

/// Numbers the keys by rank. A table of names by hash would take more than all the operations where
/// nearly every one has a key of its own.
fn by_rank(keys: &mut [KeyId], limit: u32) -> KeyTable {
    let mut used = vec![0u64; limit.div_ceil(64) as usize];
    for key in keys.iter() {
        used[key.index() / 64] |= 1 << (key.0 % 64);
    }
    // By word of the set, how many keys come before it.
    let mut before: Vec<u32> = Vec::with_capacity(used.len());
    let mut count = 0;
    for word in &used {
        before.push(count);
        count += word.count_ones();
    }
    let mut numbers: Vec<u64> = Vec::with_capacity(count as usize);
    for (at, &word) in used.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            numbers.push(at as u64 * 64 + u64::from(rest.trailing_zeros()));
            rest &= rest - 1;
        }
    }
    for key in keys.iter_mut() {
        let at = key.index() / 64;
        let lower = used[at] & ((1 << (key.0 % 64)) - 1);
        *key = KeyId(before[at] + lower.count_ones());
    }
    KeyTable::Sorted { numbers }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_keys_with_gaps_are_numbered_by_rank() {
        let numbers: Vec<u32> = (0..10_000)
            .map(|at| at * 7919 % 10_007 * 200 + 63)
            .collect();
        let mut keys: Vec<KeyId> = numbers.iter().map(|&number| KeyId(number)).collect();
        let table = key_table(&mut keys, &ValueTable::default());
        assert!(matches!(&table, KeyTable::Sorted { numbers } if numbers.len() == 10_000));
        for (key, number) in keys.iter().zip(numbers) {
            assert_eq!(table.name(*key), Value::Int(number.into()));
        }
    }
}
