//! Fingerprints of bytes.
//!
//! 64-bit folded multiplication, as in wyhash: eight bytes a step, every input bit reaches every
//! output bit. States are equal if their fingerprints are; the chance that two of `n` different
//! states have the same one is below n²/2⁶⁵ ([`collision_bound`]), if fingerprints are as good as
//! random, which is what the test looks at.

const A: u64 = 0xa076_1d64_78bd_642f;
const B: u64 = 0xe703_7ed1_a0b4_28db;
const C: u64 = 0x8ebc_6af0_9c88_c6e3;

#[inline]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

/// The fingerprint of a state that is all in `bytes`, for [`crate::Machine`]. Never 0.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    hash(bytes, 0).max(1)
}

/// A fingerprint of `bytes`, another one for each `seed`.
#[inline]
pub(crate) fn hash(bytes: &[u8], seed: u64) -> u64 {
    let mut state = fold(seed ^ A, bytes.len() as u64 ^ B);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        state = fold(state ^ u64::from_le_bytes(word), C);
    }
    let rest = chunks.remainder();
    if !rest.is_empty() {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        state = fold(state ^ u64::from_le_bytes(word), B);
    }
    fold(state ^ C, A)
}

/// The fingerprint of a whole whose parts' fingerprints add up to `sum`. Never 0.
#[inline]
pub(crate) fn finish(sum: u64) -> u64 {
    fold(sum ^ B, A ^ sum.rotate_left(32)).max(1)
}

/// An upper bound of the probability that any two of `states` different states were taken for one.
pub(crate) fn collision_bound(states: u64) -> f64 {
    (states as f64).powi(2) / 2f64.powi(65)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_inputs_have_far_fingerprints() {
        let mut seen = std::collections::HashSet::new();
        let mut ones = [0u32; 64];
        let mut count = 0;
        for length in 0..24 {
            for place in 0..length {
                for bit in 0..8 {
                    let mut bytes = vec![0u8; length];
                    bytes[place] ^= 1 << bit;
                    let found = hash(&bytes, 7);
                    assert!(
                        seen.insert(found),
                        "length {length}, byte {place}, bit {bit}"
                    );
                    count += 1;
                    for (bit, ones) in ones.iter_mut().enumerate() {
                        *ones += (found >> bit & 1) as u32;
                    }
                }
            }
        }
        for ones in ones {
            let share = f64::from(ones) / f64::from(count);
            assert!((0.44..0.56).contains(&share), "{share}");
        }
    }

    #[test]
    fn order_and_seed_matter() {
        assert_ne!(hash(b"ab", 1), hash(b"ba", 1));
        assert_ne!(hash(b"ab", 1), hash(b"ab", 2));
        assert_ne!(hash(b"", 1), hash(b"\0", 1));
    }
}
