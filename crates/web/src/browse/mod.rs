//! Histories to walk through: kept parsed, indexed once, shown in pages.

mod evidence;
mod index;
mod neighbours;
mod opened;
mod opening;
mod table;

pub(crate) use evidence::restore;
pub(crate) use neighbours::transaction;
pub use opened::Loader;
pub(crate) use opened::{Histories, Opened, Stamp};
pub use opening::Tell;
pub(crate) use table::{Filter, overview, page};

use history::{History, OpId};
use report::escape::cut;

/// So many letters of an operation are shown.
const OP_MAX: usize = 80;

/// An operation on one line.
fn op_text(history: &History, op: OpId) -> String {
    cut(&history.op_text_around(op, &[]), OP_MAX)
}
