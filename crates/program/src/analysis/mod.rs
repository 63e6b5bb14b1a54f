//! The search for anomalies: which transactions, with which arguments and rows, and in which order
//! of their steps, do what no serial order does.

mod assign;
mod candidate;
mod constraint;
mod decode;
mod encode;
mod smt;
mod solver;

pub use candidate::{Candidate, Infeasible, Run, constraints_of, witness};
pub use constraint::{Constraints, Definition, Formula, Linear, Meaning, Node, Variable};
pub use solver::{Outcome, solve};
