//! What is assumed of each key by itself, as orders of its versions.
//!
//! **Definition.** A committed transaction *touches* the versions of a register that it reads, where
//! one committed transaction alone can have written them, and the one that it writes last. Writes follow
//! reads: what a transaction reads precedes what it writes. Sequential: touches of a session follow
//! each other. Recorded: versions are in the order of their numbers. Linearizable: so do touches of transactions of which one ended before the other began.
//! A key whose touches contradict each other, or put a version before the initial one, is reported
//! and says nothing.
//!
//! **Steps.** Sort the touches by key. Of each version keep when the first transaction that touched
//! it had ended (`end`) and when the last one began (`start`): a precedes b by real time iff
//! `a.end < b.start`. Take versions away that nothing left precedes (`circle` shows what is left
//! if that gets stuck). Pairs that follow from two others are left out.
//!
//! **Cost.** O(n log n) in the touches, and in the pairs kept, which concurrency bounds.
//!
//! **Source.** Kingsbury & Alvaro, "Elle", VLDB 2021, section 4.2; Gibbons & Korach, "Testing shared
//! memories", 1997, for the two numbers.

use super::circle;
use super::{KnownOrder, Link, Observed};
use history::{History, Interval, KeyId, KeyOrder, OpId, OpKind, Status, TxnId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A pair of versions in order, by their places among the key's versions, with the operations that
/// touched them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub from: u32,
    pub to: u32,
    pub before: OpId,
    pub after: OpId,
}

/// A time and the operation of the transaction it is of.
type Moment = (i64, OpId);

/// A version of the key at hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version {
    pub writer: TxnId,
    pub end: Moment,
    pub start: Moment,
}

/// The versions of one key.
pub(super) struct Versions {
    pub all: Vec<Version>,
    /// Pairs in order by transactions and sessions.
    pub pairs: Vec<Pair>,
}

#[derive(Clone, Copy)]
struct Touch {
    txn: TxnId,
    op: OpId,
    version: TxnId,
}

/// Adds what is assumed of each key to what is known, and the circles of keys that contradict it.
pub(super) fn add(observed: &mut Observed<'_>, keys: KeyOrder) {
    if keys == KeyOrder::Free {
        return;
    }
    let history = observed.history;
    let (starts, touches) = touches(observed);
    for key in 0..starts.len() - 1 {
        let of_key = &touches[starts[key] as usize..starts[key + 1] as usize];
        let key = KeyId(key as u32);
        let versions = Versions::of(history, keys, of_key);
        let known = |pair: &Pair| {
            let writer = |place: u32| versions.all[place as usize].writer;
            let (from, to) = (writer(pair.from), writer(pair.to));
            // The initial version, which only circles contain, was written by no operation.
            let write = |txn: TxnId| {
                let written = (txn != TxnId::INITIAL).then(|| observed.write_to(txn, key));
                written.flatten().unwrap_or(OpId(0))
            };
            KnownOrder {
                from,
                to,
                from_op: write(from),
                to_op: write(to),
                read: pair.before,
                after: pair.after,
            }
        };
        if let Err(left) = versions.take_away() {
            let circle = circle::shortest(&versions, &left);
            let circle = circle.iter().map(known).collect();
            observed.circles.push((key, circle));
            continue;
        }
        let is_written = |pair: &&Pair| versions.all[pair.from as usize].writer != TxnId::INITIAL;
        let by_time = versions.pairs_in_time();
        let pairs = versions.pairs.iter().chain(&by_time).filter(is_written);
        let pairs: Vec<KnownOrder> = pairs.map(known).collect();
        observed.known.extend(pairs);
    }
}

/// All touches, sorted by key; those of a key in session and program order.
fn touches(observed: &Observed<'_>) -> (Vec<u32>, Vec<Touch>) {
    let history = observed.history;
    let ops = history.ops();
    let version = |txn: TxnId, op: usize| match (ops.kinds[op], observed.links[op]) {
        (OpKind::Write, Link::WRITE) => Some(txn),
        (OpKind::Read, Link::INITIAL) => Some(TxnId::INITIAL),
        (OpKind::Read, link) if Link::is_txn(link) => {
            let writer = TxnId(link);
            (history.status(writer) == Status::Committed).then_some(writer)
        }
        _ => None,
    };
    let all = || {
        let txns = history.txn_ids();
        let txns = txns.filter(|&txn| history.status(txn) == Status::Committed);
        txns.flat_map(|txn| {
            history.op_range(txn).filter_map(move |op| {
                let version = version(txn, op)?;
                let op = OpId(op as u32);
                Some(Touch { txn, op, version })
            })
        })
    };
    let key = |touch: &Touch| ops.keys[touch.op.index()].index();
    let mut starts = vec![0u32; history.keys().limit() + 1];
    for touch in all() {
        starts[key(&touch) + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let none = Touch {
        txn: TxnId(0),
        op: OpId(0),
        version: TxnId(0),
    };
    let mut sorted = vec![none; starts[starts.len() - 1] as usize];
    let mut next = starts.clone();
    for touch in all() {
        let place = &mut next[key(&touch)];
        sorted[*place as usize] = touch;
        *place += 1;
    }
    (starts, sorted)
}

impl Versions {
    fn of(history: &History, keys: KeyOrder, touches: &[Touch]) -> Versions {
        let mut writers: Vec<TxnId> = touches.iter().map(|touch| touch.version).collect();
        writers.sort_unstable();
        writers.dedup();
        let place = |touch: &Touch| writers.partition_point(|&w| w < touch.version);
        let version = |&writer: &TxnId| Version {
            writer,
            end: (i64::MAX, OpId(0)),
            start: (i64::MIN, OpId(0)),
        };
        let mut all: Vec<Version> = writers.iter().map(version).collect();
        let mut pairs = Vec::new();
        let mut add = |first: &Touch, second: &Touch| {
            if first.version != second.version {
                pairs.push(Pair {
                    from: place(first) as u32,
                    to: place(second) as u32,
                    before: first.op,
                    after: second.op,
                });
            }
        };
        if keys == KeyOrder::Recorded {
            let numbered = numbered(history, touches);
            numbered.windows(2).for_each(|pair| add(&pair[0], &pair[1]));
            return Versions { all, pairs };
        }
        for (at, touch) in touches.iter().enumerate() {
            let earlier = touches[..at].iter().rev();
            if keys == KeyOrder::WritesFollowReads {
                let is_write = history.op(touch.op).kind.is_write();
                let reads = earlier.take_while(|other| is_write && other.txn == touch.txn);
                reads.for_each(|other| add(other, touch));
            } else {
                let session = history.session_of(touch.txn);
                let before = earlier.take(1);
                let before = before.filter(|other| history.session_of(other.txn) == session);
                before.for_each(|other| add(other, touch));
            }
            let interval = history.interval(touch.txn);
            if let Some(interval) = interval.filter(|_| keys == KeyOrder::Linearizable) {
                let version = &mut all[place(touch)];
                if interval.end != Interval::NEVER {
                    version.end = version.end.min((interval.completion(), touch.op));
                }
                version.start = version.start.max((interval.start, touch.op));
            }
        }
        Versions { all, pairs }
    }

    /// Whether one version precedes another by real time.
    pub fn in_time(&self, from: u32, to: u32) -> bool {
        from != to && self.all[from as usize].end.0 < self.all[to as usize].start.0
    }

    /// Takes versions away that nothing left precedes, the initial one first. Those that cannot be
    /// are the error.
    fn take_away(&self) -> Result<(), Vec<u32>> {
        let count = self.all.len() as u32;
        let first = |v: u32| self.all[v as usize].writer == TxnId::INITIAL;
        let mut pending = vec![0u32; count as usize];
        let mut by_from = self.pairs.clone();
        by_from.sort_unstable_by_key(|pair| pair.from);
        for pair in &by_from {
            pending[pair.to as usize] += 1;
        }
        let is_preceded =
            |v: u32| pending[v as usize] > 0 || (0..count).any(|u| self.in_time(u, v));
        if (0..count).any(|v| first(v) && is_preceded(v)) {
            return Err((0..count).collect());
        }
        let mut by_end: Vec<u32> = (0..count).collect();
        by_end.sort_unstable_by_key(|&v| self.all[v as usize].end.0);
        let start = |v: u32| self.all[v as usize].start.0;
        let mut free: BinaryHeap<Reverse<(i64, u32)>> = BinaryHeap::new();
        free.extend(
            (0..count)
                .filter(|&v| pending[v as usize] == 0)
                .map(|v| Reverse((start(v), v))),
        );
        let mut gone = vec![false; count as usize];
        let mut head = 0;
        for taken in 0..count {
            free_of_gone(&mut free, &gone);
            while by_end.get(head).is_some_and(|&v| gone[v as usize]) {
                head += 1;
            }
            let earliest_other = |v: u32| {
                let mut left = by_end[head..]
                    .iter()
                    .filter(|&&u| u != v && !gone[u as usize]);
                left.next()
                    .map_or(i64::MAX, |&u| self.all[u as usize].end.0)
            };
            let may_go = |v: &u32| {
                !gone[*v as usize] && pending[*v as usize] == 0 && start(*v) <= earliest_other(*v)
            };
            let candidates = free
                .peek()
                .map(|top| top.0.1)
                .into_iter()
                .chain(by_end.get(head).copied());
            let Some(v) = candidates.into_iter().find(may_go) else {
                debug_assert!(taken < count, "something is left");
                return Err((0..count).filter(|&v| !gone[v as usize]).collect());
            };
            gone[v as usize] = true;
            let start = by_from.partition_point(|pair| pair.from < v);
            for pair in by_from[start..].iter().take_while(|pair| pair.from == v) {
                let left = &mut pending[pair.to as usize];
                *left -= 1;
                if *left == 0 {
                    free.push(Reverse((self.all[pair.to as usize].start.0, pair.to)));
                }
            }
        }
        Ok(())
    }

    /// The pairs in order by real time, but for those that follow from others.
    fn pairs_in_time(&self) -> Vec<Pair> {
        let mut by_end: Vec<u32> = (0..self.all.len() as u32).collect();
        by_end.retain(|&v| self.all[v as usize].end.0 != i64::MAX);
        by_end.sort_unstable_by_key(|&v| self.all[v as usize].end.0);
        let latest = latest_starts(self, &by_end);
        let mut pairs = Vec::new();
        for to in 0..self.all.len() as u32 {
            let start = self.all[to as usize].start;
            let count = by_end.partition_point(|&v| self.all[v as usize].end.0 < start.0);
            let latest = &latest[count];
            for &from in by_end[..count].iter().rev() {
                let end = self.all[from as usize].end;
                // Something in between: it starts after `from` ended, and ended before `to` starts.
                let between = |&&(other, began): &&(u32, i64)| {
                    other != from && other != to && other != NONE && began > end.0
                };
                if from != to && latest.iter().find(between).is_none() {
                    pairs.push(Pair {
                        from,
                        to,
                        before: end.1,
                        after: start.1,
                    });
                }
                if latest[2].0 != NONE && latest[2].1 > end.0 {
                    break;
                }
            }
        }
        pairs
    }
}

/// The touches whose number stands for one version alone, in the order of the numbers.
fn numbered(history: &History, touches: &[Touch]) -> Vec<Touch> {
    let number = |touch: &Touch| history.recorded_version(touch.op);
    let with_number = touches.iter().filter(|touch| number(touch).is_some());
    let mut sorted: Vec<Touch> = with_number.copied().collect();
    sorted.sort_by_key(number);
    let same_number = sorted.chunk_by(|a, b| number(a) == number(b));
    let clear = same_number.filter(|same| same.iter().all(|t| t.version == same[0].version));
    clear.flatten().copied().collect()
}

fn free_of_gone(free: &mut BinaryHeap<Reverse<(i64, u32)>>, gone: &[bool]) {
    while free.peek().is_some_and(|top| gone[top.0.1 as usize]) {
        free.pop();
    }
}

const NONE: u32 = u32::MAX;

/// Of the first versions by end, for every count of them: the three that start last.
fn latest_starts(versions: &Versions, by_end: &[u32]) -> Vec<[(u32, i64); 3]> {
    let mut latest = vec![[(NONE, i64::MIN); 3]];
    for (at, &v) in by_end.iter().enumerate() {
        let mut top = latest[at];
        let mut entry = (v, versions.all[v as usize].start.0);
        for known in &mut top {
            if known.0 == NONE || entry.1 > known.1 {
                std::mem::swap(known, &mut entry);
            }
        }
        latest.push(top);
    }
    latest
}
