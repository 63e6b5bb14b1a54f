//! Every test of this crate in one binary: what takes the time is linking.
#![allow(missing_docs)]

mod bounds;
mod cassandra;
mod estimate;
mod expect;
mod explore;
mod faults;
mod jessy;
mod machines;
mod paxos;
mod properties;
mod pstore;
mod ramp;
mod rola;
mod simulate;
mod support;
mod teaching;
mod trace;
mod two_phase;
mod verdicts;
mod walter;
