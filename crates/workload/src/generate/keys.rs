//! Which key an operation goes to.

use super::config::Distribution;
use super::random::{Chance, Random};
use super::zipf::Zipf;

/// A distribution over a number of keys, ready to draw from.
pub enum KeyChoice {
    Uniform { keys: u64 },
    Zipfian(Zipf),
    Hotspot { hot: u64, cold: u64, to_hot: Chance },
}

impl KeyChoice {
    pub fn new(distribution: Distribution, keys: u64) -> KeyChoice {
        match distribution {
            Distribution::Uniform => KeyChoice::Uniform { keys },
            Distribution::Zipfian(theta) => KeyChoice::Zipfian(Zipf::new(keys, theta)),
            Distribution::Hotspot {
                ops_share,
                keys_share,
            } => {
                let hot = ((keys as f64 * keys_share) as u64).clamp(1, keys);
                KeyChoice::Hotspot {
                    hot,
                    cold: keys - hot,
                    to_hot: Chance::of(ops_share),
                }
            }
        }
    }

    #[inline]
    pub fn draw(&self, random: &mut Random) -> u32 {
        let key = match self {
            KeyChoice::Uniform { keys } => random.below(*keys),
            KeyChoice::Zipfian(zipf) => zipf.draw(random) - 1,
            KeyChoice::Hotspot { hot, cold, to_hot } => {
                if *cold == 0 || random.chance(*to_hot) {
                    random.below(*hot)
                } else {
                    hot + random.below(*cold)
                }
            }
        };
        key as u32
    }
}
