//! Decides read-committed and read-atomic by witness orders, asking each read at most once.
//!
//! Definition: as in `rounds`, for the rules under which a reader has seen what it read from
//! directly and, under read-atomic, what its own session wrote before.
//!
//! Steps: a first order that follows a hint is the proof if it obeys already (`obeyed`). Otherwise, of
//! the reads that are stale in the first order, those with several versions in question are asked for
//! *all* the writers that they force before the version read, not only for those that contradict the
//! order. If no edge contradicts the order, the order is the proof. Otherwise repair it. An edge that is
//! known stays obeyed, so only reads that were not asked and whose version has moved can be contradicted
//! now (`repair`); they are asked next. Where many reads are stale, most would be asked sooner or later:
//! then all are asked at once, unless the order follows a hint.
//!
//! Cost: O(n^1.5) in all, as each read is asked once, through the smaller side of each pair of
//! transactions (`saturate`); a round costs a scan of the links besides. Source: AWDIT (PLDI 2025)
//! asks all reads; the witness order that spares most of them is ours.

use crate::Budget;
use crate::budget::Limit;
use crate::obeyed;
use crate::observe::{Link, Observed};
use crate::op_set::OpSet;
use crate::order::{Forced, Predecessors, Schedule, StaleRead};
use crate::repair::{Repaired, repair};
use crate::rounds::{Contradictions, Decision, known_edges, places};
use crate::rule::Rule;
use crate::saturate::DirectEdges;
use crate::shared_keys::{Pair, READS_MAX, SharedKeys};
use crate::visible::Visible;
use history::TxnId;

/// `from` before `to`, because of a read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    to: u32,
    from: u32,
    read: u32,
}

/// In `read`: the edge is from a known version order.
const KNOWN: u32 = u32::MAX;

/// All reads are asked at once if more than one in so many of the operations is a stale read with
/// several versions in question.
const MANY_STALE: usize = 32;

/// Edges are first looked through for repeated ones when there are so many.
const EDGES_BETWEEN: usize = 1 << 22;

/// Decides a rule; `first` is a complete schedule along so ∪ wr ∪ known orders.
pub fn decide(
    observed: &Observed<'_>,
    rule: Rule,
    first: &Schedule,
    budget: &Budget<'_>,
) -> Result<Decision, Limit> {
    if first.hinted && obeyed::obeys(observed, rule, first, budget)? {
        return Ok(Decision::Holds(first.order.clone()));
    }
    let several = |read: &&StaleRead| read.between == StaleRead::SEVERAL;
    let several_count = first.stale.iter().filter(several).count();
    let at_once = !first.hinted && several_count > observed.links.len() / MANY_STALE;
    decide_by(observed, rule, first, at_once, budget)
}

/// The same, with all reads asked at once or not.
fn decide_by(
    observed: &Observed<'_>,
    rule: Rule,
    first: &Schedule,
    at_once: bool,
    budget: &Budget<'_>,
) -> Result<Decision, Limit> {
    let mut asking = Asking::new(observed, rule);
    let mut wanted = match at_once {
        true => Wanted::All,
        false => asking.of_first(&first.stale),
    };
    let mut order = first.order.clone();
    while !wanted.is_empty() || asking.contradict(&order) {
        asking.ask(&wanted, &order, budget)?;
        if !asking.initial.is_empty() {
            return Ok(asking.violated(order));
        }
        if !asking.contradict(&order) {
            break;
        }
        let pairs = asking.edges.iter().map(|edge| (edge.to, edge.from));
        let forced = Predecessors::new(pairs, observed.history.txn_count());
        let Repaired::Order { order: next, moved } = repair(observed, &order, forced) else {
            return Ok(asking.violated(order));
        };
        order = next;
        if matches!(wanted, Wanted::All) {
            // Every edge is known and obeyed.
            break;
        }
        wanted = asking.of_moved(&moved, &order);
    }
    if !asking.initial.is_empty() {
        return Ok(asking.violated(order));
    }
    Ok(Decision::Holds(order))
}

/// Which reads are to be asked.
enum Wanted {
    All,
    Some {
        ops: OpSet,
        /// The transactions they belong to.
        readers: Vec<u32>,
    },
}

impl Wanted {
    fn is_empty(&self) -> bool {
        match self {
            Wanted::All => false,
            Wanted::Some { readers, .. } => readers.is_empty(),
        }
    }

    #[inline]
    fn has(&self, op: usize) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Some { ops, .. } => ops.has(op),
        }
    }
}

/// No transaction.
const NOBODY: u32 = u32::MAX;

/// The reads that were asked, and what they answered.
struct Asking<'a> {
    observed: &'a Observed<'a>,
    rule: Rule,
    direct: DirectEdges<'a>,
    /// Made when it is first needed.
    shared: Option<SharedKeys<'a>>,
    /// The reads whose edges are all known; none before the first are asked.
    asked: Option<OpSet>,
    /// Known version orders, and what reads force.
    edges: Vec<Edge>,
    look_through_at: usize,
    /// Reads of an initial version, each with a writer that the reader had to see.
    initial: Vec<(StaleRead, u32)>,
}

impl<'a> Asking<'a> {
    fn new(observed: &'a Observed<'a>, rule: Rule) -> Asking<'a> {
        let known = known_edges(observed);
        let edge = |known: &Forced| Edge {
            to: known.to,
            from: known.from,
            read: KNOWN,
        };
        Asking {
            observed,
            rule,
            direct: DirectEdges::new(observed, rule),
            shared: None,
            asked: None,
            edges: known.iter().map(edge).collect(),
            look_through_at: EDGES_BETWEEN,
            initial: Vec::new(),
        }
    }

    /// The reads to be asked first. Those with one version in question are answered right away,
    /// without what else they force.
    fn of_first(&mut self, stale: &[StaleRead]) -> Wanted {
        let mut ops = OpSet::none(self.observed.links.len());
        let mut readers = Vec::new();
        for read in stale {
            let op_count = self.observed.history.txn(TxnId(read.reader)).op_count as usize;
            if read.between == StaleRead::SEVERAL || op_count > READS_MAX {
                ops.insert(read.op as usize);
                readers.push(read.reader);
            } else if self.sees_directly(read, read.between) {
                self.add(read.op, read.reader, read.between);
            }
        }
        // The reads of a reader are next to each other.
        readers.dedup();
        Wanted::Some { ops, readers }
    }

    /// The reads of versions of these transactions that were not asked.
    fn of_moved(&self, moved: &[u32], order: &[u32]) -> Wanted {
        let (observed, history) = (self.observed, self.observed.history);
        let mut ops = OpSet::none(observed.links.len());
        let mut readers = Vec::new();
        let mut has_moved = vec![false; history.txn_count() + 1];
        moved.iter().for_each(|&txn| has_moved[txn as usize] = true);
        // Links that are no transactions lie beyond the last, where nothing has moved.
        let asks = |link: u32| has_moved[(link as usize).min(history.txn_count())];
        let is_asked = |op: usize| self.asked.as_ref().is_some_and(|asked| asked.has(op));
        for &reader in order {
            let range = history.op_range(TxnId(reader));
            for (op, &link) in range.clone().zip(&observed.links[range]) {
                if asks(link) && !is_asked(op) {
                    ops.insert(op);
                    readers.push(reader);
                }
            }
        }
        readers.dedup();
        Wanted::Some { ops, readers }
    }

    /// Whether the reader read from `t2`, before the read in question for read-committed, or `t2`
    /// lies before it in its session, for read-atomic.
    fn sees_directly(&self, read: &StaleRead, t2: u32) -> bool {
        let history = self.observed.history;
        let mut range = history.op_range(TxnId(read.reader));
        if self.rule == Rule::ReadCommitted {
            range.end = read.op as usize;
            return self.observed.links[range].contains(&t2);
        }
        let same_session = history.session_of(TxnId(t2)) == history.session_of(TxnId(read.reader));
        (same_session && t2 < read.reader) || self.observed.links[range].contains(&t2)
    }

    fn add(&mut self, read: u32, reader: u32, from: u32) {
        let to = self.observed.links[read as usize];
        if to == Link::INITIAL {
            self.initial.push((StaleRead::new(read, reader), from));
        } else {
            self.edges.push(Edge { to, from, read });
        }
    }

    /// Finds what the wanted reads force, readers in the order at hand: what they read from lies
    /// close together.
    fn ask(&mut self, wanted: &Wanted, order: &[u32], budget: &Budget<'_>) -> Result<(), Limit> {
        if matches!(wanted, Wanted::All) {
            // Room at once, as for stale reads.
            let room = self.observed.links.len().min(EDGES_BETWEEN);
            self.edges.reserve(room);
        }
        if self.rule == Rule::ReadAtomic {
            self.ask_sessions(wanted);
        }
        let history = self.observed.history;
        let mut mine: Vec<usize> = Vec::new();
        let readers = match wanted {
            Wanted::All => order,
            Wanted::Some { readers, .. } => readers,
        };
        for (count, &reader) in readers.iter().enumerate() {
            if count % 1024 == 0 {
                budget.check("stale reads")?;
            }
            let range = history.op_range(TxnId(reader));
            if range.len() <= READS_MAX {
                self.ask_small(reader, wanted);
            } else {
                mine.clear();
                mine.extend(range.filter(|&op| wanted.has(op)));
                self.ask_large(TxnId(reader), &mine);
            }
            if self.edges.len() > self.look_through_at {
                self.drop_repeated();
            }
        }
        self.note_asked(wanted);
        Ok(())
    }

    /// For read-atomic: the last writers of keys in the own session.
    fn ask_sessions(&mut self, wanted: &Wanted) {
        let (observed, history) = (self.observed, self.observed.history);
        let keys = &history.ops().keys;
        // Of whatever session: earlier ones have smaller numbers than the first of this one.
        let mut last = vec![NOBODY; history.keys().limit()];
        let mut buffer = Vec::new();
        for txn in history.txn_ids().filter(|txn| observed.taken[txn.index()]) {
            let start = history.session_txns(history.session_of(txn)).start;
            for op in history.op_range(txn).filter(|&op| wanted.has(op)) {
                let (link, t2) = (observed.links[op], last[keys[op].index()]);
                let is_read = Link::is_txn(link) | (link == Link::INITIAL);
                if is_read & (t2 != NOBODY) & (t2 >= start) & (t2 != link) {
                    self.add(op as u32, txn.0, t2);
                }
            }
            for &key in observed.written(txn, &mut buffer) {
                last[key as usize] = txn.0;
            }
        }
    }

    fn ask_small(&mut self, reader: u32, wanted: &Wanted) {
        let observed = self.observed;
        let shared = self.shared.get_or_insert_with(|| SharedKeys::new(observed));
        let asked = shared.begin(reader, |op| wanted.has(op));
        let (edges, initial) = (&mut self.edges, &mut self.initial);
        let in_turn = self.rule == Rule::ReadCommitted;
        shared.pairs(asked, in_turn, |Pair { from, to, read, .. }| match to {
            Link::INITIAL => initial.push((StaleRead::new(read, reader), from)),
            to => edges.push(Edge { to, from, read }),
        });
    }

    fn ask_large(&mut self, reader: TxnId, ops: &[usize]) {
        let (edges, initial) = (&mut self.edges, &mut self.initial);
        let ops = ops.iter().copied();
        self.direct
            .of_reads(reader, ops, &|_| true, &mut |edge| match edge.to {
                Link::INITIAL => {
                    let read = StaleRead::new(edge.read, edge.reader);
                    initial.push((read, edge.from));
                }
                to => edges.push(Edge {
                    to,
                    from: edge.from,
                    read: edge.read,
                }),
            });
    }

    fn note_asked(&mut self, wanted: &Wanted) {
        match (&mut self.asked, wanted) {
            (_, Wanted::All) => {
                self.asked = Some(OpSet::all(self.observed.links.len()));
            }
            (None, Wanted::Some { ops, .. }) => self.asked = Some(ops.clone()),
            (Some(asked), Wanted::Some { ops, .. }) => asked.insert_all(ops),
        }
    }

    /// Whether an edge contradicts an order.
    fn contradict(&self, order: &[u32]) -> bool {
        let place = places(self.observed, order);
        let contradicts = |edge: &Edge| place[edge.from as usize] > place[edge.to as usize];
        self.edges.iter().any(contradicts)
    }

    /// Keeps one edge of each pair of transactions.
    fn drop_repeated(&mut self) {
        self.edges.sort_unstable();
        self.edges.dedup_by_key(|edge| (edge.to, edge.from));
        self.look_through_at = EDGES_BETWEEN.max(2 * self.edges.len());
    }

    /// The rule does not hold; `order` is the last one along so ∪ wr ∪ known orders.
    fn violated(mut self, order: Vec<u32>) -> Decision {
        let (observed, history) = (self.observed, self.observed.history);
        let mut found = Contradictions {
            forced: known_edges(observed),
            initial: self.initial,
            order: Some(order),
            ..Contradictions::default()
        };
        self.edges.retain(|edge| edge.read != KNOWN);
        self.edges.sort_unstable_by_key(|edge| edge.read);
        let mut visible = Visible::new(observed, self.rule);
        let mut rest = &self.edges[..];
        for placed in observed.file_order.iter() {
            let (reader, range) = (placed.txn, placed.ops());
            let count = rest.partition_point(|edge| (edge.read as usize) < range.end);
            let (mine, others) = rest.split_at(count);
            rest = others;
            for edge in mine {
                visible.turn_to(reader.0);
                let key = history.ops().keys[edge.read as usize].0;
                found.forced.push(Forced {
                    to: edge.to,
                    from: edge.from,
                    read: edge.read,
                    reader: reader.0,
                    direct: visible.read_of_other_key(edge.from, key).is_some(),
                });
            }
        }
        Decision::Violated(found)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::observe::observe;
    use crate::order::schedule;
    use crate::windows::tests::random_history;
    use history::{Initial, KeyOrder};

    /// Whether an order obeys every edge that any read forces.
    pub fn obeys_all(observed: &Observed<'_>, rule: Rule, order: &[u32]) -> bool {
        let place = places(observed, order);
        let mut obeys = true;
        let found = &mut |edge: Forced| {
            obeys &=
                edge.to != Link::INITIAL && place[edge.from as usize] < place[edge.to as usize];
        };
        let all = crate::saturate::forced_edges(observed, rule, &Budget::default(), found);
        all.is_ok() && obeys
    }

    #[test]
    fn asking_few_reads_decides_as_asking_all() {
        let budget = Budget::default();
        let mut verdicts = [0, 0];
        for seed in 0..600 {
            let history = random_history(seed, 4 + seed % 60);
            let observed = observe(&history, &Initial::default(), KeyOrder::Free, &budget);
            let Ok(observed) = observed else { continue };
            let first = schedule(&observed, &known_edges(&observed));
            for rule in [Rule::ReadCommitted, Rule::ReadAtomic] {
                let holds = [false, true].map(|at_once| {
                    match decide_by(&observed, rule, &first, at_once, &budget) {
                        Ok(Decision::Holds(order)) => {
                            assert!(obeys_all(&observed, rule, &order), "seed {seed}, {rule:?}");
                            true
                        }
                        _ => false,
                    }
                });
                assert_eq!(holds[0], holds[1], "seed {seed}, {rule:?}");
                verdicts[usize::from(holds[0])] += 1;
            }
        }
        assert!(verdicts[0] > 100 && verdicts[1] > 100, "{verdicts:?}");
    }
}
