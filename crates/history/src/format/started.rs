//! Transactions of JSON lines that have started and whose outcome has not come yet, at most one a
//! session.

use super::jsonl::Line;
use crate::{Builder, Op};
use std::collections::BTreeMap;

/// A line and its operations, each with the version number that the database gave it.
pub type Parked = (Line, Vec<(Op, Option<u64>)>);

/// The transactions under way, by the label of their session.
#[derive(Default)]
pub struct Started {
    parked: BTreeMap<i64, Parked>,
}

impl Started {
    /// Keeps a transaction that has started; returns the one that its session had under way.
    pub fn park(&mut self, session: i64, parked: Parked) -> Option<Parked> {
        self.parked.insert(session, parked)
    }

    /// What the session has under way.
    pub fn take(&mut self, session: i64) -> Option<Parked> {
        if self.parked.is_empty() {
            return None;
        }
        self.parked.remove(&session)
    }

    /// Whether the session has the transaction with that label under way.
    pub fn holds(&self, session: i64, label: u64) -> bool {
        let parked = self.parked.get(&session);
        parked.is_some_and(|(line, _)| line.label == label)
    }

    /// All that is under way at the end of the file.
    pub fn drain(&mut self) -> impl Iterator<Item = Parked> + use<> {
        std::mem::take(&mut self.parked).into_values()
    }
}

/// Takes the operations from `ops_start` on out of the history.
pub fn take_ops(builder: &mut Builder, ops_start: usize) -> Vec<(Op, Option<u64>)> {
    let versions = builder.take_versions(ops_start);
    let ops = &mut builder.ops;
    let kinds = ops.kinds.drain(ops_start..);
    let keys = ops.keys.drain(ops_start..);
    let values = ops.values.drain(ops_start..);
    let mut versions = versions.into_iter().peekable();
    let parts = kinds.zip(keys).zip(values).enumerate();
    parts
        .map(|(place, ((kind, key), value))| {
            let version = versions.next_if(|&(at, _)| at == ops_start + place);
            (Op { kind, key, value }, version.map(|(_, version)| version))
        })
        .collect()
}

/// Puts operations back at the end.
pub fn put_ops(builder: &mut Builder, ops: Vec<(Op, Option<u64>)>) {
    for (op, version) in ops {
        builder.ops.push(op);
        if let Some(version) = version {
            builder.record_version(version);
        }
    }
}
