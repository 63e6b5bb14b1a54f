//! The transactions of a picture on lanes: a lane a session, time goes down.
//!
//! **Definition.** Every transaction is a box in the lane of its session. With times, its upper side is
//! its start and its lower side its end, so two boxes stand beside each other exactly if the
//! transactions ran at the same time; without, a box stands below those that are known to come before.
//!
//! **Steps.** The starts and ends in order of time; each is put below the last one, and an end as far
//! below its start as the operations need. So time is in order but not to scale; the numbers at the
//! left say when. Faults are bands between their times.
//!
//! **Cost.** Quadratic in the transactions shown, of which there are a dozen.

use crate::escape::html;
use crate::picture::layout::{LINE, PADDING, Rect, text_width};
use crate::picture::svg::{open, rounded};
use crate::picture::{ArrowKind, Certainty, Line, Picture, Shown};
use crate::words::{Words, status_word};
use history::{EdgeKind, History, Interval, Status, TxnId};
use std::fmt::Write;

/// Something that was done to the servers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fault {
    /// What was done: `kill n2`.
    pub name: String,
    /// The node it was done to; empty means all of them.
    pub node: String,
    /// When it began, on the clock of the history.
    pub start: i64,
    /// When it ended.
    pub end: i64,
}

/// What is known besides the history.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The node that served a transaction.
    pub node: &'a dyn Fn(TxnId) -> Option<String>,
    /// What was done to the servers.
    pub faults: &'a [Fault],
    /// Whether times are in nanoseconds, as a recording of `run` has them.
    pub nanoseconds: bool,
}

impl Default for Surroundings<'_> {
    fn default() -> Self {
        Surroundings {
            node: &|_| None,
            faults: &[],
            nanoseconds: false,
        }
    }
}

/// Transactions on lanes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Lanes {
    heads: Vec<(String, String)>,
    bars: Vec<Bar>,
    faults: Vec<Fault>,
    nanoseconds: bool,
    /// Which bars are known to come before which.
    before: Vec<(usize, usize)>,
}

#[derive(Clone, PartialEq, Debug)]
struct Bar {
    lane: usize,
    name: String,
    status: Status,
    interval: Option<Interval>,
    lines: Vec<Line>,
    more: usize,
}

const TOP: f64 = 46.0;
const LEFT: f64 = 84.0;
const LANE_GAP: f64 = 24.0;
/// Between two events.
const STEP: f64 = 9.0;

impl Lanes {
    /// The transactions of a picture.
    pub fn of(history: &History, picture: &Picture, around: &Surroundings<'_>) -> Lanes {
        let words = Words::new(history);
        let mut shown: Vec<(usize, TxnId)> = Vec::new();
        for (place, txn_box) in picture.boxes.iter().enumerate() {
            shown.extend(txn_box.txn.map(|txn| (place, txn)));
        }
        // Session by session; within one, transactions are numbered in order.
        shown.sort_by_key(|&(_, txn)| txn);
        let mut lanes = Lanes {
            nanoseconds: around.nanoseconds,
            ..Lanes::default()
        };
        let mut sessions = Vec::new();
        let mut bar_of = vec![None; picture.boxes.len()];
        for (place, txn) in shown {
            let session = history.session_of(txn);
            let lane = sessions.iter().position(|other| *other == session);
            let lane = lane.unwrap_or_else(|| {
                sessions.push(session);
                let node = (around.node)(txn).unwrap_or_default();
                let head = format!("session {}", words.session(txn));
                lanes.heads.push((head, crate::escape::cut(&node, 20)));
                sessions.len() - 1
            });
            let txn_box = &picture.boxes[place];
            bar_of[place] = Some(lanes.bars.len());
            lanes.bars.push(Bar {
                lane,
                name: txn_box.name.clone(),
                status: history.status(txn),
                interval: history.interval(txn),
                lines: txn_box.lines.clone(),
                more: txn_box.more,
            });
        }
        for arrow in &picture.arrows {
            let is_seen = arrow.certainty == Certainty::Seen;
            let is_order = matches!(
                arrow.kind,
                ArrowKind::Of(EdgeKind::So | EdgeKind::Wr | EdgeKind::Rt)
            );
            if let (true, true, Some(from), Some(to)) =
                (is_seen, is_order, bar_of[arrow.from], bar_of[arrow.to])
            {
                lanes.before.push((from, to));
            }
        }
        lanes.faults = lanes.touching(around.faults);
        lanes
    }

    /// Whether there is anything to draw.
    pub fn is_empty(&self) -> bool {
        self.bars.is_empty()
    }

    /// Whether the transactions carry times.
    pub fn is_timed(&self) -> bool {
        self.bars.iter().all(|bar| bar.interval.is_some())
    }

    /// The first start and the last end.
    fn span(&self) -> Option<(i64, i64)> {
        let intervals = || self.bars.iter().filter_map(|bar| bar.interval);
        let start = intervals().map(|interval| interval.start).min()?;
        let ends = intervals().map(Interval::completion);
        let end = ends.filter(|end| *end != Interval::NEVER).max();
        Some((start, end.unwrap_or(start).max(start)))
    }

    /// The faults that were under way while the transactions ran, the first dozen.
    fn touching(&self, faults: &[Fault]) -> Vec<Fault> {
        let Some((start, end)) = self.span().filter(|_| self.is_timed()) else {
            return Vec::new();
        };
        let touches = |fault: &&Fault| fault.start <= end && fault.end >= start;
        faults.iter().filter(touches).take(12).cloned().collect()
    }

    /// The lanes as SVG.
    pub fn svg(&self, shown: Shown<'_>) -> String {
        let places = if self.is_timed() {
            self.by_time()
        } else {
            self.by_order()
        };
        let widths = self.widths();
        let mut left = if self.is_timed() { LEFT } else { LANE_GAP };
        let mut lefts = Vec::new();
        for width in &widths {
            lefts.push(left);
            left += width + LANE_GAP;
        }
        let height = places.bottom + 20.0;
        // Names of faults may be pushed down by others.
        let last_name = height + 13.0 * self.faults.len().saturating_sub(1) as f64;
        let title = "The same transactions by session; time goes down";
        let names = self
            .faults
            .iter()
            .map(|fault| text_width(&fault_name(fault)));
        let margin = names.fold(0.0, f64::max);
        let mut out = open(
            shown,
            left.max(120.0) + margin,
            height.max(last_name),
            title,
        );
        let areas = Areas {
            lefts,
            widths,
            width: left,
            height,
        };
        self.draw_faults(&mut out, &places, &areas);
        self.draw_times(&mut out, &places, &areas);
        for (lane, (head, note)) in self.heads.iter().enumerate() {
            let x = areas.lefts[lane];
            let middle = x + areas.widths[lane] / 2.0;
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(
                out,
                "<line class=\"lane\" x1=\"{middle:.1}\" y1=\"{TOP}\" x2=\"{middle:.1}\" y2=\"{:.1}\"/>\
                 <text class=\"head\" x=\"{x:.1}\" y=\"18\">{}</text>\
                 <text class=\"note\" x=\"{x:.1}\" y=\"34\">{}</text>",
                height - 8.0,
                html(head),
                html(note)
            );
        }
        for (bar, &(top, bottom)) in self.bars.iter().zip(&places.bars) {
            let rect = Rect {
                x: areas.lefts[bar.lane],
                y: top,
                width: areas.widths[bar.lane],
                height: bottom - top,
            };
            draw_bar(&mut out, bar, &rect);
        }
        out + "</svg>\n"
    }

    fn widths(&self) -> Vec<f64> {
        let mut widths: Vec<f64> = self
            .heads
            .iter()
            .map(|(head, note)| text_width(head).max(text_width(note)))
            .collect();
        for bar in &self.bars {
            let lines = bar.lines.iter().map(|line| text_width(&line.text) + 14.0);
            let name = text_width(&bar.name) * 1.08 + text_width(status_word(bar.status)) + 14.0;
            let own = lines.fold(name, f64::max) + 2.0 * PADDING;
            widths[bar.lane] = widths[bar.lane].max(own);
        }
        widths
    }

    fn by_time(&self) -> Places {
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

    fn by_order(&self) -> Places {
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

    /// A band for each fault over the lanes of its node, and its name at the right side.
    fn draw_faults(&self, out: &mut String, places: &Places, areas: &Areas) {
        let mut free = TOP;
        for fault in &self.faults {
            let (top, bottom) = (places.at(fault.start), places.at(fault.end));
            let is_hit = |node: &String| fault.node.is_empty() || *node == fault.node;
            let is_known = self.heads.iter().any(|(_, node)| is_hit(node));
            for (lane, (_, node)) in self.heads.iter().enumerate() {
                if is_known && !is_hit(node) {
                    continue;
                }
                let rect = Rect {
                    x: areas.lefts[lane] - LANE_GAP / 2.0,
                    y: top,
                    width: areas.widths[lane] + LANE_GAP,
                    height: (bottom - top).max(4.0),
                };
                let _ = writeln!(out, "{}", rounded(&rect, "fault"));
            }
            let y = (top + 11.0).max(free + 13.0);
            free = y;
            let _ = writeln!(
                out,
                "<text class=\"fault-name\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
                areas.width,
                html(&fault_name(fault))
            );
        }
    }

    fn draw_times(&self, out: &mut String, places: &Places, areas: &Areas) {
        let Some((start, _)) = self.span().filter(|_| self.is_timed()) else {
            return;
        };
        let mut last = f64::MIN;
        for &(time, y) in &places.times {
            if y - last < LINE - 3.0 {
                continue;
            }
            last = y;
            let _ = writeln!(
                out,
                "<line class=\"tick\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"time\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                areas.width - LANE_GAP / 2.0,
                LEFT - 10.0,
                y + 4.0,
                time_text(time.saturating_sub(start), self.nanoseconds)
            );
        }
        debug_assert!(areas.height >= places.bottom);
    }
}

/// Where the lanes are.
struct Areas {
    lefts: Vec<f64>,
    widths: Vec<f64>,
    width: f64,
    height: f64,
}

/// Where the boxes are, and where which time is.
struct Places {
    bars: Vec<(f64, f64)>,
    times: Vec<(i64, f64)>,
    bottom: f64,
}

impl Places {
    /// Where a time is, between those that are known.
    fn at(&self, time: i64) -> f64 {
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

fn fault_name(fault: &Fault) -> String {
    crate::escape::cut(&fault.name, 28)
}

fn height(bar: &Bar) -> f64 {
    let rows = 1 + bar.lines.len() + usize::from(bar.more > 0);
    rows as f64 * LINE + 2.0 * PADDING - 4.0
}

fn draw_bar(out: &mut String, bar: &Bar, rect: &Rect) {
    let class = if bar.status == Status::Committed {
        "bar-box"
    } else {
        "doubtful"
    };
    let (x, mut y) = (rect.x + PADDING, rect.y + PADDING + 8.0);
    let _ = write!(
        out,
        "<g class=\"{class}\">{}<text class=\"name\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
        rounded(rect, "box"),
        html(&bar.name)
    );
    if bar.status != Status::Committed {
        let after = x + text_width(&bar.name) * 1.08 + 10.0;
        let word = status_word(bar.status);
        let _ = write!(
            out,
            "<text class=\"note\" x=\"{after:.1}\" y=\"{y:.1}\">{word}</text>"
        );
    }
    for line in &bar.lines {
        y += LINE;
        let matters = if line.matters { " matters" } else { "" };
        let _ = write!(
            out,
            "<circle class=\"mark{matters}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.2\"/>\
             <text class=\"line{matters}\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
            x + 3.0,
            y - 4.0,
            x + 14.0,
            html(&line.text)
        );
    }
    if bar.more > 0 {
        y += LINE;
        let _ = write!(
            out,
            "<text class=\"more\" x=\"{:.1}\" y=\"{y:.1}\">… {} more</text>",
            x + 14.0,
            bar.more
        );
    }
    out.push_str("</g>\n");
}

/// A time since the first start.
fn time_text(time: i64, nanoseconds: bool) -> String {
    if !nanoseconds {
        return format!("+{time}");
    }
    let time = time as f64;
    match time {
        _ if time >= 1e9 => format!("+{:.3} s", time / 1e9),
        _ if time >= 1e6 => format!("+{:.2} ms", time / 1e6),
        _ => format!("+{:.1} µs", time / 1e3),
    }
}
