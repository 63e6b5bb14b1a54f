//! What the formats made of JSON share: numbers of fields, keys and values, and ends of lines.

use super::codes::Codes;
use super::edn::{Atom, Flaw, Scan, Scanner};
use crate::ValueCode;

pub(super) type Json<'a> = Scanner<'a, true>;

/// An integer, text or null; nothing nested. A number with a fraction is refused: whether 2.0 is 2, and
/// 1.50 is 1.5, is for whoever recorded them to say.
#[inline]
pub(super) fn scalar(codes: &mut Codes, scanner: &mut Json<'_>) -> Scan<ValueCode> {
    scanner.space()?;
    if let Some(number) = scanner.unsigned() {
        return Ok(codes.int(number.into()));
    }
    let start = scanner.pos;
    match scanner.peek() {
        Some(b'[' | b'{') => Err(scanner.unexpected("an integer, a text or null")),
        Some(b'"') | None => codes.scan(scanner),
        Some(_) => match scanner.atom()? {
            Atom::Int(number) => Ok(codes.int(number)),
            Atom::Nil => Ok(ValueCode::NIL),
            _ => Err(no_scalar(scanner, start)),
        },
    }
}

#[cold]
fn no_scalar(scanner: &mut Json<'_>, start: usize) -> Box<Flaw> {
    let is_integer = is_integer(&scanner.bytes[start..scanner.pos]);
    scanner.pos = start;
    let flaw = scanner.unexpected("an integer, a text or null");
    match is_integer {
        true => flaw.hint("integers have at most 127 bits; put larger ones in quotes"),
        false => flaw
            .hint("put numbers with a fraction, true and false in quotes, everywhere the same way"),
    }
}

fn is_integer(token: &[u8]) -> bool {
    let digits = token.strip_prefix(b"-").unwrap_or(token);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Only white space may follow on a line.
pub(super) fn line_end(scanner: &mut Json<'_>) -> Scan<()> {
    loop {
        match scanner.peek() {
            None => return Ok(()),
            Some(b'\n') => {
                scanner.pos += 1;
                return Ok(());
            }
            Some(b' ' | b'\t' | b'\r') => scanner.pos += 1,
            Some(_) => return Err(scanner.unexpected("the end of the line")),
        }
    }
}

/// The integer of a field.
pub(super) fn integer<T: TryFrom<i128>>(scanner: &mut Json<'_>, name: &str) -> Scan<T> {
    scanner.space()?;
    let at = scanner.pos;
    if !matches!(scanner.peek(), Some(b'0'..=b'9' | b'-')) {
        return Err(scanner.unexpected(&format!("an integer as `{name}`")));
    }
    if let Atom::Int(number) = scanner.atom()?
        && let Ok(number) = T::try_from(number)
    {
        return Ok(number);
    }
    let token = &scanner.bytes[at..scanner.pos];
    if !is_integer(token) {
        scanner.pos = at;
        return Err(scanner.unexpected(&format!("an integer as `{name}`")));
    }
    let number = String::from_utf8_lossy(token);
    let range = match T::try_from(-1).is_ok() {
        true => format!("from {} to {}", i64::MIN, i64::MAX),
        false => format!("from 0 to {}", u64::MAX),
    };
    Err(
        Flaw::new(at, format!("the `{name}` {number} is out of range"))
            .hint(format!("it is an integer {range}")),
    )
}
