//! The protocols of the tutorial in docs/protocols.md, step by step.

mod checked;
#[allow(dead_code)]
#[path = "../starting_point.rs"]
mod naive;
mod two_phase;

use std::process::ExitCode;

fn main() -> ExitCode {
    isolde::model::main(vec![naive::entry(), checked::entry(), two_phase::entry()])
}
