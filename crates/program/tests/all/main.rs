//! Every test of this crate in one binary: what takes the time is linking.
#![allow(missing_docs)]

mod bank;
mod consequences;
mod engines;
mod installed;
mod invariants;
mod java;
mod java_classes;
mod java_commits;
mod java_declared;
mod java_helpers;
mod java_objects;
mod java_replay;
mod java_styles;
mod java_templates;
mod java_unread;
mod log;
mod micro;
mod order_invariants;
mod play;
mod plays;
mod programs;
mod published;
mod random_programs;
mod robust;
mod runner;
mod scripts;
mod searched;
mod servers;
mod solver;
mod sources;
mod sqlfile;
mod statements;
mod store;
mod witness;
mod z3;
