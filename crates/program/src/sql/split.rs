//! A text cut into SQL statements, each with its place.
//!
//! Cuts at `;` outside quotes and comments, so that one statement nobody can parse does not hide
//! the others.

use crate::place::Place;

/// A statement's text and where it starts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Piece {
    /// The text, comments in front left out.
    pub text: String,
    /// Where it starts.
    pub place: Place,
}

/// What the text at a place begins with, other than plain SQL: its length.
pub(crate) fn opaque_length(rest: &str) -> Option<usize> {
    let until = |start: usize, end: &str| match rest[start..].find(end) {
        Some(found) => start + found + end.len(),
        None => rest.len(),
    };
    match rest.as_bytes() {
        [b'-', b'-', ..] => Some(rest.find('\n').unwrap_or(rest.len())),
        [b'/', b'*', ..] => Some(until(2, "*/")),
        [quote @ (b'\'' | b'"' | b'`'), ..] => Some(quoted_length(rest, *quote)),
        [b'$', b'$', ..] => Some(until(2, "$$")),
        _ => None,
    }
}

/// A doubled quote and a backslash both keep the text open.
fn quoted_length(rest: &str, quote: u8) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            found if found == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            found if found == quote => return at + 1,
            _ => at += 1,
        }
    }
    // A backslash may have stepped over the last byte, or into a character.
    let mut end = at.min(bytes.len());
    while !rest.is_char_boundary(end) {
        end += 1;
    }
    end
}

/// Whether what begins here is a comment.
pub(crate) fn is_comment(rest: &str) -> bool {
    rest.starts_with("--") || rest.starts_with("/*")
}

/// A text on one line: without comments, blanks joined, quotes as they are.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let length = match opaque_length(rest) {
            Some(length) => length.max(1),
            None => rest.chars().next().map_or(1, char::len_utf8),
        };
        let blank = is_comment(rest) || rest.starts_with(char::is_whitespace);
        match blank {
            true if line.is_empty() || line.ends_with(' ') => {}
            true => line.push(' '),
            false => line.push_str(&rest[..length]),
        }
        at += length;
    }
    line.trim_end().to_string()
}

/// The place of an offset in a text that starts at a place.
pub(crate) fn place_at(text: &str, offset: usize, start: &Place) -> Place {
    let before = &text[..offset];
    let line = before.matches('\n').count() as u64 + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() as u64 + 1;
    start.within(line, column)
}

/// The statements of a text that starts at a place.
pub(crate) fn split(text: &str, start: &Place) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut from: Option<usize> = None;
    let mut at = 0;
    let mut lines = Lines::new(start);
    let mut begin = start.clone();
    while at < text.len() {
        let rest = &text[at..];
        let length = match opaque_length(rest) {
            Some(length) if is_comment(rest) => length.max(1),
            Some(length) => {
                from.get_or_insert_with(|| {
                    begin = lines.place();
                    at
                });
                length.max(1)
            }
            None => {
                let first = rest.chars().next().map_or(1, char::len_utf8);
                if rest.starts_with(';') {
                    take(text, &mut from, at, &begin, &mut pieces);
                } else if !rest.starts_with(char::is_whitespace) && from.is_none() {
                    begin = lines.place();
                    from = Some(at);
                }
                first
            }
        };
        lines.pass(&text[at..at + length]);
        at += length;
    }
    take(text, &mut from, text.len(), &begin, &mut pieces);
    pieces
}

fn take(text: &str, from: &mut Option<usize>, to: usize, place: &Place, pieces: &mut Vec<Piece>) {
    if let Some(from) = from.take() {
        pieces.push(Piece {
            text: text[from..to].trim_end().to_string(),
            place: place.clone(),
        });
    }
}

/// Counts lines while a text is passed.
struct Lines {
    start: Place,
    line: u64,
    column: u64,
}

impl Lines {
    fn new(start: &Place) -> Lines {
        Lines {
            start: start.clone(),
            line: 1,
            column: 1,
        }
    }

    fn pass(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '\n' => {
                    self.line += 1;
                    self.column = 1;
                }
                _ => self.column += 1,
            }
        }
    }

    fn place(&self) -> Place {
        self.start.within(self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_comments_keep_a_statement_together() {
        let text = "-- a; b\nselect ';' ;\n  update t /* ; */ set x = 'it''s;';\n\n";
        let pieces = split(text, &Place::new("f", 1, 1));
        let texts: Vec<&str> = pieces.iter().map(|piece| piece.text.as_str()).collect();
        let expected = ["select ';'", "update t /* ; */ set x = 'it''s;'"];
        assert_eq!(texts, expected);
        assert_eq!(pieces[1].place, Place::new("f", 3, 3));
    }

    #[test]
    fn a_statement_on_one_line_keeps_its_quotes_and_no_comments() {
        let text = "select a -- the first; 'x'\n  from  t /* all */\n where b = 'two  blanks' ";
        assert_eq!(one_line(text), "select a from t where b = 'two  blanks'");
        assert_eq!(one_line("é  'ü"), "é 'ü");
    }

    #[test]
    fn an_open_quote_ends_with_the_text() {
        for text in ["select 'a", "select 'é\\", "select 'a\\é", "$$", "/*"] {
            split(text, &Place::new("f", 1, 1));
        }
    }
}
