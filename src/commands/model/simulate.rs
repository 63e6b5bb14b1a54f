//! `isolde model simulate`: many runs by chance. It can find a violation, and never prove that there
//! is none.

use super::{Effort, Models, ask, found, print_json, world};
use crate::exit::{Exit, Failure};
use crate::model_args::{ChanceArgs, EffortArgs, SimulateArgs};
use crate::output;
use crate::report::model::{self, Asked, grouped};
use crate::report::model_json;
use protocol::{
    Entry, Faults, Model, Question, Request, SetupSource, SimulateOptions, SimulateOutcome,
    Workload,
};
use serde_json::{Value, json};
use std::time::Instant;

/// Simulates every protocol named.
pub fn run(args: &SimulateArgs, models: &Models) -> Result<Exit, Failure> {
    let questions = ask::questions(&args.chance.levels, args.form)?;
    let mut exit = Exit::Holds;
    let mut objects = Vec::new();
    for (entry, subject) in models.with_mutants(&args.chance.protocols)? {
        let effort = effort(&args.chance);
        let (mut asked, simulated) = one(args, entry, subject, &questions, &effort)?;
        effort.progress.finish();
        if let Some(directory) = &args.output {
            found::write(&mut asked, directory, models)?;
        }
        exit = exit.and(asked.exit());
        if args.chance.json {
            let mut object = model_json::object(&asked);
            add_runs(&mut object, args, &simulated);
            objects.push(object);
        } else {
            output::print(&model::render(&asked))?;
        }
    }
    if args.chance.json {
        print_json(&json!({"isolde": env!("CARGO_PKG_VERSION"), "models": objects}))?;
    }
    Ok(exit)
}

/// What limits runs by chance.
pub fn effort(args: &ChanceArgs) -> Effort {
    Effort::new(&EffortArgs {
        no_reduction: false,
        threads: args.threads,
        states: None,
        memory: None,
        timeout: args.timeout,
    })
}

/// What setups look like that are drawn.
pub fn workload(args: &ChanceArgs) -> Workload {
    Workload {
        sites: args.sites,
        keys: args.keys,
        replicas: (1, args.replication.min(args.sites)),
        sessions: args.clients,
        txns: args.txns,
        ops: (1, args.ops),
        read_share: args.reads,
        popularity: args.popularity,
    }
}

/// What is asked in every run, and in which world.
pub fn request<'a>(
    args: &ChanceArgs,
    effort: &Effort,
    questions: &[Question],
    tell: &'a (dyn Fn(&protocol::Progress) -> bool + Sync),
) -> Request<'a> {
    let mut request = effort.request(tell);
    request.questions = questions.to_vec();
    request.world = world(&args.world);
    request.sessions = args.sessions;
    request
}

/// Tells how many runs are made; whether to go on.
pub fn tell(effort: &Effort, name: &str, told: &protocol::Progress) -> bool {
    effort.progress.stage(&format!(
        "{name}: {} of {} runs",
        told.setups, told.setups_all
    ));
    effort.limits.reached().is_none()
}

fn one<'a>(
    args: &SimulateArgs,
    entry: &'a Entry,
    subject: &dyn Model,
    questions: &[Question],
    effort: &Effort,
) -> Result<(Asked<'a>, SimulateOutcome), Failure> {
    let started = Instant::now();
    let told = |told: &protocol::Progress| tell(effort, subject.name(), told);
    let request = request(&args.chance, effort, questions, &told);
    let (world, sessions) = (request.world, request.sessions);
    let options = SimulateOptions {
        request,
        runs: args.chance.runs,
        seed: args.chance.seed,
        scheduler: args.scheduler,
        fault_chance: args.chance.fault_chance,
        all_runs: args.all_runs,
        ..SimulateOptions::default()
    };
    let drawn = workload(&args.chance);
    let source = match &args.chance.setups[..] {
        [] => SetupSource::Drawn(&drawn),
        setups => SetupSource::These(setups),
    };
    let simulated = subject.simulate(source, &options).map_err(Failure)?;
    let mut outcome = simulated.outcome.clone();
    ask::name_the_limit(&mut outcome, effort);
    let findings = found::findings(subject, &outcome, world, sessions)?;
    let asked = Asked {
        entry,
        sessions,
        by_chance: Some(told_by(args, &simulated)),
        outcome,
        findings,
        explicit: !args.chance.levels.is_empty(),
        faults: world.faults != Faults::default(),
        seconds: started.elapsed().as_secs_f64(),
    };
    Ok((asked, simulated))
}

/// How the runs were made and what was seen.
fn told_by(args: &SimulateArgs, simulated: &SimulateOutcome) -> String {
    let evidence = &simulated.outcome.evidence;
    let mut text = format!(
        "  {} runs from seed {}, scheduler {}: {} with two or more commits, {} where one read \
         another's write, {} with aborts\n",
        grouped(simulated.runs),
        simulated.seed,
        args.scheduler,
        grouped(evidence.finals_two_commits),
        grouped(evidence.finals_reads_from),
        grouped(evidence.finals_aborts)
    );
    if simulated.given_up > 0 {
        let given_up = grouped(simulated.given_up);
        text.push_str(&format!("  {given_up} runs were given up as too long\n"));
    }
    if let Some(bound) = simulated.bound {
        text.push_str(&format!(
            "  a run shows a bug of that depth with a probability of at least {bound:.0e}\n"
        ));
    }
    for (found, (question, _)) in simulated.found.iter().zip(&simulated.outcome.answers) {
        if let Some(found) = found {
            text.push_str(&format!(
                "  {question}: first violated by the run of seed {}, in {} steps before it was made \
                 small; in {} runs\n",
                found.seed, found.steps, found.runs
            ));
        }
    }
    text
}

fn add_runs(object: &mut Value, args: &SimulateArgs, simulated: &SimulateOutcome) {
    object["runs"] = json!(simulated.runs);
    object["seed"] = json!(simulated.seed);
    object["scheduler"] = json!(args.scheduler.to_string());
    object["given_up"] = json!(simulated.given_up);
    for (place, found) in simulated.found.iter().enumerate() {
        if let Some(found) = found {
            object["results"][place]["found"] =
                json!({"seed": found.seed, "steps": found.steps, "runs": found.runs});
        }
    }
}
