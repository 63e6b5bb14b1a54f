//! What every kind of anomaly is, for somebody who has never read a paper on isolation: the smallest
//! example, what it does to an application, and which settings prevent it.
//!
//! Tests judge every example by the executable definition of the levels: it violates what the entry
//! says, and has what the entry says it keeps.

mod causal;
mod cycles;
mod example;
mod orders;
mod reads;
mod settings;

pub use example::{BadStep, Example};
pub use settings::{Remedy, Setting};

use crate::escape::{html, wrap};
use crate::words::listed;
use history::{AnomalyKind, Level};
use std::fmt::Write;

/// What is known of a kind of anomaly.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The kind.
    pub kind: AnomalyKind,
    /// What it is.
    pub what: &'static str,
    /// The smallest example.
    pub example: Example,
    /// What is wrong in the example.
    pub wrong: &'static str,
    /// The weakest levels that the example violates.
    pub breaks: &'static [Level],
    /// The strongest levels that the example still has.
    pub keeps: &'static [Level],
    /// What it does to an application.
    pub matters: &'static str,
    /// What prevents it.
    pub remedy: Remedy,
}

/// An example without shared clients and times.
const fn steps(before: &'static str, steps: &'static [(&'static str, &'static str)]) -> Example {
    Example {
        before,
        clients: &[],
        steps,
        timed: false,
    }
}

/// An example in which some transactions are of one client.
const fn with_clients(
    before: &'static str,
    clients: &'static [&'static str],
    steps: &'static [(&'static str, &'static str)],
) -> Example {
    Example {
        before,
        clients,
        steps,
        timed: false,
    }
}

/// An example in which it matters when things happened.
const fn timed(before: &'static str, steps: &'static [(&'static str, &'static str)]) -> Example {
    Example {
        before,
        clients: &[],
        steps,
        timed: true,
    }
}

/// All entries, in the order of [`history::ANOMALIES`].
pub fn entries() -> Vec<&'static Entry> {
    let known = reads::ENTRIES
        .iter()
        .chain(causal::ENTRIES)
        .chain(cycles::ENTRIES)
        .chain(orders::ENTRIES);
    let known: Vec<&Entry> = known.collect();
    let entry =
        |row: &history::AnomalyRow| known.iter().copied().find(|entry| entry.kind == row.kind);
    history::ANOMALIES.iter().filter_map(entry).collect()
}

/// The entry of a kind of anomaly.
pub fn entry(kind: AnomalyKind) -> Option<&'static Entry> {
    entries().into_iter().find(|entry| entry.kind == kind)
}

/// A name as it is compared.
fn plain(text: &str) -> String {
    text.to_lowercase().replace(['_', ' '], "-")
}

/// What an anomaly is called: our name, then the labels of the literature.
fn names(row: &history::AnomalyRow) -> impl Iterator<Item = String> {
    let labels = row.label.split([',', '(', ')', ':']);
    std::iter::once(row.name)
        .chain(labels.map(str::trim))
        .filter(|name| !name.is_empty())
        .map(plain)
}

/// The kind that somebody means by a name: ours, a label of the literature, in any case.
pub fn find(name: &str) -> Option<AnomalyKind> {
    let wanted = plain(name);
    let mut rows = history::ANOMALIES.iter();
    let found = rows.clone().find(|row| plain(row.name) == wanted);
    let is_label = |row: &&history::AnomalyRow| names(row).any(|name| name == wanted);
    found.or_else(|| rows.find(is_label)).map(|row| row.kind)
}

/// How many names are offered to somebody who got one wrong.
const NEAR_MAX: usize = 5;

/// Our names of the anomalies that somebody may have meant: those whose names are misspelt by a letter or two,
/// begin so, or contain it.
pub fn near(name: &str) -> Vec<&'static str> {
    let wanted = plain(name);
    let how_far = |name: &String| {
        let errors = name.len() / 4;
        let begins = name.starts_with(&wanted) || wanted.starts_with(name.as_str());
        match edits(name, &wanted) {
            edits if edits <= errors && edits < wanted.len().min(name.len()) => Some(edits),
            _ if wanted.len() < 2 || name.len() < 2 => None,
            _ if begins => Some(10),
            _ => name.contains(&wanted).then_some(20),
        }
    };
    let mut found: Vec<(usize, &str)> = history::ANOMALIES
        .iter()
        .filter_map(|row| {
            Some((
                names(row).filter_map(|name| how_far(&name)).min()?,
                row.name,
            ))
        })
        .collect();
    found.sort_by_key(|&(far, _)| far);
    found.truncate(NEAR_MAX);
    found.into_iter().map(|(_, name)| name).collect()
}

/// How many letters have to be changed, added or left out to make one word of the other.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, letter) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, other) in to.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

impl Entry {
    /// The entry for a terminal of this many columns.
    pub fn text(&self, width: usize) -> String {
        let row = self.kind.row();
        let mut out = format!("{} [{}]\n\n", row.name, row.label);
        paragraph(&mut out, self.what, width);
        out.push_str("\nThe smallest example (time goes down)\n\n");
        out.push_str(&self.example.text());
        out.push('\n');
        paragraph(&mut out, self.wrong, width);
        paragraph(&mut out, &self.levels(), width);
        out.push_str("\nWhy it matters\n\n");
        paragraph(&mut out, self.matters, width);
        out.push_str("\nWhat prevents it\n\n");
        for setting in self.remedy.settings() {
            let text = format!("{}: {}.", setting.engine, setting.text);
            for (place, line) in wrap(&text, width.saturating_sub(6).max(20))
                .iter()
                .enumerate()
            {
                let margin = if place == 0 { "  - " } else { "    " };
                let _ = writeln!(out, "{margin}{line}");
            }
        }
        out
    }

    /// The entry as a part of a page.
    pub fn html(&self) -> String {
        let mut out = format!(
            "<p>{}</p>\n<h4>The smallest example</h4>\n<pre class=\"example\">{}</pre>\n<p>{} {}</p>\n\
             <h4>Why it matters</h4>\n<p>{}</p>\n<h4>What prevents it</h4>\n<dl class=\"settings\">\n",
            html(self.what),
            html(&self.example.text()),
            html(self.wrong),
            html(&self.levels()),
            html(self.matters)
        );
        for setting in self.remedy.settings() {
            let _ = writeln!(
                out,
                "<dt>{}</dt><dd>{}</dd>",
                html(setting.engine),
                html(setting.text)
            );
        }
        out + "</dl>\n"
    }

    /// What the example violates and what it keeps.
    fn levels(&self) -> String {
        let names = |levels: &[Level]| -> String {
            let names: Vec<String> = levels
                .iter()
                .map(|level| level.name().to_string())
                .collect();
            listed(&names)
        };
        let kept = match self.keeps {
            [] => "No level holds.".to_string(),
            levels => format!("It still has {}.", names(levels)),
        };
        format!(
            "The example violates {} (and every stronger level). {kept}",
            names(self.breaks)
        )
    }
}

fn paragraph(out: &mut String, text: &str, width: usize) {
    for line in wrap(text, width.saturating_sub(2).max(20)) {
        let _ = writeln!(out, "  {line}");
    }
}
