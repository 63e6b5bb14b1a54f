//! Robustness of transactions that reach all rows by keys, decided exactly.
//!
//! Definition: a set of transactions is robust if every run at its levels is serializable. For
//! transactions that only select and update rows by key it is not robust if and only if there is a
//! *split* run: T1 up to a read b1; then T2, …, Tm whole, one after the other; then the rest of T1;
//! where T2 overwrites what b1 read, each transaction conflicts with the next, and Tm with T1 again:
//! Tm reads what T1 writes, or (T1 at read committed) conflicts with what T1 does after b1. On a
//! snapshot T1 is split behind its first statement: what it reads later is as old. Locks and
//! snapshots must allow it: no row that T1 holds before the split is held by another; on a snapshot
//! T1 writes no row at all that another wrote; and of T1, T2, Tm not all are serializable, nor does
//! T1 read what Tm writes or T2 what T1 writes if the two are.
//! Steps: choose T1, b1, T2 and which of their values are equal. Then follow conflicts from T2. All
//! that matters about a row by which one transaction passes to the next is which of its key's
//! values are values of T1 (others are new), so the states to follow are finitely many. A
//! transaction on the way needs no conflict with T1, since else there is a shorter split run.
//! Cost: polynomial in the number of transactions and statements, exponential in the number of
//! columns of a key and in the number of a transaction's values of one kind that may be equal.
//! Sources: Ketsman, Koch, Neven, Vandevoort, "Deciding robustness for lower SQL isolation levels",
//! PODS 2020; Vandevoort and others, "Robustness against read committed for transaction templates",
//! VLDB 2021; "Allocating isolation levels to
//! transactions in a multiversion setting", PODS 2023 (mixed levels). We differ: a row is held as a
//! whole, as in databases, while reads and writes conflict by columns; keys are tuples of values,
//! which makes functional dependencies between rows part of the search; `for update` is a lock.

use super::Level;
use super::edges::kinds;
use super::same::Same;
use super::unit::{Access, Kind, Unit};
use crate::ir::Lock;
use std::collections::BTreeSet;

/// The most ways to choose which values of a key are values of T1.
const CHOICES_MAX: usize = 4096;

/// A split run: the units, T1 first, and for each the accesses by which it conflicts with the next.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Split {
    pub units: Vec<usize>,
    pub hops: Vec<(usize, usize)>,
    /// Values that must be equal besides those of the hops: of T1, and of another instance.
    pub equal: Vec<(usize, (usize, usize))>,
}

/// Whether the exact method applies: rows are found by one key for each table, selected and
/// updated, and certainly there.
pub(super) fn applies(units: &[Unit]) -> bool {
    let all: Vec<&Access> = units.iter().flat_map(|unit| &unit.accesses).collect();
    let simple = |access: &&&Access| {
        access.key.is_some()
            && access.sure
            && access.sure_in_snapshot
            && matches!(access.kind, Kind::Select | Kind::Update)
    };
    let columns = |access: &Access| -> Vec<_> {
        let key = access.key.iter().flatten();
        key.map(|one| one.0).collect()
    };
    let one_key = |access: &&&Access| {
        let mut others = all.iter().filter(|other| other.table == access.table);
        others.all(|other| columns(other) == columns(access))
    };
    all.iter().filter(simple).filter(one_key).count() == all.len()
}

/// Whether the values of a split run can be as the hops say. New values are followed without what is
/// a function of them, so a long way may join values that differ; then the answer is open.
pub(super) fn holds(split: &Split, units: &[Unit]) -> bool {
    let parts: Vec<&Unit> = split.units.iter().map(|at| &units[*at]).collect();
    let mut same = Same::new(&parts);
    for (at, (from, to)) in split.hops.iter().enumerate() {
        let next = (at + 1) % parts.len();
        let left = parts[at].accesses[*from].key.iter().flatten();
        let right = parts[next].accesses[*to].key.iter().flatten();
        for (one, two) in left.zip(right) {
            same.join((at, one.1), (next, two.1));
        }
    }
    for (own, other) in &split.equal {
        same.join((0, *own), *other);
    }
    let consistent = same.close();
    let distinct = |(slot, unit): (usize, &&Unit)| {
        let mut classes: BTreeSet<usize> = BTreeSet::new();
        (0..unit.terms.len()).all(|term| classes.insert(same.class(slot, term)))
    };
    consistent && parts.iter().enumerate().all(distinct)
}

/// A component of the key of a row that two transactions share: a value of T1, or a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Component {
    Old(usize),
    New(usize),
}

/// A transaction on the way, and the row by which it passes on.
#[derive(Clone, Debug)]
struct Node {
    unit: usize,
    entered: usize,
    leaves: usize,
    row: Vec<Component>,
    /// The components chosen freely, as equal to a value of T1.
    chosen: Vec<(usize, usize)>,
    parent: Option<usize>,
}

/// How a transaction is entered: by which access, and which of its values are T1's or new.
#[derive(Clone, Debug, Default)]
struct Entry {
    unit: usize,
    access: usize,
    /// Values of T1 and the equal ones of the unit.
    joins: Vec<(usize, usize)>,
    /// Values of the unit that are new, and their numbers.
    news: Vec<(usize, usize)>,
    parent: Option<usize>,
}

/// What has been found on the way.
#[derive(Default)]
struct Reached {
    nodes: Vec<Node>,
    seen: BTreeSet<(usize, usize, Vec<Component>, bool)>,
}

/// The choice of T1 and of the read at which it is split.
struct Splitter<'a> {
    units: &'a [Unit],
    levels: &'a [Option<Level>],
    first: usize,
    read: usize,
}

/// A split run, if there is one.
pub(super) fn find(units: &[Unit], levels: &[Option<Level>]) -> Option<Split> {
    let mut found: Option<Split> = None;
    for first in (0..units.len()).filter(|unit| levels[*unit].is_some()) {
        for read in 0..units[first].accesses.len() {
            let splitter = Splitter {
                units,
                levels,
                first,
                read,
            };
            let split = splitter.find();
            let length = |split: &Split| split.units.len();
            if let Some(split) = split
                && found
                    .as_ref()
                    .is_none_or(|known| length(&split) < length(known))
            {
                found = Some(split);
            }
        }
    }
    found
}

impl<'a> Splitter<'a> {
    fn t1(&self) -> &'a Unit {
        &self.units[self.first]
    }

    fn active(&self) -> impl Iterator<Item = usize> + use<'a> {
        let levels = self.levels;
        (0..self.units.len()).filter(move |unit| levels[*unit].is_some())
    }

    fn is_serializable(&self, unit: usize) -> bool {
        self.levels[unit] == Some(Level::Serializable)
    }

    fn find(&self) -> Option<Split> {
        let mut reached = Reached::default();
        for second in self.active() {
            for access in 0..self.units[second].accesses.len() {
                if !self.overwrites(second, access) {
                    continue;
                }
                let entry = Entry {
                    unit: second,
                    access,
                    joins: self.row_of(self.read, second, access),
                    ..Entry::default()
                };
                if let Some(split) = self.close(&entry, &reached.nodes) {
                    return Some(split);
                }
                let allowed = |same: &Same<'_>| self.may_be_second(second, same);
                self.leave(&entry, &allowed, &mut reached);
            }
        }
        let mut at = 0;
        while at < reached.nodes.len() {
            let node = reached.nodes[at].clone();
            for unit in self.active() {
                for access in 0..self.units[unit].accesses.len() {
                    if !self.conflicts((node.unit, node.leaves), (unit, access)) {
                        continue;
                    }
                    let entry = self.enter(&node, at, unit, access);
                    if let Some(split) = self.close(&entry, &reached.nodes) {
                        return Some(split);
                    }
                    let allowed =
                        |same: &Same<'_>| !self.touches(unit, same) && !self.is_blocked(unit, same);
                    self.leave(&entry, &allowed, &mut reached);
                }
            }
            at += 1;
        }
        None
    }

    /// Whether an access writes what the split read reads, in some row.
    fn overwrites(&self, unit: usize, access: usize) -> bool {
        let (read, write) = (
            &self.t1().accesses[self.read],
            &self.units[unit].accesses[access],
        );
        read.table == write.table && read.all_reads().meets(&write.writes)
    }

    fn conflicts(&self, one: (usize, usize), two: (usize, usize)) -> bool {
        let (one, two) = (
            &self.units[one.0].accesses[one.1],
            &self.units[two.0].accesses[two.1],
        );
        one.table == two.table && !kinds(one, two).is_empty()
    }

    /// The equalities that make an access of T1 and one of a unit the same row.
    fn row_of(&self, own: usize, unit: usize, other: usize) -> Vec<(usize, usize)> {
        let own = self.t1().accesses[own].key.iter().flatten();
        let other = self.units[unit].accesses[other].key.iter().flatten();
        own.zip(other).map(|(one, two)| (one.1, two.1)).collect()
    }

    /// T1 and a unit with equal values: T1's and the unit's. Where either's own values would fall
    /// together there is none: that is another unit.
    fn world(
        &self,
        unit: usize,
        joins: &[(usize, usize)],
        news: &[(usize, usize)],
    ) -> Option<Same<'a>> {
        let (t1, other) = (self.t1(), &self.units[unit]);
        let mut same = Same::new(&[t1, other]);
        for (own, term) in joins {
            same.join((0, *own), (1, *term));
        }
        for (term, new) in news {
            for (next, _) in news.iter().filter(|one| one.1 == *new) {
                same.join((1, *term), (1, *next));
            }
        }
        if !same.close() {
            return None;
        }
        let mut classes: BTreeSet<usize> = BTreeSet::new();
        let distinct = (0..t1.terms.len()).all(|term| classes.insert(same.class(0, term)));
        let mut own: BTreeSet<usize> = BTreeSet::new();
        let others = (0..other.terms.len()).all(|term| own.insert(same.class(1, term)));
        let new = news
            .iter()
            .all(|(term, _)| !classes.contains(&same.class(1, *term)));
        (distinct && others && new).then_some(same)
    }

    /// Whether locks or snapshots keep a unit from running between the parts of T1.
    fn is_blocked(&self, unit: usize, same: &Same<'_>) -> bool {
        let t1 = self.t1();
        let on_snapshot = self.levels[self.first] != Some(Level::ReadCommitted);
        // A snapshot is there from the first statement on: the rest of T1 may come later.
        let split = match on_snapshot {
            true => 0,
            false => t1.accesses[self.read].statement,
        };
        t1.accesses.iter().any(|one| {
            self.units[unit].accesses.iter().any(|two| {
                let shared = one.lock != Lock::None && two.lock != Lock::None;
                let held = shared && (one.is_exclusive() || two.is_exclusive());
                let refused = on_snapshot && one.is_exclusive() && two.is_write();
                let clash = match one.statement <= split {
                    true => held || refused,
                    false => refused,
                };
                clash && same.is_one_row((0, one), (1, two))
            })
        })
    }

    /// Whether T1 and a unit conflict at all.
    fn touches(&self, unit: usize, same: &Same<'_>) -> bool {
        self.t1().accesses.iter().any(|one| {
            self.units[unit].accesses.iter().any(|two| {
                let meet = one.table == two.table && !kinds(one, two).is_empty();
                meet && same.is_one_row((0, one), (1, two))
            })
        })
    }

    /// Whether T1 reads what a unit writes, or the other way round.
    fn reads(&self, unit: usize, same: &Same<'_>, own: bool) -> bool {
        self.t1().accesses.iter().any(|one| {
            self.units[unit].accesses.iter().any(|two| {
                let meet = match own {
                    true => one.all_reads().meets(&two.writes),
                    false => one.writes.meets(&two.all_reads()),
                };
                meet && same.is_one_row((0, one), (1, two))
            })
        })
    }

    fn may_be_second(&self, unit: usize, same: &Same<'_>) -> bool {
        let both = self.is_serializable(self.first) && self.is_serializable(unit);
        let refused = both && self.reads(unit, same, false);
        !refused && !self.is_blocked(unit, same)
    }

    fn may_be_last(&self, unit: usize, second: usize, same: &Same<'_>) -> bool {
        let both = self.is_serializable(self.first) && self.is_serializable(unit);
        let refused = both && (self.is_serializable(second) || self.reads(unit, same, true));
        !refused && !self.is_blocked(unit, same)
    }

    /// A unit takes over the row by which another one passes on.
    fn enter(&self, node: &Node, parent: usize, unit: usize, access: usize) -> Entry {
        let mut entry = Entry {
            unit,
            access,
            parent: Some(parent),
            ..Entry::default()
        };
        let key = self.units[unit].accesses[access].key.iter().flatten();
        for ((_, term), component) in key.zip(&node.row) {
            match component {
                Component::Old(own) => entry.joins.push((*own, *term)),
                Component::New(new) => entry.news.push((*term, *new)),
            }
        }
        entry
    }

    /// Ends with this unit, if it conflicts with T1 as the last one must.
    fn close(&self, entry: &Entry, nodes: &[Node]) -> Option<Split> {
        let split = self.t1().accesses[self.read].statement;
        let committed = self.levels[self.first] == Some(Level::ReadCommitted);
        let mut root = entry.parent;
        while let Some(up) = root.and_then(|at| nodes[at].parent) {
            root = Some(up);
        }
        let unit = entry.unit;
        let second = root.map_or(unit, |at| nodes[at].unit);
        for (leaves, last) in self.units[unit].accesses.iter().enumerate() {
            for (back, own) in self.t1().accesses.iter().enumerate() {
                let reads = last.all_reads().meets(&own.writes);
                let later = committed && own.statement > split && !kinds(last, own).is_empty();
                if last.table != own.table || !(reads || later) {
                    continue;
                }
                let mut joins = entry.joins.clone();
                joins.extend(self.row_of(back, unit, leaves));
                let Some(same) = self.world(unit, &joins, &entry.news) else {
                    continue;
                };
                let second_too = entry.parent.is_some() || self.may_be_second(unit, &same);
                if second_too && self.may_be_last(unit, second, &same) {
                    return Some(self.split(entry, leaves, back, nodes));
                }
            }
        }
        None
    }

    /// All rows by which a unit can pass on.
    fn leave(&self, entry: &Entry, allowed: &dyn Fn(&Same<'_>) -> bool, reached: &mut Reached) {
        let (unit, news) = (entry.unit, &entry.news);
        let Some(same) = self
            .world(unit, &entry.joins, news)
            .filter(|same| allowed(same))
        else {
            return;
        };
        let mut root = entry.parent;
        while let Some(up) = root.and_then(|at| reached.nodes[at].parent) {
            root = Some(up);
        }
        let root = root.map_or(unit, |at| reached.nodes[at].unit);
        for leaves in 0..self.units[unit].accesses.len() {
            for chosen in self.choices(unit, leaves, &same, news) {
                let mut joins = entry.joins.clone();
                joins.extend(&chosen);
                let Some(same) = self.world(unit, &joins, news).filter(|same| allowed(same)) else {
                    continue;
                };
                let row = self.row(unit, leaves, &same);
                let state = (unit, leaves, row.clone(), self.is_serializable(root));
                if reached.seen.insert(state) {
                    reached.nodes.push(Node {
                        unit,
                        entered: entry.access,
                        leaves,
                        row,
                        chosen,
                        parent: entry.parent,
                    });
                }
            }
        }
    }

    /// Which values of a row's key, not known yet, are values of T1: all ways.
    fn choices(
        &self,
        unit: usize,
        leaves: usize,
        same: &Same<'_>,
        news: &[(usize, usize)],
    ) -> Vec<Vec<(usize, usize)>> {
        let own = self.t1().terms.len();
        let old: BTreeSet<usize> = (0..own).map(|term| same.class(0, term)).collect();
        let new: BTreeSet<usize> = news.iter().map(|one| same.class(1, one.0)).collect();
        let mut ways: Vec<Vec<(usize, usize)>> = vec![Vec::new()];
        for (_, term) in self.units[unit].accesses[leaves].key.iter().flatten() {
            let class = same.class(1, *term);
            if old.contains(&class) || new.contains(&class) {
                continue;
            }
            let mut more: Vec<Vec<(usize, usize)>> = Vec::new();
            for way in &ways {
                for value in self.key_values() {
                    let mut longer = way.clone();
                    longer.push((value, *term));
                    more.push(longer);
                }
            }
            if ways.len() + more.len() <= CHOICES_MAX {
                ways.extend(more);
            }
        }
        ways
    }

    /// The values of T1 that name its rows.
    fn key_values(&self) -> BTreeSet<usize> {
        let keys = self.t1().accesses.iter().flat_map(|access| &access.key);
        keys.flatten().map(|one| one.1).collect()
    }

    fn row(&self, unit: usize, access: usize, same: &Same<'_>) -> Vec<Component> {
        let own = self.t1().terms.len();
        let mut new: Vec<usize> = Vec::new();
        let mut row = Vec::new();
        for (_, term) in self.units[unit].accesses[access].key.iter().flatten() {
            let class = same.class(1, *term);
            if let Some(old) = (0..own).find(|old| same.class(0, *old) == class) {
                row.push(Component::Old(old));
                continue;
            }
            let known = new.iter().position(|one| *one == class);
            row.push(Component::New(known.unwrap_or_else(|| {
                new.push(class);
                new.len() - 1
            })));
        }
        row
    }

    fn split(&self, entry: &Entry, leaves: usize, back: usize, nodes: &[Node]) -> Split {
        let mut way: Vec<&Node> = Vec::new();
        let mut at = entry.parent;
        while let Some(node) = at.map(|at| &nodes[at]) {
            way.push(node);
            at = node.parent;
        }
        way.reverse();
        let (mut units, mut hops, mut equal) = (vec![self.first], Vec::new(), Vec::new());
        let mut from = self.read;
        for (instance, node) in way.iter().enumerate() {
            units.push(node.unit);
            hops.push((from, node.entered));
            let chosen = node.chosen.iter();
            equal.extend(chosen.map(|(own, term)| (*own, (instance + 1, *term))));
            from = node.leaves;
        }
        units.push(entry.unit);
        hops.push((from, entry.access));
        hops.push((leaves, back));
        Split { units, hops, equal }
    }
}
