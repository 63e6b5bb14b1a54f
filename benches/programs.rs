//! The rows of the table of CLOTHO (Rahmani and others, OOPSLA 2019): anomalies of the benchmark
//! programs on an eventually consistent store, in seconds and in CPU seconds of all threads, next to the
//! published times; and what `robust` takes at read committed.
//!
//! ```text
//! cargo bench --bench programs
//! ```
//! `ISOLDE_BENCH_PROGRAMS` chooses programs by name, separated by commas. The published times are wall-clock
//! seconds of another machine; where ours differ in what they count, docs/programs.md says how.
#![allow(missing_docs)]

mod measure;

use measure::{Cost, Failure, Scratch};
use serde_json::Value;

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
    if measure::is_runner()? {
        return Ok(());
    }
    let chosen = std::env::var("ISOLDE_BENCH_PROGRAMS").ok();
    let chosen: Option<Vec<&str>> = chosen.as_deref().map(|text| text.split(',').collect());
    let scratch = Scratch::new("programs")?;
    println!(
        "{:<18} {:>9} {:>7} {:>8} {:>8} {:>8} {:>10} {:>9} {:>8}",
        "program",
        "anomalies",
        "groups",
        "decided",
        "seconds",
        "CPU s",
        "published",
        "ratio",
        "robust s"
    );
    for (name, _, _, published) in ROWS {
        if chosen.as_ref().is_none_or(|names| names.contains(&name)) {
            row(name, published, &scratch)?;
        }
    }
    Ok(())
}

/// Runs `isolde program` with these arguments; what it says, and what all its threads took.
fn isolde(arguments: &[&str], scratch: &Scratch) -> Result<(Value, Cost), Failure> {
    let file = scratch.file("answer.json");
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    let output = std::fs::File::create(&file)?.into();
    let cost = measure::run_into(env!("CARGO_BIN_EXE_isolde"), &arguments, output)?;
    let answer = serde_json::from_str(&std::fs::read_to_string(&file)?)
        .map_err(|error| format!("{arguments:?}: {error}"))?;
    Ok((answer, cost))
}

fn row(name: &str, published: f64, scratch: &Scratch) -> Result<(), Failure> {
    let file = format!("programs/{name}.sql");
    let (found, cost) = isolde(&["program", &file, "-l", "ec", "--json"], scratch)?;
    let robust = ["program", "robust", &file, "-l", "read-committed", "--json"];
    let (_, proof) = isolde(&robust, scratch)?;
    let anomalies = found["anomalies"].as_array().map_or(0, Vec::len);
    let seconds = found["seconds"].as_f64().unwrap_or(f64::NAN);
    let ratio = match published > 0.0 {
        true => format!("1/{:.0}", published / seconds.max(0.001)),
        false => "-".to_string(),
    };
    println!(
        "{name:<18} {anomalies:>9} {:>7} {:>8} {seconds:>8.2} {:>8.2} {published:>10.0} {ratio:>9} {:>8.3}",
        found["groups"].to_string(),
        found["scope"]["decided"].to_string(),
        cost.cpu_seconds,
        proof.cpu_seconds,
    );
    Ok(())
}
