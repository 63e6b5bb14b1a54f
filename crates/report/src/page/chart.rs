//! Small line charts over time, and bars.

use crate::escape::{cut, html};
use crate::picture::Shown;
use crate::picture::layout::Rect;
use crate::picture::svg::{open, rounded};
use std::fmt::Write;

/// A chart of numbers over time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Chart {
    /// What is shown: `transactions per second`.
    pub title: String,
    /// The unit of the numbers, which stands behind them.
    pub unit: String,
    /// What is drawn, at most four lines.
    pub series: Vec<Series>,
    /// When faults were under way: from, to, what.
    pub faults: Vec<(f64, f64, String)>,
}

/// A line of a chart.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Series {
    /// What it is; empty if there is only one.
    pub name: String,
    /// Seconds since the start, and the number.
    pub points: Vec<(f64, f64)>,
}

/// Lines beyond this are not drawn.
const SERIES_MAX: usize = 4;
/// A line of more points is drawn by the least and the greatest of each stretch.
const POINTS_MAX: usize = 240;
const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 170.0;
const LEFT: f64 = 58.0;
const BOTTOM: f64 = 26.0;
const TOP: f64 = 12.0;

/// Where numbers are on the chart.
struct Scale {
    last: f64,
    top: f64,
}

impl Scale {
    fn x(&self, seconds: f64) -> f64 {
        LEFT + (WIDTH - LEFT - 12.0) * (seconds / self.last).clamp(0.0, 1.0)
    }

    fn y(&self, number: f64) -> f64 {
        HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * (number / self.top).clamp(0.0, 1.0)
    }
}

impl Chart {
    /// The chart as SVG.
    pub fn svg(&self, shown: Shown<'_>) -> String {
        let finite = |point: &&(f64, f64)| point.0.is_finite() && point.1.is_finite();
        let series: Vec<(&str, Vec<(f64, f64)>)> = self
            .series
            .iter()
            .take(SERIES_MAX)
            .map(|series| {
                let points: Vec<(f64, f64)> =
                    series.points.iter().filter(finite).copied().collect();
                (series.name.as_str(), thinned(&points))
            })
            .collect();
        let all = || series.iter().flat_map(|(_, points)| points);
        let last = all()
            .fold(0.0, |most: f64, point| most.max(point.0))
            .max(1e-9);
        let top = nice(all().fold(0.0, |most: f64, point| most.max(point.1)));
        let mut out = open(shown, WIDTH, HEIGHT + 18.0, &self.title);
        let scale = Scale { last, top };
        self.draw_faults(&mut out, &scale);
        self.draw_axes(&mut out, &scale);
        let mut legend = LEFT;
        for (place, (name, points)) in series.iter().enumerate() {
            let line: Vec<String> = points
                .iter()
                .map(|&(seconds, number)| format!("{:.1},{:.1}", scale.x(seconds), scale.y(number)))
                .collect();
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(
                out,
                "<polyline class=\"series s{place}\" points=\"{}\"/>",
                line.join(" ")
            );
            let name = cut(name, 24);
            if !name.is_empty() {
                let at = HEIGHT + 10.0;
                let _ = writeln!(
                    out,
                    "<line class=\"series s{place}\" x1=\"{legend:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>\
                     <text class=\"time\" x=\"{:.1}\" y=\"{at:.1}\">{}</text>",
                    at - 4.0,
                    legend + 16.0,
                    at - 4.0,
                    legend + 21.0,
                    html(&name)
                );
                legend += 40.0 + 7.0 * name.chars().count() as f64;
            }
        }
        out + "</svg>\n"
    }

    fn draw_axes(&self, out: &mut String, scale: &Scale) {
        for step in 0..=4 {
            let number = scale.top * f64::from(step) / 4.0;
            let at = scale.y(number);
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"time\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - 12.0,
                LEFT - 6.0,
                at + 4.0,
                html(&format!("{}{}", short(number), cut(&self.unit, 12)))
            );
        }
        for step in 0..=4 {
            let seconds = scale.last * f64::from(step) / 4.0;
            let anchor = ["start", "middle", "middle", "middle", "end"][step as usize];
            let _ = writeln!(
                out,
                "<text class=\"time\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{} s</text>",
                scale.x(seconds),
                HEIGHT - 8.0,
                short(seconds)
            );
        }
    }

    fn draw_faults(&self, out: &mut String, scale: &Scale) {
        for (from, to, name) in self.faults.iter().take(60) {
            if !from.is_finite() || !to.is_finite() || *from > scale.last {
                continue;
            }
            let left = scale.x(*from);
            let rect = Rect {
                x: left,
                y: TOP,
                width: (scale.x(to.max(*from)) - left).max(2.0),
                height: HEIGHT - BOTTOM - TOP,
            };
            let _ = writeln!(
                out,
                "<g><title>{}</title>{}</g>",
                html(&cut(name, 60)),
                rounded(&rect, "fault")
            );
        }
    }
}

/// The least and greatest points of stretches.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= POINTS_MAX {
        return points.to_vec();
    }
    let stretch = points.len().div_ceil(POINTS_MAX / 2);
    let mut kept = Vec::new();
    for part in points.chunks(stretch) {
        let by_number = |one: &&(f64, f64), other: &&(f64, f64)| one.1.total_cmp(&other.1);
        let ends = [part.iter().min_by(by_number), part.iter().max_by(by_number)];
        let mut ends: Vec<(f64, f64)> = ends.into_iter().flatten().copied().collect();
        ends.sort_by(|one, other| one.0.total_cmp(&other.0));
        kept.extend(ends);
    }
    kept
}

/// A round number that is not less.
fn nice(number: f64) -> f64 {
    if number <= 0.0 || !number.is_finite() {
        return 1.0;
    }
    let power = 10f64.powf(number.log10().floor());
    let found = [1.0, 2.0, 4.0, 5.0, 8.0, 10.0]
        .into_iter()
        .map(|step| step * power);
    found
        .into_iter()
        .find(|step| *step >= number * 0.999)
        .unwrap_or(number)
}

/// A number in few letters.
fn short(number: f64) -> String {
    let text = match number {
        _ if number >= 1e9 => format!("{:.1}G", number / 1e9),
        _ if number >= 1e6 => format!("{:.1}M", number / 1e6),
        _ if number >= 1e4 => format!("{:.0}k", number / 1e3),
        _ if number >= 1e3 => format!("{:.1}k", number / 1e3),
        _ if number >= 10.0 => format!("{number:.0}"),
        _ if number >= 1.0 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    };
    match text.contains('.') {
        true => text
            .replace(".0k", "k")
            .replace(".0M", "M")
            .replace(".00", "")
            .replace(".0", ""),
        false => text,
    }
}

/// Durations as bars, one below the other.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Bars {
    /// What is shown.
    pub title: String,
    /// A name, the seconds, and what else there is to say.
    pub rows: Vec<(String, f64, String)>,
}

/// Bars beyond this are not drawn.
const BARS_MAX: usize = 40;

impl Bars {
    /// The bars as SVG.
    pub fn svg(&self, shown: Shown<'_>) -> String {
        let rows = &self.rows[..self.rows.len().min(BARS_MAX)];
        let most = rows
            .iter()
            .fold(0.0, |most: f64, row| most.max(row.1))
            .max(1e-9);
        let mut out = open(shown, 720.0, 22.0 * rows.len() as f64 + 8.0, &self.title);
        for (place, (name, seconds, note)) in rows.iter().enumerate() {
            let y = 4.0 + 22.0 * place as f64;
            let seconds = if seconds.is_finite() {
                seconds.max(0.0)
            } else {
                0.0
            };
            let rect = Rect {
                x: 210.0,
                y: y + 3.0,
                width: (200.0 * seconds / most).max(1.0),
                height: 13.0,
            };
            let _ = writeln!(
                out,
                "<text x=\"202\" y=\"{:.1}\" text-anchor=\"end\">{}</text>{}\
                 <text class=\"time\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                y + 14.0,
                html(&cut(name, 26)),
                rounded(&rect, "bar"),
                rect.x + rect.width + 7.0,
                y + 14.0,
                html(&cut(
                    &format!("{seconds:.3} s  {note}"),
                    64 - (rect.width / 8.0) as usize
                ))
            );
        }
        out + "</svg>\n"
    }
}
