//! PostgreSQL's serializable snapshot isolation.
//!
//! Definition: an edge from a reader to a concurrent writer of something it read (rw). Two such
//! edges in a row, T1 → T2 → T3, where T3 commits first of the three, are a dangerous structure:
//! somebody is aborted. A read locks (without anybody waiting for it) the rows it found; by a key
//! also the page of the index, which for a small table is all of it, so that any insert meets it; a
//! search locks the whole table.
//! Steps: an edge is added when a statement meets what another one did; at that moment, and when a
//! transaction commits, structures through it are looked for. The one at work is aborted if it is
//! the pivot or if the pivot has committed; else the pivot is doomed and fails at its next step.
//! Cost: quadratic in the transactions for each edge.
//! Source: Ports and Grittner, "Serializable Snapshot Isolation in PostgreSQL", VLDB 2012, and
//! `OnConflict_CheckForSerializationFailure`, `PreCommit_CheckForSerializationFailure` in
//! PostgreSQL 15. Where we differ: no summarisation, no special treatment of read-only snapshots
//! beyond the rule that T3 must commit before a read-only T1 takes its snapshot.

use crate::execute::store::RowId;
use crate::schema::TableId;
use std::collections::BTreeSet;

/// What a transaction read, as far as locks tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    Row(RowId),
    /// The index of a table: met by inserts.
    Index(TableId),
    Table(TableId),
}

/// What a transaction did that others may have read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Written {
    pub row: RowId,
    pub table: TableId,
    pub inserts: bool,
}

impl Written {
    fn meets(self, target: Target) -> bool {
        match target {
            Target::Row(row) => row == self.row,
            Target::Index(table) => self.inserts && table == self.table,
            Target::Table(table) => table == self.table,
        }
    }
}

#[derive(Default, Clone)]
struct Member {
    takes_part: bool,
    began: u64,
    committed: Option<u64>,
    aborted: bool,
    doomed: bool,
    reads: BTreeSet<Target>,
    writes: BTreeSet<Written>,
}

/// The serializable transactions and their conflicts.
pub(super) struct Ssi {
    members: Vec<Member>,
    /// From reader to writer.
    conflicts: BTreeSet<(usize, usize)>,
    clock: u64,
}

impl Ssi {
    pub fn new(count: usize) -> Ssi {
        Ssi {
            members: vec![Member::default(); count],
            conflicts: BTreeSet::new(),
            clock: 0,
        }
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// A transaction takes its snapshot.
    pub fn begin(&mut self, who: usize) {
        let now = self.tick();
        let member = &mut self.members[who];
        member.takes_part = true;
        member.began = now;
    }

    pub fn is_doomed(&self, who: usize) -> bool {
        self.members[who].doomed
    }

    fn is_concurrent(&self, a: usize, b: usize) -> bool {
        let (one, two) = (&self.members[a], &self.members[b]);
        let before = |x: &Member, y: &Member| x.committed.is_some_and(|end| end < y.began);
        a != b
            && one.takes_part
            && two.takes_part
            && !one.aborted
            && !two.aborted
            && !before(one, two)
            && !before(two, one)
    }

    /// A statement read and wrote; whether its transaction must be aborted.
    pub fn executed(&mut self, who: usize, reads: Vec<Target>, writes: Vec<Written>) -> bool {
        let mut fails = false;
        for other in 0..self.members.len() {
            if !self.is_concurrent(who, other) {
                continue;
            }
            let theirs = &self.members[other];
            // A read meets earlier writes by the rows it passes; the index counts for later ones.
            let read = |target: &Target| {
                let passes = !matches!(target, Target::Index(_));
                passes && theirs.writes.iter().any(|w| w.meets(*target))
            };
            let wrote = |written: &Written| theirs.reads.iter().any(|r| written.meets(*r));
            let (out, into) = (reads.iter().any(read), writes.iter().any(wrote));
            if out {
                fails |= self.add(who, other, who);
            }
            if into {
                fails |= self.add(other, who, who);
            }
        }
        let member = &mut self.members[who];
        member.reads.extend(reads);
        member.writes.extend(writes);
        fails
    }

    /// Adds a conflict; whether the one at work must be aborted.
    fn add(&mut self, reader: usize, writer: usize, at_work: usize) -> bool {
        if !self.conflicts.insert((reader, writer)) || !self.is_dangerous(reader, writer) {
            return false;
        }
        if writer == at_work || self.members[writer].committed.is_some() {
            return true;
        }
        self.members[writer].doomed = true;
        false
    }

    fn is_dangerous(&self, reader: usize, writer: usize) -> bool {
        let end = |who: usize| self.members[who].committed;
        let lives = |who: usize| !self.members[who].aborted && !self.members[who].doomed;
        // The writer is the pivot, and what it conflicts with committed first.
        let pivot_writes = self.conflicts.iter().any(|(from, to)| {
            let first = *from == writer && lives(*to);
            let Some(third) = end(*to).filter(|_| first) else {
                return false;
            };
            let before_reader = end(reader).is_none_or(|end| third <= end);
            let before_writer = end(writer).is_none_or(|end| third <= end);
            let read_only = self.members[reader].writes.is_empty() && end(reader).is_some();
            let in_snapshot = !read_only || third < self.members[reader].began;
            before_reader && before_writer && in_snapshot
        });
        // The reader is the pivot, and the writer committed first.
        let pivot_reads = end(writer).is_some_and(|third| {
            self.conflicts.iter().any(|(from, to)| {
                let into = *to == reader && lives(*from);
                let before = end(*from).is_none_or(|end| third <= end);
                let read_only = self.members[*from].writes.is_empty() && end(*from).is_some();
                into && before && (!read_only || third < self.members[*from].began)
            })
        });
        pivot_writes || pivot_reads
    }

    /// A transaction is about to commit: pivots before it are doomed.
    pub fn commit(&mut self, who: usize) {
        let mut doomed = Vec::new();
        for (near, to) in &self.conflicts {
            let member = &self.members[*near];
            if *to != who || member.committed.is_some() || member.aborted || member.doomed {
                continue;
            }
            let dangerous = |(far, into): &(usize, usize)| {
                let member = &self.members[*far];
                let open = member.committed.is_none() && !member.aborted && !member.doomed;
                *into == *near && (*far == who || open)
            };
            if self.conflicts.iter().any(dangerous) {
                doomed.push(*near);
            }
        }
        for one in doomed {
            self.members[one].doomed = true;
        }
        let now = self.tick();
        self.members[who].committed = Some(now);
    }

    pub fn abort(&mut self, who: usize) {
        self.members[who].aborted = true;
        self.conflicts.retain(|(a, b)| *a != who && *b != who);
    }
}
