//! Generates workloads and simulated histories.

mod generate;

pub use generate::{Config, ConfigError, Datatype, Distribution, Generated, generate};
