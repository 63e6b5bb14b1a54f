//! What is wrong with a transaction by the time that it takes place, and the best time.
//!
//! Definition: a sum of steps up and down at the times of others. Between two steps all times are as good.
//!
//! Cost: the best time takes a sort of the steps.

use std::ops::Range;

/// What is wrong by time: steps up and down.
#[derive(Default)]
pub struct Cost {
    pub steps: Vec<(f64, i64)>,
    pub base: i64,
    /// The steps within the stretch that was asked about last.
    inside: Vec<(f64, i64)>,
}

impl Cost {
    pub fn clear(&mut self) {
        self.steps.clear();
        self.base = 0;
    }

    /// It is wrong to be behind a time.
    #[inline]
    pub fn behind(&mut self, time: f64, weight: i64) {
        self.steps.push((time, weight));
    }

    /// It is wrong to be before a time.
    #[inline]
    pub fn before(&mut self, time: f64, weight: i64) {
        self.base += weight;
        self.steps.push((time, -weight));
    }

    /// It is wrong to be between two times.
    #[inline]
    pub fn between(&mut self, from: f64, to: f64, weight: i64) {
        self.steps.push((from, weight));
        self.steps.push((to, -weight));
    }

    pub fn at(&self, time: f64) -> i64 {
        let steps = self.steps.iter().filter(|step| step.0 < time);
        self.base + steps.map(|step| step.1).sum::<i64>()
    }

    pub fn add(&mut self, other: &Cost) {
        self.base += other.base;
        self.steps.extend(&other.steps);
    }

    /// Where between two times least is wrong.
    /// Among equals, the one that `chance` picks if it is given, and otherwise the nearest.
    pub fn best(
        &mut self,
        here: f64,
        within: Range<f64>,
        mut chance: Option<impl FnMut(u64) -> bool>,
    ) -> Target {
        let mut now = self.base;
        self.inside.clear();
        for &(time, change) in &self.steps {
            if time <= within.start {
                now += change;
            } else if time < within.end {
                self.inside.push((time, change));
            }
        }
        self.inside.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut best = Target {
            cost: i64::MAX,
            distance: f64::INFINITY,
            low: within.start,
            high: within.end,
        };
        let (mut low, mut ties) = (within.start, 0);
        let end = (f64::INFINITY, 0);
        for &(time, change) in self.inside.iter().chain([&end]) {
            let high = time.min(within.end);
            if low < high && now <= best.cost {
                ties = if now < best.cost { 1 } else { ties + 1 };
                let distance = (low - here).max(here - high).max(0.0);
                let is_taken = match &mut chance {
                    Some(chance) => chance(ties),
                    None => distance < best.distance,
                };
                if now < best.cost || is_taken {
                    best = Target {
                        cost: now,
                        distance,
                        low,
                        high,
                    };
                }
            }
            if time >= within.end {
                break;
            }
            low = low.max(time);
            now += change;
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
        let mut best = |here, within| {
            let best = cost.best(here, within, None::<fn(u64) -> bool>);
            (best.cost, best.low, best.high)
        };
        assert_eq!(best(1.0, 0.0..20.0), (0, 2.0, 4.0));
        assert_eq!(best(12.0, 0.0..20.0), (0, 6.0, 9.0));
        assert_eq!(best(5.0, 4.5..5.5), (4, 4.5, 5.5));
        let any = cost.best(1.0, 0.0..20.0, Some(|ties| ties == 2));
        assert_eq!((any.low, any.high), (6.0, 9.0));
    }
}
