//! One column of one row group, decoded.
//!
//! Dictionary pages of small vocabularies (`kind`, `status`, `session`) are decoded here as runs of
//! codes, because the parquet crate clones a reference-counted string a row. Everything else, and
//! every encoding this crate does not write, goes through the parquet crate's own reader.

use super::FormatError;
use super::parquet::{damaged, rows_max};
use super::parquet_header::check_pages;
use super::parquet_pages::{self, Codes, Pool};
use ::parquet::basic::{Compression, ConvertedType, Type};
use ::parquet::column::page::PageReader;
use ::parquet::column::reader::{get_column_reader, get_typed_column_reader};
use ::parquet::data_type::{BoolType, ByteArrayType, DataType, Int32Type, Int64Type};
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::reader::{ChunkReader, Length};
use ::parquet::file::serialized_reader::SerializedPageReader;
use ::parquet::schema::types::ColumnDescPtr;
use bytes::{Buf, Bytes};
use std::collections::HashMap;
use std::sync::Arc;

/// A part of the file, owned, at its place: the parquet crate's readers want no borrows.
pub(super) struct Part {
    start: u64,
    bytes: Bytes,
}

impl Part {
    /// Copies `length` bytes from `start` on.
    pub fn copy(file: &[u8], start: u64, length: u64) -> Option<Part> {
        let from = usize::try_from(start).ok()?;
        let to = from.checked_add(usize::try_from(length).ok()?)?;
        let bytes = Bytes::copy_from_slice(file.get(from..to)?);
        Some(Part { start, bytes })
    }

    fn slice(&self, start: u64, length: Option<usize>) -> ParquetResult<Bytes> {
        let beyond = || ParquetError::EOF("a page lies outside its column".into());
        let from = start.checked_sub(self.start).ok_or_else(beyond)?;
        let from = usize::try_from(from).map_err(|_| beyond())?;
        let to = match length {
            Some(length) => from.checked_add(length).ok_or_else(beyond)?,
            None => self.bytes.len(),
        };
        if from > to || to > self.bytes.len() {
            return Err(beyond());
        }
        Ok(self.bytes.slice(from..to))
    }
}

impl Length for Part {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for Part {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(self.slice(start, None)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.slice(start, Some(length))
    }
}

/// A column of a row group, not yet decoded.
pub(super) struct Column<'a> {
    /// The whole file.
    pub file: &'a [u8],
    /// The row group.
    pub group: &'a RowGroupMetaData,
    /// Buffers to decode into.
    pub pool: &'a Pool,
    /// Which column.
    pub index: usize,
    /// Its name, for messages.
    pub name: &'static str,
}

/// Values of a column that are there, and which rows have one (all, if `defined` is empty).
#[derive(Default)]
pub(super) struct Filled<T> {
    /// The values; one a row after [`Filled::spread`].
    pub values: Vec<T>,
    /// The definition level of each entry, or empty.
    pub defined: Vec<i16>,
    /// The repetition level of each entry, or empty.
    pub repeated: Vec<i16>,
}

impl<T: Copy + Default> Filled<T> {
    /// Puts values where their rows are, and a default where a row has none.
    pub fn spread(&mut self, full: i16) {
        if self.defined.is_empty() {
            return;
        }
        let mut next = self.values.iter();
        let place = |&level: &i16| match level == full {
            true => next.next().copied().unwrap_or_default(),
            false => T::default(),
        };
        self.values = self.defined.iter().map(place).collect();
    }

    /// The value of a row after [`Filled::spread`].
    #[inline]
    pub fn get(&self, row: usize) -> Option<T> {
        let missing = self.defined.get(row) == Some(&0);
        (!missing).then(|| self.values[row])
    }
}

/// A text column: each row a code into `words`.
#[derive(Default)]
pub(super) struct Words {
    /// The different texts.
    pub words: Vec<String>,
    /// The rows.
    pub codes: Filled<u32>,
}

/// Decodes pages, of a column that is nullable or not, with so many rows; or gives up.
type Decode<T> = fn(&mut dyn PageReader, &Pool, bool, usize) -> ParquetResult<Option<Filled<T>>>;

impl Column<'_> {
    fn descriptor(&self) -> ColumnDescPtr {
        self.group.column(self.index).column_descr_ptr()
    }

    /// The definition level of a value that is there.
    pub fn full_level(&self) -> i16 {
        self.descriptor().max_def_level()
    }

    /// Whether integers are to be taken as unsigned.
    pub fn is_unsigned(&self) -> bool {
        let kind = self.descriptor().converted_type();
        kind == ConvertedType::UINT_64 || kind == ConvertedType::UINT_32
    }

    /// Whether texts are JSON.
    pub fn is_json(&self) -> bool {
        self.descriptor().converted_type() == ConvertedType::JSON
    }

    /// Whether the column holds integers, or else texts.
    pub fn is_int(&self) -> bool {
        matches!(self.descriptor().physical_type(), Type::INT32 | Type::INT64)
    }

    fn wrong_type(&self, expected: &str) -> FormatError {
        let found = self.descriptor().physical_type();
        FormatError::new(
            super::Place::Whole,
            format!(
                "expected {expected} in column `{}`, found {found}",
                self.name
            ),
        )
    }

    fn pages(&self) -> Result<SerializedPageReader<Part>, FormatError> {
        let chunk = self.group.column(self.index);
        let known = [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::LZ4_RAW,
        ];
        if !known.contains(&chunk.compression()) && chunk.compression() != Compression::LZ4 {
            let problem = format!(
                "column `{}` is compressed with {}",
                self.name,
                chunk.compression()
            );
            return Err(FormatError::new(super::Place::Whole, problem)
                .hint("write the file with compression snappy, lz4_raw or none"));
        }
        let start = chunk
            .dictionary_page_offset()
            .unwrap_or(chunk.data_page_offset());
        let length = chunk.compressed_size();
        let part = match (u64::try_from(start), u64::try_from(length)) {
            (Ok(start), Ok(length)) => Part::copy(self.file, start, length),
            _ => None,
        };
        let Some(part) = part else {
            return Err(damaged(format!(
                "column `{}` lies outside the file",
                self.name
            )));
        };
        let compressed = chunk.compression() != Compression::UNCOMPRESSED;
        check_pages(&part.bytes, compressed, rows_max(self.file))
            .map_err(|problem| damaged(format!("column `{}`: {problem}", self.name)))?;
        let rows = usize::try_from(self.group.num_rows()).map_err(damaged)?;
        SerializedPageReader::new(Arc::new(part), chunk, rows, None).map_err(damaged)
    }

    fn generic<T: DataType>(&self) -> Result<Filled<T::T>, FormatError> {
        let descriptor = self.descriptor();
        let pages: Box<dyn PageReader> = Box::new(self.pages()?);
        let reader = get_column_reader(descriptor.clone(), pages);
        let mut reader = get_typed_column_reader::<T>(reader);
        let rows = usize::try_from(self.group.num_rows()).map_err(damaged)?;
        let (mut values, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
        let mut read_rows = 0;
        while read_rows < rows {
            let (records, _, _) = reader
                .read_records(
                    rows - read_rows,
                    (descriptor.max_def_level() > 0).then_some(&mut defined),
                    (descriptor.max_rep_level() > 0).then_some(&mut repeated),
                    &mut values,
                )
                .map_err(damaged)?;
            if records == 0 {
                return Err(damaged(format!("column `{}` has too few rows", self.name)));
            }
            read_rows += records;
        }
        Ok(Filled {
            values,
            defined,
            repeated,
        })
    }

    /// The integers of the column.
    pub fn ints(&self) -> Result<Filled<i64>, FormatError> {
        match self.descriptor().physical_type() {
            Type::INT64 => match self.fast(parquet_pages::ints)? {
                Some(filled) => Ok(filled),
                None => self.generic::<Int64Type>(),
            },
            Type::INT32 => {
                let unsigned = self.is_unsigned();
                if !unsigned && let Some(filled) = self.fast(parquet_pages::short_ints)? {
                    return Ok(filled);
                }
                let narrow = self.generic::<Int32Type>()?;
                let widen = |&number: &i32| match unsigned {
                    true => i64::from(number as u32),
                    false => number.into(),
                };
                Ok(Filled {
                    values: narrow.values.iter().map(widen).collect(),
                    defined: narrow.defined,
                    repeated: narrow.repeated,
                })
            }
            _ => Err(self.wrong_type("integers")),
        }
    }

    /// Decodes the pages here if all are encoded as this crate writes them.
    fn fast<T>(&self, decode: Decode<T>) -> Result<Option<Filled<T>>, FormatError> {
        let descriptor = self.descriptor();
        let levels = (descriptor.max_def_level(), descriptor.max_rep_level());
        let nullable = match levels {
            (0, 0) => false,
            (1, 0) => true,
            _ => return Ok(None),
        };
        let rows = usize::try_from(self.group.num_rows()).map_err(damaged)?;
        decode(&mut self.pages()?, self.pool, nullable, rows).map_err(damaged)
    }

    /// The truth values of the column.
    pub fn bools(&self) -> Result<Filled<bool>, FormatError> {
        match self.descriptor().physical_type() {
            Type::BOOLEAN => self.generic::<BoolType>(),
            _ => Err(self.wrong_type("truth values")),
        }
    }

    /// The texts of the column.
    pub fn words(&self) -> Result<Words, FormatError> {
        if self.descriptor().physical_type() != Type::BYTE_ARRAY {
            return Err(self.wrong_type("texts"));
        }
        if let Some(codes) = self.fast(parquet_pages::codes)? {
            let (words, codes) = split(codes)?;
            return Ok(Words { words, codes });
        }
        let filled = self.generic::<ByteArrayType>()?;
        let mut ids: HashMap<&[u8], u32> = HashMap::new();
        let mut words = Vec::new();
        let mut codes = Vec::with_capacity(filled.values.len());
        for text in &filled.values {
            let next = words.len() as u32;
            let id = *ids.entry(text.data()).or_insert(next);
            if id == next {
                words.push(text.as_utf8().map_err(damaged)?.to_string());
            }
            codes.push(id);
        }
        let codes = Filled {
            values: codes,
            defined: filled.defined,
            repeated: filled.repeated,
        };
        Ok(Words { words, codes })
    }
}

fn split(codes: Filled<Codes>) -> Result<(Vec<String>, Filled<u32>), FormatError> {
    let mut all = codes.values;
    let Some(Codes {
        words,
        codes: values,
    }) = all.pop()
    else {
        return Ok((Vec::new(), Filled::default()));
    };
    Ok((
        words,
        Filled {
            values,
            defined: codes.defined,
            repeated: codes.repeated,
        },
    ))
}
