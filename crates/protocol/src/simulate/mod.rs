//! Runs a protocol many times by chance, where visiting every state is out of reach.
//!
//! Steps, for each run: a setup (given, or drawn within bounds), a schedule ([`Scheduler`]), and the
//! judgement of what was recorded, by the same code as in an exploration. The first run that
//! violates a question is made small ([`minimise`]) and shown like any counterexample.
//!
//! Run number n of seed s depends on s + n alone: it is the first run of seed s + n. Threads change
//! nothing: runs are handed out in fixed portions, and portions are added up in their order.
//!
//! What a simulation cannot do is to answer yes: an absence of violations is [`Answer::Unknown`].

mod delay;
mod estimate;
mod interval;
mod minimise;
mod portions;
mod random;
mod schedule;
mod tally;
mod timed;
mod walk;
mod workload;

pub use delay::{Delay, Delays};
pub use estimate::{Estimate, EstimateOptions, estimate};
pub use interval::{Mean, Proportion, Quantile, Spread};
pub use schedule::Scheduler;
pub use workload::{Popularity, Workload};

use crate::property::Judge;
use crate::protocol::Protocol;
use crate::question::{Answer, Evidence, Outcome, Progress, Request, Stuck, detail};
use crate::setup::Setup;
use crate::system::{System, World};
use minimise::minimise;
use portions::{in_portions, of_run};
use random::Random;
use schedule::{Run, Schedule};
use std::borrow::Cow;
use tally::Tally;

/// How to simulate.
#[derive(Clone)]
pub struct SimulateOptions<'a> {
    /// What is asked, in which world, on how many threads. `states_max` bounds the steps of all
    /// runs, and the states visited to shorten what was found.
    pub request: Request<'a>,
    /// How many runs.
    pub runs: u64,
    /// Where chance begins; run number n is the first run of the seed n further.
    pub seed: u64,
    /// Who goes next.
    pub scheduler: Scheduler,
    /// The probability that a fault comes before a step, as long as the budget lasts.
    pub fault_chance: f64,
    /// The most steps of a run; one that is longer is given up.
    pub steps_max: u32,
    /// Whether to go on when every question is answered with no, to count how often.
    pub all_runs: bool,
    /// How many runs to try for each smaller setup; with 0, what is found is shown as it is.
    pub shrink_runs: u32,
    /// How many states to visit for a shortest run of what is left.
    pub shrink_states: u64,
}

impl Default for SimulateOptions<'_> {
    fn default() -> Self {
        SimulateOptions {
            request: Request::default(),
            runs: 1000,
            seed: 0,
            scheduler: Scheduler::Random,
            fault_chance: 0.1,
            steps_max: 10_000,
            all_runs: false,
            shrink_runs: 200,
            shrink_states: 200_000,
        }
    }
}

/// Where a simulation takes its setups from.
#[derive(Clone, Copy, Debug)]
pub enum SetupSource<'a> {
    /// These in turn.
    These(&'a [Setup]),
    /// Drawn for each run.
    Drawn(&'a Workload),
}

/// What a simulation found.
#[derive(Clone, Debug)]
pub struct SimulateOutcome {
    /// Answers, evidence, stuck transactions and errors of the model, as of an exploration. States
    /// are steps here, and final states are finished runs.
    pub outcome: Outcome,
    /// How many runs were made.
    pub runs: u64,
    /// Where chance began.
    pub seed: u64,
    /// For each question the first run that violated it, before it was made small.
    pub found: Vec<Option<Found>>,
    /// Runs given up because they were too long.
    pub given_up: u64,
    /// The probability with which a run shows a bug of the scheduler's depth, at least.
    pub bound: Option<f64>,
}

/// How a violation was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// The seed whose first run it is.
    pub seed: u64,
    /// Its steps.
    pub steps: usize,
    /// How many of the runs made violate the question.
    pub runs: u64,
}

/// Simulates runs of a protocol. Refuses bounds that exclude every setup.
pub fn simulate<P: Protocol>(
    protocol: &P,
    setups: SetupSource<'_>,
    options: &SimulateOptions<'_>,
) -> Result<SimulateOutcome, String> {
    setups.validate()?;
    let simulation = Simulation {
        protocol,
        setups,
        options,
        world: world(&options.request),
    };
    let enough = |tally: &Tally| {
        let questions = options.request.questions.len();
        let answered = questions > 0 && tally.found.iter().flatten().count() == questions;
        tally.error.is_some()
            || answered && !options.all_runs
            || tally.steps >= options.request.states_max
    };
    let progress = |runs: u64, steps: u64| {
        let told = Progress {
            setups: runs as usize,
            setups_all: options.runs as usize,
            states: steps,
        };
        (options.request.progress)(&told)
    };
    let tally = in_portions(
        options.runs,
        options.request.threads,
        || judge(protocol, &options.request),
        |judge, first, count| simulation.portion(judge, first, count),
        |all: &mut Tally, next| all.add(next),
        enough,
        |all| progress(all.runs, all.steps),
    );
    Ok(simulation.outcome(tally.unwrap_or_default()))
}

/// Answers what a request asks.
fn judge<P: Protocol>(protocol: &P, request: &Request<'_>) -> Judge {
    Judge::new(
        &request.questions,
        protocol.version_order(),
        request.sessions,
    )
}

/// The world of a request, with the detail that its questions need.
fn world(request: &Request<'_>) -> World {
    let mut world = request.world;
    world.detail = detail(&request.questions);
    world
}

impl<'a> SetupSource<'a> {
    fn validate(&self) -> Result<(), String> {
        match self {
            SetupSource::These([]) => Err("there is no setup to run".into()),
            SetupSource::These(_) => Ok(()),
            SetupSource::Drawn(workload) => workload.validate(),
        }
    }

    /// The setup of the run with a seed.
    fn of_run(&self, seed: u64, random: &mut Random) -> Result<Cow<'a, Setup>, String> {
        match self {
            SetupSource::These(setups) => {
                let place = seed % setups.len() as u64;
                Ok(Cow::Borrowed(&setups[place as usize]))
            }
            SetupSource::Drawn(workload) => workload.draw(random).map(Cow::Owned),
        }
    }
}

struct Simulation<'a, P: Protocol> {
    protocol: &'a P,
    setups: SetupSource<'a>,
    options: &'a SimulateOptions<'a>,
    world: World,
}

impl<P: Protocol> Simulation<'_, P> {
    fn portion(&self, judge: &mut Judge, first: u64, count: u64) -> Tally {
        let mut tally = Tally::new(self.options.request.questions.len());
        for number in first..first + count {
            let seed = self.options.seed.wrapping_add(number);
            let run = self.with_run(seed, |run| {
                tally.count(run, seed, judge);
            });
            if let Err(error) = run {
                tally.error.get_or_insert((error, seed));
            }
        }
        tally.undecided = judge.undecided().map(str::to_string);
        tally
    }

    /// Makes the run of a seed and lets `look` look at it.
    fn with_run<T>(&self, seed: u64, look: impl FnOnce(&Run<'_, '_, P>) -> T) -> Result<T, String> {
        let mut random = of_run(seed);
        let setup = self.setups.of_run(seed, &mut random)?;
        let system = System {
            protocol: self.protocol,
            setup: &setup,
            world: self.world,
        };
        Ok(look(&self.schedule().run(&system, &mut random)))
    }

    fn schedule(&self) -> Schedule {
        Schedule {
            scheduler: self.options.scheduler,
            fault_chance: self.options.fault_chance,
            steps_max: self.options.steps_max as usize,
        }
    }

    fn outcome(&self, tally: Tally) -> SimulateOutcome {
        let request = &self.options.request;
        let run_of = |seed| {
            let run = self.with_run(seed, |run| tally::counterexample(run, request, None));
            run.ok()
        };
        let mut answers = Vec::new();
        for (place, question) in request.questions.iter().enumerate() {
            let found = tally.found.get(place).copied().flatten();
            let run = found.and_then(|found| {
                let look = |run: &Run<'_, '_, P>| minimise(run, self.options, *question);
                self.with_run(found.seed, look).ok()
            });
            let answer = match run {
                Some(run) => Answer::Violated(Box::new(run)),
                None => Answer::Unknown(match &tally.undecided {
                    Some(why) => format!("a run could not be judged: {why}"),
                    None => format!("not violated in {} runs", tally.runs),
                }),
            };
            answers.push((*question, answer));
        }
        let stuck = tally.stuck.and_then(|(seed, finals)| {
            let run = run_of(seed)?;
            let txns = tally::unanswered(&run.setup, &run.log);
            Some(Stuck { run, txns, finals })
        });
        let model_error = tally
            .error
            .and_then(|(error, seed)| Some((error, Box::new(run_of(seed)?))));
        let bound = match self.options.scheduler {
            Scheduler::Pct(depth) if tally.runs > 0 => {
                let steps = f64::from(tally.evidence.depth.max(1)).powi(depth as i32 - 1);
                Some(1.0 / (tally.chains.max(1) as f64 * steps))
            }
            _ => None,
        };
        SimulateOutcome {
            runs: tally.runs,
            seed: self.options.seed,
            given_up: tally.given_up,
            bound,
            found: tally.found,
            outcome: Outcome {
                protocol: self.protocol.name().to_string(),
                answers,
                evidence: Evidence {
                    rules_never_fired: never_fired(self.protocol, tally.rules),
                    ..tally.evidence
                },
                stuck,
                model_error,
            },
        }
    }
}

fn never_fired<P: Protocol>(protocol: &P, fired: u64) -> Vec<String> {
    let rules = protocol.rules().iter().enumerate();
    let never = rules.filter(|(place, _)| fired & (1 << (place & 63)) == 0);
    never.map(|(_, rule)| rule.to_string()).collect()
}
