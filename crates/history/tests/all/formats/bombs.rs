//! Small files that claim or unpack to a lot are refused before the memory is taken.

use super::{check_error, load};
use history::format::{Format, decompress, write};
use history::{Builder, Op, OpKind, Status, Value};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// A history of equal operations, which runs of dictionary codes pack into nothing.
fn equal_rows(rows: usize) -> Vec<u8> {
    let schema = "message m { required int64 session; required int64 txn; \
                  required binary kind (STRING); required int64 key; required int64 value; }";
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let one_page = WriterProperties::builder()
        .set_data_page_row_count_limit(rows)
        .set_write_batch_size(rows);
    let properties = Arc::new(one_page.build());
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema, properties).expect("a writer");
    let mut group = file.next_row_group().expect("a row group");
    let mut place = 0;
    while let Some(mut column) = group.next_column().expect("a column") {
        if place == 2 {
            let kinds = vec![ByteArray::from("w"); rows];
            let typed = column.typed::<ByteArrayType>();
            typed.write_batch(&kinds, None, None).expect("written");
        } else {
            let typed = column.typed::<Int64Type>();
            typed
                .write_batch(&vec![1; rows], None, None)
                .expect("written");
        }
        column.close().expect("closed");
        place += 1;
    }
    group.close().expect("closed");
    file.close().expect("closed");
    bytes
}

#[test]
fn a_parquet_file_of_more_rows_than_it_can_hold_is_refused() {
    let good = equal_rows(10_000);
    let loaded = load(&good, None, 1).expect("a believable file");
    assert_eq!(loaded.history.op_count(), 10_000);
    let bomb = equal_rows(2_000_000);
    assert!(bomb.len() < 4000, "{}", bomb.len());
    check_error(&bomb, Format::Parquet, "2000000 rows in");
}

#[test]
fn a_file_that_unpacks_to_too_much_is_refused() {
    let zeros = vec![0; 70 << 20];
    let zstd = zstd::bulk::compress(&zeros, 1).expect("compressed");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut encoder, &zeros).expect("compressed");
    let gzip = encoder.finish().expect("compressed");
    for bytes in [&zstd, &gzip] {
        let unpacked = decompress(bytes).map(|content| content.map(|bytes| bytes.len()));
        let error = unpacked.expect_err("a bomb").to_string();
        assert!(error.contains("unpacks to more than"), "{error}");
    }
    let small = zstd::bulk::compress(&zeros[..60 << 20], 1).expect("compressed");
    let content = decompress(&small).expect("not too much");
    assert_eq!(content.map(|bytes| bytes.len()), Some(60 << 20));
}

#[test]
fn parquet_keeps_keys_beyond_63_bits() {
    let text = "w(18446744073709551615,1,0,0)\nw(9223372036854775808,1,0,0)\nw(1,1,0,0)\n";
    let history = load(text.as_bytes(), None, 1).expect("good").history;
    let mut bytes = Vec::new();
    write(&history, Format::Parquet, &mut bytes).expect("written");
    let back = load(&bytes, None, 1).expect("good").history;
    assert_eq!(super::plain(&back), super::plain(&history));
}

#[test]
fn parquet_keeps_a_small_key_beside_large_ones() {
    let mut builder = Builder::new();
    let session = builder.session(0);
    let ops: Vec<Op> = [-1i64, i64::MAX]
        .map(|number| Op {
            kind: OpKind::Write,
            key: builder.key(&Value::from(number)),
            value: builder.value(&Value::from(u64::MAX)),
        })
        .to_vec();
    let pushed = builder.push_txn(session, 0, Status::Committed, None, &ops);
    pushed.expect("small");
    let history = builder.finish();
    let mut bytes = Vec::new();
    write(&history, Format::Parquet, &mut bytes).expect("written");
    let back = load(&bytes, None, 1).expect("good").history;
    assert_eq!(super::plain(&back), super::plain(&history));
}
