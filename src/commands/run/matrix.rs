//! `isolde matrix`: every isolation setting of databases against the levels that they deliver.
//!
//! Each setting is run several times with each workload, and every recording is checked at every level. A
//! level counts as delivered if no recording violates it; that a level was never seen violated proves
//! nothing, so the table says how much was looked at.

use super::drive::{Driven, Job, drive};
use super::judge::{Judged, judge};
use super::target::{Start, Target};
use super::{draw_seed, remove};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output;
use crate::progress::Progress;
use crate::run_args::MatrixArgs;
use history::{Level, Verdict};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A row of the table: one setting of one database.
struct Row {
    database: String,
    product: String,
    isolation: String,
    promises: Level,
    transactions: u64,
    recordings: u32,
    /// By kind, how many recordings show it, and how one of them is run again.
    anomalies: BTreeMap<&'static str, (u32, String)>,
    violated: Vec<Level>,
    unknown: Vec<Level>,
    failures: Vec<String>,
}

/// Runs every setting and prints the table.
pub fn run(args: &MatrixArgs) -> Result<Exit, Failure> {
    interrupt::listen();
    let seed = args.load.seed.unwrap_or_else(draw_seed);
    let progress = Progress::start();
    let mut rows = Vec::new();
    let mut exit = Exit::Holds;
    for database in &args.databases {
        match settings_of(args, database, seed, &progress, &mut rows) {
            Ok(()) => {}
            Err(failure) => {
                output::error(&failure.0);
                exit = Exit::BadInput;
            }
        }
    }
    progress.finish();
    match args.json {
        true => output::print_plain(&format!("{}\n", in_json(&rows, seed)))?,
        false => output::print(&in_text(args, &rows, seed))?,
    }
    let broken = |row: &Row| {
        row.violated
            .iter()
            .any(|level| row.promises.implies(*level))
    };
    let undecided = |row: &Row| row.unknown.iter().any(|level| row.promises.implies(*level));
    for row in &rows {
        exit = exit.and(match () {
            () if broken(row) => Exit::Violated,
            () if undecided(row) => Exit::Unknown,
            () => Exit::Holds,
        });
    }
    Ok(exit)
}

/// Runs all settings of a database, which is started once.
fn settings_of(
    args: &MatrixArgs,
    database: &str,
    seed: u64,
    progress: &Progress,
    rows: &mut Vec<Row>,
) -> Result<(), Failure> {
    let start = Start {
        settings: &args.load.settings,
        network_faults: false,
        progress,
    };
    let target = Target::start(&[database.to_string()], start)?;
    let settings = target.open(&workload::driver::Settings::default())?;
    for isolation in settings.isolations() {
        let mut row = Row {
            database: target.name.clone(),
            product: settings.product(),
            isolation: isolation.name.to_string(),
            promises: isolation.promises,
            transactions: 0,
            recordings: 0,
            anomalies: BTreeMap::new(),
            violated: Vec::new(),
            unknown: Vec::new(),
            failures: Vec::new(),
        };
        for workload in &args.workloads {
            for count in 0..args.runs {
                if interrupt::pressed() {
                    rows.push(row);
                    return Ok(());
                }
                let seed = seed.wrapping_add(u64::from(count));
                if let Err(failure) = one(args, &target, workload, seed, progress, &mut row) {
                    row.failures.push(format!("{workload}: {}", failure.0));
                }
            }
        }
        rows.push(row);
    }
    Ok(())
}

/// Runs one workload once and enters what was seen.
fn one(
    args: &MatrixArgs,
    target: &Target,
    workload: &str,
    seed: u64,
    progress: &Progress,
    row: &mut Row,
) -> Result<(), Failure> {
    let directory = place(args, row, workload, seed)?;
    let isolation = row.isolation.clone();
    let job = Job {
        target,
        load: &args.load,
        workload,
        isolation: Some(&isolation),
        levels: &[],
        seed,
        faults: Vec::new(),
        fault_every: 1.0,
        fault_for: 1.0,
        stop_at_first: false,
        directory: &directory,
    };
    let seen = drive(&job, progress).and_then(|driven| {
        let judged = judge(&driven, &[], args.load.timeout, progress)?;
        Ok((driven, judged))
    });
    let kept = args.output.is_some();
    match seen {
        Ok((driven, judged)) => {
            enter(row, workload, seed, &driven, &judged);
            if !kept || !judged.is_any_violated() {
                remove(&directory);
            }
            Ok(())
        }
        Err(failure) => {
            remove(&directory);
            Err(failure)
        }
    }
}

fn place(args: &MatrixArgs, row: &Row, workload: &str, seed: u64) -> Result<PathBuf, Failure> {
    let name = format!("{}-{}-{workload}-{seed}", row.database, row.isolation);
    let name = name.replace([' ', '/', ':'], "-");
    let path = match &args.output {
        Some(output) => Path::new(output).join(name),
        None => {
            let own = format!("isolde-matrix-{}-{name}", std::process::id());
            std::env::temp_dir().join(own)
        }
    };
    let created = std::fs::create_dir_all(&path);
    created.map_err(|error| Failure::with(&path.display().to_string(), error))?;
    Ok(path)
}

fn enter(row: &mut Row, workload: &str, seed: u64, driven: &Driven, judged: &Judged) {
    row.transactions += driven.transactions();
    row.recordings += 1;
    row.failures.extend(driven.failure.clone());
    for answer in &judged.answers {
        let level = answer.result.level;
        match &answer.result.verdict {
            Verdict::Violated(_) if !row.violated.contains(&level) => row.violated.push(level),
            Verdict::Unknown(_) if !row.unknown.contains(&level) => row.unknown.push(level),
            _ => {}
        }
    }
    let report = judged.report();
    let mut kinds: Vec<&'static str> = Vec::new();
    for answer in report.weakest_violated() {
        if let Verdict::Violated(anomalies) = &answer.result.verdict {
            kinds.extend(anomalies.iter().map(|anomaly| anomaly.kind.name()));
        }
    }
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        let again = format!(
            "isolde run {} -i '{}' -w {workload} --seed {seed}",
            row.database, row.isolation
        );
        row.anomalies.entry(kind).or_insert((0, again)).0 += 1;
    }
}

/// The strongest levels that no recording violates and every recording decides.
fn delivered(row: &Row) -> Vec<Level> {
    let is_open = |level: &Level| row.violated.contains(level) || row.unknown.contains(level);
    let held: Vec<Level> = Level::all().filter(|level| !is_open(level)).collect();
    Level::strongest(&held)
}

fn names(levels: &[Level]) -> String {
    let names: Vec<&str> = levels.iter().map(|level| level.name()).collect();
    match names.is_empty() {
        true => "none".to_string(),
        false => names.join(", "),
    }
}

const BOLD: &str = "\x1b[1m";
const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const PLAIN: &str = "\x1b[0m";

fn in_text(args: &MatrixArgs, rows: &[Row], seed: u64) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail, so the results below carry nothing.
    let _ = writeln!(
        out,
        "{} runs of {} at each setting, {} clients, seed {seed}\n",
        args.runs,
        args.workloads.join(", "),
        args.load.clients
    );
    for row in rows {
        let broken = row
            .violated
            .iter()
            .any(|level| row.promises.implies(*level));
        let (colour, word) = match broken {
            true => (RED, "broken"),
            false => (GREEN, "not seen broken"),
        };
        let _ = writeln!(out, "{BOLD}{}, {}{PLAIN}", row.product, row.isolation);
        let _ = writeln!(out, "  promises   {}: {colour}{word}{PLAIN}", row.promises);
        let _ = writeln!(
            out,
            "  delivered  {} (never violated in {} recordings, {} transactions)",
            names(&delivered(row)),
            row.recordings,
            row.transactions
        );
        for (kind, (count, again)) in &row.anomalies {
            let _ = writeln!(
                out,
                "  seen       {kind} in {count} of {}   {again}",
                row.recordings
            );
        }
        for failure in &row.failures {
            let _ = writeln!(out, "  failed     {failure}");
        }
    }
    out
}

fn in_json(rows: &[Row], seed: u64) -> Value {
    let list = |levels: &[Level]| levels.iter().map(|l| l.name()).collect::<Vec<_>>();
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| {
            let seen = row.anomalies.iter().map(
                |(kind, (count, again))| json!({"kind": kind, "recordings": count, "again": again}),
            );
            json!({
                "database": row.database,
                "product": row.product,
                "isolation": row.isolation,
                "promises": row.promises.name(),
                "delivered": list(&delivered(row)),
                "violated": list(&row.violated),
                "unknown": list(&row.unknown),
                "recordings": row.recordings,
                "transactions": row.transactions,
                "anomalies": seen.collect::<Vec<_>>(),
                "failures": row.failures,
            })
        })
        .collect();
    json!({"seed": seed, "settings": rows})
}
