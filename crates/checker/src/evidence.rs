//! Edges as evidence: every one with the operations behind it and, where it is forced, the reason.

use crate::graph::{Graph, Step};
use crate::observe::{KnownOrder, Observed};
use crate::order::{Forced, ForcedEdges};
use crate::rule::Rule;
use history::{Anomaly, Edge, EdgeKind, KeyId, OpId, OpKind, Reason, SessionId, Status, TxnId};
use rustc_hash::FxHashMap;

/// Whether evidence names a transaction of unknown outcome, or assumes who appended what such a one may have
/// appended as well.
pub fn is_of_unknown_outcome(observed: &Observed<'_>, anomaly: &Anomaly) -> bool {
    let is_unknown =
        |txn: TxnId| observed.statuses.get(txn.index()) == Some(&Status::Indeterminate);
    let of_op = |op: OpId| is_unknown(observed.txn_of(op));
    let mut named = anomaly.transactions.iter();
    if named.any(|&txn| is_unknown(txn)) || anomaly.ops.iter().any(|&op| of_op(op)) {
        return true;
    }
    let mut assumed = anomaly.assuming.iter();
    if assumed.any(|&(read, _)| may_be_appended(observed, read, is_unknown)) {
        return true;
    }
    let mut work: Vec<&Edge> = anomaly.edges.iter().collect();
    work.extend(anomaly.otherwise.iter().flatten());
    while let Some(edge) = work.pop() {
        let is_reason_unknown = match &edge.because {
            Some(Reason::Read { read, path }) => {
                work.extend(path);
                of_op(*read)
            }
            Some(Reason::List { read }) => of_op(*read),
            Some(Reason::Assumed { before, after }) => of_op(*before) || of_op(*after),
            Some(Reason::Version { writer }) => is_unknown(*writer),
            None => false,
        };
        if is_reason_unknown || is_unknown(edge.from) || is_unknown(edge.to) {
            return true;
        }
    }
    false
}

/// Whether one of these transactions appended the last element of a list that was read.
fn may_be_appended(observed: &Observed<'_>, read: OpId, by: impl Fn(TxnId) -> bool) -> bool {
    let ops = observed.history.ops();
    let (key, element) = (ops.keys[read.index()], observed.values[read.index()]);
    let mut appends = observed.history.txn_ids().filter(|&txn| by(txn));
    appends.any(|txn| {
        let mut range = observed.history.op_range(txn);
        range.any(|op| {
            ops.kinds[op] == OpKind::Append && ops.keys[op] == key && ops.values[op] == element
        })
    })
}

/// Makes evidence for a rule.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    pub observed: &'a Observed<'a>,
    pub rule: Rule,
}

impl Evidence<'_> {
    /// The edge of a step in a graph with these forced edges.
    pub fn step(&self, forced: &ForcedEdges, step: Step) -> Edge {
        match step {
            Step::So { from, to } => so_edge(from, to),
            Step::Wr { from, to, read } => self.wr_edge(from, to, read),
            Step::Forced { index, .. } => {
                self.forced(&forced.edges[index as usize], &mut { u64::MAX })
            }
        }
    }

    /// A forced edge with its reason. `limit` bounds the search for the shortest one.
    pub fn forced(&self, edge: &Forced, limit: &mut u64) -> Edge {
        let observed = self.observed;
        let (from, to) = (TxnId(edge.from), TxnId(edge.to));
        if edge.reader == Forced::KNOWN {
            let known = observed.known[edge.read as usize];
            return Edge {
                from,
                to,
                kind: EdgeKind::Ww,
                key: Some(observed.history.op(known.read).key),
                from_op: Some(known.from_op),
                to_op: Some(known.to_op),
                because: Some(known.reason()),
            };
        }
        let key = observed.history.ops().keys[edge.read as usize];
        let path = self.reason_path(edge, key, limit);
        Edge {
            from,
            to,
            kind: EdgeKind::Ww,
            key: Some(key),
            from_op: observed.write_to(from, key),
            to_op: if to == TxnId::INITIAL {
                None
            } else {
                observed.write_to(to, key)
            },
            because: Some(Reason::Read {
                read: OpId(edge.read),
                path,
            }),
        }
    }

    /// Why the reader had to see `edge.from`, in the form the rule demands.
    fn reason_path(&self, edge: &Forced, key: KeyId, limit: &mut u64) -> Vec<Edge> {
        let (t2, t3) = (edge.from, edge.reader);
        match self.rule {
            Rule::ReadYourWrites => vec![so_edge(t2, t3)],
            Rule::ReadCommitted => vec![self.read_edge(t2, t3, None)],
            Rule::ReadAtomic => {
                let session_of = |txn: u32| self.observed.history.session_of(TxnId(txn));
                let by_session = session_of(t2) == session_of(t3) && t2 < t3;
                if by_session && !edge.direct {
                    vec![so_edge(t2, t3)]
                } else {
                    vec![self.read_edge(t2, t3, Some(key))]
                }
            }
            Rule::MonotonicReads => self.monotonic_reads(t2, t3),
            Rule::MonotonicWrites => self.monotonic_writes(t2, t3),
            Rule::WritesFollowReads => self.writes_follow_reads(t2, t3),
            Rule::Causal if edge.direct => vec![self.read_edge(t2, t3, Some(key))],
            Rule::Causal => self.happens_before(t2, t3, limit),
        }
    }

    fn wr_edge(&self, from: u32, to: u32, read: u32) -> Edge {
        let key = self.observed.history.ops().keys[read as usize];
        Edge {
            from: TxnId(from),
            to: TxnId(to),
            kind: EdgeKind::Wr,
            key: Some(key),
            from_op: self.observed.write_to(TxnId(from), key),
            to_op: Some(OpId(read)),
            because: None,
        }
    }

    /// The first read of `t3` from `t2`, of another key than `not_of` if there is one.
    fn read_edge(&self, t2: u32, t3: u32, not_of: Option<KeyId>) -> Edge {
        let reads = || {
            self.observed
                .reads(TxnId(t3))
                .filter(|&(_, _, writer)| writer.0 == t2)
        };
        let (op, ..) = reads()
            .find(|&(_, key, _)| Some(key) != not_of)
            .or_else(|| reads().next())
            .expect("the reader read from it");
        self.wr_edge(t2, t3, op.0)
    }

    fn monotonic_reads(&self, t2: u32, t3: u32) -> Vec<Edge> {
        let history = self.observed.history;
        let start = history.session_txns(history.session_of(TxnId(t3))).start;
        let (middle, read) = self
            .first_reader(start..t3, t2)
            .expect("the session read from it");
        vec![self.wr_edge(t2, middle, read), so_edge(middle, t3)]
    }

    fn monotonic_writes(&self, t2: u32, t3: u32) -> Vec<Edge> {
        let history = self.observed.history;
        let session = history.session_of(TxnId(t2));
        let mut reads = self.observed.reads(TxnId(t3));
        let (op, _, middle) = reads
            .find(|&(_, _, writer)| history.session_of(writer) == session && writer.0 > t2)
            .expect("the reader read from the session");
        vec![so_edge(t2, middle.0), self.wr_edge(middle.0, t3, op.0)]
    }

    /// A reader may have read from very many of a session, each of which knows what those before it
    /// knew: so every session is gone through once.
    fn writes_follow_reads(&self, t2: u32, t3: u32) -> Vec<Edge> {
        let history = self.observed.history;
        let mut first_readers: FxHashMap<SessionId, Option<(u32, u32)>> = FxHashMap::default();
        let through = |(op, _, middle): (OpId, KeyId, TxnId)| {
            let session = history.session_of(middle);
            let first = first_readers
                .entry(session)
                .or_insert_with(|| self.first_reader(history.session_txns(session), t2));
            let (first, read) = first.filter(|&(first, _)| first <= middle.0)?;
            let mut path = vec![self.wr_edge(t2, first, read)];
            if first != middle.0 {
                path.push(so_edge(first, middle.0));
            }
            path.push(self.wr_edge(middle.0, t3, op.0));
            Some(path)
        };
        let mut reads = self.observed.reads(TxnId(t3));
        reads
            .find_map(through)
            .expect("the reader read from a session that had read from it")
    }

    fn happens_before(&self, t2: u32, t3: u32, limit: &mut u64) -> Vec<Edge> {
        let none = ForcedEdges::default();
        let graph = self.base(&none);
        let path = graph
            .path_within(t2, t3, true, u32::MAX, limit)
            .or_else(|| graph.shortest_path(t2, t3, None, true, &mut { u64::MAX }))
            .expect("it happens before the reader");
        path.iter().map(|&step| self.step(&none, step)).collect()
    }

    /// How many steps lead from `edge.from` to the reader, if not more than `longest`; as `reason_path`.
    pub fn reason_within(&self, edge: &Forced, longest: u32, limit: &mut u64) -> Option<u32> {
        let length = match self.rule {
            Rule::Causal if !edge.direct => {
                let none = ForcedEdges::default();
                let graph = self.base(&none);
                let (from, to) = (edge.from, edge.reader);
                graph.path_within(from, to, true, longest, limit)?.len()
            }
            _ => {
                let key = self.observed.history.ops().keys[edge.read as usize];
                self.reason_path(edge, key, limit).len()
            }
        };
        (length as u32 <= longest).then_some(length as u32)
    }

    fn base<'g>(&'g self, none: &'g ForcedEdges) -> Graph<'g> {
        Graph {
            observed: self.observed,
            forced: none,
            base: true,
        }
    }

    /// The first transaction of a range that read from `writer`, and the read.
    fn first_reader(&self, range: std::ops::Range<u32>, writer: u32) -> Option<(u32, u32)> {
        range
            .filter(|&txn| self.observed.taken[txn as usize])
            .find_map(|txn| {
                let mut reads = self.observed.reads(TxnId(txn));
                reads
                    .find(|&(_, _, w)| w.0 == writer)
                    .map(|(op, ..)| (txn, op.0))
            })
    }
}

/// The edges of versions of a key that go in a circle, or come before the initial one.
pub fn of_circle(key: KeyId, circle: &[KnownOrder]) -> Vec<Edge> {
    let edge = |known: &KnownOrder| {
        let write = |txn: TxnId, op: OpId| (txn != TxnId::INITIAL).then_some(op);
        Edge {
            from: known.from,
            to: known.to,
            kind: EdgeKind::Ww,
            key: Some(key),
            from_op: write(known.from, known.from_op),
            to_op: write(known.to, known.to_op),
            because: Some(known.reason()),
        }
    };
    circle.iter().map(edge).collect()
}

fn so_edge(from: u32, to: u32) -> Edge {
    Edge {
        from: TxnId(from),
        to: TxnId(to),
        kind: EdgeKind::So,
        key: None,
        from_op: None,
        to_op: None,
        because: None,
    }
}
