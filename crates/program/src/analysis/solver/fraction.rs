//! Fractions that know when they do not fit.

use std::cmp::Ordering;

/// A fraction in lowest terms; one whose denominator is 0 has been lost to overflow, and so is
/// everything computed from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fraction {
    above: i64,
    below: i64,
}

impl Fraction {
    pub const ZERO: Fraction = Fraction { above: 0, below: 1 };
    pub const ONE: Fraction = Fraction { above: 1, below: 1 };
    const LOST: Fraction = Fraction { above: 0, below: 0 };

    pub fn whole(number: i64) -> Fraction {
        Fraction {
            above: number,
            below: 1,
        }
    }

    fn reduced(above: i128, below: i128) -> Fraction {
        if below == 0 {
            return Fraction::LOST;
        }
        let common = divisor(above.unsigned_abs(), below.unsigned_abs()) as i128;
        let sign = below.signum();
        let (above, below) = (above / common * sign, below / common * sign);
        match (i64::try_from(above), i64::try_from(below)) {
            (Ok(above), Ok(below)) => Fraction { above, below },
            _ => Fraction::LOST,
        }
    }

    pub fn is_lost(self) -> bool {
        self.below == 0
    }

    pub fn is_zero(self) -> bool {
        self.above == 0 && self.below != 0
    }

    pub fn is_whole(self) -> bool {
        self.below == 1
    }

    pub fn is_positive(self) -> bool {
        self.above > 0
    }

    /// The greatest whole number that is not greater.
    pub fn floor(self) -> i64 {
        match self.below {
            0 => 0,
            below => self.above.div_euclid(below),
        }
    }

    pub fn plus(self, other: Fraction) -> Fraction {
        if self.below == 1
            && other.below == 1
            && let Some(above) = self.above.checked_add(other.above)
        {
            return Fraction { above, below: 1 };
        }
        let (a, b) = (i128::from(self.above), i128::from(self.below));
        let (c, d) = (i128::from(other.above), i128::from(other.below));
        Fraction::reduced(a * d + c * b, b * d)
    }

    pub fn minus(self, other: Fraction) -> Fraction {
        self.plus(other.opposite())
    }

    pub fn times(self, other: Fraction) -> Fraction {
        if self.below == 1
            && other.below == 1
            && let Some(above) = self.above.checked_mul(other.above)
        {
            return Fraction { above, below: 1 };
        }
        let (a, b) = (i128::from(self.above), i128::from(self.below));
        let (c, d) = (i128::from(other.above), i128::from(other.below));
        Fraction::reduced(a * c, b * d)
    }

    pub fn over(self, other: Fraction) -> Fraction {
        let (a, b) = (i128::from(self.above), i128::from(self.below));
        let (c, d) = (i128::from(other.above), i128::from(other.below));
        Fraction::reduced(a * d, b * c)
    }

    pub fn opposite(self) -> Fraction {
        match self.above.checked_neg() {
            Some(above) => Fraction { above, ..self },
            None => Fraction::LOST,
        }
    }

    /// How it compares with a whole number.
    pub fn against(self, number: i64) -> Ordering {
        let scaled = i128::from(number) * i128::from(self.below);
        i128::from(self.above).cmp(&scaled)
    }
}

fn divisor(a: u128, b: u128) -> u128 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}
