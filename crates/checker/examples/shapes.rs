//! Measures the extreme shapes: CPU seconds by size, whole and damaged, for three levels and for
//! all weak ones together.
//!
//! `cargo run --release -p isolde-checker --example shapes -- [sizes] [part of a shape's name]`,
//! for instance `10000,100000,1000000 hot`. A check that takes longer than a minute is given up.
#![allow(missing_docs)]

#[path = "../tests/all/shape/mod.rs"]
mod shape;

use checker::{Budget, Options, check};
use history::{History, Level};
use shape::{Damage, SHAPES, build};
use std::time::Instant;

const SECONDS_MAX: f64 = 60.0;

fn main() -> Result<(), std::num::ParseIntError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sizes = arguments.first().map_or("10000,100000", String::as_str);
    let sizes: Vec<u32> = sizes.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let wanted = arguments.get(1).map_or("", String::as_str);
    let asked: [(&str, &[Level]); 4] = [
        ("read-committed", &[Level::ReadCommitted]),
        ("read-atomic", &[Level::ReadAtomic]),
        ("causal", &[Level::Causal]),
        ("all weak", &Level::WEAK),
    ];
    println!("CPU seconds; v violated, u unknown");
    print!("{:38}{:7}{:>9}", "shape", "damage", "size");
    asked.iter().for_each(|(name, _)| print!("{name:>16}"));
    println!();
    for shape in SHAPES.iter().filter(|shape| shape.0.contains(wanted)) {
        for damage in [Damage::None, Damage::Apart, Damage::Within] {
            for &size in &sizes {
                let history = build(*shape, size, damage);
                let damage = format!("{damage:?}");
                print!("{:38}{damage:7}{size:>9}", shape.0);
                for (_, levels) in asked {
                    print!("{:>16}", measure(&history, levels));
                }
                println!();
            }
        }
    }
    Ok(())
}

fn measure(history: &History, levels: &[Level]) -> String {
    let (started, cpu) = (Instant::now(), cpu_seconds());
    let late = || started.elapsed().as_secs_f64() > SECONDS_MAX;
    let budget = Budget {
        probe: &|| late().then(|| "a minute".to_string()),
        ..Budget::default()
    };
    let options = Options {
        budget,
        ..Options::default()
    };
    let checked = check(history, levels, &options);
    let seconds = cpu_seconds() - cpu;
    let names: Vec<&str> = checked.iter().map(|c| c.result.verdict.name()).collect();
    let mark = if names.contains(&"unknown") {
        "u"
    } else if names.contains(&"violated") {
        "v"
    } else {
        " "
    };
    format!("{seconds:.3} {mark}")
}

/// The CPU time of this thread, where the system tells it.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|t| t.parse().ok());
    nanoseconds.unwrap_or(0.0) / 1e9
}
