//! Which histories the definitions speak about.

use super::interpretation::TXNS_MAX;
use crate::{History, KeyId, OpKind, Status, ValueCode};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Why the definitions give no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OutOfScope {
    /// More transactions than orders of them can be enumerated.
    TooManyTransactions {
        /// The transactions that are not aborted.
        count: usize,
        /// How many of them there may be.
        limit: usize,
    },
    /// More operations than brute force should be used for.
    TooManyOperations {
        /// How many there may be.
        limit: usize,
    },
    /// More combinations of indeterminate transactions and ambiguous reads than can be enumerated.
    TooManyInterpretations,
    /// A set or a counter is also used as something else, or a counter is not about numbers.
    SetsOrCounters,
    /// An element was appended twice to a list, or a list was written like a register.
    UnrecoverableLists,
    /// The patterns are defined for registers whose transactions all ended and whose writes to a
    /// key are all different.
    NoPatterns,
}

impl fmt::Display for OutOfScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OutOfScope::TooManyTransactions { count, limit } => write!(
                f,
                "the definitions take at most {limit} transactions that did not abort, not {count}"
            ),
            OutOfScope::TooManyOperations { limit } => {
                write!(f, "the definitions take at most {limit} operations")
            }
            OutOfScope::TooManyInterpretations => f.write_str(
                "indeterminate transactions and ambiguous reads combine in too many ways",
            ),
            OutOfScope::SetsOrCounters => {
                f.write_str("a key is used as different datatypes, or a counter without numbers")
            }
            OutOfScope::UnrecoverableLists => f.write_str(
                "an element is appended twice to a list, or a list is used as a register",
            ),
            OutOfScope::NoPatterns => f.write_str(
                "patterns are defined for registers with unique values and known outcomes",
            ),
        }
    }
}

impl std::error::Error for OutOfScope {}

const OPS_MAX: usize = 512;

/// Refuses a history that the definitions do not speak about.
pub(super) fn check(history: &History) -> Result<(), OutOfScope> {
    let count = history
        .txns()
        .iter()
        .filter(|txn| txn.status != Status::Aborted)
        .count();
    if count > TXNS_MAX {
        let limit = TXNS_MAX;
        return Err(OutOfScope::TooManyTransactions { count, limit });
    }
    if history.op_count() > OPS_MAX {
        return Err(OutOfScope::TooManyOperations { limit: OPS_MAX });
    }
    let undefined = |kind: &OpKind| !is_register(*kind) && !is_list(*kind);
    if history.ops().kinds.iter().any(undefined) {
        return Err(OutOfScope::SetsOrCounters);
    }
    if lists_are_recoverable(history) {
        Ok(())
    } else {
        Err(OutOfScope::UnrecoverableLists)
    }
}

pub(super) fn is_register(kind: OpKind) -> bool {
    matches!(kind, OpKind::Read | OpKind::Write)
}

pub(super) fn is_list(kind: OpKind) -> bool {
    matches!(kind, OpKind::Append | OpKind::ReadList)
}

/// Whether a key is used as a list or as a register but not both, and no element is appended twice
/// to a key.
fn lists_are_recoverable(history: &History) -> bool {
    let mut appended: BTreeSet<(KeyId, ValueCode)> = BTreeSet::new();
    let mut used_as_list: BTreeMap<KeyId, bool> = BTreeMap::new();
    for txn in history.txn_ids() {
        for (_, op) in history.txn_ops(txn) {
            if *used_as_list.entry(op.key).or_insert(is_list(op.kind)) != is_list(op.kind) {
                return false;
            }
            if op.kind == OpKind::Append && !appended.insert((op.key, op.value)) {
                return false;
            }
        }
    }
    true
}
