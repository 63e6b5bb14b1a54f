//! Reading and writing histories, one file a format.

mod codes;
mod edn;
mod error;
mod escape;
pub mod jepsen;
mod jepsen_event;
mod jepsen_read;
mod jepsen_value;
mod jepsen_write;
pub mod jsonl;
mod jsonl_write;
pub mod parquet;
mod parquet_column;
mod parquet_group;
mod parquet_layout;
mod parquet_pages;
mod parquet_read;
mod parquet_write;

pub use error::{FormatError, Place, WriteError};
