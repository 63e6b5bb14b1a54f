//! All models that come with Isolde, by name.

use crate::explore::explore;
use crate::protocol::{Protocol, Symmetry};
use crate::question::{Outcome, Property, Request};
use crate::setup::Setup;

/// A protocol whose types nobody needs to know.
pub trait Model: Send + Sync {
    /// The name, as on the command line.
    fn name(&self) -> &str;
    /// Which names can be exchanged.
    fn symmetry(&self) -> Symmetry;
    /// Explores all runs of all `setups`, which stand for `raw` ones.
    fn explore(&self, setups: &[Setup], raw: u64, request: &Request<'_>) -> Outcome;
}

impl<P: Protocol> Model for P {
    fn name(&self) -> &str {
        Protocol::name(self)
    }

    fn symmetry(&self) -> Symmetry {
        Protocol::symmetry(self)
    }

    fn explore(&self, setups: &[Setup], raw: u64, request: &Request<'_>) -> Outcome {
        explore(self, setups, raw, request)
    }
}

/// A model with what is known of it.
pub struct Entry {
    /// The model; its name is the entry's.
    pub model: Box<dyn Model>,
    /// The protocol's name as people write it.
    pub title: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it is, in a sentence.
    pub summary: &'static str,
    /// The properties it has, the strongest ones: each implies others.
    pub promises: &'static [Property],
    /// The same protocol with a seeded bug each.
    pub mutants: Vec<Mutant>,
}

/// A model with a seeded bug.
pub struct Mutant {
    /// The model.
    pub model: Box<dyn Model>,
    /// What is wrong with it.
    pub what: &'static str,
    /// A property that the protocol has and that the bug breaks.
    pub breaks: Property,
    /// A setup in which it shows.
    pub setup: Setup,
}

/// All models.
pub fn catalogue() -> Vec<Entry> {
    crate::models::all()
}
