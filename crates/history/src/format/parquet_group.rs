//! The columns of one row group as codes, row by row.

use super::codes::Codes;
use super::edn::Scanner;
use super::json::scalar;
use super::jsonl::{STATUSES, TAGS};
use super::parquet::damaged;
use super::parquet_column::{Column, Filled, Words};
use super::parquet_pages::Pool;
use super::parquet_read::{Open, Reader};
use super::{FormatError, Place};
use crate::{Interval, OpKind, Status, UNLABELLED, ValueCode};
use ::parquet::file::metadata::RowGroupMetaData;

/// A row group, decoded to codes.
pub(super) struct Group {
    /// Session numbers.
    pub sessions: Filled<i64>,
    /// Transaction labels.
    pub labels: Filled<i64>,
    /// Which transaction a row belongs to; without the column, session and label tell.
    pub index: Option<Filled<i64>>,
    /// Outcomes.
    pub statuses: Option<(Vec<Status>, Filled<u32>)>,
    /// Start times.
    pub started: Option<Filled<i64>>,
    /// End times.
    pub ended: Option<Filled<i64>>,
    /// Per row; null rows (empty transactions) hold a filler and a 0 in `defined`.
    pub kinds: Filled<u32>,
    /// What the codes in `kinds` mean.
    pub kind_of: Vec<OpKind>,
    /// Key codes.
    pub keys: Vec<u32>,
    /// Value codes.
    pub values: Vec<u32>,
}

/// Where columns come from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    /// The file.
    pub bytes: &'a [u8],
    /// The row group.
    pub group: &'a RowGroupMetaData,
    /// Buffers.
    pub pool: &'a Pool,
}

impl<'a> Source<'a> {
    fn find(self, name: &'static str) -> Option<Column<'a>> {
        let Source { bytes, group, pool } = self;
        let is_it = |path: &[String]| path.first().is_some_and(|first| first == name);
        let mut columns = group.columns().iter();
        let index = columns.position(|column| is_it(column.column_path().parts()))?;
        Some(Column {
            file: bytes,
            group,
            pool,
            index,
            name,
        })
    }

    fn need(self, name: &'static str) -> Result<Column<'a>, FormatError> {
        self.find(name).ok_or_else(|| {
            FormatError::new(
                Place::Whole,
                format!("expected a column `{name}`, found none"),
            )
            .hint("the columns are session, txn, txn_index, status, kind, key and value")
        })
    }
}

fn spread_ints(column: &Column<'_>) -> Result<Filled<i64>, FormatError> {
    let mut ints = column.ints()?;
    ints.spread(column.full_level());
    Ok(ints)
}

/// A text column whose words all come from a table.
fn from_table<T: Copy>(
    column: &Column<'_>,
    table: &[(&str, T)],
) -> Result<(Vec<T>, Filled<u32>), FormatError> {
    let Words { words, mut codes } = column.words()?;
    codes.spread(column.full_level());
    let lookup = |word: &String| {
        let row = table.iter().find(|(name, _)| name == word);
        row.map(|&(_, meaning)| meaning).ok_or_else(|| {
            let known: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
            let problem = format!("unknown `{word}` in column `{}`", column.name);
            FormatError::new(Place::Whole, problem).hint(format!("known are {}", known.join(", ")))
        })
    };
    Ok((words.iter().map(lookup).collect::<Result<_, _>>()?, codes))
}

/// The codes of a column of keys, values or elements; rows without one get nil.
pub(super) fn cells(column: &Column<'_>, codes: &mut Codes) -> Result<Filled<u32>, FormatError> {
    if column.is_int() {
        let ints = column.ints()?;
        let unsigned = column.is_unsigned();
        let code = |&number: &i64| match unsigned {
            // The common case once more, so that it stays free of 128-bit arithmetic.
            _ if (0..i64::from(ValueCode::SMALL_LIMIT)).contains(&number) => number as u32,
            true => codes.int((number as u64).into()).0,
            false => codes.int(number.into()).0,
        };
        let mut values = column.pool.codes();
        values.extend(ints.values.iter().map(code));
        column.pool.keep_ints(ints.values);
        return Ok(Filled {
            values,
            defined: ints.defined,
            repeated: ints.repeated,
        });
    }
    let Words { words, codes: rows } = column.words()?;
    let json = column.is_json();
    let mut table = Vec::with_capacity(words.len());
    for word in &words {
        table.push(if json {
            json_cell(word, codes)?
        } else {
            codes.text(word)
        });
    }
    Ok(Filled {
        values: rows
            .values
            .iter()
            .map(|&code| table[code as usize].0)
            .collect(),
        defined: rows.defined,
        repeated: rows.repeated,
    })
}

fn json_cell(text: &str, codes: &mut Codes) -> Result<ValueCode, FormatError> {
    let mut scanner = Scanner::<true>::at(text.as_bytes(), 0);
    let scanned = scalar(codes, &mut scanner);
    scanned.map_err(|flaw| damaged(format!("`{text}` is no JSON value: {}", flaw.problem)))
}

/// One code a row.
fn per_row(column: &Column<'_>, filled: Filled<u32>) -> Vec<u32> {
    if filled.defined.is_empty() {
        return filled.values;
    }
    let full = column.full_level();
    let mut next = filled.values.into_iter();
    let place = |level: i16| match level == full {
        true => next.next().unwrap_or(ValueCode::NIL.0),
        false => ValueCode::NIL.0,
    };
    filled.defined.into_iter().map(place).collect()
}

/// Puts the lists that were read where the values of their rows are. Without a column of lists all of them are empty.
fn place_lists(
    kind_of: &[OpKind],
    kinds: &[u32],
    lists: &[ValueCode],
    values: &mut [u32],
) -> Result<(), FormatError> {
    if !lists.is_empty() && lists.len() != values.len() {
        return Err(damaged("its columns differ in length"));
    }
    if !kind_of.iter().any(|kind| kind.reads_list()) {
        return Ok(());
    }
    for (row, value) in values.iter_mut().enumerate() {
        let code = kinds.get(row).copied().unwrap_or(0);
        let kind = kind_of.get(code as usize);
        if !kind.is_some_and(|kind| kind.reads_list()) {
            continue;
        }
        match lists.get(row) {
            Some(list) => *value = list.0,
            None if *value == ValueCode::NIL.0 => {}
            None => return Err(damaged("a list was read, and there is no column `list`")),
        }
    }
    Ok(())
}

impl Group {
    /// Decodes all columns of a row group.
    pub fn decode(source: Source<'_>, reader: &mut Reader) -> Result<Group, FormatError> {
        let optional = |name| source.find(name).map(|column| spread_ints(&column));
        let kind = source.need("kind")?;
        let (kind_of, kinds) = from_table(&kind, &TAGS)?;
        let key = source.need("key")?;
        let keys = per_row(&key, cells(&key, &mut reader.keys)?);
        let value = source.need("value")?;
        let mut values = per_row(&value, cells(&value, &mut reader.values)?);
        let lists = match source.find("list") {
            Some(column) => reader.lists(&column)?,
            None => Vec::new(),
        };
        place_lists(&kind_of, &kinds.values, &lists, &mut values)?;
        if let Some(column) = source.find("unknown") {
            let mut unknown = column.bools()?;
            unknown.spread(column.full_level());
            for (value, unknown) in values.iter_mut().zip(&unknown.values) {
                *value = if *unknown {
                    ValueCode::UNKNOWN.0
                } else {
                    *value
                };
            }
            let is_write = |code: u32| {
                kind_of
                    .get(code as usize)
                    .is_some_and(|kind| kind.is_write())
            };
            let mut rows = kinds.values.iter().zip(&values);
            if rows.any(|(&code, &value)| value == ValueCode::UNKNOWN.0 && is_write(code)) {
                let problem = "a write is `unknown`, so that it has no value";
                return Err(FormatError::new(Place::Whole, problem)
                    .hint("only what a read returned may be unknown"));
            }
        }
        let status = source.find("status");
        Ok(Group {
            sessions: spread_ints(&source.need("session")?)?,
            labels: spread_ints(&source.need("txn")?)?,
            index: optional("txn_index").transpose()?,
            statuses: status
                .map(|column| from_table(&column, &STATUSES))
                .transpose()?,
            started: optional("started").transpose()?,
            ended: optional("ended").transpose()?,
            kinds,
            kind_of,
            keys,
            values,
        })
    }

    /// Whether every column has a value for every row; columns of lists in wrong places do not.
    pub fn is_even(&self) -> bool {
        let ints = [
            Some(&self.sessions),
            Some(&self.labels),
            self.index.as_ref(),
            self.started.as_ref(),
            self.ended.as_ref(),
        ];
        let statuses = self.statuses.as_ref().map(|(_, codes)| codes.values.len());
        let mut lengths = ints.into_iter().flatten().map(|ints| ints.values.len());
        let count = self.kinds.values.len();
        lengths.all(|length| length == count)
            && [self.keys.len(), self.values.len()] == [count; 2]
            && statuses.is_none_or(|length| length == count)
    }

    /// Gives the buffers back.
    pub fn recycle(self, pool: &Pool) {
        let ints = [
            Some(self.sessions),
            Some(self.labels),
            self.index,
            self.started,
            self.ended,
        ];
        for filled in ints.into_iter().flatten() {
            pool.keep_ints(filled.values);
        }
        pool.keep_codes(self.kinds.values);
        pool.keep_codes(self.keys);
        pool.keep_codes(self.values);
        if let Some((_, statuses)) = self.statuses {
            pool.keep_codes(statuses.values);
        }
    }

    /// Whether two neighbouring rows belong to the same transaction.
    #[inline]
    pub fn same_txn(&self, row: usize, other: usize) -> bool {
        match &self.index {
            Some(index) => index.values[row] == index.values[other],
            None => {
                self.sessions.values[row] == self.sessions.values[other]
                    && self.labels.values[row] == self.labels.values[other]
            }
        }
    }

    /// The transaction that starts at a row.
    pub fn open(&self, row: usize, ops_start: usize) -> Open {
        let status = match &self.statuses {
            Some((names, codes)) => {
                let code = codes.get(row).map(|code| code as usize);
                code.and_then(|code| names.get(code)).copied()
            }
            None => None,
        };
        let started = self.started.as_ref().and_then(|times| times.get(row));
        let ended = self.ended.as_ref().and_then(|times| times.get(row));
        Open {
            index: self.index.as_ref().map_or(0, |index| index.values[row]),
            session: self.sessions.values[row],
            label: self
                .labels
                .get(row)
                .map_or(UNLABELLED, |label| label as u64),
            status: status.unwrap_or(Status::Committed),
            interval: started.map(|start| Interval {
                start,
                end: ended.unwrap_or(Interval::NEVER),
            }),
            ops_start,
        }
    }
}
