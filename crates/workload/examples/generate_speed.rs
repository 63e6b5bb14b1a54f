//! Measures the generator: operations per CPU second, level by level.
//!
//! `generate_speed [sessions] [txns per session] [ops per txn] [keys] [level | all] [lists] [zipf]`

use history::Level;
use std::time::Instant;
use workload::{Config, Datatype, Distribution, generate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default: u64| -> Result<u64, std::num::ParseIntError> {
        arguments
            .get(place)
            .map_or(Ok(default), |text| text.parse())
    };
    let mut config = Config {
        sessions: number(0, 50)?.try_into()?,
        txns_per_session: number(1, 20_000)?.try_into()?,
        ops_per_txn: number(2, 20)?.try_into()?,
        keys: number(3, 10_000)?,
        ..Config::default()
    };
    if arguments.iter().any(|word| word == "lists") {
        config.datatype = Datatype::Lists;
    }
    if arguments.iter().any(|word| word == "zipf") {
        config.distribution = Distribution::Zipfian(0.99);
    }
    let levels: Vec<Level> = match arguments.get(4).map(String::as_str) {
        None | Some("all") => Level::all().collect(),
        Some(name) => vec![name.parse()?],
    };
    for level in levels {
        config.level = level;
        let (wall, cpu) = (Instant::now(), cpu_seconds());
        let generated = generate(&config)?;
        let wall = wall.elapsed().as_secs_f64();
        let seconds = cpu_seconds()
            .zip(cpu)
            .map_or(wall, |(end, start)| end - start);
        let ops = generated.history.op_count() as f64;
        let rate = ops / seconds / 1e6;
        println!(
            "{level:36} {seconds:7.2} s {rate:7.1} M ops/s  peak {}",
            peak_memory()
        );
    }
    Ok(())
}

/// The CPU time of this process in seconds, where the system tells it (in hundredths).
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let user: f64 = fields.get(11)?.parse().ok()?;
    let system: f64 = fields.get(12)?.parse().ok()?;
    Some((user + system) / 100.0)
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.map_or("unknown".into(), |line| line[6..].trim().to_string())
}
