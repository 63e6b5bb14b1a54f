//! An order of numbered events that is kept while edges are inserted, and times along it.
//!
//! Definition: the events have numbers, their places in the order given first; `place` is a
//! topological order of all edges. An edge that agrees with it is only entered. For one that does
//! not, what its end leads to and what leads to its start, between the two, is searched by turns, and the two change
//! places; if they meet, the edge is refused. *Times* run from 0 to 1 along the order, each in the
//! middle between the latest event before it and the earliest one after it.
//!
//! Cost: an insertion takes the edges of the events that it moves, and mostly less where it is refused; times take the edges for each
//! sweep and a sort. Source: Pearce & Kelly, JEA 2006, as in `topological`, which can say why an
//! edge is refused and take edges back out of turn; this one need not, and is a guess's.

use super::bunches::Bunches;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// An edge from one event to another.
pub type Edge = (u32, u32);

/// When an event takes place, and how wide the gap is that it may move in.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    pub at: f32,
    pub gap: f32,
}

/// Room for more edges of an event, at least and at most.
const SPARE: u32 = 2;
const SPARE_MAX: usize = 14;

/// Who an edge belongs to, so that it can be taken back; [`NOBODY`] if it cannot.
pub type Owner = u32;
pub const NOBODY: Owner = u32::MAX;

/// See the module's text.
pub struct Kept {
    before: Bunches<(u32, Owner)>,
    after: Bunches<(u32, Owner)>,
    order: Vec<u32>,
    place: Vec<u32>,
    times: Vec<f32>,
    /// Between what times an event may move.
    room: Vec<(f32, f32)>,
    /// By event, in which search it was seen, from where, and whose edge led there.
    seen: Vec<u32>,
    parent: Vec<(u32, Owner)>,
    search: u32,
    /// What the last search found from either side, so that the memory is used again.
    found: [Vec<u32>; 2],
    /// Edges looked at since the beginning.
    pub visits: u64,
}

impl Kept {
    /// So many events with these edges, in an order along them; about so many more are to come.
    pub fn new(order: Vec<u32>, edges: &[Edge], more: usize) -> Kept {
        let count = order.len();
        let spare = SPARE + (more / count.max(1)).min(SPARE_MAX) as u32;
        let before = edges.iter().map(|&(from, to)| (to, (from, NOBODY)));
        let after = edges.iter().map(|&(from, to)| (from, (to, NOBODY)));
        let mut kept = Kept {
            before: Bunches::new(count, before, spare),
            after: Bunches::new(count, after, spare),
            place: vec![0; count],
            times: vec![0.5; count],
            room: vec![(0.0, 1.0); count],
            seen: vec![0; count],
            parent: vec![(0, NOBODY); count],
            search: 0,
            found: Default::default(),
            visits: 0,
            order,
        };
        kept.place_all();
        kept
    }

    /// The events in order.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// By event, its place.
    pub fn places(&self) -> &[u32] {
        &self.place
    }

    #[inline]
    pub fn is_before(&self, event: u32, other: u32) -> bool {
        self.place[event as usize] < self.place[other as usize]
    }

    #[inline]
    pub fn time(&self, event: u32) -> Time {
        let (low, high) = self.room[event as usize];
        Time {
            at: self.times[event as usize],
            gap: high - low,
        }
    }

    fn place_all(&mut self) {
        self.place_between(0..self.order.len());
    }

    fn enter(&mut self, (from, to): Edge, owner: Owner) {
        self.after.push(from, (to, owner));
        self.before.push(to, (from, owner));
    }

    /// Adds an edge; if it closes a cycle it is not added, and the owners of the other edges of that are returned.
    pub fn insert(&mut self, edge: Edge, owner: Owner) -> Result<(), Vec<Owner>> {
        let (from, to) = edge;
        let (low, high) = (self.place[to as usize], self.place[from as usize]);
        if low == high {
            return Err(Vec::new());
        }
        if low < high {
            self.make_room(from, to)?;
        }
        self.enter(edge, owner);
        Ok(())
    }

    /// Adds edges, and puts the events in an order along all that stood before and most of these. Who is against it then is to
    /// be taken back.
    pub fn insert_all(&mut self, edges: impl Iterator<Item = (Edge, Owner)>) {
        for (edge, owner) in edges {
            self.enter(edge, owner);
        }
        let count = self.order.len();
        let before = |event: u32| self.before.of(event).len() as u32;
        let mut open: Vec<u32> = (0..count as u32).map(before).collect();
        let places = 0..count as u32;
        let free = places.filter(|&at| open[self.order[at as usize] as usize] == 0);
        let mut heap: BinaryHeap<Reverse<u32>> = free.map(Reverse).collect();
        let mut order = Vec::with_capacity(count);
        let mut is_sorted = vec![false; count];
        for first in 0..=count {
            while let Some(Reverse(at)) = heap.pop() {
                let event = self.order[at as usize];
                order.push(event);
                is_sorted[event as usize] = true;
                for &(next, _) in self.after.of(event) {
                    open[next as usize] -= 1;
                    if open[next as usize] == 0 && !is_sorted[next as usize] {
                        heap.push(Reverse(self.place[next as usize]));
                    }
                }
            }
            // Where edges go in a circle, the first event that is left goes: it is behind all that stood before.
            if let Some(&event) = self.order.get(first)
                && !is_sorted[event as usize]
            {
                heap.push(Reverse(first as u32));
            }
        }
        self.order = order;
        self.place_all();
    }

    /// Takes back edges of an owner.
    pub fn take_back(&mut self, edges: impl Iterator<Item = Edge>, owner: Owner) {
        for (from, to) in edges {
            self.after.remove(from, (to, owner));
            self.before.remove(to, (from, owner));
        }
    }

    /// Puts what leads to one event before what another one leads to, in the places that both have. The error is whose edges
    /// lead from the second event to the first, if any do.
    fn make_room(&mut self, from: u32, to: u32) -> Result<(), Vec<Owner>> {
        let mut found = std::mem::take(&mut self.found);
        let result = match self.search_both(from, to, &mut found) {
            None => {
                self.exchange(&mut found);
                Ok(())
            }
            Some((event, other, owner)) => {
                let mut owners = self.owners(event, to);
                owners.extend(Some(owner).filter(|&owner| owner != NOBODY));
                owners.extend(self.owners(other, from));
                Err(owners)
            }
        };
        self.found = found;
        result
    }

    /// Finds what `to` leads to and what leads to `from`, between the two, by turns. If they meet: an event that the first leads
    /// to, its edge's other end, which leads to the second, and whose edge it is.
    fn search_both(
        &mut self,
        from: u32,
        to: u32,
        found: &mut [Vec<u32>; 2],
    ) -> Option<(u32, u32, Owner)> {
        let stretch = self.place[to as usize]..=self.place[from as usize];
        self.search += 2;
        let marks = [self.search - 1, self.search];
        for (side, begin) in [to, from].into_iter().enumerate() {
            found[side].clear();
            found[side].push(begin);
            self.seen[begin as usize] = marks[side];
        }
        let (mut next, mut visits) = ([0; 2], [0; 2]);
        loop {
            let mut side = usize::from(visits[1] < visits[0]);
            if next[side] == found[side].len() {
                side = 1 - side;
            }
            let &event = found[side].get(next[side])?;
            next[side] += 1;
            let others = [&self.after, &self.before][side].of(event);
            visits[side] += 1 + others.len();
            self.visits += others.len() as u64;
            for &(other, owner) in others {
                let seen = &mut self.seen[other as usize];
                if *seen == marks[1 - side] {
                    let ends = [(event, other, owner), (other, event, owner)];
                    return Some(ends[side]);
                }
                if *seen != marks[side] && stretch.contains(&self.place[other as usize]) {
                    *seen = marks[side];
                    self.parent[other as usize] = (event, owner);
                    found[side].push(other);
                }
            }
        }
    }

    /// The owners along the path that the last search took from where it began.
    fn owners(&self, mut event: u32, begin: u32) -> Vec<Owner> {
        let mut owners = Vec::new();
        while event != begin {
            let (before, owner) = self.parent[event as usize];
            if owner != NOBODY {
                owners.push(owner);
            }
            event = before;
        }
        owners
    }

    /// Puts the second events before the first, in the places that both have.
    fn exchange(&mut self, found: &mut [Vec<u32>; 2]) {
        let place = &self.place;
        for events in &mut *found {
            events.sort_unstable_by_key(|&event| place[event as usize]);
        }
        let [second, first] = found;
        let events = first.iter().chain(second.iter());
        let mut slots: Vec<u32> = events.map(|&event| place[event as usize]).collect();
        slots.sort_unstable();
        for (&slot, &event) in slots.iter().zip(first.iter().chain(second.iter())) {
            self.place[event as usize] = slot;
            self.order[slot as usize] = event;
        }
    }

    fn place_between(&mut self, places: Range<usize>) {
        for at in places {
            self.place[self.order[at] as usize] = at as u32;
        }
    }

    /// Whether an event leads to another, searched from both sides.
    pub fn leads_to(&mut self, event: u32, other: u32) -> bool {
        let stretch = self.place[event as usize]..=self.place[other as usize];
        if event == other || stretch.is_empty() {
            return event == other;
        }
        self.search += 2;
        let marks = [self.search - 1, self.search];
        let mut found = [vec![event], vec![other]];
        self.seen[event as usize] = marks[0];
        self.seen[other as usize] = marks[1];
        let mut next = 0;
        loop {
            for side in [0, 1] {
                let Some(&event) = found[side].get(next) else {
                    return false;
                };
                let others = [&self.after, &self.before][side].of(event);
                self.visits += others.len() as u64;
                for &(other, _) in others {
                    let seen = &mut self.seen[other as usize];
                    if *seen == marks[1 - side] {
                        return true;
                    }
                    if *seen != marks[side] && stretch.contains(&self.place[other as usize]) {
                        *seen = marks[side];
                        found[side].push(other);
                    }
                }
            }
            next += 1;
        }
    }

    /// Spreads the events over time, and puts them in that order.
    pub fn spread(&mut self, sweeps: usize) {
        self.spread_between(0..self.order.len(), sweeps);
    }

    /// Gives the events at these places, and those that they have edges with, times by their places.
    fn begin_times(&mut self, places: &Range<usize>) {
        let count = self.order.len() as f32;
        let time_at = |place: usize| (place as f32 + 0.5) / count;
        let is_all = places.len() == self.order.len();
        for at in places.clone() {
            let event = self.order[at];
            self.times[event as usize] = time_at(at);
            if !is_all {
                for &(other, _) in self.before.of(event).iter().chain(self.after.of(event)) {
                    self.times[other as usize] = time_at(self.place[other as usize] as usize);
                }
            }
        }
    }

    /// Puts an event in the middle of what is before and behind it; `asks` says which of these may have moved.
    #[inline]
    fn settle(&mut self, event: u32, [before, after]: [bool; 2]) {
        let at = event as usize;
        // No time is not a number, which `f32::max` would look for.
        if before {
            let times = self.before.of(event).iter();
            let times = times.map(|&(other, _)| self.times[other as usize]);
            self.room[at].0 = times.fold(0.0, |low, time| if time > low { time } else { low });
        }
        if after {
            let times = self.after.of(event).iter();
            let times = times.map(|&(other, _)| self.times[other as usize]);
            self.room[at].1 = times.fold(1.0, |high, time| if time < high { time } else { high });
        }
        let (low, high) = self.room[at];
        self.times[at] = (low + high) / 2.0;
    }

    /// The same for the events at these places, while the others stay.
    pub fn spread_between(&mut self, places: Range<usize>, sweeps: usize) {
        self.begin_times(&places);
        for sweep in 0..sweeps {
            // What is behind an event has not moved since the sweep backward asked for it, nor has what is before it
            // since the one forward.
            let asks = [sweep % 2 == 0, sweep % 2 == 1 || sweep == 0];
            for step in 0..places.len() {
                let at = match sweep % 2 {
                    0 => places.start + step,
                    _ => places.end - 1 - step,
                };
                self.settle(self.order[at], asks);
            }
        }
        // Times never decrease along an edge, and where they are the same the order so far decides.
        let ranked = |(at, &event): (usize, &u32)| {
            // Times are not negative, so that their bits have their order.
            let time = self.times[event as usize].to_bits();
            u64::from(time) << 32 | at as u64
        };
        let events = self.order[places.clone()].iter().enumerate();
        let mut ranks: Vec<u64> = events.map(ranked).collect();
        ranks.sort_unstable();
        let event = |&rank: &u64| self.order[places.start + (rank & u64::from(u32::MAX)) as usize];
        let order: Vec<u32> = ranks.iter().map(event).collect();
        for (at, event) in places.zip(order) {
            self.order[at] = event;
            self.place[event as usize] = at as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_against_the_order_move_events_and_cycles_are_refused() {
        let sorted = |refused: Result<(), Vec<Owner>>| {
            let mut owners = refused.unwrap_err();
            owners.sort_unstable();
            owners
        };
        let mut kept = Kept::new(vec![0, 1, 2, 3, 4], &[(0, 1), (3, 4)], 0);
        assert!(kept.insert((4, 0), 7).is_ok());
        assert_eq!(kept.order(), [3, 4, 2, 0, 1]);
        assert_eq!(kept.insert((1, 3), 8), Err(vec![7]));
        assert_eq!(kept.insert((2, 2), 8), Err(vec![]));
        assert!(kept.insert((1, 2), 9).is_ok());
        assert!(kept.leads_to(3, 2) && kept.leads_to(4, 4) && !kept.leads_to(2, 3));
        assert_eq!(sorted(kept.insert((2, 3), 8)), [7, 9]);
        kept.take_back([(4, 0)].into_iter(), 7);
        assert!(kept.insert((2, 3), 8).is_ok());
        assert_eq!(kept.order(), [0, 1, 2, 3, 4]);
    }

    /// Whether the edges lead from one event to another.
    fn is_led(edges: &[(Edge, Owner)], from: u32, to: u32) -> bool {
        let mut found = vec![from];
        let mut next = 0;
        while let Some(&event) = found.get(next) {
            next += 1;
            for &((begin, end), _) in edges {
                if begin == event && !found.contains(&end) {
                    found.push(end);
                }
            }
        }
        found.contains(&to)
    }

    #[test]
    fn any_edges_are_kept_or_refused_as_they_should_be() {
        let mut seed = 1u64;
        let mut below = |count: u64| {
            seed = seed
                .wrapping_mul(0x5851_F42D_4C95_7F2D)
                .wrapping_add(1442695040888963407);
            ((seed >> 33) % count) as u32
        };
        let mut refused = 0;
        for _ in 0..200 {
            let mut kept = Kept::new((0..12).collect(), &[], 10);
            let mut edges: Vec<(Edge, Owner)> = Vec::new();
            for owner in 0..40 {
                let edge = (below(12), below(12));
                let is_cycle = is_led(&edges, edge.1, edge.0);
                let inserted = kept.insert(edge, owner);
                assert_eq!(inserted.is_err(), is_cycle);
                match inserted {
                    Ok(()) => edges.push((edge, owner)),
                    Err(owners) => {
                        // These alone lead back.
                        let own = edges.iter().filter(|(_, owner)| owners.contains(owner));
                        let own: Vec<(Edge, Owner)> = own.copied().collect();
                        assert!(is_led(&own, edge.1, edge.0));
                        refused += 1;
                    }
                }
                let mut order = kept.order().to_vec();
                assert!(
                    edges
                        .iter()
                        .all(|&((from, to), _)| kept.is_before(from, to))
                );
                order.sort_unstable();
                assert!(order.into_iter().eq(0..12));
            }
        }
        assert!(refused > 1000, "{refused}");
    }

    #[test]
    fn times_are_in_the_middle_of_what_is_before_and_after() {
        let mut kept = Kept::new(vec![2, 0, 1, 3], &[(0, 1), (1, 3)], 0);
        kept.spread(40);
        let at: Vec<f32> = (0..4).map(|event| kept.time(event).at).collect();
        for (at, wanted) in at.iter().zip([0.25, 0.5, 0.5, 0.75]) {
            assert!((at - wanted).abs() < 1e-6, "{at} {wanted}");
        }
    }
}
