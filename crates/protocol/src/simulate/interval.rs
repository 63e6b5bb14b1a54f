//! Shares, means and quantiles with intervals of confidence of 95 %.
//!
//! Runs are independent of each other; the transactions of one run are not. What is counted by
//! transaction is therefore counted run by run, and the variance is that between runs (the ratio
//! estimator of cluster sampling: Cochran, Sampling Techniques, 1977, chapter 9). With it comes an
//! effective number of observations, those that would have the same variance if independent.
//! - A share has Wilson's interval (JASA 1927) with that number. If no observation or every one
//!   counts, the effective number is that of the runs.
//! - A mean has a normal interval.
//! - A quantile has the order statistics around it, whose ranks come from the binomial distribution
//!   (normal approximation) with that number.

use serde::Serialize;

/// The normal quantile of a two-sided interval of 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// A share of something.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Proportion {
    /// How many counted.
    pub count: u64,
    /// Of how many.
    pub of: u64,
    /// The share.
    pub share: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A mean.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A value that a given share of all does not exceed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Quantile {
    /// The value.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// How something is distributed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Spread {
    /// How many were measured.
    pub count: u64,
    /// Their mean.
    pub mean: Mean,
    /// The median.
    pub p50: Quantile,
    /// What 95 of 100 do not exceed.
    pub p95: Quantile,
    /// What 99 of 100 do not exceed.
    pub p99: Quantile,
}

impl Proportion {
    /// Of independent observations.
    pub(crate) fn of_runs(count: u64, of: u64) -> Proportion {
        Proportion::wilson(count, of, of as f64)
    }

    /// Of observations by run: how many counted, of how many.
    pub(crate) fn of_clusters(runs: &[(u64, u64)]) -> Proportion {
        let count = runs.iter().map(|run| run.0).sum();
        let of = runs.iter().map(|run| run.1).sum();
        Proportion::wilson(count, of, effective(runs))
    }

    fn wilson(count: u64, of: u64, effective: f64) -> Proportion {
        if of == 0 || effective <= 0.0 {
            return Proportion {
                count,
                of,
                share: 0.0,
                low: 0.0,
                high: 1.0,
            };
        }
        let share = count as f64 / of as f64;
        let square = Z * Z / effective;
        let middle = (share + square / 2.0) / (1.0 + square);
        let half = (share * (1.0 - share) / effective + square / (4.0 * effective)).sqrt();
        let half = Z * half / (1.0 + square);
        Proportion {
            count,
            of,
            share,
            // Rounding must not put the share itself outside.
            low: (middle - half).clamp(0.0, share),
            high: (middle + half).clamp(share, 1.0),
        }
    }
}

/// How many independent observations say as much as those of these runs.
fn effective(runs: &[(u64, u64)]) -> f64 {
    let some = runs.iter().filter(|run| run.1 > 0).count() as f64;
    let pairs = runs.iter().map(|run| (run.0 as f64, run.1 as f64));
    let (share, variance) = ratio(pairs);
    if variance > 0.0 {
        share * (1.0 - share) / variance
    } else {
        some
    }
}

/// The ratio of two sums over runs, and its variance.
fn ratio(runs: impl Iterator<Item = (f64, f64)> + Clone) -> (f64, f64) {
    let above: f64 = runs.clone().map(|run| run.0).sum();
    let below: f64 = runs.clone().map(|run| run.1).sum();
    let count = runs.clone().filter(|run| run.1 > 0.0).count() as f64;
    let ratio = above / below;
    let squares: f64 = runs.map(|run| (run.0 - ratio * run.1).powi(2)).sum();
    let variance = count / (count - 1.0).max(1.0) * squares / (below * below);
    (ratio, variance)
}

impl Mean {
    /// A sum over runs by another one; none if that is nothing.
    pub(crate) fn of_ratio(runs: impl Iterator<Item = (f64, f64)> + Clone) -> Option<Mean> {
        let (mean, variance) = ratio(runs);
        let half = Z * variance.sqrt();
        (mean.is_finite() && half.is_finite()).then_some(Mean {
            mean,
            low: mean - half,
            high: mean + half,
        })
    }
}

impl Spread {
    /// Of what was measured in each run; none if nothing was.
    pub(crate) fn of(runs: &[Vec<f64>]) -> Option<Spread> {
        let sums = runs.iter().map(|run| (run.iter().sum(), run.len() as f64));
        let mean = Mean::of_ratio(sums)?;
        let mut sorted: Vec<f64> = runs.iter().flatten().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let count = sorted.len() as f64;
            let at = |rank: f64| sorted[(rank.max(1.0).min(count) - 1.0) as usize];
            let value = at((share * count).ceil());
            let below = |run: &Vec<f64>| run.iter().filter(|one| **one <= value).count() as u64;
            let counts: Vec<(u64, u64)> = runs
                .iter()
                .map(|run| (below(run), run.len() as u64))
                .collect();
            let half = Z * (share * (1.0 - share) / effective(&counts)).sqrt();
            Quantile {
                value,
                low: at(((share - half) * count).floor()),
                high: at(((share + half) * count).ceil() + 1.0),
            }
        };
        Some(Spread {
            count: sorted.len() as u64,
            mean,
            p50: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_is_as_published() {
        // Newcombe 1998, table I, method 3.
        for (count, of, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let found = Proportion::of_runs(count, of);
            assert!((found.low - low).abs() < 5e-5, "{found:?}");
            assert!((found.high - high).abs() < 5e-5, "{found:?}");
        }
    }

    #[test]
    fn runs_that_agree_with_themselves_count_once() {
        let alike: Vec<(u64, u64)> = (0..100).map(|run| (10 * (run % 2), 10)).collect();
        let (found, by_run) = (
            Proportion::of_clusters(&alike),
            Proportion::of_runs(50, 100),
        );
        assert!(
            (found.low - by_run.low).abs() < 2e-3,
            "{found:?} {by_run:?}"
        );
        assert_eq!(found.of, 1000);
    }

    #[test]
    fn quantiles_of_a_known_list() {
        let runs: Vec<Vec<f64>> = (1..=1000).map(|value| vec![f64::from(value)]).collect();
        let found = Spread::of(&runs).unwrap();
        assert_eq!(
            (found.p50.value, found.p95.value, found.p99.value),
            (500.0, 950.0, 990.0)
        );
        // The exact ranks around the median of 1000 are 469 and 532; rounding is outwards.
        assert_eq!((found.p50.low, found.p50.high), (468.0, 533.0));
        assert!((found.mean.mean - 500.5).abs() < 1e-9);
        assert!(Spread::of(&[Vec::new()]).is_none());
    }
}
