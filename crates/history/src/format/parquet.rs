//! Isolde's columnar format: a Parquet file with one row an operation, for histories of any size
//! and for DuckDB, Polars and pandas.
//!
//! Columns: `session` (integer), `txn` (the label; null without one), `txn_index` (0, 1, … session
//! by session), `status`, `started` and `ended` (only with times; a null `ended` is never), `kind`,
//! `key`, `value` (null is nil), `unknown` (only if some results are unknown) and `list` (only if
//! lists or sets were read). A transaction without operations is one row with a null `kind`. Keys,
//! values and elements are integers if all are, text if all are, and JSON text otherwise, so that 12
//! and "12" stay apart. Rows of one transaction lie together, in program order.
//!
//! Cost: integers are delta-packed and small vocabularies are dictionaries, both decoded here from
//! the pages (`parquet_column`); any other encoding goes through the parquet crate, more slowly.
//! Memory while reading: the history and one row group.

use super::{Format, FormatError, Place, WriteError, holds, parquet_read, parquet_write};
use crate::History;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Reads a Parquet file. There is nothing to note: it is read whole or refused. Damage of some kinds
/// is found by a panic within, which is caught, but is seen by the panic hook.
pub fn read(bytes: &[u8], _notes: &mut Vec<String>) -> Result<History, FormatError> {
    // The parquet crate returns errors for most damage, but asserts its way through some corrupt
    // pages and levels; a damaged file must never take the program down. Sizes are looked at before
    // (`parquet_header`), since a failed allocation cannot be caught. A panic that is caught here has
    // passed the program's panic hook, which prints it unless the program set another: a library
    // must not replace the hook for everybody, and the lines do no harm beside the error.
    let read = catch_unwind(AssertUnwindSafe(|| parquet_read::read(bytes)));
    read.unwrap_or_else(|_| Err(damaged("a page contradicts its header")))
}

/// Writes a Parquet file; it holds everything a history holds.
pub fn write(history: &History, out: &mut dyn Write) -> Result<(), WriteError> {
    holds::sound(history, Format::Parquet)?;
    parquet_write::write(history, out)
}

/// The error for a file that is Parquet but broken.
pub(super) fn damaged(what: impl std::fmt::Display) -> FormatError {
    FormatError::new(Place::Whole, format!("the Parquet file is damaged: {what}"))
        .hint("was the file copied completely? Write it again from its source")
}

/// Rows a row group has at most, to bound the memory of writing and reading. Reading is about as fast
/// with larger groups, because the decode buffers are kept from group to group (`Pool`).
pub(super) const GROUP_ROWS: usize = 1 << 17;

/// Rows that a row group of a foreign file may have: its columns are decoded all at once.
pub(super) const FOREIGN_GROUP_ROWS_MAX: usize = 1 << 26;

/// Rows, or elements of lists, that a file can be believed to have. Runs of equal values cost next
/// to nothing, so the format itself knows no limit; but every row group of this crate has 2¹⁷ rows
/// and some thousand bytes of metadata, and the most regular history of a foreign writer has rarely
/// more than a few rows a byte. Beyond that the file is made to fill the memory.
pub(super) fn rows_max(file: &[u8]) -> u64 {
    file.len() as u64 * 256
}

/// How keys, values or elements are spelled in a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// Integers of 64 bits.
    Int,
    /// The same, unsigned.
    Unsigned,
    /// Text as it is.
    Text,
    /// JSON: bare integers and quoted text.
    Json,
}
