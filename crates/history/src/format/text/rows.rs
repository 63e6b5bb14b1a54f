//! Turns runs of operations, as they follow each other in the file, into transactions.
//!
//! A run is a stretch of operations of one owner. In most files each transaction is one run and
//! nothing moves. Where sessions interleave, a transaction is several runs, and its operations are
//! gathered at the end, one column at a time.

use super::line::Owner;
use crate::{KeyId, OpKind, Ops, SessionId, Status, Txn, ValueCode};
use std::collections::HashMap;

/// A stretch of operations of one owner; it ends where the next begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub owner: Owner,
    /// The first operation.
    pub start: usize,
}

/// Two places in the file where the same transaction of a session begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reused {
    pub session: i64,
    pub txn: u64,
}

struct Session {
    open: Owner,
    row: u32,
    largest: u64,
    ascending: bool,
}

/// The transactions so far, in order of first appearance.
#[derive(Default)]
pub(super) struct Rows {
    pub labels: Vec<i64>,
    pub txns: Vec<Txn>,
    ids: SessionIds,
    sessions: Vec<Session>,
    /// The run that is still open: its row, once there is one.
    open: Option<(Owner, u32)>,
    /// The row and the length of every run so far, once a transaction had more than one.
    pieces: Option<Vec<(u32, u32)>>,
}

/// Session labels to dense ids; small labels by direct index.
#[derive(Default)]
struct SessionIds {
    small: Vec<u32>,
    large: HashMap<i64, u32>,
}

const SMALL_LABELS: usize = 1 << 16;

impl SessionIds {
    fn get(&self, label: i64) -> Option<u32> {
        if (0..SMALL_LABELS as i64).contains(&label) {
            let id = self.small.get(label as usize).copied()?;
            return (id != u32::MAX).then_some(id);
        }
        self.large.get(&label).copied()
    }

    fn insert(&mut self, label: i64, id: u32) {
        if (0..SMALL_LABELS as i64).contains(&label) {
            if self.small.len() <= label as usize {
                self.small.resize(label as usize + 1, u32::MAX);
            }
            self.small[label as usize] = id;
        } else {
            self.large.insert(label, id);
        }
    }
}

impl Rows {
    /// Whether some transaction's operations do not lie next to each other yet.
    pub fn scattered(&self) -> bool {
        self.pieces.is_some()
    }

    /// Makes room for the transactions in the `rest` of a file, if they are as long as those in the `read` bytes so far.
    pub fn expect(&mut self, read: usize, rest: usize) {
        let so_far = self.txns.len() as u128;
        let expected = so_far * rest as u128 / read.max(1) as u128;
        self.txns.reserve_exact((expected + expected / 16) as usize);
    }

    /// Adds `count` operations of one owner, which follow all operations so far.
    pub fn add(&mut self, owner: Owner, count: u32) {
        if let Some((last, row)) = self.open
            && last == owner
        {
            self.extend(row, count, true);
            return;
        }
        let session = self.session(owner.session);
        let state = &mut self.sessions[session as usize];
        if state.row != u32::MAX && state.open == owner {
            let row = state.row;
            self.open = Some((owner, row));
            self.extend(row, count, false);
            return;
        }
        let row = self.txns.len() as u32;
        if !owner.aborted {
            state.ascending &= state.row == u32::MAX || owner.txn > state.largest;
            state.largest = state.largest.max(owner.txn);
        }
        state.open = owner;
        state.row = row;
        let start = self.txns.last().map_or(0, |t| t.ops_start + t.op_count);
        self.txns.push(Txn {
            session: SessionId(session),
            label: owner.txn,
            ops_start: start,
            op_count: count,
            status: if owner.aborted {
                Status::Aborted
            } else {
                Status::Committed
            },
        });
        if let Some(pieces) = &mut self.pieces {
            pieces.push((row, count));
        }
        self.open = Some((owner, row));
    }

    fn session(&mut self, label: i64) -> u32 {
        if let Some(id) = self.ids.get(label) {
            return id;
        }
        let id = self.labels.len() as u32;
        self.ids.insert(label, id);
        self.labels.push(label);
        self.sessions.push(Session {
            open: Owner {
                session: label,
                txn: 0,
                aborted: false,
            },
            row: u32::MAX,
            largest: 0,
            ascending: true,
        });
        id
    }

    fn extend(&mut self, row: u32, count: u32, adjacent: bool) {
        if self.pieces.is_none() && !adjacent {
            let whole = self.txns.iter().enumerate();
            let pieces = whole.map(|(row, txn)| (row as u32, txn.op_count));
            self.pieces = Some(pieces.collect());
        }
        self.txns[row as usize].op_count += count;
        match &mut self.pieces {
            Some(pieces) if adjacent => {
                if let Some(last) = pieces.last_mut() {
                    last.1 += count;
                }
            }
            Some(pieces) => pieces.push((row, count)),
            None => {}
        }
    }

    /// A transaction number that a session used again after another transaction began.
    pub fn reused(&self) -> Option<Reused> {
        if self.sessions.iter().all(|session| session.ascending) {
            return None;
        }
        let mut labels: Vec<Vec<u64>> = vec![Vec::new(); self.sessions.len()];
        for txn in &self.txns {
            if !self.sessions[txn.session.index()].ascending && txn.status != Status::Aborted {
                labels[txn.session.index()].push(txn.label);
            }
        }
        for (session, labels) in labels.iter_mut().enumerate() {
            labels.sort_unstable();
            if let Some(pair) = labels.windows(2).find(|pair| pair[0] == pair[1]) {
                return Some(Reused {
                    session: self.labels[session],
                    txn: pair[0],
                });
            }
        }
        None
    }

    /// The last transaction of each session.
    pub fn last_of_sessions(&self) -> impl Iterator<Item = u32> + '_ {
        self.sessions.iter().map(|session| session.row)
    }

    /// The last transaction of one session.
    pub fn last_of(&self, session: i64) -> Option<u32> {
        let id = self.ids.get(session)?;
        Some(self.sessions[id as usize].row)
    }

    /// The transaction of the last operation.
    pub fn last(&self) -> Option<u32> {
        self.open.map(|(_, row)| row)
    }

    /// Makes transactions indeterminate, except aborted ones, and says how many.
    pub fn doubt(&mut self, rows: &[u32]) -> usize {
        let mut count = 0;
        for &row in rows {
            let status = &mut self.txns[row as usize].status;
            if *status == Status::Committed {
                *status = Status::Indeterminate;
                count += 1;
            }
        }
        count
    }

    /// Moves the operations so that those of a transaction lie next to each other.
    pub fn gather(&mut self, ops: &mut Ops) {
        let Some(pieces) = self.pieces.take() else {
            return;
        };
        let mut total = 0;
        for txn in &mut self.txns {
            txn.ops_start = total;
            total += txn.op_count;
        }
        ops.kinds = moved(&ops.kinds, &pieces, &self.txns, total, OpKind::Read);
        ops.keys = moved(&ops.keys, &pieces, &self.txns, total, KeyId(0));
        ops.values = moved(&ops.values, &pieces, &self.txns, total, ValueCode::ZERO);
    }
}

/// A column with every run at the place of its transaction.
fn moved<T: Copy>(
    column: &[T],
    pieces: &[(u32, u32)],
    txns: &[Txn],
    total: u32,
    fill: T,
) -> Vec<T> {
    let mut out = vec![fill; total as usize];
    let mut next: Vec<u32> = txns.iter().map(|txn| txn.ops_start).collect();
    let mut from = 0;
    for &(row, count) in pieces {
        let count = count as usize;
        let to = next[row as usize] as usize;
        out[to..to + count].copy_from_slice(&column[from..from + count]);
        next[row as usize] += count as u32;
        from += count;
    }
    out
}
