//! `isolde model estimate`: what a protocol costs, in runs with random delays.

use super::simulate::{effort, request, tell, workload};
use super::{Effort, Models, ask, print_json};
use crate::exit::{Exit, Failure};
use crate::model_args::{EstimateArgs, FormArg};
use crate::output;
use crate::report::model::grouped;
use protocol::{
    Delays, Estimate, EstimateOptions, Model, Proportion, Question, SetupSource, Spread,
};
use serde_json::{Value, json};

/// Estimates every protocol named.
pub fn run(args: &EstimateArgs, models: &Models) -> Result<Exit, Failure> {
    let questions = ask::questions(&args.chance.levels, FormArg::Strict)?;
    let mut objects = Vec::new();
    for (_, subject) in models.with_mutants(&args.chance.protocols)? {
        let effort = effort(&args.chance);
        let estimate = one(args, subject, &questions, &effort)?;
        effort.progress.finish();
        if args.chance.json {
            objects.push(object(&estimate));
        } else {
            output::print(&text(&estimate))?;
        }
    }
    if args.chance.json {
        print_json(&json!({"isolde": env!("CARGO_PKG_VERSION"), "models": objects}))?;
    }
    Ok(Exit::Holds)
}

fn one(
    args: &EstimateArgs,
    subject: &dyn Model,
    questions: &[Question],
    effort: &Effort,
) -> Result<Estimate, Failure> {
    let told = |told: &protocol::Progress| tell(effort, subject.name(), told);
    let options = EstimateOptions {
        request: request(&args.chance, effort, questions, &told),
        runs: args.chance.runs,
        seed: args.chance.seed,
        delays: Delays {
            remote: args.delay,
            think: args.think,
            regions: args.regions.clone(),
            far: args.far,
            ..Delays::default()
        },
        fault_chance: args.chance.fault_chance,
        ..EstimateOptions::default()
    };
    let drawn = workload(&args.chance);
    let source = match &args.chance.setups[..] {
        [] => SetupSource::Drawn(&drawn),
        setups => SetupSource::These(setups),
    };
    subject.estimate(source, &options).map_err(Failure)
}

fn text(estimate: &Estimate) -> String {
    let mut out = format!(
        "\x1b[1m{}\x1b[0m  {} runs from seed {}; intervals of 95 %\n",
        estimate.protocol,
        grouped(estimate.runs),
        estimate.seed
    );
    let mut row = |name: &str, value: String| out.push_str(&format!("  {name:<40} {value}\n"));
    row("aborted", share(&estimate.aborts));
    row("never answered", share(&estimate.unanswered));
    if let Some(mean) = &estimate.throughput {
        let told = format!("{:.3}  ({:.3} to {:.3})", mean.mean, mean.low, mean.high);
        row("commits in a unit of time", told);
    }
    let spreads = [
        ("rounds of a commit", &estimate.rounds),
        ("messages in a row of a commit", &estimate.hops),
        ("latency of a commit", &estimate.latency),
    ];
    for (name, spread) in spreads {
        if let Some(spread) = spread {
            row(name, told(spread));
        }
    }
    for (question, found) in &estimate.anomalies {
        row(&format!("runs that violate {question}"), share(found));
    }
    if estimate.given_up > 0 {
        row("runs given up as too long", grouped(estimate.given_up));
    }
    out
}

fn share(share: &Proportion) -> String {
    let percent = |share: f64| 100.0 * share;
    format!(
        "{:.2} %  ({:.2} to {:.2}; {} of {})",
        percent(share.share),
        percent(share.low),
        percent(share.high),
        grouped(share.count),
        grouped(share.of)
    )
}

fn told(spread: &Spread) -> String {
    format!(
        "{:.3}  ({:.3} to {:.3}); half up to {:.3}, 95 % up to {:.3}, 99 % up to {:.3}",
        spread.mean.mean,
        spread.mean.low,
        spread.mean.high,
        spread.p50.value,
        spread.p95.value,
        spread.p99.value
    )
}

fn object(estimate: &Estimate) -> Value {
    let anomalies: Vec<Value> = estimate
        .anomalies
        .iter()
        .map(|(question, share)| {
            json!({
                "property": question.property.name(),
                "form": question.form.name(),
                "runs": share,
            })
        })
        .collect();
    json!({
        "protocol": estimate.protocol,
        "runs": estimate.runs,
        "seed": estimate.seed,
        "given_up": estimate.given_up,
        "aborted": estimate.aborts,
        "unanswered": estimate.unanswered,
        "throughput": estimate.throughput,
        "rounds": estimate.rounds,
        "messages": estimate.hops,
        "latency": estimate.latency,
        "violations": anomalies,
    })
}
