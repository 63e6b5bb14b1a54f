//! A total order of events that is kept while edges come and go.
//!
//! Definition: `place` is a topological order of the known edges and of the edges that stand at the
//! moment. An edge that agrees with it costs nothing. One that does not is inserted by looking at
//! the events between its two ends only: what its end reaches, and what reaches its start; the two
//! sets change places. If the end reaches the start, there is a cycle, and the shortest path in
//! that stretch is its rest. Removing an edge leaves the order as it is.
//!
//! Cost: an insertion takes the edges within the stretch it has to look at; a good first order
//! keeps those short. Source: Pearce & Kelly, JEA 2006; breadth first here, for short cycles.

use super::known::{Known, Why};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::RangeInclusive;

/// An edge that a choice implies.
#[derive(Clone, Copy, Debug)]
pub struct ChosenEdge {
    pub from: u32,
    pub to: u32,
    pub label: Label,
    /// The literals it stands for; 0 where there is none.
    pub because: [i32; 4],
}

/// What a chosen edge says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Label {
    /// Session order with a transaction that need not count.
    Session,
    /// The read returned the first transaction's version.
    Read(u32),
    /// The first one's version of the key is older.
    Older(u32),
    /// The read's version of the key is older than the second one's.
    Overwritten { read: u32, version_of: u32 },
    /// Real-time order with a transaction that need not count.
    Time,
}

/// One step of a cycle: from one event to the next, and why.
pub type Step = (u32, u32, Why);

/// The order; see the module's text.
pub struct Topological<'a> {
    pub known: &'a Known<'a>,
    place: Vec<u32>,
    event_at: Vec<u32>,
    pub edges: Vec<ChosenEdge>,
    /// By edge, whether it was taken back out of turn.
    is_dead: Vec<bool>,
    out: FxHashMap<u32, Vec<u32>>,
    into: FxHashMap<u32, Vec<u32>>,
    /// By event, in which search it was seen, and the step that led to it.
    seen: Vec<u32>,
    parent: Vec<(u32, Why)>,
    /// The same for searches against the edges.
    seen_back: Vec<u32>,
    parent_back: Vec<(u32, Why)>,
    search: u32,
    /// Events looked at since the beginning.
    pub visits: u64,
}

impl<'a> Topological<'a> {
    /// Starts from an order that agrees with everything known.
    pub fn new(known: &'a Known<'a>, events: Vec<u32>) -> Topological<'a> {
        let mut place = vec![0; known.events()];
        for (at, &event) in events.iter().enumerate() {
            place[event as usize] = at as u32;
        }
        Topological {
            known,
            place,
            event_at: events,
            edges: Vec::new(),
            is_dead: Vec::new(),
            out: FxHashMap::default(),
            into: FxHashMap::default(),
            seen: vec![0; known.events()],
            parent: vec![(0, Why::Own); known.events()],
            seen_back: vec![0; known.events()],
            parent_back: vec![(0, Why::Own); known.events()],
            search: 0,
            visits: 0,
        }
    }

    /// The events in order.
    pub fn events(&self) -> &[u32] {
        &self.event_at
    }

    #[inline]
    pub fn is_before(&self, event: u32, other: u32) -> bool {
        self.place[event as usize] < self.place[other as usize]
    }

    /// How far one event lies before another; far if it lies after it.
    pub fn distance(&self, event: u32, other: u32) -> u32 {
        let (at, to) = (self.place[event as usize], self.place[other as usize]);
        if at <= to {
            to - at
        } else {
            (at - to) | 1 << 31
        }
    }

    /// Adds an edge, or returns the cycle that it would close.
    pub fn insert(&mut self, edge: ChosenEdge) -> Result<(), Vec<Step>> {
        let id = self.edges.len() as u32;
        if !self.is_before(edge.from, edge.to) {
            self.make_room(edge, id)?;
        }
        self.edges.push(edge);
        self.is_dead.push(false);
        self.out.entry(edge.from).or_default().push(id);
        self.into.entry(edge.to).or_default().push(id);
        Ok(())
    }

    /// Takes back edges out of turn.
    pub fn kill(&mut self, edges: std::ops::Range<usize>) {
        self.is_dead[edges].fill(true);
    }

    /// Removes the edges added last, down to this number.
    pub fn truncate(&mut self, count: usize) {
        while self.edges.len() > count {
            let edge = self.edges.pop().expect("there are more edges than count");
            self.is_dead.pop();
            for (table, event) in [(&mut self.out, edge.from), (&mut self.into, edge.to)] {
                if let Some(edges) = table.get_mut(&event) {
                    edges.pop();
                    if edges.is_empty() {
                        table.remove(&event);
                    }
                }
            }
        }
    }

    /// The cycle that an edge would close, if it would.
    pub fn cycle_with(&mut self, edge: ChosenEdge) -> Option<Vec<Step>> {
        if self.is_before(edge.from, edge.to) {
            return None;
        }
        let closing = (edge.from, edge.to, Why::Choice(self.edges.len() as u32));
        if edge.from == edge.to {
            return Some(vec![closing]);
        }
        let mut cycle = self.path_between(edge.to, edge.from)?;
        cycle.push(closing);
        Some(cycle)
    }

    /// A path from one event to another, searched from both sides: where there is none, the side
    /// with fewer events says so.
    fn path_between(&mut self, from: u32, goal: u32) -> Option<Vec<Step>> {
        self.search += 1;
        let stretch = self.place[from as usize]..=self.place[goal as usize];
        self.seen[from as usize] = self.search;
        self.seen_back[goal as usize] = self.search;
        let mut forward = VecDeque::from([from]);
        let mut backward = VecDeque::from([goal]);
        loop {
            let event = forward.pop_front()?;
            let mut met = self.spread(event, &stretch, true, &mut forward);
            if met.is_none() {
                let event = backward.pop_front()?;
                met = self.spread(event, &stretch, false, &mut backward);
            }
            if let Some(middle) = met {
                let mut steps = self.path(from, middle);
                let mut event = middle;
                while event != goal {
                    let (next, why) = self.parent_back[event as usize];
                    steps.push((event, next, why));
                    event = next;
                }
                return Some(steps);
            }
        }
    }

    /// One step of a search from one side; returns an event that the other side has seen.
    fn spread(
        &mut self,
        event: u32,
        stretch: &RangeInclusive<u32>,
        is_forward: bool,
        queue: &mut VecDeque<u32>,
    ) -> Option<u32> {
        self.visits += 1;
        let mut met = None;
        let Topological {
            known,
            place,
            seen,
            parent,
            seen_back,
            parent_back,
            search,
            out,
            into,
            edges,
            is_dead,
            ..
        } = self;
        let (seen, parent, others) = if is_forward {
            (seen, parent, &*seen_back)
        } else {
            (seen_back, parent_back, &*seen)
        };
        let mut visit = |next: u32, why: Why| {
            let is_new = seen[next as usize] != *search;
            if is_new && stretch.contains(&place[next as usize]) {
                seen[next as usize] = *search;
                parent[next as usize] = (event, why);
                queue.push_back(next);
                if others[next as usize] == *search && met.is_none() {
                    met = Some(next);
                }
            }
        };
        let standing = |id: &&u32| !is_dead[**id as usize];
        if is_forward {
            known.successors(event, &mut visit);
            for &id in out.get(&event).into_iter().flatten().filter(standing) {
                visit(edges[id as usize].to, Why::Choice(id));
            }
        } else {
            known.predecessors(event, &mut visit);
            for &id in into.get(&event).into_iter().flatten().filter(standing) {
                visit(edges[id as usize].from, Why::Choice(id));
            }
        }
        met
    }

    fn make_room(&mut self, edge: ChosenEdge, id: u32) -> Result<(), Vec<Step>> {
        if edge.from == edge.to {
            return Err(vec![(edge.from, edge.to, Why::Choice(id))]);
        }
        let forward = self.reach(edge.to, edge.from, true);
        if self.seen[edge.from as usize] == self.search {
            let mut cycle = self.path(edge.to, edge.from);
            cycle.push((edge.from, edge.to, Why::Choice(id)));
            return Err(cycle);
        }
        let backward = self.reach(edge.from, edge.to, false);
        let mut slots: Vec<u32> = Vec::with_capacity(forward.len() + backward.len());
        let mut order: Vec<(u32, u32)> = Vec::with_capacity(slots.capacity());
        for events in [backward, forward] {
            let start = order.len();
            order.extend(
                events
                    .iter()
                    .map(|&event| (self.place[event as usize], event)),
            );
            slots.extend(order[start..].iter().map(|&(place, _)| place));
            order[start..].sort_unstable();
        }
        slots.sort_unstable();
        for (&slot, &(_, event)) in slots.iter().zip(&order) {
            self.place[event as usize] = slot;
            self.event_at[slot as usize] = event;
        }
        Ok(())
    }

    /// The events that `from` reaches (or that reach it, going back) up to the place of `goal`.
    fn reach(&mut self, from: u32, goal: u32, forward: bool) -> Vec<u32> {
        self.search += 1;
        let limit = self.place[goal as usize];
        let mut found = vec![from];
        self.seen[from as usize] = self.search;
        let mut queue = VecDeque::from([from]);
        while let Some(event) = queue.pop_front() {
            self.visits += 1;
            let Topological {
                known,
                place,
                seen,
                parent,
                search,
                out,
                into,
                edges,
                is_dead,
                ..
            } = self;
            let mut visit = |next: u32, why: Why| {
                let at = place[next as usize];
                let inside = if forward { at <= limit } else { at >= limit };
                if inside && seen[next as usize] != *search {
                    seen[next as usize] = *search;
                    parent[next as usize] = (event, why);
                    found.push(next);
                    queue.push_back(next);
                }
            };
            if forward {
                known.successors(event, &mut visit);
                let standing = |id: &&u32| !is_dead[**id as usize];
                for &id in out.get(&event).into_iter().flatten().filter(standing) {
                    visit(edges[id as usize].to, Why::Choice(id));
                }
            } else {
                known.predecessors(event, &mut visit);
                let standing = |id: &&u32| !is_dead[**id as usize];
                for &id in into.get(&event).into_iter().flatten().filter(standing) {
                    visit(edges[id as usize].from, Why::Choice(id));
                }
            }
            if forward && self.seen[goal as usize] == self.search {
                break;
            }
        }
        found
    }

    /// The path that the last forward search found.
    fn path(&self, from: u32, to: u32) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut event = to;
        while event != from {
            let (before, why) = self.parent[event as usize];
            steps.push((before, event, why));
            event = before;
        }
        steps.reverse();
        steps
    }
}
