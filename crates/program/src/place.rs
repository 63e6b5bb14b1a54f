//! Where something stands in a source file, and what was not understood there.

use std::fmt;
use std::sync::Arc;

/// A place in a source: the file as it was named to us, line and column from 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The file's name.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl Place {
    /// A place in a file.
    pub fn new(file: &str, line: u32, column: u32) -> Place {
        Place {
            file: Arc::from(file),
            line,
            column,
        }
    }

    /// The place so many lines below and columns to the right; a column counts from the start of
    /// its line once a line has been passed. Both are counts from 1, as parsers report them.
    pub fn within(&self, line: u64, column: u64) -> Place {
        let down = u32::try_from(line.saturating_sub(1)).unwrap_or(u32::MAX);
        let right = u32::try_from(column.max(1)).unwrap_or(u32::MAX);
        Place {
            file: self.file.clone(),
            line: self.line.saturating_add(down),
            column: match down {
                0 => self.column.saturating_add(right - 1),
                _ => right,
            },
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// How much hangs on a note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoteKind {
    /// A value was taken for any value; statements and their order are as in the source.
    Value,
    /// Nothing in the source shows where a transaction begins and ends.
    Boundary,
    /// A statement, a branch or a loop is not exactly as in the source.
    #[default]
    Statement,
    /// A query of the source is missing. It changes nothing, so that matters only where something else does.
    Unread,
    /// A statement of the source is missing: nothing is proved about what is.
    LeftOut,
    /// The source writes outside of all transactions that were found: nothing is proved of them all together.
    Unplaced,
}

/// Something a front end did not understand. It went on with an assumption that covers every
/// meaning the text can have, and says so here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where it stands.
    pub place: Place,
    /// The text, shortened.
    pub text: String,
    /// What is assumed instead.
    pub assumed: String,
    /// What the reader can do about it.
    pub advice: String,
    /// How much hangs on it.
    pub kind: NoteKind,
}

impl fmt::Display for Note {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: `{}`: {}", self.place, self.text, self.assumed)?;
        match self.advice.is_empty() {
            true => Ok(()),
            false => write!(out, "; {}", self.advice),
        }
    }
}

/// A source that cannot be read: where, what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramError {
    /// Where it stands.
    pub place: Place,
    /// What is wrong.
    pub problem: String,
    /// What to do about it; may be empty.
    pub advice: String,
}

impl ProgramError {
    /// An error at a place.
    pub fn new(place: &Place, problem: impl Into<String>, advice: impl Into<String>) -> Self {
        ProgramError {
            place: place.clone(),
            problem: problem.into(),
            advice: advice.into(),
        }
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.place, self.problem)?;
        match self.advice.is_empty() {
            true => Ok(()),
            false => write!(out, "\n  {}", self.advice),
        }
    }
}

impl std::error::Error for ProgramError {}

/// The text on one line, at most `most` characters.
pub fn shorten(text: &str, most: usize) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    match line.char_indices().nth(most) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}
