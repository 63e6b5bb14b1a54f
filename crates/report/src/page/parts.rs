//! The plain parts of a page: tables, text, source, schedules, ready-made charts.

use super::policy::base64;
use crate::escape::{cut, html};
use crate::words::count;
use std::fmt::Write;

/// Rows of a table beyond this are counted.
const ROWS_MAX: usize = 200;
/// A part of more bytes is ended; what is left is counted.
const PART_MAX: usize = 120_000;
/// Letters of a cell beyond this are cut.
const CELL_MAX: usize = 400;
/// Columns beyond this are left out.
const COLUMNS_MAX: usize = 16;
/// Letters of a text beyond this are cut.
const TEXT_MAX: usize = 20_000;
/// Lines of a source beyond this are left out.
const LINES_MAX: usize = 160;

/// A table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table {
    /// The heading.
    pub title: String,
    /// The names of the columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn html(&self) -> String {
        let mut out = "<div class=\"scroll\"><table class=\"stacked\"><thead><tr>".to_string();
        let is_told = |column: usize| {
            let mut cells = self.rows.iter().map(|row| row.get(column));
            cells.any(|cell| cell.is_some_and(|cell| !cell.is_empty()))
        };
        // A column in which nothing stands only takes room from the others.
        let told: Vec<bool> = (0..COLUMNS_MAX).map(is_told).collect();
        // Writing to a string cannot fail, here and below.
        for (name, _) in self.head.iter().zip(&told).filter(|(_, told)| **told) {
            let _ = write!(out, "<th>{}</th>", html(&cut(name, 80)));
        }
        out.push_str("</tr></thead><tbody>\n");
        let mut shown = 0;
        for row in self.rows.iter().take(ROWS_MAX) {
            if out.len() > PART_MAX {
                break;
            }
            shown += 1;
            out.push_str("<tr>");
            for (place, cell) in row.iter().take(COLUMNS_MAX).enumerate() {
                if !told[place] {
                    continue;
                }
                let head = self.head.get(place).filter(|head| !head.is_empty());
                let head = head.map_or(String::new(), |head| {
                    format!(" data-head=\"{}\"", html(&cut(head, 80)))
                });
                let _ = write!(out, "<td{head}>{}</td>", html(&cut(cell, CELL_MAX)));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
        if let Some(more @ 1..) = self.rows.len().checked_sub(shown) {
            let _ = writeln!(
                out,
                "<p class=\"dim\">… and {}.</p>",
                count(more as u64, "more row")
            );
        }
        out
    }
}

/// Paragraphs, and text to be shown as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Text {
    /// The heading.
    pub title: String,
    /// The paragraphs.
    pub paragraphs: Vec<String>,
    /// Text in letters of one width, such as a command or a listing; may be empty.
    pub listing: String,
}

impl Text {
    pub(super) fn html(&self) -> String {
        let mut out = String::new();
        for paragraph in self.paragraphs.iter().take(ROWS_MAX) {
            if out.len() > PART_MAX {
                break;
            }
            let _ = writeln!(out, "<p>{}</p>", html(&cut(paragraph, TEXT_MAX)));
        }
        if !self.listing.is_empty() {
            out.push_str(&listing(&self.listing));
        }
        out
    }
}

/// A text of several lines, as it is.
pub(super) fn listing(text: &str) -> String {
    let end = text
        .char_indices()
        .nth(TEXT_MAX)
        .map_or(text.len(), |(at, _)| at);
    let mark = if end < text.len() { "\n…" } else { "" };
    let lines: Vec<String> = text[..end]
        .lines()
        .map(|line| html(&cut(line, CELL_MAX)))
        .collect();
    format!("<pre tabindex=\"0\">{}{mark}</pre>\n", lines.join("\n"))
}

/// Lines of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Source {
    /// The heading.
    pub title: String,
    /// The name of the file.
    pub file: String,
    /// The number of the first line.
    pub first_line: usize,
    /// The text.
    pub text: String,
    /// Lines that matter, by their numbers, each with a remark that may be empty.
    pub marked: Vec<(usize, String)>,
}

impl Source {
    pub(super) fn html(&self) -> String {
        let mut out = format!(
            "<p class=\"mono dim\">{}</p>\n<pre class=\"source\" tabindex=\"0\"><code>",
            html(&cut(&self.file, 200))
        );
        let lines: Vec<&str> = self.text.lines().collect();
        for (place, line) in lines.iter().take(LINES_MAX).enumerate() {
            let number = self.first_line + place;
            let mark = self.marked.iter().find(|(marked, _)| *marked == number);
            let class = if mark.is_some() { "row hit" } else { "row" };
            let text = line.replace('\t', "    ");
            let _ = write!(
                out,
                "<span class=\"{class}\"><span class=\"number\">{number}</span>{}",
                html(&cut(&text, CELL_MAX))
            );
            out.push_str("</span>");
            if let Some((_, remark)) = mark.filter(|(_, remark)| !remark.is_empty()) {
                let indent = text
                    .chars()
                    .take_while(|letter| *letter == ' ')
                    .take(40)
                    .count();
                let _ = write!(
                    out,
                    "<span class=\"row hit remark\"><span class=\"number\"></span>{}↑ {}</span>",
                    " ".repeat(indent),
                    html(&cut(remark, 200))
                );
            }
        }
        if lines.len() > LINES_MAX {
            let _ = write!(
                out,
                "<span class=\"row dim\">… {} more lines</span>",
                lines.len() - LINES_MAX
            );
        }
        out + "</code></pre>\n"
    }
}

/// Whose turn it is: a column for each of those who take turns, a row a turn.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// The heading.
    pub title: String,
    /// Who takes turns.
    pub columns: Vec<String>,
    /// The turns in order.
    pub turns: Vec<ScheduleTurn>,
}

/// A turn.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScheduleTurn {
    /// Whose it is, by place in [`Schedule::columns`].
    pub column: usize,
    /// What is done.
    pub text: String,
    /// What comes of it; may be empty.
    pub result: String,
}

impl Schedule {
    pub(super) fn html(&self) -> String {
        let mut out = "<div class=\"scroll\"><table class=\"schedule\"><thead><tr><th class=\"number\">turn</th>".to_string();
        let columns = &self.columns[..self.columns.len().min(COLUMNS_MAX)];
        for name in columns {
            let _ = write!(out, "<th>{}</th>", html(&cut(name, 80)));
        }
        out.push_str("</tr></thead><tbody>\n");
        let mut shown = 0;
        for (place, turn) in self.turns.iter().take(ROWS_MAX).enumerate() {
            if out.len() > PART_MAX {
                break;
            }
            shown += 1;
            let _ = write!(out, "<tr><td class=\"number dim\">{}</td>", place + 1);
            for (column, name) in columns.iter().enumerate() {
                if column != turn.column {
                    out.push_str("<td></td>");
                    continue;
                }
                let name = html(&cut(name, 80));
                let _ = write!(
                    out,
                    "<td data-head=\"{name}\"><span class=\"turn\">{}</span>",
                    html(&cut(&turn.text, CELL_MAX))
                );
                if !turn.result.is_empty() {
                    let _ = write!(
                        out,
                        "<br><span class=\"dim\">→ {}</span>",
                        html(&cut(&turn.result, CELL_MAX))
                    );
                }
                out.push_str("</td>");
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
        if let Some(more @ 1..) = self.turns.len().checked_sub(shown) {
            let _ = writeln!(
                out,
                "<p class=\"dim\">… and {}.</p>",
                count(more as u64, "more turn")
            );
        }
        out
    }
}

/// A chart that somebody else drew as SVG, such as that of the messages of a protocol's run. It is shown
/// as an image, so nothing in it can act on the page.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sequence {
    /// The heading.
    pub title: String,
    /// What is to be seen, for those who cannot see it.
    pub alternative: String,
    /// The whole SVG file.
    pub svg: String,
}

impl Sequence {
    pub(super) fn html(&self) -> String {
        format!(
            "<div class=\"scroll\" tabindex=\"0\"><img class=\"sequence\" alt=\"{}\" \
             src=\"data:image/svg+xml;base64,{}\"></div>\n",
            html(&cut(&self.alternative, 2000)),
            base64(self.svg.as_bytes())
        )
    }
}
