//! Reads of counters that are too small or too large, whichever increments they saw.
//!
//! Three necessary conditions, each for committed readers:
//! - two reads of a transaction with nothing of its own in between saw the same increments, where
//!   reads have to be repeatable;
//! - a read saw everything that precedes its transaction in the session, or ended before it began,
//!   and nothing that comes after it in one of these ways, as far as the level goes by sessions and
//!   times. Its value lies between the sum of what it must have seen together with all negative
//!   optional increments, and the same with all positive ones;
//! - where no increment of a key is negative (or none is positive), a read saw no less than an
//!   earlier one of the session, or one that ended before it began.
//!
//! Cost: sorting; prefix sums answer each read.

use super::counters::{Counter, CounterRead, Increments};
use history::{Anomaly, AnomalyKind, History, Interval, KeyId, Level, OpId, Status, TxnId};

/// How a level relates transactions.
struct Demands {
    repeatable: bool,
    /// Session order makes increments visible.
    sees_session: bool,
    /// Nothing is seen of what comes later in the session.
    follows_session: bool,
    /// What was seen once is seen later in the session.
    monotonic: bool,
    /// The same three for real time.
    real_time: bool,
}

impl Demands {
    fn of(level: Level) -> Demands {
        use Level::*;
        let sessions = [
            ReadCommitted,
            ReadYourWrites,
            MonotonicReads,
            MonotonicWrites,
            WritesFollowReads,
        ];
        Demands {
            repeatable: level.implies(ReadAtomic) || level.implies(NonMonotonicSnapshotIsolation),
            sees_session: level.implies(ReadYourWrites),
            follows_session: sessions.iter().any(|&weak| level.implies(weak)),
            monotonic: level.implies(MonotonicReads),
            real_time: level.implies(StrongSnapshotIsolation),
        }
    }
}

/// The anomalies of counter reads that break a level by themselves, one for each kind.
pub fn anomalies(history: &History, counters: &[(KeyId, Counter)], level: Level) -> Vec<Anomaly> {
    let demands = Demands::of(level);
    let (mut changed, mut impossible) = (Vec::new(), Vec::new());
    for (_, counter) in counters {
        if demands.repeatable {
            changed.extend(unrepeated(history, counter));
        }
        impossible.extend(out_of_session_bounds(history, counter, &demands));
        if demands.monotonic {
            impossible.extend(backwards_in_session(history, counter, demands.sees_session));
        }
        if demands.real_time && history.has_intervals() {
            impossible.extend(out_of_time_bounds(history, counter));
            impossible.extend(backwards_in_time(history, counter));
        }
    }
    let kinds = [
        (AnomalyKind::NonRepeatableRead, changed),
        (AnomalyKind::ImpossibleCount, impossible),
    ];
    kinds
        .into_iter()
        .filter_map(|(kind, found)| anomaly(history, kind, found))
        .collect()
}

fn anomaly(history: &History, kind: AnomalyKind, mut found: Vec<Vec<OpId>>) -> Option<Anomaly> {
    // Of one read there may be several proofs; the shortest is shown, and reads are counted.
    found.sort_by_key(|ops| (ops.last().copied(), ops.len()));
    found.dedup_by_key(|ops| ops.last().copied());
    let count = found.len() as u64;
    let ops = found.into_iter().min_by_key(Vec::len)?;
    let mut transactions: Vec<TxnId> = ops.iter().map(|&op| txn_of(history, op)).collect();
    transactions.dedup();
    Some(Anomaly {
        kind,
        count,
        transactions,
        ops,
        edges: Vec::new(),
        otherwise: Vec::new(),
        assuming: Vec::new(),
        explanation: String::new(),
    })
}

/// Linear in the transactions, so only for evidence.
fn txn_of(history: &History, op: OpId) -> TxnId {
    let has = |txn: &TxnId| history.op_range(*txn).contains(&op.index());
    let found = history.txn_ids().find(has);
    found.expect("every operation belongs to a transaction")
}

fn committed(history: &History, read: &CounterRead) -> bool {
    history.status(read.reader) == Status::Committed
}

fn unrepeated(history: &History, counter: &Counter) -> Vec<Vec<OpId>> {
    let pairs = counter.reads.windows(2);
    let changed = pairs.filter(|pair| {
        pair[0].reader == pair[1].reader
            && pair[0].target != pair[1].target
            && committed(history, &pair[0])
    });
    changed.map(|pair| vec![pair[0].op, pair[1].op]).collect()
}

/// Sums of increments: all of them, the negative ones and the positive ones.
#[derive(Clone, Copy, Default)]
struct Sum {
    all: i128,
    negative: i128,
    positive: i128,
}

impl Sum {
    fn add(&mut self, total: i128) {
        self.all += total;
        self.negative += total.min(0);
        self.positive += total.max(0);
    }

    fn minus(self, other: Sum) -> Sum {
        Sum {
            all: self.all - other.all,
            negative: self.negative - other.negative,
            positive: self.positive - other.positive,
        }
    }

    /// Whether a read that saw all of `must` and some of the rest of this can have this target.
    fn allows(self, must: Sum, target: i128) -> bool {
        let rest = self.minus(must);
        (must.all + rest.negative..=must.all + rest.positive).contains(&target)
    }
}

fn sum<'a>(increments: impl Iterator<Item = &'a Increments>) -> Sum {
    let mut sum = Sum::default();
    increments.for_each(|own| sum.add(own.total));
    sum
}

/// Running sums, from none to all.
fn running<'a>(increments: impl Iterator<Item = &'a Increments>) -> Vec<Sum> {
    let mut sums = vec![Sum::default()];
    for own in increments {
        let mut next = sums[sums.len() - 1];
        next.add(own.total);
        sums.push(next);
    }
    sums
}

fn own(counter: &Counter, txn: TxnId) -> Option<&Increments> {
    let place = counter
        .increments
        .binary_search_by_key(&txn, |own| own.txn)
        .ok()?;
    Some(&counter.increments[place])
}

fn out_of_session_bounds(
    history: &History,
    counter: &Counter,
    demands: &Demands,
) -> Vec<Vec<OpId>> {
    if !demands.follows_session {
        return Vec::new();
    }
    let increments = &counter.increments;
    let certain = |own: &&Increments| history.status(own.txn) == Status::Committed;
    let certain: Vec<Increments> = increments.iter().filter(certain).copied().collect();
    let (sums, certain_sums) = (running(increments.iter()), running(certain.iter()));
    let between = |list: &[Increments], sums: &[Sum], from: u32, to: u32| {
        let at = |txn: u32| sums[list.partition_point(|own| own.txn.0 < txn)];
        at(to).minus(at(from))
    };
    let is_wrong = |read: &&CounterRead| {
        let session = history.session_txns(history.session_of(read.reader));
        let later = between(increments, &sums, read.reader.0, session.end);
        let possible = sums[increments.len()].minus(later);
        let must = if demands.sees_session {
            between(&certain, &certain_sums, session.start, read.reader.0)
        } else {
            Sum::default()
        };
        committed(history, read) && !possible.allows(must, read.target)
    };
    let wrong = counter.reads.iter().filter(is_wrong);
    wrong.map(|read| vec![read.op]).collect()
}

/// When a transaction is known to have ended; one that nobody heard of has no end.
fn end(history: &History, txn: TxnId) -> Option<i64> {
    let interval = history.interval(txn)?;
    let is_known = history.status(txn) == Status::Committed && interval.end != Interval::NEVER;
    is_known.then(|| interval.completion())
}

fn start(history: &History, txn: TxnId) -> i64 {
    history
        .interval(txn)
        .map_or(i64::MIN, |interval| interval.start)
}

fn out_of_time_bounds(history: &History, counter: &Counter) -> Vec<Vec<OpId>> {
    let mut by_start: Vec<&Increments> = counter.increments.iter().collect();
    by_start.sort_by_key(|own| start(history, own.txn));
    let mut by_end: Vec<(i64, &Increments)> = counter
        .increments
        .iter()
        .filter_map(|own| Some((end(history, own.txn)?, own)))
        .collect();
    by_end.sort_by_key(|&(end, _)| end);
    let started = running(by_start.iter().copied());
    let ended = running(by_end.iter().map(|&(_, own)| own));
    let is_wrong = |read: &&CounterRead| {
        let own = own(counter, read.reader);
        let possible = match end(history, read.reader) {
            Some(end) => by_start.partition_point(|own| start(history, own.txn) <= end),
            None => by_start.len(),
        };
        let begin = start(history, read.reader);
        let must = ended[by_end.partition_point(|&(end, _)| end < begin)];
        let possible = started[possible].minus(sum(own.into_iter()));
        committed(history, read) && !possible.allows(must, read.target)
    };
    let wrong = counter.reads.iter().filter(is_wrong);
    wrong.map(|read| vec![read.op]).collect()
}

/// 1 if no increment is negative, -1 if none is positive.
fn direction(counter: &Counter) -> Option<i128> {
    let all = |sign: i128| counter.increments.iter().all(|own| own.total * sign > 0);
    [1, -1].into_iter().find(|&sign| all(sign))
}

/// How much a read and its transaction saw and did, at least.
fn known_after(counter: &Counter, read: &CounterRead, with_own: bool) -> i128 {
    let own = own(counter, read.reader).filter(|_| with_own);
    read.target + own.map_or(0, |own| own.total)
}

fn backwards_in_session(history: &History, counter: &Counter, with_own: bool) -> Vec<Vec<OpId>> {
    let Some(sign) = direction(counter) else {
        return Vec::new();
    };
    let mut wrong = Vec::new();
    let reads: Vec<&CounterRead> = counter
        .reads
        .iter()
        .filter(|read| committed(history, read))
        .collect();
    let session = |read: &CounterRead| history.session_of(read.reader);
    for of_session in reads.chunk_by(|a, b| session(a) == session(b)) {
        let mut most: Option<(i128, OpId)> = None;
        for of_txn in of_session.chunk_by(|a, b| a.reader == b.reader) {
            for read in of_txn {
                if let Some((known, earlier)) = most
                    && read.target * sign < known
                {
                    wrong.push(vec![earlier, read.op]);
                }
            }
            for read in of_txn {
                let known = known_after(counter, read, with_own) * sign;
                if most.is_none_or(|(before, _)| before < known) {
                    most = Some((known, read.op));
                }
            }
        }
    }
    wrong
}

fn backwards_in_time(history: &History, counter: &Counter) -> Vec<Vec<OpId>> {
    let Some(sign) = direction(counter) else {
        return Vec::new();
    };
    let reads = || counter.reads.iter().filter(|read| committed(history, read));
    let mut by_end: Vec<(i64, i128, OpId)> = reads()
        .filter_map(|read| {
            let known = known_after(counter, read, true) * sign;
            Some((end(history, read.reader)?, known, read.op))
        })
        .collect();
    by_end.sort_unstable();
    let mut most: Vec<(i128, OpId)> = Vec::with_capacity(by_end.len());
    for &(_, known, op) in &by_end {
        let before = most.last().copied();
        most.push(
            before
                .filter(|before| before.0 >= known)
                .unwrap_or((known, op)),
        );
    }
    let mut wrong = Vec::new();
    for read in reads() {
        let begin = start(history, read.reader);
        let ended = by_end.partition_point(|&(end, ..)| end < begin);
        if let Some(&(known, earlier)) = ended.checked_sub(1).map(|last| &most[last])
            && read.target * sign < known
        {
            wrong.push(vec![earlier, read.op]);
        }
    }
    wrong
}
