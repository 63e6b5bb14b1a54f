//! An order of events by one topological sort of the graph, or what is left of it.
//!
//! Steps: take events that nothing open precedes, the one that came free last first, so that a
//! transaction that can commit does so right after its start. Cost: linear.

use super::graph::{Graph, INNER, Kinds, RT, RW, WW};
use crate::strong::shape::Shape;

/// The events of a shape, as nodes: those of transactions, then the nodes that pass edges on.
struct Events {
    shape: Shape,
    first_other: u32,
    txns: u32,
    first_barrier: u32,
}

impl Events {
    fn start(&self, node: u32) -> u32 {
        if node < self.txns {
            self.shape.start(node)
        } else {
            self.first_other + node - self.txns
        }
    }

    fn commit(&self, node: u32) -> u32 {
        if node < self.txns {
            self.shape.commit(node)
        } else {
            self.start(node)
        }
    }

    /// The events that an edge puts in order.
    #[inline]
    fn of(&self, kind: Kinds, from: u32, to: u32) -> (u32, u32) {
        if !self.shape.split {
            return (from, to);
        }
        match kind {
            RW => (self.start(from), self.commit(to)),
            INNER if from < self.first_barrier => (self.start(from), self.commit(to)),
            WW if !self.shape.exclusive => (self.commit(from), self.commit(to)),
            _ => (self.commit(from), self.start(to)),
        }
    }
}

/// The events of the taken transactions (those of nodes, with the shape's numbers) in an order that agrees with all edges of these kinds; the
/// error says which nodes are left: those on cycles, and what they precede.
pub fn sort(graph: &Graph<'_>, shape: Shape, kinds: Kinds) -> Result<Vec<u32>, Vec<bool>> {
    let events = Events {
        shape,
        first_other: shape.events(graph.txns as usize) as u32,
        txns: graph.txns,
        first_barrier: graph.first_barrier,
    };
    let taken = &graph.taken;
    let count = (events.first_other + graph.nodes - graph.txns) as usize;
    let kinds = kinds | INNER;
    let barriers = kinds & RT != 0;
    let pairs = || {
        let all = graph.edges.iter().zip(&graph.kinds);
        all.filter(move |(edge, kind)| {
            **kind & kinds != 0 && (barriers || edge.from < graph.first_barrier)
        })
        .map(|(edge, &kind)| events.of(kind, edge.from, edge.to))
    };
    // Shifted by one while the rows are filled, so that each start ends where the next row begins.
    let mut starts = vec![0u32; count + 2];
    let mut open = vec![0u32; count];
    for (from, to) in pairs() {
        starts[from as usize + 2] += 1;
        open[to as usize] += 1;
    }
    for event in 0..count {
        starts[event + 2] += starts[event + 1];
    }
    let mut targets = vec![0u32; starts[count + 1] as usize];
    for (from, to) in pairs() {
        let place = &mut starts[from as usize + 1];
        targets[*place as usize] = to;
        *place += 1;
    }
    let is_counted = |event: u32| event >= events.first_other || taken[shape.txn(event) as usize];
    if shape.split {
        for txn in (0..graph.txns).filter(|&txn| taken[txn as usize]) {
            open[shape.commit(txn) as usize] += 1;
        }
    }
    let mut free: Vec<u32> = (0..count as u32)
        .rev()
        .filter(|&event| open[event as usize] == 0 && is_counted(event))
        .collect();
    let mut order = Vec::with_capacity(count);
    while let Some(event) = free.pop() {
        let is_txn = event < events.first_other;
        if is_txn {
            order.push(event);
        }
        let row = starts[event as usize] as usize..starts[event as usize + 1] as usize;
        let own = shape.split && is_txn && shape.is_start(event);
        let own = own.then(|| shape.commit(shape.txn(event)));
        for &to in targets[row].iter().chain(&own) {
            open[to as usize] -= 1;
            if open[to as usize] == 0 {
                free.push(to);
            }
        }
    }
    let left = |node: u32| open[events.start(node) as usize] + open[events.commit(node) as usize];
    let counted = taken.iter().filter(|&&taken| taken).count();
    if order.len() == shape.events(counted) {
        Ok(order)
    } else {
        Err((0..graph.nodes).map(|node| left(node) > 0).collect())
    }
}
