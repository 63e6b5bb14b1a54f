//! Zipf-distributed numbers by rejection-inversion: constant time, no tables.
//!
//! Source: Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", TOMACS 1996. Where we differ: the logarithm and the exponential are computed
//! here, by the four basic operations only, because those of a platform's own library may differ in
//! the last bit, and one bit is enough to make another history out of the same seed.

use super::random::Random;

/// Draws from 1 to `count`, `i` with a probability proportional to 1 / i^theta.
pub struct Zipf {
    count: f64,
    theta: f64,
    integral_first: f64,
    integral_last: f64,
    accept: f64,
}

impl Zipf {
    pub fn new(count: u64, theta: f64) -> Zipf {
        let mut zipf = Zipf {
            count: count as f64,
            theta,
            integral_first: 0.0,
            integral_last: 0.0,
            accept: 0.0,
        };
        zipf.integral_first = zipf.integral(1.5) - 1.0;
        zipf.integral_last = zipf.integral(zipf.count + 0.5);
        zipf.accept = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    pub fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let span = self.integral_first - self.integral_last;
            let u = self.integral_last + random.unit() * span;
            let x = self.inverse(u);
            let k = ((x + 0.5) as u64).clamp(1, self.count as u64);
            let k_float = k as f64;
            if k_float - x <= self.accept
                || u >= self.integral(k_float + 0.5) - self.density(k_float)
            {
                return k;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        exp(-self.theta * ln(x))
    }

    /// The integral of the density.
    fn integral(&self, x: f64) -> f64 {
        let log = ln(x);
        exp_minus_one_over((1.0 - self.theta) * log) * log
    }

    fn inverse(&self, x: f64) -> f64 {
        let t = (x * (1.0 - self.theta)).max(-1.0 + 1e-16);
        exp(ln_one_plus_over(t) * x)
    }
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
    for n in (1..=14).rev() {
        sum = 1.0 + rest / f64::from(n) * sum;
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
    fn one_key_and_a_billion_keys_work() {
        let mut random = Random::new(3);
        assert_eq!(Zipf::new(1, 0.99).draw(&mut random), 1);
        let many = Zipf::new(1_000_000_000, 0.99);
        for _ in 0..1000 {
            assert!((1..=1_000_000_000).contains(&many.draw(&mut random)));
        }
    }
}
