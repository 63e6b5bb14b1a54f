//! The exploration of protocol models: states generated in a CPU second and bytes a visited state,
//! and the time next to that of stateright on its own examples.
//!
//! ```text
//! cargo bench --bench models
//! ISOLDE_PEER_STATERIGHT='stateright/target/release/examples/{example} check {n}' \
//!   cargo bench --bench models
//! ```
//! The peer's variable holds its command, in which `{example}` is `2pc` or `paxos` and `{n}` how
//! many resource managers or clients. Its CPU seconds, of all its threads, are divided by ours, of
//! one thread.
//!
//! `ISOLDE_BENCH_PARTS` chooses among
//! - `protocols`: RAMP-Fast and Walter, 3 and 4 transactions that update, every level of the table
//!   asked, with reductions and without;
//! - `two-phase`: two-phase commit, state by state the example of stateright, with as many resource
//!   managers as `ISOLDE_BENCH_MANAGERS` says (6 and 8);
//! - `paxos`: Paxos with 2 and 3 clients that put and get, asked whether it is linearizable. The
//!   states are not stateright's: ours have a log, and forget what cannot matter;
//! - `table`: `isolde model table` at its own bounds, in CPU seconds.
//!
//! An exploration ends after `ISOLDE_BENCH_STATES` states (5000000), which does not change its rate.
#![allow(missing_docs)]

#[path = "../crates/protocol/tests/all/machines/mod.rs"]
mod machines;
mod measure;

use history::Level;
use machines::two_phase::{Seen, TwoPhase};
use measure::Failure;
use protocol::{Form, Model, Property, Question, Request, Setup, catalogue, search};

const PARTS: [&str; 4] = ["protocols", "two-phase", "paxos", "table"];

/// 3 and 4 transactions, each in a session of its own, that read and write both keys.
const UPDATES: [&str; 2] = [
    "k1@s1,s2 k2@s2,s1 | s1: r(k1) r(k2) w(k1) w(k2) | s2: r(k1) r(k2) w(k1) w(k2) \
     | s3: r(k1) r(k2) w(k1) w(k2)",
    "k1@s1,s2 k2@s2,s1 | s1: r(k1) r(k2) w(k1) w(k2) | s2: r(k1) r(k2) w(k1) w(k2) \
     | s3: r(k1) r(k2) w(k1) w(k2) | s3: r(k1) r(k2)",
];

const PAXOS: [(u64, &str); 2] = [
    (2, "k1@s1,s2,s3 | s4: w(k1); r(k1) | s5: w(k1); r(k1)"),
    (
        3,
        "k1@s1,s2,s3 | s4: w(k1); r(k1) | s5: w(k1); r(k1) | s6: w(k1); r(k1)",
    ),
];

/// The columns of the published table.
const TABLE: [Level; 9] = [
    Level::ReadCommitted,
    Level::ReadAtomic,
    Level::CursorStability,
    Level::UpdateAtomic,
    Level::NonMonotonicSnapshotIsolation,
    Level::ParallelSnapshotIsolation,
    Level::SnapshotIsolation,
    Level::Serializable,
    Level::StrictSerializable,
];

fn main() -> Result<(), Failure> {
    if measure::is_runner()? {
        return Ok(());
    }
    let parts = std::env::var("ISOLDE_BENCH_PARTS").unwrap_or(PARTS.join(","));
    println!(
        "{:34} {:>11} {:>12} {:>8} {:>12} {:>8} {:>8}",
        "model", "states", "generated", "CPU s", "generated/s", "B/state", "x peer"
    );
    for part in parts.split(',') {
        match part {
            "protocols" => protocols()?,
            "two-phase" => two_phase()?,
            "paxos" => paxos()?,
            "table" => table()?,
            _ => return Err(format!("ISOLDE_BENCH_PARTS: {part} is none of {PARTS:?}").into()),
        }
    }
    Ok(())
}

/// What an exploration came to.
struct Row {
    name: String,
    states: u64,
    generated: u64,
    bytes: u64,
    cpu_seconds: f64,
    whole: bool,
}

impl Row {
    fn show(&self, peer: Option<f64>) {
        let per_second = self.generated as f64 / self.cpu_seconds.max(1e-9);
        let bytes = self.bytes as f64 / self.states.max(1) as f64;
        let ratio = peer.map(|peer| peer / self.cpu_seconds.max(1e-9));
        let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.1}"));
        let end = if self.whole { "" } else { " (not all)" };
        println!(
            "{:34} {:>11} {:>12} {:>8.2} {:>12.0} {:>8.1} {ratio:>8}{end}",
            self.name, self.states, self.generated, self.cpu_seconds, per_second, bytes
        );
    }
}

/// The CPU seconds that `work` takes on this thread.
fn timed<T>(work: impl FnOnce() -> T) -> Result<(f64, T), Failure> {
    let now = || measure::thread_cpu_seconds().ok_or("the system does not tell CPU times");
    let start = now()?;
    let made = work();
    Ok((now()? - start, made))
}

/// The CPU seconds of the peer, if there is one.
fn peer(example: &str, n: u64) -> Result<Option<f64>, Failure> {
    let Ok(command) = std::env::var("ISOLDE_PEER_STATERIGHT") else {
        return Ok(None);
    };
    let fill = |part: &str| {
        part.replace("{example}", example)
            .replace("{n}", &n.to_string())
    };
    let command: Vec<String> = command.split_whitespace().map(fill).collect();
    let Some((program, arguments)) = command.split_first() else {
        return Ok(None);
    };
    let cost = measure::run(program, arguments)?;
    match cost.code {
        Some(0) => Ok(Some(cost.cpu_seconds)),
        code => Err(format!("{command:?} ended with {code:?}").into()),
    }
}

fn model(name: &str) -> Result<Box<dyn Model>, Failure> {
    let entry = catalogue()
        .into_iter()
        .find(|entry| entry.model.name() == name);
    Ok(entry.ok_or(format!("there is no model {name}"))?.model)
}

fn request(levels: &[Level], reduced: bool) -> Result<Request<'static>, Failure> {
    let question = |level: &Level| Question {
        property: Property::Level(*level),
        form: Form::Strict,
    };
    Ok(Request {
        questions: levels.iter().map(question).collect(),
        partial_order: reduced,
        symmetry: reduced,
        states_max: measure::numbers("ISOLDE_BENCH_STATES", &[5_000_000])?[0],
        ..Request::default()
    })
}

fn explored(name: &str, setup: &str, levels: &[Level], reduced: bool) -> Result<Row, Failure> {
    let model = model(name)?;
    let setup: Setup = setup.parse()?;
    let request = request(levels, reduced)?;
    let setups = std::slice::from_ref(&setup);
    let (cpu_seconds, outcome) = timed(|| model.explore(setups, 1, &request))?;
    let reduction = if reduced { "" } else { ", no reduction" };
    Ok(Row {
        name: format!("{name}, {} txns{reduction}", setup.txns().count()),
        states: outcome.evidence.states,
        generated: outcome.evidence.generated,
        bytes: outcome.evidence.bytes,
        cpu_seconds,
        whole: outcome.evidence.exhausted,
    })
}

fn protocols() -> Result<(), Failure> {
    for name in ["ramp-f", "walter"] {
        for setup in UPDATES {
            for reduced in [true, false] {
                explored(name, setup, &TABLE, reduced)?.show(None);
            }
        }
    }
    Ok(())
}

fn two_phase() -> Result<(), Failure> {
    for managers in measure::numbers("ISOLDE_BENCH_MANAGERS", &[6, 8])? {
        let machine = TwoPhase {
            managers: (managers as usize).clamp(1, TwoPhase::MOST),
        };
        let mut workers = [Seen::default()];
        let (cpu_seconds, found) = timed(|| search(&machine, &mut workers))?;
        let row = Row {
            name: format!("two-phase commit, {managers} managers"),
            states: found.states,
            generated: found.generated,
            bytes: found.bytes,
            cpu_seconds,
            whole: true,
        };
        row.show(peer("2pc", managers)?);
    }
    Ok(())
}

fn paxos() -> Result<(), Failure> {
    for (clients, setup) in PAXOS {
        let theirs = peer("paxos", clients)?;
        for reduced in [true, false] {
            let mut row = explored("paxos", setup, &[Level::StrictSerializable], reduced)?;
            let reduction = if reduced { "" } else { ", no reduction" };
            row.name = format!("paxos, {clients} clients{reduction}");
            row.show(theirs);
        }
    }
    Ok(())
}

fn table() -> Result<(), Failure> {
    let arguments = ["model", "table", "--threads", "2"].map(str::to_string);
    let cost = measure::run(env!("CARGO_BIN_EXE_isolde"), &arguments)?;
    println!(
        "{:34} {:>11} {:>12} {:>8.2} {:>12} {:>8} {:>8}",
        "isolde model table", "", "", cost.cpu_seconds, "", "", ""
    );
    println!("  {:.0} MiB at most", cost.peak_mebibytes);
    match cost.code {
        Some(0..=3) => Ok(()),
        code => Err(format!("isolde model table ended with {code:?}").into()),
    }
}
