//! `isolde program replay DIR…`: plays the tests of anomalies again.

use super::directory::{self, Kept};
use super::play::{Outcome, in_process};
use super::print_json;
use super::stage::{Setup, Stage};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::program_args::ReplayArgs;
use crate::progress::Progress;
use crate::report::program::broken_names;
use program::Schema;
use serde_json::json;
use std::collections::BTreeMap;
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
    let mut stages = Stages::default();
    for directory in &args.directories {
        let kept = directory::read(directory)?;
        let mut outcomes = Vec::new();
        for place in &places {
            outcomes.extend(stages.play(&kept, place, args, &progress)?);
        }
        let manifested = outcomes.iter().any(Outcome::is_manifested);
        exit = exit.and(match manifested {
            true => Exit::Violated,
            false => Exit::Holds,
        });
        let broken = broken_names(&kept.program, &kept.scenario);
        let _ = writeln!(out, "{directory}  {}", kept.anomaly);
        if !broken.is_empty() {
            let _ = writeln!(out, "  breaks {}", broken.join(", "));
        }
        for outcome in &outcomes {
            let _ = writeln!(out, "  {}", outcome.text());
        }
        objects.push(json!({
            "test": directory,
            "anomaly": kept.anomaly,
            "broken_invariants": broken,
            "played": outcomes.iter().map(Outcome::json).collect::<Vec<_>>(),
        }));
    }
    progress.finish();
    match args.json {
        true => print_json(&json!({"isolde": env!("CARGO_PKG_VERSION"), "tests": objects}))?,
        false => output::print(&out)?,
    }
    Ok(exit)
}

/// The databases that are ready, by name, with the tables they have. Tests of one program share them.
#[derive(Default)]
struct Stages {
    open: BTreeMap<String, Open>,
}

/// A database that is ready for so many instances of these tables.
struct Open {
    schema: Schema,
    instances: usize,
    stage: Stage,
}

impl Stages {
    fn play(
        &mut self,
        kept: &Kept,
        place: &str,
        args: &ReplayArgs,
        progress: &Progress,
    ) -> Result<Vec<Outcome>, Failure> {
        if place == "store" {
            return Ok(vec![in_process(&kept.program, &kept.scenario)?]);
        }
        let schema = &kept.program.schema;
        // The application's own code is compiled from the directory.
        let (program, directory) = (&kept.program, Some(kept.directory.as_str()));
        let java = super::java::application(&args.java, &kept.files, program, directory)?;
        let instances = kept.scenario.instances.len();
        if let (Some(open), None) = (self.open.get_mut(place), &java)
            && open.schema == *schema
            && open.instances >= instances
        {
            return open.stage.play(&kept.program, &kept.scenario);
        }
        // The tables of the last one go first.
        self.open.remove(place);
        let setup = Setup {
            name: place,
            isolation: &args.isolation,
            java: java.as_ref(),
            instances,
            progress,
        };
        let mut stage = Stage::open(&kept.program, &setup)?;
        let played = stage.play(&kept.program, &kept.scenario)?;
        let open = Open {
            schema: schema.clone(),
            instances,
            stage,
        };
        self.open.insert(place.to_string(), open);
        Ok(played)
    }
}
