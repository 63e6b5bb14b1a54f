//! The events of a Jepsen file one by one, for tests that are no transactions.

use super::edn::{Scan, Scanner};
use super::jepsen_event::{Event, Later, next_event};
use super::{Format, FormatError, Source, detect, store};

/// Is given the events of a file.
pub(super) trait Taker {
    /// One event, with the text that its places are in, and its place among all events.
    fn take<const JSON: bool>(&mut self, bytes: &[u8], event: &Event<'_>, place: u64) -> Scan<()>;
}

/// Reads a file. What is to be said about it is added to `notes`.
pub(super) fn each_event(
    source: Source<'_>,
    format: Option<Format>,
    notes: &mut Vec<String>,
    taker: &mut impl Taker,
) -> Result<(), FormatError> {
    let format = match format {
        Some(format) => format,
        None => detect(&[source])?,
    };
    let bytes = source.bytes;
    match format {
        Format::JepsenJson => {
            in_text::<true>(bytes, notes, taker).map_err(|flaw| flaw.in_text(bytes))
        }
        Format::JepsenStore => {
            let text = store::edn_text(bytes, notes)?;
            in_text::<false>(&text, notes, taker).map_err(|flaw| flaw.in_text(&text))
        }
        _ => in_text::<false>(bytes, notes, taker).map_err(|flaw| flaw.in_text(bytes)),
    }
}

fn in_text<const JSON: bool>(
    bytes: &[u8],
    notes: &mut Vec<String>,
    taker: &mut impl Taker,
) -> Scan<()> {
    let has_mark = bytes.starts_with(b"\xef\xbb\xbf");
    let mut scanner = Scanner::<JSON>::at(bytes, if has_mark { 3 } else { 0 });
    let mut count = 0u64;
    loop {
        let event = match next_event(&mut scanner, count == 0, &mut Later) {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(()),
            Err(flaw) if flaw.at_end && count > 0 => {
                notes.push(format!(
                    "the file ends in the middle of an operation; the {count} whole ones before \
                     it were read"
                ));
                return Ok(());
            }
            Err(flaw) => return Err(flaw),
        };
        taker.take::<JSON>(bytes, &event, count)?;
        count += 1;
    }
}
