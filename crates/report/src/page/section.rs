//! The parts of a page, and what each looks like.

use super::anomaly::{self, AnomalyView};
use super::chart::{Bars, Chart};
use super::parts::{Schedule, Sequence, Source, Table, Text};
use crate::escape::{cut, html};
use crate::lattice::Lattice;
use crate::picture::{Picture, Shown};
use crate::words::grouped;
use std::fmt::Write;

/// Parts of a group beyond this are left out.
const PARTS_MAX: usize = 40;

/// A part of a page.
#[derive(Clone, PartialEq, Debug)]
pub enum Section {
    /// The levels, coloured by verdict.
    Lattice(Lattice),
    /// An anomaly.
    Anomaly(Box<AnomalyView>),
    /// A graph that is not that of a history's anomaly: a heading and the picture.
    Picture(String, Picture),
    /// Charts side by side.
    Charts(Vec<Chart>),
    /// Durations.
    Bars(Bars),
    /// Lines of a program.
    Source(Source),
    /// Turns.
    Schedule(Schedule),
    /// A chart that somebody else drew.
    Sequence(Sequence),
    /// A table.
    Table(Table),
    /// Text.
    Text(Text),
    /// Parts that belong together: a heading, and those that have headings of their own below it.
    Group(String, Vec<Section>),
}

impl Section {
    /// The heading.
    pub fn title(&self) -> String {
        match self {
            Section::Lattice(_) => "Levels".to_string(),
            Section::Anomaly(view) => view.kind.name().to_string(),
            Section::Picture(title, _) => title.clone(),
            Section::Charts(_) => "Over time".to_string(),
            Section::Bars(bars) => bars.title.clone(),
            Section::Source(source) => source.title.clone(),
            Section::Schedule(schedule) => schedule.title.clone(),
            Section::Sequence(sequence) => sequence.title.clone(),
            Section::Table(table) => table.title.clone(),
            Section::Text(text) => text.title.clone(),
            Section::Group(title, _) => title.clone(),
        }
    }

    /// The part as HTML with its heading, for a page that has [`STYLE`] and [`SCRIPT`]. Names in it begin
    /// with `anchor`, of letters, digits and `-`.
    pub fn html(&self, anchor: &str) -> String {
        let mut heading = html(&cut(&self.title(), 120));
        let class = match self {
            Section::Anomaly(view) => {
                if view.count > 1 {
                    let _ = write!(
                        heading,
                        " <span class=\"dim\">× {}</span>",
                        grouped(view.count)
                    );
                }
                if let Some(level) = view.level {
                    let _ = write!(
                        heading,
                        " <span class=\"verdict bad\">violates {level}</span>"
                    );
                }
                " class=\"anomaly\""
            }
            Section::Group(..) => " class=\"anomaly\"",
            _ => "",
        };
        format!(
            "<section id=\"{anchor}\"{class}>\n<h2>{heading}</h2>\n{}</section>\n",
            self.body(anchor)
        )
    }

    fn body(&self, anchor: &str) -> String {
        let within = Shown::Within { anchor };
        let scroll =
            |drawing: String| format!("<div class=\"scroll\" tabindex=\"0\">{drawing}</div>\n");
        match self {
            Section::Lattice(lattice) => {
                let about = "An isolation level is a promise about what transactions that run at the same \
                             time may see of each other; the strongest is at the top. A line leads down \
                             from a level to what it implies. Green holds (✓), red is violated (✗), \
                             yellow is not known (?), dashed was not asked (·).";
                format!(
                    "<p class=\"dim\">{about}</p>\n<div class=\"wide\">{}</div>\n{}",
                    scroll(lattice.svg(within)),
                    lattice.list()
                )
            }
            Section::Anomaly(view) => view.html(anchor),
            Section::Picture(_, picture) => anomaly::graph(picture, anchor),
            Section::Charts(charts) => {
                let mut out = "<div class=\"charts\">\n".to_string();
                for chart in charts.iter().take(12) {
                    let _ = writeln!(
                        out,
                        "<figure><figcaption>{}</figcaption>{}</figure>",
                        html(&cut(&chart.title, 80)),
                        chart.svg(within)
                    );
                }
                out.push_str("</div>\n");
                if charts.iter().any(|chart| !chart.faults.is_empty()) {
                    out.push_str("<p class=\"dim\">Shaded: while a fault was at work.</p>\n");
                }
                out
            }
            Section::Bars(bars) => scroll(bars.svg(within)),
            Section::Source(source) => source.html(),
            Section::Schedule(schedule) => schedule.html(),
            Section::Sequence(sequence) => sequence.html(),
            Section::Table(table) => table.html(),
            Section::Text(text) => text.html(),
            Section::Group(_, parts) => {
                let mut out = String::new();
                for (place, part) in parts.iter().enumerate().take(PARTS_MAX) {
                    let title = part.title();
                    if !title.is_empty() {
                        let _ = writeln!(out, "<h3>{}</h3>", html(&cut(&title, 120)));
                    }
                    // A group in a group is not opened: nobody makes one, and nothing here may be deep.
                    if !matches!(part, Section::Group(..)) {
                        out.push_str(&part.body(&format!("{anchor}-part{place}")));
                    }
                }
                out
            }
        }
    }
}
