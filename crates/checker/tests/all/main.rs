//! Every test of this crate in one binary: what takes the time is linking.
#![allow(missing_docs)]

mod agreement;
mod cases;
mod cycles;
mod elements;
mod explanations;
mod flags;
mod formulas;
mod fuzzed;
mod hints;
mod key_order;
mod limits;
mod linearizable;
mod minimal;
mod mixtures;
mod serial_runs;
mod shape;
mod shapes;
mod shrink;
mod small;
mod solvers;
mod strong;
mod transfers;

#[path = "../../../history/tests/all/support/mod.rs"]
mod support;
