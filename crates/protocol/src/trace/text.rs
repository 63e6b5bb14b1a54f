//! A run as a message sequence chart of characters: a lane a site, time goes down.
//!
//! A message is drawn where it arrives, with the step that sent it if that was not the one before:
//! slanted lines of characters are hard to read. What a step recorded stands below it, in the lane
//! of its site.

use super::{Cause, Run, Step, words};
use crate::id::Site;

/// The widest line.
const WIDTH: usize = 100;
/// Where the first lane is: the numbers of steps stand before it.
const LEFT: usize = 5;
/// A lane narrower than this holds no text worth reading.
const NARROW: usize = 18;

/// The chart, of lines of at most 100 columns. Where sites are too many for lanes, a list of steps.
pub fn text(run: &Run) -> String {
    let sites = run.setup.sites().count().max(1);
    let lane = (WIDTH - LEFT) / sites;
    if lane < NARROW {
        return list(run);
    }
    let mut chart = Chart {
        run,
        lane,
        sites,
        text: String::new(),
    };
    chart.heads();
    let shown = run.interesting();
    for (number, step) in run.steps[..shown].iter().enumerate() {
        chart.step(number, step);
    }
    chart.text + &rest(run, shown)
}

/// The steps as a numbered list.
fn list(run: &Run) -> String {
    let shown = run.interesting();
    let mut text = String::new();
    for (number, line) in run.lines()[..shown].iter().enumerate() {
        for (place, part) in wrap(line, WIDTH - LEFT).into_iter().enumerate() {
            let head = if place == 0 {
                format!("{:>3}", number + 1)
            } else {
                String::new()
            };
            text.push_str(&format!("{head:<LEFT$}{part}\n"));
        }
    }
    text + &rest(run, shown)
}

/// What is said of the steps that are not shown.
pub(super) fn rest(run: &Run, shown: usize) -> String {
    let left = run.steps.len() - shown;
    match left {
        0 => String::new(),
        left => format!(
            "{:LEFT$}… then {} that record nothing\n",
            "",
            words::count(left, "more step")
        ),
    }
}

struct Chart<'a> {
    run: &'a Run,
    lane: usize,
    sites: usize,
    text: String,
}

impl Chart<'_> {
    fn x(&self, site: Site) -> usize {
        LEFT + site.index() * self.lane
    }

    /// A line with nothing but lanes.
    fn lanes(&self) -> Vec<char> {
        let mut row = vec![' '; WIDTH];
        for site in Site::first(self.sites) {
            row[self.x(site)] = '│';
        }
        row
    }

    fn heads(&mut self) {
        let mut row = vec![' '; WIDTH];
        for site in Site::first(self.sites) {
            put(&mut row, self.x(site), &site.to_string());
        }
        self.push(row);
    }

    fn push(&mut self, row: Vec<char>) {
        let line: String = row.into_iter().collect();
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn step(&mut self, number: usize, step: &Step) {
        let message = match &step.cause {
            Cause::Delivery(place) | Cause::Lost(place) => {
                Some(&self.run.messages[*place]).filter(|message| message.from != message.to)
            }
            _ => None,
        };
        match message {
            Some(message) => {
                let mut label = message.text.clone();
                if message.multicast {
                    label.push_str(" *");
                }
                if message.sent + 1 != number {
                    label.push_str(&format!(" (sent in {})", message.sent + 1));
                }
                let lost = matches!(step.cause, Cause::Lost(_));
                self.arrow(number, message.from, message.to, &label, lost);
            }
            None => {
                let what = words::cause(self.run, step);
                self.note(step.site, &what, Some(number));
            }
        }
        let mut notes: Vec<String> = step.events.iter().map(words::event).collect();
        if !step.rules.is_empty() {
            notes.insert(0, format!("[{}]", step.rules.join("; ")));
        }
        for note in notes {
            self.note(step.site, &note, None);
        }
    }

    /// A message on its way, its words on the line if they fit, above it otherwise.
    fn arrow(&mut self, number: usize, from: Site, to: Site, label: &str, lost: bool) {
        let (start, end) = (self.x(from), self.x(to));
        let (left, right) = (start.min(end), start.max(end));
        let room = right - left - 5;
        let fits = label.chars().count() + 2 <= room;
        if !fits {
            for line in wrap(label, self.lane - 3) {
                let mut row = self.lanes();
                put(&mut row, left + 2, &line);
                self.push(row);
            }
        }
        let mut row = self.lanes();
        put(&mut row, 0, &format!("{:>3}", number + 1));
        for place in &mut row[left + 1..right] {
            *place = '─';
        }
        let head = if lost {
            '✗'
        } else {
            ['◀', '▶'][usize::from(end > start)]
        };
        let tip = if end > start { right - 1 } else { left + 1 };
        row[tip] = head;
        if !lost {
            row[end] = '●';
        }
        if fits {
            let label = format!(" {label} ");
            let place = left + 2 + (room + 1 - label.chars().count()) / 2;
            put(&mut row, place, &label);
        }
        self.push(row);
    }

    /// Words in the lane of a site; with a number they are a step of their own.
    fn note(&mut self, site: Site, text: &str, number: Option<usize>) {
        for (place, line) in wrap(text, self.lane - 3).into_iter().enumerate() {
            let mut row = self.lanes();
            let x = self.x(site);
            if let (Some(number), 0) = (number, place) {
                put(&mut row, 0, &format!("{:>3}", number + 1));
                row[x] = '●';
            }
            put(&mut row, x + 2, &line);
            self.push(row);
        }
    }
}

fn put(row: &mut [char], at: usize, text: &str) {
    for (place, letter) in row.iter_mut().skip(at).zip(text.chars()) {
        *place = letter;
    }
}

/// Breaks a text at spaces; a word that is too long by itself is cut.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let mut word: String = word.to_string();
        let room =
            |line: &String, word: &str| line.chars().count() + 1 + word.chars().count() <= width;
        match lines.last_mut() {
            Some(line) if room(line, &word) => {
                line.push(' ');
                line.push_str(&word);
                continue;
            }
            _ => {}
        }
        while word.chars().count() > width {
            let rest: String = word.chars().skip(width).collect();
            lines.push(word.chars().take(width).collect());
            word = rest;
        }
        lines.push(word);
    }
    lines
}
