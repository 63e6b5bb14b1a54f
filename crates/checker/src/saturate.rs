//! All forced edges of a rule at once: for every external read of a key from `t1` and every `t2`
//! that writes the key and that the reader must have seen, `t2` before `t1`.
//!
//! Only edges that another one implies are left out: of the writers of one session, the last stands
//! for the others (session order does the rest).
//!
//! read-committed, read-atomic: for each reader `t3` and each `t2` it read from, look through the
//! smaller of "keys t2 writes" and "keys t3 reads" (O(n^1.5) in all: a large transaction is large
//! only for few others); for read-atomic also the last writer of the key in `t3`'s session.
//! causal: the same for what `t3` read from, and for each session the last writer of the key that
//! happens before `t3`, by clocks (O(n · sessions)).
//! Source: AWDIT (PLDI 2025) for the smaller side; Biswas & Enea for the saturation.

use crate::Budget;
use crate::budget::Limit;
use crate::clocks::{self, Rows};
use crate::graph::{Components, Graph};
use crate::observe::{Link, Observed};
use crate::order::{Forced, ForcedEdges, StaleRead};
use crate::rule::Rule;
use crate::shared_keys::{READS_MAX, SharedKeys};
use crate::stamped::StampedMap;
use crate::visible::Visible;
use crate::writers::{BySession, Writers};
use history::TxnId;
use rustc_hash::FxHashMap;

/// A forced edge as it is found: `to` may be [`Link::INITIAL`].
pub type Found<'a> = dyn FnMut(Forced) + 'a;

/// Transactions with more operations than this get a sorted list of the keys they write.
const LARGE: usize = 64;

/// Whether all forced edges of a rule can be generated.
pub fn is_possible(observed: &Observed<'_>, rule: Rule) -> bool {
    match rule {
        Rule::ReadCommitted | Rule::ReadAtomic => true,
        Rule::Causal => clocks::affordable(observed),
        _ => false,
    }
}

/// Calls `found` for all forced edges of a rule, where so ∪ wr has no cycle.
pub fn forced_edges(
    observed: &Observed<'_>,
    rule: Rule,
    budget: &Budget<'_>,
    found: &mut Found<'_>,
) -> Result<(), Limit> {
    if rule != Rule::Causal {
        direct_edges(observed, rule, &|_| true, found);
        if rule == Rule::ReadAtomic {
            session_edges(observed, found);
        }
        return budget.check("forced edges");
    }
    let none = ForcedEdges::default();
    let base = Graph {
        observed,
        forced: &none,
        base: true,
    }
    .components();
    edges_of_rule(observed, rule, &base, budget, Wanted::ALL, found)
}

/// Calls `found` for the wanted forced edges of a rule; `base` are the components of so ∪ wr.
pub fn edges_of_rule(
    observed: &Observed<'_>,
    rule: Rule,
    base: &Components,
    budget: &Budget<'_>,
    wanted: Wanted<'_>,
    found: &mut Found<'_>,
) -> Result<(), Limit> {
    let asked = |op: u32| wanted.asks(op, observed.links[op as usize]);
    direct_edges(observed, rule, &asked, found);
    budget.check("forced edges")?;
    if rule == Rule::ReadAtomic {
        session_edges(observed, &mut |edge| {
            if asked(edge.read) {
                found(edge);
            }
        });
    }
    if rule == Rule::Causal {
        causal_edges(observed, base, budget, wanted, found)?;
    }
    Ok(())
}

/// Calls `found` for the wanted edges from transactions that the reader read from.
pub fn wanted_directly(
    observed: &Observed<'_>,
    rule: Rule,
    wanted: Wanted<'_>,
    found: &mut Found<'_>,
) {
    let asked = |op: u32| wanted.asks(op, observed.links[op as usize]);
    direct_edges(observed, rule, &asked, found);
}

/// Calls `found` for every forced edge of a rule that the reads asked about give directly.
fn direct_edges(
    observed: &Observed<'_>,
    rule: Rule,
    asked: &dyn Fn(u32) -> bool,
    found: &mut Found<'_>,
) {
    let mut direct = DirectEdges::new(observed, rule);
    let mut shared = SharedKeys::new(observed);
    let history = observed.history;
    for reader in history.txn_ids().filter(|txn| observed.taken[txn.index()]) {
        let range = history.op_range(reader);
        if range.len() > READS_MAX {
            let ops = range.filter(|&op| asked(op as u32));
            direct.of_reads(reader, ops, &|_| true, found);
            continue;
        }
        let reads = shared.begin(reader.0, |op| asked(op as u32));
        let in_turn = rule == Rule::ReadCommitted;
        shared.pairs(reads, in_turn, |pair| {
            found(Forced {
                to: pair.to,
                from: pair.from,
                read: pair.read,
                reader: reader.0,
                direct: pair.of_other_key,
            });
        });
    }
}

/// The forced edges that one reader after another gives by what it read from.
pub struct DirectEdges<'a> {
    observed: &'a Observed<'a>,
    reads: ReaderKeys<'a>,
    visible: Visible<'a>,
    /// The keys that large transactions write, sorted.
    large: FxHashMap<u32, Vec<u32>>,
}

impl<'a> DirectEdges<'a> {
    pub fn new(observed: &'a Observed<'a>, rule: Rule) -> DirectEdges<'a> {
        let rule = match rule {
            Rule::ReadCommitted => rule,
            _ => Rule::ReadAtomic,
        };
        DirectEdges {
            observed,
            reads: ReaderKeys::new(observed),
            visible: Visible::new(observed, rule),
            large: FxHashMap::default(),
        }
    }

    /// Calls `found` for the edges that some operations of a reader force, from those writers that
    /// are wanted.
    pub fn of_reads(
        &mut self,
        reader: TxnId,
        ops: impl Iterator<Item = usize>,
        wanted: &dyn Fn(u32) -> bool,
        found: &mut Found<'_>,
    ) {
        let observed = self.observed;
        let op_count = observed.history.txn(reader).op_count as usize;
        self.reads.begin(op_count, ops);
        if self.reads.ops.is_empty() {
            return;
        }
        self.visible.begin(reader.0);
        for &(t2, _) in self.visible.read_from.iter().filter(|(t2, _)| wanted(*t2)) {
            common_keys(observed, &self.reads, t2, &mut self.large, &mut |op| {
                let key = observed.history.ops().keys[op as usize].0;
                let to = observed.links[op as usize];
                if to != t2 && self.visible.sees(t2, op) {
                    let direct = self.visible.read_of_other_key(t2, key).is_some();
                    found(Forced {
                        to,
                        from: t2,
                        read: op,
                        reader: reader.0,
                        direct,
                    });
                }
            });
        }
    }
}

/// Calls `found` for the forced edges by session order: the last writer of each key that is read.
fn session_edges(observed: &Observed<'_>, found: &mut Found<'_>) {
    let history = observed.history;
    let mut last = vec![u32::MAX; history.keys().limit()];
    let mut visible = Visible::new(observed, Rule::ReadAtomic);
    for txn in history.txn_ids().filter(|txn| observed.taken[txn.index()]) {
        let start = history.session_txns(history.session_of(txn)).start;
        for op in history.op_range(txn) {
            let (link, key) = (observed.links[op], history.ops().keys[op]);
            let t2 = last[key.index()];
            let is_read = Link::is_txn(link) | (link == Link::INITIAL);
            if is_read & (t2 != u32::MAX) & (t2 >= start) & (t2 != link) {
                visible.turn_to(txn.0);
                let direct = visible.read_of_other_key(t2, key.0).is_some();
                found(Forced {
                    to: link,
                    from: t2,
                    read: op as u32,
                    reader: txn.0,
                    direct,
                });
            }
        }
        for (_, key) in observed.writes(txn) {
            last[key.index()] = txn.0;
        }
    }
}

/// Calls `found` for the wanted edges by happens-before; `base` are the components of so ∪ wr.
fn causal_edges(
    observed: &Observed<'_>,
    base: &Components,
    budget: &Budget<'_>,
    wanted: Wanted<'_>,
    found: &mut Found<'_>,
) -> Result<(), Limit> {
    let history = observed.history;
    let asked = |op: usize| wanted.asks(op as u32, observed.links[op]);
    let all_keys = history.ops().keys.iter().enumerate();
    let read_keys = all_keys.filter_map(|(op, key)| asked(op).then_some(key.0));
    let writers = Writers::of_keys(observed, read_keys, None);
    let mut search = CausalEdges {
        observed,
        writers: writers.by_session(observed),
        visible: Visible::new(observed, Rule::ReadAtomic),
        on_cycles: wanted.on_cycles,
    };
    clocks::walk(
        observed,
        &base.order,
        Some(base),
        budget,
        |txn, row, rows| {
            for op in history.op_range(TxnId(txn)).filter(|&op| asked(op)) {
                let read = Read {
                    txn,
                    op: op as u32,
                    link: observed.links[op],
                    row,
                };
                search.edges_of(&read, rows, found);
            }
        },
    )
}

/// Which edges are wanted.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// Of which reads.
    pub reads: &'a dyn Fn(u32) -> bool,
    /// Nothing: those that are not implied, for each read and session the last writer, unless it
    /// happens before the version read anyway. Or components: those on cycles, for each read and
    /// session the last and the first writer on a cycle with the version read. (What happens before
    /// a writer happens before all later ones of its session, so these two show both kinds of
    /// cycle.)
    pub on_cycles: Option<&'a Components>,
}

impl Wanted<'_> {
    /// All that are not implied.
    pub const ALL: Wanted<'static> = Wanted {
        reads: &|_| true,
        on_cycles: None,
    };

    /// Whether edges of an operation with this link are wanted.
    fn asks(&self, op: u32, link: u32) -> bool {
        let may_be = match (Link::is_txn(link), self.on_cycles) {
            // A read of a transaction that is not taken may be of one that is in no component.
            (true, Some(found)) => {
                let size = found.sizes.get(found.of[link as usize] as usize);
                size.is_some_and(|&size| size > 1)
            }
            (true, None) => true,
            (false, _) => link == Link::INITIAL,
        };
        may_be && (self.reads)(op)
    }
}

struct Read<'a> {
    txn: u32,
    op: u32,
    link: u32,
    row: &'a [u32],
}

/// The search for edges by happens-before.
struct CausalEdges<'a> {
    observed: &'a Observed<'a>,
    writers: BySession<'a>,
    visible: Visible<'a>,
    on_cycles: Option<&'a Components>,
}

impl CausalEdges<'_> {
    fn edges_of(&mut self, read: &Read<'_>, rows: &Rows<'_>, found: &mut Found<'_>) {
        let key = self.observed.history.ops().keys[read.op as usize].0;
        self.visible.turn_to(read.txn);
        let visible = &self.visible;
        let is_direct = |txn: u32| visible.read_of_other_key(txn, key).is_some();
        let mut report = |from: u32| {
            found(Forced {
                to: read.link,
                from,
                read: read.op,
                reader: read.txn,
                direct: is_direct(from),
            });
        };
        // The reader itself is no other writer; in its own component it may not be the last.
        let other = |&&txn: &&u32| txn != read.txn;
        // What happens before the version read, by the row that is kept for its readers.
        let before = match Link::is_txn(read.link) {
            true => rows.kept(read.link),
            false => None,
        };
        for (session, mine) in self.writers.of(key) {
            let limit = read.row[session];
            if mine[0] >= limit {
                continue;
            }
            let Some(components) = self.on_cycles.filter(|_| read.link != Link::INITIAL) else {
                let known = before.map_or(0, |row| row[session]);
                if known >= limit {
                    continue;
                }
                let seen = &mine[..mine.partition_point(|&txn| txn < limit)];
                let last = seen.iter().rfind(other).copied();
                last.filter(|&txn| txn != read.link && txn >= known)
                    .map(&mut report);
                continue;
            };
            let seen = &mine[..mine.partition_point(|&txn| txn < limit)];
            // What the reader read from directly comes from `direct_edges`.
            let counts = |txn: u32| txn != read.link && txn != read.txn && !is_direct(txn);
            let on_cycle = |txn: u32| components.same(txn, read.link);
            let ends = ends_on_cycle(seen, &counts, &on_cycle);
            ends.into_iter().flatten().for_each(&mut report);
        }
    }
}

/// Of the writers of a key in one session that a reader saw and that count, the last and the first on a cycle with the
/// version read; just the last where it is alone. Those on the cycle are neighbours: session order connects the ones in
/// between, and if any is on it, the last is.
fn ends_on_cycle(
    seen: &[u32],
    counts: &dyn Fn(u32) -> bool,
    on_cycle: &dyn Fn(u32) -> bool,
) -> [Option<u32>; 2] {
    let last = seen.iter().rev().copied().find(|&txn| counts(txn));
    let Some(last) = last.filter(|&txn| on_cycle(txn)) else {
        return [None, None];
    };
    let until = &seen[..seen.partition_point(|&txn| txn < last)];
    let from = until.partition_point(|&txn| !on_cycle(txn));
    let first = until[from..].iter().copied().find(|&txn| counts(txn));
    [Some(last), first]
}

/// For read-atomic, calls `found` for edges on cycles from writers of a reader's session that are not the last one of the
/// key: what these force is implied, and no proof needs it, but their reads are instances. A read is passed over if it
/// `is_done`, given the last writer.
pub fn earlier_in_session(
    observed: &Observed<'_>,
    components: &Components,
    is_done: &dyn Fn(u32, u32) -> bool,
    found: &mut Found<'_>,
) {
    let history = observed.history;
    let reads = with_earlier_in_session(observed, components, is_done);
    let keys = reads
        .iter()
        .map(|read| history.ops().keys[read.op as usize]);
    let writers = Writers::of_keys(observed, keys.map(|key| key.0), None);
    let mut visible = Visible::new(observed, Rule::ReadAtomic);
    for &StaleRead { op, reader, .. } in &reads {
        let start = history
            .session_txns(history.session_of(TxnId(reader)))
            .start;
        let (to, key) = (
            observed.links[op as usize],
            history.ops().keys[op as usize].0,
        );
        let seen = writers.in_session(key, start, reader);
        visible.turn_to(reader);
        let is_direct = |txn: u32| visible.read_of_other_key(txn, key).is_some();
        let counts = |txn: u32| txn != to && !is_direct(txn);
        let on_cycle = |txn: u32| components.same(txn, to);
        let ends = ends_on_cycle(seen, &counts, &on_cycle);
        let not_last = |from: &u32| Some(from) != seen.last();
        for from in ends.into_iter().flatten().filter(not_last) {
            found(Forced {
                to,
                from,
                read: op,
                reader,
                direct: false,
            });
        }
    }
}

/// The reads of versions that are on a cycle with a writer of the reader's session that is not the last one of the key.
fn with_earlier_in_session(
    observed: &Observed<'_>,
    components: &Components,
    is_done: &dyn Fn(u32, u32) -> bool,
) -> Vec<StaleRead> {
    let history = observed.history;
    let mut reads = Vec::new();
    // By key, the last writer and the one before it. If the latter is on no cycle with the version, no earlier one is.
    let mut last = vec![[u32::MAX; 2]; history.keys().limit()];
    let mut buffer = Vec::new();
    for txn in history.txn_ids().filter(|txn| observed.taken[txn.index()]) {
        let start = history.session_txns(history.session_of(txn)).start;
        for op in history.op_range(txn) {
            let link = observed.links[op];
            let [newest, before] = last[history.ops().keys[op].index()];
            let may_be = Link::is_txn(link) & (before != u32::MAX) & (before >= start);
            if may_be && components.same(before, link) && !is_done(op as u32, newest) {
                reads.push(StaleRead::new(op as u32, txn.0));
            }
        }
        for &key in observed.written(txn, &mut buffer) {
            let [newest, before] = &mut last[key as usize];
            (*newest, *before) = (txn.0, *newest);
        }
    }
    reads
}

/// The external reads of one transaction, by key.
struct ReaderKeys<'a> {
    observed: &'a Observed<'a>,
    /// The reads, those of one key linked to each other through `next`.
    ops: Vec<u32>,
    next: Vec<u32>,
    first: StampedMap,
    /// A bit for every key read, at a place that other keys may share: most keys of other
    /// transactions are told apart by it without a branch.
    filter: Vec<u64>,
}

/// How many bits the filter has, as a power of two.
const FILTER_BITS: u32 = 12;

fn filter_place(key: u32) -> (usize, u32) {
    let bit = key.wrapping_mul(0x9E37_79B1) >> (32 - FILTER_BITS);
    (bit as usize / 64, bit % 64)
}

const END: u32 = u32::MAX;

impl<'a> ReaderKeys<'a> {
    fn new(observed: &'a Observed<'a>) -> ReaderKeys<'a> {
        ReaderKeys {
            observed,
            ops: Vec::new(),
            next: Vec::new(),
            first: StampedMap::new(),
            filter: vec![0; 1 << (FILTER_BITS - 6)],
        }
    }

    fn begin(&mut self, op_count: usize, ops: impl Iterator<Item = usize>) {
        for &op in &self.ops {
            let key = self.observed.history.ops().keys[op as usize].0;
            self.filter[filter_place(key).0] = 0;
        }
        self.ops.clear();
        self.next.clear();
        self.first.reset(op_count);
        for op in ops {
            let link = self.observed.links[op];
            if Link::is_txn(link) || link == Link::INITIAL {
                let key = self.observed.history.ops().keys[op].0;
                let at = self.ops.len() as u32;
                self.next.push(self.first.get(key).unwrap_or(END));
                self.first.insert(key, at);
                self.ops.push(op as u32);
                let (word, bit) = filter_place(key);
                self.filter[word] |= 1 << bit;
            }
        }
    }

    fn of_key(&self, key: u32, visit: &mut dyn FnMut(u32)) {
        let mut at = self.first.get(key).unwrap_or(END);
        while at != END {
            visit(self.ops[at as usize]);
            at = self.next[at as usize];
        }
    }
}

/// Visits the reads whose key `t2` writes, by looking through the smaller side.
fn common_keys(
    observed: &Observed<'_>,
    reads: &ReaderKeys<'_>,
    t2: u32,
    large: &mut FxHashMap<u32, Vec<u32>>,
    visit: &mut dyn FnMut(u32),
) {
    let op_count = observed.history.txn(TxnId(t2)).op_count as usize;
    if op_count <= LARGE || op_count <= reads.ops.len() {
        let range = observed.history.op_range(TxnId(t2));
        let keys = observed.history.ops().keys[range.clone()].chunks(LARGE);
        for (keys, links) in keys.zip(observed.links[range].chunks(LARGE)) {
            // Collects without a branch; few keys are left to look up.
            let mut shared = [0u32; LARGE];
            let mut count = 0;
            for (key, &link) in keys.iter().zip(links) {
                let (word, bit) = filter_place(key.0);
                let may_be_read = reads.filter[word] >> bit & 1 == 1;
                shared[count] = key.0;
                count += usize::from(may_be_read & (link == Link::WRITE));
            }
            shared[..count]
                .iter()
                .for_each(|&key| reads.of_key(key, visit));
        }
        return;
    }
    let written = large.entry(t2).or_insert_with(|| {
        let mut keys: Vec<u32> = observed.writes(TxnId(t2)).map(|(_, key)| key.0).collect();
        keys.sort_unstable();
        keys
    });
    for &op in &reads.ops {
        let key = observed.history.ops().keys[op as usize].0;
        if written.binary_search(&key).is_ok() {
            visit(op);
        }
    }
}
