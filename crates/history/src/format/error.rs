//! What can go wrong with a file, said so that a person can act on it.

use std::fmt;

/// Where in the input something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A line and a column, both from 1; columns count bytes.
    Line {
        /// The line.
        line: u64,
        /// The column.
        column: u64,
    },
    /// A byte offset, for binary formats.
    Byte(u64),
    /// The input as a whole.
    Whole,
}

impl Place {
    /// The line and column of a byte offset in a text.
    pub fn of_offset(text: &[u8], offset: usize) -> Place {
        let before = &text[..offset.min(text.len())];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count() as u64;
        let line_start = before
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        Place::Line {
            line,
            column: (before.len() - line_start) as u64 + 1,
        }
    }
}

/// A malformed input: where, what was expected, what was found, and the likely mistake.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatError {
    /// The file within a directory of several, or empty.
    pub file: String,
    /// Where.
    pub place: Place,
    /// What is wrong, as a sentence without a full stop: `expected …, found …`.
    pub problem: String,
    /// The likely mistake and what to do, or empty.
    pub hint: String,
}

impl FormatError {
    /// An error at a place.
    pub fn new(place: Place, problem: impl Into<String>) -> FormatError {
        FormatError {
            file: String::new(),
            place,
            problem: problem.into(),
            hint: String::new(),
        }
    }

    /// The same with the likely mistake.
    pub fn hint(mut self, hint: impl Into<String>) -> FormatError {
        self.hint = hint.into();
        self
    }

    /// The same, within a file of a directory.
    pub fn in_file(mut self, file: impl Into<String>) -> FormatError {
        self.file = file.into();
        self
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}: ", self.file)?;
        }
        match self.place {
            Place::Line { line, column } => write!(f, "line {line}, column {column}: ")?,
            Place::Byte(offset) => write!(f, "byte {offset}: ")?,
            Place::Whole => {}
        }
        f.write_str(&self.problem)?;
        if !self.hint.is_empty() {
            write!(f, "\n  hint: {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for FormatError {}

/// Why a history could not be written in a format.
#[derive(Debug)]
pub enum WriteError {
    /// The format cannot hold this history; the text says what it cannot hold and which can.
    CannotHold(String),
    /// The output failed.
    Io(std::io::Error),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::CannotHold(what) => f.write_str(what),
            WriteError::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for WriteError {}

impl From<std::io::Error> for WriteError {
    fn from(error: std::io::Error) -> WriteError {
        WriteError::Io(error)
    }
}
