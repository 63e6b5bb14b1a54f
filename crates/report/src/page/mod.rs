//! One page, one file: everything about a check, a run, a model or a program that is worth seeing.
//!
//! The page loads nothing from anywhere, runs no script but its own, and never grows beyond a limit: what
//! does not fit is counted. Parts are rendered in order; one that would go beyond the limit is left out,
//! and the page says so.

mod anomaly;
mod chart;
mod findings;
mod parts;
mod policy;
mod section;

pub use anomaly::{AnomalyView, Context, Details};
pub use chart::{Bars, Chart, Series};
pub use parts::{Schedule, ScheduleTurn, Sequence, Source, Table, Text};
pub use policy::policy;
pub use section::Section;

use crate::escape::{cut, html};
use crate::words::{count, grouped};
use std::fmt::Write;

/// The style of a page.
pub const STYLE: &str = concat!(
    include_str!("../assets/colours.css"),
    include_str!("../assets/drawing.css"),
    include_str!("../assets/page.css")
);
/// The script of a page.
pub const SCRIPT: &str = include_str!("../assets/page.js");

/// A page has at most so many bytes.
pub const BYTES_MAX: usize = 1_000_000;
/// Anomalies beyond this are in the list only.
const ANOMALIES_MAX: usize = 40;
/// Rows of that list.
const LISTED_MAX: usize = 400;
/// A row of the list has fewer bytes.
const ROW_BYTES: usize = 600;
/// Kept free for what stands after the parts.
const RESERVE: usize = 100_000;

/// How an outcome is coloured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tone {
    /// All is well.
    Good,
    /// Something is wrong.
    Bad,
    /// It is not known.
    #[default]
    Unsure,
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Bad => "bad",
            Tone::Unsure => "unsure",
        }
    }
}

/// How to see the same again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reproduce {
    /// The exact command.
    pub command: String,
    /// The version of Isolde.
    pub version: String,
    /// The seed, if chance was involved.
    pub seed: Option<u64>,
    /// What else matters: the database and its version, the machine.
    pub notes: Vec<String>,
}

/// A page.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Page {
    /// The heading: the file, the database, the protocol, the program.
    pub title: String,
    /// The outcome, in a few words, and how it is coloured.
    pub verdict: Option<(Tone, String)>,
    /// What the outcome means, in a sentence or two.
    pub lead: String,
    /// Names and numbers: sessions, transactions, how long it took.
    pub facts: Vec<(String, String)>,
    /// The parts.
    pub sections: Vec<Section>,
    /// How to see the same again.
    pub reproduce: Reproduce,
}

/// The parts that fit.
struct Rendered {
    /// Their places and what they look like.
    parts: Vec<(usize, String)>,
    /// The place of every anomaly, and whether it is among the parts.
    rows: Vec<(usize, bool)>,
    /// How many other parts do not fit.
    left_out: usize,
}

impl Page {
    /// The page as one file of at most [`BYTES_MAX`] bytes.
    pub fn html(&self) -> String {
        let mut out = self.head();
        let room = BYTES_MAX - RESERVE - out.len().min(BYTES_MAX / 4);
        let Rendered {
            parts,
            rows,
            left_out,
        } = self.parts(room);
        let shown: Vec<usize> = parts.iter().map(|(place, _)| *place).collect();
        out.push_str(&self.index(&rows, &shown));
        out.push_str("<main>\n");
        let mut is_listed = false;
        for (place, part) in parts {
            let is_anomaly = matches!(self.sections[place], Section::Anomaly(_));
            if is_anomaly && !is_listed {
                out.push_str(&self.anomalies(&rows));
                is_listed = true;
            }
            out.push_str(&part);
        }
        if left_out > 0 {
            let what = count(left_out as u64, "part");
            let _ = writeln!(
                out,
                "<p class=\"dim\">{what} left out, because the page would be too large.</p>"
            );
        }
        out.push_str(&self.again());
        out + "</main>\n<footer>Made by Isolde. This file loads nothing from anywhere.</footer>\n</body></html>\n"
    }

    fn head(&self) -> String {
        let title = html(&cut(&self.title, 200));
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n<title>{title}</title>\n\
             <style>{STYLE}</style>\n<script>{SCRIPT}</script>\n</head><body>\n\
             <header class=\"top\">\n<h1>{title}</h1>\n",
            html(&policy(STYLE, SCRIPT))
        );
        if let Some((tone, text)) = &self.verdict {
            let _ = writeln!(
                out,
                "<p><span class=\"verdict {}\">{}</span></p>",
                tone.class(),
                html(&cut(text, 200))
            );
        }
        if !self.lead.is_empty() {
            let _ = writeln!(
                out,
                "<p class=\"lead\">{}</p>",
                html(&cut(&self.lead, 2000))
            );
        }
        if !self.facts.is_empty() {
            out.push_str("<dl class=\"facts\">\n");
            for (name, value) in self.facts.iter().take(40) {
                let (name, value) = (html(&cut(name, 60)), html(&cut(value, 200)));
                let _ = writeln!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
            }
            out.push_str("</dl>\n");
        }
        out
    }

    /// Renders the parts in order, as many as there is room for.
    fn parts(&self, room: usize) -> Rendered {
        let (mut parts, mut rows, mut left_out) = (Vec::new(), Vec::new(), 0);
        let is_listed = |section: &&Section| matches!(section, Section::Anomaly(_));
        let listed = self.sections.iter().filter(is_listed).count();
        let mut used = ROW_BYTES * listed.min(LISTED_MAX);
        for (place, section) in self.sections.iter().enumerate() {
            let is_anomaly = matches!(section, Section::Anomaly(_));
            let is_full = rows.iter().any(|(_, is_shown)| !is_shown) || rows.len() >= ANOMALIES_MAX;
            let part = if is_anomaly && is_full {
                None
            } else {
                Some(section.html(&format!("p{place}"))).filter(|part| used + part.len() <= room)
            };
            if is_anomaly {
                rows.push((place, part.is_some()));
            } else if part.is_none() {
                left_out += 1;
            }
            if let Some(part) = part {
                used += part.len() + 200;
                parts.push((place, part));
            }
        }
        Rendered {
            parts,
            rows,
            left_out,
        }
    }

    /// Links to the parts that are shown.
    fn index(&self, rows: &[(usize, bool)], shown: &[usize]) -> String {
        let has_groups = |section: &Section| matches!(section, Section::Group(..));
        let class = match self.sections.iter().any(has_groups) {
            true => " class=\"lines\"",
            false => "",
        };
        let mut out = format!("<nav class=\"index\" aria-label=\"Parts\"><ul{class}>\n");
        let mut is_listed = false;
        for (place, section) in self.sections.iter().enumerate().take(60) {
            if matches!(section, Section::Anomaly(_)) {
                if !is_listed {
                    let what = match rows.len() {
                        1 => "1 kind of anomaly".to_string(),
                        number => format!("{number} kinds of anomalies"),
                    };
                    let _ = writeln!(out, "<li><a href=\"#anomalies\">{what}</a></li>");
                    is_listed = true;
                }
                continue;
            }
            if !shown.contains(&place) {
                continue;
            }
            let title = html(&cut(&section.title(), 100));
            let _ = writeln!(out, "<li><a href=\"#p{place}\">{title}</a></li>");
        }
        if !self.reproduce.command.is_empty() {
            out.push_str("<li><a href=\"#again\">See it again</a></li>\n");
        }
        format!("{out}</ul></nav>\n</header>\n")
    }

    /// The list of all anomalies.
    fn anomalies(&self, rows: &[(usize, bool)]) -> String {
        let mut out = "<section id=\"anomalies\">\n<h2>Anomalies</h2>\n<table class=\"stacked\"><thead><tr>\
                       <th>kind</th><th>what happened</th><th>violates</th><th class=\"number\">how often</th>\
                       </tr></thead><tbody>\n"
            .to_string();
        for &(place, is_shown) in rows.iter().take(LISTED_MAX) {
            let Section::Anomaly(view) = &self.sections[place] else {
                continue;
            };
            let name = html(view.kind.name());
            let name = match is_shown {
                true => format!("<a href=\"#p{place}\">{name}</a>"),
                false => format!("{name} <span class=\"dim\">(not drawn)</span>"),
            };
            let level = view.level.map_or("", |level| level.name());
            let _ = writeln!(
                out,
                "<tr><td>{name}</td><td>{}</td><td data-head=\"violates\">{level}</td>\
                 <td class=\"number\" data-head=\"how often\">{}</td></tr>",
                html(view.kind.row().meaning),
                grouped(view.count)
            );
        }
        out.push_str("</tbody></table>\n");
        if let Some(more @ 1..) = rows.len().checked_sub(LISTED_MAX) {
            let _ = writeln!(
                out,
                "<p class=\"dim\">… and {}.</p>",
                count(more as u64, "more anomaly")
            );
        }
        out + "</section>\n"
    }

    /// How to see the same again.
    fn again(&self) -> String {
        let again = &self.reproduce;
        if again.command.is_empty() && again.notes.is_empty() {
            return String::new();
        }
        let mut out = "<section id=\"again\">\n<h2>See it again</h2>\n".to_string();
        if !again.command.is_empty() {
            out.push_str(&parts::listing(&cut(&again.command, 4000)));
        }
        let mut facts = Vec::new();
        if !again.version.is_empty() {
            facts.push(format!("Isolde {}", cut(&again.version, 80)));
        }
        facts.extend(again.seed.map(|seed| format!("seed {seed}")));
        facts.extend(again.notes.iter().take(20).map(|note| cut(note, 300)));
        if !facts.is_empty() {
            let _ = writeln!(out, "<p class=\"dim\">{}</p>", html(&facts.join(" · ")));
        }
        out + "</section>\n"
    }
}
