//! One anomaly on a page: the story, the graph with its reasons, the lanes, the statements.

use crate::encyclopedia;
use crate::escape::{cut, html};
use crate::lanes::{Lanes, Surroundings};
use crate::picture::{Certainty, Picture, Role, Shown, TextStyle};
use crate::story::Story;
use crate::words::count;
use history::{Anomaly, AnomalyKind, History, Level, TxnId};
use std::fmt::Write;

/// What was recorded of a transaction besides its operations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Details {
    /// What was said to the database, a statement a line, with results.
    pub statements: Vec<String>,
    /// The database's own numbers: a name and a number each, such as `xid` and `4711`.
    pub ids: Vec<(String, String)>,
    /// Where in the recording it is: `line 17`.
    pub place: String,
}

/// Everything to be shown of an anomaly.
#[derive(Clone, PartialEq, Debug)]
pub struct AnomalyView {
    /// The kind.
    pub kind: AnomalyKind,
    /// How many there are.
    pub count: u64,
    /// The weakest level that it violates, as far as was asked.
    pub level: Option<Level>,
    /// The graph.
    pub picture: Picture,
    /// The same on lanes.
    pub lanes: Lanes,
    /// The same in words.
    pub story: Story,
    /// The explanation that came with the evidence.
    pub explanation: String,
    /// What else was recorded, by the name of the transaction.
    pub details: Vec<(String, Details)>,
}

/// What is known besides the anomaly and its history.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The weakest level asked about that the anomaly violates.
    pub level: Option<Level>,
    /// The levels that hold.
    pub holding: &'a [Level],
    /// Nodes, faults and times.
    pub around: Surroundings<'a>,
    /// Statements and the database's own numbers.
    pub details: &'a dyn Fn(TxnId) -> Details,
}

impl Default for Context<'_> {
    fn default() -> Self {
        Context {
            level: None,
            holding: &[],
            around: Surroundings::default(),
            details: &|_| Details::default(),
        }
    }
}

/// Statements of a transaction beyond this are counted.
const STATEMENTS_MAX: usize = 24;

impl AnomalyView {
    /// What is to be shown of an anomaly of a history.
    pub fn new(history: &History, anomaly: &Anomaly, context: &Context<'_>) -> AnomalyView {
        let picture = Picture::of(history, anomaly);
        let txns = picture
            .boxes
            .iter()
            .filter_map(|txn| Some((txn.name.clone(), txn.txn?)));
        let details = txns
            .map(|(name, txn)| (name, (context.details)(txn)))
            .filter(|(_, details)| *details != Details::default())
            .collect();
        AnomalyView {
            kind: anomaly.kind,
            count: anomaly.count,
            level: context.level,
            lanes: Lanes::of(history, &picture, &context.around),
            story: Story::of(history, anomaly, &picture, context.level, context.holding),
            explanation: anomaly.explanation.clone(),
            picture,
            details,
        }
    }

    /// The anomaly as files: the ending of the name, and the content.
    pub fn files(&self) -> Vec<(&'static str, String)> {
        let mut files = vec![
            (
                "txt",
                format!(
                    "{}\n{}",
                    self.story.text(100),
                    self.picture.text(TextStyle {
                        width: 100,
                        ascii: false
                    })
                ),
            ),
            ("svg", self.picture.svg(Shown::Alone)),
            ("dot", self.picture.dot()),
            ("mmd", self.picture.mermaid()),
            ("tex", self.picture.tikz()),
            ("json", format!("{}\n", self.picture.json())),
        ];
        if !self.lanes.is_empty() {
            files.push(("lanes.svg", self.lanes.svg(Shown::Alone)));
        }
        files
    }

    /// The anomaly as a part of a page; names in it begin with `anchor`.
    pub fn html(&self, anchor: &str) -> String {
        let row = self.kind.row();
        let mut out = format!(
            "<p class=\"lead\">{} <span class=\"dim\">[{}]</span></p>\n",
            html(&self.story.what),
            html(row.label)
        );
        out.push_str(&self.told());
        out.push_str("<h3>Who depends on whom</h3>\n");
        out.push_str(&graph(&self.picture, anchor));
        if !self.lanes.is_empty() {
            let heading = match self.lanes.is_timed() {
                true => "When it happened",
                false => "In which order (there are no times)",
            };
            let _ = write!(
                out,
                "<h3>{heading}</h3>\n<div class=\"scroll\" tabindex=\"0\">{}</div>\n",
                self.lanes.svg(Shown::Within { anchor })
            );
        }
        out.push_str(&self.recorded());
        if let Some(entry) = encyclopedia::entry(self.kind) {
            let _ = write!(
                out,
                "<details><summary>About {}: the smallest example, and what prevents it</summary>\n{}</details>\n",
                html(row.name),
                entry.html()
            );
        }
        out
    }

    fn told(&self) -> String {
        let story = &self.story;
        let item = |text: &String| format!("<li>{}</li>\n", html(text));
        let mut out = "<div class=\"story\">\n<div>\n<h3>What happened</h3>\n<ul>\n".to_string();
        out.extend(story.happened.iter().map(item));
        out.push_str("</ul>\n</div>\n<div>\n<h3>Why that cannot be</h3>\n");
        match story.contradiction.as_slice() {
            [first, steps @ .., last] if !steps.is_empty() => {
                let _ = write!(out, "<p>{}</p>\n<ol>\n", html(first));
                out.extend(steps.iter().map(item));
                let _ = write!(out, "</ol>\n<p><strong>{}</strong></p>\n", html(last));
            }
            few => {
                for text in few {
                    let _ = writeln!(out, "<p><strong>{}</strong></p>", html(&cut(text, 4000)));
                }
            }
        }
        out.push_str("</div>\n");
        if !story.matters.is_empty() {
            let _ = write!(
                out,
                "<div>\n<h3>What this does to an application</h3>\n<p>{}</p>\n</div>\n",
                html(&story.matters)
            );
        }
        if !story.remains.is_empty() {
            let _ = write!(
                out,
                "<div>\n<h3>What still holds</h3>\n<p>{}</p>\n</div>\n",
                html(&story.remains)
            );
        }
        out + "</div>\n"
    }

    fn recorded(&self) -> String {
        if self.details.is_empty() {
            return String::new();
        }
        let is_said = |(_, details): &(String, Details)| !details.statements.is_empty();
        let heading = match self.details.iter().any(is_said) {
            true => "What was said to the database",
            false => "Where it is recorded",
        };
        let mut out = format!("<h3>{heading}</h3>\n");
        for (name, details) in &self.details {
            let ids: Vec<String> = details
                .ids
                .iter()
                .take(12)
                .map(|(what, id)| format!("{} {}", cut(what, 24), cut(id, 60)))
                .collect();
            let _ = writeln!(
                out,
                "<h4>{} <span class=\"dim mono\">{}</span></h4>",
                html(name),
                html(
                    &[cut(&details.place, 80), ids.join(", ")]
                        .into_iter()
                        .filter(|part| !part.is_empty())
                        .collect::<Vec<String>>()
                        .join(", ")
                )
            );
            let mut lines: Vec<String> = details
                .statements
                .iter()
                .take(STATEMENTS_MAX)
                .map(|line| cut(line, 240))
                .collect();
            if let Some(more @ 1..) = details.statements.len().checked_sub(STATEMENTS_MAX) {
                lines.push(format!("… and {}", count(more as u64, "more statement")));
            }
            if !lines.is_empty() {
                let _ = writeln!(out, "<pre tabindex=\"0\">{}</pre>", html(&lines.join("\n")));
            }
        }
        out
    }
}

/// A picture with the reasons of its arrows beside it.
pub(super) fn graph(picture: &Picture, anchor: &str) -> String {
    let reading = match picture.reading() {
        text if text.is_empty() => text,
        text => format!("<p class=\"dim\">{}</p>\n", html(&text)),
    };
    let mut out = format!(
        "{reading}<div class=\"graph\">\n<div><div class=\"scroll\" tabindex=\"0\">{}</div>\n{}</div>\n",
        picture.svg(Shown::Within { anchor }),
        legend(picture)
    );
    out.push_str("<div>\n");
    if !picture.arrows.is_empty() {
        out.push_str("<ol class=\"reasons\">\n");
    }
    for (place, arrow) in picture.arrows.iter().enumerate() {
        let (from, to) = (
            &picture.boxes[arrow.from].name,
            &picture.boxes[arrow.to].name,
        );
        let role = match arrow.role {
            Role::Circle => "",
            Role::Support => " support",
        };
        let kind = arrow.kind.name();
        let _ = write!(
            out,
            "<li id=\"{anchor}-{place}\" class=\"{kind}{role}\"><b>{} → {}</b> \
             <span class=\"label {kind}\">{}</span><p>{}</p>",
            html(from),
            html(to),
            html(&arrow.label()),
            html(&arrow.reason)
        );
        if !arrow.operations.is_empty() {
            out.push_str("<ul class=\"operations\">");
            for operation in &arrow.operations {
                let _ = write!(out, "<li>{}</li>", html(operation));
            }
            out.push_str("</ul>");
        }
        out.push_str("</li>\n");
    }
    if !picture.arrows.is_empty() {
        out.push_str("</ol>\n");
    }
    if picture.left_out > 0 {
        let more = count(picture.left_out as u64, "more transaction");
        let _ = writeln!(out, "<p class=\"dim\">… and {more}, not drawn.</p>");
    }
    out + "<p role=\"status\" class=\"aside\"></p>\n</div>\n</div>\n"
}

/// What the colours and strokes mean.
fn legend(picture: &Picture) -> String {
    if picture.arrows.is_empty() {
        return String::new();
    }
    let mut out = "<ul class=\"legend\">".to_string();
    for kind in picture.kinds() {
        let _ = write!(
            out,
            "<li><span class=\"label {}\">{}</span> {}</li>",
            kind.name(),
            kind.name(),
            kind.meaning()
        );
    }
    for certainty in picture.certainties() {
        if certainty != Certainty::Seen || picture.certainties().len() > 1 {
            let _ = write!(
                out,
                "<li><span class=\"stroke {}\"></span>{}: {}</li>",
                certainty.name(),
                certainty.name(),
                certainty.meaning()
            );
        }
    }
    out + "</ul>\n"
}
