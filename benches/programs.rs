//! The rows of the table of CLOTHO (Rahmani and others, OOPSLA 2019): anomalies of the benchmark
//! programs on an eventually consistent store, in CPU seconds, next to the published times.
//!
//! ```text
//! cargo bench --bench programs
//! ```
//! `ISOLDE_BENCH_PROGRAMS` chooses programs by name, separated by commas. The published times are wall-clock
//! seconds of another machine; where ours differ in what they count, docs/programs.md says how.
#![allow(missing_docs)]

mod measure;

use measure::Failure;
use program::StoreLevel;
use program::analysis::{Options, analyse};
use program::robust::{Level, RobustOptions, check_at};

/// The file, the published number of anomalies and of structures, and seconds in all.
const ROWS: [(&str, u32, u32, f64); 10] = [
    ("seats-ported", 32, 18, 1970.0),
    ("tatp", 0, 0, 55.0),
    ("tpcc-ported", 22, 13, 3270.0),
    ("smallbank-ported", 60, 15, 264.0),
    ("voter-ported", 0, 0, 8.0),
    ("twitter-ported", 2, 2, 211.0),
    ("wikipedia-ported", 3, 3, 4343.0),
    ("smallbank", 0, 0, 0.0),
    ("tpcc", 0, 0, 0.0),
    ("seats", 0, 0, 0.0),
];

fn main() -> Result<(), Failure> {
    let chosen = std::env::var("ISOLDE_BENCH_PROGRAMS").ok();
    let chosen: Option<Vec<&str>> = chosen.as_deref().map(|text| text.split(',').collect());
    println!(
        "{:<18} {:>9} {:>7} {:>9} {:>9} {:>10} {:>9} {:>8}",
        "program", "anomalies", "groups", "undecided", "CPU s", "published", "ratio", "robust s"
    );
    for (name, _, _, published) in ROWS {
        if chosen.as_ref().is_none_or(|names| names.contains(&name)) {
            row(name, published)?;
        }
    }
    Ok(())
}

/// What it takes, in CPU seconds of this thread.
fn cpu<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let now = || measure::thread_cpu_seconds().unwrap_or(0.0);
    let before = now();
    let done = work();
    (done, now() - before)
}

fn row(name: &str, published: f64) -> Result<(), Failure> {
    let file = format!("programs/{name}.sql");
    let text = std::fs::read_to_string(&file)?;
    let program = program::read_sql_file(&text, &file, None)?;
    let options = Options {
        levels: vec![StoreLevel::Eventual],
        ..Options::default()
    };
    let (analysis, seconds) = cpu(|| analyse(&program, &options));
    let (_, proof) = cpu(|| check_at(&program, Level::ReadCommitted, &RobustOptions::default()));
    let ratio = match published > 0.0 {
        true => format!("1/{:.0}", published / seconds.max(0.001)),
        false => "-".to_string(),
    };
    println!(
        "{name:<18} {:>9} {:>7} {:>9} {seconds:>9.2} {published:>10.0} {ratio:>9} {proof:>8.3}",
        analysis.anomalies.len(),
        analysis.groups.len(),
        analysis.counts.undecided + analysis.counts.untried,
    );
    Ok(())
}
