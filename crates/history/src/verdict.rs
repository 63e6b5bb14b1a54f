//! Verdicts and the evidence that comes with them. Evidence is data: sentences are made of it
//! elsewhere, and [`crate::certify`] re-checks it without knowing who produced it.

use crate::{AnomalyKind, KeyId, Level, OpId, TxnId};

impl TxnId {
    /// The implicit first transaction, which wrote the initial version of every key.
    pub const INITIAL: TxnId = TxnId(u32::MAX);
}

/// Why one transaction comes before another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EdgeKind {
    /// Session order: the same client issued them in this order.
    So,
    /// Write-read: the second read what the first wrote.
    Wr,
    /// Write-write: the first one's version of a key precedes the second one's.
    Ww,
    /// Read-write: the first read a version that the second one's overwrites.
    Rw,
    /// Real time: the first ended before the second began.
    Rt,
}

impl EdgeKind {
    /// The name in output.
    pub fn name(self) -> &'static str {
        match self {
            EdgeKind::So => "so",
            EdgeKind::Wr => "wr",
            EdgeKind::Ww => "ww",
            EdgeKind::Rw => "rw",
            EdgeKind::Rt => "rt",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<EdgeKind> {
        use EdgeKind::*;
        [So, Wr, Ww, Rw, Rt]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// One step of an argument: `from` precedes `to`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The earlier transaction; may be [`TxnId::INITIAL`].
    pub from: TxnId,
    /// The later transaction; may be [`TxnId::INITIAL`] in a ww edge that contradicts it.
    pub to: TxnId,
    /// Why.
    pub kind: EdgeKind,
    /// The key, except for session and real-time order.
    pub key: Option<KeyId>,
    /// The operation in `from` behind the edge (the write of a wr or ww, the read of a rw).
    pub from_op: Option<OpId>,
    /// The operation in `to` behind the edge (the read of a wr, the write of a ww or rw).
    pub to_op: Option<OpId>,
    /// What forces a ww edge, or which version a wr or rw edge takes its read to have returned. A ww
    /// edge without a reason is one of two possible orders; so is the order behind a rw edge.
    pub because: Option<Reason>,
}

/// What forces one version of a key before another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A transaction read `to`'s version although it had to see `from`'s, so `from`'s is older.
    Read {
        /// The read of the key that returned `to`'s version.
        read: OpId,
        /// How `from` came before the reader: so and wr edges from `from` to the reader. For
        /// read-committed, one wr edge whose read stands before `read` in the same transaction.
        path: Vec<Edge>,
    },
    /// A list read shows `from`'s element directly before `to`'s, or shows it last while `to`'s,
    /// which committed, is not in the list.
    List {
        /// That read.
        read: OpId,
    },
    /// What is assumed of each key puts the version of `from` before that of `to`.
    Assumed {
        /// The operation that touched the first of the two versions.
        before: OpId,
        /// The operation that touched the second one, later.
        after: OpId,
    },
    /// For a wr or rw edge of a read with several possible writers: the one it is taken to have
    /// read from here. Another choice is ruled out by another cycle of the same anomaly.
    Version {
        /// That writer.
        writer: TxnId,
    },
}

/// An anomaly found: its kind, how often, and the smallest instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Anomaly {
    /// What kind it is.
    pub kind: AnomalyKind,
    /// How many instances there are; what is counted is said in docs/guarantees.md.
    pub count: u64,
    /// The transactions of the instance shown.
    pub transactions: Vec<TxnId>,
    /// For an anomaly of single reads: the operations that contradict each other (see
    /// docs/guarantees.md for their order). Empty where `edges` is the evidence.
    pub ops: Vec<OpId>,
    /// A cycle: each edge ends where the next begins, the last where the first began.
    pub edges: Vec<Edge>,
    /// Further cycles. Where the order of two versions, or the writer of a read, is not known,
    /// `edges` closes for one possibility only; the others close one of these.
    pub otherwise: Vec<Vec<Edge>>,
    /// Reads whose value has several possible writers, with the writer assumed here. The verdict
    /// is then a violation because there is such an anomaly for every way of choosing.
    pub assuming: Vec<(OpId, TxnId)>,
    /// The same in sentences.
    pub explanation: String,
}

/// The proof that a level holds: a commit order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CommitOrder {
    /// All transactions taken as committed (every committed one, and those indeterminate ones that
    /// the interpretation takes as committed), in commit order.
    pub txns: Vec<TxnId>,
    /// Reads whose value has several possible writers, with the writer chosen.
    pub reads: Vec<(OpId, TxnId)>,
    /// For levels that take snapshots: by place in `txns`, how many of `txns` had committed when
    /// that transaction began, which are those it sees. Empty: each sees all that precede it.
    pub snapshots: Vec<u32>,
}

/// The answer to one question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The level holds, by this order.
    Holds(CommitOrder),
    /// The level is violated: every kind of anomaly that is present and breaks it.
    Violated(Vec<Anomaly>),
    /// A limit was reached before an answer; the text names it.
    Unknown(String),
}

impl Verdict {
    /// The name in output.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Holds(_) => "holds",
            Verdict::Violated(_) => "violated",
            Verdict::Unknown(_) => "unknown",
        }
    }
}

/// The verdict on one level.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LevelResult {
    /// The level asked about.
    pub level: Level,
    /// The answer.
    pub verdict: Verdict,
}
