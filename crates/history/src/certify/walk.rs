//! Goes through the transactions in commit order, keeping each key's last version.
//!
//! A read of the last version is justified by that alone. Anything else a read can be is either
//! impossible, and refused here, or a read of an older version, and collected.

use super::order::Order;
use super::{Refusal, name, require};
use crate::{CommitOrder, History, Initial, KeyId, Level, Op, OpId, OpKind, TxnId, ValueCode};
use std::collections::HashMap;

/// Stands for no writer: not an external read, or one whose writer is still to be found.
pub(super) const NO_TXN: TxnId = TxnId(u32::MAX - 1);

/// A read that did not return the last version in commit order.
#[derive(Clone, Copy)]
pub(super) struct StaleRead {
    pub(super) reader: TxnId,
    pub(super) op: OpId,
    pub(super) key: KeyId,
    pub(super) version: ValueCode,
    /// [`NO_TXN`] until it is found.
    pub(super) writer: TxnId,
}

/// What the reads of an order read from.
pub(super) struct Walk {
    /// By operation: the writer of an external read of a transaction taken as committed.
    pub(super) writers: Vec<TxnId>,
    /// In commit order of the readers, in program order within one.
    pub(super) stale: Vec<StaleRead>,
}

/// What is known of a key at one point of the order.
#[derive(Clone, Copy)]
struct KeyState {
    last_writer: TxnId,
    last_version: ValueCode,
    /// The place of the transaction that the own write belongs to.
    own_place: u32,
    own_value: ValueCode,
    /// The place of the transaction that the version read belongs to.
    read_place: u32,
    read_version: ValueCode,
}

/// Goes through an order: a transaction reads at one point and commits at the same or a later one.
pub(super) struct Walker<'a> {
    history: &'a History,
    order: &'a Order<'a>,
    repeatable: bool,
    initial: Option<ValueCode>,
    /// Keys that somebody wrote the initial value to, so that reading it is no initial read.
    initial_is_written: Vec<bool>,
    chosen: HashMap<OpId, TxnId>,
    chosen_used: usize,
    chosen_count: usize,
    keys: Vec<KeyState>,
    walk: Walk,
}

pub(super) fn walk(
    history: &History,
    initial: &Initial,
    order: &Order<'_>,
    evidence: &CommitOrder,
    level: Level,
) -> Result<Walk, Refusal> {
    let mut walker = Walker::new(history, initial, order, evidence, level);
    for &txn in order.txns {
        walker.read(txn)?;
        walker.commit(txn);
    }
    walker.finish()
}

fn keys_with_write_of(history: &History, value: Option<ValueCode>) -> Vec<bool> {
    let mut written = vec![false; history.keys().limit()];
    let ops = history.ops();
    if let Some(value) = value {
        for index in 0..ops.len() {
            if ops.values[index] == value && ops.kinds[index].is_write() {
                written[ops.keys[index].index()] = true;
            }
        }
    }
    written
}

impl Walker<'_> {
    pub(super) fn new<'a>(
        history: &'a History,
        initial: &Initial,
        order: &'a Order<'a>,
        evidence: &CommitOrder,
        level: Level,
    ) -> Walker<'a> {
        let initial = initial.code(history.values());
        let nothing = KeyState {
            last_writer: TxnId::INITIAL,
            last_version: ValueCode::NIL,
            own_place: 0,
            own_value: ValueCode::NIL,
            read_place: 0,
            read_version: ValueCode::NIL,
        };
        Walker {
            history,
            order,
            repeatable: level.implies(Level::ReadAtomic)
                || level.implies(Level::NonMonotonicSnapshotIsolation),
            initial,
            initial_is_written: keys_with_write_of(history, initial),
            chosen: evidence.reads.iter().copied().collect(),
            chosen_used: 0,
            chosen_count: evidence.reads.len(),
            keys: vec![nothing; history.keys().limit()],
            walk: Walk {
                writers: vec![NO_TXN; history.op_count()],
                stale: Vec::new(),
            },
        }
    }

    /// What was read, once every transaction of the order has.
    pub(super) fn finish(self) -> Result<Walk, Refusal> {
        require!(
            self.chosen_used == self.chosen_count,
            "the choice of writers names a read twice, or something that is no external read"
        );
        Ok(self.walk)
    }

    /// The last transaction so far that wrote the key.
    #[inline]
    pub(super) fn last_writer(&self, key: KeyId) -> TxnId {
        self.keys[key.index()].last_writer
    }

    /// The reads so far that did not return the last version.
    pub(super) fn stale(&self) -> &[StaleRead] {
        &self.walk.stale
    }

    /// The transaction reads what was committed so far.
    pub(super) fn read(&mut self, txn: TxnId) -> Result<(), Refusal> {
        let (history, place) = (self.history, self.order.place(txn));
        // Own appends in order, key by key; only lists need more than the last own write.
        let mut appends: HashMap<KeyId, Vec<ValueCode>> = HashMap::new();
        for (id, op) in history.txn_ops(txn) {
            match op.kind {
                _ if op.kind.is_write() => {
                    let state = &mut self.keys[op.key.index()];
                    (state.own_place, state.own_value) = (place, op.value);
                    if op.kind == OpKind::Append {
                        appends.entry(op.key).or_default().push(op.value);
                    }
                }
                _ if op.value == ValueCode::UNKNOWN => {}
                OpKind::ReadList => {
                    let own = appends.get(&op.key).map_or(&[][..], Vec::as_slice);
                    let outside = history.list(op.value).strip_suffix(own);
                    require!(
                        outside.is_some(),
                        "{} of {} does not end with its own appends",
                        history.op_text(id),
                        name(history, txn)
                    );
                    let last = outside.and_then(<[ValueCode]>::last).copied();
                    self.external_read(txn, place, id, op, last.unwrap_or(ValueCode::NIL))?;
                }
                _ if self.keys[op.key.index()].own_place == place => require!(
                    self.keys[op.key.index()].own_value == op.value,
                    "{} of {} did not return the own last write",
                    history.op_text(id),
                    name(history, txn)
                ),
                _ => self.external_read(txn, place, id, op, op.value)?,
            }
        }
        Ok(())
    }

    /// The versions of the transaction become the last ones.
    pub(super) fn commit(&mut self, txn: TxnId) {
        let ops = self.history.ops();
        for index in self.history.op_range(txn) {
            if ops.kinds[index].is_write() {
                let state = &mut self.keys[ops.keys[index].index()];
                (state.last_writer, state.last_version) = (txn, ops.values[index]);
            }
        }
    }

    fn external_read(
        &mut self,
        txn: TxnId,
        place: u32,
        id: OpId,
        op: Op,
        version: ValueCode,
    ) -> Result<(), Refusal> {
        let state = &mut self.keys[op.key.index()];
        require!(
            !self.repeatable || state.read_place != place || state.read_version == version,
            "{} read two versions of {}",
            name(self.history, txn),
            self.history.key_name(op.key)
        );
        (state.read_place, state.read_version) = (place, version);
        let last = *state;
        let is_initial = version == ValueCode::NIL
            || op.kind == OpKind::Read
                && Some(version) == self.initial
                && !self.initial_is_written[op.key.index()];
        let writer = if is_initial {
            TxnId::INITIAL
        } else if last.last_version == version {
            last.last_writer
        } else {
            NO_TXN
        };
        let writer = self.chosen_writer(txn, id, op.key, version, writer)?;
        self.walk.writers[id.index()] = writer;
        if writer == NO_TXN || writer != last.last_writer {
            self.walk.stale.push(StaleRead {
                reader: txn,
                op: id,
                key: op.key,
                version,
                writer,
            });
        }
        Ok(())
    }

    /// The writer that the evidence chose for the read, if it chose one.
    fn chosen_writer(
        &mut self,
        reader: TxnId,
        id: OpId,
        key: KeyId,
        version: ValueCode,
        found: TxnId,
    ) -> Result<TxnId, Refusal> {
        if self.chosen.is_empty() {
            return Ok(found);
        }
        let Some(&chosen) = self.chosen.get(&id) else {
            return Ok(found);
        };
        self.chosen_used += 1;
        let possible = chosen == found
            || found != TxnId::INITIAL
                && chosen != reader
                && self.order.takes(chosen)
                && last_write(self.history, chosen, key) == Some(version);
        require!(
            possible,
            "{} of {} cannot have read from {}",
            self.history.op_text(id),
            name(self.history, reader),
            name(self.history, chosen)
        );
        Ok(chosen)
    }
}

/// The last value that a transaction wrote to a key.
fn last_write(history: &History, txn: TxnId, key: KeyId) -> Option<ValueCode> {
    let ops = history.ops();
    history
        .op_range(txn)
        .rev()
        .find(|&index| ops.keys[index] == key && ops.kinds[index].is_write())
        .map(|index| ops.values[index])
}
