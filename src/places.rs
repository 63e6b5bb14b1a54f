//! Where transactions stand in the file that they were read from, for the formats that have lines.
//!
//! Histories keep no line numbers: they would cost memory for every transaction, and a report shows a handful. So
//! the file is read again, and each line asked which transaction it is of. Cost: one pass over the text, only if
//! there is something to show.

use crate::input;
use history::format::{Format, Loaded};
use history::{TxnId, UNLABELLED};
use std::collections::HashMap;
use std::path::Path;

/// A file larger than this is not read again, so that nobody waits for a detail.
const BYTES_MAX: u64 = 256 << 20;

/// The lines of transactions, from 1: the first of several, but for JSON lines the last, which has the outcome.
/// Those that are not found are missing.
pub fn lines(file: &str, loaded: &Loaded, txns: &[TxnId]) -> HashMap<TxnId, usize> {
    // What is no file, such as a pipe, can be read only once.
    let is_small = |path: &Path| {
        let metadata = path.metadata();
        metadata.is_ok_and(|found| found.is_dir() || found.is_file() && found.len() <= BYTES_MAX)
    };
    let (has_lines, last) = match loaded.format {
        Format::Isolde => (true, true),
        Format::Text | Format::JepsenEdn | Format::JepsenJson => (true, false),
        _ => (false, false),
    };
    if !has_lines || txns.is_empty() || file == "-" || !is_small(Path::new(file)) {
        return HashMap::new();
    }
    let found = input::with_bytes(file, |source| Ok(search(source.bytes, loaded, txns, last)));
    // What could be read a moment ago and cannot now has no lines to show.
    found.unwrap_or_default()
}

fn search(text: &[u8], loaded: &Loaded, txns: &[TxnId], last: bool) -> HashMap<TxnId, usize> {
    let history = &loaded.history;
    let mut wanted: HashMap<(i64, u64), TxnId> = HashMap::new();
    for &txn in txns.iter().filter(|&&txn| txn != TxnId::INITIAL) {
        let row = history.txn(txn);
        let session = history.session_label(row.session);
        let place = u64::from(txn.0 - history.session_txns(row.session).start);
        let number = match row.label {
            UNLABELLED => place,
            label => label,
        };
        wanted.insert((session, number), txn);
    }
    let endings = Endings::of(wanted.keys().map(|&(_, number)| number));
    let is_text = loaded.format == Format::Text;
    let mut found = HashMap::new();
    // How many transactions of each session were passed, for those that have no number.
    let mut passed: HashMap<i64, u64> = HashMap::new();
    for (index, line) in lines_of(text).enumerate() {
        if is_text && endings.are_others(line) {
            continue;
        }
        let Ok(line) = std::str::from_utf8(line) else {
            continue;
        };
        let Some((session, number)) = owner(loaded.format, line) else {
            continue;
        };
        let number = number.unwrap_or_else(|| {
            let count = passed.entry(session).or_default();
            *count += 1;
            *count - 1
        });
        if let Some(&txn) = wanted.get(&(session, number))
            && (last || !found.contains_key(&txn))
        {
            found.insert(txn, index + 1);
            if !last && found.len() == wanted.len() {
                break;
            }
        }
    }
    found
}

/// The session that a line tells something of, and its transaction, if that has a number.
fn owner(format: Format, line: &str) -> Option<(i64, Option<u64>)> {
    match format {
        Format::Isolde => first_two(line).or_else(|| {
            Some((
                number_after(line, "\"session\"", ":")?,
                number_after(line, "\"txn\"", ":"),
            ))
        }),
        Format::JepsenEdn => Some((
            number_after(line, ":process", "")?,
            Some(number_after(line, ":index", "")?),
        )),
        Format::JepsenJson => Some((
            number_after(line, "\"process\"", ":")?,
            Some(number_after(line, "\"index\"", ":")?),
        )),
        _ => last_two(line),
    }
}

/// Of `{"session":3,"txn":14,…`, as we write it ourselves; nothing where it looks otherwise.
fn first_two(line: &str) -> Option<(i64, Option<u64>)> {
    let rest = line.strip_prefix("{\"session\":")?.trim_start();
    let (session, rest) = rest.split_once(',')?;
    let rest = rest.trim_start().strip_prefix("\"txn\":")?.trim_start();
    let end = rest.find([',', '}'])?;
    Some((session.parse().ok()?, Some(rest[..end].parse().ok()?)))
}

/// The lines of a text, with whatever ends them but the line feed.
fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    let ends = memchr::memchr_iter(b'\n', text).chain([text.len()]);
    ends.map(move |end| &text[std::mem::replace(&mut start, end + 1)..end])
}

/// The ends of some numbers, in bits. Next to all lines of text are told by them to be of others, which is asked of
/// every line.
struct Endings([bool; Endings::COUNT]);

impl Endings {
    const COUNT: usize = 1 << 12;

    fn of(numbers: impl Iterator<Item = u64>) -> Endings {
        let mut endings = Endings([false; Endings::COUNT]);
        numbers.for_each(|number| endings.0[number as usize % Endings::COUNT] = true);
        endings
    }

    /// Whether a line of text ends in the number of a transaction that is none of these for sure.
    #[inline]
    fn are_others(&self, line: &[u8]) -> bool {
        let Some((b')', inside)) = line.split_last() else {
            return false;
        };
        let (mut number, mut place) = (0u64, 1u64);
        for &byte in inside.iter().rev() {
            match byte.wrapping_sub(b'0') {
                digit @ 0..=9 => {
                    number = number.wrapping_add(place.wrapping_mul(digit.into()));
                    place = place.wrapping_mul(10);
                }
                // Anything else than a comma, such as a space, is for a closer look.
                _ => return byte == b',' && !self.0[number as usize % Endings::COUNT],
            }
        }
        false
    }
}

/// Of `w(key,value,3,14)`. Bytes, since there may be as many of these lines as operations.
fn last_two(line: &str) -> Option<(i64, Option<u64>)> {
    let inside = line.trim_ascii_end().as_bytes().strip_suffix(b")")?;
    let comma = inside.iter().rposition(|byte| *byte == b',')?;
    let before = inside[..comma].iter().rposition(|byte| *byte == b',')?;
    let number = |bytes: &[u8]| str::from_utf8(bytes.trim_ascii()).ok()?.parse().ok();
    let session: i64 = number(&inside[before + 1..comma])?;
    Some((
        session,
        Some(u64::try_from(number(&inside[comma + 1..])?).ok()?),
    ))
}

/// The number behind a name and a separator: `"txn": 5`.
fn number_after<T: std::str::FromStr>(line: &str, name: &str, separator: &str) -> Option<T> {
    line.match_indices(name).find_map(|(at, _)| {
        let rest = line[at + name.len()..].trim_start();
        let rest = rest.strip_prefix(separator)?.trim_start();
        let is_part = |letter: char| letter.is_ascii_digit() || letter == '-';
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        rest[..end].parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_whose_it_is() {
        let line = r#"{"session": 3, "txn":14, "ops": [["w", "session", 9]]}"#;
        assert_eq!(owner(Format::Isolde, line), Some((3, Some(14))));
        let line = r#"{"ops": [["w", "session", 9]], "session":-1}"#;
        assert_eq!(owner(Format::Isolde, line), Some((-1, None)));
        let line = "{:type :ok, :value [[:r 5 nil]], :process 2, :index 71}";
        assert_eq!(owner(Format::JepsenEdn, line), Some((2, Some(71))));
        let line = "{:type :info, :process :nemesis, :index 72}";
        assert_eq!(owner(Format::JepsenEdn, line), None);
        assert_eq!(owner(Format::Text, "r(1,11,4,6)\r"), Some((4, Some(6))));
        assert_eq!(owner(Format::Text, "# a remark (1)"), None);
    }

    #[test]
    fn a_line_of_others_is_told_by_its_end() {
        let endings = Endings::of([6, 71, 300].into_iter());
        for line in [
            "r(1,11,4,7)",
            "r(1,11,4,72)",
            "r(1,11,4,5306)",
            "r(1,11,4,10)",
        ] {
            assert!(endings.are_others(line.as_bytes()), "{line}");
        }
        for line in [
            "r(1,11,4,6)",
            "w(1,11,4,071)",
            "r(1,11,4, 7)",
            "r(1,11,4,7)\r",
            ")",
            "r(1,11,4,4102)",
        ] {
            assert!(!endings.are_others(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn lines_are_split_as_people_count_them() {
        let lines: Vec<&[u8]> = lines_of(b"one\n\ntwo\r\nthree").collect();
        assert_eq!(lines, [&b"one"[..], b"", b"two\r", b"three"]);
    }
}
