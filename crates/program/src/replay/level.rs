//! The isolation settings of the servers.

use super::dialect::Dialect;
use crate::execute::Engine;
use crate::scenario::StoreLevel;

/// An isolation setting of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ServerLevel {
    /// `read uncommitted`, which PostgreSQL treats as `read committed`.
    ReadUncommitted,
    /// `read committed`
    ReadCommitted,
    /// `repeatable read`
    RepeatableRead,
    /// `repeatable read` with MariaDB's `innodb_snapshot_isolation`.
    RepeatableReadSnapshot,
    /// `serializable`
    Serializable,
}

impl ServerLevel {
    /// All of them.
    pub const ALL: [ServerLevel; 5] = [
        ServerLevel::ReadUncommitted,
        ServerLevel::ReadCommitted,
        ServerLevel::RepeatableRead,
        ServerLevel::RepeatableReadSnapshot,
        ServerLevel::Serializable,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ServerLevel::ReadUncommitted => "read-uncommitted",
            ServerLevel::ReadCommitted => "read-committed",
            ServerLevel::RepeatableRead => "repeatable-read",
            ServerLevel::RepeatableReadSnapshot => "repeatable-read+snapshot",
            ServerLevel::Serializable => "serializable",
        }
    }

    /// The setting of that name; blanks and underscores are as good as hyphens.
    pub fn named(name: &str) -> Option<ServerLevel> {
        let name = name.to_lowercase().replace([' ', '_'], "-");
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The model of the server at this setting.
    pub fn engine(self, dialect: Dialect) -> Engine {
        match (dialect, self) {
            (Dialect::Postgres, ServerLevel::ReadUncommitted | ServerLevel::ReadCommitted) => {
                Engine::PostgresReadCommitted
            }
            (
                Dialect::Postgres,
                ServerLevel::RepeatableRead | ServerLevel::RepeatableReadSnapshot,
            ) => Engine::PostgresRepeatableRead,
            (Dialect::Postgres, ServerLevel::Serializable) => Engine::PostgresSerializable,
            (Dialect::MariaDb, ServerLevel::ReadUncommitted) => Engine::MariaReadUncommitted,
            (Dialect::MariaDb, ServerLevel::ReadCommitted) => Engine::MariaReadCommitted,
            (Dialect::MariaDb, ServerLevel::RepeatableRead) => Engine::MariaRepeatableRead,
            (Dialect::MariaDb, ServerLevel::RepeatableReadSnapshot) => Engine::MariaSnapshot,
            (Dialect::MariaDb, ServerLevel::Serializable) => Engine::MariaSerializable,
        }
    }

    /// The words of SQL for it.
    pub(super) fn sql(self) -> &'static str {
        match self {
            ServerLevel::ReadUncommitted => "read uncommitted",
            ServerLevel::ReadCommitted => "read committed",
            ServerLevel::RepeatableRead | ServerLevel::RepeatableReadSnapshot => "repeatable read",
            ServerLevel::Serializable => "serializable",
        }
    }

    /// The setting by which a server gives what a level promises; none where it has no such one.
    pub fn giving(dialect: Dialect, level: StoreLevel) -> Option<ServerLevel> {
        Some(match (dialect, level) {
            (_, StoreLevel::ReadUncommitted) => ServerLevel::ReadUncommitted,
            (_, StoreLevel::ReadCommitted) => ServerLevel::ReadCommitted,
            (Dialect::Postgres, StoreLevel::Snapshot) => ServerLevel::RepeatableRead,
            (Dialect::MariaDb, StoreLevel::Snapshot) => ServerLevel::RepeatableReadSnapshot,
            (_, StoreLevel::Serializable | StoreLevel::Serial) => ServerLevel::Serializable,
            _ => return None,
        })
    }

    /// The texts that set a session to it, for transactions that begin by themselves.
    pub(super) fn session(self, dialect: Dialect, has_snapshot: bool) -> Vec<String> {
        let level = self.sql();
        match dialect {
            Dialect::Postgres => {
                let what = "set session characteristics as transaction isolation level";
                vec![format!("{what} {level}")]
            }
            Dialect::MariaDb => {
                let mut texts = vec![format!("set session transaction isolation level {level}")];
                if has_snapshot {
                    let on = u8::from(self == ServerLevel::RepeatableReadSnapshot);
                    texts.push(format!("set session innodb_snapshot_isolation = {on}"));
                }
                texts
            }
        }
    }

    /// The text that takes a snapshot in a transaction that has just begun; empty without snapshots.
    pub(super) fn snapshot(self, dialect: Dialect) -> String {
        let text = match (dialect, self) {
            (Dialect::Postgres, level) if level >= ServerLevel::RepeatableRead => "select 1",
            (Dialect::MariaDb, ServerLevel::RepeatableRead)
            | (Dialect::MariaDb, ServerLevel::RepeatableReadSnapshot) => {
                "start transaction with consistent snapshot"
            }
            _ => "",
        };
        text.to_string()
    }

    /// The text that begins a transaction, and where asked takes its snapshot if it has one. Servers
    /// take it by the first statement that reads.
    pub(super) fn begin(self, dialect: Dialect, early: bool) -> String {
        let snapshot = self.snapshot(dialect);
        match (dialect, early && !snapshot.is_empty()) {
            (Dialect::Postgres, true) => {
                format!("begin isolation level {}; {snapshot}", self.sql())
            }
            (Dialect::Postgres, false) => format!("begin isolation level {}", self.sql()),
            (Dialect::MariaDb, true) => snapshot,
            (Dialect::MariaDb, false) => "start transaction".to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_names() {
        for level in ServerLevel::ALL {
            assert_eq!(ServerLevel::named(level.name()), Some(level));
        }
        let read = ServerLevel::named("Repeatable Read");
        assert_eq!(read, Some(ServerLevel::RepeatableRead));
        assert_eq!(ServerLevel::named("chaos"), None);
    }
}
