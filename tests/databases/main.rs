//! `isolde run` against real databases: what must be found is found, what must not is not, and nothing is
//! lost or left behind. Servers that are missing are installed where that is possible (Debian, as root);
//! else the tests that need them say so and pass.
#![allow(missing_docs)]

mod anomalies;
mod embedded;
mod install;
mod programs;
mod weather;

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Servers run one test at a time: two cores are few.
static SERVERS: Mutex<()> = Mutex::new(());

fn one_at_a_time() -> MutexGuard<'static, ()> {
    // A test that failed holds nothing that another needs.
    SERVERS
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn isolde() -> Command {
    Command::new(env!("CARGO_BIN_EXE_isolde"))
}

/// A directory of its own for each run.
fn directory(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("run-{name}"));
    let _ = std::fs::remove_dir_all(&path);
    path
}

/// Runs `isolde run` with these arguments and a JSON report; the exit code and the report.
fn run(arguments: &[&str]) -> (i32, Value) {
    run_seeded(arguments, 7)
}

fn run_seeded(arguments: &[&str], seed: u32) -> (i32, Value) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let directory = directory(&COUNT.fetch_add(1, Ordering::Relaxed).to_string());
    let mut command = isolde();
    command
        .arg("run")
        .args(arguments)
        .args(["--json", "--timeout", "30"]);
    command
        .args(["--seed", &seed.to_string()])
        .arg("--output")
        .arg(&directory);
    let output = command.output().expect("isolde runs");
    let (out, err) = texts(&output);
    assert!(!err.contains("panicked"), "{err}");
    let code = output.status.code().expect("no signal ended it");
    let report = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}\n{err}"));
    let _ = std::fs::remove_dir_all(&directory);
    (code, report)
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// What the report says of a level.
fn verdict<'a>(report: &'a Value, level: &str) -> &'a str {
    let results = report["results"].as_array().expect("results");
    let found = results.iter().find(|result| result["level"] == level);
    found
        .and_then(|result| result["verdict"].as_str())
        .unwrap_or("not asked")
}

/// The kinds of anomalies in the report.
fn kinds(report: &Value) -> Vec<String> {
    let results = report["results"].as_array().expect("results").iter();
    let anomalies = results.flat_map(|result| result["anomalies"].as_array().into_iter().flatten());
    let kinds = anomalies.filter_map(|anomaly| anomaly["kind"].as_str());
    let mut kinds: Vec<String> = kinds.map(str::to_string).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}
