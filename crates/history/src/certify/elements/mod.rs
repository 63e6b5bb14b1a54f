//! Evidence on histories with sets and counters: re-checked on registers.
//!
//! Whether a set contains an element is a register, and so is whether a transaction's increments
//! of a counter count (docs/levels.md). `registers` writes the history out in these, `evidence`
//! translates what is claimed, and everything else is as for registers.
//!
//! **An order** says which increments a counter read saw: those that the evidence lists for it, or
//! all that come before it. Where all reads of counters are of the second kind and transactions see
//! snapshots or all that precede them, sums are enough and counters need not be written out.
//!
//! **Anomalies** hold whatever counter reads saw, so reads that several sets of increments explain
//! are left out; unless they assume something about such a read: then every way to explain the
//! reads in question needs anomalies of its own. `bounds` re-checks what no single increment shows.
//!
//! **Cost.** As for registers, with an operation for each element of each read.

mod bounds;
mod counters;
mod evidence;
mod members;
mod registers;

use super::order::Order;
use super::{Refusal, certify_order, name, require, snapshot};
use crate::{
    Anomaly, CommitOrder, History, Initial, KeyId, KeyOrder, Level, LevelResult, OpId, OpKind,
    Status, TxnId, Value, Verdict,
};
use counters::{Counter, Explained};
use registers::{Members, Registers, Sights};
use std::collections::BTreeMap;

type Counters = BTreeMap<KeyId, Counter>;

const COMBINATIONS_MAX: usize = 4096;

/// Whether a history has sets or counters.
pub(super) fn is_needed(history: &History) -> bool {
    let kinds = &history.ops().kinds;
    kinds.iter().any(|&kind| datatype(kind) > 1)
}

fn datatype(kind: OpKind) -> u8 {
    match kind {
        OpKind::Read | OpKind::Write => 0,
        OpKind::Append | OpKind::ReadList => 1,
        OpKind::Add | OpKind::ReadSet => 2,
        OpKind::Increment | OpKind::ReadCounter => 3,
    }
}

/// Re-checks evidence on such a history.
pub(super) fn certify(
    history: &History,
    initial: &Initial,
    result: &LevelResult,
) -> Result<(), Refusal> {
    let mut used: BTreeMap<KeyId, u8> = BTreeMap::new();
    let ops = history.ops();
    for (&kind, &key) in ops.kinds.iter().zip(&ops.keys) {
        require!(
            *used.entry(key).or_insert(datatype(kind)) == datatype(kind),
            "{} is used as different datatypes",
            history.key_name(key)
        );
    }
    let scene = Scene {
        history,
        initial,
        level: result.level,
        counters: counters::gather(history)?,
    };
    match &result.verdict {
        Verdict::Holds(order) => scene.certify_order(order),
        Verdict::Violated(anomalies) => scene.certify_anomalies(anomalies),
        Verdict::Unknown(_) => Err(Refusal::new("an unknown verdict has no evidence to check")),
    }
}

struct Scene<'a> {
    history: &'a History,
    initial: &'a Initial,
    level: Level,
    counters: Counters,
}

impl Scene<'_> {
    fn registers(&self, sights: &Sights, only: Option<&Members>) -> Result<Registers<'_>, Refusal> {
        // What stands for a written register must not be what stands for an unwritten one.
        let present = match self.initial {
            Initial::Value(value) if *value == Value::from("1") => "2",
            _ => "1",
        };
        Registers::make(self.history, &self.counters, sights, only, present)
    }

    fn certify_order(&self, evidence: &CommitOrder) -> Result<(), Refusal> {
        let mut rest = CommitOrder {
            reads: Vec::new(),
            ..evidence.clone()
        };
        let mut chosen: BTreeMap<OpId, Vec<TxnId>> = BTreeMap::new();
        for &(read, writer) in &evidence.reads {
            let is_counter = read.index() < self.history.op_count()
                && self.history.op(read).kind == OpKind::ReadCounter;
            if is_counter {
                chosen.entry(read).or_default().push(writer);
            } else {
                rest.reads.push((read, writer));
            }
        }
        if self.level == Level::ReadUncommitted {
            return self.on_registers(&Sights::new(), self.level, &rest);
        }
        let order = Order::check(self.history, evidence)?;
        let seen = self.seen(&order, evidence, &chosen)?;
        let sums_are_enough = chosen.is_empty();
        let sees_all_before = snapshot::takes_snapshots(self.level);
        if sums_are_enough && (sees_all_before || !evidence.snapshots.is_empty()) {
            return self.on_registers(&Sights::new(), self.level, &rest);
        }
        // An order in which everybody sees all that precedes proves every level without times.
        let all = Level::StrongSessionSerializable;
        if sums_are_enough
            && all.implies(self.level)
            && self.on_registers(&Sights::new(), all, &rest).is_ok()
        {
            return Ok(());
        }
        let mut sights = Sights::new();
        for (read, count) in seen {
            let set = match chosen.remove(&read) {
                Some(writers) => writers
                    .into_iter()
                    .filter(|&t| t != TxnId::INITIAL)
                    .collect(),
                None => self.placed_before(&order, read, count),
            };
            sights.insert(read, Some(set));
        }
        self.on_registers(&sights, self.level, &rest)
    }

    fn on_registers(
        &self,
        sights: &Sights,
        level: Level,
        evidence: &CommitOrder,
    ) -> Result<(), Refusal> {
        let registers = self.registers(sights, None)?;
        let reads = registers.choices(&evidence.reads)?;
        let evidence = CommitOrder {
            reads,
            ..evidence.clone()
        };
        certify_order(&registers.history, self.initial, level, &evidence)
    }

    /// The counter reads of the order, with how many of it come before what they see. Refuses
    /// those whose value is not explained.
    fn seen(
        &self,
        order: &Order<'_>,
        evidence: &CommitOrder,
        chosen: &BTreeMap<OpId, Vec<TxnId>>,
    ) -> Result<Vec<(OpId, u32)>, Refusal> {
        let mut found = Vec::new();
        for counter in self.counters.values() {
            let mut by_place: Vec<(u32, i128)> = counter
                .totals
                .iter()
                .map(|(&txn, &total)| (order.place(txn), total))
                .filter(|&(place, _)| place > 0)
                .collect();
            by_place.sort_unstable();
            let mut sums = vec![0];
            for (_, total) in &by_place {
                sums.push(sums[sums.len() - 1] + total);
            }
            for &(reader, read, target) in &counter.reads {
                let place = order.place(reader);
                if place == 0 {
                    continue;
                }
                let snapshots = evidence.snapshots.get(place as usize - 1);
                let count = snapshots.copied().unwrap_or(place - 1);
                let sum = match chosen.get(&read) {
                    Some(writers) => self.chosen_sum(order, counter, reader, writers),
                    None => Some(sums[by_place.partition_point(|&(at, _)| at <= count)]),
                };
                require!(
                    sum == Some(target),
                    "the order does not explain {} of {}",
                    self.history.op_text(read),
                    name(self.history, reader)
                );
                found.push((read, count));
            }
        }
        let known: usize = found
            .iter()
            .filter(|(read, _)| chosen.contains_key(read))
            .count();
        require!(
            known == chosen.len(),
            "increments are chosen for something that reads no counter"
        );
        Ok(found)
    }

    /// The sum of the increments that a read is said to have seen, if it can have.
    fn chosen_sum(
        &self,
        order: &Order<'_>,
        counter: &Counter,
        reader: TxnId,
        writers: &[TxnId],
    ) -> Option<i128> {
        if writers == [TxnId::INITIAL] {
            return Some(0);
        }
        let mut sorted = writers.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() != writers.len() {
            return None;
        }
        let total = |&txn: &TxnId| {
            let possible = order.takes(txn) && txn != reader;
            counter.totals.get(&txn).copied().filter(|_| possible)
        };
        sorted.iter().map(total).sum()
    }

    fn placed_before(&self, order: &Order<'_>, read: OpId, count: u32) -> Vec<TxnId> {
        let counter = &self.counters[&self.history.op(read).key];
        let others = counter.totals.keys().copied();
        others
            .filter(|&txn| (1..=count).contains(&order.place(txn)))
            .collect()
    }

    fn certify_anomalies(&self, anomalies: &[Anomaly]) -> Result<(), Refusal> {
        let (direct, others): (Vec<Anomaly>, Vec<Anomaly>) = anomalies
            .iter()
            .cloned()
            .partition(|anomaly| bounds::is_direct(self.history, &self.counters, anomaly));
        for anomaly in &direct {
            bounds::check(self.history, &self.counters, self.level, anomaly)?;
        }
        let is_free = |anomaly: &Anomaly| self.assumed(anomaly).is_empty();
        if direct.iter().any(is_free) && others.is_empty() {
            return Ok(());
        }
        let mut sights = Sights::new();
        for counter in self.counters.values() {
            for ((_, read, _), explained) in counter.reads.iter().zip(counter.explained()) {
                match explained {
                    Explained::By(set) => sights.insert(*read, Some(set)),
                    Explained::ByNone => sights.insert(*read, None),
                    Explained::BySeveral => None,
                };
            }
        }
        if anomalies.iter().all(is_free) {
            return self.anomalies_on_registers(&sights, &others);
        }
        self.certify_every_way(&sights, anomalies)
    }

    fn anomalies_on_registers(
        &self,
        sights: &Sights,
        anomalies: &[Anomaly],
    ) -> Result<(), Refusal> {
        // A history that violates a level without some elements violates it with them.
        let only = members::members(self.history, anomalies);
        let registers = self.registers(sights, Some(&only))?;
        let translated = anomalies.iter().map(|anomaly| registers.anomaly(anomaly));
        let translated: Vec<Anomaly> = translated.collect::<Result<_, _>>()?;
        super::choices::certify_anomalies(
            &registers.history,
            self.initial,
            KeyOrder::Free,
            self.level,
            &translated,
        )
    }

    /// What an anomaly assumes that counter reads saw.
    fn assumed(&self, anomaly: &Anomaly) -> BTreeMap<OpId, Vec<TxnId>> {
        let mut assumed: BTreeMap<OpId, Vec<TxnId>> = BTreeMap::new();
        for &(read, writer) in &anomaly.assuming {
            if read.index() < self.history.op_count()
                && self.history.op(read).kind == OpKind::ReadCounter
            {
                let seen = assumed.entry(read).or_default();
                seen.extend(Some(writer).filter(|&txn| txn != TxnId::INITIAL));
                seen.sort_unstable();
            }
        }
        assumed
    }

    /// Every way to explain the reads that anomalies assume something about has an anomaly.
    fn certify_every_way(&self, sights: &Sights, anomalies: &[Anomaly]) -> Result<(), Refusal> {
        let too_many = || Refusal::new("the anomalies assume too much to re-check every way");
        let mut ways: BTreeMap<OpId, Vec<Vec<TxnId>>> = BTreeMap::new();
        for read in anomalies
            .iter()
            .flat_map(|anomaly| self.assumed(anomaly).into_keys())
        {
            let counter = &self.counters.get(&self.history.op(read).key);
            let found = counter.and_then(|counter| {
                let (reader, _, target) = *counter.reads.iter().find(|other| other.1 == read)?;
                let is_certain = self.history.status(reader) == Status::Committed;
                counter.all_sets(reader, target).filter(|_| is_certain)
            });
            ways.insert(read, found.ok_or_else(too_many)?);
        }
        let product = ways
            .values()
            .try_fold(1usize, |product, sets| product.checked_mul(sets.len()))
            .filter(|&product| product <= COMBINATIONS_MAX);
        for number in 0..product.ok_or_else(too_many)? {
            let mut rest = number;
            let mut sights = sights.clone();
            let mut way: BTreeMap<OpId, Vec<TxnId>> = BTreeMap::new();
            for (&read, sets) in &ways {
                let set = sets[rest % sets.len()].clone();
                rest /= sets.len();
                sights.insert(read, Some(set.clone()));
                way.insert(read, set);
            }
            let agrees = |anomaly: &&Anomaly| {
                let mut assumed = self.assumed(anomaly).into_iter();
                assumed.all(|(read, set)| way.get(&read) == Some(&set))
            };
            let agreeing: Vec<Anomaly> = anomalies
                .iter()
                .filter(agrees)
                .map(|anomaly| Anomaly {
                    assuming: self.without_counters(anomaly),
                    ..anomaly.clone()
                })
                .collect();
            require!(
                !agreeing.is_empty(),
                "no anomaly is left if counters are explained in another way"
            );
            if agreeing
                .iter()
                .any(|a| bounds::is_direct(self.history, &self.counters, a))
            {
                continue;
            }
            self.anomalies_on_registers(&sights, &agreeing)?;
        }
        Ok(())
    }

    fn without_counters(&self, anomaly: &Anomaly) -> Vec<(OpId, TxnId)> {
        let assumed = self.assumed(anomaly);
        let others = anomaly.assuming.iter().copied();
        others
            .filter(|(read, _)| !assumed.contains_key(read))
            .collect()
    }
}
