//! The first thing to tell: at which isolation levels the transactions are safe.

use super::beyond::Beyond;
use program::analysis::{Analysis, Options};
use program::robust::Robustness;
use program::{Note, NoteKind, Program, StoreLevel};
use std::fmt::Write;

/// Whether it is safe at a level, and why.
pub struct Row {
    level: String,
    /// Nothing where that is not known.
    safe: Option<bool>,
    why: String,
}

impl Row {
    fn new(level: &str, safe: Option<bool>, why: impl Into<String>) -> Row {
        Row {
            level: level.to_string(),
            safe,
            why: why.into(),
        }
    }

    /// What a proof or its failure says.
    pub fn robust(level: &str, answer: &Robustness) -> Row {
        match answer {
            Robustness::Robust(_) => Row::new(level, Some(true), "every run is serializable"),
            Robustness::NotRobust(_) => Row::new(
                level,
                Some(false),
                "a run that is not serializable is below",
            ),
            Robustness::Unproved(_) => Row::new(level, None, "not proved, and not refuted"),
        }
    }

    fn serializable() -> Row {
        Row::new("serializable", Some(true), "that is what the level means")
    }
}

/// The rows of a search for anomalies.
pub fn searched(options: &Options, analysis: &Analysis, beyond: &Beyond) -> Vec<Row> {
    let found = |level: Option<StoreLevel>| {
        let all = analysis.anomalies.iter();
        all.filter(|one| level.is_none_or(|level| one.levels().contains(&level)))
            .count()
    };
    let row = |name: &str, level: Option<StoreLevel>| match found(level) {
        0 => match beyond.answer(name) {
            Some(answer) => Row::robust(name, answer),
            None if level == Some(StoreLevel::Serializable) => Row::serializable(),
            None => Row::new(name, None, "nothing was found, which is no proof"),
        },
        1 => Row::new(name, Some(false), "1 anomaly, below"),
        count => Row::new(name, Some(false), format!("{count} anomalies, below")),
    };
    if options.mixed.is_some() {
        return vec![row("the levels given", None)];
    }
    let levels = options.levels.iter();
    levels
        .map(|level| row(level.name(), Some(*level)))
        .collect()
}

/// The answer. Serializable is added where it is the next to ask about.
pub fn text(program: &Program, mut rows: Vec<Row>, paths: &[String], advice: bool) -> String {
    let database = |row: &Row| {
        let level = row.level.parse::<StoreLevel>();
        !level.is_ok_and(|level| level.is_replicated())
    };
    let known = |row: &Row| row.level == "serializable";
    if rows.iter().all(database) && !rows.iter().any(known) {
        rows.push(Row::serializable());
    }
    let width = rows.iter().map(|row| row.level.len()).max().unwrap_or(0);
    let mut out = String::from("Is it safe?\n");
    for row in &rows {
        let (colour, word) = match row.safe {
            Some(true) => (32, "yes"),
            Some(false) => (31, "no"),
            None => (33, "not known"),
        };
        let _ = writeln!(
            out,
            "  {:<width$}  \x1b[{colour}m{word:<9}\x1b[0m  {}",
            row.level, row.why
        );
    }
    let boundary = |note: &Note| note.kind == NoteKind::Boundary;
    let asked = |row: &Row| row.safe == Some(true) && row.level != "serializable";
    if rows.iter().any(asked) && program.notes.iter().any(boundary) {
        out.push_str("  (of the transactions as they were found: the notes tell what may not be one, or which query is in none)\n");
    }
    for transaction in &program.transactions {
        if let Some(level) = &transaction.level {
            let _ = writeln!(
                out,
                "  {} asks for {level} itself, which is not counted here (--level-of does)",
                transaction.name
            );
        }
    }
    if advice && rows.iter().any(|row| row.safe != Some(true)) {
        let paths = paths.join(" ");
        let _ = writeln!(
            out,
            "What to change: isolde program robust --advice {paths}"
        );
    }
    out.push('\n');
    out
}
