//! Rebuilds a history from the columns of a Parquet file, row group by row group.

use super::codes::{Codes, key_table};
use super::parquet::{FOREIGN_GROUP_ROWS_MAX, damaged, rows_max};
use super::parquet_column::{Column, Part};
use super::parquet_group::{Group, Source, cells};
use super::parquet_layout::SESSIONS;
use super::parquet_pages::Pool;
use super::{FormatError, Place, too_large};
use crate::builder::OPS_MAX;
use crate::{
    Builder, History, Interval, KeyId, Op, SessionId, Status, TooLarge, UNLABELLED, ValueCode,
};
use ::parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};

/// Reads the whole file.
pub(super) fn read(bytes: &[u8]) -> Result<History, FormatError> {
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
    believable(bytes, rows, groups)?;
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
    reader.finish()
}

/// Refuses more rows than a history can have or the file can hold, before anything is allocated.
fn believable(bytes: &[u8], rows: usize, groups: &[RowGroupMetaData]) -> Result<(), FormatError> {
    if rows > OPS_MAX {
        return Err(too_large(TooLarge));
    }
    let rows_max = rows_max(bytes);
    if rows as u64 > rows_max {
        let size = bytes.len();
        return Err(damaged(format!(
            "it claims {rows} rows in {size} bytes, where at most {rows_max} are believed"
        )));
    }
    let is_large = |group: &&RowGroupMetaData| group.num_rows() > FOREIGN_GROUP_ROWS_MAX as i64;
    if let Some(group) = groups.iter().find(is_large) {
        let problem = format!("a row group has {} rows", group.num_rows());
        return Err(FormatError::new(Place::Whole, problem).hint(format!(
            "write the file with row groups of at most {FOREIGN_GROUP_ROWS_MAX} rows"
        )));
    }
    if groups.iter().any(|group| group.num_rows() < 0) {
        return Err(damaged("a row group has a negative number of rows"));
    }
    Ok(())
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
pub(super) struct Reader {
    builder: Builder,
    /// Key names.
    pub keys: Codes,
    /// Values.
    pub values: Codes,
    open: Option<Open>,
    last_session: Option<(i64, SessionId)>,
}

/// A transaction whose rows are being read; it may go on in the next row group.
pub(super) struct Open {
    /// Its number in the file.
    pub index: i64,
    /// Its session.
    pub session: i64,
    /// Its label.
    pub label: u64,
    /// What became of it.
    pub status: Status,
    /// Its times.
    pub interval: Option<Interval>,
    /// Where its operations start.
    pub ops_start: usize,
}

impl Open {
    fn name(&self) -> String {
        match self.label {
            UNLABELLED => format!("the transaction whose `txn_index` is {}", self.index),
            label => format!("transaction {label}"),
        }
    }
}

fn not_sorted(index: i64) -> FormatError {
    let problem = format!("transaction {index} comes after a later one, or in two places");
    FormatError::new(Place::Whole, problem)
        .hint("keep the rows in the order of `txn_index`, and within one in program order")
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
    pub fn lists(&mut self, column: &Column<'_>) -> Result<Vec<ValueCode>, FormatError> {
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
        if !group.is_even() {
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
        if let Some(Interval { start, end }) = open.interval.filter(|times| times.end < times.start)
        {
            let (name, session) = (open.name(), open.session);
            let problem =
                format!("{name} of session {session} ended at {end}, before it started at {start}");
            return Err(FormatError::new(Place::Whole, problem)
                .hint("are `started` and `ended` exchanged, or from different clocks?"));
        }
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
