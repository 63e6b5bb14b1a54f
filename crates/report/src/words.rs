//! Names of transactions and operations as reports show them: on one line, and never long.

use crate::escape::{cut, visible};
use history::{History, KeyId, OpId, OpKind, Status, TxnId, Value, ValueCode};

/// So many letters of a key are shown.
const KEY_MAX: usize = 28;
/// So many letters of a value, a list included.
const VALUE_MAX: usize = 44;

/// Speaks about one history.
#[derive(Clone, Copy)]
pub(crate) struct Words<'a> {
    pub history: &'a History,
}

impl<'a> Words<'a> {
    pub fn new(history: &'a History) -> Words<'a> {
        Words { history }
    }

    pub fn has_txn(&self, txn: TxnId) -> bool {
        txn == TxnId::INITIAL || txn.index() < self.history.txn_count()
    }

    pub fn has_op(&self, op: OpId) -> bool {
        op.index() < self.history.op_count()
    }

    /// `s1t4`; `init` is the implicit first transaction.
    pub fn txn(&self, txn: TxnId) -> String {
        if txn == TxnId::INITIAL {
            return "init".to_string();
        }
        self.history.txn_name(txn)
    }

    /// The same within a sentence.
    pub fn subject(&self, txn: TxnId) -> String {
        if txn == TxnId::INITIAL {
            return "the initial state".to_string();
        }
        self.history.txn_name(txn)
    }

    pub fn key(&self, key: KeyId) -> String {
        cut(&self.history.key_name(key).to_string(), KEY_MAX)
    }

    /// The same within a sentence, where a bare number would be taken for a value.
    fn key_in_words(&self, key: KeyId) -> String {
        match self.history.key_name(key) {
            Value::Int(number) => format!("key {number}"),
            _ => self.key(key),
        }
    }

    /// The value of an operation; of a long list the part around `relevant` elements.
    pub fn value(&self, op: OpId, relevant: &[ValueCode]) -> String {
        let found = self.history.op(op);
        if found.value == ValueCode::UNKNOWN {
            return "?".to_string();
        }
        let text = if found.kind.reads_list() {
            self.list(found.value, relevant)
        } else {
            self.history.value(found.value).to_string()
        };
        cut(&text, VALUE_MAX)
    }

    /// A list around some elements; if that is too long, around the last two of them.
    fn list(&self, list: ValueCode, relevant: &[ValueCode]) -> String {
        let text = self.history.list_text_around(list, relevant);
        if text.chars().count() <= VALUE_MAX {
            return text;
        }
        let elements = self.history.list(list).iter().rev();
        let last: Vec<ValueCode> = elements
            .filter(|element| relevant.contains(element))
            .take(2)
            .copied()
            .collect();
        self.history.list_text_around(list, &last)
    }

    /// `r(x, 1)`, `w(x, 1)`, `append(x, 1)` …
    pub fn op(&self, op: OpId, relevant: &[ValueCode]) -> String {
        let word = match self.history.op(op).kind {
            OpKind::Read | OpKind::ReadList | OpKind::ReadSet | OpKind::ReadCounter => "r",
            OpKind::Write => "w",
            OpKind::Append => "append",
            OpKind::Add => "add",
            OpKind::Increment => "inc",
        };
        let key = self.key(self.history.op(op).key);
        format!("{word}({key}, {})", self.value(op, relevant))
    }

    /// The version that an operation wrote or returned: `x = 1`.
    pub fn version(&self, op: OpId, relevant: &[ValueCode]) -> String {
        let key = self.key_in_words(self.history.op(op).key);
        format!("{key} = {}", self.value(op, relevant))
    }

    /// What an operation did, for somebody who has never seen one: `read x and got 1`.
    pub fn deed(&self, op: OpId, relevant: &[ValueCode]) -> String {
        let found = self.history.op(op);
        let (key, value) = (self.key_in_words(found.key), self.value(op, relevant));
        let is_nothing = found.value == ValueCode::NIL;
        match found.kind {
            _ if found.kind.is_write() => match found.kind {
                OpKind::Append => format!("appended {value} to {key}"),
                OpKind::Add => format!("added {value} to {key}"),
                OpKind::Increment => format!("added {value} to the counter {key}"),
                _ => format!("set {key} to {value}"),
            },
            _ if found.value == ValueCode::UNKNOWN => {
                format!("read {key} (what it got was not recorded)")
            }
            OpKind::Read if is_nothing => format!("read {key} and found nothing there"),
            OpKind::ReadList | OpKind::ReadSet if self.history.list(found.value).is_empty() => {
                format!("read {key} and found it empty")
            }
            _ => format!("read {key} and got {value}"),
        }
    }

    /// The transaction that an operation belongs to. `near` is looked at first: a history has no
    /// table for this.
    pub fn owner(&self, op: OpId, near: &[TxnId]) -> Option<TxnId> {
        let has = |txn: &TxnId| {
            *txn != TxnId::INITIAL
                && self.has_txn(*txn)
                && self.history.op_range(*txn).contains(&op.index())
        };
        let near = near.iter().copied().find(has);
        near.or_else(|| self.history.txn_ids().find(has))
    }

    pub fn session(&self, txn: TxnId) -> String {
        let session = self.history.session_of(txn);
        visible(&self.history.session_label(session).to_string())
    }
}

/// What became of a transaction, in a word.
pub(crate) fn status_word(status: Status) -> &'static str {
    match status {
        Status::Committed => "committed",
        Status::Aborted => "aborted",
        Status::Indeterminate => "outcome unknown",
    }
}

/// `1 key`, `2 keys`.
pub(crate) fn count(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        number => format!("{} {}", grouped(number), plural(what)),
    }
}

fn plural(what: &str) -> String {
    match what.strip_suffix('y') {
        Some(stem) if what.ends_with("ry") => format!("{stem}ies"),
        _ if what.ends_with('s') => format!("{what}es"),
        _ => format!("{what}s"),
    }
}

/// A number with thin groups of three digits: `1 234 567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) && digits.len() > 4 {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}
