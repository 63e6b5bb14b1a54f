//! Evidence from a report: its names and texts brought back to the ids of the history.
//!
//! **Definition.** `check --json` names transactions (`s1t4`) and writes operations out
//! (`r(x, 1)`); a picture needs the ids. What cannot be found again is left out, so a report of
//! another history makes an empty picture and no error.
//!
//! **Steps.** A transaction is found by its session and number, an operation by its text among those
//! of its transaction. The read behind a version order may be anybody's: it is looked for among the
//! operations of the edge's key.
//!
//! **Cost.** The size of a session for each name, the operations of a key for each such read.

use super::Opened;
use history::{
    Anomaly, AnomalyKind, Edge, EdgeKind, History, KeyId, OpId, Reason, TxnId, UNLABELLED,
};
use serde_json::Value;

/// So many edges of an anomaly are restored.
const EDGES_MAX: usize = 200;
/// So many operations of a key are looked through for one text.
const LOOKED_AT_MAX: usize = 200_000;

/// An anomaly of a report as data of its history; nothing if its kind is unknown.
pub(crate) fn restore(opened: &Opened, report: &Value) -> Option<Anomaly> {
    let names = Names { opened };
    let kind = AnomalyKind::from_name(report["kind"].as_str()?)?;
    let transactions: Vec<TxnId> = list(&report["transactions"])
        .iter()
        .filter_map(|name| names.txn(name))
        .collect();
    let cycle = |edges: &Value| -> Vec<Edge> {
        let edges = list(edges).iter().take(EDGES_MAX);
        edges.filter_map(|edge| names.edge(edge)).collect()
    };
    Some(Anomaly {
        kind,
        count: report["count"].as_u64().unwrap_or(1),
        ops: names.ops(&transactions, list(&report["operations"])),
        edges: cycle(&report["edges"]),
        otherwise: list(&report["otherwise"])
            .iter()
            .take(EDGES_MAX)
            .map(cycle)
            .collect(),
        assuming: Vec::new(),
        explanation: report["explanation"].as_str().unwrap_or("").to_string(),
        transactions,
    })
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

struct Names<'a> {
    opened: &'a Opened,
}

impl Names<'_> {
    fn history(&self) -> &History {
        &self.opened.loaded.history
    }

    fn txn(&self, name: &Value) -> Option<TxnId> {
        match name.as_str()? {
            "init" => Some(TxnId::INITIAL),
            name => find_txn(self.history(), name),
        }
    }

    fn edge(&self, report: &Value) -> Option<Edge> {
        let (from, to) = (self.txn(&report["from"])?, self.txn(&report["to"])?);
        let kind = EdgeKind::from_name(report["kind"].as_str()?)?;
        let from_op = self.op(from, &report["from_operation"]);
        let to_op = self.op(to, &report["to_operation"]);
        let key = [from_op, to_op].into_iter().flatten().next();
        let key = key.map(|op| self.history().op(op).key);
        Some(Edge {
            from,
            to,
            kind,
            key,
            from_op,
            to_op,
            because: self.reason(&report["because"], key),
        })
    }

    fn reason(&self, report: &Value, key: Option<KeyId>) -> Option<Reason> {
        if let Some(writer) = report.get("version_of") {
            let writer = self.txn(writer)?;
            return Some(Reason::Version { writer });
        }
        let key = key?;
        if let Some(read) = report.get("list") {
            let read = self.anybodys(key, read)?;
            return Some(Reason::List { read });
        }
        if let [before, after] = list(&report["assumed"]) {
            return Some(Reason::Assumed {
                before: self.anybodys(key, before)?,
                after: self.anybodys(key, after)?,
            });
        }
        let path: Vec<Edge> = list(&report["path"])
            .iter()
            .take(EDGES_MAX)
            .filter_map(|step| self.plain_edge(step))
            .collect();
        let reader = path.last().map(|step| step.to);
        let read = report.get("read")?;
        let read = reader
            .and_then(|reader| self.op(reader, read))
            .or_else(|| self.anybodys(key, read))?;
        Some(Reason::Read { read, path })
    }

    /// A step of a path, which has no reason of its own.
    fn plain_edge(&self, report: &Value) -> Option<Edge> {
        let (from, to) = (self.txn(&report["from"])?, self.txn(&report["to"])?);
        let from_op = self.op(from, &report["from_operation"]);
        let to_op = self.op(to, &report["to_operation"]);
        let key = to_op.or(from_op).map(|op| self.history().op(op).key);
        Some(Edge {
            from,
            to,
            kind: EdgeKind::from_name(report["kind"].as_str()?)?,
            key,
            from_op,
            to_op,
            because: None,
        })
    }

    /// The operation of a transaction with this text.
    fn op(&self, txn: TxnId, text: &Value) -> Option<OpId> {
        let text = text.as_str()?;
        if txn == TxnId::INITIAL {
            return None;
        }
        let history = self.history();
        let mut ops = history.op_range(txn).map(|place| OpId(place as u32));
        ops.find(|&op| history.op_text(op) == text)
    }

    /// The operation of a key with this text, whoever's it is.
    fn anybodys(&self, key: KeyId, text: &Value) -> Option<OpId> {
        let text = text.as_str()?;
        let history = self.history();
        let mut ops = self.opened.index.of_key(key).iter().take(LOOKED_AT_MAX);
        ops.find(|&&op| history.op_text(op) == text).copied()
    }

    /// Operations of some transactions by their texts, no two the same.
    fn ops(&self, txns: &[TxnId], texts: &[Value]) -> Vec<OpId> {
        let history = self.history();
        let mut found: Vec<OpId> = Vec::new();
        for text in texts.iter().take(EDGES_MAX).filter_map(Value::as_str) {
            let owned = txns.iter().filter(|txn| **txn != TxnId::INITIAL);
            let mut all = owned.flat_map(|&txn| history.op_range(txn));
            let op = all.find(|&place| {
                let op = OpId(place as u32);
                !found.contains(&op) && history.op_text(op) == text
            });
            found.extend(op.map(|place| OpId(place as u32)));
        }
        found
    }
}

/// The transaction with this name: `s1t4` by the file's numbers, `s1n4` by its place.
pub(super) fn find_txn(history: &History, name: &str) -> Option<TxnId> {
    let rest = name.strip_prefix('s')?;
    let (session, number, has_label) = match rest.split_once('t') {
        Some((session, number)) => (session, number, true),
        None => {
            let (session, number) = rest.split_once('n')?;
            (session, number, false)
        }
    };
    let (label, number): (i64, u64) = (session.parse().ok()?, number.parse().ok()?);
    let mut sessions = history.sessions();
    let session = sessions.find(|&session| history.session_label(session) == label)?;
    let mut txns = history.session_txns(session);
    if !has_label {
        let place = txns.start.checked_add(u32::try_from(number).ok()?)?;
        return txns.contains(&place).then_some(TxnId(place));
    }
    txns.find(|&txn| {
        let found = history.txn(TxnId(txn)).label;
        found == number && found != UNLABELLED
    })
    .map(TxnId)
}
