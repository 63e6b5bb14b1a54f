//! What a recorded run looked like over time: transactions a second, refusals, how long they took.

use history::{History, Interval, Status};
use report::page::{Chart, Series};

/// How many stretches the time is cut into, at most.
const STRETCHES: usize = 120;
const NANOSECONDS: f64 = 1e9;

#[derive(Clone, Default)]
struct Stretch {
    committed: u32,
    aborted: u32,
    other: u32,
    /// Milliseconds of the committed ones.
    took: Vec<f64>,
}

/// The charts of a history whose times are nanoseconds; none where it has no times. `faults` are
/// seconds from and to, and what was done.
pub fn charts(history: &History, faults: &[(f64, f64, String)]) -> Vec<Chart> {
    let ended = |txn| history.interval(txn).filter(|at| at.end != Interval::NEVER);
    let all = history.txn_ids();
    let times: Vec<(Interval, Status)> = all
        .filter_map(|txn| ended(txn).map(|at| (at, history.status(txn))))
        .collect();
    let Some(first) = times.iter().map(|(at, _)| at.start).min() else {
        return Vec::new();
    };
    let last = times.iter().map(|(at, _)| at.end).max().unwrap_or(first);
    let whole = (last.saturating_sub(first)) as f64 / NANOSECONDS;
    if whole <= 0.0 {
        return Vec::new();
    }
    let length = whole / STRETCHES as f64;
    let mut stretches = vec![Stretch::default(); STRETCHES];
    for (at, status) in times {
        let seconds = at.end.saturating_sub(first) as f64 / NANOSECONDS;
        let place = ((seconds / length) as usize).min(STRETCHES - 1);
        let stretch = &mut stretches[place];
        match status {
            Status::Committed => {
                stretch.committed += 1;
                stretch
                    .took
                    .push(at.end.saturating_sub(at.start) as f64 / 1e6);
            }
            Status::Aborted => stretch.aborted += 1,
            Status::Indeterminate => stretch.other += 1,
        }
    }
    drawn(&mut stretches, length, faults)
}

fn drawn(stretches: &mut [Stretch], length: f64, faults: &[(f64, f64, String)]) -> Vec<Chart> {
    for stretch in stretches.iter_mut() {
        stretch.took.sort_by(f64::total_cmp);
    }
    let series = |name: &str, number: &dyn Fn(&Stretch) -> Option<f64>| {
        let point = |(place, stretch): (usize, &Stretch)| {
            Some(((place as f64 + 0.5) * length, number(stretch)?))
        };
        Series {
            name: name.to_string(),
            points: stretches.iter().enumerate().filter_map(point).collect(),
        }
    };
    let rate = |count: u32| Some(f64::from(count) / length);
    let part = |stretch: &Stretch, part: f64| {
        let place = (stretch.took.len() as f64 * part) as usize;
        stretch.took.get(place).copied()
    };
    let chart = |title: &str, unit: &str, series: Vec<Series>| Chart {
        title: title.to_string(),
        unit: unit.to_string(),
        series,
        faults: faults.to_vec(),
    };
    vec![
        chart(
            "transactions a second",
            "/s",
            vec![series("committed", &|stretch| rate(stretch.committed))],
        ),
        chart(
            "refused, or of unknown outcome, a second",
            "/s",
            vec![
                series("aborted", &|stretch| rate(stretch.aborted)),
                series("unknown", &|stretch| rate(stretch.other)),
            ],
        ),
        chart(
            "how long they took",
            " ms",
            vec![
                series("half are faster", &|stretch| part(stretch, 0.5)),
                series("99 of 100 are faster", &|stretch| part(stretch, 0.99)),
            ],
        ),
    ]
}
