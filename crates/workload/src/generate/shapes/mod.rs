//! The benchmark shapes: what each transaction does is decided when it starts, as a plan of reads
//! and writes of keys, and the simulated store runs the plan at whatever level it gives.
//!
//! Sources: the six benchmarks of PolySI (VLDB 2023, section 5.1), three of which are those of Cobra
//! (OSDI 2020, section 6). Sizes of the data and mixes of transactions are theirs where they say
//! them; and the list-append histories of the Elle paper (VLDB 2020, section 6.1). Where we differ: a row is one key and its value says nothing, so a scan is a read of each
//! row, and rows that come into being (orders, bids, tweets) are found by what committed so far
//! instead of by an index.

mod list_append;
mod rubis;
mod tpcc;
mod twitter;

use super::config::{Config, Datatype, Distribution, Shape};
use super::random::Random;
use rubis::Rubis;
use tpcc::{Order, TpcC};
use twitter::{Tweet, Twitter};

/// A benchmark of the PolySI paper, or of the Elle paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Benchmark {
    /// A wholesale supplier: long read-modify-write transactions ([`Shape::TpcC`]).
    TpcC,
    /// An auction site: browsing, bidding, registering ([`Shape::Rubis`]).
    Rubis,
    /// A clone of Twitter: tweets, follows, timelines ([`Shape::Twitter`]).
    Twitter,
    /// Eight operations on uniform keys, 95 % of them reads.
    GeneralRh,
    /// The same with 50 % reads.
    GeneralRw,
    /// The same with 30 % reads.
    GeneralWh,
    /// Appends to lists and reads of them ([`Shape::ListAppend`]).
    ListAppend,
}

impl Benchmark {
    /// All of them.
    pub const ALL: [Benchmark; 7] = [
        Benchmark::TpcC,
        Benchmark::Rubis,
        Benchmark::Twitter,
        Benchmark::GeneralRh,
        Benchmark::GeneralRw,
        Benchmark::GeneralWh,
        Benchmark::ListAppend,
    ];

    /// Those of the PolySI paper, on registers.
    pub const REGISTERS: [Benchmark; 6] = [
        Benchmark::TpcC,
        Benchmark::Rubis,
        Benchmark::Twitter,
        Benchmark::GeneralRh,
        Benchmark::GeneralRw,
        Benchmark::GeneralWh,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Benchmark::TpcC => "tpcc",
            Benchmark::Rubis => "rubis",
            Benchmark::Twitter => "twitter",
            Benchmark::GeneralRh => "general-rh",
            Benchmark::GeneralRw => "general-rw",
            Benchmark::GeneralWh => "general-wh",
            Benchmark::ListAppend => "list-append",
        }
    }

    /// The benchmark of that name.
    pub fn from_name(name: &str) -> Option<Benchmark> {
        Benchmark::ALL.into_iter().find(|b| b.name() == name)
    }

    /// The paper's size: 25 sessions of 400 transactions, and for the general ones 10 000 keys,
    /// uniform as in the files that the paper published. List-append histories have times and 10
    /// processes of 1000 transactions, one in a thousand of which ends its process.
    pub fn config(self) -> Config {
        let (shape, read_share) = match self {
            Benchmark::TpcC => (Shape::TpcC, 0.5),
            Benchmark::Rubis => (Shape::Rubis, 0.5),
            Benchmark::Twitter => (Shape::Twitter, 0.5),
            Benchmark::GeneralRh => (Shape::Parametric, 0.95),
            Benchmark::GeneralRw => (Shape::Parametric, 0.5),
            Benchmark::GeneralWh => (Shape::Parametric, 0.3),
            Benchmark::ListAppend => {
                return Config {
                    shape: Shape::ListAppend,
                    datatype: Datatype::Lists,
                    sessions: 10,
                    txns_per_session: 1000,
                    aborted_share: 0.02,
                    indeterminate_share: 0.001,
                    times: true,
                    ..Config::default()
                };
            }
        };
        Config {
            shape,
            read_share,
            sessions: 25,
            txns_per_session: 400,
            ops_per_txn: 8,
            keys: 10_000,
            distribution: Distribution::Uniform,
            ..Config::default()
        }
    }
}

/// An operation to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Planned {
    pub write: bool,
    pub key: u32,
}

/// What a transaction will do, and what its script wants to know of it when it commits.
#[derive(Default, Debug)]
pub struct Plan {
    pub ops: Vec<Planned>,
    order: Option<Order>,
    tweet: Option<Tweet>,
}

impl Plan {
    fn clear(&mut self) {
        self.ops.clear();
        self.order = None;
        self.tweet = None;
    }

    fn read(&mut self, key: u32) {
        self.ops.push(Planned { write: false, key });
    }

    fn write(&mut self, key: u32) {
        self.ops.push(Planned { write: true, key });
    }

    /// A read and a write of a key.
    fn update(&mut self, key: u32) {
        self.read(key);
        self.write(key);
    }
}

/// Keys that no row has yet.
pub struct Rows<'a> {
    pub next_key: &'a mut u32,
}

impl Rows<'_> {
    /// The first of `count` fresh keys.
    fn take(&mut self, count: u32) -> u32 {
        let first = *self.next_key;
        // Configurations with more operations than keys of 32 bits are refused.
        *self.next_key = first.saturating_add(count);
        first
    }
}

/// The transactions of a benchmark, with what has to be remembered between them.
pub enum Script {
    TpcC(TpcC),
    Rubis(Rubis),
    Twitter(Twitter),
    ListAppend,
}

impl Script {
    pub fn of(shape: Shape) -> Option<Script> {
        match shape {
            Shape::Parametric => None,
            Shape::TpcC => Some(Script::TpcC(TpcC::new())),
            Shape::Rubis => Some(Script::Rubis(Rubis::new())),
            Shape::Twitter => Some(Script::Twitter(Twitter::new())),
            Shape::ListAppend => Some(Script::ListAppend),
        }
    }

    /// Plans the next transaction.
    pub fn plan(&mut self, plan: &mut Plan, random: &mut Random, rows: &mut Rows) {
        plan.clear();
        match self {
            Script::TpcC(tpcc) => tpcc.plan(plan, random, rows),
            Script::Rubis(rubis) => rubis.plan(plan, random, rows),
            Script::Twitter(twitter) => twitter.plan(plan, random, rows),
            Script::ListAppend => list_append::plan(plan, random),
        }
    }

    /// Learns that a planned transaction committed.
    pub fn committed(&mut self, plan: &mut Plan) {
        match self {
            Script::TpcC(tpcc) => {
                if let Some(order) = plan.order.take() {
                    tpcc.committed(order);
                }
            }
            Script::Twitter(twitter) => {
                if let Some(tweet) = plan.tweet.take() {
                    twitter.committed(tweet);
                }
            }
            Script::Rubis(_) | Script::ListAppend => {}
        }
    }
}

/// How many keys there are before the first transaction.
pub fn initial_keys(shape: Shape) -> Option<u32> {
    match shape {
        Shape::Parametric => None,
        Shape::TpcC => Some(tpcc::KEYS),
        Shape::Rubis => Some(rubis::KEYS),
        Shape::Twitter => Some(twitter::KEYS),
        Shape::ListAppend => Some(list_append::KEYS),
    }
}

/// About how many operations a transaction has.
pub fn mean_ops(shape: Shape) -> Option<u32> {
    match shape {
        Shape::Parametric => None,
        Shape::TpcC => Some(28),
        Shape::Rubis => Some(5),
        Shape::Twitter => Some(5),
        Shape::ListAppend => Some(3),
    }
}

/// How many appends a list gets before another takes its place.
pub fn appends_max(shape: Shape) -> u8 {
    match shape {
        Shape::ListAppend => list_append::APPENDS_MAX,
        _ => 32,
    }
}
