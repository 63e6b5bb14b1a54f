//! An anomaly as a directory that somebody can keep, read and run.

mod json;
mod steps;

pub use json::{scenario_from_json, scenario_to_json, value_to_json};
pub use steps::{ShownStep, instance_name, instance_text, shown_steps};
