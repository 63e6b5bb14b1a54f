//! The strong levels on the benchmarks of the PolySI paper: CPU seconds and peak memory, of Isolde
//! and of peers on the same histories.
//!
//! ```text
//! cargo bench --bench strong
//! ISOLDE_PEER_POLYSI='timeout 120 java -jar PolySI.jar audit --type=text {file}' \
//! ISOLDE_PEER_VERISTRONG='timeout 120 checker --pruning fast --isolation-level {level} {dbcop}' \
//!   cargo bench --bench strong
//! ```
//! A peer's variable holds its command, in which `{file}` is the history as text, `{dbcop}` the
//! same as dbcop's binary, and `{level}` is `si` or `ser`; a command without `{level}` is taken to
//! know snapshot isolation only. Its exit code stands where Isolde has its verdict. Ratios are given
//! where Isolde decided and the peer ended with 0, or with 255, which is how PolySI rejects; not
//! where either gave up or failed (`timeout` ends with 124).
//!
//! `ISOLDE_BENCH_PARTS` chooses among
//! - `shapes`: the six benchmarks, with as many transactions as `ISOLDE_BENCH_SIZES` says (by
//!   default 10000 and 100000);
//! - `sweep`: the paper's Figure 6, one parameter at a time around 20 sessions of 100 transactions
//!   of 15 operations, half of them reads, over 10 000 zipfian keys;
//! - `planted`: the same sizes with one anomaly hidden among valid transactions;
//! - `blind`: mostly blind writes to few keys, the solver's worst case.
//!
//! Levels are `ISOLDE_BENCH_LEVELS`, by default the strong-session ones, since the peers count
//! session order in; a history is generated at the level it is checked at. Isolde gives up after
//! `ISOLDE_BENCH_TIMEOUT` seconds (120).
#![allow(missing_docs)]

mod measure;

use history::{AnomalyKind, Level};
use measure::{Cost, Failure, Files, Scratch};
use workload::{Benchmark, Config, Distribution, generate};

const PARTS: [&str; 4] = ["shapes", "sweep", "planted", "blind"];

/// The exit codes of a peer that came to a verdict.
const DECIDED: [i32; 2] = [0, 255];

struct Peer {
    name: &'static str,
    command: Vec<String>,
}

struct Bench {
    levels: Vec<Level>,
    peers: Vec<Peer>,
    timeout: u64,
    scratch: Scratch,
}

fn main() -> Result<(), Failure> {
    if measure::is_runner()? {
        return Ok(());
    }
    let bench = Bench {
        levels: levels()?,
        peers: ["POLYSI", "VERISTRONG"]
            .into_iter()
            .filter_map(peer)
            .collect(),
        timeout: measure::numbers("ISOLDE_BENCH_TIMEOUT", &[120])?[0],
        scratch: Scratch::new("strong")?,
    };
    let parts = std::env::var("ISOLDE_BENCH_PARTS").unwrap_or(PARTS.join(","));
    let sizes = measure::numbers("ISOLDE_BENCH_SIZES", &[10_000, 100_000])?;
    println!(
        "{:26} {:>8} {:>9} {:34} {:10} {:>9} {:>9} {:>9} {:>8} {:>8}",
        "history",
        "txns",
        "ops",
        "level",
        "checker",
        "verdict",
        "CPU s",
        "peak MiB",
        "x time",
        "x memory"
    );
    for part in parts.split(',') {
        match part {
            "shapes" => shapes(&bench, &sizes)?,
            "sweep" => sweep(&bench)?,
            "planted" => planted(&bench, &sizes)?,
            "blind" => blind(&bench)?,
            _ => return Err(format!("ISOLDE_BENCH_PARTS: {part} is none of {PARTS:?}").into()),
        }
    }
    Ok(())
}

fn levels() -> Result<Vec<Level>, Failure> {
    let Ok(names) = std::env::var("ISOLDE_BENCH_LEVELS") else {
        return Ok(vec![
            Level::StrongSessionSnapshotIsolation,
            Level::StrongSessionSerializable,
        ]);
    };
    let level = |name: &str| Ok(name.parse::<Level>()?);
    names.split(',').map(level).collect()
}

fn peer(name: &'static str) -> Option<Peer> {
    let command = std::env::var(format!("ISOLDE_PEER_{name}")).ok()?;
    let command: Vec<String> = command.split_whitespace().map(str::to_string).collect();
    (!command.is_empty()).then_some(Peer { name, command })
}

fn shapes(bench: &Bench, sizes: &[u64]) -> Result<(), Failure> {
    for &size in sizes {
        for benchmark in Benchmark::REGISTERS {
            let config = sized(benchmark.config(), size)?;
            bench.row(benchmark.name(), &config)?;
        }
    }
    Ok(())
}

/// As many transactions in all, from as many sessions.
fn sized(config: Config, txns: u64) -> Result<Config, Failure> {
    let each = (txns / u64::from(config.sessions)).max(1);
    Ok(Config {
        txns_per_session: each.try_into()?,
        ..config
    })
}

fn sweep(bench: &Bench) -> Result<(), Failure> {
    let base = || Config {
        sessions: 20,
        txns_per_session: 100,
        ops_per_txn: 15,
        distribution: Distribution::Zipfian(0.99),
        ..Config::default()
    };
    let mut points: Vec<(String, Config)> = Vec::new();
    let mut point = |name: String, change: &dyn Fn(&mut Config)| {
        let mut config = base();
        change(&mut config);
        points.push((name, config));
    };
    for sessions in [5, 10, 15, 20, 25, 30] {
        point(format!("sessions {sessions}"), &|c| c.sessions = sessions);
    }
    for txns in [10, 20, 30, 40, 50, 100, 150, 200, 250] {
        point(format!("txns {txns}"), &|c| c.txns_per_session = txns);
    }
    for ops in [5, 10, 15, 20, 25, 30] {
        point(format!("ops {ops}"), &|c| c.ops_per_txn = ops);
    }
    for reads in [0.0, 0.25, 0.5, 0.75, 1.0] {
        point(format!("reads {reads}"), &|c| c.read_share = reads);
    }
    for keys in [1000, 2000, 3000, 4000, 6000, 8000, 10_000] {
        point(format!("keys {keys}"), &|c| c.keys = keys);
    }
    for (name, distribution) in [
        ("uniform", Distribution::Uniform),
        ("zipfian", Distribution::Zipfian(0.99)),
        ("hotspot", Distribution::HOTSPOT),
    ] {
        point(name.to_string(), &|c| c.distribution = distribution);
    }
    for (name, config) in points {
        bench.row(&name, &config)?;
    }
    Ok(())
}

fn planted(bench: &Bench, sizes: &[u64]) -> Result<(), Failure> {
    for &size in sizes {
        for (benchmark, kind) in [
            (Benchmark::GeneralRw, AnomalyKind::LostUpdate),
            (Benchmark::GeneralWh, AnomalyKind::LongFork),
            (Benchmark::TpcC, AnomalyKind::LostUpdate),
        ] {
            let config = Config {
                anomalies: vec![kind],
                ..sized(benchmark.config(), size)?
            };
            bench.row(&format!("{} {kind}", benchmark.name()), &config)?;
        }
    }
    Ok(())
}

fn blind(bench: &Bench) -> Result<(), Failure> {
    for (txns_per_session, keys) in [(40, 1000), (40, 100), (40, 10), (200, 100), (400, 100)] {
        for read_share in [0.0, 0.1, 0.3] {
            let config = Config {
                txns_per_session,
                keys,
                read_share,
                ..Benchmark::GeneralWh.config()
            };
            bench.row(&format!("{keys} keys, reads {read_share}"), &config)?;
        }
    }
    Ok(())
}

impl Bench {
    /// Generates a history at each level and measures everybody on it.
    fn row(&self, name: &str, config: &Config) -> Result<(), Failure> {
        for &level in &self.levels {
            let config = Config {
                level,
                ..config.clone()
            };
            let history = generate(&config)?.history;
            let size = (history.txn_count(), history.op_count());
            let files = Files::write(&history, &self.scratch)?;
            drop(history);
            let row = format!("{name:26} {:>8} {:>9} {:34}", size.0, size.1, level);
            self.compare(&row, level, &files)?;
        }
        Ok(())
    }

    fn compare(&self, row: &str, level: Level, files: &Files) -> Result<(), Failure> {
        let ours = measure::try_check(level, &files.text, self.timeout)?;
        let verdict = match ours.code {
            Some(0) => "holds",
            Some(1) => "violated",
            Some(3) => "unknown",
            code => return Err(format!("isolde check ended with {code:?}").into()),
        };
        show(row, "isolde", verdict, &ours, None);
        let word = if level.implies(Level::Serializable) {
            "ser"
        } else {
            "si"
        };
        for peer in &self.peers {
            let knows_level = peer.command.iter().any(|part| part.contains("{level}"));
            if !knows_level && word == "ser" {
                continue;
            }
            let fill = |part: &String| {
                part.replace("{level}", word)
                    .replace("{file}", &files.text.display().to_string())
                    .replace("{dbcop}", &files.dbcop.display().to_string())
            };
            let command: Vec<String> = peer.command.iter().map(fill).collect();
            let theirs = measure::run(&command[0], &command[1..])?;
            let decided = theirs.code.is_some_and(|code| DECIDED.contains(&code));
            let said = theirs
                .code
                .map_or("killed".to_string(), |code| format!("exit {code}"));
            let comparable = decided && verdict != "unknown";
            show(row, peer.name, &said, &theirs, comparable.then_some(&ours));
        }
        Ok(())
    }
}

/// The last columns say how many times the cost of Isolde a peer took.
fn show(row: &str, name: &str, verdict: &str, cost: &Cost, ours: Option<&Cost>) {
    let (cpu, peak) = (cost.cpu_seconds, cost.peak_mebibytes);
    let times = |theirs: f64, ours: f64| format!("{:.1}", theirs / ours.max(1e-3));
    let (time, memory) = ours.map_or_else(Default::default, |ours| {
        (
            times(cpu, ours.cpu_seconds),
            times(peak, ours.peak_mebibytes),
        )
    });
    println!("{row} {name:10} {verdict:>9} {cpu:>9.3} {peak:>9.1} {time:>8} {memory:>8}");
}
