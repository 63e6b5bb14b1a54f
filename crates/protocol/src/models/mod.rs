//! The protocols, one file each.

mod buffered;
pub mod cassandra;
pub mod jessy;
pub mod paxos;
pub mod percolator;
pub mod pstore;
pub mod ramp;
pub mod rola;
pub mod snapshot;
pub mod tapir;
pub mod two_phase_locking;
mod waiting;
pub mod walter;

use crate::catalogue::Entry;
use crate::setup::Setup;

/// All of them, in the order of the table.
pub(crate) fn all() -> Vec<Entry> {
    let mut all = Vec::new();
    all.extend(ramp::entries());
    all.extend(rola::entries());
    all.extend(jessy::entries());
    all.extend(walter::entries());
    all.extend(pstore::entries());
    all.extend(cassandra::entries());
    all.extend(two_phase_locking::entries());
    all.extend(snapshot::entries());
    all.extend(percolator::entries());
    all.extend(tapir::entries());
    all.extend(paxos::entries());
    all
}

/// A setup from its one line; only for lines that stand in this crate.
fn line(text: &str) -> Setup {
    text.parse()
        .expect("a test parses every setup of the catalogue")
}
