//! The arguments of the commands that drive databases.

use crate::args::{DistributionArg, parse_positive};
use clap::{Args, ValueEnum};
use history::Level;

#[derive(Args, Clone)]
pub struct RunArgs {
    /// The database: a URL (postgres://…, mysql://…, redis://…, etcd://…, sqlite:PATH, exec:COMMAND; several
    /// are several nodes), or a server to start: postgres, postgres:replica, mariadb, galera:3, redis,
    /// redis:replica, etcd:3, sqlite. Without one: a tour of SQLite in this process
    #[arg(value_name = "DATABASE")]
    pub databases: Vec<String>,
    /// What the transactions do; 'help' lists the workloads
    #[arg(short, long, value_name = "NAME", default_value = "registers")]
    pub workload: String,
    #[command(flatten)]
    pub load: LoadArgs,
    /// The database's own name of an isolation level, such as 'repeatable read'
    #[arg(short, long, value_name = "NAME")]
    pub isolation: Option<String>,
    /// A level to hold the database to (repeatable), instead of what it promises
    #[arg(short, long = "level", value_name = "LEVEL")]
    pub levels: Vec<Level>,
    /// What to do to the servers meanwhile (repeatable); only to those that Isolde started
    #[arg(long = "fault", value_enum, value_name = "FAULT")]
    pub faults: Vec<FaultArg>,
    /// Seconds between two faults, on average
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0, value_parser = parse_positive, allow_negative_numbers = true)]
    pub fault_every: f64,
    /// How long a fault lasts, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = parse_positive, allow_negative_numbers = true)]
    pub fault_for: f64,
    /// End the run at the first violation of the promised level that shows while it runs
    #[arg(long)]
    pub stop_at_first: bool,
    /// Turn the anomaly found into a script of steps, and run that this many times to confirm it
    #[arg(long, value_name = "TIMES", num_args = 0..=1, default_missing_value = "20", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub replay: Option<u32>,
    /// Where to keep the recording and the report [default: a new directory in isolde-runs]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Write the verdict as JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    pub junit: Option<String>,
    /// Write the anomalies as SARIF to this file
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<String>,
    /// Tell the progress on standard error, as lines of JSON: for the page of 'serve'
    #[arg(long, hide = true)]
    pub progress_json: bool,
}

/// What to run, and how much of it.
#[derive(Args, Clone)]
pub struct LoadArgs {
    /// How many clients, each with a connection of its own
    #[arg(short, long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub clients: u32,
    /// End after so many transactions [default: 5000, or none with --time]
    #[arg(short = 'n', long, value_name = "N")]
    pub transactions: Option<u64>,
    /// End after so many seconds
    #[arg(short, long, value_name = "SECONDS", value_parser = parse_positive, allow_negative_numbers = true)]
    pub time: Option<f64>,
    /// How many keys [default: what the workload likes, as for the following]
    #[arg(long, value_name = "N")]
    pub keys: Option<u64>,
    /// How many operations in a transaction
    #[arg(long, value_name = "N")]
    pub ops: Option<u32>,
    /// The share of reads
    #[arg(long, value_name = "SHARE")]
    pub reads: Option<f64>,
    /// The share of writes that follow a read of the same key
    #[arg(long, value_name = "SHARE")]
    pub rmw: Option<f64>,
    /// The share of transactions that roll back on purpose
    #[arg(long, value_name = "SHARE")]
    pub aborts: Option<f64>,
    /// How keys are chosen
    #[arg(long, value_enum)]
    pub distribution: Option<DistributionArg>,
    /// The exponent of the zipfian distribution
    #[arg(long, default_value_t = 0.99)]
    pub theta: f64,
    /// long-transaction: how many commits of others it waits for
    #[arg(long, value_name = "N")]
    pub wait: Option<u64>,
    /// How lists are stored
    #[arg(long, value_enum, default_value = "native")]
    pub lists: ListArg,
    /// How statements are put (repeatable)
    #[arg(long, value_enum, value_name = "FORM")]
    pub sql: Vec<SqlArg>,
    /// Ask the database for its own transaction ids, and record them
    #[arg(long)]
    pub ids: bool,
    /// Seconds to wait for an answer of the database before a connection counts as lost
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = parse_positive, allow_negative_numbers = true)]
    pub patience: f64,
    /// A setting for servers that Isolde starts (repeatable): innodb_snapshot_isolation=ON
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub settings: Vec<(String, String)>,
    /// Where all random choices come from [default: drawn, and printed]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Seconds for the check of what was promised; the other levels get at most 10, or twice the time of
    /// the run. What is not decided by then is unknown
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = parse_positive, allow_negative_numbers = true)]
    pub timeout: f64,
}

#[derive(Args, Clone)]
pub struct MatrixArgs {
    /// The databases, as for 'run'; each is run by itself
    #[arg(required = true, value_name = "DATABASE")]
    pub databases: Vec<String>,
    #[command(flatten)]
    pub load: LoadArgs,
    /// How often to run each workload at each setting
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub runs: u32,
    /// The workloads to run, separated by commas
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "registers,lost-update,write-skew,read-skew,long-fork"
    )]
    pub workloads: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Where to keep the recordings in which an anomaly was found
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FaultArg {
    /// SIGKILL a node, and start it again
    Kill,
    /// SIGSTOP a node, and let it go on
    Pause,
    /// Cut a node off the others
    Partition,
    /// Delay everything between clients and a node
    Slow,
    /// Stop a node in good order, and start it again
    Restart,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListArg {
    /// The database's own arrays or lists; text where it has none
    Native,
    /// Text that is concatenated
    Text,
    /// JSON arrays
    Json,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SqlArg {
    /// Find rows by a secondary index, not by the primary key
    Secondary,
    /// Read with 'select … for update'
    ForUpdate,
    /// Write with 'update', and 'insert' where there was no row, not with an upsert
    Update,
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_string(), value.to_string())),
        _ => Err("expected NAME=VALUE".to_string()),
    }
}
