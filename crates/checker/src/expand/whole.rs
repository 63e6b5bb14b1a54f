//! Evidence about registers as evidence about the sets and counters they stand for.
//!
//! Operations and keys are looked up. What needs care is a chosen writer: a set read has several
//! registers. Its choices are listed one after another, for those elements that it shows, did not
//! add itself before, and that at least two other transactions that did not abort added, in
//! ascending order; the initial transaction stands for no choice. A counter read lists everybody
//! whose increments it saw, or the initial transaction if nobody's, unless it saw exactly those
//! that come before it in the order.

use super::counters::{Counter, Sight};
use super::{Choice, Expanded};
use history::{Anomaly, CommitOrder, KeyId, Level, OpId, OpKind, Status, TxnId, ValueCode};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

impl Expanded<'_> {
    pub(super) fn whole_anomaly(&self, anomaly: &Anomaly) -> Anomaly {
        let mut whole = self.part.whole_anomaly(anomaly);
        whole.assuming = self.whole_choices(&anomaly.assuming);
        if let Some(text) = crate::explain::of_elements_if_any(self.history, &whole) {
            whole.explanation = text;
        }
        whole
    }

    /// An order of the registers' history. None if it does not explain some unclear read.
    pub(super) fn whole_order(&self, level: Level, order: &CommitOrder) -> Option<CommitOrder> {
        let mut reads = self.whole_choices(&order.reads);
        if level == Level::ReadUncommitted {
            // Where reads need no explanation.
            return Some(CommitOrder {
                reads,
                ..order.clone()
            });
        }
        let mut places: Vec<u32> = vec![u32::MAX; self.history.txn_count()];
        for (place, txn) in (0..).zip(&order.txns) {
            places[txn.index()] = place;
        }
        let snapshot = |txn: TxnId| match places[txn.index()] {
            u32::MAX => None,
            place => Some(
                order
                    .snapshots
                    .get(place as usize)
                    .copied()
                    .unwrap_or(place),
            ),
        };
        for ((_, counter), sights) in self.keys.iter().zip(&self.sights) {
            let sums = Prefixes::of(counter, &places);
            for (read, sight) in counter.reads.iter().zip(sights) {
                let Some(snapshot) = snapshot(read.reader) else {
                    continue;
                };
                let (count, sum) = sums.before(snapshot);
                let Sight::Decoded(seen) = sight else {
                    if sum == read.target {
                        continue;
                    }
                    return None;
                };
                // Others that come before it may sum up to the same; the order proves nothing if it saw those.
                let is_before = |at: &u32| {
                    let writer = counter.increments[*at as usize].txn;
                    places[writer.index()] < snapshot
                };
                if seen.len() == count && seen.iter().all(is_before) {
                    continue;
                }
                let writers = seen.iter().map(|&at| counter.increments[at as usize].txn);
                reads.extend(writers.map(|writer| (read.op, writer)));
                if seen.is_empty() {
                    reads.push((read.op, TxnId::INITIAL));
                }
            }
        }
        Some(CommitOrder {
            txns: order.txns.clone(),
            reads,
            snapshots: order.snapshots.clone(),
        })
    }

    /// Chosen writers of registers as those of the reads of the whole.
    pub(super) fn whole_choices(&self, choices: &[Choice]) -> Vec<Choice> {
        let mut whole: Vec<Choice> = Vec::new();
        let mut of_sets: BTreeMap<OpId, BTreeMap<OpId, TxnId>> = BTreeMap::new();
        for &(op, writer) in choices {
            let origin = self.part.whole_op(op);
            if self.history.op(origin).kind == OpKind::ReadSet {
                of_sets.entry(origin).or_default().insert(op, writer);
            } else {
                whole.push((origin, writer));
            }
        }
        if of_sets.is_empty() {
            return whole;
        }
        let adders = self.several_adders();
        for (origin, chosen) in of_sets {
            let first = *chosen.keys().next().expect("a choice was entered");
            for op in self.ambiguous(origin, first, &adders) {
                let writer = chosen.get(&op).copied().unwrap_or(TxnId::INITIAL);
                whole.push((origin, writer));
            }
        }
        whole
    }

    /// The registers that several transactions that did not abort write, with these.
    fn several_adders(&self) -> FxHashMap<KeyId, Vec<TxnId>> {
        let history = &self.part.history;
        let mut adders: FxHashMap<KeyId, Vec<TxnId>> = FxHashMap::default();
        for txn in history.txn_ids() {
            if history.status(txn) == Status::Aborted {
                continue;
            }
            for (_, op) in history.txn_ops(txn) {
                if op.kind == OpKind::Write {
                    let known = adders.entry(op.key).or_default();
                    if known.last() != Some(&txn) {
                        known.push(txn);
                    }
                }
            }
        }
        adders.retain(|_, known| known.len() > 1);
        adders
    }

    /// The reads of elements that a set read shows and several others added.
    fn ambiguous(
        &self,
        origin: OpId,
        one: OpId,
        adders: &FxHashMap<KeyId, Vec<TxnId>>,
    ) -> Vec<OpId> {
        let history = &self.part.history;
        let has = |txn: &TxnId| history.op_range(*txn).contains(&one.index());
        let reader = history.txn_ids().find(has);
        let reader = reader.expect("every operation belongs to a transaction");
        let mut own: Vec<KeyId> = Vec::new();
        let mut found = Vec::new();
        for (id, op) in history.txn_ops(reader) {
            if op.kind == OpKind::Write {
                own.push(op.key);
            }
            if self.part.whole_op(id) != origin || op.value == ValueCode::NIL {
                continue;
            }
            let others = adders.get(&op.key).into_iter().flatten();
            let others = others.filter(|&&txn| txn != reader).count();
            if others > 1 && !own.contains(&op.key) {
                found.push(id);
            }
        }
        found
    }
}

/// How much a counter has at each place of an order.
struct Prefixes {
    /// The place of each increment, and the sum up to and with it.
    sums: Vec<(u32, i128)>,
}

impl Prefixes {
    fn of(counter: &Counter, places: &[u32]) -> Prefixes {
        let placed = counter.increments.iter();
        let placed = placed.map(|own| (places[own.txn.index()], own.total));
        let mut sums: Vec<(u32, i128)> = placed.filter(|own| own.0 != u32::MAX).collect();
        sums.sort_unstable();
        let mut sum = 0;
        for (_, total) in &mut sums {
            sum += *total;
            *total = sum;
        }
        Prefixes { sums }
    }

    /// How many increments come before a place, and what they sum up to.
    fn before(&self, place: u32) -> (usize, i128) {
        let count = self.sums.partition_point(|&(at, _)| at < place);
        let last = count.checked_sub(1);
        (count, last.map_or(0, |last| self.sums[last].1))
    }
}
