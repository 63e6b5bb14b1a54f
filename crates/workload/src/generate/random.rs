//! Random numbers with a fixed algorithm: xoshiro256++ 1.0, seeded by splitmix64 (Blackman and
//! Vigna, "Scrambled linear pseudorandom number generators", TOMS 2021).

/// A generator; the same seed gives the same numbers everywhere.
pub struct Random {
    state: [u64; 4],
}

/// One step of splitmix64 from `seed`: a good hash of a number.
#[inline]
pub fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut state = [0; 4];
        let mut counter = seed;
        for word in &mut state {
            *word = mix(counter);
            counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        }
        Random { state }
    }

    #[inline]
    pub fn next(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number below `limit` (0 if that is 0). The bias, `limit` / 2⁶⁴, is far below notice.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// A number from `low` to `high`, both included.
    #[inline]
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(u64::from(high - low) + 1) as u32
    }

    /// True once in `n` times.
    #[inline]
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// A float from 0 up to, not including, 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    #[inline]
    pub fn chance(&mut self, chance: Chance) -> bool {
        self.next() >> 32 < chance.0
    }
}

/// A probability in units of 2⁻³².
#[derive(Clone, Copy)]
pub struct Chance(u64);

impl Chance {
    /// Of a share between 0 and 1.
    pub fn of(share: f64) -> Chance {
        Chance((share * (1u64 << 32) as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_published_algorithm() {
        // Reference: the authors' C code with state 1, 2, 3, 4.
        let mut random = Random {
            state: [1, 2, 3, 4],
        };
        assert_eq!(random.next(), 41943041);
        assert_eq!(random.next(), 58720359);
        assert_eq!(random.next(), 3588806011781223);
    }

    #[test]
    fn shares_of_nothing_and_everything_are_exact() {
        let mut random = Random::new(1);
        for _ in 0..1000 {
            assert!(random.chance(Chance::of(1.0)));
            assert!(!random.chance(Chance::of(0.0)));
        }
    }
}
