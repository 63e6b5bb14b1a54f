//! A run as a picture: a lane a site, a line a step, messages slanted from sending to arrival.

use super::text::wrap;
use super::{Cause, Happened, Run, Step, words};
use crate::id::Site;
use std::fmt::Write;

const LINE: usize = 16;
const TOP: usize = 44;
const LEFT: usize = 64;
/// Letters of a note in a line.
const LETTERS: usize = 38;
/// A letter is about so wide.
const LETTER_WIDTH: f64 = 7.3;

const STYLE: &str = "\
.chart{color-scheme:light dark;--ink:#1c2024;--dim:#6a737d;--line:#c4cbd3;--back:#fff;--arrow:#0b63b0;\
--good:#1a7f37;--bad:#c62828}\
@media(prefers-color-scheme:dark){.chart{--ink:#e6e8eb;--dim:#9aa4af;--line:#4a525b;--back:#15181c;\
--arrow:#6cb2f5;--good:#5fce80;--bad:#ff7b72}}\
.chart text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:var(--ink)}\
.chart .lane{stroke:var(--line);stroke-width:2}.chart .head{font-weight:bold;font-size:14px}\
.chart .number,.chart .rule{fill:var(--dim)}.chart .message{fill:var(--arrow)}\
.chart .arrow{stroke:var(--arrow);stroke-width:1.4;fill:none}.chart .tip{fill:var(--arrow)}\
.chart .dot{fill:var(--ink)}.chart .good{fill:var(--good);font-weight:bold}\
.chart .bad{fill:var(--bad);font-weight:bold}.chart .lost{stroke:var(--bad);stroke-dasharray:4 3}\
.chart .back{fill:var(--back)}";

/// The picture; it needs nothing else and follows the light or dark of the page.
pub fn svg(run: &Run) -> String {
    let shown = run.interesting();
    let lane = 330;
    let sites = run.setup.sites().count().max(1);
    let places = places(run, shown);
    let height = places.last().copied().unwrap_or(TOP) + 3 * LINE;
    let width = LEFT + lane * sites;
    let mut picture = Picture {
        run,
        lane,
        places,
        out: String::new(),
    };
    let _ = write!(
        picture.out,
        "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\">\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"var(--back)\"/>\n"
    );
    for site in run.setup.sites() {
        let x = picture.x(site);
        let _ = writeln!(
            picture.out,
            "<text class=\"head\" x=\"{}\" y=\"22\">{site}</text>\
             <line class=\"lane\" x1=\"{x}\" y1=\"30\" x2=\"{x}\" y2=\"{}\"/>",
            x - 8,
            height - LINE
        );
    }
    for message in &run.messages {
        picture.arrow(message, shown);
    }
    for (number, step) in run.steps[..shown].iter().enumerate() {
        picture.step(number, step);
    }
    let rest = super::text::rest(run, shown);
    let y = height - LINE / 2;
    let _ = write!(
        picture.out,
        "<text class=\"rule\" x=\"{LEFT}\" y=\"{y}\">{}</text>\n</svg>\n",
        escape(rest.trim())
    );
    picture.out
}

/// What a step says, with the class of each line.
fn notes(run: &Run, step: &Step) -> Vec<(&'static str, String)> {
    let mut notes = Vec::new();
    match step.cause {
        Cause::Delivery(place) | Cause::Lost(place) => {
            let class = if matches!(step.cause, Cause::Lost(_)) {
                "bad"
            } else {
                "message"
            };
            let message = &run.messages[place];
            notes.push((class, format!("{} from {}", message.text, message.from)));
        }
        _ => notes.push(("", words::cause(run, step))),
    }
    if !step.rules.is_empty() {
        notes.push(("rule", format!("[{}]", step.rules.join("; "))));
    }
    for event in &step.events {
        let class = match event {
            Happened::Commit(_) => "good",
            Happened::Abort(_) | Happened::Wrong(_) => "bad",
            _ => "",
        };
        notes.push((class, words::event(event)));
    }
    let lines = notes.into_iter().flat_map(|(class, note)| {
        wrap(&note, LETTERS)
            .into_iter()
            .map(move |line| (class, line))
    });
    lines.collect()
}

/// Where each step is, and the end.
fn places(run: &Run, shown: usize) -> Vec<usize> {
    let mut places = vec![TOP + LINE];
    for step in &run.steps[..shown] {
        let last = places[places.len() - 1];
        places.push(last + LINE * notes(run, step).len() + LINE / 2);
    }
    places
}

struct Picture<'a> {
    run: &'a Run,
    lane: usize,
    places: Vec<usize>,
    out: String,
}

impl Picture<'_> {
    fn x(&self, site: Site) -> usize {
        LEFT + site.index() * self.lane
    }

    /// The line of a message from its sending to its arrival, or to where it was lost.
    fn arrow(&mut self, message: &super::Message, shown: usize) {
        let end = message.delivered.or(message.lost);
        let Some(end) = end.filter(|end| *end < shown && message.from != message.to) else {
            return;
        };
        let (x1, y1) = (
            self.x(message.from) as i64,
            self.places[message.sent] as i64,
        );
        let (mut x2, y2) = (self.x(message.to) as i64, self.places[end] as i64);
        let direction = if x2 > x1 { 1 } else { -1 };
        x2 -= 6 * direction;
        let class = if message.lost.is_some() {
            x2 -= (x2 - x1) / 3;
            "arrow lost"
        } else {
            "arrow"
        };
        let _ = write!(
            self.out,
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"
        );
        if message.lost.is_some() {
            let _ = writeln!(
                self.out,
                "<text class=\"bad\" x=\"{}\" y=\"{}\">✗</text>",
                x2 - 4,
                y2 + 4
            );
        } else {
            let back = x2 - 8 * direction;
            let _ = writeln!(
                self.out,
                "<path class=\"tip\" d=\"M{x2} {y2}L{back} {}L{back} {}Z\"/>",
                y2 - 4,
                y2 + 4
            );
        }
    }

    fn step(&mut self, number: usize, step: &Step) {
        let (x, y) = (self.x(step.site), self.places[number]);
        let _ = writeln!(
            self.out,
            "<text class=\"number\" x=\"12\" y=\"{}\">{}</text>\
             <circle class=\"dot\" cx=\"{x}\" cy=\"{y}\" r=\"4\"/>",
            y + 4,
            number + 1
        );
        for (place, (class, line)) in notes(self.run, step).into_iter().enumerate() {
            // A message's line goes on behind the note, and its tip stays to be seen before it.
            let width = (line.chars().count() as f64 * LETTER_WIDTH).ceil() + 6.0;
            let _ = writeln!(
                self.out,
                "<rect class=\"back\" x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{LINE}\"/>\
                 <text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>",
                x + 15,
                y + place * LINE - LINE / 2,
                x + 18,
                y + 4 + place * LINE,
                escape(&line)
            );
        }
    }
}

/// Text as it may stand in XML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
