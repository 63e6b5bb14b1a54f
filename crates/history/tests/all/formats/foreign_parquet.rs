//! Parquet files of others, with what a history cannot hold.

use super::check_error;
use history::format::Format;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// What a column holds.
enum Cell<'a> {
    Int(i64),
    Word(&'a str),
    Bool(bool),
}

/// A file of one write, transaction 7 of session 3.
fn one_write(value_type: &str, value: Cell<'_>, times: (i64, i64), unknown: bool) -> Vec<u8> {
    one_operation("w", value_type, value, times, unknown)
}

/// A file of one operation, transaction 7 of session 3.
fn one_operation(
    kind: &str,
    value_type: &str,
    value: Cell<'_>,
    times: (i64, i64),
    unknown: bool,
) -> Vec<u8> {
    let schema = format!(
        "message m {{ required int64 session; required int64 txn; required int64 started; \
         required int64 ended; required binary kind (STRING); required int64 key; \
         required {value_type}; required boolean unknown; }}"
    );
    let schema = Arc::new(parse_message_type(&schema).expect("a schema"));
    let cells = [
        Cell::Int(3),
        Cell::Int(7),
        Cell::Int(times.0),
        Cell::Int(times.1),
        Cell::Word(kind),
        Cell::Int(1),
        value,
        Cell::Bool(unknown),
    ];
    let properties = Arc::new(WriterProperties::builder().build());
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema, properties).expect("a writer");
    let mut group = file.next_row_group().expect("a row group");
    for cell in cells {
        let mut column = group.next_column().expect("a column").expect("one more");
        let written = match cell {
            Cell::Int(number) => {
                let typed = column.typed::<Int64Type>();
                typed.write_batch(&[number], None, None)
            }
            Cell::Word(word) => {
                let typed = column.typed::<ByteArrayType>();
                typed.write_batch(&[ByteArray::from(word)], None, None)
            }
            Cell::Bool(truth) => {
                let typed = column.typed::<BoolType>();
                typed.write_batch(&[truth], None, None)
            }
        };
        written.expect("written");
        column.close().expect("closed");
    }
    group.close().expect("closed");
    file.close().expect("closed");
    bytes
}

#[test]
fn what_a_history_cannot_hold_is_refused() {
    let number = || Cell::Int(5);
    let good = one_write("int64 value", number(), (1, 2), false);
    let loaded = super::load(&good, None, 1).expect("a good file");
    assert_eq!(loaded.history.op_text(history::OpId(0)), "w(1, 5)");
    let backward = one_write("int64 value", number(), (9, 3), false);
    let expected = "transaction 7 of session 3 ended at 3, before it started at 9";
    check_error(&backward, Format::Parquet, expected);
    let unknown = one_write("int64 value", number(), (1, 2), true);
    check_error(&unknown, Format::Parquet, "a write is `unknown`");
    let fraction = one_write("binary value (JSON)", Cell::Word("2.0"), (1, 2), false);
    check_error(&fraction, Format::Parquet, "an integer, a text or null");
}

/// A value is no list: without a column of lists, a read of one has nothing to show.
#[test]
fn a_list_without_its_column_is_refused() {
    for kind in ["rlist", "rset"] {
        let bytes = one_operation(kind, "int64 value", Cell::Int(5), (1, 2), false);
        let expected = "a list was read, and there is no column `list`";
        check_error(&bytes, Format::Parquet, expected);
    }
}
