//! Writes the columns of a history as Parquet; see `parquet` for the layout.

use super::WriteError;
use super::escape::write_quoted;
use super::jsonl::{STATUSES, TAGS};
use super::parquet::{Form, GROUP_ROWS};
use super::parquet_layout::Layout;
use crate::{History, Interval, Op, TxnId, UNLABELLED, Value, ValueCode};
use ::parquet::column::writer::ColumnWriterImpl;
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// Collects what the parquet crate writes: it wants an output it may send to other threads.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Sink {
    fn drain(&self) -> Vec<u8> {
        let mut bytes = self.0.lock().unwrap_or_else(|poison| poison.into_inner());
        std::mem::take(&mut bytes)
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut buffer = self.0.lock().unwrap_or_else(|poison| poison.into_inner());
        buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn failed(error: ParquetError) -> WriteError {
    WriteError::Io(io::Error::other(error))
}

/// Writes the whole file, row group by row group.
pub(super) fn write(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    let layout = Layout::of(history);
    let schema = layout.schema().map_err(failed)?;
    let properties = Arc::new(layout.properties(history));
    let sink = Sink::default();
    let mut file = SerializedFileWriter::new(sink.clone(), schema, properties).map_err(failed)?;
    let mut rows = Rows::new(layout);
    for txn in history.txn_ids() {
        rows.start_txn(history, txn);
        for (_, op) in history.txn_ops(txn) {
            rows.row(history, Some(op))?;
            if rows.index.len() == GROUP_ROWS {
                flush(&mut file, &mut rows)?;
                out.write_all(&sink.drain())?;
            }
        }
        if history.txn(txn).op_count == 0 {
            rows.row(history, None)?;
        }
    }
    if !rows.index.is_empty() {
        flush(&mut file, &mut rows)?;
    }
    file.close().map_err(failed)?;
    out.write_all(&sink.drain())?;
    Ok(out.flush()?)
}

fn flush(file: &mut SerializedFileWriter<Sink>, rows: &mut Rows) -> Result<(), WriteError> {
    let mut group = file.next_row_group().map_err(failed)?;
    rows.write(&mut group).map_err(failed)?;
    group.close().map_err(failed)?;
    rows.clear();
    Ok(())
}

/// A column of keys, values or elements.
struct Cells {
    form: Form,
    ints: Vec<i64>,
    texts: Vec<ByteArray>,
    defined: Vec<i16>,
}

impl Cells {
    fn new(form: Form) -> Cells {
        Cells {
            form,
            ints: Vec::new(),
            texts: Vec::new(),
            defined: Vec::new(),
        }
    }

    fn push(&mut self, value: &Value) -> io::Result<()> {
        match (self.form, value) {
            (Form::Int | Form::Unsigned, Value::Int(number)) => self.ints.push(*number as i64),
            (Form::Json, Value::Text(text)) => {
                let mut quoted = Vec::new();
                write_quoted(&mut quoted, text)?;
                self.texts.push(quoted.into());
            }
            (_, value) => self.texts.push(value.to_string().into_bytes().into()),
        }
        Ok(())
    }

    #[inline]
    fn push_code(&mut self, history: &History, code: ValueCode) -> io::Result<()> {
        if code.0 < ValueCode::SMALL_LIMIT && self.form != Form::Text && self.form != Form::Json {
            self.ints.push(code.0.into());
            return Ok(());
        }
        self.push(&history.value(code))
    }

    fn clear(&mut self) {
        self.ints.clear();
        self.texts.clear();
        self.defined.clear();
    }
}

/// The rows of one row group, column by column.
struct Rows {
    layout: Layout,
    statuses: [ByteArray; 3],
    tags: [ByteArray; 8],
    current: (i64, u64, i32, usize, Interval),
    session: Vec<i64>,
    txn: Vec<i64>,
    txn_defined: Vec<i16>,
    index: Vec<i32>,
    status: Vec<ByteArray>,
    started: Vec<i64>,
    ended: Vec<i64>,
    ended_defined: Vec<i16>,
    kind: Vec<ByteArray>,
    kind_defined: Vec<i16>,
    key: Cells,
    value: Cells,
    unknown: Vec<bool>,
    element: Cells,
    repeated: Vec<i16>,
}

impl Rows {
    fn new(layout: Layout) -> Rows {
        Rows {
            statuses: STATUSES.map(|(name, _)| name.into()),
            tags: TAGS.map(|(name, _)| name.into()),
            current: (0, 0, 0, 0, Interval { start: 0, end: 0 }),
            session: Vec::new(),
            txn: Vec::new(),
            txn_defined: Vec::new(),
            index: Vec::new(),
            status: Vec::new(),
            started: Vec::new(),
            ended: Vec::new(),
            ended_defined: Vec::new(),
            kind: Vec::new(),
            kind_defined: Vec::new(),
            key: Cells::new(layout.key),
            value: Cells::new(layout.value),
            unknown: Vec::new(),
            element: Cells::new(layout.element),
            repeated: Vec::new(),
            layout,
        }
    }

    fn start_txn(&mut self, history: &History, txn: TxnId) {
        let row = history.txn(txn);
        let status = STATUSES
            .iter()
            .position(|(_, status)| *status == row.status);
        let interval = history.interval(txn);
        self.current = (
            history.session_label(row.session),
            row.label,
            txn.0 as i32,
            status.unwrap_or(0),
            interval.unwrap_or(Interval { start: 0, end: 0 }),
        );
    }

    fn row(&mut self, history: &History, op: Option<Op>) -> io::Result<()> {
        let (session, label, index, status, interval) = self.current;
        self.session.push(session);
        self.index.push(index);
        self.status.push(self.statuses[status].clone());
        let labelled = label != UNLABELLED;
        self.txn_defined.push(labelled.into());
        if labelled {
            self.txn.push(label as i64);
        }
        if self.layout.times {
            self.started.push(interval.start);
            let ends = interval.end != Interval::NEVER;
            self.ended_defined.push(ends.into());
            if ends {
                self.ended.push(interval.end);
            }
        }
        self.kind_defined.push(op.is_some().into());
        if let Some(op) = op {
            let tag = TAGS
                .iter()
                .position(|(_, kind)| *kind == op.kind)
                .unwrap_or(0);
            self.kind.push(self.tags[tag].clone());
        }
        self.cells(history, op)
    }

    fn cells(&mut self, history: &History, op: Option<Op>) -> io::Result<()> {
        let key = op.map_or(Value::Nil, |op| history.key_name(op.key));
        self.key.defined.push((key != Value::Nil).into());
        if key != Value::Nil {
            self.key.push(&key)?;
        }
        let code = op.map_or(ValueCode::NIL, |op| op.value);
        let unknown = code == ValueCode::UNKNOWN;
        if self.layout.unknown {
            self.unknown.push(unknown);
        }
        let known = !unknown && code != ValueCode::NIL;
        let is_list = op.is_some_and(|op| op.kind.reads_list());
        self.value.defined.push((known && !is_list).into());
        if known && !is_list {
            self.value.push_code(history, code)?;
        }
        if self.layout.lists {
            self.list(history, (known && is_list).then_some(code))?;
        }
        Ok(())
    }

    /// Levels of an optional list of optional elements: 0 no list, 1 empty, 2 nil element, 3 value.
    fn list(&mut self, history: &History, list: Option<ValueCode>) -> io::Result<()> {
        let elements = list.map(|code| history.list(code)).unwrap_or(&[]);
        if elements.is_empty() {
            self.element.defined.push(list.is_some().into());
            self.repeated.push(0);
        }
        for (place, &element) in elements.iter().enumerate() {
            let known = element != ValueCode::NIL && element != ValueCode::UNKNOWN;
            self.element.defined.push(2 + i16::from(known));
            self.repeated.push((place > 0).into());
            if known {
                self.element.push_code(history, element)?;
            }
        }
        Ok(())
    }

    /// Writes the columns in the order of the schema.
    fn write(&self, group: &mut SerializedRowGroupWriter<'_, Sink>) -> Result<(), ParquetError> {
        let layout = &self.layout;
        let nullable = |defined: &'static str| layout.nullable.contains(&defined);
        let levels = |name, defined| nullable(name).then_some(defined);
        column::<Int64Type>(group, &self.session, None, None)?;
        column::<Int64Type>(group, &self.txn, levels("txn", &self.txn_defined), None)?;
        column::<Int32Type>(group, &self.index, None, None)?;
        column::<ByteArrayType>(group, &self.status, None, None)?;
        if layout.times {
            column::<Int64Type>(group, &self.started, None, None)?;
            column::<Int64Type>(
                group,
                &self.ended,
                levels("ended", &self.ended_defined),
                None,
            )?;
        }
        column::<ByteArrayType>(group, &self.kind, levels("kind", &self.kind_defined), None)?;
        cells(group, &self.key, levels("key", &self.key.defined), None)?;
        cells(
            group,
            &self.value,
            levels("value", &self.value.defined),
            None,
        )?;
        if layout.unknown {
            column::<BoolType>(group, &self.unknown, None, None)?;
        }
        if layout.lists {
            cells(
                group,
                &self.element,
                Some(&self.element.defined),
                Some(&self.repeated),
            )?;
        }
        Ok(())
    }

    fn clear(&mut self) {
        let layout = self.layout.clone();
        let current = self.current;
        *self = Rows {
            current,
            ..Rows::new(layout)
        };
        self.key.clear();
        self.value.clear();
    }
}

fn cells(
    group: &mut SerializedRowGroupWriter<'_, Sink>,
    cells: &Cells,
    defined: Option<&Vec<i16>>,
    repeated: Option<&Vec<i16>>,
) -> Result<(), ParquetError> {
    match cells.form {
        Form::Int | Form::Unsigned => column::<Int64Type>(group, &cells.ints, defined, repeated),
        Form::Text | Form::Json => column::<ByteArrayType>(group, &cells.texts, defined, repeated),
    }
}

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Sink>,
    values: &[T::T],
    defined: Option<&Vec<i16>>,
    repeated: Option<&Vec<i16>>,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General(
            "the schema has too few columns".into(),
        ));
    };
    let writer: &mut ColumnWriterImpl<'_, T> = column.typed::<T>();
    let defined = defined.map(Vec::as_slice);
    writer.write_batch(values, defined, repeated.map(Vec::as_slice))?;
    column.close()
}
