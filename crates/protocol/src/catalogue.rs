//! All models that come with Isolde, by name.

use crate::explore::explore;
use crate::log::Log;
use crate::property::Judge;
use crate::protocol::{Protocol, Symmetry};
use crate::question::{Outcome, Property, Question, Request};
use crate::setup::Setup;
use crate::simulate::{
    Estimate, EstimateOptions, SetupSource, SimulateOptions, SimulateOutcome, estimate, simulate,
};
use crate::system::{Action, World};
use crate::trace::{self, Run};
use history::{Anomaly, History};

/// A protocol whose types nobody needs to know.
pub trait Model: Send + Sync {
    /// The name, as on the command line.
    fn name(&self) -> &str;
    /// Which names can be exchanged.
    fn symmetry(&self) -> Symmetry;
    /// Whether the protocol is meant for such a setup.
    fn accepts(&self, setup: &Setup) -> bool;
    /// Explores all runs of all `setups`, which stand for `raw` ones.
    fn explore(&self, setups: &[Setup], raw: u64, request: &Request<'_>) -> Outcome;
    /// Does again what a trace says, step by step, on the model as it is. Refused, with the reason,
    /// if it asks for something that cannot happen.
    fn replay(
        &self,
        world: World,
        sessions: bool,
        setup: &Setup,
        trace: &[Action],
    ) -> Result<Run, String>;
    /// Judges a log once more.
    fn judge(&self, setup: &Setup, log: &Log, sessions: bool, question: Question) -> Judgement;
    /// Simulates runs by chance.
    fn simulate(
        &self,
        setups: SetupSource<'_>,
        options: &SimulateOptions<'_>,
    ) -> Result<SimulateOutcome, String>;
    /// Measures runs in virtual time.
    fn estimate(
        &self,
        setups: SetupSource<'_>,
        options: &EstimateOptions<'_>,
    ) -> Result<Estimate, String>;
}

impl<P: Protocol> Model for P {
    fn name(&self) -> &str {
        Protocol::name(self)
    }

    fn symmetry(&self) -> Symmetry {
        Protocol::symmetry(self)
    }

    fn accepts(&self, setup: &Setup) -> bool {
        Protocol::accepts(self, setup)
    }

    fn explore(&self, setups: &[Setup], raw: u64, request: &Request<'_>) -> Outcome {
        explore(self, setups, raw, request)
    }

    fn replay(
        &self,
        world: World,
        sessions: bool,
        setup: &Setup,
        trace: &[Action],
    ) -> Result<Run, String> {
        trace::replay(self, world, sessions, setup, trace)
    }

    fn judge(&self, setup: &Setup, log: &Log, sessions: bool, question: Question) -> Judgement {
        let mut judge = Judge::new(&[question], self.version_order(), sessions);
        let (anomalies, explanation) = judge.explain(setup, log, question);
        Judgement {
            violated: judge.violated(setup, log) != 0,
            history: judge.history(setup, log, question.property),
            anomalies,
            explanation,
        }
    }

    fn simulate(
        &self,
        setups: SetupSource<'_>,
        options: &SimulateOptions<'_>,
    ) -> Result<SimulateOutcome, String> {
        simulate(self, setups, options)
    }

    fn estimate(
        &self,
        setups: SetupSource<'_>,
        options: &EstimateOptions<'_>,
    ) -> Result<Estimate, String> {
        estimate(self, setups, options)
    }
}

/// What a property says of one log.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// Whether the log violates the property.
    pub violated: bool,
    /// The history that was judged.
    pub history: History,
    /// What is wrong with it, in the checker's words; none in the paper's form.
    pub anomalies: Vec<Anomaly>,
    /// What is wrong with it, in a sentence.
    pub explanation: String,
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
