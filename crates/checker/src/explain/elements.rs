//! Evidence about sets and counters in sentences. Sets are long, so a sentence names the one
//! element it is about.

use history::{Anomaly, AnomalyKind, Edge, EdgeKind, History, Op, OpId, OpKind, Reason, TxnId};

/// The explanation, if sets or counters are part of the evidence and no choice of version orders.
pub fn of_elements_if_any(history: &History, anomaly: &Anomaly) -> Option<String> {
    let edges = || anomaly.edges.iter();
    let of_edges = edges()
        .flat_map(|edge| [edge.from_op, edge.to_op])
        .flatten();
    let mut ops = anomaly.ops.iter().copied().chain(of_edges);
    let is_about_elements = ops.any(|op| datatype(history.op(op).kind).is_some());
    (is_about_elements && anomaly.otherwise.is_empty()).then(|| of_elements(history, anomaly))
}

/// The explanation of an anomaly of sets or counters.
pub fn of_elements(history: &History, anomaly: &Anomaly) -> String {
    let words = Words { history };
    if !anomaly.ops.is_empty() {
        return words.of_ops(anomaly.kind, &anomaly.ops);
    }
    match anomaly.edges.as_slice() {
        [only] if only.to == TxnId::INITIAL => format!("{}: a contradiction.", words.step(only)),
        edges => {
            let steps: Vec<String> = edges.iter().map(|edge| words.step(edge)).collect();
            format!("{}: a circle.", steps.join("; "))
        }
    }
}

fn datatype(kind: OpKind) -> Option<&'static str> {
    match kind {
        OpKind::Add | OpKind::ReadSet => Some("set"),
        OpKind::Increment | OpKind::ReadCounter => Some("counter"),
        _ => None,
    }
}

struct Words<'h> {
    history: &'h History,
}

impl Words<'_> {
    fn txn(&self, txn: TxnId) -> String {
        if txn == TxnId::INITIAL {
            return "the initial state".to_string();
        }
        self.history.txn_name(txn)
    }

    fn owner(&self, op: OpId) -> String {
        let has = |txn: &TxnId| self.history.op_range(*txn).contains(&op.index());
        let owner = self.history.txn_ids().find(has);
        owner.map_or_else(String::new, |txn| self.txn(txn))
    }

    fn thing(&self, op: Op) -> String {
        let key = self.history.key_name(op.key);
        match datatype(op.kind) {
            // The one object of a test has no name but this.
            Some(datatype) if key.to_string() == datatype => format!("the {datatype}"),
            Some(datatype) => format!("{datatype} {key}"),
            None => format!("key {key}"),
        }
    }

    /// The element that a write put there: `5`, or `s0t3's increments`.
    fn element(&self, write: OpId) -> String {
        let op = self.history.op(write);
        match op.kind {
            OpKind::Increment => format!("the increments of {}", self.owner(write)),
            _ => self.history.value(op.value).to_string(),
        }
    }

    fn verb(&self, write: OpId) -> &'static str {
        match self.history.op(write).kind {
            OpKind::Add => "added",
            OpKind::Increment => "made",
            OpKind::Append => "appended",
            _ => "wrote",
        }
    }

    /// `s1t2 read set x without 5, which s0t3 added`, in which `how` is with or without.
    fn sight(&self, read: OpId, how: &str, write: OpId) -> String {
        let op = self.history.op(read);
        let (reader, writer) = (self.owner(read), self.owner(write));
        match op.kind {
            OpKind::ReadCounter => format!(
                "{reader} read {} as {} {how} {}",
                self.thing(op),
                self.history.value(op.value),
                self.element(write)
            ),
            _ => format!(
                "{reader} read {} {how} {}, which {writer} {}",
                self.thing(op),
                self.element(write),
                self.verb(write)
            ),
        }
    }

    fn of_ops(&self, kind: AnomalyKind, ops: &[OpId]) -> String {
        let op = |at: usize| self.history.op(ops[at]);
        let owner = |at: usize| self.owner(ops[at]);
        let text = |at: usize| self.history.op_text(ops[at]);
        match (kind, ops.len(), op(0).kind) {
            (AnomalyKind::ThinAirRead, 1, OpKind::ReadSet) => {
                let stranger = self.stranger(op(0));
                let thing = self.thing(op(0));
                format!(
                    "{} read {thing} with {stranger}, which nobody added.",
                    owner(0)
                )
            }
            (AnomalyKind::ThinAirRead, 1, _) => {
                format!(
                    "{} did {}, but no increments sum up to that.",
                    owner(0),
                    text(0)
                )
            }
            (AnomalyKind::AbortedRead, 2, _) => {
                format!("{} but aborted.", self.sight(ops[1], "with", ops[0]))
            }
            (AnomalyKind::FutureRead, 2, _) => {
                let thing = self.thing(op(0));
                let element = self.element(ops[1]);
                format!(
                    "{} read {thing} with {element} before it added it.",
                    owner(0)
                )
            }
            (AnomalyKind::NotMyOwnWrite, 2, _) => {
                let thing = self.thing(op(1));
                let element = self.element(ops[0]);
                format!(
                    "{} added {element} to {thing} and then read it without.",
                    owner(0)
                )
            }
            (AnomalyKind::NonRepeatableRead, 2, OpKind::ReadSet) => {
                let element = self.difference(op(0), op(1));
                format!(
                    "{} read {} twice, only once with {element}.",
                    owner(0),
                    self.thing(op(0))
                )
            }
            (AnomalyKind::NonRepeatableRead, 2, _) => {
                format!("{} did {} and later {}.", owner(0), text(0), text(1))
            }
            (AnomalyKind::LostUpdate, 4, _) => format!(
                "{}; {}; both added it.",
                self.sight(ops[0], "without", ops[3]),
                self.sight(ops[2], "without", ops[1])
            ),
            (AnomalyKind::ImpossibleCount, ..) => self.of_count(ops),
            _ => kind.row().meaning.to_string(),
        }
    }

    /// Reads of a counter that no increments explain; the last one is wrong.
    fn of_count(&self, ops: &[OpId]) -> String {
        let did = |op: OpId| format!("{} did {}", self.owner(op), self.history.op_text(op));
        match *ops {
            [read] => format!(
                "{}, but what it must have seen and what else it can have seen do not sum up to \
                 that.",
                did(read)
            ),
            [earlier, read] => format!(
                "{} and {}, which had to see no less.",
                did(earlier),
                did(read)
            ),
            _ => AnomalyKind::ImpossibleCount.row().meaning.to_string(),
        }
    }

    /// An element of a set that nobody added.
    fn stranger(&self, read: Op) -> String {
        let ops = self.history.ops();
        let is_added = |element| {
            let mut adds = (0..ops.len()).filter(|&at| ops.kinds[at] == OpKind::Add);
            adds.any(|at| ops.keys[at] == read.key && ops.values[at] == element)
        };
        let mut elements = self.history.list(read.value).iter();
        let found = elements.find(|&&element| !is_added(element));
        found.map_or_else(String::new, |&code| self.history.value(code).to_string())
    }

    /// An element that one of two sets contains.
    fn difference(&self, first: Op, second: Op) -> String {
        let [a, b] = [first, second].map(|read| self.history.list(read.value));
        let only = |of: &[_], not: &[_]| of.iter().copied().find(|element| !not.contains(element));
        let found = only(a, b).or_else(|| only(b, a));
        found.map_or_else(String::new, |code| self.history.value(code).to_string())
    }

    fn step(&self, edge: &Edge) -> String {
        let (from, to) = (self.txn(edge.from), self.txn(edge.to));
        match (edge.kind, &edge.because, edge.from_op, edge.to_op) {
            (EdgeKind::So, ..) => format!("{from} precedes {to} in their session"),
            (EdgeKind::Rt, ..) => format!("{from} ended before {to} began"),
            (EdgeKind::Wr, _, Some(write), Some(read)) => self.sight(read, "with", write),
            (EdgeKind::Rw, _, Some(read), Some(write)) => self.overlooks(read, write),
            (EdgeKind::Ww, Some(Reason::Read { read, path }), Some(write), _) => {
                let path: Vec<String> = path.iter().map(|edge| self.step(edge)).collect();
                let path = path.join("; ");
                if edge.to == TxnId::INITIAL {
                    let overlooked = self.overlooks(*read, write);
                    return format!("{overlooked}, although it had to see {from} ({path})");
                }
                format!(
                    "{from} must come before {to}, since {} read the version of {to} although it \
                     had to see {from} ({path})",
                    self.owner(*read)
                )
            }
            (EdgeKind::Ww, Some(Reason::List { .. }), ..) => {
                format!("a list shows {from}'s element directly before {to}'s")
            }
            _ => format!("{to} overwrote what {from} read or wrote"),
        }
    }

    /// A read that does not show a write.
    fn overlooks(&self, read: OpId, write: OpId) -> String {
        let op = self.history.op(read);
        if datatype(op.kind).is_some() {
            return self.sight(read, "without", write);
        }
        let (reader, writer) = (self.owner(read), self.owner(write));
        let thing = self.thing(op);
        format!("{reader} read {thing} before {writer} overwrote it")
    }
}
