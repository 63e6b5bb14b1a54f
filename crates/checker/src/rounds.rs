//! Decides a rule by repeated witness orders: fast on histories that obey it.
//!
//! Definition: the rule holds iff so ∪ wr ∪ known versions ∪ the forced edges are acyclic.
//! Steps: schedule; for each stale read, ask which writers of its key the reader must have seen;
//! each such writer gives a forced edge to the version read. Without a forced edge that contradicts
//! the order, the order is the proof. Otherwise add the edges and schedule again. A cycle is a
//! violation: every edge was forced. A stale read whose edges are all there is *examined*, and no
//! later order can contradict it.
//!
//! Ways to find the writers (`Method`): look up, for each transaction or session that counts, the
//! last writer of the key (gives all edges, so the read is examined); or walk the writers of the key
//! between the version read and the reader (gives the contradicting ones). For causality the first
//! needs a walk of clocks over the whole history, the second only a search of the reader's
//! ancestors back to the version read, so it serves the few stale reads of later rounds.
//!
//! Cost: a few linear rounds on real histories (one to six seen); each round adds an edge, so it
//! ends, but no small bound is proved. Where we differ from the literature: AWDIT and Plume
//! generate all forced edges first (`saturate` does that here, for diagnosis).

use crate::Budget;
use crate::budget::Limit;
use crate::clocks::{self, Rows};
use crate::observe::{Link, Observed};
use crate::order::{Forced, ForcedEdges, Schedule, StaleRead, schedule};
use crate::rule::Rule;
use crate::visible::Visible;
use crate::writers::Writers;
use history::TxnId;
use rustc_hash::FxHashSet;

/// How a rule was decided.
pub enum Decision {
    /// It holds, by this order.
    Holds(Vec<u32>),
    /// It does not; the forced edges found so far close a cycle, or these stale reads of initial
    /// versions (with a writer each that was to be seen) contradict it.
    Violated(Contradictions),
}

/// What contradicts an order.
#[derive(Default)]
pub struct Contradictions {
    pub forced: ForcedEdges,
    /// Reads of an initial version, each with a writer that the reader had to see.
    pub initial: Vec<(StaleRead, u32)>,
}

/// How the writers that a reader must have seen are found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    /// By the transactions it read from and its session.
    LookUp,
    /// By clocks.
    Clocks,
    /// Among the writers between the version read and the reader.
    Window,
    /// The same, among the ancestors found by a search of limited size.
    Search { limit: usize },
}

/// Later rounds with fewer stale reads than this search ancestors instead of walking clocks.
const SEARCHES_MAX: usize = 512;
/// Ancestors looked at in such a search before clocks are walked after all.
const ANCESTORS_MAX: usize = 8192;

/// Known version orders as forced edges.
pub fn known_edges(observed: &Observed<'_>) -> ForcedEdges {
    let edge = |(index, known): (usize, &crate::observe::KnownOrder)| Forced {
        to: known.to.0,
        from: known.from.0,
        read: index as u32,
        reader: Forced::KNOWN,
        direct: false,
    };
    let taken =
        |edge: &Forced| observed.taken[edge.to as usize] && observed.taken[edge.from as usize];
    ForcedEdges::new(
        observed
            .known
            .iter()
            .enumerate()
            .map(edge)
            .filter(taken)
            .collect(),
    )
}

/// Decides a rule; see the module's text. `first` is a schedule along so ∪ wr ∪ known orders.
pub fn decide(
    observed: &Observed<'_>,
    rule: Rule,
    first: &Schedule,
    budget: &Budget<'_>,
) -> Result<Decision, Limit> {
    let mut found = Contradictions {
        forced: known_edges(observed),
        initial: Vec::new(),
    };
    if !first.complete {
        return Ok(Decision::Violated(found));
    }
    let mut again: Option<Schedule> = None;
    let mut examined = FxHashSet::default();
    let mut round = 0;
    loop {
        let current = again.as_ref().unwrap_or(first);
        budget.check("witness order")?;
        let is_new = |stale: &&StaleRead| !examined.contains(&stale.op);
        let stale: Vec<StaleRead> = current.stale.iter().filter(is_new).copied().collect();
        let mut method = method(observed, rule, round, stale.len());
        let mut more = contradictions(observed, rule, current, &stale, method, budget)?;
        if more.is_none() {
            method = Method::Clocks;
            more = contradictions(observed, rule, current, &stale, method, budget)?;
        }
        let more = more.expect("only a limited search gives up");
        if matches!(method, Method::LookUp | Method::Clocks) {
            examined.extend(stale.iter().map(|stale| stale.op));
        }
        if !more.initial.is_empty() {
            found.initial = more.initial;
            found.forced.extend(more.forced.edges);
            return Ok(Decision::Violated(found));
        }
        let place = places(observed, current);
        let contradicts = |edge: &Forced| place[edge.from as usize] > place[edge.to as usize];
        if !more.forced.edges.iter().any(contradicts) {
            return Ok(Decision::Holds(current.order.clone()));
        }
        found.forced.extend(more.forced.edges);
        let next = schedule(observed, &found.forced);
        if !next.complete {
            return Ok(Decision::Violated(found));
        }
        again = Some(next);
        round += 1;
    }
}

/// How to look at the stale reads of a round.
fn method(observed: &Observed<'_>, rule: Rule, round: usize, stale_count: usize) -> Method {
    if rule.walks_windows() {
        return Method::Window;
    }
    if rule != Rule::Causal {
        return Method::LookUp;
    }
    if !clocks::affordable(observed) {
        return Method::Search { limit: usize::MAX };
    }
    if round > 0 && stale_count <= SEARCHES_MAX {
        return Method::Search {
            limit: ANCESTORS_MAX,
        };
    }
    Method::Clocks
}

/// The place of each transaction in an order.
fn places(observed: &Observed<'_>, current: &Schedule) -> Vec<u32> {
    let mut place = vec![u32::MAX; observed.history.txn_count()];
    for (at, &txn) in current.order.iter().enumerate() {
        place[txn as usize] = at as u32;
    }
    place
}

/// The edges that stale reads force; `None` if a limited search gave up.
fn contradictions(
    observed: &Observed<'_>,
    rule: Rule,
    current: &Schedule,
    stale: &[StaleRead],
    method: Method,
    budget: &Budget<'_>,
) -> Result<Option<Contradictions>, Limit> {
    let mut found = Contradictions::default();
    if stale.is_empty() {
        return Ok(Some(found));
    }
    let keys = &observed.history.ops().keys;
    let stale_keys = stale.iter().map(|stale| keys[stale.op as usize].0);
    let windows = matches!(method, Method::Window | Method::Search { .. });
    let writers = Writers::of_keys(observed, stale_keys, windows.then_some(&current.order[..]));
    let searching = matches!(method, Method::Search { .. });
    let visible = Visible::new(observed, rule, searching);
    let place = places(observed, current);
    let mut search = Search {
        observed,
        method,
        place,
        writers,
        visible,
        edges: Vec::new(),
    };
    let mut groups = stale.chunk_by(|a, b| a.reader == b.reader);
    if method == Method::Clocks {
        let mut group = groups.next();
        let last = stale
            .last()
            .map_or(0, |stale| search.place[stale.reader as usize]);
        let order = &current.order[..last as usize + 1];
        clocks::walk(observed, order, None, budget, |txn, row, rows| {
            if let Some(stale) = group
                && stale[0].reader == txn
            {
                search.reader(stale, Some((row, rows)), &mut found);
                group = groups.next();
            }
        })?;
    } else {
        for (count, stale) in groups.enumerate() {
            if count % 1024 == 0 {
                budget.check("stale reads")?;
            }
            if !search.reader(stale, None, &mut found) {
                return Ok(None);
            }
        }
    }
    found.forced = ForcedEdges::new(search.edges);
    Ok(Some(found))
}

/// The clock row of a reader, and the rows of what it read from.
type Clock<'c, 'a> = (&'c [u32], &'c Rows<'a>);

/// The search for forced edges in one round.
struct Search<'a> {
    observed: &'a Observed<'a>,
    method: Method,
    place: Vec<u32>,
    writers: Writers,
    visible: Visible<'a>,
    edges: Vec<Forced>,
}

impl<'a> Search<'a> {
    /// All stale reads of one reader; false if the search for its ancestors gave up.
    fn reader(
        &mut self,
        stale: &[StaleRead],
        clock: Option<Clock<'_, 'a>>,
        found: &mut Contradictions,
    ) -> bool {
        self.visible.begin(stale[0].reader);
        if let Method::Search { limit } = self.method {
            let oldest = stale
                .iter()
                .map(|read| self.place_read(read))
                .min()
                .flatten();
            if !self.visible.search_ancestors(&self.place, oldest, limit) {
                return false;
            }
        }
        let mut seen = Vec::new();
        for &read in stale {
            seen.clear();
            match (self.method, clock) {
                (Method::LookUp, _) => self.look_up(read, &mut seen),
                (_, Some(clock)) => self.look_up_by_clock(read, clock, &mut seen),
                _ => self.walk_window(read, &mut seen),
            }
            self.add(read, &seen, found);
        }
        true
    }

    /// The place of the version read; none for the initial version.
    fn place_read(&self, stale: &StaleRead) -> Option<u32> {
        let link = self.observed.links[stale.op as usize];
        Link::is_txn(link).then(|| self.place[link as usize])
    }

    fn add(&mut self, stale: StaleRead, seen: &[u32], found: &mut Contradictions) {
        let key = self.observed.history.ops().keys[stale.op as usize].0;
        let to = self.observed.links[stale.op as usize];
        for &from in seen {
            if to == Link::INITIAL {
                found.initial.push((stale, from));
                return;
            }
            let direct = self.visible.read_of_other_key(from, key).is_some();
            self.edges.push(Forced {
                to,
                from,
                read: stale.op,
                reader: stale.reader,
                direct,
            });
        }
    }

    /// Newest first; an older writer of a session already found adds nothing.
    fn walk_window(&self, stale: StaleRead, seen: &mut Vec<u32>) {
        let key = self.observed.history.ops().keys[stale.op as usize].0;
        let (after, before) = (self.place_read(&stale), self.place[stale.reader as usize]);
        let window = self.writers.between(key, &self.place, after, before);
        let session_of = |txn: u32| self.observed.history.session_of(TxnId(txn));
        for &t2 in window.iter().rev() {
            let implied = seen.iter().any(|&t| session_of(t) == session_of(t2));
            if !implied && self.visible.sees(t2, stale.op, None) {
                seen.push(t2);
            }
        }
    }

    /// The last writer of the key in each session that happens before the reader, unless it
    /// happens before the version read anyway.
    fn look_up_by_clock(&self, stale: StaleRead, clock: Clock<'_, 'a>, seen: &mut Vec<u32>) {
        let history = self.observed.history;
        let key = history.ops().keys[stale.op as usize].0;
        let version = self.observed.links[stale.op as usize];
        let (row, rows) = clock;
        let version_row = if Link::is_txn(version) {
            rows.kept(version)
        } else {
            None
        };
        let mut rest = self.writers.by_number(key);
        while let Some(&first) = rest.first() {
            let session = history.session_of(TxnId(first));
            let len = rest.partition_point(|&txn| txn < history.session_txns(session).end);
            let (mine, others) = rest.split_at(len);
            rest = others;
            let limit = row[session.index()];
            let known = mine.partition_point(|&txn| txn < limit);
            let last = mine[..known]
                .iter()
                .rev()
                .copied()
                .find(|&txn| txn != stale.reader);
            let implied = |t2: u32| version_row.is_some_and(|row| row[session.index()] > t2);
            seen.extend(last.filter(|&t2| t2 != version && !implied(t2)));
        }
    }

    /// The writers of the key among the transactions that count, without clocks.
    fn look_up(&self, stale: StaleRead, seen: &mut Vec<u32>) {
        let history = self.observed.history;
        let key = history.ops().keys[stale.op as usize].0;
        let version = self.observed.links[stale.op as usize];
        let mut add = |t2: Option<u32>| {
            if let Some(t2) = t2.filter(|&t2| t2 != stale.reader && t2 != version)
                && self.visible.sees(t2, stale.op, None)
            {
                seen.push(t2);
            }
        };
        let session = history.session_txns(history.session_of(TxnId(stale.reader)));
        add(self
            .writers
            .last_in_session(key, session.start, stale.reader));
        for &(writer, _) in &self.visible.read_from {
            if self.visible.rule() == Rule::MonotonicWrites {
                let session = history.session_txns(history.session_of(TxnId(writer)));
                add(self.writers.last_in_session(key, session.start, writer));
            } else if self.writers.writes(writer, key) {
                add(Some(writer));
            }
        }
    }
}
