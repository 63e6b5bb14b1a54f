//! Whether a level allows what happened in a play.
//!
//! The levels of replicated stores are about operations: *vis* is what each statement saw, *ar* the
//! order in which they were done. Only what a statement that reads sees counts: one that reads
//! nothing that anybody writes may be taken to see whatever suits. The axioms, for operations a, b of one transaction
//! and c of another: causal visibility, vis is transitive; causal, that and own earlier operations;
//! read committed, who sees a sees b; repeatable read, what a sees b sees; linearizable, everything
//! earlier is seen; serial, the last three.
//! (Rahmani et al., "CLOTHO", OOPSLA 2019, table 1.)
//!
//! The levels of databases are about transactions, with *ar* the order of commits. All but read
//! uncommitted forbid reading what is not committed, or not the last write of its transaction. Then,
//! with wr, ww and rw between transactions: read committed, no writing over what is not committed;
//! read atomic, ww ∪ wr has no circle and wr with rw no loop; parallel snapshot, (wr ∪ ww)⁺ with rw has none; prefix,
//! versions are in the order of commits, and each transaction reads what was there after some number
//! of commits; snapshot, the same and nobody
//! wrote the same cell between that and its own commit; serializable, no circle at all.
//! (Cerone, Bernardi and Gotsman, CONCUR 2015; read committed as databases implement it.)
//! Cost: cubic in the transactions, and linear in what was read times the writes.

use super::play::Play;
use super::store::Cell;
use crate::scenario::{EdgeKind, StoreLevel};
use std::collections::BTreeSet;

/// Whether the level allows the play.
pub fn allows(level: StoreLevel, played: &Play) -> bool {
    match level {
        StoreLevel::Eventual => true,
        StoreLevel::CausalVisibility => is_causal(played, false),
        StoreLevel::CausalOperations => is_causal(played, true),
        StoreLevel::ReadCommittedOperations => sees_all_or_nothing(played),
        StoreLevel::RepeatableReadOperations => sees_the_same(played),
        StoreLevel::AtomicOperations => sees_all_or_nothing(played) && sees_the_same(played),
        StoreLevel::LinearizableOperations => sees_everything(played),
        StoreLevel::Serial => {
            sees_all_or_nothing(played) && sees_the_same(played) && sees_everything(played)
        }
        StoreLevel::ReadUncommitted => !circle(&relation(played, &[EdgeKind::WriteWrite])),
        StoreLevel::ReadCommitted => is_clean(played) && writes_after_commits(played),
        StoreLevel::ReadAtomic => is_clean(played) && is_read_atomic(played),
        StoreLevel::Prefix => is_clean(played) && has_snapshots(played, false),
        StoreLevel::ParallelSnapshot => is_clean(played) && is_parallel_snapshot(played),
        StoreLevel::Snapshot => is_clean(played) && has_snapshots(played, true),
        StoreLevel::Serializable => {
            let kinds = [
                EdgeKind::WriteRead,
                EdgeKind::WriteWrite,
                EdgeKind::ReadWrite,
            ];
            is_clean(played) && !circle(&relation(played, &kinds))
        }
    }
}

/// The operations that count, by position: not undone, the initial one aside.
fn living(played: &Play) -> impl Iterator<Item = usize> {
    let all = played.operations.iter().enumerate();
    all.filter(|(_, operation)| !operation.undone)
        .map(|(at, _)| at)
}

fn instance(played: &Play, at: usize) -> usize {
    played.operations[at].point.instance
}

fn is_writer(played: &Play, at: usize) -> bool {
    !played.operations[at].writes.is_empty()
}

/// Whether it reads anything that somebody wrote at some time.
fn is_reader(played: &Play, at: usize) -> bool {
    let mut reads = played.operations[at].reads.iter();
    reads.any(|(cell, _)| {
        let mut writes = played.writes.iter();
        writes.any(|write| write.op > 0 && write.cell == *cell)
    })
}

/// Whether b sees the write a.
fn sees(played: &Play, a: usize, b: usize) -> bool {
    is_writer(played, a) && is_reader(played, b) && played.operations[b].sees.contains(&(a + 1))
}

fn is_causal(played: &Play, with_sessions: bool) -> bool {
    let all: Vec<usize> = living(played).collect();
    let count = played.operations.len();
    let mut reach = vec![vec![false; count]; count];
    for &a in &all {
        for &b in &all {
            let own = with_sessions && a < b && instance(played, a) == instance(played, b);
            reach[a][b] = own || sees(played, a, b);
        }
    }
    close(&mut reach);
    all.iter().all(|&a| {
        all.iter().all(|&b| {
            let must = a != b && reach[a][b] && is_writer(played, a) && is_reader(played, b);
            !must || sees(played, a, b)
        })
    })
}

fn sees_all_or_nothing(played: &Play) -> bool {
    let all: Vec<usize> = living(played).collect();
    all.iter().all(|&c| {
        all.iter().filter(|&&a| sees(played, a, c)).all(|&a| {
            let others = all
                .iter()
                .filter(|&&b| instance(played, b) == instance(played, a) && is_writer(played, b));
            instance(played, a) == instance(played, c)
                || others.into_iter().all(|&b| sees(played, b, c))
        })
    })
}

fn sees_the_same(played: &Play) -> bool {
    let all: Vec<usize> = living(played).collect();
    all.iter().all(|&a| {
        let seen = all
            .iter()
            .filter(|&&c| sees(played, c, a) && instance(played, c) != instance(played, a));
        seen.into_iter().all(|&c| {
            let mut siblings = all
                .iter()
                .filter(|&&b| instance(played, b) == instance(played, a) && is_reader(played, b));
            siblings.all(|&b| sees(played, c, b))
        })
    })
}

fn sees_everything(played: &Play) -> bool {
    let all: Vec<usize> = living(played).collect();
    all.iter().all(|&b| {
        let mut earlier = all.iter().filter(|&&a| a < b && is_writer(played, a));
        !is_reader(played, b) || earlier.all(|&a| sees(played, a, b))
    })
}

/// The relation between instances that these edges make.
fn relation(played: &Play, kinds: &[EdgeKind]) -> Vec<Vec<bool>> {
    let count = played.runs.len();
    let mut related = vec![vec![false; count]; count];
    for edge in played
        .edges
        .iter()
        .filter(|edge| kinds.contains(&edge.kind))
    {
        related[edge.from.instance][edge.to.instance] = true;
    }
    related
}

fn close(related: &mut [Vec<bool>]) {
    let count = related.len();
    for middle in 0..count {
        let onward = related[middle].clone();
        for row in related.iter_mut() {
            if row[middle] {
                for (to, reached) in onward.iter().enumerate() {
                    row[to] |= *reached;
                }
            }
        }
    }
}

fn circle(related: &[Vec<bool>]) -> bool {
    let mut closed = related.to_vec();
    close(&mut closed);
    (0..closed.len()).any(|at| closed[at][at])
}

/// A read of a committed instance from another one.
struct Foreign {
    reader: usize,
    operation: usize,
    cell: Cell,
    version: Option<usize>,
}

fn foreign_reads(played: &Play) -> Vec<Foreign> {
    let mut found = Vec::new();
    for at in living(played) {
        let reader = instance(played, at);
        if !played.commits.contains(&reader) {
            continue;
        }
        for (cell, version) in &played.operations[at].reads {
            let own = version.is_some_and(|version| writer(played, version) == Some(reader));
            if !own {
                found.push(Foreign {
                    reader,
                    operation: at,
                    cell: *cell,
                    version: *version,
                });
            }
        }
    }
    found
}

/// The instance that wrote a version; none for the initial rows.
fn writer(played: &Play, version: usize) -> Option<usize> {
    let op = played.writes[version].op.checked_sub(1)?;
    Some(instance(played, op))
}

/// How many operations were done before an instance committed.
fn committed_at(played: &Play, instance: usize) -> Option<usize> {
    let at = played.commits.iter().position(|one| *one == instance)?;
    played.commit_times.get(at).copied()
}

/// Whether everything read was committed by then, and the last write of its transaction.
fn is_clean(played: &Play) -> bool {
    foreign_reads(played).iter().all(|read| {
        let Some((version, by)) = read.version.and_then(|v| Some((v, writer(played, v)?))) else {
            return true;
        };
        let time = committed_at(played, by);
        let later = played.writes.iter().skip(version + 1);
        let mut later = later.filter(|write| write.cell == read.cell && write.op > 0);
        let last = !later.any(|write| instance(played, write.op - 1) == by);
        last && time.is_some_and(|time| time <= read.operation)
    })
}

/// Whether nobody wrote over what was not committed.
pub(crate) fn writes_after_commits(played: &Play) -> bool {
    let mut overwriting = played
        .edges
        .iter()
        .filter(|edge| edge.kind == EdgeKind::WriteWrite);
    overwriting.all(|edge| {
        let time = committed_at(played, edge.from.instance);
        let at = played.operations.iter().position(|op| op.point == edge.to);
        time.zip(at).is_none_or(|(time, at)| time <= at)
    })
}

/// Whether no transaction misses something of one that `seen` says it sees.
fn misses_nothing(played: &Play, seen: &[Vec<bool>]) -> bool {
    let missed = relation(played, &[EdgeKind::ReadWrite]);
    let count = seen.len();
    let pair = |a: usize, b: usize| !(seen[a][b] && missed[b][a]);
    (0..count).all(|a| !seen[a][a] && (0..count).all(|b| pair(a, b)))
}

fn is_read_atomic(played: &Play) -> bool {
    let kinds = [EdgeKind::WriteRead, EdgeKind::WriteWrite];
    if circle(&relation(played, &kinds)) {
        return false;
    }
    misses_nothing(played, &relation(played, &[EdgeKind::WriteRead]))
}

fn is_parallel_snapshot(played: &Play) -> bool {
    let mut seen = relation(played, &[EdgeKind::WriteRead, EdgeKind::WriteWrite]);
    close(&mut seen);
    misses_nothing(played, &seen)
}

/// Whether each transaction reads what was there after some number of commits; and if asked, nobody
/// wrote the same cell between that and its own commit.
fn has_snapshots(played: &Play, first_committer_wins: bool) -> bool {
    let place = |instance: usize| played.commits.iter().position(|one| *one == instance);
    let mut overwriting = played
        .edges
        .iter()
        .filter(|edge| edge.kind == EdgeKind::WriteWrite);
    if overwriting.any(|edge| place(edge.from.instance) > place(edge.to.instance)) {
        return false;
    }
    let reads = foreign_reads(played);
    played.commits.iter().enumerate().all(|(at, reader)| {
        let own: Vec<&Foreign> = reads.iter().filter(|read| read.reader == *reader).collect();
        (0..=at).any(|snapshot| {
            let before: BTreeSet<usize> = played.commits[..snapshot].iter().copied().collect();
            let shows = own
                .iter()
                .all(|read| latest(played, read.cell, &before) == read.version);
            let between = &played.commits[snapshot..at];
            shows && !(first_committer_wins && write_the_same(played, *reader, between))
        })
    })
}

/// The last version of a cell that these instances, or the initial rows, wrote.
fn latest(played: &Play, cell: Cell, instances: &BTreeSet<usize>) -> Option<usize> {
    let all = played.writes.iter().enumerate().rev();
    let mut all = all.filter(|(_, write)| write.cell == cell);
    let shown = |(at, _): &(usize, _)| {
        let by = writer(played, *at);
        by.is_none_or(|by| instances.contains(&by))
    };
    all.find(shown).map(|(at, _)| at)
}

fn write_the_same(played: &Play, one: usize, others: &[usize]) -> bool {
    let cells = |instance: usize| -> BTreeSet<Cell> {
        let all = played.writes.iter().enumerate();
        all.filter(|(at, _)| writer(played, *at) == Some(instance))
            .map(|(_, write)| write.cell)
            .collect()
    };
    let own = cells(one);
    others.iter().any(|other| !own.is_disjoint(&cells(*other)))
}
