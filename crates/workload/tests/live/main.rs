//! Runs, recordings and replays against a database that is a map in memory and fails on request.

mod cut;
mod fake;
mod fates;
mod limits;
mod orders;
mod recorded;
mod replays;
mod values;
