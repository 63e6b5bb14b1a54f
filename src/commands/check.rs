//! `isolde check`: which levels hold, which are violated, and why.

use crate::args::CheckArgs;
use crate::exit::{Exit, Failure};
use crate::input::{self, LoadError};
use crate::limits::Limits;
use crate::output;
use crate::progress::Progress;
use crate::report::{self, Report};
use checker::{Budget, Checked, Options};
use history::{Initial, Level, LevelResult, Verdict};

/// Checks every file; the exit code is that of the worst.
pub fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    if args.certificate.is_some() && args.files.len() > 1 {
        return Err(Failure(
            "--certificate takes one history file at a time".to_string(),
        ));
    }
    let mut exit = Exit::Holds;
    for file in &args.files {
        exit = exit.and(match check_file(args, file) {
            Ok(exit) => exit,
            Err(failure) => {
                output::error(&failure.0);
                Exit::BadInput
            }
        });
    }
    Ok(exit)
}

fn check_file(args: &CheckArgs, file: &str) -> Result<Exit, Failure> {
    let limits = Limits::new(args.timeout, args.memory);
    let progress = Progress::start();
    let levels = if args.levels.is_empty() {
        Level::WEAK.to_vec()
    } else {
        args.levels.clone()
    };
    let loaded = match input::load(file, args.read.format, &limits, &progress) {
        Ok(loaded) => loaded,
        Err(LoadError::Failure(failure)) => return Err(failure),
        Err(LoadError::Limit(reason)) => {
            drop(progress);
            let answers = levels
                .iter()
                .map(|&level| unknown(level, &reason))
                .collect::<Vec<_>>();
            return print(args, &Report::without_history(file, &answers));
        }
    };
    let initial = &args.read.initial;
    let answers = check_history(&loaded.history, &levels, initial, &limits, &progress);
    drop(progress);
    for text in &loaded.notes {
        output::note(&format!("{file}: {text}"));
    }
    if let Some(path) = &args.certificate {
        let results: Vec<LevelResult> =
            answers.iter().map(|answer| answer.result.clone()).collect();
        write_certificate(path, &loaded.history, initial, &results)?;
    }
    print(
        args,
        &Report::new(file, &loaded, &answers, args.levels.is_empty()),
    )
}

/// Asks the checker within the limits.
pub fn check_history(
    history: &history::History,
    levels: &[Level],
    initial: &Initial,
    limits: &Limits,
    progress: &Progress,
) -> Vec<Checked> {
    let options = Options {
        initial: initial.clone(),
        budget: Budget {
            probe: &|| limits.reached(),
            progress: &|stage| progress.stage(stage),
        },
    };
    checker::check(history, levels, &options)
}

fn unknown(level: Level, reason: &str) -> Checked {
    let verdict = Verdict::Unknown(reason.to_string());
    Checked {
        result: LevelResult { level, verdict },
        seconds: 0.0,
    }
}

fn print(args: &CheckArgs, report: &Report<'_>) -> Result<Exit, Failure> {
    if args.json {
        output::print_plain(&report::json::render(report))?;
    } else {
        output::print(&report::text::render(report))?;
    }
    Ok(report.exit())
}

fn write_certificate(
    path: &str,
    history: &history::History,
    initial: &Initial,
    results: &[LevelResult],
) -> Result<(), Failure> {
    let text = history::certificate::to_json(history, initial, results);
    std::fs::write(path, text).map_err(|error| Failure::with(path, error))
}
