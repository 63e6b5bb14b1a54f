//! The levels as a graph, coloured by verdict: the strongest at the top, lines down to what they imply.

use crate::escape::html;
use crate::picture::Shown;
use crate::picture::layout::{Rect, text_width};
use crate::picture::svg::{open, rounded};
use history::{LEVELS, Level, LevelResult, Verdict};
use std::fmt::Write;

/// What is known of a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It holds, or a stronger one does.
    Holds,
    /// It is violated, or a weaker one is.
    Violated,
    /// A limit was reached.
    Unknown,
    /// Nobody asked.
    Unasked,
}

impl Answer {
    /// The name in output.
    pub fn name(self) -> &'static str {
        match self {
            Answer::Holds => "holds",
            Answer::Violated => "violated",
            Answer::Unknown => "unknown",
            Answer::Unasked => "unasked",
        }
    }

    /// A sign for those who see no colours.
    pub fn sign(self) -> char {
        match self {
            Answer::Holds => '✓',
            Answer::Violated => '✗',
            Answer::Unknown => '?',
            Answer::Unasked => '·',
        }
    }

    /// The same in ASCII.
    fn letter(self) -> char {
        match self {
            Answer::Holds => '+',
            Answer::Violated => 'x',
            Answer::Unknown => '?',
            Answer::Unasked => '.',
        }
    }
}

/// The answers about all levels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lattice {
    answers: Vec<(Level, Answer)>,
}

/// The rows of the drawing, strongest first, each level with its column in sixths of the width.
const ROWS: &[&[(Level, f64)]] = &[
    &[(Level::StrictSerializable, 3.2)],
    &[
        (Level::StrongSnapshotIsolation, 2.4),
        (Level::StrongSessionSerializable, 4.0),
    ],
    &[
        (Level::StrongSessionSnapshotIsolation, 3.0),
        (Level::Serializable, 5.0),
    ],
    &[
        (Level::Prefix, 1.2),
        (Level::ParallelSnapshotIsolation, 3.0),
        (Level::SnapshotIsolation, 5.0),
    ],
    &[
        (Level::Causal, 1.4),
        (Level::UpdateAtomic, 3.4),
        (Level::NonMonotonicSnapshotIsolation, 5.0),
    ],
    &[(Level::ReadAtomic, 3.0), (Level::CursorStability, 4.1)],
    &[
        (Level::MonotonicReads, 0.0),
        (Level::MonotonicWrites, 1.0),
        (Level::WritesFollowReads, 2.0),
        (Level::ReadYourWrites, 3.0),
        (Level::ReadCommitted, 4.0),
    ],
    &[(Level::ReadUncommitted, 2.5)],
];

const COLUMN: f64 = 174.0;
const ROW: f64 = 78.0;
const BOX: (f64, f64) = (164.0, 44.0);

impl Lattice {
    /// What answers say about all levels: what is implied is not asked again.
    pub fn of<'a>(results: impl IntoIterator<Item = &'a LevelResult>) -> Lattice {
        let asked: Vec<(Level, Answer)> = results
            .into_iter()
            .map(|result| {
                let answer = match result.verdict {
                    Verdict::Holds(_) => Answer::Holds,
                    Verdict::Violated(_) => Answer::Violated,
                    Verdict::Unknown(_) => Answer::Unknown,
                };
                (result.level, answer)
            })
            .collect();
        Lattice::from_answers(&asked)
    }

    /// The same of bare answers.
    pub fn from_answers(asked: &[(Level, Answer)]) -> Lattice {
        let answer = |level: Level| {
            let is = |wanted: Answer, follows: &dyn Fn(Level) -> bool| {
                asked
                    .iter()
                    .any(|&(other, answer)| answer == wanted && follows(other))
            };
            if is(Answer::Holds, &|other| other.implies(level)) {
                Answer::Holds
            } else if is(Answer::Violated, &|other| level.implies(other)) {
                Answer::Violated
            } else if is(Answer::Unknown, &|other| other == level) {
                Answer::Unknown
            } else {
                Answer::Unasked
            }
        };
        Lattice {
            answers: Level::all().map(|level| (level, answer(level))).collect(),
        }
    }

    /// What is known of a level.
    pub fn answer(&self, level: Level) -> Answer {
        let found = self.answers.iter().find(|(other, _)| *other == level);
        found.map_or(Answer::Unasked, |(_, answer)| *answer)
    }

    /// The strongest levels that hold.
    pub fn strongest(&self) -> Vec<Level> {
        let holding = self
            .answers
            .iter()
            .filter(|(_, answer)| *answer == Answer::Holds);
        Level::strongest(&holding.map(|(level, _)| *level).collect::<Vec<_>>())
    }

    /// The lattice as SVG.
    pub fn svg(&self, shown: Shown<'_>) -> String {
        let (width, height) = (6.0 * COLUMN + 16.0, ROWS.len() as f64 * ROW);
        let mut out = open(shown, width, height, "Levels, strongest at the top");
        // Writing to a string cannot fail, here and below.
        for row in LEVELS.iter() {
            let Some(from) = place(row.level) else {
                continue;
            };
            for below in row.implies {
                let Some(to) = place(*below) else { continue };
                let (x1, y1) = (from.center().x, from.y + from.height);
                let (x2, y2) = (to.center().x, to.y);
                // A long way goes straight down first, beside the rows it passes.
                let turn = if y2 - y1 > 2.0 * ROW {
                    y2 - (ROW - BOX.1)
                } else {
                    y1
                };
                let bend = (y2 - turn) * 0.45;
                let _ = writeln!(
                    out,
                    "<path class=\"implies\" d=\"M{x1:.1} {y1:.1}L{x1:.1} {turn:.1}\
                     C{x1:.1} {:.1} {x2:.1} {:.1} {x2:.1} {y2:.1}\"/>",
                    turn + bend,
                    y2 - bend
                );
            }
        }
        for &(level, answer) in &self.answers {
            if let Some(rect) = place(level) {
                draw_level(&mut out, level, answer, &rect);
            }
        }
        out + "</svg>\n"
    }

    /// The levels as a list for narrow screens, the strongest first.
    pub(crate) fn list(&self) -> String {
        let mut out = "<ul class=\"levels narrow\">\n".to_string();
        for (level, _) in ROWS.iter().copied().flatten() {
            let answer = self.answer(*level);
            let _ = writeln!(
                out,
                "<li class=\"{}\">{} {}</li>",
                answer.name(),
                answer.sign(),
                level.name()
            );
        }
        out + "</ul>\n"
    }

    /// The lattice in letters: a row for every row of the drawing.
    pub fn text(&self, ascii: bool) -> String {
        let mut out = String::new();
        for row in ROWS {
            let cells: Vec<String> = row
                .iter()
                .map(|&(level, _)| {
                    let answer = self.answer(level);
                    let sign = if ascii {
                        answer.letter()
                    } else {
                        answer.sign()
                    };
                    format!("{sign} {}", level.name())
                })
                .collect();
            let _ = writeln!(out, "  {}", cells.join("   "));
        }
        let signs = [
            Answer::Holds,
            Answer::Violated,
            Answer::Unknown,
            Answer::Unasked,
        ];
        let occurring = signs
            .into_iter()
            .filter(|sign| self.answers.iter().any(|(_, answer)| answer == sign));
        let legend: Vec<String> = occurring
            .map(|answer| {
                let sign = if ascii {
                    answer.letter()
                } else {
                    answer.sign()
                };
                let name = if answer == Answer::Unasked {
                    "not asked"
                } else {
                    answer.name()
                };
                format!("{sign} {name}")
            })
            .collect();
        out + &format!(
            "  ({}; a row implies those below it in the table of levels)\n",
            legend.join(", ")
        )
    }
}

fn place(level: Level) -> Option<Rect> {
    for (row, cells) in ROWS.iter().enumerate() {
        if let Some((_, column)) = cells.iter().find(|(other, _)| *other == level) {
            return Some(Rect {
                x: 8.0 + column * COLUMN + (COLUMN - BOX.0) / 2.0,
                y: row as f64 * ROW + (ROW - BOX.1) / 2.0,
                width: BOX.0,
                height: BOX.1,
            });
        }
    }
    None
}

fn draw_level(out: &mut String, level: Level, answer: Answer, rect: &Rect) {
    let row = level.row();
    let name = match answer {
        Answer::Unasked => "not asked",
        answer => answer.name(),
    };
    let about = html(&format!(
        "{}: {name}. {} ({})",
        row.name, row.axiom, row.source
    ));
    let _ = write!(
        out,
        "<g class=\"level {}\"><title>{about}</title>{}<text class=\"sign\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        answer.name(),
        rounded(rect, ""),
        rect.x + 8.0,
        rect.center().y + 4.0,
        answer.sign()
    );
    let lines = broken(row.name, BOX.0 - 28.0);
    let first = rect.center().y + 4.0 - 7.0 * (lines.len() as f64 - 1.0);
    for (at, line) in lines.iter().enumerate() {
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\">{line}</text>",
            rect.x + 22.0,
            first + 14.0 * at as f64
        );
    }
    out.push_str("</g>\n");
}

/// A name broken at its hyphens into lines of this width.
fn broken(name: &str, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for part in name.split_inclusive('-') {
        let line = lines.last_mut().expect("there is a line");
        if !line.is_empty() && text_width(line) + text_width(part) > width + 4.0 {
            lines.push(part.to_string());
        } else {
            line.push_str(part);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_has_a_place_and_none_overlap() {
        let places: Vec<Rect> = Level::all()
            .map(|level| place(level).expect("a place"))
            .collect();
        for (at, one) in places.iter().enumerate() {
            assert!(
                places[at + 1..]
                    .iter()
                    .all(|other| !one.is_near(other, 4.0)),
                "{one:?}"
            );
        }
    }

    #[test]
    fn stronger_levels_stand_higher() {
        for row in &LEVELS {
            for below in row.implies {
                let (above, under) = (place(row.level), place(*below));
                assert!(
                    above.map(|rect| rect.y) < under.map(|rect| rect.y),
                    "{}",
                    row.name
                );
            }
        }
    }

    #[test]
    fn what_follows_is_not_asked() {
        let lattice = Lattice::from_answers(&[
            (Level::Causal, Answer::Holds),
            (Level::SnapshotIsolation, Answer::Violated),
            (Level::Prefix, Answer::Unknown),
        ]);
        assert_eq!(lattice.answer(Level::ReadCommitted), Answer::Holds);
        assert_eq!(lattice.answer(Level::StrictSerializable), Answer::Violated);
        assert_eq!(lattice.answer(Level::Prefix), Answer::Unknown);
        assert_eq!(lattice.answer(Level::CursorStability), Answer::Unasked);
        assert_eq!(lattice.strongest(), [Level::Causal]);
        assert!(lattice.text(false).contains("✗ serializable"));
        assert!(lattice.text(true).is_ascii());
    }
}
