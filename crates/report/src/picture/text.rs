//! A picture in letters: the circle from top to bottom, with the way back at the right side.
//!
//! Every arrow has its reason beside it, so the drawing is an explanation by itself. Nothing is wider
//! than asked for.

use super::{Arrow, ArrowKind, Certainty, Picture, Role, TxnBox};
use crate::escape::{columns, cut, letter_columns, padded, wrap};
use history::EdgeKind;

/// How a drawing of letters looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextStyle {
    /// The widest line.
    pub width: usize,
    /// Whether only ASCII is used.
    pub ascii: bool,
}

impl Default for TextStyle {
    fn default() -> TextStyle {
        TextStyle {
            width: 80,
            ascii: false,
        }
    }
}

/// Letters that stand for colours while lines are put together; they take no room, and no text from
/// outside has them. What each becomes.
const CODES: [(char, &str); 7] = [
    (PLAIN, "\u{1b}[0m"),
    (BOLD, "\u{1b}[1m"),
    ('\u{e002}', "\u{1b}[90m"),
    ('\u{e003}', "\u{1b}[34m"),
    ('\u{e004}', "\u{1b}[33m"),
    ('\u{e005}', "\u{1b}[35m"),
    ('\u{e006}', "\u{1b}[36m"),
];
const PLAIN: char = '\u{e000}';
const BOLD: char = '\u{e001}';

fn is_mark(letter: char) -> bool {
    CODES.iter().any(|(mark, _)| *mark == letter)
}

/// The colour of an arrow.
fn mark(kind: ArrowKind) -> char {
    match kind {
        ArrowKind::Of(EdgeKind::So) | ArrowKind::Sibling => '\u{e002}',
        ArrowKind::Of(EdgeKind::Wr) => '\u{e003}',
        ArrowKind::Of(EdgeKind::Ww) => '\u{e004}',
        ArrowKind::Of(EdgeKind::Rw) => '\u{e005}',
        ArrowKind::Of(EdgeKind::Rt) => '\u{e006}',
    }
}

/// The narrowest drawing worth looking at.
const NARROW: usize = 24;

pub(super) struct Signs {
    /// Left upper, right upper, left lower and right lower corner; horizontal, vertical.
    pub(super) frame: [char; 6],
    down: char,
    dashed: char,
    pub(super) dotted: char,
    head: char,
    back: char,
    pub(super) into: char,
    turn: [char; 2],
    pub(super) side: char,
}

const UNICODE: Signs = Signs {
    frame: ['┌', '┐', '└', '┘', '─', '│'],
    down: '│',
    dashed: '╎',
    dotted: '┊',
    head: '▼',
    back: '◀',
    into: '▶',
    turn: ['┐', '┘'],
    side: '│',
};

const ASCII: Signs = Signs {
    frame: ['+', '+', '+', '+', '-', '|'],
    down: '|',
    dashed: ':',
    dotted: '.',
    head: 'v',
    back: '<',
    into: '>',
    turn: ['+', '+'],
    side: '|',
};

impl Picture {
    /// The picture in letters, for a terminal.
    pub fn text(&self, style: TextStyle) -> String {
        plain_or_coloured(&self.marked(style), style.ascii, false)
    }

    /// The same with colours, as escape sequences that terminals know.
    pub fn coloured_text(&self, style: TextStyle) -> String {
        plain_or_coloured(&self.marked(style), style.ascii, true)
    }

    fn marked(&self, style: TextStyle) -> String {
        let mut page = Letters {
            signs: signs(style.ascii),
            width: style.width.max(NARROW),
            rows: Vec::new(),
        };
        let chain: Vec<&Arrow> = self.circle_arrows().collect();
        let is_closed = self.circle().is_some() && chain.len() > 1;
        if chain.is_empty() {
            for txn in &self.boxes {
                page.txn_box(txn, 0);
            }
        } else {
            page.chain(self, &chain, is_closed);
        }
        page.support(self);
        page.rows.join("\n") + "\n"
    }
}

pub(super) fn signs(ascii: bool) -> &'static Signs {
    if ascii { &ASCII } else { &UNICODE }
}

/// The marks of a text as escape sequences, or left out.
pub(super) fn plain_or_coloured(marked: &str, is_ascii: bool, coloured: bool) -> String {
    let marked = if is_ascii {
        ascii(marked)
    } else {
        marked.to_string()
    };
    let mut out = String::with_capacity(marked.len());
    for letter in marked.chars() {
        match CODES.iter().find(|(mark, _)| *mark == letter) {
            Some((_, code)) if coloured => out.push_str(code),
            Some(_) => {}
            None => out.push(letter),
        }
    }
    out
}

/// The text with its beginning in bold letters.
pub(super) fn bold(beginning: &str, text: &str) -> String {
    match text.strip_prefix(beginning) {
        Some(rest) => format!("{BOLD}{beginning}{PLAIN}{rest}"),
        None => text.to_string(),
    }
}

/// The stem of an arrow, in its colour, and a text that begins with the arrow's label.
pub(super) fn stem(signs: &Signs, arrow: &Arrow, text: &str) -> String {
    let stem = match arrow.certainty {
        Certainty::Seen => signs.down,
        Certainty::Inferred => signs.dashed,
        Certainty::Assumed => signs.dotted,
    };
    let colour = mark(arrow.kind);
    let text = bold(&arrow.label(), text);
    format!("{colour}{stem}{PLAIN} {colour}{text}{PLAIN}")
}

/// The head of an arrow, in its colour.
pub(super) fn head(signs: &Signs, arrow: &Arrow) -> String {
    format!("{}{}{PLAIN}", mark(arrow.kind), signs.head)
}

struct Letters<'a> {
    signs: &'a Signs,
    width: usize,
    rows: Vec<String>,
}

impl Letters<'_> {
    /// Boxes below each other with the arrows between; the last arrow leads back up.
    fn chain(&mut self, picture: &Picture, chain: &[&Arrow], is_closed: bool) {
        let inner = self.width - if is_closed { 4 } else { 0 };
        let mut drawn = Letters {
            signs: self.signs,
            width: inner,
            rows: Vec::new(),
        };
        let mut last = usize::MAX;
        for (place, arrow) in chain.iter().enumerate() {
            if arrow.from != last {
                drawn.txn_box(&picture.boxes[arrow.from], 0);
            }
            let is_back = is_closed && place + 1 == chain.len();
            drawn.arrow(arrow, is_back);
            if !is_back {
                drawn.txn_box(&picture.boxes[arrow.to], 0);
            }
            last = arrow.to;
        }
        if !is_closed {
            self.rows.append(&mut drawn.rows);
            return;
        }
        self.close(
            drawn.rows,
            columns_of_box(&picture.boxes[chain[0].from], inner),
        );
    }

    /// Draws the way back at the right side of the rows.
    fn close(&mut self, rows: Vec<String>, first_box: usize) {
        let signs = self.signs;
        let side = rows.iter().map(|row| columns(row)).max().unwrap_or(0) + 2;
        let last = rows.len().saturating_sub(1);
        for (place, row) in rows.into_iter().enumerate() {
            let line = match place {
                0 => row,
                1 => {
                    let dashes = signs.frame[4]
                        .to_string()
                        .repeat(side.saturating_sub(first_box + 1));
                    format!(
                        "{}{}{dashes}{}",
                        padded(&row, first_box),
                        signs.back,
                        signs.turn[0]
                    )
                }
                _ if place == last => {
                    let used = columns(&row);
                    let dashes = signs.frame[4].to_string().repeat(side.saturating_sub(used));
                    format!("{row}{dashes}{}", signs.turn[1])
                }
                _ => format!("{}{}", padded(&row, side), signs.side),
            };
            self.rows.push(line);
        }
    }

    fn txn_box(&mut self, txn: &TxnBox, indent: usize) {
        let [
            left_upper,
            right_upper,
            left_lower,
            right_lower,
            across,
            side,
        ] = self.signs.frame;
        let width = columns_of_box(txn, self.width - indent) - 2;
        let room = width - 2;
        let margin = " ".repeat(indent);
        let bar: String = across.to_string().repeat(width);
        self.rows
            .push(format!("{margin}{left_upper}{bar}{right_upper}"));
        for (place, line) in box_lines(txn, room).into_iter().enumerate() {
            let line = padded(&line, room);
            let line = match place {
                0 => bold(&txn.name, &line),
                _ => line,
            };
            self.rows.push(format!("{margin}{side} {line} {side}"));
        }
        self.rows
            .push(format!("{margin}{left_lower}{bar}{right_lower}"));
    }

    /// An arrow down with its reason beside it. One that goes back ends in a corner.
    fn arrow(&mut self, arrow: &Arrow, is_back: bool) {
        let label = arrow.label();
        let room = self.width.saturating_sub(4).max(8);
        let mut lines: Vec<String> = wrap(&format!("{label}: {}", arrow.reason), room);
        lines.retain(|line| !line.is_empty());
        for line in lines {
            self.rows
                .push(format!("  {}", stem(self.signs, arrow, &line)));
        }
        self.rows.push(if is_back {
            format!("  {}{}", self.signs.frame[2], self.signs.frame[4])
        } else {
            format!("  {}", head(self.signs, arrow))
        });
    }

    /// What the arrows of the circle rest on, a line each.
    fn support(&mut self, picture: &Picture) {
        let support = picture
            .arrows
            .iter()
            .filter(|arrow| arrow.role == Role::Support);
        let support: Vec<&Arrow> = support.collect();
        if support.is_empty() && picture.left_out == 0 {
            return;
        }
        self.rows.push(String::new());
        for arrow in &support {
            let (from, to) = (
                &picture.boxes[arrow.from].name,
                &picture.boxes[arrow.to].name,
            );
            let text = format!("{from} -{}-> {to}: {}", arrow.label(), arrow.reason);
            for (place, line) in wrap(&text, self.width - 4).into_iter().enumerate() {
                self.rows
                    .push(format!("{}{line}", if place == 0 { "  " } else { "    " }));
            }
        }
        if picture.left_out > 0 {
            self.rows
                .push(format!("  … and {} more transactions", picture.left_out));
        }
    }
}

/// The lines of a box.
fn box_lines(txn: &TxnBox, room: usize) -> Vec<String> {
    let head = if txn.note.is_empty() {
        txn.name.clone()
    } else {
        format!("{}  ({})", txn.name, txn.note)
    };
    let mut lines = vec![fitted(&head, room)];
    lines.extend(txn.lines.iter().map(|line| fitted(&line.text, room)));
    if txn.more > 0 {
        lines.push(fitted(&format!("… {} more", txn.more), room));
    }
    lines
}

/// At most `room` columns of a text.
fn fitted(text: &str, room: usize) -> String {
    let mut letters = room;
    loop {
        let shown = cut(text, letters);
        if columns(&shown) <= room || letters <= 1 {
            return shown;
        }
        letters -= 1;
    }
}

/// How many columns a box takes, its frame included.
fn columns_of_box(txn: &TxnBox, width: usize) -> usize {
    let room = width.saturating_sub(4).max(4);
    let lines = box_lines(txn, room);
    lines.iter().map(|line| columns(line)).max().unwrap_or(0) + 4
}

/// What is left of a text without anything beyond ASCII.
fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            // One letter for one letter: the lines keep their length.
            '…' => out.push('~'),
            '→' => out.push('>'),
            letter if letter.is_ascii() || is_mark(letter) => out.push(letter),
            other => out.push_str(&"?".repeat(letter_columns(other))),
        }
    }
    out
}
