//! Setups drawn at random within bounds.

use super::random::Random;
use crate::id::{Key, MOST, Site};
use crate::setup::{Op, Session, Setup};
use std::str::FromStr;

/// What drawn setups look like.
#[derive(Clone, PartialEq, Debug)]
pub struct Workload {
    /// How many sites.
    pub sites: usize,
    /// How many keys.
    pub keys: usize,
    /// On how many sites each key is, drawn for each setup between these, both included.
    pub replicas: (usize, usize),
    /// How many sessions; each runs at a site drawn for it.
    pub sessions: usize,
    /// How many transactions in all, dealt to the sessions in turn.
    pub txns: usize,
    /// How many operations a transaction has, drawn between these, both included.
    pub ops: (usize, usize),
    /// The probability that an operation is a read.
    pub read_share: f64,
    /// Which keys are chosen more often.
    pub popularity: Popularity,
}

impl Default for Workload {
    fn default() -> Self {
        Workload {
            sites: 2,
            keys: 2,
            replicas: (1, 1),
            sessions: 4,
            txns: 4,
            ops: (2, 2),
            read_share: 0.5,
            popularity: Popularity::Uniform,
        }
    }
}

/// How an operation's key is drawn.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Popularity {
    /// Every key alike.
    Uniform,
    /// The n-th key with a weight of n to the minus this exponent.
    Zipfian(f64),
}

impl FromStr for Popularity {
    type Err = String;

    /// `uniform` or `zipfian:EXPONENT`.
    fn from_str(text: &str) -> Result<Self, String> {
        let exponent = |text: &str| text.parse().ok().filter(|s: &f64| s.is_finite());
        match text.split_once(':') {
            None if text == "uniform" => Ok(Popularity::Uniform),
            None if text == "zipfian" => Ok(Popularity::Zipfian(0.99)),
            Some(("zipfian", text)) if exponent(text).is_some() => {
                Ok(Popularity::Zipfian(exponent(text).unwrap_or_default()))
            }
            _ => Err(format!(
                "{text:?} is neither `uniform` nor `zipfian:EXPONENT`"
            )),
        }
    }
}

impl Workload {
    /// Says what is wrong with the bounds, if anything.
    pub fn validate(&self) -> Result<(), String> {
        let sizes = [self.sites, self.keys, self.sessions, self.txns, self.ops.1];
        if sizes.iter().any(|size| !(1..=MOST).contains(size)) {
            return Err(format!(
                "sites, keys, sessions, transactions and operations must be 1 to {MOST}"
            ));
        }
        if self.ops.0 == 0 || self.ops.0 > self.ops.1 {
            return Err("the bounds of operations exclude each other".into());
        }
        let (least, most) = self.replicas;
        if least == 0 || least > most || most > self.sites {
            return Err("replicas must be 1 up to the number of sites".into());
        }
        if !(0.0..=1.0).contains(&self.read_share) {
            return Err("the share of reads must be 0 to 1".into());
        }
        Ok(())
    }

    /// A setup. The bounds must be valid.
    pub(crate) fn draw(&self, random: &mut Random) -> Result<Setup, String> {
        let placement = (0..self.keys).map(|_| self.place(random)).collect();
        let mut sessions: Vec<Session> = (0..self.sessions.min(self.txns))
            .map(|_| Session {
                site: Site(random.below(self.sites) as u8),
                txns: Vec::new(),
            })
            .collect();
        let weights = self.weights();
        let count = sessions.len();
        for txn in 0..self.txns {
            let ops = random.between(self.ops.0, self.ops.1);
            let ops = (0..ops).map(|_| self.op(&weights, random)).collect();
            sessions[txn % count].txns.push(ops);
        }
        Setup::new(self.sites, placement, sessions)
    }

    /// Different sites for one key, the preferred one first.
    fn place(&self, random: &mut Random) -> Vec<Site> {
        let mut sites: Vec<Site> = Site::first(self.sites).collect();
        random.shuffle(&mut sites);
        sites.truncate(random.between(self.replicas.0, self.replicas.1));
        sites
    }

    /// Sums of the weights of the keys up to each.
    fn weights(&self) -> Vec<f64> {
        let exponent = match self.popularity {
            Popularity::Uniform => 0.0,
            Popularity::Zipfian(exponent) => exponent,
        };
        let mut sum = 0.0;
        (1..=self.keys)
            .map(|key| {
                sum += (key as f64).powf(-exponent);
                sum
            })
            .collect()
    }

    fn op(&self, weights: &[f64], random: &mut Random) -> Op {
        let all = weights.last().copied().unwrap_or_default();
        let drawn = random.unit() * all;
        let key = weights.partition_point(|sum| *sum <= drawn);
        let key = Key(key.min(self.keys - 1) as u8);
        if random.chance(self.read_share) {
            Op::Read(key)
        } else {
            Op::Write(key)
        }
    }
}
