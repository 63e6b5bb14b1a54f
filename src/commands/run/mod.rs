//! `isolde run`: drives a database with a workload, hurts it, records what clients saw, and judges that.

mod bank;
mod drive;
mod judge;
mod live;
pub mod matrix;
mod page;
mod print;
mod replay;
mod sql;
pub mod target;

use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output;
use crate::progress::Progress;
use crate::run_args::{FaultArg, RunArgs};
use drive::{Job, drive};
use judge::judge;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use target::{Start, Target};
use workload::workloads;

/// Runs one workload against one database, or, without one, shows both sides of SQLite.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    if args.workload == "help" {
        return list_workloads();
    }
    interrupt::listen();
    if !args.databases.is_empty() {
        return run_one(args);
    }
    let sqlite = RunArgs {
        databases: vec!["sqlite".to_string()],
        ..args.clone()
    };
    let exit = run_one(&sqlite)?;
    if args.isolation.is_some() || args.json || args.output.is_some() || interrupt::pressed() {
        return Ok(exit);
    }
    output::print(WEAKEST)?;
    let mut weakest = RunArgs {
        isolation: Some("read uncommitted".to_string()),
        ..sqlite
    };
    // Few keys and many rollbacks: more to see that should not be seen.
    weakest.load.keys.get_or_insert(100);
    weakest.load.aborts.get_or_insert(0.3);
    Ok(exit.and(run_one(&weakest)?))
}

/// What stands between the two runs of the tour.
const WEAKEST: &str = "
The same with SQLite's weakest setting, which lets transactions see what others may yet roll back:

";

fn run_one(args: &RunArgs) -> Result<Exit, Failure> {
    // A misspelt name is better refused before servers start than after.
    drive::workload(&args.load, &args.workload, 0)?;
    let is_network = |fault: &FaultArg| matches!(fault, FaultArg::Partition | FaultArg::Slow);
    let progress = Progress::start_for(args.progress_json);
    progress.stage("starting");
    let start = Start {
        settings: &args.load.settings,
        network_faults: args.faults.iter().any(is_network),
        progress: &progress,
    };
    let target = Target::start(&args.databases, start)?;
    if target.cluster.is_none() && !args.faults.is_empty() {
        return Err(Failure(format!(
            "--fault: {} was not started by Isolde, so it is not Isolde's to break",
            target.name
        )));
    }
    let seed = args.load.seed.unwrap_or_else(draw_seed);
    let directory = directory(args.output.as_deref(), &target.name, seed)?;
    let job = Job {
        target: &target,
        load: &args.load,
        workload: &args.workload,
        isolation: args.isolation.as_deref(),
        levels: &args.levels,
        seed,
        faults: args.faults.clone(),
        fault_every: args.fault_every,
        fault_for: args.fault_for,
        stop_at_first: args.stop_at_first,
        directory: &directory,
    };
    let driven = drive(&job, &progress).inspect_err(|_| {
        // Only an empty directory goes: what was recorded stays.
        let _ = std::fs::remove_dir(&directory);
    })?;
    let judged = judge(&driven, &args.levels, args.load.timeout, &progress)?;
    let confirmation = match args.replay {
        Some(times) if driven.failure.is_none() => {
            let confirmed = replay::confirm(&driven, &judged, times, seed, &progress);
            // What was found is worth telling even if it cannot be run again.
            Some(confirmed.unwrap_or_else(|failure| replay::Confirmation::NotAgain(failure.0)))
        }
        _ => None,
    };
    progress.finish();
    print::print(args, &job, &driven, &judged, confirmation.as_ref())?;
    let mut exit = judged.exit();
    if driven.committed == 0 {
        output::note("no transaction committed, so nothing can be said of the database");
        exit = exit.and(Exit::Unknown);
    }
    match &driven.failure {
        Some(failure) => {
            output::error(&format!("{}: the run ended early: {failure}", target.name));
            Ok(exit.and(Exit::BadInput))
        }
        None => Ok(exit),
    }
}

fn list_workloads() -> Result<Exit, Failure> {
    let mut text = String::new();
    for (name, meaning) in workloads::names() {
        text.push_str(&format!("{name:<17} {meaning}\n"));
    }
    output::print_plain(&text)?;
    Ok(Exit::Holds)
}

/// Removes a directory of a run that nobody needs; where that fails there is nothing to be done about it.
fn remove(directory: &Path) {
    let _ = std::fs::remove_dir_all(directory);
}

/// A seed that nobody chose, small enough to be typed.
pub fn draw_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(1, |since| {
        u64::from(since.subsec_nanos()) / 1000 + since.as_secs() % 1000
    })
}

/// Makes the directory of a run: the one that the user named, or a new one.
fn directory(named: Option<&str>, database: &str, seed: u64) -> Result<PathBuf, Failure> {
    let create = |path: &Path| {
        let created = std::fs::create_dir_all(path);
        created.map_err(|error| Failure::with(&path.display().to_string(), error))
    };
    if let Some(named) = named {
        let path = PathBuf::from(named);
        create(&path)?;
        if path.join("history.jsonl").exists() {
            let problem = "holds a recording already; name another directory";
            return Err(Failure::with(named, problem));
        }
        return Ok(path);
    }
    let word: String = database
        .chars()
        .take_while(|letter| *letter != '/' && *letter != ' ')
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '-'
            }
        })
        .collect();
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let time = since.map_or(0, |since| since.as_secs());
    let word = word.trim_matches('-');
    create(Path::new("isolde-runs"))?;
    for count in 0..1000 {
        let path = format!("isolde-runs/{word}-{time}-{}", seed.wrapping_add(count));
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(PathBuf::from(path)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Failure::with(&path, error)),
        }
    }
    Err(Failure("isolde-runs: no name is free".to_string()))
}
