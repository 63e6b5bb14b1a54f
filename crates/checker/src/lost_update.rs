//! Lost updates: two transactions that read the same version of a key and both overwrite it.
//!
//! Steps: list every (key, version, transaction) where the transaction reads the version
//! externally and writes the key; sort; neighbours with the same key and version are instances.
//! Cost: O(m log m) for m such reads.

use crate::observe::{Link, Observed};
use crate::stamped::StampedMap;
use history::{Anomaly, AnomalyKind, Edge, EdgeKind, KeyId, Level, OpId, TxnId};

/// A transaction that read a version and overwrote it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Update {
    key: u32,
    version: u32,
    txn: u32,
    read: u32,
    write: u32,
}

/// Whether a weak level forbids them besides what its rule does.
pub fn is_forbidden(level: Level) -> bool {
    matches!(level, Level::CursorStability | Level::UpdateAtomic)
}

fn updates(observed: &Observed<'_>) -> Vec<Update> {
    let mut updates = Vec::new();
    let mut written = StampedMap::new();
    for txn in observed
        .history
        .txn_ids()
        .filter(|txn| observed.taken[txn.index()])
    {
        let range = observed.history.op_range(txn);
        let has_read = observed.links[range.clone()]
            .iter()
            .any(|&link| Link::is_txn(link) || link == Link::INITIAL);
        if !has_read {
            continue;
        }
        written.reset(range.len());
        for (op, key) in observed.writes(txn) {
            written.insert(key.0, op.0);
        }
        for op in range {
            let (link, key) = (observed.links[op], observed.history.ops().keys[op].0);
            if (Link::is_txn(link) || link == Link::INITIAL)
                && let Some(write) = written.get(key)
            {
                updates.push(Update {
                    key,
                    version: link,
                    txn: txn.0,
                    read: op as u32,
                    write,
                });
            }
        }
    }
    updates.sort_unstable();
    updates.dedup_by_key(|update| (update.key, update.version, update.txn));
    updates
}

/// The lost updates of a history, counted, with the first one shown.
pub fn find(observed: &Observed<'_>) -> Option<Anomaly> {
    let updates = updates(observed);
    let same = |a: &Update, b: &Update| a.key == b.key && a.version == b.version;
    let mut lost = updates.windows(2).filter(|pair| same(&pair[0], &pair[1]));
    let first = lost.next()?;
    let count = 1 + lost.count() as u64;
    let (a, b) = (first[0], first[1]);
    let edge = |reader: Update, writer: Update| Edge {
        from: TxnId(reader.txn),
        to: TxnId(writer.txn),
        kind: EdgeKind::Rw,
        key: Some(KeyId(reader.key)),
        from_op: Some(OpId(reader.read)),
        to_op: Some(OpId(writer.write)),
        because: None,
    };
    Some(Anomaly {
        kind: AnomalyKind::LostUpdate,
        count,
        transactions: vec![TxnId(a.txn), TxnId(b.txn)],
        ops: vec![OpId(a.read), OpId(a.write), OpId(b.read), OpId(b.write)],
        edges: vec![edge(a, b), edge(b, a)],
        otherwise: Vec::new(),
        assuming: Vec::new(),
        explanation: String::new(),
    })
}
