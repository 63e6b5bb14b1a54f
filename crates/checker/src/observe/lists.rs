//! Lists as registers: an append writes the version named by its element, and a list read returns
//! the version named by the last element that is not the reader's own.
//!
//! A transaction that appended to a key must find exactly its own appends at the end of what it
//! reads (else *not-my-own-write*). The longest list read of a key is its version order; every
//! other list must be a prefix of it. Lists that contradict each other are turned into ww edges
//! both ways where they disagree on the order of two elements (a cycle, G0); a disagreement that
//! leaves no such pair makes the history undecidable here, and is said so.
//!
//! Cost: linear in the elements read.

use super::{KnownOrder, Link, Observed, ReadAnomaly};
use history::{AnomalyKind, KeyId, Op, OpId, OpKind, Status, TxnId, ValueCode};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Replaces the value of every list read by the version it saw.
pub(super) fn reduce(observed: &mut Observed<'_>) {
    let history = observed.history;
    let kinds = &history.ops().kinds;
    let unsupported = |kind: &OpKind| {
        matches!(
            kind,
            OpKind::Add | OpKind::ReadSet | OpKind::Increment | OpKind::ReadCounter
        )
    };
    if kinds.iter().any(unsupported) {
        observed.undecidable = Some(
            "sets and counters are read and converted, but no level is decided on them".into(),
        );
        return;
    }
    if !kinds.contains(&OpKind::ReadList) {
        return;
    }
    let mut values = history.ops().values.clone();
    let mut own: HashMap<KeyId, Vec<OpId>> = HashMap::new();
    for txn in history.txn_ids() {
        own.clear();
        for (id, op) in history.txn_ops(txn) {
            if op.kind == OpKind::Append {
                own.entry(op.key).or_default().push(id);
            } else if op.kind == OpKind::ReadList && op.value != ValueCode::UNKNOWN {
                let appended = own.get(&op.key).map_or(&[][..], Vec::as_slice);
                values[id.index()] = version_read(observed, txn, id, appended);
            }
        }
    }
    observed.values = Cow::Owned(values);
}

/// The version a list read saw, without the reader's own appends.
fn version_read(
    observed: &mut Observed<'_>,
    txn: TxnId,
    read: OpId,
    appended: &[OpId],
) -> ValueCode {
    let history = observed.history;
    let list = history.list(history.op(read).value);
    let foreign_count = list.len().saturating_sub(appended.len());
    let own_part = &list[foreign_count..];
    let matches = own_part.len() == appended.len()
        && own_part
            .iter()
            .zip(appended)
            .all(|(&element, &op)| history.op(op).value == element);
    if !matches {
        if history.status(txn) != Status::Aborted {
            let last = *appended.last().expect("an empty suffix always matches");
            let kind = AnomalyKind::NotMyOwnWrite;
            observed.read_anomalies.push(ReadAnomaly {
                kind,
                txn,
                ops: vec![last, read],
            });
        }
        return ValueCode::UNKNOWN;
    }
    list[..foreign_count]
        .last()
        .copied()
        .unwrap_or(ValueCode::NIL)
}

/// Takes back that lists ending in the initial value read the initial version: only the empty list
/// does. To be settled with the other reads.
pub(super) fn leave_only_empty_initial(observed: &mut Observed<'_>) {
    let Cow::Owned(values) = &observed.values else {
        return;
    };
    let kinds = &observed.history.ops().kinds;
    for (op, link) in observed.links.iter_mut().enumerate() {
        let is_list = kinds[op] == OpKind::ReadList && values[op] != ValueCode::NIL;
        if *link == Link::INITIAL && is_list {
            *link = Link::PENDING;
        }
    }
}

/// The list reads of taken transactions, by key.
fn list_reads(observed: &Observed<'_>) -> HashMap<KeyId, Vec<OpId>> {
    let history = observed.history;
    let mut reads: HashMap<KeyId, Vec<OpId>> = HashMap::new();
    for txn in history.txn_ids().filter(|txn| observed.taken[txn.index()]) {
        for (id, op) in history.txn_ops(txn) {
            if op.kind == OpKind::ReadList && op.value != ValueCode::UNKNOWN {
                reads.entry(op.key).or_default().push(id);
            }
        }
    }
    reads
}

/// An append that may be in a list.
#[derive(Clone, Copy)]
struct Append {
    txn: TxnId,
    op: OpId,
}

type Appends = HashMap<(KeyId, ValueCode), Option<Append>>;

/// Who appended each element. An element appended twice has no single writer.
fn appends(observed: &Observed<'_>) -> Appends {
    let history = observed.history;
    let mut appends = HashMap::new();
    for txn in history
        .txn_ids()
        .filter(|&txn| history.status(txn) != Status::Aborted)
    {
        for (id, op) in history
            .txn_ops(txn)
            .filter(|(_, op)| op.kind == OpKind::Append)
        {
            appends
                .entry((op.key, op.value))
                .and_modify(|append| *append = None)
                .or_insert(Some(Append { txn, op: id }));
        }
    }
    appends
}

/// Why lists do not show the order of their versions: an element that is appended twice to a list
/// that is read, or a list that is written like a register.
fn unprovable(observed: &Observed<'_>) -> Option<String> {
    let history = observed.history;
    let known = || {
        let txns = history.txn_ids();
        let txns = txns.filter(|&txn| history.status(txn) != Status::Aborted);
        txns.flat_map(|txn| history.txn_ops(txn).map(|(_, op)| op))
    };
    let is_read = |op: &Op| op.kind == OpKind::ReadList && op.value != ValueCode::UNKNOWN;
    let read: HashSet<KeyId> = known().filter(is_read).map(|op| op.key).collect();
    let mut elements = HashSet::new();
    for op in known().filter(|op| op.kind.is_write() && read.contains(&op.key)) {
        let name = history.key_name(op.key);
        if op.kind != OpKind::Append {
            return Some(format!("the list {name} is written like a register, too"));
        }
        if !elements.insert((op.key, op.value)) {
            let element = history.value(op.value);
            return Some(format!(
                "{element} is appended twice to the list {name}, so lists do not show the order"
            ));
        }
    }
    None
}

/// Reads the version order of each key off its longest list.
pub(super) fn version_order(observed: &mut Observed<'_>) {
    let history = observed.history;
    if observed.undecidable.is_some() || !history.ops().kinds.contains(&OpKind::ReadList) {
        return;
    }
    observed.unprovable = unprovable(observed);
    let reads = list_reads(observed);
    let appends = appends(observed);
    let mut longest: HashMap<KeyId, OpId> = HashMap::new();
    let mut keys: Vec<&KeyId> = reads.keys().collect();
    keys.sort_unstable();
    for &key in keys {
        let length = |read: &OpId| history.list(history.op(*read).value).len();
        let read = *reads[&key]
            .iter()
            .max_by_key(|read| length(read))
            .expect("a key has a read");
        longest.insert(key, read);
        add_order(observed, key, read, 0, &appends);
        for &other in &reads[&key] {
            add_disagreement(observed, key, read, other, &appends);
        }
    }
    add_unseen(observed, &longest, &appends);
    add_strangers(observed, &longest, &appends);
}

/// An element that nobody can have appended leaves a gap in the version order.
fn add_strangers(observed: &mut Observed<'_>, longest: &HashMap<KeyId, OpId>, appends: &Appends) {
    let history = observed.history;
    let has_stranger = |(key, read): (&KeyId, &OpId)| {
        let list = history.list(history.op(*read).value);
        list.iter()
            .any(|&element| !appends.contains_key(&(*key, element)))
    };
    if observed.unprovable.is_none() && longest.iter().any(has_stranger) {
        let reason = "a list shows an element that no committed transaction appended";
        observed.unprovable = Some(reason.to_string());
    }
}

/// A committed append that the longest list does not show comes after all that it shows.
fn add_unseen(observed: &mut Observed<'_>, longest: &HashMap<KeyId, OpId>, appends: &Appends) {
    let history = observed.history;
    let mut seen: HashSet<(KeyId, ValueCode)> = HashSet::new();
    for (&key, &read) in longest {
        seen.extend(
            history
                .list(history.op(read).value)
                .iter()
                .map(|&element| (key, element)),
        );
    }
    for txn in history.txn_ids() {
        if !observed.taken[txn.index()] {
            continue;
        }
        for (id, op) in history
            .txn_ops(txn)
            .filter(|(_, op)| op.kind == OpKind::Append)
        {
            let Some(&read) = longest.get(&op.key) else {
                continue;
            };
            let last = history.list(history.op(read).value).last();
            if let Some(&last) = last
                && !seen.contains(&(op.key, op.value))
                && let Some(Some(from)) = appends.get(&(op.key, last))
            {
                add_pair(observed, *from, Append { txn, op: id }, read);
            }
        }
    }
}

fn add_pair(observed: &mut Observed<'_>, from: Append, to: Append, read: OpId) {
    if from.txn == to.txn {
        return;
    }
    let (from_op, to_op) = (from.op, to.op);
    observed.known.push(KnownOrder {
        from: from.txn,
        to: to.txn,
        from_op,
        to_op,
        read,
    });
    // Whoever read a list saw every element in it committed.
    observed.take(from.txn);
    observed.take(to.txn);
}

/// Adds the order of neighbouring elements of a list, from position `from` on.
fn add_order(observed: &mut Observed<'_>, key: KeyId, read: OpId, from: usize, appends: &Appends) {
    let history = observed.history;
    let list = history.list(history.op(read).value);
    for pair in list.windows(2).skip(from) {
        let append = |element| appends.get(&(key, element)).copied().flatten();
        if let (Some(from), Some(to)) = (append(pair[0]), append(pair[1])) {
            add_pair(observed, from, to, read);
        }
    }
}

/// A list that is no prefix of the longest one: adds what it says about the order, and gives up
/// on the history if the two cannot both be read off one version order without an ordered pair.
fn add_disagreement(
    observed: &mut Observed<'_>,
    key: KeyId,
    longest: OpId,
    read: OpId,
    appends: &Appends,
) {
    let history = observed.history;
    let long = history.list(history.op(longest).value);
    let list = history.list(history.op(read).value);
    let common = list.iter().zip(long).take_while(|(a, b)| a == b).count();
    if common == list.len() {
        return;
    }
    let name = history.key_name(key);
    observed.unprovable = Some(format!("two reads of list {name} contradict each other"));
    add_order(observed, key, read, common.saturating_sub(1), appends);
    let inverted = list[common..].iter().any(|element| {
        long.iter()
            .position(|other| other == element)
            .is_some_and(|at| {
                list.iter()
                    .skip(common)
                    .any(|other| long[..at].contains(other))
            })
    });
    if !inverted {
        observed.undecidable = Some(format!(
            "two reads of list {name} are no prefixes of one another ({} and {})",
            history.op_text(longest),
            history.op_text(read)
        ));
    }
}

impl Observed<'_> {
    /// Takes one more transaction as committed, and all that it read from.
    pub fn take(&mut self, txn: TxnId) {
        let mut work = vec![txn];
        while let Some(txn) = work.pop() {
            if std::mem::replace(&mut self.taken[txn.index()], true) {
                continue;
            }
            for op in self.history.op_range(txn) {
                if Link::is_txn(self.links[op]) {
                    work.push(TxnId(self.links[op]));
                }
            }
        }
    }
}
