//! Finds out the format of a file from its content.

use super::cobra;
use super::compress::{is_compressed, unpacked_head};
use super::store;
use super::viper;
use super::{Format, FormatError, Place, Source, empty, quote};

/// How much of a file is looked at.
const HEAD: usize = 64 << 10;

/// The length of dbcop's binary file without sessions and texts, which is all zeros.
const DBCOP_EMPTY: usize = 72;

/// The format of a file, or of the files of a directory, by content.
pub fn detect(sources: &[Source]) -> Result<Format, FormatError> {
    if sources.iter().all(|source| source.bytes.is_empty()) {
        return Err(empty());
    }
    if sources.iter().all(|source| cobra::is_log(source.bytes)) {
        return Ok(Format::Cobra);
    }
    if sources.iter().all(|source| viper::is_log(source.bytes)) {
        return Ok(Format::Viper);
    }
    let [source] = sources else {
        return Err(no_log(sources));
    };
    let bytes = source.bytes;
    if is_compressed(bytes) {
        return Err(FormatError::new(Place::Byte(0), "the file is compressed"));
    }
    if bytes.starts_with(b"PAR1") {
        return Ok(Format::Parquet);
    }
    if store::is_store(bytes) {
        return Ok(Format::JepsenStore);
    }
    let head = &bytes[..bytes.len().min(HEAD)];
    if head.len() > DBCOP_EMPTY && head.iter().all(|&byte| byte == 0) {
        return Err(
            FormatError::new(Place::Byte(0), "there are only zero bytes")
                .hint("was the recording lost in a crash, or the file never filled?"),
        );
    }
    of_text(head)
        .or_else(|| is_dbcop_bincode(bytes).then_some(Format::DbcopBincode))
        .ok_or_else(|| damaged_text(head).unwrap_or_else(|| unknown(head)))
}

/// Refuses the beginning of a file that goes on, compressed or not, if no format begins so. A megabyte
/// is enough to tell.
pub fn check_head(bytes: &[u8]) -> Result<(), FormatError> {
    let unpacked = unpacked_head(bytes, HEAD);
    // Where nothing can be unpacked, the whole file tells what is wrong.
    let bytes = match &unpacked {
        Some(head) if head.is_empty() => return Ok(()),
        Some(head) => head,
        None => bytes,
    };
    detect(&[Source { name: "", bytes }]).map(|_| ())
}

/// The error of several files that are not all logs of one format.
fn no_log(sources: &[Source]) -> FormatError {
    let full = |source: &&Source| !source.bytes.is_empty();
    let (problem, is_log): (_, fn(&[u8]) -> bool) =
        match sources.iter().filter(full).any(|s| viper::is_log(s.bytes)) {
            true => ("expected one of Viper's logs", viper::is_log),
            false => ("expected a Cobra log", cobra::is_log),
        };
    let unlike = sources.iter().find(|source| !is_log(source.bytes));
    FormatError::new(Place::Byte(0), problem)
        .in_file(unlike.map_or("", |source| source.name))
        .hint(
            "several files are read together only as logs: T<n>.log of Cobra or J<n>.log of Viper",
        )
}

/// What is wrong with a file that begins as a text and goes on with zeros, as crashes leave them.
fn damaged_text(head: &[u8]) -> Option<FormatError> {
    let at = memchr::memchr(0, head)?;
    of_text(&head[..at])?;
    let problem = "expected text, found a zero byte";
    Some(
        FormatError::new(Place::Byte(at as u64), problem).hint(
            "was the machine or the disk stopped while this was written? Cut the file off there",
        ),
    )
}

/// The first meaningful line decides.
fn of_text(head: &[u8]) -> Option<Format> {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if text.contains(&0) {
        return None;
    }
    let mut rest = text.trim_ascii_start();
    let mut comment = None;
    loop {
        let marks: [&[u8]; 3] = [b";", b"//", b"# "];
        let Some(mark) = marks.iter().find(|mark| rest.starts_with(mark)) else {
            break;
        };
        comment = Some(*mark);
        let line_end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        rest = rest[line_end..].trim_ascii_start();
    }
    if rest.is_empty() {
        return match comment? {
            b";" => Some(Format::JepsenEdn),
            b"//" => Some(Format::DbcopHist),
            _ => Some(Format::Text),
        };
    }
    match rest[0] {
        b'r' | b'w' | b'R' | b'W' => line_format(rest),
        b'#' if rest.starts_with(b"#jepsen") => Some(Format::JepsenEdn),
        b'#' => Some(Format::Text),
        b'-' | b'=' => separator_format(rest),
        b'{' | b'[' => bracket_format(rest),
        b'(' if comment == Some(b";") || rest.contains(&b':') => Some(Format::JepsenEdn),
        _ => None,
    }
}

fn line_format(rest: &[u8]) -> Option<Format> {
    let after = rest[1..].trim_ascii_start();
    match after.first() {
        Some(b'(') | None => Some(Format::Text),
        Some(byte) if byte.is_ascii_digit() && rest[1].is_ascii_whitespace() => Some(Format::Awdit),
        _ => None,
    }
}

/// A file that begins with an empty session or transaction.
fn separator_format(rest: &[u8]) -> Option<Format> {
    let after = rest
        .iter()
        .find(|byte| !matches!(byte, b'-' | b'=') && !byte.is_ascii_whitespace());
    match after {
        Some(b'[' | b'/') => Some(Format::DbcopHist),
        Some(b'r' | b'w') | None => Some(Format::Awdit),
        _ => None,
    }
}

/// EDN, JSON or dbcop's text: told apart by what follows the brackets.
fn bracket_format(rest: &[u8]) -> Option<Format> {
    let is_bracket = |byte: &u8| matches!(byte, b'{' | b'[') || byte.is_ascii_whitespace();
    let depth = rest.iter().take_while(|byte| is_bracket(byte)).count();
    let opening: Vec<u8> = rest[..depth]
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let inner = &rest[depth..];
    let object = opening.ends_with(b"{");
    match inner.first() {
        Some(b':' | b'#' | b';') => Some(Format::JepsenEdn),
        Some(b'"') if object => json_format(&opening, rest),
        Some(b']') if opening.starts_with(b"[[") => Some(Format::DbcopJson),
        Some(b']') if opening == b"[" && inner[1..].trim_ascii().is_empty() => {
            Some(Format::DbcopHist)
        }
        Some(b']') if opening == b"[" => after_empty_brackets(inner),
        Some(_) if opening == b"[" => {
            let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte > 127;
            let word = inner.iter().take_while(|byte| is_word(byte)).count();
            let event = word > 0 && matches!(inner.get(word..word + 2), Some(b":=" | b"=="));
            event.then_some(Format::DbcopHist)
        }
        _ => None,
    }
}

fn after_empty_brackets(inner: &[u8]) -> Option<Format> {
    let next = inner[1..].trim_ascii_start().first();
    matches!(next, Some(b'[' | b'!' | b'-' | b'/')).then_some(Format::DbcopHist)
}

/// By the names in the first object.
fn json_format(opening: &[u8], rest: &[u8]) -> Option<Format> {
    let first_line = rest.split(|&byte| byte == b'\n').next().unwrap_or(rest);
    let has = |text: &[u8], name: &[u8]| memchr::memmem::find(text, name).is_some();
    // A line with operations and another field misspelt is told what is wrong with it there.
    let names = [b"\"session\"".as_slice(), b"\"ops\""];
    let transaction = names.iter().any(|name| has_name(first_line, name))
        && ![b"\"type\"".as_slice(), b"\"sts\"", b"\"events\""]
            .iter()
            .any(|name| has_name(first_line, name));
    if opening == b"{" && (transaction || has_name(first_line, b"\"isolde\"")) {
        return Some(Format::Isolde);
    }
    if opening.starts_with(b"[[") || has(rest, b"\"params\"") || has(rest, b"\"events\"") {
        return Some(Format::DbcopJson);
    }
    if opening == b"{" && has(rest, b"\"data\"") && !has(rest, b"\"process\"") {
        return Some(Format::DbcopJson);
    }
    if opening == b"[{" && (has_name(rest, b"\"sts\"") || has_name(rest, b"\"cts\"")) {
        return Some(Format::TimeKiller);
    }
    let jepsen = has(rest, b"\"type\"") && (has(rest, b"\"process\"") || has(rest, b"\"f\""));
    jepsen.then_some(Format::JepsenJson)
}

/// Whether a text in quotes occurs as a name, before a colon, and not as a value.
fn has_name(text: &[u8], name: &[u8]) -> bool {
    memchr::memmem::find_iter(text, name).any(|at| {
        let after = text[at + name.len()..].trim_ascii_start();
        after.first() == Some(&b':')
    })
}

/// Five small numbers, a short text, and a count that the file can hold.
fn is_dbcop_bincode(bytes: &[u8]) -> bool {
    let number = |at: usize| {
        let field = bytes.get(at..at + 8)?;
        Some(u64::from_le_bytes(field.try_into().ok()?))
    };
    let parameters = (0..5).all(|field| number(field * 8).is_some_and(|n| n < 1 << 40));
    let info = number(40).filter(|&length| length <= bytes.len() as u64);
    let Some(info) = info.filter(|_| parameters) else {
        return false;
    };
    let text = bytes.get(48..48 + info as usize);
    text.is_some_and(|text| std::str::from_utf8(text).is_ok())
}

fn unknown(head: &[u8]) -> FormatError {
    FormatError::new(
        Place::Whole,
        format!(
            "the format is unknown: the file begins with {}",
            quote(head)
        ),
    )
    .hint(
        "looked for PolySI text r(key,value,session,txn), AWDIT text `r key value`, Cobra and Viper logs, \
         dbcop bincode, JSON and [x:=1 y==2], Jepsen EDN {:type …}, JSON {\"type\": …} and test.jepsen, TimeKiller JSON, \
         Isolde JSON lines and Parquet; name the format if it is one of these",
    )
}
