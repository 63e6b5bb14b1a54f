//! Zipf-distributed numbers: the alias method for the frequent ones, rejection-inversion for the
//! rest. Constant time, and a table that stays in a cache however many keys there are.
//!
//! Sources: Vose, "A linear algorithm for generating random numbers with a given distribution", IEEE
//! TSE 1991; Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", TOMACS 1996. Where we differ: the two are joined, the table's last row being all
//! numbers that it has no row for; and the logarithm and the exponential are computed here, by the
//! four basic operations only, because those of a platform's own library may differ in the last
//! bit, and one bit is enough to make another history out of the same seed.

use super::random::Random;

/// How many numbers have a row of their own.
const TABLE_MAX: u64 = 1 << 14;

/// A rest that is drawn less than once in 10⁹ times is left out: rounding would distort it.
const WEIGHT_MIN: f64 = 1e-9;

/// Draws from 1 to `count`, `i` with a probability proportional to 1 / i^theta.
pub struct Zipf {
    rows: Vec<Row>,
    rest: Option<Rest>,
}

/// A row is drawn with the same probability as any other, and stands for its own number with a
/// probability of `keep` / 2³², else for `other`.
#[derive(Clone, Copy)]
struct Row {
    keep: u32,
    other: u32,
}

impl Zipf {
    pub fn new(count: u64, theta: f64) -> Zipf {
        let table = count.min(TABLE_MAX);
        let mut weights: Vec<f64> = (1..=table).map(|i| density(theta, i as f64)).collect();
        let rest = (count > table)
            .then(|| Rest::new(table + 1, count, theta))
            .filter(|rest| rest.weight > WEIGHT_MIN);
        weights.extend(rest.as_ref().map(|rest| rest.weight));
        Zipf {
            rows: rows(weights),
            rest,
        }
    }

    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        // One number says which row, by its upper half, and which of the row's two, by its lower.
        let product = u128::from(random.next()) * self.rows.len() as u128;
        let index = (product >> 64) as u64;
        let row = self.rows[index as usize];
        let part = (product as u64 >> 32) as u32;
        let number = 1 + if part < row.keep {
            index
        } else {
            u64::from(row.other)
        };
        match &self.rest {
            Some(rest) if number == self.rows.len() as u64 => rest.draw(random),
            _ => number,
        }
    }
}

/// The alias table: every row too light for its share is filled up from one too heavy.
fn rows(weights: Vec<f64>) -> Vec<Row> {
    let total: f64 = weights.iter().sum();
    let scale = weights.len() as f64 / total;
    let mut shares: Vec<f64> = weights.into_iter().map(|weight| weight * scale).collect();
    let numbers = 0..shares.len() as u32;
    let (mut light, mut heavy): (Vec<u32>, Vec<u32>) =
        numbers.partition(|&number| shares[number as usize] < 1.0);
    // A row that stays as it is stands for its own number either way.
    let own = |other| Row { keep: 0, other };
    let mut rows: Vec<Row> = (0..shares.len() as u32).map(own).collect();
    while let (Some(&from), Some(to)) = (heavy.last(), light.pop()) {
        let share = shares[to as usize];
        rows[to as usize] = Row {
            keep: (share * (1u64 << 32) as f64) as u32,
            other: from,
        };
        shares[from as usize] -= 1.0 - share;
        if shares[from as usize] < 1.0 {
            light.extend(heavy.pop());
        }
    }
    rows
}

/// The numbers from `first` to `last`.
struct Rest {
    first: u64,
    last: u64,
    theta: f64,
    /// Their densities' sum. The integral is the midpoint rule's, whose relative error is below
    /// theta² / `first`².
    weight: f64,
    integral_first: f64,
    integral_last: f64,
    /// A number is accepted without a look at its density if it was rounded up by no more.
    accept: f64,
}

impl Rest {
    fn new(first: u64, last: u64, theta: f64) -> Rest {
        let start = first as f64;
        let second = integral(theta, start + 1.5) - density(theta, start + 1.0);
        let integral_last = integral(theta, last as f64 + 0.5);
        Rest {
            first,
            last,
            theta,
            weight: integral_last - integral(theta, start - 0.5),
            integral_first: integral(theta, start + 0.5) - density(theta, start),
            integral_last,
            accept: start + 1.0 - inverse(theta, second),
        }
    }

    fn draw(&self, random: &mut Random) -> u64 {
        let theta = self.theta;
        loop {
            let span = self.integral_first - self.integral_last;
            let u = self.integral_last + random.unit() * span;
            let x = inverse(theta, u);
            let k = ((x + 0.5) as u64).clamp(self.first, self.last);
            let k_float = k as f64;
            if k_float - x <= self.accept
                || u >= integral(theta, k_float + 0.5) - density(theta, k_float)
            {
                return k;
            }
        }
    }
}

fn density(theta: f64, x: f64) -> f64 {
    exp(-theta * ln(x))
}

/// The integral of the density.
fn integral(theta: f64, x: f64) -> f64 {
    let log = ln(x);
    exp_minus_one_over((1.0 - theta) * log) * log
}

fn inverse(theta: f64, x: f64) -> f64 {
    let t = (x * (1.0 - theta)).max(-1.0 + 1e-16);
    exp(ln_one_plus_over(t) * x)
}

/// ln(1 + x) / x.
fn ln_one_plus_over(x: f64) -> f64 {
    if x.abs() > 1e-5 {
        ln(1.0 + x) / x
    } else {
        1.0 - x * (0.5 - x * (1.0 / 3.0 - x * 0.25))
    }
}

/// (exp(x) - 1) / x.
fn exp_minus_one_over(x: f64) -> f64 {
    if x.abs() > 1e-5 {
        (exp(x) - 1.0) / x
    } else {
        1.0 + x * 0.5 * (1.0 + x / 3.0 * (1.0 + x * 0.25))
    }
}

/// The natural logarithm of a positive normal number.
fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mut mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | (1023 << 52));
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    // ln m = 2 artanh((m - 1) / (m + 1)), whose argument is at most 0.172 in size.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    for odd in [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
        sum = sum * square + 1.0 / odd;
    }
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * s * sum
}

/// 1 / n from 1 on.
const INVERSES: [f64; 14] = {
    let mut inverses = [1.0; 14];
    let mut n = 1;
    while n < inverses.len() {
        inverses[n] = 1.0 / (n + 1) as f64;
        n += 1;
    }
    inverses
};

/// The exponential; 0 or infinity where a double has no room for it.
fn exp(x: f64) -> f64 {
    if x < -708.0 {
        return 0.0;
    }
    if x > 709.0 {
        return f64::INFINITY;
    }
    let scaled = x * std::f64::consts::LOG2_E;
    let power = (if scaled < 0.0 {
        scaled - 0.5
    } else {
        scaled + 0.5
    }) as i64;
    let rest = x - power as f64 * std::f64::consts::LN_2;
    let mut sum = 1.0;
    for n in INVERSES.into_iter().rev() {
        sum = 1.0 + rest * n * sum;
    }
    sum * f64::from_bits(((power + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithm_and_exponential_agree_with_the_library() {
        for step in 1..20_000 {
            let x = f64::from(step) * 0.37;
            assert!((ln(x) - x.ln()).abs() < 1e-13, "ln {x}");
            let y = f64::from(step - 10_000) * 0.013;
            assert!((exp(y) / y.exp() - 1.0).abs() < 1e-12, "exp {y}");
        }
    }

    #[test]
    fn frequencies_follow_the_law() {
        for theta in [0.5, 0.99, 1.0, 2.0] {
            let zipf = Zipf::new(50, theta);
            let mut random = Random::new(7);
            let mut counts = [0u32; 51];
            for _ in 0..200_000 {
                counts[zipf.draw(&mut random) as usize] += 1;
            }
            let total: f64 = (1..=50).map(|i| f64::from(i).powf(-theta)).sum();
            for i in [1u32, 2, 3, 10, 50] {
                let expected = 200_000.0 * f64::from(i).powf(-theta) / total;
                let seen = f64::from(counts[i as usize]);
                let slack = 5.0 * expected.sqrt() + 5.0;
                assert!(
                    (seen - expected).abs() < slack,
                    "{theta} {i}: {seen} {expected}"
                );
            }
        }
    }

    #[test]
    fn numbers_without_a_row_follow_the_law() {
        for theta in [0.5, 0.99, 1.0, 1.3] {
            let count = 20 * TABLE_MAX;
            let zipf = Zipf::new(count, theta);
            let mut random = Random::new(11);
            let limits = [
                TABLE_MAX,
                TABLE_MAX + 40,
                2 * TABLE_MAX,
                5 * TABLE_MAX,
                count,
            ];
            let mut counts = [0u32; 5];
            for _ in 0..400_000 {
                let number = zipf.draw(&mut random);
                counts[limits.partition_point(|&limit| limit < number)] += 1;
            }
            let weight = |range: std::ops::RangeInclusive<u64>| -> f64 {
                range.map(|i| (i as f64).powf(-theta)).sum()
            };
            let total = weight(1..=count);
            let mut first = 1;
            for (limit, seen) in limits.into_iter().zip(counts) {
                let expected = 400_000.0 * weight(first..=limit) / total;
                let off = (f64::from(seen) - expected).abs();
                let slack = 5.0 * expected.sqrt() + 5.0;
                assert!(off < slack, "{theta} {limit}: {seen} {expected}");
                first = limit + 1;
            }
        }
    }

    #[test]
    fn every_exponent_ends() {
        for theta in [1e-9, 0.1, 1.0 - 1e-9, 1.5, 2.0, 3.0, 5.0, 10.0] {
            for count in [TABLE_MAX, TABLE_MAX + 1, TABLE_MAX + 2, 4_000_000_000] {
                let zipf = Zipf::new(count, theta);
                let mut random = Random::new(13);
                for _ in 0..2000 {
                    let number = zipf.draw(&mut random);
                    assert!((1..=count).contains(&number), "{theta} {count}: {number}");
                }
                if let Some(rest) = &zipf.rest {
                    for _ in 0..2000 {
                        let number = rest.draw(&mut random);
                        assert!((rest.first..=count).contains(&number), "{theta} {count}");
                    }
                }
            }
        }
    }

    #[test]
    fn one_key_and_a_billion_keys_work() {
        let mut random = Random::new(3);
        assert_eq!(Zipf::new(1, 0.99).draw(&mut random), 1);
        let many = Zipf::new(1_000_000_000, 0.99);
        for _ in 0..1000 {
            assert!((1..=1_000_000_000).contains(&many.draw(&mut random)));
        }
    }
}
