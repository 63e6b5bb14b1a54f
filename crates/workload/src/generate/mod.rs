//! Simulated histories: clients on a simulated multi-version store that really gives the level
//! asked for, and typically no stronger one.
//!
//! One pass on one thread: a seeded scheduler picks a session, lets it run a few operations of its
//! transaction, and picks the next ([`simulate`]). What a read may see is the level's rule
//! ([`view`]); committed versions are kept only while somebody may still read them ([`store`]), and
//! lists whole ([`lists`]). What a transaction does is drawn operation by operation, or planned when
//! it starts by the script of a benchmark ([`shapes`]).
//! Every choice comes from one generator with a fixed algorithm ([`random`]) and every float
//! operation is one that IEEE 754 defines exactly, so the same configuration gives the same history
//! on every platform.
//!
//! Cost: constant time an operation (a list read costs its length), the columns of the history, and
//! 20 bytes for each key that was ever written.

mod client;
pub(crate) mod config;
pub(crate) mod keys;
mod lists;
mod plant;
pub(crate) mod random;
mod record;
mod shapes;
mod simulate;
mod store;
mod view;
pub(crate) mod zipf;

pub use config::{Config, ConfigError, Datatype, Distribution, Shape};
use history::{AnomalyKind, History, TxnId};
pub use shapes::Benchmark;

/// A generated history.
#[derive(Debug)]
pub struct Generated {
    /// The history.
    pub history: History,
    /// The anomalies that were planted, in the order of [`Config::anomalies`], each with the
    /// transactions that make it up.
    pub injected: Vec<(AnomalyKind, Vec<TxnId>)>,
}

/// Generates a history.
///
/// Conventions of the result: keys are the integers from 0; the values written to a key are
/// different positive integers; a register that nobody wrote reads 0, a list that nobody appended
/// to reads nil. The reads of an indeterminate transaction are unknown, and its client goes on as a
/// new session, as a Jepsen process does. A list key is retired after 32 appends (100 in the
/// shape list-append) and replaced by a fresh one, as in Elle's generator, so that the output stays linear in the operations.
///
/// # Errors
/// If the configuration makes no sense or is too large; the text says which part and why.
pub fn generate(config: &Config) -> Result<Generated, ConfigError> {
    config.validate()?;
    simulate::run(config)
}
