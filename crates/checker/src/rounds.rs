//! Decides a rule by repeated witness orders: fast on histories that obey it.
//!
//! Definition: the rule holds iff so ∪ wr ∪ known versions ∪ the forced edges are acyclic.
//! Steps: schedule; for each stale read, look at the writers of its key between the version read
//! and the reader, and ask which of them the reader must have seen; each such writer contradicts
//! the order and gives a forced edge to the version read. Without a contradiction the order is the
//! proof. Otherwise add the edges and schedule again. A cycle is a violation: every edge was forced.
//!
//! Cost: a few linear rounds on real histories (one to six seen); each round adds an edge, so it
//! ends, but no small bound is proved. Where we differ from the literature: AWDIT and Plume
//! generate all forced edges first (`saturate` does that here, for diagnosis).

use crate::Budget;
use crate::budget::Limit;
use crate::clocks;
use crate::observe::{Link, Observed};
use crate::order::{Forced, ForcedEdges, Schedule, StaleRead, schedule};
use crate::rule::Rule;
use crate::visible::Visible;
use crate::writers::Writers;
use history::TxnId;

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

/// Windows longer than this are not walked; the transactions that count are looked up instead.
const WINDOW_MAX: usize = 64;

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
    loop {
        let current = again.as_ref().unwrap_or(first);
        budget.check("witness order")?;
        let more = contradictions(observed, rule, current, budget)?;
        if !more.initial.is_empty() {
            found.initial = more.initial;
            found.forced.extend(more.forced.edges);
            return Ok(Decision::Violated(found));
        }
        if more.forced.edges.is_empty() {
            return Ok(Decision::Holds(current.order.clone()));
        }
        found.forced.extend(more.forced.edges);
        let next = schedule(observed, &found.forced);
        if !next.complete {
            return Ok(Decision::Violated(found));
        }
        again = Some(next);
    }
}

/// The edges that contradict an order, by its stale reads.
fn contradictions(
    observed: &Observed<'_>,
    rule: Rule,
    current: &Schedule,
    budget: &Budget<'_>,
) -> Result<Contradictions, Limit> {
    let mut found = Contradictions::default();
    if current.stale.is_empty() {
        return Ok(found);
    }
    let mut place = vec![u32::MAX; observed.history.txn_count()];
    for (at, &txn) in current.order.iter().enumerate() {
        place[txn as usize] = at as u32;
    }
    let keys = &observed.history.ops().keys;
    let stale_keys = current.stale.iter().map(|stale| keys[stale.op as usize].0);
    let writers = Writers::of_keys(observed, stale_keys, &current.order);
    let with_clocks = rule == Rule::Causal && clocks::affordable(observed);
    let searching = rule == Rule::Causal && !with_clocks;
    let visible = Visible::new(observed, rule, searching);
    let mut search = Search {
        observed,
        rule,
        place,
        writers,
        visible,
        edges: Vec::new(),
    };
    let mut groups = current.stale.chunk_by(|a, b| a.reader == b.reader);
    if with_clocks {
        let mut group = groups.next();
        let last = current
            .stale
            .last()
            .map_or(0, |stale| search.place[stale.reader as usize]);
        let order = &current.order[..last as usize + 1];
        clocks::walk(observed, order, None, budget, |txn, row, _| {
            if group.is_some_and(|stale| stale[0].reader == txn) {
                search.reader(group.unwrap_or_default(), Some(row), &mut found);
                group = groups.next();
            }
        })?;
    } else {
        for (count, stale) in groups.enumerate() {
            if count % 1024 == 0 {
                budget.check("stale reads")?;
            }
            search.reader(stale, None, &mut found);
        }
    }
    found.forced = ForcedEdges::new(search.edges);
    Ok(found)
}

/// The search for contradictions in one order.
struct Search<'a> {
    observed: &'a Observed<'a>,
    rule: Rule,
    place: Vec<u32>,
    writers: Writers,
    visible: Visible<'a>,
    edges: Vec<Forced>,
}

impl Search<'_> {
    /// All stale reads of one reader.
    fn reader(&mut self, stale: &[StaleRead], row: Option<&[u32]>, found: &mut Contradictions) {
        self.visible.begin(stale[0].reader);
        if self.rule == Rule::Causal && row.is_none() {
            let oldest = stale
                .iter()
                .map(|read| self.place_read(read))
                .min()
                .flatten();
            self.visible.search_ancestors(&self.place, oldest);
        }
        for read in stale {
            self.read(*read, row, found);
        }
    }

    /// The place of the version read; none for the initial version.
    fn place_read(&self, stale: &StaleRead) -> Option<u32> {
        let link = self.observed.links[stale.op as usize];
        Link::is_txn(link).then(|| self.place[link as usize])
    }

    fn read(&mut self, stale: StaleRead, row: Option<&[u32]>, found: &mut Contradictions) {
        let key = self.observed.history.ops().keys[stale.op as usize].0;
        let link = self.observed.links[stale.op as usize];
        let after = self.place_read(&stale);
        let before = self.place[stale.reader as usize];
        let window = self.writers.between(key, &self.place, after, before);
        let mut seen = Vec::new();
        let searched = self.rule == Rule::Causal && row.is_none();
        if window.len() <= WINDOW_MAX || self.rule.walks_windows() || searched {
            self.walk(window, stale, row, &mut seen);
        } else {
            self.look_up(key, stale, row, &mut seen);
            seen.retain(|&t2| {
                let place = self.place[t2 as usize];
                after.is_none_or(|after| place > after) && place < before
            });
        }
        for t2 in seen {
            if link == Link::INITIAL {
                found.initial.push((stale, t2));
                break;
            }
            let direct = self.visible.read_of_other_key(t2, key).is_some();
            self.edges.push(Forced {
                to: link,
                from: t2,
                read: stale.op,
                reader: stale.reader,
                direct,
            });
        }
    }

    /// Newest first; an older writer of a session already found adds nothing.
    fn walk(&self, window: &[u32], stale: StaleRead, row: Option<&[u32]>, seen: &mut Vec<u32>) {
        for &t2 in window.iter().rev() {
            let session = self.observed.history.session_of(TxnId(t2));
            let implied = seen
                .iter()
                .any(|&t| self.observed.history.session_of(TxnId(t)) == session);
            if !implied && self.visible.sees(t2, stale.op, row) {
                seen.push(t2);
            }
        }
    }

    /// For a long window: the writers of the key among the transactions that count.
    fn look_up(&self, key: u32, stale: StaleRead, row: Option<&[u32]>, seen: &mut Vec<u32>) {
        let history = self.observed.history;
        let mut add = |t2: Option<u32>| {
            if let Some(t2) = t2.filter(|&t2| t2 != stale.reader)
                && self.visible.sees(t2, stale.op, row)
            {
                seen.push(t2);
            }
        };
        if let Some(row) = row {
            for (session, &limit) in row.iter().enumerate().filter(|&(_, &limit)| limit > 0) {
                let start = history
                    .session_txns(history::SessionId(session as u32))
                    .start;
                let own = history.session_of(TxnId(stale.reader)).index() == session;
                let limit = if own { stale.reader } else { limit };
                add(self.writers.last_in_session(key, start, limit));
            }
            return;
        }
        let session = history.session_txns(history.session_of(TxnId(stale.reader)));
        add(self
            .writers
            .last_in_session(key, session.start, stale.reader));
        for &(writer, _) in &self.visible.read_from {
            if self.rule == Rule::MonotonicWrites {
                let session = history.session_txns(history.session_of(TxnId(writer)));
                add(self.writers.last_in_session(key, session.start, writer));
            } else {
                add(Some(writer).filter(|&writer| self.writers.writes(writer, key)));
            }
        }
    }
}
