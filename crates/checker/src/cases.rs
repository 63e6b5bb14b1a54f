//! Who wrote what was read, where several transactions may have, for one level.
//!
//! Definition: a case is a writer for each of some ambiguous reads; the other reads are left out. What is left out
//! only adds demands, so a case that contradicts the level does so however it is gone on with.
//!
//! Steps, from the case without any writers on:
//! 1. a case that contradicts the level is put aside; if that happens to all, the level is violated, and each has an
//!    anomaly of its own;
//! 2. a case in which every read by a transaction that counts has a writer proves the level;
//! 3. else the reads still open are given the last possible writer before them in the order that proves the case; if
//!    that contradicts the level, one of the open reads that are to blame is given each of its writers in turn.
//!
//! Cost: one answer for each case, and one for each attempt at the rest of it; their number is bounded. Deciding this
//! exactly is NP-hard in general. Above causal, versions and writers are chosen together first (`strong`), and this is
//! asked only where that finds nothing.

use crate::Budget;
use crate::budget::Limit;
use crate::engine::Engine;
use crate::explain;
use crate::observe::{AmbiguousRead, KnownOrder, Link, Observed, Taken};
use crate::rule::Rule;
use crate::single_reads;
use history::{Anomaly, CommitOrder, Edge, Level, OpId, Reason, TxnId, Verdict};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;

/// A writer for each of some ambiguous reads.
pub type Case = Vec<(OpId, TxnId)>;

/// The search for a case that proves a level.
pub struct Cases<'a> {
    observed: &'a Observed<'a>,
    /// The ambiguous reads that may count.
    reads: &'a [&'a AmbiguousRead],
    level: Level,
    budget: &'a Budget<'a>,
    /// Still to be looked at.
    open: Vec<Case>,
    /// Those that contradict the level.
    contradicted: Vec<Case>,
    answer_count: u64,
}

impl<'a> Cases<'a> {
    pub fn new(
        observed: &'a Observed<'a>,
        reads: &'a [&'a AmbiguousRead],
        level: Level,
        budget: &'a Budget<'a>,
    ) -> Cases<'a> {
        Cases {
            observed,
            reads,
            level,
            budget,
            open: Vec::new(),
            contradicted: Vec::new(),
            answer_count: 0,
        }
    }

    /// Looks at the case without any writers, which the order proves; an order that proves the level, if there is one
    /// right away.
    pub fn begin(&mut self, order: &CommitOrder) -> Result<Option<CommitOrder>, Limit> {
        self.go_on(Case::new(), &self.observed.taken, order)
    }

    /// Looks at everything from the case without any writers on, with at most so many answers.
    pub fn decide_all(mut self, answer_count_max: u64) -> Result<Verdict, Limit> {
        self.open.push(Case::new());
        self.decide(answer_count_max)
    }

    /// Looks at what is open, with at most so many answers.
    pub fn decide(mut self, answer_count_max: u64) -> Result<Verdict, Limit> {
        while let Some(case) = self.open.pop() {
            if self.answer_count >= answer_count_max {
                return Ok(self.unknown());
            }
            let chosen = self.observed.with_writers(&case);
            let Some(order) = self.answer(&chosen)? else {
                self.contradicted.push(case);
                continue;
            };
            if let Some(order) = self.go_on(case, &chosen.taken, &order)? {
                return Ok(Verdict::Holds(order));
            }
        }
        self.violated()
    }

    /// The order that proves the level, with what was chosen.
    fn answer(&mut self, chosen: &Observed<'_>) -> Result<Option<CommitOrder>, Limit> {
        self.answer_count += 1;
        let mut engine = Engine::new(chosen, self.budget);
        if Level::WEAK.contains(&self.level) {
            return engine.commit_order(self.level);
        }
        Ok(match engine.verdict(self.level)? {
            Verdict::Holds(order) => Some(order),
            Verdict::Violated(_) | Verdict::Unknown(_) => None,
        })
    }

    /// Goes on with a case that the level allows, as `order` shows.
    fn go_on(
        &mut self,
        case: Case,
        taken: &Taken,
        order: &CommitOrder,
    ) -> Result<Option<CommitOrder>, Limit> {
        let known: FxHashSet<OpId> = case.iter().map(|&(read, _)| read).collect();
        let is_open = |read: &&&AmbiguousRead| !known.contains(&read.op);
        let open = self.reads.iter().filter(is_open).copied();
        let pending: Vec<&AmbiguousRead> = open
            .clone()
            .filter(|read| taken[read.reader.index()])
            .collect();
        if pending.is_empty() {
            return Ok(Some(self.proof(order.clone(), &case, taken)));
        }
        let mut whole = case.clone();
        whole.extend(last_before(open, order, self.observed.history.txn_count()));
        let chosen = self.observed.with_writers(&whole);
        if let Some(order) = self.answer(&chosen)? {
            return Ok(Some(self.proof(order, &whole, &chosen.taken)));
        }
        let anomaly = match Engine::new(&chosen, self.budget).verdict(self.level)? {
            Verdict::Violated(anomalies) => anomalies.into_iter().next(),
            Verdict::Holds(_) | Verdict::Unknown(_) => None,
        };
        let read = to_blame(&pending, &whole, anomaly.as_ref());
        self.open.extend(read.writers.iter().map(|&writer| {
            let mut next = case.clone();
            next.push((read.op, writer));
            next
        }));
        Ok(None)
    }

    /// An order with the writers of reads by transactions that count: what others read proves nothing.
    fn proof(&self, mut order: CommitOrder, case: &Case, taken: &Taken) -> CommitOrder {
        let readers: FxHashMap<OpId, TxnId> = self
            .reads
            .iter()
            .map(|read| (read.op, read.reader))
            .collect();
        let counts = |(read, _): &&(OpId, TxnId)| taken[readers[read].index()];
        order.reads = case.iter().filter(counts).copied().collect();
        order.reads.sort_unstable();
        order
    }

    /// The verdict once every case contradicts the level.
    fn violated(&self) -> Result<Verdict, Limit> {
        if self.observed.lacks_writers {
            return Ok(self.unknown());
        }
        let mut anomalies = Vec::new();
        for case in &self.contradicted {
            let chosen = self.observed.with_writers(case);
            let verdict = Engine::new(&chosen, self.budget).verdict(self.level)?;
            let Verdict::Violated(found) = verdict else {
                return Ok(self.unknown());
            };
            anomalies.extend(found.into_iter().take(1).map(|mut anomaly| {
                anomaly.explanation =
                    explain::assuming(self.observed.history, case, &anomaly.explanation);
                anomaly.assuming = case.clone();
                anomaly
            }));
        }
        Ok(Verdict::Violated(anomalies))
    }

    fn unknown(&self) -> Verdict {
        let is_certain = |read: &&&AmbiguousRead| self.observed.taken[read.reader.index()];
        let certain = self.reads.iter().filter(is_certain);
        let counts = certain.clone().map(|read| read.writers.len() as u64);
        let ways = match counts.fold(1, u64::saturating_mul) {
            u64::MAX => "too many".to_string(),
            count => count.to_string(),
        };
        Verdict::Unknown(format!(
            "{} reads return values that were written more than once to their keys, which leaves {ways} ways to \
             explain them; none of those that were tried satisfies the level ({} attempts)",
            certain.count(),
            self.answer_count
        ))
    }
}

/// For each read the last of its possible writers before it in an order; the first after it if
/// there is none before, and any if none is in the order.
fn last_before<'r>(
    reads: impl Iterator<Item = &'r AmbiguousRead>,
    order: &CommitOrder,
    txn_count: usize,
) -> Case {
    let mut place = vec![None; txn_count];
    for (at, txn) in order.txns.iter().enumerate() {
        place[txn.index()] = Some(at);
    }
    let choose = |read: &AmbiguousRead| {
        let here = place[read.reader.index()].unwrap_or(usize::MAX);
        let rank = |writer: &&TxnId| match place[writer.index()] {
            Some(there) if there < here => (0, here - there),
            Some(there) => (1, there - here),
            None => (2, 0),
        };
        let writer = read.writers.iter().min_by_key(rank);
        (read.op, *writer.expect("an ambiguous read has writers"))
    };
    reads.map(choose).collect()
}

/// The read to try the writers of: one that the contradiction rests on, or whose writer takes part in it; of several,
/// one with the fewest writers.
fn to_blame<'r>(
    pending: &[&'r AmbiguousRead],
    whole: &Case,
    anomaly: Option<&Anomaly>,
) -> &'r AmbiguousRead {
    let ops = anomaly.map(ops_of).unwrap_or_default();
    let txns = anomaly.map(|anomaly| &anomaly.transactions[..]);
    let writers: FxHashMap<OpId, TxnId> = whole.iter().copied().collect();
    let rank = |read: &&&AmbiguousRead| {
        let takes_part = txns.is_some_and(|txns| txns.contains(&writers[&read.op]));
        (!ops.contains(&read.op), !takes_part, read.writers.len())
    };
    pending.iter().min_by_key(rank).expect("a read is open")
}

/// The operations that an anomaly names.
fn ops_of(anomaly: &Anomaly) -> FxHashSet<OpId> {
    let mut ops: FxHashSet<OpId> = anomaly.ops.iter().copied().collect();
    let mut add = |edge: &Edge| ops.extend(edge.from_op.into_iter().chain(edge.to_op));
    for edge in &anomaly.edges {
        add(edge);
        if let Some(Reason::Read { path, .. }) = &edge.because {
            path.iter().for_each(&mut add);
        }
    }
    let because = anomaly.edges.iter().filter_map(|edge| match edge.because {
        Some(Reason::Read { read, .. }) => Some(read),
        _ => None,
    });
    ops.extend(because);
    ops
}

impl<'h> Observed<'h> {
    /// The same history with a writer chosen for some ambiguous reads, and without the others.
    pub fn with_writers(&self, case: &[(OpId, TxnId)]) -> Observed<'h> {
        let mut links = self.links.clone();
        for read in &self.ambiguous {
            links[read.op.index()] = Link::SKIP;
        }
        for (read, writer) in case {
            links[read.index()] = writer.0;
        }
        let mut chosen = Observed {
            history: self.history,
            file_order: self.file_order.clone(),
            statuses: self.statuses.clone(),
            values: Cow::Owned(Vec::new()),
            links,
            taken: Taken::default(),
            read_anomalies: self.read_anomalies.clone(),
            ambiguous: Vec::new(),
            lacks_writers: false,
            known: self.known.clone(),
            circles: Vec::new(),
            keys: self.keys,
            undecidable: None,
            unprovable: None,
        };
        chosen.take_committed();
        for known in &self.known {
            chosen.take(known.from);
            chosen.take(known.to);
        }
        if chosen.taken.count() > self.taken.count() {
            chosen.read_lists_again();
        }
        chosen
    }

    /// Whether lists allow an order with writers that it chooses. Where that takes a transaction of unknown outcome as
    /// committed, so do they what it appended and saw.
    pub fn lists_allow(&self, order: &CommitOrder) -> bool {
        if self.ambiguous.is_empty() || !self.reads_lists() {
            return true;
        }
        let chosen = self.with_writers(&order.reads);
        if chosen.taken.count() == self.taken.count() {
            return true;
        }
        let mut place = vec![usize::MAX; self.history.txn_count()];
        for (at, txn) in order.txns.iter().enumerate() {
            place[txn.index()] = at;
        }
        let in_order = |known: &KnownOrder| place[known.from.index()] < place[known.to.index()];
        let is_there = |(txn, is_taken)| is_taken == (place[txn] != usize::MAX);
        chosen.taken.iter().enumerate().all(is_there)
            && chosen.known.iter().all(in_order)
            && single_reads::read_anomalies(&chosen, Rule::Causal).is_empty()
    }
}
