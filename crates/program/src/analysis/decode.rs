//! Values of variables as a scenario.

use super::candidate::Candidate;
use super::constraint::{Linear, Variable};
use super::encode::{Encoder, Symbol, strength};
use crate::expr::Value;
use crate::ir::Program;
use crate::scenario::{Instance, Scenario, StoredRow};
use crate::schema::{ColumnId, ForeignKey, Table, TableId, Type};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// The most rows that are added because others refer to them.
const PARENTS_MAX: usize = 200;
/// Seconds of a day.
const DAY: i64 = 86_400;
/// Where numbers begin that stand for nothing else.
const UNUSED: i64 = 900;

/// The scenario that these values are.
pub(super) fn scenario_of(
    program: &Program,
    candidate: &Candidate,
    encoder: &Encoder<'_>,
    values: &[i64],
) -> Scenario {
    let mut decoder = Decoder {
        program,
        encoder,
        values,
        types: types_of(encoder),
        met: RefCell::default(),
        words: BTreeMap::new(),
    };
    // Once to meet all texts, and once more with words for them.
    decoder.scenario(candidate);
    decoder.words = words_for(&decoder.met.take(), &encoder.texts);
    decoder.scenario(candidate)
}

/// A word for each of these numbers, in their order, none of which is a text of the program.
fn words_for(numbers: &BTreeSet<i64>, texts: &[String]) -> BTreeMap<i64, String> {
    let (mut length, mut count) = (1, 26);
    while count < numbers.len() + texts.len() {
        (length, count) = (length + 1, count * 26);
    }
    let word = |number: usize| -> String {
        let letter = |place: u32| b'a' + (number / 26usize.pow(place) % 26) as u8;
        (0..length).rev().map(|at| char::from(letter(at))).collect()
    };
    let free = (0..).map(word).filter(|word| !texts.contains(word));
    numbers.iter().copied().zip(free).collect()
}

/// The types of variables, known ones spread over links.
fn types_of(encoder: &Encoder<'_>) -> FxHashMap<Variable, Type> {
    let mut types = encoder.types.clone();
    types.retain(|_, ty| !matches!(ty, Type::Other));
    loop {
        let (before, mut changed) = (types.len(), false);
        for (left, right) in &encoder.links {
            match (types.get(left).copied(), types.get(right).copied()) {
                (Some(ty), None) => drop(types.insert(*right, ty)),
                (None, Some(ty)) => drop(types.insert(*left, ty)),
                // What is compared is counted in the same units: a text against a date is one.
                (Some(one), Some(two)) if strength(one) > strength(two) => {
                    changed |= types.insert(*right, one) != Some(one);
                }
                (Some(one), Some(two)) if strength(one) < strength(two) => {
                    changed |= types.insert(*left, two) != Some(two);
                }
                _ => {}
            }
        }
        if types.len() == before && !changed {
            return types;
        }
    }
}

struct Decoder<'a> {
    program: &'a Program,
    encoder: &'a Encoder<'a>,
    values: &'a [i64],
    types: FxHashMap<Variable, Type>,
    /// The texts met that are none of the program.
    met: RefCell<BTreeSet<i64>>,
    /// What to call them: as they are compared as numbers, so they are as texts.
    words: BTreeMap<i64, String>,
}

impl Decoder<'_> {
    fn scenario(&self, candidate: &Candidate) -> Scenario {
        let mut instances = Vec::new();
        for (at, run) in candidate.instances.iter().enumerate() {
            let transaction = &self.program.transactions[run.transaction];
            let parameters = transaction.parameters.iter();
            let parameters = parameters.zip(&self.encoder.arguments[at]);
            let arguments = parameters
                .map(|(p, symbol)| self.argument(symbol, p.ty))
                .collect();
            let mut instance = Instance {
                transaction: run.transaction,
                arguments,
                level: run.level,
                ..Instance::default()
            };
            for ((of, id), symbol) in &self.encoder.unknowns {
                let origin = run.path.unknowns.get(*id as usize).copied().flatten();
                if let (true, Some(origin)) = (*of == at, origin) {
                    let value = self.value(symbol, Type::Other);
                    instance.unknowns.insert(origin, value);
                }
            }
            instances.push(instance);
        }
        Scenario {
            rows: self.rows(),
            instances,
            schedule: candidate.schedule.clone(),
        }
    }

    fn value(&self, symbol: &Symbol, declared: Type) -> Value {
        match symbol {
            Symbol::Scalar { null, value } => {
                if self.encoder.constraints.is(*null, self.values) {
                    return Value::Null;
                }
                self.number(value, declared)
            }
            Symbol::List { size, items } => {
                let size = size.value(|variable| self.values[variable.0 as usize]);
                let size = usize::try_from(size).unwrap_or(0);
                let items = items.iter().take(size);
                Value::List(items.map(|item| self.value(item, Type::Other)).collect())
            }
        }
    }

    /// A number as a value of the type declared; where that is compared with a stronger type, it looks like one of it.
    fn number(&self, value: &Linear, declared: Type) -> Value {
        let number = value.value(|variable| self.values[variable.0 as usize]);
        let mut known = value.terms.iter();
        let inside = known.find_map(|(variable, _)| self.types.get(variable).copied());
        let inside = inside.unwrap_or(declared);
        match (declared, inside) {
            (Type::Other | Type::List, _) => self.plain(number, inside),
            (Type::Text, Type::Integer | Type::Real) => Value::Text(number.to_string()),
            (Type::Text, Type::Date | Type::Time | Type::Timestamp) => self.plain(number, inside),
            (Type::Timestamp, Type::Date) => Value::Text(time_of(number.saturating_mul(DAY))),
            (Type::Timestamp, Type::Time) => Value::Text(time_of(DAY / 2 + number)),
            _ => self.plain(number, declared),
        }
    }

    /// An argument: an object, or a list of objects, where fields of it are looked at.
    fn argument(&self, symbol: &Symbol, declared: Type) -> Value {
        if let Symbol::List { size, items } = symbol {
            let size = size.value(|variable| self.values[variable.0 as usize]);
            let items = items.iter().take(usize::try_from(size).unwrap_or(0));
            return Value::List(items.map(|item| self.argument(item, Type::Other)).collect());
        }
        let mut fields = Vec::new();
        for (field, value) in self.encoder.fields_of(symbol) {
            fields.push(Value::Text(field.to_string()));
            fields.push(self.argument(value, Type::Other));
        }
        match fields.is_empty() {
            true => self.value(symbol, declared),
            false => Value::List(fields),
        }
    }

    fn plain(&self, number: i64, ty: Type) -> Value {
        match ty {
            Type::Boolean => Value::Boolean(number != 0),
            Type::Real => Value::Real(number as f64),
            Type::Text | Type::Binary => Value::Text(self.text_of(number)),
            Type::Timestamp | Type::Date | Type::Time => time_value(number, ty),
            Type::Integer | Type::List | Type::Other => Value::Integer(number),
        }
    }

    /// The text that a number stands for.
    fn text_of(&self, number: i64) -> String {
        let step = super::encode::text_code(0);
        let at = usize::try_from(number / step - 1).ok();
        let known = at.and_then(|at| self.encoder.texts.get(at));
        if let (Some(text), true) = (known, number % step == 0) {
            return text.clone();
        }
        self.met.borrow_mut().insert(number);
        self.words.get(&number).cloned().unwrap_or_default()
    }

    fn rows(&self) -> Vec<StoredRow> {
        let mut rows: Vec<StoredRow> = Vec::new();
        let mut given: Vec<Vec<bool>> = Vec::new();
        for name in &self.encoder.names {
            if !self.encoder.constraints.is(name.present, self.values) {
                continue;
            }
            let table = self.program.schema.table(name.table);
            let mut cells: Vec<Option<Value>> = vec![None; table.columns.len()];
            for (column, term) in table.primary_key.iter().zip(&name.key) {
                let ty = table.columns[column.index()].ty;
                cells[column.index()] = Some(self.number(term, ty));
            }
            for (column, symbol) in &name.cells {
                let ty = table.columns[column.index()].ty;
                cells[column.index()] = Some(self.value(symbol, ty));
            }
            let same = |row: &StoredRow| {
                let key = &table.primary_key;
                let equal =
                    |c: &ColumnId| Some(&row.values[c.index()]) == cells[c.index()].as_ref();
                row.table == name.table && !key.is_empty() && key.iter().all(equal)
            };
            let at = rows.iter().position(same).unwrap_or_else(|| {
                let number = rows.len() as i64;
                let filled = table
                    .column_ids()
                    .map(|column| filler(table, column, number));
                rows.push(StoredRow {
                    table: name.table,
                    values: filled.collect(),
                });
                given.push(vec![false; table.columns.len()]);
                rows.len() - 1
            });
            for (column, cell) in cells.into_iter().enumerate() {
                if let Some(cell) = cell {
                    rows[at].values[column] = cell;
                    given[at][column] = true;
                }
            }
        }
        self.add_parents_of_written(&mut rows);
        self.add_parents(&mut rows);
        rows.sort_by_key(|row| row.table);
        rows
    }

    /// Adds the rows that written ones refer to. One that statements call by its key is there or
    /// not, as the constraints say.
    fn add_parents_of_written(&self, rows: &mut Vec<StoredRow>) {
        for (name, when, written) in self.encoder.written_rows() {
            if !self.encoder.constraints.is(when, self.values) {
                continue;
            }
            let (id, values) = self.row_of(name, written);
            let child = StoredRow { table: id, values };
            for foreign in &self.program.schema.table(id).foreign_keys {
                let called = self.encoder.names.iter().enumerate().any(|(at, other)| {
                    let cells: Vec<(ColumnId, Symbol)> =
                        other.cells.iter().map(|(c, s)| (*c, s.clone())).collect();
                    let pairs = || foreign.columns.iter().zip(&foreign.referred);
                    other.table == foreign.table && {
                        let (_, row) = self.row_of(at, &cells);
                        pairs().all(|(c, r)| child.values[c.index()] == row[r.index()])
                    }
                });
                if !called {
                    let parent = self.program.schema.table(foreign.table);
                    add_parent(parent, foreign, &child, rows);
                }
            }
        }
    }

    /// A named row with these cells; NULL where nothing is said.
    fn row_of(&self, name: usize, written: &[(ColumnId, Symbol)]) -> (TableId, Vec<Value>) {
        let name = &self.encoder.names[name];
        let table = self.program.schema.table(name.table);
        let mut values = vec![Value::Null; table.columns.len()];
        for (column, term) in table.primary_key.iter().zip(&name.key) {
            values[column.index()] = self.number(term, table.columns[column.index()].ty);
        }
        for (column, symbol) in written {
            values[column.index()] = self.value(symbol, table.columns[column.index()].ty);
        }
        (name.table, values)
    }

    /// Adds the rows that others refer to.
    fn add_parents(&self, rows: &mut Vec<StoredRow>) {
        let mut next = 0;
        while next < rows.len() && rows.len() < PARENTS_MAX {
            let row = rows[next].clone();
            let table = self.program.schema.table(row.table);
            for foreign in &table.foreign_keys {
                add_parent(
                    self.program.schema.table(foreign.table),
                    foreign,
                    &row,
                    rows,
                );
            }
            next += 1;
        }
    }
}

/// Adds the row that a row refers to, if it is not there.
fn add_parent(table: &Table, foreign: &ForeignKey, child: &StoredRow, rows: &mut Vec<StoredRow>) {
    let pairs = || foreign.columns.iter().zip(&foreign.referred);
    if pairs().any(|(column, _)| child.values[column.index()] == Value::Null) {
        return;
    }
    let same = |row: &StoredRow| {
        let equal =
            |(c, r): (&ColumnId, &ColumnId)| child.values[c.index()] == row.values[r.index()];
        row.table == foreign.table && pairs().all(equal)
    };
    if rows.iter().any(same) {
        return;
    }
    let number = rows.len() as i64;
    let filled = table
        .column_ids()
        .map(|column| filler(table, column, number));
    let mut values: Vec<Value> = filled.collect();
    for (column, referred) in pairs() {
        values[referred.index()] = child.values[column.index()].clone();
    }
    rows.push(StoredRow {
        table: foreign.table,
        values,
    });
}

/// A value for a cell that nobody looks at. Not NULL, which is contagious, but for what would need
/// another row to refer to.
fn filler(table: &Table, column: ColumnId, row: i64) -> Value {
    let refers = |foreign: &ForeignKey| foreign.columns.contains(&column);
    let declared = &table.columns[column.index()];
    if declared.nullable && table.foreign_keys.iter().any(refers) {
        return Value::Null;
    }
    match declared.ty {
        Type::Boolean => Value::Boolean(false),
        Type::Real => Value::Real((UNUSED + row) as f64),
        Type::Text | Type::Binary => Value::Text(letters(UNUSED + row)),
        Type::Timestamp | Type::Date | Type::Time => time_value(row, declared.ty),
        Type::Integer | Type::List | Type::Other => Value::Integer(UNUSED + row),
    }
}

/// A short word for a number, another for each.
fn letters(number: i64) -> String {
    let mut left = number.unsigned_abs();
    let mut word = Vec::new();
    loop {
        word.push(b'a' + (left % 26) as u8);
        left /= 26;
        if left == 0 {
            break;
        }
    }
    word.reverse();
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", String::from_utf8_lossy(&word))
}

/// A value of a type of dates and times for a number: of seconds, or of days for a date.
pub(super) fn time_value(number: i64, ty: Type) -> Value {
    Value::Text(match ty {
        Type::Date => time_of(number.saturating_mul(DAY))[..10].to_string(),
        // From noon, so that there is room on both sides.
        Type::Time => time_of((DAY / 2 + number).rem_euclid(DAY))[11..].to_string(),
        _ => time_of(number),
    })
}

/// A time for a number of seconds: after the beginning of 2024.
fn time_of(seconds: i64) -> String {
    let (days, rest) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    // Days since 0000-03-01, so that leap days come last in their year.
    let days = days + 739_186;
    let era = days.div_euclid(146_097);
    let day = days.rem_euclid(146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let day = day - (153 * shifted + 2) / 5 + 1;
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest % 3600 / 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::words_for;
    use std::collections::BTreeSet;

    #[test]
    fn words_are_in_the_order_of_their_numbers() {
        let numbers: BTreeSet<i64> = (-20..20).map(|number| number * 700).collect();
        let texts = ["ab".to_string(), "x".to_string()];
        let words: Vec<String> = words_for(&numbers, &texts).into_values().collect();
        let ordered: BTreeSet<&String> = words.iter().collect();
        assert_eq!(
            words.iter().collect::<Vec<_>>(),
            ordered.into_iter().collect::<Vec<_>>()
        );
        assert_eq!(words.len(), numbers.len());
        assert!(!words.iter().any(|word| texts.contains(word)));
    }
}
