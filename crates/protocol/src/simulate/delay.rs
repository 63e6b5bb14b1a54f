//! How long things take, in units of virtual time.

use super::random::Random;
use crate::id::Site;
use std::fmt;
use std::str::FromStr;

/// A distribution of times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Delay {
    /// Always the same.
    Constant(f64),
    /// Uniform between two times.
    Uniform(f64, f64),
    /// Exponential with a mean.
    Exponential(f64),
}

impl Delay {
    pub(crate) fn draw(self, random: &mut Random) -> f64 {
        match self {
            Delay::Constant(time) => time,
            Delay::Uniform(low, high) => low + (high - low) * random.unit(),
            Delay::Exponential(mean) => -mean * (1.0 - random.unit()).ln(),
        }
    }

    fn is_valid(self) -> bool {
        let time = |time: f64| time.is_finite() && time >= 0.0;
        match self {
            Delay::Constant(one) | Delay::Exponential(one) => time(one),
            Delay::Uniform(low, high) => time(low) && time(high) && low <= high,
        }
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delay::Constant(time) => write!(f, "constant:{time}"),
            Delay::Uniform(low, high) => write!(f, "uniform:{low}:{high}"),
            Delay::Exponential(mean) => write!(f, "exponential:{mean}"),
        }
    }
}

impl FromStr for Delay {
    type Err = String;

    /// `constant:TIME`, `uniform:LOW:HIGH` or `exponential:MEAN`.
    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let time = |text: &str| text.parse::<f64>().ok();
        let delay = match parts[..] {
            ["constant", one] => time(one).map(Delay::Constant),
            ["exponential", mean] => time(mean).map(Delay::Exponential),
            ["uniform", low, high] => time(low)
                .zip(time(high))
                .map(|(low, high)| Delay::Uniform(low, high)),
            _ => None,
        };
        delay.filter(|delay| delay.is_valid()).ok_or_else(|| {
            format!(
                "{text:?} is none of `constant:TIME`, `uniform:LOW:HIGH` and `exponential:MEAN`, \
                 with times from 0"
            )
        })
    }
}

/// How long everything takes.
#[derive(Clone, PartialEq, Debug)]
pub struct Delays {
    /// A message to another site.
    pub remote: Delay,
    /// A message to the site itself, where those go through the network.
    pub local: Delay,
    /// The region of each site; sites not listed are in region 0.
    pub regions: Vec<usize>,
    /// By how much a message to another region takes longer.
    pub far: f64,
    /// A session before each of its transactions.
    pub think: Delay,
    /// A site before it acts by itself.
    pub step: Delay,
    /// Until a site that crashed or is cut off is back.
    pub repair: Delay,
}

impl Default for Delays {
    fn default() -> Self {
        Delays {
            remote: Delay::Exponential(1.0),
            local: Delay::Constant(0.0),
            regions: Vec::new(),
            far: 1.0,
            think: Delay::Constant(0.0),
            step: Delay::Constant(0.0),
            repair: Delay::Constant(10.0),
        }
    }
}

impl Delays {
    /// Says what is wrong with the times, if anything.
    pub fn validate(&self) -> Result<(), String> {
        let all = [self.remote, self.local, self.think, self.step, self.repair];
        match all.into_iter().find(|delay| !delay.is_valid()) {
            Some(delay) => Err(format!("{delay} is no distribution of times from 0")),
            None if !self.far.is_finite() || self.far < 0.0 => Err(format!(
                "{} cannot be how much farther regions are",
                self.far
            )),
            None => Ok(()),
        }
    }

    /// How long a message takes.
    pub(crate) fn message(&self, from: Site, to: Site, random: &mut Random) -> f64 {
        let region = |site: Site| self.regions.get(site.index()).copied().unwrap_or_default();
        if from == to {
            self.local.draw(random)
        } else if region(from) == region(to) {
            self.remote.draw(random)
        } else {
            self.far * self.remote.draw(random)
        }
    }
}
