//! Lists: what a check of list-append histories costs, by their length and their concurrency.
//!
//! ```text
//! cargo bench --bench lists
//! ISOLDE_PEER_ELLE='elle {file} {level}' ISOLDE_PEER_SIZES=10000,100000 cargo bench --bench lists
//! ISOLDE_BENCH_PLOT=docs/lists.svg cargo bench --bench lists
//! ```
//! Histories of the shape list-append (the Elle paper's, section 6.1): 10⁴ to 10⁶ transactions
//! (`ISOLDE_BENCH_SIZES`) by 10, 100 and 10 000 processes at a time (`ISOLDE_BENCH_SESSIONS`), in EDN.
//! A figure is the CPU seconds of `isolde check --level strict-serializable`, reading included, the
//! best of three runs; how many of them reading alone takes; and the peak memory. The peer's start-up,
//! measured on a history of one transaction, is taken off its CPU seconds; sizes it is not asked for
//! are left out of `ISOLDE_PEER_SIZES`. `ISOLDE_BENCH_PLOT` names a file for a plot.
#![allow(missing_docs)]

mod measure;
mod plot;

use history::Level;
use history::format::{self, ReadOptions, Source};
use measure::{Cost, Failure, Scratch};
use plot::Line;
use std::path::Path;
use std::process::Command;
use workload::Benchmark;

const LEVEL: Level = Level::StrictSerializable;
const RUNS: usize = 3;

struct Peer {
    command: Vec<String>,
    sizes: Vec<u64>,
    /// The CPU seconds of a run on next to nothing.
    start: f64,
}

/// Names the file that this program, started by itself, has to read.
const READ: &str = "ISOLDE_BENCH_READ";

fn main() -> Result<(), Failure> {
    if measure::is_runner()? {
        return Ok(());
    }
    if let Ok(file) = std::env::var(READ) {
        println!("{}", read_seconds(Path::new(&file))?);
        return Ok(());
    }
    let sizes = measure::numbers("ISOLDE_BENCH_SIZES", &[10_000, 100_000, 1_000_000])?;
    let concurrencies = measure::numbers("ISOLDE_BENCH_SESSIONS", &[10, 100, 10_000])?;
    let scratch = Scratch::new("lists")?;
    let file = scratch.file("history.edn");
    let peer = peer(&file)?;
    println!(
        "{:>9} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8}   {:>8} {:>8} {:>7} {:>7}",
        "txns",
        "processes",
        "MB",
        "read s",
        "CPU s",
        "us/txn",
        "MiB",
        "peer s",
        "MiB",
        "ratio",
        "MiB"
    );
    let mut lines = Vec::new();
    for &concurrency in &concurrencies {
        let mut ours = Line::new(format!("Isolde, {concurrency} processes"));
        let mut theirs = Line::new(format!("peer, {concurrency} processes"));
        for &size in &sizes {
            let megabytes = write(size, concurrency, &file)?;
            let read = read_apart(&file)?;
            let cost = best(&file)?;
            ours.points.push((size as f64, cost.cpu_seconds));
            let (cpu, peak) = (cost.cpu_seconds, cost.peak_mebibytes);
            let each = cpu * 1e6 / size as f64;
            print!(
                "{size:>9} {concurrency:>9} {megabytes:>8.1} {read:>8.3} {cpu:>8.3} {each:>8.2} {peak:>8.1}"
            );
            if let Some(peer) = peer.as_ref().filter(|peer| peer.sizes.contains(&size)) {
                let other = run(&peer.command, &file)?;
                let seconds = (other.cpu_seconds - peer.start).max(0.0);
                theirs.points.push((size as f64, seconds));
                let memory = other.peak_mebibytes;
                let (ratio, less) = (seconds / cpu, memory / peak);
                print!("   {seconds:>8.2} {memory:>8.0} {ratio:>7.1} {less:>7.1}");
            }
            println!();
        }
        lines.extend([ours, theirs]);
    }
    lines.retain(|line| !line.points.is_empty());
    if let Ok(path) = std::env::var("ISOLDE_BENCH_PLOT") {
        let svg = plot::render("transactions", "CPU seconds", &lines);
        std::fs::write(&path, svg).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}

/// Writes a history and says how many megabytes it has.
fn write(txns: u64, concurrency: u64, file: &Path) -> Result<f64, Failure> {
    let sessions = concurrency.min(txns);
    let (sessions, txns) = (sessions.to_string(), (txns / sessions).to_string());
    let words = [
        "generate",
        "--shape",
        Benchmark::ListAppend.name(),
        "--to",
        "jepsen-edn",
    ];
    let mut arguments: Vec<String> = words.map(str::to_string).to_vec();
    arguments.extend([
        "--sessions".into(),
        sessions,
        "--txns".into(),
        txns,
        "--output".into(),
    ]);
    arguments.push(file.display().to_string());
    // Not in this process: what it holds counts as the peak of every process it starts.
    let cost = measure::run(env!("CARGO_BIN_EXE_isolde"), &arguments)?;
    if cost.code != Some(0) {
        return Err(format!("{arguments:?} ended with {:?}", cost.code).into());
    }
    Ok(std::fs::metadata(file)?.len() as f64 / 1e6)
}

/// What [`read_seconds`] says in a process of its own.
fn read_apart(file: &Path) -> Result<f64, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.env(READ, file).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// The CPU seconds of this thread for reading the file, or those of the clock.
fn read_seconds(file: &Path) -> Result<f64, Failure> {
    let bytes = std::fs::read(file)?;
    let source = Source {
        name: "history.edn",
        bytes: &bytes,
    };
    let wall = std::time::Instant::now();
    let start = measure::thread_cpu_seconds();
    format::read(&[source], &ReadOptions::default())?;
    let used = measure::thread_cpu_seconds().zip(start);
    Ok(used.map_or(wall.elapsed().as_secs_f64(), |(end, start)| end - start))
}

fn best(file: &Path) -> Result<Cost, Failure> {
    let mut best = measure::check(LEVEL, file)?;
    for _ in 1..RUNS {
        let next = measure::check(LEVEL, file)?;
        if next.cpu_seconds < best.cpu_seconds {
            best = next;
        }
    }
    Ok(best)
}

fn peer(file: &Path) -> Result<Option<Peer>, Failure> {
    let Ok(command) = std::env::var("ISOLDE_PEER_ELLE") else {
        return Ok(None);
    };
    let command: Vec<String> = command.split_whitespace().map(str::to_string).collect();
    if command.is_empty() {
        return Err("ISOLDE_PEER_ELLE: expected a command".into());
    }
    write(1, 1, file)?;
    let start = run(&command, file)?.cpu_seconds;
    println!("the peer's start-up: {start:.2} CPU s, taken off below");
    Ok(Some(Peer {
        command,
        sizes: measure::numbers("ISOLDE_PEER_SIZES", &[10_000, 100_000])?,
        start,
    }))
}

fn run(command: &[String], file: &Path) -> Result<Cost, Failure> {
    let fill = |word: &String| {
        word.replace("{level}", LEVEL.name())
            .replace("{file}", &file.display().to_string())
    };
    let words: Vec<String> = command.iter().map(fill).collect();
    measure::run(&words[0], &words[1..])
}
