//! What is assumed of each key by itself: single pairs of versions, and whole commit orders.
//!
//! A committed transaction touches the versions of a register that it read from outside, where one
//! committed transaction alone can have written them, and the one it wrote last. The assumption orders touches;
//! a key whose touches contradict each other says nothing.
//!
//! For real time a version needs two numbers: when the first transaction that touched it had ended,
//! and when the last one began. One version precedes another if its first end is before the other's
//! last start. So versions that are taken away one by one, none before its predecessors, prove that
//! there is no circle, and one walk along a commit order finds every pair that it contradicts.
//!
//! Cost: O(n log n) in the touches of a key.

use super::facts::Facts;
use super::order::Order;
use super::read::{Seen, last_write, seen, txn_of};
use super::{Refusal, name, require};
use crate::{
    Anomaly, AnomalyKind, CommitOrder, EdgeKind, History, Initial, Interval, KeyId, KeyOrder, OpId,
    OpKind, Reason, Status, TxnId, ValueCode,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Refuses unless the operation `before` touched the first version of a key, `after` the second,
/// and the assumption puts the two in this order.
pub(super) fn check_pair(
    facts: &Facts<'_>,
    key: KeyId,
    (first, before): (TxnId, OpId),
    (second, after): (TxnId, OpId),
) -> Result<(), Refusal> {
    let history = facts.history;
    let one = touch(facts, key, before, first)?;
    let two = touch(facts, key, after, second)?;
    let in_txn = one == two && before < after;
    let in_session = history.session_of(one) == history.session_of(two) && one < two;
    let is_before = match facts.keys {
        KeyOrder::Free => false,
        KeyOrder::WritesFollowReads => in_txn && history.op(after).kind.is_write(),
        KeyOrder::Recorded => {
            let number = history.recorded_version(before);
            number.is_some() && number < history.recorded_version(after)
        }
        KeyOrder::Sequential => in_txn || in_session,
        KeyOrder::Linearizable => in_txn || in_session || ended_before(history, one, two),
    };
    require!(
        is_before && first != second,
        "nothing is assumed that puts {} before {}",
        history.op_text(before),
        history.op_text(after)
    );
    Ok(())
}

fn ended_before(history: &History, one: TxnId, two: TxnId) -> bool {
    match (history.interval(one), history.interval(two)) {
        (Some(one), Some(two)) => one.end != Interval::NEVER && one.completion() < two.start,
        _ => false,
    }
}

/// The committed transaction of an operation that touched the version of `writer`.
fn touch(facts: &Facts<'_>, key: KeyId, op: OpId, writer: TxnId) -> Result<TxnId, Refusal> {
    let history = facts.history;
    let txn = txn_of(history, op).unwrap_or(TxnId::INITIAL);
    let is_committed = txn != TxnId::INITIAL && history.status(txn) == Status::Committed;
    require!(
        is_committed && history.op(op).key == key,
        "operation number {} is of no committed transaction that used the key",
        op.0
    );
    let touched = match history.op(op).kind {
        OpKind::Write => last_write(history, txn, history.op(op)) == Some(op) && txn == writer,
        OpKind::Read => match seen(history, txn, op) {
            Some(Seen::External(version)) => facts.possible_writers(txn, op, version) == [writer],
            _ => false,
        },
        _ => false,
    };
    let is_certain = writer == TxnId::INITIAL || history.status(writer) == Status::Committed;
    require!(
        touched && is_certain,
        "{} of {} did not touch the version of {}",
        history.op_text(op),
        name(history, txn),
        name(history, writer)
    );
    Ok(txn)
}

/// Re-checks that versions of one key go in a circle, or that one precedes the initial version.
pub(super) fn check_circle(facts: &Facts<'_>, anomaly: &Anomaly) -> Result<(), Refusal> {
    let edges = &anomaly.edges;
    let key = edges.first().and_then(|edge| edge.key);
    let Some(key) = key.filter(|_| anomaly.kind == AnomalyKind::CyclicVersions) else {
        return Err(Refusal::new("the anomaly is no circle of versions"));
    };
    for (edge, next) in edges.iter().zip(edges.iter().cycle().skip(1)) {
        let Some(Reason::Assumed { before, after }) = edge.because else {
            return Err(Refusal::new("an edge has no reason in what is assumed"));
        };
        require!(
            edge.kind == EdgeKind::Ww && edge.key == Some(key),
            "an edge orders no versions of the key"
        );
        check_pair(facts, key, (edge.from, before), (edge.to, after))?;
        let ends_all = edges.len() == 1 && edge.to == TxnId::INITIAL;
        require!(
            edge.to == next.from || ends_all,
            "an edge ends at {} and the next begins at {}",
            name(facts.history, edge.to),
            name(facts.history, next.from)
        );
    }
    Ok(())
}

/// Refuses a commit order that contradicts what is assumed of a key.
pub(super) fn check_order(
    history: &History,
    initial: &Initial,
    keys: KeyOrder,
    evidence: &CommitOrder,
) -> Result<(), Refusal> {
    if keys == KeyOrder::Free {
        return Ok(());
    }
    let order = Order::check(history, evidence)?;
    let initial = initial.code(history.values());
    let mut by_key: BTreeMap<KeyId, Vec<(TxnId, OpId)>> = BTreeMap::new();
    for txn in history.txn_ids() {
        for (id, op) in history.txn_ops(txn) {
            if matches!(op.kind, OpKind::Read | OpKind::Write) {
                by_key.entry(op.key).or_default().push((txn, id));
            }
        }
    }
    for (key, ops) in by_key {
        let versions = Versions::of(history, initial, keys, &ops);
        if !versions.contradict() {
            versions.check(history, &order, key)?;
        }
    }
    Ok(())
}

/// The versions of a key and what is assumed of their order.
#[derive(Default)]
struct Versions {
    writers: Vec<TxnId>,
    /// Pairs in order by sessions and transactions.
    pairs: BTreeSet<(usize, usize)>,
    /// When the first transaction that touched the version had ended.
    first_end: Vec<i64>,
    /// When the last transaction that touched the version began.
    last_start: Vec<i64>,
}

impl Versions {
    fn of(
        history: &History,
        initial: Option<ValueCode>,
        keys: KeyOrder,
        ops: &[(TxnId, OpId)],
    ) -> Versions {
        let touches = touches(history, initial, ops);
        let mut versions = Versions::default();
        let mut numbers: HashMap<TxnId, usize> = HashMap::new();
        let mut last: Option<(TxnId, usize)> = None;
        let mut read_in_txn: Vec<usize> = Vec::new();
        let mut numbered: BTreeSet<(u64, usize)> = BTreeSet::new();
        for (txn, op, writer) in touches {
            let number = *numbers.entry(writer).or_insert_with(|| {
                versions.writers.push(writer);
                versions.first_end.push(i64::MAX);
                versions.last_start.push(i64::MIN);
                versions.writers.len() - 1
            });
            if keys == KeyOrder::Recorded {
                let recorded = history.recorded_version(op);
                numbered.extend(recorded.map(|recorded| (recorded, number)));
                continue;
            }
            if last.is_none_or(|(before, _)| before != txn) {
                read_in_txn.clear();
            }
            if keys == KeyOrder::WritesFollowReads {
                if history.op(op).kind.is_write() {
                    let before = read_in_txn.iter().filter(|&&read| read != number);
                    versions.pairs.extend(before.map(|&read| (read, number)));
                }
                read_in_txn.push(number);
            } else if let Some((before, earlier)) = last
                && earlier != number
                && history.session_of(before) == history.session_of(txn)
            {
                versions.pairs.insert((earlier, number));
            }
            if keys == KeyOrder::Linearizable
                && let Some(interval) = history.interval(txn)
            {
                let end = &mut versions.first_end[number];
                *end = (*end).min(match interval.end {
                    Interval::NEVER => i64::MAX,
                    _ => interval.completion(),
                });
                let start = &mut versions.last_start[number];
                *start = (*start).max(interval.start);
            }
            last = Some((txn, number));
        }
        versions.order_by_numbers(&numbered);
        versions
    }

    /// Puts versions in the order of their numbers; a number of two versions says nothing.
    fn order_by_numbers(&mut self, numbered: &BTreeSet<(u64, usize)>) {
        let mut count: HashMap<u64, usize> = HashMap::new();
        for &(number, _) in numbered {
            *count.entry(number).or_default() += 1;
        }
        let clear: Vec<usize> = numbered
            .iter()
            .filter(|(number, _)| count[number] == 1)
            .map(|&(_, version)| version)
            .collect();
        let pairs = clear.windows(2).map(|pair| (pair[0], pair[1]));
        self.pairs.extend(pairs.filter(|(a, b)| a != b));
    }

    /// Whether some version comes before itself, or before the initial one: takes versions away
    /// that nothing left precedes, until none is left.
    fn contradict(&self) -> bool {
        let count = self.writers.len();
        let mut pending = vec![0; count];
        let mut successors: Vec<Vec<usize>> = vec![Vec::new(); count];
        for &(a, b) in &self.pairs {
            if self.writers[b] == TxnId::INITIAL {
                return true;
            }
            pending[b] += 1;
            successors[a].push(b);
        }
        let initial = self.writers.iter().position(|&w| w == TxnId::INITIAL);
        let precedes = |v: usize, other: usize| self.first_end[v] < self.last_start[other];
        if initial.is_some_and(|first| (0..count).any(|v| v != first && precedes(v, first))) {
            return true;
        }
        let mut ends: BTreeSet<(i64, usize)> = (0..count).map(|v| (self.first_end[v], v)).collect();
        let mut free: BTreeSet<(i64, usize)> = BTreeSet::new();
        free.extend(
            (0..count)
                .filter(|&v| pending[v] == 0)
                .map(|v| (self.last_start[v], v)),
        );
        while !ends.is_empty() {
            let may_go = |v: usize| {
                let other = ends.iter().find(|&&(_, other)| other != v);
                pending[v] == 0 && other.is_none_or(|&(end, _)| end >= self.last_start[v])
            };
            let earliest = free.first().map(|&(_, v)| v);
            let ended = ends.first().map(|&(_, v)| v);
            let Some(v) = earliest.into_iter().chain(ended).find(|&v| may_go(v)) else {
                return true;
            };
            free.remove(&(self.last_start[v], v));
            ends.remove(&(self.first_end[v], v));
            for &next in &successors[v] {
                pending[next] -= 1;
                if pending[next] == 0 {
                    free.insert((self.last_start[next], next));
                }
            }
        }
        false
    }

    fn check(&self, history: &History, order: &Order<'_>, key: KeyId) -> Result<(), Refusal> {
        let place = |v: usize| order.place(self.writers[v]);
        for &(a, b) in &self.pairs {
            self.require(history, key, place(a) < place(b), a, b)?;
        }
        let mut by_place: Vec<usize> = (0..self.writers.len()).collect();
        by_place.sort_unstable_by_key(|&v| place(v));
        let mut latest: Option<usize> = None;
        for a in by_place {
            if let Some(b) = latest {
                let in_order = self.first_end[a] >= self.last_start[b];
                self.require(history, key, in_order, a, b)?;
            }
            if latest.is_none_or(|b| self.last_start[a] > self.last_start[b]) {
                latest = Some(a);
            }
        }
        Ok(())
    }

    fn require(
        &self,
        history: &History,
        key: KeyId,
        in_order: bool,
        a: usize,
        b: usize,
    ) -> Result<(), Refusal> {
        require!(
            in_order,
            "the order puts {} before {}, against what is assumed of {}",
            name(history, self.writers[b]),
            name(history, self.writers[a]),
            history.key_name(key)
        );
        Ok(())
    }
}

/// Who touched which version of a key by which operation, in session and program order.
fn touches(
    history: &History,
    initial: Option<ValueCode>,
    ops: &[(TxnId, OpId)],
) -> Vec<(TxnId, OpId, TxnId)> {
    // Every value with its writers that did not abort and wrote it last; none if nobody did.
    let mut writers: HashMap<ValueCode, Vec<TxnId>> = HashMap::new();
    for &(txn, id) in ops {
        let op = history.op(id);
        if op.kind == OpKind::Write {
            let of_value = writers.entry(op.value).or_default();
            let is_last = last_write(history, txn, op) == Some(id);
            if is_last && history.status(txn) != Status::Aborted {
                of_value.push(txn);
            }
        }
    }
    let version = |txn: TxnId, id: OpId| match seen(history, txn, id) {
        Some(Seen::External(ValueCode::NIL)) => Some(TxnId::INITIAL),
        Some(Seen::External(value)) => match writers.get(&value) {
            None => (Some(value) == initial).then_some(TxnId::INITIAL),
            Some(writers) => {
                let mut others = writers.iter().filter(|&&writer| writer != txn);
                let only = others.next().copied().filter(|_| others.next().is_none());
                only.filter(|&writer| history.status(writer) == Status::Committed)
            }
        },
        _ => None,
    };
    let touch = |&(txn, id): &(TxnId, OpId)| {
        let op = history.op(id);
        let version = match op.kind {
            OpKind::Write => (last_write(history, txn, op) == Some(id)).then_some(txn),
            _ => version(txn, id),
        };
        let is_committed = history.status(txn) == Status::Committed;
        version
            .filter(|_| is_committed)
            .map(|version| (txn, id, version))
    };
    ops.iter().filter_map(touch).collect()
}
