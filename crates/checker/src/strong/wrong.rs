//! What is wrong with a transaction where it is, and what would be elsewhere; the part of `moves` that knows levels.
//!
//! Cost: for each operation, the versions near the transaction's own or behind the one read, with their readers.

use super::known::Why;
use super::moves::{Moves, NEAR, UNIT};
use super::steps::Cost;
use crate::observe::Link;
use history::TxnId;

/// An order that is known counts for so many that are not: what is left wrong at last can be repaired if these are kept.
const KNOWN: i64 = 3;

impl Moves<'_> {
    /// What it counts if something is wrong between two transactions.
    #[inline]
    fn weight(&self, a: u32, b: u32) -> i64 {
        if !self.has_weights[a as usize] || !self.has_weights[b as usize] {
            return UNIT;
        }
        let weight = self.weights.get(&(a.min(b), a.max(b)));
        UNIT + i64::from(weight.copied().unwrap_or(0))
    }

    fn time(&self, event: u32) -> f64 {
        let shape = self.known.shape;
        let txn = shape.txn(event) as usize;
        match shape.is_commit(event) {
            true => self.commits[txn],
            false => self.starts[txn],
        }
    }

    /// Finds out what would be wrong with a transaction by the times of its events.
    pub fn weigh(&mut self, txn: u32) {
        let (known, shape) = (self.known, self.known.shape);
        let mut of_start = std::mem::take(&mut self.of_start);
        let mut of_commit = std::mem::take(&mut self.of_commit);
        let mut overlaps = std::mem::take(&mut self.overlaps);
        of_start.clear();
        of_commit.clear();
        overlaps.clear();
        self.window = f64::NEG_INFINITY..f64::INFINITY;
        known.predecessors(shape.start(txn), |other, why| {
            if is_other(why) {
                of_start.before(self.time(other), KNOWN * self.weight(shape.txn(other), txn));
            }
        });
        known.successors(shape.commit(txn), |other, why| {
            if is_other(why) {
                of_commit.behind(self.time(other), KNOWN * self.weight(txn, shape.txn(other)));
            }
        });
        let observed = known.observed;
        for op in observed.history.op_range(TxnId(txn)) {
            let (link, key) = (observed.links[op], observed.history.ops().keys[op].0);
            if link == Link::WRITE {
                self.weigh_write(txn, key, &mut of_commit, &mut overlaps);
            } else if Link::is_txn(link) || link == Link::INITIAL {
                self.weigh_read(txn, key, link, &mut of_start);
            }
        }
        self.of_start = of_start;
        self.of_commit = of_commit;
        self.overlaps = overlaps;
    }

    fn weigh_read(&self, txn: u32, key: u32, writer: u32, of_start: &mut Cost) {
        let line = self.lines.of(key);
        let mut next = 0;
        if writer != Link::INITIAL {
            next = self.lines.place(key, writer, &self.commits) + 1;
            of_start.before(
                self.commits[writer as usize],
                KNOWN * self.weight(writer, txn),
            );
        }
        let others = line[next..].iter().map(|entry| entry.writer);
        for other in others.filter(|&other| other != txn).take(NEAR) {
            let first = if writer == Link::INITIAL { txn } else { writer };
            of_start.behind(self.commits[other as usize], self.weight(first, other));
        }
    }

    fn weigh_write(
        &mut self,
        txn: u32,
        key: u32,
        of_commit: &mut Cost,
        overlaps: &mut Vec<(f64, f64, i64)>,
    ) {
        let line = self.lines.of(key);
        let own = self.lines.place(key, txn, &self.commits);
        let near = own.saturating_sub(NEAR)..(own + NEAR + 1).min(line.len());
        if near.start > 0 {
            let first = self.commits[line[near.start].writer as usize];
            self.window.start = self.window.start.max(first);
        } else {
            for &reader in self.lines.initial_readers(key) {
                if reader != txn {
                    let start = self.starts[reader as usize];
                    of_commit.before(start, self.weight(txn, reader));
                }
            }
        }
        if near.end < line.len() {
            let last = self.commits[line[near.end].writer as usize];
            self.window.end = self.window.end.min(last);
        }
        for &reader in self.lines.readers(line[own]) {
            let start = self.starts[reader as usize];
            of_commit.behind(start, KNOWN * self.weight(txn, reader));
            for entry in &line[near.clone()] {
                let commit = self.commits[entry.writer as usize];
                if entry.writer != txn && entry.writer != reader && commit < start {
                    of_commit.before(commit, self.weight(txn, entry.writer));
                }
            }
        }
        for &entry in &line[near] {
            if entry.writer == txn {
                continue;
            }
            let commit = self.commits[entry.writer as usize];
            let weight = self.weight(entry.writer, txn);
            for &reader in self.lines.readers(entry) {
                let start = self.starts[reader as usize];
                if reader != txn && commit < start {
                    of_commit.between(commit, start, weight);
                }
            }
            if self.known.shape.exclusive {
                overlaps.push((self.starts[entry.writer as usize], commit, weight));
            }
        }
    }

    /// Finds out what is wrong with a transaction where it is.
    pub fn look(&mut self, txn: u32) {
        let (known, shape) = (self.known, self.known.shape);
        let mut wrong = std::mem::take(&mut self.wrong);
        let mut others = std::mem::take(&mut self.others);
        wrong.clear();
        others.clear();
        let (start, commit) = (self.starts[txn as usize], self.commits[txn as usize]);
        known.predecessors(shape.start(txn), |other, why| {
            if is_other(why) && self.time(other) > start {
                wrong.push((txn, shape.txn(other)));
                others.push(shape.txn(other));
            }
        });
        known.successors(shape.commit(txn), |other, why| {
            if is_other(why) && self.time(other) < commit {
                wrong.push((txn, shape.txn(other)));
                others.push(shape.txn(other));
            }
        });
        let observed = known.observed;
        for op in observed.history.op_range(TxnId(txn)) {
            let (link, key) = (observed.links[op], observed.history.ops().keys[op].0);
            if link == Link::WRITE {
                self.look_at_write(txn, key, &mut wrong, &mut others);
            } else if Link::is_txn(link) || link == Link::INITIAL {
                self.look_at_read(txn, key, link, &mut wrong, &mut others);
            }
        }
        self.wrong = wrong;
        self.others = others;
    }

    fn look_at_read(
        &self,
        txn: u32,
        key: u32,
        writer: u32,
        wrong: &mut Vec<(u32, u32)>,
        others: &mut Vec<u32>,
    ) {
        let start = self.starts[txn as usize];
        let mut next = 0;
        let first = if writer == Link::INITIAL { txn } else { writer };
        if writer != Link::INITIAL {
            next = self.lines.place(key, writer, &self.commits) + 1;
            if start < self.commits[writer as usize] {
                wrong.push((writer, txn));
                others.push(writer);
            }
        }
        let newer = self.lines.of(key)[next..].iter().map(|entry| entry.writer);
        let newer = newer.take_while(|&other| self.commits[other as usize] < start);
        for other in newer.filter(|&other| other != txn).take(NEAR) {
            wrong.push((first, other));
            others.extend([first, other]);
        }
    }

    fn look_at_write(
        &self,
        txn: u32,
        key: u32,
        wrong: &mut Vec<(u32, u32)>,
        others: &mut Vec<u32>,
    ) {
        let (start, commit) = (self.starts[txn as usize], self.commits[txn as usize]);
        let line = self.lines.of(key);
        let own = self.lines.place(key, txn, &self.commits);
        let near = own.saturating_sub(NEAR)..(own + NEAR + 1).min(line.len());
        for &reader in self.lines.readers(line[own]) {
            let start = self.starts[reader as usize];
            if commit > start {
                wrong.push((txn, reader));
                others.push(reader);
            }
            for entry in &line[own + 1..near.end] {
                if entry.writer != reader && self.commits[entry.writer as usize] < start {
                    wrong.push((txn, entry.writer));
                    others.extend([entry.writer, reader]);
                }
            }
        }
        for &entry in &line[near.start..own] {
            for &reader in self.lines.readers(entry) {
                if reader != txn && commit < self.starts[reader as usize] {
                    wrong.push((entry.writer, txn));
                    others.extend([entry.writer, reader]);
                }
            }
        }
        for &reader in self.lines.initial_readers(key) {
            if reader != txn && commit < self.starts[reader as usize] {
                wrong.push((txn, reader));
                others.push(reader);
            }
        }
        if self.known.shape.exclusive {
            for entry in line[near].iter().filter(|entry| entry.writer != txn) {
                let other = entry.writer as usize;
                if commit > self.starts[other] && start < self.commits[other] {
                    wrong.push((txn, entry.writer));
                    others.push(entry.writer);
                }
            }
        }
    }
}

/// Whether an edge is known for something else than a read.
fn is_other(why: Why) -> bool {
    !matches!(why, Why::Own | Why::Read(_))
}
