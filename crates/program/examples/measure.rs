//! Searches a program for anomalies and says how long that took.
//!
//! `measure FILE LEVEL [LENGTH [SECONDS]]`: one line with counts, kinds, and times.

use program::analysis::{Options, analyse};
use program::{StoreLevel, read_sql_file};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(file), Some(level)) = (arguments.first(), arguments.get(1)) else {
        return Err("measure FILE LEVEL [LENGTH [SECONDS]]".to_string());
    };
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let program = read_sql_file(&text, file, None).map_err(|error| error.to_string())?;
    let named = |one: &&StoreLevel| one.name() == *level;
    let level = StoreLevel::ALL.iter().find(named);
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let options = Options {
        levels: vec![*level.ok_or("there is no such level")?],
        length: number(2).map_or(4, |length| length as usize),
        time: number(3).map(Duration::from_secs),
        ..Options::default()
    };
    let started = Instant::now();
    let analysis = analyse(&program, &options);
    let wall = started.elapsed().as_secs_f64();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for anomaly in &analysis.anomalies {
        *kinds.entry(anomaly.kind.to_string()).or_default() += 1;
    }
    println!(
        "{file} wall {wall:.2} cpu {:.2} groups {} {:?} {kinds:?}",
        processor_seconds(),
        analysis.groups.len(),
        analysis.counts
    );
    Ok(())
}

/// The time of all threads so far, where the system tells.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks.filter_map(|one| one.parse::<f64>().ok()).sum::<f64>() / 100.0
}
