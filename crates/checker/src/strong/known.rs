//! The part of the order of events that needs no choice: sessions, settled reads, real time, and
//! version orders that list reads show. Edges are not stored but read off the history, except
//! those of lists.

use super::shape::Shape;
use super::timeline::Timeline;
use super::versions::Readers;
use crate::observe::Observed;
use history::{SessionId, TxnId};
use std::ops::Range;

const NONE: u32 = u32::MAX;

/// Why one event precedes another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// The two are the start and the commit of one transaction.
    Own,
    Session,
    /// The read returned the first transaction's version.
    Read(u32),
    /// Along the line of completions.
    Time,
    /// A place in `Observed::known`, for the order of two versions.
    ListOrder(u32),
    /// A read of the first of two versions, and the place of their order in `Observed::known`.
    ListRead(u32, u32),
    /// It follows from the rest; there is no more to say, so no evidence has such a step.
    Implied,
    /// A choice; an index into the edges of the order.
    Choice(u32),
}

/// Everything known before a choice is made.
pub struct Known<'a> {
    pub observed: &'a Observed<'a>,
    pub shape: Shape,
    pub readers: Readers,
    pub timeline: Option<Timeline>,
    next: Vec<u32>,
    previous: Vec<u32>,
    lists: Lists,
    /// Edges that follow from the others, by their ends and by their starts.
    implied_before: Edges,
    implied_after: Edges,
}

/// Edges by one of their ends.
#[derive(Default)]
pub struct Edges {
    starts: Vec<u32>,
    others: Vec<u32>,
}

impl Edges {
    /// No edges.
    pub const NONE: Edges = Edges {
        starts: Vec::new(),
        others: Vec::new(),
    };

    /// The same edges by their other ends.
    pub fn reversed(&self, count: usize) -> Edges {
        let ends = 0..self.starts.len().saturating_sub(1) as u32;
        let pairs = ends.flat_map(|end| self.of(end).iter().map(move |&other| (end, other)));
        Edges::new(pairs, count)
    }

    /// The pairs by their second halves.
    pub fn new(pairs: impl Iterator<Item = (u32, u32)> + Clone, count: usize) -> Edges {
        let mut starts = vec![0u32; count + 1];
        for (_, to) in pairs.clone() {
            starts[to as usize + 1] += 1;
        }
        for event in 0..count {
            starts[event + 1] += starts[event];
        }
        let mut next = starts.clone();
        let mut others = vec![0; starts[count] as usize];
        for (from, to) in pairs {
            others[next[to as usize] as usize] = from;
            next[to as usize] += 1;
        }
        Edges { starts, others }
    }

    /// The other ends of the edges with this one.
    #[inline]
    pub fn of(&self, event: u32) -> &[u32] {
        match self.starts.get(event as usize..event as usize + 2) {
            Some(range) => &self.others[range[0] as usize..range[1] as usize],
            None => &[],
        }
    }
}

/// The edges of known version orders, both ways round.
#[derive(Default)]
struct Lists {
    /// From, to, why; sorted by `from`.
    out: Vec<(u32, u32, Why)>,
    /// To, from, why; sorted by `to`.
    into: Vec<(u32, u32, Why)>,
}

impl<'a> Known<'a> {
    /// How many orders follow from the others.
    pub fn implied_count(&self) -> usize {
        self.implied_after.others.len()
    }

    pub fn new(observed: &'a Observed<'a>, shape: Shape, timeline: Option<Timeline>) -> Known<'a> {
        let (next, previous) = session_neighbours(observed, shape);
        let readers = Readers::new(observed);
        let lists = Lists::new(observed, shape, &readers);
        Known {
            observed,
            shape,
            readers,
            timeline,
            next,
            previous,
            lists,
            implied_before: Edges::default(),
            implied_after: Edges::default(),
        }
    }

    /// Takes these edges between events as known, in place of others that were added this way.
    pub fn imply(&mut self, edges: &[(u32, u32)]) {
        let reversed = edges.iter().map(|&(from, to)| (to, from));
        self.implied_before = Edges::new(edges.iter().copied(), self.events());
        self.implied_after = Edges::new(reversed, self.events());
    }

    /// The edges that sessions would be, if they counted, by their starts. Each transaction precedes the next
    /// two: where neighbours changed places, the edge between them is given up, and they have others.
    pub fn wished_sessions(&self) -> Edges {
        let shape = self.shape;
        let (next, _) = session_neighbours(self.observed, shape.with_sessions());
        let after = |txn: u32| Some(next[txn as usize]).filter(|&next| next != NONE);
        let both = |txn: u32| {
            [after(txn), after(txn).and_then(after)]
                .into_iter()
                .flatten()
        };
        let edges = (0..next.len() as u32)
            .flat_map(|txn| both(txn).map(move |next| (shape.start(next), shape.commit(txn))));
        Edges::new(edges, self.events())
    }

    /// How many events there are; those of the line of completions come last.
    pub fn events(&self) -> usize {
        let completions = self.timeline.as_ref().map_or(0, Timeline::len);
        self.first_completion() as usize + completions
    }

    /// How many of them are of transactions that count, or of the line of completions.
    pub fn counted_events(&self) -> usize {
        let counted = self.observed.taken.count();
        let completions = self.timeline.as_ref().map_or(0, Timeline::len);
        self.shape.events(counted) + completions
    }

    /// The first event of the line of completions.
    pub fn first_completion(&self) -> u32 {
        self.shape.events(self.observed.history.txn_count()) as u32
    }

    /// Calls with every known successor of an event.
    #[inline]
    pub fn successors(&self, event: u32, mut call: impl FnMut(u32, Why)) {
        let (shape, first) = (self.shape, self.first_completion());
        if event >= first {
            let timeline = self.timeline.as_ref().expect("only a line has such events");
            let place = event - first;
            if place as usize + 1 < timeline.len() {
                call(event + 1, Why::Time);
            }
            for &txn in timeline.starting_after(place) {
                call(shape.start(txn), Why::Time);
            }
            return;
        }
        let txn = shape.txn(event);
        if shape.split && shape.is_start(event) {
            call(shape.commit(txn), Why::Own);
        } else {
            if self.next[txn as usize] != NONE {
                call(shape.start(self.next[txn as usize]), Why::Session);
            }
            for &(read, reader) in self.readers.of(txn) {
                call(shape.start(reader), Why::Read(read));
            }
            if let Some(place) = self.timeline.as_ref().and_then(|line| line.place(txn)) {
                call(first + place, Why::Time);
            }
        }
        for &(_, to, why) in Lists::of(&self.lists.out, event) {
            call(to, why);
        }
        for &to in self.implied_after.of(event) {
            call(to, Why::Implied);
        }
    }

    /// Calls with every known predecessor of an event.
    #[inline]
    pub fn predecessors(&self, event: u32, mut call: impl FnMut(u32, Why)) {
        let (shape, first) = (self.shape, self.first_completion());
        if event >= first {
            let timeline = self.timeline.as_ref().expect("only a line has such events");
            let place = event - first;
            if place > 0 {
                call(event - 1, Why::Time);
            }
            if let Some(txn) = timeline.completion(place) {
                call(shape.commit(txn), Why::Time);
            }
            return;
        }
        let txn = shape.txn(event);
        if shape.split && shape.is_commit(event) {
            call(shape.start(txn), Why::Own);
        } else {
            if self.previous[txn as usize] != NONE {
                call(shape.commit(self.previous[txn as usize]), Why::Session);
            }
            // A transaction that need not count has no edges but chosen ones.
            if self.observed.taken[txn as usize] {
                for (read, _, writer) in self.observed.reads(TxnId(txn)) {
                    call(shape.commit(writer.0), Why::Read(read.0));
                }
                if let Some(completion) = self.last_completion_before(txn) {
                    call(completion, Why::Time);
                }
            }
        }
        for &(_, from, why) in Lists::of(&self.lists.into, event) {
            call(from, why);
        }
        for &from in self.implied_before.of(event) {
            call(from, Why::Implied);
        }
    }

    /// The last event of the line of completions that precedes a transaction's start.
    pub fn last_completion_before(&self, txn: u32) -> Option<u32> {
        let before = self.timeline.as_ref()?.completed_before(txn);
        (before > 0).then(|| self.first_completion() + before - 1)
    }
}

/// By transaction, the next and the previous taken one of its session.
fn session_neighbours(observed: &Observed<'_>, shape: Shape) -> (Vec<u32>, Vec<u32>) {
    let history = observed.history;
    let mut next = vec![NONE; history.txn_count()];
    let mut previous = vec![NONE; history.txn_count()];
    if !shape.sessions {
        return (next, previous);
    }
    for session in 0..history.session_count() as u32 {
        let range: Range<u32> = history.session_txns(SessionId(session));
        let mut last = NONE;
        for txn in range.filter(|&txn| observed.taken[txn as usize]) {
            previous[txn as usize] = last;
            if last != NONE {
                next[last as usize] = txn;
            }
            last = txn;
        }
    }
    (next, previous)
}

impl Lists {
    fn new(observed: &Observed<'_>, shape: Shape, readers: &Readers) -> Lists {
        let mut out = Vec::new();
        let taken = |txn: TxnId| observed.taken[txn.index()];
        for (place, known) in observed.known.iter().enumerate() {
            if !taken(known.from) || !taken(known.to) || known.from == known.to {
                continue;
            }
            let (from, to) = (known.from.0, known.to.0);
            let later = if shape.exclusive {
                shape.start(to)
            } else {
                shape.commit(to)
            };
            out.push((shape.commit(from), later, Why::ListOrder(place as u32)));
            if shape.parallel {
                continue;
            }
            let key = observed.history.op(known.from_op).key;
            for &(read, reader) in readers.of(from) {
                let same_key = observed.history.ops().keys[read as usize] == key;
                if same_key && reader != to {
                    let why = Why::ListRead(read, place as u32);
                    out.push((shape.start(reader), shape.commit(to), why));
                }
            }
        }
        let mut into: Vec<(u32, u32, Why)> = out.iter().map(|&(a, b, why)| (b, a, why)).collect();
        out.sort_unstable_by_key(|edge| edge.0);
        into.sort_unstable_by_key(|edge| edge.0);
        Lists { out, into }
    }

    fn of(edges: &[(u32, u32, Why)], event: u32) -> &[(u32, u32, Why)] {
        if edges.is_empty() {
            return &[];
        }
        let start = edges.partition_point(|edge| edge.0 < event);
        let end = start + edges[start..].partition_point(|edge| edge.0 == event);
        &edges[start..end]
    }
}
