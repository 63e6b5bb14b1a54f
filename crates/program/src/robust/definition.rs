//! Robustness by its definition, on few instances, for comparison: every interleaving that locks and
//! levels allow is run, and its dependencies looked at for a cycle.

use super::Level;
use super::counters::Numbered;
use super::cycles::{CycleKind, Search};
use super::edges::{Graph, Relations, kinds};
use super::facts::Facts;
use super::same::Same;
use super::templates::{self, Split};
use super::unit::{Access, Derived, Kind, Unit};
use super::variants::variants;
use crate::access::ColumnSet;
use crate::expr::{Expr, ParameterId, PartId};
use crate::ir::Lock;
use crate::paths::{End, Path};
use crate::schema::{ColumnId, TableId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A row: its table and the values of its key.
type Row = (u32, Vec<usize>);

/// An instance: accesses of given rows, at a level.
#[derive(Clone)]
struct Instance {
    accesses: Vec<(Access, Row)>,
    level: Level,
}

/// A run on its way: for each instance when it did what. Times are positions in the run.
#[derive(Clone, Default)]
struct Run {
    done: Vec<Vec<usize>>,
    commits: Vec<Option<usize>>,
    now: usize,
}

impl Run {
    fn new(count: usize) -> Run {
        Run {
            done: vec![Vec::new(); count],
            commits: vec![None; count],
            now: 0,
        }
    }

    /// Lets an instance do its next step; false where it must wait or is refused.
    fn step(&mut self, all: &[Instance], who: usize) -> bool {
        self.now += 1;
        let at = self.done[who].len();
        let Some((access, row)) = all[who].accesses.get(at) else {
            self.commits[who] = Some(self.now);
            return true;
        };
        let start = self.done[who].first().copied().unwrap_or(self.now);
        for (other, instance) in all.iter().enumerate().filter(|(other, _)| *other != who) {
            for (index, _) in self.done[other].iter().enumerate() {
                let (held, theirs) = &instance.accesses[index];
                if theirs != row {
                    continue;
                }
                let locks = access.lock != Lock::None && held.lock != Lock::None;
                let clash = locks && (access.is_exclusive() || held.is_exclusive());
                let changed = self.commits[other].is_some_and(|commit| commit > start);
                let refused = all[who].level != Level::ReadCommitted
                    && access.is_exclusive()
                    && held.is_write()
                    && changed;
                if (clash && self.commits[other].is_none()) || refused {
                    return false;
                }
            }
        }
        self.done[who].push(self.now);
        true
    }

    /// When an access of an instance looked: its version is that of the last commit before.
    fn view(&self, all: &[Instance], who: usize, access: usize) -> usize {
        match all[who].level {
            Level::ReadCommitted => self.done[who][access],
            _ => self.done[who][0],
        }
    }

    /// Whether there is a dependency by a write of the one and a read or write of the other.
    fn depends(&self, all: &[Instance], from: usize, to: usize, only_rw: bool) -> bool {
        let commit = |who: usize| self.commits[who].unwrap_or(usize::MAX);
        for (i, (a, row)) in all[from].accesses.iter().enumerate() {
            for (j, (b, other)) in all[to].accesses.iter().enumerate() {
                if row != other {
                    continue;
                }
                let own = |who: usize, at: usize, columns: &ColumnSet| {
                    // Columns the instance wrote before are read from its own write.
                    let mut left = columns.clone();
                    for (earlier, r) in &all[who].accesses[..at] {
                        if r == row {
                            left.columns
                                .retain(|one| !earlier.writes.columns.contains(one));
                        }
                    }
                    left
                };
                let reads = own(from, i, &a.reads);
                if reads.meets(&b.writes) && self.view(all, from, i) < commit(to) {
                    return true;
                }
                if only_rw {
                    continue;
                }
                let ww = a.writes.meets(&b.writes) && commit(from) < commit(to);
                let read = own(to, j, &b.reads);
                let wr = a.writes.meets(&read) && commit(from) < self.view(all, to, j);
                if ww || wr {
                    return true;
                }
            }
        }
        false
    }

    /// Whether serializable transactions would have been stopped.
    fn is_dangerous(&self, all: &[Instance]) -> bool {
        let count = all.len();
        let ser = |who: usize| all[who].level == Level::Serializable;
        let commit = |who: usize| self.commits[who].unwrap_or(usize::MAX);
        let overlap = |a: usize, b: usize| {
            let start = |who: usize| self.done[who].first().copied().unwrap_or(commit(who));
            start(a) < commit(b) && start(b) < commit(a)
        };
        let edge = |a: usize, b: usize| a != b && overlap(a, b) && self.depends(all, a, b, true);
        (0..count).filter(|who| ser(*who)).any(|pivot| {
            (0..count).any(|last| {
                ser(last)
                    && edge(pivot, last)
                    && commit(last) < commit(pivot)
                    && (0..count).any(|first| {
                        ser(first) && edge(first, pivot) && commit(last) <= commit(first)
                    })
            })
        })
    }

    fn is_serializable(&self, all: &[Instance]) -> bool {
        let count = all.len();
        let mut left: BTreeSet<usize> = (0..count).collect();
        loop {
            let free = left.iter().copied().find(|to| {
                !left
                    .iter()
                    .any(|from| from != to && self.depends(all, *from, *to, false))
            });
            match free {
                Some(one) => left.remove(&one),
                None => return left.is_empty(),
            };
        }
    }
}

/// Whether some interleaving of the instances is not serializable.
fn has_anomaly(all: &[Instance]) -> bool {
    let mut waiting = vec![Run::new(all.len())];
    while let Some(run) = waiting.pop() {
        let open: Vec<usize> = (0..all.len())
            .filter(|who| run.commits[*who].is_none())
            .collect();
        if open.is_empty() {
            if !run.is_serializable(all) && !run.is_dangerous(all) {
                return true;
            }
            continue;
        }
        for who in open {
            let mut next = run.clone();
            if next.step(all, who) {
                waiting.push(next);
            }
        }
    }
    false
}

/// A small generator of random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

const NAMES: TableId = TableId(9);

/// How many random sets are tried; each is its own seed.
const SEEDS: u64 = 300;

/// The most accesses of three instances that are interleaved.
const STEPS_MAX: usize = 6;

fn columns(random: &mut Random, empty: bool) -> ColumnSet {
    let mut found = BTreeSet::new();
    match random.below(if empty { 4 } else { 3 }) {
        0 => found.extend([ColumnId(1)]),
        1 => found.extend([ColumnId(2)]),
        2 => found.extend([ColumnId(1), ColumnId(2)]),
        _ => {}
    }
    ColumnSet {
        exists: false,
        columns: found,
    }
}

/// A transaction of one to three accesses of two tables by two values, of which the second may be
/// a function of the first.
fn random_unit(random: &mut Random, transaction: usize, related: bool) -> Unit {
    let mut accesses = Vec::new();
    for statement in 0..1 + random.below(3) {
        let term = random.below(2);
        let key = vec![(ColumnId(0), term)];
        let write = random.below(2) == 0;
        let lock = match random.below(8) {
            _ if write => Lock::Update,
            0 => Lock::Update,
            1 => Lock::Share,
            _ => Lock::None,
        };
        accesses.push(Access {
            statement,
            part: PartId(0),
            table: TableId(random.below(2) as u32),
            kind: if write { Kind::Update } else { Kind::Select },
            key: Some(key.clone()),
            fixed: key,
            first: None,
            reads: columns(random, write),
            predicate: ColumnSet::default(),
            writes: match write {
                true => columns(random, false),
                false => ColumnSet::default(),
            },
            lock,
            rows: None,
            none: false,
            sure_in_snapshot: true,
            sure: true,
        });
    }
    let derived = Derived {
        table: NAMES,
        key: vec![0],
        column: ColumnId(1),
        term: 1,
        unique: false,
    };
    let path = Arc::new(Path {
        statements: Vec::new(),
        guards: Vec::new(),
        end: End::Commit,
        cut: false,
        unknowns: Default::default(),
    });
    Unit {
        transaction,
        alike: vec![path.clone()],
        path,
        accesses,
        terms: vec![
            Expr::Parameter(ParameterId(0)),
            Expr::Parameter(ParameterId(1)),
        ],
        derived: if related { vec![derived] } else { Vec::new() },
    }
}

/// The instances of a unit with values 0 and 1; `function` is what the second value is, if related.
fn instances(unit: &Unit, level: Level, function: Option<[usize; 2]>) -> Vec<Instance> {
    let mut found = Vec::new();
    for first in 0..2 {
        for second in 0..2 {
            if function.is_some_and(|function| function[first] != second) {
                continue;
            }
            let row = |access: &Access| -> Row {
                let value = |term: usize| [first, second][term];
                let key = access.key.iter().flatten();
                (access.table.0, key.map(|one| value(one.1)).collect())
            };
            let accesses = unit.accesses.iter();
            found.push(Instance {
                accesses: accesses.map(|one| (one.clone(), row(one))).collect(),
                level,
            });
        }
    }
    found
}

/// Whether all three conflict with one another, as in a cycle of three; and are not too long.
fn may_be_cycle(all: &[Instance; 3]) -> bool {
    let meet = |one: &Instance, two: &Instance| {
        one.accesses.iter().any(|(a, row)| {
            let mut others = two.accesses.iter();
            others.any(|(b, other)| row == other && !kinds(a, b).is_empty())
        })
    };
    let steps: usize = all.iter().map(|one| one.accesses.len()).sum();
    let [one, two, three] = all;
    steps <= STEPS_MAX && meet(one, two) && meet(two, three) && meet(three, one)
}

/// Whether two or three instances of the units have an anomaly.
fn brute_force(units: &[Unit], levels: &[Level], related: bool) -> bool {
    let functions: Vec<Option<[usize; 2]>> = match related {
        true => [[0, 0], [0, 1], [1, 0]].map(Some).to_vec(),
        false => vec![None],
    };
    functions.into_iter().any(|function| {
        let each = units.iter().zip(levels);
        let all: Vec<Instance> = each
            .flat_map(|(unit, level)| instances(unit, *level, function))
            .collect();
        (0..all.len()).any(|i| {
            (i..all.len()).any(|j| {
                let pair = [all[i].clone(), all[j].clone()];
                has_anomaly(&pair)
                    || (j..all.len()).any(|k| {
                        let [one, two] = pair.clone();
                        let three = [one, two, all[k].clone()];
                        may_be_cycle(&three) && has_anomaly(&three)
                    })
            })
        })
    })
}

/// Plays a split run: true where it goes through and is not serializable.
fn plays(split: &Split, units: &[Unit], levels: &[Option<Level>]) -> bool {
    let parts: Vec<&Unit> = split.units.iter().map(|at| &units[*at]).collect();
    let mut same = Same::new(&parts);
    let count = parts.len();
    for (at, (from, to)) in split.hops.iter().enumerate() {
        let next = (at + 1) % count;
        let left = parts[at].accesses[*from].key.iter().flatten();
        let right = parts[next].accesses[*to].key.iter().flatten();
        for (one, two) in left.zip(right) {
            same.join((at, one.1), (next, two.1));
        }
    }
    for (own, other) in &split.equal {
        same.join((0, *own), *other);
    }
    assert!(same.close(), "{split:?}");
    let all: Vec<Instance> = parts
        .iter()
        .enumerate()
        .map(|(slot, unit)| Instance {
            accesses: unit
                .accesses
                .iter()
                .map(|access| {
                    let key = access.key.iter().flatten();
                    let key = key.map(|one| same.class(slot, one.1)).collect();
                    (access.clone(), (access.table.0, key))
                })
                .collect(),
            level: levels[split.units[slot]].unwrap_or(Level::ReadCommitted),
        })
        .collect();
    let mut run = Run::new(count);
    let before = match all[0].level {
        Level::ReadCommitted => split.hops[0].0 + 1,
        _ => 1,
    };
    let mut order = vec![0; before];
    for (other, instance) in all.iter().enumerate().skip(1) {
        order.extend(vec![other; instance.accesses.len() + 1]);
    }
    order.extend(vec![0; all[0].accesses.len() + 1 - before]);
    let goes = order.into_iter().all(|who| run.step(&all, who));
    goes && !run.is_serializable(&all) && !run.is_dangerous(&all)
}

fn cycle_of(units: &[Unit], levels: &[Option<Level>], kind: CycleKind) -> bool {
    let facts = Facts::default();
    let numbered: Vec<Numbered> = Vec::new();
    let edges = Graph {
        units,
        facts: &facts,
        numbered: &numbered,
        relations: Relations::Keys,
        on_snapshots: false,
    }
    .edges();
    let transactions: Vec<usize> = units.iter().map(|unit| unit.transaction).collect();
    Search {
        transactions: &transactions,
        edges: &edges,
        levels,
        kind,
    }
    .find()
    .is_some()
}

/// Random transactions at random levels: the exact method against the definition, both ways, and
/// the summary graph, which must not prove what does not hold.
#[test]
fn both_methods_agree_with_the_definition() {
    let (mut robust, mut not, mut missed, mut long) = (0, 0, 0, 0);
    for seed in 0..SEEDS {
        let mut random = Random(seed);
        let related = random.below(2) == 0;
        let count = 1 + random.below(3);
        let units: Vec<Unit> = (0..count)
            .map(|at| random_unit(&mut random, at, related))
            .collect();
        let choice = random.below(4);
        let levels: Vec<Level> = (0..count)
            .map(|_| match choice {
                0 => Level::ReadCommitted,
                1 => Level::Snapshot,
                _ => Level::ALL[random.below(3)],
            })
            .collect();
        let mut variant_units: Vec<Unit> = Vec::new();
        for unit in &units {
            variant_units.extend(variants(unit).unwrap_or_default());
        }
        let of = |units: &[Unit]| -> Vec<Option<Level>> {
            units
                .iter()
                .map(|unit| Some(levels[unit.transaction]))
                .collect()
        };
        let split = templates::find(&variant_units, &of(&variant_units));
        let cycle = cycle_of(&units, &of(&units), CycleKind::TypeII);
        match &split {
            // Values joined by functions of new values: left to the graph.
            Some(split) if !templates::holds(split, &variant_units) => {
                let wrong = brute_force(&units, &levels, related);
                assert!(cycle || !wrong, "seed {seed}: {levels:?} {units:#?}");
            }
            Some(split) => {
                not += 1;
                long += usize::from(split.units.len() > 3);
                assert!(
                    plays(split, &variant_units, &of(&variant_units)),
                    "seed {seed}: {split:?} {levels:?} {units:#?}"
                );
                assert!(
                    cycle,
                    "seed {seed}: the graph proves what is wrong {levels:?} {units:#?}"
                );
            }
            None => {
                robust += 1;
                missed += usize::from(cycle);
                assert!(
                    !brute_force(&units, &levels, related),
                    "seed {seed}: an anomaly was not found {levels:?} {units:#?}"
                );
            }
        }
    }
    assert!(robust > 30 && not > 30, "{robust} robust, {not} not");
    assert!(
        missed * 2 < robust,
        "{missed} of {robust} not proved by the graph"
    );
    assert!(long < not, "{long} of {not} need more than three");
}
