//! One line of PolySI text, `r(key,value,session,txn)`: everything that is allowed is taken, and
//! everything else is explained. See [`super::fast`] for the lines that most files consist of.

use crate::OpKind;

/// Whose operations: a session and a transaction, or the aborted one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Owner {
    pub session: i64,
    /// The number of the transaction; [`crate::UNLABELLED`] for an aborted one.
    pub txn: u64,
    pub aborted: bool,
}

/// A line as the careful parser sees it.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Line {
    /// Nothing, or a comment.
    Blank,
    /// An operation.
    Op {
        kind: OpKind,
        key: u64,
        value: u64,
        owner: Owner,
    },
}

/// What is wrong with a line, and at which byte of it (from 0).
#[derive(PartialEq, Eq, Debug)]
pub(super) struct LineError {
    pub column: usize,
    pub problem: String,
    pub hint: &'static str,
    /// Whether more bytes could have made the line good.
    pub at_end: bool,
}

/// Parses a line without its end. Spaces may stand anywhere between words.
pub(super) fn careful(line: &[u8]) -> Result<Line, LineError> {
    let mut cursor = Cursor { line, at: 0 };
    cursor.skip_spaces();
    let kind = match cursor.peek() {
        None | Some(b'#') => return Ok(Line::Blank),
        Some(b'r' | b'R') => OpKind::Read,
        Some(b'w' | b'W') => OpKind::Write,
        Some(_) => return Err(cursor.error("r(…) or w(…)")),
    };
    cursor.at += 1;
    cursor.expect(b'(', "( after the kind of operation")?;
    let key = cursor.number("the key")?;
    cursor.expect(b',', ", and the value after the key")?;
    let value = cursor.number("the value")?;
    cursor.expect(b',', ", and the session after the value")?;
    let owner = cursor.owner()?;
    cursor.expect(b')', ") after the transaction")?;
    cursor.skip_spaces();
    if !matches!(cursor.peek(), None | Some(b'#')) {
        return Err(cursor.error("the end of the line"));
    }
    Ok(Line::Op {
        kind,
        key,
        value,
        owner,
    })
}

struct Cursor<'a> {
    line: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8, what: &str) -> Result<(), LineError> {
        self.skip_spaces();
        if self.peek() != Some(byte) {
            return Err(self.error(what));
        }
        self.at += 1;
        Ok(())
    }

    fn owner(&mut self) -> Result<Owner, LineError> {
        self.skip_spaces();
        let session_at = self.at;
        let session = self.number("the session")?;
        let Ok(session) = i64::try_from(session) else {
            self.at = session_at;
            return Err(self.error("a session number below 2^63"));
        };
        self.expect(b',', ", and the transaction after the session")?;
        self.skip_spaces();
        if self.peek() == Some(b'-') {
            let rest = &self.line[self.at..];
            if rest.starts_with(b"-1") && !rest.get(2).is_some_and(u8::is_ascii_digit) {
                self.at += 2;
                return Ok(Owner {
                    session,
                    txn: crate::UNLABELLED,
                    aborted: true,
                });
            }
            return Err(self.error("a transaction number, or -1 for an aborted transaction"));
        }
        let txn = self.number("the transaction")?;
        Ok(Owner {
            session,
            txn,
            aborted: false,
        })
    }

    fn number(&mut self, what: &str) -> Result<u64, LineError> {
        self.skip_spaces();
        let start = self.at;
        let mut number = 0u64;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            let next = number
                .checked_mul(10)
                .and_then(|n| n.checked_add(u64::from(digit - b'0')));
            let Some(next) = next else {
                self.at = start;
                return Err(self.error(&format!("{what} as a number below 2^64")));
            };
            number = next;
            self.at += 1;
        }
        if self.at == start {
            return Err(self.error(&format!("{what} as an unsigned number")));
        }
        Ok(number)
    }

    fn error(&self, expected: &str) -> LineError {
        let rest = &self.line[self.at.min(self.line.len())..];
        LineError {
            column: self.at,
            problem: format!("expected {expected}, found {}", crate::format::quote(rest)),
            hint: hint(self.line, rest),
            at_end: rest.is_empty(),
        }
    }
}

/// The likely mistake behind a bad line.
fn hint(line: &[u8], rest: &[u8]) -> &'static str {
    let line = line.trim_ascii();
    if line.starts_with(b"---") || line.starts_with(b"===") || line.get(1) == Some(&b' ') {
        return "this looks like AWDIT's test text; read it with the format awdit";
    }
    if line.first() == Some(&b'{') || line.first() == Some(&b'[') {
        return "this looks like JSON or EDN, not like text with one operation a line";
    }
    if rest.first() == Some(&b'-') {
        return "only the transaction may be negative: -1 marks an aborted one";
    }
    if rest.first().is_some_and(u8::is_ascii_digit) {
        return "the number is too large for this format";
    }
    if rest.is_empty() && line.contains(&b'(') {
        return "an operation is r(key,value,session,txn) or w(key,value,session,txn)";
    }
    if rest.first() == Some(&b'"') || rest.first().is_some_and(u8::is_ascii_alphabetic) {
        return "keys, values, sessions and transactions are unsigned numbers in this format";
    }
    "one operation a line: r(key,value,session,txn) or w(key,value,session,txn)"
}
