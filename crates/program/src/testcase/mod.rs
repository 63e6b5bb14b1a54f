//! An anomaly as a directory that somebody can keep, read and run.

mod json;

pub use json::{scenario_from_json, scenario_to_json, value_to_json};
