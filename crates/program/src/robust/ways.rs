//! Dangerous cycles that are worth a try: their rows can be the same ones all the way round.
//!
//! Definition: an edge is about one row, which makes values of its two paths equal. Round a cycle
//! these equalities come together. They must not make two constants equal, nor two rows of one
//! search; the same search, where its rows are always the same ones, finds them in the same order;
//! and P, which is split, must not write what somebody else surely writes: on a snapshot P would be
//! refused, at read committed the others would wait for what P holds.
//! Steps: two dangerous edges A → P → B, of each three transactions one in turn; then the ways from B
//! back to A, the shortest first, edge by edge, as long as the equalities allow it.
//! Cost: a fixed number of tests, each of which closes the equalities of a few paths.
//! What is left out here is not tried; that there is no dangerous cycle at all is for
//! [`Search::find`] to say.

use super::Level;
use super::cycles::{Cycle, Pair, Search, Steps};
use super::same::Same;
use super::unit::{Access, Unit};
use crate::schema::ColumnId;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The most tests of equalities for all cycles together.
const TESTS_MAX: usize = 12_000;
/// The most for one pair of edges.
const TESTS_OF_PAIR: usize = 150;
/// How much longer than the shortest a way back may be.
const DETOUR: usize = 1;
/// The longest way back.
const WAY_MAX: usize = 3;

/// The places of A, P and B among the instances of a cycle.
const A: usize = 0;
const P: usize = 1;
const B: usize = 2;

pub(super) struct Ways<'a> {
    pub search: &'a Search<'a>,
    pub units: &'a [Unit],
}

impl Ways<'_> {
    /// Cycles, of each three transactions one, then of each the next; as many as are wanted.
    pub fn some(&self, most: usize, each: &mut dyn FnMut(&Cycle) -> ControlFlow<()>) {
        let used = self.search.used();
        let steps = Steps::new(self.units.len(), &used, self.search.edges);
        let mut between: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for &at in &used {
            let edge = &self.search.edges[at];
            between.entry((edge.from, edge.to)).or_default().push(at);
        }
        let mut found: Vec<Cycle> = Vec::new();
        let mut left = TESTS_MAX;
        for pair in self.search.pairs(&steps) {
            if found.len() == most || left == 0 {
                break;
            }
            let mut way = Way {
                ways: self,
                between: &between,
                steps: &steps,
                pair: &pair,
                tests: TESTS_OF_PAIR.min(left),
            };
            let given = way.tests;
            let cycle = way.back();
            left -= given - way.tests;
            let Some(cycle) = cycle.filter(|cycle| !found.contains(cycle)) else {
                continue;
            };
            if each(&cycle).is_break() {
                return;
            }
            found.push(cycle);
        }
    }
}

/// The search for a way back.
struct Way<'a> {
    ways: &'a Ways<'a>,
    between: &'a BTreeMap<(usize, usize), Vec<usize>>,
    steps: &'a Steps<'a>,
    pair: &'a Pair,
    /// How many tests are left.
    tests: usize,
}

impl Way<'_> {
    fn ends(&self) -> [usize; 3] {
        let edges = self.ways.search.edges;
        let (first, second) = (&edges[self.pair.first], &edges[self.pair.second]);
        [first.from, first.to, second.to]
    }

    /// The whole cycle, by a way of which the equalities allow every edge.
    fn back(&mut self) -> Option<Cycle> {
        let [a, _, b] = self.ends();
        let shortest = self.steps.length(b, a, self.pair.moves)?;
        let longest = (shortest + DETOUR).min(WAY_MAX.max(shortest));
        (shortest..=longest).find_map(|length| self.through(&mut vec![b], length))
    }

    /// Goes on to every path from which A can be reached in time.
    fn through(&mut self, passed: &mut Vec<usize>, left: usize) -> Option<Cycle> {
        let [a, _, _] = self.ends();
        let last = *passed.last()?;
        if left == 0 {
            return (last == a).then(|| self.by(passed)).flatten();
        }
        for next in 0..self.ways.units.len() {
            let leads = match left {
                1 => next == a,
                _ => self.steps.length(next, a, true).is_some_and(|l| l < left),
            };
            if self.tests == 0 || !leads || !self.between.contains_key(&(last, next)) {
                continue;
            }
            passed.push(next);
            let found = self.through(passed, left - 1);
            passed.pop();
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// The cycle through these paths, from B to A.
    fn by(&mut self, passed: &[usize]) -> Option<Cycle> {
        let [a, p, b] = self.ends();
        let edges = self.ways.search.edges;
        let (first, second) = (&edges[self.pair.first], &edges[self.pair.second]);
        // A way of no step: B is A.
        let alone = passed.len() == 1;
        let mut taken = vec![a, p];
        if !alone {
            taken.push(b);
            taken.extend(&passed[1..passed.len() - 1]);
        }
        let units: Vec<&Unit> = taken.iter().map(|at| &self.ways.units[*at]).collect();
        let mut same = Same::new(&units);
        join(&mut same, (A, P), &first.equal);
        join(&mut same, (P, if alone { A } else { B }), &second.equal);
        if !self.allows(&mut same, &taken) {
            return None;
        }
        let mut cycle = vec![self.pair.first, self.pair.second];
        match alone || self.hop(&same, &taken, B, &mut cycle) {
            true => Some(cycle),
            false => None,
        }
    }

    /// Adds the edges from an instance on, back to A.
    fn hop(&mut self, same: &Same<'_>, taken: &[usize], at: usize, cycle: &mut Cycle) -> bool {
        let next = if at + 1 == taken.len() { A } else { at + 1 };
        let possible = self.between.get(&(taken[at], taken[next]));
        for &edge in possible.into_iter().flatten() {
            if self.tests == 0 {
                return false;
            }
            let mut more = same.clone();
            join(&mut more, (at, next), &self.ways.search.edges[edge].equal);
            if !self.allows(&mut more, taken) {
                continue;
            }
            cycle.push(edge);
            if next == A || self.hop(&more, taken, next, cycle) {
                return true;
            }
            cycle.pop();
        }
        false
    }

    /// Whether the equalities contradict nothing, and P gets its rows.
    fn allows(&mut self, same: &mut Same<'_>, taken: &[usize]) -> bool {
        self.tests = self.tests.saturating_sub(1);
        let units: Vec<&Unit> = taken.iter().map(|at| &self.ways.units[*at]).collect();
        if !same.close() || !agree(same, &units) {
            return false;
        }
        let pivot = &self.ways.units[taken[P]];
        let level = self.ways.search.levels[taken[P]];
        let at_each = level == Some(Level::ReadCommitted);
        let read = self.ways.search.edges[self.pair.second].source;
        let split = pivot.accesses[read].statement;
        let others = taken.iter().enumerate().filter(|(slot, _)| *slot != P);
        for (slot, at) in others {
            for x in pivot.accesses.iter().filter(|x| x.is_exclusive()) {
                if at_each && x.statement > split {
                    continue;
                }
                let clashes = self.ways.units[*at].accesses.iter().any(|y| {
                    let both = match at_each {
                        true => x.sure && y.sure && y.is_exclusive(),
                        false => x.sure_in_snapshot && y.sure_in_snapshot && y.is_write(),
                    };
                    both && same.is_one_row((P, x), (slot, y))
                });
                if clashes {
                    return false;
                }
            }
        }
        true
    }
}

/// Makes the rows of the same searches the same; false where that is a contradiction.
fn agree(same: &mut Same<'_>, units: &[&Unit]) -> bool {
    let mut searches: Vec<(usize, &Access, &[Columns])> = Vec::new();
    for (slot, unit) in units.iter().enumerate() {
        for access in &unit.accesses {
            searches.extend(access.rows.as_ref().map(|rows| (slot, access, &rows[..])));
        }
    }
    for (at, (slot, one, rows)) in searches.iter().enumerate() {
        for (other_slot, other, others) in &searches[..at] {
            let alike = one.table == other.table && one.fixed.len() == other.fixed.len();
            if !alike || !is_equal(same, (*slot, &one.fixed), (*other_slot, &other.fixed)) {
                continue;
            }
            if rows.len() != others.len() {
                return false;
            }
            for (row, other) in rows.iter().zip(*others) {
                for (column, term) in row {
                    let known = other.iter().find(|known| known.0 == *column);
                    if let Some(known) = known {
                        same.join((*slot, *term), (*other_slot, known.1));
                    }
                }
            }
        }
    }
    let apart = |(slot, _, rows): &(usize, &Access, &[Columns])| {
        let mut pairs = rows.iter().enumerate();
        !pairs.any(|(at, row)| {
            let mut before = rows[..at].iter();
            before.any(|other| is_equal(same, (*slot, row), (*slot, other)))
        })
    };
    // Searches that find no row, or give no column of it, say nothing.
    let mut told = searches.iter().filter(|one| one.2.len() > 1);
    let distinct = told.all(apart);
    distinct && same.close()
}

/// What is known of a row.
type Columns = Vec<(ColumnId, usize)>;

/// Whether the columns of one have the same values in the other.
fn is_equal(same: &Same<'_>, one: (usize, &Columns), two: (usize, &Columns)) -> bool {
    one.1.iter().all(|(column, term)| {
        let mut others = two.1.iter().filter(|known| known.0 == *column);
        others.any(|known| same.class(one.0, *term) == same.class(two.0, known.1))
    })
}

fn join(same: &mut Same<'_>, slots: (usize, usize), equal: &[(usize, usize)]) {
    for (one, two) in equal {
        same.join((slots.0, *one), (slots.1, *two));
    }
}
