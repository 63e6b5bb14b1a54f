//! Which columns a history needs and how they are encoded.

use super::parquet::Form;
use crate::{History, Interval, KeyTable, UNLABELLED, Value, ValueCode};
use ::parquet::basic::{Compression, Encoding};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::schema::parser::parse_message_type;
use ::parquet::schema::types::{ColumnPath, TypePtr};
use std::sync::Arc;

/// The name under which the session numbers are kept when a session has no transaction.
pub(super) const SESSIONS: &str = "isolde.sessions";

/// The shape of the file.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Whether there are times.
    pub times: bool,
    /// Whether there are unknown results.
    pub unknown: bool,
    /// Whether lists or sets were read.
    pub lists: bool,
    /// How keys are spelled.
    pub key: Form,
    /// How values are spelled.
    pub value: Form,
    /// How elements of lists are spelled.
    pub element: Form,
    /// The columns with nulls; the others are required, which spares readers the levels.
    pub nullable: Vec<&'static str>,
}

/// Collects which values occur in a column.
#[derive(Default)]
struct Span {
    least: i128,
    greatest: i128,
    ints: bool,
    texts: bool,
}

impl Span {
    fn add(&mut self, value: &Value) {
        match value {
            Value::Nil => {}
            Value::Int(number) => {
                self.ints = true;
                self.least = self.least.min(*number);
                self.greatest = self.greatest.max(*number);
            }
            Value::Text(_) => self.texts = true,
        }
    }

    fn form(&self) -> Form {
        let signed = self.least >= i64::MIN.into() && self.greatest <= i64::MAX.into();
        let unsigned = self.least >= 0 && self.greatest <= u64::MAX.into();
        match (self.ints, self.texts) {
            (false, true) => Form::Text,
            (_, false) if signed => Form::Int,
            (_, false) if unsigned => Form::Unsigned,
            _ => Form::Json,
        }
    }
}

impl Layout {
    /// The layout a history needs. One pass over the operations.
    pub fn of(history: &History) -> Layout {
        let mut keys = Span::default();
        let mut nil_key = false;
        match history.keys() {
            KeyTable::Dense { .. } => keys.ints = true,
            KeyTable::Sorted { numbers } => {
                let ends = numbers.first().into_iter().chain(numbers.last());
                ends.for_each(|&number| keys.add(&Value::from(number)));
            }
            KeyTable::Named { names, .. } => {
                names.iter().for_each(|name| keys.add(name));
                nil_key = names.contains(&Value::Nil);
            }
        }
        let (mut values, mut elements) = (Span::default(), Span::default());
        let (mut unknown, mut lists, mut null_value) = (false, false, false);
        let add = |span: &mut Span, code: ValueCode| {
            if code.0 < ValueCode::SMALL_LIMIT {
                span.ints = true;
            } else {
                span.add(&history.value(code));
            }
        };
        let ops = history.ops();
        for (kind, &value) in ops.kinds.iter().zip(&ops.values) {
            unknown |= value == ValueCode::UNKNOWN;
            if kind.reads_list() {
                (lists, null_value) = (true, true);
                let list = history.list(value);
                list.iter().for_each(|&code| add(&mut elements, code));
            } else if value == ValueCode::UNKNOWN || value == ValueCode::NIL {
                null_value = true;
            } else {
                add(&mut values, value);
            }
        }
        let empty = history.txns().iter().any(|txn| txn.op_count == 0);
        let mut ends = history.intervals.iter().flatten();
        let columns = [
            (
                "txn",
                history.txns().iter().any(|txn| txn.label == UNLABELLED),
            ),
            (
                "ended",
                ends.any(|interval| interval.end == Interval::NEVER),
            ),
            ("kind", empty),
            ("key", empty || nil_key),
            ("value", empty || null_value),
        ];
        Layout {
            times: history.has_intervals(),
            unknown,
            lists,
            key: keys.form(),
            value: values.form(),
            element: elements.form(),
            nullable: columns
                .iter()
                .filter(|(_, null)| *null)
                .map(|(name, _)| *name)
                .collect(),
        }
    }

    /// The schema, in the columns' order.
    pub fn schema(&self) -> Result<TypePtr, ParquetError> {
        let need = |name| {
            if self.nullable.contains(&name) {
                "optional"
            } else {
                "required"
            }
        };
        let cell = |form, name: &str| match form {
            Form::Int => format!("int64 {name};"),
            Form::Unsigned => format!("int64 {name} (INTEGER(64,false));"),
            Form::Text => format!("binary {name} (STRING);"),
            Form::Json => format!("binary {name} (JSON);"),
        };
        let mut text = format!(
            "message history {{ required int64 session; {} int64 txn (INTEGER(64,false)); \
             required int32 txn_index; required binary status (STRING); ",
            need("txn")
        );
        if self.times {
            text += &format!("required int64 started; {} int64 ended; ", need("ended"));
        }
        text += &format!("{} binary kind (STRING); ", need("kind"));
        text += &format!("{} {} ", need("key"), cell(self.key, "key"));
        text += &format!("{} {} ", need("value"), cell(self.value, "value"));
        if self.unknown {
            text += "required boolean unknown; ";
        }
        if self.lists {
            let element = cell(self.element, "element");
            text += "optional group list (LIST) { repeated group list { optional ";
            text += &format!("{element} }} }} ");
        }
        text += "}";
        parse_message_type(&text).map(Arc::new)
    }

    /// Encodings, compression and the file's own metadata.
    pub fn properties(&self, history: &History) -> WriterProperties {
        let mut metadata = vec![KeyValue::new("isolde.version".to_string(), "1".to_string())];
        let is_empty = |session| history.session_txns(session).is_empty();
        if history.sessions().any(is_empty) {
            let labels = history
                .sessions()
                .map(|s| history.session_label(s).to_string());
            let labels: Vec<String> = labels.collect();
            metadata.push(KeyValue::new(SESSIONS.to_string(), labels.join(",")));
        }
        let path = ColumnPath::from;
        let mut properties = WriterProperties::builder()
            .set_created_by("isolde".into())
            .set_key_value_metadata(Some(metadata))
            .set_compression(Compression::LZ4_RAW)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_data_page_row_count_limit(1 << 17)
            .set_dictionary_enabled(false);
        for name in ["session", "status", "kind"] {
            properties = properties.set_column_dictionary_enabled(path(name), true);
        }
        for name in ["session", "txn", "txn_index", "started", "ended"] {
            properties = properties.set_column_encoding(path(name), Encoding::DELTA_BINARY_PACKED);
        }
        let element = ColumnPath::new(["list", "list", "element"].map(String::from).to_vec());
        let cells = [
            (path("key"), self.key),
            (path("value"), self.value),
            (element, self.element),
        ];
        for (path, form) in cells {
            properties = match form {
                Form::Int | Form::Unsigned => properties
                    .set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED)
                    .set_column_compression(path, Compression::UNCOMPRESSED),
                Form::Text | Form::Json => properties.set_column_dictionary_enabled(path, true),
            };
        }
        properties.build()
    }
}
