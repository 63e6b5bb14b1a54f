//! The serialization graph as far as the history shows it: one edge list, sorted into rows where
//! somebody walks along it.
//!
//! Nodes are transactions in the order of the file, so that what happened at about the same time lies
//! together however many sessions there are, and behind them nodes that only pass edges on: *gaps*, which lead from
//! the readers of a version to all its possible next ones (`gaps`), *barriers*, which lead from the
//! transactions that have completed to those that begin next, and in the part that is searched for
//! cycles *lines*, which lead from a transaction to all later ones of its session. They keep the
//! number of edges linear in the operations and in the transactions, and every edge between two
//! transactions one step long.
//!
//! Cost: one pass over the operations and one over the known orders; 13 bytes an edge.

use super::gaps::Gaps;
use crate::observe::{Link, Observed};
use crate::strong::timeline::Timeline;
use crate::strong::versions::Writes;
use history::{EdgeKind, OpId, TxnId};

/// A set of kinds of edges.
pub type Kinds = u8;

pub const WW: Kinds = 1;
pub const WR: Kinds = 2;
pub const RW: Kinds = 4;
pub const SO: Kinds = 8;
pub const RT: Kinds = 16;
/// The rest of an edge that leads through nodes which are no transactions.
pub const INNER: Kinds = 32;

/// One edge. `why` is the place in [`Observed::known`] of a ww edge and the read of a wr or rw edge.
#[derive(Clone, Copy, Debug)]
pub struct Dependency {
    pub from: u32,
    pub to: u32,
    pub why: u32,
}

/// The graph; see the module's text.
pub struct Graph<'a> {
    pub observed: &'a Observed<'a>,
    /// By transaction, its node.
    node_of: Vec<u32>,
    /// By node of a transaction, whether it counts.
    pub taken: Vec<bool>,
    pub edges: Vec<Dependency>,
    /// By edge, its kind.
    pub kinds: Vec<Kinds>,
    /// How many transactions there are: the nodes below.
    pub txns: u32,
    /// The first barrier; gaps are between the transactions and the barriers.
    pub first_barrier: u32,
    /// The first node of a line.
    pub first_line: u32,
    pub nodes: u32,
}

impl<'a> Graph<'a> {
    pub fn new(observed: &'a Observed<'a>) -> Graph<'a> {
        let txns = observed.history.txn_count() as u32;
        let mut node_of = vec![0; txns as usize];
        for (node, placed) in (0u32..).zip(observed.file_order.iter()) {
            node_of[placed.txn.index()] = node;
        }
        let in_file = observed.file_order.iter();
        let taken = in_file.map(|placed| observed.taken[placed.txn.index()]);
        let mut graph = Graph {
            observed,
            taken: taken.collect(),
            node_of,
            edges: Vec::with_capacity(2 * observed.history.op_count()),
            kinds: Vec::with_capacity(2 * observed.history.op_count()),
            txns,
            first_barrier: txns,
            first_line: txns,
            nodes: txns,
        };
        let node_at = graph.node_at();
        graph.add_version_orders(&node_at);
        graph.add_reads(&node_at);
        drop(node_at);
        graph.add_sessions();
        graph.first_barrier = graph.nodes;
        graph.add_real_time();
        graph.first_line = graph.nodes;
        graph
    }

    /// The part between these nodes, with sessions as lines.
    pub fn part(&self, is_wanted: &[bool]) -> Graph<'a> {
        let mut part = Graph {
            observed: self.observed,
            node_of: self.node_of.clone(),
            taken: self.taken.clone(),
            edges: Vec::new(),
            kinds: Vec::new(),
            ..*self
        };
        let mut line = vec![u32::MAX; self.txns as usize];
        for (edge, &kind) in self.edges.iter().zip(&self.kinds) {
            let (from, to) = (edge.from, edge.to);
            if !is_wanted[from as usize] || !is_wanted[to as usize] {
                continue;
            }
            if kind != SO {
                part.push(kind, from, to, edge.why);
                continue;
            }
            // The edges of a session come in its order.
            let after = part.add_node();
            part.push(SO, from, after, 0);
            part.push(INNER, after, to, 0);
            if line[from as usize] != u32::MAX {
                part.push(INNER, line[from as usize], after, 0);
            }
            line[to as usize] = after;
        }
        part
    }

    pub fn push(&mut self, kind: Kinds, from: u32, to: u32, why: u32) {
        self.edges.push(Dependency { from, to, why });
        self.kinds.push(kind);
    }

    pub fn is_txn(&self, node: u32) -> bool {
        node < self.txns
    }

    /// The transaction of a node that is one.
    pub fn txn(&self, node: u32) -> TxnId {
        self.observed.file_order.at(node as usize).txn
    }

    /// The kind of step that an edge is part of.
    pub fn step_kind(&self, edge: u32) -> Kinds {
        match self.kinds[edge as usize] {
            INNER if self.edges[edge as usize].from < self.first_barrier => RW,
            INNER if self.edges[edge as usize].from < self.first_line => RT,
            INNER => SO,
            kind => kind,
        }
    }

    fn add_version_orders(&mut self, node_at: &[u32]) {
        let node = |op: OpId| node_at[op.index()];
        for (place, known) in self.observed.known.iter().enumerate() {
            let (from, to) = (node(known.from_op), node(known.to_op));
            if self.taken[from as usize] && self.taken[to as usize] && from != to {
                self.push(WW, from, to, place as u32);
            }
        }
    }

    /// By operation, the node of its transaction.
    fn node_at(&self) -> Vec<u32> {
        let mut node_at = vec![0; self.observed.history.op_count()];
        for (node, placed) in (0u32..).zip(self.observed.file_order.iter()) {
            node_at[placed.ops()].fill(node);
        }
        node_at
    }

    /// wr and rw edges.
    fn add_reads(&mut self, node_at: &[u32]) {
        let observed = self.observed;
        let history = observed.history;
        let writes = Writes::new(observed);
        let mut gaps = Gaps::new(observed, &self.taken, node_at, &writes);
        for (reader, placed) in (0u32..).zip(observed.file_order.iter()) {
            if !self.taken[reader as usize] {
                continue;
            }
            for op in placed.ops() {
                let (link, key) = (observed.links[op], history.ops().keys[op]);
                if link == Link::INITIAL {
                    gaps.read_initial(key.0, reader, op as u32);
                } else if Link::is_txn(link) && observed.taken[link as usize] {
                    let writer = self.node_of[link as usize];
                    self.push(WR, writer, reader, op as u32);
                    let Some(write) =
                        writes.find_in(observed.file_order.at(writer as usize), key.0)
                    else {
                        continue;
                    };
                    match gaps.next_of(write) {
                        Some(Ok(next)) if next != reader => {
                            self.push(RW, reader, next, op as u32);
                        }
                        Some(Err(())) => gaps.read_open(write, reader, op as u32),
                        _ => {}
                    }
                }
            }
        }
        gaps.add_to(self);
    }

    /// The edges of each session in its order. Those that lie together in the file are added
    /// together, if sessions have their transactions in the order of the file.
    fn add_sessions(&mut self) {
        let observed = self.observed;
        let (history, edge_count) = (observed.history, self.edges.len());
        let mut last = vec![(0, u32::MAX); history.session_count()];
        for (node, placed) in (0u32..).zip(observed.file_order.iter()) {
            if !self.taken[node as usize] {
                continue;
            }
            let (txn, before) = (
                placed.txn.0,
                &mut last[history.session_of(placed.txn).index()],
            );
            let (txn_before, node_before) = std::mem::replace(before, (txn, node));
            if node_before == u32::MAX {
                continue;
            }
            if txn < txn_before {
                self.edges.truncate(edge_count);
                self.kinds.truncate(edge_count);
                return self.add_sessions_by_number();
            }
            self.push(SO, node_before, node, 0);
        }
    }

    /// The same where some transactions lie in the file in another order than in their session.
    fn add_sessions_by_number(&mut self) {
        let history = self.observed.history;
        for session in history.sessions() {
            let mut last = None;
            for txn in history.session_txns(session) {
                if !self.observed.taken[txn as usize] {
                    continue;
                }
                let node = self.node_of[txn as usize];
                if let Some(before) = last {
                    self.push(SO, before, node, 0);
                }
                last = Some(node);
            }
        }
    }

    /// One barrier for each time at which transactions begin after others have completed.
    fn add_real_time(&mut self) {
        let Some(timeline) = Timeline::in_file_order(self.observed) else {
            return;
        };
        let mut completed: Vec<u32> = Vec::new();
        let mut last = None;
        for place in 0..timeline.len() as u32 {
            completed.extend(timeline.completion(place));
            let starting = timeline.starting_after(place);
            if starting.is_empty() {
                continue;
            }
            let barrier = self.add_node();
            for txn in completed.drain(..) {
                self.push(RT, txn, barrier, 0);
            }
            if let Some(before) = last {
                self.push(INNER, before, barrier, 0);
            }
            for &txn in starting {
                self.push(INNER, barrier, txn, 0);
            }
            last = Some(barrier);
        }
    }

    pub fn add_node(&mut self) -> u32 {
        self.nodes += 1;
        self.nodes - 1
    }
}

/// The name of a kind of edge between transactions.
pub fn edge_kind(kind: Kinds) -> EdgeKind {
    match kind {
        WW => EdgeKind::Ww,
        WR => EdgeKind::Wr,
        RW => EdgeKind::Rw,
        SO => EdgeKind::So,
        _ => EdgeKind::Rt,
    }
}

/// Edges by the node they leave.
pub struct Rows {
    starts: Vec<u32>,
    /// The numbers of the edges.
    edges: Vec<u32>,
}

impl Rows {
    pub fn new(graph: &Graph<'_>) -> Rows {
        let mut starts = vec![0u32; graph.nodes as usize + 1];
        for edge in &graph.edges {
            starts[edge.from as usize + 1] += 1;
        }
        for node in 0..graph.nodes as usize {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut edges = vec![0; graph.edges.len()];
        for (number, edge) in graph.edges.iter().enumerate() {
            let place = &mut next[edge.from as usize];
            edges[*place as usize] = number as u32;
            *place += 1;
        }
        Rows { starts, edges }
    }

    #[inline]
    pub fn of(&self, node: u32) -> &[u32] {
        let at = |node: u32| self.starts[node as usize] as usize;
        &self.edges[at(node)..at(node + 1)]
    }
}
