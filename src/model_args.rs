//! The arguments of `isolde model`, also for programs with protocols of their own.

use crate::args::{ShowArgs, parse_positive};
use clap::{Args, Parser, Subcommand, ValueEnum};
use protocol::{Delay, Popularity, Property, Scheduler, Setup};

/// Model checks protocols: visits every run within bounds, and judges each
#[derive(Parser)]
#[command(version, max_term_width = 100, after_help = CODES)]
pub struct Standalone {
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    pub show: ShowArgs,
}

const CODES: &str = "Exit codes: 0 all that was asked holds, 1 something is violated, 2 bad input or \
                     a wrong model, 3 unknown, or nothing happened that could have violated it";

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, after_help = CODES)]
pub struct ModelArgs {
    #[command(subcommand)]
    pub what: Option<ModelCommand>,
    #[command(flatten)]
    pub ask: AskArgs,
}

#[derive(Subcommand)]
pub enum ModelCommand {
    /// Run every protocol with a bug put into it on purpose: each must be noticed
    Mutants(MutantsArgs),
    /// Compute the table of all protocols and properties, next to the published one
    Table(Box<TableArgs>),
    /// Run protocols many times by chance, where visiting every state is out of reach
    Simulate(Box<SimulateArgs>),
    /// Estimate aborts, latency and anomalies of protocols, with intervals of confidence
    Estimate(Box<EstimateArgs>),
    /// Run a counterexample again, from the file that was written with it
    Replay(ReplayArgs),
    /// Write a small protocol to begin with, as a project of its own
    New(NewArgs),
}

#[derive(Args)]
pub struct AskArgs {
    /// The protocols, by name; 'all' is all; none lists them
    #[arg(value_name = "PROTOCOL")]
    pub protocols: Vec<String>,
    /// A property to ask about (repeatable): rc, ra, cs, ua, nmsi, psi, si, ser, sser, us or any level.
    /// Without one all of the table are, and the exit code tells whether the protocol keeps what
    /// it promises
    #[arg(short, long = "level", value_name = "PROPERTY")]
    pub levels: Vec<Property>,
    /// In which words properties are defined: as the levels of recorded histories, or as in the
    /// paper of CAT
    #[arg(long, value_enum, default_value = "strict")]
    pub form: FormArg,
    #[command(flatten)]
    pub bounds: BoundsArgs,
    /// A workload made to tell levels apart (repeatable), instead of all within bounds; 'all' is
    /// all, 'help' lists them
    #[arg(long, value_name = "NAME", conflicts_with = "setups")]
    pub workload: Vec<String>,
    /// One initial state (repeatable), instead of all within bounds: where keys are, and what
    /// runs where, as "k1@s1 k2@s1,s2 | s1: r(k1) w(k1); r(k2) | s2: w(k1)"
    #[arg(long = "setup", value_name = "SETUP")]
    pub setups: Vec<Setup>,
    #[command(flatten)]
    pub world: WorldArgs,
    #[command(flatten)]
    pub effort: EffortArgs,
    /// Ask a mutant of the protocol instead, or 'all' of them
    #[arg(long, value_name = "NAME")]
    pub mutant: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Write each counterexample to files in this directory: chart, history, replay
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<String>,
}

/// How large initial states are.
#[derive(Args, Clone)]
pub struct BoundsArgs {
    /// Transactions, at most [default: 3; in the table 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=8))]
    pub txns: Option<u8>,
    /// Operations of a transaction, at most; in the table, exactly
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=6))]
    pub ops: u8,
    /// Keys
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=6))]
    pub keys: u8,
    /// Sites
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=6))]
    pub sites: u8,
    /// How many sites hold each key, separated by commas: each is tried
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "1,2",
        value_parser = clap::value_parser!(u8).range(1..=6)
    )]
    pub replication: Vec<u8>,
    /// What transactions may be, separated by commas: ro (only reads), wo (only writes), rmw (reads
    /// and writes of the same keys), general (any mix in any order) [default: general; in the
    /// table the others]
    #[arg(long, value_enum, value_name = "SHAPE,…", value_delimiter = ',')]
    pub shapes: Vec<ShapeArg>,
    /// Whether keys may be anywhere, or where CAT has them
    #[arg(long, value_enum, default_value = "all")]
    pub placement: PlacementArg,
    /// Who runs transactions: one client at each site, as in CAT; a client for each transaction; or
    /// any number of clients anywhere
    #[arg(long, value_enum, default_value = "site")]
    pub clients: ClientsArg,
    /// Let levels know who ran what: what one client did first comes first
    #[arg(long)]
    pub sessions: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClientsArg {
    Site,
    Txn,
    Any,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShapeArg {
    Ro,
    Wo,
    Rmw,
    General,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlacementArg {
    All,
    Fixed,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormArg {
    Strict,
    Paper,
    Both,
}

/// The world around a protocol.
#[derive(Args, Clone)]
pub struct WorldArgs {
    /// Messages that may be lost in a run
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub lose: u8,
    /// Messages that may arrive twice in a run
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub double: u8,
    /// Crashes in a run; each site comes up again
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub crash: u8,
    /// Times that a site is cut off from the others in a run, for some time
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub cut: u8,
    /// Messages from one site to another arrive in the order sent
    #[arg(long)]
    pub fifo: bool,
    /// Messages of a site to itself travel like all others
    #[arg(long)]
    pub network_to_self: bool,
}

/// How much work to do.
#[derive(Args, Clone)]
pub struct EffortArgs {
    /// Visit every state, also those that differ from another by names or by orders that cannot
    /// matter
    #[arg(long)]
    pub no_reduction: bool,
    /// Threads [default: as many as the machine runs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Give up after this many states (exit code 3)
    #[arg(long, value_name = "N")]
    pub states: Option<u64>,
    /// Give up when more than this much memory is in use (exit code 3) [default: most of what is free]
    #[arg(long, value_name = "GIB", value_parser = parse_positive, allow_negative_numbers = true)]
    pub memory: Option<f64>,
    /// Give up after this many seconds (exit code 3)
    #[arg(long, value_name = "SECONDS", value_parser = parse_positive, allow_negative_numbers = true)]
    pub timeout: Option<f64>,
}

#[derive(Args)]
pub struct MutantsArgs {
    /// The protocols whose mutants to run; all, if none is given
    #[arg(value_name = "PROTOCOL")]
    pub protocols: Vec<String>,
    #[command(flatten)]
    pub effort: EffortArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct TableArgs {
    /// The protocols of the table; all, if none is given
    #[arg(value_name = "PROTOCOL")]
    pub protocols: Vec<String>,
    #[command(flatten)]
    pub bounds: BoundsArgs,
    #[command(flatten)]
    pub effort: EffortArgs,
    /// In which words properties are defined
    #[arg(long, value_enum, default_value = "strict")]
    pub form: FormArg,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print tables of Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
}

#[derive(Args)]
pub struct ReplayArgs {
    /// The file that 'model -o DIR' wrote
    #[arg(value_name = "FILE")]
    pub file: String,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print a sequence diagram for Mermaid instead
    #[arg(long, conflicts_with = "json")]
    pub mermaid: bool,
}

#[derive(Args)]
pub struct NewArgs {
    /// The directory to make; its name is that of the project
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Where Isolde's sources are [default: where this program was built]
    #[arg(long, value_name = "PATH")]
    pub isolde: Option<String>,
}

/// What runs by chance share.
#[derive(Args)]
pub struct ChanceArgs {
    /// The protocols, or mutants by their full names; 'all' is all
    #[arg(required = true, value_name = "PROTOCOL")]
    pub protocols: Vec<String>,
    /// A property to ask about (repeatable); all of the table, if none is given
    #[arg(short, long = "level", value_name = "PROPERTY")]
    pub levels: Vec<Property>,
    /// How many runs
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10_000)]
    pub runs: u64,
    /// Where all chance comes from; a run that is shown names the seed whose first run it is
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Sites
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub sites: usize,
    /// Keys
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub keys: usize,
    /// How many sites hold a key, at most
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub replication: usize,
    /// Clients, each at a site drawn for it
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub clients: usize,
    /// Transactions of a run
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub txns: usize,
    /// Operations of a transaction, at most
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub ops: usize,
    /// The share of reads
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    pub reads: f64,
    /// How keys are drawn: uniform, or zipfian:EXPONENT
    #[arg(long, value_name = "NAME", default_value = "uniform")]
    pub popularity: Popularity,
    /// One initial state (repeatable), instead of drawn ones
    #[arg(long = "setup", value_name = "SETUP")]
    pub setups: Vec<Setup>,
    #[command(flatten)]
    pub world: WorldArgs,
    /// How likely a fault is before a step, as long as the budget lasts
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    pub fault_chance: f64,
    /// Let levels know who ran what
    #[arg(long)]
    pub sessions: bool,
    /// Threads [default: as many as the machine runs]; the answer does not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Give up after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = parse_positive, allow_negative_numbers = true)]
    pub timeout: Option<f64>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct SimulateArgs {
    #[command(flatten)]
    pub chance: ChanceArgs,
    /// In which words properties are defined
    #[arg(long, value_enum, default_value = "strict")]
    pub form: FormArg,
    /// Who goes next: random, or pct:DEPTH (probabilistic concurrency testing)
    #[arg(long, value_name = "NAME", default_value = "random")]
    pub scheduler: Scheduler,
    /// Make all runs, to count how many violate what
    #[arg(long)]
    pub all_runs: bool,
    /// Write each counterexample to files in this directory
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<String>,
}

#[derive(Args)]
pub struct EstimateArgs {
    #[command(flatten)]
    pub chance: ChanceArgs,
    /// How long a message takes: constant:TIME, uniform:LOW:HIGH or exponential:MEAN
    #[arg(long, value_name = "DELAY", default_value = "exponential:1")]
    pub delay: Delay,
    /// How long a client waits before each transaction
    #[arg(long, value_name = "DELAY", default_value = "constant:0")]
    pub think: Delay,
    /// The region of each site, separated by commas: 0,0,1
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub regions: Vec<usize>,
    /// How many times longer a message takes to another region
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub far: f64,
}
