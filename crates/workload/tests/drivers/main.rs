//! The drivers against the databases themselves. A database that is not on this machine is skipped, with a
//! line that says so.

mod checks;
#[cfg(feature = "embedded")]
mod embedded;
mod etcd;
mod external;
mod redis;
mod servers;
mod sqlite;
