//! `isolde program replay DIR…`: plays the tests of anomalies again.

use super::directory::{self, Kept};
use super::play::{Outcome, Setup, Stage, in_process};
use super::print_json;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::program_args::ReplayArgs;
use crate::progress::Progress;
use serde_json::json;
use std::fmt::Write;

/// Plays every directory at every place asked for.
pub fn run(args: &ReplayArgs) -> Result<Exit, Failure> {
    let progress = Progress::start();
    let places: Vec<&str> = match args.on.is_empty() {
        true => vec!["store"],
        false => args.on.iter().map(String::as_str).collect(),
    };
    let mut out = String::new();
    let mut objects = Vec::new();
    let mut exit = Exit::Holds;
    for directory in &args.directories {
        let kept = directory::read(directory)?;
        let mut outcomes = Vec::new();
        for place in &places {
            outcomes.extend(play(&kept, directory, place, args, &progress)?);
        }
        let manifested = outcomes.iter().any(Outcome::is_manifested);
        exit = exit.and(match manifested {
            true => Exit::Violated,
            false => Exit::Holds,
        });
        let _ = writeln!(out, "{directory}  {}", kept.anomaly);
        for outcome in &outcomes {
            let _ = writeln!(out, "  {}", outcome.text());
        }
        objects.push(json!({
            "test": directory,
            "anomaly": kept.anomaly,
            "played": outcomes.iter().map(Outcome::json).collect::<Vec<_>>(),
        }));
    }
    progress.finish();
    match args.print.json {
        true => print_json(&json!({"isolde": env!("CARGO_PKG_VERSION"), "tests": objects}))?,
        false => output::print(&out)?,
    }
    Ok(exit)
}

fn play(
    kept: &Kept,
    directory: &str,
    place: &str,
    args: &ReplayArgs,
    progress: &Progress,
) -> Result<Vec<Outcome>, Failure> {
    if place == "store" {
        return Ok(vec![in_process(&kept.program, &kept.scenario)?]);
    }
    let java = super::java::application(&args.java, &kept.files, Some(directory))?;
    let setup = Setup {
        name: place,
        isolation: &args.isolation,
        java: java.as_ref(),
        instances: kept.scenario.instances.len(),
        progress,
    };
    let mut stage = Stage::open(&kept.program, &setup)?;
    stage.play(&kept.program, &kept.scenario)
}
