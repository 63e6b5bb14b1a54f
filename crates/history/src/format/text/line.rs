//! One line of PolySI text: `r(key,value,session,txn)`.
//!
//! Two parsers of the same grammar. The fast one takes a line in the usual form (no spaces, ends in
//! a newline) and reads eight digits at a time; the careful one takes everything that is allowed and
//! explains everything that is not. Most lines repeat the session and transaction of the line
//! before, so the fast parser first compares that part with the previous line's, 16 bytes at once.

use crate::OpKind;

/// The bytes the fast parser may look at: the longest line has 87.
pub(super) const LOOKAHEAD: usize = 96;

/// Whose operations: a session and a transaction, or the aborted one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Owner {
    pub session: i64,
    /// The number of the transaction; [`crate::UNLABELLED`] for an aborted one.
    pub txn: u64,
    pub aborted: bool,
}

/// The last part of a line, `session,txn)` and the line end, to compare the next line with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    bytes: u128,
    mask: u128,
    len: usize,
}

impl Tail {
    /// Equal to nothing a line can hold.
    pub const NONE: Tail = Tail {
        bytes: 1,
        mask: 0,
        len: 0,
    };
}

/// A line that the fast parser understood.
pub(super) struct FastLine {
    pub kind: OpKind,
    pub key: u64,
    pub value: u64,
    /// Whose it is, if that is not the owner of the previous line.
    pub owner: Option<Owner>,
    /// The bytes of the line with its end.
    pub len: usize,
}

/// Parses a line in the usual form; `None` sends it to the careful parser.
#[inline(always)]
pub(super) fn fast(line: &[u8; LOOKAHEAD], tail: &mut Tail) -> Option<FastLine> {
    let is_write = line[0] == b'w';
    if !(is_write | (line[0] == b'r')) | (line[1] != b'(') {
        return None;
    }
    let kind = if is_write {
        OpKind::Write
    } else {
        OpKind::Read
    };
    let (key, at) = number(line, 2)?;
    if line[at] != b',' {
        return None;
    }
    let (value, at) = number(line, at + 1)?;
    if line[at] != b',' {
        return None;
    }
    let rest = at + 1;
    let bytes = u128::from_le_bytes(line.get(rest..rest + 16)?.try_into().ok()?);
    if bytes & tail.mask == tail.bytes {
        return Some(FastLine {
            kind,
            key,
            value,
            owner: None,
            len: rest + tail.len,
        });
    }
    let (owner, len) = owner(line, rest)?;
    remember(tail, bytes, len - rest);
    Some(FastLine {
        kind,
        key,
        value,
        owner: Some(owner),
        len,
    })
}

fn remember(tail: &mut Tail, bytes: u128, len: usize) {
    *tail = Tail::NONE;
    if len <= 16 {
        tail.mask = u128::MAX >> (128 - 8 * len);
        tail.bytes = bytes & tail.mask;
        tail.len = len;
    }
}

/// `session,txn)` and the line end; the place after it comes second.
fn owner(line: &[u8; LOOKAHEAD], at: usize) -> Option<(Owner, usize)> {
    let (session, at) = number(line, at)?;
    let session = i64::try_from(session).ok()?;
    if line[at] != b',' {
        return None;
    }
    let aborted = line.get(at + 1..at + 3)? == b"-1";
    let (txn, mut at) = if aborted {
        (crate::UNLABELLED, at + 3)
    } else {
        number(line, at + 1)?
    };
    if line.get(at) != Some(&b')') {
        return None;
    }
    at += 1;
    if line.get(at) == Some(&b'\r') {
        at += 1;
    }
    let owner = Owner {
        session,
        txn,
        aborted,
    };
    (line.get(at) == Some(&b'\n')).then_some((owner, at + 1))
}

/// An unsigned number below 2⁶⁴ and the place after it.
#[inline(always)]
fn number(line: &[u8; LOOKAHEAD], at: usize) -> Option<(u64, usize)> {
    let (digits, count) = digits_of(line, at)?;
    if count == 8 {
        return long_number(line, at);
    }
    if count == 0 {
        return None;
    }
    Some((value_of(digits << (64 - 8 * count)), at + count))
}

/// The next eight bytes less `'0'`, and how many of them are digits before anything else.
#[inline(always)]
fn digits_of(line: &[u8; LOOKAHEAD], at: usize) -> Option<(u64, usize)> {
    let word = u64::from_le_bytes(line.get(at..at + 8)?.try_into().ok()?);
    let digits = word ^ 0x3030_3030_3030_3030;
    // The high bit of the first byte above 9 is set; a carry reaches only bytes after it.
    let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
    Some((digits, (others.trailing_zeros() / 8) as usize))
}

/// Eight digits, the first in the lowest byte, by pairs of digits, of pairs and of quadruples.
#[inline(always)]
fn value_of(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    const LANES: u64 = 0x0000_00ff_0000_00ff;
    let high = (pairs & LANES).wrapping_mul(100 + (1_000_000 << 32));
    let low = ((pairs >> 16) & LANES).wrapping_mul(1 + (10_000 << 32));
    high.wrapping_add(low) >> 32
}

fn long_number(line: &[u8; LOOKAHEAD], mut at: usize) -> Option<(u64, usize)> {
    let mut number = 0u64;
    loop {
        let (digits, count) = digits_of(line, at)?;
        if count == 0 {
            return Some((number, at));
        }
        let low = value_of(digits << (64 - 8 * count));
        number = number.checked_mul(10u64.pow(count as u32))?;
        number = number.checked_add(low)?;
        at += count;
        if count < 8 {
            return Some((number, at));
        }
    }
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
