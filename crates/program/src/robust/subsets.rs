//! All maximal robust subsets of the transactions of a program, and all minimal ones that are not.
//!
//! Definition: a part of a robust set is robust. So the robust sets are all parts of the maximal
//! ones, and the others contain a minimal one that is not.
//! Steps: from the whole set down. A set that is not robust has a cycle of some transactions; every
//! robust part of it lacks one of these, so only the sets without one of them are looked at next.
//! Every set is asked about once.
//! Cost: one question for each set looked at; at worst 2^n, in practice a few dozen. Where the time is
//! over before, what is known by then is told.

use super::{Level, RobustOptions, Robustness, Workload};
use crate::ir::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// The border between robust and not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subsets {
    /// The maximal robust sets, by position in [`Program::transactions`], the largest first.
    pub maximal: Vec<BTreeSet<usize>>,
    /// The minimal sets that are not robust (or not proved to be).
    pub minimal: Vec<BTreeSet<usize>>,
    /// How many sets were not looked at, because the time was over. With some, the maximal sets are
    /// robust, but there may be larger ones and others.
    pub open: usize,
}

/// The maximal robust subsets at one level.
pub fn subsets(program: &Program, level: Level, options: &RobustOptions) -> Subsets {
    subsets_until(program, level, options, None)
}

/// The maximal robust subsets at one level, as far as there is time.
pub fn subsets_until(
    program: &Program,
    level: Level,
    options: &RobustOptions,
    until: Option<Instant>,
) -> Subsets {
    let options = RobustOptions {
        confirm: false,
        ..*options
    };
    let workload = Workload::new(program, &options);
    let mut asked = Asked {
        workload: &workload,
        level,
        known: BTreeMap::new(),
    };
    let all: BTreeSet<usize> = (0..program.transactions.len()).collect();
    let mut maximal: Vec<BTreeSet<usize>> = Vec::new();
    let mut waiting = vec![all.clone()];
    let mut seen: BTreeSet<BTreeSet<usize>> = BTreeSet::new();
    let over = || until.is_some_and(|until| Instant::now() >= until);
    let mut open = 0;
    while let Some(set) = waiting.pop() {
        if !seen.insert(set.clone()) {
            continue;
        }
        if over() {
            open += 1;
            continue;
        }
        let Some(cycle) = asked.ask(&set) else {
            maximal.push(set);
            continue;
        };
        // What is known about tables depends on who is there: the cycle may need the others.
        let alone = asked.ask(&cycle).is_some();
        for one in if alone { &cycle } else { &set } {
            let mut less = set.clone();
            less.remove(one);
            waiting.push(less);
        }
    }
    let known = maximal.clone();
    maximal.retain(|set| {
        !known
            .iter()
            .any(|other| other != set && set.is_subset(other))
    });
    maximal.sort_by_key(|set| (usize::MAX - set.len(), set.clone()));
    Subsets {
        minimal: match open {
            0 => outside(&all, &maximal),
            _ => asked.refused(),
        },
        maximal,
        open,
    }
}

/// The minimal sets that are part of none of the maximal ones: they have an element outside of each.
fn outside(all: &BTreeSet<usize>, maximal: &[BTreeSet<usize>]) -> Vec<BTreeSet<usize>> {
    let mut found: BTreeSet<BTreeSet<usize>> = BTreeSet::from([BTreeSet::new()]);
    for set in maximal {
        let rest: BTreeSet<usize> = all.difference(set).copied().collect();
        let mut next: BTreeSet<BTreeSet<usize>> = BTreeSet::new();
        for known in &found {
            if !known.is_disjoint(&rest) {
                next.insert(known.clone());
                continue;
            }
            for one in &rest {
                let mut more = known.clone();
                more.insert(*one);
                next.insert(more);
            }
        }
        let minimal = |one: &&BTreeSet<usize>| {
            !next
                .iter()
                .any(|other| other != *one && other.is_subset(one))
        };
        found = next.iter().filter(minimal).cloned().collect();
    }
    let mut found: Vec<BTreeSet<usize>> = found.into_iter().collect();
    found.sort_by_key(|set| (set.len(), set.clone()));
    found
}

struct Asked<'a> {
    workload: &'a Workload<'a>,
    level: Level,
    known: BTreeMap<BTreeSet<usize>, Option<BTreeSet<usize>>>,
}

impl Asked<'_> {
    /// The transactions of a cycle in a set that is not robust.
    fn ask(&mut self, set: &BTreeSet<usize>) -> Option<BTreeSet<usize>> {
        if let Some(known) = self.known.get(set) {
            return known.clone();
        }
        let count = self.workload.program().transactions.len();
        let level = |at: usize| set.contains(&at).then_some(self.level);
        let levels: Vec<Option<Level>> = (0..count).map(level).collect();
        let answer = self.workload.check(&levels);
        let cycle = match (&answer, answer.counterexample()) {
            (Robustness::Robust(_), _) => None,
            (_, Some(found)) => Some(found.instances.iter().map(|one| one.transaction).collect()),
            (_, None) => Some(set.clone()),
        };
        self.known.insert(set.clone(), cycle.clone());
        cycle
    }
    /// The minimal ones of the sets that were asked about and are not robust.
    fn refused(&self) -> Vec<BTreeSet<usize>> {
        let refused = self.known.iter().filter(|(_, cycle)| cycle.is_some());
        let refused: Vec<&BTreeSet<usize>> = refused.map(|(set, _)| set).collect();
        let minimal = |one: &&BTreeSet<usize>| {
            let mut others = refused.iter();
            !others.any(|other| *other != *one && other.is_subset(one))
        };
        let mut found: Vec<BTreeSet<usize>> =
            refused.iter().copied().filter(minimal).cloned().collect();
        found.sort_by_key(|set| (set.len(), set.clone()));
        found
    }
}
