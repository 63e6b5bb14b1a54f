//! The instances of a rule's violation, counted by kind, with some of each to show.
//!
//! Definition: as in `diagnose`. An instance counts once for each read, whatever forces it.
//!
//! Steps: each forced edge on a cycle is named and marks its read; of those of a kind every one is kept at first, and
//! every second, fourth, … one as they become more, so that what is kept is spread over all.
//!
//! Cost: a bit for each operation and kind.

use crate::observe::Link;
use crate::op_set::OpSet;
use crate::order::{Forced, StaleRead};
use crate::rule::Rule;
use history::AnomalyKind;
use std::collections::BTreeMap;

/// So many instances of a kind are kept, and up to twice as many for a while.
const KEPT: usize = 512;

/// Up to so many instances are few.
const FEW: usize = 4096;

/// What was found so far.
pub struct Instances {
    rule: Rule,
    op_count: usize,
    pub by_kind: BTreeMap<AnomalyKind, OfKind>,
    /// Reads of an initial version, each with a writer that was to be seen.
    pub initial: Vec<(StaleRead, u32)>,
}

/// The instances of one kind.
pub struct OfKind {
    reads: OpSet,
    /// How many reads they are of.
    pub read_count: u64,
    /// Some of them.
    pub kept: Vec<Forced>,
    seen: usize,
    stride: usize,
}

impl Instances {
    pub fn new(rule: Rule, op_count: usize) -> Instances {
        Instances {
            rule,
            op_count,
            by_kind: BTreeMap::new(),
            initial: Vec::new(),
        }
    }

    /// Takes a forced edge `t2 → t1` on a cycle; `plain` if `t1` happens before `t2`.
    pub fn add(&mut self, edge: &Forced, plain: bool) {
        let kind = kind_of(self.rule, edge, plain);
        let op_count = self.op_count;
        let of_kind = self.by_kind.entry(kind).or_insert_with(|| OfKind {
            reads: OpSet::none(op_count),
            read_count: 0,
            kept: Vec::new(),
            seen: 0,
            stride: 1,
        });
        of_kind.add(edge);
    }

    /// The reads that instances of a kind are of, if there are any.
    pub fn reads_of(&self, kind: AnomalyKind) -> Option<&OpSet> {
        self.by_kind.get(&kind).map(|of_kind| &of_kind.reads)
    }

    /// Whether so few were found that none may be passed over: the smallest may be any of them.
    pub fn are_few(&self) -> bool {
        let found = self.by_kind.values().map(|of_kind| of_kind.seen);
        found.sum::<usize>() < FEW
    }

    /// Takes a read of the initial version that had to see a write.
    pub fn add_initial(&mut self, edge: &Forced) {
        debug_assert_eq!(edge.to, Link::INITIAL);
        let read = StaleRead::new(edge.read, edge.reader);
        self.initial.push((read, edge.from));
    }

    /// Keeps one writer for each read of the initial version.
    pub fn tidy(&mut self) {
        self.initial
            .sort_unstable_by_key(|(read, t2)| (read.op, *t2));
        self.initial.dedup_by_key(|(read, _)| read.op);
    }
}

impl OfKind {
    fn add(&mut self, edge: &Forced) {
        if !self.reads.has(edge.read as usize) {
            self.reads.insert(edge.read as usize);
            self.read_count += 1;
        }
        if self.seen.is_multiple_of(self.stride) {
            self.kept.push(*edge);
            if self.kept.len() == 2 * KEPT {
                let mut place = 0;
                self.kept.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.stride *= 2;
            }
        }
        self.seen += 1;
    }
}

/// What an instance is called.
fn kind_of(rule: Rule, edge: &Forced, plain: bool) -> AnomalyKind {
    use AnomalyKind::*;
    match (rule, edge.direct, plain) {
        (Rule::ReadCommitted, _, true) => NonMonotonicRead,
        (Rule::ReadCommitted, _, false) => NonMonotonicReadConflict,
        (Rule::ReadAtomic | Rule::Causal, true, true) => FracturedRead,
        (Rule::ReadAtomic | Rule::Causal, true, false) => FracturedReadConflict,
        (_, _, true) => CausalityViolation,
        (_, _, false) => ConflictingOrder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Budget;
    use crate::diagnose::diagnose;
    use crate::observe::{Observed, observe};
    use crate::order::schedule;
    use crate::rounds::{self, Decision};
    use crate::windows::tests::random_history;
    use history::format::jsonl;
    use history::{Initial, KeyOrder, TxnId};
    use std::collections::BTreeSet;
    use std::time::Instant;

    /// By pair of transactions, whether steps lead from one to the other.
    fn closure(mut step: Vec<Vec<bool>>) -> Vec<Vec<bool>> {
        for middle in 0..step.len() {
            let onwards = step[middle].clone();
            for row in step.iter_mut().filter(|row| row[middle]) {
                let both = row.iter_mut().zip(&onwards);
                both.for_each(|(to, &onwards)| *to |= onwards);
            }
        }
        step
    }

    /// The reads of each kind by the definition, those of initial versions left out.
    fn by_definition(observed: &Observed<'_>, rule: Rule) -> Vec<(AnomalyKind, u64)> {
        let history = observed.history;
        let txns = 0..history.txn_count() as u32;
        let session_of = |txn: u32| history.session_of(TxnId(txn));
        let reads_from = |t3: u32, t2: u32, not_of: Option<u32>| {
            let mut reads = observed.reads(TxnId(t3));
            reads.any(|(_, key, writer)| writer.0 == t2 && Some(key.0) != not_of)
        };
        let is_base = |from: u32, to: u32| {
            (from < to && session_of(from) == session_of(to)) || reads_from(to, from, None)
        };
        let row = |from: u32| txns.clone().map(|to| is_base(from, to)).collect();
        let base: Vec<Vec<bool>> = txns.clone().map(row).collect();
        let before = closure(base.clone());
        let sees = |t3: u32, read: u32, t2: u32| match rule {
            Rule::ReadCommitted => {
                let mut reads = observed.reads(TxnId(t3));
                reads.any(|(op, _, writer)| op.0 < read && writer.0 == t2)
            }
            Rule::ReadAtomic => base[t2 as usize][t3 as usize],
            _ => before[t2 as usize][t3 as usize],
        };
        let mut forced = Vec::new();
        for t3 in txns.clone() {
            for (op, key, t1) in observed.reads(TxnId(t3)) {
                let writers = txns.clone().filter(|&t2| t2 != t1.0 && t2 != t3);
                let writes = |t2: &u32| observed.writes(TxnId(*t2)).any(|(_, other)| other == key);
                let seen = writers.filter(writes).filter(|&t2| sees(t3, op.0, t2));
                forced.extend(seen.map(|t2| (op.0, key.0, t1.0, t2, t3)));
            }
        }
        let mut all = base.clone();
        for &(_, _, t1, t2, _) in &forced {
            all[t2 as usize][t1 as usize] = true;
        }
        let all = closure(all);
        let mut found: BTreeMap<AnomalyKind, BTreeSet<u32>> = BTreeMap::new();
        for (read, key, to, from, reader) in forced {
            if all[to as usize][from as usize] {
                let direct = reads_from(reader, from, Some(key));
                let edge = Forced {
                    to,
                    from,
                    read,
                    reader,
                    direct,
                };
                let plain = before[to as usize][from as usize];
                let kind = kind_of(rule, &edge, plain);
                found.entry(kind).or_default().insert(read);
            }
        }
        let counts = found
            .into_iter()
            .map(|(kind, reads)| (kind, reads.len() as u64));
        counts.collect()
    }

    #[test]
    fn every_read_that_contradicts_a_rule_counts_once_for_each_kind() {
        let budget = Budget::default();
        let mut kinds = BTreeSet::new();
        let rules = [Rule::ReadCommitted, Rule::ReadAtomic, Rule::Causal];
        for (seed, rule) in (0..150).flat_map(|seed| rules.map(|rule| (seed, rule))) {
            let history = random_history(seed, 50);
            let observed = observe(&history, &Initial::default(), KeyOrder::Free, &budget);
            let Ok(observed) = observed else { continue };
            let first = schedule(&observed, &rounds::known_edges(&observed));
            let decision = rounds::decide(&observed, rule, &first, &budget);
            let found = match decision {
                Ok(Decision::Violated(found)) if first.complete => found,
                _ => continue,
            };
            let anomalies = diagnose(&observed, rule, found, &budget).unwrap_or_default();
            let counted = anomalies.iter().map(|one| (one.kind, one.count));
            let counted: Vec<(AnomalyKind, u64)> = counted
                .filter(|(kind, _)| *kind != AnomalyKind::InitialRead)
                .collect();
            let expected = by_definition(&observed, rule);
            assert_eq!(counted, expected, "seed {seed}, {rule:?}");
            kinds.extend(expected.iter().map(|(kind, _)| (rule as u8, *kind)));
        }
        assert_eq!(kinds.len(), 2 + 4 + 4, "{kinds:?}");
    }

    /// Ten times the reads must take about ten times as long: looked through for each read, they take hours.
    #[test]
    fn a_reader_of_very_many_operations_is_looked_through_once() {
        let count = 1_000_000;
        let reads: Vec<String> = (0..count)
            .map(|at| format!("[\"r\",1,{}]", 1 + at % 2))
            .collect();
        let lines = [
            "{\"session\":0,\"ops\":[[\"w\",1,1]]}".to_string(),
            "{\"session\":1,\"ops\":[[\"w\",1,2]]}".to_string(),
            format!("{{\"session\":2,\"ops\":[{}]}}", reads.join(",")),
        ];
        let history = jsonl::read(lines.join("\n").as_bytes(), &mut Vec::new()).expect("a history");
        let began = Instant::now();
        let is_late = || began.elapsed().as_secs() > 60;
        let budget = Budget {
            probe: &|| is_late().then(|| "too long".to_string()),
            ..Budget::default()
        };
        let observed = observe(&history, &Initial::default(), KeyOrder::Free, &budget);
        let Ok(observed) = observed else {
            panic!("observed in time")
        };
        let first = schedule(&observed, &rounds::known_edges(&observed));
        let Ok(Decision::Violated(found)) =
            rounds::decide(&observed, Rule::Causal, &first, &budget)
        else {
            panic!("each of the two had to be the later one");
        };
        let Ok(anomalies) = diagnose(&observed, Rule::Causal, found, &budget) else {
            panic!("diagnosed in time");
        };
        let counts: Vec<_> = anomalies.iter().map(|one| (one.kind, one.count)).collect();
        assert_eq!(counts, [(AnomalyKind::ConflictingOrder, count)]);
    }
}
