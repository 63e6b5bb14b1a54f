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

pub use error::{FormatError, Place, WriteError};
