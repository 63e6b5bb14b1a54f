//! What is wrong with a transaction by the time that it takes place, and the best time.
//!
//! Definition: a sum of steps up and down at the times of others. Between two steps all times are as good.
//!
//! Cost: one sort of the steps of a sum; sums of sorted ones are merged.

use std::ops::Range;

/// A step up or down at a time, as one number: times in order above, the change below.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Step(u128);

impl Step {
    #[inline]
    fn new(time: f64, change: i64) -> Step {
        Step(u128::from(ranked(time)) << 64 | u128::from(change as u64))
    }

    #[inline]
    fn rank(self) -> u64 {
        (self.0 >> 64) as u64
    }

    #[inline]
    fn change(self) -> i64 {
        self.0 as u64 as i64
    }
}

/// The order of times as an order of whole numbers.
#[inline]
fn ranked(time: f64) -> u64 {
    let bits = time.to_bits();
    let is_negative = (bits as i64 >> 63) as u64;
    bits ^ (is_negative | 1 << 63)
}

/// The time of a number.
#[inline]
fn time(rank: u64) -> f64 {
    let is_positive = (rank as i64 >> 63) as u64;
    f64::from_bits(rank ^ (!is_positive | 1 << 63))
}

/// What is wrong by time: steps up and down.
#[derive(Default)]
pub struct Cost {
    steps: Vec<Step>,
    pub base: i64,
}

impl Cost {
    pub fn clear(&mut self) {
        self.steps.clear();
        self.base = 0;
    }

    /// It is wrong to be behind a time.
    #[inline]
    pub fn behind(&mut self, time: f64, weight: i64) {
        self.steps.push(Step::new(time, weight));
    }

    /// It is wrong to be before a time.
    #[inline]
    pub fn before(&mut self, time: f64, weight: i64) {
        self.base += weight;
        self.steps.push(Step::new(time, -weight));
    }

    /// It is wrong to be between two times.
    #[inline]
    pub fn between(&mut self, from: f64, to: f64, weight: i64) {
        self.steps.push(Step::new(from, weight));
        self.steps.push(Step::new(to, -weight));
    }

    pub fn at(&self, time: f64) -> i64 {
        let rank = ranked(time);
        let steps = self.steps.iter().filter(|step| step.rank() < rank);
        self.base + steps.map(|step| step.change()).sum::<i64>()
    }

    /// Puts the steps in order, which sums and the best time ask for.
    pub fn sort(&mut self) {
        self.steps.sort_unstable();
    }

    /// Becomes the sum of two, both in order.
    pub fn be_sum(&mut self, one: &Cost, other: &Cost) {
        self.base = one.base + other.base;
        self.steps.clear();
        let (mut a, mut b) = (&one.steps[..], &other.steps[..]);
        while let ([first, rest_of_a @ ..], [second, rest_of_b @ ..]) = (a, b) {
            if first <= second {
                self.steps.push(*first);
                a = rest_of_a;
            } else {
                self.steps.push(*second);
                b = rest_of_b;
            }
        }
        self.steps.extend_from_slice(a);
        self.steps.extend_from_slice(b);
    }

    /// Where between two times least is wrong, with steps in order.
    /// Among equals, the one that `chance` picks if it is given, and otherwise the nearest.
    pub fn best(
        &self,
        here: f64,
        within: Range<f64>,
        mut chance: Option<impl FnMut(u64) -> bool>,
    ) -> Target {
        let (begin, end) = (ranked(within.start), ranked(within.end));
        let mut best = Target {
            cost: i64::MAX,
            distance: f64::INFINITY,
            low: within.start,
            high: within.end,
        };
        let (mut low, mut ties, mut now) = (begin, 0, self.base);
        let last = Step::new(f64::INFINITY, 0);
        for step in self.steps.iter().chain([&last]) {
            let high = step.rank().min(end);
            if low < high && now <= best.cost {
                ties = if now < best.cost { 1 } else { ties + 1 };
                let [from, to] = [time(low), time(high)];
                let distance = (from - here).max(here - to).max(0.0);
                let is_taken = match &mut chance {
                    Some(chance) => chance(ties),
                    None => distance < best.distance,
                };
                if now < best.cost || is_taken {
                    best = Target {
                        cost: now,
                        distance,
                        low: from,
                        high: to,
                    };
                }
            }
            if step.rank() >= end {
                break;
            }
            low = low.max(step.rank());
            now += step.change();
        }
        best
    }
}

/// A stretch of time to move to.
#[derive(Clone, Copy)]
pub struct Target {
    pub cost: i64,
    /// How far it is from here.
    pub distance: f64,
    pub low: f64,
    pub high: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_time_is_the_nearest_where_least_is_wrong() {
        let mut cost = Cost::default();
        cost.before(2.0, 4);
        cost.behind(9.0, 4);
        cost.between(4.0, 6.0, 4);
        assert_eq!(
            [1.0, 3.0, 5.0, 7.0, 10.0].map(|time| cost.at(time)),
            [4, 0, 4, 0, 4]
        );
        cost.sort();
        let best = |here, within| {
            let best = cost.best(here, within, None::<fn(u64) -> bool>);
            (best.cost, best.low, best.high)
        };
        assert_eq!(best(1.0, 0.0..20.0), (0, 2.0, 4.0));
        assert_eq!(best(12.0, 0.0..20.0), (0, 6.0, 9.0));
        assert_eq!(best(5.0, 4.5..5.5), (4, 4.5, 5.5));
        let any = cost.best(1.0, 0.0..20.0, Some(|ties| ties == 2));
        assert_eq!((any.low, any.high), (6.0, 9.0));
        let (mut other, mut sum) = (Cost::default(), Cost::default());
        other.behind(1.0, 4);
        sum.be_sum(&cost, &other);
        assert_eq!(
            [0.5, 3.0, 5.0, 7.0, 10.0].map(|time| sum.at(time)),
            [4, 4, 8, 4, 8]
        );
    }

    #[test]
    fn times_keep_their_order_as_numbers() {
        let times = [
            f64::NEG_INFINITY,
            -2.5,
            -1.0,
            0.0,
            f64::MIN_POSITIVE,
            1.5,
            1e9,
            f64::INFINITY,
        ];
        assert!(times.map(ranked).is_sorted());
        assert_eq!(times.map(|at| time(ranked(at))), times);
    }
}
