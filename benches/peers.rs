//! Isolde against other checkers: CPU seconds and peak memory on the same files.
//!
//! ```text
//! cargo bench --bench peers
//! ISOLDE_BENCH_SIZES=10000,100000 ISOLDE_PEER_AWDIT='awdit check -i {level} {file}' \
//!   cargo bench --bench peers
//! ISOLDE_PEER_PLUME='java -jar plume.jar -t PLUME -i {level} {file}' cargo bench --bench peers
//! ```
//! A peer's variable holds its command; `{level}` and `{file}` are filled in. Its words for
//! read-committed, read-atomic and causal are in `ISOLDE_PEER_AWDIT_LEVELS` and
//! `ISOLDE_PEER_PLUME_LEVELS`, separated by commas, if they differ from those below. Files are
//! generated at the level causal, or at the one in `ISOLDE_BENCH_LEVEL` (what is generated at read-committed
//! violates the others in thousands of places): sizes are transactions (`ISOLDE_BENCH_SIZES`, by default 10000,
//! 100000 and 1000000) of 20 operations, from 10, 50 and 1000 sessions (`ISOLDE_BENCH_SESSIONS`), on
//! uniform and zipfian keys. Of short runs the best of up to five is printed, ours as the peer's.
#![allow(missing_docs)]

mod measure;

use history::Level;
use measure::{Cost, Failure, Scratch};
use std::path::Path;
use workload::{Config, Distribution};

const LEVELS: [Level; 3] = [Level::ReadCommitted, Level::ReadAtomic, Level::Causal];

struct Peer {
    name: &'static str,
    command: Vec<String>,
    words: Vec<String>,
}

fn main() -> Result<(), Failure> {
    if measure::is_runner()? {
        return Ok(());
    }
    let peers = [
        peer("AWDIT", "read-committed,read-atomic,causal")?,
        peer("PLUME", "RC,RA,TCC")?,
    ];
    let peers: Vec<Peer> = peers.into_iter().flatten().collect();
    let sizes = measure::numbers("ISOLDE_BENCH_SIZES", &[10_000, 100_000, 1_000_000])?;
    let sessions = measure::numbers("ISOLDE_BENCH_SESSIONS", &[10, 50, 1000])?;
    let scratch = Scratch::new("peers")?;
    let level = std::env::var("ISOLDE_BENCH_LEVEL").unwrap_or("causal".to_string());
    let level: Level = level.parse()?;
    println!(
        "{:>9} {:>8} {:8} {:15} {:7} {:>9} {:>9} {:>7}",
        "txns", "sessions", "keys", "level", "checker", "CPU s", "peak MiB", "ratio"
    );
    for &size in &sizes {
        for &session_count in &sessions {
            for (keys, distribution) in [
                ("uniform", Distribution::Uniform),
                ("zipfian", Distribution::Zipfian(0.99)),
            ] {
                let file = scratch.file("history.txt");
                let config = Config {
                    sessions: session_count.try_into()?,
                    ops_per_txn: 20,
                    distribution,
                    level,
                    ..Config::default()
                };
                measure::write(&measure::history(&config, size)?, &file)?;
                let row = format!("{size:>9} {session_count:>8} {keys:8}");
                compare(&row, &file, &peers)?;
            }
        }
    }
    Ok(())
}

fn peer(name: &'static str, words: &str) -> Result<Option<Peer>, Failure> {
    let Ok(command) = std::env::var(format!("ISOLDE_PEER_{name}")) else {
        return Ok(None);
    };
    let words = std::env::var(format!("ISOLDE_PEER_{name}_LEVELS")).unwrap_or(words.to_string());
    let words: Vec<String> = words.split(',').map(str::to_string).collect();
    let command: Vec<String> = command.split_whitespace().map(str::to_string).collect();
    if words.len() != LEVELS.len() || command.is_empty() {
        return Err(format!("ISOLDE_PEER_{name}: expected a command and three levels").into());
    }
    Ok(Some(Peer {
        name,
        command,
        words,
    }))
}

fn compare(row: &str, file: &Path, peers: &[Peer]) -> Result<(), Failure> {
    for (place, level) in LEVELS.into_iter().enumerate() {
        let ours = measure::best(|| measure::check(level, file))?;
        show(row, level, "isolde", &ours, None);
        for peer in peers {
            let fill = |word: &String| {
                word.replace("{level}", &peer.words[place])
                    .replace("{file}", &file.display().to_string())
            };
            let words: Vec<String> = peer.command.iter().map(fill).collect();
            let theirs = measure::best(|| measure::run(&words[0], &words[1..]))?;
            let ratio = theirs.cpu_seconds / ours.cpu_seconds.max(1e-6);
            show(row, level, peer.name, &theirs, Some(ratio));
        }
    }
    Ok(())
}

/// The ratio is how many times the CPU seconds of Isolde a peer took.
fn show(row: &str, level: Level, name: &str, cost: &Cost, ratio: Option<f64>) {
    let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.1}"));
    let (cpu, peak) = (cost.cpu_seconds, cost.peak_mebibytes);
    println!("{row} {level:15} {name:7} {cpu:>9.3} {peak:>9.1} {ratio:>7}");
}
