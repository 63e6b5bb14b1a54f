//! What saturation found out, found out again where cycles are kept as evidence.
//!
//! Definition: a *fact* is what an edge that saturation added is about: two writers of a key, or a read and another
//! writer of its key. Given in the order in which they followed, each pair of versions has one order that closes no
//! cycle with what is certain by then, and the cycle of the other is the evidence.
//!
//! Steps: for each fact, the choice between its versions, as pruning makes it of a conflict. One that follows no
//! more, since edges from versions with very many readers are added only as they are needed, is passed over.
//!
//! Cost: a search between two events and an insertion for each fact. Source: the pruning of PolySI, only for pairs
//! that are known to lead to something.

use super::conflicts::Conflict;
use super::greedy::{self, Repair};
use super::known::Known;
use super::theory::Theory;
use crate::Budget;
use crate::budget::Limit;
use crate::observe::{Link, Observed};
use crate::op_set::OpSet;
use history::TxnId;
use rustc_hash::FxHashMap;

/// What an edge that follows is about.
#[derive(Clone, Copy, Debug)]
pub enum Fact {
    /// Of two writers of a key that may not overlap, the second cannot come first.
    Overlap { key: u32, older: u32, newer: u32 },
    /// Another writer of the key cannot come between the version that was read and the reader.
    Read {
        key: u32,
        reader: u32,
        writer: u32,
        other: u32,
    },
}

/// The budget is asked once in so many facts.
const ASK_EVERY: usize = 256;

/// Finds facts out again, as far as that goes.
pub fn replay(
    theory: &mut Theory<'_>,
    known: &Known<'_>,
    facts: &[Fact],
    budget: &Budget<'_>,
) -> Result<Repair, Limit> {
    let reads = reads_of(known.observed, facts);
    for (at, fact) in facts.iter().enumerate() {
        if at.is_multiple_of(ASK_EVERY) {
            let left = facts.len() - at;
            budget.check_at("prune", &[("implied orders left", left as u64)])?;
        }
        let conflict = match *fact {
            Fact::Overlap { key, older, newer } => Conflict::Overlap {
                key,
                first: older,
                second: newer,
            },
            Fact::Read {
                key,
                reader,
                writer,
                other,
            } => Conflict::Stale {
                read: reads[&(reader, key)],
                reader,
                key,
                writer,
                other,
            },
        };
        if greedy::settle(theory, known, conflict).is_none() {
            return Ok(Repair::Contradiction);
        }
    }
    Ok(Repair::Open)
}

/// The reads of versions that facts are about, by reader and key.
fn reads_of(observed: &Observed<'_>, facts: &[Fact]) -> FxHashMap<(u32, u32), u32> {
    let history = observed.history;
    let mut readers = OpSet::none(history.txn_count());
    for fact in facts {
        if let Fact::Read { reader, .. } = *fact {
            readers.insert(reader as usize);
        }
    }
    let mut reads = FxHashMap::default();
    for reader in history.txn_ids().filter(|txn| readers.has(txn.index())) {
        for (read, key) in settled_reads(observed, reader) {
            reads.insert((reader.0, key), read);
        }
    }
    reads
}

/// The reads of a transaction that returned a known version, with their keys.
fn settled_reads<'a>(
    observed: &'a Observed<'_>,
    reader: TxnId,
) -> impl Iterator<Item = (u32, u32)> + 'a {
    let range = observed.history.op_range(reader);
    let is_settled = |op: &usize| {
        let link = observed.links[*op];
        Link::is_txn(link) || link == Link::INITIAL
    };
    let keys = &observed.history.ops().keys;
    range
        .filter(is_settled)
        .map(move |op| (op as u32, keys[op].0))
}
