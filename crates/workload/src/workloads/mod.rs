//! The workloads, one file each, found by name.
//!
//! A workload says which tables it needs and plans the transactions of each client. All that a
//! transaction writes is fixed when it is planned, and no value is written twice to a cell, so that
//! whoever reads one says whose write it saw. The same seed and client give the same plans; where a
//! workload goes by what was planned or committed before (lists that are full, orders to deliver),
//! as far as that was the same.

pub mod bank;
mod client;
mod counters;
mod list_append;
mod long_fork;
mod long_transaction;
mod lost_update;
mod mixed;
mod predicates;
mod read_skew;
mod registers;
mod rubis;
mod sets;
mod slots;
mod smallbank;
mod stale_read;
mod tpcc;
mod twitter;
mod write_skew;

use crate::generate::config::Distribution;
use crate::generate::keys::KeyChoice;
use crate::plan::Workload;
use crate::schema::ListForm;

/// What the user may set of a workload. What is not set, or means nothing to a workload, is as the
/// workload likes it.
#[derive(Clone, Debug)]
pub struct Shape {
    /// How many keys (rows, lists, accounts, customers) there are at a time.
    pub keys: Option<u64>,
    /// How many operations a transaction has.
    pub ops_per_txn: Option<u32>,
    /// The share of reads: of operations where those are chosen one by one, else of transactions that
    /// only read.
    pub read_share: Option<f64>,
    /// The share of writes that come right behind a read of their key.
    pub rmw_share: Option<f64>,
    /// How keys are chosen.
    pub distribution: Option<Distribution>,
    /// The share of transactions that are rolled back on purpose.
    pub abort_share: Option<f64>,
    /// How many commits of others a long transaction waits for.
    pub wait: Option<u64>,
    /// How lists are stored.
    pub list_form: ListForm,
    /// Where all random choices come from.
    pub seed: u64,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape {
            keys: None,
            ops_per_txn: None,
            read_share: None,
            rmw_share: None,
            distribution: None,
            abort_share: None,
            wait: None,
            list_form: ListForm::Native,
            seed: 1,
        }
    }
}

type Make = fn(&Shape) -> Box<dyn Workload>;

/// Every workload: its name, a line for people, and how it is made.
const ALL: &[(&str, &str, Make)] = &[
    (
        "registers",
        "reads, blind writes and updates of single numbers, by the shares asked for",
        registers::make,
    ),
    (
        "list-append",
        "appends to a few lists and reads of them, as Elle has it",
        list_append::make,
    ),
    (
        "sets",
        "additions to a few sets and reads of them",
        sets::make,
    ),
    (
        "counters",
        "additions to a few counters and reads of them",
        counters::make,
    ),
    (
        "mixed",
        "a register, a list, a set and a counter in each row of one table",
        mixed::make,
    ),
    (
        "bank",
        "transfers between accounts, and audits that must add up to 0",
        bank::make,
    ),
    (
        "lost-update",
        "updates of a few hot keys: whether one overwrites another unseen",
        lost_update::make,
    ),
    (
        "read-skew",
        "pairs written together and read together: whether half a transaction is seen",
        read_skew::make,
    ),
    (
        "write-skew",
        "read a pair, write one of it: whether two see the same pair and write both",
        write_skew::make,
    ),
    (
        "long-fork",
        "single writes and reads of groups: whether two readers disagree on the order",
        long_fork::make,
    ),
    (
        "stale-read",
        "single writes and single reads: whether a read misses what had been written",
        stale_read::make,
    ),
    (
        "long-transaction",
        "one long transaction after another among thousands of short ones",
        long_transaction::make,
    ),
    (
        "predicates",
        "reads of all rows that meet a condition, while others insert and update",
        predicates::make,
    ),
    (
        "smallbank",
        "SmallBank: six transactions on savings and checking accounts",
        smallbank::make,
    ),
    (
        "tpcc",
        "TPC-C: the five transactions of a wholesale supplier",
        tpcc::make,
    ),
    (
        "twitter",
        "C-Twitter: tweets, follows and timelines",
        twitter::make,
    ),
    (
        "rubis",
        "RUBiS: browsing, offering and bidding at an auction site",
        rubis::make,
    ),
];

const COUNT: usize = ALL.len();

const NAMES: [(&str, &str); COUNT] = {
    let mut names = [("", ""); COUNT];
    let mut at = 0;
    while at < COUNT {
        names[at] = (ALL[at].0, ALL[at].1);
        at += 1;
    }
    names
};

/// The names of all workloads, each with a line for people.
pub fn names() -> &'static [(&'static str, &'static str)] {
    &NAMES
}

/// Makes the workload of that name.
///
/// # Errors
/// If there is none, which lists the names, or if the shape makes no sense.
pub fn by_name(name: &str, shape: &Shape) -> Result<Box<dyn Workload>, String> {
    let Some((_, _, make)) = ALL.iter().find(|one| one.0 == name) else {
        let known: Vec<&str> = names().iter().map(|one| one.0).collect();
        return Err(format!(
            "no workload '{name}'; there are: {}",
            known.join(", ")
        ));
    };
    shape.validate()?;
    Ok(make(shape))
}

/// No table of a live database comes near as many rows.
const KEYS_MAX: u64 = 1 << 31;

const OPS_MAX: u32 = 100_000;

/// A table with more rows is not filled beforehand, so that set-up takes no more than a second or two.
const FILLED_MAX: u64 = 20_000;

impl Shape {
    fn validate(&self) -> Result<(), String> {
        if self.keys.is_some_and(|keys| keys == 0 || keys > KEYS_MAX) {
            return Err(format!("keys: between 1 and {KEYS_MAX}"));
        }
        if self.ops_per_txn.is_some_and(|n| n == 0 || n > OPS_MAX) {
            return Err(format!(
                "operations per transaction: between 1 and {OPS_MAX}"
            ));
        }
        let shares = [
            ("the share of reads", self.read_share),
            ("the share of updates", self.rmw_share),
            ("the share of aborts", self.abort_share),
        ];
        for (what, share) in shares {
            if share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
                return Err(format!("{what}: between 0 and 1"));
            }
        }
        match self.distribution {
            Some(Distribution::Zipfian(theta)) if !(theta > 0.0 && theta <= 10.0) => {
                Err("zipfian: the exponent lies above 0 and up to 10".to_string())
            }
            Some(Distribution::Hotspot {
                ops_share,
                keys_share,
            }) if !(0.0..=1.0).contains(&ops_share) || !(0.0..=1.0).contains(&keys_share) => {
                Err("hotspot: both shares lie between 0 and 1".to_string())
            }
            _ => Ok(()),
        }
    }

    /// How keys are chosen among so many, uniformly unless the user said otherwise.
    fn choice(&self, keys: u64) -> KeyChoice {
        KeyChoice::new(self.distribution.unwrap_or(Distribution::Uniform), keys)
    }
}

/// How many of a table's rows to create beforehand.
fn filled(rows: u64) -> u64 {
    if rows > FILLED_MAX { 0 } else { rows }
}
