//! Estimates by Monte Carlo what a protocol costs: runs in virtual time, with delays drawn from
//! distributions, give the share of aborts, the throughput, the latencies and the probability of an
//! anomaly, each with an interval of confidence of 95 %.
//!
//! The numbers are of the model and of the delays given, not of an implementation. Only messages,
//! pauses and repairs take time; a step of a site takes none.

use super::delay::Delays;
use super::interval::{Mean, Proportion, Spread};
use super::portions::{in_portions, of_run};
use super::timed::{Measured, Timing};
use super::{SetupSource, judge, world};
use crate::property::{Judge, malformed};
use crate::protocol::Protocol;
use crate::question::{Progress, Question, Request};
use crate::system::System;

/// How to estimate.
#[derive(Clone)]
pub struct EstimateOptions<'a> {
    /// What is asked, in which world, on how many threads.
    pub request: Request<'a>,
    /// How many runs, from 2.
    pub runs: u64,
    /// Where chance begins; run number n is the first run of the seed n further.
    pub seed: u64,
    /// How long everything takes.
    pub delays: Delays,
    /// The probability that a fault comes before a step, as long as the budget lasts.
    pub fault_chance: f64,
    /// The most steps of a run; one that is longer is given up.
    pub steps_max: u32,
}

impl Default for EstimateOptions<'_> {
    fn default() -> Self {
        EstimateOptions {
            request: Request::default(),
            runs: 1000,
            seed: 0,
            delays: Delays::default(),
            fault_chance: 0.0,
            steps_max: 100_000,
        }
    }
}

/// What many runs in virtual time amount to.
#[derive(Clone, PartialEq, Debug)]
pub struct Estimate {
    /// The protocol.
    pub protocol: String,
    /// How many runs were made.
    pub runs: u64,
    /// Where chance began.
    pub seed: u64,
    /// Runs given up because they were too long; they are counted nowhere else.
    pub given_up: u64,
    /// The share of aborts among the transactions whose clients got an answer.
    pub aborts: Proportion,
    /// The share of transactions whose clients never got an answer.
    pub unanswered: Proportion,
    /// Committed transactions in a unit of time; none if no time passed.
    pub throughput: Option<Mean>,
    /// Messages on the critical path of a committed transaction.
    pub hops: Option<Spread>,
    /// The same in rounds of two messages, there and back.
    pub rounds: Option<Spread>,
    /// The time from the start of a committed transaction to its answer.
    pub latency: Option<Spread>,
    /// For each question, the share of runs that violate it.
    pub anomalies: Vec<(Question, Proportion)>,
}

/// What is kept of a run.
struct Kept {
    measured: Option<Measured>,
    violated: u64,
    error: Option<String>,
}

/// Estimates what a protocol costs. Refuses bounds that exclude every setup, and a model that does
/// what none may do.
pub fn estimate<P: Protocol>(
    protocol: &P,
    setups: SetupSource<'_>,
    options: &EstimateOptions<'_>,
) -> Result<Estimate, String> {
    setups.validate()?;
    options.delays.validate()?;
    if options.runs < 2 {
        return Err("an interval needs two runs or more".into());
    }
    let progress = |runs: usize| {
        let told = Progress {
            setups: runs,
            setups_all: options.runs as usize,
            states: 0,
        };
        (options.request.progress)(&told)
    };
    let kept = in_portions(
        options.runs,
        options.request.threads,
        || judge(protocol, &options.request),
        |judge, first, count| portion(protocol, setups, options, judge, first..first + count),
        |all: &mut Vec<Kept>, next| all.extend(next),
        |all| all.iter().any(|kept| kept.error.is_some()),
        |all| progress(all.len()),
    );
    let kept = kept.unwrap_or_default();
    if let Some((place, error)) = first_error(&kept) {
        let seed = options.seed.wrapping_add(place as u64);
        return Err(format!("{error} (seed {seed})"));
    }
    Ok(summary(protocol.name(), options, &kept))
}

fn first_error(kept: &[Kept]) -> Option<(usize, &String)> {
    let errors = kept.iter().enumerate();
    errors
        .filter_map(|(place, kept)| kept.error.as_ref().map(|error| (place, error)))
        .next()
}

fn portion<P: Protocol>(
    protocol: &P,
    setups: SetupSource<'_>,
    options: &EstimateOptions<'_>,
    judge: &mut Judge,
    runs: std::ops::Range<u64>,
) -> Vec<Kept> {
    runs.map(|number| {
        let seed = options.seed.wrapping_add(number);
        one_run(protocol, setups, options, judge, seed)
    })
    .collect()
}

fn one_run<P: Protocol>(
    protocol: &P,
    setups: SetupSource<'_>,
    options: &EstimateOptions<'_>,
    judge: &mut Judge,
    seed: u64,
) -> Kept {
    let mut kept = Kept {
        measured: None,
        violated: 0,
        error: None,
    };
    let mut random = of_run(seed);
    let setup = match setups.of_run(seed, &mut random) {
        Ok(setup) => setup,
        Err(error) => {
            kept.error = Some(error);
            return kept;
        }
    };
    let system = System {
        protocol,
        setup: &setup,
        world: world(&options.request),
    };
    let timing = Timing {
        delays: &options.delays,
        fault_chance: options.fault_chance,
        steps_max: options.steps_max as usize,
    };
    let mut measured = timing.run(&system, &mut random);
    kept.error = measured
        .log
        .error
        .clone()
        .or_else(|| malformed(&measured.log));
    if measured.finished && kept.error.is_none() {
        kept.violated = judge.violated(&setup, &measured.log);
        if let Some(why) = judge.undecided() {
            kept.error = Some(format!("a run could not be judged: {why}"));
        }
        // Of thousands of runs, the logs are not needed.
        measured.log.records.clear();
        measured.log.installed.clear();
        measured.log.events.clear();
        kept.measured = Some(measured);
    }
    kept
}

fn summary(protocol: &str, options: &EstimateOptions<'_>, kept: &[Kept]) -> Estimate {
    let runs: Vec<&Measured> = kept
        .iter()
        .filter_map(|run| run.measured.as_ref())
        .collect();
    let shares = |count: &dyn Fn(&Measured) -> (u64, u64)| -> Proportion {
        let counts: Vec<(u64, u64)> = runs.iter().map(|run| count(run)).collect();
        Proportion::of_clusters(&counts)
    };
    let aborts = shares(&|run| (run.aborted, run.committed + run.aborted));
    let unanswered = shares(&|run| {
        let all = run.committed + run.aborted + run.unanswered;
        (run.unanswered, all)
    });
    let spread = |values: &dyn Fn(&Measured) -> Vec<f64>| {
        let values: Vec<Vec<f64>> = runs.iter().map(|run| values(run)).collect();
        Spread::of(&values)
    };
    let questions = options.request.questions.iter().enumerate();
    let anomalies = questions.map(|(place, question)| {
        let violated = |run: &&Kept| run.violated & (1 << place) != 0;
        let count = kept.iter().filter(violated).count() as u64;
        (*question, Proportion::of_runs(count, runs.len() as u64))
    });
    Estimate {
        protocol: protocol.to_string(),
        runs: kept.len() as u64,
        seed: options.seed,
        given_up: (kept.len() - runs.len()) as u64,
        aborts,
        unanswered,
        throughput: Mean::of_ratio(runs.iter().map(|run| (run.committed as f64, run.elapsed))),
        hops: spread(&|run| run.hops.clone()),
        rounds: spread(&|run| run.hops.iter().map(|hops| hops / 2.0).collect()),
        latency: spread(&|run| run.latencies.clone()),
        anomalies: anomalies.collect(),
    }
}
