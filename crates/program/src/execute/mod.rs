//! Programs run: the steps of a transaction, the statements on rows, and schedules on stores.

mod edges;
mod engine;
mod environment;
mod error;
mod evaluate;
mod function;
mod ground;
mod histories;
mod invariant;
mod judge;
mod levels;
mod play;
mod runner;
mod store;
mod trace;
mod value;

pub use engine::Engine;
pub use environment::ResultSet;
pub use error::ExecuteError;
pub use ground::Bound;
pub use invariant::{Broken, broken_invariants, violations};
pub(crate) use invariant::{Checks, Known};
pub(crate) use judge::orders;
pub use judge::{Appearance, Judgement, Outcome, appearance, judge, serial_outcomes};
pub use levels::allows;
pub(crate) use levels::writes_after_commits;
pub use play::{Abort, Fate, How, Play, Run, play};
pub use runner::{Call, Next, Runner};
pub use store::{
    Cell, Change, Effect, InsertedKey, Looked, Numbers, RowId, RowState, Store, View, Write,
};
pub use trace::Operation;
pub use value::default_of;
pub(crate) use value::total_order;
