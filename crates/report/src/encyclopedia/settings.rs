//! Which settings of databases prevent which anomalies.
//!
//! Facts about PostgreSQL, MySQL, MariaDB, Oracle and SQL Server are from their manuals on isolation
//! levels and from Hermitage (Kleppmann), which tests them; those about clusters and other engines
//! from Jepsen's analyses and from runs of `isolde run` against the versions named.

/// What helps against a family of anomalies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Remedy {
    /// Writers that get between each other's writes.
    WriteLocks,
    /// A request that took effect twice.
    Idempotence,
    /// Reads of what was never committed, or of one's own writes gone wrong: a bug, or no isolation.
    ReadCommitted,
    /// Several reads that do not belong to one moment.
    Snapshot,
    /// Two writers that start from the same state of one key.
    FirstCommitter,
    /// Writers that rely on what others change.
    Serializable,
    /// Reads that are older than what the client knows already.
    Session,
    /// Readers that see independent writes in different orders.
    OneOrder,
    /// Answers that are older than the wall clock allows.
    RealTime,
}

/// A database and what to set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// The database.
    pub engine: &'static str,
    /// What prevents the anomaly there.
    pub text: &'static str,
}

const fn on(engine: &'static str, text: &'static str) -> Setting {
    Setting { engine, text }
}

#[rustfmt::skip]
const WRITE_LOCKS: &[Setting] = &[
    on("PostgreSQL", "every level: a row stays locked for other writers until its writer has ended"),
    on("MySQL, MariaDB", "every level of InnoDB, READ UNCOMMITTED included; not tables without transactions (MyISAM, Aria)"),
    on("Oracle", "every level"),
    on("SQL Server", "every level"),
    on("Redis", "put all writes that belong together into one MULTI … EXEC or script"),
    on("Cassandra, ScyllaDB", "no setting for several rows: writes are put in order row by row, by their timestamps"),
];

#[rustfmt::skip]
const IDEMPOTENCE: &[Setting] = &[
    on("PostgreSQL, MySQL, MariaDB, Oracle, SQL Server", "no level: give each request a number of its own in a column with a unique index, so that a second attempt fails"),
    on("PostgreSQL", "after a lost connection, ask pg_xact_status of the transaction before trying again"),
    on("Oracle", "Transaction Guard (DBMS_APP_CONT.GET_LTXID_OUTCOME) tells whether the last commit succeeded"),
    on("Drivers and proxies", "switch off automatic retries of statements that are not idempotent"),
    on("MongoDB", "retryable writes (the default of its drivers) number the requests"),
];

#[rustfmt::skip]
const READ_COMMITTED: &[Setting] = &[
    on("PostgreSQL", "every level; READ UNCOMMITTED behaves as READ COMMITTED"),
    on("MySQL, MariaDB", "READ COMMITTED or above (REPEATABLE READ is the default); not READ UNCOMMITTED"),
    on("Oracle", "every level; READ COMMITTED is the default"),
    on("SQL Server", "READ COMMITTED (the default) or above; not READ UNCOMMITTED, and no NOLOCK hints"),
    on("Redis", "commands of one MULTI … EXEC are not interleaved with others"),
    on("MongoDB", "read concern majority and write concern majority, or a transaction with read concern snapshot"),
];

#[rustfmt::skip]
const SNAPSHOT: &[Setting] = &[
    on("PostgreSQL", "REPEATABLE READ (which is snapshot isolation) or SERIALIZABLE; not READ COMMITTED, the default"),
    on("MySQL, MariaDB", "REPEATABLE READ (the default) for plain SELECT; UPDATE, DELETE and locking reads still see newer rows, so use SERIALIZABLE where both are mixed"),
    on("Oracle", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, or READ ONLY for reports"),
    on("SQL Server", "SNAPSHOT (after ALTER DATABASE … SET ALLOW_SNAPSHOT_ISOLATION ON) or SERIALIZABLE; READ_COMMITTED_SNAPSHOT is not enough"),
    on("MariaDB Galera", "REPEATABLE READ within one node; versions before the fix of MDEV-27927 had non-repeatable reads"),
    on("CockroachDB, TiDB, YugabyteDB", "their snapshot or serializable levels; TiDB 2.1.7 retried transactions and so had read skew"),
];

#[rustfmt::skip]
const FIRST_COMMITTER: &[Setting] = &[
    on("PostgreSQL", "REPEATABLE READ or SERIALIZABLE (one of the two gets error 40001 and has to retry); or SELECT … FOR UPDATE, or one UPDATE that computes the new value itself"),
    on("MySQL", "REPEATABLE READ does not prevent it; SERIALIZABLE, SELECT … FOR UPDATE, or one UPDATE that computes the new value itself"),
    on("MariaDB", "innodb_snapshot_isolation=ON with REPEATABLE READ (the default from 11.6.2 on; error 1020, retry), or as MySQL"),
    on("MariaDB Galera", "innodb_snapshot_isolation=ON, or SERIALIZABLE; lost updates were seen with REPEATABLE READ on 10.5 and 10.11"),
    on("Oracle", "SERIALIZABLE (ORA-08177, retry) or SELECT … FOR UPDATE"),
    on("SQL Server", "SNAPSHOT (error 3960, retry), REPEATABLE READ (a deadlock, retry) or an UPDLOCK hint"),
    on("Redis", "WATCH the keys before MULTI; without WATCH updates are lost"),
    on("etcd", "a transaction that compares the mod_revision of the key"),
];

#[rustfmt::skip]
const SERIALIZABLE: &[Setting] = &[
    on("PostgreSQL", "SERIALIZABLE (error 40001, retry); REPEATABLE READ allows it. 15.3 and older missed conflicts of some index scans"),
    on("MySQL, MariaDB", "SERIALIZABLE on a single server; REPEATABLE READ allows it"),
    on("MariaDB Galera", "no level prevents it between nodes, SERIALIZABLE included; send conflicting transactions to one node or lock a common row"),
    on("Oracle", "no level prevents it: SERIALIZABLE is snapshot isolation; SELECT … FOR UPDATE what the decision relies on, or update a common row"),
    on("SQL Server", "SERIALIZABLE; SNAPSHOT allows it"),
    on("CockroachDB", "SERIALIZABLE, the default"),
    on("SQLite", "its only level: one writer at a time"),
    on("H2, DuckDB, Turso (BEGIN CONCURRENT), OceanBase seekdb", "their strongest level is snapshot isolation and allows it, whatever it is called"),
];

#[rustfmt::skip]
const SESSION: &[Setting] = &[
    on("PostgreSQL with replicas", "read from the primary, or synchronous_commit=remote_apply with the replica in synchronous_standby_names"),
    on("MySQL with replicas", "read from the source, or wait with WAIT_FOR_EXECUTED_GTID_SET; in group replication group_replication_consistency=BEFORE"),
    on("MariaDB Galera", "wsrep_sync_wait=1 for reads; without it stale reads are normal"),
    on("MongoDB", "a causally consistent session with read concern majority and write concern majority"),
    on("Redis", "read from the primary; replicas are asynchronous"),
    on("etcd", "linearizable reads (the default); not serializable=true"),
    on("Oracle, SQL Server", "read from the primary; standby databases lag unless set up to apply synchronously"),
];

#[rustfmt::skip]
const ONE_ORDER: &[Setting] = &[
    on("PostgreSQL", "any snapshot level on one server; a primary and a replica, or a Multi-AZ cluster, can show two commits in opposite orders, so read from one of them only"),
    on("MySQL, MariaDB", "REPEATABLE READ or above on one server"),
    on("MariaDB Galera", "none was seen: all nodes apply commits in one order"),
    on("Oracle", "SERIALIZABLE or READ ONLY on one database"),
    on("SQL Server", "SNAPSHOT or SERIALIZABLE on one server"),
    on("Stores with parallel snapshots (Walter, some CRDT stores)", "allow it by design"),
];

#[rustfmt::skip]
const REAL_TIME: &[Setting] = &[
    on("PostgreSQL", "SERIALIZABLE, everybody on the primary; reads of asynchronous replicas are stale"),
    on("MySQL, MariaDB", "SERIALIZABLE on one server"),
    on("MariaDB Galera", "wsrep_sync_wait=1 (or 15 for writes too)"),
    on("SQL Server", "SERIALIZABLE on the primary"),
    on("Oracle", "one database, and locks where write skew matters"),
    on("CockroachDB", "serializable, but not strictly: transactions on different keys may appear out of order between clients"),
    on("etcd", "linearizable reads (the default); not serializable=true"),
    on("Redis", "one primary; a failover to a replica loses acknowledged writes"),
];

impl Remedy {
    /// What to set where.
    pub fn settings(self) -> &'static [Setting] {
        match self {
            Remedy::WriteLocks => WRITE_LOCKS,
            Remedy::Idempotence => IDEMPOTENCE,
            Remedy::ReadCommitted => READ_COMMITTED,
            Remedy::Snapshot => SNAPSHOT,
            Remedy::FirstCommitter => FIRST_COMMITTER,
            Remedy::Serializable => SERIALIZABLE,
            Remedy::Session => SESSION,
            Remedy::OneOrder => ONE_ORDER,
            Remedy::RealTime => REAL_TIME,
        }
    }
}
