//! The protocols, one file each.

mod buffered;
pub mod percolator;
pub mod snapshot;
pub mod two_phase_locking;

use crate::catalogue::Entry;

/// All of them, in the order of the table.
pub(crate) fn all() -> Vec<Entry> {
    let mut all = Vec::new();
    all.extend(two_phase_locking::entries());
    all.extend(snapshot::entries());
    all.extend(percolator::entries());
    all
}
