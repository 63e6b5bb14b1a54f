//! How the solvers compare on histories that are left to them: `cargo run --release -p
//! isolde-checker --features cadical --example solvers -- LEVEL SECONDS FILE...`
//!
//! For every file the verdict of each solver, its CPU seconds, and how many choices there were and
//! cycles it ran into. CaDiCaL has a thread of its own and talks to the theory by messages, so its
//! seconds are a bit more than it would need; the cycles are not affected.
#![allow(missing_docs)]

use checker::{Budget, Options, SatSolver, Strategy, check};
use history::Level;
use history::format::{self, ReadOptions, Source};
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [level, seconds, files @ ..] = arguments.as_slice() else {
        return Err("LEVEL SECONDS FILE...".into());
    };
    let level: Level = level.parse()?;
    let patience = Duration::from_secs_f64(seconds.parse()?);
    for file in files {
        for solver in [SatSolver::BatSat, SatSolver::Cadical] {
            println!("{file} {}", row(file, level, patience, solver)?);
        }
    }
    Ok(())
}

fn row(
    file: &str,
    level: Level,
    patience: Duration,
    solver: SatSolver,
) -> Result<String, Box<dyn std::error::Error>> {
    let bytes = std::fs::read(file)?;
    let source = Source {
        name: file,
        bytes: &bytes,
    };
    let history = format::read(&[source], &ReadOptions::default())?.history;
    let (started, cpu) = (Instant::now(), cpu_seconds());
    let late = || (started.elapsed() > patience).then(|| "late".to_string());
    let options = Options {
        budget: Budget {
            probe: &late,
            ..Budget::default()
        },
        strategy: Strategy {
            solver,
            ..Strategy::default()
        },
        ..Options::default()
    };
    let answer = &check(&history, &[level], &options)[0];
    let seconds = cpu_seconds() - cpu;
    let solved = answer.stages.iter().filter(|stage| stage.name == "solve");
    let counts: Vec<String> = solved
        .flat_map(|stage| &stage.counts)
        .map(|(what, number)| format!("{number} {what}"))
        .collect();
    let verdict = answer.result.verdict.name();
    Ok(format!(
        "{solver:?} {verdict} {seconds:.2} s {}",
        counts.join(", ")
    ))
}

/// The CPU time of all threads, in hundredths, where the system tells it.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in brackets, may have spaces; user and system time are the twelfth
    // and the thirteenth field behind it.
    let fields = text.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks
        .filter_map(|field| field.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0
}
