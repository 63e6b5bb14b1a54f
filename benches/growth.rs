//! How the cost of a check grows, with the operations and with the sessions.
//!
//! ```text
//! cargo bench --bench growth
//! ISOLDE_BENCH_OPS=100000,100000000 cargo bench --bench growth
//! ```
//! Histories of 20 operations a transaction on uniform keys, generated at the level causal: first
//! 10⁵ to 10⁷ operations (`ISOLDE_BENCH_OPS`) from 50 sessions, then 10 to 1000 sessions
//! (`ISOLDE_BENCH_SESSIONS`) with 10⁶ operations. A figure is the CPU seconds of `isolde check`,
//! reading included, and the nanoseconds an operation. `ISOLDE_BENCH_PLOT` names a directory for two plots,
//! `growth-operations.svg` and `growth-sessions.svg`.
#![allow(missing_docs)]

mod measure;
mod plot;

use history::Level;
use measure::{Failure, Scratch};
use plot::Line;
use std::path::Path;
use workload::Config;

const LEVELS: [Level; 5] = [
    Level::ReadUncommitted,
    Level::ReadCommitted,
    Level::ReadAtomic,
    Level::WritesFollowReads,
    Level::Causal,
];

fn main() -> Result<(), Failure> {
    if measure::is_runner()? {
        return Ok(());
    }
    let sizes = measure::numbers("ISOLDE_BENCH_OPS", &[100_000, 1_000_000, 10_000_000])?;
    let sessions = measure::numbers("ISOLDE_BENCH_SESSIONS", &[10, 100, 1000])?;
    print!("{:>10} {:>8}", "ops", "sessions");
    LEVELS.iter().for_each(|level| print!("{level:>24}"));
    println!();
    let mut by_size = lines();
    for ops in sizes {
        let costs = measure(ops, 50)?;
        add(&mut by_size, ops, &costs);
    }
    let mut by_sessions = lines();
    for session_count in sessions {
        let costs = measure(1_000_000, session_count)?;
        add(&mut by_sessions, session_count, &costs);
    }
    if let Ok(directory) = std::env::var("ISOLDE_BENCH_PLOT") {
        let plots = [
            ("growth-operations.svg", "operations", by_size),
            ("growth-sessions.svg", "sessions", by_sessions),
        ];
        for (name, axis, lines) in plots {
            let path = Path::new(&directory).join(name);
            std::fs::write(path, plot::render(axis, "CPU seconds", &lines))?;
        }
    }
    Ok(())
}

/// An empty line for each level.
fn lines() -> Vec<Line> {
    let line = |level: &Level| Line::new(level.to_string());
    LEVELS.iter().map(line).collect()
}

fn add(lines: &mut [Line], at: u64, costs: &[f64]) {
    for (line, cost) in lines.iter_mut().zip(costs) {
        line.points.push((at as f64, *cost));
    }
}

/// Prints a row, and says what each level took.
fn measure(ops: u64, sessions: u64) -> Result<Vec<f64>, Failure> {
    let scratch = Scratch::new("growth")?;
    let file = scratch.file("history.txt");
    let config = Config {
        sessions: sessions.try_into()?,
        ops_per_txn: 20,
        level: Level::Causal,
        ..Config::default()
    };
    let history = measure::history(&config, ops / 20)?;
    let op_count = history.op_count() as f64;
    measure::write(&history, &file)?;
    drop(history);
    print!("{ops:>10} {sessions:>8}");
    let mut costs = Vec::new();
    for level in LEVELS {
        let seconds = measure::check(level, &file)?.cpu_seconds;
        costs.push(seconds);
        let each = seconds * 1e9 / op_count;
        print!("{:>24}", format!("{seconds:.3} s {each:.0} ns"));
    }
    println!();
    Ok(costs)
}
