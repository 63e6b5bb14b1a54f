//! Locks on rows and gaps, who waits for whom, and circles of waiting.
//!
//! A request conflicts with the locks that others hold and with the requests of others that wait
//! before it, so nobody is overtaken for ever. Cost: linear in the locks, of which there are few.

use super::region::Region;
use crate::execute::store::RowId;
use std::collections::BTreeSet;

/// How a row is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mode {
    Shared,
    Exclusive,
}

impl Mode {
    fn conflicts(self, other: Mode) -> bool {
        self == Mode::Exclusive || other == Mode::Exclusive
    }
}

/// What a transaction asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Request {
    Row(RowId, Mode),
    /// To insert a row of that key.
    Into(Region),
}

#[derive(Default)]
pub(super) struct Locks {
    rows: Vec<(usize, RowId, Mode)>,
    gaps: Vec<(usize, Region)>,
    /// In the order in which they began to wait.
    waiting: Vec<(usize, Request)>,
}

impl Locks {
    /// Those who must end, or get their turn, before the request can be met.
    pub fn against(&self, who: usize, request: &Request) -> BTreeSet<usize> {
        match request {
            Request::Row(row, mode) => self.against_row(who, *row, *mode),
            Request::Into(place) => {
                let gaps = self.gaps.iter();
                gaps.filter(|(other, gap)| *other != who && gap.covers(place))
                    .map(|(other, _)| *other)
                    .collect()
            }
        }
    }

    fn against_row(&self, who: usize, row: RowId, mode: Mode) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for (other, held, by) in &self.rows {
            if *held != row {
                continue;
            }
            if *other == who && *by >= mode {
                return BTreeSet::new();
            }
            if *other != who && mode.conflicts(*by) {
                found.insert(*other);
            }
        }
        for (other, request) in &self.waiting {
            if *other == who {
                break;
            }
            match request {
                Request::Row(wanted, by) if *wanted == row && mode.conflicts(*by) => {
                    found.insert(*other);
                }
                _ => {}
            }
        }
        found
    }

    /// Takes a lock that nobody is against.
    pub fn take(&mut self, who: usize, row: RowId, mode: Mode) {
        let known =
            |(other, held, by): &(usize, RowId, Mode)| *other == who && *held == row && *by >= mode;
        if !self.rows.iter().any(known) {
            self.rows.push((who, row, mode));
        }
    }

    /// Gives back a lock before the end.
    pub fn give_back(&mut self, who: usize, row: RowId) {
        self.rows
            .retain(|(other, held, _)| *other != who || *held != row);
    }

    /// Closes a gap to the inserts of others.
    pub fn close(&mut self, who: usize, gap: Region) {
        if !self
            .gaps
            .iter()
            .any(|(other, known)| *other == who && *known == gap)
        {
            self.gaps.push((who, gap));
        }
    }

    pub fn wait(&mut self, who: usize, request: Request) {
        match self.waiting.iter_mut().find(|(other, _)| *other == who) {
            Some((_, known)) => *known = request,
            None => self.waiting.push((who, request)),
        }
    }

    pub fn stop_waiting(&mut self, who: usize) {
        self.waiting.retain(|(other, _)| *other != who);
    }

    /// Those who wait, in the order in which they began to.
    pub fn waiting(&self) -> Vec<usize> {
        self.waiting.iter().map(|(who, _)| *who).collect()
    }

    /// The first that waits for something nobody is against any more.
    pub fn grantable(&self) -> Option<usize> {
        let free = |(who, request): &&(usize, Request)| self.against(*who, request).is_empty();
        self.waiting.iter().find(free).map(|(who, _)| *who)
    }

    pub fn release(&mut self, who: usize) {
        self.rows.retain(|(other, _, _)| *other != who);
        self.gaps.retain(|(other, _)| *other != who);
        self.stop_waiting(who);
    }

    pub fn held(&self, who: usize) -> usize {
        self.rows
            .iter()
            .filter(|(other, _, _)| *other == who)
            .count()
    }

    /// Those in a circle of waiting through `who`.
    pub fn circle(&self, who: usize) -> Option<Vec<usize>> {
        let mut path = vec![who];
        let mut seen = BTreeSet::new();
        let mut waiting: Vec<(usize, usize)> = vec![];
        let next = |of: usize| {
            let request = self.waiting.iter().find(|(other, _)| *other == of);
            request.map_or(BTreeSet::new(), |(_, request)| self.against(of, request))
        };
        waiting.extend(next(who).into_iter().map(|one| (one, 1)));
        while let Some((one, depth)) = waiting.pop() {
            path.truncate(depth);
            if one == who {
                return Some(path);
            }
            if seen.insert(one) {
                path.push(one);
                waiting.extend(next(one).into_iter().map(|other| (other, depth + 1)));
            }
        }
        None
    }
}
