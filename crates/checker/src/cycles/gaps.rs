//! Which versions may come directly after a version.
//!
//! A version that lists show has one next version, mostly. It has several where the order is open:
//! the last version that a list shows is followed by all appends that no list shows, and the initial
//! version of a key by every version of which nothing says what precedes it (for a register, all of
//! them). Whoever read such a version precedes all of them, in every interpretation.
//!
//! Those are as many edges as readers times versions, so they lead through nodes in between: for the
//! writers w1 … wm, node `down i` leads to w1 … wi and `up i` to wi … wm, by way of their neighbours.
//! A reader goes to `down m`, one that is itself writer i to `down i-1` and `up i+1`.
//!
//! Why nothing else is said about registers: that a transaction overwrote the version it read (writes
//! follow reads) is no fact. Where it is not so, another cycle closes (wr, ww), so a level may be
//! violated either way, but not by the cycle one would name. Orders of registers that are taken for
//! granted on request are ww edges, but no rw edges follow from them here.

use super::graph::{Graph, INNER, RW};
use crate::observe::{KnownOrder, Link, Observed, Placed};
use crate::strong::versions::Writes;
use history::OpId;

const NONE: u32 = u32::MAX;
/// There are several next versions.
const OPEN: u32 = u32::MAX - 1;
/// In transactions with more operations, no earlier append to the same list is looked for.
const SCANNED_MAX: usize = 64;

/// A read of a version: what was read (a write or a key), the reader, the operation.
type Reading = (u32, u32, u32);

/// See the module's text.
pub struct Gaps<'a> {
    observed: &'a Observed<'a>,
    /// By write: the writer of the next version, a node of the graph as all transactions here.
    next: Vec<u32>,
    /// By last write: whether something is known to precede the version.
    is_preceded: Vec<bool>,
    /// The next versions of those that have several: write, writer.
    open: Vec<(u32, u32)>,
    open_reads: Vec<Reading>,
    initial_reads: Vec<Reading>,
}

impl<'a> Gaps<'a> {
    /// `taken`: by node, whether it counts; `node_at`: by operation, the node of its transaction.
    pub fn new(
        observed: &'a Observed<'a>,
        taken: &[bool],
        node_at: &[u32],
        writes: &Writes<'_>,
    ) -> Gaps<'a> {
        let ops = observed.history.op_count();
        let mut gaps = Gaps {
            observed,
            next: vec![NONE; ops],
            is_preceded: vec![false; ops],
            open: Vec::new(),
            open_reads: Vec::new(),
            initial_reads: Vec::new(),
        };
        for known in &observed.known {
            let writer = node_at[known.from_op.index()];
            let (from, to) = (known.from_op.0, node_at[known.to_op.index()]);
            let counts = taken[writer as usize] && taken[to as usize] && writer != to;
            if !counts || known.after != KnownOrder::LISTED {
                continue;
            }
            match gaps.next[known.from_op.index()] {
                NONE => gaps.next[known.from_op.index()] = to,
                OPEN => gaps.open.push((from, to)),
                other if other == to => {}
                other => {
                    gaps.open.extend([(from, other), (from, to)]);
                    gaps.next[known.from_op.index()] = OPEN;
                }
            }
            let key = observed.history.ops().keys[known.to_op.index()].0;
            let placed = observed.file_order.at(to as usize);
            if gaps.is_first_append(placed, known.to_op)
                && let Some(last) = writes.find_in(placed, key)
            {
                gaps.is_preceded[last as usize] = true;
            }
        }
        gaps.open.sort_unstable();
        gaps.open.dedup();
        gaps
    }

    fn is_first_append(&self, placed: Placed, append: OpId) -> bool {
        let (range, ops) = (placed.ops(), self.observed.history.ops());
        let key = ops.keys[append.index()];
        if range.len() > SCANNED_MAX {
            return true;
        }
        let mut earlier = range.start..append.index();
        !earlier.any(|op| ops.keys[op] == key && ops.kinds[op].is_write())
    }

    /// The writer of the version after that of a last write; an error if it is one of several.
    #[inline]
    pub fn next_of(&self, write: u32) -> Option<Result<u32, ()>> {
        match self.next[write as usize] {
            NONE => None,
            OPEN => Some(Err(())),
            next => Some(Ok(next)),
        }
    }

    /// Notes a read of a version with several next ones.
    pub fn read_open(&mut self, write: u32, reader: u32, read: u32) {
        self.open_reads.push((write, reader, read));
    }

    /// Notes a read of the initial version of a key.
    pub fn read_initial(&mut self, key: u32, reader: u32, read: u32) {
        self.initial_reads.push((key, reader, read));
    }

    /// Adds the rw edges of all reads noted.
    pub fn add_to(mut self, graph: &mut Graph<'_>) {
        self.open_reads.sort_unstable();
        connect(graph, &self.open_reads, &self.open);
        self.initial_reads.sort_unstable();
        let firsts = self.first_versions();
        connect(graph, &self.initial_reads, &firsts);
    }

    /// The versions of which nothing is known to precede them, of keys whose initial version was
    /// read: key, writer.
    fn first_versions(&self) -> Vec<(u32, u32)> {
        let history = self.observed.history;
        let mut is_read = vec![false; history.keys().limit()];
        for &(key, ..) in &self.initial_reads {
            is_read[key as usize] = true;
        }
        let mut firsts: Vec<(u32, u32)> = Vec::new();
        for (node, placed) in (0u32..).zip(self.observed.file_order.iter()) {
            if !self.observed.taken[placed.txn.index()] {
                continue;
            }
            for op in placed.ops() {
                let key = history.ops().keys[op];
                let is_version = self.observed.links[op] == Link::WRITE && !self.is_preceded[op];
                if is_version && is_read[key.index()] {
                    firsts.push((key.0, node));
                }
            }
        }
        firsts.sort_unstable();
        firsts
    }
}

/// Connects the readers of each version with the writers of its next ones. Both are sorted.
fn connect(graph: &mut Graph<'_>, reads: &[Reading], writers: &[(u32, u32)]) {
    let mut rest = writers;
    for reads in reads.chunk_by(|one, other| one.0 == other.0) {
        let version = reads[0].0;
        rest = &rest[rest.partition_point(|writer| writer.0 < version)..];
        let writers = &rest[..rest.partition_point(|writer| writer.0 == version)];
        if reads.len() == 1 || writers.len() <= 2 {
            for &(_, reader, read) in reads {
                for &(_, writer) in writers.iter().filter(|writer| writer.1 != reader) {
                    graph.push(RW, reader, writer, read);
                }
            }
        } else {
            connect_through(graph, reads, writers);
        }
    }
}

/// The same through nodes in between.
fn connect_through(graph: &mut Graph<'_>, reads: &[Reading], writers: &[(u32, u32)]) {
    let count = writers.len();
    let down: Vec<u32> = (0..count).map(|_| graph.add_node()).collect();
    let up: Vec<u32> = (0..count).map(|_| graph.add_node()).collect();
    for (at, &(_, writer)) in writers.iter().enumerate() {
        graph.push(INNER, down[at], writer, 0);
        graph.push(INNER, up[at], writer, 0);
        if at > 0 {
            graph.push(INNER, down[at], down[at - 1], 0);
            graph.push(INNER, up[at - 1], up[at], 0);
        }
    }
    for &(_, reader, read) in reads {
        match writers.binary_search_by_key(&reader, |writer| writer.1) {
            Err(_) => graph.push(RW, reader, down[count - 1], read),
            Ok(at) => {
                if at > 0 {
                    graph.push(RW, reader, down[at - 1], read);
                }
                if at + 1 < count {
                    graph.push(RW, reader, up[at + 1], read);
                }
            }
        }
    }
}
