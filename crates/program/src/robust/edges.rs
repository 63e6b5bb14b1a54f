//! How one path can depend on another: the summary graph.
//!
//! Definition: there is an edge from path A to path B where B can read what A wrote (wr), overwrite
//! what A wrote (ww), or overwrite what A read (rw). Of these only an rw edge can be *counterflow*:
//! B commits before A. It cannot be where locks forbid it:
//! - the read itself holds its row (it writes it, or is `for update`);
//! - A holds, before it reads, a row that B holds as well: the two meet in one row (say, a bid), and
//!   so they meet in every row whose key is given by the same values (the bidder).
//!
//! On a snapshot, A may take its row before or after the read, but B must have written its row: who
//! comes second is refused.
//! Steps: for every two accesses of one table that have a column in common, the values that are equal
//! if both are of one row, and all rows that are then the same.
//! Cost: quadratic in the number of accesses of all paths, times the accesses of two paths.
//! Source: Vandevoort, Ketsman, Koch, Neven, EDBT 2023. We differ: equal keys are found in the
//! programs themselves, not declared; foreign keys say which rows exist; a search that ends at the
//! first row of an order does not depend on the rows behind it; a key look-up that may find nothing
//! depends on the insert of its row, but not where the path inserts that row itself: one of the two is
//! refused; a read whose version is compared later holds its row (`versions`); a search that finds nothing does not depend on deletes; a search
//! whose rows are all known, and always the same ones, depends on writes of these only.

use super::counters::Numbered;
use super::facts::Facts;
use super::same::Same;
use super::unit::{Access, Kind, Unit};
use crate::access::ColumnSet;
use crate::ir::Lock;
use crate::scenario::EdgeKind;
use crate::schema::ColumnId;
use rustc_hash::FxHashMap;

/// What is known about rows of different keys and tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relations {
    /// Nothing; not even that two statements of one transaction are about one row.
    None,
    /// A row is itself.
    SameRow,
    /// Rows whose keys are given by the same values are together the same or different.
    Keys,
}

/// An edge of the summary graph.
#[derive(Clone, Debug)]
pub(super) struct Dependency {
    pub from: usize,
    pub to: usize,
    /// The accesses, by position in their units.
    pub source: usize,
    pub target: usize,
    pub kind: EdgeKind,
    /// The terms of the two that are equal, as both accesses are of one row.
    pub equal: Vec<(usize, usize)>,
    /// Whether `to` can commit first, if `from` runs at read committed.
    pub counterflow: bool,
    /// Whether `to` can commit first, if `from` runs on a snapshot.
    pub counterflow_on_snapshot: bool,
    /// Whether the two cannot overlap if `to` runs on a snapshot and commits last.
    pub apart: bool,
    /// Where `from` commits first: the earliest time in `to` that comes after that commit.
    pub entry: usize,
    /// Where `to` commits first: when `from` reads.
    pub leave: usize,
    /// Whether `from` depends only if its statement, which could write, finds no row.
    pub misses: bool,
    /// Where `from` found no row that `to` inserts: its accesses that would change that row.
    pub absent: Vec<usize>,
}

pub(super) struct Graph<'a> {
    pub units: &'a [Unit],
    pub facts: &'a Facts,
    pub numbered: &'a [Numbered],
    pub relations: Relations,
    /// Whether all transactions run on snapshots.
    pub on_snapshots: bool,
}

impl Graph<'_> {
    /// All edges.
    pub fn edges(&self) -> Vec<Dependency> {
        let mut found = Vec::new();
        for from in 0..self.units.len() {
            for to in 0..self.units.len() {
                self.between(from, to, &mut found);
            }
        }
        found
    }

    fn between(&self, from: usize, to: usize, found: &mut Vec<Dependency>) {
        let (left, right) = (&self.units[from], &self.units[to]);
        let mut apart = Same::new(&[left, right]);
        apart.close();
        // Most accesses meet by the same values.
        let mut closed: FxHashMap<Vec<(usize, usize)>, Option<Same<'_>>> = FxHashMap::default();
        for (source, a) in left.accesses.iter().enumerate() {
            for (target, b) in right.accesses.iter().enumerate() {
                if a.table != b.table || !(a.is_write() || b.is_write()) {
                    continue;
                }
                for (kind, columns) in kinds(a, b) {
                    if self.is_impossible(kind, a, b, &columns) || self.is_refused(kind, a, b, left)
                    {
                        continue;
                    }
                    for equal in self.meetings(kind, a, b, &columns) {
                        let same = closed.entry(equal.clone()).or_insert_with(|| {
                            let mut same = apart.clone();
                            for (one, two) in &equal {
                                same.join((0, *one), (1, *two));
                            }
                            same.close().then_some(same)
                        });
                        let Some(same) = same else {
                            continue;
                        };
                        let edge = Dependency {
                            from,
                            to,
                            source,
                            target,
                            kind,
                            equal,
                            counterflow: false,
                            counterflow_on_snapshot: false,
                            apart: false,
                            entry: usize::MAX,
                            leave: a.read_time(),
                            misses: false,
                            absent: Vec::new(),
                        };
                        found.push(self.timed(edge, same));
                    }
                }
            }
        }
    }

    /// The ways in which two accesses can be of one row: the terms that are equal then. There are
    /// several where a search knows all its rows, one of which it is.
    fn meetings(
        &self,
        kind: EdgeKind,
        a: &Access,
        b: &Access,
        columns: &ColumnSet,
    ) -> Vec<Vec<(usize, usize)>> {
        match (kind, &a.rows, &b.rows) {
            (EdgeKind::ReadWrite, Some(rows), _) => {
                let one = |row: &Vec<_>| self.pairs(row, &b.fixed, a);
                rows.iter().map(one).collect()
            }
            (EdgeKind::WriteRead, _, Some(rows)) => {
                let one = |row: &Vec<_>| self.pairs(&a.fixed, row, a);
                rows.iter().map(one).collect()
            }
            (EdgeKind::ReadWrite, None, _) => vec![self.pairs_of_read(a, b, columns)],
            _ => vec![self.pairs(&a.fixed, &b.fixed, a)],
        }
    }

    /// Terms that are equal where two accesses are of one row.
    fn pairs(
        &self,
        left: &[(ColumnId, usize)],
        right: &[(ColumnId, usize)],
        access: &Access,
    ) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for (column, one) in left {
            for (other, two) in right {
                if column == other && self.facts.is_constant(access.table, *column) {
                    found.push((*one, *two));
                }
            }
        }
        found
    }

    fn pairs_of_read(&self, a: &Access, b: &Access, columns: &ColumnSet) -> Vec<(usize, usize)> {
        let plain = self.pairs(&a.fixed, &b.fixed, a);
        let Some(first) = &a.first else {
            return plain;
        };
        // Rows behind the first matter only if they come in front of it.
        let moves = match b.kind {
            Kind::Insert => true,
            Kind::Update => a.predicate.meets(columns),
            Kind::Select | Kind::Delete => false,
        };
        match moves {
            true => plain,
            false => self.pairs(&first.row, &b.fixed, a),
        }
    }

    fn is_impossible(&self, kind: EdgeKind, a: &Access, b: &Access, columns: &ColumnSet) -> bool {
        match kind {
            EdgeKind::WriteWrite => {
                // Both would have to insert one row.
                let both = a.kind == Kind::Insert && b.kind == Kind::Insert;
                both && !self.facts.deletes(a.table) && a.reads.is_empty() && b.reads.is_empty()
            }
            EdgeKind::ReadWrite if b.kind == Kind::Insert => {
                let there = a.key.is_some() && a.sure;
                there || self.comes_behind(a) || columns.is_empty()
            }
            // A search that finds nothing finds nothing without that row, either.
            EdgeKind::ReadWrite if a.none => match b.kind {
                Kind::Delete => true,
                Kind::Update => !a.predicate.meets(&b.writes),
                Kind::Select | Kind::Insert => false,
            },
            _ => false,
        }
    }

    /// Whether B inserts a row that A looked up by its key and inserts as well: one of the two is refused.
    fn is_refused(&self, kind: EdgeKind, a: &Access, b: &Access, left: &Unit) -> bool {
        let plain = b.kind == Kind::Insert && b.reads.is_empty();
        let Some(key) = a.key.as_ref().filter(|_| plain) else {
            return false;
        };
        let is_it = |one: &Access| {
            let same = one.table == a.table && key.iter().all(|term| one.fixed.contains(term));
            same && one.statement > a.statement && left.inserts_for_certain(one)
        };
        kind == EdgeKind::ReadWrite
            && a.kind == Kind::Select
            && !self.facts.deletes(a.table)
            && left.accesses.iter().any(is_it)
    }

    /// Whether new rows come behind the first row that a search found.
    fn comes_behind(&self, a: &Access) -> bool {
        let Some(first) = a.first.as_ref().filter(|first| !first.descending) else {
            return false;
        };
        self.numbered.iter().any(|numbered| {
            let chosen = |column: &ColumnId| a.fixed.iter().any(|fixed| fixed.0 == *column);
            numbered.table == a.table
                && numbered.column == first.by
                && (!numbered.on_snapshots || self.on_snapshots)
                && numbered.group.iter().all(chosen)
        })
    }

    /// Fills in what locks say about the order of the two.
    fn timed(&self, mut edge: Dependency, same: &Same<'_>) -> Dependency {
        let (left, right) = (&self.units[edge.from], &self.units[edge.to]);
        let (a, b) = (&left.accesses[edge.source], &right.accesses[edge.target]);
        let reads = edge.kind == EdgeKind::ReadWrite;
        // The row is held from the read on.
        let held = a.key.is_some() && a.sure && (a.lock == Lock::Share || a.is_exclusive());
        let written = a.key.is_some() && a.is_write() && a.sure_in_snapshot;
        edge.entry = match edge.kind {
            EdgeKind::WriteRead => b.read_time(),
            EdgeKind::WriteWrite => b.lock_time(),
            _ if held => b.lock_time(),
            _ => usize::MAX,
        };
        (edge.counterflow, edge.counterflow_on_snapshot) = (reads && !held, reads);
        edge.counterflow_on_snapshot &= !(written || (held && a.kind == Kind::Select));
        edge.apart = !reads || written;
        edge.misses = reads && a.is_write() && a.key.is_some();
        if reads && b.kind == Kind::Insert && a.key.is_some() {
            let changes = |one: &Access| matches!(one.kind, Kind::Update | Kind::Delete);
            let all = left.accesses.iter().enumerate();
            let found = all.filter(|(_, one)| changes(one) && one.table == a.table);
            let found = found.filter(|(_, one)| one.key == a.key);
            edge.absent = found.map(|(at, _)| at).collect();
        }
        if self.relations == Relations::None {
            return edge;
        }
        for x in left.accesses.iter().filter(|x| x.is_exclusive()) {
            for y in right.accesses.iter().filter(|y| y.is_exclusive()) {
                if !same.is_one_row((0, x), (1, y)) {
                    continue;
                }
                if x.sure && y.sure {
                    edge.counterflow &= x.lock_time() > a.read_time();
                    edge.entry = edge.entry.min(y.lock_time());
                }
                let writes = |one: &Access| one.is_write() && one.sure_in_snapshot;
                if writes(y) && x.sure_in_snapshot {
                    edge.counterflow_on_snapshot = false;
                }
                edge.apart |= writes(x) && writes(y);
            }
        }
        edge
    }
}

/// The ways in which B can depend on A through two accesses.
pub(super) fn kinds(a: &Access, b: &Access) -> Vec<(EdgeKind, ColumnSet)> {
    let all = [
        (EdgeKind::WriteWrite, a.writes.common(&b.writes)),
        (EdgeKind::WriteRead, a.writes.common(&b.all_reads())),
        (EdgeKind::ReadWrite, a.all_reads().common(&b.writes)),
    ];
    all.into_iter()
        .filter(|(_, columns)| !columns.is_empty())
        .collect()
}
