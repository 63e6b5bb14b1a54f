//! `isolde check`: which levels hold, which are violated, and why.

use crate::args::CheckArgs;
use crate::commands::collect::Collected;
use crate::commands::{convert, explain};
use crate::exit::{Exit, Failure};
use crate::input::{self, LoadError};
use crate::interrupt;
use crate::limits::Limits;
use crate::outcome;
use crate::output;
use crate::places;
use crate::progress::Progress;
use crate::report::{Report, page};
use crate::story::Lines;
use crate::watchdog::{Dismissal, Watchdog};
use checker::{Budget, Checked, Options, Strategy};
use history::format::{Format, Loaded};
use history::{Anomaly, History, Initial, KeyOrder, Level, LevelResult, TxnId, Verdict};
use report::{Details, Recording, Surroundings};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Checks every file; the exit code is that of the worst.
pub fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    if !args.explain.is_empty() {
        return explain::tell(&args.explain);
    }
    if args.report.is_some() && args.files.len() > 1 {
        return Err(Failure(
            "--report takes one history file at a time".to_string(),
        ));
    }
    if args.certificate.is_some() && args.files.len() > 1 {
        return Err(Failure(
            "--certificate takes one history file at a time".to_string(),
        ));
    }
    if args.shrink.is_some() && args.files.len() > 1 {
        return Err(Failure(
            "--shrink takes one history file at a time".to_string(),
        ));
    }
    interrupt::listen();
    let collected = Collected::new(args);
    let mut exit = Exit::Holds;
    for (place, file) in args.files.iter().enumerate() {
        if interrupt::pressed() {
            let reason = "not reached: interrupted";
            exit = exit.and(print_unknown(&collected, file, reason)?);
            continue;
        }
        let checked = check_watched(&collected, place, exit);
        exit = exit.and(checked.unwrap_or_else(|failure| collected.fail(file, &failure)));
    }
    collected.finish()?;
    Ok(exit)
}

/// What is known of a file so far, for the watchdog to print if it has to end the process.
#[derive(Default)]
struct Known {
    /// Whether there is a watchdog.
    is_watched: bool,
    loaded: OnceLock<Loaded>,
    answers: Mutex<Vec<Checked>>,
}

impl Known {
    /// Keeps an answer, if somebody may ask for it.
    fn remember(&self, answer: &Checked) {
        if self.is_watched
            && let Ok(mut answers) = self.answers.lock()
        {
            answers.push(answer.clone());
        }
    }
}

/// Checks one file under a watchdog; `so_far` is the exit of the files before.
fn check_watched(collected: &Collected<'_>, place: usize, so_far: Exit) -> Result<Exit, Failure> {
    let args = collected.args;
    let limits = Limits::new(args.timeout, args.memory);
    let progress = Progress::start_for(args.progress_json);
    let watchdog = Watchdog::new(&limits);
    let known = Known {
        is_watched: limits.are_given() || !input::is_small(&args.files[place]),
        ..Known::default()
    };
    std::thread::scope(|scope| {
        let dismissal = watchdog.dismissal();
        if known.is_watched {
            scope.spawn(|| {
                let end = |limit: String| {
                    give_up(collected, place, so_far, &limit, &progress, &known);
                };
                watchdog.watch(end);
            });
        }
        check_file(
            collected,
            &args.files[place],
            &limits,
            &progress,
            &known,
            dismissal,
        )
    })
}

/// Nothing is explained if nobody is told more than the exit code.
fn strategy(args: &CheckArgs) -> Strategy {
    let files = [&args.certificate, &args.report, &args.shrink];
    let tables = [&args.junit, &args.sarif];
    let is_written = files.into_iter().chain(tables).any(Option::is_some);
    Strategy {
        explain: is_written || args.json || args.edn || !output::is_quiet(),
        ..Strategy::default()
    }
}

fn levels_asked(args: &CheckArgs, history: Option<&History>) -> Vec<Level> {
    if args.levels.is_empty() {
        levels_worth_asking(history)
    } else {
        args.levels.clone()
    }
}

/// The levels to ask about where nobody named any; all, as long as nothing is known of the history.
pub fn levels_worth_asking(history: Option<&History>) -> Vec<Level> {
    match history {
        Some(history) => outcome::levels_worth_asking(history).collect(),
        None => Level::all().collect(),
    }
}

fn check_file(
    collected: &Collected<'_>,
    file: &str,
    limits: &Limits,
    progress: &Progress,
    known: &Known,
    dismissal: Dismissal<'_, '_>,
) -> Result<Exit, Failure> {
    let args = collected.args;
    let started = Instant::now();
    let loaded = match input::load(file, args.read.format, limits, progress) {
        Ok(loaded) => loaded,
        Err(LoadError::Failure(failure)) => return Err(failure),
        Err(LoadError::Limit(reason)) => {
            drop(dismissal);
            progress.finish();
            return print_unknown(collected, file, &reason);
        }
    };
    let loaded = known.loaded.get_or_init(|| loaded);
    let levels = levels_asked(args, Some(&loaded.history));
    let initial = &args.read.initial;
    let remember = |answer: &Checked| known.remember(answer);
    let options = Options {
        initial: initial.clone(),
        keys: args.keys,
        budget: Budget {
            probe: &|| limits.reached(),
            progress: &|stage| progress.stage(stage),
            counts: &|counts| progress.counts(counts),
        },
        answered: &remember,
        patience: limits.patience(),
        strategy: strategy(args),
    };
    let keys = assumed_of_keys(args.keys, &loaded.history, &options);
    let answers = checker::check(&loaded.history, &levels, &options);
    let shrinks = args.shrink.as_ref();
    let shrunk = shrinks.map(|output| (output, shrunk(&loaded.history, &answers, &options)));
    let mut report = Report {
        keys,
        ..Report::new(file, loaded, &answers, args.levels.is_empty())
    };
    if !args.levels.is_empty() && !args.json && !args.edn && !output::is_quiet() {
        report.still = still_held(&report, &options);
    }
    report.lines = lines_told(args, file, loaded, &report);
    drop(dismissal);
    progress.finish();
    for text in &loaded.notes {
        output::note(&format!("{file}: {text}"));
    }
    let exit = collected.print(&report, started.elapsed().as_secs_f64())?;
    if let Some(directory) = &args.report {
        write_page(directory, &report)?;
    }
    if let Some(path) = &args.certificate {
        let results: Vec<LevelResult> =
            answers.iter().map(|answer| answer.result.clone()).collect();
        write_certificate(path, &loaded.history, &options, &results)?;
    }
    if let Some((output, shrunk)) = shrunk {
        write_shrunk(file, loaded.format, output, shrunk)?;
    }
    Ok(exit)
}

/// Where the transactions shown stand in the file, if anything but the exit code tells what was found.
fn lines_told(args: &CheckArgs, file: &str, loaded: &Loaded, report: &Report<'_>) -> Lines {
    let is_data = args.json || args.edn || args.sarif.is_some() || args.junit.is_some();
    match is_data || args.report.is_some() || !output::is_quiet() {
        true => places::lines(file, loaded, &report.txns_shown()),
        false => Lines::new(),
    }
}

fn write_page(directory: &str, report: &Report<'_>) -> Result<(), Failure> {
    let read = |loaded: &Loaded| {
        let found = input::with_bytes(report.file, |source| {
            let txns = report.txns_shown();
            Ok(Recording::read(source.bytes, &loaded.history, &txns))
        });
        // What can be read only once has nothing more to tell.
        found.unwrap_or_default()
    };
    let is_recording = |loaded: &&Loaded| loaded.format == Format::Isolde && report.file != "-";
    let recording = report.loaded.filter(is_recording).map(read);
    let recording = recording.unwrap_or_default();
    let details = |txn: TxnId| {
        let known = report.loaded.map(|l| recording.details(&l.history, txn));
        let line = report.lines.get(&txn).map(|line| format!("line {line}"));
        Details {
            place: line.unwrap_or_default(),
            ..known.unwrap_or_default()
        }
    };
    let node = |txn: TxnId| recording.node(txn);
    let extras = page::Extras {
        details: &details,
        around: Surroundings {
            node: &node,
            faults: &recording.faults,
            nanoseconds: recording.is_of_run(),
        },
        ..page::Extras::default()
    };
    page::write(directory, report, extras)?;
    output::note(&format!(
        "{directory}/index.html has the verdicts and the anomalies"
    ));
    Ok(())
}

/// What is assumed of each key, if anything, and what contradicts it. Where a limit is reached, the
/// levels will say so.
fn assumed_of_keys(
    keys: KeyOrder,
    history: &History,
    options: &Options<'_>,
) -> Option<(KeyOrder, Option<Anomaly>)> {
    let circle = || checker::cyclic_versions(history, options).unwrap_or(None);
    (keys != KeyOrder::Free).then(|| (keys, circle()))
}

/// Ends the process: the file at `place` takes more than the limits allow, and nothing of what
/// works on it asks.
fn give_up(
    collected: &Collected<'_>,
    place: usize,
    so_far: Exit,
    limit: &str,
    progress: &Progress,
    known: &Known,
) {
    let reason = format!("{limit} (stage: {})", progress.current_stage());
    progress.finish();
    let mut exit = so_far.and(Exit::Unknown);
    for (at, file) in collected.args.files.iter().enumerate().skip(place) {
        let printed = match known.loaded.get().filter(|_| at == place) {
            Some(loaded) => print_known(collected, file, loaded, known, &reason),
            None if at == place => print_unknown(collected, file, &reason),
            None => print_unknown(
                collected,
                file,
                "not reached: a file before it passed a limit",
            ),
        };
        exit = exit.and(printed.unwrap_or_else(|failure| collected.fail(file, &failure)));
    }
    if let Err(failure) = collected.finish() {
        output::error(&failure.0);
        exit = exit.and(Exit::BadInput);
    }
    std::process::exit(i32::from(exit.code()));
}

/// Prints the answers that there are; the others are unknown.
fn print_known(
    collected: &Collected<'_>,
    file: &str,
    loaded: &Loaded,
    known: &Known,
    reason: &str,
) -> Result<Exit, Failure> {
    let answers = known.answers.lock();
    let found = answers.map(|answers| answers.clone()).unwrap_or_default();
    let answer = |level: Level| {
        let known = found.iter().find(|answer| answer.result.level == level);
        known.cloned().unwrap_or_else(|| unknown(level, reason))
    };
    let args = collected.args;
    let answers: Vec<Checked> = levels_asked(args, Some(&loaded.history))
        .into_iter()
        .map(answer)
        .collect();
    let report = Report::new(file, loaded, &answers, args.levels.is_empty());
    let seconds = answers.iter().map(|answer| answer.seconds).sum();
    let exit = collected.print(&report, seconds)?;
    if let Some(directory) = &args.report {
        write_page(directory, &report)?;
    }
    Ok(exit)
}

fn print_unknown(collected: &Collected<'_>, file: &str, reason: &str) -> Result<Exit, Failure> {
    let answers: Vec<Checked> = levels_asked(collected.args, None)
        .into_iter()
        .map(|level| unknown(level, reason))
        .collect();
    collected.print(&Report::without_history(file, &answers), 0.0)
}

/// So long at least is looked for levels that hold though those asked about are violated; longer where that hardly
/// costs anything, so that a busy machine gives the same answer.
const STILL: Duration = Duration::from_millis(100);
/// Histories with no more operations than this hardly cost anything.
const SMALL_OPS: usize = 10_000;

/// Where levels that were asked about are violated: the strongest that hold besides.
fn still_held(report: &Report<'_>, options: &Options<'_>) -> Vec<Level> {
    let violated: Vec<Level> = report
        .weakest_violated()
        .iter()
        .map(|answer| answer.result.level)
        .collect();
    match report.loaded {
        Some(loaded) if !violated.is_empty() => {
            // Whoever waited long for an answer waits half as long for the rest of it.
            let waited: f64 = report.answers.iter().map(|answer| answer.seconds).sum();
            let time = Duration::try_from_secs_f64(waited / 2.0).unwrap_or_default();
            let least = match loaded.history.op_count() {
                0..=SMALL_OPS => outcome::WEAKER,
                _ => STILL,
            };
            let time = time.max(least);
            let held = report.answers.iter().map(|answer| &answer.result);
            let held = held.filter(|result| matches!(result.verdict, Verdict::Holds(_)));
            let held: Vec<Level> = held.map(|result| result.level).collect();
            outcome::still_held(&loaded.history, &violated, &held, time, options)
        }
        _ => Vec::new(),
    }
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
            counts: &|counts| progress.counts(counts),
        },
        ..Options::default()
    };
    checker::check(history, levels, &options)
}

fn unknown(level: Level, reason: &str) -> Checked {
    let verdict = Verdict::Unknown(reason.to_string());
    Checked {
        result: LevelResult { level, verdict },
        seconds: 0.0,
        stages: Vec::new(),
    }
}

fn write_certificate(
    path: &str,
    history: &history::History,
    options: &Options<'_>,
    results: &[LevelResult],
) -> Result<(), Failure> {
    let Options { initial, keys, .. } = options;
    let text = history::certificate::to_json(history, initial, *keys, results);
    std::fs::write(path, text).map_err(|error| Failure::with(path, error))
}

/// The smallest part of the history that still violates the first level that is violated.
fn shrunk(
    history: &History,
    answers: &[Checked],
    options: &Options<'_>,
) -> Option<(Level, History)> {
    let is_violated = |answer: &&Checked| matches!(answer.result.verdict, Verdict::Violated(_));
    let result = &answers.iter().find(is_violated)?.result;
    let part = checker::shrink(history, result, options)?;
    Some((result.level, part.history))
}

fn write_shrunk(
    file: &str,
    format: Format,
    output: &str,
    shrunk: Option<(Level, History)>,
) -> Result<(), Failure> {
    let Some((level, part)) = shrunk else {
        output::note(&format!("{file}: no violation to shrink"));
        return Ok(());
    };
    convert::write(&part, output, convert::part_format(&part, output, format))?;
    output::note(&format!(
        "{output}: {} transactions and {} operations of {file} that still violate {level}",
        part.txn_count(),
        part.op_count()
    ));
    Ok(())
}
