//! Words, names and whole statements of a transaction file, in the order of the text.

use crate::place::{Place, ProgramError, shorten};
use crate::sql::split::{is_comment, opaque_length, place_at};

/// Reads a text from left to right.
pub(super) struct Scanner<'a> {
    text: &'a str,
    start: Place,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str, file: &str) -> Scanner<'a> {
        Scanner {
            text,
            start: Place::new(file, 1, 1),
            at: 0,
        }
    }

    /// Where the next thing stands.
    pub fn place(&mut self) -> Place {
        self.skip();
        place_at(self.text, self.at, &self.start)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            self.at += blank;
            match is_comment(self.rest()) {
                true => self.at += opaque_length(self.rest()).unwrap_or(1).max(1),
                false if blank == 0 => return,
                false => {}
            }
        }
    }

    pub fn is_at_end(&mut self) -> bool {
        self.skip();
        self.rest().is_empty()
    }

    /// The next word, in lower case, without passing it; empty where there is none.
    pub fn peek(&mut self) -> String {
        self.skip();
        word_of(self.rest()).to_ascii_lowercase()
    }

    /// Passes a word or a sign if it comes next.
    pub fn take(&mut self, wanted: &str) -> bool {
        self.skip();
        let letters = wanted.starts_with(|c: char| c.is_alphabetic());
        let found = match letters {
            true => word_of(self.rest()).eq_ignore_ascii_case(wanted),
            false => self.rest().starts_with(wanted),
        };
        if found {
            self.at += wanted.len();
        }
        found
    }

    /// Passes a word or a sign that must come next.
    pub fn expect(&mut self, wanted: &str, why: &str) -> Result<(), ProgramError> {
        match self.take(wanted) {
            true => Ok(()),
            false => {
                let found = self.shown();
                let problem = format!("expected `{wanted}` but found {found}");
                Err(ProgramError::new(&self.place(), problem, why))
            }
        }
    }

    /// What comes next, for messages.
    pub fn shown(&mut self) -> String {
        self.skip();
        match self.rest().lines().next() {
            None | Some("") => "the end of the file".to_string(),
            Some(line) => format!("`{}`", shorten(line, 40)),
        }
    }

    /// A name, with or without a colon in front.
    pub fn name(&mut self, what: &str) -> Result<String, ProgramError> {
        self.skip();
        if self.rest().starts_with(':') {
            self.at += 1;
        }
        let name = word_of(self.rest());
        match name.is_empty() {
            true => {
                let problem = format!("expected {what} but found {}", self.shown());
                Err(ProgramError::new(&self.place(), problem, ""))
            }
            false => {
                self.at += name.len();
                Ok(name.to_string())
            }
        }
    }

    /// The text up to one of the words or signs, which is passed, too, and returned second.
    pub fn until(&mut self, ends: &[&str], what: &str) -> Result<(Span<'a>, String), ProgramError> {
        let place = self.place();
        let from = self.at;
        let mut at = self.at;
        while at < self.text.len() {
            let rest = &self.text[at..];
            if let Some(length) = opaque_length(rest) {
                at += length.max(1);
                continue;
            }
            let word = word_of(rest);
            let first = rest.chars().next().map_or(1, char::len_utf8);
            let next = match word.is_empty() {
                true => &rest[..first],
                false => word,
            };
            if let Some(end) = ends.iter().find(|end| next.eq_ignore_ascii_case(end)) {
                self.at = at + next.len();
                let text = &self.text[from..at];
                return Ok((Span { text, place }, end.to_string()));
            }
            at += next.len();
        }
        let ends: Vec<String> = ends.iter().map(|end| format!("`{end}`")).collect();
        let problem = format!("{what} is not ended by {}", ends.join(" or "));
        Err(ProgramError::new(&place, problem, "The file ends first."))
    }
}

/// A piece of the text and where it starts.
#[derive(Clone, Debug)]
pub(super) struct Span<'a> {
    pub text: &'a str,
    pub place: Place,
}

/// The word a text begins with.
pub(super) fn word_of(text: &str) -> &str {
    let starts = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    match starts {
        true => &text[..end.unwrap_or(text.len())],
        false => "",
    }
}
