//! Workloads: simulated ([`generate()`]), and run against databases.

mod generate;

pub mod cluster;
pub mod driver;
pub mod drivers;
pub mod execute;
pub mod fault;
pub mod plan;
pub mod record;
pub mod replay;
pub mod schema;
pub mod session;
pub mod sql;
pub mod workloads;

pub use generate::{
    Benchmark, Config, ConfigError, Datatype, Distribution, Generated, Shape, generate,
};
