//! Model checks the design of a transaction protocol: every run of every small setup is a history,
//! and the checker judges it like any other.
//!
//! A protocol is a [`Protocol`]: handlers that say what a site does when something reaches it. The
//! framework plays the network and the clients, records what happens ([`Log`]), and explores.

mod bounds;
mod catalogue;
mod codec;
mod context;
mod explore;
mod fault;
mod id;
mod log;
pub mod models;
mod multicast;
mod property;
mod protocol;
mod question;
mod setup;
mod setup_text;
mod simulate;
mod system;
mod trace;
mod workloads;

pub use bounds::{Bounds, Mix, Placement, Sessions, Setups, Shape, TooMany};
pub use catalogue::{Entry, Judgement, Model, Mutant, catalogue};
pub use context::Context;
pub use explore::{Machine, Searched, Sink, explore, fingerprint, search};
pub use fault::Faults;
pub use id::{Key, KeySet, MOST, Site, SiteSet, Txn, TxnSet, Version};
pub use log::{Detail, Event, Log, Record, Status};
pub use property::{Judge, UnknownProperty, applicable, malformed, to_history, vacuous};
pub use protocol::{Input, Protocol, Symmetry, VersionOrder};
pub use question::{
    Answer, Counterexample, Evidence, Form, Outcome, Progress, Property, Question, Request, Stuck,
    detail,
};
pub use setup::{Op, Session, Setup, shape};
pub use simulate::{
    Delay, Delays, Estimate, EstimateOptions, Found, Mean, Popularity, Proportion, Quantile,
    Scheduler, SetupSource, SimulateOptions, SimulateOutcome, Spread, Workload, estimate, simulate,
};
pub use system::{Action, Did, Move, Packet, State, System, World};
pub use trace::{Cause, Changed, Happened, Message, ReplayFile, Run, Step, mermaid, svg, text};
pub use workloads::separating;
