//! Where the boxes of lanes are: by time, or by what is known to come before what.

use super::{Bar, Lanes};
use crate::picture::layout::{LINE, PADDING};
use history::Interval;

/// The heads of lanes stand above this.
pub(super) const TOP: f64 = 46.0;
/// Between two events.
const STEP: f64 = 9.0;

/// Where the boxes are, and where which time is.
pub(super) struct Places {
    pub bars: Vec<(f64, f64)>,
    pub times: Vec<(i64, f64)>,
    pub bottom: f64,
}

impl Places {
    /// Where a time is, between those that are known.
    pub fn at(&self, time: i64) -> f64 {
        let after = self.times.iter().position(|&(other, _)| other >= time);
        match after {
            None => self.bottom,
            Some(0) => self.times[0].1,
            Some(next) => {
                let ((t1, y1), (t2, y2)) = (self.times[next - 1], self.times[next]);
                let share = (time as f64 - t1 as f64) / (t2 as f64 - t1 as f64).max(1.0);
                y1 + (y2 - y1) * share
            }
        }
    }
}

impl Lanes {
    pub(super) fn by_time(&self) -> Places {
        // (time, is an end, bar); what ends as another begins ran beside it.
        let mut events: Vec<(i64, bool, usize)> = Vec::new();
        for (place, bar) in self.bars.iter().enumerate() {
            if let Some(interval) = bar.interval {
                events.push((interval.start, false, place));
                events.push((interval.completion(), true, place));
            }
        }
        events.sort_unstable();
        let mut places = Places {
            bars: vec![(TOP, TOP); self.bars.len()],
            times: Vec::new(),
            bottom: TOP,
        };
        let mut free = vec![TOP; self.heads.len()];
        let (mut y, mut last) = (TOP + 4.0, None);
        for (time, is_end, place) in events {
            if last.is_some_and(|last| last != (time, is_end)) {
                y += STEP;
            }
            let lane = self.bars[place].lane;
            if is_end {
                y = y.max(places.bars[place].0 + height(&self.bars[place]));
                places.bars[place].1 = y;
                free[lane] = y + STEP;
            } else {
                y = y.max(free[lane]);
                places.bars[place] = (y, y);
            }
            last = Some((time, is_end));
            if time != Interval::NEVER {
                places.times.push((time, y));
            }
        }
        places.bottom = y;
        places
    }

    pub(super) fn by_order(&self) -> Places {
        let mut ranks = vec![0usize; self.bars.len()];
        let next = |place: usize| -> Option<usize> {
            let lane = self.bars[place].lane;
            (place + 1 < self.bars.len() && self.bars[place + 1].lane == lane).then_some(place + 1)
        };
        // What is known may go in a circle; the number of rounds ends it.
        for _ in 0..self.bars.len() {
            for &(from, to) in &self.before {
                ranks[to] = ranks[to].max(ranks[from] + 1).min(self.bars.len());
            }
            for place in 0..self.bars.len() {
                if let Some(next) = next(place) {
                    ranks[next] = ranks[next].max(ranks[place] + 1);
                }
            }
        }
        let mut used: Vec<usize> = ranks.clone();
        used.sort_unstable();
        used.dedup();
        let mut places = Places {
            bars: vec![(TOP, TOP); self.bars.len()],
            times: Vec::new(),
            bottom: TOP,
        };
        let mut y = TOP + 4.0;
        for rank in used {
            let own = || (0..self.bars.len()).filter(|&place| ranks[place] == rank);
            let tallest = own().fold(0.0, |most: f64, place| most.max(height(&self.bars[place])));
            for place in own() {
                places.bars[place] = (y, y + height(&self.bars[place]));
            }
            y += tallest + 2.0 * STEP;
        }
        places.bottom = y;
        places
    }
}

fn height(bar: &Bar) -> f64 {
    let rows = 1 + bar.lines.len() + usize::from(bar.more > 0);
    rows as f64 * LINE + 2.0 * PADDING - 4.0
}
