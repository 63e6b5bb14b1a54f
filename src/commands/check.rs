//! `isolde check`: which levels hold, which are violated, and why.

use crate::args::CheckArgs;
use crate::exit::{Exit, Failure};
use crate::input::{self, LoadError};
use crate::limits::Limits;
use crate::output;
use crate::progress::Progress;
use crate::report::{self, Report};
use crate::watchdog::{Dismissal, Watchdog};
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
    for place in 0..args.files.len() {
        exit = exit.and(match check_watched(args, place, exit) {
            Ok(exit) => exit,
            Err(failure) => {
                output::error(&failure.0);
                Exit::BadInput
            }
        });
    }
    Ok(exit)
}

/// Checks one file, with a watchdog if there are limits; `so_far` is the exit of the files before.
fn check_watched(args: &CheckArgs, place: usize, so_far: Exit) -> Result<Exit, Failure> {
    let limits = Limits::new(args.timeout, args.memory);
    let progress = Progress::start();
    let watchdog = Watchdog::new(&limits);
    std::thread::scope(|scope| {
        let dismissal = watchdog.dismissal();
        if limits.exist() {
            scope.spawn(|| {
                watchdog.watch(|limit| give_up(args, place, so_far, &limit, &progress));
            });
        }
        check_file(args, &args.files[place], &limits, &progress, dismissal)
    })
}

fn levels_asked(args: &CheckArgs) -> Vec<Level> {
    if args.levels.is_empty() {
        Level::WEAK.to_vec()
    } else {
        args.levels.clone()
    }
}

fn check_file(
    args: &CheckArgs,
    file: &str,
    limits: &Limits,
    progress: &Progress,
    dismissal: Dismissal<'_, '_>,
) -> Result<Exit, Failure> {
    let levels = levels_asked(args);
    let loaded = match input::load(file, args.read.format, limits, progress) {
        Ok(loaded) => loaded,
        Err(LoadError::Failure(failure)) => return Err(failure),
        Err(LoadError::Limit(reason)) => {
            drop(dismissal);
            progress.finish();
            return print_unknown(args, file, &reason);
        }
    };
    let initial = &args.read.initial;
    let answers = check_history(&loaded.history, &levels, initial, limits, progress);
    drop(dismissal);
    progress.finish();
    for text in &loaded.notes {
        output::note(&format!("{file}: {text}"));
    }
    let report = Report::new(file, &loaded, &answers, args.levels.is_empty());
    let exit = print(args, &report)?;
    if let Some(path) = &args.certificate {
        let results: Vec<LevelResult> =
            answers.iter().map(|answer| answer.result.clone()).collect();
        write_certificate(path, &loaded.history, initial, &results)?;
    }
    Ok(exit)
}

/// Ends the process: the file at `place` takes more than the limits allow, and nothing of what
/// works on it asks.
fn give_up(args: &CheckArgs, place: usize, so_far: Exit, limit: &str, progress: &Progress) {
    let reason = format!("{limit} (stage: {})", progress.current_stage());
    progress.finish();
    let mut exit = so_far.and(Exit::Unknown);
    for (file, reason) in args.files[place..]
        .iter()
        .zip(std::iter::once(reason).chain(std::iter::repeat(
            "not reached: a file before it passed a limit".to_string(),
        )))
    {
        exit = exit.and(
            print_unknown(args, file, &reason).unwrap_or_else(|failure| {
                output::error(&failure.0);
                Exit::BadInput
            }),
        );
    }
    std::process::exit(i32::from(exit.code()));
}

fn print_unknown(args: &CheckArgs, file: &str, reason: &str) -> Result<Exit, Failure> {
    let answers: Vec<Checked> = levels_asked(args)
        .into_iter()
        .map(|level| unknown(level, reason))
        .collect();
    print(args, &Report::without_history(file, &answers))
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
