//! Answers `phi(t2, t3)` for one reader `t3` after another.
//!
//! What is prepared for a reader depends on the rule: the transactions it read from and where it
//! first did (read-committed, read-atomic), the newest of each session among them (monotonic
//! writes), or, on request, its ancestors by a backward search that stops at the place of the oldest
//! version in question.
//!
//! Cost: linear in the reader's reads, plus the ancestors searched.

use crate::observe::{Link, Observed};
use crate::rule::Rule;
use crate::stamped::StampedMap;
use history::TxnId;

/// The sight of one reader at a time.
pub struct Visible<'a> {
    observed: &'a Observed<'a>,
    rule: Rule,
    reader: u32,
    session_start: u32,
    /// The transactions read from, each with the first read of it.
    pub read_from: Vec<(u32, u32)>,
    first_read: StampedMap,
    /// The transactions of which more than one key was read.
    second_key: StampedMap,
    /// The newest transaction read from, by session.
    newest: StampedMap,
    /// Stamps of a backward search.
    ancestor: Vec<u32>,
    search: u32,
    stack: Vec<u32>,
}

impl<'a> Visible<'a> {
    /// Prepares for a rule.
    pub fn new(observed: &'a Observed<'a>, rule: Rule) -> Visible<'a> {
        Visible {
            observed,
            rule,
            reader: u32::MAX,
            session_start: 0,
            read_from: Vec::new(),
            first_read: StampedMap::new(),
            second_key: StampedMap::new(),
            newest: StampedMap::new(),
            ancestor: Vec::new(),
            search: 0,
            stack: Vec::new(),
        }
    }

    /// The rule that is answered for.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// Turns to a reader, unless it is the current one.
    pub fn turn_to(&mut self, reader: u32) {
        if self.reader != reader {
            self.begin(reader);
        }
    }

    /// Turns to a reader.
    pub fn begin(&mut self, reader: u32) {
        let history = self.observed.history;
        self.reader = reader;
        self.session_start = history
            .session_txns(history.session_of(TxnId(reader)))
            .start;
        self.read_from.clear();
        let op_count = history.txn(TxnId(reader)).op_count as usize;
        self.first_read.reset(op_count);
        self.second_key.reset(op_count);
        for (op, key, writer) in self.observed.reads(TxnId(reader)) {
            let first = self.first_read.get_or_insert(writer.0, op.0);
            if first == op.0 {
                self.read_from.push((writer.0, op.0));
            } else if history.ops().keys[first as usize] != key {
                self.second_key.insert(writer.0, op.0);
            }
        }
        if self.rule == Rule::MonotonicWrites {
            self.newest.reset(self.read_from.len());
            for &(writer, _) in &self.read_from {
                let session = history.session_of(TxnId(writer)).0;
                if self.newest.get_or_insert(session, writer) < writer {
                    self.newest.insert(session, writer);
                }
            }
        }
    }

    /// Finds the ancestors of the reader whose place is after `floor`. Gives up, and says so, when
    /// there are more than `limit`.
    pub fn search_ancestors(&mut self, place: &[u32], floor: Option<u32>, limit: usize) -> bool {
        self.search += 1;
        self.ancestor.resize(self.observed.history.txn_count(), 0);
        let mut count = 0;
        self.stack.clear();
        let above = |txn: u32| floor.is_none_or(|floor| place[txn as usize] > floor);
        self.stack.push(self.reader);
        while let Some(txn) = self.stack.pop() {
            let history = self.observed.history;
            let so = self.observed.session_predecessor(txn);
            let links = &self.observed.links[history.op_range(TxnId(txn))];
            let reads = links.iter().copied().filter(|&link| Link::is_txn(link));
            for before in so.into_iter().chain(reads) {
                if above(before) && self.ancestor[before as usize] != self.search {
                    self.ancestor[before as usize] = self.search;
                    self.stack.push(before);
                    count += 1;
                }
            }
            if count > limit {
                return false;
            }
        }
        true
    }

    /// Whether `t2` is in the reader's session, before it.
    pub fn by_session(&self, t2: u32) -> bool {
        t2 >= self.session_start && t2 < self.reader
    }

    /// A read of the reader that returned `t2`'s version of a key other than `key`.
    pub fn read_of_other_key(&self, t2: u32, key: u32) -> Option<u32> {
        let first = self.first_read.get(t2)?;
        if self.observed.history.ops().keys[first as usize].0 != key {
            return Some(first);
        }
        self.second_key.get(t2)
    }

    /// Whether the last search found `t2`.
    pub fn found_ancestor(&self, t2: u32) -> bool {
        self.ancestor[t2 as usize] == self.search
    }

    /// `phi(t2, reader)` for a read of the reader, by the rules that look at direct reads and the
    /// own session.
    pub fn sees(&self, t2: u32, read: u32) -> bool {
        let history = self.observed.history;
        match self.rule {
            Rule::ReadCommitted => self.first_read.get(t2).is_some_and(|first| first < read),
            Rule::ReadYourWrites => self.by_session(t2),
            Rule::ReadAtomic => self.by_session(t2) || self.first_read.get(t2).is_some(),
            Rule::MonotonicWrites => {
                let session = history.session_of(TxnId(t2)).0;
                self.newest.get(session).is_some_and(|newest| newest > t2)
            }
            Rule::MonotonicReads | Rule::WritesFollowReads | Rule::Causal => false,
        }
    }
}
