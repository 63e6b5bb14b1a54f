//! Sets and counters as registers.
//!
//! **Sets.** Whether a set x contains e is a register x∋e of its own. It is initially absent; an
//! add of e writes *present*; a read of the set reads x∋e for every e that somebody added or that
//! it returned: first those it contains, which are present, then those it lacks, which are absent
//! (the initial version), each in ascending order. So a read that shows only a part of what a transaction added is no
//! atomic one, even by itself.
//!
//! **Counters.** A counter starts at 0. The increments of one transaction to one key count together
//! or not at all: x∋t says whether those of t do. A read returned the sum of what its own
//! transaction had added so far and of the increments of a set of other transactions. Which set
//! that was is a choice, and each choice reads as a set does; a read that no choice explains reads
//! something that nobody wrote.
//!
//! What is known of registers then defines every level. Cost: as many histories as there are
//! choices, which is exponential in the transactions for each read of a counter.

use super::scope::OutOfScope;
use crate::{Builder, History, KeyId, Op, OpId, OpKind, Status, TxnId, Value, ValueCode};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

const CHOICES_MAX: usize = 1 << 12;

/// Whose increments a read of a counter saw, but for its own transaction's.
type Seen = BTreeSet<TxnId>;

pub(super) fn is_needed(history: &History) -> bool {
    history.ops().kinds.iter().any(|&kind| is_of_elements(kind))
}

fn is_of_elements(kind: OpKind) -> bool {
    use OpKind::*;
    matches!(kind, Add | ReadSet | Increment | ReadCounter)
}

/// Shows the history with its sets and counters as registers to `visit`, once for each choice of
/// the increments that reads of counters saw, until it breaks off.
pub(super) fn for_each_choice(
    history: &History,
    visit: &mut dyn FnMut(&History) -> Result<ControlFlow<()>, OutOfScope>,
) -> Result<(), OutOfScope> {
    if !keys_have_one_datatype(history) {
        return Err(OutOfScope::SetsOrCounters);
    }
    let mut reads: Vec<(OpId, Vec<Option<Seen>>)> = Vec::new();
    let may_commit = |txn: &TxnId| history.status(*txn) != Status::Aborted;
    for txn in history.txn_ids().filter(may_commit) {
        for (id, op) in history.txn_ops(txn) {
            if op.kind == OpKind::ReadCounter && op.value != ValueCode::UNKNOWN {
                reads.push((id, explanations(history, txn, id)?));
            }
        }
    }
    let choices = reads
        .iter()
        .try_fold(1usize, |product, (_, ways)| product.checked_mul(ways.len()))
        .filter(|&product| product <= CHOICES_MAX)
        .ok_or(OutOfScope::TooManyInterpretations)?;
    for choice in 0..choices {
        let mut rest = choice;
        let mut chosen: BTreeMap<OpId, &Option<Seen>> = BTreeMap::new();
        for (id, ways) in &reads {
            chosen.insert(*id, &ways[rest % ways.len()]);
            rest /= ways.len();
        }
        if visit(&as_registers(history, &chosen))?.is_break() {
            break;
        }
    }
    Ok(())
}

fn keys_have_one_datatype(history: &History) -> bool {
    let datatype = |kind| match kind {
        OpKind::Read | OpKind::Write => 0,
        OpKind::Append | OpKind::ReadList => 1,
        OpKind::Add | OpKind::ReadSet => 2,
        OpKind::Increment | OpKind::ReadCounter => 3,
    };
    let mut of_key = BTreeMap::new();
    let mut ops = (0..history.op_count()).map(|index| history.op(OpId(index as u32)));
    ops.all(|op| *of_key.entry(op.key).or_insert(datatype(op.kind)) == datatype(op.kind))
}

/// The number that an operation on a counter is about; a counter that was never set is 0.
fn number(history: &History, op: Op) -> Result<i128, OutOfScope> {
    match history.value(op.value) {
        _ if op.value == ValueCode::UNKNOWN => Err(OutOfScope::SetsOrCounters),
        Value::Nil => Ok(0),
        Value::Int(number) if number.unsigned_abs() < 1 << 64 => Ok(number),
        _ => Err(OutOfScope::SetsOrCounters),
    }
}

/// What a transaction adds to a counter before an operation.
fn added(history: &History, txn: TxnId, key: KeyId, before: OpId) -> Result<i128, OutOfScope> {
    let mut sum = 0;
    for (id, op) in history.txn_ops(txn) {
        if op.kind == OpKind::Increment && op.key == key && id < before {
            sum += number(history, op)?;
        }
    }
    Ok(sum)
}

/// The ways to explain a read of a counter; if there are none, none is the only one.
fn explanations(
    history: &History,
    reader: TxnId,
    read: OpId,
) -> Result<Vec<Option<Seen>>, OutOfScope> {
    let op = history.op(read);
    let own = added(history, reader, op.key, read)?;
    let mut sums: Vec<(i128, Seen)> = vec![(own, Seen::new())];
    for txn in history.txn_ids() {
        let total = added(history, txn, op.key, OpId(u32::MAX))?;
        // Whether a sum of 0 was seen makes no difference to anybody.
        if txn == reader || history.status(txn) == Status::Aborted || total == 0 {
            continue;
        }
        let with: Vec<(i128, Seen)> = sums
            .iter()
            .map(|(sum, seen)| (sum + total, seen.iter().copied().chain([txn]).collect()))
            .collect();
        sums.extend(with);
        if sums.len() > CHOICES_MAX {
            return Err(OutOfScope::TooManyInterpretations);
        }
    }
    let value = number(history, op)?;
    let ways = sums.into_iter().filter(|(sum, _)| *sum == value);
    let ways: Vec<Option<Seen>> = ways.map(|(_, seen)| Some(seen)).collect();
    Ok(if ways.is_empty() { vec![None] } else { ways })
}

/// The history with a register for each element of a set and for each transaction that increments
/// a counter. Transactions keep their numbers.
fn as_registers(history: &History, chosen: &BTreeMap<OpId, &Option<Seen>>) -> History {
    let mut builder = Builder::new();
    for txn in history.txn_ids() {
        let row = history.txn(txn);
        let mut ops = Vec::new();
        for (id, op) in history.txn_ops(txn) {
            match op.kind {
                OpKind::Add => {
                    let element = history.value(op.value);
                    ops.push(access(&mut builder, history, op, &element, true));
                }
                OpKind::ReadSet if op.value != ValueCode::UNKNOWN => {
                    let shown = elements(history, history.list(op.value));
                    let lacking = added_elements(history, op.key);
                    let mut read =
                        |e: &Value, there| ops.push(access(&mut builder, history, op, e, there));
                    shown.iter().for_each(|e| read(e, true));
                    lacking.difference(&shown).for_each(|e| read(e, false));
                }
                OpKind::Increment => {
                    let element = Value::from(i64::from(txn.0));
                    ops.push(access(&mut builder, history, op, &element, true));
                }
                OpKind::ReadCounter if op.value != ValueCode::UNKNOWN => {
                    let mut read = |t: TxnId, there| {
                        let element = Value::from(i64::from(t.0));
                        ops.push(access(&mut builder, history, op, &element, there));
                    };
                    match chosen.get(&id).copied().and_then(Option::as_ref) {
                        None => read(TxnId::INITIAL, true),
                        Some(seen) => {
                            seen.iter().for_each(|&t| read(t, true));
                            let others = history.txn_ids().filter(|t| *t != txn);
                            others
                                .filter(|t| !seen.contains(t) && counts(history, *t, op.key))
                                .for_each(|t| read(t, false));
                        }
                    }
                }
                OpKind::ReadSet | OpKind::ReadCounter => {}
                _ => ops.push(copied(&mut builder, history, op)),
            }
        }
        let session = builder.session(history.session_label(row.session));
        builder
            .push_txn(session, row.label, row.status, history.interval(txn), &ops)
            .expect("as small as the scope demands");
    }
    builder.finish()
}

/// Whether a transaction adds anything but 0 to a counter.
fn counts(history: &History, txn: TxnId, key: KeyId) -> bool {
    added(history, txn, key, OpId(u32::MAX)).is_ok_and(|total| total != 0)
}

fn elements(history: &History, codes: &[ValueCode]) -> BTreeSet<Value> {
    codes.iter().map(|&code| history.value(code)).collect()
}

/// Whatever anybody added to a set.
fn added_elements(history: &History, key: KeyId) -> BTreeSet<Value> {
    let ops = history.txn_ids().flat_map(|txn| history.txn_ops(txn));
    let adds = ops.filter(|(_, op)| op.kind == OpKind::Add && op.key == key);
    adds.map(|(_, op)| history.value(op.value)).collect()
}

/// A read or a write of the register that says whether an element is there.
fn access(builder: &mut Builder, history: &History, op: Op, element: &Value, there: bool) -> Op {
    let name = format!("{:?}∋{element:?}", history.key_name(op.key));
    let value = if there {
        builder.value(&Value::from("present"))
    } else {
        ValueCode::NIL
    };
    Op {
        kind: if op.kind.is_write() {
            OpKind::Write
        } else {
            OpKind::Read
        },
        key: builder.key(&Value::from(name.as_str())),
        value,
    }
}

/// An operation on a register or a list.
fn copied(builder: &mut Builder, history: &History, op: Op) -> Op {
    let key = builder.key(&history.key_name(op.key));
    let known = op.value != ValueCode::NIL && op.value != ValueCode::UNKNOWN;
    let value = match op.kind {
        _ if !known => op.value,
        OpKind::ReadList => {
            let list = history.list(op.value).iter();
            let list: Vec<ValueCode> = list
                .map(|&code| builder.value(&history.value(code)))
                .collect();
            builder.lists.push(&list)
        }
        _ => builder.value(&history.value(op.value)),
    };
    Op { key, value, ..op }
}
