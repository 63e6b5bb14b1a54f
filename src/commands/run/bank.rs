//! The sum of a bank: an audit that sees only whole transfers adds up to 0, so one that does not saw a part of a
//! transaction, whatever the order of transactions was.

use history::{History, Level, OpKind, Status, TxnId, Value};
use workload::driver::Answer;
use workload::workloads::bank::total_problem;

/// What the audits of a recording say.
pub struct Audits {
    /// How many there are.
    pub count: usize,
    /// How many do not add up.
    pub wrong: usize,
    /// The first of those, and what is wrong with it.
    pub first: Option<(TxnId, String)>,
}

/// The level that a wrong sum contradicts.
pub const CONTRADICTS: Level = Level::ReadAtomic;

/// Adds up all audits that committed.
pub fn audits(history: &History) -> Audits {
    let mut audits = Audits {
        count: 0,
        wrong: 0,
        first: None,
    };
    for txn in history.txn_ids() {
        let Some(answers) = answers_of_audit(history, txn) else {
            continue;
        };
        audits.count += 1;
        if let Some(problem) = total_problem(&answers) {
            audits.wrong += 1;
            audits.first.get_or_insert((txn, problem));
        }
    }
    audits
}

/// The balances that an audit read; nothing if the transaction is none, or did not commit.
fn answers_of_audit(history: &History, txn: TxnId) -> Option<Vec<Answer>> {
    let whole = history.txn(txn).op_count as usize == history.key_count();
    if !whole || history.status(txn) != Status::Committed {
        return None;
    }
    let answer = |op: history::Op| match (op.kind, history.value(op.value)) {
        (OpKind::ReadCounter, Value::Int(balance)) => {
            Some(Answer::Value(i64::try_from(balance).ok(), None))
        }
        _ => None,
    };
    history.txn_ops(txn).map(|(_, op)| answer(op)).collect()
}
