//! Lines in the usual form: no spaces, lower case, with a line end.
//!
//! Reads eight digits at a time. Most lines repeat the session and transaction of the line before,
//! so that part is first compared with the previous line's, 16 bytes at once (twice where it is longer). What this parser
//! does not take goes to the careful one, so it never has to explain anything.

use super::line::Owner;
use crate::OpKind;

/// The bytes the parser may look at: the longest line has 87.
pub(super) const LOOKAHEAD: usize = 96;

/// The last part of a line, `session,txn)` and the line end, to compare the next line with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    /// The first 16 bytes, and those behind.
    bytes: [u128; 2],
    mask: [u128; 2],
    len: usize,
}

impl Tail {
    /// Equal to nothing a line can hold.
    pub const NONE: Tail = Tail {
        bytes: [1, 0],
        mask: [0, 0],
        len: 0,
    };

    /// Whether a line goes on with this at `rest`.
    #[inline(always)]
    fn is_at(&self, line: &[u8; LOOKAHEAD], rest: usize) -> Option<bool> {
        let is_same = word(line, rest)? & self.mask[0] == self.bytes[0];
        Some(is_same && (self.len <= 16 || word(line, rest + 16)? & self.mask[1] == self.bytes[1]))
    }
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
pub(super) fn parse(line: &[u8; LOOKAHEAD], tail: &mut Tail) -> Option<FastLine> {
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
    if tail.is_at(line, rest)? {
        return Some(FastLine {
            kind,
            key,
            value,
            owner: None,
            len: rest + tail.len,
        });
    }
    let (owner, len) = owner(line, rest)?;
    *tail = tail_of(line, rest, len - rest)?;
    Some(FastLine {
        kind,
        key,
        value,
        owner: Some(owner),
        len,
    })
}

/// What a line ends with, to compare the next one with.
fn tail_of(line: &[u8; LOOKAHEAD], rest: usize, len: usize) -> Option<Tail> {
    if len > 32 {
        return Some(Tail::NONE);
    }
    let low = u128::MAX >> (128 - 8 * len.min(16));
    let high = match len.saturating_sub(16) {
        0 => 0,
        more => u128::MAX >> (128 - 8 * more),
    };
    Some(Tail {
        bytes: [word(line, rest)? & low, word(line, rest + 16)? & high],
        mask: [low, high],
        len,
    })
}

#[inline(always)]
fn word(line: &[u8; LOOKAHEAD], at: usize) -> Option<u128> {
    Some(u128::from_le_bytes(line.get(at..at + 16)?.try_into().ok()?))
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

/// A number of at least eight digits. Up to fifteen need no look at what fits 64 bits.
#[inline]
fn long_number(line: &[u8; LOOKAHEAD], at: usize) -> Option<(u64, usize)> {
    let (first, _) = digits_of(line, at)?;
    let first = value_of(first);
    let at = at + 8;
    let (digits, count) = digits_of(line, at)?;
    match count {
        0 => Some((first, at)),
        8 => longest_number(line, first * POWERS[8] + value_of(digits), at + 8),
        _ => {
            let low = value_of(digits << (64 - 8 * count));
            Some((first * POWERS[count] + low, at + count))
        }
    }
}

/// Powers of ten.
const POWERS: [u64; 9] = [
    1,
    10,
    100,
    1000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
];

/// A number whose first sixteen digits are known.
fn longest_number(line: &[u8; LOOKAHEAD], mut number: u64, mut at: usize) -> Option<(u64, usize)> {
    loop {
        let (digits, count) = digits_of(line, at)?;
        if count == 0 {
            return Some((number, at));
        }
        let low = value_of(digits << (64 - 8 * count));
        number = number.checked_mul(POWERS[count])?;
        number = number.checked_add(low)?;
        at += count;
        if count < 8 {
            return Some((number, at));
        }
    }
}
