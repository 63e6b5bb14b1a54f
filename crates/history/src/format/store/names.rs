//! Tags, names and single values of Fressian as EDN text.

use super::codes;
use std::borrow::Cow;
use std::io::Write;

/// A text of the file, or one that had to be put together.
pub(super) type Name<'a> = Cow<'a, str>;

/// What a tag means to a reader of histories.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Tag {
    /// A list of keys and values.
    Map,
    /// A list of elements.
    Set,
    /// `:name`.
    Keyword,
    /// `name`.
    Symbol,
    /// An integer as bytes.
    BigInt,
    /// A number of elements and the elements.
    Array,
    /// Jepsen's operation.
    Op,
    /// A class name and a map.
    Record,
    /// Two values, written as a vector.
    Entry,
    /// The value that follows, as it is.
    Plain,
    /// Anything else, by its name as EDN allows it.
    Other(Box<str>),
}

impl Tag {
    /// The tag with this name.
    pub fn of(name: &str) -> Tag {
        match name {
            "map" => Tag::Map,
            "set" | "persistent-hash-set" | "persistent-sorted-set" => Tag::Set,
            "key" => Tag::Keyword,
            "sym" => Tag::Symbol,
            "bigint" => Tag::BigInt,
            "jepsen.history.Op" => Tag::Op,
            "record" => Tag::Record,
            "map-entry" => Tag::Entry,
            "atom" | "vec" | "byte" | "multiset" | "persistent-vector" => Tag::Plain,
            "persistent-hash-map" | "persistent-sorted-map" | "persistent-array-map" => Tag::Plain,
            "long[]" | "double[]" | "boolean[]" | "int[]" | "float[]" | "Object[]" => Tag::Array,
            _ if is_symbol(name) => Tag::Other(name.into()),
            _ => Tag::Other("unknown".into()),
        }
    }

    /// The tag with a code of its own.
    pub fn of_code(code: u8) -> Tag {
        match code {
            codes::MAP => Tag::Map,
            codes::SET => Tag::Set,
            codes::KEY => Tag::Keyword,
            codes::SYM => Tag::Symbol,
            codes::BIGINT => Tag::BigInt,
            codes::LONG_ARRAY..=codes::OBJECT_ARRAY => Tag::Array,
            codes::UUID => Tag::of("uuid"),
            codes::REGEX => Tag::of("regex"),
            codes::URI => Tag::of("uri"),
            codes::INST => Tag::of("inst"),
            codes::BIGDEC => Tag::of("bigdec"),
            _ => Tag::of("unknown"),
        }
    }
}

/// Whether EDN can write a name as it is.
fn is_symbol(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".*+!-_?$%&=<>/':".contains(&byte);
    name.bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic())
        && name.bytes().all(|byte| fits(byte) || byte > 127)
}

/// Writes a keyword or symbol; as a text if EDN cannot write it as it is.
pub(super) fn named(keyword: bool, space: Option<&str>, name: &str, out: &mut Vec<u8>) {
    let colon = if keyword { ":" } else { "" };
    let whole = match space {
        Some(space) => format!("{colon}{space}/{name}"),
        None => format!("{colon}{name}"),
    };
    let fits = |byte: u8| byte > b' ' && !b"\"\\;,()[]{}@^`~".contains(&byte) && byte != 127;
    if name.is_empty() || whole.starts_with('#') || !whole.bytes().all(fits) {
        quoted(&whole, out);
    } else {
        out.extend_from_slice(whole.as_bytes());
    }
}

/// The value of `:isolde/label` in a map.
pub(super) fn label(map: &[u8]) -> Option<&[u8]> {
    let name = b":isolde/label ";
    let start = memchr::memmem::find(map, name)? + name.len();
    let rest = &map[start..];
    let end = rest.iter().position(|byte| b" }".contains(byte));
    Some(&rest[..end.unwrap_or(rest.len())])
}

/// Writes a text in quotes, on one line.
pub(super) fn quoted(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

/// The text of some bytes. Java writes characters beyond 16 bits as two of three bytes each, which
/// UTF-8 does not allow; half of one becomes its number, so that two names stay two.
pub(super) fn text(bytes: &[u8]) -> Name<'_> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut units: Vec<u16> = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter().map(|&byte| u16::from(byte));
    while let Some(first) = rest.next() {
        let mut more = || rest.next().unwrap_or(0) & 0x3f;
        units.push(match first {
            0..=0x7f => first,
            0xc0..=0xdf => (first & 0x1f) << 6 | more(),
            0xe0..=0xef => (first & 0x0f) << 12 | more() << 6 | more(),
            _ => 0xfffd,
        });
    }
    let mut text = String::with_capacity(units.len());
    for character in char::decode_utf16(units) {
        match character {
            Ok(character) => text.push(character),
            Err(half) => text.push_str(&format!("\u{fffd}{:04x}", half.unpaired_surrogate())),
        }
    }
    Cow::Owned(text)
}

/// Writes a floating-point number.
pub(super) fn float(number: f64, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = match number {
        _ if number.is_nan() => write!(out, "##NaN"),
        f64::INFINITY => write!(out, "##Inf"),
        f64::NEG_INFINITY => write!(out, "##-Inf"),
        _ => write!(out, "{number:?}"),
    };
}

/// Writes an integer given as two's complement, big endian; one beyond 127 bits as its bytes.
pub(super) fn big_integer(data: &[u8], out: &mut Vec<u8>) {
    if data.len() > 16 {
        out.extend_from_slice(b"#bigint ");
        return bytes(data, out);
    }
    let negative = data.first().is_some_and(|&byte| byte >= 0x80);
    let start: i128 = if negative { -1 } else { 0 };
    let number = data.iter().fold(start, |sum, &b| sum << 8 | i128::from(b));
    // Writing to memory does not fail.
    let _ = write!(out, "{number}");
}

/// Writes bytes as hexadecimal digits.
pub(super) fn bytes(data: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"#bytes \"");
    for byte in data {
        let digit = |half: u8| b"0123456789abcdef"[usize::from(half)];
        out.extend_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn a_character_of_two_halves_is_one_and_halves_stay_apart() {
        assert_eq!(text(b"\xed\xa0\xbd\xed\xb8\x80"), "\u{1f600}");
        let halves = [b"\xed\xa0\x80", b"\xed\xa0\x81"].map(|bytes| text(bytes).into_owned());
        assert_ne!(halves[0], halves[1]);
    }
}
