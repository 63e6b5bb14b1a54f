//! What can be started, by name.

use std::fmt;
use std::str::FromStr;

const NAMES: &[&str] = &[
    "postgres",
    "postgres:replica",
    "mariadb",
    "galera:3",
    "redis",
    "redis:replica",
    "etcd",
    "etcd:3",
];

const NODE_COUNT_MAX: usize = 9;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Database {
    Postgres,
    Mariadb,
    Galera,
    Redis,
    Etcd,
}

/// What to start: a database, and how many nodes of it. `postgres`, `mariadb`, `redis` and `etcd`
/// are one server; `postgres:replica` and `redis:replica` a primary and a replica; `galera:3` and
/// `etcd:3` a cluster of that many nodes, and so is `galera`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spec {
    pub(super) database: Database,
    pub(super) node_count: usize,
}

impl Spec {
    /// The names of what can be started.
    pub fn names() -> &'static [&'static str] {
        NAMES
    }

    /// How many servers there will be.
    pub fn node_count(&self) -> usize {
        self.node_count
    }
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Spec, String> {
        let (name, form) = match text.split_once(':') {
            Some((name, form)) => (name, Some(form)),
            None => (text, None),
        };
        let database = match name {
            "postgres" | "postgresql" => Database::Postgres,
            "mariadb" => Database::Mariadb,
            "galera" => Database::Galera,
            "redis" => Database::Redis,
            "etcd" => Database::Etcd,
            _ => return Err(unknown(text)),
        };
        let node_count = match (database, form) {
            (Database::Galera, None) => 3,
            (_, None) => 1,
            (Database::Postgres | Database::Redis, Some("replica")) => 2,
            (Database::Galera | Database::Etcd, Some(count)) => node_count(text, count)?,
            _ => return Err(unknown(text)),
        };
        Ok(Spec {
            database,
            node_count,
        })
    }
}

fn node_count(text: &str, count: &str) -> Result<usize, String> {
    match count.parse() {
        Ok(count) if (1..=NODE_COUNT_MAX).contains(&count) => Ok(count),
        Ok(_) => Err(format!("{text}: from 1 to {NODE_COUNT_MAX} nodes")),
        Err(_) => Err(unknown(text)),
    }
}

fn unknown(text: &str) -> String {
    let known = NAMES.join(", ");
    format!("{text} is not a database that can be started; known: {known}")
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.database, self.node_count) {
            (Database::Postgres, 1) => write!(f, "postgres"),
            (Database::Postgres, _) => write!(f, "postgres:replica"),
            (Database::Mariadb, _) => write!(f, "mariadb"),
            (Database::Galera, count) => write!(f, "galera:{count}"),
            (Database::Redis, 1) => write!(f, "redis"),
            (Database::Redis, _) => write!(f, "redis:replica"),
            (Database::Etcd, 1) => write!(f, "etcd"),
            (Database::Etcd, count) => write!(f, "etcd:{count}"),
        }
    }
}
