//! Enumerates the interpretations of a history: which indeterminate transactions committed, and
//! which of the possible writers each external read read from.

use super::execution::{Execution, INITIAL, ReadFrom};
use super::key_order;
use super::lists::Lists;
use super::observation::{Observation, VersionRead, observations, possible_writers};
use super::relation::Relation;
use super::scope::OutOfScope;
use crate::{History, Initial, Interval, KeyId, KeyOrder, Status, TxnId, ValueCode};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// How many transactions that did not abort a history may have.
pub(super) const TXNS_MAX: usize = 8;
const CHOICES_MAX: usize = 1 << 16;

/// Shows every interpretation to `visit` until it breaks off.
pub(super) fn for_each(
    history: &History,
    initial: &Initial,
    keys: KeyOrder,
    visit: &mut dyn FnMut(&Execution) -> ControlFlow<()>,
) -> Result<(), OutOfScope> {
    let with_status = |status| {
        history
            .txn_ids()
            .filter(move |&t| history.status(t) == status)
    };
    let assumed = key_order::pairs(history, initial, keys);
    let indeterminate: Vec<TxnId> = with_status(Status::Indeterminate).collect();
    for subset in 0..1u32 << indeterminate.len() {
        let mut taken: Vec<TxnId> = with_status(Status::Committed).collect();
        taken.extend(
            (0..indeterminate.len())
                .filter(|i| subset & (1 << i) != 0)
                .map(|i| indeterminate[i]),
        );
        taken.sort_unstable();
        let without_reads = without_reads(history, &taken, &assumed);
        if for_each_choice(history, initial, &taken, without_reads, visit)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Shows the interpretations that take exactly these transactions.
fn for_each_choice(
    history: &History,
    initial: &Initial,
    taken: &[TxnId],
    mut execution: Execution,
    visit: &mut dyn FnMut(&Execution) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, OutOfScope> {
    let mut open: Vec<(TxnId, VersionRead, Vec<TxnId>)> = Vec::new();
    for &txn in taken {
        let mut versions: BTreeMap<KeyId, ValueCode> = BTreeMap::new();
        for observation in observations(history, txn) {
            let Observation::External(read) = observation else {
                execution.has_impossible_read = true;
                continue;
            };
            let first = *versions.entry(read.key).or_insert(read.version);
            execution.has_non_repeatable_read |= first != read.version;
            match possible_writers(history, initial, taken, txn, read) {
                Ok(writers) => open.push((txn, read, writers)),
                Err(_) => execution.has_impossible_read = true,
            }
        }
    }
    let choices = open
        .iter()
        .try_fold(1usize, |product, (_, _, writers)| {
            product.checked_mul(writers.len())
        })
        .filter(|&product| product <= CHOICES_MAX)
        .ok_or(OutOfScope::TooManyInterpretations)?;
    for choice in 0..choices {
        let mut rest = choice;
        execution.wr = Relation::EMPTY;
        execution.reads.clear();
        for (txn, read, writers) in &open {
            let writer = number(taken, writers[rest % writers.len()]);
            rest /= writers.len();
            let reader = number(taken, *txn);
            execution.wr.insert(writer, reader);
            let (op, key) = (read.op, read.key);
            execution.reads.push(ReadFrom {
                reader,
                op,
                key,
                writer,
            });
        }
        if visit(&execution).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// The number of a transaction in the relations.
fn number(taken: &[TxnId], txn: TxnId) -> usize {
    taken
        .iter()
        .position(|&t| t == txn)
        .map_or(INITIAL, |place| place + 1)
}

/// What is assumed of the versions of a key.
fn assumed_order(taken: &[TxnId], assumed: &[(KeyId, TxnId, TxnId)], key: KeyId) -> Relation {
    let mut order = Relation::EMPTY;
    let is_taken = |txn: TxnId| txn == TxnId::INITIAL || taken.contains(&txn);
    for &(of, a, b) in assumed {
        if of == key && is_taken(a) && is_taken(b) {
            order.insert(number(taken, a), number(taken, b));
        }
    }
    order
}

/// The keys that occur.
fn keys(history: &History) -> BTreeSet<KeyId> {
    history.ops().keys.iter().copied().collect()
}

/// Everything but what single reads say.
fn without_reads(
    history: &History,
    taken: &[TxnId],
    assumed: &[(KeyId, TxnId, TxnId)],
) -> Execution {
    let mut so = Relation::EMPTY;
    let mut rt = Relation::EMPTY;
    let mut writers: BTreeMap<KeyId, Vec<usize>> = BTreeMap::new();
    for (i, &a) in taken.iter().enumerate() {
        so.insert(INITIAL, i + 1);
        for (j, &b) in taken.iter().enumerate() {
            if a < b && history.session_of(a) == history.session_of(b) {
                so.insert(i + 1, j + 1);
            }
            if ended_before(history, a, b) {
                rt.insert(i + 1, j + 1);
            }
        }
        for (_, op) in history.txn_ops(a).filter(|(_, op)| op.kind.is_write()) {
            let of_key = writers.entry(op.key).or_default();
            if of_key.last() != Some(&(i + 1)) {
                of_key.push(i + 1);
            }
        }
    }
    let mut known_ww = BTreeMap::new();
    let mut dirty_ww = Relation::EMPTY;
    let (mut has_impossible_read, mut has_repeated_element) = (false, false);
    for key in keys(history) {
        let lists = Lists::of(history, taken, key);
        has_impossible_read |= lists.are_impossible();
        has_repeated_element |= lists.repeat_an_element();
        let of_key = assumed_order(taken, assumed, key);
        known_ww.insert(key, lists.version_order().union(of_key));
        dirty_ww = dirty_ww.union(lists.order_of_dirty_reads()).union(of_key);
    }
    Execution {
        count: taken.len() + 1,
        so,
        rt,
        wr: Relation::EMPTY,
        reads: Vec::new(),
        writers,
        known_ww,
        dirty_ww,
        has_impossible_read,
        has_repeated_element,
        has_non_repeatable_read: false,
    }
}

/// A transaction whose client heard nothing of it may have committed at any later time.
fn ended_before(history: &History, a: TxnId, b: TxnId) -> bool {
    match (history.interval(a), history.interval(b)) {
        (Some(a_time), Some(b_time)) => {
            history.status(a) == Status::Committed
                && a_time.end != Interval::NEVER
                && a_time.completion() < b_time.start
        }
        _ => false,
    }
}
