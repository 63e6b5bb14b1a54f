//! Evidence in sentences: who read what, what that demands, and what contradicts it.

mod argument;
mod certain;
mod elements;
mod lists;
mod strong;

pub use elements::{of_elements, of_elements_if_any};

use crate::observe::{Link, Observed};
use history::{
    Anomaly, AnomalyKind, Edge, EdgeKind, History, KeyOrder, Op, OpId, OpKind, Reason, TxnId,
    Value, ValueCode,
};

/// An explanation that rests on who wrote what was read.
pub fn assuming(history: &History, writers: &[(OpId, TxnId)], explanation: &str) -> String {
    let words = |&(read, writer): &(OpId, TxnId)| {
        let holds = |txn: &TxnId| history.op_range(*txn).contains(&read.index());
        let reader = history
            .txn_ids()
            .find(holds)
            .map(|txn| history.txn_name(txn));
        let reader = reader.unwrap_or_default();
        format!(
            "{} of {reader} is from {}",
            history.op_text(read),
            history.txn_name(writer)
        )
    };
    let words: Vec<String> = writers.iter().map(words).collect();
    format!("Suppose that {}. {explanation}", words.join(", and "))
}

/// The explanation of an anomaly.
pub fn explain(observed: &Observed<'_>, anomaly: &Anomaly) -> String {
    let words = Words { observed };
    if !anomaly.ops.is_empty() {
        return words.of_ops(anomaly);
    }
    if certain::is_certain(&words, anomaly) {
        return certain::explain(&words, anomaly);
    }
    if strong::is_strong(anomaly) {
        return strong::explain(&words, anomaly);
    }
    match anomaly.edges.first() {
        Some(Edge {
            kind: EdgeKind::Ww,
            because: Some(Reason::Read { .. }),
            ..
        }) => words.of_forced_cycle(&anomaly.edges),
        Some(edge) if edge.to == TxnId::INITIAL => {
            format!(
                "{}: but nothing comes before the initial state.",
                words.step(edge)
            )
        }
        Some(_) => {
            let steps: Vec<String> = anomaly.edges.iter().map(|edge| words.step(edge)).collect();
            format!("{}: a cycle.", steps.join("; "))
        }
        None => anomaly.kind.row().meaning.to_string(),
    }
}

struct Words<'a> {
    observed: &'a Observed<'a>,
}

impl Words<'_> {
    fn txn(&self, txn: TxnId) -> String {
        if txn == TxnId::INITIAL {
            return "the initial state".to_string();
        }
        self.observed.history.txn_name(txn)
    }

    /// An operation; of a long list, only the version read.
    fn op(&self, op: OpId) -> String {
        self.observed.history.op_text_around(op, &self.seen(op))
    }

    /// The version that a list read saw, if that is known.
    fn seen(&self, read: OpId) -> Vec<ValueCode> {
        let version = self.observed.values.get(read.index()).copied();
        version.into_iter().collect()
    }

    fn reads_initial(&self, read: OpId) -> bool {
        self.observed.links[read.index()] == Link::INITIAL
    }

    fn owner(&self, op: OpId) -> String {
        self.txn(self.observed.txn_of(op))
    }

    /// The version that an operation wrote or returned: `x=1`.
    fn version(&self, op: OpId) -> String {
        let history = self.observed.history;
        let Op { kind, key, value } = history.op(op);
        let key = match history.key_name(key) {
            Value::Int(number) => format!("key {number}"),
            name => name.to_string(),
        };
        if !kind.reads_list() {
            return format!("{key}={}", history.value(value));
        }
        format!("{key}={}", history.list_text_around(value, &self.seen(op)))
    }

    /// What is wrong with a read that should have returned its transaction's own write.
    fn lacks_own(&self, write: OpId, read: OpId) -> &'static str {
        let history = self.observed.history;
        let (write, read) = (history.op(write), history.op(read));
        if !read.kind.reads_list() {
            "which is not what it had written"
        } else if history.list(read.value).contains(&write.value) {
            "which does not end in what it had appended"
        } else {
            "which lacks what it had appended"
        }
    }

    /// An anomaly of single reads; the operations are in the order docs/guarantees.md gives.
    fn of_ops(&self, anomaly: &Anomaly) -> String {
        let (ops, history) = (&anomaly.ops, self.observed.history);
        let text = |at: usize| self.op(ops[at]);
        let owner = |at: usize| self.owner(ops[at]);
        match anomaly.kind {
            AnomalyKind::ThinAirRead if history.op(ops[0]).kind == OpKind::ReadList => {
                lists::stranger(self, ops[0])
            }
            AnomalyKind::ThinAirRead => {
                format!(
                    "{} did {}, but no transaction wrote that value.",
                    owner(0),
                    text(0)
                )
            }
            AnomalyKind::AbortedRead => {
                let writer = owner(0);
                format!(
                    "{} did {}, which {writer} wrote, but {writer} aborted.",
                    owner(1),
                    text(1)
                )
            }
            AnomalyKind::FutureRead => {
                format!("{} did {} before its own {}.", owner(0), text(0), text(1))
            }
            AnomalyKind::NotMyOwnWrite => {
                let lacks = self.lacks_own(ops[0], ops[1]);
                format!(
                    "{} did {} and then {}, {lacks}.",
                    owner(0),
                    text(0),
                    text(1)
                )
            }
            AnomalyKind::NotMyLastWrite => format!(
                "{} did {}, overwrote it with {}, and then did {}.",
                owner(0),
                text(0),
                text(1),
                text(2)
            ),
            AnomalyKind::IntermediateRead => format!(
                "{} did {}, but {} overwrote that value with {} before it ended.",
                owner(2),
                text(2),
                owner(0),
                text(1)
            ),
            AnomalyKind::NonRepeatableRead => {
                format!("{} did {} and later {}.", owner(0), text(0), text(1))
            }
            AnomalyKind::DirtyUpdate
            | AnomalyKind::DuplicateElement
            | AnomalyKind::IncompatibleOrder => lists::told(self, anomaly),
            AnomalyKind::LostUpdate => format!(
                "{} did {} and then {}; {} did {} and then {}: both overwrote the same version, \
                 so one of the updates is lost.",
                owner(0),
                text(0),
                text(1),
                owner(2),
                text(2),
                text(3)
            ),
            _ => anomaly.kind.row().meaning.to_string(),
        }
    }

    /// A cycle that begins with a forced edge.
    fn of_forced_cycle(&self, edges: &[Edge]) -> String {
        let demand = self.demand(&edges[0]);
        if edges[0].to == TxnId::INITIAL {
            return format!(
                "{demand} But nothing comes before the initial state: a contradiction."
            );
        }
        let steps: Vec<String> = edges[1..].iter().map(|edge| self.step(edge)).collect();
        format!(
            "{demand} However, {} comes before {}: {}. A contradiction.",
            self.txn(edges[0].to),
            self.txn(edges[0].from),
            steps.join("; ")
        )
    }

    /// What a read demands of the order of two versions.
    fn demand(&self, edge: &Edge) -> String {
        let (Some(Reason::Read { read, path }), Some(write)) = (&edge.because, edge.from_op) else {
            return format!("{}.", self.step(edge));
        };
        let seen: Vec<String> = path.iter().map(|edge| self.step(edge)).collect();
        format!(
            "{} did {}, the version of {}, although it had to see {} of {} ({}); so {} must come \
             before {}.",
            self.owner(*read),
            self.op(*read),
            self.txn(edge.to),
            self.op(write),
            self.txn(edge.from),
            seen.join("; "),
            self.txn(edge.from),
            self.txn(edge.to),
        )
    }

    /// Why one version of a key is assumed to come before another.
    fn touched(&self, before: OpId, after: OpId) -> String {
        let history = self.observed.history;
        let (one, two) = (self.observed.txn_of(before), self.observed.txn_of(after));
        let (first, second) = (self.op(before), self.op(after));
        let (earlier, later) = (self.txn(one), self.txn(two));
        if self.observed.keys == KeyOrder::Recorded {
            let number = |op| history.recorded_version(op).unwrap_or_default();
            let (lower, higher) = (number(before), number(after));
            format!("{earlier} did {first} at version {lower} and {later} did {second} at {higher}")
        } else if one == two {
            format!("{earlier} did {first} and then {second}")
        } else if history.session_of(one) == history.session_of(two) {
            format!("{earlier} did {first}, and {later} did {second} later in the same session")
        } else {
            format!("{earlier} did {first} and ended before {later} began, which did {second}")
        }
    }

    /// An edge of real time, with its times.
    fn real_time(&self, edge: &Edge) -> String {
        let history = self.observed.history;
        let (from, to) = (self.txn(edge.from), self.txn(edge.to));
        match (history.interval(edge.from), history.interval(edge.to)) {
            (Some(first), Some(second)) => format!(
                "{from} ended at {}, before {to} began at {}",
                first.completion(),
                second.start
            ),
            _ => format!("{from} ended before {to} began"),
        }
    }

    /// One edge.
    fn step(&self, edge: &Edge) -> String {
        let (from, to) = (self.txn(edge.from), self.txn(edge.to));
        match (edge.kind, &edge.because) {
            (EdgeKind::So, _) => format!("{from} precedes {to} in their session"),
            (EdgeKind::Wr, _) => {
                let read = edge.to_op.map_or_else(String::new, |op| self.op(op));
                format!("{to} read from {from} by {read}")
            }
            (EdgeKind::Ww, Some(Reason::List { read })) => {
                let ops = [edge.from_op, edge.to_op].into_iter().flatten();
                let history = self.observed.history;
                let pair: Vec<ValueCode> = ops.map(|op| history.op(op).value).collect();
                let read = history.op_text_around(*read, &pair);
                format!("{read} shows {from}'s element directly before {to}'s")
            }
            (EdgeKind::Ww, Some(Reason::Assumed { before, after })) => {
                self.touched(*before, *after)
            }
            (EdgeKind::Ww, Some(Reason::Read { read, path })) => {
                let seen: Vec<String> = path.iter().map(|edge| self.step(edge)).collect();
                format!(
                    "{from} must come before {to}, since {} did {} although it had to see {from} ({})",
                    self.owner(*read),
                    self.op(*read),
                    seen.join("; ")
                )
            }
            (EdgeKind::Ww, _) => format!("{to} overwrote {from}'s version"),
            (EdgeKind::Rw, _) => format!("{to} overwrote a version that {from} had read"),
            (EdgeKind::Rt, _) => format!("{from} ended before {to} began"),
        }
    }
}
