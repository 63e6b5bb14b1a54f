//! Rebuilds a history from the columns of a Parquet file, row group by row group.

use super::codes::{Codes, key_table};
use super::edn::Scanner;
use super::jsonl::{STATUSES, TAGS};
use super::parquet::damaged;
use super::parquet_column::{Column, Filled, Part, Words};
use super::parquet_layout::SESSIONS;
use super::parquet_pages::Pool;
use super::{FormatError, Place};
use crate::{
    Builder, History, Interval, KeyId, Op, OpKind, SessionId, Status, UNLABELLED, ValueCode,
};
use ::parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};

/// Reads the whole file.
pub(super) fn read(bytes: &[u8], notes: &mut Vec<String>) -> Result<History, FormatError> {
    let metadata = metadata(bytes)?;
    let rows = metadata.file_metadata().num_rows();
    let rows = usize::try_from(rows).map_err(damaged)?;
    let groups = metadata.row_groups();
    let total = groups
        .iter()
        .try_fold(0i64, |sum, group| sum.checked_add(group.num_rows()));
    if total.and_then(|total| usize::try_from(total).ok()) != Some(rows) {
        return Err(damaged("its row groups do not add up to its rows"));
    }
    let mut reader = Reader::new(rows)?;
    reader.sessions(&metadata)?;
    let pool = Pool::default();
    for group in groups {
        let source = Source {
            bytes,
            group,
            pool: &pool,
        };
        let rows = Group::decode(source, &mut reader)?;
        reader.rows(&rows)?;
        rows.recycle(&pool);
    }
    let _ = notes;
    reader.finish()
}

fn metadata(bytes: &[u8]) -> Result<ParquetMetaData, FormatError> {
    if !bytes.starts_with(b"PAR1") {
        return Err(FormatError::new(
            Place::Byte(0),
            "expected a Parquet file (`PAR1`)",
        ));
    }
    let end = bytes.len();
    if end < 12 || !bytes.ends_with(b"PAR1") {
        let place = Place::Byte(end as u64);
        return Err(
            FormatError::new(place, "the Parquet file ends without its footer")
                .hint("it was cut off, or is still being written; the footer comes last"),
        );
    }
    let length = [
        bytes[end - 8],
        bytes[end - 7],
        bytes[end - 6],
        bytes[end - 5],
    ];
    let length = u64::from(u32::from_le_bytes(length)) + 8;
    let start = (end as u64).checked_sub(length);
    let Some(part) = start.and_then(|start| Part::copy(bytes, start, length)) else {
        return Err(damaged("its footer is larger than the file"));
    };
    ParquetMetaDataReader::new()
        .parse_and_finish(&part)
        .map_err(damaged)
}

/// What is being built.
struct Reader {
    builder: Builder,
    keys: Codes,
    values: Codes,
    open: Option<Open>,
    last_session: Option<(i64, SessionId)>,
}

/// A transaction whose rows are being read; it may go on in the next row group.
struct Open {
    index: i64,
    session: i64,
    label: u64,
    status: Status,
    interval: Option<Interval>,
    ops_start: usize,
}

/// A row group, decoded to codes.
struct Group {
    sessions: Filled<i64>,
    labels: Filled<i64>,
    /// Which transaction a row belongs to; without the column, session and label tell.
    index: Option<Filled<i64>>,
    statuses: Option<(Vec<Status>, Filled<u32>)>,
    started: Option<Filled<i64>>,
    ended: Option<Filled<i64>>,
    /// Per row; null rows (empty transactions) hold a filler and a 0 in `defined`.
    kinds: Filled<u32>,
    kind_of: Vec<OpKind>,
    keys: Vec<u32>,
    values: Vec<u32>,
}

/// Where columns come from.
#[derive(Clone, Copy)]
struct Source<'a> {
    bytes: &'a [u8],
    group: &'a RowGroupMetaData,
    pool: &'a Pool,
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

fn not_sorted(index: i64) -> FormatError {
    let problem = format!("transaction {index} comes after a later one, or in two places");
    FormatError::new(Place::Whole, problem)
        .hint("keep the rows in the order of `txn_index`, and within one in program order")
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
fn cells(column: &Column<'_>, codes: &mut Codes) -> Result<Filled<u32>, FormatError> {
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
    let scanned = codes.scan(&mut scanner);
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

impl Group {
    fn decode(source: Source<'_>, reader: &mut Reader) -> Result<Group, FormatError> {
        let optional = |name| source.find(name).map(|column| spread_ints(&column));
        let kind = source.need("kind")?;
        let (kind_of, kinds) = from_table(&kind, &TAGS)?;
        let key = source.need("key")?;
        let keys = per_row(&key, cells(&key, &mut reader.keys)?);
        let value = source.need("value")?;
        let mut values = per_row(&value, cells(&value, &mut reader.values)?);
        if let Some(column) = source.find("list") {
            let lists = reader.lists(&column)?;
            if lists.len() != values.len() {
                return Err(damaged("its columns differ in length"));
            }
            for (row, list) in lists.into_iter().enumerate() {
                let code = kinds.values.get(row).copied().unwrap_or(0);
                if kind_of
                    .get(code as usize)
                    .is_some_and(|kind| kind.reads_list())
                {
                    values[row] = list.0;
                }
            }
        }
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

    /// Gives the buffers back.
    fn recycle(self, pool: &Pool) {
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
    fn same_txn(&self, row: usize, other: usize) -> bool {
        match &self.index {
            Some(index) => index.values[row] == index.values[other],
            None => {
                self.sessions.values[row] == self.sessions.values[other]
                    && self.labels.values[row] == self.labels.values[other]
            }
        }
    }

    fn open(&self, row: usize, ops_start: usize) -> Open {
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

impl Reader {
    fn new(rows: usize) -> Result<Reader, FormatError> {
        let mut builder = Builder::new();
        // A growing column would hold twice its size while it is copied.
        let ops = &mut builder.ops;
        let reserved = ops
            .kinds
            .try_reserve_exact(rows)
            .and_then(|()| ops.keys.try_reserve_exact(rows))
            .and_then(|()| ops.values.try_reserve_exact(rows));
        reserved.map_err(|_| damaged(format!("{rows} rows do not fit into memory")))?;
        Ok(Reader {
            builder,
            keys: Codes::default(),
            values: Codes::default(),
            open: None,
            last_session: None,
        })
    }

    fn sessions(&mut self, metadata: &ParquetMetaData) -> Result<(), FormatError> {
        let pairs = metadata.file_metadata().key_value_metadata();
        let named = pairs
            .into_iter()
            .flatten()
            .find(|pair| pair.key == SESSIONS);
        let Some(labels) = named.and_then(|pair| pair.value.as_ref()) else {
            return Ok(());
        };
        for label in labels.split(',') {
            self.builder.session(label.parse().map_err(damaged)?);
        }
        Ok(())
    }

    /// Enters the lists of a column and returns one code a row; nil where there is no list.
    fn lists(&mut self, column: &Column<'_>) -> Result<Vec<ValueCode>, FormatError> {
        let elements = cells(column, &mut self.values)?;
        let full = column.full_level();
        let levels = elements.defined.len();
        if levels != elements.repeated.len() || !(2..=3).contains(&full) {
            return Err(damaged("column `list` is no list of values"));
        }
        let mut rows = Vec::new();
        let mut values = elements.values.iter();
        let mut list = Vec::new();
        let mut at = 0;
        while at < levels {
            let first = at;
            list.clear();
            while at < levels && (at == first || elements.repeated[at] > 0) {
                match elements.defined[at] {
                    level if level == full => {
                        list.extend(values.next().map(|&code| ValueCode(code)))
                    }
                    2 => list.push(ValueCode::NIL),
                    _ => {}
                }
                at += 1;
            }
            rows.push(match elements.defined[first] {
                0 => ValueCode::NIL,
                _ => self.builder.lists.push(&list),
            });
        }
        Ok(rows)
    }

    fn rows(&mut self, group: &Group) -> Result<(), FormatError> {
        let count = group.kinds.values.len();
        let columns = [
            group.sessions.values.len(),
            group.keys.len(),
            group.values.len(),
        ];
        if columns.iter().any(|&length| length != count) {
            return Err(damaged("its columns differ in length"));
        }
        let mut row = 0;
        while row < count {
            let mut end = row + 1;
            while end < count && group.same_txn(row, end) {
                end += 1;
            }
            let goes_on = row == 0
                && self.open.as_ref().is_some_and(|open| {
                    let next = group.open(0, 0);
                    (open.index, open.session, open.label) == (next.index, next.session, next.label)
                });
            if !goes_on {
                let open = group.open(row, self.builder.ops.len());
                let before = self.open.as_ref().map(|open| open.index);
                if group.index.is_some() && before.is_some_and(|before| before >= open.index) {
                    return Err(not_sorted(open.index));
                }
                self.close()?;
                self.open = Some(open);
            }
            self.ops(group, row, end);
            row = end;
        }
        Ok(())
    }

    #[inline]
    fn ops(&mut self, group: &Group, from: usize, to: usize) {
        let ops = &mut self.builder.ops;
        if group
            .kinds
            .defined
            .get(from..to)
            .is_some_and(|d| d.contains(&0))
        {
            for row in (from..to).filter(|&row| group.kinds.defined[row] != 0) {
                ops.push(Op {
                    kind: group.kind_of[group.kinds.values[row] as usize],
                    key: KeyId(group.keys[row]),
                    value: ValueCode(group.values[row]),
                });
            }
            return;
        }
        let kinds = group.kinds.values[from..to].iter();
        ops.kinds
            .extend(kinds.map(|&code| group.kind_of[code as usize]));
        let keys = group.keys[from..to].iter();
        ops.keys.extend(keys.map(|&code| KeyId(code)));
        let values = group.values[from..to].iter();
        ops.values.extend(values.map(|&code| ValueCode(code)));
    }

    fn close(&mut self) -> Result<(), FormatError> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let session = match self.last_session {
            Some((label, id)) if label == open.session => id,
            _ => self.builder.session(open.session),
        };
        self.last_session = Some((open.session, session));
        self.builder
            .end_txn(
                session,
                open.label,
                open.status,
                open.interval,
                open.ops_start,
            )
            .map_err(|error| FormatError::new(Place::Whole, error.to_string()))
    }

    fn finish(mut self) -> Result<History, FormatError> {
        self.close()?;
        self.builder.keys = key_table(&mut self.builder.ops.keys, &self.keys.table);
        self.builder.values = self.values.table;
        Ok(self.builder.finish())
    }
}
