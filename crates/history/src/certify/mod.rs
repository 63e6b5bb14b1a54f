//! Re-checks evidence, without knowing who produced it.
//!
//! **What is checked.** A commit order: that it contains the right transactions, that every read
//! of theirs has a writer placed before it, and that the level's axiom (docs/levels.md) holds of
//! it. A list of anomalies: that each is what it claims to be, breaks the level asked about, and
//! that together they leave no interpretation of the history. docs/guarantees.md says what follows.
//!
//! **Steps, for an order.** `order` places the transactions; `list_reads` compares it with what lists
//! show; `walk` goes through them keeping each
//! key's last writer, so that a read of the last version needs no further look, and collects the
//! reads of older versions (*stale* ones); `versions` finds the writers of those; `visible`,
//! `session` and `causal` look for a version that such a read should have seen instead. Above
//! causal, `snapshot` walks along orders whose transactions see snapshots, and `parallel` follows
//! dependencies where there is no single snapshot.
//!
//! **Steps, for anomalies.** `facts` gathers the writers of every value that the evidence mentions
//! in one pass; `single` and `lists` re-check anomalies of single reads, `cycle` those that are
//! cycles;
//! `choices` goes through the writers that ambiguous reads can have. Above causal, where version
//! orders are not known, `alternatives` re-checks cycles under premises, `shape` knows which the
//! levels forbid, `premises` makes clauses of them, and `refute` shows that nothing satisfies those.
//!
//! **Cost.** Linear in the history, and O(m^1.5) or O(m·sessions) in the stale reads m. Anomalies:
//! two passes over the history.
//!
//! `elements` writes sets and counters out as registers before all that.
//!
//! Nothing here is shared with the definitions or with any engine, on purpose.

mod alternatives;
mod causal;
mod choices;
mod cycle;
mod elements;
mod facts;
mod key_order;
mod last_writers;
mod list_reads;
mod lists;
mod newest;
mod order;
mod parallel;
mod premises;
mod read;
mod refute;
mod session;
mod shape;
mod single;
mod snapshot;
mod versions;
mod visible;
mod walk;

use crate::{Anomaly, History, Initial, KeyOrder, Level, LevelResult, OpKind, TxnId, Verdict};
use std::fmt;

/// Why evidence was not accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    reason: String,
}

impl Refusal {
    fn new(reason: impl Into<String>) -> Refusal {
        Refusal {
            reason: reason.into(),
        }
    }

    /// Which part of the evidence is wrong, in words.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Refusal {}

/// Leaves with a refusal unless the condition holds.
macro_rules! require {
    ($condition:expr, $($words:tt)*) => {
        if !$condition {
            return Err($crate::certify::Refusal::new(format!($($words)*)));
        }
    };
}
use require;

/// Re-checks the evidence of a verdict. `Ok` means that the evidence proves the verdict.
pub fn certify(history: &History, initial: &Initial, result: &LevelResult) -> Result<(), Refusal> {
    certify_assuming(history, initial, KeyOrder::Free, result)
}

/// The same for a verdict that takes something for granted of each key.
pub fn certify_assuming(
    history: &History,
    initial: &Initial,
    keys: KeyOrder,
    result: &LevelResult,
) -> Result<(), Refusal> {
    if elements::is_needed(history) {
        require!(
            keys == KeyOrder::Free,
            "nothing is taken for granted of keys in a history with sets or counters"
        );
        return elements::certify(history, initial, result);
    }
    require_one_use(history)?;
    match &result.verdict {
        Verdict::Holds(order) => {
            key_order::check_order(history, initial, keys, order)?;
            certify_order(history, initial, result.level, order)
        }
        Verdict::Violated(anomalies) => {
            choices::certify_anomalies(history, initial, keys, result.level, anomalies)
        }
        Verdict::Unknown(_) => Err(Refusal::new("an unknown verdict has no evidence to check")),
    }
}

/// Refuses a history with a key that is both a list and a register: no level is defined for it.
fn require_one_use(history: &History) -> Result<(), Refusal> {
    let mut is_list: Vec<Option<bool>> = vec![None; history.keys().limit()];
    let ops = history.ops();
    for (kind, &key) in ops.kinds.iter().zip(&ops.keys) {
        let found = matches!(kind, OpKind::Append | OpKind::ReadList);
        require!(
            *is_list[key.index()].get_or_insert(found) == found,
            "{} is used both as a list and as a register, which no level is defined for",
            history.key_name(key)
        );
    }
    Ok(())
}

/// Re-checks that what is assumed of each key contradicts the history: the versions of a key go in
/// a circle, or one comes before the initial version.
pub fn certify_cyclic_versions(
    history: &History,
    initial: &Initial,
    keys: KeyOrder,
    anomaly: &Anomaly,
) -> Result<(), Refusal> {
    let anomalies = std::slice::from_ref(anomaly);
    let level = Level::ReadUncommitted;
    let facts = facts::Facts::gather(history, initial, keys, level, anomalies);
    key_order::check_circle(&facts, anomaly)
}

fn certify_order(
    history: &History,
    initial: &Initial,
    level: Level,
    evidence: &crate::CommitOrder,
) -> Result<(), Refusal> {
    let order = order::Order::check(history, evidence)?;
    let is_weak = Level::WEAK.contains(&level);
    list_reads::check(history, &order, level)?;
    if !is_weak {
        return certify_strong_order(history, initial, level, &order, evidence);
    }
    if level == Level::ReadUncommitted {
        return Ok(());
    }
    order.check_sessions(history)?;
    let mut walk = walk::walk(history, initial, &order, evidence, level)?;
    let versions = versions::Versions::find(history, &order, &mut walk)?;
    if matches!(level, Level::CursorStability | Level::UpdateAtomic) {
        versions.check_lost_updates(history, &order, &walk)?;
    }
    visible::check(history, &order, &walk, &versions, level)
}

fn certify_strong_order(
    history: &History,
    initial: &Initial,
    level: Level,
    order: &order::Order<'_>,
    evidence: &crate::CommitOrder,
) -> Result<(), Refusal> {
    // An order of snapshots may be used again for a level that has none: then it has to prove
    // the weakest level with snapshots that implies the one asked about.
    let with_snapshots = match level {
        _ if snapshot::takes_snapshots(level) => Some(level),
        _ if evidence.snapshots.is_empty() => None,
        Level::ParallelSnapshotIsolation => Some(Level::StrongSessionSnapshotIsolation),
        _ => Some(Level::SnapshotIsolation),
    };
    match with_snapshots {
        Some(level) => snapshot::check(history, initial, level, order, evidence),
        None => parallel::check(history, initial, level, order, evidence),
    }
}

/// The name of a transaction in a refusal; evidence may name transactions that do not exist.
fn name(history: &History, txn: TxnId) -> String {
    if txn == TxnId::INITIAL {
        "the initial transaction".to_string()
    } else if txn.index() < history.txn_count() {
        history.txn_name(txn)
    } else {
        format!("transaction number {}, which does not exist,", txn.0)
    }
}
