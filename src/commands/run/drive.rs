//! One run of a workload: prepared, executed, hurt, recorded, and followed while it goes on.

use super::live::Live;
use super::target::Target;
use crate::args::DistributionArg;
use crate::exit::Failure;
use crate::interrupt;
use crate::output;
use crate::progress::Progress;
use crate::run_args::{FaultArg, ListArg, LoadArgs, SqlArg};
use history::Level;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use workload::Distribution;
use workload::driver::{Database, Form, Isolation, Settings};
use workload::execute::{Counters, Options, Run};
use workload::fault::{Fault, Schedule};
use workload::plan::Workload;
use workload::record::Recording;
use workload::schema::{ListForm, Schema};
use workload::workloads::{self, Shape};

/// What to run.
pub struct Job<'a> {
    pub target: &'a Target,
    pub load: &'a LoadArgs,
    pub workload: &'a str,
    pub isolation: Option<&'a str>,
    /// What to hold the database to, if not to what it promises.
    pub levels: &'a [Level],
    pub seed: u64,
    pub faults: Vec<FaultArg>,
    pub fault_every: f64,
    pub fault_for: f64,
    pub stop_at_first: bool,
    /// Where the recording goes; exists.
    pub directory: &'a Path,
}

/// A run that has ended.
pub struct Driven {
    pub workload: String,
    pub product: String,
    pub isolation: Isolation,
    pub database: Box<dyn Database>,
    pub schema: Schema,
    pub recording: PathBuf,
    pub seconds: f64,
    pub committed: u64,
    pub aborted: u64,
    pub indeterminate: u64,
    pub lost: u64,
    pub faults: u64,
    /// Why it ended early.
    pub failure: Option<String>,
}

impl Driven {
    /// How many transactions there were.
    pub fn transactions(&self) -> u64 {
        self.committed + self.aborted + self.indeterminate
    }
}

/// What a run shares with those who watch it.
#[derive(Default)]
struct State {
    stop: AtomicBool,
    counters: Counters,
    faults: AtomicU64,
}

/// The workload of that name.
pub fn workload(load: &LoadArgs, name: &str, seed: u64) -> Result<Box<dyn Workload>, Failure> {
    workloads::by_name(name, &shape(load, seed)).map_err(Failure)
}

/// Runs a workload and records it.
pub fn drive(job: &Job<'_>, progress: &Progress) -> Result<Driven, Failure> {
    progress.stage("preparing");
    let database = job.target.open(&settings(job))?;
    let workload = workload(job.load, job.workload, job.seed)?;
    let schema = workload.schema().clone();
    let failed = |error: workload::driver::Error| Failure::with(&job.target.name, error);
    database.prepare(&schema).map_err(failed)?;
    let path = job.directory.join("history.jsonl");
    let about = about(job, database.as_ref(), &schema).to_string();
    let recording = Recording::create(&path, &about)
        .map_err(|error| Failure::with(&path.display().to_string(), error))?;
    let state = State::default();
    let began = Instant::now();
    let result = execute(
        job,
        database.as_ref(),
        workload.as_ref(),
        &recording,
        &state,
        progress,
    );
    let seconds = began.elapsed().as_secs_f64();
    let failure = result.err();
    // Tables that cannot be removed from a database that has failed stay.
    if failure.is_none()
        && let Err(error) = database.clean(&schema)
    {
        output::note(&format!("{}: the tables stay: {error}", job.target.name));
    }
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let counters = &state.counters;
    Ok(Driven {
        workload: job.workload.to_string(),
        product: database.product(),
        isolation: database.isolation(),
        database,
        schema,
        recording: path,
        seconds,
        committed: count(&counters.committed),
        aborted: count(&counters.aborted),
        indeterminate: count(&counters.indeterminate),
        lost: count(&counters.lost),
        faults: count(&state.faults),
        failure,
    })
}

/// Runs the clients, the faults and the watch side by side.
fn execute(
    job: &Job<'_>,
    database: &dyn Database,
    workload: &dyn Workload,
    recording: &Recording,
    state: &State,
    progress: &Progress,
) -> Result<(), String> {
    let patience = seconds(job.load.patience);
    let run = Run {
        database,
        workload,
        recording,
        options: Options {
            clients: job.load.clients,
            transactions: transactions(job.load),
            time: job.load.time.map(seconds),
            patience,
        },
        stop: &state.stop,
        counters: &state.counters,
    };
    let schedule = schedule(job);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let faults = job.target.cluster.as_ref().map(|cluster| {
            scope.spawn(|| schedule.inject(cluster, recording, &state.stop, &state.faults))
        });
        let path = job.directory.join("history.jsonl");
        let over = &over;
        let promised = held_to(job.levels, database.isolation());
        scope.spawn(move || watch(job, &path, &promised, recording, state, over, progress));
        let result = run.execute();
        state.stop.store(true, Ordering::Release);
        over.store(true, Ordering::Release);
        let hurt = faults.map(|thread| thread.join());
        match (result, hurt) {
            (Err(error), _) => Err(error.to_string()),
            (Ok(()), Some(Ok(Err(error)))) => Err(error.to_string()),
            (Ok(()), Some(Err(_))) => Err("the faults stopped by themselves".to_string()),
            _ => Ok(()),
        }
    })
}

/// Tells how it goes, follows the recording, and notices Ctrl-C.
fn watch(
    job: &Job<'_>,
    path: &Path,
    promised: &[Level],
    recording: &Recording,
    state: &State,
    over: &AtomicBool,
    progress: &Progress,
) {
    let began = Instant::now();
    let mut live = Live::follow(path).ok();
    while !over.load(Ordering::Acquire) {
        if interrupt::pressed() {
            state.stop.store(true, Ordering::Release);
        }
        let mut found = String::new();
        let mut numbers = serde_json::Map::new();
        if let Some(live) = &mut live {
            live.look(recording.len());
            let breaks = |level: Level| promised.iter().any(|promise| promise.implies(level));
            let broken = live.found().iter().find(|(level, _)| breaks(*level));
            if job.stop_at_first && broken.is_some() {
                state.stop.store(true, Ordering::Release);
            }
            let names: Vec<&str> = live.found().iter().map(|(_, kind)| *kind).collect();
            let listed = live.found().iter();
            let listed =
                listed.map(|(level, kind)| json!({"level": level.name(), "anomaly": kind}));
            numbers.insert("found".to_string(), listed.collect());
            found = match names.first() {
                Some(_) => format!(", seen: {}", names.join(", ")),
                None => String::new(),
            };
        }
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (committed, aborted) = (
            count(&state.counters.committed),
            count(&state.counters.aborted),
        );
        let rate = committed as f64 / began.elapsed().as_secs_f64().max(0.001);
        let share = 100.0 * aborted as f64 / (committed + aborted).max(1) as f64;
        let faults = count(&state.faults);
        progress.stage(&format!(
            "running: {committed} committed, {rate:.0}/s, {share:.1} % aborted, {faults} faults{found}"
        ));
        let indeterminate = count(&state.counters.indeterminate);
        for (name, value) in [
            ("committed", committed),
            ("aborted", aborted),
            ("indeterminate", indeterminate),
            ("faults", faults),
        ] {
            numbers.insert(name.to_string(), value.into());
        }
        progress.numbers(numbers);
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// What the database is held to.
pub fn held_to(levels: &[Level], isolation: Isolation) -> Vec<Level> {
    match levels {
        [] => vec![isolation.promises],
        levels => levels.to_vec(),
    }
}

/// Some months are as good as for ever.
fn seconds(number: f64) -> Duration {
    Duration::from_secs_f64(number.clamp(0.0, 1e7))
}

fn transactions(load: &LoadArgs) -> Option<u64> {
    match (load.transactions, load.time) {
        (None, None) => Some(5000),
        (count, _) => count,
    }
}

fn schedule(job: &Job<'_>) -> Schedule {
    let fault = |fault: &FaultArg| match fault {
        FaultArg::Kill => Fault::Kill,
        FaultArg::Pause => Fault::Pause,
        FaultArg::Partition => Fault::Partition,
        FaultArg::Slow => Fault::Slow,
        FaultArg::Restart => Fault::Restart,
    };
    Schedule {
        faults: job.faults.iter().map(fault).collect(),
        every: seconds(job.fault_every),
        lasting: seconds(job.fault_for),
        seed: job.seed,
    }
}

fn settings(job: &Job<'_>) -> Settings {
    let has = |form: SqlArg| job.load.sql.contains(&form);
    Settings {
        isolation: job.isolation.map(str::to_string),
        form: Form {
            by_secondary: has(SqlArg::Secondary),
            for_update: has(SqlArg::ForUpdate),
            upsert: !has(SqlArg::Update),
        },
        patience: seconds(job.load.patience),
        ids: job.load.ids,
    }
}

fn shape(load: &LoadArgs, seed: u64) -> Shape {
    Shape {
        keys: load.keys,
        ops_per_txn: load.ops,
        read_share: load.reads,
        rmw_share: load.rmw,
        abort_share: load.aborts,
        wait: load.wait,
        distribution: load.distribution.map(|distribution| match distribution {
            DistributionArg::Uniform => Distribution::Uniform,
            DistributionArg::Zipfian => Distribution::Zipfian(load.theta),
            DistributionArg::Hotspot => Distribution::HOTSPOT,
        }),
        list_form: match load.lists {
            ListArg::Native => ListForm::Native,
            ListArg::Text => ListForm::Text,
            ListArg::Json => ListForm::Json,
        },
        seed,
    }
}

/// What the recording's first line says of the run.
fn about(job: &Job<'_>, database: &dyn Database, schema: &Schema) -> serde_json::Value {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let isolation = database.isolation();
    json!({
        "database": job.target.name,
        "nodes": job.target.public_urls(),
        "product": database.product(),
        "isolation": isolation.name,
        "promises": isolation.promises.name(),
        "workload": job.workload,
        "clients": job.load.clients,
        "seed": job.seed,
        "unix_time": since.map_or(0, |since| since.as_secs()),
        "statements": super::sql::templates(database, schema),
    })
}
