//! The arguments of `isolde program`.

use clap::{Args, Subcommand, ValueEnum};
use program::StoreLevel;

const CODES: &str = "Exit codes: 0 no anomaly at the levels asked about (or robust), 1 anomalies, 2 bad \
                     input or environment, 3 not decided within the limits";

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = CODES)]
pub struct ProgramArgs {
    #[command(subcommand)]
    pub what: Option<ProgramCommand>,
    #[command(flatten)]
    pub analyse: AnalyseArgs,
}

#[derive(Subcommand)]
pub enum ProgramCommand {
    /// Prove that transactions are serializable at a weaker level, or show why not and what to change
    Robust(RobustArgs),
    /// Play the test of an anomaly again, in process or on a database
    Replay(ReplayArgs),
    /// Show how the sources were understood, and what was not
    Show(ShowArgs),
}

/// What is read.
#[derive(Args)]
pub struct SourceArgs {
    /// Java sources, .sql transaction files, DDL, logs, or directories of these
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<String>,
    /// The DDL of the tables (repeatable), if it is not among the paths
    #[arg(long, value_name = "FILE")]
    pub schema: Vec<String>,
    /// A transaction to look at (repeatable), by name; all if none is given
    #[arg(long = "transaction", value_name = "NAME")]
    pub transactions: Vec<String>,
}

#[derive(Args)]
pub struct AnalyseArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// A level to look for anomalies at (repeatable): ec, cv, cc, rc*, rr*, rc*+rr*, lin, ser* (of a
    /// replicated store), read-uncommitted, read-committed, read-atomic, prefix,
    /// parallel-snapshot-isolation, snapshot-isolation, serializable [default: read-committed and
    /// snapshot-isolation]
    #[arg(short, long = "level", value_name = "LEVEL")]
    pub levels: Vec<StoreLevel>,
    /// The level of one transaction where levels are mixed (repeatable); the others run at --level
    #[arg(long = "level-of", value_name = "NAME=LEVEL", value_parser = parse_level_of)]
    pub level_of: Vec<(String, StoreLevel)>,
    /// Which dependencies cycles are made of, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["wr", "rw"])]
    pub edges: Vec<EdgeArg>,
    /// Only anomalies that the database can notice: every read on the cycle matters to what is
    /// written, or to which statements run (the default)
    #[arg(long, conflicts_with = "external")]
    pub internal: bool,
    /// Also anomalies that only somebody outside can notice, from what transactions return
    #[arg(long)]
    pub external: bool,
    /// The greatest length of a cycle, in edges: dependencies, and steps between statements of a transaction
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(3..=8))]
    pub length: u8,
    /// The greatest number of transactions in a cycle
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=4))]
    pub instances: u8,
    /// The number of partitions that a replicated store may fall into
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=4))]
    pub partitions: u8,
    /// How often a loop runs, at most
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=3))]
    pub iterations: u8,
    /// Also search for every invariant that each anomaly can break, by at most so many plays of it
    /// [without a number: 2000]
    #[arg(long, value_name = "PLAYS", num_args = 0..=1, require_equals = true, default_missing_value = "2000")]
    pub consequences: Option<u32>,
    /// Write a test directory for each anomaly into this directory
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<String>,
    /// Write a page (index.html) about the anomalies into this directory
    #[arg(long, value_name = "DIR")]
    pub report: Option<String>,
    /// Play each anomaly on this database (repeatable): store (in process), postgres, mariadb, or a
    /// URL
    #[arg(long, value_name = "DATABASE")]
    pub replay: Vec<String>,
    /// Isolation settings of the database to play at (repeatable); all if none is given
    #[arg(long, value_name = "ISOLATION")]
    pub isolation: Vec<String>,
    #[command(flatten)]
    pub java: JavaArgs,
    /// Show every anomaly, not one of each kind
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub print: PrintArgs,
}

/// How it is printed, and the limits.
#[derive(Args)]
pub struct PrintArgs {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Give up after this many seconds, and show what was found (exit code 3 if that is nothing); 0
    /// for never
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = parse_seconds)]
    pub timeout: f64,
}

/// A kind of dependency.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EdgeArg {
    /// One reads what the other wrote
    Wr,
    /// One overwrites what the other read
    Rw,
    /// One overwrites what the other wrote
    Ww,
}

#[derive(Args)]
pub struct RobustArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// The level all transactions run at (repeatable): read-committed, snapshot-isolation
    /// [default: both]
    #[arg(short, long = "level", value_name = "LEVEL")]
    pub levels: Vec<StoreLevel>,
    /// The level of one transaction (repeatable); the others run at --level
    #[arg(long = "level-of", value_name = "NAME=LEVEL", value_parser = parse_level_of)]
    pub level_of: Vec<(String, StoreLevel)>,
    /// List the largest sets of transactions that are robust, and the smallest that are not
    #[arg(long)]
    pub subsets: bool,
    /// Tell what to change: the cheapest levels, or the reads to lock
    #[arg(long)]
    pub advice: bool,
    /// Play what is not robust on this database, as it is and after each piece of advice (repeatable):
    /// postgres, mariadb, or a URL
    #[arg(long, value_name = "DATABASE", requires = "advice")]
    pub replay: Vec<String>,
    /// Do not use foreign keys
    #[arg(long)]
    pub no_foreign_keys: bool,
    #[command(flatten)]
    pub print: PrintArgs,
}

#[derive(Args)]
pub struct ReplayArgs {
    /// Test directories that 'isolde program --out' wrote, or files of broken invariants in these
    #[arg(value_name = "DIR", required = true)]
    pub directories: Vec<String>,
    /// Where (repeatable): store (in process), postgres, mariadb, or a URL [default: store]
    #[arg(long = "on", value_name = "DATABASE")]
    pub on: Vec<String>,
    /// Isolation settings of the database (repeatable); all if none is given
    #[arg(long, value_name = "ISOLATION")]
    pub isolation: Vec<String>,
    #[command(flatten)]
    pub java: JavaArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Whether the application's own code is played.
#[derive(Args)]
pub struct JavaArgs {
    /// Play by the application's own Java code, compiled by the javac on the path, instead of by
    /// its statements as they were read
    #[arg(long)]
    pub java: bool,
    /// What that code is compiled and run with: jars and directories, as javac takes them (repeatable)
    #[arg(long, value_name = "PATH", requires = "java")]
    pub class_path: Vec<String>,
}

#[derive(Args)]
pub struct ShowArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    /// Show the straight-line paths, too
    #[arg(long = "paths")]
    pub with_paths: bool,
}

fn parse_level_of(text: &str) -> Result<(String, StoreLevel), String> {
    let (name, level) = text
        .split_once('=')
        .ok_or("give a transaction and its level, as in Balance=read-committed")?;
    Ok((name.to_string(), level.parse()?))
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number >= 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a number of seconds, or 0 for any time".to_string()),
    }
}
