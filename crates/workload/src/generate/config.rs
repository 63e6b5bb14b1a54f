//! What to generate.

use super::{plant, shapes};
use history::{AnomalyKind, Level};
use std::fmt;

/// The shape of a generated history. The default is that of the C4 paper (section 5.1): 25
/// sessions of 200 transactions of 20 operations, half of them reads, over 10 000 keys, uniformly.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// What transactions do. The shapes of benchmarks choose their operations and keys themselves:
    /// for them the lengths, the shares of reads and updates, the keys and their distribution below
    /// mean nothing.
    pub shape: Shape,
    /// How many clients there are. An indeterminate transaction ends a recorded session, so the
    /// history may have more.
    pub sessions: u32,
    /// How many transactions each client issues, whatever becomes of them.
    pub txns_per_session: u32,
    /// How many operations each transaction has.
    pub ops_per_txn: u32,
    /// The share of reads among the operations.
    pub read_share: f64,
    /// The share of writes that come right behind a read of their key, by the same transaction.
    /// These reads count among the reads; where they alone are more than `read_share`, there are
    /// no others. One that would have no room left for its write stays a read.
    pub rmw_share: f64,
    /// How many keys there are at a time.
    pub keys: u64,
    /// How operations choose their keys.
    pub distribution: Distribution,
    /// The share of transactions that abort.
    pub aborted_share: f64,
    /// The share of transactions whose outcome the client never learns; half of them take effect.
    pub indeterminate_share: f64,
    /// The level that the simulated store really gives.
    pub level: Level,
    /// What a key holds.
    pub datatype: Datatype,
    /// Whether transactions carry the times of their beginning and end.
    pub times: bool,
    /// Anomalies to plant, one instance for each entry. They live in sessions and on keys of their
    /// own, so they neither disturb nor depend on the rest.
    pub anomalies: Vec<AnomalyKind>,
    /// Where all random choices come from.
    pub seed: u64,
}

/// What transactions do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Independent reads and writes, by the numbers of [`Config`].
    Parametric,
    /// TPC-C: the five transactions of a wholesale supplier, on registers.
    TpcC,
    /// RUBiS: users of an auction site, on registers.
    Rubis,
    /// C-Twitter: users who tweet and follow each other, on registers.
    Twitter,
    /// Elle's: short transactions of appends and reads, on lists.
    ListAppend,
}

/// How operations choose their keys.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Distribution {
    /// Every key alike.
    Uniform,
    /// Key number i (from 0) with a probability proportional to 1 / (i + 1)^theta.
    Zipfian(f64),
    /// A share of the operations goes to a share of the keys, the rest to the others.
    Hotspot {
        /// The share of operations that go to the hot keys.
        ops_share: f64,
        /// The share of keys that are hot; they are the lowest ones.
        keys_share: f64,
    },
}

impl Distribution {
    /// The hotspot of the C4 paper: 80 % of the operations touch 20 % of the keys.
    pub const HOTSPOT: Distribution = Distribution::Hotspot {
        ops_share: 0.8,
        keys_share: 0.2,
    };
}

/// What a key holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Datatype {
    /// A value that writes replace.
    Registers,
    /// A list that writes append to and reads return whole.
    Lists,
    /// A set that writes add to and reads return whole.
    Sets,
    /// A number that writes add small ones to.
    Counters,
    /// Each key holds one of the above: of four neighbouring keys a register, a list, a set and a
    /// counter.
    Mixed,
}

impl Datatype {
    /// What a key holds, which is never said to be mixed.
    pub(super) fn of_key(self, key: u32) -> Datatype {
        match (self, key % 4) {
            (Datatype::Mixed, 0) => Datatype::Registers,
            (Datatype::Mixed, 1) => Datatype::Lists,
            (Datatype::Mixed, 2) => Datatype::Sets,
            (Datatype::Mixed, _) => Datatype::Counters,
            (datatype, _) => datatype,
        }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            shape: Shape::Parametric,
            sessions: 25,
            txns_per_session: 200,
            ops_per_txn: 20,
            read_share: 0.5,
            rmw_share: 0.0,
            keys: 10_000,
            distribution: Distribution::Uniform,
            aborted_share: 0.0,
            indeterminate_share: 0.0,
            level: Level::StrictSerializable,
            datatype: Datatype::Registers,
            times: false,
            anomalies: Vec::new(),
            seed: 0,
        }
    }
}

/// A configuration that cannot be generated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigError {
    /// The field of [`Config`] to change.
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.problem)
    }
}

impl std::error::Error for ConfigError {}

/// Values count up a key, at most one an operation, and small ones are below 2³¹.
const OPS_MAX: u128 = 2_147_483_000;
const TXNS_MAX: u128 = 2_147_483_000;
const KEYS_MAX: u64 = 4_000_000_000;
/// List keys are kept in a direct table.
const LIST_KEYS_MAX: u64 = 1 << 26;
const ANOMALIES_MAX: usize = 1_000_000;

fn require(
    good: bool,
    field: &'static str,
    problem: impl FnOnce() -> String,
) -> Result<(), ConfigError> {
    if good {
        return Ok(());
    }
    Err(ConfigError {
        field,
        problem: problem(),
    })
}

fn require_share(share: f64, field: &'static str) -> Result<(), ConfigError> {
    require((0.0..=1.0).contains(&share), field, || {
        format!("a share lies between 0 and 1, not {share}")
    })
}

/// The probability that an operation that does not finish an update is a plain read, if `read_share` of
/// all operations are to be reads, and `rmw_share` of the writes are to follow a read of their key.
pub(crate) fn plain_read_share(read_share: f64, rmw_share: f64) -> f64 {
    // Of w writes, w * rmw bring a read with them; solve reads / operations = read_share.
    let paired = rmw_share * (1.0 - read_share);
    if paired >= 1.0 {
        return 0.0;
    }
    ((read_share - paired) / (1.0 - paired)).max(0.0)
}

impl Config {
    /// How many transactions the clients issue in all.
    pub(super) fn txn_count(&self) -> u64 {
        u64::from(self.sessions) * u64::from(self.txns_per_session)
    }

    /// How many operations the clients issue in all, for the shapes of benchmarks about.
    pub(super) fn op_count(&self) -> u128 {
        let each = shapes::mean_ops(self.shape).unwrap_or(self.ops_per_txn);
        u128::from(self.txn_count()) * u128::from(each)
    }

    /// How many keys there are before the first transaction.
    pub(super) fn key_count(&self) -> u64 {
        shapes::initial_keys(self.shape).map_or(self.keys, u64::from)
    }

    /// The share of indeterminate transactions among those that do not abort.
    pub(super) fn unheard_share(&self) -> f64 {
        let rest = 1.0 - self.aborted_share;
        if rest <= 0.0 {
            return 0.0;
        }
        (self.indeterminate_share / rest).min(1.0)
    }

    /// The probability that the next operation, where it does not finish an update, is a read and
    /// nothing else.
    pub(super) fn plain_read_share(&self) -> f64 {
        plain_read_share(self.read_share, self.rmw_share)
    }

    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let at_least_one = || "must be at least 1".to_string();
        require(self.sessions > 0, "sessions", at_least_one)?;
        require(self.txns_per_session > 0, "txns_per_session", at_least_one)?;
        require(self.ops_per_txn > 0, "ops_per_txn", at_least_one)?;
        require(self.keys > 0, "keys", at_least_one)?;
        require_share(self.read_share, "read_share")?;
        require_share(self.rmw_share, "rmw_share")?;
        require_share(self.aborted_share, "aborted_share")?;
        require_share(self.indeterminate_share, "indeterminate_share")?;
        require(
            self.aborted_share + self.indeterminate_share <= 1.0,
            "indeterminate_share",
            || "together with aborted_share it is more than 1".to_string(),
        )?;
        let fits = match self.shape {
            Shape::Parametric => true,
            Shape::ListAppend => self.datatype == Datatype::Lists,
            _ => self.datatype == Datatype::Registers,
        };
        require(fits, "datatype", || {
            "the benchmarks have registers, but for list-append, which has lists".to_string()
        })?;
        self.validate_size()?;
        self.validate_distribution()?;
        self.validate_anomalies()
    }

    fn validate_size(&self) -> Result<(), ConfigError> {
        require(
            u128::from(self.txn_count()) <= TXNS_MAX,
            "txns_per_session",
            || {
                let count = self.txn_count();
                format!("{count} transactions in all are more than {TXNS_MAX}")
            },
        )?;
        require(self.op_count() <= OPS_MAX, "ops_per_txn", || {
            let count = self.op_count();
            format!("{count} operations in all are more than {OPS_MAX}")
        })?;
        require(self.keys <= KEYS_MAX, "keys", || {
            format!("{} keys are more than {KEYS_MAX}", self.keys)
        })?;
        let grow = self.datatype != Datatype::Registers;
        require(!grow || self.keys <= LIST_KEYS_MAX, "keys", || {
            format!("{} keys that grow are more than {LIST_KEYS_MAX}", self.keys)
        })
    }

    fn validate_distribution(&self) -> Result<(), ConfigError> {
        match self.distribution {
            Distribution::Uniform => Ok(()),
            Distribution::Zipfian(theta) => {
                require(theta > 0.0 && theta <= 10.0, "distribution", || {
                    format!("theta lies above 0 and up to 10, not {theta}")
                })
            }
            Distribution::Hotspot {
                ops_share,
                keys_share,
            } => {
                require_share(ops_share, "distribution")?;
                require_share(keys_share, "distribution")
            }
        }
    }

    fn validate_anomalies(&self) -> Result<(), ConfigError> {
        require(self.anomalies.len() <= ANOMALIES_MAX, "anomalies", || {
            format!("more than {ANOMALIES_MAX} of them")
        })?;
        for &kind in &self.anomalies {
            require(plant::has_scenario(kind), "anomalies", || {
                format!("{kind} is named when found, but there is nothing to plant for it")
            })?;
            require(plant::possible(kind, self.datatype), "anomalies", || {
                let (holds, other) = match self.datatype {
                    Datatype::Registers => ("registers", "lists"),
                    Datatype::Lists => ("lists", "registers"),
                    _ => return "anomalies are planted in registers and lists only".to_string(),
                };
                format!("{kind} cannot show in {holds}, only in {other}")
            })?;
        }
        Ok(())
    }
}
