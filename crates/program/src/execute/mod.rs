//! Programs run: the steps of a transaction, the statements on rows, and schedules on stores.

mod environment;
mod error;
mod evaluate;
mod function;
mod ground;
mod runner;
mod value;

pub use environment::ResultSet;
pub use error::ExecuteError;
pub use ground::Bound;
pub use runner::{Call, Next, Runner};
pub use value::default_of;
