//! What stale reads demand: for each, the writers of its key that the reader must have seen.
//!
//! Ways to find them ([`Method`]): look up those among the transactions that the reader read from
//! and the last one of its session, which gives all edges that the read will ever force; or walk
//! the writers of the key between the version read and the reader, which gives those that
//! contradict the order at hand. For causality clocks tell which of them the reader must have seen:
//! all rows where they fit, else a walk that keeps few. With few stale reads, or so many sessions
//! that clocks are impossible, the reader's ancestors are searched back to the version read.
//!
//! Cost: one lookup for each transaction read from, or the length of the window, a stale read; a
//! search is as long as the order between the version read and the reader.

use crate::Budget;
use crate::budget::Limit;
use crate::clocks::{self, AllRows};
use crate::observe::{Link, Observed};
use crate::order::{Forced, Schedule, StaleRead};
use crate::rounds::{Contradictions, places};
use crate::rule::Rule;
use crate::saturate::DirectEdges;
use crate::visible::Visible;
use crate::writers::Writers;
use history::TxnId;

/// How the writers that a reader must have seen are found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    /// By the transactions it read from and its session.
    LookUp,
    /// By clocks that are all there.
    Rows,
    /// By clocks that come and go.
    Walk,
    /// Among the writers between the version read and the reader.
    Window,
    /// The same, among the ancestors found by a search.
    Search,
}

/// The stale reads of one decision, round after round.
pub struct StaleReads<'a> {
    observed: &'a Observed<'a>,
    rule: Rule,
    method: Method,
    rows: Option<AllRows>,
    round: usize,
    /// The writers of all keys, from the second round on.
    all_writers: Option<Writers>,
}

/// A search is worth so many entries of clock rows; a few are always worth a try. One that finds
/// more ancestors than this is given up for clocks.
const ROW_ENTRIES_A_SEARCH: usize = 8192;
const FEW_SEARCHES: usize = 2;
const ANCESTORS_MAX: usize = 4096;

/// Beyond so many keys, an index of all of them costs more than one for each round.
const ALL_KEYS_MAX: usize = 1 << 28;

impl<'a> StaleReads<'a> {
    pub fn new(observed: &'a Observed<'a>, rule: Rule) -> StaleReads<'a> {
        let method = match rule {
            Rule::MonotonicReads | Rule::WritesFollowReads => Method::Window,
            Rule::Causal => Method::Search,
            _ => Method::LookUp,
        };
        StaleReads {
            observed,
            rule,
            method,
            rows: None,
            round: 0,
            all_writers: None,
        }
    }

    /// Whether a read looked at needs no second look.
    pub fn finds_all(&self) -> bool {
        self.method == Method::LookUp
    }

    /// The edges that stale reads force in an order.
    pub fn contradictions(
        &mut self,
        current: &Schedule,
        stale: &[StaleRead],
        budget: &Budget<'_>,
    ) -> Result<Contradictions, Limit> {
        let mut found = Contradictions::default();
        if stale.is_empty() {
            return Ok(found);
        }
        let mut limit = usize::MAX;
        if self.method == Method::Search && clocks::affordable(self.observed) {
            let history = self.observed.history;
            let worth = history.txn_count() * history.session_count() / ROW_ENTRIES_A_SEARCH;
            if stale.len() <= worth.max(FEW_SEARCHES) {
                limit = ANCESTORS_MAX;
            } else {
                self.use_clocks(current);
            }
        }
        let writers = match self.all_writers.take() {
            Some(writers) => writers,
            None => self.writers(current, stale),
        };
        let observed = self.observed;
        let visible = Visible::new(observed, self.rule, self.method == Method::Search);
        let direct = DirectEdges::new(observed, self.rule);
        let place = places(observed, current);
        let (method, rows) = (self.method, self.rows.as_ref());
        let edges = Vec::new();
        let mut search = Search {
            observed,
            method,
            rows,
            place,
            writers,
            visible,
            direct,
            edges,
            limit,
            gave_up: false,
        };
        search.all(current, stale, budget, &mut found)?;
        if search.gave_up {
            self.use_clocks(current);
            return self.contradictions(current, stale, budget);
        }
        found.forced = search.edges;
        if search.writers.are_of_all_keys() {
            self.all_writers = Some(search.writers);
        }
        self.round += 1;
        Ok(found)
    }

    fn use_clocks(&mut self, current: &Schedule) {
        self.rows = AllRows::new(self.observed, &current.order);
        self.method = if self.rows.is_some() {
            Method::Rows
        } else {
            Method::Walk
        };
    }

    fn writers(&self, current: &Schedule, stale: &[StaleRead]) -> Writers {
        if self.rule == Rule::ReadCommitted {
            return Writers::of_keys(self.observed, std::iter::empty(), None);
        }
        let in_order = self.method != Method::LookUp;
        let key_count = self.observed.history.keys().limit();
        if self.round > 0 && !in_order && key_count <= ALL_KEYS_MAX {
            return Writers::of_all_keys(self.observed);
        }
        let keys = &self.observed.history.ops().keys;
        let stale_keys = stale.iter().map(|stale| keys[stale.op as usize].0);
        Writers::of_keys(
            self.observed,
            stale_keys,
            in_order.then_some(&current.order[..]),
        )
    }
}

/// The search for forced edges in one round.
struct Search<'a> {
    observed: &'a Observed<'a>,
    method: Method,
    rows: Option<&'a AllRows>,
    place: Vec<u32>,
    writers: Writers,
    visible: Visible<'a>,
    direct: DirectEdges<'a>,
    edges: Vec<Forced>,
    /// The most ancestors a search may find, and whether one found more.
    limit: usize,
    gave_up: bool,
}

/// The clock row of a reader.
type Row<'r> = &'r [u32];

/// A window longer than this many sessions is not walked: each session is asked for its last
/// writer instead.
const LONG_WINDOW: usize = 8;

impl Search<'_> {
    fn all(
        &mut self,
        current: &Schedule,
        stale: &[StaleRead],
        budget: &Budget<'_>,
        found: &mut Contradictions,
    ) -> Result<(), Limit> {
        let mut groups = stale.chunk_by(|a, b| a.reader == b.reader);
        if self.method == Method::Walk {
            let mut group = groups.next();
            let last = stale
                .last()
                .map_or(0, |stale| self.place[stale.reader as usize]);
            let order = &current.order[..last as usize + 1];
            let observed = self.observed;
            return clocks::walk(observed, order, None, budget, |txn, row, _| {
                if let Some(stale) = group
                    && stale[0].reader == txn
                {
                    self.visible.begin(txn);
                    for &read in stale {
                        self.walk_window(read, Some(row), found);
                    }
                    group = groups.next();
                }
            });
        }
        for (count, stale) in groups.enumerate() {
            if count % 1024 == 0 {
                budget.check("stale reads")?;
            }
            self.reader(stale, found);
            if self.gave_up {
                break;
            }
        }
        Ok(())
    }

    /// All stale reads of one reader.
    fn reader(&mut self, stale: &[StaleRead], found: &mut Contradictions) {
        let reader = stale[0].reader;
        self.visible.begin(reader);
        if matches!(self.visible.rule(), Rule::ReadCommitted | Rule::ReadAtomic) {
            return self.by_reads(stale, found);
        }
        if self.method == Method::Search {
            let oldest = stale
                .iter()
                .map(|read| self.place_read(read))
                .min()
                .flatten();
            if !self
                .visible
                .search_ancestors(&self.place, oldest, self.limit)
            {
                self.gave_up = true;
                return;
            }
        }
        let row = self.rows.map(|rows| rows.row(reader));
        for &read in stale {
            match self.method {
                Method::LookUp => self.look_up(read, found),
                _ => self.walk_window(read, row, found),
            }
        }
    }

    /// The place of the version read; none for the initial version.
    fn place_read(&self, stale: &StaleRead) -> Option<u32> {
        let link = self.observed.links[stale.op as usize];
        Link::is_txn(link).then(|| self.place[link as usize])
    }

    fn add(&mut self, stale: StaleRead, from: u32, found: &mut Contradictions) {
        let key = self.observed.history.ops().keys[stale.op as usize].0;
        let to = self.observed.links[stale.op as usize];
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

    /// Newest first; an older writer of a session already found adds nothing.
    fn walk_window(&mut self, stale: StaleRead, row: Option<Row<'_>>, found: &mut Contradictions) {
        let key = self.observed.history.ops().keys[stale.op as usize].0;
        let (after, before) = (self.place_read(&stale), self.place[stale.reader as usize]);
        let window = self.writers.between(key, &self.place, after, before);
        let session_of = |txn: u32| self.observed.history.session_of(TxnId(txn));
        let mut seen: Vec<u32> = Vec::new();
        if let Some(row) = row
            && window.len() > LONG_WINDOW * row.len()
        {
            self.last_of_sessions(stale, key, row, &mut seen);
            seen.retain(|&t2| {
                let place = self.place[t2 as usize];
                after.is_none_or(|after| place > after) && place < before
            });
            return seen.into_iter().for_each(|t2| self.add(stale, t2, found));
        }
        let implied = |t2: u32, seen: &[u32]| seen.iter().any(|&t| session_of(t) == session_of(t2));
        for &t2 in window.iter().rev() {
            if self.visible.sees(t2, stale.op, row) && !implied(t2, &seen) {
                seen.push(t2);
            }
        }
        for t2 in seen {
            self.add(stale, t2, found);
        }
    }

    /// The last writer of the key in each session that happens before the reader.
    fn last_of_sessions(&self, stale: StaleRead, key: u32, row: Row<'_>, seen: &mut Vec<u32>) {
        let history = self.observed.history;
        for session in history.sessions() {
            let txns = history.session_txns(session);
            let mut limit = row[session.index()].min(txns.end);
            if txns.contains(&stale.reader) {
                limit = stale.reader;
            }
            seen.extend(self.writers.last_in_session(key, txns.start, limit));
        }
    }

    /// For read-your-writes and monotonic writes: the last writer of the key in the own session,
    /// or in each session that the reader read from.
    fn look_up(&mut self, stale: StaleRead, found: &mut Contradictions) {
        let history = self.observed.history;
        let key = history.ops().keys[stale.op as usize].0;
        self.look_up_session(stale, found);
        if self.visible.rule() == Rule::MonotonicWrites {
            for at in 0..self.visible.read_from.len() {
                let (writer, _) = self.visible.read_from[at];
                let session = history.session_txns(history.session_of(TxnId(writer)));
                let last = self.writers.last_in_session(key, session.start, writer);
                self.add_if_seen(stale, last, found);
            }
        }
    }

    fn look_up_session(&mut self, stale: StaleRead, found: &mut Contradictions) {
        let history = self.observed.history;
        let key = history.ops().keys[stale.op as usize].0;
        let session = history.session_txns(history.session_of(TxnId(stale.reader)));
        let last = self
            .writers
            .last_in_session(key, session.start, stale.reader);
        self.add_if_seen(stale, last, found);
    }

    fn add_if_seen(&mut self, stale: StaleRead, t2: Option<u32>, found: &mut Contradictions) {
        let version = self.observed.links[stale.op as usize];
        if let Some(t2) = t2.filter(|&t2| t2 != stale.reader && t2 != version)
            && self.visible.sees(t2, stale.op, None)
        {
            self.add(stale, t2, found);
        }
    }

    /// What the reader read from directly, through the smaller side of each pair of transactions.
    fn by_reads(&mut self, stale: &[StaleRead], found: &mut Contradictions) {
        if self.visible.rule() == Rule::ReadAtomic {
            for &read in stale {
                self.look_up_session(read, found);
            }
        }
        let edges = &mut self.edges;
        let ops = stale.iter().map(|read| read.op as usize);
        self.direct
            .of_reads(TxnId(stale[0].reader), ops, &mut |edge| {
                if edge.to == Link::INITIAL {
                    let read = StaleRead {
                        op: edge.read,
                        reader: edge.reader,
                    };
                    found.initial.push((read, edge.from));
                } else {
                    edges.push(edge);
                }
            });
    }
}
