//! A scanner for EDN and JSON text, byte by byte, without building a tree.
//!
//! Both notations share brackets, strings and numbers, so one scanner serves both: in JSON the
//! colon after a key is required by [`Scanner::colon`], and commas are white space, as in EDN.
//! Cost: one pass over the bytes. Nesting is walked with a stack of bounded depth, never by
//! recursion, so no input can exhaust the program's stack.

use super::{FormatError, Place};
use std::borrow::Cow;

/// What is wrong and at which byte.
#[derive(Debug)]
pub(crate) struct Flaw {
    /// The byte offset.
    pub at: usize,
    /// The sentence for the person.
    pub problem: String,
    /// The likely mistake, or empty.
    pub hint: String,
    /// Whether the text simply ended: a recording cut short rather than a wrong one.
    pub at_end: bool,
}

impl Flaw {
    /// A flaw at a byte.
    pub fn new(at: usize, problem: impl Into<String>) -> Box<Flaw> {
        Box::new(Flaw {
            at,
            problem: problem.into(),
            hint: String::new(),
            at_end: false,
        })
    }

    /// The same with the likely mistake.
    pub fn hint(mut self: Box<Flaw>, hint: impl Into<String>) -> Box<Flaw> {
        self.hint = hint.into();
        self
    }

    /// The error to show, with line and column in `text`.
    pub fn in_text(self, text: &[u8]) -> FormatError {
        FormatError::new(Place::of_offset(text, self.at), self.problem).hint(self.hint)
    }
}

/// The result of every step of the scanner.
pub(crate) type Scan<T> = Result<T, Box<Flaw>>;

/// A value as far as one token goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Atom<'a> {
    /// `nil` or `null`.
    Nil,
    /// An integer; EDN's `N` suffix is dropped.
    Int(i128),
    /// A string without its quotes, or any other token as it stands (keywords keep the colon).
    Text(Cow<'a, str>),
    /// `[` or `(`, consumed.
    List,
    /// `#{`, consumed.
    Set,
    /// `{`, consumed.
    Map,
}

/// What a byte may begin or end.
pub(super) const SPACE: u8 = 1;
pub(super) const DELIMITER: u8 = 2;
const QUOTE: u8 = 4;
pub(super) const OPEN: u8 = 8;
pub(super) const CLOSE: u8 = 16;
const OTHER: u8 = 32;

const fn classes() -> [u8; 256] {
    let mut table = [0u8; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b' ' | b'\t' | b'\n' | b'\r' | b',' | 0x0c => SPACE | DELIMITER,
            b'"' => QUOTE | DELIMITER,
            b'(' | b'[' | b'{' => OPEN | DELIMITER,
            b')' | b']' | b'}' => CLOSE | DELIMITER,
            b';' => OTHER | DELIMITER,
            b'\\' => OTHER,
            _ => 0,
        };
        byte += 1;
    }
    table
}

pub(super) static CLASS: [u8; 256] = classes();

/// A position in a text of EDN, or of JSON.
pub(crate) struct Scanner<'a, const JSON: bool> {
    /// The whole text, so that offsets are those of the file.
    pub bytes: &'a [u8],
    /// The next byte.
    pub pos: usize,
}

impl<'a, const JSON: bool> Scanner<'a, JSON> {
    /// A scanner at `pos`.
    pub fn at(bytes: &'a [u8], pos: usize) -> Self {
        Scanner { bytes, pos }
    }

    /// The next byte, without consuming it.
    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    /// Skips white space and, in EDN, comments and `#_` discards.
    #[inline]
    pub fn space(&mut self) -> Scan<()> {
        loop {
            let Some(byte) = self.peek() else {
                return Ok(());
            };
            if CLASS[byte as usize] & SPACE != 0 {
                self.pos += 1;
            } else if !JSON && (byte == b';' || byte == b'#') {
                if !self.space_slow(byte)? {
                    return Ok(());
                }
            } else {
                return Ok(());
            }
        }
    }

    #[cold]
    fn space_slow(&mut self, byte: u8) -> Scan<bool> {
        if byte == b';' {
            self.comment();
            return Ok(true);
        }
        let mut discards = 0usize;
        // `#_ #_ a b` discards two forms: count the marks, then skip as many.
        while self.bytes[self.pos..].starts_with(b"#_") {
            self.pos += 2;
            discards += 1;
            while self.peek().is_some_and(|b| CLASS[b as usize] & SPACE != 0) {
                self.pos += 1;
            }
        }
        for _ in 0..discards {
            self.skip_plain_space();
            self.skip()?;
        }
        Ok(discards > 0)
    }

    fn skip_plain_space(&mut self) {
        while let Some(byte) = self.peek() {
            if byte == b';' {
                self.comment();
            } else if CLASS[byte as usize] & SPACE != 0 {
                self.pos += 1;
            } else {
                return;
            }
        }
    }

    pub(super) fn comment(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.pos += 1;
        }
    }

    /// Consumes white space and then `byte`, if it is there.
    #[inline]
    pub fn accept(&mut self, byte: u8) -> Scan<bool> {
        self.space()?;
        let found = self.peek() == Some(byte);
        self.pos += usize::from(found);
        Ok(found)
    }

    /// In JSON, consumes the colon between a key and its value.
    #[inline]
    pub fn colon(&mut self) -> Scan<()> {
        if JSON && !self.accept(b':')? {
            return Err(self.unexpected("`:` after a key"));
        }
        Ok(())
    }

    /// The flaw "expected …, found …" at the present position.
    #[cold]
    pub fn unexpected(&self, expected: &str) -> Box<Flaw> {
        let Some(byte) = self.peek() else {
            return self.end(expected);
        };
        let found = if byte.is_ascii_graphic() {
            let rest = &self.bytes[self.pos..];
            let length = (1..rest.len().min(24))
                .find(|&i| CLASS[rest[i] as usize] & DELIMITER != 0)
                .unwrap_or(rest.len().min(24));
            String::from_utf8_lossy(&rest[..length]).into_owned()
        } else {
            format!("byte 0x{byte:02x}")
        };
        Flaw::new(self.pos, format!("expected {expected}, found `{found}`"))
    }

    #[cold]
    pub(super) fn end(&self, expected: &str) -> Box<Flaw> {
        // Behind the last thing there is, not on the empty line that follows it.
        let text = self.bytes.trim_ascii_end();
        let mut flaw = Flaw::new(
            if text.is_empty() {
                self.bytes.len()
            } else {
                text.len()
            },
            format!("the text ends where {expected} should follow"),
        );
        flaw.at_end = true;
        flaw
    }

    /// The token of symbol characters that starts here.
    #[inline]
    pub fn token(&mut self) -> &'a [u8] {
        let start = self.pos;
        while let Some(byte) = self.peek() {
            if CLASS[byte as usize] & DELIMITER != 0 || (JSON && byte == b':') {
                break;
            }
            self.pos += 1;
        }
        &self.bytes[start..self.pos]
    }

    /// Reads an unsigned integer of at most 18 digits; none, and nothing consumed, if there is
    /// anything else.
    #[inline]
    pub fn unsigned(&mut self) -> Option<u64> {
        let (mut number, mut at) = first_digits(&self.bytes[self.pos..]);
        at += self.pos;
        while let Some(&byte) = self.bytes.get(at) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                let ends = CLASS[byte as usize] & DELIMITER != 0;
                if !ends || at == self.pos || at - self.pos > 18 {
                    return None;
                }
                self.pos = at;
                return Some(number);
            }
            number = number.wrapping_mul(10).wrapping_add(digit.into());
            at += 1;
        }
        None
    }

    /// Reads one atom, or consumes the opening bracket of a collection. A tag before a value is
    /// dropped if the value is a collection and kept as text otherwise.
    #[inline]
    pub fn atom(&mut self) -> Scan<Atom<'a>> {
        self.space()?;
        match self.peek() {
            Some(b'0'..=b'9' | b'-' | b'+') => Ok(self.number()),
            Some(b'"') => self.string().map(Atom::Text),
            Some(b'[' | b'(') => {
                self.pos += 1;
                Ok(Atom::List)
            }
            Some(b'{') => {
                self.pos += 1;
                Ok(Atom::Map)
            }
            _ => self.atom_slow(),
        }
    }

    fn atom_slow(&mut self) -> Scan<Atom<'a>> {
        let start = self.pos;
        match self.peek() {
            Some(b'#') if !JSON => return self.dispatch(),
            Some(b'\\') if !JSON => {
                self.character();
                return Ok(Atom::Text(self.text(start)?));
            }
            _ => {}
        }
        let token = self.token();
        if token.is_empty() {
            return Err(self.unexpected("a value"));
        }
        let nil: &[u8] = if JSON { b"null" } else { b"nil" };
        if token == nil {
            return Ok(Atom::Nil);
        }
        if JSON && token != b"true" && token != b"false" {
            self.pos = start;
            return Err(self.unexpected("a JSON value"));
        }
        Ok(Atom::Text(self.text(start)?))
    }

    fn dispatch(&mut self) -> Scan<Atom<'a>> {
        let start = self.pos;
        self.pos += 1;
        if self.peek() == Some(b'{') {
            self.pos += 1;
            return Ok(Atom::Set);
        }
        self.token();
        self.space()?;
        match self.peek() {
            Some(b'{') => {
                self.pos += 1;
                Ok(Atom::Map)
            }
            Some(b'[' | b'(') => {
                self.pos += 1;
                Ok(Atom::List)
            }
            _ => {
                self.pos = start;
                self.skip()?;
                Ok(Atom::Text(self.text(start)?))
            }
        }
    }

    pub(super) fn character(&mut self) {
        // `\(` is a character although `(` delimits; longer names run on as a token.
        self.pos = (self.pos + 2).min(self.bytes.len());
        self.token();
    }

    /// The text from `start` to here.
    pub fn text(&self, start: usize) -> Scan<Cow<'a, str>> {
        match std::str::from_utf8(&self.bytes[start..self.pos]) {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(error) => Err(Flaw::new(
                start + error.valid_up_to(),
                "expected UTF-8 text, found a byte that is not",
            )),
        }
    }

    #[inline]
    fn number(&mut self) -> Atom<'a> {
        let start = self.pos;
        let negative = self.bytes[start] == b'-';
        self.pos += usize::from(!self.bytes[start].is_ascii_digit());
        let digits = self.pos;
        let mut number = 0u64;
        while let Some(byte) = self.peek() {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            number = number.wrapping_mul(10).wrapping_add(digit.into());
            self.pos += 1;
        }
        let count = self.pos - digits;
        let ends = self
            .peek()
            .is_none_or(|byte| CLASS[byte as usize] & DELIMITER != 0);
        if ends && (1..=18).contains(&count) {
            let number = i128::from(number);
            return Atom::Int(if negative { -number } else { number });
        }
        self.pos = start;
        self.number_slow()
    }

    /// Large integers, and everything else that begins like a number: floats, ratios, symbols.
    #[cold]
    fn number_slow(&mut self) -> Atom<'a> {
        let token = String::from_utf8_lossy(self.token());
        let digits = token.strip_suffix('N').unwrap_or(&token);
        match digits.parse::<i128>() {
            Ok(number) => Atom::Int(number),
            Err(_) => Atom::Text(token),
        }
    }

    /// Reads a string; borrowed unless it has escapes.
    pub fn string(&mut self) -> Scan<Cow<'a, str>> {
        let start = self.pos + 1;
        self.pos = start;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    let text = self.text(start)?;
                    self.pos += 1;
                    return Ok(text);
                }
                b'\\' => return super::escape::read_escaped(self, start),
                _ => self.pos += 1,
            }
        }
        Err(self.end("a closing quote"))
    }

    /// The bytes between two quotes, escapes left as they are.
    #[inline]
    pub fn raw_string(&mut self) -> Scan<&'a [u8]> {
        let start = self.pos + 1;
        self.skip_string()?;
        Ok(&self.bytes[start..self.pos - 1])
    }

    pub(super) fn skip_string(&mut self) -> Scan<()> {
        self.pos += 1;
        while let Some(byte) = self.peek() {
            self.pos += 1;
            match byte {
                b'"' => return Ok(()),
                b'\\' => self.pos += 1,
                _ => {}
            }
        }
        Err(self.end("a closing quote"))
    }
}

/// The number that up to eight digits at the beginning make, and how many these are; zero if fewer
/// than eight bytes are left.
#[inline]
fn first_digits(bytes: &[u8]) -> (u64, usize) {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let Some(chunk) = bytes.first_chunk::<8>() else {
        return (0, 0);
    };
    let digits = u64::from_le_bytes(*chunk) ^ 0x3030_3030_3030_3030;
    // Adding to seven bits carries into the eighth from ten up, and never beyond.
    let others = (((digits & !HIGH) + 0x7676_7676_7676_7676) | digits) & HIGH;
    let count = others.trailing_zeros() / 8;
    if count == 0 {
        return (0, 0);
    }
    // As if zeros stood before: then neighbours make two digits, four, and eight.
    let digits = digits << (64 - 8 * count);
    let twos = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let first = (twos & 0xff_0000_00ff).wrapping_mul(100 + (1_000_000 << 32));
    let second = ((twos >> 16) & 0xff_0000_00ff).wrapping_mul(1 + (10_000 << 32));
    (first.wrapping_add(second) >> 32, count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_whatever_follows_them() {
        let numbers = [
            0,
            7,
            10,
            99,
            123,
            4567,
            99_999,
            123_456,
            1_234_567,
            12_345_678,
            123_456_789,
            999_999_999_999_999_999,
        ];
        for number in numbers {
            for end in [" ", "]", ", :x 12345678", "]]]]]]]]]"] {
                let text = format!("{number}{end}");
                let mut scanner = Scanner::<false>::at(text.as_bytes(), 0);
                assert_eq!(scanner.unsigned(), Some(number), "{text}");
                assert_eq!(scanner.pos, number.to_string().len(), "{text}");
            }
        }
        let others = [
            "",
            "12",
            "-1 ",
            "1.5 ",
            "1e9 ",
            "12a ",
            "x1 ",
            ":1 ",
            "/1      ",
            "\u{661}       ",
            "1000000000000000000 ",
        ];
        for text in others {
            let mut scanner = Scanner::<false>::at(text.as_bytes(), 0);
            assert_eq!((scanner.unsigned(), scanner.pos), (None, 0), "{text}");
        }
        let text = "0000000012 ";
        assert_eq!(
            Scanner::<false>::at(text.as_bytes(), 0).unsigned(),
            Some(12)
        );
    }
}
