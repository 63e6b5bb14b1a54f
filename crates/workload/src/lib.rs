//! Generates workloads and simulated histories.

mod generate;

pub use generate::{
    Benchmark, Config, ConfigError, Datatype, Distribution, Generated, Shape, generate,
};
