//! Escapes in EDN and JSON strings, read and written.

use super::edn::{Flaw, Scan, Scanner};
use std::borrow::Cow;
use std::io::{self, Write};

/// Reads the rest of a string that began at `start` and has its first escape here.
#[cold]
pub(crate) fn read_escaped<'a, const JSON: bool>(
    scanner: &mut Scanner<'a, JSON>,
    start: usize,
) -> Scan<Cow<'a, str>> {
    let mut text = scanner.text(start)?.into_owned();
    loop {
        let plain = scanner.pos;
        while !matches!(scanner.peek(), None | Some(b'"' | b'\\')) {
            scanner.pos += 1;
        }
        text.push_str(&scanner.text(plain)?);
        match scanner.peek() {
            Some(b'"') => {
                scanner.pos += 1;
                return Ok(Cow::Owned(text));
            }
            Some(_) => {
                scanner.pos += 1;
                text.push(one_escape(scanner)?);
            }
            None => return Err(scanner.unexpected("a closing quote")),
        }
    }
}

fn one_escape<const JSON: bool>(scanner: &mut Scanner<'_, JSON>) -> Scan<char> {
    let at = scanner.pos;
    let Some(byte) = scanner.peek() else {
        return Err(scanner.unexpected("an escaped character"));
    };
    scanner.pos += 1;
    Ok(match byte {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'"' | b'\\' | b'/' => byte as char,
        b'u' => return unicode_escape(scanner),
        _ => {
            return Err(Flaw::new(
                at - 1,
                format!("unknown escape `\\{}` in a string", byte.escape_ascii()),
            ));
        }
    })
}

fn unicode_escape<const JSON: bool>(scanner: &mut Scanner<'_, JSON>) -> Scan<char> {
    let at = scanner.pos - 2;
    let first = four_hex(scanner)?;
    let rest = &scanner.bytes[scanner.pos..];
    let mut code = first;
    if (0xd800..0xdc00).contains(&first) && matches!(rest, b"" | b"\\") {
        scanner.pos = scanner.bytes.len();
        return Err(scanner.unexpected("the other half of a character"));
    }
    if (0xd800..0xdc00).contains(&first) && rest.starts_with(b"\\u") {
        scanner.pos += 2;
        let second = four_hex(scanner)?;
        if (0xdc00..0xe000).contains(&second) {
            code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        }
    }
    // Put one character in the place of all that are none, and two keys become one.
    char::from_u32(code).ok_or_else(|| {
        let problem =
            format!("`\\u{first:04x}` is half a character, and the other half is missing");
        Flaw::new(at, problem)
            .hint("characters beyond 16 bits are two escapes, like \\ud83d\\ude00")
    })
}

fn four_hex<const JSON: bool>(scanner: &mut Scanner<'_, JSON>) -> Scan<u32> {
    let mut code = 0;
    for _ in 0..4 {
        let digit = scanner.peek().and_then(|byte| (byte as char).to_digit(16));
        let Some(digit) = digit else {
            return Err(scanner.unexpected("four hexadecimal digits after `\\u`"));
        };
        code = code * 16 + digit;
        scanner.pos += 1;
    }
    Ok(code)
}

/// Writes a string in quotes, the way both EDN and JSON read it.
pub(crate) fn write_quoted(out: &mut dyn Write, text: &str) -> io::Result<()> {
    out.write_all(b"\"")?;
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\t' => b"\\t",
            b'\r' => b"\\r",
            0..0x20 => b"",
            _ => continue,
        };
        out.write_all(&text.as_bytes()[plain..at])?;
        if escape.is_empty() {
            write!(out, "\\u{byte:04x}")?;
        } else {
            out.write_all(escape)?;
        }
        plain = at + 1;
    }
    out.write_all(&text.as_bytes()[plain..])?;
    out.write_all(b"\"")
}
