//! Strongly connected components of a part of the graph: Tarjan's algorithm (1972) without recursion.

use super::graph::{Graph, INNER, Kinds, Rows};

const NONE: u32 = u32::MAX;

/// The components with more than one transaction.
pub struct Components {
    /// By node: its component, if that has a cycle.
    pub of: Vec<u32>,
    /// The transactions of each, in order.
    pub members: Vec<Vec<u32>>,
}

impl Components {
    /// By node, whether it is in one.
    pub fn are_members(&self) -> Vec<bool> {
        self.of.iter().map(|&number| number != NONE).collect()
    }
}

/// The components of the nodes in `nodes`, by edges of these kinds.
pub fn components(graph: &Graph<'_>, rows: &Rows, nodes: &[u32], kinds: Kinds) -> Components {
    let mut tarjan = Tarjan {
        graph,
        rows,
        kinds: kinds | INNER,
        index: vec![NONE; graph.nodes as usize],
        low: vec![0; graph.nodes as usize],
        stack: Vec::new(),
        next: 0,
        found: Components {
            of: vec![NONE; graph.nodes as usize],
            members: Vec::new(),
        },
        is_done: vec![false; graph.nodes as usize],
    };
    for &root in nodes {
        if tarjan.index[root as usize] == NONE {
            tarjan.visit(root);
        }
    }
    let mut found = tarjan.found;
    found
        .members
        .iter_mut()
        .for_each(|txns| txns.sort_unstable());
    found
}

struct Tarjan<'t> {
    graph: &'t Graph<'t>,
    rows: &'t Rows,
    kinds: Kinds,
    index: Vec<u32>,
    low: Vec<u32>,
    stack: Vec<u32>,
    next: u32,
    found: Components,
    is_done: Vec<bool>,
}

impl Tarjan<'_> {
    fn visit(&mut self, root: u32) {
        let mut path: Vec<(u32, u32)> = vec![(root, 0)];
        while let Some((node, at)) = path.last_mut() {
            let node = *node;
            if *at == 0 {
                self.index[node as usize] = self.next;
                self.low[node as usize] = self.next;
                self.next += 1;
                self.stack.push(node);
            }
            let row = self.rows.of(node);
            let edge = row.get(*at as usize).copied();
            *at += 1;
            match edge {
                Some(edge) if self.graph.kinds[edge as usize] & self.kinds == 0 => {}
                Some(edge) => {
                    let to = self.graph.edges[edge as usize].to;
                    if self.index[to as usize] == NONE {
                        path.push((to, 0));
                    } else if !self.is_done[to as usize] {
                        let index = self.index[to as usize];
                        self.low[node as usize] = self.low[node as usize].min(index);
                    }
                }
                None => {
                    path.pop();
                    if self.low[node as usize] == self.index[node as usize] {
                        self.finish(node);
                    }
                    if let Some(&(before, _)) = path.last() {
                        let low = self.low[node as usize];
                        self.low[before as usize] = self.low[before as usize].min(low);
                    }
                }
            }
        }
    }

    /// Takes a whole component off the stack.
    fn finish(&mut self, root: u32) {
        let at = self.stack.iter().rposition(|&node| node == root);
        let nodes = self.stack.split_off(at.expect("a root is on the stack"));
        let number = self.found.members.len() as u32;
        for &node in &nodes {
            self.is_done[node as usize] = true;
        }
        let txns = || {
            nodes
                .iter()
                .copied()
                .filter(|&node| self.graph.is_txn(node))
        };
        if txns().nth(1).is_some() {
            let members = txns().collect();
            for &node in &nodes {
                self.found.of[node as usize] = number;
            }
            self.found.members.push(members);
        }
    }
}
