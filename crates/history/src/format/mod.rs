//! Reading and writing histories, one file a format.

mod error;

pub use error::{FormatError, Place, WriteError};
