//! What PostgreSQL and MariaDB (InnoDB) do with a schedule, predicted.
//!
//! Both keep versions of rows, and locks on rows that are written until the transaction ends. A
//! statement that must wait leaves the schedule to the others; its further turns are put off, and
//! as soon as it is free it catches up, before anybody else's turn.
//!
//! - PostgreSQL, read committed: a snapshot for each statement. A row to be written that another
//!   transaction has changed meanwhile is read again as it is now, and the condition is tested again
//!   (EvalPlanQual); all other rows stay as of the snapshot.
//! - PostgreSQL, repeatable read: a snapshot for the transaction. A row to be written that somebody
//!   changed after it: abort, 40001.
//!   A row that it refers to must be there on the snapshot as well.
//! - PostgreSQL, serializable: in addition, abort of dangerous structures, see [`ssi`].
//! - MariaDB: plain reads see everything (read uncommitted), what is committed (read committed), or
//!   a snapshot (repeatable read), which the first plain read takes. Writes and locking reads are
//!   *current*: they see what is committed now, whatever the snapshot, and a transaction's own write
//!   of a row shows it that row as it then was. With `innodb_snapshot_isolation`, a current read of
//!   a row that changed after the snapshot aborts.
//! - MariaDB, serializable: every read is a current read that locks its rows for others' writes.
//! - At MariaDB's repeatable read and serializable, a locking search locks every row it looks at and
//!   the gaps between them, into which nobody else can insert.
//! - MariaDB locks the row that a written foreign key refers to, as for a share, and does so too when
//!   another column changes of the index that serves the key; PostgreSQL only against its removal, which
//!   is not followed. Whether the row is there is not checked. Where the primary key serves it, an insert does
//!   this before it looks for a row of its own key.
//! - An insert of MariaDB that meets a row of its key locks it, as for a share unless it is to change it.
//!
//! `Begin` in a schedule takes the snapshot (`start transaction with consistent snapshot`; a
//! `select 1` after PostgreSQL's `begin`) where others act before the first statement. Else that one does, on MariaDB the
//! first plain read: a transaction that only writes there has no snapshot to be behind of.
//!
//! Not followed: locks on secondary indexes, and plans: a search that fixes the first columns of the
//! primary key looks at the rows that have these, any other at the whole table. An update or delete by
//! the whole primary key may go through another index: then a row that is gone since the snapshot is not
//! met, and nothing aborts.
//!
//! Sources: PostgreSQL 15 documentation, chapter 13, and its README-SSI; MariaDB 10.11 knowledge
//! base, "InnoDB lock modes" and "innodb_snapshot_isolation"; checked by the table of the tests.

mod agent;
mod attempt;
mod locks;
mod maria;
mod region;
mod simulate;
mod ssi;

pub(super) use simulate::simulate;

use crate::scenario::StoreLevel;

/// A database server at an isolation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Engine {
    /// PostgreSQL, read committed (and read uncommitted, which is the same there).
    PostgresReadCommitted,
    /// PostgreSQL, repeatable read.
    PostgresRepeatableRead,
    /// PostgreSQL, serializable.
    PostgresSerializable,
    /// MariaDB, read uncommitted.
    MariaReadUncommitted,
    /// MariaDB, read committed.
    MariaReadCommitted,
    /// MariaDB, repeatable read.
    MariaRepeatableRead,
    /// MariaDB, repeatable read with `innodb_snapshot_isolation`.
    MariaSnapshot,
    /// MariaDB, serializable.
    MariaSerializable,
}

impl Engine {
    /// All of them.
    pub const ALL: [Engine; 8] = [
        Engine::PostgresReadCommitted,
        Engine::PostgresRepeatableRead,
        Engine::PostgresSerializable,
        Engine::MariaReadUncommitted,
        Engine::MariaReadCommitted,
        Engine::MariaRepeatableRead,
        Engine::MariaSnapshot,
        Engine::MariaSerializable,
    ];

    /// A short name.
    pub fn name(self) -> &'static str {
        match self {
            Engine::PostgresReadCommitted => "postgres read-committed",
            Engine::PostgresRepeatableRead => "postgres repeatable-read",
            Engine::PostgresSerializable => "postgres serializable",
            Engine::MariaReadUncommitted => "mariadb read-uncommitted",
            Engine::MariaReadCommitted => "mariadb read-committed",
            Engine::MariaRepeatableRead => "mariadb repeatable-read",
            Engine::MariaSnapshot => "mariadb repeatable-read+snapshot",
            Engine::MariaSerializable => "mariadb serializable",
        }
    }

    /// Whether it is PostgreSQL.
    pub fn is_postgres(self) -> bool {
        matches!(
            self,
            Engine::PostgresReadCommitted
                | Engine::PostgresRepeatableRead
                | Engine::PostgresSerializable
        )
    }

    /// The same server at the weakest setting that keeps a level; at its own where the level is one
    /// of replicated stores.
    pub fn at(self, level: StoreLevel) -> Engine {
        match (self.is_postgres(), level) {
            (true, StoreLevel::ReadUncommitted | StoreLevel::ReadCommitted) => {
                Engine::PostgresReadCommitted
            }
            (false, StoreLevel::ReadUncommitted) => Engine::MariaReadUncommitted,
            (false, StoreLevel::ReadCommitted) => Engine::MariaReadCommitted,
            (
                true,
                StoreLevel::ReadAtomic
                | StoreLevel::Prefix
                | StoreLevel::ParallelSnapshot
                | StoreLevel::Snapshot,
            ) => Engine::PostgresRepeatableRead,
            (false, StoreLevel::ReadAtomic | StoreLevel::Prefix) => Engine::MariaRepeatableRead,
            (false, StoreLevel::ParallelSnapshot | StoreLevel::Snapshot) => Engine::MariaSnapshot,
            (true, StoreLevel::Serializable) => Engine::PostgresSerializable,
            (false, StoreLevel::Serializable) => Engine::MariaSerializable,
            _ => self,
        }
    }

    /// Whether a snapshot is kept for the whole transaction.
    fn keeps_snapshot(self) -> bool {
        matches!(
            self,
            Engine::PostgresRepeatableRead
                | Engine::PostgresSerializable
                | Engine::MariaRepeatableRead
                | Engine::MariaSnapshot
        )
    }

    /// Whether searches that lock also lock what they pass and the gaps.
    fn locks_gaps(self) -> bool {
        matches!(
            self,
            Engine::MariaRepeatableRead | Engine::MariaSnapshot | Engine::MariaSerializable
        )
    }
}
