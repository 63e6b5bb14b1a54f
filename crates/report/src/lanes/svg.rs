//! Lanes as SVG.

use super::place::{Places, TOP};
use super::{Bar, Fault, Lanes};
use crate::escape::{cut, html};
use crate::picture::Shown;
use crate::picture::layout::{LINE, PADDING, Rect, text_width};
use crate::picture::svg::{open, rounded};
use crate::words::status_word;
use history::Status;
use std::fmt::Write;

const LEFT: f64 = 84.0;
const LANE_GAP: f64 = 24.0;

/// Where the lanes are.
struct Areas {
    lefts: Vec<f64>,
    widths: Vec<f64>,
    width: f64,
    height: f64,
}

impl Lanes {
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

fn fault_name(fault: &Fault) -> String {
    cut(&fault.name, 28)
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
