//! One transaction and those around it: before and after it in its session, whom it read from, who
//! read or overwrote what it wrote.
//!
//! **Steps.** For each operation, one pass over the operations of its key. Of a register a version is
//! overwritten by whoever read it and then wrote the key; of a list by what stands behind the
//! element in the longest list read. Where neither shows it, it is not known and not said.
//!
//! **Cost.** Linear in the operations of the keys touched, up to a limit for all of them together.

use super::evidence::find_txn;
use super::table::{row, status_name};
use super::{Opened, op_text};
use history::{Op, OpId, OpKind, Status, TxnId, ValueCode};
use report::escape::cut;
use serde_json::{Value, json};

/// Operations shown of a transaction.
const OPS_MAX: usize = 200;
/// Neighbours named of an operation.
const NAMED_MAX: usize = 6;
/// Operations of other transactions that are looked at.
const LOOKED_AT_MAX: usize = 8_000_000;

/// A transaction by its name, with its neighbours.
pub(crate) fn transaction(opened: &Opened, name: &str) -> Result<Value, String> {
    let history = &opened.loaded.history;
    let txn = find_txn(history, name)
        .ok_or_else(|| format!("there is no transaction '{}'", cut(name, 60)))?;
    let session = history.session_txns(history.session_of(txn));
    let beside = |place: Option<u32>| {
        place
            .filter(|place| session.contains(place))
            .map(|place| history.txn_name(TxnId(place)))
    };
    let mut around = Around {
        opened,
        txn,
        budget: LOOKED_AT_MAX,
    };
    let ops: Vec<Value> = history
        .txn_ops(txn)
        .take(OPS_MAX)
        .map(|(id, op)| around.operation(id, op))
        .collect();
    let mut object = row(opened, txn);
    object["ops"] = ops.into();
    object["place"] = (txn.0 - session.start + 1).into();
    object["session_transactions"] = session.len().into();
    object["previous"] = json!(beside(txn.0.checked_sub(1)));
    object["next"] = json!(beside(txn.0.checked_add(1)));
    Ok(object)
}

struct Around<'a> {
    opened: &'a Opened,
    txn: TxnId,
    budget: usize,
}

/// Others, the first few by name.
#[derive(Default)]
struct Others {
    txns: Vec<TxnId>,
    count: usize,
}

impl Others {
    fn add(&mut self, txn: TxnId) {
        if self.txns.contains(&txn) {
            return;
        }
        self.count += 1;
        if self.txns.len() < NAMED_MAX {
            self.txns.push(txn);
        }
    }
}

impl Around<'_> {
    fn operation(&mut self, id: OpId, op: Op) -> Value {
        let history = &self.opened.loaded.history;
        let mut object = json!({
            "text": op_text(history, id),
            "key": history.key_name(op.key).to_string(),
            "writes": op.kind.is_write(),
        });
        let count = self.opened.index.of_key(op.key).len();
        if count > self.budget {
            object["note"] = "the key is touched too often to look for its other operations".into();
            return object;
        }
        self.budget -= count;
        match op.kind {
            OpKind::Read | OpKind::ReadList => {
                let (writers, note) = self.writers(id, op);
                object["from"] = self.json(&writers);
                object["note"] = note.into();
            }
            OpKind::Write | OpKind::Append => {
                object["readers"] = self.json(&self.readers(op));
                object["overwriters"] = self.json(&self.overwriters(op));
            }
            _ => {}
        }
        object
    }

    /// The version that a read returned: a value, or the last element of a list.
    fn version(&self, op: Op) -> ValueCode {
        match op.kind {
            OpKind::ReadList => {
                let list = self.opened.loaded.history.list(op.value);
                list.last().copied().unwrap_or(ValueCode::NIL)
            }
            _ => op.value,
        }
    }

    /// Whom a read read from, and what else to say.
    fn writers(&self, id: OpId, op: Op) -> (Others, &'static str) {
        let history = &self.opened.loaded.history;
        let mut writers = Others::default();
        if op.value == ValueCode::UNKNOWN {
            return (writers, "what it returned was not recorded");
        }
        let version = self.version(op);
        if version == ValueCode::NIL {
            return (writers, "the initial state");
        }
        let own_before = history
            .txn_ops(self.txn)
            .take_while(|(own, _)| *own < id)
            .any(|(_, own)| own.kind.is_write() && own.key == op.key && own.value == version);
        if own_before {
            return (writers, "written by itself before");
        }
        for &other in self.opened.index.of_key(op.key) {
            let found = history.op(other);
            let is_write = matches!(found.kind, OpKind::Write | OpKind::Append);
            if is_write && found.value == version {
                writers.add(self.opened.index.owner(history, other));
            }
        }
        let note = match writers.count {
            0 if version == ValueCode::ZERO => "the initial state",
            0 => "nobody wrote this",
            1 => "",
            _ => "several wrote this value",
        };
        (writers, note)
    }

    fn readers(&self, op: Op) -> Others {
        let history = &self.opened.loaded.history;
        let mut readers = Others::default();
        for &other in self.opened.index.of_key(op.key) {
            let found = history.op(other);
            let is_read = matches!(found.kind, OpKind::Read | OpKind::ReadList);
            if is_read && found.value != ValueCode::UNKNOWN && self.version(found) == op.value {
                let owner = self.opened.index.owner(history, other);
                if owner != self.txn {
                    readers.add(owner);
                }
            }
        }
        readers
    }

    fn overwriters(&self, op: Op) -> Others {
        match op.kind {
            OpKind::Append => self.after_in_list(op),
            _ => self.read_and_wrote(op),
        }
    }

    /// Who read the version that a write made, and then wrote the key.
    fn read_and_wrote(&self, op: Op) -> Others {
        let history = &self.opened.loaded.history;
        let mut found = Others::default();
        let mut reader: Option<TxnId> = None;
        for &other in self.opened.index.of_key(op.key) {
            let seen = history.op(other);
            if seen.kind == OpKind::Read && seen.value == op.value {
                let owner = self.opened.index.owner(history, other);
                reader = (owner != self.txn).then_some(owner);
            } else if seen.kind == OpKind::Write
                && let Some(owner) = reader
                && history.status(owner) != Status::Aborted
                && history.op_range(owner).contains(&other.index())
            {
                found.add(owner);
            }
        }
        found
    }

    /// Who appended what stands behind an element in the longest list.
    fn after_in_list(&self, op: Op) -> Others {
        let history = &self.opened.loaded.history;
        let ops = self.opened.index.of_key(op.key);
        let lists = ops.iter().map(|&other| history.op(other));
        let lists = lists.filter(|found| found.kind == OpKind::ReadList);
        let lists = lists.map(|found| history.list(found.value));
        let longest = lists.max_by_key(|list| list.len()).unwrap_or_default();
        let place = longest.iter().position(|code| *code == op.value);
        let next = place.and_then(|place| longest.get(place + 1));
        let mut found = Others::default();
        for &other in ops {
            let seen = history.op(other);
            if seen.kind == OpKind::Append && Some(&seen.value) == next {
                found.add(self.opened.index.owner(history, other));
            }
        }
        found
    }

    fn json(&self, others: &Others) -> Value {
        let history = &self.opened.loaded.history;
        let named = |txn: &TxnId| json!({"txn": history.txn_name(*txn), "status": status_name(history.status(*txn))});
        let txns: Vec<Value> = others.txns.iter().map(named).collect();
        json!({"count": others.count, "transactions": txns})
    }
}
