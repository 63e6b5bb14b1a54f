//! Anomalies of single reads, and of pairs: what the operations listed have to be.

use super::facts::Facts;
use super::read::{Seen, seen, txn_of};
use super::{Refusal, lists, name, require};
use crate::AnomalyKind::{self, *};
use crate::{Anomaly, History, Level, OpId, Status, TxnId, ValueCode};

/// Whether an anomaly of this kind breaks the level whatever else the history contains. Cycles
/// are judged by their edges.
pub(super) fn breaks(kind: AnomalyKind, level: Level) -> bool {
    let graph = level.implies(Level::NonMonotonicSnapshotIsolation);
    match kind {
        ThinAirRead | AbortedRead | FutureRead | NotMyOwnWrite | NotMyLastWrite
        | IntermediateRead | DirtyUpdate | IncompatibleOrder => level != Level::ReadUncommitted,
        DuplicateElement => true,
        NonRepeatableRead => level.implies(Level::ReadAtomic) || graph,
        LostUpdate => {
            level == Level::CursorStability || level.implies(Level::UpdateAtomic) || graph
        }
        _ => false,
    }
}

/// Whether operations, and not a cycle, are the evidence for this kind.
pub(super) fn is_single(kind: AnomalyKind) -> bool {
    breaks(kind, Level::StrictSerializable)
}

/// Re-checks the operations of an anomaly. `writer` tells whom a read reads from, `takes` which
/// transactions are taken as committed.
pub(super) fn check(
    facts: &Facts<'_>,
    anomaly: &Anomaly,
    takes: &dyn Fn(TxnId) -> bool,
    writer: &dyn Fn(TxnId, OpId) -> Result<TxnId, Refusal>,
) -> Result<(), Refusal> {
    let history = facts.history;
    let kind = anomaly.kind;
    match (kind, anomaly.ops.as_slice()) {
        (DirtyUpdate, &[append, read]) => lists::dirty_update(facts, takes, append, read),
        (DuplicateElement, &[read]) => lists::duplicate_element(facts, takes, read),
        (IncompatibleOrder, &[before, append, read]) => {
            lists::skipped_append(facts, takes, before, append, read)
        }
        (IncompatibleOrder, &[first, second]) => {
            lists::incompatible_order(facts, takes, first, second)
        }
        (ThinAirRead, &[read]) if lists::shows_a_stranger(facts, read) => {
            taken_txn_of(facts, takes, read).map(|_| ())
        }
        (ThinAirRead, &[read]) => {
            let (_, version) = external_read(facts, takes, read)?;
            let key = history.op(read).key;
            require!(
                facts.writes(key, version).is_empty() && !facts.is_initial(read, version),
                "{} returned something that was written",
                history.op_text(read)
            );
            Ok(())
        }
        (AbortedRead, &[write, read]) => aborted_read(facts, takes, write, read),
        (FutureRead, &[read, write]) => future_read(facts, takes, read, write),
        (NotMyOwnWrite, &[write, read]) => {
            let reader = taken_txn_of(facts, takes, read)?;
            facts.require_write(reader, write, history.op(read).key)?;
            require!(
                write < read && seen(history, reader, read) == Some(Seen::NotOwn),
                "{} does not contradict the own write",
                history.op_text(read)
            );
            Ok(())
        }
        (NotMyLastWrite, &[first, last, read]) => {
            not_my_last_write(facts, takes, first, last, read)
        }
        (IntermediateRead, &[write, later, read]) => {
            intermediate_read(facts, takes, write, later, read)
        }
        (NonRepeatableRead, &[first, second]) => non_repeatable_read(facts, takes, first, second),
        (LostUpdate, &[read, write, other_read, other_write]) => {
            let (a, _) = external_read(facts, takes, read)?;
            let (b, _) = external_read(facts, takes, other_read)?;
            let key = history.op(read).key;
            facts.require_write(a, write, key)?;
            facts.require_write(b, other_write, key)?;
            let same =
                history.op(other_read).key == key && writer(a, read)? == writer(b, other_read)?;
            require!(
                a != b && same,
                "{} and {} did not update the same version",
                name(history, a),
                name(history, b)
            );
            Ok(())
        }
        _ => Err(Refusal::new(format!(
            "{kind} takes other operations as evidence"
        ))),
    }
}

/// The transaction of an operation, which has to be taken as committed.
pub(super) fn taken_txn_of(
    facts: &Facts<'_>,
    takes: &dyn Fn(TxnId) -> bool,
    op: OpId,
) -> Result<TxnId, Refusal> {
    let txn = existing_txn_of(facts.history, op)?;
    require!(
        takes(txn),
        "{} need not have committed",
        name(facts.history, txn)
    );
    Ok(txn)
}

fn existing_txn_of(history: &History, op: OpId) -> Result<TxnId, Refusal> {
    txn_of(history, op)
        .ok_or_else(|| Refusal::new(format!("operation number {} does not exist", op.0)))
}

fn external_read(
    facts: &Facts<'_>,
    takes: &dyn Fn(TxnId) -> bool,
    read: OpId,
) -> Result<(TxnId, ValueCode), Refusal> {
    let reader = taken_txn_of(facts, takes, read)?;
    Ok((reader, facts.external(reader, read)?))
}

fn future_read(
    facts: &Facts<'_>,
    takes: &dyn Fn(TxnId) -> bool,
    read: OpId,
    write: OpId,
) -> Result<(), Refusal> {
    let history = facts.history;
    let (reader, version) = external_read(facts, takes, read)?;
    let key = history.op(read).key;
    let value = facts.require_write(reader, write, key)?;
    let mut writes = facts.writes(key, version).iter();
    let others = writes.any(|&(txn, _)| txn != reader);
    require!(
        write > read && value == version && version != ValueCode::NIL && !others,
        "{} did not return what the same transaction alone wrote later",
        history.op_text(read)
    );
    Ok(())
}

fn non_repeatable_read(
    facts: &Facts<'_>,
    takes: &dyn Fn(TxnId) -> bool,
    first: OpId,
    second: OpId,
) -> Result<(), Refusal> {
    let history = facts.history;
    let (reader, version) = external_read(facts, takes, first)?;
    let other = facts.external(reader, second)?;
    let same_key = history.op(first).key == history.op(second).key;
    require!(
        same_key && version != other,
        "{} and {} are no two versions of a key",
        history.op_text(first),
        history.op_text(second)
    );
    Ok(())
}

fn aborted_read(
    facts: &Facts<'_>,
    takes: &dyn Fn(TxnId) -> bool,
    write: OpId,
    read: OpId,
) -> Result<(), Refusal> {
    let history = facts.history;
    let (reader, version) = external_read(facts, takes, read)?;
    let key = history.op(read).key;
    let writer = existing_txn_of(history, write)?;
    let value = facts.require_write(writer, write, key)?;
    require!(
        writer != reader && value == version && version != ValueCode::NIL,
        "{} did not return what {} wrote",
        history.op_text(read),
        name(history, writer)
    );
    let not_aborted = facts
        .writes(key, version)
        .iter()
        .find(|&&(txn, _)| txn != reader && history.status(txn) != Status::Aborted);
    require!(
        not_aborted.is_none(),
        "{} can have been read from a transaction that did not abort",
        history.op_text(read)
    );
    Ok(())
}

fn not_my_last_write(
    facts: &Facts<'_>,
    takes: &dyn Fn(TxnId) -> bool,
    first: OpId,
    last: OpId,
    read: OpId,
) -> Result<(), Refusal> {
    let history = facts.history;
    let reader = taken_txn_of(facts, takes, read)?;
    let op = history.op(read);
    let value = facts.require_write(reader, first, op.key)?;
    facts.require_write(reader, last, op.key)?;
    let between = (last.index() + 1..read.index()).any(|index| {
        let other = history.op(OpId(index as u32));
        other.kind.is_write() && other.key == op.key
    });
    let is_overwritten = seen(history, reader, read) == Some(Seen::OwnOverwritten);
    require!(
        first < last && last < read && value == op.value && !between && is_overwritten,
        "{} did not return an own write that the last one before it replaced",
        history.op_text(read)
    );
    Ok(())
}

fn intermediate_read(
    facts: &Facts<'_>,
    takes: &dyn Fn(TxnId) -> bool,
    write: OpId,
    later: OpId,
    read: OpId,
) -> Result<(), Refusal> {
    let history = facts.history;
    let (reader, version) = external_read(facts, takes, read)?;
    let key = history.op(read).key;
    let writer = existing_txn_of(history, write)?;
    let value = facts.require_write(writer, write, key)?;
    facts.require_write(writer, later, key)?;
    require!(
        writer != reader
            && history.status(writer) != Status::Aborted
            && value == version
            && version != ValueCode::NIL
            && write < later,
        "{} did not return what {} wrote and then overwrote",
        history.op_text(read),
        name(history, writer)
    );
    require!(
        facts.possible_writers(reader, read, version).is_empty(),
        "{} can have returned somebody's last write",
        history.op_text(read)
    );
    Ok(())
}
