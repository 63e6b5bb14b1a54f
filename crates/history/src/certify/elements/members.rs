//! Which elements of sets anomalies are about.

use super::registers::Members;
use crate::{Anomaly, Edge, History, OpId, OpKind, Reason, Status};

/// The elements that are added in the evidence; those that an indeterminate transaction added or was shown, which may
/// show who committed and who cannot have; and where only reads are the evidence, all that these show.
pub(super) fn members(history: &History, anomalies: &[Anomaly]) -> Members {
    let mut found = Found {
        history,
        members: Members::new(),
    };
    for anomaly in anomalies {
        for edge in anomaly
            .edges
            .iter()
            .chain(anomaly.otherwise.iter().flatten())
        {
            found.add_edge(edge);
            if let Some(Reason::Read { path, .. }) = &edge.because {
                path.iter().for_each(|step| found.add_edge(step));
            }
        }
        anomaly.assuming.iter().for_each(|&(op, _)| found.add(op));
        let is_add =
            |op: &&OpId| op.index() < history.op_count() && history.op(**op).kind == OpKind::Add;
        let adds: Vec<OpId> = anomaly.ops.iter().filter(is_add).copied().collect();
        let ops = if adds.is_empty() { &anomaly.ops } else { &adds };
        ops.iter().for_each(|&op| found.add(op));
    }
    let is_open = |txn: &crate::TxnId| history.status(*txn) == Status::Indeterminate;
    for txn in history.txn_ids().filter(is_open) {
        history.txn_ops(txn).for_each(|(id, _)| found.add(id));
    }
    found.members
}

struct Found<'h> {
    history: &'h History,
    members: Members,
}

impl Found<'_> {
    fn add_edge(&mut self, edge: &Edge) {
        for op in [edge.from_op, edge.to_op].into_iter().flatten() {
            let is_known = op.index() < self.history.op_count();
            if is_known && self.history.op(op).kind == OpKind::Add {
                self.add(op);
            }
        }
    }

    fn add(&mut self, op: OpId) {
        if op.index() >= self.history.op_count() {
            return;
        }
        let op = self.history.op(op);
        match op.kind {
            OpKind::Add => self.members.extend([(op.key, op.value)]),
            OpKind::ReadSet => {
                let shown = self.history.list(op.value).iter();
                self.members.extend(shown.map(|&code| (op.key, code)));
            }
            _ => {}
        }
    }
}
