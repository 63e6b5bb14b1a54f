//! What driving a database costs: transactions a second on a PostgreSQL of our own, by pgbench, by bare
//! connections, and by a recorded run, all with the same statements, in turns.
//!
//! ```text
//! ISOLDE_PEER_PGBENCH=pgbench cargo bench --bench databases
//! ```
//!
//! Without the variable only our figures are printed. Then come the executor and the recording alone, on a database
//! that does nothing, and a run with a thousand clients. `ISOLDE_BENCH_RECORD=N` does none of that: it records N
//! transactions of nothing, and prints how long the file is and how much memory that took.
#![allow(missing_docs)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use workload::cluster::{Cluster, Options, Spec};
use workload::driver::{Answer, Commit, Connection, Database, Error, Form, Isolation, Settings};
use workload::drivers;
use workload::execute::{self, Counters, Run};
use workload::plan::{Action, Plan, Source, Step, Unique, Workload};
use workload::record::Recording;
use workload::schema::{Cell, ColumnKind, Schema};

const KEYS: u64 = 10_000;
const CLIENTS: u32 = 8;
const ROUNDS: usize = 4;
const TIME: Duration = Duration::from_secs(3);

/// Two reads and two updates by primary key.
struct Four {
    schema: Schema,
}

struct FourSource {
    unique: Unique,
    state: u64,
}

impl Workload for Four {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn source(&self, client: u32, clients: u32) -> Box<dyn Source> {
        Box::new(FourSource {
            unique: Unique::new(client, clients),
            state: u64::from(client) + 1,
        })
    }
}

impl Source for FourSource {
    fn next(&mut self, plan: &mut Plan) {
        for place in 0..4 {
            // A linear congruential generator (Knuth's MMIX) is random enough for keys.
            self.state = self
                .state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let cell = Cell {
                table: 0,
                column: 0,
                row: ((self.state >> 33) % KEYS) as i64,
            };
            plan.act(match place {
                0 | 1 => Action::Read(cell),
                _ => Action::Write(cell, self.unique.take()),
            });
        }
        // In one order, so that nobody waits in a circle.
        if let [_, _, Step::Act(third), Step::Act(fourth)] = &mut plan.steps[..]
            && third.cell().row > fourth.cell().row
        {
            std::mem::swap(third, fourth);
        }
    }
}

/// A database that answers at once: what is left is the executor and the recording.
struct Nothing;

impl Database for Nothing {
    fn product(&self) -> String {
        "nothing".to_string()
    }

    fn isolations(&self) -> &'static [Isolation] {
        &[NOTHING]
    }

    fn isolation(&self) -> Isolation {
        NOTHING
    }

    fn node_count(&self) -> usize {
        1
    }

    fn prepare(&self, _: &Schema) -> Result<(), Error> {
        Ok(())
    }

    fn clean(&self, _: &Schema) -> Result<(), Error> {
        Ok(())
    }

    fn connect(&self, _: usize, _: &Schema) -> Result<Box<dyn Connection>, Error> {
        Ok(Box::new(Nothing))
    }

    fn statement(&self, _: &Schema, _: &Action) -> String {
        String::new()
    }

    fn frame(&self) -> [String; 3] {
        Default::default()
    }
}

const NOTHING: Isolation = Isolation {
    name: "nothing",
    promises: history::Level::ReadUncommitted,
    because: "it does nothing",
};

impl Connection for Nothing {
    fn begin(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn run(&mut self, action: &Action) -> Result<Answer, Error> {
        Ok(match action.writes() {
            true => Answer::Done,
            false => Answer::Value(Some(0), None),
        })
    }

    fn commit(&mut self) -> Result<Commit, Error> {
        Ok(Commit::default())
    }

    fn rollback(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let directory = std::env::temp_dir();
    if let Ok(count) = std::env::var("ISOLDE_BENCH_RECORD") {
        record_only(count.parse().expect("a number of transactions"), &directory);
        return;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let search: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let interrupted = Arc::new(AtomicBool::new(false));
    let options = Options {
        directory: &directory,
        search: &search,
        settings: &[],
        proxied: false,
        network_faults: false,
        progress: &|_| {},
        interrupted: &interrupted,
    };
    let spec: Spec = "postgres".parse().expect("a known server");
    let cluster = match Cluster::start(&spec, &options) {
        Ok(cluster) => cluster,
        Err(error) => {
            println!("no PostgreSQL: {error}");
            return;
        }
    };
    let settings = Settings {
        form: Form {
            upsert: false,
            ..Form::default()
        },
        ..Settings::default()
    };
    let database = drivers::open(cluster.urls(), &settings).expect("a database");
    let workload = Four {
        schema: Schema::single(ColumnKind::Register, KEYS),
    };
    database.prepare(&workload.schema).expect("tables");
    compare(database.as_ref(), &workload, &cluster.urls()[0], &directory);
}

/// Runs all ways in turns, and prints what each reached.
fn compare(database: &dyn Database, workload: &Four, url: &str, directory: &Path) {
    let peer = std::env::var("ISOLDE_PEER_PGBENCH").ok();
    let mut rates: [Vec<f64>; 3] = Default::default();
    for _ in 0..ROUNDS {
        if let Some(pgbench) = &peer {
            rates[0].push(by_pgbench(pgbench, url, directory));
        }
        rates[1].push(bare(database, workload));
        rates[2].push(recorded(database, workload, CLIENTS, directory).0);
    }
    let [pgbench, bare, recorded_rate] = rates.map(median);
    println!(
        "{CLIENTS} clients, two selects and two updates a transaction, transactions a second (median of {ROUNDS}):"
    );
    if peer.is_some() {
        println!("  pgbench            {pgbench:8.0}");
    }
    println!("  bare connections   {bare:8.0}");
    println!(
        "  recorded run       {recorded_rate:8.0}   {:.2} of bare connections",
        recorded_rate / bare
    );
    if peer.is_some() {
        println!("  recorded run / pgbench: {:.2}", recorded_rate / pgbench);
    }
    let (rate, _) = recorded(&Nothing, workload, 1, directory);
    println!(
        "  recorded run of nothing {:.1} us a transaction",
        1e6 / rate
    );
    let (rate, bytes) = recorded(database, workload, 1000, directory);
    println!("  recorded, 1000 clients {rate:4.0}   {bytes:.0} bytes a transaction");
}

/// Records transactions of a database that does nothing.
fn record_only(transactions: u64, directory: &Path) {
    let workload = Four {
        schema: Schema::single(ColumnKind::Register, KEYS),
    };
    let path = directory.join(format!("isolde-bench-{}.jsonl", std::process::id()));
    let recording = Recording::create(&path, "{}").expect("a recording");
    let counters = Counters::default();
    let run = Run {
        database: &Nothing,
        workload: &workload,
        recording: &recording,
        options: execute::Options {
            clients: CLIENTS,
            transactions: Some(transactions),
            time: None,
            patience: Duration::from_secs(30),
        },
        stop: &AtomicBool::new(false),
        counters: &counters,
    };
    let began = Instant::now();
    run.execute().expect("a run");
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    println!(
        "{} operations in {:.0} s, {} MB; peak memory {}",
        counters.operations.load(Ordering::Relaxed),
        began.elapsed().as_secs_f64(),
        recording.len() / 1_000_000,
        peak.unwrap_or("unknown")
    );
    let _ = std::fs::remove_file(&path);
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Connections without an executor and without a recording.
fn bare(database: &dyn Database, workload: &dyn Workload) -> f64 {
    let done = AtomicU64::new(0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let done = &done;
            scope.spawn(move || {
                let mut connection = database
                    .connect(0, workload.schema())
                    .expect("a connection");
                let mut source = workload.source(client, CLIENTS);
                let mut plan = Plan::default();
                while began.elapsed() < TIME {
                    plan.clear();
                    source.next(&mut plan);
                    let mut run = || {
                        connection.begin()?;
                        plan.actions()
                            .try_for_each(|action| connection.run(action).map(|_| ()))?;
                        connection.commit()
                    };
                    match run() {
                        Ok(_) => {
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(_) => connection.rollback().expect("a rollback"),
                    }
                }
            });
        }
    });
    done.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64()
}

/// A run as `isolde run` does it; its rate, and the bytes of a transaction.
fn recorded(
    database: &dyn Database,
    workload: &dyn Workload,
    clients: u32,
    directory: &Path,
) -> (f64, f64) {
    let path = directory.join(format!("isolde-bench-{}.jsonl", std::process::id()));
    let recording = Recording::create(&path, "{}").expect("a recording");
    let counters = Counters::default();
    let run = Run {
        database,
        workload,
        recording: &recording,
        options: execute::Options {
            clients,
            transactions: None,
            time: Some(TIME),
            patience: Duration::from_secs(30),
        },
        stop: &AtomicBool::new(false),
        counters: &counters,
    };
    let began = Instant::now();
    run.execute().expect("a run");
    let seconds = began.elapsed().as_secs_f64();
    let committed = counters.committed.load(Ordering::Relaxed) as f64;
    let bytes = recording.len() as f64 / committed;
    let _ = std::fs::remove_file(&path);
    (committed / seconds, bytes)
}

fn by_pgbench(pgbench: &str, url: &str, directory: &Path) -> f64 {
    let script = directory.join(format!("isolde-bench-{}.sql", std::process::id()));
    let last = KEYS - 1;
    let text = format!(
        "\\set a random(0, {last})\n\\set b random(0, {last})\n\\set c random(0, {last} / 2)\n\\set d random({last} / 2 + 1, {last})\n\\set v random(1, 1000000000)\n\
         begin isolation level read committed;\n\
         select v from isolde_kv where k = :a;\nselect v from isolde_kv where k = :b;\n\
         update isolde_kv set v = :v where k = :c;\nupdate isolde_kv set v = :v where k = :d;\ncommit;\n"
    );
    std::fs::write(&script, text).expect("a script");
    let port = url
        .rsplit(':')
        .next()
        .and_then(|rest| rest.split('/').next())
        .unwrap_or("5432");
    let mut command = Command::new(pgbench);
    command.args([
        "-h",
        "127.0.0.1",
        "-p",
        port,
        "-U",
        "postgres",
        "-n",
        "-M",
        "prepared",
        "-j",
        "2",
    ]);
    command.args([
        "-c",
        &CLIENTS.to_string(),
        "-T",
        &TIME.as_secs().to_string(),
        "-f",
    ]);
    let output = command
        .arg(&script)
        .arg("postgres")
        .output()
        .expect("pgbench runs");
    let _ = std::fs::remove_file(&script);
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.starts_with("tps = "));
    let rate = line.and_then(|line| line[6..].split(' ').next()?.parse().ok());
    rate.unwrap_or_else(|| panic!("no rate: {text}{}", String::from_utf8_lossy(&output.stderr)))
}
