//! Enumerates the interpretations of a history: which indeterminate transactions committed, and
//! which of the possible writers each external read read from.

use super::execution::{Execution, INITIAL, ReadFrom};
use super::observation::{Observation, VersionRead, observations, possible_writers, writes};
use super::relation::Relation;
use super::scope::OutOfScope;
use crate::{History, Initial, Interval, KeyId, OpKind, Status, TxnId, ValueCode};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// How many transactions that did not abort a history may have.
pub(super) const TXNS_MAX: usize = 8;
const CHOICES_MAX: usize = 1 << 16;

/// Shows every interpretation to `visit` until it breaks off.
pub(super) fn for_each(
    history: &History,
    initial: &Initial,
    visit: &mut dyn FnMut(&Execution) -> ControlFlow<()>,
) -> Result<(), OutOfScope> {
    let with_status = |status| {
        history
            .txn_ids()
            .filter(move |&t| history.status(t) == status)
    };
    let indeterminate: Vec<TxnId> = with_status(Status::Indeterminate).collect();
    for subset in 0..1u32 << indeterminate.len() {
        let mut taken: Vec<TxnId> = with_status(Status::Committed).collect();
        taken.extend(
            (0..indeterminate.len())
                .filter(|i| subset & (1 << i) != 0)
                .map(|i| indeterminate[i]),
        );
        taken.sort_unstable();
        if for_each_choice(history, initial, &taken, visit)?.is_break() {
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
    visit: &mut dyn FnMut(&Execution) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, OutOfScope> {
    let mut execution = without_reads(history, taken);
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

/// Everything but what reads say.
fn without_reads(history: &History, taken: &[TxnId]) -> Execution {
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
    let known_ww = writers
        .iter()
        .map(|(&key, of_key)| (key, known_version_order(history, taken, key, of_key)))
        .collect();
    Execution {
        count: taken.len() + 1,
        so,
        rt,
        wr: Relation::EMPTY,
        reads: Vec::new(),
        writers,
        known_ww,
        has_impossible_read: false,
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

/// The longest list read shows the order of the versions in it. A version that is in no list that
/// was read comes after all that are.
fn known_version_order(
    history: &History,
    taken: &[TxnId],
    key: KeyId,
    writers: &[usize],
) -> Relation {
    let mut order = Relation::EMPTY;
    let longest: &[ValueCode] = taken
        .iter()
        .flat_map(|&txn| history.txn_ops(txn))
        .filter(|(_, op)| op.kind == OpKind::ReadList && op.key == key)
        .map(|(_, op)| history.list(op.value))
        .max_by_key(|list| list.len())
        .unwrap_or_default();
    let appended = |txn: usize| writes(history, taken[txn - 1], key);
    let author = |element| {
        writers
            .iter()
            .copied()
            .find(|&txn| appended(txn).contains(element))
    };
    let authors: Vec<usize> = longest.iter().filter_map(author).collect();
    let is_unseen = |txn: &usize| {
        let elements = appended(*txn);
        elements.iter().any(|element| !longest.contains(element))
    };
    let mut pairs: Vec<(usize, usize)> = authors.windows(2).map(|p| (p[0], p[1])).collect();
    if let Some(&last) = authors.last() {
        let unseen = writers.iter().copied().filter(is_unseen);
        pairs.extend(unseen.map(|txn| (last, txn)));
    }
    for (a, b) in pairs {
        if a != b {
            order.insert(a, b);
        }
    }
    order
}
