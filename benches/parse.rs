//! How fast each format is read: megabytes and operations per CPU second, on the same history.
//!
//! ```text
//! cargo bench --bench parse
//! ISOLDE_BENCH_SIZES=1000000 cargo bench --bench parse
//! ```
//! Sizes are transactions (100000 by default) of 20 operations on registers, read by one thread
//! from memory; the best of three. Cobra's format is a directory and is left out.
#![allow(missing_docs)]

mod measure;

use history::format::{self, Format, ReadOptions, Source};
use measure::Failure;
use std::time::Instant;
use workload::Config;

fn main() -> Result<(), Failure> {
    println!(
        "{:>9} {:14} {:>9} {:>9} {:>9} {:>9}",
        "txns", "format", "MB", "CPU s", "MB/s", "M ops/s"
    );
    for size in measure::numbers("ISOLDE_BENCH_SIZES", &[100_000])? {
        let config = Config {
            sessions: 50,
            ops_per_txn: 20,
            ..Config::default()
        };
        let history = measure::history(&config, size)?;
        let ops = history.op_count() as f64 / 1e6;
        for format in Format::all().filter(|&format| format != Format::Cobra) {
            let mut bytes = Vec::new();
            if let Err(reason) = format::write(&history, format, &mut bytes) {
                println!("{size:>9} {format:14} {reason}");
                continue;
            }
            let seconds = seconds(&bytes, format)?;
            let megabytes = bytes.len() as f64 / 1e6;
            let (speed, rate) = (megabytes / seconds, ops / seconds);
            println!(
                "{size:>9} {format:14} {megabytes:>9.1} {seconds:>9.3} {speed:>9.0} {rate:>9.1}"
            );
        }
    }
    Ok(())
}

fn seconds(bytes: &[u8], format: Format) -> Result<f64, Failure> {
    let options = ReadOptions {
        format: Some(format),
        ..ReadOptions::default()
    };
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let (wall, cpu) = (Instant::now(), measure::thread_cpu_seconds());
        let name = "history";
        format::read(&[Source { name, bytes }], &options)?;
        let used = measure::thread_cpu_seconds().zip(cpu);
        best = best.min(used.map_or(wall.elapsed().as_secs_f64(), |(end, start)| end - start));
    }
    Ok(best)
}
