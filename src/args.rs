//! The arguments of every command.

use crate::model_args::ModelArgs;
use crate::program_args::ProgramArgs;
use crate::run_args::{MatrixArgs, RunArgs};
use clap::{Args, Parser, Subcommand, ValueEnum};
use history::format::Format;
use history::{AnomalyKind, Initial, KeyOrder, Level, Value};
use workload::Benchmark;

/// Tells whether transactions are isolated the way somebody claims.
#[derive(Parser)]
#[command(name = "isolde", version, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 holds, 1 violated, 2 bad input or environment, 3 unknown")]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub show: ShowArgs,
}

/// How much to print, and how; of every command.
#[derive(Args, Clone, Copy, PartialEq, Debug)]
pub struct ShowArgs {
    /// When to print in colours. 'auto' does on a terminal, unless NO_COLOR is set
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true,
        help_heading = "Output"
    )]
    pub color: ColorArg,
    /// Print errors, and what was asked for as data (--json, --edn), but nothing else: the exit code
    /// tells the verdict
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Output"
    )]
    pub quiet: bool,
    /// Tell more: what each answer took, how long reading took, how each bug shows
    #[arg(short, long, global = true, help_heading = "Output")]
    pub verbose: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ColorArg {
    Auto,
    Always,
    Never,
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Check recorded histories: which levels hold, which are violated, and why
    Check(CheckArgs),
    /// Re-check the evidence of an earlier verdict, independently of the checker
    Certify(CertifyArgs),
    /// Convert a history to another format
    Convert(ConvertArgs),
    /// Generate a history by simulating clients on a store of a chosen level
    Generate(GenerateArgs),
    /// Drive a database with a workload, record what clients see, and judge that
    Run(Box<RunArgs>),
    /// Run every isolation setting of databases, and tell which levels they deliver
    Matrix(Box<MatrixArgs>),
    /// Model check the design of a protocol: visit every run within bounds, and judge each
    Model(Box<ModelArgs>),
    /// Serve a local page: the runs and histories of a directory, to check, open and compare
    Serve(ServeArgs),
    /// Find the anomalies in the transactions of an application: SQL, Java, logs
    Program(Box<ProgramArgs>),
    /// Check files the way elle-cli does: its options, one line a file, its exit codes
    ElleCli(RawArgs),
    /// Tell what an anomaly is: the smallest example, why it matters, what prevents it
    Explain(ExplainArgs),
    /// List the levels: names, axioms, what each implies
    Levels(LevelsArgs),
    /// Print what a shell needs to complete command lines of isolde
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each command into a directory
    Man(ManArgs),
}

/// What the commands that read histories share.
#[derive(Args, PartialEq, Debug)]
pub struct ReadArgs {
    /// The input format; found out from the content if not given
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Which value a key has before anybody writes it, besides nil: a value, or 'none'. A read of
    /// it reads the initial version where nobody wrote that value to the key
    #[arg(long, value_name = "VALUE", default_value = "0", value_parser = parse_initial)]
    pub initial: Initial,
}

#[derive(Args, PartialEq, Debug)]
pub struct CheckArgs {
    /// History files; '-' is standard input, a directory is a run of Jepsen or holds logs of Cobra or Viper
    #[arg(required_unless_present = "explain", value_name = "FILE")]
    pub files: Vec<String>,
    /// A level to check (repeatable); all that can be decided if not given
    #[arg(short, long = "level", value_name = "LEVEL")]
    pub levels: Vec<Level>,
    #[command(flatten)]
    pub read: ReadArgs,
    /// What to take for granted of each register by itself: writes-follow-reads, recorded
    /// (versions are in the order of the numbers that the database gave them), sequential or
    /// linearizable. A key whose reads and writes contradict it is reported and left out
    #[arg(long, value_name = "ORDER", default_value = "free", hide_default_value = true, value_parser = parse_keys)]
    pub keys: KeyOrder,
    /// Print one JSON object a file
    #[arg(long)]
    pub json: bool,
    /// Print one EDN map a file, in the manner of Elle's results
    #[arg(long, conflicts_with = "json")]
    pub edn: bool,
    /// Write the evidence of every verdict to this file, for 'isolde certify'
    #[arg(long, value_name = "OUT")]
    pub certificate: Option<String>,
    /// Write a page (index.html) about the verdicts and anomalies into this directory, and each
    /// anomaly as SVG, DOT, Mermaid, LaTeX and JSON
    #[arg(long, value_name = "DIR")]
    pub report: Option<String>,
    /// Tell what an anomaly is (repeatable), instead of checking anything
    #[arg(long, value_name = "ANOMALY")]
    pub explain: Vec<String>,
    /// Write the smallest part of the history that still violates the level to this file, in the
    /// format that its name tells, or else in that of the history
    #[arg(long, value_name = "OUT")]
    pub shrink: Option<String>,
    /// Write the verdicts as JUnit XML to this file: a suite for each history, a case for each level
    #[arg(long, value_name = "OUT")]
    pub junit: Option<String>,
    /// Write the anomalies as SARIF to this file
    #[arg(long, value_name = "OUT")]
    pub sarif: Option<String>,
    /// Give up after this many seconds (exit code 3)
    #[arg(long, value_name = "SECONDS", value_parser = parse_positive, allow_negative_numbers = true)]
    pub timeout: Option<f64>,
    /// Give up when more than this much memory is in use (exit code 3): at the next step that can
    /// stop, at the latest at a quarter and 64 MiB more
    #[arg(long, value_name = "GIB", value_parser = parse_positive, allow_negative_numbers = true)]
    pub memory: Option<f64>,
    /// Tell the progress on standard error, as lines of JSON: for the page of 'serve'
    #[arg(long, hide = true)]
    pub progress_json: bool,
}

#[derive(Args)]
pub struct ExplainArgs {
    /// Anomalies, by name or by their labels in the literature (G2-item, P4); none lists them
    #[arg(value_name = "ANOMALY")]
    pub names: Vec<String>,
}

#[derive(Args)]
pub struct CertifyArgs {
    /// The history file
    pub file: String,
    /// The certificate that 'isolde check --certificate' wrote
    pub certificate: String,
    /// The input format; found out from the content if not given
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
}

#[derive(Args)]
pub struct ConvertArgs {
    /// The history file; '-' is standard input
    pub input: String,
    /// The file to write; '-' is standard output
    pub output: String,
    /// The input format; found out from the content if not given
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// The output format; by the name of the output file if not given
    #[arg(long, value_name = "FORMAT")]
    pub to: Option<Format>,
}

#[derive(Args)]
pub struct GenerateArgs {
    /// The file to write; '-' is standard output
    #[arg(short, long, value_name = "FILE", required_unless_present = "check")]
    pub output: Option<String>,
    /// The output format; by the name of the output file if not given
    #[arg(long, value_name = "FORMAT")]
    pub to: Option<Format>,
    /// Check what was generated and show what is found; exit code 0 if it is what was asked for
    #[arg(long)]
    pub check: bool,
    /// The level that the simulated store really gives
    #[arg(short, long, default_value = "strict-serializable")]
    pub level: Level,
    /// An anomaly to plant (repeatable), by name
    #[arg(short, long = "anomaly", value_name = "ANOMALY", value_parser = parse_anomaly)]
    pub anomalies: Vec<AnomalyKind>,
    /// A benchmark to take the shape of: list-append (the Elle paper's: lists, times, 10 clients of
    /// 1000 transactions), or tpcc, rubis, twitter, general-rh, general-rw, general-wh (the PolySI
    /// paper's: 25 clients of 400)
    #[arg(long, value_name = "SHAPE", value_parser = parse_shape)]
    pub shape: Option<Benchmark>,
    /// How many clients [default: 25]
    #[arg(long)]
    pub sessions: Option<u32>,
    /// Transactions of each client [default: 200]
    #[arg(long)]
    pub txns: Option<u32>,
    /// Operations of each transaction [default: 20]
    #[arg(long)]
    pub ops: Option<u32>,
    /// The share of reads among the operations [default: 0.5]
    #[arg(long, value_name = "SHARE")]
    pub reads: Option<f64>,
    /// The share of writes that come right behind a read of their key [default: 0]
    #[arg(long, value_name = "SHARE")]
    pub rmw: Option<f64>,
    /// How many keys [default: 10000]
    #[arg(long)]
    pub keys: Option<u64>,
    /// How operations choose their keys [default: uniform]
    #[arg(long, value_enum)]
    pub distribution: Option<DistributionArg>,
    /// The exponent of the zipfian distribution
    #[arg(long, default_value_t = 0.99)]
    pub theta: f64,
    /// What a key holds [default: registers, or what the shape has]
    #[arg(long, value_enum)]
    pub datatype: Option<DatatypeArg>,
    /// The share of aborted transactions [default: 0, or what the shape has]
    #[arg(long, value_name = "SHARE")]
    pub aborted: Option<f64>,
    /// The share of transactions whose outcome stays unknown [default: 0, or what the shape has]
    #[arg(long, value_name = "SHARE")]
    pub indeterminate: Option<f64>,
    /// Record when each transaction began and ended
    #[arg(long)]
    pub times: bool,
    /// Where all random choices come from; the same seed gives the same bytes
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DistributionArg {
    Uniform,
    Zipfian,
    /// 80 % of the operations on 20 % of the keys
    Hotspot,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum DatatypeArg {
    Registers,
    Lists,
    Sets,
    Counters,
    /// Registers, lists, sets and counters in turn
    Mixed,
}

/// Arguments that are parsed elsewhere.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct RawArgs {
    /// See 'isolde elle-cli --help'
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// Checks histories the way elle-cli does: one line a file, its name, a tab, and 'true', 'false' or
/// 'unknown'.
#[derive(Parser, Debug)]
#[command(name = "elle-cli", max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 no file is invalid, 1 a file is invalid or an option wrong, \
                        255 a file cannot be read"
)]
pub struct ElleCliArgs {
    /// History files, in EDN or JSON or any other format Isolde reads
    #[arg(value_name = "FILE")]
    pub files: Vec<String>,
    /// What the history is of: list-append, rw-register, bank, set, set-full, counter, comments,
    /// long-fork, cas-register, mutex or sequential
    #[arg(short, long)]
    pub model: Option<String>,
    /// The input format, edn or json (or one of Isolde's); found out from the content if not given
    #[arg(short, long, value_parser = parse_elle_format)]
    pub format: Option<Format>,
    /// Print the whole result as JSON
    #[arg(short, long)]
    pub verbose: bool,
    /// The models the history should obey, separated by commas
    #[arg(
        short,
        long,
        value_delimiter = ',',
        default_value = "strict-serializable"
    )]
    pub consistency_models: Vec<String>,
    /// Anomalies that must be absent besides, separated by commas
    #[arg(short, long, value_delimiter = ',', default_value = "G0")]
    pub anomalies: Vec<String>,
    /// Milliseconds for a cycle search; taken and not needed
    #[arg(short = 's', long)]
    pub cycle_search_timeout: Option<u64>,
    /// Write an explanation of each kind of anomaly found to a file in this directory
    #[arg(short, long)]
    pub directory: Option<String>,
    /// Taken for compatibility; nothing is plotted
    #[arg(short, long)]
    pub plot_format: Option<String>,
    /// Taken for compatibility; nothing is plotted
    #[arg(short = 't', long)]
    pub plot_timeout: Option<u64>,
    /// Taken for compatibility; nothing is plotted
    #[arg(short = 'b', long)]
    pub max_plot_bytes: Option<u64>,
    /// How many keys a long-fork test reads at once; found out from the history
    #[arg(short, long)]
    pub group_size: Option<u64>,
    /// bank: accounts may be overdrawn
    #[arg(short = 'n', long)]
    pub allow_negative_balances: bool,
    /// bank: the largest transfer; not needed
    #[arg(long)]
    pub max_transfer: Option<i64>,
    /// bank: the sum of all balances; that of the first read if not given
    #[arg(short = 'o', long, allow_negative_numbers = true)]
    pub total_amount: Option<i128>,
}

impl ElleCliArgs {
    /// Parses arguments without the name of the program. On an error or a question for help: what
    /// to print, and whether it is an error.
    pub fn of(arguments: Vec<String>) -> Result<ElleCliArgs, (String, bool)> {
        let named = std::iter::once("elle-cli".to_string()).chain(arguments);
        ElleCliArgs::try_parse_from(named).map_err(|error| (error.to_string(), error.use_stderr()))
    }

    /// The page that '--help' prints.
    pub fn usage() -> String {
        use clap::CommandFactory;
        ElleCliArgs::command().render_help().to_string()
    }
}

#[derive(Args)]
pub struct ServeArgs {
    /// The directory with runs and histories; uploads and runs are kept in it, too
    #[arg(value_name = "DIR", default_value = ".")]
    pub directory: String,
    /// Where to listen; port 0 is any that is free. Beyond loopback the URL has a token
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub listen: String,
    /// Ask for a token on loopback, too: for a machine with other users
    #[arg(long)]
    pub token: bool,
}

#[derive(Args)]
pub struct LevelsArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: ShellArg,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShellArg {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

#[derive(Args)]
pub struct ManArgs {
    /// Where to write isolde.1, isolde-check.1 and so on; without it, isolde.1 is printed
    #[arg(value_name = "DIR")]
    pub directory: Option<String>,
}

fn parse_initial(text: &str) -> Result<Initial, String> {
    if text == "none" {
        return Ok(Initial::NilOnly);
    }
    let value = text
        .parse::<i128>()
        .map_or_else(|_| Value::from(text), Value::Int);
    Ok(Initial::Value(value))
}

fn parse_elle_format(text: &str) -> Result<Format, String> {
    match text {
        "edn" => Ok(Format::JepsenEdn),
        "json" => Ok(Format::JepsenJson),
        other => other
            .parse()
            .map_err(|_| "expected edn or json".to_string()),
    }
}

fn parse_keys(text: &str) -> Result<KeyOrder, String> {
    KeyOrder::from_name(text).ok_or_else(|| {
        let names = KeyOrder::ALL.map(KeyOrder::name);
        format!("expected one of {}", names.join(", "))
    })
}

pub fn parse_positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a number above 0".to_string()),
    }
}

fn parse_shape(text: &str) -> Result<Benchmark, String> {
    Benchmark::from_name(text).ok_or_else(|| {
        let names = Benchmark::ALL.map(Benchmark::name);
        format!("no shape is called so; there are {}", names.join(", "))
    })
}

fn parse_anomaly(text: &str) -> Result<AnomalyKind, String> {
    AnomalyKind::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = history::ANOMALIES.iter().map(|row| row.name).collect();
        format!("no anomaly is called so; there are {}", names.join(", "))
    })
}
